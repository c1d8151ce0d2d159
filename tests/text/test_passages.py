from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.text.passages import passages, sentences
from memory_core.text.words import count_words

SPLIT = [
    ("I bought a kayak. It is green and light!", ["I bought a kayak.", "It is green and light!"]),
    ("Wow! We won the cup. Great.", ["Wow! We won the cup. Great."]),
    ("Really? I did not know that.", ["Really? I did not know that."]),
    ("Dr. Ott lives on St. Mark's Place. She is kind to all.", None),
    ("It costs 3.5 euros a day. That is fine.", ["It costs 3.5 euros a day.", "That is fine."]),
    (
        "Bring fruit, e.g. pears and figs. We have bread.",
        ["Bring fruit, e.g. pears and figs.", "We have bread."],
    ),
    ("J. Smith wrote it down. I read it.", ["J. Smith wrote it down.", "I read it."]),
    ("Am 3. März war ich dort. Es war schön.", ["Am 3. März war ich dort.", "Es war schön."]),
    (
        "Das ist z. B. ein Apfel oder so. Ich mag ihn.",
        ["Das ist z. B. ein Apfel oder so.", "Ich mag ihn."],
    ),
    ("See no. 5 on the list. Then call me.", ["See no. 5 on the list.", "Then call me."]),
    ("I said no. Then he left us.", ["I said no.", "Then he left us."]),
    ("One line here\nanother line there", ["One line here", "another line there"]),
    ("1. Boil some water\n2. Add the tea", ["1. Boil some water", "2. Add the tea"]),
    ('She asked "why me?" Then she sat down.', ['She asked "why me?"', "Then she sat down."]),
    ("今天下雨了。我们在家喝茶。", ["今天下雨了。", "我们在家喝茶。"]),
    ("只有一句话", ["只有一句话"]),
    ("well... that was odd, I think", ["well... that was odd, I think"]),
]


@pytest.mark.parametrize(("text", "expected"), SPLIT)
def test_passages_by_sentence(text: str, expected: list[str] | None) -> None:
    if expected is None:
        expected = ["Dr. Ott lives on St. Mark's Place.", "She is kind to all."]
    assert passages(text, packed=False) == expected


def test_one_passage_is_the_text_itself() -> None:
    assert passages("  just   these words ", packed=False) == ["  just   these words "]
    assert passages(" \n\t", packed=False) == []
    assert passages("", packed=True) == []


def test_packing_fills_up_to_the_limit_with_whole_sentences() -> None:
    text = " ".join(f"Number {n} is a good number." for n in range(6))
    assert passages(text, packed=True, max_words=12) == [
        "Number 0 is a good number. Number 1 is a good number.",
        "Number 2 is a good number. Number 3 is a good number.",
        "Number 4 is a good number. Number 5 is a good number.",
    ]


def test_long_sentences_are_cut_between_words() -> None:
    text = " ".join(f"w{n}" for n in range(25))
    pieces = passages(text, packed=False, max_words=10)
    assert [len(piece.split()) for piece in pieces] == [10, 10, 5]
    assert " ".join(pieces) == text


def test_long_runs_of_chinese_are_cut() -> None:
    text = "茶" * 500
    pieces = passages(text, packed=False, max_words=80)
    assert "".join(pieces) == text
    assert len(pieces) > 1
    assert all(count_words(piece) <= 80 for piece in pieces)


def test_too_many_sentences_are_packed() -> None:
    text = " ".join(f"This is sentence {n}." for n in range(200))
    pieces = passages(text, packed=False)
    assert 1 < len(pieces) <= 32
    assert all(count_words(piece) <= 80 for piece in pieces)


def _letters(text: str) -> str:
    return "".join(text.split())


_PIECES = st.lists(
    st.sampled_from(
        ["tea", "Dr.", "3.5", "no.", "茶。", "end.", "!", "\n", "e.g.", "I.", "Ann", "?", " "]
    ),
    max_size=120,
).map(" ".join)


@settings(deadline=None)
@given(
    st.one_of(st.text(max_size=600), _PIECES), st.booleans(), st.integers(1, 40), st.integers(1, 12)
)
def test_passages_partition_the_text(text: str, packed: bool, max_words: int, most: int) -> None:
    pieces = passages(text, packed=packed, max_words=max_words, most=most)
    assert _letters("".join(pieces)) == _letters(text)
    assert len(pieces) <= most
    assert all(piece.strip() for piece in pieces)
    assert _letters("".join(sentences(text))) == _letters(text)


@pytest.mark.parametrize(
    "unit", ["a", "a. ", ". ", ".", "\n", "茶。", "茶", "A. B. ", "1. ", '!"', "a b c d. "]
)
@pytest.mark.parametrize("packed", [False, True])
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str, packed: bool) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(lambda text: passages(text, packed=packed), unit)
