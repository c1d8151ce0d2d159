from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.relations.change import (
    FAR,
    MEANING,
    NEAR,
    ORDER,
    VALUE,
    change,
    passes,
    rare_in,
    repeats,
)


def any_word(_: str) -> bool:
    return True


CHANGED = [
    # a word of change, and what it is about
    ("I drive a Volvo.", "I sold the Volvo.", "sold"),
    ("Our bank is Ostbank.", "We moved our accounts from Ostbank to Nordbank.", "moved"),
    ("I learn the flute.", "I gave up the flute.", "gave up"),
    ("The wiki is on the old server.", "We shut down the old server.", "shut down"),
    ("Nele is my tax adviser.", "Nele retired, I'm with Mr. Okafor.", "retired"),
    ("I have an account at Kahoot.", "I've deleted my Kahoot account.", "deleted"),
    ("The shed has a red door.", "Since May the shed has a green door.", "since may"),
    ("Answer in long paragraphs.", "No long paragraphs from now on, please.", "from now on"),
    ("Wir heizen mit Gas.", "Wir heizen jetzt mit Holz.", "jetzt"),
    ("Die Miete beträgt 700 Euro.", "Die Miete wurde auf 750 Euro erhöht.", "erhöht"),
    # what is denied or called past
    ("Report sizes in inches.", "Report sizes in centimetres, not inches.", "not inches"),
    ("The key is in the shed.", "The key hangs inside, the shed was too damp.", "not shed"),
    # one matter of the speaker, in other words
    ("I live in Cork.", "We relocated to Kerry.", "relocated"),
    ("I work as a cook at the Ritz.", "I handed in my notice.", "handed in"),
    ("I work at Harland in the paint shop.", "I started at Bosun in May.", "started"),
    ("My dentist is Dr. Ost.", "I changed practices, so Dr. West is my dentist.", "changed"),
    ("I drive a red Fiat Panda.", "I swapped the Panda for a cargo bike.", "swapped"),
    ("We take the Evening Post.", "We let the Evening Post lapse.", "let the evening post lapse"),
    (
        "I collect stamps.",
        "It's been ten months without stamps, I've stopped collecting for good.",
        "stopped collecting",
    ),
    ("I'm seeing a man called Bo.", "Bo and I broke up.", "broke up"),
    ("Lukas is my manager.", "I report to Nina these days.", "these days"),
    ("I'm vegetarian.", "I've started eating meat again.", "started"),
    ("Ich bin arbeitslos.", "Ich habe eine neue Stelle bei Zeiss.", "neue"),
    # an abbreviation, a compound
    ("The production server is in Lyon.", "Prod was migrated to Nice.", "migrated"),
    ("The cluster runs on Kubernetes 1.26.", "We upgraded k8s to 1.29.", "upgraded"),
    (
        "Das Passwort für den Drucker ist 12.",
        "Das Druckerpasswort lautet neuerdings 34.",
        "neuerdings",
    ),
    # of somebody by what is theirs
    ("Ida can't eat nuts.", "Ida's test was negative, she eats nuts again.", "again"),
    # so again, of one thing
    ("The heating is broken.", "The heating works again.", "again"),
    ("I can't swim.", "I finally learned to swim.", "finally"),
    # a plan that is given up
    ("I want to become a pilot.", "I no longer want to be a pilot.", "no longer"),
    # another value of one attribute
    ("I run three times a week.", "Because of my knee I can only run once a week.", VALUE),
    ("Our team has six engineers.", "Our team has eight engineers.", VALUE),
    ("The project is called Falcon.", "Falcon goes by Kestrel.", "goes by"),
    ("Bitte sieze mich.", "Du kannst mich gerne duzen.", VALUE),
    ("The choir meets in the crypt.", "The choir meets in the town hall.", VALUE),
    ("The ferry leaves at 9:30.", "The ferry leaves at 10:15.", VALUE),
    ("The parrot is called Kim.", "The parrot is called Pip.", VALUE),
    ("The queue holds 40 jobs.", "We let the queue hold 60 jobs.", VALUE),
    # verbs that no list holds all of
    ("The tool is licensed under the GPL.", "The tool got relicensed under the MIT terms.", "got"),
    ("The lamp in the hall flickers.", "The lamp in the hall has been fixed.", "has been fixed"),
    # the same words, turned round
    ("The shed roof is dry.", "The shed roof leaks since the storm.", "since the storm"),
    (
        "Paolo reports to Max.",
        "Paolo reports to Ingrid since the reshuffle.",
        "since the reshuffle",
    ),
    ("Lena mentors Max.", "Max mentors Lena.", ORDER),
    ("User prefers mail over phone calls.", "User prefers phone calls over mail.", ORDER),
    ("Server A replicates to server B.", "Server B replicates to server A.", ORDER),
    ("Port 1 feeds port 2.", "Port 2 feeds port 1.", ORDER),
    (
        "The blue cable goes into port A and the red cable into port B.",
        "The red cable goes into port A and the blue cable into port B.",
        ORDER,
    ),
]


