from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.forms import aliases, called, forms_among, same_word

_STEMS = (
    "k8s",
    "kubernetes",
    "passwort",
    "druckerpasswort",
    "ticket",
    "config",
    "db",
    "mum",
    "ort",
)
_WORDS = st.builds(
    "{}{}{}".format,
    st.sampled_from(("", "", "drucker", "grand")),
    st.sampled_from((*_STEMS, "configuration", "database", "mother", "production", "prod", "")),
    st.sampled_from(("", "s", "en", "ed", "uration", "40")),
)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("passwort", "druckerpasswort", True),
        ("tickets", "ticket", True),
        ("k8s", "kafka", False),
        ("invoice40", "invoice41", False),
    ],
)
def test_forms_of_one_word(a: str, b: str, same: bool) -> None:
    assert same_word(a, b) == same_word(b, a) == same


@given(_WORDS, st.sets(_WORDS, max_size=12))
def test_forms_among_words_are_those_found_one_by_one(word: str, others: set[str]) -> None:
    assert forms_among(word, others) == sorted(each for each in others if same_word(word, each))


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("Our data warehouse (DWH) runs on Snowflake.", ("data warehouse", "dwh")),
        ("The customer portal aka Beacon is slow.", ("customer portal", "beacon")),
        ("Falcon, formerly Kestrel, is in beta.", ("falcon", "kestrel")),
        ("Das Kundenportal, kurz KuPo, ist neu.", ("kundenportal", "kupo")),
        ("I met Anna (Berlin) at the fair.", None),
        ("The report is called often.", None),
    ],
)
def test_names_that_a_text_defines(text: str, pair: tuple[str, str] | None) -> None:
    assert aliases([text]) == ([] if pair is None else [pair])


def test_a_text_is_told_with_the_other_name() -> None:
    known = [("data warehouse", "dwh")]
    assert called("The DWH moved.", known) == ["The data warehouse moved."]
    assert called("Our data  warehouse moved.", known) == ["Our dwh moved."]
    assert called("The DWH is the data warehouse.", known) == []
    assert called("Adwhere moved.", known) == []
