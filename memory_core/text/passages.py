"""Passages: the pieces of a text that get a vector of their own."""

from __future__ import annotations

import re

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import CJK, count_words, listed

_ABBREVIATIONS = frozenset(
    listed(
        """mr mrs ms dr prof sr jr st mt ft rev hon gen col sgt capt lt cmdr gov sen rep pres
        inc ltd co corp llc dept univ assn bros vs e.g i.e eg ie cf al approx esp resp incl excl
        p.s a.k.a u.s u.k u.n d.c ave blvd rd bzw ca evtl ggf inkl hr fr bspw sog z.b d.h u.a
        o.ä z d h u"""
    )
)
_BEFORE_DIGITS = frozenset(
    listed(
        """no nr vol fig figs eq sec ch pp tel jan feb mar apr jun jul aug sep sept oct nov dec"""
    )
)
_END = lazy_pattern(
    r"[.!?…]{1,20}[\"'”’»)\]]{0,4}(?=\s)|[。！？｡]{1,20}[」』”’）]{0,4}|[\r\n\u2028\u2029]"
)
_LAST_TOKEN = lazy_pattern(r"[^\s(\[\"'“‘]{1,12}$")
_MONTH = lazy_pattern(
    r"\s*(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zä]{0,7}\b",
    re.IGNORECASE,
)


def passages(text: str, *, packed: bool, max_words: int = 80, most: int = 32) -> list[str]:
    """The passages of *text* in order: a partition of it, white space between them dropped.

    Not *packed*: one a sentence; sentences of at most two words join the next one (the last joins
    the one before). *packed*, or when there would be more than *most*: greedily, whole sentences up
    to *max_words*. A sentence over *max_words* is cut between words. Two characters of Chinese,
    Japanese or Korean count as a word and such runs may be cut anywhere. Never more than *most*:
    *max_words* grows for longer texts. A text of one passage is returned unchanged; a blank one has
    none.

    Sentences end at ``. ! ? …`` before white space, at ``。！？`` and at line breaks, but not after
    abbreviations, initials and German ordinals ("Dr. Ott", "J. Smith", "am 3. März").
    """
    if not text.strip():
        return []
    found = sentences(text)
    parts = _cut(found if packed else _join_short(found), max_words)
    if packed or len(parts) > most:
        weights = [count_words(part) for part in parts]
        limit = max_words if packed else max(max_words, -(-sum(weights) // most))
        pieces = _pack(parts, weights, limit)
        while len(pieces) > most:
            limit = max(limit + limit // 4 + 1, -(-sum(weights) // most))
            pieces = _pack(parts, weights, limit)
        parts = pieces
    return [text] if len(parts) == 1 else parts


def sentences(text: str) -> list[str]:
    """The sentences of *text* in order, stripped, none blank; nothing is joined or cut."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match.group()[0] == "." and _is_abbreviation(text, match.start(), match.end()):
            continue
        piece = text[start : match.end()].strip()
        start = match.end()
        if piece:
            found.append(piece)
    rest = text[start:].strip()
    if rest:
        found.append(rest)
    return found


def _is_abbreviation(text: str, dot: int, end: int) -> bool:
    if end - dot != 1:
        return False
    before = _LAST_TOKEN.search(text, max(0, dot - 12), dot)
    if before is None:
        return False
    token = before.group()
    following = text[end : end + 12].lstrip()[:1]
    if token.isdigit():
        at_line_start = not text[:dot].rsplit("\n", 1)[-1][: -len(token)].strip()
        return len(token) <= 2 and (at_line_start or _MONTH.match(text, end) is not None)
    if len(token) == 1 and token.isalpha() and token.isupper() and token != "I":
        return True
    word = token.casefold()
    return word in _ABBREVIATIONS or (word in _BEFORE_DIGITS and following.isdigit())


def _join_short(found: list[str]) -> list[str]:
    joined: list[str] = []
    held = ""
    for sentence in found:
        candidate = f"{held} {sentence}" if held else sentence
        if count_words(candidate) <= 2:
            held = candidate
        else:
            joined.append(candidate)
            held = ""
    if held:
        joined.append(f"{joined.pop()} {held}" if joined else held)
    return joined


def _cut(found: list[str], max_words: int) -> list[str]:
    pieces: list[str] = []
    for sentence in found:
        if count_words(sentence) <= max_words:
            pieces.append(sentence)
        else:
            pieces.extend(_cut_one(sentence, max_words))
    return pieces


def _cut_one(sentence: str, max_words: int) -> list[str]:
    pieces: list[str] = []
    held: list[str] = []
    size = 0
    for word in sentence.split():
        weight = count_words(word)
        if held and size + weight > max_words:
            pieces.append(" ".join(held))
            held, size = [], 0
        if weight > max_words and CJK.search(word):
            step = max(1, 2 * max_words - 2)
            pieces.extend(word[i : i + step] for i in range(0, len(word), step))
            continue
        held.append(word)
        size += weight
    return [*pieces, " ".join(held)] if held else pieces


def _pack(parts: list[str], weights: list[int], limit: int) -> list[str]:
    pieces: list[str] = []
    held: list[str] = []
    size = 0
    for part, weight in zip(parts, weights, strict=True):
        if held and size + weight > limit:
            pieces.append(" ".join(held))
            held, size = [], 0
        held.append(part)
        size += weight
    return [*pieces, " ".join(held)]
