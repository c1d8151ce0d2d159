from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.text.normalise import clean, forgetting_form, is_blank, telling_sentences

ANY = st.text(st.characters(), max_size=200)  # includes surrogates


def test_lone_surrogates_are_replaced_with_a_warning() -> None:
    assert clean("a\ud800b\udfff") == ("a\ufffdb\ufffd", ["2 lone surrogates replaced by U+FFFD"])
    assert clean("\ude00") == ("\ufffd", ["1 lone surrogate replaced by U+FFFD"])


def test_surrogate_pairs_become_the_character_they_mean() -> None:
    assert clean("x\ud83d\ude00y") == ("x\U0001f600y", [])


@settings(deadline=None)
@given(ANY)
def test_clean_text_can_be_stored_and_is_otherwise_unchanged(text: str) -> None:
    repaired, warnings = clean(text)
    assert repaired.encode("utf-8").decode("utf-8") == repaired
    assert clean(repaired) == (repaired, [])
    if not any(0xD800 <= ord(char) < 0xE000 for char in text):
        assert (repaired, warnings) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "\u200b\u200d",
        "\u202e\u2066",
        "\ufe0f",
        "\u3164",
        "\u2800",
        "\xad\n\t",
        "\U000e0041",
    ],
)
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", ".", "👍", "\u200ba", "é", "茶", "\ufffd"])
def test_what_can_be_seen_is_not_blank(text: str) -> None:
    assert not is_blank(text)


ORIGINAL = "Her PIN is 4321 and she lives in Bonn."
DISGUISED = [
    "her pin is 4321 and she lives in bonn",
    "Her  PIN\tis\n4321 and she lives in Bonn!!!",
    "Ｈｅｒ ＰＩＮ ｉｓ ４３２１ and she lives in Bonn.",
    "H\u200ber P\u00adIN is 4321 and she lives in B\u2060onn.",
    "Hеr РIN is 4321 and shе livеs in Воnn.",
    "Hér PIN is 4321 and she lívës in Bonn.",
    "Her PIN is 4321 and she lives in Bo\u0336nn.",
    "“Her PIN is 4321, and she lives in Bonn…”",
    "𝐇𝐞𝐫 𝐏𝐈𝐍 is 4321 and she lives in Bonn",
]


@pytest.mark.parametrize("text", DISGUISED)
def test_a_disguise_does_not_change_the_forgetting_form(text: str) -> None:
    assert forgetting_form(text) == forgetting_form(ORIGINAL)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("the pin is 4321", "the pin is 4322"),
        ("minus -3", "minus 3"),
        ("1.5", "15"),
        ("Ann owes Ben", "Ben owes Ann"),
        ("I like 🍎", "I like 🍌"),
        ("it costs $5", "it costs 5"),
        ("!", "?"),
        ("I eat meat", "I do not eat meat"),
        ("茶", "水"),
    ],
)
def test_a_difference_of_meaning_stays(first: str, second: str) -> None:
    assert forgetting_form(first) != forgetting_form(second)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_forgetting_form_is_stable_and_empty_only_for_blank(text: str) -> None:
    form = forgetting_form(text)
    assert forgetting_form(form) == form
    if not form:
        assert is_blank(text) or all(0x300 <= ord(char) <= 0x36F or is_blank(char) for char in text)


@pytest.mark.parametrize("unit", ["a", "A. ", "\u0301", "е", "- ", "5."])
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(forgetting_form, unit)
    assert grows_linearly(telling_sentences, unit)


def test_telling_sentences_hold_a_name_or_a_number() -> None:
    text = "We talked. I met Tilda at the pool. The code is 4321. It was nice. The code is 4321."
    assert telling_sentences(text) == ["I met Tilda at the pool.", "The code is 4321."]
    assert telling_sentences("it was nice. we rested.") == []


@pytest.mark.parametrize(
    "disguised",
    [
        "ＭＹ ＰＩＮ for Zürich is ４７１１!",
        "my  pin\u00a0for\tzurich is 4711",
        "My P\u200bIN for Zu\u0308rich is 47\u200d11",
        "\u039cy \u0420IN for Z\u00fcr\u0456ch is 4711",
        "M\u0443 \u0420\u0406\u039d f\u043er Zürich is 4711",
        "𝐌𝐲 𝐏𝐈𝐍 for Zürich is ④⑦①①",
        "\u1d0dy \u13e2IN for Zürich is \u0664\u0667\u0661\u0661",
        "My PIN for Zürich is 4711\U000e0041",
    ],
)
def test_disguises_make_no_difference_to_what_was_forgotten(disguised: str) -> None:
    assert forgetting_form(disguised) == "my pin for zurich is 4711"


def test_greek_is_not_taken_for_latin_whatever_its_case() -> None:
    assert forgetting_form("ΜΑΡΊΑ ΝΊΚΗ") == forgetting_form("Μαρία Νίκη")
    assert forgetting_form("ΝΑΙ") != forgetting_form("NAI nein")
