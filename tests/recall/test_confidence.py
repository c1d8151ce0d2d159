"""What a recall may be sure of: cues that ask nothing, and questions about somebody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.confidence import only_names
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.scoring import calibration

ME = Identity("me")

OpenMemory = Callable[..., Memory]


@pytest.mark.parametrize(
    ("query", "cue"),
    [
        ("zebra", True),
        ("creatures of the savannah", True),
        ("Nora's cello", True),
        ("der Garten von Nora", False),
        ("what did Nora say", False),
        ("zebra?", False),
        ("a long list of unasked things", False),
        ("5432", False),
        ("数据库迁移到哪里了", False),
        ("hello", False),
        ("the", False),
        ("", False),
    ],
)
def test_a_cue_names_something_and_asks_nothing(query: str, cue: bool) -> None:
    assert only_names(query) == cue


@pytest.fixture
def told(open_memory: OpenMemory, minilm: Embedder) -> Memory:
    """Nora about many things, and what she saw of lions."""
    memory = open_memory(embedder=minilm)
    for number, text in enumerate(
        (
            "A pride of lions lay in the tall grass by the river.",
            "Lions hunt antelopes in the savannah.",
            "The invoice of the printer is still open.",
            "My train to work was late again.",
            "I paid the rent on the first of the month.",
            "The heating rattles at night.",
            "We moved the build to another machine.",
            "I lost my umbrella on the ferry.",
        )
    ):
        memory.remember(ME, RememberRequest(text, speaker="Nora", session=f"s{number}"))
    return memory


def test_a_cue_brings_what_goes_with_it_and_is_not_sure_of_it(told: Memory) -> None:
    found = told.recall(ME, RecallRequest("zebra", k=2, rehearse=False))
    assert (found.found, found.feeling) == (True, "low")
    assert all("ions" in hit.memory.text for hit in found.hits)
    asked = told.recall(ME, RecallRequest("Where was a zebra seen?", k=2, rehearse=False))
    assert asked.confidence < found.confidence  # which nothing answers
    assert not told.recall(ME, RecallRequest("tax law", rehearse=False)).found


def test_a_name_is_a_cue_for_all_that_its_bearer_said(told: Memory) -> None:
    found = told.recall(ME, RecallRequest("Nora", k=5, rehearse=False))
    assert found.found
    assert len(found.hits) == 5


def test_a_name_makes_no_question_about_somebody_known(told: Memory) -> None:
    """Its vector is near to all that Nora said; what counts is what is asked about her."""
    for what in ("blood type", "shoe size", "password", "dentist"):
        found = told.recall(ME, RecallRequest(f"What is Nora's {what}?", rehearse=False))
        assert (found.found, found.feeling) == (False, "none")


def test_a_time_of_which_nothing_is_known_finds_nothing_and_shows_what_comes_nearest(
    told: Memory, clock: Any
) -> None:
    clock.pass_by(40 * 86_400.0)
    for query in ("What did I say yesterday?", "Was habe ich gestern gesagt?"):
        found = told.recall(ME, RecallRequest(query))
        assert (found.found, found.feeling, found.hits) == (False, "none", ())
        assert 0 < len(found.partial) <= calibration.PARTIALS
    new = told.remember(ME, RememberRequest("The gutter was cleaned.")).id
    clock.pass_by(86_400.0)
    found = told.recall(ME, RecallRequest("What did I say yesterday?"))
    assert found.found
    assert [hit.memory.id for hit in found.hits] == [new]


@pytest.mark.parametrize(
    ("asked_of", "known_of", "text", "question"),
    [
        ("Nina", "Theo", "{} has the dentist on 4 December at ten.", "When is {} at the dentist?"),
        ("Theo", "Nina", "{}'s piano lesson is on Thursdays.", "Which day is {}'s piano lesson?"),
        ("Bram", "Ida", "{} takes soy milk in the coffee.", "Which milk does {} take?"),
        ("Jonas", "Lena", "{} hat am Freitag Training.", "Wann hat denn {} das Training?"),
    ],
)
def test_what_is_known_of_another_one_is_no_answer(
    open_memory: OpenMemory,
    minilm: Embedder,
    asked_of: str,
    known_of: str,
    text: str,
    question: str,
) -> None:
    memory = open_memory(embedder=minilm)
    for told in (f"We took {asked_of} and {known_of} to the zoo.", text.format(known_of)):
        memory.remember(ME, RememberRequest(told))
    strange = memory.recall(ME, RecallRequest(question.format(asked_of), rehearse=False))
    known = memory.recall(ME, RecallRequest(question.format(known_of), rehearse=False))
    assert known.feeling == "high"
    assert strange.feeling in ("none", "low", "moderate")
    assert strange.confidence < known.confidence - 0.2


@pytest.mark.parametrize(
    ("question", "sure"),
    [
        ("how old is Moss?", False),
        ("How old is moss", False),
        ("Which team does Elsie support?", False),
        ("what's Jean's phone number", False),
        ("What does Moss eat?", True),
        ("what kind of food does Moss have", True),
        ("what does Moss eat", True),
        ("When does Elsie go swimming?", True),
        ("Where does Elsie swim?", True),
        ("What do we know about Moss?", True),
        ("Tell me about Elsie", True),
        ("give me everything we've got on Elsie", True),
        ("Can you brief me on Elsie?", True),
        ("remind me of all the things about Moss", True),
        ("Who settles the bills?", True),
    ],
)
def test_who_is_known_is_not_known_in_everything(
    open_memory: OpenMemory, minilm: Embedder, question: str, sure: bool
) -> None:
    memory = open_memory(embedder=minilm)
    for told in (
        "Moss has the salmon food because chicken makes him scratch.",
        "We walked round the lake with both kids and carried Moss home.",
        "Elsie swims at the baths on Saturday mornings at 9.15.",
        "Elsie loved the snowdrops in the park.",
        "Mrs Pickersgill's daughter Jean settles the bills, invoices go to Jean.",
        "Jean rang, the house is up for sale.",
    ):
        memory.remember(ME, RememberRequest(told))
    found = memory.recall(ME, RecallRequest(question, rehearse=False))
    assert found.found
    assert (found.confidence >= calibration.MODERATE) is sure


def test_what_begins_with_a_name_of_the_question_is_of_no_other_one(
    open_memory: OpenMemory, minilm: Embedder
) -> None:
    memory = open_memory(embedder=minilm)
    memory.remember(ME, RememberRequest("Billing's database is Postgres 14."))
    memory.remember(ME, RememberRequest("Somebody praised CockroachDB at the meetup."))
    found = memory.recall(ME, RecallRequest("Is the billing database CockroachDB?", rehearse=False))
    assert found.hits[0].memory.text == "Billing's database is Postgres 14."
    assert found.feeling == "high"
