"""A newer text that names the older value as wrong or over: "on the 14th, not the 12th"."""

from __future__ import annotations

import pytest
from conftest import OpenMemory

from memory_core.beliefs import denied
from memory_core.beliefs.compare import compare_texts
from memory_core.beliefs.competing import UNKNOWN
from memory_core.recall.answering import asks_for_the_rest
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")

SURE = [
    ("the optician is on the 12th", "optician is on the 14th, not the 12th"),
    ("Ada's coach is Ms Brandt", "Ada's coach is Mr Silva, not Ms Brandt"),
    ("the sensor answers on 8080", "the sensor answers on 8090 and not 8080"),
    ("we booked cabin 12", "it's cabin 14, not 12"),
    ("Der Termin ist am 12. März", "der Termin ist am 14., nicht am 12."),
    ("Das Fest ist im Rathaus", "das Fest ist nicht im Rathaus sondern im Stadel"),
    ("the picnic is at the quarry", "picnic not at the quarry but at the weir"),
    ("Olaf coaches the novices", "the novices' coach is Uma instead of Olaf"),
    ("the ferry leaves at 14:20", "ferry leaves 16:45 rather than 14:20"),
    ("choir is at st. Anne's hall", "choir is in the chapel and not st. Anne's hall"),
]
UNSURE = [
    ("the boiler is a Brunner", "looked again, the boiler isn't a Brunner at all"),
    ("the parcel arrives on monday", "parcel comes tuesday they say, not monday"),
    ("the key hangs behind the pot", "Not behind the pot, Uma keeps the key in a drawer now"),
]
OTHERWISE = [
    ("the bus to work takes 40 minutes", "I take the tram to work, not the bus"),
    ("I drink coffee in the morning", "tea, not coffee, for Uma please"),
    ("the optician is on the 12th", "the game is on the 14th, not the 12th"),
    ("the optician is on the 12th", "I'm not sure that the optician is on the 12th"),
    ("the optician is on the 12th", "is the optician on the 14th, not the 12th?"),
    ("the optician is not on the 12th", "optician is on the 14th, not the 12th"),
    ("the optician is on the 12th", "the optician is nice, not too expensive"),
    ("the optician is on the 12th", "the optician is nice, not expensive"),
    ("the optician is on the 12th", "the optician rang, not before the 12th"),
]


@pytest.mark.parametrize(("older", "newer"), SURE)
def test_what_names_the_old_value_as_wrong_supersedes(older: str, newer: str) -> None:
    found = compare_texts(older, newer, UNKNOWN)

    assert found is not None
    assert found.supersedes
    assert found.words[0] in newer.casefold()


@pytest.mark.parametrize(("older", "newer"), UNSURE)
def test_what_says_more_or_no_other_value_puts_it_in_doubt(older: str, newer: str) -> None:
    found = compare_texts(older, newer, UNKNOWN)

    assert found is not None
    assert not found.supersedes
    assert found.worded


@pytest.mark.parametrize(("older", "newer"), OTHERWISE)
def test_what_is_denied_of_something_else_says_nothing_of_it(older: str, newer: str) -> None:
    assert not denied.names_as_wrong(older, newer)


def test_a_twin_is_not_set_right() -> None:
    older, newer = "my ring size is 17", "Granny's ring size is 19, not 17"

    assert compare_texts(older, newer, UNKNOWN) is None


def test_of_a_text_that_says_more_only_the_part_is_out_of_date() -> None:
    older = "the optician is on the 12th at 9:30, Dr Amadi, in Mill Lane"

    found = compare_texts(older, "optician is on the 14th, not the 12th", UNKNOWN)

    assert found is not None
    assert "12th" in found.part
    assert not found.supersedes


@pytest.mark.parametrize(
    ("query", "rest"),
    [("where does the choir rehearse before the fair?", False), ("who brings cake?", True)],
)
def test_a_question_for_the_value_that_was_wrong_is_not_for_the_rest(
    query: str, *, rest: bool
) -> None:
    older = "choir before the fair is at st. Anne's hall, Uma brings cake"
    newer = "read the mail again: choir is in the chapel and not st. Anne's hall"

    assert asks_for_the_rest(query, older, newer, lambda _: None, 0.5) == rest


def test_the_right_value_comes_first_and_the_wrong_one_says_so(open_memory: OpenMemory) -> None:
    memory = open_memory()
    wrong = memory.remember(ME, RememberRequest("Ada's coach is Ms Brandt")).id
    memory.remember(ME, RememberRequest("the novices meet on Mondays"))
    right = memory.remember(ME, RememberRequest("Ada's coach is Mr Silva, not Ms Brandt")).id

    found = memory.recall(ME, RecallRequest("who is Ada's coach?"))

    assert found.hits[0].memory.id == right
    assert memory.get(ME, wrong).superseded_by == right


