"""A model judges pairs in doubt: what its verdict changes, who may be overruled, and only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")
OLD = "The standup of the harbour team is at nine."
NEW = "The standup of the harbour team moved to ten."
DAY = 86_400.0

Opened = Callable[..., Memory]


def says(server: Any, relation: str) -> None:
    server.say = lambda data: {"relation": relation, "detail": "the time"}


def pairs_asked(server: Any) -> list[tuple[str, str]]:
    return [
        (each.data["older"], each.data["newer"]) for each in server.asked if "older" in each.data
    ]


def told(memory: Memory, clock: Any) -> tuple[str, str]:
    """The ids of OLD and NEW, which puts it in doubt."""
    old = memory.remember(ME, RememberRequest(OLD)).id
    clock.pass_by(DAY)
    return old, memory.remember(ME, RememberRequest(NEW)).id


def listed(memory: Memory) -> list[tuple[str, str]]:
    return [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)]


def judge_all(memory: Memory) -> None:
    worker = memory._runtime.parts().worker
    while worker._judge():
        pass


def sources(memory: Memory, id: str) -> list[str]:
    return [each.source for each in memory.history(ME, id) if each.source.startswith("judge: ")]


def test_updates_marks_the_older_with_the_name_of_the_model_and_is_undone_for_good(
    opened: Opened, server: Any, clock: Any
) -> None:
    says(server, "updates")
    memory = opened(workers=0)
    old, new = told(memory, clock)
    assert listed(memory) == [(old, new)]
    judge_all(memory)
    record = memory.get(ME, old)
    assert (record.superseded_by, record.replaced) == (new, False)
    assert record.valid_until == memory.get(ME, new).occurred_at
    name = memory._runtime.parts().worker.budget.encoder.model
    assert sources(memory, old) == [f"judge: openai:{name}: updates"]
    link = memory._runtime.parts().store.journal.link(new, old, "updates")
    assert (link["reason"], link["by"]) == ("the time", f"openai:{name}")
    assert listed(memory) == []
    memory.undo_change(ME, old, memory.history(ME, old)[-1].seq)
    assert memory.get(ME, old).superseded_by == ""
    assert listed(memory) == [(old, new)]
    judge_all(memory)
    assert listed(memory) == [(old, new)]
    assert pairs_asked(server) == [(OLD, NEW)]


@pytest.mark.parametrize("relation", ["new", "duplicate", "extends"])
def test_any_other_verdict_keeps_both_and_can_be_undone(
    opened: Opened, server: Any, clock: Any, relation: str
) -> None:
    says(server, relation)
    memory = opened(workers=0)
    old, new = told(memory, clock)
    judge_all(memory)
    assert listed(memory) == []
    assert memory.get(ME, old).superseded_by == ""
    memory.consolidate(ME, mode="contradictions")
    assert listed(memory) == []
    assert memory.get(ME, old).superseded_by == ""
    kept = next(
        each
        for each in memory.history(ME, new)
        if each.kind == "link" and each.body and each.body["kind"] == "kept_both"
    )
    memory.undo_change(ME, new, kept.seq)
    judge_all(memory)
    assert listed(memory) == [(old, new)]
    assert len(pairs_asked(server)) == 1


def test_contradicts_leaves_the_doubt_and_is_not_asked_again(
    opened: Opened, server: Any, clock: Any
) -> None:
    says(server, "contradicts")
    memory = opened("openai", "store", workers=0)
    pair = told(memory, clock)
    judge_all(memory)
    memory.consolidate(ME, mode="contradictions")
    memory.close()
    again = opened("openai", "store", workers=0)
    judge_all(again)
    assert listed(again) == [pair]
    (doubt,) = again.doubts(ME)
    name = again._runtime.parts().worker.budget.encoder.model
    assert doubt.reason == f'it says "moved"; openai:{name} calls it a contradiction (the time)'
    assert again.get(ME, pair[0]).superseded_by == ""
    assert len(pairs_asked(server)) == 1


def test_no_verdict_makes_less_trusted_words_replace_the_users(
    opened: Opened, server: Any, clock: Any
) -> None:
    says(server, "updates")
    memory = opened(workers=0)
    old = memory.remember(ME, RememberRequest(OLD)).id
    clock.pass_by(DAY)
    new = memory.bring_in(ME, {"text": NEW}).id
    assert listed(memory) == [(old, new)]
    judge_all(memory)
    assert pairs_asked(server) == [(OLD, NEW)]
    assert memory.get(ME, old).superseded_by == ""
    assert listed(memory) == [(old, new)]


def test_what_no_model_may_see_is_not_judged(opened: Opened, server: Any, clock: Any) -> None:
    memory = opened(workers=0, forbid_agents=("me",))
    pair = told(memory, clock)
    judge_all(memory)
    assert pairs_asked(server) == []
    assert listed(memory) == [pair]


def test_a_budget_that_is_used_up_leaves_the_pair_for_the_next_day(
    opened: Opened, server: Any, clock: Any
) -> None:
    says(server, "updates")
    memory = opened(workers=0, daily_tokens=2_500)
    old, new = told(memory, clock)
    worker = memory._runtime.parts().worker
    worker.budget._reserved = 2_000
    assert not worker._judge()
    assert (pairs_asked(server), listed(memory)) == ([], [(old, new)])
    worker.budget._reserved = 0
    clock.pass_by(DAY)
    judge_all(memory)
    assert memory.get(ME, old).superseded_by == new


def test_encode_judges_what_waits(opened: Opened, server: Any, clock: Any) -> None:
    memory = opened(workers=0)
    old, new = told(memory, clock)
    report = memory.encode(ME)
    assert (report.due, report.left) == (3, 0)
    assert memory.get(ME, old).superseded_by == new
