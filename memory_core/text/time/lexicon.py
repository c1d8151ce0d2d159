"""The words of the calendar in English and German, and the regular expressions made of them."""

from __future__ import annotations

_ENGLISH_MONTHS = (
    ("january", "jan"),
    ("february", "feb"),
    ("march", "mar"),
    ("april", "apr"),
    ("may",),
    ("june", "jun"),
    ("july", "jul"),
    ("august", "aug"),
    ("september", "sept", "sep"),
    ("october", "oct"),
    ("november", "nov"),
    ("december", "dec"),
)
_GERMAN_MONTHS = {
    "januar": 1,
    "jänner": 1,
    "februar": 2,
    "märz": 3,
    "maerz": 3,
    "mai": 5,
    "juni": 6,
    "juli": 7,
    "oktober": 10,
    "dezember": 12,
}
MONTHS: dict[str, int] = {
    name: number for number, names in enumerate(_ENGLISH_MONTHS, 1) for name in names
} | _GERMAN_MONTHS

WEEKDAYS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            ("monday", "montag", "mon"),
            ("tuesday", "dienstag", "tue", "tues"),
            ("wednesday", "mittwoch", "wed"),
            ("thursday", "donnerstag", "thu", "thur", "thurs"),
            ("friday", "freitag", "fri"),
            ("saturday", "samstag", "sonnabend"),
            ("sunday", "sonntag"),
        )
    )
    for name in names
}
"""Monday is 0. The short forms of Saturday and Sunday are words of their own and left out."""
NO_RANGE = r"(?<![nsir]day )(?<![nsi]tag )(?<!woch )(?<!days )(?<!tags )(?<!wochs )"
"""Before "until": not where a weekday stands before it, as in "open Tuesday until Sunday"."""
NO_RANGE_AFTER = r"(?! ?(?:-|–|(?:to|until|till|through|and|or|bis|und|oder)\b))"
"""Not where a range or a list goes on: "from October to April"."""
NOT_A_YEAR_BEFORE = (
    r"(?<![\w.,:/#$€£+@=-])(?<!port )(?<!room )(?<!number )(?<!no )(?<!no\. )(?<!id )(?<!code"
    r" )(?<!error )"
    r"(?<!pin )(?<!line )(?<!version )(?<!model )(?<!flight )(?<!about )(?<!over )(?<!under )"
    r"(?<!than )(?<!nearly )(?<!exactly )(?<!to port )(?<!is )(?<!windows )(?<!server )"
)
NOT_A_YEAR_AFTER = (
    r"(?![\w/:%€$£=-])(?! (?:km|kg|mb|gb|kb|ms|mm|cm|m|g|usd|eur|euros?|dollars?|people|tokens?"
    r"|words?"
    r"|rows?|steps?|miles?|meters?|metres?|calories|kcal|hours?|minutes?|seconds?|items?|users?"
    r"|pages?|lines?|points?|bytes?|pixels?|px|watts?|feet|times|memories|records|files)\b)"
)
"""What does not stand before and behind a year, but before and behind another number."""

SEASONS: dict[str, int] = {
    "spring": 3,
    "frühling": 3,
    "frühjahr": 3,
    "summer": 6,
    "sommer": 6,
    "autumn": 9,
    "fall": 9,
    "herbst": 9,
    "winter": 12,
}
"""First month of each, northern hemisphere; three months long."""

HOLIDAYS: dict[str, tuple[int, int]] = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "xmas": (12, 25),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "heiligabend": (12, 24),
    "weihnachten": (12, 25),
    "silvester": (12, 31),
}

NUMBERS: dict[str, int] = {
    "a": 1,
    "an": 1,
    "one": 1,
    "a couple": 2,
    "a couple of": 2,
    "couple": 2,
    "couple of": 2,
    "two": 2,
    "a few": 3,
    "few": 3,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "einem": 1,
    "einer": 1,
    "ein paar": 3,
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "sieben": 7,
    "acht": 8,
    "neun": 9,
    "zehn": 10,
    "elf": 11,
    "zwölf": 12,
}
"""A couple is two, a few and "ein paar" are three."""

UNITS: dict[str, str] = {
    "day": "day",
    "night": "day",
    "tag": "day",
    "tage": "day",
    "tagen": "day",
    "week": "week",
    "woche": "week",
    "wochen": "week",
    "fortnight": "fortnight",
    "weekend": "weekend",
    "wochenende": "weekend",
    "wochenenden": "weekend",
    "month": "month",
    "monat": "month",
    "monate": "month",
    "monaten": "month",
    "year": "year",
    "jahr": "year",
    "jahre": "year",
    "jahren": "year",
}

DIRECTIONS: dict[str, int] = {
    "last": -1,
    "past": -1,
    "this past": -1,
    "this last": -1,
    "previous": -1,
    "this": 0,
    "this coming": 1,
    "the coming": 1,
    "next": 1,
    "letzte": -1,
    "letzten": -1,
    "letzter": -1,
    "letztes": -1,
    "vergangene": -1,
    "vergangenen": -1,
    "vorige": -1,
    "vorigen": -1,
    "voriges": -1,
    "diese": 0,
    "diesen": 0,
    "dieser": 0,
    "dieses": 0,
    "nächste": 1,
    "nächsten": 1,
    "nächster": 1,
    "nächstes": 1,
    "kommende": 1,
    "kommenden": 1,
    "kommendes": 1,
}

RELATIVE_DAYS: dict[str, int] = {
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
    "vorgestern": -2,
    "gestern": -1,
    "heute": 0,
    "morgen": 1,
    "übermorgen": 2,
}


def alternatives(names: dict[str, int] | dict[str, str] | dict[str, tuple[int, int]]) -> str:
    """*names* as the inside of a regular-expression group, longest first."""
    return "|".join(sorted(names, key=lambda name: (-len(name), name)))
