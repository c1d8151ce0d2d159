"""For how long something holds, by the words that say so. Said on Wednesday, 25 February 2026."""

from __future__ import annotations

import pytest

from memory_core.text.time.timestamps import iso
from memory_core.text.time.validity import bounds

SAID = 1_772_000_000.0


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("Until 20 March the office is in Hamburg.", None, "2026-03-20T23:59:59Z"),
        ("The code is 4711 until Friday.", None, "2026-02-27T23:59:59Z"),
        ("I am staying with Jon for two weeks.", None, "2026-03-11T06:13:20Z"),
        ("The shop is closed this week only.", None, "2026-03-01T23:59:59Z"),
        (
            "From 3 March to 9 March the office is in Hamburg.",
            "2026-03-03T00:00:00Z",
            "2026-03-09T23:59:59Z",
        ),
    ],
)
def test_bounded(text: str, start: str | None, end: str | None) -> None:
    found = tuple(None if at is None else iso(at) for at in bounds(text, SAID))
    assert found == (start, end)


@pytest.mark.parametrize(
    "text",
    [
        "We lived in Rome for two years.",
        "I lived in Graz until 2019.",
        "I waited until the rain stopped.",
        "The office is in Hamburg.",
        "",
    ],
)
def test_not_bounded(text: str) -> None:
    assert bounds(text, SAID) == (None, None)
