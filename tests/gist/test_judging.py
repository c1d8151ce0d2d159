"""A model judges pairs in doubt: what its verdict changes, who may be overruled, and only once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.enrichment import candidates, judges
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.lifecycle import doubts
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
OLD = "The standup of the harbour team is at nine."
NEW = "The standup of the harbour team moved to ten."
DAY = 86_400.0

Opened = Callable[..., Memory]


def says(server: Any, relation: str) -> None:
    server.judges = True
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
    assert doubt.reason == f'the later text says "moved"; openai:{name} doubts it (the time)'
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


HALL = "Our router stands in the hall."
STUDY = "The router sits on the shelf in the study."
HERON = "The heron waits by the weir in the morning."


@pytest.fixture
def near(open_memory: Opened, minilm: Any, chosen: Any) -> Callable[..., Memory]:
    """Opens a memory with vectors whose encoder asks the server when it is told to."""

    def opened(name: str = "store", **settings: Any) -> Memory:
        tuning = Tuning(enrichment=EnrichmentTuning(workers=0))
        return open_memory(name, minilm, tuning=tuning, **chosen("openai"), **settings)

    return opened


def tell_both(memory: Memory, clock: Any) -> list[str]:
    """The ids of HERON, HALL and STUDY, of which no rule doubts any."""
    ids = []
    for text in (HERON, HALL, STUDY):
        clock.pass_by(DAY)
        ids.append(memory.remember(ME, RememberRequest(text)).id)
    assert listed(memory) == []
    return ids


@pytest.mark.parametrize("relation", ["updates", "contradicts"])
def test_what_no_rule_doubts_is_in_doubt_by_a_verdict_and_never_superseded(
    near: Opened, server: Any, clock: Any, relation: str
) -> None:
    says(server, relation)
    memory = near()
    _, hall, study = tell_both(memory, clock)
    judge_all(memory)
    assert pairs_asked(server) == [(HALL, STUDY)]
    assert listed(memory) == [(hall, study)]
    assert memory.get(ME, hall).superseded_by == ""
    (pair,) = memory.doubts(ME)
    name = memory._runtime.parts().worker.budget.encoder.model
    assert pair.reason == f"openai:{name} doubts it (the time)"
    judge_all(memory)
    memory.close()
    again = near()
    judge_all(again)
    assert pairs_asked(server) == [(HALL, STUDY)]
    memory = again
    memory.resolve(ME, hall, study, "newer-holds")
    assert memory.get(ME, hall).superseded_by == study


@pytest.mark.parametrize(("relation", "linked"), [("new", set()), ("extends", {"extends"})])
def test_what_both_hold_by_a_verdict_is_in_no_doubt_and_asked_about_once(
    near: Opened, server: Any, clock: Any, relation: str, linked: set[str]
) -> None:
    says(server, relation)
    memory = near()
    _, hall, study = tell_both(memory, clock)
    judge_all(memory)
    assert listed(memory) == []
    kinds = {link.kind for link in memory.links(ME, study) if hall in (link.a, link.b)}
    assert kinds - {"co_recall"} == linked
    memory.close()
    again = near()
    judge_all(again)
    assert pairs_asked(server) == [(HALL, STUDY)]


def test_while_the_budget_is_used_up_new_memories_wait_also_for_a_restart(
    near: Opened, server: Any, clock: Any
) -> None:
    says(server, "updates")
    memory = near()
    memory._runtime.parts().worker.budget._reserved = 200_000
    _, hall, study = tell_both(memory, clock)
    judge_all(memory)
    judge_all(memory)
    assert pairs_asked(server) == []
    memory.close()
    again = near()
    judge_all(again)
    assert pairs_asked(server) == [(HALL, STUDY)]
    assert listed(again) == [(hall, study)]


def test_a_local_judge_comes_first_and_leaves_what_it_cannot_tell_to_the_model(
    near: Opened, server: Any, clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a contradiction the model has the last word; of an entailment it is not asked."""
    chances = {"contradiction": 0.9, "entailment": 0.05, "neutral": 0.05}
    asked: list[str] = []

    class Entailment:
        def probabilities(self, premise: str, _hypothesis: str) -> dict[str, float]:
            asked.append(premise)
            return chances

    monkeypatch.setattr(judges, "_cross_encoder", lambda _place: Entailment())
    says(server, "updates")
    memory = near(judge=tmp_path)
    old, new = told(memory, clock)
    judge_all(memory)
    assert asked == [OLD, NEW]
    assert pairs_asked(server) == [(OLD, NEW)]
    assert memory.get(ME, old).superseded_by == new
    by = {each.split(": ")[1] for each in sources(memory, new)}
    assert by == {f"entailment:{tmp_path.name}", memory._runtime.parts().worker.judges[1].name}
    _, hall, study = tell_both(memory, clock)
    judge_all(memory)
    assert (asked[2:], pairs_asked(server)[1:]) == ([HALL, STUDY], [(HALL, STUDY)])
    assert memory.get(ME, hall).superseded_by == ""  # no rule doubts it
    assert listed(memory) == [(hall, study)]
    chances.update(contradiction=0.05, entailment=0.9)
    same = memory.remember(ME, RememberRequest("On the study's shelf sits the router.")).id
    judge_all(memory)
    assert len(asked) > 4
    assert len(pairs_asked(server)) == 2
    assert same not in {newer for _, newer in listed(memory)}


