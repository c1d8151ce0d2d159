"""Names that show by how they are written: capitals, acronyms, identifiers, handles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.lexicon import (
    CONNECTORS,
    NOT_NAMES,
    PERSON_VERBS,
    PLACES,
    STREET_ENDINGS,
    TITLES,
    VERSIONED,
)
from memory_core.text.words import is_german, listed

_CAMEL = lazy_pattern(r"[a-z][A-Z]|[A-Z][a-z0-9]+[A-Z]|[A-Z]{2}[a-z]{2}")
_SURNAME = lazy_pattern(r"(?:Mc|Mac|De|Di|La|Le|O)[A-Z][a-z]+")
_IDENTIFIER = lazy_pattern(
    r"[A-Za-z](?=\w*_\w)\w*|[A-Za-z]\w*(?:\.[A-Za-z_]\w*)*\.(?:py|js|ts|go|rs|md|toml|json|yaml"
    r"|yml|txt|sh|sql|csv)"
)
_ACRONYM = lazy_pattern(r"(?=[A-Z0-9&+/.-]*[A-Z])[A-Z][A-Z0-9&+./-]{1,9}s?")
_NO_NAME_ENDINGS = (
    "ing",
    "ly",
    "ed",
    "tion",
    "tions",
    "ness",
    "ment",
    "ments",
    "ful",
    "ous",
    "able",
    "ive",
)


def written_names(tokens: list[Token]) -> Iterator[tuple[int, str]]:
    """Names that the writing itself shows (capitals, digits inside, handles), with their places."""
    words = [token.text for token in tokens if token.kind == "word"]
    shouting = _is_shouting(words)
    german = is_german([word.lower() for word in words])
    inside = {
        bare_form(token.text)
        for token in tokens
        if token.kind == "word" and not token.first and token.text[0].isupper()
    }
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "handle":
            yield token.start, token.text.rstrip(".-")
            place += 1
        elif token.kind == "word" and _is_coined(token.text, shouting):
            yield from _coined(tokens, place)
            place += 1
        elif (
            token.kind == "word"
            and not shouting
            and _opens_name(token, tokens[place + 1 : place + 3])
        ):
            end = _end_of_name(tokens, place)
            yield from _sequence(tokens[place:end], tokens[end : end + 1], inside, german)
            place = end
        else:
            place += 1


def _is_shouting(words: list[str]) -> bool:
    long = [word for word in words if len(word) > 1 and word[0].isalpha()]
    return len(long) >= 3 and sum(word.isupper() for word in long) * 2 > len(long)


def _is_coined(word: str, shouting: bool) -> bool:
    bare = without_possessive(word)
    if bare.isalpha() and (bare.islower() or bare[1:].islower()):
        return False
    if _IDENTIFIER.fullmatch(bare):
        return True
    if any(mark in bare for mark in "'’"):
        return False
    if _CAMEL.search(bare) and not _SURNAME.fullmatch(bare):
        return True
    return not shouting and _ACRONYM.fullmatch(bare) is not None and bare.lower() not in NOT_NAMES


def _coined(tokens: list[Token], place: int) -> Iterator[tuple[int, str]]:
    token = tokens[place]
    name = without_possessive(token.text)
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if following is not None and following.kind == "version":
        yield token.start, f"{name} {following.text}"
    yield token.start, name


def _opens_name(token: Token, ahead: list[Token]) -> bool:
    word = token.text
    bare = bare_form(word)
    if len(word) == 1 and word.isupper() and len(ahead) == 2:
        return ahead[0].text == "." and _continues(ahead[1])  # an initial
    if word[0].isupper() and (
        bare in _FIRST_PARTS or (bare in _NAME_PARTS and bare in NOT_NAMES and not token.first)
    ):
        return bool(ahead) and _continues(ahead[0]) and bare_form(ahead[0].text) not in NOT_NAMES
    if bare in TITLES and not token.first:
        return word[0].isupper()
    return (
        word[0].isupper()
        and len(bare) > 1
        and not (word.isupper() and len(word) > 3 and token.first)
        and (bare not in NOT_NAMES or bare in TITLES)
        and not bare.startswith(("i'", "i’"))
    )


def _end_of_name(tokens: list[Token], place: int) -> int:
    """The place after the name that opens at *place*; connectors only between capitalised words."""
    end = place + 1
    if tokens[place].text.endswith(("'s", "’s")):
        return _end_of_place(tokens, end)
    while end < len(tokens) and end - place < 8:
        token = tokens[end]
        if token.kind == "stop" and token.text == "." and _is_shortened(tokens[end - 1].text):
            end += 1
            continue
        if token.kind == "word" and _continues(token):
            end += 1
            if token.text.endswith(("'s", "’s")):
                break
            continue
        ahead = tokens[end + 1 : end + 3]
        joins = token.kind == "word" and token.text in CONNECTORS
        if joins and ahead and ahead[0].kind == "word" and _continues(ahead[0]):
            end += 2
        elif joins and len(ahead) == 2 and ahead[0].text in CONNECTORS and _continues(ahead[1]):
            end += 3
        else:
            break
    return end


def _end_of_place(tokens: list[Token], end: int) -> int:
    """The place after "King's Cross Station", where *end* is that after "King's"; else *end*."""
    last = end
    while last < len(tokens) and last - end < 3 and _continues(tokens[last]):
        last += 1
    closes = last > end and bare_form(tokens[last - 1].text) in _PLACE_PARTS
    return last if closes else end


def _is_shortened(word: str) -> bool:
    return word.lower() in TITLES or (len(word) == 1 and word.isupper())


def _continues(token: Token) -> bool:
    bare = bare_form(token.text)
    return (
        token.kind == "word"
        and token.text[0].isupper()
        and (bare not in NOT_NAMES or bare in _NAME_PARTS)
        and not token.first
    )


_FIRST_PARTS = frozenset(
    listed(
        """new old great north south east west central golden silver royal national
        international saint"""
    )
)
"""Ordinary words that begin a name when a name follows ("New York")."""

_PLACE_PARTS = frozenset(
    listed(
        """street road avenue lane park bridge market river lake mountain mountains bay hall
        museum library university hospital station church beach island square gardens
        way drive court close row walk place terrace crescent boulevard parkway hill grove
        gate mill mews yard quay pier port harbour harbor heights field fields valley wood woods
        forest farm castle tower plaza mall centre center terminal airport dock docks alley
        cross ring wharf straße strasse gasse platz allee ufer damm weg markt hof brücke tor berg
        bahnhof"""
    )
)
"""Ordinary words that end the name of a street or a place ("Industrial Way")."""

_NAME_PARTS = _PLACE_PARTS | frozenset(
    listed(
        """school college office city house store shop club north south east west new old great
        big high central green black white red blue data cloud studio code project team
        community health music art book games care service support research security story world
        life day night time one two
        garden view hotel inn cottage"""
    )
)
"""Ordinary words that often end a name ("Central Park", "Data Cloud")."""


def _sequence(
    name: list[Token], following: list[Token], inside: set[str], german: bool
) -> Iterator[tuple[int, str]]:
    while name and name[-1].kind == "stop":
        name = name[:-1]
    if len(name) > 1 and name[0].first and bare_form(name[0].text).endswith(_NO_NAME_ENDINGS):
        name = name[1:]  # "Visiting Lisbon"
    if not name:
        return
    after = following[0] if following else None
    if len(name) == 1 and not _is_supported(name[0], after, inside, german):
        return
    if len(name) == 1 and bare_form(name[0].text) in TITLES:
        return
    written = " ".join(token.text for token in name).replace(" .", ".")
    last = bare_form(name[-1].text)
    if after is not None and after.kind == "version" and _is_version(after.text, last):
        yield name[0].start, f"{without_possessive(written)} {after.text}"
    yield name[0].start, written


def _is_version(number: str, product: str) -> bool:
    return "." in number or number.startswith("v") or product in VERSIONED


def _is_supported(token: Token, after: Token | None, inside: set[str], german: bool) -> bool:
    """Whether a single capitalised word is a name, no sentence's first word and no German noun."""
    bare = bare_form(token.text)
    if bare in PLACES or (bare.endswith(STREET_ENDINGS) and len(bare) > 6) or bare in VERSIONED:
        return True
    if not token.first:
        return not german
    if bare in inside and not german:
        return True
    if bare.endswith(_NO_NAME_ENDINGS):
        return False
    if token.text != without_possessive(token.text) and not token.text.endswith(("'", "’")):
        return True
    if after is None or after.kind == "version":
        return after is not None and _is_version(after.text, bare)
    verb = after.text.replace("’", "'")
    past = len(verb) > 4 and verb.islower() and verb.endswith("ed")
    return after.kind == "word" and (past or verb in PERSON_VERBS)


