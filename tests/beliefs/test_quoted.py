"""What a text states, told apart from what it quotes, pastes or supposes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.quoted import claimed, content_size, is_content, own_words, told
from memory_core.records import MemoryRecord
from memory_core.text.words import words

MAIL = """From: Office <office@example.org>
Subject: Rent

The rent is 910 euros from now on."""

OWN = [
    # quotation marks around clauses, not around words and titles
    ('Tom told me "we leave on Sunday now", I doubt it.', "Tom told me , I doubt it."),
    ('I am reading "The Lord of the Rings".', 'I am reading "The Lord of the Rings".'),
    ('The flag is called "dry-run".', 'The flag is called "dry-run".'),
    ("Er schrieb: „Wir ziehen nach Linz.“ Ich glaube es.", "Er schrieb:  Ich glaube es."),
    ("It's my sister's car and I'm sure.", "It's my sister's car and I'm sure."),
    ("We use `fetch()` with a retry, and `axios` nowhere.",) * 2,
    # a question that stops before its content, a correction, and a label that is no request
    ("what is the verb in: the cat moved to Linz", "what is the verb in"),
    ("scrap that about lunch: we eat at noon",) * 2,
    ("Load test: 90 users at once brought it to 300 ms.",) * 2,
    # what forms tell
    ("I agree with Ana.\n> The port is 5432.\n> Really.", "I agree with Ana."),
    ("We pinned it.\n```yaml\nnumpy: 1.26\n```\nIt works.", "We pinned it.\nIt works."),
    ("My flat is in Graz.\n\n" + MAIL, "My flat is in Graz."),
    ("I run Debian.\n2024-06-01 10:00:01 INFO disk is full", "I run Debian."),
    ("The gate is green.\n<p>The gate is red.</p>", "The gate is green."),
    ("Is it her?\n[10:02] Jana: my cat is Momo\n[10:03] Pia: no", "Is it her?"),
    ("rob: I bike to work\nkim: nice\nrob: since May", ""),
    # a form, a list and code words in prose are the speaker's own
    ("Name: Sam\nCity: Leeds\nDiet: vegan",) * 2,
    ("My plan:\n- breakfast: 8:00\n- class reunion: 18:00",) * 2,
    ("class starts at 9:00, from May on: at 8:00",) * 2,
    ("From: Berlin\nTo: Munich\nDate: Friday",) * 2,
    # what follows a request about a text
    ("Summarise this: I moved to Lyon.", "Summarise this"),
    ("Translate into French: I am allergic to shrimps.", "Translate into French"),
    (
        "Was ist die Kernaussage des Artikels: Wir ziehen um.",
        "Was ist die Kernaussage des Artikels",
    ),
    ("Proofread this.\n\nHi team,\nthe host is birch-7.", "Proofread this."),
    ("Is this spam?\n\nYour invoice goes to Pinter.", "Is this spam?"),
    (
        "My cat is Olive, says the story.\n\nPlease shorten this story.",
        "Please shorten this story.",
    ),
    ("Can you proofread my story? My cat is Momo, she said.", "Can you proofread my story?"),
    ("For a thought experiment: our server runs Windows. What breaks?", "What breaks?"),
    ("A friend forwarded this letter:\n\nThe gate is red.", "A friend forwarded this letter:"),
    ("Please follow these rules:\n- the port is 5433",) * 2,
    ("Der Termin steht: 4. Mai, 9 Uhr",) * 2,
    ("Let's use pnpm: it is faster",) * 2,
    ("Remember: the boiler needs service.",) * 2,
    ("My new address: 4 Mill Road",) * 2,
    ("I said: no tabs in this repository",) * 2,
    ("Why is it slow?\n\nWe run Postgres 16 on port 5433.",) * 2,
    # suppositions
    ("Suppose I moved to Lisbon. I would work from home. What is the tax?", "What is the tax?"),
    ("I live in Bergen. What if I moved to Oslo?", "I live in Bergen."),
    ("Angenommen, mein Auto ist ein Audi. Was kostet es?", "Was kostet es?"),
    ("If the tests fail, never push.",) * 2,
]


@pytest.mark.parametrize(("text", "own"), OWN)
def test_own_words_are_what_is_left(text: str, own: str) -> None:
    assert words(own_words(text)) == words(own)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Can you draft a reply?\n\n" + MAIL, True),
        ("I got this from my landlord today:\n" + MAIL, True),
        ("> The port is 5432.", True),
        ("Suppose I moved to Lisbon. What is the tax?", True),
        ("I quit the flat. Can you draft a reply?\n\n" + MAIL, False),
        ("I use Bootstrap 5.3, can you help me fix this, here's my code:\n```\nx = 1\n```", False),
        ("Which port is it?", False),
        ("The port is 5432.", False),
    ],
)
def test_a_text_is_content_when_nothing_beside_it_is_stated(text: str, content: bool) -> None:
    assert is_content(text) is content


def test_only_what_its_speaker_states_is_claimed() -> None:
    said = MemoryRecord("", 'Ana wrote "the port is now 5433", ours is 5432.', role="user")
    assert claimed(said).split() == ["Ana", "wrote", ",", "ours", "is", "5432."]
    plain = MemoryRecord("", "The port is 5433.")
    assert claimed(plain) == "The port is 5433."
    for role, trust in (("assistant", "agent"), ("tool", "agent"), ("user", "quoted")):
        assert claimed(MemoryRecord("", plain.text, role=role, trust=trust)) == ""


def test_suppositions_are_no_content_worth_keeping() -> None:
    assert content_size("Suppose I moved to Lisbon and worked from home.") == 0
    assert content_size("Look:\n> one two three") == 4  # and the mark


@given(st.text(max_size=300))
def test_nothing_is_added_to_any_text(text: str) -> None:
    left = iter(words(text))
    assert all(word in left for word in words(own_words(text)))  # in order


@pytest.mark.parametrize(
    "unit",
    [
        *("a", '"', "“", "„", "«a", "'", " '", "`", "a: ", "From: ", "> ", "\n", "\n\n", "<p", "{"),
        *(
            "if i moved ",
            "suppose ",
            "summarise this: ",
            "here is the text ",
            "Ana: ok\n",
            "[10:02",
        ),
        *("what is this text? ", "a, ", "```\n", "    x\n", "says: ", "|a", "On wrote"),
        "Dear Ana,\nregards\n",
    ],
)
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(own_words.__wrapped__, unit)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The bill went up to 410, can you put that into the sheet?", "The bill went up to 410"),
        ("What port? We use 8080, not 80.", "We use 8080, not 80."),
        ("Kannst du das ändern? Mara wohnt jetzt in Linz.", "Mara wohnt jetzt in Linz."),
        ("We moved to Hetzner, which port do I need?", "We moved to Hetzner"),
        ("The gate is now at pier 4, right?", "The gate is now at pier 4, right?"),
        ("Is the gate open?", "Is the gate open?"),
        ("Do you know whether Mara lives in Linz?", "Do you know whether Mara lives in Linz?"),
    ],
)
def test_what_a_text_tells_is_without_what_it_asks_beside(text: str, what: str) -> None:
    assert told(text) == what
