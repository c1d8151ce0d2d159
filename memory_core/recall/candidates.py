"""The candidates of a recall: what is known of each, how they are found, and what a signal is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from memory_core import link_kinds
from memory_core.beliefs.amended import WITHIN_S
from memory_core.recall.query import Cues
from memory_core.scoring import activation
from memory_core.scoring.arrays import Mask, Rows, Scores
from memory_core.storage.index import bm25
from memory_core.storage.view import View

CANDIDATES = 50
"""Rows that each of the three searches (whole vectors, passages, words) adds."""

LEADS = 5
"""Rows that were replaced, the best by words and the nearest, that lead to what replaced them."""

OFFSETS = tuple(activation.KERNEL)
"""Thread neighbours that join the candidates and take part in the kernel."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The *rows* that one search may return, and those of them that it *searches* directly.

    Extracted facts are not searched directly, unless facts are asked for by kind: they lead to the
    texts that they were extracted from (signals/facts.py).
    """

    rows: Mask
    searched: Mask


@dataclass(frozen=True, slots=True)
class Reached:
    """How spreading reached a row: with which *activation* (0-1), *how*, and from which row."""

    activation: float
    how: str
    source: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows that may answer and the evidence for each, one value a row; NaN is no evidence.

    *passage* and *whole* are cosines; *lexical* is BM25 of the text alone, *nearby* with the turns
    around it and with words near those of the query. *trust* (0-1) is the share of their weight
    that words have for this query. *score* is *fused* plus every column *added*, by the name of its
    signal. *neighbours* maps an offset in the thread to the place, among the rows, of the turn
    there, -1 where it is no candidate; *links* is how rows were reached by spreading.
    """

    rows: Rows
    passage: Scores
    whole: Scores
    lexical: Scores
    nearby: Scores
    trust: float
    fused: Scores
    score: Scores
    neighbours: Mapping[int, Rows]
    added: Mapping[str, Scores] = field(default_factory=dict)
    links: Mapping[int, Reached] = field(default_factory=dict)

    def plus(self, name: str, column: Scores) -> Candidates:
        """These candidates with *column* added to their score as *name*."""
        return replace(self, added={**self.added, name: column}, score=self.score + column)


class Signal(Protocol):
    """One reason for a memory to be recalled, with the constants it was measured with.

    A signal may find candidates, and may add one column to their score. It keeps no state.
    """

    name: str
    """Of its column, as an explanation shows it."""
    is_evidence: bool = False
    """A positive value is evidence even for a memory that neither words nor meaning reach."""
    is_about: bool = True
    """The column says what a memory is about, so that activation may spread from it."""

    def candidates(self, view: View, cues: Cues, allowed: Allowed) -> Rows | None:  # noqa: ARG002
        """Rows to consider beside those that words and vectors find; None for none."""
        return None

    def score(self, view: View, cues: Cues, found: Candidates) -> Scores | None:  # noqa: ARG002
        """What is added to the score of each of *found*; None where the signal has no say.

        `found.score` holds the sum of the signals before this one.
        """
        return None


def allow(view: View, cues: Cues, rows: Mask) -> Allowed:
    """What a search among *rows* may return."""
    facts = view.columns.extracted
    return Allowed(rows, rows if cues.query.asks_for_facts else rows & ~facts)


def find(view: View, cues: Cues, allowed: Allowed, signals: Sequence[Signal]) -> Rows:
    """The rows to score, ascending: the best by words and by vectors with the turns around them,
    and what *signals* add."""
    most = max(CANDIDATES, 2 * cues.query.k)
    best = [
        bm25.best(cues.words.scores, most, allowed.searched)[0],
        view.nearest(cues.vector, most, part="whole", allowed=allowed.searched),
        view.nearest(cues.vector, most, part="passage", allowed=allowed.searched),
    ]
    found = [with_neighbours(view, np.concatenate(best), allowed)]
    found += [
        rows for signal in signals if (rows := signal.candidates(view, cues, allowed)) is not None
    ]
    rows = np.unique(np.concatenate(found)) if len(found) > 1 else found[0]
    rows = np.union1d(rows, amending(view, cues, rows))
    return np.union1d(rows[allowed.rows[rows]], _replaced(view, cues, allowed))


def amending(view: View, cues: Cues, rows: Rows) -> Rows:
    """What puts one of *rows* in doubt that was said right before it, in the order of *rows*.

    Such a text may only set that one right ("no wait, 17:30"): no question finds it by its words.
    """
    said = view.columns.occurred_at
    return np.array(
        [
            origin
            for row in rows.tolist()
            for origin, kind in newer(view, cues, row)
            if kind in link_kinds.DOUBTING and 0 <= said[origin] - said[row] <= WITHIN_S
        ],
        dtype=np.int64,
    )


def _replaced(view: View, cues: Cues, allowed: Allowed) -> Rows:
    """The best rows that were replaced, and what may answer in their place.

    What replaces a text seldom repeats its words ("relicensed to Apache 2.0"), so a question in
    those words ("which licence?") finds the one by the other.
    """
    columns, as_of = view.columns, cues.query.as_of
    known = columns.recorded_at <= (np.inf if as_of is None else as_of)
    gone = cues.readable & known & columns.replaced & ~cues.valid & np.isinf(columns.retired_at)
    if not gone.any():
        return np.zeros(0, np.int64)
    best = [
        bm25.best(cues.words.scores, LEADS, gone)[0],
        view.nearest(cues.vector, LEADS, part="whole", allowed=gone),
    ]
    found: set[int] = set()
    leads = np.unique(np.concatenate(best)).tolist()
    for row, successor in cues.doubts.successors(leads).items():
        if successor is not None and allowed.rows[successor]:
            found |= {row, successor}
    return np.array(sorted(found), dtype=np.int64)


def newer(view: View, cues: Cues, row: int) -> list[tuple[int, str]]:
    """The rows that update *row* or put it in doubt, each with the kind of its link.

    As it was at the moment asked about; none of which somebody had decided that both hold.
    """
    return [
        (origin, kind)
        for origin, kind in view.graph.incoming(row)
        if kind in link_kinds.NEWER
        and cues.doubts.holds(origin, row, kind)
        and not cues.doubts.both_hold(origin, row)
    ]


def with_neighbours(view: View, rows: Rows, allowed: Allowed) -> Rows:
    """*rows* and the turns around them in their threads, those that are searched, ascending."""
    around = [view.columns.neighbours_many(rows, offset) for offset in OFFSETS]
    found = np.unique(np.concatenate([rows, *around]))
    found = found[found >= 0]
    searched: Rows = found[allowed.searched[found]]
    return searched
