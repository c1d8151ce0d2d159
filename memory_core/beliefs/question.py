"""The intent of a query: the kind of answer that it asks for, its order and its period.

Rules over English and German words. A query without such an intent is ranked by its words and
meaning alone.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import date
from math import inf

from memory_core.beliefs import lexicon
from memory_core.beliefs.speech_acts import QUESTION, acts
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.numerals import numbers
from memory_core.text.time.dates import DateCue, asks_ahead, asks_when, without_asked_dates
from memory_core.text.time.lexicon import WEEKDAYS, alternatives
from memory_core.text.time.mentions import asks_for_first, asks_for_former
from memory_core.text.time.rules import mentions
from memory_core.text.time.timestamps import after, day_of, midnight
from memory_core.text.words import GERMAN_STOPWORDS, STOPWORDS, WORD, is_plain, listed, words

# The kind of answer

_ANY_DAY = date(2000, 1, 1)
"""Whether a text names a date does not depend on the day."""

_HELP = lazy_pattern(
    r"\bhow (?:do|can|should|could|might|would) (?:i|we|you|one)\b"
    r"|^(?:(?:hi|hey|hello|ok|okay|please)[,! ]+)?(?:can|could|would|will) you (?:please )?(?:help"
    r"|show|explain|walk|guide|teach|write|suggest|recommend|make|create|draft"
    r"|give (?:me|us) (?:some|a few|an? (?:example|idea|tip|hint)))\b"
    r"|\b(?:would|do|can|could) you (?:suggest|recommend|advise)\b"
    r"|\b(?:what|which)\b.{1,60}\b(?:should|can|could) (?:i|we)\b"
    r"|\bwhat are (?:some|the (?:best|different|common|main|typical|usual|various|possible))\b"
    r"|\bwhat is the best\b|\bi(?:['\u2019]?m| am) (?:planning|looking|trying|hoping) to\b"
    r"|\bwie (?:kann|könnte|soll|sollte|mache|schreibe) (?:ich|man)\b|\bwie (?:können|sollen) wir\b"
    r"|^(?:kannst|könntest|würdest) du (?:mir|uns|bitte)\b",
    re.IGNORECASE,
)
_LOOKS_BACK = lazy_pattern(
    r"\b(?:did|have|had) (?:i|you|we)\b|\bi(?:['\u2019]ve)? (?:mentioned|said|told)\b|\bso far\b"
    r"|\bour (?:conversations?|discussions?|chats?)\b|\bsummar|\border in which\b"
    r"|\b(?:habe|hatte) ich\b|\bbisher\b|\bzusammenfass",
    re.IGNORECASE,
)
_ANSWERED = lazy_pattern(
    r"\b(?:did|have|had|were) you\b.{0,30}\b(?:recommend|suggest|advis|propos|explain|say\b|said\b"
    r"|tell\b|told\b|describ|outlin|mention|provid|give\b|gave\b|given\b|show|list)"
    r"|\b(?:hast|hattest) du\b.{0,60}\b(?:empfohlen|vorgeschlagen|geraten|erklärt|gesagt"
    r"|genannt)\b",
    re.IGNORECASE,
)


def asks_for_help(query: str) -> bool:
    """True when *query* asks how to do something, not for what was said or done before.

    The user's standing preferences ("always show units") belong to such an answer.
    """
    return _HELP.search(query) is not None and _LOOKS_BACK.search(query) is None


def asks_what_was_answered(query: str) -> bool:
    """True when *query* asks what the assistant said ("What did you recommend?")."""
    return _ANSWERED.search(query) is not None


_WHERE = lazy_pattern(
    r"^(?:and )?(?:where|wo|wohin|waar|où|dónde|dove)\b|\bwhere(?:['\u2019]s| is)\b", re.IGNORECASE
)
_MANY = lazy_pattern(
    r"\bhow (?:many|much|old|long|big|often|tall|high|far|heavy|large)\b"
    r"|\bwie (?:viele?|alt|lange|groß|oft|hoch|teuer|weit|schwer)\b"
    r"|\b(?:combien|hoeveel|cuánt[oa]s?)\b",
    re.IGNORECASE,
)
_PLACED = lazy_pattern(
    r"\b(?:in|into|at|on|onto|near|from|to|behind|under|beside|above|below|opposite"
    r"|im|am|ans?|auf|bei[m]?|hinter|neben|unter|über|nach|aus|zu[mr]?|ins"
    r"|dans|chez|à|aux?|en|op|bij|naar|nel|alla)\b|[=:] \w",
    re.IGNORECASE,
)
_WEEKDAY = lazy_pattern(rf"\b(?:{alternatives(WEEKDAYS)})s?\b", re.IGNORECASE)
_HOUR = lazy_pattern(
    r"\b[0-9]{1,2}(?:[:.][0-9]{2}\b|(?: ?uhr| ?[ap]\.?m|h|st|nd|rd|th)\b|\. )"
    r"|\b(?:at|by|until|till|from|before|after|um|ab|bis|gegen|vor|nach) [0-9]{1,2}\b(?! ?[%€$])"
    r"|\b(?:noon|midnight|mornings?|evenings?|afternoons?|nights?)\b"
    r"|\b(?:morgen|mittag|abend|nacht)s\b",
    re.IGNORECASE,
)
_NOUN = lazy_pattern(
    r"\b(?:which|what|welche[mnrs]?|quel(?:le)?s?|welke?)\s+"
    r"(?:(?:kind|type|sort|make|brand)\s+of\s+|(?:art|sorte)\s+(?:von\s+)?)?([^\W\d_][\w-]+)",
    re.IGNORECASE,
)


def kind_asked(query: str) -> str:
    """The kind of answer that *query* asks for by its question word: time, number, place or ""."""
    if asks_when(query):
        return "time"
    if _MANY.search(query):
        return "number"
    return "place" if _WHERE.search(query) else ""


def gives(kind: str, text: str) -> bool:
    """True when *text* holds something of the form of that *kind*, see `kind_asked`."""
    match kind:
        case "time":
            day = _HOUR.search(text) or _WEEKDAY.search(text)
            return bool(day) or any(mentions(text, _ANY_DAY))
        case "number":
            amounts = _LABEL.sub(" ", text)
            return bool(numbers(amounts)) or any(char.isdigit() for char in amounts)
        case _:
            return _PLACED.search(text) is not None


_LABEL = lazy_pattern(r"(?<!\w)(?![vV][0-9])[^\W\d_]{1,40}[0-9]\w{0,40}")
"""A name with a digit, which is no amount: "S3", "B12"."""
_WHO = lazy_pattern(
    r"^(?:and )?(?:who|wer|wem|wen|qui|chi|quién)(?:['\u2019]s|se)?\b"
    r"|\bnames?\b|\bcalled\b|\bheiß(?:t|en)\b|\bs['\u2019]appelle|\bse llama\b|\bsi chiama\b",
    re.IGNORECASE,
)


def asks_who(query: str) -> bool:
    """True when *query* asks for a person or for a name."""
    return _WHO.search(query) is not None


def noun_asked(query: str) -> str:
    """The noun of "which airline do we take"; "" where the question asks for none by name."""
    for match in _NOUN.finditer(query):
        if not is_plain(match[1].casefold()):
            return match[1]
    return ""


# The order

_LATEST = lazy_pattern(
    r"\b(latest|newest|(most|more) recent(ly)?|recently|lately|last time|currently|these days|now"
    r"|zuletzt|neueste[nrs]?|kürzlich|derzeit)\b",
    re.IGNORECASE,
)
_FIRST = lazy_pattern(
    r"\b(first|earliest|originally|initially|zuerst|anfangs|ursprünglich)\b", re.IGNORECASE
)


def order_asked(query: str) -> int:
    """1 when *query* asks for the latest, -1 for the first, 0 for neither or both."""
    return bool(_LATEST.search(query)) - bool(_FIRST.search(query))


# The people

_NAME = lazy_pattern(r"([^\W_]+(?:[-.][^\W_]+)*)(['’]s?(?!\w))?")
_LONGEST = 3
"""Words of the longest name that is looked up."""


def in_first_person(query: str, speaks: Callable[[str], bool]) -> str:
    """*query* with "I" and "my" in place of each name for which *speaks*(name) is True.

    The longest names are tried first, as written and with capitals. A stopword ("will", "may") is
    no name.
    """
    words = list(_NAME.finditer(query))
    parts, end, place = [], 0, 0
    while place < len(words):
        for last in range(min(len(words), place + _LONGEST) - 1, place - 1, -1):
            name = query[words[place].start() : words[last].end(1)]
            if name.casefold() not in STOPWORDS and (speaks(name) or speaks(name.title())):
                own = words[last].group(2)
                parts += [query[end : words[place].start()], "my" if own else "I"]
                end, place = words[last].end(), last
                break
        place += 1
    return "".join([*parts, query[end:]])


def without(query: str, names: Iterable[str]) -> str:
    """*query* without the *names* in it, in any case: what it asks of whom or what it names.

    As it is where nothing else would be left.
    """
    left = query
    for name in sorted(names, key=len, reverse=True):
        written = r"\W{1,3}".join(map(re.escape, WORD.findall(name)))
        if written:
            left = re.sub(rf"(?i)(?<!\w){written}(?:['’]s?)?(?!\w)", " ", left)
    return " ".join(left.split()) if WORD.search(left) else query


# Whom it concerns


def asks_in_general(text: str) -> bool:
    """True where *text* asks something and has no word of whoever asks: "why do cats purr"."""
    return QUESTION in acts(text) and not _holds(text, lexicon.ONESELF)


def is_anybodys(text: str) -> bool:
    """True where *text* has no word of its speaker, and points at nothing that both sides know.

    "A cron expression for every Sunday" is anybody's; "can we ship", "on the staging server" are
    not.
    """
    return not _holds(text, lexicon.ONESELF | lexicon.POINTING)


def _holds(text: str, some: frozenset[str]) -> bool:
    return not some.isdisjoint(words(text))


# The period

_SAYING = frozenset(
    listed(
        """say said saying says tell told tells telling talk talked talking talks speak spoke
        spoken speaking discuss discussed discussing mention mentioned mentions chat chatted
        conversation conversations write wrote written note noted notes ask asked remember
        remembered sagen gesagt sagte sagten erzählt erzählte gesprochen geredet besprochen
        erwähnt"""
    )
)
_ANYTHING = frozenset(
    listed(
        """new happen happened happening happens occur occurred anything everything something
        thing things stuff got find info infos information overview rundown news event events
        memory memories recall know about exactly please show list summarise summarize summary
        recap plan plans planned planning upcoming coming agenda schedule scheduled calendar
        appointment appointments booked due lined free busy tell what's anybody today's passiert
        passierte geschehen geschah los alles etwas irgendwas irgendetwas nichts steht stehen
        stand standen ansteht anstehen anliegt liegt an geplant plane planen planst vorhaben
        vorhast mache machen machst macht gemacht tue tun getan unternommen läuft lief gibt gab
        geht ging wieder termin termine terminen kalender verabredet verabredung verabredungen
        anstand deadline deadlines frist fristen fällig erledigen muss müssen come comes kommt
        kommen welche welcher welches eigentlich zeig zeige bitte denn weisst weiss überblick"""
    )
)
_SINCE = frozenset(("since", "seit"))
_UNTIL = frozenset(("until", "till", "bis"))
_AFTER = _SINCE | {"after", "nach", "ab"}
_BEFORE = lazy_pattern(r"\b(?:before|vor) (?: |$|\W)", re.IGNORECASE)
_BY = lazy_pattern(r"\b(?:by)(?: the)? (?: |$|\W)", re.IGNORECASE)
"""Right before the place of a date, which `without_asked_dates` leaves blank."""
_TELL_ME = lazy_pattern(
    r"^(?:please |bitte )?(?:(?:can|could|will|would) you )?(?:please )?"
    r"(?:(?:tell|remind|show|give|get|find|send|list|update|brief) (?:me|us)"
    r"|catch (?:me|us) up|fill (?:me|us) in|bring (?:me|us) up to (?:speed|date)"
    r"|(?:run|walk|talk) (?:me|us) through|(?:erzähl|nenn|zeig|gib|sag)e? (?:mir|uns)"
    r"|(?:pull|bring|dig) up|fasse? zusammen)\b",
    re.IGNORECASE,
)
"""It asks whoever remembers, not for what was told."""
_CHANGE = frozenset(
    listed("change changed changes changing verändert ändert geändert änderte veränderte")
)
_WITHOUT_TOPIC = _SINCE | STOPWORDS | GERMAN_STOPWORDS | _SAYING | _ANYTHING | _CHANGE


@dataclass(frozen=True, slots=True)
class Period:
    """The first and last epoch second that a query asks about; infinite where it is open.

    *said* is True when the query asks what was said then: a date named in a later text is a match
    only where nothing was said then. *ahead* is True when it asks what comes: there what was said
    then is a match only where nothing names a date of it. *changed* is True when it asks what
    became different.
    """

    first: float
    last: float
    said: bool
    ahead: bool = False
    changed: bool = False


def periods_asked(
    query: str, cue: DateCue, now: float, names: Collection[str] = ()
) -> tuple[Period, ...]:
    """The periods that *query* may mean at epoch seconds *now*, the likeliest first.

    Empty when it asks about anything else too. A day or month without a year is the latest in a
    question about the past, the next in one about what comes; a question that shows neither
    ("anything in June?") may mean both, the coming one first. *cue* is what dates.query_dates finds
    in the query. *names* (case-folded) are people, whom it may name besides.
    """
    if not cue:
        return ()
    query = _TELL_ME.sub("", query)
    undated = without_asked_dates(query, now)
    left = [word.casefold() for word in WORD.findall(undated)]
    left = [word.removesuffix("'s").removesuffix("’s") for word in left]
    if any(word not in _WITHOUT_TOPIC and word not in names for word in left):
        return ()
    tense = asks_ahead(query) if _SAYING.isdisjoint(left) else -1
    orders = {1: (True,), -1: (False,), 0: (True, False)}[tense]
    found = [_period(cue, undated, left, now, ahead) for ahead in orders]
    changed = not _CHANGE.isdisjoint(left)
    return tuple(
        dict.fromkeys(
            replace(period, ahead=tense > 0, changed=changed) for period in found if period
        )
    )


def _period(
    cue: DateCue, undated: str, left: Collection[str], now: float, ahead: bool
) -> Period | None:
    """The period of *cue* with the words *left* of its question, which *undated* is in full.

    When it lies *ahead* and has no beginning, it begins today.
    """
    days = [day for each in _days(cue, day_of(now), ahead) for day in each]
    if not days:
        return None
    said = not _SAYING.isdisjoint(left)
    first, over = midnight(min(days)), after(max(days))
    end = over - 1e-3
    if _BEFORE.search(undated):
        first, end = -inf, first - 1e-3
    elif "after" in left:
        first, end = over, inf
    elif not _UNTIL.isdisjoint(left) or _BY.search(undated):
        first = -inf
    elif first <= now and not _SINCE.isdisjoint(left):
        end = now
    today = midnight(day_of(now))
    return Period(today if ahead and first == -inf and end > today else first, end, said)


@dataclass(frozen=True, slots=True)
class Past:
    """The first and last epoch second of the earlier time of which a query asks how things were.

    Both are -inf for the beginning, and inf for right before what holds now.
    """

    first: float
    last: float


def past_asked(query: str, cue: DateCue, now: float) -> Past | None:
    """The earlier time of which *query* asks how things were, seen from epoch seconds *now*.

    "What was the rent in March?", "who had the key before?", "which bank was it at first?". None
    where it asks of none. *cue* is what dates.query_dates finds in the query.
    """
    if asks_for_first(query):
        return Past(-inf, -inf)
    past = asks_ahead(query) < 0
    undated = without_asked_dates(query, now)
    days = [day for each in _days(cue, day_of(now), not past) for day in each] if cue else []
    if days and _AFTER.isdisjoint(words(undated)):
        first, over = midnight(min(days)), after(max(days))
        if _BEFORE.search(undated):
            return Past(-inf, first - 1e-3) if first <= now else None
        return Past(first, over - 1e-3) if over <= now else None
    if asks_for_former(query) or (past and not days and "before" in words(query)):
        return Past(inf, inf)
    return None


def date_is_inside(written: str, period: Period) -> bool:
    """True when all of *written*, a date as dates.resolve returns it, lies inside *period*."""
    return moment_inside(written, period) is not None


def moment_inside(written: str, period: Period) -> float | None:
    """The beginning of the last day of *written*, where all of it lies inside *period*, else None.

    In epoch seconds.
    """
    try:
        year, month, day = (*map(int, written.split("-")), 0, 0)[:3]
        first, last = date(year, month or 1, day or 1), date(year, month or 12, day or 1)
    except ValueError:  # an entry of another version
        return None
    if not day:
        last = last.replace(day=monthrange(last.year, last.month)[1])
    start, end = midnight(first), midnight(last)
    return end if period.first <= start and end <= period.last else None


def names_no_topic(query: str) -> bool:
    """True when *query* ("what did I say?") has no word of content: only its filters select."""
    said = (word.casefold() for word in WORD.findall(_TELL_ME.sub("", query)))
    return bool(WORD.search(query)) and all(word in _WITHOUT_TOPIC for word in said)


def _days(cue: DateCue, today: date, ahead: bool) -> list[tuple[date, date]]:
    """First and last day of each date in *cue*.

    Without a year, when *ahead*, the next one that is not over, else the latest that has begun.
    """
    found = [(date.fromordinal(first), date.fromordinal(last)) for first, last in cue.spans]
    for year, month, day in cue.days:
        known = _nearest(year, month, day, today, ahead)
        found += [(known, known)] if known else []
    for year, month in cue.months:
        first = _nearest(year, month, 1, today.replace(day=1), ahead)
        if first:
            found.append((first, first.replace(day=monthrange(first.year, first.month)[1])))
    return found + [(date(year, 1, 1), date(year, 12, 31)) for year in cue.years]


def _nearest(year: int, month: int, day: int, today: date, ahead: bool) -> date | None:
    step = 1 if ahead else -1
    for candidate in (year,) if year else range(today.year, today.year + 5 * step, step):
        try:
            found = date(candidate, month, day)
        except ValueError:  # 29 February of another year
            continue
        if year or (found >= today if ahead else found <= today):
            return found
    return None