@pytest.mark.parametrize(("older", "newer", "reason"), CHANGED)
def test_a_change_is_found_and_named(older: str, newer: str, reason: str) -> None:
    found = change(older, newer, any_word)
    assert found is not None
    assert reason in (*found.words, found.kind)
    assert found.worded == (reason != VALUE and not reason.startswith("not "))


BOTH_TRUE = [
    # another thing
    ("Invoice 17 is open.", "Invoice 18 was cancelled."),
    ("I work at Harland in the paint shop.", "I started at the new gym in May."),
    ("I work at Harland in the paint shop.", "I started at 6 today."),
    ("My sister is Anna.", "Bea is my sister."),
    ("My neighbour is Tom.", "Eva is my neighbour."),
    ("My dentist is Dr. Ost.", "Dr. Ost is my dentist."),
    ("Meter reading in May: 40 kWh.", "Meter reading in June: 60 kWh."),
    ("The upper hinge is loose.", "The lower hinge was replaced."),
    ("My sister Eva lives in Kiel.", "My cousin Eva moved to Bonn."),
    ("The left lamp is broken.", "The right lamp was replaced."),
    ("Week 12: we closed 14 tickets.", "Week 13: we closed 9 tickets."),
    ("I take vitamin D.", "I stopped taking vitamin C."),
    ("The staging database is on host a-1.", "The production database was moved to host b-4."),
    ("The password for the NAS is hunter2.", "The password for the router was changed."),
    ("The party is at Jonas's place.", "The after-party is at the Blue Fox."),
    ("Our team has six engineers.", "The neighbouring team has eight engineers."),
    ("The workshop is in Lyon.", "The dinner after the workshop was moved to Nice."),
    ("I'm reading a book about Rome.", "I finished a book about Carthage."),
    ("My dentist is in the old town.", "I went to the dentist on Tuesday."),
    # somebody else
    ("I live in Cork.", "My parents moved to Kerry."),
    ("Ich arbeite bei der Post.", "Mein Bruder arbeitet jetzt bei der Bahn."),
    ("I smoke a pack a day.", "Tom gave up smoking."),
    ("My son goes to kindergarten.", "My daughter started school."),
    ("My bike is a Canyon.", "My brother's bike is a Cube now."),
    ("I'm allergic to peanuts.", "I'm not allergic to cats."),
    # a part of the thing, or what belongs to it
    ("I play the guitar.", "I changed the strings of my guitar."),
    ("The release is on Monday.", "The release notes are finished."),
    ("My wife is called Ada.", "My wife's mother moved in with us."),
    ("Our office is in Lyon.", "Our office got new chairs."),
    ("The report is due on 5 March.", "The first draft of the report is done."),
    # another attribute
    ("The API uses OAuth.", "The API returns JSON now."),
    ("Wir haben eine Katze.", "Die Katze frisst jetzt anderes Futter."),
    # one more
    ("I have a dog named Rex.", "I have a second dog now."),
    ("Shipping is free above 50 euros.", "Shipping is free for members too, as of May."),
    # what happened stays so
    ("I ran to the lighthouse.", "I no longer run to the lighthouse."),
    ("Ada won the chess match against Bo.", "Bo won the chess match against Ada."),
    # for a while
    # asked, thought of, denied
    ("I drive a Volvo.", "Should I have sold the Volvo?"),
    ("I drive a Volvo.", "Perhaps I'm moving on from the Volvo."),
    ("I learn the flute.", "I won't give up the flute."),
    # one thing, two matters
    ("The shed roof needs paint.", "The shed roof leaks since the storm."),
    ("I need the ladder for the shed roof.", "The shed roof leaks since the storm."),
    ("I moved from Oslo to Bergen in March.", "The rent in Bergen went up to 10,400 kroner."),
    ("My aunt lives in Kiel.", "The ferry from Kiel was cancelled."),
    ("The garden hose cost 30 francs.", "The garden hose now drips."),
    # "is in" says no place, and who opens closes as well
    ("The deposit is in escrow.", "The deposit is in euros."),
    ("Uncle Piet is in hospital.", "Uncle Piet is in Room 9."),
    ("The pool opens at nine.", "The pool closes at six."),
    # of somebody else
    ("Marlis keeps bees.", "Marlis' neighbour no longer keeps bees."),
    ("Otto teaches chess.", "Otto's wife has stopped teaching."),
    ("Mr. Sorel repairs clocks.", "Mrs. Sorel no longer repairs bicycles."),
    ("The boat house has no heating.", "The owners of the boat house have a dog now."),
    ("I bake the rye loaf on Fridays.", "Instead of a baguette I bake buns on Mondays."),
    # another one of a series
    ("Tank one holds 400 litres.", "Tank two holds 650 litres."),
    ("Probe K-11 weighs 12 grams.", "Probe K-14 weighs 14 grams."),
    ("Ride to Husum on 2 June: 88 kilometres.", "Ride to Husum on 9 June: 90 kilometres."),
    # a word that says nothing of what it is about
    ("Das Hemd darf bei 30 Grad gewaschen werden.", "Das Fest musste verlegt werden."),
    ("Der Baum trägt dieses Jahr nichts.", "Der Bus fährt seit Mai nicht mehr."),
    # nothing in common
    ("I drive a Volvo.", "I sold the piano."),
    ("", "I sold the piano."),
    ("I drive a Volvo.", ""),
]


