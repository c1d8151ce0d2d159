"""Of two statements that answer a question of how something is, the newer one comes first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity
from memory_core.remember.request import ConversationTurn, RememberRequest

ME = Identity("me")
DAY = 86_400.0
THEN = 1_717_200_000.0
OTHERS = (
    "My sister plays the cello.",
    "Yesterday I cleaned the gutters.",
    "The tomatoes need water twice a week.",
    "We use pnpm in the web repository.",
)


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(
        Settings(data_dir=tmp_path), embedder=minilm, clock=lambda: THEN + 60 * DAY
    ) as memory:
        assert memory.wait_ready(60)
        for text in OTHERS:
            memory.remember(ME, RememberRequest(text, when=THEN - 30 * DAY))
        yield memory


def first(memory: Memory, older: str, newer: str, question: str) -> str:
    """The text that comes first after *older* and, 20 days later, *newer* were said."""
    memory.remember(ME, RememberRequest(older, when=THEN))
    memory.remember(ME, RememberRequest(newer, when=THEN + 20 * DAY))
    found = memory.recall(ME, RecallRequest(question, k=5, context=0))
    assert not any(hit.memory.superseded_by for hit in found.hits)
    return [*found.hits, *found.partial][0].memory.text


STATUS = (
    "The barn conversion is waiting for planning permission.",
    "The council waved the barn conversion through, builders are on site.",
)


def test_what_is_known_to_be_newer_goes_before_what_only_may_be(memory: Memory) -> None:
    told = (
        "We use npm for the storefront.",
        "From now on we use pnpm in the storefront, npm is gone.",
        "Storefront components: function components only, no default exports.",
    )
    for days, text in enumerate(told):
        memory.remember(ME, RememberRequest(text, when=THEN + 20 * days * DAY))
    assert [pair.newer.text for pair in memory.doubts(ME)] == [told[1]]
    found = memory.recall(ME, RecallRequest("Which package manager does the storefront use?"))
    assert [hit.memory.text for hit in found.hits][:2] == [told[1], told[0]]


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (*STATUS, "What is the status of the barn conversion?"),
        (
            "Unsere Vereinskasse führen wir in Excel.",
            "Excel war zu fehleranfällig, die Vereinskasse läuft über easyVerein.",
            "Womit führen wir die Vereinskasse?",
        ),
        (
            "we've got an old John Deere 6110 for the haymaking",
            "the John Deere went to a dealer in Hereford, for haymaking there's a Fendt in it",
            "Which tractor do we have?",
        ),
        (
            "The museum is free for members and costs 12 euros.",
            "they want 14.50 at the museum now, robbery",
            "How much does the museum cost?",
        ),
        (
            "Our flat is on the third floor, and the rent is 1180 euros.",
            "Turns out the rent goes up to 1260, the letter came today.",
            "What is the rent now?",
        ),
        ("We run Node 18.", "We run Node 20.", "Which Node version do we run?"),
        (
            "Wir haben Dienstag bis Sonntag von 17 bis 23 Uhr geöffnet, Montag ist Ruhetag.",
            "Geöffnet ist ab jetzt Mittwoch bis Sonntag, Montag und Dienstag Ruhetag.",
            "An welchen Tagen haben wir geöffnet?",
        ),
        (  # what the newer one leaves as it is is nothing: it says the fee, too
            "Card payments: terminal from Sumdesk, fee 1.6 %.",
            "Sumdesk is out, we have a Zetta terminal, 1.2 %.",
            "Which card terminal do we use, and what is the fee?",
        ),
        (
            "The boiler inspection is on 3 November at 10 am.",
            "The inspector phoned: boiler inspection is on 10 November, same time.",
            "When was the boiler inspection?",
        ),
        (  # both days are over
            "mum's hip op is 22 June at the Infirmary",
            "the ward has no beds, mum's hip is being done 12 July",
            "What date was mum's hip operation?",
        ),
        ("The regatta is on 22 June.", "regatta is on 29 June", "What date was the regatta?"),
        (
            "Die Probe im Dom ist am 22. Juni.",
            "Probe im Dom am 6. Juli, halb acht",
            "An welchem Tag war die Probe im Dom?",
        ),
        (  # that of "Elsie's gone up" is no possessive
            "Elsie has swimming Thursdays half four at the baths",
            "Elsie's gone up to stage 6 in the water, that group's Saturday mornings 9.15",
            "when's Elsie's swimming lesson?",
        ),
        (
            "Ole drives a Skoda Octavia.",
            "Ole picked me up in his Mazda, it smells of dog",
            "Which car does Ole drive?",
        ),
    ],
)
def test_the_newer_statement_comes_first_and_nothing_is_superseded(
    memory: Memory, older: str, newer: str, question: str
) -> None:
    assert first(memory, older, newer, question) == newer


@pytest.mark.parametrize(
    ("then", "now", "ahead"),
    [
        ({}, {"role": "user", "trust": "user"}, True),
        ({"role": "user", "trust": "user"}, {}, True),  # passed on by an assistant
        ({"role": "user", "trust": "user", "speaker": "Ann"}, {}, True),
        ({"speaker": "Ann"}, {"speaker": "Ben"}, False),
        ({"role": "user", "trust": "user"}, {"role": "assistant"}, False),
        ({"role": "user", "trust": "user"}, {"role": "user", "trust": "quoted"}, False),
        ({}, {"scope": "shared"}, False),
    ],
)
def test_what_the_owner_says_is_one_voice_whichever_client_heard_it(
    memory: Memory, then: dict[str, str], now: dict[str, str], ahead: bool
) -> None:
    older, newer = STATUS
    memory.remember(ME, RememberRequest(older, when=THEN, **then))  # type: ignore[arg-type]
    later = THEN + 20 * DAY
    memory.remember(ME, RememberRequest(newer, when=later, **now))  # type: ignore[arg-type]
    asked = RecallRequest("What is the status of the barn conversion?", k=5, context=0)
    found = memory.recall(ME, asked)
    texts = [hit.memory.text for hit in (*found.hits, *found.partial)]
    assert (texts.index(newer) < texts.index(older)) == ahead


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (*STATUS, "What was the barn conversion waiting for?"),
        (
            "Milking starts at 5:15.",
            "The vet comes tomorrow, so tomorrow milking starts at 4:30.",
            "When does milking start?",
        ),
        (
            "Desk 24 belongs to Steffi.",
            "Desk 25 belongs to Tilo.",
            "Whom does desk 24 belong to?",
        ),
        (
            "Wen is doing an internship at the zoo.",
            "Wen's sister is doing an internship at the aquarium.",
            "Where is Wen doing an internship?",
        ),
        (
            "The upper bolt of the wing is loose.",
            "The lower bolt of the wing is tight.",
            "How is the upper bolt of the wing?",
        ),
        (
            "The sensor firmware is written in C and talks over LoRaWAN.",
            "We threw out LoRaWAN, the sensor firmware talks over NB-IoT.",
            "Which language is the sensor firmware written in?",
        ),
        (
            "The bakery opens at 6:30.",
            "The bakery has very good rye bread.",
            "When does the bakery open?",
        ),
        (
            "The spare key is under the third flower pot.",
            "The spare key bends easily, careful.",
            "Where is the spare key?",
        ),
        (
            "Our van holds nine people.",
            "Our van is on its second gearbox because of the hills.",
            "How many people does our van hold?",
        ),
        (
            "The bakery on Elm Lane is owned by two sisters from Izmir.",
            "Bakery on Elm Lane is shut on Mondays.",
            "Who owns the bakery on Elm Lane?",
        ),
        (
            "The conference hotel is run by Marriott.",
            "The conference hotel is ten minutes from the station.",
            "Which hotel chain is the conference hotel run by?",
        ),
        (
            "Hanna plays hockey.",
            "Hanna plays along whenever her brothers tell a joke.",
            "Which sport does Hanna play?",
        ),
        (
            "The printer needs A3 paper.",
            "The printer squeaks when it is cold.",
            "What paper does the printer need?",
        ),
        (
            "The pool is open from 7 to 21.",
            "The pool opens at 10 on 24 June because of the holiday",
            "When does the pool open?",
        ),
    ],
    ids=[
        "asked for the past",
        "for a while",
        "another number",
        "another person",
        "another part",
        "the rest",
        "no time",
        "no place",
        "another number of it",
        "no name, only a day",
        "another noun",
        "another sense",
        "nothing of what is asked",
        "one day that is over",
    ],
)
def test_the_older_statement_stays_first(
    memory: Memory, older: str, newer: str, question: str
) -> None:
    assert first(memory, older, newer, question) == older


RAM = "stork has 32 GB of RAM."
PORTO = "Back from Porto, the best talk was on chaos testing, to be tried on stork."


@pytest.mark.parametrize(
    ("older", "newer", "kind", "ahead"),
    [
        (RAM, PORTO, "doubts", False),
        (RAM, PORTO, "updates", True),
        ("stork has plenty of RAM.", PORTO, "doubts", True),
        (
            RAM,
            "Nobody put the sticks back into the machine called stork, it has not got any.",
            "doubts",
            True,
        ),
        (RAM, "Another stick went into stork, so that makes 64 GB.", "doubts", True),
    ],
)
def test_what_says_no_number_does_not_answer_how_much_by_a_doubt(
    memory: Memory, older: str, newer: str, kind: str, ahead: bool
) -> None:
    first = memory.remember(ME, RememberRequest(older, when=THEN)).id
    later = memory.remember(ME, RememberRequest(newer, when=THEN + 20 * DAY)).id
    link = Change("link", later, {"b": first, "kind": kind, "weight": 1.0}, actor="me", scope="me")
    memory._runtime.parts().store.commit(lambda tx: tx.append(link))
    if kind == "doubts":
        assert [(pair.older.id, pair.newer.id) for pair in memory.doubts(ME)] == [(first, later)]
    found = memory.recall(ME, RecallRequest("How much memory does stork have?", k=5, context=0))
    ids = [hit.memory.id for hit in (*found.hits, *found.partial)]
    assert (ids.index(later) < ids.index(first)) == ahead


def test_a_statement_of_somebody_else_does_not_come_before(memory: Memory) -> None:
    memory.remember(ME, RememberRequest(STATUS[0], when=THEN, speaker="Ada"))
    memory.remember(ME, RememberRequest(STATUS[1], when=THEN + 20 * DAY, speaker="Ben"))
    found = memory.recall(
        ME, RecallRequest("What is the status of the barn conversion?", k=5, context=0)
    )
    assert found.hits[0].memory.text == STATUS[0]


def test_what_names_a_day_itself_is_no_rule_that_holds_again(memory: Memory) -> None:
    older = "The choir has a new leader. Its concert is on 23 June"
    newer = "the hall is flooded, so the choir sings on the 30th of June"
    assert first(memory, older, newer, "What day is the choir's concert?") == newer


STACK = (
    "web: React 18 with Vite 5, routing via react-router 6, hosted on Netlify.",
    "Upgraded web to React 19, had to patch two typings.",
    "web is not on Netlify any more, it is served from S3 and CloudFront.",
)


@pytest.mark.parametrize(
    ("asked", "number"),
    [("web react version", 1), ("which react does web use?", 1), ("where is web hosted?", 2)],
)
def test_of_two_changes_of_one_text_the_one_that_is_asked_for_comes_first(
    memory: Memory, asked: str, number: int
) -> None:
    for days, text in enumerate(STACK):
        memory.remember(ME, RememberRequest(text, when=THEN + 20 * days * DAY))
    found = memory.recall(ME, RecallRequest(asked, k=5, context=0))
    assert found.hits[0].memory.text == STACK[number]


CHAIN = (
    "For chair joints I use hide glue, always have.",
    "gave in and bought epoxy for the chair joints, hide glue gels in this cold shed",
    "shed is warm, pot's on the stove, chair joints get bone glue like my father's",
)


def test_the_last_of_several_changes_comes_first(memory: Memory) -> None:
    for days, text in enumerate((*CHAIN, "chair no. 6 of the set is done, two to go")):
        memory.remember(ME, RememberRequest(text, when=THEN + 15 * days * DAY))
    found = memory.recall(ME, RecallRequest("what glue am I using for the chair joints?"))
    assert found.hits[0].memory.text == CHAIN[2]


def test_behind_the_first_change_only_what_says_as_much_of_what_was_asked_goes_on(
    memory: Memory,
) -> None:
    told = (
        "I have two espressos after lunch.",
        "My cardiologist took coffee off the list. After lunch it's a pot of rooibos.",
        "Lunch with the Latvian delegation: 72 euros.",
    )
    for days, text in enumerate(told):
        memory.remember(ME, RememberRequest(text, when=THEN + 10 * days * DAY))
    found = memory.recall(ME, RecallRequest("What do I drink after lunch?"))
    assert found.hits[0].memory.text == told[1]


def first_of_talk(memory: Memory, older: str, newer: str, question: str) -> str:
    """As first, where *newer* is a turn of a talk that puts nothing in doubt."""
    memory.remember(ME, RememberRequest(older, when=THEN))
    memory.observe(ME, ConversationTurn("user", newer, THEN + 20 * DAY, session="talk"))
    assert memory.doubts(ME) == []
    found = memory.recall(ME, RecallRequest(question, k=5, context=0))
    return [*found.hits, *found.partial][0].memory.text


@pytest.mark.parametrize(
    ("older", "newer", "question", "newer_first"),
    [
        (
            "Feature freeze for 7.1: Thursday 14 March.",
            "the feature freeze slid by a week, so the 21st",
            "When is the feature freeze for 7.1?",
            True,
        ),
        (
            "Feature freeze for 7.1: Thursday 14 March.",
            "feature freeze for 7.2 is on the 21st of June",
            "When is the feature freeze for 7.1?",
            False,
        ),
        (
            "The winter clothes are in box 12.",
            "the winter shoes are in box 14",
            "What is in box 12?",
            False,
        ),
    ],
)
def test_a_version_that_is_asked_for_is_no_day(
    memory: Memory, older: str, newer: str, question: str, *, newer_first: bool
) -> None:
    wanted = newer if newer_first else older
    assert first_of_talk(memory, older, newer, question) == wanted


OVERVIEW = "our mare Otto: stable at Hofer's. Hay from Brandl. Farrier Mr Kranz. Wormed in May."


@pytest.mark.parametrize(
    ("question", "newer_first"),
    [("Who delivers the hay for our mare Otto?", True), ("Who is the farrier of Otto?", False)],
)
def test_of_an_overview_the_item_that_changed_comes_behind(
    memory: Memory, question: str, *, newer_first: bool
) -> None:
    newer = "the hay comes from the Lechners, Otto eats it gladly"
    wanted = newer if newer_first else OVERVIEW
    assert first_of_talk(memory, OVERVIEW, newer, question) == wanted
