from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.text.names.entities import MOST, entities, gazetteer
from memory_core.text.words import listed

FOUND = [
    # people
    ("Yesterday I met Mara at the pool", ["Mara"]),
    ("Thanks, Jonas!", ["Jonas"]),
    ("Hey Mara! How was the concert?", ["Mara"]),
    ("Mara lives above the bakery", ["Mara"]),
    ("Mara's dentist is closed", ["Mara"]),
    ("Jonas and I painted the fence", ["Jonas"]),
    ("Running is fun. I told Tilda so.", ["Tilda"]),
    ("I saw Mara Lindqvist and Dr. Otto Brandt", ["Mara Lindqvist", "Dr. Otto Brandt"]),
    ("Ask Dr. Novak about it", ["Dr. Novak"]),
    ("J. Smith signed the form", ["J. Smith"]),
    ("She sings with Ludwig van Beethoven fans", ["Ludwig van Beethoven"]),
    ("O'Brien called Siobhan O'Neill", ["O'Brien", "Siobhan O'Neill"]),
    ("Anne-Marie likes figs", ["Anne-Marie"]),
    ("I love José's cooking", ["José"]),
    ("the twins, Finn and Ida, start school", ["Finn", "Ida"]),
    # places
    ("We flew to Lisbon", ["Lisbon"]),
    ("Berlin was cold", ["Berlin"]),
    ("She moved to New York for work", ["New York"]),
    ("I jog in Central Park every day", ["Central Park"]),
    ("The bakery on Linden Street closed", ["Linden Street"]),
    ("The depot on Industrial Way burned down.", ["Industrial Way"]),
    ("Industrial Way was closed on Monday.", ["Industrial Way"]),
    ("Our house on Lakeshore Drive is old.", ["Lakeshore Drive"]),
    ("We meet at King's Cross Station.", ["King's Cross Station"]),
    ("They sell fish on Fisherman's Wharf.", ["Fisherman's Wharf"]),
    ("They built it at Abbey Close, near Tinker Row.", ["Abbey Close", "Tinker Row"]),
    ("Sie wohnen in der Alten Gasse am Grünen Weg.", ["Alten Gasse", "Grünen Weg"]),
    ("I drove to Nora's Garage on the way.", ["Nora", "Garage"]),
    ("By the way, drive to the court and close the gate.", []),
    ("Our flat is in Rua Augusta", ["Rua Augusta"]),
    ("Ich wohne in der Birkenstraße bei meiner Oma", ["Birkenstraße"]),
    ("We crossed the Bay of Biscay", ["Bay of Biscay"]),
    ("they hiked near Rio de Janeiro", ["Rio de Janeiro"]),
    ("we visited the Museum of Modern Art", ["Museum of Modern Art"]),
    ("the weather in South Africa", ["South Africa"]),
    # organisations and acronyms
    ("She works for NASA now", ["NASA"]),
    ("an LGBTQ support group", ["LGBTQ"]),
    ("The AT&T bill is due", ["AT&T"]),
    ("I joined the Red Cross", ["Red Cross"]),
    ("We moved the files to AWS", ["AWS"]),
    # products and identifiers
    ("We run Python 3.11 in production", ["Python 3.11", "Python"]),
    ("upgrade to Windows 11 soon", ["Windows 11", "Windows"]),
    ("Node v18 is old", ["Node v18", "Node"]),
    ("My iPhone 15 broke", ["iPhone 15", "iPhone"]),
    ("we store vectors in LanceDB and FAISS", ["LanceDB", "FAISS"]),
    ("GitHub is down", ["GitHub"]),
    ("LanceDB stores rows. McKenna sails.", ["LanceDB"]),
    ("I sail with Ida McKenna", ["Ida McKenna"]),
    ("call getUserName before save", ["getUserName"]),
    ("the column user_id is wrong", ["user_id"]),
    ("edit config.toml first", ["config.toml"]),
    ("run `ruff` on it", ["ruff"]),
    ("the model GPT-4 is slow", ["GPT-4"]),
    # titles
    ('I loved reading "Charlotte\'s Web" as a kid', ["Charlotte's Web"]),
    ("We watched “The Third Man” again", ["Third Man"]),
    ('a song called "blue moon rising"', ["blue moon rising"]),
    ('He called it "a mess"', []),
    ('She said "Thank you so much!"', []),
    # handles, addresses
    ("ping @mara_l about it", ["@mara_l"]),
    ("write to mara@example.org today", []),
    ("see https://Example.org/Some/Path for Tilda", ["Tilda"]),
    # the start of a sentence says nothing
    ("Painting relaxes me", []),
    ("Pottery calms me. Pottery is great.", []),
    ("What a day! Really nice.", []),
    ("I asked Pixel. Pixel barked.", ["Pixel"]),
    ("Remember to water the plants", []),
    # calendar, fillers, pronouns
    ("See you on Monday in June", []),
    ("I'm tired and I've had enough, OK?", []),
    ("Yes. Hey! Wow, LOL", []),
    ("In January I will rest", []),
    # shouting
    ("WHY IS EVERYTHING SO LOUD TODAY", []),
    ("STOP DOING THAT NOW", []),
    # german nouns are no names
    ("Ich habe das Auto in die Werkstatt gebracht", []),
    ("Gestern war ich mit Anna Müller in der Stadt", ["Anna Müller"]),
    # canonical form
    ("We saw the Beatles and the Beatles' manager", ["Beatles"]),
    ("Tilda called. I love Tilda's hat. TILDA!", ["Tilda"]),
    ("", []),
    ("   \n ", []),
]


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_names_in_a_text(text: str, expected: list[str]) -> None:
    assert list(entities(text)) == expected


