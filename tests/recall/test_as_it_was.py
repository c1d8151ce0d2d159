"""A question for an earlier time is answered by what held then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_core.beliefs.question import Past, past_asked
from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest, Weights
from memory_core.records import Change, Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.time.dates import query_dates

ME = Identity("me")
INF = float("inf")


def at(day: str) -> float:
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


NOW = at("2026-11-28T10:00:00")
RENT = {
    "2026-03-10": "our rent is 1450",
    "2026-06-10": "our rent is 1520 now",
    "2026-09-10": "our rent is 1490 now",
}
KEY = {
    "2026-03-10": "frau huber has our spare key",
    "2026-09-10": "the spare key is with the schmidts now",
}
GLUE = {
    "2026-03-01": "For chair joints I use hide glue, always have.",
    "2026-04-25": "gave in and bought epoxy for the chair joints, hide glue gels in this cold shed",
    "2026-09-01": "shed is warm, pot's on the stove, chair joints get bone glue now",
}
FILL = ("the wifi upstairs is slow", "we have choir on thursdays", "the paint is in the cellar")


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(Settings(data_dir=tmp_path), embedder=minilm, clock=lambda: NOW) as memory:
        assert memory.wait_ready(60)
        for text in FILL:
            memory.remember(ME, RememberRequest(text, when=at("2026-02-01")))
        yield memory


def answers(memory: Memory, told: dict[str, str], asked: str) -> list[str]:
    for day, text in told.items():
        memory.remember(ME, RememberRequest(text, when=at(day)))
    found = memory.recall(ME, RecallRequest(asked, k=4, context=0))
    return [hit.memory.text for hit in found.hits if hit.memory.text in told.values()]


ANNOUNCED = {
    "2026-03-10": "Our flat is on the third floor, and the rent is 1450 euros warm.",
    "2026-08-20": "Turns out the rent goes up to 1520 from October, the letter came today.",
}
VERSIONS = {
    "2026-03-10": "the heron server runs Postgres 15",
    "2026-05-10": "the heron server has 64 GB of memory",
    "2026-10-10": "the heron server runs Postgres 16 now",
}


def test_what_is_announced_is_told_with_the_day_from_which_it_holds(memory: Memory) -> None:
    told = answers(memory, ANNOUNCED, "how much is our rent?")
    assert told == [ANNOUNCED["2026-08-20"], ANNOUNCED["2026-03-10"]]
    found = memory.recall(ME, RecallRequest("how much is our rent?", k=4))
    assert found.hits[1].doubtful_since == at("2026-10-01")
    (pair,) = memory.doubts(ME)
    memory.resolve(ME, pair.older.id, pair.newer.id, "newer-holds")
    assert memory.get(ME, pair.older.id).valid_until == at("2026-10-01")


def test_what_is_announced_comes_first_before_that_day_too(memory: Memory) -> None:
    """It says itself from when on it holds. Weights leave the order to the doubt."""
    older, newer = (
        "our rent is 1450 euros",
        "From January on our rent is 1520 euros, says Mr Doyle.",
    )
    for day, text in (("2026-03-10", older), ("2026-11-20", newer)):
        memory.remember(ME, RememberRequest(text, when=at(day)))
    asked = RecallRequest(older, k=4, weights=Weights(importance=0.01))
    found = memory.recall(ME, asked)
    assert [hit.memory.text for hit in found.hits][:2] == [newer, older]
    assert found.hits[1].doubtful_since == at("2027-01-01")


@pytest.mark.parametrize(
    ("told", "asked", "day"),
    [
        (ANNOUNCED, "what was our rent in the summer?", "2026-03-10"),
        (ANNOUNCED, "what was our rent in september?", "2026-03-10"),
        (ANNOUNCED, "what was our rent in october?", "2026-08-20"),
        (
            VERSIONS,
            "which version of Postgres did the heron server have in the summer?",
            "2026-03-10",
        ),
        (RENT, "how much was the rent in march?", "2026-03-10"),
        (RENT, "what was the rent in july?", "2026-06-10"),
        (RENT, "what was the rent in june?", "2026-06-10"),
        (RENT, "what was the rent in october?", "2026-09-10"),
        (RENT, "what was the rent in january?", "2026-03-10"),
        (RENT, "what was the rent before june?", "2026-03-10"),
        (RENT, "what was our rent before?", "2026-06-10"),
        (RENT, "what was the rent originally?", "2026-03-10"),
        (RENT, "how much is our rent?", "2026-09-10"),
        (KEY, "who had the spare key in april?", "2026-03-10"),
        (KEY, "who had the spare key before the schmidts?", "2026-03-10"),
        (KEY, "who has the spare key?", "2026-09-10"),
        (GLUE, "which glue did I use for the chair joints in may?", "2026-04-25"),
        (GLUE, "which glue did I use for the chair joints at first?", "2026-03-01"),
        (GLUE, "which glue do I use for the chair joints?", "2026-09-01"),
    ],
)
def test_what_held_then_comes_first(
    memory: Memory, told: dict[str, str], asked: str, day: str
) -> None:
    assert answers(memory, told, asked)[0] == told[day]


def test_what_tells_of_the_time_asked_about_held_then(memory: Memory) -> None:
    told = {
        "2026-03-10": "our rent is 1450",
        "2026-09-10": "our rent is 1490 since it was raised on 4 May 2026",
    }
    assert answers(memory, told, "what was the rent in may?")[0] == told["2026-09-10"]


def test_what_was_to_hold_later_did_not_hold_then(memory: Memory) -> None:
    told = {
        "2026-03-10": "our rent is 1450",
        "2026-06-10": "our rent is 1300 now, from 1 July 2026 until 31 October 2026",
    }
    assert answers(memory, told, "what was the rent in june?")[0] == told["2026-03-10"]


def test_what_was_replaced_on_purpose_is_shown_for_its_time(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest(RENT["2026-03-10"], when=at("2026-03-10"))).id
    new = "the landlord wants 1520 for our rent now"
    memory.remember(ME, RememberRequest(new, when=at("2026-06-10"), replaces=old))
    for asked, first in (("what was our rent in april?", old), ("what is our rent?", "")):
        found = memory.recall(ME, RecallRequest(asked, k=4, context=0))
        assert (found.hits[0].memory.id == old) == bool(first)


def test_what_was_put_in_doubt_later_held_then(memory: Memory) -> None:
    older = "Frau Huber has our spare key. She is in until noon. Ring twice."
    newer, asked = "the spare key is with the schmidts now", "who had the spare key in april?"
    old, new = (
        memory.remember(ME, RememberRequest(text, when=at(day))).id
        for text, day in ((older, "2026-03-10"), (newer, "2026-09-10"))
    )
    assert memory.recall(ME, RecallRequest(asked)).hits[0].memory.text == newer
    link = Change("link", new, {"b": old, "kind": "doubts", "weight": 1.0}, actor="me")
    memory._runtime.parts().store.commit(lambda tx: tx.append(link))
    assert memory.recall(ME, RecallRequest(asked)).hits[0].memory.text == older


def test_another_ones_is_not_what_held_before(memory: Memory) -> None:
    told = {
        "2026-03-10": "Marta's bees are behind the church",
        "2026-09-10": "our bees are in the orchard",
    }
    assert answers(memory, told, "where were our bees before?")[0] == told["2026-09-10"]


@pytest.mark.parametrize(
    ("asked", "past"),
    [
        ("what was the rent in march?", Past(at("2026-03-01"), at("2026-04-01") - 1e-3)),
        ("wer hatte im April den Schlüssel?", Past(at("2026-04-01"), at("2026-05-01") - 1e-3)),
        ("what was the rent before june?", Past(-INF, at("2026-06-01") - 1e-3)),
        ("which bank was it at first?", Past(-INF, -INF)),
        ("welche Bank war es am Anfang?", Past(-INF, -INF)),
        ("who had the key before?", Past(INF, INF)),
        ("who was our doctor before Dr. Lim?", Past(INF, INF)),
        ("was ist unsere frühere Adresse?", Past(INF, INF)),
        ("what was the rent since march?", None),
        ("what was the rent?", None),
        ("how much is the rent in march?", None),
        ("what is due before june?", None),
        ("did the rent change?", None),
        ("do I still have to ask before I push?", None),
    ],
)
def test_the_time_asked_about(asked: str, past: Past | None) -> None:
    assert past_asked(asked, query_dates(asked, NOW), NOW) == past
