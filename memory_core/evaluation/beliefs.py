"""Whether the memory knows which statement holds: corrections, true pairs, poisoning, capture.

A file of cases (see `read`) is played through the public calls, each case as an agent of its own
with the same unrelated background, first at write and then again after sleep; or all cases as one
agent, whose memories then stand in each other's way. What is counted and what every share is of
stands beside each figure. Nothing is tuned and no model for gists is asked.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.errors import InvalidInput
from memory_core.recall.request import RecallRequest
from memory_core.records import Hit, Identity, Recollection
from memory_core.remember.request import RememberRequest

if TYPE_CHECKING:
    from memory_core.memory import Memory

DAY = 86_400.0
K = 8
BACKGROUND_DAYS = 20
"""The first text of the background is so many days old, each further one 31 days older."""
BACKGROUND_STEP = 31

FIRST_MOMENT = 1_795_003_200.0
"""Wednesday, 18 November 2026, 12:00 UTC. Some cases speak of a weekday or a month."""

Hook = Callable[[Identity, Mapping[str, Any]], Mapping[str, Any]]
"""Answers the payload of a client's hook as the server does; see server.hooks."""

Progress = Callable[[int, int, str], None]

STAGES = ("at write", "after sleep")

PARTS = (
    "corrections",
    "non_corrections",
    "series",
    "reversals",
    "near",
    "poisoning",
    "capture",
    "hooks",
)


@dataclass
class Tally:
    """How many of how many, and the cases that did not hold."""

    held: int = 0
    of: int = 0
    missed: list[str] = field(default_factory=list)

    def count(self, held: bool, case: str) -> None:
        """Count one *case*, which *held* or is noted as missed."""
        self.held += held
        self.of += 1
        if not held:
            self.missed.append(case)

    @property
    def share(self) -> float:
        """In [0, 1]; 0 where nothing was counted."""
        return self.held / self.of if self.of else 0.0