KNOWN = [
    ("the bakery on linden street closed", ["Linden Street"], ["Linden Street"]),
    ("mara called", ["Mara"], ["Mara"]),
    ("MARA CALLED ABOUT THE BOAT", ["Mara"], ["Mara"]),
    ("Pottery is great", ["Pottery"], ["Pottery"]),
    ("I will go, may be", ["Will", "May"], []),
    ("I asked Will about it", ["Will"], ["Will"]),
    ("linden  street's lamps", ["Linden Street"], ["Linden Street"]),
    ("the new york office of acme", ["New York", "Acme", "York"], ["New York", "Acme"]),
    ("nothing here", ["Linden Street"], []),
    ("I like LANCEDB", ["LanceDB"], ["LanceDB"]),
]


@pytest.mark.parametrize(("text", "known", "expected"), KNOWN)
def test_known_names_match_whatever_their_case(
    text: str, known: list[str], expected: list[str]
) -> None:
    assert list(entities(text, known)) == expected
    assert entities(text, gazetteer(known)) == tuple(expected)


def test_gazetteer_folds_case_and_space_and_drops_blanks() -> None:
    assert gazetteer(["Linden  Street", " ", ""]) == {"linden street": "Linden  Street"}


def test_at_most_a_bounded_number_of_names() -> None:
    text = "I met " + ", ".join(f"Tilda{chr(65 + i // 26)}{chr(97 + i % 26)}" for i in range(100))
    assert len(entities(text)) == MOST


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_gives_clean_names(text: str) -> None:
    found = entities(text)
    assert len({name.casefold() for name in found}) == len(found) <= MOST
    for name in found:
        assert 1 < len(name) <= 80
        assert name == name.strip()
    assert entities(text) == found


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            listed("""Mara the of O'Brien Dr. . ! " 'A @x v3 3.11 Street AWS getX a_b van de""")
        ),
        max_size=30,
    )
)
def test_any_mixture_of_name_parts_is_read(parts: list[str]) -> None:
    for name in entities(" ".join(parts), ["Mara", "Street"]):
        assert name


@pytest.mark.parametrize(
    "unit",
    [
        "A",
        "Aa",
        "Aa ",
        "a.",
        "A.",
        '"',
        '"A',
        "@a",
        "a_",
        "http://",
        "Dr. ",
        "A&",
        "x@y.",
        "`",
        "1.",
        "'A",
    ],
)
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(entities, unit)
