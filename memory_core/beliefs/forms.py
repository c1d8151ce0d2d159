"""Whether two words name the same: endings, compounds, and what a text defines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import words

_ALIASES = {
    alias: group.split()[0]
    for group in (
        "mother mum mom mama mutter mutti mummy",
        "father dad papa vater vati daddy",
        "database db databases datenbank",
        "phone mobile telephone telefon handy",
        "car auto wagen",
        "bike bicycle fahrrad rad",
        "salary pay gehalt lohn",
        "job work works working arbeite arbeitet arbeiten employer",
        "fridge refrigerator",
        "television tv",
        "password pw passwort",
        "kindergarten school",
    )
    for alias in group.split()
}
"""Words that name the same, by each of them; no rule finds these."""


def same_word(a: str, b: str) -> bool:
    """True for two forms of a word: equal, an alias, or alike but for an ending.

    A compound is a form of its last part ("Druckerpasswort", "Passwort").
    """
    if a == b or _ALIASES.get(a, a) == _ALIASES.get(b, b):
        return True
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    if len(shorter) > 4 and len(longer) - len(shorter) > 3 and longer.endswith(shorter):
        return not any(map(str.isdigit, longer))
    if a[:1] != b[:1]:
        return False  # of most pairs, at a tenth of the cost
    if a.rstrip("s") == b.rstrip("s") and len(a) > 2:
        return True
    if len(shorter) < 4 or any(char.isdigit() for char in a + b):
        return False
    common = next((at for at, char in enumerate(shorter) if char != longer[at]), len(shorter))
    return common >= max(4, len(shorter) - 2) and len(longer) - common <= 4


def forms_among(word: str, others: Collection[str]) -> list[str]:
    """Those of *others* that are a form of *word*, in order of the alphabet.

    The same as asking same_word of each, at a tenth of the cost.
    """
    known = others if isinstance(others, frozenset) else frozenset(others)
    return list(_forms(word, known))


@lru_cache(maxsize=16_384)
def _forms(word: str, known: frozenset[str]) -> tuple[str, ...]:
    """The forms of *word* among *known*: one new sentence is compared with many stored ones."""
    keyed = _keyed(known)
    near = {other for key in _keys(word) for other in keyed.get(key, ())}
    return tuple(sorted(other for other in near if same_word(word, other)))


@lru_cache(maxsize=4_096)
def _keyed(some: frozenset[str]) -> dict[str, list[str]]:
    """The words of *some* by each of their keys."""
    found: dict[str, list[str]] = {}
    for word in some:
        for key in _keys(word):
            found.setdefault(key, []).append(word)
    return found


@lru_cache(maxsize=16_384)
def _keys(word: str) -> tuple[str, ...]:
    """What two forms of a word have in common one of.

    Its alias, its first two letters or its last five letters.
    """
    return _ALIASES.get(word, word), f"{word[:2]}-", f"-{word[-5:]}"


# Names that a text defines

_NAME = r"(?:[A-Z0-9][\w.+-]{0,60}(?: [A-Z0-9][\w.+-]{0,60}){0,3})"
_THING = r"(?<![\w.+-])(?:[Tt]he |[Oo]ur |[Mm]y |[Dd]er |[Dd]ie |[Dd]as |[Uu]nser\w* |[Mm]ein\w* )?"
_DEFINED = lazy_pattern(
    rf"{_THING}(?P<one>{_NAME}|[a-z][\w-]{{1,60}}(?: [a-z][\w-]{{1,60}}){{0,2}})"
    r"(?: \((?P<said>aka |a\.k\.a\. |short: |kurz:? |formerly |früher |called |also )?"
    rf"(?P<two>{_NAME})\)"
    r"|,? (?:aka|a\.k\.a\.|also known as|also called|short for|known as|abbreviated(?: as)?"
    r"|formerly(?: known as| called)?|kurz|auch|genannt|früher|ehemals|vormals|alias"
    r"|(?:is|was|has been|got|wurde) (?:now )?(?:renamed|called|known as|rebranded)(?: to| as)?"
    r"|(?:wurde|heißt) (?:jetzt |nun )?(?:in )?"
    rf"|goes by(?: the name)?) (?:the name |in )?[\"“']?(?P<three>{_NAME})[\"”']?)"
)


_MAY_DEFINE = lazy_pattern(
    r"\(|\b(?:a\.?k\.?a\b|also|short for|known|called|abbr|formerly|kurz|auch|genannt|früher"
    r"|ehemals|vormals|alias|renamed|rebranded|heißt|wurde|goes by)"
)
"""What every definition holds one of; few texts do, and the search for a definition is slow."""


def aliases(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names of one thing that *texts* define: "the data warehouse (DWH)", "X aka Y".

    Casefolded, the words of each separated by a blank, in the order of the texts.
    """
    found: dict[tuple[str, str], None] = {}
    for text in texts:
        if not _MAY_DEFINE.search(text):
            continue
        for match in _DEFINED.finditer(text):
            one = " ".join(words(match["one"]))
            two = " ".join(words(match["two"] or match["three"]))
            bare = match["two"] is not None and match["said"] is None
            if one != two and min(len(one), len(two)) > 1 and not (bare and not _short(two, one)):
                found[one, two] = None
    return list(found)


def _short(two: str, one: str) -> bool:
    """True when *two* is made of letters of *one* in their order: "dwh", "data warehouse"."""
    left = iter(one)
    return two[0] == one[0] and len(two) < len(one) and all(letter in left for letter in two)


def called(text: str, known: Iterable[tuple[str, str]]) -> list[str]:
    """*text* with a name that it holds put in place of the other one, for each pair of *known*."""
    pairs = list(known)
    spoken = f" {' '.join(words(text))} " if pairs else ""
    found = []
    for one, two in pairs:
        for mine, other in ((one, two), (two, one)):
            if f" {mine} " in spoken and f" {other} " not in spoken:
                pattern = r"[\W_]+".join(map(re.escape, mine.split()))
                found.append(re.sub(rf"(?<!\w){pattern}(?!\w)", other, text, flags=re.IGNORECASE))
    return found
