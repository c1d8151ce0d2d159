"""German clauses with subject, attribute and value, from which `english` makes statements.

The same five shapes as in English, for sentences about where people live and work, what they like,
use or have, and when things are. Cheap on purpose: one clause, with the verb second or, after an
adverb, first. A clause that fits no rule is no statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause. With *attribute* "", the class of *value* decides it: a day, number or quality.

    *subject* has "i" or "my" for the speaker; *then* is what replaced *value*.
    """

    subject: str
    attribute: str
    value: str
    affirmed: bool = True
    ended: bool = False
    single: bool = True
    then: str = ""


_GERMAN = lazy_pattern(
    r"\b(?:ich|wir|mein(?:e[nmr]?)?|unser(?:e[nmr]?)?|ist|sind|nicht|kein(?:e[nmr]?)?|wohnt|lebt"
    r"|arbeitet|heißt|wurde|mag|liebt|hasst|trinkt|isst|raucht|benutzt|nutzt|verwendet|spielt"
    r"|kostet|findet|beginnt|dauert|gekündigt|aufgehört|verkauft|verloren|gewechselt|umgestiegen)\b"
)
_OPENING = lazy_pattern(
    r"^(?:(?:eigentlich|korrektur|nein|doch|also|ja|ach|übrigens|ich meinte|und|aber|inzwischen"
    r"|mittlerweile|jetzt|nun|heute|tatsächlich|seit kurzem|ab sofort)\b[\s,:;.–—-]*)+"
)
_HEDGE = lazy_pattern(
    r"\b(?:wenn|falls|ob|vielleicht|würde\w*|könnte\w*|sollte\w*|möchte\w*|glaube|hoffe|wohl)\b|\?"
)
_VERBS = (
    r"(?:bin|ist|sind|wohn(?:e|t|en)|leb(?:e|t|en)|arbeit(?:e|et|en)|mag|mögen|lieb(?:e|t|en)"
    r"|hass(?:e|t|en)|trink(?:e|t|en)|esse|isst|essen|rauch(?:e|t|en)|(?:be)?nutz(?:e|t|en)"
    r"|verwend(?:e|et|en)|f[aä]hr(?:e|t|en)|spiel(?:e|t|en)|hab(?:e|en)|hat|heißt|findet)"
)
_LEAD = lazy_pattern(
    rf"^(?:seit|ab|bis|im|am|vor|nächste\w*|letzte\w*|für) (?:\S+ ){{1,5}}?(?={_VERBS}\b)"
)
_INVERTED = lazy_pattern(rf"^(?P<verb>{_VERBS}) (?P<who>ich|wir|(?:mein|unser)\w{{0,2}} \w+) ")
_BOUNDED = lazy_pattern(
    r" (?:bis(?: zum| zur)?|seit|weil|für (?:die nächsten? )?(?:ein\w*|zwei|drei|vier|fünf|[0-9]+)"
    r" (?:tag|woche|monat|jahr)\w*)(?: [^,]*?)?(?=$| (?:in|nach|bei|am|um|auf) )"
)
_ENDED = lazy_pattern(r"\bnicht mehr\b|\bkein\w{0,2} (?P<what>.{1,40}?) mehr\b|\baufgehört\b")
_DENIED = lazy_pattern(r"\b(?:nicht|nie|niemals|kein(?:e|en|em|er)?)\b")
_ADVERBS = lazy_pattern(
    r"\b(?:jetzt|nun|inzwischen|mittlerweile|derzeit|momentan|zurzeit|aktuell|wirklich|gerade|noch"
    r"|schon|immer|auch|nur|doch|wieder|sehr|gern|gerne|eigentlich|überhaupt|endgültig|tatsächlich"
    r"|vorübergehend|stattdessen|leider|heute|nicht mehr|nicht|nie|niemals|mehr)\b"
)
_ARTICLES = frozenset(
    listed(
        """der die das den dem des ein eine einen einem einer kein keine keinen keinem keiner am um
        im zum zur ins uhr"""
    )
)
_NO_SUBJECT = frozenset(
    listed("er sie es man das dies dieser diese dieses wer was da hier dort niemand jemand")
)
_STATES = frozenset(listed("angst frieden sorge ordnung arbeit trennung armut ruhe eile gefahr"))
"""Values after "in" that are no place."""
_SELF = {**dict.fromkeys(listed("ich wir"), "i"), **dict.fromkeys(listed("mich mir uns"), "i")}
_SELF |= {
    stem + ending: "my" for stem in ("mein", "unser") for ending in ("", "e", "en", "em", "er")
}