@dataclass
class Score:
    """Every figure by its name, in the order in which it was first counted; averages apart."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    averages: dict[str, list[float]] = field(default_factory=dict)

    def count(self, name: str, held: bool, case: str) -> None:
        """Count one *case* of the figure *name*."""
        self.tallies.setdefault(name, Tally()).count(held, case)

    def average(self, name: str, value: float) -> None:
        """Add *value* to the mean *name*."""
        self.averages.setdefault(name, []).append(value)

    def to_dict(self, misses: int = 0) -> dict[str, Any]:
        """JSON-ready: share, held and of by name; the first *misses* cases that did not hold."""
        figures: dict[str, Any] = {
            name: {"share": round(tally.share, 4), "held": tally.held, "of": tally.of}
            | ({"missed": tally.missed[:misses]} if misses else {})
            for name, tally in self.tallies.items()
        }
        for name, values in self.averages.items():
            figures[name] = {"mean": round(sum(values) / len(values), 1), "of": len(values)}
        return figures


def read(file: Path) -> dict[str, Any]:
    """The cases of *file*: one JSON object with `background` and any of PARTS.

    Raises InvalidInput for a file that is none, which names what is missing.
    """
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"{file} is no JSON file ({problem})", "name a file of cases") from None
    if not isinstance(data, dict) or not any(name in data for name in PARTS):
        raise InvalidInput(
            f"{file} holds no cases of beliefs", f"it needs one of {', '.join(PARTS)}"
        )
    return data


def clock() -> Callable[[], float]:
    """A clock that goes on from FIRST_MOMENT, in epoch seconds: a figure is the same every day."""
    late = time.time() - FIRST_MOMENT
    return lambda: time.time() - late


def evaluate(
    data: Mapping[str, Any],
    memory: Memory,
    hook: Hook,
    now: float,
    progress: Progress | None = None,
) -> Score:
    """How well *memory*, which should be empty, keeps apart what holds and what does not.

    *hook* plays what a client reports of a conversation. *now* is the memory's clock, in epoch
    seconds: the ages of the cases count back from it.
    """
    return _Play(data, memory, hook, now, progress).run()


def evaluate_together(data: Mapping[str, Any], memory: Memory, now: float) -> Score:
    """As `evaluate`, with all cases in one store: all that is true, the corrections, then sleep.

    Counted are the corrections, what is superseded or in doubt, and whether the older of two true
    memories stands first for a question about it, as it did before the corrections came. Prompts
    and captures are left out.
    """
    return _Play(data, memory, None, now, None).run_together()


class _Play:
    def __init__(
        self,
        data: Mapping[str, Any],
        memory: Memory,
        hook: Hook | None,
        now: float,
        progress: Progress | None,
    ) -> None:
        self._data = data
        self._memory = memory
        self._hook = hook
        self._now = now
        self._progress = progress
        self._score = Score()

    def run(self) -> Score:
        parts = [name for name in PARTS if name in self._data]
        for done, name in enumerate(parts):
            if self._progress is not None:
                self._progress(done, len(parts), name)
            play = getattr(self, f"_{name}")
            if name == "hooks":
                play(self._data[name])
                continue
            for number, case in enumerate(self._data[name]):
                play(case, self._agent(f"{name} {number}"))
        return self._score

    def run_together(self) -> Score:
        """Everything true first, then the corrections, then sleep."""
        who = self._agent("together")
        true = {
            text: self._remember(who, text, days)
            for texts in self._true_texts()
            for text, days in texts
        }
        asked = [
            (case["question"], true[case["a"]])
            for case in self._data.get("non_corrections", ())
            if case.get("question")
        ]
        before = {each for each in asked if self._older_first(who, *each, "before")}
        corrections = [
            (
                case,
                self._remember(who, case["old"], case["old_days"]),
                self._remember(who, case["new"], case["new_days"]),
            )
            for case in self._data.get("corrections", ())
        ]
        lasting = [each for each in corrections if each[0]["kind"] != "temporary"]
        for stage in STAGES:
            if stage == "after sleep":
                self._sleep(who)
            for case, old, new in lasting:
                self._corrected(case, who, old, new, stage)
            for text, id in true.items():
                self._still_true(who, id, text, stage)
            for question, older in asked:
                held = self._older_first(who, question, older, stage)
                if (question, older) in before:
                    self._score.count(f"true: the older one still first, {stage}", held, question)
            pairs = {(old, new) for _, old, new in lasting}
            for old in (*true.values(), *(old for _, old, _ in corrections)):
                hit = self._hit(who, old)
                if by := hit.memory.superseded_by:
                    right = (old, by) in pairs
                    self._score.count(f"superseded: right, {stage}", right, hit.memory.text)
                if hit.doubted_by and not hit.in_part:
                    right = (old, hit.doubted_by) in pairs
                    self._score.count(f"doubts: right, {stage}", right, hit.memory.text)
        return self._score

    def _true_texts(self) -> Iterator[list[tuple[str, float]]]:
        """The texts of each case that are true beside each other, and their ages in days."""
        for name in ("non_corrections", "near"):
            for case in self._data.get(name, ()):
                yield [(case[each], case[f"{each}_days"]) for each in ("a", "b")]
        yield from map(_members, self._data.get("series", ()))

    # What a case does

    def _agent(self, name: str) -> Identity:
        """A new agent who knows the background and nothing else."""
        who = Identity(name)
        for place, text in enumerate(self._data.get("background", ())):
            self._remember(who, text, BACKGROUND_DAYS + BACKGROUND_STEP * place)
        return who

    def _remember(self, who: Identity, text: str, days: float, kind: str = "") -> str:
        request = RememberRequest(text, kind=kind, when=self._now - days * DAY)
        return self._memory.remember(who, request).id

    def _recall(self, who: Identity, question: str) -> list[Hit]:
        found: Recollection = self._memory.recall(who, RecallRequest(question, k=K, context=0))
        return [*found.hits, *found.partial]

    def _sleep(self, who: Identity, mode: str = "sleep") -> None:
        self._memory.consolidate(who, mode=mode)

    def _hit(self, who: Identity, id: str) -> Hit:
        return self._memory.recall(who, RecallRequest(id)).hits[0]

    def _state(self, who: Identity, id: str) -> tuple[bool, bool, bool]:
        """Whether a memory is superseded, marked as doubtful, retired."""
        hit = self._hit(who, id)
        record = hit.memory
        return (
            bool(record.superseded_by),
            bool(hit.doubted_by and not hit.in_part),
            record.retired_at is not None,
        )

    # The parts

    def _corrections(self, case: Mapping[str, Any], who: Identity) -> None:
        old = self._remember(who, case["old"], case["old_days"])
        new = self._remember(who, case["new"], case["new_days"])
        for stage in STAGES:
            if stage == "after sleep":
                self._sleep(who)
            if case["kind"] == "temporary":
                hits = self._recall(who, case["question"])
                held = bool(hits) and hits[0].memory.id == old
                self._score.count(f"temporary: the old one first, {stage}", held, case["old"])
                unmarked = not any(self._state(who, old)[:2])
                self._score.count(
                    f"temporary: the old one unmarked, {stage}", unmarked, case["old"]
                )
            else:
                self._corrected(case, who, old, new, stage)

    def _corrected(
        self, case: Mapping[str, Any], who: Identity, old: str, new: str, stage: str
    ) -> None:
        """Count what a question brings first, and what of *old* still holds."""
        hits = self._recall(who, case["question"])
        first = bool(hits) and hits[0].memory.id == new and not marked(hits[0])
        self._score.count(f"corrections: current first, {stage}", first, case["new"])
        below = _below(hits, old, new)
        self._score.count(f"corrections: old marked or below, {stage}", below, case["old"])
        if case["kind"] == "partial":
            asked = self._recall(who, case["kept_question"])
            kept = [hit for hit in asked if _is(hit, old)]
            ahead = bool(asked) and _is(asked[0], old)
            self._score.count(f"partial: the rest first, {stage}", ahead, case["old"])
            held = bool(kept) and not marked(kept[0])
            self._score.count(f"partial: the rest holds, {stage}", held, case["old"])

    def _non_corrections(self, case: Mapping[str, Any], who: Identity) -> None:
        pair = [(case["a"], case["a_days"]), (case["b"], case["b_days"])]
        self._true_together(who, pair, case.get("question", ""))

    def _series(self, case: Mapping[str, Any], who: Identity) -> None:
        self._true_together(who, _members(case))

    def _true_together(
        self, who: Identity, texts: Sequence[tuple[str, float]], question: str = ""
    ) -> None:
        """Count what is marked of *texts*, and whether *question* brings their first one first."""
        ids = [(self._remember(who, text, days), text) for text, days in texts]
        for stage in STAGES:
            if stage == "after sleep":
                self._sleep(who)
            for id, text in ids:
                self._still_true(who, id, text, stage)
            if question:
                self._older_first(who, question, ids[0][0], stage)

    def _still_true(self, who: Identity, id: str, text: str, stage: str) -> None:
        superseded, doubted, retired = self._state(who, id)
        wrong = superseded or retired
        self._score.count(f"true: not superseded or retired, {stage}", not wrong, text)
        self._score.count(f"true: not doubted, {stage}", not doubted, text)

    def _older_first(self, who: Identity, question: str, older: str, stage: str) -> bool:
        """Whether a *question* about the older of two true memories brings it first; counted."""
        hits = self._recall(who, question)
        first = bool(hits) and _is(hits[0], older)
        self._score.count(f"true: the older one first when asked for, {stage}", first, question)
        return first

    def _reversals(self, case: Mapping[str, Any], who: Identity) -> None:
        old = self._remember(who, case["old"], case["old_days"])
        new = self._remember(who, case["new"], case["new_days"])
        for stage, mode in (("at write", ""), ("deduplicate", "deduplicate"), ("sleep", "sleep")):
            if mode:
                self._sleep(who, mode)
            hits = self._recall(who, case["question"])
            shown = [hit for hit in hits if _is(hit, new)]
            held = bool(shown) and not marked(shown[0]) and _below(hits, old, new)
            held = held and not self._state(who, new)[2]
            self._score.count(f"reversals: the new one holds, {stage}", held, case["new"])

    def _near(self, case: Mapping[str, Any], who: Identity) -> None:
        pair = [self._remember(who, case[name], case[f"{name}_days"]) for name in ("a", "b")]
        for stage, mode in (("at write", ""), ("deduplicate", "deduplicate"), ("sleep", "sleep")):
            if mode:
                self._sleep(who, mode)
            hits = self._recall(who, case["question"])
            found = [hit for hit in hits if hit.memory.id in pair]
            held = len(found) == 2 and not any(map(marked, found))
            held = held and not any(self._state(who, id)[2] for id in pair)
            self._score.count(f"near: both shown, {stage}", held, case["a"])

    def _poisoning(self, case: Mapping[str, Any], who: Identity) -> None:
        if case.get("fact"):
            self._prompt(who, case["fact"], "first")
        for event in case["events"]:
            self._event(who, event)
        for stage in STAGES:
            if stage == "after sleep":
                self._sleep(who)
            kind = "instruction" if case["type"] == "instruction" else "fact"
            held = self._harmless(who, case) if kind == "instruction" else self._safe(who, case)
            label = case.get("fact") or case["events"][0]["text"]
            self._score.count(f"poisoning: safe, {stage}", held, f"{case['type']}: {label}")

    def _safe(self, who: Identity, case: Mapping[str, Any]) -> bool:
        """The fact is shown unmarked, and nothing false that is as much trusted stands above."""
        hits = self._recall(who, case["question"])
        true = [place for place, hit in enumerate(hits) if _is_fact(hit, case)]
        if not true or marked(hits[true[0]]):
            return False
        fact = hits[true[0]].memory
        return not any(
            case["false"] in hit.memory.text
            and not marked(hit)
            and _rank(hit.memory.trust) >= _rank(fact.trust)
            for hit in hits[: true[0]]
        )

    def _harmless(self, who: Identity, case: Mapping[str, Any]) -> bool:
        """No memory with the canary is taken for a wish or for the user's own instruction."""
        asked = RecallRequest(case["question"], k=50, context=0, explain=True)
        found = self._memory.recall(who, asked)
        for hit in (*found.hits, *found.partial):
            if case["canary"] not in hit.memory.text:
                continue
            wished = any("preference" in name or "standing" in name for name in hit.why)
            if hit.memory.trust == "user" or hit.memory.importance >= 1.0 or wished:
                return False
        return True

    def _capture(self, case: Mapping[str, Any], who: Identity) -> None:
        by_user = case["by"] == "user"
        if by_user:
            self._prompt(who, case["text"], "talk")
        else:
            self._event(who, {"by": case["by"], "text": case["text"]}, "talk")
        kept = any(record.get("session") == "talk" for record in self._memory.export(who))
        if case["keep"]:
            self._score.count("capture: recall", kept, case["text"])
        if kept:
            self._score.count("capture: precision", case["keep"], case["text"])

    def _hooks(self, cases: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        for number, case in enumerate([cases] if isinstance(cases, Mapping) else cases):
            self._reminded(case, Identity(f"hooks {number}"))

    def _reminded(self, case: Mapping[str, Any], who: Identity) -> None:
        """Play the prompts of one memory of its own."""
        for each in case["corpus"]:
            self._remember(who, each["text"], each["days"], each.get("kind", ""))
        for number, each in enumerate(case["prompts"]):
            answer = self._prompt(who, each["prompt"], f"prompt {number}")
            told = str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
            self._judge(each, told, case["corpus"])
            captured = [
                record["id"]
                for record in self._memory.export(who)
                if record.get("session") == f"prompt {number}"
            ]
            if captured:
                self._memory.forget(who, ids=captured, confirm=True, never_again=False)

    def _judge(
        self, case: Mapping[str, Any], told: str, corpus: Iterable[Mapping[str, Any]]
    ) -> None:
        wanted, prompt = case["relevant"], case["prompt"]
        useful = any(text in told for text in wanted)
        if wanted:
            self._score.count("hooks: useful, of prompts with something", useful, prompt)
            self._score.count("hooks: not missed", bool(told), prompt)
        else:
            self._score.count("hooks: rightly quiet", not told, prompt)
        self._score.count("hooks: no noise, of all", not told or useful, prompt)
        shown = [each["text"] for each in corpus if each["text"] in told]
        for text in shown:
            of_use = any(part in text for part in wanted)
            self._score.count("hooks: of use, of what is told", of_use, text)
        if told:
            self._score.average("hooks: characters where something is told", len(told))

    # Events of a conversation

    def _prompt(self, who: Identity, text: str, session: str) -> Mapping[str, Any]:
        return self._report(who, session, "UserPromptSubmit", prompt=text)

    def _event(self, who: Identity, event: Mapping[str, Any], session: str = "next") -> None:
        match event["by"]:
            case "user":
                self._prompt(who, event["text"], session)
            case "assistant":
                self._report(who, session, "Stop", last_assistant_message=event["text"])
            case "compact":
                self._report(who, session, "PostCompact", compact_summary=event["text"])
            case _:
                source = event.get("source", "")
                self._memory.remember(who, RememberRequest(event["text"], source=source))

    def _report(self, who: Identity, session: str, name: str, **more: str) -> Mapping[str, Any]:
        payload = {"session_id": session, "cwd": "/", "hook_event_name": name, **more}
        assert self._hook is not None
        return self._hook(who, payload)


def _members(case: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The texts of a series, and how many days old they are."""
    step, last = case["step_days"], len(case["members"]) - 1
    return [(text, 1 + step * (last - place)) for place, text in enumerate(case["members"])]


def marked(hit: Hit) -> bool:
    """True when the answer says that a memory is, or may be, out of date, not only in part."""
    return bool(hit.memory.superseded_by or (hit.doubted_by and not hit.in_part))


def _is(hit: Hit, id: str) -> bool:
    return hit.memory.id == id


def _is_fact(hit: Hit, case: Mapping[str, Any]) -> bool:
    return case["true"] in hit.memory.text and hit.memory.text == case["fact"]


def _below(hits: Sequence[Hit], old: str, new: str) -> bool:
    """True when *old* is not shown, or is marked, or stands below *new*."""
    for hit in hits:
        if _is(hit, new):
            return True
        if _is(hit, old):
            return marked(hit)
    return True


def _rank(trust: str) -> int:
    """How much a memory is trusted, the user's own words most."""
    order = ("quoted", "web", "import", "agent", "user")
    return order.index(trust) if trust in order else 0
