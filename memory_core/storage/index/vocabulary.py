"""Vocabulary: the known word that a misspelt one stands for, and words near in meaning.

Trigrams shortlist, the edit distance decides. Words are learnt when the first unknown one is looked
up, not while a store opens. Terms with a digit are never corrected: port 5433 is no misspelt 5432.
Near words come from a table that is shipped.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LEAST = 4
"""Fewest letters of a word that is corrected; shorter ones are near to too many others."""

TWO_EDITS = 8
"""From that many letters on two edits are allowed; under 6 only swapped letters."""

SHORTLIST = 12


class Spelling:
    """Finds the known word nearest to a misspelt one; safe for concurrent readers."""

    def __init__(self) -> None:
        """Start empty."""
        self._holders: dict[str, list[str]] = {}
        self._learnt = 0
        self._lock = threading.Lock()

    def nearest(self, word: str, known: Collection[str], frequency: Callable[[str], int]) -> str:
        """The word among *known* that *word* misspells, or ""; its *frequency* must be above 0.

        Fewest edits first, then the most frequent. *known* has an order and only grows at its end.
        """
        if len(word) < LEAST or not word.isalpha():
            return ""
        with self._lock:
            if len(known) > self._learnt:
                self._learn(islice(known, self._learnt, None))
                self._learnt = len(known)
            shared = Counter(w for gram in _grams(word) for w in self._holders.get(gram, ()))
        best = [other for other, _ in shared.most_common(SHORTLIST) if frequency(other)]
        near = {other: edits(word, other) for other in best}
        fitting = [other for other in best if _forgiven(word, other, near[other])]
        return min(fitting, key=lambda other: (near[other], -frequency(other), other), default="")

    def _learn(self, words: Iterable[str]) -> None:
        for word in words:
            if len(word) >= LEAST and word.isalpha():
                for gram in _grams(word):
                    self._holders.setdefault(gram, []).append(word)


def edits(a: str, b: str) -> int:
    """Letters to insert, drop, change or swap with their neighbour to make *b* of *a*.

    The restricted Damerau-Levenshtein distance (Damerau 1964).
    """
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [i]
        for j, other in enumerate(b, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]


def _forgiven(word: str, other: str, distance: int) -> bool:
    if distance > (2 if min(len(word), len(other)) >= TWO_EDITS else 1):
        return False
    if sorted(word) == sorted(other):  # letters changed places
        return True
    return len(word) >= 6 and word[0] == other[0]


def _grams(word: str) -> set[str]:
    """Its trigrams, the ends marked, and its two ends: swapped letters break most of the others."""
    marked = f"^{word}$"
    grams = {marked[n : n + 3] for n in range(len(marked) - 2)}
    return grams | {f"{word[0]}*{word[-1]}", "".join(sorted(word))}


TABLE = Path(__file__).parents[1] / "data" / "near_words.npz"


@dataclass(frozen=True, slots=True)
class _Table:
    """Terms by place; near the term at a place are those from ends[place - 1] to ends[place]."""

    terms: Sequence[str]
    places: dict[str, int]
    ends: NDArray[np.int32]
    near: NDArray[np.uint16]
    shares: NDArray[np.uint8]


def near_terms(term: str) -> list[tuple[str, float]]:
    """Up to 16 index terms (analyzer.index_terms) near the index term *term*, with shares 0-1.

    The nearest first; [] for a term that the table does not know, such as a name. The share is 0
    at cosine 0.45 and 1 at cosine 1.
    """
    table = _table()
    place = table.places.get(term)
    if place is None:
        return []
    start, end = (int(table.ends[place - 1]) if place else 0), int(table.ends[place])
    words, shares = table.near[start:end].tolist(), table.shares[start:end].tolist()
    return [(table.terms[word], share / 255) for word, share in zip(words, shares, strict=True)]


@functools.cache
def _table() -> _Table:
    with np.load(TABLE) as arrays:
        terms = arrays["terms"].tobytes().decode().split("\n")
        places = {term: place for place, term in enumerate(terms)}
        return _Table(terms, places, arrays["ends"], arrays["near"], arrays["shares"])
