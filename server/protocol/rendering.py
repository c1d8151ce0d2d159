"""The text channel of an answer: the facts of its structure as lines for a reader.

Every function takes the compact structure (schemas.compact), so both channels hold the same facts.
Recalled text is inside a block whose boundary is random for each answer. Inside it, each line of a
memory begins with "> " and every other foreign string is a JSON string on one line, so a memory can
neither end the block nor imitate another entry. Characters that control a terminal or hide text
are removed.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memory_core.text import invisible
from memory_core.text.time import timestamps

Boundary = Callable[[], str]
"""Returns a new random name for the block of one answer."""

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def draw_boundary() -> str:
    """A random name, which no memory can contain: it is drawn after the memory was written."""
    return f"recalled-{secrets.token_hex(4)}"


def visible(text: str) -> str:
    """*text* without control characters and marks that hide or turn text; line ends as \\n."""
    return invisible.visible(_LINE_ENDS.sub("\n", text))


def all_visible(value: Any) -> Any:
    """*value* with every text in it visible: of a JSON-ready mapping, list or text."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(name): all_visible(inner) for name, inner in value.items()}
    return [all_visible(inner) for inner in value] if isinstance(value, list | tuple) else value


def quoted(text: str) -> str:
    """*text* as a JSON string on one line."""
    return json.dumps(visible(text), ensure_ascii=False)


def line(text: str) -> str:
    """*text* on one line."""
    return " ".join(visible(text).split())


def recall(answer: Mapping[str, Any], boundary: Boundary = draw_boundary) -> str:
    """The text of a recall answer."""
    memories = answer["memories"]
    head = f"found {counted(len(memories))}" if answer["found"] else nothing(answer)
    if answer.get("partial"):
        head += "; entries marked partial are near misses, not answers"
    lines = [f"{head}; confidence {answer['confidence']} ({answer['feeling']})"]
    if answer.get("truncated"):
        lines.append("truncated to the token budget")
    lines += _note(answer)
    body: list[str] = []
    for number, memory in enumerate(memories, 1):
        body += _hit(f"[{number}]", memory)
    for memory in answer.get("partial", ()):
        body += _hit("[partial]", memory)
    for turn in answer.get("recent", ()):
        body += _turn("recent", turn)
    for item in answer.get("rejected", ()):
        facts = [f"[rejected] {item['id']}", f"score {item['score']}", _why(item)]
        body += [_SEPARATOR.join(facts), *_marked(item["text"])]
    return "\n".join(lines + fenced(body, answer.get("notice", ""), boundary))


def nothing(answer: Mapping[str, Any]) -> str:
    """That a recall found nothing; "yet" where it may, once what its note tells of is there."""
    note = answer.get("note", "")
    return "nothing found yet" if note and not note.startswith("no memory ") else "nothing found"


def remember(answer: Mapping[str, Any], boundary: Boundary = draw_boundary) -> str:
    """The text of a remember answer."""
    facts = [answer["status"], answer["id"], answer.get("kind", ""), _weight(answer)]
    lines = [" | ".join(fact for fact in facts if fact)]
    lines += [f"warning: {line(warning)}" for warning in answer.get("warnings", ())]
    if answer.get("replaced"):
        lines.append("replaced: " + ", ".join(answer["replaced"]))
    body: list[str] = []
    for similar in answer.get("similar", ()):
        body += [f"[{line(similar['relation'])}] {similar['id']}", *_marked(similar["text"])]
    if answer.get("gist"):
        body.append(f"gist {quoted(answer['gist'])}")
    return "\n".join(lines + fenced(body, answer.get("notice", ""), boundary))


