"""JSON with comments and trailing commas: read, and changed in place so that the rest stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_REMARK = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")
_STEP = "  "
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """One member of an object: its name and value, and where key and value stand."""

    name: str
    value: Any
    key: int
    start: int
    end: int


def parsed(text: str) -> Any:
    """The value of *text*. Raises ValueError with the reason and its line."""
    return json.loads(_strict(_without_remarks(text)))


def changed(text: str, wanted: Mapping[str, Any]) -> str:
    """*text*, an object, with as few spans replaced as make its value *wanted*."""
    bare = _without_remarks(text)
    strict = _strict(bare)
    edits = sorted(_edits(text, bare, strict, strict.index("{"), wanted), reverse=True)
    for start, end, instead in edits:
        text = text[:start] + instead + text[end:]
    return text


def _without_remarks(text: str) -> str:
    """*text* with blanks in place of its remarks; offsets and lines stay."""
    return _REMARK.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)


def _strict(bare: str) -> str:
    """*bare* as strict JSON: blanks in place of commas behind a last member; offsets stay."""
    return _LAST_COMMA.sub(lambda found: found[1] or " ", bare)


def _edits(
    text: str, bare: str, strict: str, start: int, wanted: Mapping[str, Any]
) -> Iterator[tuple[int, int, str]]:
    """Spans of the object at *start*, and their new texts."""
    members = list(_members(strict, start))
    kept = [member for member in members if member.name in wanted]
    done = start + 1
    for member in members:
        if member.name not in wanted:
            first, done = _cut(text, bare, done, member)
            yield first, done, ""
        elif isinstance(member.value, dict) and isinstance(wanted[member.name], dict):
            yield from _edits(text, bare, strict, member.start, wanted[member.name])
            done = member.end
        else:
            if member.value != wanted[member.name]:
                value = _written(wanted[member.name], _margin(bare, member.key))
                yield member.start, member.end, value
            done = member.end
    added = wanted.keys() - {member.name for member in members}
    if not added:
        return
    outer = _margin(bare, start)
    inner = _margin(bare, members[0].key) if members else outer + _STEP
    lines = [
        f"\n{inner}{json.dumps(name)}: {_written(value, inner)}"
        for name, value in wanted.items()
        if name in added
    ]
    yield start + 1, start + 1, ",".join(lines) + ("," if kept else f"\n{outer}")


def _members(strict: str, start: int) -> Iterator[_Member]:
    at = _after_space(strict, start + 1)
    while strict[at] != "}":
        name, end = _DECODER.raw_decode(strict, at)
        value_at = _after_space(strict, strict.index(":", end) + 1)
        value, end = _DECODER.raw_decode(strict, value_at)
        yield _Member(name, value, at, value_at, end)
        at = _after_space(strict, end)
        if strict[at] == ",":
            at = _after_space(strict, at + 1)


def _cut(text: str, bare: str, done: int, member: _Member) -> tuple[int, int]:
    """The span to cut so that *member* and one comma are gone; the text before *done* is taken."""
    comma = _after_space(bare, member.end)
    if bare[comma] != ",":
        before = bare.rfind(",", done, member.key)
        return (before if before >= 0 else member.key), member.end
    line = text.rfind("\n", done, member.key)
    around = text[line : member.key] + text[comma + 1 :].partition("\n")[0]
    return (line if line >= 0 and not around.strip() else member.key), comma + 1


def _written(value: Any, margin: str) -> str:
    return json.dumps(value, indent=_STEP, ensure_ascii=False).replace("\n", f"\n{margin}")


def _margin(text: str, at: int) -> str:
    """The white space at the beginning of the line of *at*."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
