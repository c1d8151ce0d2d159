"""JSON with comments and trailing commas: read, and changed in place so that the rest stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_REMARK = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')
_SPACE = re.compile(r"\s*")
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
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
    indented = _INDENT.search(bare)
    step = indented[1] if indented else "  "
    edits = sorted(_edits(text, bare, strict, strict.index("{"), wanted, step), reverse=True)
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
    text: str, bare: str, strict: str, start: int, wanted: Mapping[str, Any], step: str
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
            yield from _edits(text, bare, strict, member.start, wanted[member.name], step)
            done = member.end
        else:
            if member.value != wanted[member.name]:
                yield from _edits_of_value(bare, strict, member, wanted[member.name], step)
            done = member.end
    added = wanted.keys() - {member.name for member in members}
    if not added:
        return
    outer = _margin(bare, start)
    if members and "\n" not in text[start : members[0].key]:
        here = [
            f"{json.dumps(name)}: {_written(value, outer, step)}"
            for name, value in wanted.items()
            if name in added
        ]
        yield members[0].key, members[0].key, ", ".join(here) + (", " if kept else "")
        return
    inner = _margin(bare, members[0].key) if members else outer + step
    lines = [
        f"\n{inner}{json.dumps(name)}: {_written(value, inner, step)}"
        for name, value in wanted.items()
        if name in added
    ]
    yield start + 1, start + 1, ",".join(lines) + ("," if kept else f"\n{outer}")


def _edits_of_value(
    bare: str, strict: str, member: _Member, wanted: Any, step: str
) -> Iterator[tuple[int, int, str]]:
    """What makes the value of *member* the *wanted* one; entries of a list that stay are kept."""
    margin = _margin(bare, member.key)
    lists = isinstance(member.value, list) and isinstance(wanted, list) and wanted
    items = list(_items(strict, member.start)) if lists else []
    known = [item.value for item in items]
    if items and wanted[: len(known)] == known:
        inner = _margin(bare, items[-1].key)
        inner += step if inner == margin else ""
        added = (f",\n{inner}{_written(value, inner, step)}" for value in wanted[len(known) :])
        yield items[-1].end, items[-1].end, "".join(added)
    elif items and wanted == [value for value in known if value in wanted]:
        last = max(place for place, value in enumerate(known) if value in wanted)
        for item in items[:last]:
            if item.value not in wanted:
                yield item.key, _after_space(bare, item.end) + 1, ""
        yield items[last].end, items[-1].end, ""
    else:
        yield member.start, member.end, _written(wanted, margin, step)


def _items(strict: str, start: int) -> Iterator[_Member]:
    """The entries of the list at *start*, without names."""
    at = _after_space(strict, start + 1)
    while strict[at] != "]":
        value, end = _DECODER.raw_decode(strict, at)
        yield _Member("", value, at, at, end)
        at = _after_space(strict, end)
        if strict[at] == ",":
            at = _after_space(strict, at + 1)


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
    if line >= 0 and not around.strip():
        return line, comma + 1
    return member.key, comma + 1 + (text[comma + 1 : comma + 2] == " ")


def _written(value: Any, margin: str, step: str) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{margin}")


def _margin(text: str, at: int) -> str:
    """The white space at the beginning of the line of *at*."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
