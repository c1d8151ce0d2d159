"""Writes memory_core/storage/data/near_words.npz: which words are near which others in meaning.

    python tools/build_near_words.py       # needs the weights in place; takes about a minute

Each whole word of all-MiniLM-L6-v2's vocabulary is embedded alone. A term (the words that
storage.analysis makes one of, such as dog and dogs) has the mean of its words' vectors. Kept are,
for each term, the MOST others from cosine LEAST on, with a share that rises from 0 at FLOOR to 1.
Function words, numbers and words of the calendar mean only themselves.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_core.storage.index.analyzer import index_terms
from memory_core.text import numerals
from memory_core.text.time import lexicon
from memory_core.text.words import STOPWORDS

FILE = Path(__file__).parents[1] / "memory_core" / "storage" / "data" / "near_words.npz"

SHORTEST = 3
FLOOR, LEAST, MOST = 0.45, 0.50, 16
"""Single words that have nothing to do with each other have a cosine of about 0.2; over 0.45 lies
less than 1 % of all pairs."""

_ALONE = (
    set(STOPWORDS)
    | set(lexicon.MONTHS)
    | set(lexicon.WEEKDAYS)
    | set(lexicon.NUMBERS)
    | set(lexicon.UNITS)
    | set(lexicon.DIRECTIONS)
    | set(numerals.VALUES)
)

Vectors = NDArray[np.float32]


def terms_of(words: Iterable[str]) -> dict[str, list[str]]:
    """The *words* that can be near others, by their term, both in alphabetical order."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in sorted(words):
        if len(word) < SHORTEST or not (word.isascii() and word.isalpha()) or word in _ALONE:
            continue
        terms = index_terms(word)
        if len(terms) == 1 and terms[0] not in _ALONE:
            found[terms[0]].append(word)
    return {term: found[term] for term in sorted(found)}


def points(terms: dict[str, list[str]], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """One unit vector a term: (len(terms), dimension)."""
    words = [word for each in terms.values() for word in each]
    starts = np.cumsum([0, *(len(each) for each in terms.values())])[:-1]
    sums: Vectors = np.add.reduceat(embed(words), starts, axis=0)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    return sums


def near(points: Vectors, place: int) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The places nearest to *place* and their shares of 255, the nearest first."""
    cosines = points @ points[place]
    cosines[place] = 0.0
    best = np.argsort(-cosines, kind="stable")[:MOST]
    best = best[cosines[best] >= LEAST]
    shares = np.round(255 * (cosines[best] - FLOOR) / (1 - FLOOR)).astype(np.uint8)
    return best, shares


def main() -> None:
    """Write the file."""
    from tokenizers import Tokenizer

    from memory_core.config import Settings
    from memory_core.embedding import acquisition, weights
    from memory_core.embedding.embedder import choose

    settings = Settings()
    folder = acquisition.locate(settings)
    terms = terms_of(Tokenizer.from_file(str(folder / weights.TOKENIZER)).get_vocab())
    every = points(terms, choose(settings).documents)
    found = [near(every, place) for place in range(len(terms))]
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        FILE,
        terms=np.frombuffer("\n".join(terms).encode(), np.uint8),
        ends=np.cumsum([len(places) for places, _ in found], dtype=np.int32),
        near=np.concatenate([places for places, _ in found]).astype(np.uint16),
        shares=np.concatenate([shares for _, shares in found]),
    )
    sys.stderr.write(f"{FILE}: {len(terms)} terms, {FILE.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
