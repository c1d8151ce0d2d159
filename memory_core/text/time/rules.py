"""Where a text names a date: rules from words to days, months, years and spans of days.

Each rule is a linear regular expression and a reading of its match. Rules come from the most to
the least specific; text that one has taken is closed to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import MAXYEAR, MINYEAR, date

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.time.lexicon import (
    DIRECTIONS,
    HOLIDAYS,
    MONTHS,
    NO_RANGE,
    NO_RANGE_AFTER,
    NOT_A_YEAR_AFTER,
    NOT_A_YEAR_BEFORE,
    NUMBERS,
    RELATIVE_DAYS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    alternatives,
)
from memory_core.text.time.mentions import (
    BEGINNING,
    Mention,
    begins,
    day_of_month,
    is_about_past,
    is_certain,
    known,
    month_from,
    on_day,
    real_day,
    season_from,
    shifted,
    stay,
    tense,
    week,
    weekday_near,
    weekend,
)

Reading = Callable[[re.Match[str], date], "list[Mention]"]


def mentions(text: str, today: date) -> Iterator[tuple[int, Mention]]:
    """Each date that *text* names with the place where it is named, in order of the text.

    Relative words count from *today*. A day or a month named without a year has year 0.
    """
    found = sorted(_found(text, today), key=lambda item: item[0])
    for number, (start, end, read) in enumerate(found):
        for following, _, others in found[number + 1 : number + 2]:
            one_each = len(read) == len(others) == 1 and read[0].day and others[0].day
            if (
                one_each
                and _BETWEEN.fullmatch(text, end, following)
                and not _moved_from(text, start)
            ):
                read = stay(read[0], others[0])[:-1]
        for mention in read:
            yield start, mention


def undated(text: str, today: date) -> str:
    """*text* with a space for each date that it names."""
    for start, end, _ in _found(text, today):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _found(text: str, today: date) -> list[tuple[int, int, list[Mention]]]:
    """(start, end, dates) of each place of *text* that names dates, by rule."""
    present = set(_LETTERS.findall(text.casefold()))
    if _DIGIT.search(text):
        present |= _DIGITS
    found: list[tuple[int, int, list[Mention]]] = []
    for needed, pattern, reading in _RULES:
        if needed.isdisjoint(present):
            continue
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < stop and begin < end for begin, stop, _ in found):
                continue
            read = reading(match, today)
            if read:
                found.append((start, end, read))
            if len(found) >= MOST:
                break
    return found


MOST = 64
"""Matches kept of one text: a bound on the work, far above what conversation holds."""

_BETWEEN = lazy_pattern(
    r",? ?[-–—] ?|,? (?:to|until|till|through|bis(?: zum)?) (?:the |den )?", re.IGNORECASE
)
"""What stands between the first and the last day of a stay; "and" names two days."""
_THROUGH = lazy_pattern(r"[-–—]|\b(?:to|until|till|through|bis)\b", re.IGNORECASE)
_MOVED = lazy_pattern(
    r"\b(?:moved?|moving|postponed?|rescheduled?|shift(?:ed)?|push(?:ed)?|changed?|delayed?"
    r"|brought|switch(?:ed)?|verschoben|verlegt|verschiebt|vorgezogen|geändert)\b[^.;!?\n]{0,40}$",
    re.IGNORECASE,
)
_CLAUSE = 80
"""Characters before a date in which its verb is looked for."""


def _moved_from(text: str, start: int) -> bool:
    """Whether what begins at *start* is the day that something was moved from, not a first day."""
    return _MOVED.search(text[max(0, start - _CLAUSE) : start]) is not None


def _stay_in(match: re.Match[str], days: list[Mention]) -> list[Mention]:
    """*days*, a first and a last one, with those between where *match* names a stay."""
    joined = match.string[match.end("first") : match.start("day")]
    if len(days) != 2 or not _THROUGH.search(joined) or _moved_from(match.string, match.start()):
        return days
    return stay(*days)


_LETTERS = lazy_pattern(r"[^\W\d_]+")
_DIGIT = lazy_pattern(r"[0-9]")


def _plurals(names: Iterable[str]) -> frozenset[str]:
    return frozenset(form for name in names for form in (name, name + "s"))


# One of these words must stand in the text before a rule is tried.
_DIGITS = frozenset("0")
_MONTH_WORDS = frozenset(MONTHS)
_WEEKDAY_WORDS = _plurals(WEEKDAYS)
_SEASON_WORDS = frozenset(SEASONS)
_UNIT_WORDS = _plurals(UNITS)
_HOLIDAY_WORDS = frozenset(name.split()[0].split("'")[0] for name in HOLIDAYS)
_DAY_WORDS = frozenset(name.split()[-1] for name in RELATIVE_DAYS)


def _rule(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.IGNORECASE)


_DAY_OF_WEEK = rf"(?:\b(?:{alternatives(WEEKDAYS)}),? (?:(?:the|den|dem|der) )?)"
_ORDINAL = r"(?:st|nd|rd|th|\.)?"
_TO = r"(?: ?[-–—/&] ?| (?:to|and|or|until|till|through|und|oder|bis(?: zum)?) )"
_DOTTED = (  # the year of a date with dots, as German has it, may be missing or short
    r"(?P<day>[0-3]?[0-9])\.(?P<number>[01]?[0-9])\."
    r"(?:(?P<year>(?:19|20)[0-9]{2})|(?P<short>[0-9]{2}))?(?![0-9]|[.,:][0-9])"
)
_MONTH = rf"(?P<month>{alternatives(MONTHS)})\b\.?"
_ONE_WEEKDAY = rf"(?P<weekday>{alternatives(WEEKDAYS)})\b"
_WEEKDAY = rf"(?P<weekday>{alternatives(WEEKDAYS)})s?\b"
_COUNT = rf"(?P<count>[0-9]{{1,3}}|{alternatives(NUMBERS)})"
_UNIT = rf"(?P<unit>{alternatives(UNITS)})s?\b"
_DIRECTION = rf"\b(?P<direction>{alternatives(DIRECTIONS)})"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?![0-9]|[.,][0-9])"
_HOLIDAYS = alternatives(HOLIDAYS).replace("'", "['’]")
_AMBIGUOUS = frozenset({"may", "march", "mar", "mai"})  # also verbs; lower case alone is no month


def _iso_day(match: re.Match[str], _today: date) -> list[Mention]:
    return real_day(int(match["year"]), int(match["month"]), int(match["day"]))


def _iso_month(match: re.Match[str], _today: date) -> list[Mention]:
    return known(int(match["year"]), int(match["month"]))


def _numeric(match: re.Match[str], _today: date) -> list[Mention]:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if len(match["year"]) == 2:
        if match["mark"] != "/":
            return []
        year += 2000
    month_first = match["mark"] == "/" and first <= 12
    return (
        real_day(year, first, second)
        if month_first and second <= 31
        else real_day(year, second, first)
    )


def _day_by_numbers(match: re.Match[str], _today: date) -> list[Mention]:
    return real_day(_short_year(match), int(match["number"]), int(match["day"]))


def _days_by_numbers(match: re.Match[str], _today: date) -> list[Mention]:
    year, month = _short_year(match), int(match["number"])
    last = real_day(year, month, int(match["day"]))
    begun = int(match["begun"] or month)
    before = year - 1 if year and begun > month else year
    days = [*real_day(before, begun, int(match["first"])), *last] if last else []
    return _stay_in(match, days)


def _short_year(match: re.Match[str]) -> int:
    return 2000 + int(match["short"]) if match["short"] else int(match["year"] or 0)


def _days_of_month(match: re.Match[str], today: date) -> list[Mention]:
    """Each day of "19 and 20" and "19 to 21 September"; the last alone of "20 to 9 September"."""
    last = _day_and_month(match, today)
    first = [Mention(each.year, each.month, int(match["first"])) for each in last]
    return _stay_in(match, [each for each in (*first, *last) if 0 < each.day <= last[-1].day])


def _day_and_month(match: re.Match[str], _today: date) -> list[Mention]:
    if match["month"] in _AMBIGUOUS and not match["year"]:
        return []
    return real_day(int(match["year"] or 0), MONTHS[match["month"].lower()], int(match["day"]))


def _month_and_year(match: re.Match[str], _today: date) -> list[Mention]:
    year = int(match["year"]) if match["year"] else 2000 + int(match["short"])
    return [Mention(year, MONTHS[match["month"].lower()])]


def _directed_month(match: re.Match[str], today: date) -> list[Mention]:
    month, direction = MONTHS[match["month"].lower()], DIRECTIONS[_key(match["direction"])]
    if match["month"] in _AMBIGUOUS and direction == 0:
        return []  # "this may help"
    year = today.year
    if direction < 0 and month >= today.month:
        year -= 1
    elif direction > 0 and month <= today.month:
        year += 1
    return known(year, month)


def _month_alone(match: re.Match[str], _today: date) -> list[Mention]:
    return [Mention(0, MONTHS[match["month"].lower()])]


def _key(phrase: str) -> str:
    return " ".join(phrase.lower().replace("’", "'").split())


def _relative_day(match: re.Match[str], today: date) -> list[Mention]:
    return on_day(shifted(today, RELATIVE_DAYS[_key(match["word"])]))


def _ago(match: re.Match[str], today: date) -> list[Mention]:
    return _moved(match, today, -1)


def _ahead(match: re.Match[str], today: date) -> list[Mention]:
    return _moved(match, today, 1)


def _moved(match: re.Match[str], today: date, sign: int) -> list[Mention]:
    word = _key(match["count"])
    count = sign * (int(word) if word.isdigit() else NUMBERS[word])
    unit = UNITS[match["unit"].lower()]
    if unit == "year":
        return known(today.year + count)
    if unit == "month":
        return month_from(today, count)
    if unit == "weekend":
        return weekend(today, count)
    return on_day(shifted(today, count * {"day": 1, "week": 7, "fortnight": 14}[unit]))


def _half_year_ago(_match: re.Match[str], today: date) -> list[Mention]:
    return month_from(today, -6)


def _directed_unit(match: re.Match[str], today: date) -> list[Mention]:
    direction, unit = DIRECTIONS[_key(match["direction"])], UNITS[match["unit"].lower()]
    if unit == "year":
        return known(today.year + direction)
    if unit == "month":
        return month_from(today, direction)
    if unit == "week":
        return week(today, direction)
    if unit == "weekend":
        return weekend(today, direction)
    return []


def _before_last(match: re.Match[str], today: date) -> list[Mention]:
    unit = match["unit"].lower()
    if unit == "year":
        return known(today.year - 2)
    if unit == "month":
        return month_from(today, -2)
    return weekend(today, -2) if unit == "weekend" else week(today, -2)


def _directed_weekday(match: re.Match[str], today: date) -> list[Mention]:
    return weekday_near(
        WEEKDAYS[match["weekday"].lower()], today, DIRECTIONS[_key(match["direction"])]
    )


def _weekday_of_week(match: re.Match[str], today: date) -> list[Mention]:
    """ "Wednesday next week": that day of the calendar week, which begins on Monday."""
    weeks = DIRECTIONS[_key(match["direction"])]
    days = WEEKDAYS[match["weekday"].lower()] - today.weekday() + 7 * weeks
    return on_day(shifted(today, days))


def _weekdays_ago(match: re.Match[str], today: date) -> list[Mention]:
    word = _key(match["count"])
    count = int(word) if word.isdigit() else NUMBERS[word]
    ahead = (WEEKDAYS[match["weekday"].lower()] - today.weekday()) % 7
    return on_day(shifted(today, ahead - 7 * count)) if count else []


def _weekday_and_day(match: re.Match[str], today: date) -> list[Mention]:
    """ "Thursday the 17th": the nearest such day, ahead unless its clause speaks of the past."""
    number, weekday = int(match["day"]), WEEKDAYS[match["weekday"].lower()]
    months = range(today.year * 12 + today.month - 7, today.year * 12 + today.month + 6)
    days = (each for month in months for each in real_day(month // 12, month % 12 + 1, number))
    found = [each for each in days if date(each.year, each.month, each.day).weekday() == weekday]
    past = tense(match.string, match.start()) < 0

    def distance(each: Mention) -> tuple[bool, int]:
        ahead = (date(each.year, each.month, each.day) - today).days
        return (ahead > 0 if past else ahead < 0), abs(ahead)

    return [min(found, key=distance)] if found else []


def _numbered_day(match: re.Match[str], today: date) -> list[Mention]:
    """ "On the 12th": the next such day, the last one where its clause speaks of the past."""
    if match["begun"] and not begins(match.string, match.start()):
        return []
    ends = match["until"] is not None
    past = not ends and tense(match.string, match.start()) < 0
    return day_of_month(int(match["day"]), today, past=past)


def _month_begun(match: re.Match[str], today: date) -> list[Mention]:
    """ "From October": the next one, where the clause does not speak of the past."""
    if not begins(match.string, match.start()):
        return []
    month = MONTHS[match["month"].lower()]
    if is_certain(match.string, match.start()):
        return [Mention(0, month)]
    return known(today.year + (month < today.month), month)


def _weekday_begun(match: re.Match[str], today: date) -> list[Mention]:
    return _weekday_by_tense(match, today) if begins(match.string, match.start()) else []


def _weekday_by_tense(match: re.Match[str], today: date) -> list[Mention]:
    """ "Lunch with Tom on Friday": a day without a verb, as notes have it, is one that comes."""
    direction = tense(match.string, match.start(), ends=bool(match.groupdict().get("until")))
    return weekday_near(WEEKDAYS[match["weekday"].lower()], today, direction or 1)


def _directed_season(match: re.Match[str], today: date) -> list[Mention]:
    first, direction = SEASONS[match["season"].lower()], DIRECTIONS[_key(match["direction"])]
    now = today.year * 12 + today.month - 1
    start = today.year * 12 + first - 1
    if first == 12 and today.month <= 2:
        start -= 12  # in January "this winter" began last December
    if direction < 0 and start + 2 >= now:
        start -= 12
    elif direction > 0 and start <= now:
        start += 12
    return season_from(start)


def _season_of(match: re.Match[str], _today: date) -> list[Mention]:
    return season_from(int(match["year"]) * 12 + SEASONS[match["season"].lower()] - 1)


def _holiday(match: re.Match[str], today: date) -> list[Mention]:
    month, day = HOLIDAYS[_key(match["holiday"])]
    if match["year"]:
        return [Mention(int(match["year"]), month, day)]
    if not match["direction"]:
        return [Mention(0, month, day)]
    direction = DIRECTIONS[_key(match["direction"])]
    passed = (month, day) < (today.month, today.day)
    year = today.year
    if direction < 0 and not passed:
        year -= 1
    elif direction > 0 and passed:
        year += 1
    return [Mention(year, month, day)] if MINYEAR <= year <= MAXYEAR else []


def _year_alone(match: re.Match[str], _today: date) -> list[Mention]:
    return known(int(match["year"]))


def _in_time(match: re.Match[str], today: date) -> list[Mention]:
    """ "in two weeks" is a date ahead; in a clause about the past it is a duration."""
    return [] if is_about_past(match.string, match.start()) else _ahead(match, today)


_IN_MONTH = (
    r"(?:\b(?:in|during|early|late|mid|(?:end|beginning|start|middle|month|rest) of|im"
    r"|anfang|mitte|ende|every)[ -]|(?<=\bsince )|(?<=\buntil )|(?<=\btill )|(?<=\bseit ))"
)

_NO_COUNT = (
    r"(?:st|nd|rd|th)?\b(?![.,:][0-9]|%"
    r"| ?(?:am|pm|years?|days?|people|times|hours?|kids|percent)\b)"
)

_RULES: tuple[tuple[frozenset[str], re.Pattern[str], Reading], ...] = (
    (
        _DIGITS,
        _rule(
            r"(?<![\w.\-/])(?P<year>[12][0-9]{3})(?P<mark>[-/])(?P<month>[0-9]{1,2})(?P=mark)"
            r"(?P<day>[0-9]{1,2})(?![0-9])"
        ),
        _iso_day,
    ),
    (
        _DIGITS,
        _rule(
            r"(?<![\w.,:/-])(?P<first>[0-3]?[0-9])\.(?:(?P<begun>[01]?[0-9])\.)?"
            rf"(?:,? ?[-–—/+&,] ?| (?:und|oder|bis(?: zum)?) ){_DOTTED}"
        ),
        _days_by_numbers,
    ),
    (
        _DIGITS,
        _rule(
            r"(?<![\w./-])(?P<first>[0-9]{1,2})(?P<mark>[./-])(?P<second>[0-9]{1,2})(?P=mark)"
            r"(?P<year>[12][0-9]{3}|[0-9]{2})(?![\w/-]|[.,][0-9])"
        ),
        _numeric,
    ),
    (
        _DIGITS,
        _rule(r"(?<![\w.\-/])(?P<year>(?:19|20)[0-9]{2})-(?P<month>0[1-9]|1[0-2])(?![\w-])"),
        _iso_month,
    ),
    (
        _DIGITS,
        _rule(
            rf"\b(?:am|bis|vom|ab|den|dem|seit|zum|{alternatives(WEEKDAYS)}|mo|di|mi|fr|sa"
            rf"|(?:do|so)(?=[.,]))[.,]? (?:(?:den|dem) )?{_DOTTED}"
        ),
        _day_by_numbers,
    ),
    (
        _DIGITS,
        _rule(
            rf"\b(?:am|{alternatives(WEEKDAYS)}|mo|di|mi|fr|sa)[.,]? (?:den )?"
            r"(?P<day>[0-3]?[0-9])\.(?P<number>[01]?[0-9])(?P<year>)(?P<short>)"
            r"(?=[,;)!?]|\.?\s*(?:\n|$)|\.?\s(?-i:um|ab|gegen|bis|von|in|im|beim?|mit|zum|zur|nach"
            r"|und|oder|ist|sind|hat|habe|kommt|war|wird|[0-9]{1,2}(?::[0-9]{2}|\s?(?:[Uu]hr|h))"
            r"|ich|wir|er|sie|es)\b)"
        ),
        _day_by_numbers,
    ),
    (
        _DIGITS,
        _rule(
            rf"(?<![\w.,:/-]){_DOTTED}(?=,? (?:um |ab |gegen )?[0-9]{{1,2}}"
            r"(?:[:.][0-9]{2}(?![0-9.])| ?(?:uhr|h)\b))"
        ),
        _day_by_numbers,
    ),
    (
        _MONTH_WORDS,
        _rule(
            rf"{_DAY_OF_WEEK}?(?<![\w.,:/$€£#-])(?<!\bat )(?<!\bum )(?P<first>[0-9]{{1,2}})"
            rf"{_ORDINAL}{_TO}{_DAY_OF_WEEK}?(?:the )?(?P<day>[0-9]{{1,2}}){_ORDINAL} ?(?:of )?"
            rf"{_MONTH}(?:,? ?(?:in )?{_YEAR})?"
        ),
        _days_of_month,
    ),
    (
        _MONTH_WORDS,
        _rule(
            rf"{_DAY_OF_WEEK}?(?<![\w.,:/$€£#])(?P<day>[0-9]{{1,2}}){_ORDINAL} ?(?:of )?"
            rf"{_MONTH}(?:,? ?(?:in )?{_YEAR})?"
        ),
        _day_and_month,
    ),
    (
        _MONTH_WORDS,
        _rule(
            rf"{_DAY_OF_WEEK}?\b{_MONTH} (?:the )?(?P<first>[0-9]{{1,2}})(?:st|nd|rd|th)?{_TO}"
            rf"(?:the )?(?P<day>[0-9]{{1,2}}){_NO_COUNT}(?:,? ?(?:in )?{_YEAR})?"
        ),
        _days_of_month,
    ),
    (
        _MONTH_WORDS,
        _rule(
            rf"{_DAY_OF_WEEK}?\b{_MONTH} (?:the )?(?P<day>[0-9]{{1,2}}){_NO_COUNT}"
            rf"(?:,? ?(?:in )?{_YEAR})?"
        ),
        _day_and_month,
    ),
    (
        _MONTH_WORDS,
        _rule(rf"\b{_MONTH},? ?(?:of |in )?(?:{_YEAR}|['’](?P<short>[0-9]{{2}})\b)"),
        _month_and_year,
    ),
    (
        _SEASON_WORDS,
        _rule(rf"\b(?P<season>{alternatives(SEASONS)})(?: of| in)? {_YEAR}"),
        _season_of,
    ),
    (
        _HOLIDAY_WORDS,
        _rule(rf"(?:{_DIRECTION} )?\b(?P<holiday>{_HOLIDAYS})\b(?: (?:of |in )?{_YEAR})?"),
        _holiday,
    ),
    (_MONTH_WORDS, _rule(rf"{_DIRECTION} {_MONTH}"), _directed_month),
    (_MONTH_WORDS, _rule(rf"{_IN_MONTH}{_MONTH}"), _month_alone),
    (_MONTH_WORDS, _rule(rf"{BEGINNING}{_MONTH}{NO_RANGE_AFTER}"), _month_begun),
    (
        _WEEKDAY_WORDS,
        _rule(rf"{_DIRECTION} (?:week|woche),? (?:on |am )?{_ONE_WEEKDAY}"),
        _weekday_of_week,
    ),
    (
        _WEEKDAY_WORDS,
        _rule(rf"\b(?:(?:on|am) )?{_ONE_WEEKDAY},? (?:of |in |der )?{_DIRECTION} (?:week|woche)\b"),
        _weekday_of_week,
    ),
    (_UNIT_WORDS, _rule(r"\bthe (?P<unit>week|weekend|month|year) before last\b"), _before_last),
    (_UNIT_WORDS, _rule(rf"\b{_COUNT} {_UNIT} from (?:now|today)\b"), _ahead),
    (
        _DAY_WORDS,
        _rule(
            r"(?<!guten )(?<!good )(?<!am )(?<!jeden )\b(?P<word>"
            + alternatives(RELATIVE_DAYS)
            + r")\b"
        ),
        _relative_day,
    ),
    (_UNIT_WORDS, _rule(r"\b(?:half a year ago|vor einem halben jahr)\b"), _half_year_ago),
    (_UNIT_WORDS, _rule(rf"\b{_COUNT} {_UNIT} (?:ago|back|earlier)\b"), _ago),
    (_UNIT_WORDS, _rule(rf"\bvor (?:etwa |rund |ungefähr )?{_COUNT} {_UNIT}"), _ago),
    (_UNIT_WORDS, _rule(rf"\bin (?:about |etwa )?{_COUNT} {_UNIT}(?!['’])"), _in_time),
    (_WEEKDAY_WORDS, _rule(rf"\b{_COUNT} {_WEEKDAY} ago\b"), _weekdays_ago),
    (_WEEKDAY_WORDS, _rule(rf"{_DIRECTION} {_WEEKDAY}"), _directed_weekday),
    (
        _SEASON_WORDS,
        _rule(rf"{_DIRECTION} (?P<season>{alternatives(SEASONS)})\b"),
        _directed_season,
    ),
    (_UNIT_WORDS, _rule(rf"{_DIRECTION} (?P<unit>{alternatives(UNITS)})\b"), _directed_unit),
    (
        _WEEKDAY_WORDS,
        _rule(
            rf"\b{_ONE_WEEKDAY},? (?:the )?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)\b"
            r"(?! (?:of|floor|time|birthday|street|avenue|anniversary)\b)"
        ),
        _weekday_and_day,
    ),
    (
        _WEEKDAY_WORDS,
        _rule(
            rf"\b{_ONE_WEEKDAY},? den (?P<day>[0-9]{{1,2}})\.(?![0-9])",
        ),
        _weekday_and_day,
    ),
    (
        _WEEKDAY_WORDS,
        _rule(rf"\b(?:on|by|am|{NO_RANGE}(?P<until>until|till|bis)) {_ONE_WEEKDAY}"),
        _weekday_by_tense,
    ),
    (
        _WEEKDAY_WORDS,
        _rule(rf"{BEGINNING}{_ONE_WEEKDAY}{NO_RANGE_AFTER}"),
        _weekday_begun,
    ),
    (
        _DIGITS,
        _rule(
            rf"(?:\b(?:on|(?P<until>by|until|till)) the |(?P<begun>{BEGINNING}))"
            r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)\b"
            r"(?![-/]|\s+(?:of|and|or|each|every|floor|time|birthday|street|avenue|anniversary|day"
            r"|week|month|hole|page|line|row|place|century|grade|attempt|try|element|one)\b)"
        ),
        _numbered_day,
    ),
    (
        _DIGITS,
        _rule(
            r"\b(?:am|vom|(?P<begun>ab(?: dem)?)|(?P<until>bis(?: zum)?)) (?P<day>[0-3]?[0-9])\."
            r"(?=\s*(?:[,;)!?\n]|$)|\s+(?-i:um|ab|gegen|bis|ist|sind|hat|habe|kommt|war|wird|haben"
            r"|muss|müssen|ich|wir|er|sie|es)\b)"
        ),
        _numbered_day,
    ),
    (_DIGITS, _rule(rf"{NOT_A_YEAR_BEFORE}{_YEAR}{NOT_A_YEAR_AFTER}"), _year_alone),
)
