"""Listings of every state, tallies, the graph of topics, runs; and what an owner may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_core.errors import InvalidInput, NotFound, ScopeDenied
from memory_core.memory import Memory
from memory_core.overview import memory_graph
from memory_core.overview.request import PageRequest
from memory_core.recall.request import RecallRequest, Weights
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest

ANA = Identity("ana", "north", frozenset({"read", "write"}))
BEN = Identity("ben", "north", frozenset({"read", "write"}))
DAY = 86_400.0


def tell(memory: Memory, text: str, who: Identity = ANA, **more: Any) -> str:
    return memory.remember(who, RememberRequest(text, **more)).id


def every(memory: Memory, who: Identity = ANA, **asked: Any) -> list[str]:
    """The ids of all pages, in order."""
    ids: list[str] = []
    cursor = ""
    while True:
        page = memory.page(who, PageRequest(cursor=cursor, **asked))
        ids += [each.memory.id for each in page.memories]
        cursor = page.next
        if not cursor:
            return ids


def test_pages_together_hold_everything_once_newest_first(memory: Memory, clock: Any) -> None:
    told = []
    for number in range(11):
        clock.pass_by(0 if number % 3 else 60)  # several at the same moment
        told.append(tell(memory, f"Note {number} of the harbour."))
    assert every(memory, limit=4) == every(memory, limit=1000) == sorted(told, reverse=True)


def test_what_is_stored_between_two_pages_is_on_neither_twice(memory: Memory, clock: Any) -> None:
    told = [tell(memory, f"Note {n} of the harbour.", when=f"2024-05-0{n}") for n in range(1, 7)]
    first = memory.page(ANA, PageRequest(limit=3))
    tell(memory, "A newer note.", when="2024-05-20")
    second = memory.page(ANA, PageRequest(limit=3, cursor=first.next))
    assert [each.memory.id for each in (*first.memories, *second.memories)] == told[::-1]
    assert second.next == ""


def test_each_state_is_listed(memory: Memory, clock: Any) -> None:
    old = tell(memory, "The office is in room 12.")
    new = tell(memory, "The office is in room 14.", replaces=old)
    gone = tell(memory, "Lunch was soup.")
    memory.retire(ANA, gone)
    kept = tell(memory, "Mara sails on Sundays.")
    by_state = {s: set(every(memory, state=s)) for s in ("current", "superseded", "retired")}
    assert by_state == {"current": {kept, new}, "superseded": {old}, "retired": {gone}}
    states = {each.memory.id: each.state for each in memory.page(ANA, PageRequest()).memories}
    assert states == {old: "superseded", new: "current", gone: "retired", kept: "current"}


def test_what_is_in_doubt_is_listed_with_what_puts_it_in_doubt(memory: Memory, clock: Any) -> None:
    old = tell(memory, "The team meeting is on Monday at nine.")
    clock.pass_by(DAY)
    new = tell(memory, "We moved the team meeting from Monday to Tuesday.")
    pairs = [(pair.older.id, pair.newer.id) for pair in memory.doubts(ANA)]
    page = memory.page(ANA, PageRequest(state="doubtful"))
    assert [(each.memory.id, each.doubted_by) for each in page.memories] == pairs == [(old, new)]
    assert every(memory, state="current") == [new]


def test_what_is_in_doubt_in_part_is_in_doubt_until_that_is_decided(
    memory: Memory, clock: Any
) -> None:
    old = tell(memory, "The team meeting is on Monday at nine, Mara brings the cake.")
    clock.pass_by(DAY)
    new = tell(memory, "The team meeting is on Tuesday, not on Monday.")
    (pair,) = memory.doubts(ANA)
    assert pair.part
    assert every(memory, state="doubtful") == [old]
    assert every(memory, state="current") == [new]
    (found,) = [each for each in memory.page(ANA, PageRequest()).memories if each.memory.id == old]
    assert (found.state, found.doubted_by) == ("doubtful", new)
    memory.resolve(ANA, old, new, "newer-holds-in-part")
    assert every(memory, state="doubtful") == []
    assert set(every(memory, state="current")) == {old, new}
    states = {each.memory.id: each.state for each in memory.page(ANA, PageRequest()).memories}
    assert states == {old: "current", new: "current"}


FILTERS = {
    "kind": ("preference", {"kind": "preference"}),
    "tags": (["sea"], {"tags": ["sea", "salt"]}),
    "session": ("walk", {"session": "walk"}),
    "speaker": ("Mara", {"speaker": "Mara"}),
    "importance": (0.9, {"importance": 0.95}),
    "scope": ("team", {"scope": "team"}),
    "since": ("2024-03-02", {"when": "2024-03-02T10:00"}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_lists_what_fits_and_nothing_else(memory: Memory, name: str) -> None:
    wanted, fields = FILTERS[name]
    tell(memory, "Something else about the harbour.", importance=0.4, when="2024-03-01")
    fitting = tell(memory, "The harbour wall was painted.", **{"when": "2024-03-01", **fields})
    assert every(memory, **{name: wanted}) == [fitting]


def test_entity_and_topic_and_tier_filter(memory: Memory) -> None:
    named = tell(memory, "Mara Vogt repaired the boat.")
    tell(memory, "it rained all day at the lake")
    assert every(memory, entity="mara vogt") == [named]
    assert every(memory, tier="active") == []
    assert len(every(memory, tier="long_term")) + len(every(memory, tier="recent")) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"cursor": "nonsense"},
        {"cursor": "WzEsMiwzXQ"},
        {"limit": 0},
        {"limit": 1001},
        {"state": "lost"},
        {"kind": "poem"},
        {"importance": 1.5},
        {"since": "yesterday"},
    ],
)
def test_wrong_arguments_of_a_page_are_named(memory: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        memory.page(ANA, PageRequest(**wrong))


def test_pages_show_only_what_may_be_read(memory: Memory) -> None:
    own = tell(memory, "A private note of Ana.")
    team = tell(memory, "A note for the team.", scope="team")
    tell(memory, "A private note of Ben.", BEN)
    assert set(every(memory)) == {own, team}
    assert set(every(memory, agent="ben")) == set()
    assert [each.memory.id for each in memory.states(BEN, [own, team])] == [team]


def test_an_amendment_is_one_change_that_can_be_undone(memory: Memory) -> None:
    id = tell(memory, "The key is under the mat.", tags=["house"], importance=0.6)
    change = memory.amend(ANA, id, tags=["home", "key"], importance=1.0)
    assert (memory.get(ANA, id).tags, memory.get(ANA, id).importance) == (("home", "key"), 1.0)
    assert memory.amend(ANA, id, importance=1.0) == 0
    memory.undo_change(ANA, id, change)
    assert (memory.get(ANA, id).tags, memory.get(ANA, id).importance) == (("house",), 0.6)
    found = memory.recall(ANA, RecallRequest("where is the key", tags=["house"]))
    assert [hit.memory.id for hit in (*found.hits, *found.partial)] == [id]


def test_a_secret_in_an_amended_tag_is_masked(memory: Memory) -> None:
    id = tell(memory, "The deploy job runs at night.")
    memory.amend(ANA, id, tags=["AKIAIOSFODNN7EXAMPLE"])
    assert "AKIAIOSFODNN7EXAMPLE" not in memory.get(ANA, id).tags


def test_retirement_can_be_undone(memory: Memory) -> None:
    id = tell(memory, "The ferry leaves at six.")
    change = memory.retire(ANA, id)
    assert memory.get(ANA, id).retired_at is not None
    memory.undo_change(ANA, id, change)
    assert memory.get(ANA, id).retired_at is None
    assert memory.retire(ANA, id, retired=False) == 0


def test_only_the_owner_changes_a_memory(memory: Memory) -> None:
    team = tell(memory, "The release is on Friday.", scope="team")
    private = tell(memory, "A private note of Ana.")
    for change in (
        lambda id: memory.amend(BEN, id, importance=0.1),
        lambda id: memory.retire(BEN, id),
    ):
        with pytest.raises(ScopeDenied):
            change(team)
        with pytest.raises(NotFound):
            change(private)
    with pytest.raises(NotFound):
        memory.vote(BEN, private, "what?", 1)


def test_votes_count_once_an_agent_and_question_and_can_be_withdrawn(memory: Memory) -> None:
    id = tell(memory, "The release is on Friday.", scope="team")
    memory.vote(ANA, id, "When is the release?", 1)
    memory.vote(ANA, id, "when is the release", 1)  # another question: it has no mark
    memory.vote(ANA, id, "When  is the RELEASE?", 1)
    votes = memory.vote(BEN, id, "When is the release?", -1)
    assert (votes.up, votes.down) == (2, 1)
    last = memory.history(BEN, id)[-1].seq
    memory.undo_change(ANA, id, last)
    assert memory.votes(BEN, id).down == 0
    assert memory.vote(ANA, id, "When is the release?", 0).up == 1


def test_votes_survive_a_start_and_go_with_the_memory(
    open_memory: Callable[..., Memory], memory: Memory
) -> None:
    id = tell(memory, "The release is on Friday.")
    memory.vote(ANA, id, "the secret question of Ana", 1)
    memory.close()
    again = open_memory()
    assert again.votes(ANA, id).up == 1
    again.forget(ANA, ids=[id], confirm=True, finish_seconds=5.0)
    with pytest.raises(NotFound):
        again.votes(ANA, id)


def test_a_used_key_with_another_request_is_refused(memory: Memory) -> None:
    first = memory.remember(ANA, RememberRequest("The sky is blue.", key="k1", asked="blue"))
    again = RememberRequest("The sky is blue.", key="k1", asked="blue")
    assert memory.remember(ANA, again) == first
    with pytest.raises(InvalidInput, match="key: it was used before for another request"):
        memory.remember(ANA, RememberRequest("The sky is grey.", key="k1", asked="grey"))
    assert len(every(memory)) == 1


def test_tallies_count_names_and_page(memory: Memory, clock: Any) -> None:
    for number in range(3):
        clock.pass_by(60)
        tell(memory, f"Note {number}.", session="a", tags=["x"])
    tell(memory, "Another one.", session="b", tags=["x", "y"])
    sessions = memory.tally(ANA, "session")
    assert [(t.name, t.memories) for t in sessions.tallies] == [("a", 3), ("b", 1)]
    assert sessions.tallies[0].last - sessions.tallies[0].first == 120
    first = memory.tally(ANA, "tags", limit=1)
    second = memory.tally(ANA, "tags", limit=1, cursor=first.next)
    assert [t.name for t in (*first.tallies, *second.tallies)] == ["x", "y"]
    assert second.next == ""
    assert memory.tally(BEN, "session").tallies == ()
    assert [t.name for t in memory.tally(ANA, "tags", part="Y").tallies] == ["y"]


def test_the_timeline_counts_by_day_week_and_month(memory: Memory) -> None:
    for day in ("2024-01-01", "2024-01-07", "2024-01-08", "2024-02-01"):
        tell(memory, f"It was {day}.", when=day)
    spans = {
        step: [(s.start, s.memories) for s in memory.timeline(ANA, step=step)]
        for step in ("day", "week", "month")
    }
    assert spans["week"] == [("2024-01-01", 2), ("2024-01-08", 1), ("2024-01-29", 1)]
    assert spans["month"] == [("2024-01-01", 3), ("2024-02-01", 1)]
    assert len(spans["day"]) == 4
    assert sum(n for s in memory.timeline(ANA) for n in s.by_tier.values()) == 4
    assert [s.start for s in memory.timeline(ANA, since="2024-01-08", until="2024-01-31")] == [
        "2024-01-08"
    ]


def test_topics_are_tied_by_turns_side_by_side_and_by_what_sums_them_up(
    memory: Memory, clock: Any
) -> None:
    told = []
    for topic in ("bread", "sailing", "bread", "garden"):
        clock.pass_by(60)
        record = {"text": f"Turn {len(told)} on {topic}.", "topic": topic, "session": "talk"}
        told.append(memory.bring_in(ANA, record).id)
    concept = {
        "text": "Ana bakes and sails.",
        "kind": "concept",
        "topic": "hobbies",
        "derived_from": told[:2],
    }
    memory.bring_in(ANA, concept)
    graph = memory.topic_graph(ANA)
    assert [(node.label, node.members) for node in graph.nodes] == [
        ("bread", 2),
        ("garden", 1),
        ("hobbies", 1),
        ("sailing", 1),
    ]
    assert {(e.a, e.b, e.relation, e.weight) for e in graph.edges} == {
        ("bread", "sailing", "co_occurs", 2.0),
        ("bread", "garden", "co_occurs", 1.0),
        ("bread", "sailing", "abstracted", 1.0),
        ("hobbies", "bread", "derived", 1.0),
        ("hobbies", "sailing", "derived", 1.0),
    }
    assert memory.topic_graph(BEN).nodes == ()
    ties = memory.memory_graph(ANA).ties
    count = sum(tie.relation == "tied" for tie in ties)
    assert [tie.relation for tie in ties[-count:]] == ["tied"] * count  # what is cut off first
    assert [tie.weight for tie in ties[-count:]] == [3.0, 1.0, 1.0, 1.0]


def test_the_graph_ties_topics_summaries_episodes_and_names(memory: Memory) -> None:
    told = [
        memory.bring_in(ANA, {"text": text, "topic": "bread", "entities": ["Mara Vogt"]}).id
        for text in ("Mara Vogt bakes rye.", "Mara Vogt bakes spelt.")
    ]
    summary = {"text": "Bread is baked.", "kind": "summary", "derived_from": told}
    made = memory.bring_in(ANA, summary).id
    retired = tell(memory, "Lunch was soup.")
    memory.retire(ANA, retired)
    graph = memory.memory_graph(ANA)
    assert {(node.key, node.type, node.label, node.size) for node in graph.nodes} == {
        ("topic:bread", "topic", "bread", 2),
        (made, "summary", "Bread is baked.", 1),
        (told[0], "episode", "Mara Vogt bakes rye.", 1),
        (told[1], "episode", "Mara Vogt bakes spelt.", 1),
        ("entity:Mara Vogt", "entity", "Mara Vogt", 2),
    }
    assert {(tie.a, tie.b, tie.relation) for tie in graph.ties} == {
        *(("topic:bread", each, "holds") for each in told),
        *((made, each, "derived") for each in told),
        *((each, "entity:Mara Vogt", "names") for each in told),
    }
    assert memory.memory_graph(BEN).nodes == ()


def test_a_large_graph_is_cut_to_the_weightiest(memory: Memory) -> None:
    for number in range(memory_graph.EPISODES + 5):
        weight = 0.2 + 0.001 * number
        memory.bring_in(ANA, {"text": f"Gull {number} came by.", "importance": weight})
    nodes = memory.memory_graph(ANA).nodes
    labels = [node.label for node in nodes if node.type == "episode"]
    assert len(labels) == memory_graph.EPISODES
    assert labels[0] == f"Gull {memory_graph.EPISODES + 4} came by."
    assert "Gull 4 came by." not in labels


def test_a_memory_fades_by_half_in_its_half_life(memory: Memory, clock: Any) -> None:
    id = tell(memory, "Mara sails on Sundays.")
    fresh = memory.fading(ANA, id)
    assert fresh.left == 1
    clock.pass_by(fresh.half_life_days * DAY)
    assert memory.fading(ANA, id).left == pytest.approx(0.5)
    memory.recall(ANA, RecallRequest("When does Mara sail?"))
    memory._runtime.parts().maintenance.accesses.flush()
    again = memory.fading(ANA, id)
    assert again.left == pytest.approx(1)
    assert again.half_life_days > fresh.half_life_days
    with pytest.raises(NotFound):
        memory.fading(BEN, id)


def test_runs_are_listed_with_their_state(memory: Memory, clock: Any) -> None:
    for number in range(4):
        clock.pass_by(60)
        tell(memory, f"The ferry of day {number} was late again.", session="s")
    clock.pass_by(2 * DAY)
    done = memory.consolidate(ANA)
    clock.pass_by(60)
    memory.consolidate(ANA, undo=done.run)
    clock.pass_by(60)
    second = memory.consolidate(ANA)
    listed = memory.runs(ANA)
    assert [(run.run, run.state) for run in listed.runs] == [
        (second.run, "completed"),
        (done.run, "undone"),
    ]
    first = memory.runs(ANA, limit=1)
    assert [r.run for r in memory.runs(ANA, limit=1, cursor=first.next).runs] == [done.run]
    assert memory.runs(BEN).runs == ()


def test_the_state_of_an_agent_has_its_tiers_and_pairs(memory: Memory, clock: Any) -> None:
    turns = (
        ("user", "I forgot which paint we chose for the fence."),
        ("assistant", "You chose the dark green one, two litres."),
    )
    for role, text in turns:
        clock.pass_by(5)
        memory.observe(ANA, ConversationTurn(role, text, session="s"))
    state = memory.agent_state(ANA, "ana")
    assert state.counts["by_tier"] == {"active": 2}
    assert len(state.tiers["active"]) == 2
    clock.pass_by(3700)
    memory.sweep(ANA)
    clock.pass_by(30 * DAY)
    memory.sweep(ANA)
    assert [pair.user.text for pair in memory.pairs(ANA, agent="ana")] == [turns[0][1]]
    assert memory.agent_state(ANA, "ana").pairs == tuple(memory.pairs(ANA))
    assert memory.agent_state(BEN, "ana").counts["memories"] == 0
    assert memory.pairs(BEN) == []


def test_weights_put_the_newest_or_the_weightiest_first(memory: Memory, clock: Any) -> None:
    best = tell(memory, "harbour ledger", when="2023-06-01", importance=0.1)
    new = tell(memory, "harbour ledger of the old pilot", when="2024-05-31", importance=0.1)
    heavy = tell(memory, "harbour ledger of the young pilot", when="2023-06-01", importance=1.0)

    def first(**weights: float) -> str:
        request = RecallRequest("harbour ledger", weights=Weights(**weights), rehearse=False)
        return memory.recall(ANA, request).hits[0].memory.id

    assert first() == best
    assert first(recency=1.0) == new
    assert first(importance=1.0) == heavy
    assert first(recency=0.5) == new
    assert first(recency=0.5, half_life_days=36_500.0) == best
    assert first(recency=1.0, importance=0.2) == new, "above 1 together they count in proportion"
    assert first(recency=0.2, importance=1.0) == heavy
    with pytest.raises(InvalidInput, match=r"weights\.recency"):
        first(recency=2.0)


def test_recall_is_narrowed_by_topic_entity_and_importance(memory: Memory) -> None:
    mara = tell(memory, "Mara Vogt repaired the harbour crane.", importance=0.9)
    other = tell(memory, "Ole Lund painted the harbour crane.", importance=0.3)

    def found(**narrow: Any) -> set[str]:
        answer = memory.recall(ANA, RecallRequest("harbour crane", rehearse=False, **narrow))
        return {hit.memory.id for hit in (*answer.hits, *answer.partial)}

    assert found() == {mara, other}
    assert found(entity="Mara Vogt") == {mara}
    assert found(importance=0.8) == {mara}
    assert found(topic="no such topic") == set()


def test_without_a_model_extraction_stores_the_text_and_nothing_else(memory: Memory) -> None:
    receipt, facts = memory.extract(ANA, RememberRequest("Mara moved to Oslo."), 1.0)
    assert (receipt.status, facts) == ("stored", [])
    assert memory.jobs(ANA)["queued"] == 0
