"""Statements: subject, attribute and value of plain sentences, so that a later one can replace one.

Rules for the shapes in which people correct themselves ("moved to", "no longer", "is now"): English
here, German in `german`. A sentence that fits no rule is no statement: none is better than a wrong
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memory_core.relations import german
from memory_core.relations.german import Clause
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import STOPWORDS, listed, words

SELF = "\x01"
"""The subject of "I" and "my" while the speaker has no name."""

_CLAUSE = lazy_pattern(
    r"[;:]\s|,?\s(?:but|while|whereas)\s|,?\sand (?=(?:i|we|my|our|the)\b)|,\s",
    re.IGNORECASE,
)
_OPENING = lazy_pattern(
    r"^(?:(?:actually|correction|update|no|wait|sorry|well|oh|yes|in fact|by the way|i was wrong"
    r"|i meant|i mean|fyi|also|so|and|but|now|today)\b[\s,:;.–—-]*)+",
    re.IGNORECASE,
)
_CANNOT_BEAR = lazy_pattern(r"\b(?:can't|cannot|can not) (?:stand|bear)\b")
_ENDED = lazy_pattern(
    r"\bno longer\b|\bany ?more\b|\bany longer\b|\b(?:stopped|quit|gave up|given up)\b"
    r"|\b(?:has|have)? ?ceased to\b|\bused to\b"
)
_DENIED = lazy_pattern(r"\b(?:not|never)\b|n't\b")
_AUXILIARY = lazy_pattern(r"\b(?:do|does|did)(?:n't| not)?\b")
_ADVERBS = lazy_pattern(
    r"\b(?:not|never|now|currently|actually|really|still|just|also|always|already|recently|very"
    r"|much|again|only|finally|definitely|officially|instead|temporarily|today)\b"
)
_BOUNDED = lazy_pattern(
    r"\b(?:until|till|through|since|because|for (?:the next )?(?:a|an|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|[0-9]+) (?:day|week|month|year)s?|this (?:week|month)|as of)\b.*$"
)
_LEAD = lazy_pattern(
    r"^(?:until|till|through|from|during|this|for|last|next|yesterday|since|on)"
    r" ?(?:[^\s,]+ ){0,6}?(?=(?:the|my|our|i|we)\b)"
)
_HEDGE = lazy_pattern(
    r"\b(?:if|unless|might|(?<![0-9] )may(?! [0-9])|maybe|perhaps|would|could|should|think|hope)"
    r"\b|\?"
)

_SUBJECT = r"(?P<subject>[^\s,]+(?: [^\s,]+){0,6}?)"
_PLACE = lazy_pattern(
    rf"^{_SUBJECT} (?:(?:live|lives|living|reside|resides|stay|stays) (?:in|at)"
    r"|(?:'m|am|is|are|'re|'s) (?:living |based |located |staying )?in"
    r"|(?:have |has |'ve |'s )?(?:moved|relocated) (?:from [\w ]{1,40}? )?to)"
    r" (?:the )?(?P<value>.+)$"
)
_CHANGED = lazy_pattern(
    rf"^{_SUBJECT} (?:was |were |has been |have been |has |have |is being |got |'s )*"
    r"(?:moved|changed|rescheduled|switched|postponed|shifted|updated|set|migrated|upgraded)"
    r" (?:from .{1,60}? )?(?:back |over )?to (?:the )?(?P<value>.+)$"
)
_IS = lazy_pattern(
    rf"^{_SUBJECT} (?:is|are|'s|will be|starts|begins|takes place|happens|runs|listens|costs"
    r"|lasts|opens|closes|leaves|expires|ends)(?: (?:held|due|set|running|listening))?"
    r" (?P<value>.+)$"
)
_WORKS = lazy_pattern(
    rf"^{_SUBJECT} (?:work|works|working|'m working|am working|is working) (?:at|for)"
    r" (?P<value>.+)$"
    rf"|^(?P<subject2>[^\s,]+(?: [^\s,]+){{0,3}}?) (?:have |has )?"
    r"(?:joined|started at|started working (?:at|for)) (?P<value2>.+)$"
)
_LEFT = lazy_pattern(rf"^{_SUBJECT} (?:have |has )?(?:left|resigned from) (?P<value>.+)$")
_PARTNER = lazy_pattern(
    rf"^{_SUBJECT} (?:am|is|'m|'s|got) (?P<state>married to|engaged to|dating|divorced from)"
    r" (?P<value>.+)$"
)
_SINGULAR = "(?:like|love|enjoy|adore|hate|dislike|detest|loathe|use|drive|play|eat|drink|smoke"
_HABIT = lazy_pattern(
    rf"^{_SUBJECT} (?P<verb>{_SINGULAR}|own|have|speak|study|learn|teach|wear|need|trust|attend"
    r"|prefer)(?:e?s|ing|ed)?|has|liking|loving|using|driving|smoking|practi[sc]ing|studies"
    r"|teaches|having|hating) (?:to )?(?P<value>.+)$"
)
_INSTEAD = lazy_pattern(
    rf"^{_SUBJECT} (?:have |has |'ve )?(?:(?:switched|migrated|moved|changed)"
    r" from (?P<old>.{2,40}?) (?:over )?to (?P<new>.+)"
    r"|(?:use|uses|using|drive|drives|drink|drinks|eat|eats|play|plays)"
    r" (?P<new2>.{2,40}?) instead of (?P<old2>.+))$"
)
_QUALITY = lazy_pattern(
    rf"^{_SUBJECT} (?:is|am|are|'m|'re) (?:an? )?(?P<value>[\w-]+(?: [\w-]+)?)$"
)
_TAIL = lazy_pattern(
    r"\b(?:every|each|in|on|at|with|for|when|after|before|because|than|over|to|from|by|called"
    r"|named|who|which|that|and|or|since|during|a lot)\b.*$"
)
_GONE = lazy_pattern(
    rf"^{_SUBJECT} (?:have |has )?(?:sold|lost|gave away|got rid of|cancelled|canceled)"
    r" (?P<value>.+)$"
)
_FEELINGS = {
    **dict.fromkeys(("like", "love", "enjoy", "adore", "lov", "lik"), True),
    **dict.fromkeys(("hate", "dislike", "detest", "loathe", "hat"), False),
}
_PRONOUNS = frozenset(listed("he she it they this that there who which what you these those one"))
_ARTICLES = frozenset(listed("the a an our your his her their its this that"))
_FAVOURITE = lazy_pattern(r"\bfavou?rite (?P<what>[\w -]{2,30})$")
_UNITS = frozenset(listed("am pm o'clock euro euros eur usd dollars percent minutes hours days"))


@dataclass(frozen=True, slots=True)
class Statement:
    """One attribute of one subject.

    *subject* and *value* are words without articles, casefolded. An *attribute* has one value when
    *single*, else several. *ended*: it held once and no longer does, and *then* is what replaced
    it. *place* is the index of the clause in the text.
    """

    subject: str
    attribute: str
    value: str
    affirmed: bool = True
    ended: bool = False
    single: bool = True
    place: int = 0
    then: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Statements with the same key can contradict each other."""
        return self.subject, self.attribute, "" if self.single else self.value


