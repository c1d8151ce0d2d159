"""Which terms are near a term in meaning: dog and puppy, hobby and leisure.

The table was made from the embedding model's own vectors of single words, by
tools/build_near_words.py, and serves every store and every model. It is read when the first
question comes, not at start.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLE = Path(__file__).parent / "data" / "near_words.npz"


@dataclass(frozen=True, slots=True)
class _Table:
    """Terms by place; those near the term at a place stand from ends[place - 1] to ends[place]."""

    terms: Sequence[str]
    places: dict[str, int]
    ends: NDArray[np.int32]
    near: NDArray[np.uint16]
    shares: NDArray[np.uint8]


def near_terms(term: str) -> list[tuple[str, float]]:
    """Up to 16 terms near *term* (all as analysis.analyse gives them), each with its share, 0-1.

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
