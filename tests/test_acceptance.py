"""Whole stories that earlier memory systems promised to get right, told to the real model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import ConversationTurn, RememberRequest

ME = Identity("me")

OpenMemory = Callable[..., Memory]

ANIMALS = (
    "Zebras live in the savanna of Africa and flee from lions.",
    "The wildlife reserve in Kenya protects elephants, giraffes and zebras.",
    "Herds of wild animals cross the African plains in the dry season.",
)
PROGRAMMING = (
    "Our Python service writes its logs as JSON lines.",
    "The compiler reports a type error in the parser module.",
    "We deploy the backend with a script on every merge.",
)
UNRELATED = tuple(
    f"{subject} {rest}"
    for subject in ("The printer", "My neighbour", "The bakery", "Our landlord", "The bus driver")
    for rest in (
        "was late again this morning.",
        "has a new red bicycle.",
        "asked for the invoice from last week.",
        "will be away on Thursday.",
    )
)


@pytest.fixture
def real(open_memory: OpenMemory, minilm: Embedder) -> Memory:
    return open_memory(embedder=minilm)


def says(memory: Memory, text: str, session: str = "s", role: str = "user") -> str:
    receipt = memory.observe(ME, ConversationTurn(role, text, session=session)).receipt
    assert receipt is not None
    return receipt.id


def texts(found: Recollection) -> list[str]:
    return [hit.memory.text for hit in (*found.hits, *found.partial)]


def test_zebra_facts_survive_twenty_unrelated_turns(real: Memory) -> None:
    facts = {says(real, text) for text in ANIMALS[:2]}
    for text in UNRELATED:
        says(real, text)
    found = real.recall(ME, RecallRequest("Where do zebras live?", session="s", k=3))
    assert found.found
    assert facts <= {hit.memory.id for hit in found.hits}
    assert found.hits[0].memory.text == ANIMALS[0]


def test_zebra_activates_africa_and_wildlife(real: Memory) -> None:
    for animal, program in zip(ANIMALS, PROGRAMMING, strict=True):
        real.remember(ME, RememberRequest(program))
        real.remember(ME, RememberRequest(animal))
    neutral = [lead(real, question, "other") for question in NEUTRAL]
    zebra = real.recall(ME, RecallRequest("zebra", session="talk", k=6))
    assert {hit.memory.text for hit in zebra.hits[:3]} == set(ANIMALS)
    primed = real.in_mind(ME, "talk").primed
    assert {real.get(ME, id).text for id in primed} == set(ANIMALS)
    assert set(primed.values()) == {1.0}
    coloured = [lead(real, question, "talk") for question in NEUTRAL]
    assert all(after > before for before, after in zip(neutral, coloured, strict=True))
    assert [lead(real, question, "other") for question in NEUTRAL] == neutral  # nothing leaked


def test_after_zebra_animals_outrank_programming(real: Memory) -> None:
    for text in (*PROGRAMMING, *ANIMALS):
        real.remember(ME, RememberRequest(text))
    before = [first(real, cue, "other") for cue in BALANCED]
    real.recall(ME, RecallRequest("zebra", session="talk", k=6))
    after = [first(real, cue, "talk") for cue in BALANCED]
    turned = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    assert turned
    assert all(a in PROGRAMMING and b in ANIMALS for a, b in turned)


BALANCED = (
    "plains and the backend",
    "plains and the merge",
    "lions and the parser",
    "the parser or lions?",
    "herds and the compiler",
    "logs or herds?",
    "the backend or herds?",
    "Python or the reserve?",
    "lions and logs",
)
"""As near to one as to the other: what was in mind before decides."""


def first(memory: Memory, cue: str, session: str) -> str:
    """The text of what *cue* brings to mind first."""
    found = memory.recall(ME, RecallRequest(cue, session=session, context=0, rehearse=False))
    return texts(found)[0]


NEUTRAL = ("Are there plains, scripts or parsers?", "animals and the backend", "lions and logs")


def lead(memory: Memory, question: str, session: str) -> float:
    """By how much the animals score above the programs."""
    found = memory.recall(
        ME, RecallRequest(question, session=session, k=6, context=0, rehearse=False, explain=True)
    )
    given = (*found.hits, *found.rejected)  # what nothing speaks for is rejected, with its score
    scores = {hit.memory.text: hit.score for hit in given}
    assert len(scores) == 6
    return sum(scores[text] for text in ANIMALS) - sum(scores[text] for text in PROGRAMMING)


def test_two_conversations_at_once_do_not_prime_each_other(real: Memory) -> None:
    for text in (*ANIMALS, *PROGRAMMING):
        real.remember(ME, RememberRequest(text))
    real.recall(ME, RecallRequest("zebra", session="a"))
    real.recall(ME, RecallRequest("Python logs", session="b"))
    animals = {real.get(ME, id).text for id in real.in_mind(ME, "a").working}
    code = {real.get(ME, id).text for id in real.in_mind(ME, "b").working}
    assert animals <= set(ANIMALS)
    assert code <= set(PROGRAMMING)
    assert animals
    assert code


def test_working_memory_stays_warm_and_clears_on_a_topic_shift(real: Memory) -> None:
    for text in (*ANIMALS, *PROGRAMMING):
        real.remember(ME, RememberRequest(text))
    real.observe_and_recall(ME, ConversationTurn("user", "Tell me about zebras.", session="s"))
    warm = set(real.in_mind(ME, "s").working)
    assert warm
    for turn in range(5):
        text = f"Question {turn}: does the parser module report a type error?"
        _, found = real.observe_and_recall(ME, ConversationTurn("user", text, session="s"))
        assert found.hits
    assert not warm & set(real.in_mind(ME, "s").working)


def test_a_corrected_fact_outranks_the_old_one(real: Memory) -> None:
    old = real.remember(ME, RememberRequest("The meeting with the bank is on Tuesday.")).id
    new = real.remember(
        ME, RememberRequest("Correction: the meeting with the bank is on Wednesday.")
    ).id
    assert real.get(ME, new).importance == 1.0
    found = real.recall(ME, RecallRequest("When is the meeting with the bank?"))
    assert [hit.memory.id for hit in found.hits][:2] == [new, old]


def test_older_scores_lower_for_retention_and_access_resists_decay(
    real: Memory, clock: Any
) -> None:
    old = real.remember(ME, RememberRequest("The first garden plan has three beds of beans.")).id
    used = real.remember(ME, RememberRequest("The second garden plan has four beds of peas.")).id
    clock.pass_by(5 * 86_400)
    real.recall(ME, RecallRequest(used))
    real._runtime.parts().maintenance.accesses.flush()
    clock.pass_by(5 * 86_400)
    new = real.remember(ME, RememberRequest("The third garden plan has five beds of kale.")).id
    found = real.recall(ME, RecallRequest("garden plan beds", explain=True))
    kept = {hit.memory.id: hit.why["retention"] for hit in found.hits}
    assert kept[new] > kept[used] > kept[old]
    slowed = 30 * (1 + math.log(2))  # long_term, one access, five days ago
    expected = {new: 1.0, used: 2 ** (-5 / slowed), old: 2 ** (-10 / 30)}
    assert kept == pytest.approx(expected, abs=1e-3)


def test_database_notes_do_not_answer_a_question_about_something_else(real: Memory) -> None:
    real.remember(ME, RememberRequest("Redis caches the sessions of the shop for twenty minutes."))
    assert not real.recall(ME, RecallRequest("How do I write a move constructor in C++?")).found


def test_topics_tell_python_elephants_and_the_eiffel_tower_apart(real: Memory) -> None:
    groups = (
        ("Python functions are defined with def.", "Python functions can return several values."),
        ("Elephants live in herds.", "Elephants drink a lot of water every day."),
        ("The Eiffel Tower stands in Paris.", "The Eiffel Tower is 330 metres high."),
    )
    ids = [[real.remember(ME, RememberRequest(text)).id for text in group] for group in groups]
    real.consolidate(ME, mode="topics")
    topics = [{real.get(ME, id).topic for id in group} for group in ids]
    assert [len(labels) for labels in topics] == [1, 1, 1]
    assert len(set.union(*topics)) == 3


def test_a_redis_fact_and_a_mongodb_question_stay_two_topics(real: Memory) -> None:
    groups = (
        ("Redis caches the user sessions of the shop.", "Redis keeps the sessions of the shop."),
        ("Should MongoDB hold the session cache?", "Could MongoDB hold the session cache?"),
    )
    ids = [[real.remember(ME, RememberRequest(text)).id for text in group] for group in groups]
    real.consolidate(ME, mode="topics")
    redis, mongo = ([real.get(ME, id).topic for id in group] for group in ids)
    assert redis[0] == redis[1] != ""
    assert mongo[0] == mongo[1] != ""
    assert redis[0] != mongo[0]
