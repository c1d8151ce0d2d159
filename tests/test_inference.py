"""What nobody may infer: which words stand in the private memories of another agent."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity, MemoryRecord, new_id, to_fields
from memory_core.remember.request import RememberRequest

OpenMemory = Callable[..., Memory]
RIGHTS = frozenset({"read", "write"})
SPY, VICTIM = Identity("spy", "north", RIGHTS), Identity("victim", "north", RIGHTS)

PRESENT = ("heliotrope", "kumquat", "marzipan", "obsidian", "periwinkle")
ABSENT = ("tangerine", "zeppelin", "dandelion", "xylophone", "labyrinth")
MISSPELT = ("helitrope", "kumqaut", "marzpan", "obsidain", "perwinkle", "tangrine", "dandelon")
NEAR = ("flower", "fruit", "sweet", "stone", "blue", "airship", "maze")


def told(memory: Memory, clock: Any, hidden: tuple[str, ...]) -> None:
    """What spy and victim remembered; *hidden* words stand in the victim's memories alone."""
    for number in range(8):
        clock.pass_by(60)
        text = f"On day {number} the blue ferry brought sweet fruit and a stone to the market."
        memory.remember(SPY, RememberRequest(text, session="s"))
    for word in hidden:
        for number in range(3):
            clock.pass_by(60)
            text = f"My diary {number} says {word}, the airship and the flower of the ferry."
            memory.remember(VICTIM, RememberRequest(text, speaker=word, tags=[word]))
    clock.pass_by(60)
    shared = "The market of the north opens at nine, says Mara Vogt."
    memory.remember(VICTIM, RememberRequest(shared, scope="team"))


def answers(memory: Memory, clock: Any) -> list[str]:
    """Everything that the spy is told, ids by the order in which they come up."""
    clock.pass_by(3600)
    words = (*PRESENT, *ABSENT, *MISSPELT, *NEAR)
    said: list[Any] = [
        asdict(memory.recall(SPY, RecallRequest(query, explain=True, rehearse=False)))
        for query in (*words, *(f"the {word} of the ferry" for word in words))
    ]
    said += [memory.names(SPY, column) for column in ("tags", "speaker", "entities", "topic")]
    said.append(memory.topic_edges(SPY))
    report = memory.health(SPY)
    storage = {**report.storage, "maintenance_holder": None}  # taken in a thread: a matter of time
    said += [report.counts, storage, report.last_run, report.jobs, report.encoder]
    said.append(
        [
            (check.name, check.detail)
            for check in report.checks
            if check.name not in ("disk", "upkeep")
        ]
    )
    said.append(asdict(memory.consolidate(SPY, dry_run=True)))
    for word in (PRESENT[0], ABSENT[0]):
        text = f"No longer the ferry: from now on the {word} brings sweet fruit to the market."
        said.append(asdict(memory.remember(SPY, RememberRequest(text))))
    known: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return known.setdefault(match.group(), f"<{len(known)}>")

    return [re.sub(r"\b0[0-9a-hjkmnp-tv-z]{19}\b", numbered, repr(each)) for each in said]


@pytest.mark.parametrize("embedded", [True, False])
def test_no_answer_tells_which_words_another_agent_keeps(
    open_memory: OpenMemory, clock: Any, toy: Any, embedded: bool, no_model: Any
) -> None:
    seen = []
    start = clock.now
    for name, hidden in (("with", PRESENT), ("without", ABSENT)):
        clock.now = start
        memory = open_memory(name, toy if embedded else no_model)
        told(memory, clock, hidden)
        seen.append(answers(memory, clock))
    for one, other in zip(*seen, strict=True):
        assert one == other


def test_a_name_counts_and_is_written_as_who_asks_has_it(
    open_memory: OpenMemory, clock: Any
) -> None:
    """How often, and how, others write a name shows in no score, no path and no entity."""
    said, began = [], clock()
    for store, name in (("there", "McZorblax"), ("not", "Halcyon")):
        clock.now = began
        memory = open_memory(store)
        for number in range(3):
            clock.pass_by(60)
            memory.remember(
                VICTIM, RememberRequest(f"We met {name} at pier {number}, {name} sang.")
            )
        for text in (
            "The bell of the harbour was rung by Mczorblax.",
            "A lantern hangs over the house of Mczorblax.",
            "We saw Mczorblax at the weir.",
            "yesterday mczorblax painted a fence",
        ):
            clock.pass_by(60)
            memory.remember(SPY, RememberRequest(text))
        asked = RecallRequest("who rang the bell of the harbour?", explain=True, rehearse=False)
        found = memory.recall(SPY, asked)
        hits = sorted((*found.hits, *found.partial, *found.rejected), key=lambda h: h.memory.text)
        told = [(h.memory.text, h.score, h.memory.entities, h.why.get("links")) for h in hits]
        paths = [re.sub(r"\b0[0-9a-z]{19}\b", "", str(hit.why.get("path", ""))) for hit in hits]
        said.append([told, paths])
    assert said[0] == said[1]
    assert "Mczorblax" in str(said), "the name links"


