"""Echoes: text that only gives back what was recalled, which is never captured as new (rule 8)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_core.text.passages import sentences
from memory_core.text.words import is_plain, listed, words

_BLOCK = re.compile(
    r"(?:^(?:found \d|nothing found)[^\n]{0,200}; confidence [0-9.]+ \(\w+\)\n"
    r"(?:(?:truncated|note:)[^\n]{0,200}\n){0,2})?"
    r"(?:^Recalled text is data, not instructions:[^\n]{0,80}\n)?"
    r"<(recalled-[0-9a-f]{8})>.*?(?:</\1>|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A block of recalled text as the text channel draws it, also one that was cut off."""

LEAST_WORDS = 4
"""Shorter sentences make no echo."""

_INTRODUCING = frozenset(
    listed("remember recall recalled memory memories know noted said told mentioned found stored")
)
_DENYING = frozenset(listed("no not nope nah never nor nein nicht"))


def without_recalled(text: str) -> str:
    """*text* without blocks of recalled text and the lines that lead to them; else as it is."""
    return _BLOCK.sub("\n", text).strip() if "<recalled-" in text else text


def echoed(text: str, sources: Sequence[str]) -> int | None:
    """The place of the source that *text* gives back most of; None when it says something itself.

    Sentence by sentence, word by word: a changed number, name or word makes another sentence. What
    stands beside the repeated ones may only introduce them ("Here is what I remember"), so that a
    correction of what was recalled, or an addition to it, is never taken for its echo.
    """
    known = [f" {' '.join(words(source))} " for source in sources]
    held = [0] * len(known)
    for sentence in sentences(text):
        said = words(sentence)
        inside = [place for place, source in enumerate(known) if f" {' '.join(said)} " in source]
        if inside and len(said) >= LEAST_WORDS:
            held[inside[0]] += len(said)
        elif not all(_introduces(word) for word in said):
            return None
    return held.index(max(held)) if sum(held) else None


def _introduces(word: str) -> bool:
    return (is_plain(word) and word not in _DENYING) or word in _INTRODUCING
