"""Numbers in words and digits: what is one number, what is another, against a speller."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memory_core.enrichment.grounding import ungrounded
from memory_core.text.numerals import in_digits, is_number_word, numbers
from memory_core.text.words import listed

MONDAY = 1_709_577_000.0
SMALL = listed(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen"""
)
TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")


def spelled(number: int, hyphen: str = "-", joint: str = " and ") -> str:
    """*number* below 10**12 in words, as one learns it at school."""
    for scale, word in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= scale:
            head, rest = divmod(number, scale)
            told = f"{spelled(head, hyphen, joint)} {word}"
            between = joint if rest < 100 else " "
            return told if not rest else f"{told}{between}{spelled(rest, hyphen, joint)}"
    if number >= 100:
        head, rest = divmod(number, 100)
        told = f"{SMALL[head]} hundred"
        return told if not rest else f"{told}{joint}{spelled(rest, hyphen, joint)}"
    if number >= 20:
        head, rest = divmod(number, 10)
        return TENS[head - 2] + (f"{hyphen}{SMALL[rest]}" if rest else "")
    return SMALL[number]


def written(number: int, form: str) -> str:
    """*number* in one of several forms."""
    return {
        "digits": str(number),
        "grouped": f"{number:,}",
        "words": spelled(number),
        "american": spelled(number, joint=" "),
        "loose": spelled(number, hyphen=" "),
        "capital": spelled(number).capitalize(),
    }[form]


FORMS = st.sampled_from(["digits", "grouped", "words", "american", "loose", "capital"])
COUNTS = st.one_of(st.integers(0, 130), st.integers(0, 10**4), st.integers(0, 10**12 - 1))


def told(fact: str, source: str) -> str:
    return ungrounded(f"They counted {fact} apples.", [("", f"So {source} apples, then.", MONDAY)])


@settings(deadline=None)
@given(COUNTS, FORMS, FORMS)
def test_a_number_is_the_same_in_every_form(number: int, one: str, other: str) -> None:
    assert told(written(number, one), written(number, other)) == ""


@settings(deadline=None, max_examples=75)
@given(COUNTS, COUNTS, FORMS, FORMS)
@example(20, 25, "words", "words")
@example(5, 25, "digits", "words")
@example(25, 20, "words", "digits")
@example(200, 1200, "digits", "grouped")
@example(1, 100, "words", "words")
@example(2006, 2000, "words", "words")
def test_another_number_is_an_invention(number: int, real: int, one: str, other: str) -> None:
    assume(number != real)
    assert told(written(number, one), written(real, other)) != ""


@settings(deadline=None)
@given(st.integers(0, 999), st.integers(0, 999), st.sampled_from(["thousand", "million"]))
def test_digits_and_words_mix(whole: int, part: int, scale: str) -> None:
    value = (1000 * whole + part) * {"thousand": 1, "million": 1000}[scale]
    mixed = f"{whole}.{part:03d} {scale}"
    assert told(mixed, str(value)) == ""
    assert told(str(value + 1), mixed) != ""


@settings(deadline=None)
@given(st.lists(st.tuples(COUNTS, FORMS), min_size=1, max_size=5), st.data())
def test_one_invented_number_among_real_ones_is_named(
    real: list[tuple[int, str]], data: st.DataObject
) -> None:
    source = ", ".join(written(*each) + " pears" for each in real)
    invented = data.draw(COUNTS.filter(lambda n: n not in {number for number, _ in real}))
    place = data.draw(st.integers(0, len(real)))
    shown = [written(*each) for each in real]
    shown.insert(place, written(invented, "words"))
    fact = "They sold " + ", ".join(f"{each} pears" for each in shown)
    assert ungrounded(fact, [("", source, MONDAY)]) == written(invented, "words")


PIECES = st.sampled_from(
    listed(
        """a an and of one two three twenty five hundred thousand million dozen half quarter third
    thirds fifths first second couple pair percent % per cent minus - , . / : 1 20 3.5 1/2 6:30 pm
    past to the hour apples no 2,000 1.200 5k 3rd ½ dozens"""
    )
)


@settings(deadline=None, max_examples=75)
@given(st.lists(PIECES, max_size=12), st.sampled_from([" ", "-", ""]))
def test_a_text_offers_what_it_needs(pieces: list[str], joint: str) -> None:
    for number in numbers(joint.join(pieces)):
        assert not number.needs or number.needs & number.offers
        assert number.written


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    numbers(text)


