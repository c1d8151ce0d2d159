"""Facts: an extracted fact is evidence for the texts that it was extracted from.

A fact is found by its own words and vector and adds its sources to the candidates; each source
gains by the best of its facts, at a low weight (measured on LoCoMo: added at 0.3 they gain 2 points
of recall@10 and 10 of recall@1; in place of the texts they cost 17). A fact answers itself where it
is asked for by its kind, and where none of its sources may answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_core.recall.candidates import CANDIDATES, Allowed, Candidates, Signal
from memory_core.recall.query import Cues
from memory_core.scoring.arrays import Mask, Rows, Scores
from memory_core.storage.index import bm25
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.view import View

WEIGHT = 0.3
"""Of the evidence of a fact in the score of its sources."""

SMALL = 1e-9

WORDS = 0.5
"""What words weigh against the vector of a fact; the same as for texts."""


class Facts(Signal):
    """The evidence of facts, unless they are asked for by kind: then they are plain candidates."""

    name = "facts"
    is_evidence = True

    def candidates(self, view: View, cues: Cues, allowed: Allowed) -> Rows | None:
        """The sources of the best facts, and facts of which no source is allowed."""
        facts = _facts(view, cues)
        if facts is None or not facts.any():
            return None
        most = max(CANDIDATES, 2 * cues.query.k)
        best = [
            bm25.best(cues.words.scores, most, facts)[0],
            view.nearest(cues.vector, most, part="whole", allowed=facts),
        ]
        found: set[int] = set()
        for fact in np.unique(np.concatenate(best)).tolist():
            sources = view.rows(view.columns.derived_from(fact))
            found.update(sources[allowed.rows[sources]].tolist() or [fact])
        return np.array(sorted(found), dtype=np.int64)

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores | None:
        """The evidence of the best fact of each candidate, from 0; None when none has a fact.

        A fact counts as one more text of its source: its cosine and its words are measured in
        standard deviations from the mean of the candidates' own, and never count against it.
        """
        known = _facts(view, cues)
        if known is None:
            return None
        pairs = [
            (place, fact)
            for place, row in enumerate(found.rows.tolist())
            for fact in view.graph.origins(row, DERIVED_FROM)
            if known[fact]
        ]
        if not pairs:
            return None
        places, facts = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        evidence = WORDS * _deviations(cues.words.scores[facts], found.lexical)
        cosines = view.similarities(cues.vector, facts, part="whole")
        evidence = evidence + _deviations(cosines, found.whole)
        best = np.zeros(len(found.rows))
        np.maximum.at(best, places, evidence)
        return WEIGHT * best


def _facts(view: View, cues: Cues) -> Mask | None:
    """The valid facts that are not retired; None when there are none or facts are asked for."""
    columns = view.columns
    if cues.query.asks_for_facts or not columns.extracted.any():
        return None
    facts: Mask = cues.valid & columns.extracted & ~np.isfinite(columns.retired_at)
    return facts


def _deviations(values: NDArray[np.floating], scale: Scores) -> Scores:
    """*values* in standard deviations from the mean of *scale*; 0 for NaN or a constant scale."""
    known = scale[~np.isnan(scale)]
    spread = float(known.std()) if len(known) > 1 else 0.0
    if spread < SMALL:
        return np.zeros(len(values))
    return np.nan_to_num((values.astype(np.float64) - float(known.mean())) / spread)
