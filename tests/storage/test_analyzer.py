"""Text to terms: what can be found by what."""

from __future__ import annotations

import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.storage.index.analyzer import STOPWORDS, fold, index_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("  ... !? \x00 ", []),
        ("The gardens of Mara", ["garden", "mara"]),
        ("She was running with Mara's dogs", ["run", "mara", "dog"]),
        ("the neighbours’ and Mara’s", ["neighbour", "mara"]),
        ("I don't, can't and won't; they're here, we'll see", ["see"]),
        ("pi is 3.14, port 5432, v2", ["pi", "3.14", "port", "5432", "v2"]),
        ("host 10.0.0.1.", ["host", "10.0.0.1"]),
        ("paid 1,000 or 12,345.50", ["paid", "1000", "12345.50"]),
        ("rooms 3,14", ["room", "3", "14"]),
        ("max_tokens", ["max", "token", "maxtoken"]),
        ("maxTokens", ["maxtoken"]),
        ("an e-mail", ["e", "mail", "email"]),
        ("GPT-4 and GPT4", ["gpt", "4", "gpt4", "gpt4"]),
        ("v2.1", ["v2", "1", "v2.1"]),
        ("on 2024-05-07", ["2024", "05", "07", "20240507"]),
        ("O'Brien's", ["o", "brien", "obrien"]),
        ("mother-in-law's", ["mother", "law", "motherinlaw"]),
        ("config.py/main:run", ["config", "py", "main", "run"]),
        ("one.Two", ["one", "two"]),
        ("café CAFÉ cafe\u0301", ["cafe", "cafe", "cafe"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("Łódź, Tromsø, ﬁne, Ｆｕｌｌ", ["lodz", "tromso", "fine", "full"]),
        ("東京", ["東京"]),
        ("東京都に", ["東京", "京都", "都に"]),
        ("犬", ["犬"]),
        ("我用Python写", ["我用", "python", "写"]),
        ("がっこう", ["がっ", "っこ", "こう"]),
        ("ｶﾞｲﾄﾞ", ["ガイ", "イド"]),
        ("トム・ハンクス", ["トム", "ハン", "ンク", "クス"]),
        ("한국어", ["한국", "국어"]),
        ("Привет мир", ["привет", "мир"]),
    ],
)
def test_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert index_terms(text) == terms


def test_voice_marks_of_kana_make_a_difference() -> None:
    assert index_terms("がか") != index_terms("かか")


def test_stopwords_are_about_110_words_and_none_is_a_term() -> None:
    assert 100 <= len(STOPWORDS) <= 130
    assert index_terms(" ".join(STOPWORDS)) == []


@given(st.text(max_size=60))
def test_terms_do_not_depend_on_case_or_composition(text: str) -> None:
    assert index_terms(unicodedata.normalize("NFD", text)) == index_terms(
        unicodedata.normalize("NFC", text)
    )
    assert index_terms(text) == index_terms(text)
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=60))
def test_terms_are_words_without_spaces(text: str) -> None:
    for term in index_terms(text):
        assert term
        # Cn: Han characters that are younger than this Python.
        kinds = {unicodedata.category(c) for c in term.replace(".", "")}
        assert all(kind[0] in "LNM" or kind == "Cn" for kind in kinds), term


def test_threads_get_the_same_terms() -> None:
    text = " ".join(f"running{i} walked{i}ing swimmers" for i in range(2000)) + " gardening" * 50
    expected = index_terms(text)
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda: results.append(index_terms(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [expected] * 8
