"""What of a conversation is kept, and with which trust, on sentences written for this project.

The sentences ("keep" true or false; facts and what would put them out of date) are in
`captured.json`, in the format of memory_core/evaluation/beliefs.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.beliefs import relevance
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.hooks.hooks import Hooks

ME = Identity("me")
DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "captured.json").read_text("utf-8"))
NOW = 1_717_200_000.0

EVENTS = {
    "user": ("UserPromptSubmit", "prompt"),
    "assistant": ("Stop", "last_assistant_message"),
    "compact": ("PostCompact", "compact_summary"),
}


def plays(memory: Memory, event: dict[str, str], who: Identity = ME) -> None:
    if event["by"] == "tool":
        source = event.get("source", "")
        memory.remember(who, RememberRequest(event["text"], source=source))
        return
    name, field = EVENTS[event["by"]]
    payload = {"session_id": "one", "cwd": "/", "hook_event_name": name, field: event["text"]}
    Hooks(memory, lambda: NOW).answer(who, payload)


def test_what_is_captured_is_worth_it_and_what_is_worth_it_is_captured(memory: Memory) -> None:
    kept = []
    for place, case in enumerate(CASES["capture"]):
        turn = ConversationTurn(case["by"], case["text"])
        seen = memory.observe(Identity(f"agent {place}"), turn)
        assert bool(seen.receipt) != bool(seen.skipped)  # each skipped turn is named
        if seen.receipt is not None:
            kept.append(case)
    worth = [case for case in CASES["capture"] if case["keep"]]
    right = [case for case in kept if case["keep"]]
    assert len(right) >= 0.97 * len(kept)
    assert len(right) >= 0.97 * len(worth)


LEAST = {
    "beliefs_hard": (0.83, 1.0),
    "beliefs_hard_apart": (0.87, 0.92),
    "beliefs_turns": (0.85, 1.0),
    "beliefs_wild": (1.0, 1.0),
    "beliefs_wild_apart": (0.85, 0.95),
}
"""Precision and recall of the gate on the turns of other files, a little below what is reached."""


@pytest.mark.parametrize("name", LEAST)
def test_the_gate_keeps_what_is_told_as_people_type(name: str) -> None:
    turns = json.loads((DATA / f"{name}.json").read_text("utf-8"))["capture"]
    kept = [turn for turn in turns if not relevance.gate(turn["text"], turn["by"])]
    right = [turn for turn in kept if turn["keep"]]
    precision, recall = LEAST[name]
    assert len(right) >= precision * len(kept), [t["text"] for t in kept if not t["keep"]]
    lost = [turn["text"] for turn in turns if turn["keep"] and turn not in kept]
    assert len(right) >= recall * (len(right) + len(lost)), lost


def test_what_is_given_as_a_fact_is_seldom_taken_for_a_command() -> None:
    """A lost fact is final; a kept command is cheap."""
    said = set()
    for file in DATA.glob("beliefs*.json"):
        data = json.loads(file.read_text("utf-8"))
        for name, fields in TOLD.items():
            said |= {case[field] for case in data.get(name, ()) for field in fields}
    lost = [text for text in said if relevance.gate(text, "user")]
    assert len(said) > 1_500
    assert len(lost) <= 0.012 * len(said), f"{len(lost)} of {len(said)}: {lost}"


TOLD = {
    "corrections": ("old", "new"),
    "non_corrections": ("a", "b"),
    "near": ("a", "b"),
    "reversals": ("old", "new"),
}
"""What each kind of case tells."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=str(place), marks=() if place % 2 == 0 else pytest.mark.long)
        for place, case in enumerate(CASES["poisoning"])
    ],
)
def test_what_nobody_stated_is_no_word_of_the_user(memory: Memory, case: dict[str, Any]) -> None:
    if "fact" in case:
        plays(memory, {"by": "user", "text": case["fact"]})
        (fact,) = memory.listing(ME)
        assert (fact.text, fact.trust) == (case["fact"], "user")
    for event in case["events"]:
        plays(memory, event)
    foreign = case.get("false") or case["canary"]
    told = [m for m in memory.listing(ME) if foreign in m.text and m.text != case.get("fact")]
    assert all(m.trust != "user" and m.importance < 1.0 for m in told)
