"""Time: when it happened, what was known then, what is out of date, and questions about a time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Clock, ToyEmbedder

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import RememberRequest

ME = Identity("me")
DAY = 86_400.0  # the clock stands on Saturday, 1 June 2024


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store of what was said on which day, among a hundred other remarks on saying things."""
    folder = tmp_path_factory.mktemp("told") / "store"
    memory = Memory(Settings(data_dir=folder), clock=Clock(), embedder=ToyEmbedder())
    for number in range(100):
        text = f"I say this every last week: remark {number}."
        memory.remember(ME, RememberRequest(text, when=f"2023-{number * 12 // 100 + 1:02d}-10"))
    said = {
        "2024-05-19": "The gutter needs paint.",
        "2024-05-20": "My brother bought a kayak.",
        "2024-05-26": "The choir sings on Thursday.",
        "2024-05-28": "Nobody watered the ferns.",
    }
    ids = {
        day: memory.remember(ME, RememberRequest(text, when=day)).id for day, text in said.items()
    }
    memory.close()
    return folder, ids


@pytest.fixture
def weeks(tmp_path: Path, told: tuple[Path, dict[str, str]]) -> dict[str, str]:
    """The days of `told`, in a store of the test's own: asked for before `memory`."""
    folder, ids = told
    shutil.copytree(folder, tmp_path / "store")
    return ids


def given(found: Recollection) -> set[str]:
    return {hit.memory.id for hit in found.hits}


def test_a_stay_is_found_by_each_of_its_days(memory: Memory) -> None:
    stay = memory.remember(
        ME, RememberRequest("The tent stands by the lake from 10 to 14 June.")
    ).id
    memory.remember(ME, RememberRequest("The plumber mends the tap by the sink on 13 June."))
    memory.remember(ME, RememberRequest("The lake is cold."))
    found = memory.recall(ME, RecallRequest("What happens on 12 June?"))
    assert found.hits[0].memory.id == stay


def test_what_did_i_say_last_week(weeks: dict[str, str], memory: Memory) -> None:
    found = memory.recall(ME, RecallRequest("what did I say last week?", k=5))
    assert found.found
    assert given(found) == {weeks["2024-05-20"], weeks["2024-05-26"]}
    assert given(memory.recall(ME, RecallRequest("What did we talk about on 19 May?"))) == {
        weeks["2024-05-19"]
    }


@pytest.mark.parametrize(
    "query",
    ["what did I say yesterday?", "What am I doing in November?", "Was steht am 9. Juli an?"],
)
def test_a_time_that_nothing_fits_filters_nothing_away(
    weeks: dict[str, str], memory: Memory, query: str
) -> None:
    found = memory.recall(ME, RecallRequest(query))
    assert (found.found, found.feeling, found.hits) == (False, "none", ())
    assert 0 < len(found.partial) <= 3  # what comes nearest


PLANS = {
    "I'm going to Prague in August.": "What am I doing in August?",
    "The tax adviser comes on 14 June at nine.": "anything on the 14th?",
    "Band rehearsal moved to 7 June.": "What's on for Friday?",
    "Am 20. Juni ist Elternabend in der Schule.": "Was habe ich am 20. Juni vor?",
    "Wir streichen am 5. Juni das Kinderzimmer.": "Was steht nächste Woche an?",
    "Grandpa turns eighty on 23 December.": "What's coming up in December?",
    "In September fahren wir an die Ostsee.": "Was ist im September geplant?",
}


def test_a_time_alone_finds_what_names_it(weeks: dict[str, str], memory: Memory) -> None:
    for text in PLANS:
        memory.remember(ME, RememberRequest(text, when="2024-05-30"))
    found = {told: memory.recall(ME, RecallRequest(asked, k=3)) for told, asked in PLANS.items()}
    first = {told: (each.hits[0].memory.text, each.feeling) for told, each in found.items()}
    assert first == {told: (told, "high") for told in PLANS}


def test_a_month_said_last_year_is_that_of_last_year(memory: Memory, clock: Any) -> None:
    said = {
        "2023-05-02": "I'm going to Prague in August.",
        "2024-05-02": "I'm going to Tromsø in August.",
    }
    for day, text in said.items():
        memory.remember(ME, RememberRequest(text, when=day))
    coming = memory.recall(ME, RecallRequest("What am I doing in August?"))
    assert [hit.memory.text for hit in coming.hits] == [said["2024-05-02"]]
    past = memory.recall(ME, RecallRequest("What happened in August?"))
    assert [hit.memory.text for hit in past.hits] == [said["2023-05-02"]]


def test_what_happened_counts_the_days_that_a_text_names(memory: Memory, clock: Any) -> None:
    told = memory.remember(
        ME, RememberRequest("On 7 May we moved into the new flat.", when="2024-05-30")
    ).id
    assert given(memory.recall(ME, RecallRequest("what happened on 7 May?"))) == {told}
    assert given(memory.recall(ME, RecallRequest("what did I say on 7 May?"))) == {told}
    said = memory.remember(ME, RememberRequest("The keys are in the drawer.", when="2024-05-07")).id
    assert given(memory.recall(ME, RecallRequest("what did I say on 7 May?"))) == {said}


