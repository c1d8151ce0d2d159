"""A conversation goes through ring, recent and long-term; pairs, topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memory_core.lifecycle import turn_pairs
from memory_core.lifecycle.tiers import TierTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.recall.signals import cognition
from memory_core.records import Change, Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Tuning
from memory_core.scoring.tiers import Bounds

ME, OTHER = Identity("me"), Identity("other")
DAY = 86_400.0

OpenMemory = Callable[..., Memory]


def says(memory: Memory, text: str, session: str = "s", who: Identity = ME, **turn: Any) -> str:
    role = turn.pop("role", "user")
    receipt = memory.observe(who, ConversationTurn(role, text, session=session, **turn)).receipt
    assert receipt is not None
    return receipt.id


LITTLE = "The radio plays in the kitchen."


def says_little(memory: Memory) -> str:
    """A turn that is captured and, as a judge finds later, is of little importance."""
    id = says(memory, LITTLE)
    body = {"importance": 0.2}
    memory._runtime.parts().store.commit(lambda tx: tx.append(Change("put", id, body)))
    return id


def tier(memory: Memory, id: str) -> str:
    found = memory.get(ME, id)
    return "retired" if found.retired_at is not None else found.tier


def talk(memory: Memory, count: int, session: str = "s") -> list[str]:
    return [
        says(memory, f"Note {n} of talk {session} on apple tree number {n}.", session)
        for n in range(count)
    ]


def test_the_ring_holds_twenty_turns_and_the_first_leaves_first(memory: Memory) -> None:
    ids = talk(memory, 23)
    assert [tier(memory, id) for id in ids] == ["recent"] * 3 + ["active"] * 20
    assert [
        turn.id for turn in memory.recall(ME, RecallRequest("apple", session="s")).recent
    ] == ids[-5:]


def test_what_matters_little_leaves_the_ring_unkept(memory: Memory) -> None:
    little = says_little(memory)
    assert memory.get(ME, little).importance < 0.5
    talk(memory, 20)
    assert tier(memory, little) == "active"  # until the sweep
    assert memory.sweep(ME).unkept == 1
    assert tier(memory, little) == "retired"
    assert memory.get(ME, little).text == LITTLE


def test_a_conversation_that_fell_silent_leaves_the_ring(memory: Memory, clock: Any) -> None:
    ids = talk(memory, 3, "quiet")
    clock.pass_by(3000)
    things = ("The ferry was late.", "My sister sings.", "Bread costs four euros.")
    fresh = [says(memory, text, "going on") for text in things]
    clock.pass_by(601)
    assert memory.sweep(ME).kept == 3
    assert [tier(memory, id) for id in (*ids, *fresh)] == ["recent"] * 3 + ["active"] * 3


def test_the_ring_drains_at_shutdown(open_memory: OpenMemory) -> None:
    memory = open_memory("one")
    ids = talk(memory, 3)
    little = says_little(memory)
    memory.close()
    again = open_memory("one")
    assert [tier(again, id) for id in (*ids, little)] == ["recent"] * 3 + ["retired"]
    assert [turn.id for turn in again.recall(ME, RecallRequest("apple", session="s")).recent] == [
        *ids,
        little,
    ]


def test_cold_memories_move_to_long_term_and_recall_keeps_them_warm(
    memory: Memory, clock: Any
) -> None:
    cold, warm = says(memory, "The old barn burnt down."), says(memory, "The new barn is red.")
    clock.pass_by(3700)
    memory.sweep(ME)
    for _ in range(4):
        clock.pass_by(5 * DAY)
        memory.recall(ME, RecallRequest(warm))
        memory._runtime.parts().maintenance.accesses.flush()
    swept = memory.sweep(ME)
    assert (swept.cold, swept.kept, swept.unkept) == (1, 0, 0)
    assert (tier(memory, cold), tier(memory, warm)) == ("long_term", "recent")


def test_recall_rehearses_what_the_cue_brought_to_mind_and_not_the_tail_of_the_list(
    memory: Memory,
) -> None:
    asked = says(memory, "The heron sleeps by the quiet weir.")
    for number in range(5):
        says(memory, f"Bread number {number} is baked in the village oven near a weir.")
    found = memory.recall(
        ME, RecallRequest("Where is the heron, does it sleep by the quiet weir?", k=6)
    )
    memory.sweep(ME)
    assert len(found.hits) == 6
    assert [h.memory.id for h in found.hits if memory.get(ME, h.memory.id).access_count] == [asked]
    memory.recall(ME, RecallRequest(asked))  # by its id
    memory.forget(ME, query="heron by the weir")  # a preview leaves no trace
    memory.sweep(ME)
    assert memory.get(ME, asked).access_count == 2


def test_recent_holds_forty_of_one_owner(memory: Memory, clock: Any) -> None:
    ids = talk(memory, 45)
    theirs = says(memory, "A note of another agent.", "t", who=OTHER)
    clock.pass_by(3700)
    assert memory.sweep(ME).kept == 20
    tiers = [tier(memory, id) for id in ids]
    assert tiers.count("recent") + tiers.count("long_term") == 45
    memory.sweep(ME)
    assert [tier(memory, id) for id in ids] == (
        ["recent"] + ["long_term"] * 5 + ["recent"] * 39
    )  # the first was novel, and so more important than the next
    assert memory.get(OTHER, theirs).tier == "active"
    assert not memory.sweep(ME)


def test_the_cap_of_long_term_retires_and_deletes_nothing(open_memory: OpenMemory) -> None:
    memory = open_memory(tuning=Tuning(tiers=TierTuning(bounds=Bounds(long_term_most=2))))
    ids = [
        memory.remember(ME, RememberRequest(f"Fact {n} of the house.", importance=0.5)).id
        for n in range(3)
    ]
    rule = memory.remember(ME, RememberRequest("Never paint the door.", importance=1.0)).id
    assert memory.sweep(ME).over == 1
    assert [tier(memory, id) for id in (*ids, rule)] == ["retired"] + ["long_term"] * 3
    found = memory.recall(ME, RecallRequest(ids[0]))
    assert found.hits[0].memory.text == "Fact 0 of the house."


def test_maintenance_sweeps_by_itself_every_five_minutes(memory: Memory, clock: Any) -> None:
    upkeep = memory._runtime.parts().maintenance
    little = says_little(memory)
    clock.pass_by(3700)
    for _ in range(40):
        upkeep.round()
        if tier(memory, little) == "retired":
            break
    assert tier(memory, little) == "retired"
    assert "tiers" not in upkeep.problems


def test_a_clock_that_is_set_back_ten_years_stops_no_sweep(memory: Memory, clock: Any) -> None:
    clock.pass_by(-3650 * 86_400.0)
    tiers = memory._runtime.parts().tiers
    little = says_little(memory)
    talk(memory, 20)
    tiers._turns = 0
    tiers.sweep_if_due()
    assert tier(memory, little) == "retired"


def test_twenty_captured_turns_make_a_sweep_due_at_once(open_memory: OpenMemory) -> None:
    memory = open_memory(tuning=Tuning(tiers=TierTuning(ring=5)))
    tiers = memory._runtime.parts().tiers
    little = says_little(memory)
    talk(memory, 18)
    tiers.sweep_if_due()
    assert tier(memory, little) == "active"
    says(memory, "One more note on the pear trees.")
    tiers.sweep_if_due()
    assert tier(memory, little) == "retired"


def test_half_lives_are_settable(open_memory: OpenMemory, clock: Any) -> None:
    memory = open_memory(decay={"recent_half_life_days": 1, "long_term_half_life_days": 2})
    recent, lasting = (
        says(memory, "The heron sleeps."),
        memory.remember(ME, RememberRequest("The heron ate.")).id,
    )
    clock.pass_by(2 * DAY)
    found = memory.recall(ME, RecallRequest("the heron", explain=True))
    kept = {hit.memory.id: hit.why["retention"] for hit in found.hits}
    assert kept == pytest.approx({recent: 0.25, lasting: 0.5})


def test_a_sweep_with_nothing_to_move_writes_nothing(memory: Memory) -> None:
    talk(memory, 3)
    before = memory._runtime.parts().store.applied
    assert not memory.sweep(ME)
    assert memory._runtime.parts().store.applied == before


# Pairs and topics


def asked_and_answered(memory: Memory, clock: Any) -> tuple[str, str]:
    asked = says(memory, "I forgot which paint we chose for the fence.")
    clock.pass_by(20)
    answered = says(memory, "You chose the dark green one, two litres.", role="assistant")
    clock.pass_by(3700)
    memory.sweep(ME)
    clock.pass_by(30 * DAY)
    return asked, answered


def test_a_turn_and_its_answer_become_a_pair_when_they_go_cold(memory: Memory, clock: Any) -> None:
    asked, answered = asked_and_answered(memory, clock)
    swept = memory.sweep(ME)
    assert (swept.cold, swept.pairs) == (2, 1)
    store = memory._runtime.parts().store
    found = turn_pairs.of(store, [asked, answered])
    assert found[asked] == found[answered]
    pair = found[asked]
    assert pair.text == (
        "User: I forgot which paint we chose for the fence. / "
        "Agent: You chose the dark green one, two litres."
    )
    assert pair.importance == max(pair.user.importance, pair.agent.importance)
    assert pair.times[1] - pair.times[0] == 20
    assert not memory.sweep(ME)  # paired once


def test_a_pair_keeps_its_vector_beside_those_of_the_turn(
    memory: Memory, clock: Any, toy: Any
) -> None:
    asked, answered = asked_and_answered(memory, clock)
    store = memory._runtime.parts().store
    before = store.journal.vectors([asked], toy.fingerprint)[asked]
    memory.sweep(ME)
    parts, vectors = store.journal.vectors([asked], toy.fingerprint)[asked]
    assert parts == [*before[0], turn_pairs.PART]
    assert np.array_equal(vectors[:-1], before[1])
    text = turn_pairs.of(store, [asked])[asked].text
    assert np.allclose(vectors[-1], toy.query(text), atol=1e-3)
    memory.forget(ME, ids=[answered], confirm=True)
    assert turn_pairs.of(store, [asked]) == {}


def test_what_comes_back_from_below_is_the_pair(memory: Memory, clock: Any, toy: Any) -> None:
    asked, answered = asked_and_answered(memory, clock)
    memory.sweep(ME)
    store = memory._runtime.parts().store
    store.catch_up()
    cue = "Which paint did we choose for the fence, which one?"
    memory.recall(ME, RecallRequest(cue, session="now", k=1))
    mind = memory.in_mind(ME, "now")
    assert set(mind.hot) == set(mind.promoted) == {asked, answered}
    vector = toy.query(turn_pairs.of(store, [asked])[asked].text)
    with store.reading() as view:
        rows = cognition.hot(view, mind.hot, vector, 0.99)  # nothing but the pair's own vector is
        assert [view.columns.id(row) for row in rows.tolist()] == [asked]


def test_turns_of_people_or_far_apart_are_no_pair(memory: Memory, clock: Any) -> None:
    says(memory, "I forgot which paint we chose for the fence.")
    says(memory, "The dark green one, if I am not mistaken.", speaker="Ben")
    says(memory, "I need the ladder, by the way.")
    clock.pass_by(601)
    says(memory, "The ladder leans on the shed.", role="assistant")
    clock.pass_by(3700)
    memory.sweep(ME)
    clock.pass_by(30 * DAY)
    swept = memory.sweep(ME)
    assert (swept.cold, swept.pairs) == (4, 0)


def test_what_goes_to_long_term_joins_the_nearest_topic(memory: Memory, clock: Any) -> None:
    store = memory._runtime.parts().store
    about = memory.remember(ME, RememberRequest("apple trees need pruning in winter")).id
    other = memory.remember(ME, RememberRequest("the modem blinks red at night")).id
    for id, topic in ((about, "Garden"), (other, "Modem")):
        store.commit(lambda tx, id=id, topic=topic: tx.append(Change("put", id, {"topic": topic})))
    near = says(memory, "apple trees need pruning in early winter too")
    far = says(memory, "quite something else entirely, grandmother phoned")
    clock.pass_by(3700)
    memory.sweep(ME)
    clock.pass_by(30 * DAY)
    assert memory.sweep(ME).topics == 1
    assert (memory.get(ME, near).topic, memory.get(ME, far).topic) == ("Garden", "")
    assert (
        memory.recall(ME, RecallRequest(far)).hits[0].memory.id == far
    )  # recallable without a topic


def test_what_goes_to_long_term_joins_no_topic_of_another_name(memory: Memory, clock: Any) -> None:
    store = memory._runtime.parts().store
    fact = memory.remember(ME, RememberRequest("The shop stores its orders in Postgres.")).id
    store.commit(lambda tx: tx.append(Change("put", fact, {"topic": "shop, Postgres"})))
    same = says(memory, "The shop stores its old orders in Postgres too.")
    other = says(memory, "The shop stores its orders in MySQL.")
    clock.pass_by(3700)
    memory.sweep(ME)
    clock.pass_by(30 * DAY)
    memory.sweep(ME)
    assert memory.get(ME, same).topic == "shop, Postgres"
    assert memory.get(ME, other).topic == ""


@pytest.mark.parametrize("kind", ["put", "link"])
def test_what_a_sweep_writes_is_journalled_with_its_source(
    memory: Memory, clock: Any, kind: str
) -> None:
    asked, answered = asked_and_answered(memory, clock)
    memory.sweep(ME)
    id = asked if kind == "put" else answered
    written = [change for change in memory.history(ME, id) if change.source.startswith("sweep")]
    assert kind in {change.kind for change in written}
    assert {change.actor for change in written} == {ME.agent}
