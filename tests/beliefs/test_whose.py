"""Of whom a text speaks: what is said of another person, side or thing replaces nothing."""

from __future__ import annotations

import pytest
from conftest import OpenMemory

from memory_core.beliefs import whose
from memory_core.beliefs.compare import compare_texts
from memory_core.beliefs.competing import Nearness
from memory_core.embedding.base import Embedder
from memory_core.recall.request import RecallRequest
from memory_core.recall.succession import Rivals, answers
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")

ANOTHER = [
    ("I take 20 mg of the blue ones", "Dad now takes 40 mg of the blue ones"),
    ("my inhaler is for the mornings", "aunt Vera moved hers to the evening"),
    ("Mum's ring size is 17", "Granny went up to ring size 19"),
    ("Ich bin bei der Barmer", "Oma ist jetzt zur AOK gewechselt"),
    ("unser Tarif kostet 31 Cent", "bei Mama wurde der Tarif erhöht, 12 Cent"),
    ("left knee: three sets of 12", "right knee is up to four sets of 15"),
    ("staging answers on port 8001", "prod now answers on port 8443"),
    ("die linke Schulter tut weh, 2x dehnen", "rechte Schulter jetzt 3x dehnen"),
    ("the upper field has barley", "the lower field now has rye in it"),
    ("our rent is 1450", "Uma's rent is 1200 now"),
    ("unsere Miete ist 1450", "Umas Miete ist jetzt 1200"),
    ("my mother's birthday is January 16", "Olaf's mother has her birthday on February 3"),
    ("Jonas is allergic to peanuts", "Jonas' friend Emil is not allergic to peanuts any more"),
    ("Jonas does judo", "his cousin Ben quit judo and does karate now"),
    ("my dentist is Dr. Weber", "Olaf changed his dentist to Dr. Klein"),
    ("we ship on Mondays", "the billing crew ships on Thursdays, mind the freeze"),
    ("I'm allergic to penicillin", "Ward 9 on our floor is allergic to latex"),
    ("i take 20 mg of the blue ones", "olaf takes 40 mg of the blue ones"),
    ("my locker is by the stairs", "the new interns have their lockers in the annex"),
    ("The till runs Windows 10.", "put Windows 11 on my tablet yesterday"),
    ("Der Kassenrechner hat Windows 10", "hab auf meinem Tablet Windows 11 installiert"),
]
THE_SAME = [
    ("I take 20 mg of the blue ones", "my doctor and I went up to 40 mg of the blue ones"),
    ("Dad takes 20 mg", "Dad now takes 40 mg"),
    ("I take 20 mg of the blue ones", "I'm up to 40 mg of the blue ones. Dad drives me there."),
    ("I live with my mum", "Mum and I moved to Leeds"),
    ("I drive a Polo", "Dad gave me his Volvo, I drive that now"),
    ("tests run on staging", "tests run on prod now"),
    ("production logs are kept 30 days", "prod logs are kept 90 days now"),
    ("the bolt is on the left side", "the bolt is on the right side"),
    ("I left the umbrella at home", "the umbrella is right here at the office"),
    ("I live in Graz, tests are on Monday", "we live in Linz, the tests are on Friday"),
    ("we bike to the left bank", "we bike to the left bank on Sundays now"),
    ("our rent is 1450", "the landlord's rent is 1520 now"),
    ("our rent is 1450", "rent is 1520 now"),
    ("my boss is Uma", "Uma left, her job went to Olaf"),
    ("mein Auto ist ein Polo", "neues Auto ist ein Golf"),
    ("my sister Uma lives in Graz", "Uma's flat is in Linz now"),
    ("Olaf's car is a Polo", "Olaf's car is a Golf now"),
    ("my desk is by the window", "today's desk is by the door"),
    ("I'm allergic to nuts", "It turns out I'm not allergic to nuts after all"),
    ("I take the tram to work", "The doctor was right, so I take the bike now"),
    ("his cousin Ben does judo", "his cousin Ben does karate now"),
    ("our rent is 1450", "Hahn's letter came, it is 1520 now"),
    ("we ship on Mondays", "the team ships on Thursdays now"),
    ("we ship on Mondays", "everybody ships on Thursdays"),
    ("we ship on Mondays", "shipping is on Thursdays now"),
    ("we meet at the hut", "band meets at the hall now"),
    ("I take 20 mg of the blue ones", "the doctor takes me down to 10 mg"),
    ("I see my therapist on Fridays", "sessions with the therapist are on Mondays now"),
    ("I ship parcels on Mondays", "Olaf and I ship parcels on Thursdays"),
    ("The rent is 900 at the harbour", "my landlord wants 950 for it at the harbour now"),
    ("The till runs Windows 10.", "my till has Windows 11 now"),
    ("Brötchen holen wir bei Hinrichs", "unsere Semmeln gibt es bei Hinrichs nicht mehr"),
    ("The tenant uses Windows 10.", "my tenant moved to Windows 11"),
    ("The till in the kitchen runs Windows 10.", "my kitchen runs on Windows 11 now"),
]


