"""Where a secret stands, and what the value of one looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed

Span = tuple[int, int, str]
"""Start and end in the text, and the kind of the secret."""


class Folded(str):
    """A text without differences of case, as far as patterns ignore them; see `folded`."""

    names: tuple[int, ...] | None = None
    """Where passwords are named in the text itself, once somebody has looked."""


class Rule:
    """A pattern that is tried only where one of its words stands: most texts hold none of them."""

    def __init__(self, words: str, pattern: str) -> None:
        """Every match of *pattern* holds one of *words*, in any case; "|" separates these.

        Without words it is always tried.
        """
        self.words = tuple(words.split("|"))
        self.pattern = lazy_pattern(pattern)

    def found(self, text: str, low: str) -> Iterator[re.Match[str]]:
        """The matches in *text*, whose `folded` form is *low*."""
        for word in self.words:  # any() with a generator takes three times as long
            if word in low:
                return self.pattern.finditer(text)
        return iter(())

    def made(self, match: re.Match[str]) -> bool:
        """Whether *match* is one of this rule."""
        return match.re.pattern == self.pattern.pattern


def folded(text: str) -> Folded:
    """*text* without differences of case, as far as patterns ignore them; for `Rule.found`."""
    return Folded(text.casefold().replace("ı", "i"))


_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CHANGES = lazy_pattern(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_RUNS = lazy_pattern(r"[A-Za-z0-9+/]{10,}")
_MIXED = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_REFERENCE = lazy_pattern(
    r"#(?:[0-9a-fA-F]{3,4}){1,2}[;,]?$|[$&][({]{0,3}[A-Za-z_.]{0,60}[)}\[]{0,3}$|%[sd(]|\*+\W*$|<"
    r"|\{{1,2}[A-Za-z_.]{0,60}\}{0,2}$"
    r"|@[\w.-]{2,80}@$|![A-Za-z_-]{2,30}$|[A-Z]\w{0,20}(?:String|Str|Bytes|Text)[,;)}]*$"
    r"|\[[A-Za-z _-]{3,30}\]?\W*$"
    r"|[A-Za-z_]{1,60}(?:\.[A-Za-z_]\w{0,60}){0,8}[(\[]"
    r"|[A-Za-z_]\w{1,60}(?:(?:\.|::|->)[A-Za-z_]\w{0,60}){1,8}\("
    r"|(?:Read|Get|Import|ConvertTo)-[A-Z][A-Za-z]{2,40}$"
    r"|(?:op|ssm|vault|secrets?|keyring|keychain|arn|env|file|gcpsm|akv|bw):[\w/]"
    r"|(?P<attribute>[a-z_]{1,40}(?:\.[a-zA-Z_]{1,40}){1,6}[);,]{0,4}$)"
)
_PLACEHOLDER = lazy_pattern(
    r"(?i)(?:<|\$[({]|%[({]|\{\{|\.\.\.|…|x{4,}|\*{3,}|masked:|\[masked:)|(?:my|the|your|some"
    r"|replace|"
    r"an?|insert|enter|put|add)[_-]|your[a-z]|(?:changeme|change[_-]?me|placeholder|redacted|"
    r"example|dummy|none|null|true|false|string|undefined|todo|required|optional)[.,;)\]}]*$"
    r"|(?-i:(?:[A-Z]+_)*(?:PASS(?:WORD|WD|PHRASE)?|PWD|SECRET|TOKEN|KEY))$"
)
_EXAMPLE = lazy_pattern(r"(?:^|[_/-])([Xx*])\1{7,}$|^[TB]0{8,}$|(?i:your)[-_]")
_NO_VALUES = frozenset(
    listed(
        """none null true false string str required optional empty todo unset hidden bytes any
        undefined nil varchar text unknown missing masked redacted yes no"""
    )
)


_NUMBERED = lazy_pattern(
    r"(?i)\b(?:in|at|um|bis|until|till|since|seit|after|nach|before|vor|page|seite|line|zeile|step"
    r"|schritt|version|room|raum|zimmer|error|fehler|status|http|port|nr|no|number|nummer"
    r"|chapter|rfc|iso"
    r"|ticket|issue|than|als|about|etwa|ca|over|über|has|have|hat|haben|of|from|von"
    r"|año(?: de)?|année|anno|rok)[.:#]?\s{0,2}$"
)


def is_numbered(before: str) -> bool:
    """True where a number behind the text *before* counts or numbers something: "on page"."""
    return bool(_NUMBERED.search(before))


def is_random(value: str) -> bool:
    """True for random strings: a UUID, ten characters in a row that mix letters and digits, or
    sixteen letters whose case changes often."""
    if _UUID.fullmatch(value.rstrip(".")):
        return True
    return any(
        len(_CHANGES.findall(run)) >= 4
        and (any(map(str.isdigit, run)) or (len(run) >= 16 and 4 * len(_MIXED.findall(run)) >= 16))
        for run in _RUNS.findall(value)
    )


def is_reference(value: str, *, code: bool = True) -> bool:
    """True where *value* says only where a secret is: $NAME, %s, get(...); in *code* also
    settings.password."""
    found = _REFERENCE.match(value)
    return (
        bool(found and (code or not found["attribute"]))
        or value.rstrip(".,:;)}]!?").lower() in _NO_VALUES
    )


def is_placeholder(value: str) -> bool:
    """True where *value* stands for a secret that somebody is to fill in, or was masked."""
    return bool(_PLACEHOLDER.match(value)) or len(set(value)) < 3 or is_example(value)


def is_example(value: str) -> bool:
    """True for what has the form of a token and says that it is none: "glpat-XXXXXXXXXXXX"."""
    return bool(_EXAMPLE.search(value))


def is_odd(value: str) -> bool:
    """True for what is no word: with a digit, a sign within, or capitals within."""
    inner = value.rstrip(".!?…)")
    return bool(re.search(r"[0-9]|\w[!#$%&*@^_+=]\w|[a-z][A-Z].*[a-z][A-Z]", inner))