def statements(text: str, speaker: str = "") -> tuple[tuple[Statement, ...], int]:
    """The statements of *text* and the number of its clauses. Linear in its length.

    "I" and "my" mean the *speaker*, or SELF when the speaker has no name.
    """
    clauses = [part for sentence in sentences(text) for part in _clauses(sentence)]
    me = " ".join(words(speaker)) or SELF
    found = []
    for place, clause in enumerate(clauses):
        statement = _statement(clause, me, place)
        if statement is not None:
            found.append(statement)
    return tuple(found), len(clauses)


def verdict(older: Statement, newer: Statement) -> str:
    """How *newer* changes *older*, which has the same key: "replaces", "flips", "ends" or "".

    "ends" takes a value back without a new one; "flips" affirms or denies what was not.
    """
    if older.affirmed and newer.affirmed:
        return "replaces" if older.value != newer.value else ""
    if older.affirmed == newer.affirmed or older.value != newer.value:
        return ""
    if newer.then:
        return "replaces"
    return "ends" if newer.ended or newer.attribute in _ENDING else "flips"


_ENDING = ("have", "employer", "partner", "place")
"""Attributes whose denial means an end: nobody denies a car that they never had."""


def corrects(text: str) -> bool:
    """True when *text* has the words of a correction."""
    return _CORRECTS.search(text[:2_000]) is not None