def test_a_question_with_content_takes_the_time_as_a_cue(
    open_memory: Any, minilm: Embedder
) -> None:
    memory = open_memory(embedder=minilm)
    for n in range(12):
        memory.remember(ME, RememberRequest(f"Room {n} got a new lamp.", when=f"2024-05-{n + 10}"))
    said = {
        "2024-03-02": "The boiler hums at night.",
        "2024-05-22": "The boiler hums in the morning.",
        "2024-04-11": "The boiler hums at noon.",
    }
    ids = {
        day: memory.remember(ME, RememberRequest(text, when=day)).id for day, text in said.items()
    }
    found = memory.recall(ME, RecallRequest("what did I say about the boiler last week?", k=3))
    assert given(found) == set(ids.values())
    assert found.hits[0].memory.id == ids["2024-05-22"]


def test_what_comes_is_given_in_the_order_of_time(weeks: dict[str, str], memory: Memory) -> None:
    due = {
        "the ferry leaves on 20 June": "2024-03-01",
        "Parking permit ends 12 June": "2024-05-29",
        "lunch with Ole on Thursday": "2024-05-31",
        "Die Kaution ist bis 14. Juni fällig": "2024-04-02",
    }
    for text, day in due.items():
        memory.remember(ME, RememberRequest(text, when=day))
    for query in ("What is due in the next three weeks?", "Was steht im Juni an?"):
        found = memory.recall(ME, RecallRequest(query))
        assert [hit.memory.text for hit in found.hits] == [list(due)[n] for n in (2, 1, 3, 0)]


def test_what_changed_since_gives_what_was_superseded_with_what_holds(
    weeks: dict[str, str], memory: Memory, clock: Any
) -> None:
    old = memory.remember(ME, RememberRequest("The allotment is plot 14", when="2023-02-01")).id
    new = memory.remember(ME, RememberRequest("The allotment is now plot 31", when="2024-03-20")).id
    for query in ("What changed since March?", "Was hat sich seit März geändert?"):
        found = memory.recall(ME, RecallRequest(query, k=5))
        assert [hit.memory.id for hit in found.hits][:2] == [new, old], query


def test_since_and_until_alone_are_a_question(weeks: dict[str, str], memory: Memory) -> None:
    found = memory.recall(
        ME, RecallRequest("what did I say?", since="2024-05-19", until="2024-05-20")
    )
    assert found.found
    assert given(found) == {weeks["2024-05-19"], weeks["2024-05-20"]}


def test_what_changed_is_given_with_the_valid_one_first(memory: Memory, clock: Any) -> None:
    old = memory.remember(
        ME, RememberRequest("Correct as of today: Ana works as a nurse in Graz.")
    ).id
    clock.pass_by(30 * DAY)
    new = memory.remember(ME, RememberRequest("Ana is an editor in Vienna now.")).id
    clock.pass_by(30 * DAY)
    fields = {"superseded_by": new, "superseded_at": clock.now - DAY}
    from memory_core.records import Change

    store = memory._runtime.parts().store
    store.commit(lambda tx: tx.append(Change("put", old, fields)))
    found = memory.recall(ME, RecallRequest("Ana works as a nurse in Graz"))
    assert [hit.memory.id for hit in found.hits] == [new, old]
    assert [hit.memory.superseded_by for hit in found.hits] == ["", new]
    then = memory.recall(ME, RecallRequest("Ana works as a nurse in Graz", as_of="2024-06-10"))
    assert given(then) == {old}


def test_what_was_replaced_on_purpose_is_only_in_the_past(memory: Memory, clock: Any) -> None:
    old = memory.remember(ME, RememberRequest("The wifi code is tulip.")).id
    clock.pass_by(10 * DAY)
    new = memory.remember(ME, RememberRequest("The wifi code is crocus.", replaces=old)).id
    assert given(memory.recall(ME, RecallRequest("what is the wifi code?"))) == {new}
    assert given(
        memory.recall(ME, RecallRequest("what is the wifi code?", as_of="2024-06-05"))
    ) == {old}


def test_the_latest_and_the_first_are_told_apart(memory: Memory, clock: Any) -> None:
    for number in range(12):
        clock.now += 30 * DAY
        memory.remember(ME, RememberRequest("Ana rowed the long regatta.", session=f"s{number}"))

    def order(query: str) -> list[float]:
        found = memory.recall(ME, RecallRequest(query, k=12, explain=True, rehearse=False))
        every = [*found.hits, *found.partial, *found.rejected]
        return [float(hit.why.get("order", 0.0)) for hit in every if "regatta" in hit.memory.text]

    latest, first, plain = map(
        order, ("Which was Ana's latest regatta?", "Which regatta did Ana row first?", "regatta")
    )
    assert min(latest) < max(latest) == pytest.approx(0.5)
    assert min(first) < max(first) <= 0.0
    assert not any(plain)
    assert not any(order("Which was the latest regatta in May 2023?"))


def test_the_latest_comes_before_what_says_the_same_earlier(memory: Memory, clock: Any) -> None:
    for number, place in enumerate(("Turku", "Riga", "Kiel")):
        clock.now += 30 * DAY
        memory.remember(
            ME, RememberRequest(f"Ana rowed the regatta of {place}.", session=f"s{number}")
        )
        for other in range(6):
            memory.remember(ME, RememberRequest(f"Lunch {other} was soup.", session=f"s{number}"))

    def first(query: str) -> str:
        return memory.recall(ME, RecallRequest(query, k=3, rehearse=False)).hits[0].memory.text

    assert "Kiel" in first("Which regatta did Ana row most recently?")
    assert "Turku" in first("Which regatta did Ana row first?")
