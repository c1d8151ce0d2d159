"""Dates as a text names them, the calendar arithmetic for them, and the tense around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, date, timedelta

from memory_core.text.lazy_pattern import lazy_pattern


@dataclass(frozen=True, slots=True)
class Mention:
    """A date as a text names it; an unset part is 0.

    A week or a weekend also has the first day of its span, *since*, and the last, *through*.
    """

    year: int = 0
    month: int = 0
    day: int = 0
    through: date | None = None
    since: date | None = None


def real_day(year: int, month: int, day: int) -> list[Mention]:
    """The day itself when the calendar has it (29 February when *year* is 0), else nothing."""
    try:
        date(year or 2000, month, day)
    except ValueError:
        return []
    return [Mention(year, month, day)]


LONGEST_STAY = 14
"""Days of which each is named; of a longer stay the first and the last are."""


def stay(first: Mention, last: Mention) -> list[Mention]:
    """*first*, *last* and the days between, in order; without these when they are many.

    A first day without a year has that of the last.
    """
    first = replace(first, year=first.year or last.year)
    try:
        begin = date(first.year or 2001, first.month, first.day)
        end = date(last.year or begin.year, last.month, last.day)
        if end < begin:  # over the end of a year
            end = end.replace(year=end.year + 1)
    except ValueError:
        return [first, last]
    between = range(1, (end - begin).days) if (end - begin).days < LONGEST_STAY else ()
    days = [begin + timedelta(number) for number in between]
    return [first, *(Mention(first.year and day.year, day.month, day.day) for day in days), last]


def shifted(day: date, days: int) -> date | None:
    """*day* moved by *days*; None outside the years 1-9999."""
    try:
        return day + timedelta(days)
    except OverflowError:
        return None


def on_day(day: date | None, since: date | None = None, days: int = 0) -> list[Mention]:
    """*day* as a mention, with the span of that many *days* from *since*; nothing for None."""
    if day is None:
        return []
    through = shifted(since, days - 1) if since else None
    return [Mention(day.year, day.month, day.day, through, since if through else None)]


def month_from(today: date, months: int) -> list[Mention]:
    """The month that lies *months* from that of *today*."""
    number = today.year * 12 + today.month - 1 + months
    return known(number // 12, number % 12 + 1)


def known(year: int, month: int = 0) -> list[Mention]:
    """A year, or a month of it; nothing outside the years 1-9999."""
    return [Mention(year, month)] if MINYEAR <= year <= MAXYEAR else []


def weekend(today: date, weeks: int) -> list[Mention]:
    """Saturday and Sunday of the week that lies *weeks* from that of *today*."""
    saturday = shifted(today, 5 - today.weekday() + 7 * weeks)
    return on_day(saturday, saturday, 2)


def week(today: date, weeks: int) -> list[Mention]:
    """The same weekday *weeks* later, spanning its calendar week from Monday."""
    same = shifted(today, 7 * weeks)
    return on_day(same, shifted(same, -same.weekday()), 7) if same else []


def weekday_near(weekday: int, today: date, direction: int) -> list[Mention]:
    """The latest such weekday before *today* (-1), the first from it on (0) or after it (1)."""
    ahead = (weekday - today.weekday()) % 7
    if direction < 0:
        return on_day(shifted(today, ahead - 7))
    return on_day(shifted(today, ahead or (7 if direction else 0)))


def day_of_month(number: int, today: date, *, past: bool) -> list[Mention]:
    """The latest day of that *number* when *past*, else the next one from *today* on."""
    for months in range(12):
        month = today.year * 12 + today.month - 1 + (-months if past else months)
        for each in real_day(month // 12, month % 12 + 1, number):
            at = date(each.year, each.month, each.day)
            if at <= today if past else at >= today:
                return [each]
    return []


def season_from(start: int) -> list[Mention]:
    """Three months from the month with this number (year x 12 + month - 1) on."""
    return [m for number in range(start, start + 3) for m in known(number // 12, number % 12 + 1)]


_FUTURE = lazy_pattern(
    r"\b(?:will|shall|won't|gonna|going to|plan(?:s|ning|ned)?|hop(?:e|ing)|due|by|until|till"
    r"|deadline"
    r"|upcoming|scheduled|(?:ha(?:s|ve)|needs?|supposed|invited) to|let's|let us|looking forward"
    r"|can't wait|wird|werden?|wollen|bis"
    r"|(?:moved|postponed|rescheduled|shifted|pushed back|brought forward) (?:to|until)"
    r"|(?:verschoben|verlegt|vorgezogen) auf|findet|beginnt|endet|kommt|kommen|ist (?:am|im)"
    r"|turns|comes|starts|begins|ends|opens|closes|arrives|expires|takes place|is (?:on|in)"
    r"|(?:am|is|are) \w{2,20}ing)\b|['’](?:ll|(?:re|m|s) \w{2,20}ing)\b",
    re.IGNORECASE,
)
_NO_QUESTION = (
    r"(?!\s+(?:\w+\s+)?(?:ich|du|er|sie|es|wir|ihr|am|im|um|heute|morgen|nächste\w*|diese\w*"
    r"|der|den|dem|uns)\b|\s+(?:ist|sind|steht|stehen|passiert|läuft|gibt|geht|kommt|liegt)\b)"
)
"""What does not follow English "was", but German "was": "Was mache ich am Samstag?"."""
_IS = lazy_pattern(
    r"\b(?:is|are|ist|sind|(?:for|für|auf)(?: the| den)?"
    r"|(?:moved?|postponed?|rescheduled?|shifted?|pushed|brought|put|changed?|switched|delayed)"
    r"\b[^.;!?\n]{0,50}\b(?:to|until)(?: the)?)\s+$",
    re.IGNORECASE,
)
"""Before a day: "the meeting is on Friday", "I made an appointment for 4 May"."""
_CERTAIN = lazy_pattern(
    rf"\b(?:was{_NO_QUESTION}|were|did|had(?! to)|been|went|ago|yesterday|last|came|met|saw|spent"
    r"|visited|celebrated|happened|died|passed away|born|graduated|finished|arrived|flew|drove"
    r"|gave|began|left|told|won|lost|found|felt|read|wrote|back (?:in|then|when)|since|used to"
    r"|war|waren|hatte|ging|gestern|gewesen|wurde|seit|letzte\w?)\b",
    re.IGNORECASE,
)
"""What speaks of the past alone; "took", "made" and "booked" may be about what comes."""
_GERMAN_PRESENT = lazy_pattern(
    r"\bich (?:[a-zäöüß]{2,20}(?<!t)e|muss|kann|soll|darf|will)\b|\b[a-zäöüß]{2,20}(?<!t)e ich\b"
    r"|\b(?:fahren|gehen|fliegen|treffen|feiern|reisen|ziehen|müssen|können) wir\b"
    r"|\bwir (?:fahren|gehen|fliegen|treffen|feiern|reisen|ziehen|müssen|können)\b"
    r"|\b(?:habe|haben|hat|fährt|geht|fliegt|trifft|läuft|nimmt|hält|steht|arbeite|starte|miete)\b",
    re.IGNORECASE,
)
"""Of what is done on a day, German says the present for what comes."""
_GERMAN_BE = lazy_pattern(r"\b(?:bin|bist|ist|sind|seid)\b", re.IGNORECASE)
_HAVING = lazy_pattern(r"\b(?:habe|haben|hat)\b", re.IGNORECASE)
_DONE = lazy_pattern(
    r"(?<!\w)(?!(?:geöffnet|geschlossen)\b)(?:[a-zäöü]{0,30}ge[a-zäöüß]{1,30}(?:t|en)|(?:be|er|ver)[a-zäöüß]{1,30}(?:t|en)"
    r"|[a-zäöüß]{1,40}(?:iert|nommen))\W{0,40}$"
)
"""A German participle at the end: with "habe" it speaks of the past, without it of what comes.