def consolidate(answer: Mapping[str, Any], boundary: Boundary = draw_boundary) -> str:
    """The text of a consolidate answer."""
    lines = [f"run {answer['run']}: {answer['status']}" if answer["run"] else answer["status"]]
    if answer.get("truncated"):
        lines.append("truncated; health and memory://item/{id} show the rest")
    lines += _note(answer)
    for step in answer["steps"]:
        detail = f" ({line(step['detail'])})" if step.get("detail") else ""
        lines.append(f"- {line(step['name'])}: {step['changed']} changed{detail}")
    if answer.get("kept"):
        lines.append("kept: " + ", ".join(answer["kept"]))
    body: list[str] = []
    for gone in answer.get("retired", ()):
        body += [f"[retired] {gone['id']}", *_said(gone.get("text", ""))]
    for summary in answer.get("summaries", ()):
        facts = [f"[summary] {summary['id']}", *_sources(summary)]
        body += [_SEPARATOR.join(facts), *_marked(summary["text"])]
    for found in answer.get("contradictions", ()):
        body += _contradiction(found)
    return "\n".join(lines + fenced(body, answer.get("notice", ""), boundary))


def forget(answer: Mapping[str, Any], boundary: Boundary = draw_boundary) -> str:
    """The text of a forget answer."""
    lines = [removed(answer), *_note(answer)]
    body: list[str] = []
    for number, item in enumerate(answer["removed"], 1):
        body += _removed(f"[{number}]", item)
    for item in answer.get("derived", ()):
        body += _removed("[derived]", item)
    return "\n".join(lines + fenced(body, answer.get("notice", ""), boundary))


def removed(answer: Mapping[str, Any]) -> str:
    """How many memories a forget answer removed, or would; how many it lists where not all fit."""
    preview = answer["status"] == "preview"
    count, derived = len(answer["removed"]), len(answer.get("derived", ()))
    if answer.get("truncated"):
        done = "would be" if preview else "were"
        return (
            f"{answer['status']}: {count + derived} of the memories that {done} removed are listed"
        )
    also = f" and {derived} derived from {'it' if count == 1 else 'them'}" if derived else ""
    return f"{answer['status']}: {counted(count)}{also} {'would be ' if preview else ''}removed"


def health(answer: Mapping[str, Any]) -> str:
    """The text of a health report."""
    lines = [f"status: {answer['status']}"]
    for check in answer["checks"]:
        detail = f": {line(check['detail'])}" if check.get("detail") else ""
        fix = f"; fix: {line(check['fix'])}" if check.get("fix") else ""
        lines.append(f"- {line(check['name'])} {check['status']}{detail}{fix}")
    for name in ("counts", "storage", "model", "encoder", "jobs", "last_run", "versions", "engine"):
        if answer.get(name):
            lines.append(f"{name}: {visible(json.dumps(answer[name], ensure_ascii=False))}")
    return "\n".join(lines)


def fenced(body: Iterable[str], notice: str, boundary: Boundary = draw_boundary) -> list[str]:
    """*notice*, then *body* between the boundary lines of a block; no block for an empty body."""
    inner = list(body)
    if not inner:
        return [notice] if notice else []
    name = boundary()
    while any(name in text for text in inner):
        name = boundary()
    block = [f"<{name}>", *inner, f"</{name}>"]
    return [notice, *block] if notice else block


def out_of_date(memory: Mapping[str, Any]) -> str:
    """That a memory is out of date, or may be, and the id of the one to see; "" for a current one.

    What was superseded is no longer in doubt. What is in part without a date was decided.
    """
    if memory.get("superseded_by"):
        return f"out of date, see {memory['superseded_by']}"
    if not memory.get("doubted_by"):
        return ""
    since = f" from {memory['doubtful_since']}" if memory.get("doubtful_since") else ""
    part, seen = " in part" if memory.get("in_part") else "", f", see {memory['doubted_by']}"
    return f"{'out' if part and not since else 'may be out'} of date{part}{since}{seen}"


def iso(moment: float | None) -> str:
    """*moment* (seconds since the epoch) as ISO 8601 in UTC, to the second; "" when unset."""
    return "" if moment is None else timestamps.iso(moment)


def day(moment: float | str | None) -> str:
    """The day of *moment*, seconds or what iso returns, where this program runs; "" when unset."""
    if moment is None or moment == "":
        return ""
    at = moment if isinstance(moment, float) else timestamps.moment(str(moment), "when")[0]
    return timestamps.day_of(at).isoformat()