@pytest.mark.parametrize(("older", "newer"), ANOTHER)
def test_another_person_or_side_is_another_matter(older: str, newer: str) -> None:
    assert whose.of_another(older, newer)
    assert compare_texts(older, newer, Nearness(0.9)) is None


@pytest.mark.parametrize(("older", "newer"), THE_SAME)
def test_one_person_or_one_side_is_not(older: str, newer: str) -> None:
    assert not whose.of_another(older, newer)


@pytest.mark.parametrize(
    ("older", "newer", "another"),
    [
        ("Oleg comes by train", "Irina no longer comes by train", True),
        ("Tom is a vegetarian", "his flatmate isn't a vegetarian any more", True),
        ("Leni turnt in Halle 2", "Jonte turnt nicht mehr in Halle 2", True),
        ("I work at the clinic", "Irina left the clinic, Hamid is my boss now", True),
        ("I work at the clinic", "I left the clinic", False),
        ("Irina works at the clinic", "Irina left the clinic", False),
        ("Oleg comes by train", "Oleg no longer comes by train", False),
        ("Oleg comes by train", "Oleg comes by car. The strike is no longer on.", False),
        ("We use Slack for the shop", "we no longer use Slack for the shop", False),
        ("Alerts go to the ops room", "alerts no longer go to the ops room", False),
        ("the shop opens at nine", "no longer at nine, ten from May on", False),
    ],
)
def test_what_is_over_was_so_of_its_subject(older: str, newer: str, another: bool) -> None:
    assert whose.ended_of_another(older, newer) is another


@pytest.mark.parametrize(
    ("query", "older", "newer", "another"),
    [
        (
            "Where does the chess club meet?",
            "The chess club meets at the Plough.",
            "Bridge club meets in the library now.",
            True,
        ),
        (
            "where do the altos rehearse?",
            "altos rehearse in the vestry",
            "the tenors now rehearse in the hall",
            True,
        ),
        (
            "Where does the bridge club meet?",
            "The chess club meets at the Plough.",
            "Bridge club meets in the library now.",
            False,
        ),
        (
            "When does the yoga class start?",
            "Yoga class starts at seven.",
            "Our yoga class was moved to eight.",
            False,
        ),
        ("Wann ist Yoga?", "Yoga ist um sieben.", "Der Yogakurs ist jetzt um acht.", False),
        (
            "How high is the rent?",
            "The rent is 940.",
            "Landlord put it up, 1015 from June.",
            False,
        ),
        ("What do I weigh?", "I weigh 88 kg.", "Scales say 83 now.", False),
        ("Where's the bread?", "bread is in drawer 2", "upgraded freezer in cellar, top", False),
        (
            "how long are the raw logs kept?",
            "raw logs are kept a month",
            "legal insists on three months for dumps",
            False,
        ),
        ("How long is my contract?", "I'm contracted for 32 hours.", "HR letter says 24.", False),
    ],
)
def test_a_question_names_whom_it_asks_for(
    query: str, older: str, newer: str, another: bool
) -> None:
    assert whose.asks_for_another(query, older, newer) is another