def test_what_is_said_beside_a_request_is_never_what_supersedes(
    opened: Opened, server: Any, clock: Any
) -> None:
    says(server, "updates")
    memory = opened(workers=0)
    old = memory.remember(ME, RememberRequest(OLD)).id
    clock.pass_by(DAY)
    text = f"{NEW} Please put that into the calendar."
    new = memory.remember(ME, RememberRequest(text, role="user")).id
    assert listed(memory) == [(old, new)]
    judge_all(memory)
    assert pairs_asked(server) == [(OLD, text)]
    assert memory.get(ME, old).superseded_by == ""
    assert listed(memory) == [(old, new)]


def test_a_doubt_that_was_inherited_is_left_by_a_verdict(
    opened: Opened, server: Any, clock: Any
) -> None:
    says(server, "updates")
    memory = opened(workers=0)
    old, new = told(memory, clock)
    clock.pass_by(DAY)
    text = "The standup was moved to 11:30 in the end."
    last = memory.remember(ME, RememberRequest(text, replaces=new)).id
    assert not memory._runtime.parts().store.journal.link(last, old, "doubts")
    assert listed(memory) == [(old, last)]
    judge_all(memory)
    assert (OLD, text) in pairs_asked(server)
    assert memory.get(ME, old).superseded_by == ""
    assert listed(memory) == [(old, last)]


def test_what_is_trusted_less_is_not_asked_about(near: Opened, server: Any, clock: Any) -> None:
    memory = near()
    memory.remember(ME, RememberRequest(HALL, role="user"))
    clock.pass_by(DAY)
    memory.remember(ME, RememberRequest(STUDY, source="https://routers.example"))
    judge_all(memory)
    assert (pairs_asked(server), listed(memory)) == ([], [])


@pytest.mark.parametrize(("nearest", "least", "asked"), [(1, 0.3, 1), (2, 0.3, 2), (2, 0.99, 0)])
def test_a_model_is_asked_about_so_many_of_the_nearest_that_are_near(
    near: Opened,
    server: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    nearest: int,
    least: float,
    asked: int,
) -> None:
    monkeypatch.setattr(candidates, "ASKED", nearest)
    monkeypatch.setattr(candidates, "LEAST", least)
    says(server, "new")
    memory = near()
    for text in (HERON, "The old router lies in the attic.", HALL, STUDY):
        clock.pass_by(DAY)
        memory.remember(ME, RememberRequest(text))
    judge_all(memory)
    assert len([newer for _, newer in pairs_asked(server) if newer == STUDY]) == asked


@pytest.mark.parametrize(
    ("meanwhile", "written"),
    [("judged", False), ("judged the other way", False), ("recalled together", True)],
)
def test_a_verdict_on_what_was_decided_meanwhile_is_not_written(
    near: Opened, server: Any, clock: Any, meanwhile: str, written: bool
) -> None:
    memory = near()
    _, hall, study = tell_both(memory, clock)

    def say(_data: Any) -> dict[str, str]:
        store = memory._runtime.parts().store
        if meanwhile == "recalled together":
            accesses = memory._runtime.parts().maintenance.accesses
            accesses.associate([hall, study])
            accesses.flush()
            assert store.journal.weight(*sorted([hall, study]), "co_recall")
        else:
            pair = (hall, study) if meanwhile == "judged" else (study, hall)
            assert doubts.judge(store, *pair, "extends", "somebody", doubted=False)
        return {"relation": "contradicts", "detail": ""}

    server.say, server.judges = say, True
    judge_all(memory)
    assert pairs_asked(server) == [(HALL, STUDY)]
    assert listed(memory) == [(hall, study)] * written


def test_what_has_no_vector_yet_is_asked_about_when_it_has_one(
    near: Opened, server: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(server, "contradicts")
    memory, found = near(), candidates.candidates
    _, hall, study = tell_both(memory, clock)
    monkeypatch.setattr(candidates, "candidates", lambda *_: None)
    judge_all(memory)
    monkeypatch.setattr(candidates, "candidates", found)
    judge_all(memory)
    assert pairs_asked(server) == []
    memory.remember(ME, RememberRequest("The kettle whistles."))  # as a vector, it is a change
    judge_all(memory)
    assert pairs_asked(server) == [(HALL, STUDY)]
    assert listed(memory) == [(hall, study)]


def test_a_pair_is_not_asked_about_twice_at_once(opened: Opened, server: Any, clock: Any) -> None:
    memory = opened(workers=0)
    pair = told(memory, clock)
    left: list[int] = []

    def say(_data: Any) -> dict[str, str]:
        memory.remember(ME, RememberRequest(HERON))
        left.append(memory._runtime.parts().worker._judging.left())
        return {"relation": "contradicts", "detail": ""}

    server.say, server.judges = say, True
    judge_all(memory)
    assert left == [0]
    assert pairs_asked(server) == [(OLD, NEW)]
    assert listed(memory) == [pair]


def test_encode_judges_what_waits(opened: Opened, server: Any, clock: Any) -> None:
    server.judges = True
    memory = opened(workers=0)
    old, new = told(memory, clock)
    report = memory.encode(ME)
    assert (report.due, report.left) == (3, 0)
    assert memory.get(ME, old).superseded_by == new
