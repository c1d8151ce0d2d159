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
        # from then on
        ("The rent goes up to 1260 from April.", "2026-04-01T00:00:00Z", None),
        ("From 1 April the rent will be 865.", "2026-04-01T00:00:00Z", None),
        ("Ines is on parental leave from next week.", "2026-03-04T00:00:00Z", None),
        ("The cleaner wants 18 an hour starting next month.", "2026-03-01T00:00:00Z", None),
        ("Effective 2027-01-01 the notice period is 3 months.", "2027-01-01T00:00:00Z", None),
        ("The landlord has raised it to 940 from June.", "2026-06-01T00:00:00Z", None),
        (
            "From 20 March until 27 March the pool is shut.",
            "2026-03-20T00:00:00Z",
            "2026-03-27T23:59:59Z",
        ),
        ("Ab dem 1. März arbeite ich in Kiel.", "2026-03-01T00:00:00Z", None),
        ("Die Miete liegt ab Juli bei 940 Euro.", "2026-07-01T00:00:00Z", None),
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
        # since then, of then, or asked
        "I am at Harbour from January 2026 on.",
        "The 3 invoices from March are in the drawer.",
        "Is the rent 1260 from April?",
        "The desk is open from 9.",
        "From now on I drink tea.",
        "",
    ],
)
def test_not_bounded(text: str) -> None:
    assert bounds(text, SAID) == (None, None)
