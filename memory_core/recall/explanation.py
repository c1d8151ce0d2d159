"""Why a memory was recalled, or was not: every signal, the path, the modifiers, the reason.

An explanation shows what the recall computed anyway; no model is asked. The parts of a score add
up: fused, the column of each signal of signals.SIGNALS that had a say, links, and newer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from memory_core.lifecycle import retention
from memory_core.recall import asked, rivals, spreading
from memory_core.recall.answer import MOST_REJECTED, Chosen, Rejected, Why
from memory_core.recall.candidates import Candidates
from memory_core.recall.query import Cues
from memory_core.recall.selection import Selection
from memory_core.recall.signals.preferences import Preferences
from memory_core.scoring import activation, decay
from memory_core.storage.view import View

RECENCY_HALF_LIFE_DAYS = 30.0
"""Of the recency that is shown; ranking does not use it."""

SELDOM = (Preferences.name, asked.NAME, rivals.NAME)
"""Columns that are shown only where they add something: 0.0 would read as a weak preference."""

MOST_OUTSIDE = 3
"""Rejected memories that are shown although a filter, or their age, kept them out of the search."""

_BY_OFFSET = {-2: "two after", -1: "after", 1: "before", 2: "two before"}


class Explainer:
    """Explains the candidates of one search."""

    def __init__(self, view: View, cues: Cues, found: Candidates) -> None:
        """Explain *found*, which *cues* found."""
        self._view, self._columns = view, view.columns
        self._cues = cues
        self._found = found
        words, asks = self._columns.words[found.rows], self._columns.question[found.rows]
        self._gains = activation.thread_gains(found.fused, found.neighbours, words, asks)

    def explained(self, chosen: Chosen, selection: Selection) -> Chosen:
        """*chosen* with the reasons, and with the best of those that *selection* rejected."""
        folded = selection.folded
        return replace(
            chosen,
            why=[self.why(p) | {"folded": len(folded.get(p, ()))} for p in selection.chosen],
            rejected=[*self._rejected(selection), *self._unsupported(selection)][:MOST_REJECTED],
        )

    def why(self, place: int) -> Why:
        """Every signal about the candidate at *place*; those without a value are left out."""
        found, row = self._found, self._found.rows[place : place + 1]
        now, mind, columns = self._cues.now, self._cues.mind, self._columns
        age = max(0.0, now - float(columns.occurred_at[row[0]]))
        signals = {
            "cosine": found.whole[place],
            "passage": found.passage[place],
            "lexical": found.lexical[place],
            "nearby": found.nearby[place],
            "fused": found.fused[place],
            **{
                name: values[place]
                for name, values in found.added.items()
                if values[place] or name not in SELDOM
            },
            "recency": 0.5 ** (age / decay.DAY / RECENCY_HALF_LIFE_DAYS),
            "retention": retention.of_rows(columns, row, self._cues.decay, now)[0],
            "importance": columns.importance[row[0]],
        }
        known: Why = {n: round(float(v), 4) for n, v in signals.items() if v == v}
        known |= mind.explain(columns.id(int(row[0])))
        path = self._path(place)
        return known | {"path": path} if path else known

    def outside(self) -> Iterator[Rejected]:
        """The best of candidates that the recall did not search, with the reason."""
        cues, columns = self._cues, self._columns
        as_of = cues.query.as_of
        for place in np.argsort(-self._found.score, kind="stable")[:MOST_OUTSIDE].tolist():
            row = int(self._found.rows[place])
            failed = (name for name, passing in cues.filters.items() if not passing[row])
            reason = next((f"not {name}" for name in failed), "retired")
            if not cues.valid[row]:
                late = as_of is not None and columns.recorded_at[row] > as_of
                reason = "not yet known" if late else "replaced"
            yield self._as_rejected(place, reason)

    def _path(self, place: int) -> str:
        """From where most of what spread to *place* came, step by step; "" when nothing did."""
        offset = max(self._gains, key=lambda each: float(self._gains[each][place]))
        gained = float(self._gains[offset][place])
        steps = spreading.path(self._found.links, int(self._found.rows[place]))
        if steps and (gained <= 0 or self._found.added["links"][place] >= gained):
            return " <- ".join(f"{how} {self._columns.id(row)}" for how, row in steps)
        if gained <= 0:
            return ""
        row = int(self._found.rows[self._found.neighbours[offset][place]])
        asks = offset == -1 and self._columns.question[row]
        return f"{'answers' if asks else _BY_OFFSET[offset]} {self._columns.id(row)}"

    def _rejected(self, selection: Selection) -> Iterator[Rejected]:
        kinds, rows = self._columns.kind, self._found.rows
        stands_for = {place: one for one, places in selection.folded.items() for place in places}
        chosen = set(selection.chosen)
        left = [place for place in selection.order.tolist() if place not in chosen]
        for place in left[:MOST_REJECTED]:
            reason = "below_k" if self._found.score[place] >= selection.floor else "below_share"
            if place in stands_for:
                first, row = int(rows[stands_for[place]]), int(rows[place])
                twin = kinds[first] == kinds[row]
                reason = f"{'near_duplicate of' if twin else 'retells'} {self._columns.id(first)}"
            yield self._as_rejected(place, reason)

    def _unsupported(self, selection: Selection) -> Iterator[Rejected]:
        for place in selection.unsupported[:MOST_REJECTED].tolist():
            yield self._as_rejected(place, "below_confidence")

    def _as_rejected(self, place: int, reason: str) -> Rejected:
        row, score = int(self._found.rows[place]), float(self._found.score[place])
        return Rejected(row, score, self.why(place) | {"rejected": reason})
