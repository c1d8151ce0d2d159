"""BM25 over short texts, in memory, changed one text at a time.

Postings are plain integer arrays in the order of rows, so most changes append. Lengths, document
frequencies and the mean length are exact after every change; nothing waits for a rebuild.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.vocabulary import Spelling, near_terms

__all__ = ["LexicalIndex"]

K1, B = 0.9, 0.4
"""Saturation and length normalisation; measured on LoCoMo and BEAM."""

FEW_TERMS = 1000
"""Unused terms are not dropped before there are so many."""

MISSPELT = 0.6
"""Weight of a word that no text holds, as a share of its idf, when a word of similar spelling or
meaning replaces it. Being the rarest, it would weigh most of all."""

NEAR = 0.6
"""Weight of a word in a text that holds only a word near it in meaning, times how near.

Measured over exact words: LoCoMo recall@1 / @10 50.1 / 85.4 to 50.4 / 85.6, the dialogue @1 / @5
45.0 / 77.7 to 47.7 / 79.1 (docs/internals/recall.md).
"""

Postings = tuple[NDArray[np.int32], NDArray[np.float32]]
"""Rows, and what a term adds there."""


@dataclass(frozen=True, slots=True)
class Match:
    """The scores of one query; they stay as they are when the index changes.

    *scores*: BM25 of every row, 0 where no term occurs. *ideal*: the score of a text of mean length
    that holds each term once, where a term that no text holds counts as the rarest possible; so
    score / ideal is the share of the query, by rarity, that a text covers (over 1 for short texts
    and repeated terms). *postings*: for each term of the query that occurs, the rows that hold it
    and what it adds there. *held*: these terms. *rarity*: their idf, as it counts in *ideal*.
    *near*: by term of the query, the rows that hold a term near it in meaning, a row once for each
    of these.
    """

    scores: NDArray[np.float32]
    ideal: float
    postings: tuple[Postings, ...]
    held: tuple[str, ...]
    rarity: NDArray[np.float32]
    near: Mapping[str, Postings] = field(default_factory=dict)

    def terms(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """What each term adds in each of the different *rows*: (terms that occur, len(rows))."""
        return self._table(rows, {term: number for number, term in enumerate(self.held)})

    def expanded_terms(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """As `terms`, with the most that each term or one near it adds.

        The terms that occur are followed by those that occur only through near ones.
        """
        numbers = {
            term: number for number, term in enumerate(dict.fromkeys((*self.held, *self.near)))
        }
        table = self._table(rows, numbers)
        place = self._places(rows)
        for term, (holders, added) in self.near.items():
            places = place[holders]
            inside = places >= 0
            np.maximum.at(table[numbers[term]], places[inside], added[inside])
        return table

    def _table(self, rows: NDArray[np.int64], numbers: Mapping[str, int]) -> NDArray[np.float32]:
        place = self._places(rows)
        table = np.zeros((len(numbers), rows.size), np.float32)
        for number, (holders, added) in enumerate(self.postings):
            places = place[holders]
            table[number, places[places >= 0]] = added[places >= 0]
        return table

    def _places(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """The place of each row in *rows*; -1 for the others."""
        place = np.full(self.scores.size, -1, np.int32)
        place[rows] = np.arange(rows.size, dtype=np.int32)
        return place


class LexicalIndex:
    """Scores texts by BM25; idf = ln(1 + (n - df + 0.5) / (df + 0.5)), each query term once."""

    def __init__(self) -> None:
        """Start empty."""
        self._numbers: dict[str, int] = {}
        self._spelling = Spelling()
        self._rows: list[array[int]] = []
        self._counts: list[array[int]] = []
        self._terms: dict[int, array[int]] = {}
        self._lengths = np.zeros(0, np.float32)
        self._size = 0
        self._total_length = 0
        self._emptied = 0
        """How often a term lost its last text since unused terms were dropped."""

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._terms)

    def put(self, row: int, text: str) -> None:
        """Index *text* for *row* (from 0), replacing its former text."""
        self.remove(row)
        self._reserve(row + 1)
        terms = index_terms(text)
        counts = Counter(map(self._number, terms))
        for number, count in counts.items():
            rows = self._rows[number]
            if not rows or rows[-1] < row:
                rows.append(row)
                self._counts[number].append(count)
            else:
                place = bisect_left(rows, row)
                rows.insert(place, row)
                self._counts[number].insert(place, count)
        self._terms[row] = array("i", counts)
        self._lengths[row] = len(terms)
        self._total_length += len(terms)

    def remove(self, row: int) -> None:
        """Remove the text of *row*; does nothing when it has none."""
        for number in self._terms.pop(row, ()):
            place = bisect_left(self._rows[number], row)
            self._rows[number].pop(place)
            self._counts[number].pop(place)
            self._emptied += not self._rows[number]
        if self._emptied > max(FEW_TERMS, len(self._numbers) // 2):
            self._drop_unused()
        if row < self._size:
            self._total_length -= int(self._lengths[row])
            self._lengths[row] = 0

    def document_frequency(self, term: str) -> int:
        """Number of texts that hold *term*, as `index_terms` returns it."""
        number = self._numbers.get(term)
        return 0 if number is None else len(self._rows[number])

    def holders(self, term: str) -> NDArray[np.int64]:
        """The rows that hold *term*, as `index_terms` returns it."""
        number = self._numbers.get(term)
        return np.array(() if number is None else self._rows[number], np.int64)

    def match(self, query: str, *, literal: Collection[str] | None = None) -> Match:
        """The scores of *query* in every row up to the highest ever put, in all and term by term.

        With *literal*, words near those of the query are searched too (Match.expanded_terms), but
        for the terms in *literal*, such as names, which have no synonyms.
        """
        scores = np.zeros(self._size, np.float32)
        postings, ideal, held = [], 0.0, {}
        near: dict[str, Postings] = {}
        for term in dict.fromkeys(index_terms(query)):
            number, share = self._meant(term)
            # Copies: an array cannot grow while a view of it is alive.
            rows = np.array(() if number is None else self._rows[number], np.int32)
            idf = self._idf(rows.size)
            ideal += idf
            if literal is not None and term not in literal:
                weight = idf if rows.size else MISSPELT * idf
                around = self._around(term, weight, literal)
                near |= {term: around} if around[0].size else {}
            if number is None or not rows.size:
                continue
            counts = np.array(self._counts[number], np.float32)
            added = self._added(rows, counts, np.float32(share * idf))
            scores[rows] += added
            postings.append((rows, added))
            held[term] = share * idf
        rarity = np.array(list(held.values()), np.float32)
        return Match(scores, ideal, tuple(postings), tuple(held), rarity, near)

    def _around(self, term: str, weight: float, literal: Collection[str]) -> Postings:
        """Rows that hold terms near *term*, which weighs *weight*, and what they add for it."""
        known = [
            (self._numbers.get(word), share)
            for word, share in near_terms(term)
            if word not in literal
        ]
        found = [(number, share) for number, share in known if number is not None]
        rows = _joined(self._rows[number] for number, _ in found)
        counts = _joined(self._counts[number] for number, _ in found)
        sizes = [len(self._rows[number]) for number, _ in found]
        shares = np.repeat(np.array([share for _, share in found], np.float32), sizes)
        return rows, self._added(
            rows, counts.astype(np.float32), np.float32(NEAR * weight) * shares
        )

    def _added(
        self,
        rows: NDArray[np.int32],
        counts: NDArray[np.float32],
        weight: np.float32 | NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """What a term of *weight*, idf and share, adds in *rows*, which hold it *counts* times."""
        mean_length = self._total_length / max(1, len(self))
        floor = np.float32(K1 * (1 - B))
        slope = np.float32(K1 * B / mean_length) if mean_length else np.float32(0)
        scale = weight * np.float32(K1 + 1)
        added = scale * counts / (counts + floor + slope * self._lengths[rows])
        return np.asarray(added, np.float32)

    def state(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """The state from which `restore` makes *rows* (all with a text, rising) the first ones.

        Arrays, and a list of the terms that occur.
        """
        place = np.full(self._size, -1, np.int32)
        place[rows] = np.arange(rows.size)
        used = [(term, number) for term, number in self._numbers.items() if self._rows[number]]
        sizes = [len(self._rows[number]) for _, number in used]
        return {
            "terms": [term for term, _ in used],
            "ends": np.cumsum(sizes, dtype=np.int64),
            "postings": place[_joined(self._rows[number] for _, number in used)],
            "counts": _joined(self._counts[number] for _, number in used),
            "lengths": self._lengths[rows],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore *state*; only into an empty index."""
        postings, counts = (np.asarray(state[name], np.int32) for name in ("postings", "counts"))
        ends = np.asarray(state["ends"]).tolist()
        spans = list(pairwise([0, *ends]))
        self._numbers = {term: number for number, term in enumerate(state["terms"])}
        self._rows = [array("i", postings[start:end].tobytes()) for start, end in spans]
        self._counts = [array("i", counts[start:end].tobytes()) for start, end in spans]
        self._lengths = np.array(state["lengths"], np.float32)
        self._size = self._lengths.size
        self._total_length = int(self._lengths.sum(dtype=np.float64))
        numbers = np.repeat(np.arange(len(spans), dtype=np.int32), np.diff([0, *ends]))
        order = np.argsort(postings, kind="stable")
        cuts = np.searchsorted(postings[order], np.arange(self._size + 1)).tolist()
        by_row = numbers[order].tobytes()
        self._terms = {
            row: array("i", by_row[4 * start : 4 * end])
            for row, (start, end) in enumerate(pairwise(cuts))
        }

    def _meant(self, term: str) -> tuple[int | None, float]:
        """The number of *term*, or of the word it misspells, and the share of its weight."""
        number = self._numbers.get(term)
        if number is not None and self._rows[number]:
            return number, 1.0
        meant = self._spelling.nearest(term, self._numbers, self.document_frequency)
        return (self._numbers[meant], MISSPELT) if meant else (None, 1.0)

    def _idf(self, frequency: int) -> float:
        return log1p((len(self) - frequency + 0.5) / (frequency + 0.5))

    def _number(self, term: str) -> int:
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._rows)
            self._rows.append(array("i"))
            self._counts.append(array("i"))
        return number

    def _drop_unused(self) -> None:
        """Drop the terms that no text holds any more, such as numbers of forgotten memories."""
        used = [(term, number) for term, number in self._numbers.items() if self._rows[number]]
        renumbered = {number: place for place, (_, number) in enumerate(used)}
        self._numbers = {term: place for place, (term, _) in enumerate(used)}
        self._rows = [self._rows[number] for _, number in used]
        self._counts = [self._counts[number] for _, number in used]
        self._terms = {
            row: array("i", (renumbered[number] for number in terms))
            for row, terms in self._terms.items()
        }
        self._spelling, self._emptied = Spelling(), 0

    def _reserve(self, size: int) -> None:
        if size > self._lengths.size:
            lengths = np.zeros(max(size, 2 * self._lengths.size, 64), np.float32)
            lengths[: self._size] = self._lengths[: self._size]
            self._lengths = lengths
        self._size = max(self._size, size)


def best(
    scores: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The at most *k* rows with the highest *scores* above 0, and these, highest first.

    *allowed*, one value for each row, is applied before the cut. Ties are ordered by row.
    """
    found = scores > 0
    if allowed is not None:
        found &= allowed[: scores.size]
    rows = np.flatnonzero(found)
    if rows.size > k > 0:
        cut = np.partition(scores[rows], rows.size - k)[rows.size - k]
        rows = rows[scores[rows] >= cut]
    order = np.argsort(-scores[rows], kind="stable")[: max(0, k)]
    return rows[order].astype(np.int64), scores[rows[order]]


def _joined(parts: Iterable[array[int]]) -> NDArray[np.int32]:
    return np.frombuffer(b"".join(part.tobytes() for part in parts), np.int32)