Not where it says how something is: "haben wir montags geöffnet?".
"""
_PAST = lazy_pattern(
    rf"\b(?:\w{{1,20}}(?<!e)ed|(?:agr|fr|guarant|decr|refer)eed|was{_NO_QUESTION}|were|did|had"
    r"|has(?= (?:\w+ )?\w+(?:ed|en|wn)\b)|went|took|made|ran"
    r"|(?<!have )(?<!['’]ve )(?<!has )(?<!have i )(?<!have we )(?<!have you )(?<!has he )"
    r"(?<!has she )got|met|saw|came|bought|gave|began|been"
    r"|left|told|won|lost|found|felt|read|wrote|spent|back (?:in|then|when)|since|born"
    r"|war|waren|hatte|habe|haben"
    r"|hat"
    r"|ging|wurde|seit)\b",
    re.IGNORECASE,
)
_CLAUSE_END = lazy_pattern(r"[.!?;\n]|:(?= )")


def says_future(text: str) -> bool:
    """True when a word of *text* speaks of the future."""
    return _FUTURE.search(text) is not None


def says_past(text: str) -> bool:
    """True when a word of *text* speaks of the past; "ich habe" does where something was done."""
    return _PAST.search(text if _DONE.search(text) else _HAVING.sub(" ", text)) is not None


_GERMAN_WHAT = lazy_pattern(
    r"^\W*[Ww]as (?!(?:it|that|not|last|just|at)\b)(?=[a-zäöüß]+(?:t|en)\b)"
)
"""Before a verb; English "was" begins a question before whom it asks about."""
_PRESENT = lazy_pattern(r"\b(?:do|does|is|are|am|has|have|can|will)\b|['’]s\b", re.IGNORECASE)


def asks_what_was(query: str) -> bool:
    """True when the first verb of *query* that shows a time is one of the past.

    "Where did we live?" is, "has she had her kittens?" asks how things are, and so does "where did
    I put the key?", of which the result lasts. "When was the exam?" asks for a date, which may have
    moved, "when was it before?" for one that held before.
    """
    lasts = _WHEN_WAS.match(query) or _RESULT.search(query)
    if lasts and not asks_what_was_before(query):
        return False
    query = _GERMAN_WHAT.sub("", query)
    past = _PAST.search(query if _DONE.search(query) else _HAVING.sub(" ", query))
    present = _PRESENT.search(query)
    return past is not None and (present is None or present.start() > past.start())


_WHEN_WAS = lazy_pattern(
    r"\W*(?:when|wann|(?:(?:on|at|an|zu) )?(?:what|which|welche[mnrs]?)"
    r" (?:date|day|time|month|week|tag|datum|monat|woche|uhrzeit)|um (?:wie ?viel|welche) uhr)"
    r" (?:was|were|war|waren)\b",
    re.IGNORECASE,
)
_RESULT = lazy_pattern(
    r"^(?!\W*(?:when|wann|how (?:often|long)|wie (?:oft|lange)|why|warum)\b)(?=.{0,200}?"
    r"\b(?:did|have|has|had) (?:[^\W\d_]{1,20} ){1,3}?(?:put|leave|left|park|store|hide|hidden"
    r"|stash|lay|laid|place|save|file|decide|choose|chosen|pick|agree|settle|name|call|book|set|assign"
    r"|schedule|hire|install)(?:d|ed|led|ned)?\b"
    r"|.{0,200}?\b(?:habe|haben|hat|hatte|hatten)\b.{1,120}\b(?:hin|ab|auf|ein|weg|ver|unter)?(?:gelegt"
    r"|gestellt|getan|gelassen|geparkt|steckt|staut|gehoben|gespeichert|schieden|beschlossen|gewählt"
    r"|gesucht|einbart|gemacht|nannt|genannt|gebucht|gehängt|gepackt|geräumt)\W{0,3}$"
    r"|.{0,200}?\b(?:again|noch ?mal|noch gleich|gleich noch)\W{0,3}$"
    r"|\W*(?:wo|wer|was|wie|wann|welche\w?|who|what|where|which) (?:war|waren|was|were)"
    r" (?:noch ?mal|noch gleich|gleich|doch gleich)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A question for what was done and lasts, or for what slipped the mind: "who was it again?"."""
