"""Memories that update, contradict or repeat each other, over a real store."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.link_kinds import DOUBTS
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

OTHER = Identity("other", "crew")
START = 1_700_000_000.0
PORT = (
    "The production database of the billing service listens on port {} since the last big release"
)


# Contradictions


def test_a_number_that_is_said_to_have_changed_supersedes_and_the_older_stays(world: Any) -> None:
    old = world.tell(PORT.format(5432), entities=("billing",))
    new = world.tell(f"Actually {PORT.format(5433)}", entities=("billing",))
    report = world.run("contradictions")
    (found,) = report.contradictions
    assert (found.older, found.newer, found.relation) == (old, new, "updates")
    assert found.agents == ("me", "me")
    assert found.subject == "billing"
    assert "5432" in found.detail
    assert "5433" in found.detail
    memory = world[old]
    assert (memory.superseded_by, memory.superseded_at) == (new, world.now)
    assert memory.valid_until == world[new].occurred_at
    assert not memory.replaced
    assert memory.retired_at is None
    assert (new, old, "updates") in world.links()
    assert world.run("contradictions").contradictions == ()


def test_versions_form_a_chain_to_the_next_newer(world: Any) -> None:
    first, second, third = (
        world.tell(said + PORT.format(port))
        for said, port in (("", 5432), ("Actually ", 5433), ("Correction: ", 5434))
    )
    report = world.run("contradictions")
    assert [(c.older, c.newer) for c in report.contradictions] == [(first, second), (second, third)]
    assert [world[id].superseded_by for id in (first, second, third)] == [second, third, ""]


def test_opposites_without_a_word_of_change_are_reported_and_the_older_is_doubted(
    world: Any,
) -> None:
    text = "Before the long winter trip the grey cat of the neighbours does eat the dry fish food"
    old = world.tell(text)
    new = world.tell(text.replace("does eat", "does not eat"))
    (found,) = world.run("contradictions").contradictions
    assert (found.older, found.newer, found.relation) == (old, new, "contradicts")
    assert (world[old].superseded_by, world[old].retired_at) == ("", None)
    assert {(frozenset(link[:2]), link[2]) for link in world.links()} == {
        (frozenset((old, new)), DOUBTS)
    }
    sequence = world.store.journal.last()
    (again,) = world.run("contradictions").contradictions
    assert (again.older, again.newer, again.relation) == (old, new, DOUBTS)
    kinds = [c.kind for c in world.store.journal.changes(sequence)]
    assert kinds == ["run", "run"]


def doubts(world: Any) -> set[frozenset[str]]:
    return {frozenset(link[:2]) for link in world.links() if link[2] == DOUBTS}


def told(world: Any, *texts: str, **fields: Any) -> list[str]:
    return [world.tell(text, **fields) for text in texts]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (PORT.format(5432), PORT.format(5433)),
        ("My boss is Karen.", "My boss is Canadian."),
        ("I work at Bosch.", "I work for Christian Meyer."),
        ("Ich wohne in Köln.", "Ich bin in Elternzeit."),
        ("Our team lead is Ana.", "Our team lead is Portuguese."),
        ("I like coffee.", "Honestly, I can't stand coffee."),
        ("I live in Oslo.", "Can you make this sound nicer? I live in Rome and love it here."),
        ("I live in Oslo.", "Make this nicer for me: I moved to Rome. I live in Rome now."),
        ("I live in Oslo.", "Translate this into French. I no longer live in Oslo."),
    ],
)
def test_nothing_is_superseded_without_words_of_change_of_ones_own(
    make: Any, older: str, newer: str
) -> None:
    """Both may be true: another value alone decides nothing, nor what a request is about."""
    for model in (True, False):
        world = make(model=model)
        old, new = told(world, older, newer)
        world.run("contradictions")
        assert (world[old].superseded_by, world[old].retired_at) == ("", None)
        assert not {kind for _, _, kind in world.links()} & {"updates", "contradicts"}
        assert new in world.ids()


def unclear(world: Any) -> list[str]:
    """Two memories of one matter, of which the later one sounds like a correction."""
    texts = (
        "The rehearsal of the string quartet is short.",
        "Actually the rehearsal of the string quartet is cancelled.",
    )
    return told(world, *texts, entities=("quartet",))


def test_of_what_is_not_clear_nothing_is_said_without_a_judge(world: Any) -> None:
    unclear(world)
    before = world.export()
    assert list(world.run("contradictions").contradictions) == []
    assert world.export() == before
    assert world.links() == set()


@pytest.mark.parametrize(
    ("judged", "stored"),
    [
        ("updates", {"updates"}),
        ("contradicts", {"contradicts", "doubts"}),
        ("extends", {"extends"}),
        ("new", {"kept_both"}),
    ],
)
def test_a_model_judges_once_what_is_not_clear(world: Any, judged: str, stored: set[str]) -> None:
    first, second = unclear(world)
    asked: list[tuple[str, str]] = []

    def relate(older: Any, newer: Any) -> tuple[str, str, str]:
        asked.append((older.id, newer.id))
        return judged, "so the model", "somebody"

    world.consolidator._relate = relate
    assert list(world.run(dry_run=True).contradictions) == []
    assert asked == []
    report = world.run("contradictions")
    changes = judged in ("updates", "contradicts")
    assert [c.detail for c in report.contradictions] == ["so the model"] * changes
    assert (world[first].superseded_by == second) == (judged == "updates")
    assert {kind for _, _, kind in world.links()} == stored
    for kind in stored:
        link = world.store.journal.link(second, first, kind)
        assert (link["reason"], link["by"]) == ("so the model", "somebody")
    world.run("contradictions")
    assert asked == [(first, second)]


def test_what_is_said_beside_a_request_is_in_doubt_at_most_whatever_a_model_says(
    world: Any,
) -> None:
    older, newer = told(
        world,
        "The string quartet plays in the hall on Friday.",
        "Actually the rehearsal of the string quartet is cancelled. Please write that to the hall.",
        entities=("quartet",),
    )
    world.consolidator._relate = lambda *_: ("updates", "so the model", "somebody")
    (found,) = world.run("contradictions").contradictions
    assert ([found.older, found.newer], found.relation) == ([older, newer], "updates")
    assert world[older].superseded_by == ""
    assert {kind for _, _, kind in world.links()} == {"updates", "doubts"}


def test_what_says_the_same_and_more_extends(world: Any) -> None:
    text = "The little blue boat of Mara lies at the second wooden pier of the old north harbour"
    less, more = told(world, text, f"{text} near Linz")
    longer = world.tell(f"{text} near Linz beside Tomas")
    world.run("contradictions")
    assert (longer, less, "extends") in world.links()
    assert world[less].superseded_by == ""
    assert more in world.ids()


def test_agents_that_contradict_each_other_are_reported_and_nothing_is_changed(
    world: Any,
) -> None:
    theirs = world.tell(PORT.format(5432), who=OTHER, visibility="team")
    mine = world.tell(PORT.format(5433), visibility="team")
    before = world.export()
    (found,) = world.run("contradictions").contradictions
    assert (found.older, found.newer, found.agents) == (theirs, mine, ("other", "me"))
    assert world.export() == before
    assert world.links() == set()


def test_what_another_agent_keeps_private_is_not_reported(world: Any) -> None:
    world.tell(PORT.format(5432), who=OTHER)
    world.tell(PORT.format(5433))
    assert world.run("contradictions").contradictions == ()


def test_a_number_that_only_one_has_opposes_nothing(world: Any) -> None:
    world.tell(PORT.format("unknown"))
    world.tell(PORT.format(5433))
    assert world.run("contradictions").contradictions == ()


def test_two_speakers_speak_of_themselves(world: Any) -> None:
    world.tell(PORT.format(5432), speaker="Mara")
    world.tell(PORT.format(5433), speaker="Tomas")
    assert world.run("contradictions").contradictions == ()


@pytest.mark.parametrize(
    ("also", "doubted"),
    [("Mara", True), ("Tomas", False)],
    ids=["the owner", "one of two who speak"],
)
def test_what_another_client_heard_without_a_name_is_the_owners(
    world: Any, also: str, doubted: bool
) -> None:
    """One client tells the speaker, the other one does not."""
    text = "The weekly meeting of the whole garden club in the old town hall is held on {}"
    old = world.tell(text.format("Monday"), speaker="Mara", role="user")
    world.tell("The apples of the tree behind the school are ripe", speaker=also, role="user")
    new = world.tell(text.format("Tuesday"))
    (found,) = world.run("contradictions").contradictions
    assert (found.older, found.newer) == (old, new)
    assert ((new, old, DOUBTS) in world.links()) is doubted


def test_another_day_alone_puts_the_older_in_doubt(world: Any) -> None:
    text = "The weekly meeting of the whole garden club in the old town hall is held on {}"
    old, new = world.tell(text.format("Monday")), world.tell(text.format("Tuesday"))
    (found,) = world.run("contradictions").contradictions
    assert (found.older, found.newer, found.relation) == (old, new, "updates")
    assert found.detail == "the later text says tuesday, not monday"
    assert world[old].superseded_by == ""
    assert {(frozenset(link[:2]), link[2]) for link in world.links()} == {
        (frozenset((old, new)), DOUBTS)
    }


@pytest.mark.parametrize("change", [("5", "6"), ("did run", "did not run")], ids=["number", "not"])
def test_what_happened_on_another_day_opposes_nothing(world: Any, change: tuple[str, str]) -> None:
    text = "Before work today Mara and the neighbour did run 5 km around the whole lake in the rain"
    world.tell(text, dates=("2023-11-14",))
    world.tell(text.replace(*change), dates=("2023-11-15",))
    assert world.run("contradictions").contradictions == ()


def test_another_date_alone_puts_the_older_in_doubt(world: Any) -> None:
    text = "The big autumn release of the billing service will now happen on {} May in the evening"
    old = world.tell(text.format(7), dates=("2024-05-07",))
    new = world.tell(text.format(9), dates=("2024-05-09",))
    (found,) = world.run("contradictions").contradictions
    assert (found.older, found.newer, found.relation) == (old, new, "updates")


# Duplicates


def test_of_near_duplicates_the_newer_stays_and_inherits_importance_and_accesses(
    world: Any,
) -> None:
    text = PORT.format(5432)
    less = world.tell(text, importance=0.7)
    more = world.tell(text.replace("last big", "last"), importance=0.5)
    world.access(less, 4, START + 900.0)
    world.access(more, 2, START + 100.0)
    report = world.run("deduplicate")
    assert report.retired == (less,)
    assert world[less].retired_at == world.now
    assert (world[more].access_count, world[more].last_accessed) == (6, START + 900.0)
    assert (world[more].retired_at, world[more].importance) == (None, 0.7)
    assert {frozenset(link[:2]) for link in world.links()} == {frozenset((less, more))}
    assert {link[2] for link in world.links()} == {"duplicate_of"}


def test_the_more_trusted_of_two_duplicates_stays_though_it_is_older(world: Any) -> None:
    text = PORT.format(5432)
    mine = world.tell(text, trust="user")
    told = world.tell(text.replace("last big", "last"), trust="agent")
    assert world.run("deduplicate").retired == (told,)
    assert world[mine].retired_at is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We may enter the lab at night.", "We may not enter the lab at night."),
        ("我们的办公室在十二楼", "我们的办公室在十三楼"),
        (
            "Room Ⅳ of the museum is closed on Mondays.",
            "Room Ⅷ of the museum is closed on Mondays.",
        ),
        (
            "The rent of the flat is ٣٠٠ euros a month.",
            "The rent of the flat is ٤٠٠ euros a month.",
        ),
    ],
)
def test_what_differs_in_a_numeral_or_a_not_is_no_duplicate(
    open_memory: Any, minilm: Any, one: str, other: str
) -> None:
    memory = open_memory(embedder=minilm)
    me = Identity("me")
    ids = [memory.remember(me, RememberRequest(text)).id for text in (one, other)]
    memory.consolidate(me, mode="deduplicate")
    assert [memory.get(me, id).retired_at for id in ids] == [None, None]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (PORT.format(5433), {}),
        (PORT.format(5432).replace("big ", ""), {"speaker": "Tomas"}),
        (PORT.format(5432).replace("big ", ""), {"visibility": "shared"}),
        (PORT.format(5432).replace("listens", "never listens"), {}),
        (PORT.format(5432).replace("big ", ""), {"dates": ("2024-05-07",)}),
    ],
    ids=["number", "speaker", "scope", "negation", "day"],
)
def test_what_differs_in_substance_is_no_duplicate(
    world: Any, text: str, fields: dict[str, Any]
) -> None:
    world.tell(PORT.format(5432), speaker="")
    world.tell(text, **fields)
    assert world.run("deduplicate").retired == ()
