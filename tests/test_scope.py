"""Who sees what: three agents, two teams, three visibilities, every way of looking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from memory_core.errors import NotFound, ScopeDenied
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import VISIBILITIES, Identity, new_id
from memory_core.remember.request import ConversationTurn, RememberRequest

WRITER = frozenset({"read", "write"})
AGENTS = (
    Identity("ana", "north", WRITER),
    Identity("ben", "north", WRITER),
    Identity("cleo", "south", WRITER),
)
LONE = Identity("dora", "", WRITER)
CHIEF = Identity("chief", "north")
LOOKING = (*AGENTS, LONE, CHIEF)

OpenMemory = Callable[..., Memory]


@dataclass(frozen=True)
class Told:
    """What was told by whom in which scope; *word* occurs in that memory alone."""

    id: str
    owner: Identity
    visibility: str
    word: str
    text: str

    def readable(self, who: Identity) -> bool:
        if self.visibility == "private":
            return who.agent == self.owner.agent
        if self.visibility == "team":
            return bool(who.team) and who.team == self.owner.team
        return True


WORDS = iter(
    ("anvil", "bramble", "cobalt", "dahlia", "ember", "fennel", "garnet", "hazel", "indigo")
)
PLAN = [(owner, visibility, next(WORDS)) for owner in AGENTS for visibility in VISIBILITIES]


@pytest.fixture
def world(open_memory: OpenMemory, clock: Any) -> tuple[Memory, list[Told]]:
    memory = open_memory()
    told = []
    for owner, visibility, word in PLAN:
        clock.pass_by(1)
        text = f"The ledger of the harbour office names the {word}, says Mara Vogt."
        receipt = memory.remember(
            owner,
            RememberRequest(
                text, scope=visibility, session="talk", tags=[f"tag-{word}"], speaker=word
            ),
        )
        told.append(Told(receipt.id, owner, visibility, word, text))
    return memory, told


@pytest.mark.parametrize("who", LOOKING, ids=lambda who: who.agent)
def test_every_way_of_looking_shows_the_readable_and_nothing_else(
    world: tuple[Memory, list[Told]], who: Identity
) -> None:
    memory, told = world
    mine = {each.id for each in told if each.readable(who)}
    assert 3 <= len(mine) < len(told)
    found = memory.recall(
        who, RecallRequest("ledger of the harbour office", k=50, context=5, session="talk")
    )
    assert {hit.memory.id for hit in found.hits} == mine
    around = {n.id for hit in found.hits for n in (*hit.before, *hit.after)}
    assert around | {turn.id for turn in found.recent} <= mine
    own = [each.id for each in told if each.owner == who]
    assert [turn.id for turn in found.recent] == own[-5:]
    assert {m.id for m in memory.listing(who, limit=100)} == mine
    assert {m.id for m in memory.listing(who, limit=100, session="talk")} == mine
    assert {record["id"] for record in memory.export(who)} == mine
    counts = memory.stats(who)
    assert counts["memories"] == len(mine)
    assert sum(counts["by_agent"].values()) == sum(counts["by_scope"].values()) == len(mine)
    assert counts["by_agent"].keys() == {e.owner.agent for e in told if e.id in mine}
    words = {f"tag-{each.word}" for each in told if each.id in mine}
    assert {tag for tag in memory.names(who, "tags") if tag.startswith("tag-")} == words


@pytest.mark.parametrize("who", LOOKING, ids=lambda who: who.agent)
def test_narrowing_a_scope_never_widens_it(world: tuple[Memory, list[Told]], who: Identity) -> None:
    memory, told = world
    for scope in VISIBILITIES:
        wanted = {e.id for e in told if e.visibility == scope and e.readable(who)}
        found = memory.recall(who, RecallRequest("ledger of the harbour office", k=50, scope=scope))
        assert {hit.memory.id for hit in (*found.hits, *found.partial)} == wanted
    for each in told:
        seen = memory.recall(
            who, RecallRequest(f"ledger {each.word}", k=50, tags=[f"tag-{each.word}"])
        )
        shown = {hit.memory.id for hit in (*seen.hits, *seen.partial)}
        assert shown == ({each.id} if each.readable(who) else set())


@pytest.mark.parametrize("who", LOOKING, ids=lambda who: who.agent)
def test_an_id_opens_only_what_is_readable(world: tuple[Memory, list[Told]], who: Identity) -> None:
    memory, told = world
    ways: list[Callable[[str], Any]] = [
        lambda id: memory.get(who, id),
        lambda id: memory.history(who, id),
        lambda id: memory.recall(who, RecallRequest(id)).hits[0],
        lambda id: memory.forget(who, ids=[id]),
        lambda id: memory.forget(who, ids=[id], confirm=True),
        lambda id: memory.remember(who, RememberRequest("Something new.", replaces=id)),
    ]
    unknown = new_id(1.0)
    for each in told:
        if each.readable(who):
            assert memory.get(who, each.id).text == each.text
            continue
        for way in ways:
            said = []
            for id in (each.id, unknown):
                with pytest.raises(NotFound) as caught:
                    way(id)
                said.append(str(caught.value).replace(id, "ID"))
            assert said[0] == said[1]
    assert len(list(memory.export(Identity("ana", "north")))) == 6  # nothing is gone


@pytest.mark.parametrize("who", LOOKING, ids=lambda who: who.agent)
def test_only_the_owner_or_an_admin_changes_what_many_read(
    world: tuple[Memory, list[Told]], who: Identity
) -> None:
    memory, told = world
    for each in told:
        if not each.readable(who) or each.owner == who:
            continue
        ways: list[Callable[[], Any]] = [
            lambda id=each.id: memory.forget(who, ids=[id]),  # type: ignore[misc]
            lambda id=each.id: memory.remember(who, RememberRequest(f"Not {id}.", replaces=id)),  # type: ignore[misc]
        ]
        for way in ways:
            if who.admin:
                way()
            else:
                with pytest.raises(ScopeDenied, match=r"^scope_denied: "):
                    way()


def test_a_correction_leaves_owner_team_and_scope_as_they_were(
    world: tuple[Memory, list[Told]],
) -> None:
    memory, told = world
    for each in told:
        if each.readable(CHIEF):
            done = memory.remember(CHIEF, RememberRequest(f"Not {each.word}.", replaces=each.id))
            now = memory.get(CHIEF, done.id)
            owner = (each.owner.agent, each.owner.team, each.visibility)
            assert (now.agent, now.team, now.visibility) == owner
            assert memory.get(each.owner, each.id).superseded_by == now.id
    assert memory.clear(CHIEF) == 0


def test_a_summary_that_an_admin_corrects_stays_its_owners(memory: Memory) -> None:
    ana = AGENTS[0]
    part = memory.remember(ana, RememberRequest("The crew meets at nine.", scope="team")).id
    about = {"kind": "summary", "derived_from": [part], "visibility": "team"}
    summed = memory.bring_in(ana, {"text": "The crew meets early.", **about}).id
    done = memory.remember(CHIEF, RememberRequest("The crew meets at ten.", replaces=summed))
    now = memory.get(ana, done.id)
    assert (now.agent, now.team, now.visibility) == ("ana", "north", "team")


def test_similar_and_importance_know_only_what_is_readable(
    world: tuple[Memory, list[Told]],
) -> None:
    memory, told = world
    for who in AGENTS:
        text = "The ledger of the harbour office names the quince, says Mara Vogt."
        near = memory.remember(who, RememberRequest(text)).similar
        assert near
        readable = {each.id for each in told if each.readable(who)}
        assert {each.id for each in near} <= readable


def test_consolidation_previews_show_only_what_is_readable(open_memory: OpenMemory) -> None:
    memory = open_memory()
    base = "In the long grey house behind the old mill on the hill by the lake there are {} rooms."
    for owner in AGENTS:
        for scope in VISIBILITIES:
            for number in (14, 15):
                memory.remember(owner, RememberRequest(base.format(number), scope=scope))
                memory.remember(
                    owner,
                    RememberRequest(f"{owner.agent} {scope} {number} keeps bees.", scope=scope),
                )
    for who in LOOKING:
        mine = {record["id"] for record in memory.export(who)}
        report = memory.consolidate(who, dry_run=True)
        named = {id for c in report.contradictions for id in (c.older, c.newer)}
        named |= {id for summary in report.summaries for id in summary.derived_from}
        named |= {*report.retired, *report.kept}
        assert named <= mine
        preview = memory.forget(who, query="rooms in the grey house bees")
        owned = {r["id"] for r in memory.export(who) if r["agent"] == who.agent or who.admin}
        assert {removal.id for removal in preview.removed} <= owned


def test_names_and_entities_of_others_stay_with_them(memory: Memory) -> None:
    memory.remember(
        AGENTS[0],
        RememberRequest("Zeno Quarles lives in Vaduz.", session="secret", tags=["hidden"]),
    )
    for who in (AGENTS[1], LONE, CHIEF):
        assert memory.names(who, "session") == []
        assert memory.names(who, "entities") == []
        assert memory.names(who, "tags") == []
        assert memory.stats(who)["sessions"] == 0
        for filters in ({"session": "secret"}, {"entity": "Zeno Quarles"}):
            assert memory.listing(who, **filters) == []
    assert memory.names(AGENTS[0], "session") == ["secret"]
    assert "Zeno Quarles" in memory.names(AGENTS[0], "entities")


def test_associations_of_others_are_not_counted(open_memory: OpenMemory) -> None:
    from memory_core.records import Change

    memory = open_memory()
    ids = [memory.remember(AGENTS[0], RememberRequest(f"Note {n}.")).id for n in range(2)]
    link = Change("link", ids[0], {"b": ids[1], "kind": "updates", "weight": 1.0})
    memory._runtime.parts().store.commit(lambda tx: tx.append(link))
    assert memory.stats(AGENTS[0])["edges"] == 1
    assert memory.stats(AGENTS[1])["edges"] == 0


def test_a_team_needs_a_team(memory: Memory) -> None:
    with pytest.raises(ScopeDenied, match="team"):
        memory.remember(LONE, RememberRequest("For a team.", scope="team"))
    with pytest.raises(ScopeDenied, match="team"):
        memory.bring_in(Identity("x", "", WRITER), {"text": "x", "visibility": "team"})
    assert memory.stats(LONE)["memories"] == 0


def test_leaving_a_team_means_not_reading_it(memory: Memory) -> None:
    id = memory.remember(AGENTS[1], RememberRequest("The crew meets at nine.", scope="team")).id
    assert memory.get(AGENTS[0], id).id == id
    moved = Identity("ben", "south", WRITER)
    with pytest.raises(NotFound):
        memory.get(moved, id)
    assert memory.recall(Identity("ben", "", WRITER), RecallRequest("crew")).hits == ()


def test_conversations_of_the_same_name_stay_apart(memory: Memory) -> None:
    ids = {
        who.agent: [
            memory.remember(who, RememberRequest(f"Turn {n} of {who.agent}.", session="talk")).id
            for n in range(3)
        ]
        for who in AGENTS
    }
    for who in AGENTS:
        found = memory.recall(
            who, RecallRequest(f"turn 1 of {who.agent}", context=5, session="talk")
        )
        hit = next(h for h in found.hits if h.memory.id == ids[who.agent][1])
        assert [n.id for n in hit.before] == ids[who.agent][:1]
        assert [n.id for n in hit.after] == ids[who.agent][2:]
        assert [turn.id for turn in found.recent] == ids[who.agent]


def test_who_may_only_write_reads_no_text_in_any_answer(memory: Memory, clock: Any) -> None:
    """Asked through every door that the right to write opens."""
    owner = Identity("ana", "", WRITER)
    writer = Identity("ana", "", frozenset({"write"}))
    hidden = "heliotrope"
    texts = [
        f"The code word of the {hidden} harbour is on the {place}, says Mara Vogt."
        for place in ("wall", "door", "roof", "gate", "desk")
    ]
    for text in texts:
        clock.pass_by(60)
        memory.remember(owner, RememberRequest(text, session="s"))
    ids = [record.id for record in memory.listing(owner)]
    near = "The code word of the harbour is on the wall, says Mara Vogt."
    turn = ConversationTurn("user", f"{near} Today again.", session="s")
    asked: list[Callable[[Identity], Any]] = [
        lambda who: memory.remember(who, RememberRequest(near, session="t")),
        lambda who: memory.observe(who, turn),
        lambda who: memory.consolidate(who, dry_run=True),
        lambda who: memory.consolidate(who, mode="contradictions", dry_run=True),
        lambda who: memory.forget(who, ids=ids),
        lambda who: memory.consolidate(who),
        lambda who: memory.forget(who, ids=ids[:1], confirm=True),
    ]
    assert hidden in repr(asked[4](owner)), "the texts are there to be shown"
    for ask in asked:
        assert hidden not in repr(ask(writer))
    with pytest.raises(ScopeDenied, match="right read"):
        memory.forget(writer, query="code word")
    assert hidden in repr(memory.remember(owner, RememberRequest(f"{near} Still.")))


def test_of_a_private_successor_others_see_no_more_than_its_id(memory: Memory) -> None:
    ana, ben, _ = AGENTS
    shared = memory.remember(ana, RememberRequest("The lock code is 4471.", scope="shared")).id
    private = memory.remember(
        ana, RememberRequest("The lock code is 9026, only Vera knows.", replaces=shared)
    ).id
    seen = memory.get(ben, shared)
    assert seen.superseded_by == private
    with pytest.raises(NotFound):
        memory.get(ben, private)
    with pytest.raises(NotFound):
        memory.history(ben, private)
    with pytest.raises(NotFound):
        memory.recall(ben, RecallRequest(private))
    shown = [
        seen,
        *memory.history(ben, shared),
        *memory.links(ben, shared),
        memory.recall(ben, RecallRequest("what is the lock code?")),
    ]
    assert not any(word in repr(each) for each in shown for word in ("9026", "Vera"))
