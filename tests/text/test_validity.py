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
        ("This week I work from Vienna.", None, "2026-03-01T23:59:59Z"),
        ("I'm in the library today.", None, "2026-02-25T23:59:59Z"),
        ("Diesen Freitag bin ich im Lager.", None, "2026-02-27T23:59:59Z"),
        ("This month the shop is closed on Mondays.", None, "2026-02-28T23:59:59Z"),
        ("The ramp is being painted, so this week I park in lot 9.", None, "2026-03-01T23:59:59Z"),
        ("Bis 20.03. wohne ich in Kiel.", None, "2026-03-20T23:59:59Z"),
        ("Die Werkstatt ist bis zum 9.3.26 zu.", None, "2026-03-09T23:59:59Z"),
        # nobody says for how long: thirty days
        ("For now my desk is on the first floor.", None, "2026-03-27T06:13:20Z"),
        ("The archive is in the cellar for the time being.", None, "2026-03-27T06:13:20Z"),
        ("We temporarily use the old pump.", None, "2026-03-27T06:13:20Z"),
        ("Vorübergehend trainieren wir in der Südhalle.", None, "2026-03-27T06:13:20Z"),
        ("Bis auf weiteres gilt der alte Fahrplan.", None, "2026-03-27T06:13:20Z"),
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
        "Today I bought a lamp.",
        "Heute habe ich verschlafen.",
        "As of today I work from Vienna.",
        "I'm moving to Vienna this week.",
        "Today is my birthday.",
        "Are you at home today?",
        "I'm tired today. My sister is called Eva.",
        "We temporarily used the old pump.",
        "For now I moved to Ghent.",
        "The office is in Hamburg.",
        # from one day of the week to another: each week
        "We are open Tuesday through Sunday.",
        "The pool is open Mondays till Fridays, except in August.",
        "Die Werkstatt hat Mittwoch bis Samstag geöffnet.",
        "Das Büro ist montags bis freitags besetzt.",
        "The library is open until 8 on Mondays.",
        "",
    ],
)
def test_not_bounded(text: str) -> None:
    assert bounds(text, SAID) == (None, None)
