"""Links: memories that no cue reaches directly come with the path that led to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall import spreading
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Hit, Identity
from memory_core.remember.request import RememberRequest
from tests.views import asked_for, view_of

ME = Identity("me")
OTHER = Identity("other")

OpenMemory = Callable[..., Memory]

EVERYDAY = (
    "{0} pays the rent on the first of the month.",
    "The bakery near {0} sells rye bread again.",
    "{0} wants to learn the accordion this winter.",
    "The heating in the flat of {0} rattles at night.",
    "{0} lost an umbrella on the ferry.",
    "A parcel for {0} waits at the post office.",
    "{0} votes by letter this time.",
    "The neighbours of {0} keep three hens.",
)
PEOPLE = ("Ana", "Ben", "Cleo", "Dov", "Edda", "Finn", "Gul", "Hugo")


def everyday(memory: Memory) -> None:
    for person in PEOPLE:
        for line in EVERYDAY:
            memory.remember(ME, RememberRequest(line.format(person)))


def every(memory: Memory, query: str, who: Identity = ME, **cues: Any) -> list[Hit]:
    """What was recalled and the best of what was not, best first."""
    found = memory.recall(who, RecallRequest(query, explain=True, **cues))
    return [*found.hits, *found.partial, *found.rejected]


def by_id(memory: Memory, query: str, **cues: Any) -> dict[str, Hit]:
    return {hit.memory.id: hit for hit in every(memory, query, **cues)}


# The cross-domain cases of the seeds, with the real model


@pytest.fixture
def real(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(Settings(data_dir=tmp_path / "real"), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        everyday(memory)
        yield memory


@pytest.mark.parametrize("street", ["Tannery Row", "Industrial Way", "Lakeshore Drive"])
def test_a_street_name_links_what_has_nothing_else_in_common(
    real: Memory, minilm: Embedder, street: str
) -> None:
    texts = (
        f"Mrs Albrecht repairs violins above a tea shop on {street}.",
        f"Two spare servers drowned when {street} was under water.",
    )
    a, b = minilm.documents(texts)
    assert float(a @ b) < 0.2
    workshop, flood = (real.remember(ME, RememberRequest(text)).id for text in texts)
    found = real.recall(ME, RecallRequest("Who could mend my violin?", k=5, explain=True))
    hits = {hit.memory.id: hit for hit in found.hits}
    assert found.hits[0].memory.id == workshop
    assert hits[flood].why["path"] == f"shares {street} with {workshop}"
    gained = hits[flood].why["links"]
    assert isinstance(gained, float)
    others = [hit.score for hit in found.rejected]
    assert hits[flood].score - gained < max(others)  # without the link it is not among the five
    back = real.recall(
        ME, RecallRequest("Which computers were ruined by water?", k=5, explain=True)
    )
    assert workshop in [hit.memory.id for hit in back.hits]


def test_zebra_brings_the_wildlife_that_does_not_name_it(real: Memory) -> None:
    animals = [
        real.remember(ME, RememberRequest(text)).id
        for text in (
            "A pride of lions lay in the tall grass by the river.",
            "Giraffes sleep for less than two hours a night, mostly standing.",
            "More than a million wildebeest follow the rain across the plains.",
        )
    ]
    code = [
        real.remember(ME, RememberRequest(text)).id
        for text in (
            "The parser now rejects trailing commas.",
            "We moved the build from make to ninja.",
            "The cache is keyed by the hash of the query.",
        )
    ]
    before = asked_for(real)
    found = by_id(real, "zebra", k=8, rehearse=False)
    real._runtime.parts().maintenance.accesses.flush()
    assert asked_for(real) == before  # the way there is found anew each time
    order = list(found)
    given = real.recall(ME, RecallRequest("zebra", k=8, rehearse=False))
    assert given.found
    assert set(animals) <= {hit.memory.id for hit in given.hits}
    assert set(animals) <= set(order[:8])
    behind = [order.index(id) if id in found else len(order) for id in code]
    assert max(map(order.index, animals)) < min(behind)
    assert any(str(found[id].why.get("path", "")).startswith("like ") for id in animals)


# Structure, with the toy model


def link(memory: Memory, a: str, b: str, kind: str, weight: float) -> None:
    store = memory._runtime.parts().store
    body = {"b": b, "kind": kind, "weight": weight}
    store.commit(lambda tx: tx.append(Change("link", a, body)))


def test_two_hops_tell_both_steps(memory: Memory) -> None:
    everyday(memory)
    first = memory.remember(ME, RememberRequest("The cooper mends barrels on Tannery Row.")).id
    second = memory.remember(ME, RememberRequest("Tannery Row ends at Quay Bridge.")).id
    third = memory.remember(ME, RememberRequest("Quay Bridge has lanterns since spring.")).id
    found = by_id(memory, "Which cooper mends barrels?", k=8)
    assert found[second].why["path"] == f"shares Tannery Row with {first}"
    path = f"shares Quay Bridge with {second} <- shares Tannery Row with {first}"
    assert found[third].why["path"] == path
    assert found[first].score > found[second].score > found[third].score


@pytest.mark.parametrize(
    ("kind", "how"), [("co_recall", "recalled with"), ("updates", "an update of, or updated by,")]
)
def test_what_was_noted_as_belonging_together_is_reached(
    memory: Memory, kind: str, how: str
) -> None:
    everyday(memory)
    cue = memory.remember(ME, RememberRequest("The cooper mends barrels.")).id
    other = memory.remember(ME, RememberRequest("Lanterns hang over water.")).id
    assert other not in by_id(memory, "Which cooper mends barrels?", k=5)
    link(memory, other, cue, kind, 1.0)
    found = by_id(memory, "Which cooper mends barrels?", k=5)
    assert found[other].why["path"] == f"{how} {cue}"
    assert "rejected" not in found[other].why


def test_the_best_of_several_paths_is_kept(memory: Memory) -> None:
    everyday(memory)
    cue = memory.remember(ME, RememberRequest("The cooper mends barrels on Tannery Row.")).id
    other = memory.remember(ME, RememberRequest("Lanterns hang over Tannery Row.")).id
    link(memory, other, cue, "co_recall", 0.1)
    why = by_id(memory, "Which cooper mends barrels?", k=5)[other].why
    assert why["path"] == f"shares Tannery Row with {cue}"


def test_activation_is_the_parents_times_the_share_of_the_way(memory: Memory) -> None:
    """Of a likeness: parent x factor x cosine; of a name: parent x factor x boost."""
    everyday(memory)
    texts = (
        "The cooper mends barrels on Tannery Row.",
        "Tannery Row ends at Quay Bridge.",
        "Quay Bridge has lanterns since spring.",
    )
    store = memory._runtime.parts().store
    rows = [
        view_of(store).columns.row(memory.remember(ME, RememberRequest(text)).id) for text in texts
    ]
    cue, near, far = (row for row in rows if row is not None)
    parent, likeness = 0.8, 0.3
    with store.reading() as view:
        reached = spreading.reach(
            view, {cue: parent}, {cue: likeness}, *2 * [view.readable(ME)], ()
        )
        assert view.vectors is not None
        whole = view.vectors.wholes(np.arange(len(view.columns)))
    by_name = parent * spreading.SPREAD * spreading.ENTITY_BOOST  # two hold it: the name is rare
    assert reached[near].activation == pytest.approx(by_name)
    assert reached[far].activation == pytest.approx(
        by_name * spreading.SPREAD * spreading.ENTITY_BOOST
    )
    alike = {row: link.activation for row, link in reached.items() if link.how == "like"}
    assert alike
    for row, activation in alike.items():
        cosine = float(whole[row] @ whole[cue])
        assert activation == pytest.approx(parent * spreading.SPREAD * likeness * cosine, abs=1e-3)


def test_a_topic_links_its_members(memory: Memory) -> None:
    everyday(memory)
    cue = memory.remember(ME, RememberRequest("The cooper mends barrels.")).id
    other = memory.remember(ME, RememberRequest("The cooper whistles over lanterns.")).id
    store = memory._runtime.parts().store
    for id in (cue, other):
        store.commit(lambda tx, id=id: tx.append(Change("put", id, {"topic": "crafts"})))
    row = view_of(store).columns.row(cue)
    assert row is not None
    with store.reading() as view:
        steps = list(spreading._near(view, row, view.readable(ME), 0.0, ()))
    assert [(view_of(store).columns.id(each), how) for each, _, how in steps if each != row] == [
        (other, "same topic (crafts) as")
    ]

    def paths(session: str) -> str:
        found = memory.recall(
            ME, RecallRequest("Who mends barrels?", session=session, explain=True)
        )
        return " ".join(str(each.why.get("path")) for each in (*found.hits, *found.rejected))

    assert "same topic (crafts)" in paths("a")
    assert "crafts" in memory.in_mind(ME, "a").topics
    assert "same topic" not in paths("a")  # fetched once in a conversation
    assert "same topic (crafts)" in paths("b")


def test_what_a_summary_retells_makes_a_name_no_less_rare(memory: Memory) -> None:
    ids = [
        memory.remember(ME, RememberRequest(f"{what} on Tannery Row.")).id
        for what in ("A lamp", "The baker")
    ]
    for number in range(9):
        told = {"text": f"Retelling {number}.", "entities": ["Tannery Row"], "kind": "summary"}
        memory.bring_in(ME, {**told, "derived_from": ids})
    store = memory._runtime.parts().store
    store.catch_up()
    with store.reading() as view:
        row = view.columns.row(ids[0])
        assert row is not None
        assert len(view.graph.rows_of("Tannery Row")) == 11
        mine = view.readable(ME)
        shares = [
            share
            for _, share, how in spreading._linked(view, row, view.graph.namings(mine), mine)
            if how.startswith("shares")
        ]
    assert shares
    assert set(shares) == {1.0}


def test_links_respect_scope_and_filters(memory: Memory) -> None:
    everyday(memory)
    memory.remember(ME, RememberRequest("The cooper mends barrels on Tannery Row.", kind="fact"))
    strange = memory.remember(OTHER, RememberRequest("Lanterns hang over Tannery Row.")).id
    unlike = memory.remember(ME, RememberRequest("Tannery Row smells of bark.", kind="episode")).id
    assert strange not in by_id(memory, "Which cooper mends barrels?", k=50)
    narrowed = memory.recall(ME, RecallRequest("Which cooper mends barrels?", k=50, kinds=["fact"]))
    assert unlike not in [hit.memory.id for hit in (*narrowed.hits, *narrowed.partial)]


def test_a_name_that_everybody_says_links_nothing(memory: Memory) -> None:
    everyday(memory)
    memory.remember(ME, RememberRequest("The cooper mends barrels on Tannery Row."))
    for number in range(13):
        memory.remember(ME, RememberRequest(f"Lantern {number} hangs over Tannery Row."))
    found = every(memory, "Which cooper mends barrels?", k=5)
    assert not any("Tannery" in str(hit.why.get("path", "")) for hit in found)


def test_what_is_reached_stays_behind_the_best_hit_and_is_bounded(memory: Memory) -> None:
    everyday(memory)
    cue = memory.remember(ME, RememberRequest("The cooper mends barrels.")).id
    for number in range(40):
        other = memory.remember(ME, RememberRequest(f"Lantern {number} hangs over water.")).id
        link(memory, other, cue, "co_recall", 50.0)
    found = every(memory, "Which cooper mends barrels?", k=50)
    assert found[0].memory.id == cue
    assert all(hit.score < found[0].score for hit in found[1:])
    reached = [hit for hit in found if np.asarray(hit.why.get("links", 0.0)) > 0]
    assert 0 < len(reached) <= spreading.REACHED


def test_links_to_what_others_keep_crowd_none_out(memory: Memory) -> None:
    everyday(memory)
    cue = memory.remember(ME, RememberRequest("The cooper mends barrels.")).id
    own = memory.remember(ME, RememberRequest("A lantern hangs over water.")).id
    link(memory, own, cue, "co_recall", 0.5)
    for number in range(spreading.FAN_OUT + 1):
        other = memory.remember(OTHER, RememberRequest(f"Lantern {number} hangs over sand.")).id
        link(memory, other, cue, "co_recall", 50.0)
    store = memory._runtime.parts().store
    store.catch_up()
    with store.reading() as view:
        mine, row = view.readable(ME), view.columns.row(cue)
        assert row is not None
        steps = list(spreading._linked(view, row, view.graph.namings(mine), mine))
        assert view.columns.row(own) in [to for to, _, _ in steps]
        assert all(mine[to] for to, _, _ in steps)


def test_a_long_text_brings_less_to_mind(memory: Memory) -> None:
    """By a name that it shares: as along the thread, from 30 words on in proportion."""
    short = memory.remember(ME, RememberRequest("The cooper of Tannery Row retired.")).id
    padding = " ".join(f"word{number}" for number in range(84))
    long = memory.remember(ME, RememberRequest(f"The tanner of Malt Lane moved away {padding}.")).id
    by_short = memory.remember(ME, RememberRequest("A bell from Tannery Row was sold.")).id
    by_long = memory.remember(ME, RememberRequest("A clock from Malt Lane was sold.")).id
    store = memory._runtime.parts().store
    with store.reading() as view:
        columns = view.columns
        row = {id: columns.row(id) for id in (short, long, by_short, by_long)}
        everything = np.ones(len(columns), np.bool_)
        seeds = {row[short]: 1.0, row[long]: 1.0}
        reached = spreading.reach(view, seeds, {}, everything, everything, ())  # type: ignore[arg-type]
        words = int(columns.words[row[long]])
    assert words > 60
    whole, part = (reached[row[id]].activation for id in (by_short, by_long))  # type: ignore[index]
    assert part == pytest.approx(whole * 30 / words)