GOES_ON = [
    ("who is my boss?", "My boss is Petra.", "Petra now works from home on Mondays."),
    ("what do we use for tickets?", "We use Linear for tickets.", "Linear changed its prices."),
    ("Wohin geht die Reise?", "Die Reise geht nach Texel.", "Das Geld für Texel ist bezahlt."),
    ("what is the server called?", "The server is called Mul.", "Mul is no longer loud."),
]
ENDS = [
    ("who is my boss?", "My boss is Petra.", "Petra left, the boss is Ines."),
    ("who is my boss?", "My boss is Petra.", "Petra retired in May."),
    ("what do we use for tickets?", "We use Linear for tickets.", "Jira instead of Linear."),
    ("what do we use for tickets?", "We use Linear for tickets.", "We moved off Linear."),
    ("who shears the sheep?", "The sheep are sheared by Wim.", "Wim's cousin Bas has the shears."),
    ("how long is the loan?", "The loan is for 20 years.", "Years went up to 25."),
    (
        "Which tractor do we have?",
        "we've got an old John Deere for the haymaking",
        "the John Deere went to a dealer, for haymaking there's a Fendt in it",
    ),
    (
        "When does the cat have to go to the doctor?",
        "We got a cat, a grey tom, Mia named him Pixel.",
        "Pixel has to be at the vet on Tuesday at nine.",
    ),
    ("How long is it?", "The lease is for Ida's flat.", "Ida's flat has 30 years on it."),
    ("where do I work?", "The user works at Bosch.", "The user works at Siemens."),
    ("Quel est le vélo ?", "Le vélo de Lou.", "Lou a un casque."),
]


@pytest.mark.parametrize(("query", "older", "newer"), GOES_ON)
def test_who_goes_on_leaves_the_answer_as_it_is(query: str, older: str, newer: str) -> None:
    assert whose.leaves_as_it_is(query, older, newer)


@pytest.mark.parametrize(("query", "older", "newer"), ENDS)
def test_who_ends_it_or_speaks_of_the_subject_does_not(query: str, older: str, newer: str) -> None:
    assert not whose.leaves_as_it_is(query, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Colin brings the projector to club night", "projector for club night is Abena's job"),
        ("Der Nutzer arbeitet als Lagerist.", "Der Nutzer arbeitet als Disponent."),
        ("the paint in the nursery is duck egg", "duck egg looked grey, nursery is in rose"),
        ("We fly into Bergen.", "Stavanger after all, Bergen flights cost too much"),
        ("The contract is with Ida for 20 years.", "Ida's flat has 30 years on it."),
    ],
)
def test_another_value_of_one_thing_is_no_going_on(older: str, newer: str) -> None:
    assert not whose.goes_on(older, newer)
    assert whose.goes_on("We fly into Bergen.", "Bergen flights cost too much")


def test_what_is_over_of_another_is_no_doubt() -> None:
    pair = ("Oleg comes by train", "Irina no longer comes by train")
    assert compare_texts(*pair, Nearness(0.9)) is None
    assert compare_texts(pair[0], "Oleg no longer comes by train", Nearness(0.9)) is not None


