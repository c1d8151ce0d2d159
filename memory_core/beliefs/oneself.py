"""What somebody says of themselves that lasts: who they are, what they have, what they do always;
and what anybody must not have.

A briefing tells it to each conversation, so a diary must not pass: what happened, what goes on at
this time, how somebody feels, what is meant to be done. English and German, by closed classes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_core.beliefs import lexicon
from memory_core.beliefs.imperatives import PAST, WENT
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.time.lexicon import WEEKDAYS
from memory_core.text.words import listed, words

MOST_WORDS = 25
"""Of a sentence: a longer one is a story."""

MOST_SENTENCES = 2

_I = frozenset(listed("i i'm i've we we're we've ich wir"))
_BE = frozenset(listed("i'm we're am are bin sind"))
_IS_NOW = frozenset(listed("is are has have ist sind hat haben heißt"))
_MY = frozenset(listed("my our mein meine unser unsere"))
_OWN = lazy_pattern(
    rf"(?:my|our|mein\w{{0,2}}|unser\w{{0,2}}) (?:\w+ )?(?:{lexicon.KIN}|name|job|boss|birthday"
    r"|pronouns|language|favou?rite|beruf|chef(?:in)?|geburtstag|muttersprache|lieblings\w+)\b",
)
_SINCE_LONG = lazy_pattern(
    r"(?:(?:i|we)(?:'ve| have) )?been .{1,80}\b(?:for|since)\b|born (?:and|in)\b"
    r"|(?:living|working|studying) (?:in|at|as|on|with)\b"
)
_ELLIPTIC = frozenset(listed("bin hab habe arbeite wohne lebe heiße studiere spiele"))
"""German verbs of somebody who leaves out who does it."""
_NOT_SO = frozenset(
    listed(
        """will would should must could might shall may need want hope think guess feel wish wonder
        plan planned just finally suppose believe remember forgot mean see hear love've had was were
        did got gonna won't i'll we'll i'd we'd wonder doubt

        will wollte möchte muss müssen soll sollte könnte werde würde hoffe denke glaube fühle
        brauche war hatte wurde hätte wäre freue"""
    )
)
"""Verbs and auxiliaries of what is past, wanted, meant or felt."""
_FOR_A_WHILE = frozenset(
    listed(
        """on tired hungry thirsty late back done ready sorry happy sad sick ill out off here there
        stuck busy bored sure glad excited nervous worried afraid angry free home fine okay ok well
        better worse so really very too pretty about going still down up thrilled proud grateful
        müde hungrig spät zurück fertig bereit traurig krank weg hier da froh sicher gespannt
        unterwegs zuhause daheim so sehr zu"""
    )
)
"""How somebody is for a while, right behind "I am"."""
_THIS_TIME = frozenset(
    listed(
        """today tonight tomorrow yesterday moment week weekend month now again heute gestern morgen
        woche wochenende monat jetzt gerade wieder"""
    )
)


def says_what_lasts(text: str) -> bool:
    """True when *text* says something of its speaker that lasts.

    A text of more than two sentences is a turn of a talk. Linear in its length; never raises.
    """
    said = sentences(text[:_MOST_CHARS])
    return len(said) <= MOST_SENTENCES and any(map(_lasts, said))


_MOST_CHARS = 600


def must_not(text: str) -> bool:
    """True when *text* says what somebody must not have or eat: no conversation may overlook it.

    Linear in its length; never raises.
    """
    plain = text[:_MOST_CHARS].strip()
    return not plain.endswith("?") and _MUST_NOT.search(plain) is not None


_MUST_NOT = lazy_pattern(
    r"\b(?:allerg(?:ic|y|ies|isch|ie|ien)|anaphyla\w{1,5}|intoleran\w{1,4}|epi-?pen|co?eliac"
    r"|diabet\w{1,5}|zöliakie|[\wäöüß]{2,20}(?:allergie|unverträglichkeit)"
    r"|(?:can['’]?t|cannot|must(?:n['’]?t| not)|may not|not allowed to)"
    r" (?:have|eat|drink)(?! (?:it|this|that|you|an?|the|my|dinner|lunch|breakfast|more|enough"
    r"|everything|both|time|any ?more)\b) \w"
    r"|(?:darf|dürfen|verträgt|vertrage|vertragen) (?:\w+ ){0,2}kein\w{0,2} \w)",
    re.IGNORECASE,
)


def _lasts(sentence: str) -> bool:
    plain = _in_own_voice(sentence.strip().replace("’", "'"))
    said = words(plain)
    if not 2 < len(said) <= MOST_WORDS or plain.endswith("?"):
        return False
    if any(word in WEEKDAYS or word in _THIS_TIME for word in said):
        return False
    lowered = " ".join(said)
    if _SINCE_LONG.match(lowered) or said[0] in _ELLIPTIC:
        return True
    if said[0] in _MY:
        now = not _IS_NOW.isdisjoint(said[1:5]) or not _is_past(said[1:6])
        return now and _OWN.match(lowered) is not None
    if said[0] not in _I or not _NOT_SO.isdisjoint(said[:3]):
        return False
    if said[0] in ("i've", "we've") or said[1:3] in (["have", "to"], ["have", "been"]):
        return False
    is_so = said[0] in _BE or said[1] in _BE
    behind = said[1:3] if said[0] in _BE else said[2:4]
    if is_so:
        return behind[0] not in _FOR_A_WHILE and not any(word.endswith("ing") for word in behind)
    return not _is_past(said[1:3])


def _in_own_voice(plain: str) -> str:
    """*plain* in the first person where it tells of the user in the third, as assistants note."""
    own = _USERS.sub("my ", plain)
    return own if own != plain else _USER.sub(r"I \1", _USER_IS.sub(_in_first, plain))


_USERS = lazy_pattern(r"^(?:the )?user's ", re.IGNORECASE)
_USER_IS = lazy_pattern(r"^(?:the )?user (is|has|does|was)\b", re.IGNORECASE)
_USER = lazy_pattern(r"^(?:the )?user (\w{2,30}?)s\b", re.IGNORECASE)


def _in_first(match: re.Match[str]) -> str:
    return {"is": "I am", "has": "I have", "does": "I do", "was": "I was"}[match[1].lower()]


def _is_past(some: Sequence[str]) -> bool:
    return any(
        word in PAST or word in WENT or word in _NOT_SO or (word.endswith("ed") and len(word) > 4)
        for word in some
    )
