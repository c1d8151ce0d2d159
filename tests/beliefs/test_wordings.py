"""Several wordings of one fact, of which one text tells that it changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.beliefs import wordings
from memory_core.beliefs.compare import compare_texts, compare_wording
from memory_core.beliefs.competing import UNKNOWN
from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest

ME = Identity("me")
DAY = 86_400.0
THEN = 1_780_000_000.0
OTHERS = (
    "My sister plays the cello.",
    "The tomatoes need water twice a week.",
    "We use pnpm in the web repository.",
    "Ruben coaches the junior rowers.",
)
NEWER = "The kiln fires at 1240 degrees now."


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The kiln fires at 1180 degrees.", "kiln: 1180", True),
        ("The kiln fires at 1180 degrees.", "the kiln fires at 1180 DEGREES", True),
        ("The kiln fires at 1180 degrees.", "the oven for glass is at 1180, too", False),
        ("The kiln fires at 1180 degrees.", "the kiln weighs 90 kilos", False),
        ("The kiln fires at 1180 degrees.", "the kiln broke at 1180 last spring", False),
        ("The kiln fires at 1180 degrees.", "Ida's kiln also fires at 1180", False),
        ("The kiln is from Rohde.", "our kiln is a Rohde", True),
    ],
)
def test_wordings_share_the_value_that_is_replaced(one: str, other: str, same: bool) -> None:
    newer = NEWER if "1180" in one else "The kiln is from Nabertherm now."
    assert wordings.of_one_fact(one, other, newer) is same
    assert wordings.of_one_fact(other, one, newer) is same


def test_a_turn_of_a_talk_is_a_wording_of_nothing_but_itself() -> None:
    turn = "The kiln fires at 1180 degrees. My knee hurts and the glaze is gone."
    assert not wordings.of_one_fact(turn, "kiln: 1180", NEWER)
    assert wordings.of_one_fact(turn, turn.upper(), NEWER)


@pytest.mark.parametrize(
    ("other", "newer", "out"),
    [
        ("kiln: 1180", NEWER, True),
        ("kiln: 1180", "This week the kiln fires at 1240 degrees.", False),
        ("my kiln is at 1180", "Ida's kiln fires at 1240 degrees now.", False),
        ("1180 is the year of the guild", NEWER, False),
    ],
)
def test_what_puts_one_wording_out_of_date_does_so_with_the_other(
    other: str, newer: str, out: bool
) -> None:
    found = wordings.out_too(other, "The kiln fires at 1180 degrees.", newer)
    assert (found is not None) is out


@pytest.mark.parametrize(
    ("older", "newer", "same"),
    [
        ("The kiln fires at 1180 degrees.", "kiln: 1180, ask Ida", True),
        ("The kiln fires at 1180 degrees.", "kiln: 1240, ask Ida", False),
        ("Choir is on Mondays at 7.", "choir on monday", True),
        ("Choir is on Mondays at 7.", "choir in the hall", False),
    ],
)
def test_what_gives_the_same_numbers_and_days(older: str, newer: str, same: bool) -> None:
    assert wordings.gives_the_same(older, newer) is same


def test_a_value_that_the_newer_text_names_as_over_counts() -> None:
    newer = "the kiln fires at 1240 now, 1180 is no longer used"
    assert wordings.of_one_fact("The kiln fires at 1180 degrees.", "kiln: 1180", newer)
    assert not wordings.of_one_fact("The kiln fires at 1180 degrees.", "oven: 1180", newer)


@pytest.mark.parametrize(
    ("older", "newer", "confirmed"),
    [
        ("Mara lives in Bonn.", "Mara no longer lives in Kiel, she lives in Bonn now.", True),
        ("Mara lives in Kiel.", "Mara no longer lives in Kiel, she lives in Bonn now.", False),
        ("Our vet is Dr. Hahn.", "Our vet is no longer Dr. Vogel, it is now Dr. Hahn.", True),
        ("Our vet is Dr. Vogel.", "Our vet is no longer Dr. Vogel, it is now Dr. Hahn.", False),
        ("Der Kurs kostet 90 Euro.", "Der Kurs kostet nicht mehr 80, sondern 90 Euro.", True),
        ("The choir meets at 10.", "The choir meets at 10, not at 9.", True),
        ("The choir meets at 9.", "The choir meets at 10, not at 9.", False),
        ("Ida eats eggs.", "Ida no longer eats eggs and nuts.", False),
        ("Ida lives in Bonn.", "Ida no longer lives in Kiel, she moved away.", False),
        ("Ida lives in Kiel.", "Ida, who sings, no longer lives in Kiel near the sea.", False),
        ("Ida eats eggs.", "Ida eats eggs and cheese.", False),
        ("Ida eats eggs.", "Ida no longer eats, eggs are off.", False),
        ("Ida lives in Kiel.", "Ida no longer lives in Kiel by the sea, Kiel is loud.", False),
        ("Ida and Uwe live in Bonn.", "Ida no longer lives in Kiel, she lives in Bonn.", False),
        ("Mara and I live in Kiel.", "I no longer live in Kiel, but in Bonn with Mara.", False),
    ],
)
def test_what_says_the_same_and_denies_something_else_confirms(
    older: str, newer: str, confirmed: bool
) -> None:
    assert wordings.confirms(older, newer) is confirmed
    if confirmed:
        assert compare_texts(older, newer, UNKNOWN) is None


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("physio is twice a week", "User goes to physio two times weekly", False),
        ("lane 4 is booked on Mondays", "lane 4 is booked on Fridays", True),
        ("the deposit is 300", "the deposit is 450", True),
        ("the van is red", "the trailer is red as well", True),
        ("I am allergic to nuts", "my brother is allergic to nuts", True),
    ],
)
def test_what_tells_two_near_texts_apart(one: str, other: str, apart: bool) -> None:
    assert wordings.told_apart(one, other) is apart


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    settings = Settings(data_dir=tmp_path)
    with Memory(settings, embedder=minilm, clock=lambda: THEN + 90 * DAY) as memory:
        assert memory.wait_ready(60)
        for text in OTHERS:
            memory.remember(ME, RememberRequest(text, when=THEN - 30 * DAY))
        yield memory


@pytest.fixture
def tell(memory: Memory) -> Callable[[str, float], str]:
    def tell(text: str, day: float) -> str:
        return memory.remember(ME, RememberRequest(text, when=THEN + day * DAY)).id

    return tell


def marked(memory: Memory) -> set[str]:
    """The texts that are out of date, or may be."""
    doubted = {pair.older.text for pair in memory.doubts(ME)}
    return doubted | {each.text for each in memory.listing(ME) if each.superseded_by}


@pytest.mark.parametrize(
    ("said", "newer", "query"),
    [
        (
            ["node version is 20", "we run on Node 20", "CI and prod use node 20"],
            "Node version is 22 now.",
            "node version?",
        ),
        (
            ["I take 50 mg sertraline.", "sertraline dose 50 mg", "on 50 mg of sertraline daily"],
            "sertraline was raised to 75 mg",
            "how much sertraline do I take?",
        ),
        (
            ["Staging cluster: eks-stg-2.", "staging deploys go to eks-stg-2"],
            "Staging runs on eks-stg-3 now, eks-stg-2 is gone.",
            "which cluster is staging on?",
        ),
        (
            ["We bank with Sparkasse.", "our bank is Sparkasse"],
            "we moved our account to DKB, Sparkasse is closed",
            "which bank do we use?",
        ),
    ],
)
def test_one_change_puts_every_wording_in_doubt(
    memory: Memory, tell: Callable[[str, float], str], said: list[str], newer: str, query: str
) -> None:
    for day, text in enumerate(said):
        tell(text, 5 * day)
    last = tell(newer, 60)
    assert marked(memory) == set(said)
    assert memory.recall(ME, RecallRequest(query, k=3)).hits[0].memory.id == last


def test_what_only_has_the_same_value_is_left_alone(
    memory: Memory, tell: Callable[[str, float], str]
) -> None:
    said = ["The kiln fires at 1180 degrees.", "kiln: 1180"]
    others = [
        "The glass oven is at 1180 as well.",
        "The kiln was repaired in March for 1180 euros.",
        "The kiln needs new shelves.",
    ]
    for day, text in enumerate((*said, *others)):
        tell(text, 3 * day)
    tell(NEWER, 60)
    assert marked(memory) == set(said)


def test_another_wording_of_what_is_in_doubt_comes_behind_the_change(
    memory: Memory, tell: Callable[[str, float], str]
) -> None:
    tell("I have physio for my shoulder twice a week.", 0)
    tell("User attends shoulder physiotherapy two times weekly.", 7)
    last = tell("shoulder is good enough that physio is only once a week now", 60)
    found = memory.recall(ME, RecallRequest("How often does the user have physio?", k=5))
    assert found.hits[0].memory.id == last


@pytest.mark.parametrize(
    ("newer", "in_doubt"),
    [
        ("in 2019 our red van broke down near Lyon and we slept in it", False),
        ("the van has been a blue Vito since 2019", True),
        ("the van was green in 2015", False),
        ("the van is a blue Vito, bought in 2019", True),
        ("the red van was replaced in 2019 by a blue one", False),
        ("on 7 June the van was painted blue", True),
    ],
)
def test_what_was_over_before_something_was_said_does_not_change_it(
    memory: Memory, tell: Callable[[str, float], str], newer: str, in_doubt: bool
) -> None:
    tell("Our van is red.", 0)
    tell(newer, 20)
    assert ("Our van is red." in marked(memory)) is in_doubt


def test_what_gives_the_same_number_changes_nothing(
    memory: Memory, tell: Callable[[str, float], str]
) -> None:
    tell("I rent a studio, monthly rent 640 pounds.", 0)
    tell("The studio costs me 640 a month.", 20)
    assert marked(memory) == set()


def test_a_wording_that_is_trusted_more_or_an_exception_leaves_is_not_put_in_doubt() -> None:
    said = MemoryRecord(id="a", text="The kiln fires at 1180 degrees.", trust="user")
    other = replace(said, id="b", text="kiln: 1180")
    newer = replace(said, id="c", text=NEWER)
    assert compare_wording(other, newer, said) is not None
    assert compare_wording(other, replace(newer, trust="web"), said) is None
    while_it_lasts = replace(newer, text="The kiln fires at 1240 degrees.", valid_until=THEN)
    assert compare_wording(other, while_it_lasts, said) is None
