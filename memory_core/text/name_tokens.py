"""Tokens as the rules for names see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_core.text.names.lexicon import TITLES

# a run of stops is tried once, from its beginning: from each of its characters is quadratic
_TOKEN = re.compile(
    r"(?P<handle>(?<![\w@])@[A-Za-z0-9_][A-Za-z0-9_.-]{1,38})"
    r"|(?P<version>(?<![\w.])v?[0-9]{1,4}(?:\.[0-9]{1,5}){0,3}(?![\w]|\.[0-9]))"
    r"|(?P<word>[^\W_](?:[^\W_]|[_'’&+/.-](?=[^\W_])|\+(?!\w)){0,79})"
    r"|(?P<stop>(?<![.!?…:。！？])[.!?…:。！？]++(?=[\s\"'”’)\]]|$)|\n|[-*•]\s)"
    r"|(?P<gap>[,;()\[\]{}\"“”„«»|/—–\\<>=])"
)


class Token(NamedTuple):
    """A piece of the text; *kind* is word, version, handle, stop or gap."""

    text: str
    kind: str
    start: int
    first: bool  # opens a sentence


def name_tokens(text: str) -> Iterator[Token]:
    """The tokens of *text* that matter to names in order, each with whether it opens a sentence."""
    first = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "gap"
        yield Token(match.group(), kind, match.start(), first)
        if kind == "stop":
            title = match.group() == "." and _is_title(text, match.start())
            first = not title
        elif kind != "gap" or match.group() in '"“„«':
            first = first and kind == "gap"


def _is_title(text: str, dot: int) -> bool:
    before = re.search(r"[^\W\d_]{1,9}$", text[max(0, dot - 10) : dot])
    return before is not None and (before.group().lower() in TITLES or len(before.group()) == 1)


def bare_form(word: str) -> str:
    """*word* casefolded without its possessive ending."""
    return without_possessive(word).casefold()


def without_possessive(word: str) -> str:
    """*word* without 's or a closing apostrophe."""
    for ending in ("'s", "’s", "'", "’"):
        if word.endswith(ending):
            return word[: -len(ending)]
    return word