@pytest.mark.parametrize("text", ["one " * 5000, "thousand " * 2200, "9" * 20_000, "a and " * 3000])
def test_long_texts_are_read(text: str) -> None:
    assert all(number.written for number in numbers(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("three", "3"),
        ("third", "3rd"),
        ("twenty-first", "21st"),
        ("one hundred and first", "101st"),
        ("a dozen", "12"),
        ("two dozen", "24"),
        ("half a dozen", "six"),
        ("3 dozen", "36"),
        ("half of the", "0.5 of the"),
        ("half of the", "50 % of the"),
        ("half of the", "fifty per cent of the"),
        ("½ of the", "1/2 of the"),
        ("2½", "two and a half"),
        ("eight and a half thousand", "8,500"),
        ("half a million", "500,000"),
        ("a million and a half", "1.5 million"),
        ("an hour and a half", "1.5 hours"),
        ("two hours and a half", "2.5 hours"),
        ("half an hour, and", "30"),
        ("two thirds of the", "2/3 of the"),
        ("three quarters of the", "75 percent of the"),
        ("a quarter of the", "25% of the"),
        ("a couple of", "two"),
        ("a couple of hundred", "200"),
        ("a pair of", "2"),
        ("twice", "two times"),
        ("nineteen eighty-four", "1984"),
        ("half past six", "6:30"),
        ("quarter to seven", "6:45"),
        ("seven thirty", "7:30"),
        ("6:30 pm", "18:30"),
        ("12:15 a.m.", "00:15"),
        ("18:00", "6 PM"),
        ("minus three", "-3"),
        ("1,200.50", "1200.5"),
        ("1.200,50", "1200.5"),
        ("1\u202f200", "1200"),
        ("1'200", "1200"),
        ("0042", "42"),
        ("5k", "5000"),
        ("1.5M", "one and a half million"),
        ("٣", "3"),
        ("fifty-two thousand, and four", "fifty-two thousand and four"),
    ],
)
def test_two_ways_to_say_one_number(one: str, other: str) -> None:
    assert told(other, one) == ""
    if one != "fifty-two thousand, and four":  # two numbers, where the other may be one
        assert told(one, other) == ""


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("a dozen", "ten"),
        ("dozens of", "three"),
        ("hundreds of", "200"),
        ("half of the", "a third of the"),
        ("half a dozen", "a dozen"),
        ("a couple of", "three"),
        ("one", "2"),
        ("first", "third"),
        ("second", "third"),
        ("3", "-3"),
        ("-3", "3"),
        ("Python 3.1", "Python 3.10"),
        ("3.11.5", "3.11.4"),
        ("6:30 am", "6:30 pm"),
        ("6:30 pm", "6:30"),
        ("5", "twenty-five"),
        ("20", "twenty-five"),
        ("twenty", "25"),
        ("thousand", "two thousand five hundred"),
        ("500", "two thousand five hundred"),
        ("52,000", "fifty-two thousand and four"),
        ("9" * 40, "9" * 41),
    ],
)
def test_two_numbers(fact: str, source: str) -> None:
    assert told(fact, source) != ""


@pytest.mark.parametrize(
    "text",
    [
        "the red one is hers",
        "one of them left",
        "one day they met",
        "no one came",
        "at first it rained",
        "first of all it rained",
        "a half marathon",
        "half-hearted",
        "in the last quarter of town",
        "every second matters",
        "often, someone, tension and height",
    ],
)
def test_words_that_hardly_count_need_nothing(text: str) -> None:
    assert not any(number.needs for number in numbers(text))


def test_number_words_are_no_names() -> None:
    assert is_number_word("twenty-five")
    assert not is_number_word("nora-lee")
    said = "They are 25."
    assert ungrounded("Twenty-five are they.", [("", said, MONDAY)]) == ""


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("300 euros", "300 euros"),
        ("٣٠٠ euros", "300 euros"),
        ("एक बैठक ३ बजे", "एक बैठक 3 बजे"),
        ("会议在三点", "会议在 3 点"),
        ("会议在3点", "会议在 3 点"),
        ("三百二十人", " 320 人"),
        ("第十二", "第 12 "),
        ("二〇二四年", " 2024 年"),
        ("四万五千", " 45000 "),
        ("Room Ⅷ", "Room  8 "),
        ("我们一起去", "我们一起去"),
        ("2½ cups of x²", "2½ cups of x²"),
    ],
)
def test_numerals_of_any_script_are_digits(text: str, same: str) -> None:
    assert in_digits(text) == same


@given(st.text(st.sampled_from("a3٣३三四十百万亿〇Ⅳ½² 点é")))
def test_any_text_has_its_digits(text: str) -> None:
    once = in_digits(text)
    assert in_digits(once) == once


def test_a_numeral_of_20000_digits_is_read() -> None:
    assert in_digits("三" * 20_000) == f" {'3' * 20_000} "
