"""Facts beside the text: they lead to their sources, and answer where nothing else may."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from evals.recorded import FACTS
from processes import until

from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.evaluation import readers
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
QUESTION = "What is the telephone number of Felix?"
ANSWER = "Yes, still the one with 4417 at the end."
FACT = "The telephone number of Felix has 4417 at the end."


@pytest.fixture
def told(
    open_memory: Callable[..., Memory], chosen: Callable[..., dict[str, Any]], server: Any
) -> tuple[Memory, str, Callable[[], None]]:
    """A memory with an answer among other talk, its id, and the extraction of its fact."""
    memory = open_memory(
        "store",
        tuning=Tuning(enrichment=EnrichmentTuning(batch_turns=1)),
        **chosen("openai"),
    )
    for n in range(40):
        memory.remember(ME, RememberRequest(f"Shop {n} sells bread, cheese and wine of kind {n}."))
    id = memory.remember(ME, RememberRequest(ANSWER, speaker="Felix")).id

    def say(data: dict[str, Any]) -> dict[str, Any]:
        number = data["turns"][0]["turn"]
        empty = {"gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.5}
        fact = {"text": FACT, "kind": "fact", "importance": 0.8, "topic": "", "entities": []}
        is_it = data["turns"][0]["text"] == ANSWER
        facts = [{**fact, "sources": [number]}] if is_it else []
        return {"turns": [{**empty, "turn": number}], "facts": facts}

    server.say = say
    # what works in the background may hold some, for as long as the model takes
    return memory, id, lambda: until(lambda: memory.encode(ME).left == 0)


def ids(memory: Memory, **narrow: Any) -> list[str]:
    found = memory.recall(ME, RecallRequest(QUESTION, k=10, context=0, **narrow))
    return [hit.memory.id for hit in (*found.hits, *found.partial)]


def test_a_fact_leads_to_the_text_that_it_was_made_of(told: Any) -> None:
    memory, id, extract = told
    before = memory.recall(ME, RecallRequest(QUESTION, k=50, context=0, explain=True))
    score = {hit.memory.id: hit.score for hit in (*before.hits, *before.partial)}
    extract()
    found = memory.recall(ME, RecallRequest(QUESTION, k=50, context=0, explain=True))
    best = (*found.hits, *found.partial)[0]
    assert best.memory.id == id
    assert best.why["facts"] > 0
    assert best.score > score.get(id, 0.0)
    assert not any(hit.memory.extracted for hit in found.hits)


def test_a_fact_answers_itself_when_it_is_asked_for_by_kind(told: Any) -> None:
    memory, _, extract = told
    extract()
    found = memory.recall(ME, RecallRequest(QUESTION, kinds=["fact"], context=0))
    assert [hit.memory.text for hit in found.hits] == [FACT]


def test_a_fact_or_its_text_answers_when_the_text_is_retired(told: Any) -> None:
    memory, id, extract = told
    extract()
    store = memory._runtime.parts().store
    store.commit(lambda tx: tx.append(Change("put", id, {"retired_at": 1.0})))
    found = memory.recall(ME, RecallRequest(QUESTION, context=0))
    assert found.hits[0].memory.text in (FACT, ANSWER)  # retired ones come in a second look


def test_a_fact_lends_nothing_to_what_the_caller_did_not_ask_for(told: Any) -> None:
    memory, id, extract = told
    extract()
    assert id in ids(memory, speaker="Felix")
    assert id not in ids(memory, speaker="Nora")
    assert ids(memory, kinds=["summary"]) == []
    assert memory.recall(Identity("other"), RecallRequest(QUESTION)).hits == ()


def test_the_recorded_facts_of_the_dialogue_come_over_the_wire(
    open_memory: Callable[..., Memory], chosen: Callable[..., dict[str, Any]], server: Any
) -> None:
    """The corpus of `evaluate --with-facts`, served as a model would: each fact in one answer."""
    recorded = json.loads(FACTS.read_text("utf-8"))
    (dialogue,) = readers.read(readers.DIALOGUE, "dialogue")
    turns = [turn for turn in dialogue.turns if turn.session in ("s01", "s02")]
    said = {turn.id: turn.text for turn in turns}
    wanted = [fact for fact in recorded if set(fact["sources"]) <= said.keys()]

    def say(data: dict[str, Any]) -> dict[str, Any]:
        number = {turn["text"]: turn["turn"] for turn in (*data["context"], *data["turns"])}
        new = {turn["text"] for turn in data["turns"]}
        facts = [
            {
                "text": fact["text"],
                "kind": fact["kind"],
                "importance": 0.6,
                "topic": "",
                "entities": [],
                "sources": [number[said[id]] for id in fact["sources"]],
            }
            for fact in wanted
            if said[fact["sources"][-1]] in new
        ]
        empty = {"gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.5}
        return {"turns": [{**empty, "turn": number[text]} for text in new], "facts": facts}

    server.say = say
    memory = open_memory("store", **chosen("claude"))
    for turn in turns:
        memory.remember(
            ME,
            RememberRequest(
                turn.text, speaker=turn.speaker, session=turn.session, when=turn.when or ""
            ),
        )
    assert memory.encode(ME).left == 0
    found = {each.text for each in memory.listing(ME, limit=1000) if each.extracted}
    assert found == {fact["text"] for fact in wanted}
    assert len(server.asked) == 6  # 36 turns, by conversation, eight at a time
