"""A standing wish: how an assistant is always, or never, to answer and to work.

Three things make one: a word for all time ("always", "künftig"), something that an assistant does
or writes, and nobody else who does it. "I always want short answers" is one; "my boss always wants
short answers", "I always answer in English" and "I always want coffee" are none. What is asked of
the assistant may also name the occasion ("when I paste a log, ...", "in everything you write") or
the manner ("talk to me like a friend"), and be without a verb ("no emojis"). English, German.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from math import exp

from memory_core.beliefs.imperatives import FINITE, is_imperative, is_manner
from memory_core.beliefs.lexicon import ONESELF
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.words import listed, words

_ALWAYS = lazy_pattern(
    r"\b(?:always|never|ever|every time|each time|from now on|by default|in (?:the )?future"
    r"|(?:every|each|all|any) (?:\w+ )?(?:answers?|repl(?:y|ies)|responses?|commits?|messages?"
    r"|comments?|changes?|deletions?|functions?|files?)"
    r"|immer(?! (?:noch|schon|wieder|mehr)\b)|nie|niemals|stets|künftig|zukünftig|in zukunft"
    r"|grundsätzlich|generell|ab (?:jetzt|sofort)|jedes mal|standardmäßig"
    r"|(?:jede|alle)[rsn]? (?:\w+ )?(?:antwort|commit|kommentar|änderung|nachricht)\w*)\b",
    re.IGNORECASE,
)
_OF_ASSISTANTS = lazy_pattern(
    r"\b(?:answer(?:s|ed|ing)?|repl(?:y|ies)|respon(?:d|ses?)|explanations?"
    r"|summar(?:y|ies)|translations?|code|comments?|commits?|commit messages?|diffs?|emojis?"
    r"|bullets?|bullet points?|lists?|tables?|headings?|markdown|sentences|paragraphs|prose|jargon"
    r"|sources|citations|examples?|units|metric|spelling|tone|format|dates|variables?|type hints"
    r"|(?:in|auf) (?:english|german|french|spanish|italian|deutsch|englisch|französisch|spanisch)"
    r"|geduzt|gesiezt|antwort\w*|erklär\w*|zusammenfassung\w*|übersetz\w*"
    r"|[\w-]*kommentare?|committen|pushen|mergen|löschen|code|aufzählung\w*|stichpunkt\w*|listen"
    r"|tabellen?|überschriften|sätze[n]?|einleitungen|floskeln|quellen?|quellenangaben?"
    r"|beispiele?n?|einheiten|rückfragen?|lösung(?:en)?|variablen\w*)\b",
    re.IGNORECASE,
)
_YOU = lazy_pattern(r"\b(?:you|yours?|du|dich|dir|dein\w*)\b", re.IGNORECASE)
_WANTED = lazy_pattern(
    r"(?:(?:please|bitte|and|und|hey|ok|from now on|in (?:the )?future|in zukunft"
    r"|ab (?:jetzt|sofort)|künftig|grundsätzlich),? )*"
    r"(?:(?:i|we)(?: always| never| (?:don['’]?t|do not) ever"
    r"| really)* (?:want|need you|like(?! that\b)|prefer)\b"
    r"|(?:i|we)['’]d (?:\w+ )?(?:like|prefer|want)\b"
    r"|(?:i|we) would (?:\w+ )?(?:like|prefer|want)\b|(?:ich|wir) (?:will|wollen|möchten?|mag"
    r"|bevorzugen?|hätten? gern\w*|wünschen? (?:mir|uns))\b"
    r"|(?:will|wollen|möchten?) (?:ich|wir)\b"
    r"|(?:du (?:sollst|solltest|musst|darfst|kannst|brauchst)|you (?:should|must|may|can))\b)",
    re.IGNORECASE,
)
_SOMEBODY = lazy_pattern(
    r"\b(?:i|we|he|she|they|it|my|our|his|her|their|you|ich|du|wir|er|sie|es|man|mein\w*|unser\w*|seine?"
    r"|ihre?|^(?:the|der|die|das)|is|are|was|were|am|has|have|had|do|does|did|can|could|will|would|ist"
    r"|sind|war|waren|bin|bist|hat|haben|hatte|wird|werden|kommt|kamen|kam)\b|\w['’](?:s|re|ve|m)\b",
    re.IGNORECASE,
)
"""Who does it, or a verb that says that it is so: then a sentence without a wanting tells of it."""
_INFINITIVE = lazy_pattern(
    r"(?:bitte )?(?:immer|nie|niemals|stets|künftig|grundsätzlich|in zukunft|ab (?:jetzt|sofort))\b"
    r"(?i:(?! (?:noch|schon|wieder|mehr)\b)).* [a-zäöüß]+(?:en|ern|eln)[.!]*",
)
"""A German sentence without a subject that ends with its verb asks for something."""
_DOES = lazy_pattern(
    r"\W*(?!bitte\b|please\b)\w+ (?:always|never|immer|nie|niemals) \w", re.IGNORECASE
)
_BY_RULE = lazy_pattern(
    r"(?:every|each|all|any|jede[rsn]?|alle)\b.{1,60}?\b(?:should|must|has to|have to|need(?:s)? to"
    r"|soll(?:en|te|ten)?|muss|müssen)\b",
    re.IGNORECASE,
)


_OUTPUT = (
    r"(?:answers?|repl(?:y|ies)|responses?|messages?|summaries|explanations?|translations?|drafts?"
    r"|texts?|wording|tone|code|antwort(?:en)?|nachricht(?:en)?|texte?n?|erklärung(?:en)?"
    r"|zusammenfassung(?:en)?|übersetzung(?:en)?|sätze|stil|ton)"
)
_OCCASION = lazy_pattern(
    r"\b(?:when(?:ever)?|if|(?:every|each) time|wenn|falls|sobald|immer wenn|jedes mal,? wenn)"
    r" (?:(?:you|du)\b(?! (?:need|want|like|can|get|know|have|try"
    r"|go|see|find|feel|brauchst|willst|magst|kannst|hast|weißt|siehst|findest)\b)"
    r"|(?:i|ich) (?:\w+ ){0,4}?(?:ask|paste|send|show|share|give|say|tell|post|upload|mention"
    r"|write|draft|frage?|schicke?|zeige?|teile?|gebe?|sage?|schreibe?|poste?|erwähne?)\b)"
    r"|\b(?:everything|anything|whatever|all|alles|was) (?:that )?(?:you|du) "
    rf"|\b(?:your|deine[nr]?|deinem?) (?:\w+ )?{_OUTPUT}\b"
    r"|^(?:for|für|bei|in|when it comes to) (?:all |any |my |meinen? )?\w+(?:s|en)\b"
    r"|\bbefore (?:you|\w{2,20}ing)\b|\b(?:bevor|ehe) (?:du|ihr)\b"
    r"|\b(?:in general|as a rule|when it comes to|each time|unasked|unprompted|ungefragt|for good"
    r"|unless i (?:ask|say|tell)|im allgemeinen|außer ich (?:frage?|sage?|bitte))\b",
    re.IGNORECASE,
)
"""An occasion that comes again in the talk with an assistant, and what names all of them."""
_MANNER = lazy_pattern(
    r"(?:(?:speak|talk) (?:to|with) me (?:like|as|in|without)|call me"
    r"|treat me like|(?:duz|siez|nenn)e? mich|(?:sprich|rede?) mit mir (?:wie|auf|in|ohne))\b",
    re.IGNORECASE,
)
_HABIT = lazy_pattern(
    r"\b(?:i['’]d rather you|i would rather you|it (?:would )?helps? (?:me )?(?:\w+ )?(?:if|when)"
    r" you|(?:i|we) (?:\w+ )?(?:like|love|hate|prefer|appreciate|mind|can['’]?t stand) (?:it )?"
    r"(?:when|if) you|what (?:i|we) (?:like|want|prefer|need) to (?:read|see|hear|get)"
    r"|(?:mag|hasse|liebe|schätze|lieber ist|hilft|stört|nervt)(?: \w+){0,3}, wenn du"
    r"|mir (?:ist|wäre)(?: \w+){0,3} lieber, (?:wenn|dass) du"
    r"|you keep(?: on)? \w+ing|stop (?:\w+ ){0,3}?\w+ing\b"
    r"|leave (?:\w+ ){1,4}alone$|hands off \w)",
    re.IGNORECASE,
)
"""What is wanted of an assistant, or complained of, as a habit."""
_COMPLAINT = lazy_pattern(
    rf"\b(?:your|deine[nr]?|deinem?) (?:\w+ )?{_OUTPUT} (?:\w+ ){{0,4}}?(?:too|so|never|always|way"
    r"|zu|so|nie|immer|dauernd)\b",
    re.IGNORECASE,
)
_CHATTED = lazy_pattern(
    r"(?:could|can|would|will) you\b|(?:kannst|könntest|würdest) du\b", re.IGNORECASE
)
_BARE = lazy_pattern(
    r"(?:please |bitte |and |und )?(?:no(?: more)?|without|keine?n?|ohne|less|fewer|more|mehr"
    r"|weniger) ",
    re.IGNORECASE,
)
_ONCE = lazy_pattern(
    r"\b(?:never mind|this|these|that one|here|again|tonight|today|tomorrow|(?<!from )now"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|dies\w*|diesmal|hier|nochmal|heute"
    r"|(?<!ab )jetzt|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)\b",
    re.IGNORECASE,
)
"""Of what is asked for once, or on a day."""
_TAG = lazy_pattern(
    r",? (?:ja|ok(?:ay)?|please|bitte|right|gell|thanks|danke|thx)\s?[?!.]*$", re.IGNORECASE
)
_PAUSE = lazy_pattern(r"[,;:]\s+|\s[-–—]+\s+|\b(?:so|and|und|also) ")
_LEADS = frozenset(
    listed(
        """please pls bitte and und so also hey ok okay then dann always never only just generally
        immer nie nur generell"""
    )
)


def is_wish(sentence: str) -> bool:
    """True when *sentence* says how an assistant is to answer or to work from now on."""
    return _is_for_all_time(sentence) or _is_asked_of_an_assistant(sentence)


WEIGHTS = {
    "standing": 2.7,
    "you": 2.4,
    "output": 1.3,
    "occasion": 1.4,
    "always": 0.5,
    "asks": 1.1,
    "self": 1.7,
    "once": -1.2,
    "figures": -1.2,
    "definite": -0.7,
}
"""What each sign of `signs` adds to the log-odds that a text is a standing wish.

