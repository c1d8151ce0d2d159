from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.change import (
    MATTER,
    ORDER,
    PRESUMED,
    WORDS,
    change,
    passes,
    repeats,
    turned_round,
)

CHANGED = [
    # a word of change, and what it is about
    ("I drive a Volvo.", "I sold the Volvo.", "sold"),
    ("The mill belongs to Mr. Voss.", "Mr. Voss bequeathed the mill to his niece.", "bequeathed"),
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
    ("Report sizes in inches.", "Report sizes in centimetres, not inches.", PRESUMED),
    ("The key is in the shed.", "The key hangs inside, the shed was too damp.", PRESUMED),
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
    ("Ida can't eat nuts.", "Ida's test was negative, she eats nuts again.", PRESUMED),
    # so again, of one thing
    ("The heating is broken.", "The heating works again.", PRESUMED),
    ("I can't swim.", "I finally learned to swim.", "learned"),
    # a plan that is given up
    # no word of change
    ("I run three times a week.", "Because of my knee I can only run once a week.", PRESUMED),
    ("Our team has six engineers.", "Our team has eight engineers.", PRESUMED),
    ("The project is called Falcon.", "Falcon goes by Kestrel.", "goes by"),
    ("Bitte sieze mich.", "Du kannst mich gerne duzen.", PRESUMED),
    ("The choir meets in the crypt.", "The choir meets in the town hall.", PRESUMED),
    ("The ferry leaves at 9:30.", "The ferry leaves at 10:15.", PRESUMED),
    ("The parrot is called Kim.", "The parrot is called Pip.", PRESUMED),
    ("The queue holds 40 jobs.", "We let the queue hold 60 jobs.", PRESUMED),
    # verbs that no list holds all of
    (
        "The tool is licensed under the GPL.",
        "The tool got relicensed under the MIT terms.",
        "relicensed",
    ),
    ("The lamp in the hall flickers.", "The lamp in the hall has been fixed.", "has been fixed"),
    # what is done to a day or an amount
    ("The regatta is on 20 June.", "The regatta is postponed to 3 September.", "is postponed to"),
    ("The lesson is on Monday.", "The lesson's moved back to Friday.", "is moved back to"),
    ("The budget is 84,000 euros.", "budget cut to 71,000 euros", "cut to"),
    ("The regatta is on 20 June.", "The regatta is cancelled.", "is cancelled"),
    ("The course has 20 places.", "The course is limited to 30 people.", PRESUMED),
    # the same words, turned round
    ("The shed roof is dry.", "The shed roof leaks since the storm.", "since the storm"),
    (
        "Paolo reports to Max.",
        "Paolo reports to Ingrid since the reshuffle.",
        "since the reshuffle",
    ),
    (
        "Priya is on leave, Mateo reviews payments.",
        "Priya is back, she reviews payments.",
        "is back",
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
def test_the_words_of_a_change_are_named(older: str, newer: str, reason: str) -> None:
    found = change(older, newer)
    assert found is not None
    assert reason in (*found.words, found.kind)
    assert found.worded == (reason not in (ORDER, PRESUMED))


REFUSED = [
    # another person, one more, asked, thought of or denied, an event turned round, nothing new
    ("I work at Harland in the paint shop.", "I started at 6 today."),
    ("My sister Eva lives in Kiel.", "My cousin Eva moved to Bonn."),
    ("I live in Cork.", "My parents moved to Kerry."),
    ("Ich arbeite bei der Post.", "Mein Bruder arbeitet jetzt bei der Bahn."),
    ("I smoke a pack a day.", "Tom gave up smoking."),
    ("My son goes to kindergarten.", "My daughter started school."),
    ("My bike is a Canyon.", "My brother's bike is a Cube now."),
    ("I have a dog named Rex.", "I have a second dog now."),
    ("Shipping is free above 50 euros.", "Shipping is free for members too, as of May."),
    ("I drive a Volvo.", "Should I have sold the Volvo?"),
    ("I drive a Volvo.", "Perhaps I'm moving on from the Volvo."),
    ("My dentist is Dr. Ost.", "Dr. Ost is my dentist."),
    ("Ada won the chess match against Bo.", "Bo won the chess match against Ada."),
    ("I drive a Volvo.", "I drive a Volvo."),
    ("", "I sold the piano."),
    ("I drive a Volvo.", ""),
]


def test_a_word_of_change_before_what_both_are_about_says_nothing_of_it() -> None:
    older = "The barge holds thirty tonnes."
    found = change(older, "Back from Ghent. We will try what they do there on the barge.")
    assert found is not None
    assert found.kind == PRESUMED
    found = change(older, "The barge was lengthened. It holds forty now.")
    assert found is not None
    assert found.kind == WORDS


@pytest.mark.parametrize(("older", "newer"), REFUSED)
def test_some_words_refuse_any_change(older: str, newer: str) -> None:
    assert change(older, newer) is None


@pytest.mark.parametrize(
    ("older", "newer", "turned"),
    [
        ("Hugo feeds Selma's goats.", "Selma feeds Hugo's goats.", True),
        ("Hugo sold Selma a goat.", "Selma sold Hugo a plough.", False),
        (
            "In spring Hugo taught Selma's cousin to ski.",
            "In spring Selma's cousin taught Hugo to sail.",
            False,
        ),
        (
            "Ulm to Kehl by bus takes 90 minutes",
            "Kehl to Ulm by bus takes 90 minutes",
            True,
        ),
        (
            "Ulm to Kehl by bus takes 90 minutes",
            "Kehl to Ulm by bus takes 75 minutes",
            False,
        ),
    ],
)
def test_two_texts_with_something_of_their_own_are_not_one_turned_round(
    older: str, newer: str, *, turned: bool
) -> None:
    assert turned_round(older, newer) is turned


@pytest.mark.parametrize(
    ("older", "newer", "partial"),
    [
        ("I live in Cork and teach physics.", "I moved to Kerry.", True),
        ("My desk is by the door, and Ada sits next to me.", "Ada left the company.", True),
        ("I live in Cork, in a flat near the river.", "I moved to Kerry.", False),
        ("My dentist is Dr. Sato.", "Dr. Sato retired.", False),
    ],
)
def test_what_the_newer_text_does_not_touch_still_holds(
    older: str, newer: str, partial: bool
) -> None:
    found = change(older, newer)
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
    found = change(older, newer)
    assert found is not None
    assert found.passing


@pytest.mark.parametrize(
    ("older", "newer", "one"),
    [
        ("My cousin Anna lives in Graz.", "My cousin Anna moved to Linz.", True),
        ("My cousin Anna lives in Graz.", "My cousin Berta moved to Linz.", False),
        ("The tenant lives in Graz.", "The tenant moved to Linz.", True),
        ("Our lodger Tim works at Bosch.", "Our lodger Paul started with a new job.", False),
        ("Die Nichte Ines arbeitet bei Bosch.", "Die Nichte Lea hat gekündigt.", False),
        ("I work as a nurse at the clinic.", "I quit my job.", True),
        ("I work as a nurse at the clinic.", "We quit the gym.", False),
    ],
)
def test_a_matter_is_of_one_bearer(older: str, newer: str, one: bool) -> None:
    found = change(older, newer)
    assert (found is not None and found.kind == MATTER) is one


@pytest.mark.parametrize(
    ("older", "newer", "reason"),
    [
        ("I drive a Volvo.", "I sold the Volvo.", 'the later text says "sold"'),
        (
            "The lawn is mown.",
            "Ada has the lawn grow.",
            "the later text may say how the same thing is now",
        ),
        ("Lena mentors Max.", "Max mentors Lena.", "the later text says it the other way round"),
        (
            "Wir fahren mit dem Auto nach Rom.",
            "Nach Rom fahren wir doch nicht mit dem Auto.",
            'the later text says "doch nicht"',
        ),
        (
            "Das ist schlimm.",
            "Das ist doch nicht schlimm, sagt Per.",
            "the later text may say how the same thing is now",
        ),
    ],
)
def test_the_reason_is_a_clause(older: str, newer: str, reason: str) -> None:
    found = change(older, newer)
    assert found is not None
    assert found.reason == reason


def test_the_part_that_may_be_out_of_date_is_named() -> None:
    found = change("I live in Cork and teach physics.", "I moved to Kerry.")
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
        ("The rent goes up to 1260, the letter came today.", False),
        ("Die Miete steigt auf 1260, der Brief kam heute.", False),
        ("The rent is 1260 from October, says the letter of today.", False),
        ("The pool is closed today, the filter broke.", True),
        ("They moved the class to room 4 for this week only.", True),
        ("This week only, lanes from 8:00 because of the filter repair.", True),
        ("From Monday to Friday this week the office is in Bonn.", True),
        ("The office is in Bonn until Friday.", True),
        ("The office is open Monday until Friday.", False),
        ("The office is open until six.", False),
        ("The office is open until 18:30 on Tuesdays.", False),
        ("Das Büro ist jetzt dienstags bis samstags besetzt.", False),
        ("Das Büro hat Dienstag bis Samstag auf.", False),
        ("Bis Samstag ist das Büro zu.", True),
    ],
)
def test_what_holds_for_a_while_is_known(text: str, brief: bool) -> None:
    assert passes(text) == brief


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
        ("Dogs under 9 kg get half a scoop.", "Dogs over 9 kg get a scoop.", False),
        ("Mortar takes half a bag of lime.", "Mortar takes a bag of lime.", False),
        ("Parcels below the line go left.", "Parcels above the line are sent right.", False),
        ("Mia won her first medal.", "Mia won another medal, for rowing.", False),
        ("Wir haben eine Katze.", "Wir haben noch eine Katze.", False),
    ],
)
def test_repetitions_differ_in_nothing_that_counts(a: str, b: str, same: bool) -> None:
    assert repeats(a, b) == same


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_can_be_compared(older: str, newer: str) -> None:
    found = change(older, newer)
    assert found is None or found.reason
    assert change(older, older) is None
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
        return change(older, f"{number} {text}"), change(f"{number} {text}", older)

    numbers = iter(range(100))
    once = seconds(lambda: compared(short, next(numbers)))
    assert seconds(lambda: compared(long, next(numbers))) < 5 * once + 0.005