@pytest.mark.parametrize(("older", "newer"), BOTH_TRUE)
def test_what_is_true_together_is_left_alone(older: str, newer: str) -> None:
    assert change(older, newer, any_word) is None


@pytest.mark.parametrize(
    ("older", "newer", "partial"),
    [
        ("I live in Cork and teach physics.", "I moved to Kerry.", True),
        ("My desk is by the door, and Ada sits next to me.", "Ada left the company.", True),
        ("The workshop takes place in Lyon on 9 April.", "The workshop takes place in Nice.", True),
        ("I live in Cork, in a flat near the river.", "I moved to Kerry.", False),
        ("My dentist is Dr. Sato.", "Dr. Sato retired.", False),
    ],
)
def test_what_the_newer_text_does_not_touch_still_holds(
    older: str, newer: str, partial: bool
) -> None:
    found = change(older, newer, any_word)
    assert found is not None
    assert found.partial == partial


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The canteen opens at noon.", "The canteen opens at one today."),
        ("Ich arbeite im Büro.", "Ich arbeite diese Woche nicht im Büro."),
        ("I work from home.", "This week I work from Vienna."),
    ],
)
def test_what_holds_for_a_while_only_suspends(older: str, newer: str) -> None:
    found = change(older, newer, any_word)
    assert found is not None
    assert found.passing


def test_a_turn_near_in_meaning_needs_no_word_in_common() -> None:
    older, newer = "My laptop is a ThinkPad.", "I switched to a MacBook Air."
    assert change(older, newer, any_word) is None
    assert change(older, newer, any_word, NEAR - 0.1) is None
    found = change(older, newer, any_word, NEAR)
    assert found is not None
    assert (found.kind, found.words) == (MEANING, ("switched to",))
    # not of what somebody else does, nor of an event, nor in German, which the model hardly knows
    assert change(older, "My sister switched to a MacBook.", any_word, 0.9) is None
    assert change("I bought a ThinkPad last year.", newer, any_word, 0.9) is None
    assert change("Mein Rechner ist alt.", "Ich bin umgestiegen.", any_word, 0.9) is None


def test_what_is_far_in_meaning_shares_a_word_by_chance() -> None:
    older, newer = "I take the bus to work.", "I dropped out of university and work as a baker."
    assert change(older, newer, any_word) is not None
    assert change(older, newer, any_word, FAR - 0.01) is None
    german = "Der Opa ist in Rente.", "Die Rente der Halle ist auf 900 Euro gestiegen."
    assert change(*german, any_word) is not None
    assert change(*german, any_word, FAR - 0.01) is None


