"""Passwords of several words, in quotation marks or not, beside their name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.remarks import (
    KINDLY,
    NAME_OF_PASSWORD,
    PREDICATES,
    REMARKS,
    TOPIC,
    WORDS_OF_NAMES,
    is_phrase,
    is_told_phrase,
    led,
)
from memory_core.text.secrets.spans import Rule, Span, is_placeholder, is_reference
from memory_core.text.words import listed

_QUOTED = led(
    rf"(?:[\"'`]\]?)?{TOPIC}"
    r"(?:\s{0,3}(?::?=(?![=>])|:(?!:)|=>)\s{0,3}|\s{1,3}(?:is|ist|lautet|heißt)\s{1,3})"
    r"(?P<open>[\"'`])(?P<value>(?![),\s])(?=[^\"'`\n]{0,100}[ ,][^\s\"'`,])"
    r"[^\s\"'`\n]{1,60}(?: [^\s\"'`\n]{1,60}){0,20})(?P=open)",
)
"""A phrase in quotation marks."""
_QUOTED_LATER = led(
    r"(?![a-z])[^\n.:;\"'`“„]{0,40}?(?:(?<!is)\sto|\s(?:is|ist|sind|auf"
    r"|lautet|einfach|simply|just))\s"
    r"(?P<open>[\"'`“„])(?P<value>[^\s\"'`“”„\n]{2,40}(?: [^\s\"'`“”„\n]{1,40}){1,12})[\"'`“”]",
)
"""A phrase in quotation marks that a sentence about a password ends with."""
_PHRASE_TO_USE = Rule(
    WORDS_OF_NAMES,
    r"(?i)\b(?:use[ds]?|take|enter|type|set|pick(?:ed)?|choose|chose[n]?|nimm|nehmt|nehme|nahm"
    r"|wähle|verwendet?|benutzt?e?|nutzt?e?)"
    rf"{KINDLY}\s"
    r"(?P<open>[\"'`“„])(?P<value>[^\s\"'`“”„\n]{1,40}(?: [^\s\"'`“”„\n]{1,40}){1,12})[\"'`“”]"
    rf"\s(?:as|for|als)\s(?:[\w-]{{1,20}}\s){{0,2}}{NAME_OF_PASSWORD}",
)
_WORDS_TO_USE = Rule(
    WORDS_OF_NAMES,
    r"(?i)\b(?:use[ds]?|take|enter|type|set|pick(?:ed)?|choose|chosen?|nimm|nehmt|nehme"
    r"|verwendet?|benutzt?e?|nutzt?e?)"
    rf"{KINDLY}\s(?P<value>(?:[^\W\d_]{{2,15}} ){{1,6}}?[^\W\d_]{{2,15}})\s(?:as|for"
    rf"|als)\s(?:the\s|your\s|my\s|our\s|das\s|dein\s)?"
    rf"(?:[\w-]{{1,20}}\s)?{NAME_OF_PASSWORD}(?![\w-])",
)
_AS_WORDS = Rule(
    "phrase|frase|wachtzin",
    r"(?i)\b(?:mis|mets|pris|choisi|utilise|puesto|uso|usé|elegido|messo|scelto|usato|gebruik|koos"
    r"|nam)\s[\"'«„“]?\s?(?P<value>(?:[^\W\d_][\w'’-]{0,15} ){2,8}?[^\W\d_][\w'’-]{0,15})"
    r"\s?[\"'»“”]?\s(?:comme|como|come|als)\s(?:(?:ma|mi|la|mijn)\s)?"
    r"(?:phrase de passe|frase de contraseña|frase segreta|wachtzin|passphrase)",
)
"""The same in other languages: "j'ai mis ... comme phrase de passe"."""
_PHRASE = Rule(
    "phrase",
    r"(?i)(?:passphrase|pass phrase)[^\n:=]{0,40}?(?:(?:\bis|\bist|\blautet)\s{1,3}|[:=]\s{0,3})"
    r"(?P<value>[a-zäöüß]{2,15}(?:,?[ -][a-zäöüß]{2,15}){2,11}?(?: [0-9]{1,6})?)"
    r"(?=[.!]?\s*(?:\n|$)|[.!]\s|\s[(–—-]|,?\s(?:in case|so that|because|if|but|and it|falls"
    r"|weil|aber)\b)",
)
_WORD = r"[\w][\w'’&.-]{0,20}"
_WORDS_SET = led(
    rf"(?:[\"'`]\]?)?{TOPIC}[ \t]{{0,3}}(?::?=(?![=>])|[:：](?!:)|=>|->|→)"
    rf"[ \t]{{0,3}}(?P<value>{_WORD}(?:,? {_WORD}){{1,6}}?)"
    r"(?=[.!]?[ \t]{0,9}(?:(?:#|//)[^\n]{0,200})?(?:\n|$)|[.!] [A-ZÄÖÜ]| [–—-] | \()",
)
_WORDS_SAID = led(
    rf"{TOPIC}\s(?:is|being|remains|was|ist|war|lautet|heißt|er|är|jest|est"
    rf"|es|è|é)\s"
    rf"(?P<value>{_WORD}(?: {_WORD}){{1,6}}?)(?=[.!]?[ \t]{{0,9}}(?:\n|$)|[.!;,]\s|\s\()",
)
"""Words without quotation marks, at the end of a line or clause."""
_WITH_WORDS = Rule(
    "pass|kennwort",
    r"(?i)\b(?:with|using|mit)\s(?:the\s|der\s|dem\s)?(?:pass ?phrase|password|passwort|kennwort)\s"
    rf"(?P<value>{_WORD}(?: {_WORD}){{1,6}}?)(?=[.!]?[ \t]{{0,9}}(?:\n|$)|[.!;,]\s)",
)
_QUOTED_BEFORE = Rule(
    WORDS_OF_NAMES,
    r"(?i)[\"„“«](?P<value>[^\s\"“”„»\n]{2,40}(?: [^\s\"“”„»\n]{1,40}){0,12})[\"“”»]\s?"
    rf"\((?:[\w-]{{1,12}} )?{NAME_OF_PASSWORD}(?=[,;)])",
)
"""What a bracket says is the password."""
_QUOTED_PHRASE = Rule(
    "phrase",
    r"(?i)pass ?phrases?[^\n\"'`“„]{0,30}(?<!\bas )(?P<open>[\"'`“„])"
    r"(?P<value>[^\s\"`“”„\n]{1,40}(?: [^\s\"`“”„\n]{1,40}){2,14}?)[\"'`“”](?!\w)",
)
_SENTENCE = led(
    rf"{TOPIC}\s(?:is|ist|lautet)\s(?:der Satz|die Wörter|the (?:sentence"
    rf"|phrase|words|line))[ ]?:?\s"
    rf"[\"'„“]?(?P<value>{_WORD}(?: {_WORD}){{2,11}}?)(?=[\"'”“]?(?:[,.;!]|[ \t]{{0,9}}(?:\n|$)))",
)
_LONG_PHRASE = Rule(
    "phrase|schlüssel",
    r"(?i)(?:(?:pass ?phrase)[^\n:,.]{0,80}[:,]\s|(?:als|as)\s(?:the\s|a\s)?pass ?phrase\s"
    r"|(?:pass ?phrase|schlüssel für die verschlüsselung)[^\n:,.]{0,40}?\s(?:is|ist|lautet)\s)"
    rf"(?P<value>{_WORD}(?: {_WORD}){{3,11}})(?=[.!]?[ \t]{{0,9}}(?:\n|$)|[.!;]\s)",
)
"""Four words and more, small ones too, none of which speaks of passphrases or to anybody."""
_SHORT_NAME = lazy_pattern(r"(?:pass|pw)[^a-z=:]*[: ]")
"""Names of other things too: a boarding pass, the width of a plot."""


_OF_REMARKS = frozenset(
    listed(
        """you your we our they must should will can may would could is are was were be been it its
        this that do does did have has had not no if when than sie ihr wir man muss soll sollte kann
        wird werden ist sind war hat haben nicht kein keine wenn dass als es das dies"""
    )
)
"""Words of sentences about a passphrase."""
_MADE_OF = frozenset(listed("words letters digits characters signs wörter zeichen buchstaben"))
"""What a passphrase is said to be made of."""


def found(text: str, low: str) -> Iterator[Span]:
    """The places of passphrases in *text*; *low* is `folded` of it."""
    for rule in (
        _QUOTED,
        _PHRASE_TO_USE,
        _QUOTED_LATER,
        _QUOTED_BEFORE,
        _QUOTED_PHRASE,
        _SENTENCE,
    ):
        for match in rule.found(text, low):
            if not (is_reference(match["value"]) or is_placeholder(match["value"])):
                yield (*match.span("value"), "password")
    for match in _AS_WORDS.found(text, low):
        yield (*match.span("value"), "password")
    for match in _LONG_PHRASE.found(text, low):
        words = re.findall(r"[\w-]+", match["value"].lower())
        remarks = any(word in REMARKS or word in _OF_REMARKS for word in words)
        if not remarks and words[0] not in PREDICATES:
            yield (*match.span("value"), "password")
    for match in _PHRASE.found(text, low):
        words = re.findall(r"[\w-]+", match["value"].lower())
        if is_phrase(words) and not any(word in _MADE_OF for word in words):
            yield (*match.span("value"), "password")
    for rule, loosely in (
        (_WORDS_SET, True),
        (_WORDS_SAID, False),
        (_WITH_WORDS, False),
        (_WORDS_TO_USE, False),
    ):
        for match in rule.found(text, low):
            name = match.group().partition(match["value"])[0].lower()
            if is_reference(match["value"].split()[0]) or _SHORT_NAME.match(name):
                continue
            if is_told_phrase(re.split(",? |-", match["value"]), loosely=loosely):
                yield (*match.span("value"), "password")