Near those that `tests/bench/wishing.py` fits."""
BIAS = -3.0
NOTE = 0.7
"""What it adds that a text is no turn of a talk, in which most is asked for once."""


@lru_cache(maxsize=4_096)
def likelihood(text: str, *, note: bool = False) -> float:
    """How likely *text*, which a user said to an assistant, holds a standing wish, 0-1.

    A *note* was given to be remembered: it asks for nothing at once, and one that tells what the
    user prefers, or begins as a rule does, is SURE.

    Most wishes have no word for all time ("skip the intro, I read these on my phone"): no rule
    tells them, but many have several signs. Linear in its length; never raises.
    """
    plain = text[:MOST_CHARS]
    if note and _NOTED.match(plain) is not None:
        return SURE
    weighed = BIAS + NOTE * note + sum(WEIGHTS[name] * sign for name, sign in _cheap(plain).items())
    if weighed + WEIGHTS["standing"] > 0 and _is_standing(plain):  # else no rule makes it likely
        weighed += WEIGHTS["standing"]
    return 1 / (1 + exp(-weighed))


def signs(text: str) -> Mapping[str, bool]:
    """What speaks for or against a standing wish, by the names of WEIGHTS.

    A sentence that `is_wish`; a word to the listener; something that an assistant writes; an
    occasion that comes again; a word for all time; that it begins by asking for something; that the
    speaker comes in; a word for this time; figures; and a definite article.
    """
    plain = text[:MOST_CHARS]
    return {"standing": _is_standing(plain), **_cheap(plain)}


def _is_standing(plain: str) -> bool:
    return any(map(is_wish, sentences(plain)))


def _cheap(plain: str) -> Mapping[str, bool]:
    """All signs but that a sentence is a wish by a rule, which takes as long as they together."""
    said = frozenset(words(plain))
    first = _without_lead(_PAUSE.split(plain, maxsplit=1)[0])
    asks = bool(first) and (first[0] in _ASKING or is_imperative(first) or is_manner(first))
    return {
        "you": not said.isdisjoint(_LISTENER),
        "output": _OF_ASSISTANTS.search(plain) is not None,
        "occasion": _OCCASION.search(plain) is not None,
        "always": _ALWAYS.search(plain) is not None,
        "asks": asks,
        "self": not said.isdisjoint(ONESELF),
        "once": _ONCE.search(plain) is not None,
        "figures": any(map(str.isdigit, plain)),
        "definite": not said.isdisjoint(_ARTICLES),
    }


_NOTED = lazy_pattern(
    r"\W{0,3}(?:(?:the |der |die )?(?:user|(?:be)?nutzer(?:in)?)"
    r" (?:(?:strongly|really|generally|always|usually|explicitly|also|immer|grundsätzlich) )?"
    r"(?:prefers|dislikes|favou?rs|expects|insists"
    r"|wants (?:me|us|you|agents?|the (?:assistant|agent))|wants(?! (?:to|an?|the|new)\b)"
    r"|does(?: not|n['’]t) (?:want|like)(?! (?:to|an?|the)\b)"
    r"|(?:has )?(?:asked|told)(?: \w{1,20}){0,2}"
    r" (?:not to|never to|to (?:always|never|stop|avoid|keep))"
    r"|bevorzugt|möchte (?:keine?n?|immer|nur)|will (?:keine?n?|immer|nur)|mag keine?n?)\b"
    r"|(?:(?:house )?rules?|regeln?)(?: (?:for|für) [^:\n]{1,40})?: "
    r"|(?:\w{1,20} )?(?:preferences?|conventions?|guidelines?|code style"
    r"|präferenz(?:en)?|konvention(?:en)?|vorgaben?): "
    r"|(?:commit messages?|commits|prs|pull requests|branch(?:es| names)|comments|docstrings"
    r"|answers|replies|responses|antworten|kommentare): )",
    re.IGNORECASE,
)
"""How an assistant notes what its user prefers: in the third person, or under a head."""
SURE = 0.9
LIKELY = 0.5
"""The likelihood from which a text is told as a standing wish."""
MOST_CHARS = 600
"""Of a text that is looked at."""
_LISTENER = frozenset(
    listed("you your yours you're you'd you've u du dir dich dein deine deinen deiner deinem")
)
_ARTICLES = frozenset(listed("the der die das den dem"))


def is_errand(text: str) -> bool:
    """True when *text* asks to be reminded of something to do."""
    return _ERRAND.search(text) is not None


def is_to_remember(text: str) -> bool:
    """True when *text* asks to keep something in mind: a fact, and no wish by these words."""
    return _TO_REMEMBER.search(text) is not None


_TO_REMEMBER = lazy_pattern(
    r"\b(?:remember|note that|note to self|keep in mind|bear in mind|make sure|for the record"
    r"|for future reference|(?:don['’]?t|do not) forget|merke? dir|denke? (?:daran|dran)"
    r"|vergiss)\b",
    re.IGNORECASE,
)
_ERRAND = lazy_pattern(
    r"\b(?:(?:remember|remind \w+) to\b(?! (?:always|never)\b)"
    r"|(?:do not|don['’]?t)(?: let me)? forget\b(?! that\b)"
    r"|remind me\b(?! that\b)|(?:vergiss|vergesst|vergessen)\b(?!,? dass\b)"
    r"|(?:denke?|erinner\w*) (?:bitte )?(?:daran|dran|mich)\b(?! nie))",
    re.IGNORECASE,
)


def is_likely_standing(text: str) -> bool:
    """True for what is asked of an assistant, in a word to it or on an occasion that comes again,
    where that is likely a standing wish."""
    plain = text[:MOST_CHARS].strip()
    if plain.endswith("?") or _CHATTED.match(plain) or _ONCE.search(plain):
        return False
    found = _cheap(plain)
    return (found["you"] or found["occasion"]) and likelihood(text) >= LIKELY


def _is_asked_of_an_assistant(sentence: str) -> bool:
    """True for what is asked of an assistant on an occasion that comes again, or for its manner."""
    plain = _TAG.sub("", sentence.strip())
    if plain.endswith("?") or _ONCE.search(plain) or is_errand(plain):
        return False
    if _HABIT.search(plain) or _COMPLAINT.search(plain):
        return True
    clauses = [" ".join(found) for part in _clauses(plain) if (found := _without_lead(part))]
    if any(_MANNER.match(clause) for clause in clauses):
        return True
    about = _OF_ASSISTANTS.search(plain) is not None
    if about and _BARE.match(plain) and not _SOMEBODY.search(plain):
        return True
    occasion = _OCCASION.search(plain) is not None
    if not occasion and not _ALWAYS.search(plain):
        return False
    if _CHATTED.match(plain):
        return True
    return any(_asks(clause, occasion=occasion) for clause in clauses)


def _clauses(plain: str) -> list[str]:
    """The clauses of *plain*, without the occasion that one begins with."""
    rest = _OCCASION.match(plain)
    parts = _PAUSE.split(plain)
    return [*parts, plain[rest.end() :]] if rest else parts


def _without_lead(clause: str) -> list[str]:
    """The words of *clause* without those that only lead to what it says."""
    clause = _FROM_NOW_ON.sub("", clause.strip())
    found = words(clause)
    while found and found[0] in _LEADS:
        found.pop(0)
    return found


_FROM_NOW_ON = lazy_pattern(
    r"^(?:from now on|in (?:the )?future|in zukunft|ab (?:jetzt|sofort)),? ", re.IGNORECASE
)
_ASKING = frozenset(
    listed("keep avoid don't dont say stay prefer assume skip quote halte sei bleib")
)


def _asks(clause: str, *, occasion: bool) -> bool:
    """True for a clause that asks for something; of one without an *occasion* an imperative."""
    found = words(clause)
    if found[0] == "let":
        return False
    if found[0] in _ASKING and found[1:] and found[1] not in FINITE:
        return True
    if occasion and (_WANTED.match(clause) or is_manner(found)):
        return True
    infinitive = found[-1].endswith(("en", "ern", "eln")) and not _SOMEBODY.search(f", {clause}")
    return is_imperative(found) or (infinitive and (occasion or bool(_ALWAYS.search(clause))))


def _is_for_all_time(sentence: str) -> bool:
    """True for what is to be done always or never, by nobody but an assistant."""
    plain = sentence.strip()
    if plain.endswith("?") or not _ALWAYS.search(plain):
        return False
    about = _OF_ASSISTANTS.search(plain) is not None
    if _WANTED.match(plain):
        return about or _YOU.search(plain) is not None
    if _INFINITIVE.fullmatch(plain[:1].lower() + plain[1:]) and not _SOMEBODY.search(plain):
        return True
    if not about:
        return False
    return _BY_RULE.match(plain) is not None or (
        not _SOMEBODY.search(plain) and not _tells_of_somebody(plain)
    )


def _tells_of_somebody(plain: str) -> bool:
    """True for "Tom always writes", where a name does it; not for "answers always in English"."""
    found = _DOES.match(plain)
    return found is not None and not _OF_ASSISTANTS.match(plain)