@pytest.mark.parametrize(
    ("older", "newer", "reason"),
    [
        ("I drive a Volvo.", "I sold the Volvo.", 'it says "sold"'),
        ("The ferry leaves at 9:30.", "The ferry leaves at 10:15.", 'it says "10:15", not "9:30"'),
        ("Lena mentors Max.", "Max mentors Lena.", "it says it the other way round"),
    ],
)
def test_the_reason_is_a_clause(older: str, newer: str, reason: str) -> None:
    found = change(older, newer, any_word)
    assert found is not None
    assert found.reason == reason


def test_the_part_that_may_be_out_of_date_is_named() -> None:
    found = change("I live in Cork and teach physics.", "I moved to Kerry.", any_word)
    assert found is not None
    assert found.part == "I live in Cork"


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        ("This week the choir meets on Monday.", True),
        ("Nur heute treffen wir uns um acht.", True),
        ("The choir meets on Monday.", False),
        ("As of today the choir meets on Monday.", False),
        ("The choir was moved to Monday today.", False),
        ("The lease was extended until December.", False),
    ],
)
def test_what_holds_for_a_while_is_known(text: str, brief: bool) -> None:
    assert passes(text) == brief


def test_only_a_rare_word_says_what_a_text_is_about() -> None:
    older, newer = "I drive a Volvo.", "I sold the Volvo."
    assert change(older, newer, rare_in(lambda _: 3, 100, str.split)) is not None
    assert change(older, newer, rare_in(lambda _: 4, 100, str.split)) is None
    assert change(older, newer, rare_in(lambda _: 4, 200, str.split)) is not None


def test_in_long_texts_a_weak_word_is_not_enough() -> None:
    talk = "We had soup. It rained all day. The cat slept. My uncle called."
    older, newer = "I play the tuba.", "I stopped the tuba."
    assert change(older, newer, any_word) is not None
    assert change(f"{talk} {older}", f"{talk} {newer}", any_word) is None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("I take tea with milk.", "I take my tea with milk.", True),
        ("I take tea with milk.", "I no longer take tea with milk.", False),
        ("The lamp was fixed.", "The lamp has been fixed.", True),
        ("The key is in the top drawer.", "The key is in the bottom drawer.", False),
        ("Lena mentors Max.", "Max mentors Lena.", False),
        ("The parcel was sent to Oslo.", "The parcel was sent from Oslo.", False),
        ("I drink tea with milk.", "I drink tea without milk.", False),
        ("The cable runs into the cellar.", "The cable runs from the cellar.", False),
        ("The alarm is on at night.", "The alarm is off at night.", False),
        ("Der Zug fährt nach Bonn.", "Der Zug fährt von Bonn.", False),
        ("Sie stimmt für den Antrag.", "Sie stimmt gegen den Antrag.", False),
        ("The parcel was sent to Oslo.", "The parcel was sent to Oslo from home.", True),
        ("Mia won her first medal.", "Mia won another medal, for rowing.", False),
        ("Wir haben eine Katze.", "Wir haben noch eine Katze.", False),
    ],
)
def test_repetitions_differ_in_nothing_that_counts(a: str, b: str, same: bool) -> None:
    assert repeats(a, b) == same


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_can_be_compared(older: str, newer: str) -> None:
    found = change(older, newer, any_word)
    assert found is None or found.reason
    assert change(older, older, any_word) is None
    assert isinstance(repeats(older, newer), bool)


def seconds(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.thread_time()
        run()
        best = min(best, time.thread_time() - begun)
    return best


@pytest.mark.parametrize(
    "piece",
    [
        "now ", "I moved from A to B. ", "not ", "was too ", "a", "is is is by ", "let the ",
        "\n", ". ", "from the since ", "nach ",
    ],
)  # fmt: skip
def test_long_texts_take_no_longer_than_what_is_compared_of_them(piece: str) -> None:
    short, long = ((piece * size)[:size] for size in (2_000, 20_000))
    older = "I live in Cork and teach physics."

    def compared(text: str, number: int) -> object:
        return change(older, f"{number} {text}", any_word), change(
            f"{number} {text}", older, any_word
        )

    numbers = iter(range(100))
    once = seconds(lambda: compared(short, next(numbers)))
    assert seconds(lambda: compared(long, next(numbers))) < 5 * once + 0.005