# a run of stops is tried once, from its beginning: from each of its characters is quadratic
_TOKEN = lazy_pattern(
    r"(?P<handle>(?<![\w@])@[A-Za-z0-9_][A-Za-z0-9_.-]{1,38})"
    r"|(?P<version>(?<![\w.])v?[0-9]{1,4}(?:\.[0-9]{1,5}){0,3}(?![\w]|\.[0-9]))"
    r"|(?P<word>[^\W_](?:[^\W_]|[_'’&+/.-](?=[^\W_])|\+(?!\w)){0,79})"
    r"|(?P<stop>(?<![.!?…:。！？])[.!?…:。！？]++(?=[\s\"'”’)\]]|$)|\n|[-*•]\s)"
    r"|(?P<gap>[,;()\[\]{}\"“”„«»|/—–\\<>=])"
)


class Token(NamedTuple):
    """A piece of the text; *kind* is word, version, handle, stop or gap."""

    text: str
    kind: str
    start: int
    first: bool  # opens a sentence


def name_tokens(text: str) -> Iterator[Token]:
    """The tokens of *text* that matter to names in order, each with whether it opens a sentence."""
    first = True
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "gap"
        yield Token(match.group(), kind, match.start(), first)
        if kind == "stop":
            title = match.group() == "." and _is_title(text, match.start())
            first = not title
        elif kind != "gap" or match.group() in '"“„«':
            first = first and kind == "gap"


def _is_title(text: str, dot: int) -> bool:
    before = re.search(r"[^\W\d_]{1,9}$", text[max(0, dot - 10) : dot])
    return before is not None and (before.group().lower() in TITLES or len(before.group()) == 1)


def bare_form(word: str) -> str:
    """*word* casefolded without its possessive ending."""
    return without_possessive(word).casefold()


def without_possessive(word: str) -> str:
    """*word* without 's or a closing apostrophe."""
    for ending in ("'s", "’s", "'", "’"):
        if word.endswith(ending):
            return word[: -len(ending)]
    return word
