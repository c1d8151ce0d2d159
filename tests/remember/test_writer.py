"""Remembering: repeats, near-duplicates, replacement, what was forgotten, keys."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from memory_core.embedding.base import Embedder
from memory_core.errors import InvalidInput, NotFound, ScopeDenied
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity, MemoryRecord, Receipt, new_id
from memory_core.remember.request import RememberRequest
from memory_core.representation import embed_text, index_text
from tests.views import asked_for, view_of

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
CHIEF = Identity("chief", "crew")

OpenMemory = Callable[..., Memory]


def put(memory: Memory, id: str, **fields: Any) -> None:
    store = memory._runtime.parts().store
    store.commit(lambda tx: tx.append(Change("put", id, fields)))


def hits(memory: Memory, query: str, who: Identity = ME, **cues: Any) -> list[str]:
    found = memory.recall(who, RecallRequest(query, k=50, **cues))
    return [hit.memory.id for hit in (*found.hits, *found.partial)]


# What is stored


def test_a_receipt_says_what_is_stored(memory: Memory, clock: Any) -> None:
    receipt = memory.remember(
        ME,
        RememberRequest(
            "Lena moved to Graz on 7 May 2024.",
            kind="event",
            importance=0.25,
            tags=["Move", " ", "Move"],
            when="2024-05-08",
            speaker="Ana",
            session="s",
            scope="team",
            source="mail",
            role="user",
            client="desk",
        ),
    )
    stored = memory.get(ME, receipt.id)
    assert (receipt.status, receipt.kind, receipt.importance) == ("stored", "event", 0.25)
    assert (stored.text, stored.kind, stored.tags) == (
        "Lena moved to Graz on 7 May 2024.",
        "event",
        ("Move",),
    )
    assert (stored.visibility, stored.agent, stored.team) == ("team", "me", "crew")
    assert (stored.speaker, stored.session, stored.position) == ("Ana", "s", 0)
    assert (stored.source, stored.client, stored.role) == ("mail", "desk", "user")
    assert stored.occurred_at == 1_715_126_400.0  # 2024-05-08T00:00:00Z
    assert stored.recorded_at == clock.now
    assert (stored.dates, stored.trust) == (("2024-05-07",), "agent")
    assert "Lena" in stored.entities


def test_keywords_that_the_rules_find_are_no_tags(memory: Memory) -> None:
    found = memory.remember(ME, RememberRequest("Tilda planted beans behind the mill.")).id
    given = memory.remember(ME, RememberRequest("Ana keeps bees.", tags=["mill"])).id
    first, second = memory.get(ME, found), memory.get(ME, given)
    assert (first.tags, first.keywords) == ((), ("tilda planted beans", "mill"))
    assert (second.tags, second.keywords) == (("mill",), ())
    assert hits(memory, "the mill", tags=["mill"]) == [given]
    assert memory.names(ME, "tags") == ["mill"]


def test_keywords_are_indexed_as_tags_are() -> None:
    text = "The weir is old."
    tagged = MemoryRecord(id="", text=text, tags=("heron pond", "weir"))
    found = MemoryRecord(id="", text=text, keywords=("heron pond", "weir"))
    assert index_text(found) == index_text(tagged)
    assert index_text(found).endswith("The weir is old. heron pond")


@pytest.mark.parametrize(("speaker", "role"), [("User", "user"), ("the AI assistant", "assistant")])
def test_a_speaker_named_by_a_role_ranks_as_the_role_does(
    memory: Memory, speaker: str, role: str
) -> None:
    words, inside = Identity("words"), Identity("inside")
    for text in ("The user manual is on the boat.", "Which assistant helped you?", "Rain again."):
        memory.remember(words, RememberRequest(text, speaker=speaker, session="s"))
        memory.remember(inside, RememberRequest(text, role=role, session="s"))
    for query in ("Where is the manual of the user?", "the assistant", "rain"):
        found = [
            [(hit.memory.text, hit.score) for hit in memory.recall(who, RecallRequest(query)).hits]
            for who in (words, inside)
        ]
        assert found[0] == found[1] != []


def test_a_person_s_name_is_embedded_and_indexed() -> None:
    said = MemoryRecord(id="", text="The weir is old.", speaker="Mara")
    assert embed_text(said) == "Mara: The weir is old."
    assert "Mara" in index_text(said)


def test_without_more_a_memory_is_private_and_of_now(memory: Memory, clock: Any) -> None:
    stored = memory.get(ME, memory.remember(ME, RememberRequest("Plain words.")).id)
    assert (stored.visibility, stored.kind, stored.session) == ("private", "episode", "")
    assert (stored.position, stored.occurred_at) == (-1, clock.now)


@pytest.mark.parametrize(
    ("text", "importance"),
    [
        ("No, I meant the blue one.", 1.0),
        ("Remember that I am allergic to nuts.", 1.0),
        ("ok thanks", 0.15),
        ("The cat slept on the warm windowsill.", 0.75),  # nothing like it is known
    ],
)
def test_importance_is_judged_where_none_is_given(
    memory: Memory, text: str, importance: float
) -> None:
    assert memory.remember(ME, RememberRequest(text)).importance == importance


def test_what_is_like_something_known_is_of_normal_importance(memory: Memory) -> None:
    memory.remember(ME, RememberRequest("The cat slept on the warm windowsill."))
    again = memory.remember(
        ME, RememberRequest("The cat slept on the warm windowsill again today.")
    )
    assert again.importance == 0.5
    other = memory.remember(
        OTHER, RememberRequest("The cat slept on the warm windowsill again today.")
    )
    assert other.importance == 0.75  # what it may not read is not known to it


def test_positions_follow_the_order_within_a_conversation(memory: Memory) -> None:
    first = [
        memory.remember(ME, RememberRequest(f"Turn {n} here.", session="a")).id for n in range(3)
    ]
    second = [
        memory.remember(OTHER, RememberRequest(f"Turn {n} there.", session="a")).id
        for n in range(2)
    ]
    shared = memory.remember(ME, RememberRequest("A shared turn.", session="a", scope="shared")).id
    assert [memory.get(ME, id).position for id in first] == [0, 1, 2]
    assert [memory.get(OTHER, id).position for id in second] == [0, 1]
    assert memory.get(ME, shared).position == 0


@pytest.mark.parametrize("mode", ["mask", "refuse"])
def test_secrets_are_masked_or_refused(open_memory: OpenMemory, mode: str) -> None:
    memory = open_memory(limits={"secrets": mode})
    text = "The database password: s3cr3tw0rd! is on the note."
    if mode == "refuse":
        with pytest.raises(InvalidInput, match="secret"):
            memory.remember(ME, RememberRequest(text))
        assert memory.stats(ME)["memories"] == 0
        return
    receipt = memory.remember(ME, RememberRequest(text))
    assert "s3cr3tw0rd" not in memory.get(ME, receipt.id).text
    assert any("masked" in warning for warning in receipt.warnings)


def test_a_secret_in_the_source_is_masked_and_the_source_is_still_known(memory: Memory) -> None:
    source = "https://mara:Espresso4711@git.example.org/notes.git"
    receipt = memory.remember(ME, RememberRequest("The tea is in the tin.", source=source))
    assert receipt.warnings == ("secrets were masked: url_password",)
    stored = memory.get(ME, receipt.id).source
    assert stored == "https://mara:[masked:url_password]@git.example.org/notes.git"
    assert [each.id for each in memory.forget(ME, source=source).removed] == [receipt.id]


def test_texts_with_other_secrets_are_no_repeats(open_memory: OpenMemory) -> None:
    """What is stored of them is one text. Sleep folds them neither."""
    memory = open_memory(consolidation={"automatic": False})
    told = [
        memory.remember(ME, RememberRequest(f"The password of the router is {each}"))
        for each in ("Gr4uw4l!77", "T4nn3nz4pf!9")
    ]
    assert [receipt.status for receipt in told] == ["stored", "stored"]
    assert [each.relation for each in told[1].similar] == ["similar"]
    memory.consolidate(ME)
    texts = [memory.get(ME, receipt.id).text for receipt in told]
    assert texts == ["The password of the router is [masked:password]"] * 2
    assert all(memory.get(ME, receipt.id).retired_at is None for receipt in told)


# Repeats

BASE = "The port of the API is 5432."


@pytest.mark.parametrize(
    "again",
    [
        BASE,
        "the PORT of the api is 5432.",
        "  The  port\n\tof the API is 5432 ",
        "The port of the API is 5432",
        "The port of the API is 5432!!!",
        "The port of the API is 5432…",
        "The port of the API is 5432 .",
    ],
)
def test_an_exact_repeat_reinforces_the_first(memory: Memory, again: str) -> None:
    first = memory.remember(ME, RememberRequest(BASE, speaker="Ana", session="s"))
    receipt = memory.remember(ME, RememberRequest(again, speaker="Ana", session="s"))
    assert (receipt.status, receipt.id) == ("reinforced", first.id)
    stored = memory.get(ME, first.id)
    assert (stored.text, stored.access_count) == (BASE, 1)
    assert (receipt.kind, receipt.importance, receipt.gist) == (
        stored.kind,
        stored.importance,
        stored.gist,
    )
    assert memory.stats(ME)["memories"] == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (BASE, "The port of the API is 5433."),
        ("It is -3 degrees.", "It is 3 degrees."),
        ("It is \u22123 degrees.", "It is 3 degrees."),
        ("The factor is 1.5", "The factor is 15"),
        ("The factor is 1.5", "The factor is 1,5"),
        ("It was in 2023.", "It was in 2024."),
        ("Ana owes Ben ten.", "Ben owes Ana ten."),
        ("Ana lives here.", "Anna lives here."),
        ("He likes tea.", "He does not like tea."),
        ("Er mag Tee.", "Er mag keinen Tee."),
        ("Il aime le th\u00e9.", "Il n'aime pas le th\u00e9."),
        ("Ich trinke in Ma\u00dfen.", "Ich trinke in Massen."),
        ("Is the port 5432?", "Is the port 5432."),
        ("\u6211\u559c\u6b22\u8336\u3002", "\u6211\u4e0d\u559c\u6b22\u8336\u3002"),
        ("C", "C++"),
        ("resume", "r\u00e9sum\u00e9"),
        ("10\u00b2 of it", "102 of it"),
    ],
)
def test_what_tells_two_facts_apart_makes_two_memories(memory: Memory, one: str, two: str) -> None:
    first, second = (
        memory.remember(ME, RememberRequest(one)),
        memory.remember(ME, RememberRequest(two)),
    )
    assert (first.status, second.status) == ("stored", "stored")
    assert memory.remember(ME, RememberRequest(one)).id == first.id
    assert memory.remember(ME, RememberRequest(two)).id == second.id


def test_a_repeat_adds_what_its_caller_says_besides_the_text(memory: Memory) -> None:
    text = "The boiler is serviced in October."
    first = memory.remember(ME, RememberRequest(text, tags=["house", "Heat"], importance=0.4))
    given = {"kind": "event", "tags": ["heat", "yearly"], "importance": 0.8}
    again = memory.remember(ME, RememberRequest(text, **given))
    assert (again.id, again.status) == (first.id, "reinforced")
    assert (again.kind, again.importance) == ("event", 0.8)
    stored = memory.get(ME, first.id)
    assert (stored.tags, stored.kind, stored.importance) == (
        ("house", "Heat", "yearly"),
        "event",
        0.8,
    )
    memory.remember(ME, RememberRequest(text, kind="fact"))
    assert memory.get(ME, first.id) == replace(
        stored,
        access_count=stored.access_count + 1,
        last_accessed=memory.get(ME, first.id).last_accessed,
    )
    change = next(c for c in reversed(memory.history(ME, first.id)) if "kind" in (c.body or {}))
    memory.undo_change(ME, first.id, change.seq)
    assert memory.get(ME, first.id).tags == ("house", "Heat")


def test_a_repeat_takes_no_pin_away(memory: Memory) -> None:
    text = "My blood group is 0 negative."
    id = memory.remember(ME, RememberRequest(text, importance=1.0)).id
    memory.remember(ME, RememberRequest(text, importance=0.3))
    assert memory.get(ME, id).importance == 1.0


def test_what_replaces_has_the_tags_the_kind_and_the_pin_of_what_it_replaces(
    memory: Memory,
) -> None:
    old = memory.remember(
        ME, RememberRequest("My boss is Karen.", kind="fact", tags=["work"], importance=1.0)
    ).id
    new = memory.remember(ME, RememberRequest("My boss is Imre.", replaces=old)).id
    stored = memory.get(ME, new)
    assert (stored.kind, stored.tags, stored.importance) == ("fact", ("work",), 1.0)
    given = {"kind": "event", "tags": ["office"], "importance": 0.4}
    last = memory.remember(ME, RememberRequest("My boss left.", replaces=new, **given)).id
    stored = memory.get(ME, last)
    assert (stored.kind, stored.tags, stored.importance) == ("event", ("office",), 0.4)


def test_another_speaker_scope_conversation_or_owner_makes_another_memory(memory: Memory) -> None:
    given: list[tuple[Identity, dict[str, str]]] = [
        (ME, {}),
        (ME, {"speaker": "Ana"}),
        (ME, {"session": "s"}),
        (ME, {"session": "t"}),
        (ME, {"speaker": "Ana", "session": "s"}),
        (ME, {"scope": "team"}),
        (ME, {"scope": "shared"}),
        (OTHER, {}),
        (OTHER, {"scope": "shared"}),
    ]
    receipts = [memory.remember(who, RememberRequest(BASE, **where)) for who, where in given]
    assert {receipt.status for receipt in receipts} == {"stored"}
    again = [memory.remember(who, RememberRequest(BASE, **where)) for who, where in given]
    assert [r.id for r in again] == [r.id for r in receipts]
    assert len({receipt.id for receipt in receipts}) == len(given)


def test_a_retired_memory_that_is_repeated_comes_back(memory: Memory, clock: Any) -> None:
    id = memory.remember(ME, RememberRequest(BASE)).id
    put(memory, id, retired_at=clock.now)
    assert memory.listing(ME) == []
    clock.pass_by(60)
    assert memory.remember(ME, RememberRequest(BASE)).id == id
    stored = memory.get(ME, id)
    assert (stored.retired_at, stored.access_count, stored.last_accessed) == (None, 1, clock.now)


def at_once(count: int, work: Callable[[int], Receipt]) -> list[Receipt]:
    """The receipts of *work*, called with 0.. in *count* threads that start together."""
    barrier, done = threading.Barrier(count), [None] * count
    problems: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(10)
            done[number] = work(number)  # type: ignore[call-overload]
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert problems == []
    return [receipt for receipt in done if receipt is not None]


def test_sixteen_at_once_store_it_once(memory: Memory) -> None:
    receipts = at_once(
        16, lambda n: memory.remember(ME, RememberRequest(BASE if n % 2 else BASE.upper()))
    )
    assert sorted(r.status for r in receipts) == ["reinforced"] * 15 + ["stored"]
    assert len({receipt.id for receipt in receipts}) == 1
    assert memory.get(ME, receipts[0].id).access_count == 15


def test_two_programs_at_once_store_it_once(open_memory: OpenMemory) -> None:
    both = [open_memory(), open_memory()]
    receipts = at_once(8, lambda n: both[n % 2].remember(ME, RememberRequest(BASE)))
    assert sorted(r.status for r in receipts) == ["reinforced"] * 7 + ["stored"]
    assert {m.stats(ME)["memories"] for m in both} == {1}


# Idempotency keys


def test_the_same_key_gets_the_same_receipt_also_later(open_memory: OpenMemory) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(NUMBERED.format(14)))
    first = memory.remember(ME, RememberRequest(NUMBERED.format(15), key="k1"))
    assert [near.relation for near in first.similar] == ["updates"]
    assert (
        memory.remember(ME, RememberRequest("Other words under the same key.", key="k1")) == first
    )
    memory.close()
    again = open_memory()
    assert again.remember(ME, RememberRequest("Other words under the same key.", key="k1")) == first
    assert again.stats(ME)["memories"] == 2


def test_the_same_key_of_another_agent_is_another(memory: Memory) -> None:
    mine = memory.remember(ME, RememberRequest("Mine.", key="k"))
    theirs = memory.remember(OTHER, RememberRequest("Theirs.", key="k"))
    assert (mine.status, theirs.status) == ("stored", "stored")
    assert memory.remember(OTHER, RememberRequest("x y z", key="k")) == theirs


def test_a_key_used_by_many_at_once_stores_one(memory: Memory) -> None:
    receipts = at_once(
        8, lambda n: memory.remember(ME, RememberRequest(f"Version {n} of the note.", key="k"))
    )
    assert len(set(receipts)) == 1
    assert memory.stats(ME)["memories"] == 1


def test_a_kept_receipt_does_not_keep_what_was_forgotten(memory: Memory) -> None:
    near = memory.remember(ME, RememberRequest(NUMBERED.format(14))).id
    kept = memory.remember(ME, RememberRequest(NUMBERED.format(15), key="k"))
    assert [s.id for s in kept.similar] == [near]
    memory.forget(ME, ids=[near], confirm=True)
    again = memory.remember(ME, RememberRequest("whatever", key="k"))
    assert (again.id, again.similar) == (kept.id, ())
    memory.forget(ME, ids=[kept.id], confirm=True)
    assert memory.remember(ME, RememberRequest("A new one.", key="k")).status == "stored"


# Near-duplicates

NUMBERED = (
    "In the long grey house behind the old mill on the hill by the lake there are, as far as "
    "anybody in our family knows, {} rooms with a stove."
)
"""Close to itself with another number, also for the toy model."""

PAIRS = [
    ("The database listens on port 5432.", "The database listens on port 5433.", "updates"),
    ("Ana likes green tea.", "Ana does not like green tea.", "contradicts"),
    ("The meeting is on Monday.", "The meeting is on Tuesday.", "updates"),
    (
        "Lena adopted a small black cat last spring.",
        "Last spring Lena adopted a small black cat.",
        "duplicate",
    ),
    ("Ana lives in Lisbon now.", "Ben lives in Lisbon now.", "similar"),
]


@pytest.mark.parametrize(("one", "two", "relation"), PAIRS)
def test_the_real_model_relates_close_texts(
    open_memory: OpenMemory, minilm: Embedder, one: str, two: str, relation: str
) -> None:
    memory = open_memory(embedder=minilm)
    first, second = (
        memory.remember(ME, RememberRequest(one)),
        memory.remember(ME, RememberRequest(two)),
    )
    vectors = minilm.documents([one, two])
    close = float(vectors[0] @ vectors[1]) >= minilm.profile.near_duplicate
    assert close or relation == "similar"
    assert (first.similar, second.status) == ((), "stored")
    said = [(near.id, near.text, near.relation) for near in second.similar]
    assert said == ([(first.id, one, relation)] if close else [])


def test_far_texts_are_not_similar(open_memory: OpenMemory, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    memory.remember(ME, RememberRequest("The database listens on port 5432."))
    assert memory.remember(ME, RememberRequest("Ana likes green tea.")).similar == ()


def test_similar_never_names_what_the_caller_may_not_read(memory: Memory) -> None:
    memory.remember(OTHER, RememberRequest(NUMBERED.format(14)))
    assert memory.remember(ME, RememberRequest(NUMBERED.format(15))).similar == ()
    shared = memory.remember(OTHER, RememberRequest(NUMBERED.format(14), scope="shared")).id
    near = memory.remember(ME, RememberRequest(NUMBERED.format(16))).similar
    assert shared in [each.id for each in near]
    assert {each.relation for each in near if each.id == shared} == {"similar"}  # another scope


def test_similar_compares_speakers_and_leaves_out_what_was_replaced(memory: Memory) -> None:
    ana = memory.remember(ME, RememberRequest(NUMBERED.format(14), speaker="Ana")).id
    ben = memory.remember(ME, RememberRequest(NUMBERED.format(14), speaker="Ben"))
    assert [(s.id, s.relation) for s in ben.similar] == [(ana, "similar")]
    newer = memory.remember(ME, RememberRequest(NUMBERED.format(15), speaker="Ana", replaces=ana))
    assert [s.id for s in newer.similar] == [ben.id]
    last = memory.remember(ME, RememberRequest(NUMBERED.format(16), speaker="Ana"))
    assert [s.id for s in last.similar] == [newer.id, ben.id]


def test_at_most_five_similar_are_named_best_first(memory: Memory) -> None:
    for number in range(9):
        memory.remember(
            ME, RememberRequest(f"The big red garden gate has the number {number} on it.")
        )
    near = memory.remember(
        ME, RememberRequest("The big red garden gate has the number 9 on it.")
    ).similar
    assert len(near) == 5
    assert {each.relation for each in near} == {"updates"}


# Replacement


def test_what_is_replaced_leaves_recall_and_stays_in_history(memory: Memory, clock: Any) -> None:
    ids = [
        memory.remember(ME, RememberRequest(f"Note {n} on the trip.", session="t")).id
        for n in range(3)
    ]
    clock.pass_by(3_600)
    new = memory.remember(
        ME, RememberRequest("Note one on the trip, corrected.", session="t", replaces=ids[1])
    )
    assert (new.status, new.replaced) == ("replaced", (ids[1],))
    old = memory.get(ME, ids[1])
    assert (old.superseded_by, old.superseded_at, old.replaced) == (new.id, clock.now, True)
    assert (old.valid_until, old.text) == (clock.now, "Note 1 on the trip.")
    assert ids[1] not in hits(memory, "note 1 on the trip")
    assert memory.recall(ME, RecallRequest(ids[1])).hits[0].memory.id == ids[1]
    assert [change.kind for change in memory.history(ME, ids[1])] == ["put", "vectors", "put"]
    found = memory.recall(ME, RecallRequest("note on the trip", session="t", context=5))
    around = {n.id for hit in found.hits for n in (*hit.before, *hit.after)}
    assert ids[1] not in around
    assert ids[1] not in [turn.id for turn in found.recent]
    assert ids[1] not in [m.id for m in memory.listing(ME)]
    assert ids[1] in [record["id"] for record in memory.export(ME)]


def test_as_of_shows_what_was_known_then(memory: Memory, clock: Any) -> None:
    clock.now = 1_717_200_000.0  # 2024-06-01
    old = memory.remember(ME, RememberRequest("The office is in Rome.")).id
    clock.now += 10 * 86_400
    new = memory.remember(ME, RememberRequest("The office is in Milan.", replaces=old)).id
    clock.now += 10 * 86_400
    newest = memory.remember(ME, RememberRequest("The office is in Turin.", replaces=new)).id
    assert hits(memory, "where is the office", as_of="2024-05-31") == []
    assert hits(memory, "where is the office", as_of="2024-06-01") == [old]
    assert hits(memory, "where is the office", as_of="2024-06-10") == [old]
    assert hits(memory, "where is the office", as_of="2024-06-11") == [new]
    assert hits(memory, "where is the office", as_of="2024-06-21") == [newest]
    assert hits(memory, "where is the office") == [newest]


def test_replacing_by_a_text_that_exists_names_that_one(memory: Memory) -> None:
    right = memory.remember(ME, RememberRequest("The gate is green.")).id
    wrong = memory.remember(ME, RememberRequest("The gate is blue.")).id
    receipt = memory.remember(ME, RememberRequest("the gate is GREEN", replaces=wrong))
    assert (receipt.status, receipt.id, receipt.replaced) == ("replaced", right, (wrong,))
    assert hits(memory, "gate") == [right]


def test_replacing_a_memory_by_its_own_text_reinforces_it(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The gate is green.")).id
    receipt = memory.remember(ME, RememberRequest("The gate is green", replaces=id))
    assert (receipt.status, receipt.id, receipt.replaced) == ("reinforced", id, ())
    assert memory.get(ME, id).superseded_by == ""


def test_replacing_what_was_replaced_replaces_its_successor(memory: Memory, clock: Any) -> None:
    first = memory.remember(ME, RememberRequest("The office is in Rome.")).id
    clock.pass_by(86_400)
    second = memory.remember(ME, RememberRequest("The office is in Milan.", replaces=first)).id
    was = memory.get(ME, first)
    clock.pass_by(86_400)
    third = memory.remember(ME, RememberRequest("The office is in Turin.", replaces=first))
    assert third.replaced == (second,)
    assert any(first in warning and second in warning for warning in third.warnings)
    assert memory.get(ME, first) == was
    assert memory.get(ME, second).superseded_by == third.id
    assert hits(memory, "office") == [third.id]
    assert hits(memory, "office", as_of="2024-06-02") == [second]
    again = memory.remember(ME, RememberRequest("The office is in Turin.", replaces=first))
    assert (again.status, again.id) == ("reinforced", third.id)


def test_the_text_of_a_replaced_memory_can_be_said_again(memory: Memory) -> None:
    first = memory.remember(ME, RememberRequest("The office is in Rome.")).id
    second = memory.remember(ME, RememberRequest("The office is in Milan.", replaces=first)).id
    back = memory.remember(ME, RememberRequest("The office is in Rome.", replaces=second))
    assert back.status == "replaced"
    assert back.id not in (first, second)
    assert hits(memory, "office") == [back.id]


def test_a_successor_that_was_forgotten_is_stepped_over(memory: Memory, clock: Any) -> None:
    first = memory.remember(ME, RememberRequest("The office is in Rome.")).id
    clock.pass_by(86_400)
    second = memory.remember(ME, RememberRequest("The office is in Milan.", replaces=first)).id
    over = memory.get(ME, first)
    clock.pass_by(86_400)
    memory.forget(ME, ids=[second], confirm=True, never_again=False)
    third = memory.remember(ME, RememberRequest("The office is in Turin.", replaces=first))
    assert third.replaced == (first,)
    then = memory.get(ME, first)
    assert then.superseded_by == third.id
    assert (then.superseded_at, then.valid_until) == (over.superseded_at, over.valid_until)


def test_only_its_owner_or_an_admin_replaces_a_memory_of_many(memory: Memory) -> None:
    for scope in ("shared", "team"):
        theirs = memory.remember(
            OTHER, RememberRequest(f"The {scope} gate is blue.", scope=scope)
        ).id
        before = asked_for(memory)
        with pytest.raises(ScopeDenied, match=rf"^scope_denied: {theirs}"):
            memory.remember(ME, RememberRequest(f"The {scope} gate is green.", replaces=theirs))
        assert asked_for(memory) == before
        assert memory.get(ME, theirs).superseded_by == ""
        receipt = memory.remember(
            CHIEF, RememberRequest(f"The {scope} gate is green.", replaces=theirs)
        )
        assert receipt.replaced == (theirs,)


def test_an_unknown_id_cannot_be_replaced(memory: Memory) -> None:
    with pytest.raises(NotFound, match=r"^not_found: no memory "):
        memory.remember(ME, RememberRequest("Something.", replaces=new_id(1.0)))
    assert memory.stats(ME)["memories"] == 0


def test_what_another_program_wrote_a_moment_ago_can_be_replaced(
    open_memory: OpenMemory, no_model: Any
) -> None:
    one, two = open_memory(), open_memory(embedder=no_model)
    two.stats(ME)
    id = one.remember(ME, RememberRequest("The office is in Rome.")).id
    assert two.remember(ME, RememberRequest("The office is in Milan.", replaces=id)).replaced == (
        id,
    )


# What was forgotten


def test_what_was_forgotten_is_refused_with_the_day_and_the_way_back(
    memory: Memory, clock: Any
) -> None:
    id = memory.remember(ME, RememberRequest("The attic has 4711 tiles.")).id
    memory.forget(ME, ids=[id], confirm=True)
    clock.pass_by(5 * 86_400)
    for again in (
        "The attic has 4711 tiles.",
        "the attic has 4711 tiles",
        "Hi. The attic has 4711 tiles!",
    ):
        receipt = memory.remember(ME, RememberRequest(again))
        assert (receipt.status, receipt.id) == ("refused", id)
        assert "1 June 2024" in receipt.warnings[0]
        assert f"replaces={id}" in receipt.warnings[0]
    assert memory.stats(ME)["memories"] == 0
    back = memory.remember(ME, RememberRequest("The attic has 4711 tiles.", replaces=id))
    assert (back.status, back.replaced) == ("stored", ())
    assert hits(memory, "attic tiles") == [back.id]
    assert memory.remember(ME, RememberRequest("The attic has 4711 tiles.")).status == "reinforced"


def test_a_text_with_two_forgotten_sentences_comes_back_at_one_word(memory: Memory) -> None:
    ids = [
        memory.remember(ME, RememberRequest(text)).id for text in ("Ana owes 50.", "Ben owes 60.")
    ]
    memory.forget(ME, ids=ids, confirm=True)
    both = "Ana owes 50. Ben owes 60."
    refused = memory.remember(ME, RememberRequest(both))
    assert refused.status == "refused"
    assert memory.remember(ME, RememberRequest(both, replaces=refused.id)).status == "stored"


def test_a_tombstone_of_one_agent_does_not_bind_or_serve_another(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The door code is 4711.")).id
    memory.forget(ME, ids=[id], confirm=True)
    with pytest.raises(NotFound):
        memory.remember(OTHER, RememberRequest("The door code is 4711.", replaces=id))
    assert memory.remember(OTHER, RememberRequest("The door code is 4711.")).status == "stored"
    assert memory.remember(ME, RememberRequest("The door code is 4711.")).status == "refused"
    with pytest.raises(NotFound):
        memory.remember(ME, RememberRequest("Quite another text.", replaces=id))
    assert memory.remember(ME, RememberRequest("The door code is 4711.")).status == "refused"


def test_never_again_false_leaves_the_way_open(memory: Memory) -> None:
    id = memory.remember(ME, RememberRequest("The door code is 4711.")).id
    memory.forget(ME, ids=[id], confirm=True, never_again=False)
    again = memory.remember(ME, RememberRequest("The door code is 4711."))
    assert again.status == "stored"
    assert again.id != id


WORDS_OF_THE_OLDER = [
    ("Mara lives in Graz.", "Actually Mara lives in Linz now."),
    ("The island ferry leaves at 9:30.", "The island ferry now leaves at 10:15, after the tide."),
    ("Nele from Graz is my tax adviser.", "Nele retired, my tax adviser is Mr. Okafor."),
]


@pytest.mark.parametrize(("older", "newer"), WORDS_OF_THE_OLDER)
def test_warnings_hold_no_word_that_only_another_memory_says(
    open_memory: OpenMemory, minilm: Any, older: str, newer: str
) -> None:
    """Who may only write reads them, and a receipt outlives what it speaks of."""
    memory = open_memory(embedder=minilm)
    first = memory.remember(ME, RememberRequest(older))
    receipt = memory.remember(ME, RememberRequest(newer, key="k"))
    assert any(first.id in warning for warning in receipt.warnings)
    only = set(re.findall(r"\w+", older.casefold())) - set(re.findall(r"\w+", newer.casefold()))
    said = set(re.findall(r"\w+", " ".join(receipt.warnings).casefold()))
    assert not only & said
    assert older in [near.text for near in receipt.similar]


@pytest.mark.parametrize("older", ["I live in Graz.", "I live in Graz and work at Siemens."])
def test_the_real_model_brings_a_move_to_where_somebody_lives(
    open_memory: OpenMemory, minilm: Embedder, older: str
) -> None:
    memory = open_memory(embedder=minilm)
    first = memory.remember(ME, RememberRequest(older)).id
    newer = memory.remember(ME, RememberRequest("I moved to Linz last week.")).id
    doubted = [(pair.older.id, pair.newer.id, pair.part) for pair in memory.doubts(ME)]
    assert doubted == [(first, newer, "I live in Graz" if "work" in older else "")]


# Without a model


def test_without_a_model_everything_is_stored_and_compared_by_its_words(
    open_memory: OpenMemory, no_model: Any
) -> None:
    memory = open_memory(embedder=no_model)
    receipts = [memory.remember(ME, RememberRequest(NUMBERED.format(n))) for n in (14, 15)]
    assert [(r.status, r.importance) for r in receipts] == [("stored", 0.5)] * 2
    assert [[near.relation for near in r.similar] for r in receipts] == [[], ["doubts"]]
    assert memory.remember(ME, RememberRequest(NUMBERED.format(14))).status == "reinforced"


def test_vectors_come_later_for_what_was_written_without_a_model(
    open_memory: OpenMemory, no_model: Any, toy: Any
) -> None:
    memory = open_memory(embedder=no_model)
    id = memory.remember(ME, RememberRequest("The heron waits by the weir.", speaker="Ana")).id
    memory.close()
    memory = open_memory(embedder=toy)
    parts = memory._runtime.parts()
    parts.maintenance.round()
    parts.store.catch_up()
    row = view_of(parts.store).columns.row(id)
    vectors = view_of(parts.store).vectors
    assert vectors is not None
    found = vectors.wholes(np.array([row]))[0]
    assert found == pytest.approx(toy.query("Ana: The heron waits by the weir."), abs=2e-3)


# Whose words are repeated

FLIGHT = "The flight to Lisbon leaves at 7:15."


def test_a_user_who_repeats_an_assistant_makes_it_a_memory_of_their_own(
    memory: Memory, clock: Any
) -> None:
    heard = memory.remember(ME, RememberRequest(FLIGHT, role="assistant"))
    clock.pass_by(86_400.0)
    said = memory.remember(ME, RememberRequest(FLIGHT, role="user", trust="user"))
    assert (said.status, said.id != heard.id) == ("stored", True)
    mine, theirs = memory.get(ME, said.id), memory.get(ME, heard.id)
    assert (mine.role, mine.trust, mine.occurred_at) == ("user", "user", clock.now)
    assert (theirs.role, theirs.trust) == ("assistant", "agent")
    assert hits(memory, "When does the flight to Lisbon leave?")[0] == said.id


def test_what_a_user_repeats_of_an_assistant_corrects_as_their_own_words_do(
    memory: Memory, clock: Any
) -> None:
    old = memory.remember(ME, RememberRequest("Lena lives in Porto.", role="user", trust="user")).id
    clock.pass_by(86_400.0)
    text = "Actually Lena lives in Lisbon now."
    memory.remember(ME, RememberRequest(text, role="assistant"))
    assert memory.get(ME, old).superseded_by == ""
    clock.pass_by(86_400.0)
    new = memory.remember(ME, RememberRequest(text, role="user", trust="user")).id
    assert memory.get(ME, old).superseded_by == new


def test_an_assistant_who_repeats_the_user_reinforces_what_they_said(memory: Memory) -> None:
    said = memory.remember(ME, RememberRequest(FLIGHT, role="user", trust="user"))
    echoed = memory.remember(ME, RememberRequest(FLIGHT, role="assistant"))
    assert (echoed.status, echoed.id) == ("reinforced", said.id)
    stored = memory.get(ME, said.id)
    assert (stored.role, stored.trust) == ("user", "user")


def test_what_is_repeated_with_more_right_rises_to_it(memory: Memory) -> None:
    noted = memory.remember(ME, RememberRequest(FLIGHT))
    assert memory.get(ME, noted.id).trust == "agent"
    said = memory.remember(ME, RememberRequest(FLIGHT, role="user", trust="user"))
    assert (said.status, said.id) == ("reinforced", noted.id)
    stored = memory.get(ME, said.id)
    assert (stored.role, stored.trust) == ("user", "user")
    memory.remember(ME, RememberRequest(FLIGHT))
    assert memory.get(ME, said.id).trust == "user"


def test_what_was_quoted_is_no_statement_until_the_user_makes_it(memory: Memory) -> None:
    quoted = memory.remember(ME, RememberRequest(FLIGHT, role="user", trust="quoted"))
    said = memory.remember(ME, RememberRequest(FLIGHT, role="user", trust="user"))
    assert (said.status, said.id != quoted.id) == ("stored", True)
    assert memory.get(ME, quoted.id).trust == "quoted"
