"""Of a memory that was changed in part, the part that stays still answers first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.beliefs.change import change
from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")
DAY = 86_400.0
THEN = 1_717_200_000.0


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(
        Settings(data_dir=tmp_path), embedder=minilm, clock=lambda: THEN + 60 * DAY
    ) as memory:
        assert memory.wait_ready(60)
        yield memory


def told(memory: Memory, older: str, newer: str) -> tuple[str, str]:
    """The ids of both, said 20 days apart."""
    one = memory.remember(ME, RememberRequest(older, when=THEN)).id
    return one, memory.remember(ME, RememberRequest(newer, when=THEN + 20 * DAY)).id


def first(memory: Memory, question: str) -> str:
    found = memory.recall(ME, RecallRequest(question, k=5, context=0))
    return [*found.hits, *found.partial][0].memory.id


@pytest.mark.parametrize(
    ("older", "newer", "changed", "rest"),
    [
        (
            "The ferry leaves at seven and takes 20 cars.",
            "The ferry leaves at eight now.",
            "When does the ferry leave?",
            "How many cars does the ferry take?",
        ),
        (
            "Yusuf feeds the hens and Greta waters the orchard.",
            "Greta left the farm, Pavel waters the orchard now.",
            "Who waters the orchard?",
            "Who feeds the hens?",
        ),
        (
            "Die Probe dauert zwei Stunden und ist in der Aula.",
            "Die Probe wurde aus der Aula in die Turnhalle verlegt.",
            "Wo ist die Probe?",
            "Wie lange dauert die Probe?",
        ),
    ],
)
def test_what_stays_comes_first_where_it_is_asked_for(
    memory: Memory, older: str, newer: str, changed: str, rest: str
) -> None:
    one, other = told(memory, older, newer)
    assert first(memory, changed) == other
    assert first(memory, rest) == one
    found = memory.recall(ME, RecallRequest(rest, k=5, context=0))
    assert [hit.memory.id for hit in found.hits] == [one, other]
    assert found.hits[0].in_part is bool(found.hits[0].doubted_by)
    assert not any(hit.memory.superseded_by for hit in found.hits)


def test_what_doubts_a_part_stands_behind_it_whatever_else_is_near(memory: Memory) -> None:
    one, other = told(
        memory,
        "Yusuf feeds the hens and Greta waters the orchard.",
        "Greta left the farm, Pavel waters the orchard now.",
    )
    for text in (
        "The hens eat wheat and barley.",
        "The hens are fed at six.",
        "Six hens are brown.",
    ):
        memory.remember(ME, RememberRequest(text, when=THEN + 5 * DAY))
    found = memory.recall(ME, RecallRequest("Who feeds the hens?", k=5, context=0))
    ids = [hit.memory.id for hit in found.hits]
    assert ids.index(other) == ids.index(one) + 1
    assert len(ids) > 2


def test_so_it_is_after_somebody_decided_that_it_changed_in_part(memory: Memory) -> None:
    one, other = told(
        memory,
        "My desk is by the door, and Ada sits next to me.",
        "Ada no longer sits next to me, she left.",
    )
    memory.resolve(ME, one, other, "newer-holds-in-part")
    assert first(memory, "Where is my desk?") == one
    assert first(memory, "Does Ada sit next to me?") == other


@pytest.mark.parametrize(
    ("older", "newer", "part"),
    [
        (
            "The kiln reaches 1,200 degrees and belongs to the guild.",
            "The guild sold the kiln to a school.",
            "belongs to the guild",
        ),
        (
            "Our courier comes on Tuesdays and charges 8 euros a parcel.",
            "The courier raised it to 9 a parcel.",
            "charges 8 euros a parcel",
        ),
        (
            "Die Werkstatt öffnet um neun und liegt am Hafen.",
            "Die Werkstatt ist vom Hafen an den Bahnhof gezogen.",
            "liegt am Hafen",
        ),
        (
            "The choir meets in the crypt and the organist is Ines.",
            "The choir has moved out of the crypt.",
            "The choir meets in the crypt",
        ),
    ],
)
def test_the_part_that_changes_is_told_by_more_than_the_subject(
    older: str, newer: str, part: str
) -> None:
    found = change(older, newer)
    assert found is not None
    assert found.part == part