_UNITS = (
    (365.25 * 86400, "year"),
    (30.44 * 86400, "month"),
    (7 * 86400, "week"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
)


def age(moment: float, now: float | None = None) -> str:
    """How long before *now* *moment* is, in one unit: "3 weeks ago", "just now", "in 2 days"."""
    seconds = (time.time() if now is None else now) - moment
    for size, name in _UNITS:
        count = int(abs(seconds) / size)
        if count:
            words = f"{count} {name}{'s' if count > 1 else ''}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "just now"


_SEPARATOR = " · "


def _hit(label: str, memory: Mapping[str, Any]) -> list[str]:
    """The entry of a memory: its head and text, and then the turns around it."""
    lines = [_SEPARATOR.join(_facts(label, memory)), *_marked(memory["text"])]
    if memory.get("gist"):
        lines.append(f"gist {quoted(memory['gist'])}")
    for place in ("before", "after"):
        for turn in memory.get(place, ()):
            lines += _turn(place, turn)
    return lines


def _facts(label: str, memory: Mapping[str, Any]) -> list[str]:
    """The head of a memory, its id among the first facts."""
    age = f" ({memory['age']})" if memory.get("age") else ""
    facts = [f"{label} {memory['when']}{age}" if memory.get("when") else label]
    facts += [str(memory[name]) for name in ("kind", "id") if memory.get(name)]
    if memory.get("speaker"):
        facts.append(quoted(memory["speaker"]))
    facts += filter(None, [out_of_date(memory)])
    if memory.get("scope"):
        facts.append(str(memory["scope"]))
    if memory.get("trust"):
        facts.append(f"trust {memory['trust']}")
    facts += [f"{name} {memory[name]}" for name in ("score", "importance") if name in memory]
    for name in ("agent", "session", "source", "topic"):
        if memory.get(name):
            facts.append(f"{name} {quoted(memory[name])}")
    for name in ("tags", "entities", "emotions"):
        if memory.get(name):
            facts.append(f"{name} {', '.join(quoted(item) for item in memory[name])}")
    if memory.get("affect"):
        facts.append(line(memory["affect"]))
    facts += _sources(memory)
    if memory.get("why"):
        facts.append(_why(memory))
    return facts


def _sources(memory: Mapping[str, Any]) -> list[str]:
    """The ids of what a memory is derived from, or how many they are; nothing for most."""
    if memory.get("derived_from"):
        return [f"derived_from {', '.join(memory['derived_from'])}"]
    return [f"sources {line(memory['sources'])}"] if memory.get("sources") else []


def _removed(label: str, item: Mapping[str, Any]) -> list[str]:
    head = f"{label} {item['when']}" if item.get("when") else label
    return [_SEPARATOR.join([head, item["id"]]), *_marked(item["text"])]


def _why(item: Mapping[str, Any]) -> str:
    reasons = (f"{line(str(name))} {line(str(value))}" for name, value in item["why"].items())
    return f"why {', '.join(reasons)}"


def _turn(label: str, turn: Mapping[str, Any]) -> list[str]:
    speaker = f" {quoted(turn['speaker'])}" if turn.get("speaker") else ""
    place = f" {turn['id']}" if turn.get("id") else ""
    return [f"({label}){place}{speaker}", *_marked(turn["text"])]


def _contradiction(found: Mapping[str, Any]) -> list[str]:
    facts = [f"[{line(found['relation'])}] {', '.join(found['ids'])}"]
    if found.get("agents"):
        facts.append("agents " + ", ".join(quoted(agent) for agent in found["agents"]))
    for name in ("subject", "detail"):
        if found.get(name):
            facts.append(f"{name} {quoted(found[name])}")
    told = [part for text in found.get("texts", ()) for part in _marked(text)]
    return [" | ".join(facts), *told]


def _said(text: str) -> list[str]:
    return _marked(text) if text else []


def _marked(text: str) -> list[str]:
    return [f"> {part}" for part in visible(text).split("\n")]


def _note(answer: Mapping[str, Any]) -> list[str]:
    return [f"note: {line(answer['note'])}"] if answer.get("note") else []


def _weight(answer: Mapping[str, Any]) -> str:
    return f"importance {answer['importance']}" if "importance" in answer else ""


def counted(memories: int) -> str:
    """How many *memories* there are, such as "1 memory"."""
    return f"{memories} {'memory' if memories == 1 else 'memories'}"
