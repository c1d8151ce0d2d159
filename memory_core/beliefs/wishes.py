"""A standing wish: how an assistant is always, or never, to answer and to work.

Three things make one: a word for all time ("always", "künftig"), something that an assistant does
or writes, and nobody else who does it. "I always want short answers" is one; "my boss always wants
short answers", "I always answer in English" and "I always want coffee" are none. English, German.
"""

from __future__ import annotations

import re

from memory_core.text.lazy_pattern import lazy_pattern

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


def is_wish(sentence: str) -> bool:
    """True when *sentence* says how an assistant is to answer or to work from now on."""
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