_CORRECTS = lazy_pattern(
    r"\b(?:actually|correction|no longer|any ?more|any longer|i was wrong|i meant|in fact"
    r"|(?:switched|changed|moved|migrated|relocated|rescheduled|postponed|upgraded|shifted)"
    r" (?:from .{1,60}? )?(?:back |over )?to|instead of|is now|are now|now (?:lives?|works?|uses?)"
    r"|not .{1,40}? but|stopped|gave up|used to|sold|quit|eigentlich|korrektur|nicht mehr"
    r"|ich meinte|kein\w{0,2} .{1,40}? mehr|(?:um)?gezogen|verschoben|verlegt|umgestiegen|sondern"
    r"|gewechselt|stattdessen|inzwischen|mittlerweile|jetzt|gekündigt|aufgehört|verkauft|geschieden)\b",
    re.IGNORECASE,
)


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of *sentence* that have at least three words."""
    plain = _OPENING.sub("", sentence.strip().replace("’", "'"))
    for part in _CLAUSE.split(plain):
        part = _OPENING.sub("", part.strip(" .!,;:\"'“”()"))
        if len(part.split()) >= 3:
            yield part


def _statement(clause: str, me: str, place: int) -> Statement | None:
    lowered = clause.casefold()
    if len(clause) > 300:
        return None
    if german.is_german(clause):
        parsed = german.read(clause)
        return None if parsed is None else _from_german(parsed, me, place)
    if _HEDGE.search(lowered):
        return None
    lowered = _CANNOT_BEAR.sub("hate", _BOUNDED.sub("", _LEAD.sub("", lowered)))
    ended = _ENDED.search(lowered) is not None
    denied = ended or _DENIED.search(lowered) is not None
    plain = _AUXILIARY.sub("", _ENDED.sub("", lowered)).replace("isn't", "is")
    plain = plain.replace("aren't", "are").replace("n't", " ")
    plain = " ".join(_ADVERBS.sub(" ", plain).split())
    if (instead := _INSTEAD.match(plain)) is not None:
        return _switch(instead, me, place)
    for rule in _RULES:
        found = rule(plain, clause)
        if found is None:
            continue
        subject, attribute, value, holds, single = found
        value = value if single else _TAIL.sub("", value)
        stated = Statement(subject, attribute, value, holds != denied, ended, single, place)
        return _plain(stated, me)
    return None


def _plain(stated: Statement, me: str) -> Statement | None:
    """*stated* with normalised subject and value; None when too little is left."""
    attribute, noun = stated.attribute, ""
    if attribute.startswith("number "):
        attribute, noun = "number", attribute.removeprefix("number ")
    who = _subject(f"{stated.subject} {noun}", me)
    what = _value(stated.value).removeprefix(f"{noun} " if noun else "")
    vague = what in _PRONOUNS or (not stated.single and len(what.split()) > 4)
    if not who or not what or vague:
        return None
    return replace(stated, subject=who, attribute=attribute, value=what)


def _from_german(found: Clause, me: str, place: int) -> Statement | None:
    attribute, single = found.attribute or _class(found.value), found.single
    if not attribute:
        attribute, single = "is", False
    stated = Statement(
        *(found.subject, attribute, found.value, found.affirmed, found.ended, single, place),
        then=_value(found.then),
    )
    return _plain(stated, me)


def _switch(match: re.Match[str], me: str, place: int) -> Statement | None:
    """A statement that one thing is used in place of another."""
    who, old = _subject(match["subject"], me), _value(match["old"] or match["old2"])
    new = _value(_TAIL.sub("", match["new"] or match["new2"]))
    if not who or not old or not new:
        return None
    return Statement(who, "us", old, False, True, False, place, new)


# Rules: (cleaned clause, clause as written) -> subject, attribute, value, affirmed, single

_Found = tuple[str, str, str, bool, bool]


def _place(plain: str, raw: str) -> _Found | None:
    match = _PLACE.match(plain)
    if match is None or _class(match["value"]) or not _named(match["value"], raw):
        return None
    return match["subject"], "place", _name(match["value"], raw), True, True


def _works(plain: str, raw: str) -> _Found | None:
    match = _WORKS.match(plain)
    if match is not None:
        value = match["value"] or match["value2"]
        if _named(value, raw):
            subject = match["subject"] or match["subject2"]
            return subject, "employer", _name(value, raw), True, True
    left = _LEFT.match(plain)
    if left is not None and _named(left["value"], raw):
        return left["subject"], "employer", _name(left["value"], raw), False, True
    return None


def _partner(plain: str, raw: str) -> _Found | None:
    match = _PARTNER.match(plain)
    if match is None:
        return None
    held = match["state"] != "divorced from"
    return match["subject"], "partner", _name(match["value"], raw), held, True


def _habit(plain: str, _raw: str) -> _Found | None:
    gone = _GONE.match(plain)
    if gone is not None:
        return gone["subject"], "have", gone["value"], False, False
    match = _HABIT.match(plain)
    if match is None:
        return None
    verb = _stem(match["verb"])
    feeling = _FEELINGS.get(match["verb"].removesuffix("s"), _FEELINGS.get(verb))
    if feeling is not None:
        return match["subject"], "like", match["value"], feeling, False
    attribute = "have" if verb in ("ha", "hav", "own") else verb
    return match["subject"], attribute, match["value"], True, False


def _state(plain: str, raw: str) -> _Found | None:
    match = _CHANGED.match(plain) or _IS.match(plain)
    if match is None:
        return None
    subject, value = match["subject"], match["value"]
    favourite = _FAVOURITE.search(subject)
    if favourite is not None:
        owner = subject[: favourite.start()].strip()
        return owner or "the", f"favourite {favourite['what']}", value, True, True
    kind = _class(value)
    if kind:
        return subject, kind, value, True, True
    definite = subject.split()[0] in ("my", "our", "the") or "'s " in subject
    if definite and _named(value, raw) and len(value.split()) <= 4:
        return subject, "name", value, True, True
    return None


def _quality(plain: str, _raw: str) -> _Found | None:
    match = _QUALITY.match(plain)
    return None if match is None else (match["subject"], "is", match["value"], True, False)


_RULES = (_partner, _works, _place, _state, _habit, _quality)


# Words


def _subject(phrase: str, me: str) -> str:
    """The words that identify a subject, "" when it names nobody."""
    phrase = re.sub(r"\b(?:of|for|in) (?:the|our|my)?\b", " ", phrase)
    found = [word.removesuffix("'s") for word in words(phrase)]
    found = [me if word in ("i", "my", "we", "mine", "i'm", "i've") else word for word in found]
    if not found or found[0] in _PRONOUNS:
        return ""
    kept = sorted({word for word in found if word not in _ARTICLES})
    return " ".join(kept) if kept and not all(word in STOPWORDS for word in kept) else ""


def _value(phrase: str) -> str:
    kept = [word for word in words(phrase) if word not in _FILLING]
    return " ".join(kept[:8])


_FILLING = frozenset(
    listed("the a an in on at of to my our his her their its me us as well too there here")
)


def _class(value: str) -> str:
    """The class of a value (day, date, number) whose values exclude each other; else ""."""
    found = [word for word in words(value) if word not in _FILLING]
    if not found or len(found) > 5:
        return ""
    for word in found:
        if word in WEEKDAYS or word.removesuffix("s") in WEEKDAYS:
            return "day"
    numbers = [word for word in found if any(char.isdigit() for char in word)]
    if any(word in MONTHS and (word != "may" or numbers) for word in found):
        return "date"
    if len(numbers) != 1:
        return ""
    named = [word for word in found if word not in numbers and word not in _UNITS]
    if len(named) > 1 or (named and found[0] != named[0]):
        return ""
    return f"number {named[0]}" if named else "number"


def _named(value: str, raw: str) -> bool:
    """True when *value* begins with a word that is capitalised in the clause."""
    first = next((word for word in words(value) if word not in _FILLING), "")
    at = raw.casefold().rfind(first) if first else -1
    return at >= 0 and raw[at : at + 1].isupper()


def _name(value: str, raw: str) -> str:
    """The first words of *value* that are capitalised in the clause, at least one."""
    kept: list[str] = []
    for word in words(value):
        if not kept and word in _FILLING:
            continue
        at = raw.casefold().rfind(word)
        if kept and (word in _FILLING or at < 0 or not raw[at : at + 1].isupper()):
            break
        kept.append(word)
    return " ".join(kept[:4])


def _stem(verb: str) -> str:
    for ending in ("ing", "ies", "es", "s", "e"):
        if verb.endswith(ending) and len(verb) - len(ending) >= 2:
            return verb[: -len(ending)]
    return verb
