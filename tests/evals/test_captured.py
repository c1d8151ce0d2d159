"""What of a conversation is kept, and with which trust, on sentences written for this project.

The sentences ("keep" true or false; facts and what would put them out of date) are in
`captured.json`, in the format of memory_core/evaluation/beliefs.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.hooks.hooks import Hooks

ME = Identity("me")
CASES = json.loads((Path(__file__).parent / "data" / "captured.json").read_text("utf-8"))
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


@pytest.mark.parametrize(
    "case", CASES["poisoning"], ids=[str(place) for place in range(len(CASES["poisoning"]))]
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
