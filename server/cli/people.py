"""Answers as text for people: no fence and no notice, and short ids on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_core import link_kinds
from memory_core.errors import InvalidInput
from memory_core.records import Identity, is_id
from server.cli import console
from server.cli.place import place
from server.protocol import rendering

if TYPE_CHECKING:
    from memory_core.memory import Memory

DECISIONS = ("newer-holds", "newer-holds-in-part", "older-holds", "keep-both", "merge")
"""What may hold of two memories; the names are those of Memory.resolve."""
DECIDE = f"decide with: anamnesis review OLDER NEWER --decide {'|'.join(DECISIONS)}"

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_ARGUMENT = re.compile(r"\breplaces=(?=\w)")
_AFTER_ALL = re.compile(r"\bpass replaces=\w+")
"""What a tool does to remember after all what was forgotten; the command has an option for it."""


def abridged(memory: Memory, who: Identity, answer: dict[str, Any]) -> dict[str, Any]:
    """*answer* with ids as short as they mean one memory; whole where no terminal shows them."""
    shown = _renamed(answer, short(memory, who, sorted(set(_ids(answer)))))
    assert isinstance(shown, dict)
    return shown


def short(memory: Memory, who: Identity, ids: Sequence[str]) -> dict[str, str]:
    """Of each of *ids* the shortest beginning that means it; whole where no terminal shows it."""
    whole = {id: id for id in ids}
    return whole if place.get().terminal() is None else whole | memory.short_ids(who, ids)


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, str):
        if is_id(value):
            yield value
    elif not isinstance(value, int | float | None):
        for inner in value:
            yield from _ids(inner)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Mapping):
        kept = {name: inner for name, inner in value.items() if name == "text"}
        return {name: _renamed(inner, names) for name, inner in value.items()} | kept
    return [_renamed(inner, names) for inner in value] if isinstance(value, list) else value


def remembered(answer: Mapping[str, Any]) -> str:
    """The text of a remember answer."""
    weight = f"importance {answer['importance']}" if "importance" in answer else ""
    facts = (answer["status"], answer["id"], answer.get("kind", ""), weight)
    lines = [" · ".join(fact for fact in facts if fact)]
    warnings = [rendering.line(warning) for warning in answer.get("warnings", ())]
    if answer["status"] == "refused":
        warnings = [_AFTER_ALL.sub("add --again", warning) for warning in warnings]
    lines += [f"warning: {_ARGUMENT.sub('--replaces ', warning)}" for warning in warnings]
    if answer.get("replaced"):
        lines.append("replaced: " + ", ".join(answer["replaced"]))
    for near in answer.get("similar", ()):
        lines.append(f"{near['relation']} {near['id']}: {rendering.line(near['text'])}")
    return "\n".join(lines)


def consolidated(answer: Mapping[str, Any]) -> str:
    """The text of a consolidate answer."""
    lines = [f"run {answer['run']}: {answer['status']}" if answer["run"] else answer["status"]]
    for step in answer["steps"]:
        detail = f" ({rendering.line(step['detail'])})" if step.get("detail") else ""
        lines.append(f"- {rendering.line(step['name'])}: {step['changed']} changed{detail}")
    for each in answer.get("retired", ()):
        lines.append(f"retired {each['id']}: {rendering.line(each.get('text', ''))}")
    if answer.get("kept"):
        lines.append("kept: " + ", ".join(answer["kept"]))
    for summary in answer.get("summaries", ()):
        sources = summary.get("sources") or ", ".join(summary.get("derived_from", ()))
        lines += [f"summary {summary['id']} of {sources}", f"  {rendering.line(summary['text'])}"]
    for found in answer.get("contradictions", ()):
        agents = found.get("agents", ())
        others = agents if len(set(agents)) > 1 else ()
        about = (found.get("subject", ""), found.get("detail", ""), *others)
        facts = [f"{found['relation']}: {', '.join(found['ids'])}", *map(rendering.line, about)]
        lines.append(" · ".join(fact for fact in facts if fact))
        lines += [f"  {rendering.line(text)}" for text in found.get("texts", ())]
    if any(found["relation"] == link_kinds.DOUBTS for found in answer.get("contradictions", ())):
        lines.append(DECIDE)
    return "\n".join([*lines, *_note(answer)])


def forgotten(answer: Mapping[str, Any]) -> str:
    """The text of a forget answer: a numbered table of what is or would be removed."""
    rows = [
        (label, item.get("when", ""), f"{item['text']}\n{item['id']}")
        for label, item in (
            *((str(number), item) for number, item in enumerate(answer["removed"], 1)),
            *(("derived", item) for item in answer.get("derived", ())),
        )
    ]
    lines = [console.table(("", "when", "memory"), rows)] if rows else []
    return "\n".join([*lines, rendering.removed(answer), *_note(answer)])


def _note(answer: Mapping[str, Any]) -> list[str]:
    return [f"note: {rendering.line(answer['note'])}"] if answer.get("note") else []


def chosen(answer: str, count: int) -> list[int]:
    """The places from 0 that *answer* names out of *count*: "1 3-5", "a" for all, "" for none.

    Raises InvalidInput for anything else.
    """
    if answer.strip() == "a":
        return list(range(count))
    places: list[int] = []
    for word in answer.replace(",", " ").split():
        found = _RANGE.fullmatch(word)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last <= count:
            raise InvalidInput(
                f"{word} is no number from 1 to {count}", "give numbers such as 1 3-4, or a"
            )
        places += range(first - 1, last)
    return list(dict.fromkeys(places))
