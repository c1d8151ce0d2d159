"""What is put in doubt without a word of change, by the packaged model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from tests.conftest import NoModel

ME = Identity("me")
DAY = 86_400.0
THEN = 1_750_000_000.0
OTHERS = (
    "My sister plays the cello.",
    "Yesterday I cleaned the gutters.",
    "The tomatoes need water twice a week.",
    "We use pnpm in the web repository.",
    "Ruben coaches the junior rowers.",
)


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    settings = Settings(data_dir=tmp_path)
    with Memory(settings, embedder=minilm, clock=lambda: THEN + 60 * DAY) as memory:
        assert memory.wait_ready(60)
        for text in OTHERS:
            tell(memory, text, -30)
        yield memory


def tell(memory: Memory, text: str, day: float) -> str:
    return memory.remember(ME, RememberRequest(text, when=THEN + day * DAY)).id


def doubted(memory: Memory) -> list[tuple[str, str]]:
    return [(pair.older.text, pair.newer.text) for pair in memory.doubts(ME)]


@pytest.mark.parametrize("others", [(), OTHERS[:2]])
def test_what_a_new_user_tries_first_is_put_in_doubt(memory: Memory, others: Sequence[str]) -> None:
    who = Identity("newcomer")
    older, newer = "Lena has swimming on Wednesday at 4 pm.", "Lena's swimming is Friday at 5 pm."
    for day, text in enumerate((*others, older, "Our bin lorry comes on Thursday.", newer)):
        memory.remember(who, RememberRequest(text, when=THEN + day * DAY))
    assert [(pair.older.text, pair.newer.text) for pair in memory.doubts(who)] == [(older, newer)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "The invoices are checked by Mr Okoro.",
            "Fatima from the second floor checks the invoices, Mr Okoro is on the night shift",
        ),
        (
            "Our bread comes from the mill bakery.",
            "picked up the bread at Hofmann's, they deliver it to us twice a week",
        ),
        (
            "The staging database is a Postgres 14.",
            "staging database runs Postgres 17, the migration took the whole night",
        ),
        (  # a number tells as well as a day
            "The dev team meets on Tuesdays.",
            "The dev team meets twice a week, whenever two of them are in.",
        ),
        (  # the day is told besides
            "Mein Portugiesischunterricht ist bei Dona Célia, mittwochs",
            "Mit uns in Portugiesisch weiter macht ein gewisser Rui, Célia ist in Coimbra.",
        ),
    ],
)
def test_what_tells_more_lately_of_the_same_thing_puts_it_in_doubt(
    memory: Memory, older: str, newer: str
) -> None:
    tell(memory, older, 0)
    receipt = memory.remember(ME, RememberRequest(newer, when=THEN + 20 * DAY))
    assert doubted(memory) == [(older, newer)]
    assert [pair.reason for pair in memory.doubts(ME)] == [
        "the later text may say how the same thing is now"
    ]
    assert any(
        "the later text may say how the same thing is now" in told for told in receipt.warnings
    )


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The left gate is painted green.", "The right gate is painted red, with two coats."),
        ("Elena teaches chemistry.", "Elena's brother bakes the bread for our whole street."),
        (
            "The swimming hall opens at 8.",
            "The swimming hall opens at 11 on 24 June because of the school race.",
        ),
        (
            "The swimming hall opens at 8.",
            "does the swimming hall open at 8, or is it later in the winter months?",
        ),
        ("The van holds nine people.", "The van still holds nine people, we counted the seats."),
        (
            "We walked to the lake on Sunday.",
            "Walked around the lake with the whole choir, it rained",
        ),
        ("odometer on 2 May: 81200", "odometer on 9 May: 81950"),
        (
            "Our holiday on Bornholm is from 4 to 18 September.",
            "Booked the ferry to Bornholm: 4 September 9:30 from Sassnitz.",
        ),
        (
            "The wiki says deploys happen on Tuesdays.",
            "Hotfixes are deployed on any day.",
        ),
        ("Lena is faster than Tomas.", "Tomas is stronger than Lena."),
        ("Train from Ulm to Linz: 34 minutes", "Train from Linz to Ulm: 51 minutes"),
        ("Im Sommer öffnet das Freibad um 8.", "Im Winter öffnet das Freibad um 11."),
    ],
    ids=[
        "another side",
        "somebody else's",
        "one day",
        "asked",
        "as it was",
        "what happened",
        "a series",
        "one day of several",
        "a day and no day",
        "the other way round of something else",
        "another way",
        "another season",
    ],
)
def test_what_is_true_beside_it_does_not(memory: Memory, older: str, newer: str) -> None:
    tell(memory, older, 0)
    tell(memory, newer, 20)
    assert doubted(memory) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Our bread comes from the mill bakery.", "picked up the bread at Hofmann's, they deliver"),
        ("The choir rehearses on Tuesdays.", "Choir practice has moved to Thursday, still at 7."),
    ],
)
def test_what_was_said_in_two_conversations_is_in_doubt_in_both(
    memory: Memory, older: str, newer: str
) -> None:
    said = [(older, "one"), (older.rstrip("."), "two"), (newer, "three")]
    ids = [
        memory.remember(ME, RememberRequest(text, when=THEN + day * DAY, session=session)).id
        for day, (text, session) in enumerate(said)
    ]
    pairs = {(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)}
    assert pairs == {(ids[0], ids[2]), (ids[1], ids[2])}


def test_what_is_nearer_to_the_newer_one_is_doubted_alone(memory: Memory) -> None:
    tell(memory, "The bread for the canteen is baked by the sisters of the convent.", 0)
    nearer = "Our bread comes from the mill bakery."
    tell(memory, nearer, 1)
    newer = "picked up our bread at Hofmann's, they deliver it to us twice a week"
    tell(memory, newer, 20)
    assert doubted(memory) == [(nearer, newer)]


def test_what_is_the_users_is_the_speakers_own(memory: Memory) -> None:
    older, newer = "User's bank is Ostbank.", "User moved all accounts from Ostbank to Nordbank."
    tell(memory, older, 0)
    tell(memory, newer, 20)
    assert doubted(memory) == [(older, newer)]


def test_another_value_in_the_same_words_puts_the_first_in_doubt(memory: Memory) -> None:
    ports = ("The cache listens on port 6379.", "The cache listens on port 6380.")
    tell(memory, ports[0], 0)
    receipt = memory.remember(ME, RememberRequest(ports[1], when=THEN + 20 * DAY))
    assert [each.text for each in receipt.similar] == [ports[0]]
    assert any("may be out of date" in told for told in receipt.warnings)
    assert doubted(memory) == [ports]
    tell(memory, "The queue listens on port 6379.", 21)
    tell(memory, "The cache listens on every interface.", 22)
    assert doubted(memory) == [ports]


def test_another_value_is_seen_before_there_are_vectors(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with Memory(settings, embedder=NoModel(), clock=lambda: THEN + 60 * DAY) as memory:
        tell(memory, "User lives in Tampere.", 0)
        tell(memory, "User lives in Oulu.", 20)
        assert doubted(memory) == [("User lives in Tampere.", "User lives in Oulu.")]


def test_a_question_for_what_was_is_answered_by_the_older_one(memory: Memory) -> None:
    older = "The staging database is a Postgres 14."
    tell(memory, older, 0)
    newer = "staging database runs Postgres 17, the migration took the whole night"
    tell(memory, newer, 20)
    assert doubted(memory) == [(older, newer)]
    for asked, first in (
        ("Which database is staging?", newer),
        ("What was the staging database?", older),
    ):
        found = memory.recall(ME, RecallRequest(asked, k=5, context=0))
        assert found.hits[0].memory.text == first


BOTH_TRUE = [
    ("Invoice 17 is open.", "Invoice 18 was cancelled."),
    ("I work at Harland in the paint shop.", "I started at the new gym in May."),
    ("My sister is Anna.", "Bea is my sister."),
    ("My neighbour is Tom.", "Eva is my neighbour."),
    ("Meter reading in May: 40 kWh.", "Meter reading in June: 60 kWh."),
    ("The upper hinge is loose.", "The lower hinge was replaced."),
    ("The left lamp is broken.", "The right lamp was replaced."),
    ("Week 12: we closed 14 tickets.", "Week 13: we closed 9 tickets."),
    ("I take vitamin D.", "I stopped taking vitamin C."),
    ("The staging database is on host a-1.", "The production database was moved to host b-4."),
    ("The password for the NAS is hunter2.", "The password for the router was changed."),
    ("The party is at Jonas's place.", "The after-party is at the Blue Fox."),
    ("I'm reading a book about Rome.", "I finished a book about Carthage."),
    ("I'm allergic to peanuts.", "I'm not allergic to cats."),
    ("I play the guitar.", "I changed the strings of my guitar."),
    ("Our office is in Lyon.", "Our office got new chairs."),
    ("The API uses OAuth.", "The API returns JSON now."),
    ("I ran to the lighthouse.", "I no longer run to the lighthouse."),
    ("The shed roof needs paint.", "The shed roof leaks since the storm."),
    ("The garden hose cost 30 francs.", "The garden hose now drips."),
    ("The deposit is in escrow.", "The deposit is in euros."),
    ("Uncle Piet is in hospital.", "Uncle Piet is in Room 9."),
    ("The pool opens at nine.", "The pool closes at six."),
    ("Marlis keeps bees.", "Marlis' neighbour no longer keeps bees."),
    ("Mr. Sorel repairs clocks.", "Mrs. Sorel no longer repairs bicycles."),
    ("Tank one holds 400 litres.", "Tank two holds 650 litres."),
    ("Probe K-11 weighs 12 grams.", "Probe K-14 weighs 14 grams."),
    ("Ride to Husum on 2 June: 88 kilometres.", "Ride to Husum on 9 June: 90 kilometres."),
    ("Das Hemd darf bei 30 Grad gewaschen werden.", "Das Fest musste verlegt werden."),
    ("Der Baum trägt dieses Jahr nichts.", "Der Bus fährt seit Mai nicht mehr."),
    ("I drive a Volvo.", "I sold the piano."),
    (
        "Mit Uwe besprochen: das Dach wird erst am 10. Januar fertig. (Seite 36)",
        "Zahnarzttermin am 13. März um 16 Uhr. (Seite 69)",
    ),
]
"""Pairs that share words and words of change, and are both true."""


@pytest.mark.parametrize("others", [(), OTHERS])
def test_two_matters_that_share_words_are_left_alone(memory: Memory, others: Sequence[str]) -> None:
    for number, pair in enumerate(BOTH_TRUE):
        who = Identity(f"teller-{number}")
        for day, text in enumerate((*others, *pair)):
            memory.remember(who, RememberRequest(text, when=THEN + day * DAY))
        assert memory.doubts(who) == [], pair


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "The book club meets on the last Thursday of each month at Lena's place.",
            "The book club moved to the first Tuesday of the month.",
        ),
        ("Yoga is on Mondays at 19:00 in the parish hall with Ute.", "yoga moved to Wednesdays"),
        (
            "The rowing course is at 9:30 every morning in boat house Kiebitz.",
            "The rowing course moved to 9:45.",
        ),
    ],
)
def test_a_day_or_time_that_moved_is_in_doubt_whatever_else_was_said(
    memory: Memory, older: str, newer: str
) -> None:
    tell(memory, older, 0)
    tell(memory, newer, 20)
    assert doubted(memory) == [(older, newer)]
    assert not any(each.superseded_by for each in memory.listing(ME))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "The book club meets on the last Thursday of each month at Lena's place.",
            "The book club moved to another shop for its novels.",
        ),
    ],
)
def test_what_moved_without_another_time_of_the_same_leaves_it(
    memory: Memory, older: str, newer: str
) -> None:
    tell(memory, older, 0)
    tell(memory, newer, 20)
    assert doubted(memory) == []


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The lamp in the guest room broke in May.", "The lamp in my room was changed in June."),
        ("heron has 64 GB of RAM.", "heron moved to rack 12, which took 40 minutes."),
    ],
)
def test_what_begins_alike_and_moved_is_no_other_time_of_the_same(
    memory: Memory, older: str, newer: str
) -> None:
    tell(memory, older, 0)
    tell(memory, newer, 20)
    assert not any(each.superseded_by for each in memory.listing(ME))
