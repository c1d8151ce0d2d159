"""Secrets below their heading in a table of Markdown, of separated values, or of a database."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.remarks import is_listed, is_predicate
from memory_core.text.secrets.spans import Span, is_placeholder, is_reference

_HEADINGS = ("pass", "kennw", "pwd", "key", "token", "secret", "ssn")
_HEADING = lazy_pattern(
    r"(?P<short>pass|pw)|(?:pass|pw)[ _-](?:md5|sha1|sha256|hash)"
    r"|(?:[\w -]{1,20}[ _-])?(?:(?P<word>password|passwort|kennwort|passwd|pwd"
    r"|passphrase)|secret|secret access key|api[ _-]?key|(?:api[ _-]?|access[ _-]?)?token"
    r"|client[ _-]secret|ssn)"
)
"""A password may be a word; below the other headings a value has a digit."""
_BELOW_HEADING = lazy_pattern(r"[ \t|+:=-]{3,}$")
_CELL = lazy_pattern(r"[\w .#/-]{1,40}")
"""A heading; a line of code has other signs."""
_RULED = lazy_pattern(r"[:-]+")
_LINE = 1000
"""Characters of a line within which a table is headed."""

_INSERTED = lazy_pattern(
    r"(?i)\binsert\s+into\s+[\w.\"`\[\]]{1,80}\s*\((?P<names>[^()]{1,600})\)\s*values\s*"
    r"(?P<rows>\((?:'(?:[^'\n]|''){0,400}'|[^;'\n]|\n){1,4000})"
)
_COPIED = lazy_pattern(
    r"(?im)^copy\s+[\w.\"]{1,80}\s*\((?P<names>[^()]{1,600})\)\s+from\s+stdin[^\n]{0,80}\n"
    r"(?P<rows>(?:(?!\\\.)[^\n]{1,1000}\n?){1,50})"
)
_INSERTED_VALUE = lazy_pattern(r"(?P<opens>\()|N?'(?P<value>(?:[^'\n]|''){0,400})'|[^\s,()']{1,80}")
_COPIED_VALUE = lazy_pattern(r"(?m)(?P<opens>^)?(?P<value>[^\s]{1,200}(?: [^\s]{1,200}){0,20})")


def found(text: str, low: str) -> Iterator[Span]:
    """The places of secrets in the tables of *text*; *low* is `folded` of it."""
    if not any(word in low for word in _HEADINGS):
        return
    for word, rows, values in (
        (" into ", _INSERTED, _INSERTED_VALUE),
        ("copy ", _COPIED, _COPIED_VALUE),
    ):
        for match in rows.finditer(text) if word in low else ():
            yield from _in_rows(match, values)
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


def _in_rows(table: re.Match[str], values: re.Pattern[str]) -> Iterator[Span]:
    """The places of secrets among the *values* of the rows that a statement writes."""
    names = [name.strip(" \t\r\n\"`'[]").lower() for name in table["names"].split(",")]
    heads = [_HEADING.fullmatch(name) for name in names]
    place = -1
    for value in values.finditer(table.string, *table.span("rows")):
        place = place + 1 if value["opens"] is None else -1 + (value["value"] is not None)
        head = heads[place] if 0 <= place < len(heads) else None
        if head is None or not value["value"]:
            continue
        word = bool(head["word"] or head["short"])
        if _is_secret(value["value"], may_be_word=word, remarks=False):
            yield (*value.span("value"), "password")


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


def _is_secret(value: str, *, may_be_word: bool, remarks: bool = True) -> bool:
    """With *remarks* a cell may also say how a password is."""
    if not (may_be_word or any(map(str.isdigit, value))):
        return False
    told = is_reference(value) or is_placeholder(value) or (remarks and is_predicate(value))
    told = told or is_listed(value.partition(" ")[0])  # "in the vault"
    told = told or value.startswith("(")
    return len(value) >= 4 and not told and not _RULED.fullmatch(value)
