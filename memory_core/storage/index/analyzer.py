"""Text to index terms: folding, splitting, stopwords, stemming.

Rules, in order:

- Case and accents are folded (NFKD, combining marks dropped; the German sharp s becomes "ss"), also
  for letters that have no decomposition, such as the Polish crossed l. Kana keep their voice marks.
- Han, Hiragana, Katakana and Hangul run without spaces: each pair of neighbours is a term, a
  character that stands alone is one too.
- A possessive or contracted ending ('s, 're, 'll ...) is dropped; "don't" and its kind are
  stopwords as a whole.
- A decimal number or dotted number is one term (3.14, 10.0.0.1); commas between thousands are
  dropped (1,000 is 1000). Other numbers are terms as they stand (5432, v2).
- Words joined by hyphen, underscore or apostrophe, or by a dot between digits, are found by their
  parts and as one word: e-mail gives e, mail and email; snake_case gives snake, case and snakecase,
  which is also what snakeCase gives; v2.1 gives v2, 1 and v2.1.
- English stopwords are dropped and words of plain Latin letters are stemmed (Snowball English).
"""

from __future__ import annotations

import threading
import unicodedata
from itertools import chain

import Stemmer

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import (
    CJK,
    CJK_CLASS,
    FUNCTION_WORDS,
    GERMAN_FUNCTION_WORDS,
    is_german,
    words,
)

STOPWORDS = FUNCTION_WORDS | {"both", "further"}
"""Words that the index leaves out: two more than the other rules on texts."""

_CJK_RUN = lazy_pattern(f"[{CJK_CLASS}]+|[^{CJK_CLASS}]+")
_VOICE_MARKS = "\u3099\u309a"
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
    | dict.fromkeys("\u2018\u2019\u02bc\u2032\uff07", "'")
    | dict.fromkeys("\u2010\u2011", "-")
)
_CHUNK = lazy_pattern(r"[^\W_]+(?:[-_.,'][^\W_]+)*")
_ENDING = lazy_pattern(r"'(?:s|re|ve|ll|d|m)$")
_THOUSANDS = lazy_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DOTTED = lazy_pattern(r"\d+(?:\.\d+)+")
_COMPOUND = lazy_pattern(r"[^\W_]+(?:(?:[-_']|(?<=\d)\.(?=\d))[^\W_]+)*")
_PART = lazy_pattern(r"[^\W_]+")
_CACHE_SIZE = 8192  # about 250 bytes each; 3,800 turns of two datasets hold 11,400 distinct chunks
_CACHED_LENGTH = 40


def index_terms(text: str) -> list[str]:
    """The index terms of *text* in order, with repeats. Thread-safe."""
    if text.isascii():
        return _terms_of(text.lower())
    folded = fold(text)
    if CJK.search(folded) is None:
        return _terms_of(folded)
    terms: list[str] = []
    for run in _CJK_RUN.findall(folded):
        terms += _bigrams(run) if CJK.match(run) else _terms_of(run)
    return terms


def query_terms(query: str) -> list[str]:
    """The index terms of *query*, each once, without German function words where it is German.

    The index holds these, for some are English words with content ("die", "hat", "man"). In a
    store of few German texts they are rare, so that "bin ich" weighed more than what was asked.
    """
    terms = dict.fromkeys(index_terms(query))
    if is_german(spoken := words(query)):
        for plain in index_terms(" ".join(GERMAN_FUNCTION_WORDS.intersection(spoken))):
            terms.pop(plain, None)
    return list(terms)


def fold(text: str) -> str:
    """*text* without case and accents; compatibility forms (full width, ligatures) become plain."""
    spread = unicodedata.normalize("NFKD", text.translate(_LETTERS)).casefold()
    bare = "".join(
        c for c in spread if unicodedata.category(c) not in ("Mn", "Me") or c in _VOICE_MARKS
    )
    return unicodedata.normalize("NFC", bare).translate(_LETTERS)


class _Cache(dict[str, tuple[str, ...]]):
    """Terms by chunk. The rules run once for each distinct chunk; later calls look it up."""

    def __init__(self) -> None:
        super().__init__()
        self._stemmer = Stemmer.Stemmer("english")
        self._lock = threading.Lock()

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        # PyStemmer objects are not thread-safe.
        with self._lock:
            terms = tuple(self._stem(word) for word in _words(chunk))
            if len(chunk) <= _CACHED_LENGTH:
                if len(self) >= _CACHE_SIZE:
                    self.clear()
                self[chunk] = terms
        return terms

    def _stem(self, word: str) -> str:
        stemmed: str = self._stemmer.stemWord(word) if word.isascii() and word.isalpha() else word
        return stemmed


_CACHE = _Cache()


def _terms_of(folded: str) -> list[str]:
    return list(chain.from_iterable(map(_CACHE.__getitem__, _CHUNK.findall(folded))))


def _words(chunk: str) -> list[str]:
    """The words of a *chunk* (a run without spaces), stopwords left out, not yet stemmed."""
    if chunk.endswith("n't"):
        return []
    chunk = _ENDING.sub("", chunk)
    if _THOUSANDS.fullmatch(chunk):
        return [chunk.replace(",", "")]
    if _DOTTED.fullmatch(chunk):
        return [chunk]
    found: list[str] = []
    for compound in _COMPOUND.findall(chunk):
        parts = _PART.findall(_ENDING.sub("", compound))
        found += [part for part in parts if part not in STOPWORDS]
        if len(parts) > 1:
            found.append("".join(c for c in compound if c.isalnum() or c == "."))
    return found


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]
