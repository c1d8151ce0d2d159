"""Vocabulary: the known word that a misspelt one stands for, and words near in meaning.

Trigrams shortlist, the edit distance decides. Words are learnt when the first unknown one is looked
up, not while a store opens. Terms with a digit are never corrected: port 5433 is no misspelt 5432.
Near words come from a table that is shipped.
"""

from __future__ import annotations

import functools
import sys
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

LONGEST = 40
"""Most letters of a word that is corrected or stands for another. A longer one is a key, a sequence
or a text without spaces, and comparing two of them letter by letter would take minutes."""

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
        if not _is_corrected(word):
            return ""
        with self._lock:
            if len(known) > self._learnt:
                self._learn(islice(known, self._learnt, None))
                self._learnt = len(known)
            shared = Counter(w for gram in _grams(word) for w in self._holders.get(gram, ()))
        held = (other for other, _ in shared.most_common() if frequency(other))
        best = list(islice(held, SHORTLIST))  # words of no text here take no place
        near = {other: edits(word, other, 2) for other in best}
        fitting = [other for other in best if _forgiven(word, other, near[other])]
        return min(fitting, key=lambda other: (near[other], -frequency(other), other), default="")

    def _learn(self, words: Iterable[str]) -> None:
        for word in words:
            if _is_corrected(word):
                for gram in _grams(word):
                    self._holders.setdefault(gram, []).append(word)


def edits(a: str, b: str, most: int = sys.maxsize) -> int:
    """Letters to insert, drop, change or swap with their neighbour to make *b* of *a*.

    The restricted Damerau-Levenshtein distance (Damerau 1964); *most* + 1 for all that are larger
    than *most*. Compares at most 2 *most* + 1 letters of *b* with each of *a*.
    """
    if abs(len(a) - len(b)) > most:
        return most + 1
    above_most = most + 1
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        row = [above_most] * (len(b) + 1)
        row[0] = i
        for j in range(max(1, i - most), min(len(b), i + most) + 1):
            other = b[j - 1]
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row[j] = cost
        if min(row) > most:
            return above_most
        before, above = above, row
    return min(above[-1], above_most)


def _is_corrected(word: str) -> bool:
    return LEAST <= len(word) <= LONGEST and word.isalpha()


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
