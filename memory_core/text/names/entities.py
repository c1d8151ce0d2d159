"""Entities: the names that a text holds, by rules; no model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.lexicon import NOT_NAMES
from memory_core.text.names.surface import (
    Token,
    bare_form,
    name_tokens,
    without_possessive,
    written_names,
)
from memory_core.text.words import FILLER_WORDS, STOPWORDS

MOST = 32
"""Entities kept of one text."""

_LONGEST_KNOWN = 5  # words of a known name
_LONGEST_NAME = 80  # characters

_HIDDEN = lazy_pattern(
    r"\b[a-z][a-z0-9+.-]{1,15}://\S{1,2000}|\bwww\.\S{1,2000}"
    r"|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,63}"
    r"|\[masked:\w{1,40}\]",
    re.IGNORECASE,
)
_QUOTED = lazy_pattern(
    r"[\"“„«]([^\"“”„«»\n]{2,60})[\"”“»]|`([^`\n]{2,60})`|(?<!\w)'([A-Z][^'\n]{2,60})'(?!\w)"
)
_CALLED = lazy_pattern(
    r"(?:called|titled|named|book|novel|movie|film|song|album|game|show|series|play|podcast|band"
    r"|read|watch"
    r"|watched|watching|reading|poem|project|codename)[ ,:]{1,2}$",
    re.IGNORECASE,
)


def gazetteer(names: Collection[str]) -> dict[str, str]:
    """*names* by their casefolded form, the shape in which `entities` takes them at no cost."""
    return {" ".join(name.casefold().split()): name for name in names if name.strip()}


def entities(text: str, known: Collection[str] | Mapping[str, str] = ()) -> tuple[str, ...]:
    """The names in *text* in order of first appearance, without repeats, at most 32.

    People, places, streets, organisations, products with their version (and without: "Python 3.11"
    also gives "Python"), acronyms, identifiers, quoted titles, @handles. The canonical form has no
    leading article and no possessive. A single capitalised word that opens a sentence counts only
    when something else speaks for it; days, months and ordinary words never do. In German, where
    nouns are capitalised, single words need such support everywhere.

    *known* are names of the store: they match whatever their case, in their own spelling. Pass
    what `gazetteer` returns to spare building it.
    """
    index = known if isinstance(known, Mapping) else gazetteer(known)
    titles, tokens = _read(text)
    found = [*((start, name) for start, _, name in titles), *_known_names(tokens, index)]
    found.extend(written_names(tokens))
    return _distinct(found, index)


def known_names(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the `entities` of *text* that are found because *known* has them.

    *known* is of the shape that `gazetteer` returns; the names are in its spelling.
    """
    return _distinct(list(_known_names(_read(text)[1], known)), known)


def _read(text: str) -> tuple[list[tuple[int, int, str]], list[Token]]:
    """The quoted titles in *text* with their places, and the tokens of the rest of it."""
    shown = _HIDDEN.sub(_blank, text)
    titles = list(_quoted(shown))
    return titles, list(name_tokens(_without(shown, titles)))


def _distinct(found: list[tuple[int, str]], index: Mapping[str, str]) -> tuple[str, ...]:
    """The names *found*, by place, each once in its canonical form or as *index* spells it."""
    result: dict[str, str] = {}
    for _, name in sorted(found, key=lambda item: item[0]):
        canonical = _canonical(name)
        folded = canonical.casefold()
        if 1 < len(canonical) <= _LONGEST_NAME and folded not in result:
            result[folded] = index.get(folded, canonical)
    return tuple(dict.fromkeys(result.values()))[:MOST]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _without(text: str, spans: list[tuple[int, int, str]]) -> str:
    """*text* with the quoted titles closed to the other rules, every place kept."""
    pieces: list[str] = []
    done = 0
    for start, end, _ in spans:
        pieces += [text[done : start + 1], "·" * (end - start - 2)]
        done = end - 1
    return "".join([*pieces, text[done:]])


def _quoted(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None)
        code = match.group(2) is not None
        if code and len(inner.split()) == 1 and any(char.isalpha() for char in inner):
            yield *match.span(), inner
        elif not code and _is_title_case(inner, text[max(0, match.start() - 20) : match.start()]):
            yield *match.span(), inner.rstrip(",")


def _is_title_case(inner: str, before: str) -> bool:
    parts = inner.split()
    if not 1 <= len(parts) <= 9 or inner[-1] in ".!?…;:" or not any(c.isalpha() for c in inner):
        return False
    if _CALLED.search(before):
        return True
    long = [part for part in parts if len(part) > 3]
    capital = sum(part[0].isupper() for part in long)
    if len(parts) == 1:
        return parts[0][0].isupper() and bare_form(parts[0]) not in NOT_NAMES
    return parts[0][0].isupper() and bool(long) and 2 * capital > len(long)


def _known_names(tokens: list[Token], index: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    if not index:
        return
    bare = [bare_form(token.text) if token.kind in ("word", "version") else "" for token in tokens]
    place = 0
    while place < len(tokens):
        step = 1
        for size in range(min(_LONGEST_KNOWN, len(tokens) - place), 0, -1):
            parts = bare[place : place + size]
            name = index.get(" ".join(parts)) if all(parts) else None
            if name is None or (size == 1 and _is_ordinary(tokens[place], parts[0])):
                continue
            yield tokens[place].start, name
            step = size
            break
        place += step


def _is_ordinary(token: Token, bare: str) -> bool:
    """True for a word such as "will" or "rose" that is not written like a name here."""
    if len(bare) < 3 or not token.text[:1].isupper():
        return bare in NOT_NAMES or len(bare) < 3
    return token.first and (bare in STOPWORDS or bare in FILLER_WORDS)


def _canonical(name: str) -> str:
    plain = " ".join(name.split())
    for article in ("the ", "The ", "THE "):
        plain = plain.removeprefix(article)
    return without_possessive(plain).strip(" .,-&/")
