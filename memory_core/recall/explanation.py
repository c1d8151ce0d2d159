"""Why a memory was recalled, or was not: every signal, the path, the modifiers, the reason.

A trace is made of what the recall computed anyway and of nothing else; no model is asked. The parts
of a score add up: fused + thread + session + role + asks + temporal + order + standing + elsewhere
+ facts + cognition + links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memory_core.config import DecaySettings
from memory_core.lifecycle import retention
from memory_core.lifecycle.working_memory import Mind
from memory_core.recall import query, spreading
from memory_core.recall.answer import MOST_REJECTED, Chosen, Rejected, Why
from memory_core.recall.query import Cues
from memory_core.scoring import activation, decay
from memory_core.scoring.arrays import Rows
from memory_core.storage.store import MemoryStore

if TYPE_CHECKING:
    from memory_core.recall.evidence import Candidates


RECENCY_HALF_LIFE_DAYS = 30.0
"""Of the recency that is shown (seed row C3.2); ranking does not use it (design rule 4)."""

MOST_OUTSIDE = 3
"""Rejected memories that are shown although a filter, or their age, kept them out of the search."""

_BY_OFFSET = {-2: "two after", -1: "after", 1: "before", 2: "two before"}


class Reasons:
    """Tells why of the candidates of one search. Call inside store.reading()."""

    def __init__(
        self,
        store: MemoryStore,
        found: Candidates,
        settings: DecaySettings,
        now: float,
        mind: Mind,
    ) -> None:
        """Explain *found* as of epoch seconds *now*, asked with *mind* in mind."""
        self._store = store
        self._mind = mind
        self._columns = store.columns
        self._found = found
        self._settings = settings
        self._now = now
        words, asks = store.columns.words[found.rows], store.columns.question[found.rows]
        self._gains = activation.thread_gains(found.fused, found.neighbours, words, asks)

    def explained(
        self,
        answer: Chosen,
        order: Rows,
        kept: Sequence[int],
        folded: Mapping[int, Sequence[int]],
        silent: Rows,
    ) -> Chosen:
        """*answer* with the reasons: *kept* places of the ranked *order*, each with those it
        *folded*, were chosen; the best of the others, and of the *silent* for which nothing speaks,
        were rejected.
        """
        return replace(
            answer,
            why=[self.why(int(order[p])) | {"folded": len(folded.get(p, ()))} for p in kept],
            rejected=[*self._rejected(order, kept, folded), *self._silent(silent)][:MOST_REJECTED],
        )

    def why(self, place: int) -> Why:
        """Every signal about the candidate at *place*; those without a value are left out."""
        found, row = self._found, self._found.rows[place : place + 1]
        age = max(0.0, self._now - float(self._columns.occurred_at[row[0]]))
        signals = {
            "cosine": found.whole[place],
            "passage": found.passage[place],
            "lexical": found.lexical[place],
            "nearby": found.nearby[place],
            "fused": found.fused[place],
            **{name: values[place] for name, values in found.added.items()},
            "recency": 0.5 ** (age / decay.DAY / RECENCY_HALF_LIFE_DAYS),
            "retention": retention.of_rows(self._store.columns, row, self._settings, self._now)[0],
            "importance": self._columns.importance[row[0]],
        }
        known: Why = {n: round(float(v), 4) for n, v in signals.items() if v == v}
        known |= self._mind.tells(self._columns.id(int(row[0])))
        path = self._path(place)
        return known | {"path": path} if path else known

    def _silent(self, silent: Rows) -> Iterator[Rejected]:
        for place in silent[:MOST_REJECTED].tolist():
            why = self.why(place) | {"rejected": "below_confidence"}
            yield Rejected(int(self._found.rows[place]), float(self._found.score[place]), why)

    def outside(self, cues: Cues) -> Iterator[Rejected]:
        """The best of candidates that the recall of *cues* did not look at, with the reason."""
        narrowing = query.narrowing(self._columns, cues)
        valid = query.valid(self._columns, cues.as_of)
        for place in np.argsort(-self._found.score, kind="stable")[:MOST_OUTSIDE].tolist():
            row = int(self._found.rows[place])
            reason = next((f"not {name}" for name, fits in narrowing.items() if not fits[row]), "")
            if not valid[row]:
                late = cues.as_of is not None and self._columns.recorded_at[row] > cues.as_of
                reason = "not yet known" if late else "replaced"
            why = self.why(place) | {"rejected": reason or "retired"}
            yield Rejected(row, float(self._found.score[place]), why)

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

    def _rejected(
        self, order: Rows, kept: Sequence[int], folded: Mapping[int, Sequence[int]]
    ) -> Iterator[Rejected]:
        stands_for = {place: first for first, places in folded.items() for place in places}
        chosen = set(kept)
        left, rows = [p for p in range(len(order)) if p not in chosen], self._found.rows[order]
        for place in left[:MOST_REJECTED]:
            reason = "below_k"
            if place in stands_for:
                first = int(rows[stands_for[place]])
                twin = self._columns.kind[first] == self._columns.kind[int(rows[place])]
                reason = f"{'near_duplicate of' if twin else 'retells'} {self._columns.id(first)}"
            index = int(order[place])
            yield Rejected(
                int(rows[place]),
                float(self._found.score[index]),
                self.why(index) | {"rejected": reason},
            )
