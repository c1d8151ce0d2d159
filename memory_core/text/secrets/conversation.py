"""What one turn of a quoted conversation asks for and a later one gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.remarks import (
    NAME_OF_PASSWORD,
    WORDS_OF_NAMES,
    is_listed,
    is_predicate,
)
from memory_core.text.secrets.spans import Rule, Span, is_odd, is_placeholder, is_reference
from memory_core.text.secrets.told import is_value
from memory_core.text.words import listed

_SPEAKER = lazy_pattern(
    r"(?:^[ \t>*-]{0,8}(?:\[?[0-9:., /-]{4,20}\]?[ \t])?|(?<=[.?!] ))"
    r"(?:<[\w .'’-]{1,24}>|[^\W\d_][\w .'’()-]{0,30}[:>])[ \t]{1,3}",
    re.MULTILINE,
)
_AHEAD = 3
"""Turns after the one that asks among which the answer is looked for."""
_LONGEST = 300
"""Characters of a turn that are looked at."""

_ASKED_FOR = Rule(
    WORDS_OF_NAMES
    + "|key|token|pin|puk|clave|mdp|security word|kombination|combination|number|zahl|schlüssel",
    rf"(?i)(?:{NAME_OF_PASSWORD}|(?P<number>(?<![a-z])(?:pin|puk)(?![a-z])"
    r"|(?:door|gate|garage|alarm|safe|lock(?:er|box)?|backup|2fa|sms|security|access|unlock"
    r"|verification|login|tür|tresor|schloss)[ -]?(?:backup[ -])?(?:code|number|zahl)"
    r"|(?:the|lock|safe) combination|kombination)|(?<![a-z])clave(?![a-z])|(?<![a-z])mdp(?![a-z])"
    r"|security word|(?P<key>(?<![a-z])(?:key|token)(?![a-z])|schlüssel(?![a-z])))"
    r"(?!s?[ -]?(?:manager|polic|reset|rule|regel|field|hash|file|length|länge|requirement))",
)
_ASKS = lazy_pattern(r"(?i)[^.!\n]{0,100}\?|(?:[^.!?\n]{0,40}[ ,])?(?:please|pls|plz|bitte)\b")
"""What stands behind the name in a question or a request."""
_REQUESTS = lazy_pattern(
    r"(?i)(?<![a-z])(?:need|send|give|tell|remind|what(?:['’]?s| is| was)|which|brauch\w{0,2}"
    r"|schick\w{0,2}|gib|sag|nenn\w{0,2}|wie (?:war|lautet|ist|hei(?:ß|ss)t)|was (?:war|ist))\b"
)
_ASKS_ELSE = lazy_pattern(
    r"(?i)(?:^|[.!?,] )(?:and |but |so |und |aber )?(?:did|does|is|are|was|were|should|shall|will"
    r"|would|when|where|why|who|whose|how|do (?!you (?:have|know|remember))|have (?!you)|has|had"
    r"|sind|ist|hat|wann|wo|warum|wieso|wer|wieviele?|soll\w{0,3}"
    r"|wie (?!war|lautet|hei(?:ß|ss)t|ist))\b"
)
"""A question for whether, when, where or how, to which no secret is the answer."""

_AGREES = (
    r"(?:(?:sure|yes|yep|yeah|ja|jo|klar|ok|okay|oui|sí|si|tak|sim|well|right|gern|natürlich"
    r"|moment|lol|here(?: you go| it is)?|hier)[,.:! –-]{1,3}){0,3}"
)
_GIVES = (
    r"(?:[^\n\"“„«]{0,30}?(?:it['’]?s|it (?:is|was)|that['’]?s|that is|the (?:new |old )?one is"
    r"|das (?:ist|wäre)|es (?:ist|war)|sie ist|er ist|lautet|c['’]est|to|jest)\s{1,2}"
    r"(?:now |still |just |jetzt |noch |einfach )?)"
)
_ANSWER = lazy_pattern(
    rf"(?i){_AGREES}(?P<gives>{_GIVES})?(?:[\w.@-]{{2,40}}\s?/\s)?"
    r"(?:[\"'`“„«](?P<quoted>[^\"'`“”„«»\n]{3,64})[\"'`”“»]"
    r"|(?P<bare>[^\s\"'`“”„«»<>]{3,64}(?: [0-9]{2,6}(?=[.!]?\s*$))?))(?P<rest>[^\n]{0,200})"
)
_SAYS_MORE = lazy_pattern(r"[\s.,;:!)]{0,4}$|,\s|\s(?:with|mit|all|alles|and|und|in|\()\b")
"""Nothing behind a value, or how it is written."""
_WORD = lazy_pattern(r"[^\s\"'`“”„«»<>(),;]{6,64}")
_NUMBER = lazy_pattern(r"[*#]?[0-9]{3,10}[*#]?|[0-9]{3,5}[- ][0-9]{3,5}")
_REPLIES = frozenset(
    listed(
        """no nope none nah yes yep done dunno idk later thanks thank danke sorry what which why hm
        hmm sent check nein doch keine ahnung weiß nicht gleich später unten oben siehe ask frag ich
        nobody somebody wait warte moment okay sure great cool nice haha"""
    )
)
"""What is answered instead."""


def found(text: str, low: str) -> Iterator[Span]:
    """The places of the answers in *text*; *low* is `folded` of it. Linear in its length."""
    if not any(word in low for word in _ASKED_FOR.words):
        return
    heads = [match.span() for match in _SPEAKER.finditer(text)]
    turns = [
        (begin, min(after[0], begin + _LONGEST))
        for (_, begin), after in pairwise([*heads, (len(text), 0)])
    ]
    for place, (begin, end) in enumerate(turns):
        asked = _asks_for(text[begin:end])
        for turn in turns[place + 1 : place + 1 + _AHEAD] if asked else ():
            if (given := _given(text, *turn, asked)) is not None:
                yield given
                break


def _asks_for(turn: str) -> str:
    """What *turn* asks for: "pin" (a number), "code" (a number or a word), "password", "secret".

    "" when it asks for none.
    """
    for name in _ASKED_FOR.pattern.finditer(turn):
        before = turn[: name.start()]
        wanted = _ASKS.match(turn, name.end()) or _REQUESTS.search(before)
        if wanted and not _ASKS_ELSE.search(before):
            if name["number"]:
                return "pin"
            code = "code" in name.group().lower()
            return "secret" if name["key"] else "code" if code else "password"
    return ""


def _given(text: str, begin: int, end: int, asked: str) -> Span | None:
    """Where the turn from *begin* to *end* gives what was *asked* for; None if it does not."""
    kind = "password" if asked == "code" else asked
    match = _ANSWER.match(text, begin, end)
    if match is not None:
        group = "quoted" if match["quoted"] else "bare"
        value = match[group] if match["quoted"] else match[group].rstrip(".,;:!)")
        more = match[group][len(value) :] + match["rest"]
        number = _NUMBER.fullmatch(value) is not None
        if _SAYS_MORE.match(more) and (number or _is_told(value, kind)):
            kind = "pin" if number and asked == "code" else kind
            return match.start(group), match.start(group) + len(value), kind
    for word in _WORD.finditer(text, begin, end) if kind != "pin" else ():
        value = word.group().rstrip(".:!?")
        if is_value(value, ""):
            return word.start(), word.start() + len(value), kind
    return None


def _is_told(value: str, kind: str) -> bool:
    """True for what may be a secret of this *kind* where nothing else is answered."""
    if is_placeholder(value) or is_reference(value, code=False) or value.endswith("?"):
        return False
    least = len(value) >= 4 and kind != "pin" and (kind != "secret" or is_odd(value))
    return least and not _is_reply(value)


def _is_reply(value: str) -> bool:
    return is_listed(value) or is_predicate(value) or value.casefold() in _REPLIES
