"""Secrets below their heading in a table of Markdown or of separated values."""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.remarks import is_predicate
from memory_core.text.secrets.spans import Span, is_placeholder, is_reference

_HEADINGS = ("pass", "kennw", "pwd", "key", "token", "secret", "ssn")
_HEADING = lazy_pattern(
    r"(?P<short>pass|pw)|(?:[\w -]{1,20}[ _-])?(?:(?P<word>password|passwort|kennwort|passwd|pwd"
    r"|passphrase)|secret access key|api[ _-]?key|(?:api[ _-]?|access[ _-]?)?token"
    r"|client[ _-]secret|ssn)"
)
"""A password may be a word; below the other headings a value has a digit."""
_BELOW_HEADING = lazy_pattern(r"[ \t|+:=-]{3,}$")
_CELL = lazy_pattern(r"[\w .#/-]{1,40}")
"""A heading; a line of code has other signs."""
_RULED = lazy_pattern(r"[:-]+")
_LINE = 1000
"""Characters of a line within which a table is headed."""


def found(text: str, low: str) -> Iterator[Span]:
    """The places of secrets in the tables of *text*; *low* is `folded` of it."""
    if not any(word in low for word in _HEADINGS):
        return
    columns: dict[int, bool] = {}
    count, sign, at = 0, "", 0
    lines = text.splitlines(keepends=True)
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if columns and _BELOW_HEADING.match(line):
            pass
        elif columns and line.count(sign) == count:
            place = at
            for number, cell in enumerate(line.split(sign)):
                value = cell.strip(" \t\r\n\"'`")
                if number in columns and _is_secret(value, may_be_word=columns[number]):
                    begin = place + cell.index(value)
                    yield begin, begin + len(value), "password"
                place += len(cell) + 1
        else:
            columns, count, sign = _headed(line)
            ruled = _BELOW_HEADING.match(below) is not None
            bare = not line.lstrip().startswith("|") and below.count("|") == count > 1
            if sign == "|" and not (ruled or bare):
                columns = {}
        at += len(line)


def _headed(line: str) -> tuple[dict[int, bool], int, str]:
    """The columns of secrets that *line* heads, and whether a word may be one there; how many signs
    part the columns, and which."""
    for sign in "|\t;,":
        cells = [cell.strip(" \t\r\n\"'`*").lower() for cell in line[:_LINE].split(sign)]
        named = cells[1:-1] if sign == "|" and not (cells[0] or cells[-1]) else cells
        columns = {
            place: (heading["word"] or heading["short"]) is not None
            for place, cell in enumerate(cells)
            if (heading := _HEADING.fullmatch(cell))
        }
        if columns and len(named) > 1 and all(map(_CELL.fullmatch, named)):
            return columns, line.count(sign), sign
    return {}, 0, ""


def _is_secret(value: str, *, may_be_word: bool) -> bool:
    if not (may_be_word or any(map(str.isdigit, value))):
        return False
    told = is_reference(value) or is_placeholder(value) or is_predicate(value)
    told = told or value.startswith("(")
    return len(value) >= 4 and not told and not _RULED.fullmatch(value)