def test_rivals_are_no_two_sides_and_none_that_goes_on() -> None:
    sides = ("the left eye is -2.75", "right eye has changed, -3.5")
    assert not answers(Rivals("what is the left eye?", *sides, 0.9, 0.9))
    assert answers(Rivals("what is the left eye?", sides[0], "left eye is -3.5", 0.9, 0.9))
    query, used = "what do we use for tickets?", "we use Linear for tickets"
    assert not answers(Rivals(query, used, "Linear changed its prices", 0.9, 0.9))
    assert answers(Rivals(query, used, "we use Jira for tickets", 0.9, 0.9))


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "choir: altos rehearse in the vestry",
            "the tenors now rehearse in the parish hall as there are nine of them",
            "where do the altos rehearse?",
        ),
        (
            "I take 20 mg lisinopril every morning",
            "Dad now takes 40 mg lisinopril in the evening",
            "how much lisinopril do I take?",
        ),
        (
            "the staging password rotates every 90 days",
            "the prod password now rotates every 30 days",
            "how often does the staging password rotate?",
        ),
        ("my boss is petra", "petra now works from home on mondays", "who's my boss?"),
        (
            "we decided on Lisbon for the offsite",
            "flights to Lisbon are booked, 12 people, back on 9 may",
            "what did we decide for the offsite?",
        ),
    ],
)
def test_neither_replaces_the_older_note_nor_comes_before_it(
    open_memory: OpenMemory, minilm: Embedder, older: str, newer: str, query: str
) -> None:
    memory = open_memory(embedder=minilm)
    first = memory.remember(ME, RememberRequest(older)).id
    memory.remember(ME, RememberRequest(newer))
    assert memory.get(ME, first).superseded_by == ""
    found = memory.recall(ME, RecallRequest(query, rehearse=False))
    assert found.hits[0].memory.id == first


@pytest.mark.parametrize(
    ("query", "older", "newer", "left"),
    [
        ("is Olaf vegan?", "Olaf is vegan", "Olaf moved into a flat share", True),
        ("which languages does Uma speak?", "Uma speaks French", "Uma is learning to drive", True),
        ("when is Olaf's birthday?", "Olaf has his birthday on May 3", "Olaf jogs lately", True),
        ("what is Uma scared of?", "Uma is scared of dogs", "Uma now has a rabbit", True),
        ("what does Olaf do?", "Olaf runs a tavern", "Olaf has given up, he lets kayaks", False),
        ("does Uma smoke?", "Uma is a smoker", "Uma hasn't touched one for days", False),
        (
            "when is Olaf's birthday?",
            "Olaf has his birthday on May 3",
            "Olaf jogs since last week",
            True,
        ),
        ("in which room is Uma?", "Uma is in room 212", "Uma is in 305 for a week", False),
        ("what does Olaf drive?", "Olaf drives a Polo", "Olaf's niece took it", False),
        ("what is the rent?", "rent is 940 on the first", "rent 985", False),
        ("who owns the orchard?", "the orchard is Olaf's", "Olaf's niece has the orchard", False),
        ("where does Uma live?", "Uma lives in Graz", "Uma lives in Linz now", False),
        ("when is the gala?", "the gala is at nine", "gala moved to 10:30", False),
    ],
)
def test_a_name_alone_puts_nothing_else_of_its_bearer_in_its_place(
    query: str, older: str, newer: str, *, left: bool
) -> None:
    assert whose.leaves_as_it_is(query, older, newer) == left


@pytest.mark.parametrize(
    ("older", "newer", "considers"),
    [
        ("we live in Graz", "we might move to Linz", True),
        ("Uma goes to the north school", "Uma would like to go to the south school", True),
        ("wir wohnen in Graz", "wir überlegen, nach Linz zu ziehen", True),
        ("we might move to Graz", "we might move to Linz", False),
        ("we live in Graz", "we moved to Linz", False),
        ("we live in Graz", "Uma wonders whether we fit into a flat in Linz", True),
        ("we live in Graz", "idea from Olaf: try a year in Linz", True),
        ("wir wohnen in Graz", "Umas Idee: ein Jahr in Linz", True),
    ],
)
def test_what_may_be_takes_no_place_of_what_is(older: str, newer: str, *, considers: bool) -> None:
    assert whose.only_considers(older, newer) == considers
    if considers:
        assert not answers(Rivals("where do we live?", older, newer, 0.9, 0.8))
