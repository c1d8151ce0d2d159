"""The nouns of a text, by which a topic is called."""

from __future__ import annotations

import pytest

from memory_core.text.keywords import nouns


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Uma has a new dog", ("Uma", "dog")),
        ("the fence is new", ("fence",)),
        ("the weight is better than last week", ("weight",)),
        ("das ist eine gute Sache für die Kinder", ("Kinder",)),
        ("we have a new way to count the berths", ("berths",)),
        ("all things are good", ()),
    ],
)
def test_what_tells_of_no_text_what_it_is_about_calls_no_topic(
    text: str, found: tuple[str, ...]
) -> None:
    assert nouns(text) == found