_EVER = lazy_pattern(
    r"\b(?:no longer|any ?more|until now|once|ever|changed?|changes"
    r"|einst|einmal|jemals|geändert|verändert|nicht mehr)\b",
    re.IGNORECASE,
)
_FORMER = lazy_pattern(
    r"\b(?:formerly|previously|used to|former|previous|prior"
    r"|früher\w{0,3}|vorher\w{0,5}|zuvor|ehemals|ehemalig\w{0,2}|damals|bisher\w{0,4}|vorig\w{0,2}"
    r"|(?:my|our|your|his|her|their|the|['’]s) old"
    r"|(?:mein|dein|sein|ihr|unser|euer|der|die|das|den|dem)\w{0,2} alte\w?)\b"
    r"|\b(?:before|earlier)\W{0,3}$",
    re.IGNORECASE,
)
_AT_FIRST = lazy_pattern(
    r"\b(?:originally|initially|at first|(?:in|at|from) the (?:very )?(?:beginning|start|outset)"
    r"|ursprünglich\w{0,2}|anfangs|zuerst|zunächst|(?:am|zu) (?:anfang|beginn))\b",
    re.IGNORECASE,
)


def asks_what_was_before(query: str) -> bool:
    """True when a word of *query* asks for what held before, or whether it ever did.

    "When was the lesson formerly?", "did we ever live there?", "what was my old address?".
    """
    return asks_for_former(query) or asks_for_first(query) or _EVER.search(query) is not None


def asks_for_former(query: str) -> bool:
    """True when *query* asks for what held right before what holds now."""
    return _FORMER.search(query) is not None


def asks_for_first(query: str) -> bool:
    """True when *query* asks for what held at the beginning."""
    return _AT_FIRST.search(query) is not None