_WHO = r"(?P<who>[^\s,]+(?: [^\s,]+){0,5}?)"
_PLACE = lazy_pattern(rf"^{_WHO} (?:wohn(?:e|t|en)|leb(?:e|t|en)) (?:in|im) (?P<value>.+)$")
_MOVED = lazy_pattern(
    rf"^{_WHO} (?:bin|ist|sind) (?:.*?)\bnach (?P<value>[^\s,]+(?: [^\s,]+)?) (?:um)?gezogen$"
)
_SEATED = lazy_pattern(rf"^{_WHO} (?:ist|sind|bin|liegt|sitzt) in (?P<value>[^\s,]+)$")
_WORKS = lazy_pattern(
    rf"^{_WHO} (?:arbeit(?:e|et|en) (?:bei|für) (?P<value>.+)"
    r"|(?:habe|hat|bin|ist) (?:bei|zu) (?P<value2>.+?) (?:angefangen|gewechselt))$"
)
_LEFT = lazy_pattern(rf"^{_WHO} (?:habe|hat|haben) bei (?P<value>.+?) (?:gekündigt|aufgehört)$")
_PARTNER = lazy_pattern(
    rf"^{_WHO} (?:bin|ist) (?:mit|von) (?P<value>.+?)"
    r" (?P<state>verheiratet|verlobt|zusammen|geschieden|getrennt)$"
)
_LIKES = lazy_pattern(
    rf"^{_WHO} (?P<verb>mag|mögen|lieb(?:e|t|en)|hass(?:e|t|en)|verabscheu(?:e|t|en))"
    r" (?P<value>.+)$"
)
_HABIT = lazy_pattern(
    rf"^{_WHO} (?P<verb>trink(?:e|t|en)|esse|isst|essen|rauch(?:e|t|en)|(?:be)?nutz(?:e|t|en)"
    r"|verwend(?:e|et|en)|f[aä]hr(?:e|t|en)|spiel(?:e|t|en)|hab(?:e|en)|hat) (?P<value>.+)$"
)
_GONE = lazy_pattern(
    rf"^{_WHO} (?:habe|hat|haben) (?P<value>.+?) (?:verkauft|verloren|weggegeben|abgeschafft)$"
)
_INSTEAD = lazy_pattern(
    rf"^{_WHO} (?:(?:bin|ist|sind|habe|hat|haben) von (?P<old>.{{1,80}}?) (?:auf|zu)"
    r" (?P<new>.{1,80}?) (?:umgestiegen|gewechselt|umgestellt)"
    r"|(?:(?:be)?nutz|verwend|trink|ess|fahr|spiel)(?:e|t|et|en) (?P<new2>.{1,80}?) statt"
    r" (?P<old2>.+))$"
)
_CHANGED = lazy_pattern(
    rf"^{_WHO} (?:wurde|wurden|ist|sind|wird) (?:von .{{1,80}}? )?auf (?P<value>.{{1,80}}?)"
    r" (?:verschoben|verlegt|geändert|umgestellt|vorverlegt|erhöht|gesenkt)(?: worden)?$"
)
_IS = lazy_pattern(
    rf"^{_WHO} (?:bin|ist|sind|beginnt|startet|findet|kostet|läuft|endet|dauert|öffnet|schließt)"
    r" (?P<value>.+?)(?: statt)?$"
)
_CALLED = lazy_pattern(rf"^{_WHO} heißt (?P<value>.+)$")
_FAVOURITE = lazy_pattern(r"^(?P<owner>\S+) lieblings(?P<what>\w+)$")
_PARTICIPLE = lazy_pattern(r"\b(?:ge\w+(?:t|en)|(?:ver|be|er|ent)\w+(?:t|en)|\w+iert)$")
_VERB_NAMES = (
    ("trink", "drink"), ("ess", "eat"), ("iss", "eat"), ("rauch", "smok"), ("nutz", "us"),
    ("benutz", "us"), ("verwend", "us"), ("fahr", "driv"), ("fähr", "driv"), ("spiel", "play"),
    ("hab", "have"), ("hat", "have"),
)  # fmt: skip
"""Attributes have the names of the English verbs with the same meaning."""


