"""Temporal: a memory gains when it was said on, or names, a date that the query names."""

from __future__ import annotations

from datetime import date

import numpy as np

from memory_core.recall.candidates import CANDIDATES, Allowed, Candidates, Signal
from memory_core.recall.query import Cues, moments
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.view import View
from memory_core.text.time import dates
from memory_core.text.time.timestamps import day_of

WEIGHT = 1.5
"""Of the temporal match; measured on LoCoMo: +6 points of recall@10 where a date is named."""

DATED = 1 / 3
"""Temporal match of a text that names a date, when the query asks for one and names none.

Measured: LoCoMo recall@1 / @10 48.4 / 85.3 to 48.9 / 85.4, the dialogue @10 84.5 to 85.4."""


class Temporal(Signal):
    """How well the dates fit; where the query asks "when", whether the text names a date at all."""

    name = "temporal"
    is_evidence = True

    def candidates(self, view: View, cues: Cues, allowed: Allowed) -> Rows | None:
        """The first of what comes, or the latest of what was, where a time is the whole question.

        Neither words nor meaning find them there.
        """
        if cues.period is None or "period" not in cues.filters:
            return None
        rows = np.flatnonzero(allowed.searched)
        in_time = rows[np.argsort(moments(view.columns, rows, cues.period), kind="stable")]
        return in_time[:CANDIDATES] if cues.period.ahead else in_time[-CANDIDATES:]

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores:
        """The temporal match of each candidate, weighted; see dates.temporal_match."""
        columns, match = view.columns, np.zeros(len(found.rows))
        if cues.dates:
            known: dict[tuple[date, tuple[str, ...]], float] = {}  # turns of a day are alike
            for place, row in enumerate(found.rows.tolist()):
                at, named = float(columns.occurred_at[row]), columns.dates(row)
                key = day_of(at), named
                if key not in known:
                    known[key] = dates.temporal_match(cues.dates, at, named)
                match[place] = known[key]
        elif dates.asks_when(cues.query.text):
            match[[bool(columns.dates(row)) for row in found.rows.tolist()]] = DATED
        return WEIGHT * match
