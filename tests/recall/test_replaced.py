"""What was replaced leads to what replaced it, and is shown where somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.candidates import CANDIDATES, LEADS
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection
from memory_core.remember.request import RememberRequest
from memory_core.text.time.mentions import asks_what_was, asks_what_was_before
from memory_core.text.time.timestamps import iso

ME = Identity("me")
THEN, DAY = 1_750_000_000.0, 86_400.0
OTHERS = (
    "I maintain tidepool, a small library for tide tables.",
    "tidepool 0.9 came out today, it drops Python 3.8.",
    "Somebody reported that tidepool crashes on Windows.",
    "Nina likes horses.",
    "Theo has swimming on Fridays.",
)
OLD, NEW = (
    "tidepool is released under the MIT licence.",
    "Relicensed it to Apache 2.0 after everybody agreed.",
)
ASKED = "Which licence is tidepool under?"
TUESDAY = "Nina's piano lesson is on Tuesdays at 16:30."
THURSDAY = "Nina's piano is on Thursdays at 17:00."
FRIDAY = "Fridays at three it is, the teacher has another pupil now."


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    settings = Settings(data_dir=tmp_path)
    with Memory(settings, embedder=minilm, clock=lambda: THEN + 60 * DAY) as memory:
        assert memory.wait_ready(60)
        for day, text in enumerate(OTHERS):
            tell(memory, text, day)
        yield memory


def tell(memory: Memory, text: str, day: float, **more: str) -> str:
    return memory.remember(ME, RememberRequest(text, when=THEN + day * DAY, **more)).id


def ask(memory: Memory, question: str, **more: Any) -> Recollection:
    return memory.recall(ME, RecallRequest(question, context=0, **more))


def texts(found: Recollection) -> list[str]:
    return [hit.memory.text for hit in (*found.hits, *found.partial)]


def test_who_decides_that_the_newer_one_holds_finds_it_where_the_older_one_stood(
    memory: Memory,
) -> None:
    old, new = tell(memory, OLD, 10), tell(memory, NEW, 30)
    before = ask(memory, ASKED)
    assert texts(before)[0] == OLD  # the newer one has no word of the question
    memory.resolve(ME, old, new, "newer-holds")
    after = ask(memory, ASKED)
    assert texts(after)[0] == NEW
    assert OLD not in texts(after)
    assert after.confidence >= before.confidence


def test_what_replaces_a_text_is_found_by_its_words(memory: Memory) -> None:
    old = tell(memory, OLD, 10)
    tell(memory, NEW, 30, replaces=old)
    assert texts(ask(memory, ASKED, k=1)) == [NEW]


def test_as_of_an_earlier_moment_the_older_one_answers(
    open_memory: Callable[..., Memory], clock: Any, minilm: Embedder
) -> None:
    memory = open_memory(embedder=minilm)
    old = memory.remember(ME, RememberRequest(OLD)).id
    clock.pass_by(DAY)
    between = iso(clock.now)
    clock.pass_by(DAY)
    memory.remember(ME, RememberRequest(NEW, replaces=old))
    assert texts(ask(memory, ASKED, as_of=between)) == [OLD]
    assert texts(ask(memory, ASKED)) == [NEW]


def test_the_last_of_a_chain_answers_for_all_before_it(memory: Memory) -> None:
    first = tell(memory, TUESDAY, 10)
    second = tell(memory, THURSDAY, 20, replaces=first)
    tell(memory, FRIDAY, 30, replaces=second)
    assert texts(ask(memory, "When is Nina's piano lesson?"))[0] == FRIDAY
    asked = texts(ask(memory, "When was Nina's piano lesson before?"))
    assert asked[0] == THURSDAY
    assert {TUESDAY, FRIDAY} <= set(asked)


def test_a_chain_leads_to_its_last_where_what_is_between_is_no_candidate(memory: Memory) -> None:
    first = tell(memory, TUESDAY, 10)
    second = tell(memory, "Another day suits us better.", 20, replaces=first)
    tell(memory, FRIDAY, 30, replaces=second)
    for n in range(LEADS):  # these were replaced too, and are nearer to the question than *second*
        old = tell(memory, f"Theo's piano lesson {n} is on a Monday.", 11 + n)
        tell(memory, f"Theo does not play piece {n} any more.", 21 + n, replaces=old)
    assert texts(ask(memory, "When is Nina's piano lesson?"))[0] == FRIDAY


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        pytest.param(
            "XK-7741 is in the drawer with the batteries.",
            "Jonas took all of it to his boat.",
            "Which of the keys of the office is XK-7741?",
            id="by words",
        ),
        pytest.param(
            "Our physician is Dr. Weber.",
            "Since her retirement it has been Dr. Lind.",
            "Who is the doctor we see?",
            id="by meaning",
        ),
    ],
)
def test_what_was_replaced_leads_on_among_many(
    memory: Memory, old: str, new: str, question: str
) -> None:
    for n in range(CANDIDATES + 10):
        tell(memory, f"Key {n} hangs in the office of doctor {n}, who sees to the keys.", n / 100)
    for n in range(LEADS + 1):
        lost = tell(memory, f"Which key of the office is key {n}?", 1 + n)
        tell(memory, f"Room {n} has a new lock.", 10 + n, replaces=lost)
    tell(memory, new, 30, replaces=tell(memory, old, 20))
    assert new in texts(ask(memory, question))


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("When is Nina's piano lesson?", [THURSDAY]),
        ("When does Nina have piano?", [THURSDAY]),
        ("When did Nina have piano before?", [TUESDAY, THURSDAY]),
        ("When was Nina's piano lesson formerly?", [TUESDAY, THURSDAY]),
        ("What changed about Nina's piano lesson?", [THURSDAY, TUESDAY]),
        ("Was Nina's piano ever on Tuesdays?", [THURSDAY, TUESDAY]),
    ],
)
def test_what_was_replaced_is_shown_to_who_asks_for_it(
    memory: Memory, question: str, shown: list[str]
) -> None:
    old = tell(memory, TUESDAY, 10)
    new = tell(memory, THURSDAY, 20, replaces=old)
    found = ask(memory, question)
    assert [text for text in texts(found) if text in (TUESDAY, THURSDAY)] == shown
    assert texts(found)[: len(shown)] == shown
    for hit in found.hits:
        assert hit.memory.superseded_by == (new if hit.memory.text == TUESDAY else "")


def test_what_replaces_a_text_passes_the_filters_itself(memory: Memory) -> None:
    old = tell(memory, OLD, 10)
    tell(memory, NEW, 30, replaces=old, speaker="Ada")
    assert NEW not in texts(ask(memory, ASKED, speaker="Yuki"))
    assert texts(ask(memory, ASKED, speaker="Ada")) == [NEW]
    assert OLD not in texts(ask(memory, ASKED + " And before?", speaker="Yuki"))


def test_what_replaces_a_text_that_only_somebody_else_may_read_is_not_found_by_it(
    memory: Memory,
) -> None:
    old = tell(memory, OLD, 10)
    tell(memory, NEW, 30, replaces=old)
    other = memory.recall(Identity("other"), RecallRequest(ASKED))
    assert texts(other) == []


def test_what_puts_a_memory_in_doubt_stands_beside_it(memory: Memory) -> None:
    older = "We chose the sage green tiles for the bathroom floor."
    newer = (
        "The tile shop can't deliver the sage green, so we took the terracotta ones instead, "
        "52 per square metre."
    )
    tell(memory, older, 10)
    for day, text in enumerate(
        (
            "The bathroom floor gets slippery, which is what I like least about tiles.",
            "Which tiles did the neighbours choose? Slate, for their bathroom floor.",
            "A tiler from Kiel would lay the bathroom floor in May.",
        )
    ):
        tell(memory, text, 12 + day)
    tell(memory, newer, 30)
    assert (older, newer) in [(pair.older.text, pair.newer.text) for pair in memory.doubts(ME)]
    found = texts(ask(memory, "Which tiles did we choose for the bathroom floor?"))
    assert abs(found.index(older) - found.index(newer)) == 1


@pytest.mark.parametrize(
    "question",
    [
        "What was my old address?",
        "Where did we meet before?",
        "Did we ever use Jenkins?",
        "Who was the previous landlord?",
        "Which bank did I use to be with, formerly?",
        "Wo haben wir früher gewohnt?",
        "Was war meine alte Adresse?",
        "Wann war das Training ursprünglich?",
        "What has changed about the rota?",
    ],
)
def test_questions_for_what_held_before(question: str) -> None:
    assert asks_what_was_before(question)


@pytest.mark.parametrize(
    "question",
    [
        "How old is Ida?",
        "What do I need to do before the trip?",
        "Wie alt ist Ida?",
        "Wann ist das Training?",
        "Where do we meet?",
        "When was Ida born?",
    ],
)
def test_questions_for_what_holds(question: str) -> None:
    assert not asks_what_was_before(question)


@pytest.mark.parametrize(
    ("question", "past"),
    [
        ("When was the exam?", False),
        ("What date was the exam?", False),
        ("On which day was the party?", False),
        ("An welchem Tag war die Probe?", False),
        ("Um wie viel Uhr war die Probe?", False),
        ("What time did we meet?", True),
        ("When was the exam before?", True),
        ("Wann war das Training ursprünglich?", True),
        ("Where was the exam?", True),
        ("Haben wir montags geöffnet?", False),
        ("Haben wir das Fass gestern geleert?", True),
        ("Where did I put the spare key?", False),
        ("Where have you left the ladder?", False),
        ("Which queue did we decide on?", False),
        ("Wo habe ich den Schlüssel hingelegt?", False),
        ("Was hatten wir mit der Werkstatt ausgemacht?", False),
        ("Who was the landlord again?", False),
        ("Wo war nochmal der Schlüssel?", False),
        ("Where did I put the key before?", True),
        ("When did we decide on the queue?", True),
        ("Where did we live?", True),
        ("Wo haben wir gewohnt?", True),
    ],
)
def test_what_was_done_and_lasts_is_asked_for_as_it_is(question: str, past: bool) -> None:
    assert asks_what_was(question) is past
