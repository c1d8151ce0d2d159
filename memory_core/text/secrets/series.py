"""Several secrets behind one name: lists of passwords, tokens in code, codes to recover with."""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import (
    Rule,
    Span,
    is_odd,
    is_placeholder,
    is_random,
    is_reference,
)

_LISTED = Rule(
    "passw|kennw|pass",
    r"(?i)(?:passwords|passwörter|kennwörter|pass ?codes)\s?:(?P<rest>[^\n]{3,1000})",
)
_ENTRY = lazy_pattern(r"[\w .-]{1,40}?\s?[=:]\s?[\"'`]?(?P<value>[^\s\"'`,;]{4,128})")
_LIST = Rule(
    "tokens|keys|secrets|passw",
    r"(?i)(?:tokens|keys|secrets|passwords|passwörter|passwds)[\"']?\s{0,3}(?::?=|:"
    r"|=>)\s{0,3}[\[({]"
    r"(?P<rest>[^\])}]{8,2000})",
)
_ITEM = lazy_pattern(r"[\"'](?P<value>[^\s\"']{4,200})[\"'](?!\s?:)")
"""Values of a list in code: tokens = ["...", "..."]."""
_CODES = Rule(
    "code|key|schlüssel|códig|codig|codic|kod",
    r"(?i)\b(?:(?:backup|recovery|2fa|mfa|one-time|scratch|rescue|emergency|wiederherstellungs"
    r"|notfall|herstel)"
    r"[ _-]?(?:codes?|keys?|schlüssel)"
    r"|c[óo]digos? de (?:recuperaci[óo]n|recupera[çc][ãa]o|respaldo|seguran[çc]a)"
    r"|codes? de (?:récupération|secours)"
    r"|codic[ei] di (?:recupero|backup|emergenza)|kody? (?:zapasow\w{1,2}|odzyskiwania)"
    r"|återställningskod\w{0,3})\b(?:[^\n:]{0,40}:?\s?\n(?:[^\n]{0,80}\n){0,2}?"
    r"(?P<lines>(?:(?:[0-9]{1,2}[.)][ ]|[*-][ ])?(?=[a-z -]{0,40}[0-9])"
    r"[a-z0-9]{4,10}(?:[ -][a-z0-9]{4,10}){0,3}[ ]?(?:\n|$)){3,20})"
    r"|[\"'][ ]?:[ ]?[\"'](?P<given>[\w-]{6,80})[\"']|[^\n:=]{0,30}?"
    r"(?:\bis|\bare|\bsind|\bist|\blautet|\bes|\bson|\best|\bsont|\bè|\bé|\bär|,|:|="
    r"|(?<=[a-z])(?=[ ][0-9]{4} [0-9]{4}))\s{1,3}"
    r"(?P<rest>[^\n]{6,400})"
    r"|\s{1,3}(?P<parts>[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){3,15}|[0-9]{6,12})(?![\w-]))",
)
_CODE = lazy_pattern(
    r"(?<![\w-])(?P<value>(?=[a-zA-Z-]{0,40}[0-9]|[A-Z]?[a-z-]{1,40}[A-Z])[\w-]{6,80}"
    r"|[0-9]{3,5}(?: [0-9]{3,5}){1,3})(?![\w-])"
)
_HEXADECIMAL = lazy_pattern("[0-9a-fA-F]{32,200}")


def found(text: str, low: str) -> Iterator[Span]:
    """The places in *text* of what a list of secrets holds; *low* is `folded` of it."""
    for match in _CODES.found(text, low):
        for group in ("lines", "given"):
            if match[group]:
                start, end = match.span(group)
                yield start, start + len(text[start:end].rstrip()), "code"
    for line in _LIST.found(text, low):
        words = line.group()[:6].lower().startswith("passw")
        for match in _ITEM.finditer(text, *line.span("rest")):
            value = match["value"]
            named = words and is_odd(value) and not is_placeholder(value)
            if named or is_random(value) or _HEXADECIMAL.fullmatch(value):
                yield (*match.span("value"), "password" if words else "secret")
    for whole, one, kind in ((_LISTED, _ENTRY, "password"), (_CODES, _CODE, "code")):
        for line in whole.found(text, low):
            rest = line.span(line.lastgroup or "rest")
            if line.lastgroup in ("lines", "given"):
                continue
            for match in one.finditer(text, *rest):
                if not is_reference(match["value"]):
                    yield (*match.span("value"), kind)