@lru_cache(maxsize=4_096)
def is_german(clause: str) -> bool:
    """True when *clause* has a word that is only German."""
    return _GERMAN.search(clause.lower()) is not None


def read(clause: str) -> Clause | None:
    """The subject, attribute and value of the German *clause*; None when it fits no rule."""
    lowered = _LEAD.sub("", _OPENING.sub("", clause.lower().strip()))
    if _HEDGE.search(lowered):
        return None
    lowered = _INVERTED.sub(r"\g<who> \g<verb> ", lowered)
    ended = _ENDED.search(lowered) is not None
    denied = ended or _DENIED.search(lowered) is not None
    plain = " ".join(_ADVERBS.sub(" ", _BOUNDED.sub("", lowered)).split())
    for rule in (_instead, _partner, _works, _place, _likes, _called, _state, _habit):
        found = rule(plain)
        if found is not None:
            return _normalised(found, denied=denied, ended=ended)
    return None


def _normalised(found: Clause, *, denied: bool, ended: bool) -> Clause | None:
    who, value, then = _subject(found.subject), _bare(found.value), _bare(found.then)
    if not who or not value or (found.then and not then):
        return None
    if found.then:
        return Clause(who, found.attribute, value, False, True, False, then)
    affirmed = found.affirmed != denied
    return Clause(who, found.attribute, value, affirmed, ended, found.single)


def _subject(phrase: str) -> str:
    kept = [_SELF.get(word, word) for word in phrase.split() if word not in _ARTICLES]
    return "" if not kept or kept[0] in _NO_SUBJECT else " ".join(kept)


def _bare(phrase: str) -> str:
    kept = [word for word in phrase.split() if word not in _ARTICLES and word not in _SELF]
    return " ".join(kept)


# Rules: a cleaned clause -> what it says, before articles and negation are looked at


def _instead(plain: str) -> Clause | None:
    match = _INSTEAD.match(plain)
    if match is None:
        return None
    old, new = match["old"] or match["old2"], match["new"] or match["new2"]
    return Clause(match["who"], "us", old, then=new)


def _partner(plain: str) -> Clause | None:
    match = _PARTNER.match(plain)
    if match is None:
        return None
    held = match["state"] not in ("geschieden", "getrennt")
    return Clause(match["who"], "partner", match["value"], held)


def _works(plain: str) -> Clause | None:
    if (match := _LEFT.match(plain)) is not None:
        return Clause(match["who"], "employer", match["value"], False)
    match = _WORKS.match(plain)
    if match is None:
        return None
    return Clause(match["who"], "employer", match["value"] or match["value2"])


def _place(plain: str) -> Clause | None:
    match = _MOVED.match(plain) or _PLACE.match(plain) or _SEATED.match(plain)
    if match is None or len(match["value"].split()) > 3 or match["value"] in _STATES:
        return None
    return Clause(match["who"], "place", match["value"])


def _likes(plain: str) -> Clause | None:
    match = _LIKES.match(plain)
    if match is None:
        return None
    return Clause(match["who"], "like", match["value"], match["verb"][0] in "ml", single=False)


def _called(plain: str) -> Clause | None:
    match = _CALLED.match(plain)
    return None if match is None else Clause(match["who"], "name", match["value"])


def _state(plain: str) -> Clause | None:
    match = _CHANGED.match(plain) or _IS.match(plain)
    if match is None:
        return None
    favourite = _FAVOURITE.match(match["who"])
    if favourite is not None:
        return Clause(favourite["owner"], f"favourite {favourite['what']}", match["value"])
    if _PARTICIPLE.search(match["value"]) or len(match["value"].split()) > 4:
        return None
    return Clause(match["who"], "", match["value"])


def _habit(plain: str) -> Clause | None:
    if (match := _GONE.match(plain)) is not None:
        return Clause(match["who"], "have", match["value"], False, single=False)
    match = _HABIT.match(plain)
    if match is None or _PARTICIPLE.search(match["value"]) or len(match["value"].split()) > 4:
        return None
    name = next(name for stem, name in _VERB_NAMES if match["verb"].startswith(stem))
    return Clause(match["who"], name, match["value"], single=False)