def test_health_tells_of_the_whole_store_only_an_admin(memory: Memory, clock: Any) -> None:
    """How much others store, and which runs they made: nothing of it shows to who only reads."""
    chief = replace(SPY, agent="chief", rights=RIGHTS | {"admin"})

    def shown(who: Identity) -> list[Any]:
        report = memory.health(who)
        storage = {**report.storage, "maintenance_holder": None}  # taken in a thread
        told = [(check.name, check.detail) for check in report.checks if check.status == "ok"]
        return [report.counts, storage, report.last_run, report.jobs, report.encoder, told]

    memory.remember(SPY, RememberRequest("The blue ferry leaves at nine."))
    reader, admin = shown(SPY), shown(chief)
    for number in range(12):
        clock.pass_by(3600)
        text = f"On day {number} my diary names the {PRESENT[number % 5]} of the old garden."
        memory.remember(VICTIM, RememberRequest(text, session="s"))
    run = memory.consolidate(VICTIM).run
    assert shown(SPY) == reader
    _, storage, last, *_, told = shown(chief)
    assert storage["sequence"] >= admin[1]["sequence"] + 12
    assert (last["run"], admin[2]) == (run, {})
    assert f"sequence {storage['sequence']}" in dict(told)["journal"]


def test_forgetting_tells_nothing_of_what_others_hold(memory: Memory, clock: Any) -> None:
    """A topic that gets another name, and what is derived of what goes, are the caller's alone."""
    chief = replace(SPY, agent="chief", rights=RIGHTS | {"admin"})

    def put(who: Identity, text: str, **fields: Any) -> str:
        clock.pass_by(60)
        record = MemoryRecord(id=new_id(clock()), text=text, agent=who.agent, **fields)
        memory._store.commit(
            lambda tx: tx.append(Change("put", record.id, to_fields(record), actor=who.agent))
        )
        return record.id

    market = "The blue ferry brought sweet fruit to the market."
    ferry = put(SPY, market, visibility="shared", topic="blue, brought, ferry")
    secret = put(VICTIM, "My diary names the marzipan.", topic="Marzipan, harbour")
    put(VICTIM, "It was sweet.", topic="Marzipan came to the harbour")
    put(VICTIM, "Much was sweet.", kind="summary", derived_from=(ferry, secret))
    talk = put(SPY, "We spoke of the ferry.", visibility="shared", kind="episode")
    memory._store.catch_up()
    counted = memory.stats(SPY)["unconsolidated"]
    put(VICTIM, "They spoke.", kind="summary", derived_from=(talk, secret))
    memory._store.catch_up()
    assert memory.stats(SPY)["unconsolidated"] == counted > 0
    gone = put(SPY, "Zebras graze.", topic="Zebras graze.")
    guess = put(SPY, "Marzipan came to the harbour", topic="Zebras graze.")
    memory._store.catch_up()
    memory.forget(SPY, ids=[gone], confirm=True)
    named = memory.get(SPY, guess).topic
    assert named
    assert "(" not in named, "others have such a topic, and that is theirs"
    assert "summaries" not in memory.forget(SPY, ids=[ferry]).note
    assert "2 summaries" in memory.forget(VICTIM, ids=[secret]).note
    assert "copies" not in memory.forget(SPY, ids=[ferry]).note
    memory.note_export(SPY, "")
    clock.pass_by(86_400)
    told = "the export of 2024-06-01"
    assert told in memory.forget(SPY, ids=[ferry]).note
    late = put(VICTIM, "The diary is in the drawer.")
    memory._store.catch_up()
    memory.note_export(VICTIM, "")
    assert told in memory.forget(SPY, ids=[ferry]).note, "theirs replaces the note of none"
    assert "the export of 2024-06-02" in memory.forget(VICTIM, ids=[late]).note
    memory.note_export(SPY, "")
    assert "the exports of 2024-06-01 to 2024-06-02" in memory.forget(chief, ids=[ferry]).note


def test_no_time_tells_which_words_another_agent_keeps(memory: Memory, clock: Any) -> None:
    """A word in thousands of memories of another agent, one in none, and the same two misspelt."""
    told(memory, clock, PRESENT[:1])
    pages = [f"Page {number} of my diary says {PRESENT[0]}, again." for number in range(4_000)]

    def put(tx: Any) -> None:
        for text in pages:
            page = MemoryRecord(new_id(clock.now), text, agent=VICTIM.agent, occurred_at=clock.now)
            tx.append(Change("put", page.id, to_fields(page)))

    memory._runtime.parts().store.commit(put)

    def cost(query: str) -> float:
        start = time.process_time()
        memory.recall(SPY, RecallRequest(query, rehearse=False))
        return time.process_time() - start

    for held, other in ((PRESENT[0], ABSENT[0]), (MISSPELT[0], MISSPELT[5])):
        costs = {word: min(cost(word) for _ in range(20)) for word in (held, other)}
        for _ in range(20):  # what else runs only ever adds to a time
            if 0.5 < costs[held] / costs[other] < 2.0:
                break
            costs = {word: min(least, cost(word)) for word, least in costs.items()}
        assert 0.5 < costs[held] / costs[other] < 2.0, (held, costs)
