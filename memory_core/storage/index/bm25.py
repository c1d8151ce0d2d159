"""BM25 over short texts, in memory, changed one text at a time.

Postings are plain integer arrays in the order of rows, so most changes append. Lengths, document
frequencies and the mean length are exact after every change; nothing waits for a rebuild.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import stop_if_abandoned
from memory_core.storage.index.analyzer import index_terms, query_terms
from memory_core.storage.index.vocabulary import Spelling, near_terms

__all__ = ["LexicalIndex"]

K1, B = 0.9, 0.4
"""Saturation and length normalisation; measured on LoCoMo and BEAM."""

FEW_TERMS = 1000
"""Unused terms are not dropped before there are so many."""

CORRECTED_MOST = 16
"""Unknown words of one query that are looked up; a longer list is no question with slips in it."""

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

    def holders(self, term: str) -> NDArray[np.int64]:
        """The rows that hold *term*, as `index_terms` returns it."""
        number = self._numbers.get(term)
        return np.array(() if number is None else self._rows[number], np.int64)

    def match(
        self,
        query: str,
        *,
        literal: Collection[str] | None = None,
        among: NDArray[np.bool_] | None = None,
        spelling: bool = True,
    ) -> Match:
        """The scores of *query* in every row up to the highest ever put, in all and term by term.

        Only the rows of the mask *among* count (None: all): no other text makes a difference to a
        frequency, a mean length, a spelling or a score.

        With *literal*, words near those of the query are searched too (Match.expanded_terms), but
        for the terms in *literal*, such as names, which have no synonyms. Words that no text holds
        are taken for misspelt ones, unless *spelling* is False.
        """
        counted = _Counted(self, among)
        scores = np.zeros(self._size, np.float32)
        postings, ideal, held = [], 0.0, {}
        near: dict[str, Postings] = {}
        looked_up = 0
        for term in query_terms(query):
            stop_if_abandoned()
            number, share = self._number_of(term, counted), 1.0
            if number is None and spelling and looked_up < CORRECTED_MOST:
                looked_up += 1
                number, share = self._meant(term, counted)
            rows, counts = counted.postings(() if number is None else (number,))
            idf = counted.idf(rows.size)
            ideal += idf
            if literal is not None and term not in literal:
                weight = idf if rows.size else MISSPELT * idf
                around = self._around(term, weight, literal, counted)
                near |= {term: around} if around[0].size else {}
            if number is None or not rows.size:
                continue
            added = self._added(rows, counts, np.float32(share * idf), counted)
            scores[rows] += added
            postings.append((rows, added))
            held[term] = share * idf
        rarity = np.array(list(held.values()), np.float32)
        return Match(scores, ideal, tuple(postings), tuple(held), rarity, near)

    def _around(
        self, term: str, weight: float, literal: Collection[str], counted: _Counted
    ) -> Postings:
        """Rows that hold terms near *term*, which weighs *weight*, and what they add for it."""
        known = [
            (self._numbers.get(word), share)
            for word, share in near_terms(term)
            if word not in literal
        ]
        found = [(number, share) for number, share in known if number is not None]
        rows, counts = counted.postings(number for number, _ in found)
        sizes = [counted.frequency(number) for number, _ in found]
        shares = np.repeat(np.array([share for _, share in found], np.float32), sizes)
        return rows, self._added(rows, counts, np.float32(NEAR * weight) * shares, counted)

    def _added(
        self,
        rows: NDArray[np.int32],
        counts: NDArray[np.float32],
        weight: np.float32 | NDArray[np.float32],
        counted: _Counted,
    ) -> NDArray[np.float32]:
        """What a term of *weight*, idf and share, adds in *rows*, which hold it *counts* times."""
        mean_length = counted.mean_length
        floor = np.float32(K1 * (1 - B))
        slope = np.float32(K1 * B / mean_length) if mean_length else np.float32(0)
        scale = weight * np.float32(K1 + 1)
        added = scale * counts / (counts + floor + slope * self._lengths[rows])
        return np.asarray(added, np.float32)

    def state(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """The state from which `restore` makes *rows* (all with a text, rising) the first ones.

        Arrays, and a list of the terms that occur.
        """
        return self.frozen_state()(rows)

    def frozen_state(self) -> Callable[[NDArray[np.int64]], dict[str, Any]]:
        """`state` as of now: it may be called while others change this index."""
        terms = list(self._numbers)  # in the order of their numbers
        sizes = np.fromiter(map(len, self._rows), np.int64, len(terms))
        postings, counts = _joined(self._rows), _joined(self._counts)
        lengths = self._lengths[: self._size].copy()

        def state(rows: NDArray[np.int64]) -> dict[str, Any]:
            place = np.full(lengths.size, -1, np.int32)
            place[rows] = np.arange(rows.size)
            used = np.flatnonzero(sizes)
            return {
                "terms": [terms[number] for number in used.tolist()],
                "ends": np.cumsum(sizes[used]),
                "postings": place[postings],
                "counts": counts,
                "lengths": lengths[rows],
            }

        return state

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

    def _number_of(self, term: str, counted: _Counted) -> int | None:
        """The number of *term*, if a text that counts holds it."""
        number = self._numbers.get(term)
        return number if number is not None and counted.frequency(number) else None

    def _meant(self, term: str, counted: _Counted) -> tuple[int | None, float]:
        """The number of the word that *term* misspells, and the share of its weight."""
        meant = self._spelling.nearest(
            term, self._numbers, lambda word: counted.frequency(self._numbers[word])
        )
        return (self._numbers[meant], MISSPELT) if meant else (None, 1.0)

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


class _Counted:
    """The texts of an index that count for one query, and what is counted among them."""

    def __init__(self, index: LexicalIndex, among: NDArray[np.bool_] | None) -> None:
        self._rows, self._counts = index._rows, index._counts
        self._among = among
        self._size, total = len(index), float(index._total_length)
        if among is not None:
            lengths = index._lengths[: index._size][among[: index._size]]
            self._size, total = int(np.count_nonzero(among)), float(lengths.sum(dtype=np.float64))
        self.mean_length = total / max(1, self._size)

    def frequency(self, number: int) -> int:
        """How many of the texts hold the term *number*."""
        if self._among is None:
            return len(self._rows[number])
        return int(np.count_nonzero(self._among[np.array(self._rows[number], np.int32)]))

    def postings(self, numbers: Iterable[int]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The rows of the texts that hold the terms *numbers*, term after term, and how often."""
        chosen = tuple(numbers)
        rows = _joined(self._rows[number] for number in chosen)
        counts = _joined(self._counts[number] for number in chosen).astype(np.float32)
        if self._among is None:
            return rows, counts
        kept = self._among[rows]
        return rows[kept], counts[kept]

    def idf(self, frequency: int) -> float:
        return log1p((self._size - frequency + 0.5) / (frequency + 0.5))


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