OVER = [
    ("we render the maps with Leaflet", "threw out Leaflet for MapLibre"),
    ("Maps are rendered by Leaflet.", "replaced Leaflet with MapLibre over the weekend"),
    ("our vet is Dr Hahn", "Dr Hahn is retired, her son runs the practice"),
    ("The importer reads XML via lxml.", "lxml is out, the feed is JSON since May"),
    ("We pay with Twint at the market", "no more Twint!"),
    ("Use jquery for dates.", "no jquery please, Temporal does it"),
    ("Timeout of the importer is 30s.", "raised the importer from 30s to 90s"),
    ("Wir backen mit Dinkel", "Dinkel ist raus"),
    ("Wir nutzen Slack", "wir sind von Slack auf Matrix umgestiegen"),
    ("importer: 6007", "the importer is on 6011 now, 6007 is no longer used"),
    ("The importer listens on port 6007.", "port 6007 isn't used any more, it is 6011"),
    ("builds run on node-3", "node-3 was shut down, it is node-5 now"),
    ("Our bank is Sparkasse", "we moved the account to DKB, Sparkasse is closed"),
    ("beans: Harbour Roasters, 6 kg", "we no longer order from Harbour Roasters"),
    ("We buy the power from Northgrid", "Left Northgrid for the power, Larkspur sells it to us"),
    ("deck titles are burgundy", "we don't use burgundy for them any more"),
    ("Internet: DSL, 50 Mbit", "DSL haben wir nicht mehr, seit Mai Glasfaser"),
    ("Die Reisen bucht Frau Achterberg", "Frau Achterberg ist nicht mehr zuständig"),
]
NOT_OVER = [
    ("The spare key hangs by the bread bin.", "the bread bin got replaced"),
    ("The importer runs on Celery", "Celery is out of memory"),
    ("The importer runs on Celery", "Celery 6 is out"),
    ("I drink espresso after lunch", "no more espresso after six"),
    ("I live in Basel", "the train from Basel to Bern takes an hour"),
    ("I live in Basel", "we haven't moved from Basel to Bern"),
    ("I live in Basel", "should we move from Basel to Bern?"),
    ("I live in Basel", "maybe we moved from Basel to Bern too early"),
    ("I don't use Slack", "threw out Slack for Matrix"),
    ("I ran to the lighthouse.", "I no longer run to the lighthouse."),
    ("Parcels go to the reception desk.", "tickets have left Deskmoth"),
    ("We buy bread at the mill", "the mill is closed on Mondays"),
    ("We buy bread at the mill", "the mill is not open any more after six"),
    ("Ida plays the oboe", "Ida is no longer in the second class"),
]


@pytest.mark.parametrize(("older", "newer"), OVER)
def test_what_names_a_value_as_over_puts_it_in_doubt(older: str, newer: str) -> None:
    found = compare_texts(older, newer, UNKNOWN)

    assert found is not None
    assert found.worded
    assert found.words[0] in newer.casefold()
    assert not found.supersedes


@pytest.mark.parametrize(
    ("query", "rest"), [("what renders the maps?", False), ("who brings cake?", True)]
)
def test_a_question_for_the_value_that_is_over_is_not_for_the_rest(
    query: str, *, rest: bool
) -> None:
    older = "the maps are rendered by Leaflet, Uma brings cake"
    newer = "threw out Leaflet for MapLibre"
    assert asks_for_the_rest(query, older, newer, lambda _: None, 0.5) == rest


def test_a_value_that_is_over_for_somebody_else_holds() -> None:
    assert denied.names_as_over("I take the tram", "Dad: no more tram!")
    assert compare_texts("I take the tram", "Dad: no more tram!", UNKNOWN) is None


@pytest.mark.parametrize(("older", "newer"), NOT_OVER)
def test_what_is_over_with_something_else_says_nothing_of_it(older: str, newer: str) -> None:
    assert not denied.names_as_over(older, newer)


@pytest.mark.parametrize(
    ("older", "newer", "sure"),
    [
        ("Ben coaches us.", "Ann, not Ben, coaches us.", True),
        ("Practice is in the gym.", "Practice is in the barn, not the gym.", True),
        ("Practice is in the gym.", "The concert is in the barn, not the gym.", False),
    ],
)
def test_what_is_right_of_another_subject_is_not_sure(older: str, newer: str, sure: bool) -> None:
    assert denied.is_sure(older, newer) is sure
