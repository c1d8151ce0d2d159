"""Awkward questions and awkward stores, each with what recall is expected to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.errors import InvalidInput
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Hit, Identity, Recollection
from memory_core.remember.request import RememberRequest

ME = Identity("me")
TALK = (
    ("Nora", "I ran the half marathon on Sunday, and my knee hurts."),
    ("Felix", "How long did it take you?"),
    ("Nora", "One hour and fifty-eight minutes."),
    ("Felix", "Pickle, my cat, slept on the piano all day."),
    ("Nora", "The allotment society offered us plot 17b for thirty-eight pounds a year."),
    ("Felix", "My grandmother Ottilie in Freiburg wants to give me her cello."),
    ("Nora", "Staging listens on port 5433 now."),
    ("Felix", "Der Schlüssel zum Gartentor hängt hinter der Scheune."),
    ("Nora", "Did you feed the sourdough?"),
    ("Felix", "Yes, and it rose to the rim of the jar."),
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, minilm: Embedder) -> Iterator[Memory]:
    folder: Path = tmp_path_factory.mktemp("talk")
    with Memory(Settings(data_dir=folder), embedder=minilm) as memory:
        assert memory.wait_ready(60)
        for speaker, text in TALK:
            memory.remember(ME, RememberRequest(text, speaker=speaker, session="kitchen"))
        yield memory


def both(found: Recollection) -> list[Hit]:
    return [*found.hits, *found.partial]


def first(memory: Memory, query: str) -> str:
    return both(memory.recall(ME, RecallRequest(query, rehearse=False)))[0].memory.text


# Questions


@pytest.mark.parametrize(
    ("word", "held"), [("cello", "cello"), ("marathon", "marathon"), ("5433", "5433")]
)
def test_one_word_finds_what_holds_it(memory: Memory, word: str, held: str) -> None:
    found = memory.recall(ME, RecallRequest(word, rehearse=False))
    assert found.found
    assert held in found.hits[0].memory.text


@pytest.mark.parametrize("query", ["what is it that they do", "and so on", "the of and is a"])
def test_only_stopwords_are_never_sure(memory: Memory, query: str) -> None:
    found = memory.recall(ME, RecallRequest(query, rehearse=False))
    assert found.feeling in ("none", "low")
    assert 0 <= len(found.partial) <= 3


@pytest.mark.parametrize("query", ["Who wants to give Felix a cello?", "How is Nora's knee?"])
def test_capitals_change_nothing(memory: Memory, query: str) -> None:
    plain, loud = (
        memory.recall(ME, RecallRequest(each, rehearse=False)) for each in (query, query.upper())
    )
    assert [h.memory.id for h in both(loud)][:3] == [h.memory.id for h in both(plain)][:3]
    assert loud.found == plain.found


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("Did Nora run the half maratohn?", "marathon"),
        ("grandmohter Otillie", "Ottilie"),
        ("What did the alotment society offer?", "allotment"),
        ("sourduogh", "sourdough"),
    ],
)
def test_typos_are_forgiven(memory: Memory, query: str, held: str) -> None:
    found = memory.recall(ME, RecallRequest(query, explain=True, rehearse=False))
    assert held in both(found)[0].memory.text
    assert float(both(found)[0].why["lexical"]) > 0


def test_numbers_are_not(memory: Memory) -> None:
    found = memory.recall(ME, RecallRequest("5432", explain=True, rehearse=False))
    assert all(float(hit.why["lexical"]) == 0 for hit in both(found))


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("Wo hängt der Schlüssel zum Gartentor?", "Schlüssel"),
        ("Was hat Ottilie in Freiburg?", "Freiburg"),
        ("¿Dónde está Freiburg?", "Freiburg"),
    ],
)
def test_another_language_finds_its_own_words_and_names(
    memory: Memory, query: str, held: str
) -> None:
    assert held in first(memory, query)


def test_two_thousand_characters_are_read_and_one_more_is_refused(memory: Memory) -> None:
    long = ("Where is the cello of grandmother Ottilie? " + "please " * 300)[:2_000]
    assert len(long) == 2_000
    assert "cello" in first(memory, long)
    with pytest.raises(InvalidInput, match="query"):
        memory.recall(ME, RecallRequest(long + "x", rehearse=False))


@pytest.mark.parametrize("text", [text for _, text in TALK if len(text.split()) > 5])
def test_a_memory_quoted_verbatim_comes_first(memory: Memory, text: str) -> None:
    found = memory.recall(ME, RecallRequest(text, rehearse=False))
    assert found.hits[0].memory.text == text
    assert found.feeling in ("high", "moderate")


# Knowing what is not known


def test_the_unrelated_is_not_found_and_nothing_is_offered_instead(memory: Memory) -> None:
    for query in ("Which enzymes break down lactose?", "quantum chromodynamics lattice spacing"):
        found = memory.recall(ME, RecallRequest(query, rehearse=False))
        assert (found.found, found.feeling, found.hits, found.partial) == (False, "none", (), ())


def test_the_borderline_gives_half_matches(memory: Memory) -> None:
    found = memory.recall(ME, RecallRequest("Which vet treats the animals?", rehearse=False))
    assert (found.found, found.feeling, found.hits) == (False, "none", ())
    assert "Pickle, my cat" in found.partial[0].memory.text
    assert len(found.partial) <= 3


@pytest.mark.parametrize(
    "query", ["Which port does staging listen on?", "What did the allotment society offer us?"]
)
def test_the_well_known_is_felt(memory: Memory, query: str) -> None:
    assert memory.recall(ME, RecallRequest(query, rehearse=False)).feeling in ("high", "moderate")


DATABASE = (
    "The staging database runs Postgres 15.",
    "We chose MongoDB for session caching.",
    "Add an index on orders.customer_id to speed up the monthly report.",
    "Redis keeps the session cache for thirty minutes.",
    "Nightly backups of the database go to the second disk.",
)
CPP = (
    "In C++ a base class needs a virtual destructor.",
    "Our C++ code uses unique_ptr for what has one owner.",
)


@pytest.mark.parametrize(
    "query",
    [
        "What is a virtual destructor in C++?",
        "Which smart pointer should I use in C++?",
        "Why does my C++ move constructor not get called?",
    ],
)
def test_database_notes_are_no_answer_to_a_question_about_cpp(
    open_memory: Any, minilm: Embedder, query: str
) -> None:
    memory = open_memory(embedder=minilm)
    for text in DATABASE:
        memory.remember(ME, RememberRequest(text))
    found = memory.recall(ME, RecallRequest(query))
    assert (found.found, found.hits, found.partial) == (False, (), ())
    for text in CPP:
        memory.remember(ME, RememberRequest(text))
    found = memory.recall(ME, RecallRequest(query, explain=True))
    given = {hit.memory.text for hit in both(found)}
    assert given
    assert given <= set(CPP)
    rejected = {hit.memory.text: hit.why["rejected"] for hit in found.rejected}
    assert {rejected[text] for text in DATABASE} == {"below_confidence"}


# Stores


def test_one_memory_answers_its_question_and_no_other(open_memory: Any, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    id = memory.remember(ME, RememberRequest("The boiler code is 4711.")).id
    found = memory.recall(ME, RecallRequest("What is the code of the boiler?"))
    assert [hit.memory.id for hit in found.hits] == [id]
    assert found.feeling in ("high", "moderate")
    assert not memory.recall(ME, RecallRequest("Who won the tennis final?")).found


def test_without_sessions_nothing_comes_from_a_thread(open_memory: Any, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    for speaker, text in TALK:
        memory.remember(ME, RememberRequest(text, speaker=speaker))
    found = memory.recall(ME, RecallRequest("How long did Nora run?", explain=True, k=10))
    assert found.hits
    for hit in found.hits:
        assert (hit.why["thread"], hit.why["session"], hit.before, hit.after) == (0, 0, (), ())
        assert str(hit.why.get("path", "like")).split()[0] in ("like", "shares")  # links, no thread


MANUAL = (
    "The pump is primed through the red valve, which opens against the clock.",
    "Before winter the tank is drained until the gauge reads zero.",
    "A worn seal is replaced together with its spring, never alone.",
    "The filter behind the panel is rinsed with warm water twice a year.",
)


def test_parts_of_a_document_lend_each_other_nothing(open_memory: Any, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    for part in MANUAL:
        memory.remember(ME, RememberRequest(part, session="manual.pdf", source="manual.pdf"))
    for part in MANUAL:
        memory.remember(ME, RememberRequest(f"Quote: {part}", session="reader", speaker="Ann"))
    found = memory.recall(ME, RecallRequest("How is the pump primed?", explain=True, k=8))
    assert "pump is primed" in found.hits[0].memory.text
    assert {hit.why["thread"] for hit in found.hits} == {0}


def test_a_dialogue_without_names_still_has_threads(open_memory: Any, minilm: Embedder) -> None:
    memory = open_memory(embedder=minilm)
    for text in ("Where did you leave the ladder?", "Behind the shed, as always."):
        memory.remember(ME, RememberRequest(text, session="talk"))
    found = memory.recall(ME, RecallRequest("Where is the ladder?", explain=True))
    answer = next(hit for hit in both(found) if "shed" in hit.memory.text)
    assert float(answer.why["thread"]) != 0


def test_an_assistant_answer_of_600_words_does_not_crowd_out_the_user(
    open_memory: Any, minilm: Embedder
) -> None:
    memory = open_memory(embedder=minilm)
    advice = " ".join(
        f"Point {n}: when you plan a garden, think of soil, water and light." for n in range(48)
    )
    assert len(advice.split()) > 600
    memory.remember(
        ME, RememberRequest("My garden is shady and the soil is clay.", role="user", session="g")
    )
    memory.remember(ME, RememberRequest(advice, role="assistant", session="g"))
    memory.remember(ME, RememberRequest("I will plant hostas then.", role="user", session="g"))
    found = memory.recall(ME, RecallRequest("What soil does my garden have?", k=3))
    assert found.hits[0].memory.text.startswith("My garden")
    assert memory.recall(ME, RecallRequest("Point 31 of the garden plan", k=3)).found