def tense(text: str, place: int, *, ends: bool = False) -> int:
    """-1 when the clause around *place* is about the past, 1 about the future, 0 when unclear.

    Where what it tells *ends* at *place*, what was granted lasts till then: "lent until Friday".
    """
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    after = _CLAUSE_END.split(text[place : place + 80])[0]
    if ends and any(_GRANTED.search(clause) for clause in (before, after)):
        return 1
    done = _DONE.search(after) is not None
    if _BESIDE.search(before):
        return 0
    for clause in (before, after):
        if _FUTURE.search(clause) or (clause is before and _IS.search(clause)):
            return 1
        if _PAST.search(clause if done else _HAVING.sub(" ", clause)):
            return -1
    if done:
        return -1 if _GERMAN_BE.search(before + after) else 0
    return 1 if _GERMAN_PRESENT.search(before + after) else 0


_GRANTED = lazy_pattern(
    r"\b(?:borrow|rent|hir|leas|loan|book|reserv|extend|postpon|delay|suspend|bann|grant|allow"
    r"|promis)ed\b|\b(?:lent|gave|given)\b|\btook\b[^,]{1,30}\boff\b"
    r"|\b(?:aus|ver)?(?:geliehen|liehen|lieh)\b|\b(?:an|ver)?(?:ge)?mietet\b|\b(?:aus)?geborgt\b"
    r"|\bge(?:bucht|geben|nehmigt)\b|\breserviert\b|\bver(?:längert|schoben)\b"
    r"|\b(?:krank|ab)gemeldet\b|\b(?:krank|frei)ge(?:schrieben|nommen|geben)\b|\büberlassen\b",
    re.IGNORECASE,
)
"""What lasts from then on, for a time."""

_BESIDE = lazy_pattern(r",\s*\w{2,20}ing\b[^,]{0,60}$")
"""What is told beside a clause may be at another time: "we took it, picking it up on 4 May"."""


def is_certain(text: str, place: int) -> bool:
    """True when the clause before *place* speaks of nothing but the past."""
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    after = _CLAUSE_END.split(text[place : place + 80])[0]
    return _CERTAIN.search(before) is not None or _CERTAIN.search(after) is not None


def is_about_past(text: str, place: int) -> bool:
    """True when the clause up to *place* is about the past and not about the future."""
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    return _PAST.search(before) is not None and _FUTURE.search(before) is None


BEGINNING = (
    r"\b(?:as (?:of|from)|(?:starting|beginning)(?: on| in| from)?|effective(?: from)?"
    r"|ab(?: dem| der)?|from)(?: the)? "
)
"""What may stand before the day from which something holds."""
_FROM = lazy_pattern(r"from\b", re.IGNORECASE)
_ON_FROM_IT = lazy_pattern(
    r"from (?:the |next )?(?:[0-9]{1,2}(?:st|nd|rd|th|\.)? (?:of )?)?[a-z]{3,12}"
    r" on(?:wards?\b|\b(?! (?:the|a|my|our|his|her|their)\b))",
    re.IGNORECASE,
)
_OPENS = lazy_pattern(r"(?:^|,)\s*(?:(?:and|but|so|also|then) )?$", re.IGNORECASE)
_STATES = lazy_pattern(
    r"\b(?:is|are|am|be|will|shall|can|may|must)\b|['’](?:s|re|m|ll)\b"
    r"|[0-9](?: ?(?:%|€|\$|£|k|h|am|pm|percent|euros?|eur|dollars?|pounds?|quid|francs?|hours?"
    r"|min(?:ute)?s?|days?|people))?(?: (?:a|an|per|each|every) [a-z]{1,12})? $",
    re.IGNORECASE,
)
"""In the clause before "from": how something is or will be, or how much."""
_OF_A_THING = lazy_pattern(
    r"\b(?:the|this|that|these|those|my|our|your|his|her|its|their|some|any|all|an?)"
    r"(?: (?!(?:is|are|am|be|will|shall|can|may|must)\b)[\w'’-]{1,30}){0,2}"
    r" (?!(?:day|night|week|month|year|hour)s? $)[a-z'’-]{1,30} $",
    re.IGNORECASE,
)
"""A thing right before "from", which is of that day: "the letter from Monday"."""


def begins(text: str, place: int) -> bool:
    """True when BEGINNING at *place* tells from when on something holds.

    "The rent is 1260 from October" does; "the letter from Monday" tells of when it is. What goes on
    to say until when ("from May to July") does not.
    """
    if _FROM.match(text, place) is None:
        return True
    before = _CLAUSE_END.split(text[max(0, place - 80) : place])[-1]
    if _OPENS.search(before) or _ON_FROM_IT.match(text, place):
        return True
    return _STATES.search(before) is not None and _OF_A_THING.search(before) is None
