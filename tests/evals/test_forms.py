"""Form before words: whose words a prompt holds, and which turns state anything.

`forms.json` was written, and committed, before the code that it judges: `content` is somebody
else's text that a prompt asks about, `own` the speaker's own statement beside a request, `noise`
turns that state nothing, `keep` turns like them that do.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_core.beliefs import quoted, relevance

CASES = json.loads((Path(__file__).parent / "data" / "forms.json").read_text("utf-8"))
MISSED = {"test command: pytest -x -q tests/api"}
"""The label reads like the command to test something."""


def claims(text: str) -> str:
    """What `claimed` gives for a turn of the user's with that text."""
    return "" if quoted.is_content(text) else quoted.own_words(text)


@pytest.mark.parametrize("case", CASES["content"], ids=lambda case: case["about"])
def test_what_is_asked_about_is_nobodys_statement(case: dict[str, str]) -> None:
    assert case["about"] not in claims(case["text"])
    assert quoted.is_content(case["text"])  # so it is stored with the trust `quoted`


@pytest.mark.parametrize("case", CASES["own"], ids=lambda case: case["about"])
def test_a_statement_beside_a_request_is_the_speakers(case: dict[str, str]) -> None:
    assert case["about"] in claims(case["text"])
    assert relevance.gate(case["text"], "user") == ""


@pytest.mark.parametrize("case", CASES["noise"], ids=lambda case: case["text"])
def test_a_turn_that_states_nothing_is_not_captured(case: dict[str, str]) -> None:
    assert relevance.gate(case["text"], case["by"]) != ""


@pytest.mark.parametrize("case", CASES["keep"], ids=lambda case: case["text"])
def test_a_turn_that_states_something_is_captured(case: dict[str, str]) -> None:
    lost = relevance.gate(case["text"], case["by"]) != ""
    assert lost == (case["text"] in MISSED)
