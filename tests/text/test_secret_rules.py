"""The words before which a pattern is tried at all never cost a match."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from memory_core.text.secrets import (
    command_lines,
    configured,
    conversation,
    forms,
    mask,
    named,
    personal,
    phrases,
    remarks,
    series,
    spans,
    told,
)
from memory_core.text.secrets.spans import Rule, folded

DATA = Path(__file__).parent / "data"
FILTERED = frozenset({"private_key"})
"""Rules whose words stand elsewhere in the text, as that of a key in JSON."""


def rules() -> Iterator[tuple[str, Rule]]:
    for place, (kind, rule) in enumerate(forms._RULES):
        yield f"{kind}-{place}", rule
    for module in (
        command_lines,
        configured,
        conversation,
        forms,
        named,
        personal,
        phrases,
        series,
        told,
    ):
        for name, value in vars(module).items():
            if isinstance(value, Rule):
                yield name, value


@cache
def texts() -> list[str]:
    """All lines of the lists, and each in one other form, in turn: with something random behind it,
    in capitals, or with letters that fold to others."""
    lines = [
        line.replace("«", "").replace("»", "").replace("\\n", "\n")
        for path in sorted(DATA.glob("*.txt"))
        for line in path.read_text("utf-8").splitlines()
    ]
    rng = random.Random(1)
    filled = [line.replace("%", "") + "".join(rng.choices("0123abcdEFG", k=40)) for line in lines]
    odd = [line.replace("s", "ſ").replace("k", "\u212a").replace("i", "ı") for line in lines]
    return [*lines, *filled[::3], *map(str.upper, lines[1::3]), *odd[2::3]]


def made(tree: Any, rng: random.Random, groups: dict[int, str]) -> str:
    """A text of the form of an expression, drawn by chance; what looks around is left out."""
    pieces = []
    for op, given in tree:
        piece = ""
        if op is _constants.LITERAL:
            piece = chr(given)
        elif op is _constants.BRANCH:
            piece = made(rng.choice(given[1]), rng, groups)
        elif op is _constants.SUBPATTERN:
            piece = groups[given[0]] = made(given[3], rng, groups)
        elif op is _constants.ATOMIC_GROUP:
            piece = made(given, rng, groups)
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            least, most, body = given
            times = rng.randint(least, min(int(most), least + 2))
            piece = "".join(made(body, rng, groups) for _ in range(times))
        elif op is _constants.IN:
            piece = one_of(given, rng)
        elif op in (_constants.ANY, _constants.NOT_LITERAL):
            piece = rng.choice("bx4")
        elif op is _constants.GROUPREF:
            piece = groups.get(given, "")
        pieces.append(piece)
    return "".join(pieces)


def one_of(given: Any, rng: random.Random) -> str:
    """A character of a class, or for one that is negated one that few have."""
    if given[0][0] is _constants.NEGATE:
        return rng.choice("bx4")
    op, value = rng.choice(given)
    if op is _constants.RANGE:
        return chr(rng.randint(*value))
    if op is _constants.LITERAL:
        return chr(value)
    return {"CATEGORY_DIGIT": "7", "CATEGORY_SPACE": " "}.get(str(value), rng.choice("ax"))


def test_whatever_a_pattern_matches_holds_one_of_its_words() -> None:
    """Texts drawn from the pattern itself: a word that is missing hides all that it names."""
    missed, drawn = {}, 0
    for name, rule in rules():
        rng, pattern = random.Random(name), rule.pattern.compiled
        tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
        texts = [f" {made(tree, rng, {})}\n" for _ in range(120)]
        found = [(match.group(), text) for text in texts for match in pattern.finditer(text)]
        drawn += bool(found)
        for match, text in found:
            if not any(word in folded(text) for word in rule.words):
                missed[name] = match
    assert {name.partition("-")[0] for name in missed} <= FILTERED, missed
    assert drawn > 0.9 * len(list(rules()))


def test_the_lists_are_masked_alike_without_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    some = texts()[::24]
    before = [mask(text) for text in some]
    for kind in (spans.Rule, remarks.Led):
        monkeypatch.setattr(kind, "found", lambda rule, text, _: rule.pattern.finditer(text))
    assert [mask(text) for text in some] == before


def test_a_rule_that_begins_with_a_name_finds_what_its_pattern_finds() -> None:
    led = [(name, rule) for name, rule in rules() if isinstance(rule, remarks.Led)]
    assert len(led) > 8
    for text in texts()[1::10]:
        low = folded(text)
        for name, rule in led:
            found = [match.span() for match in rule.found(text, low)]
            assert found == [match.span() for match in rule.pattern.finditer(text)], (name, text)


def test_plain_talk_meets_few_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Rule] = []
    found = Rule.found

    def counted(rule: Rule, text: str, low: str) -> Iterator[object]:
        if any(word in low for word in rule.words):
            tried.append(rule)
        return found(rule, text, low)

    monkeypatch.setattr(spans.Rule, "found", counted)
    assert mask("Anna moved to Kiel in June, and she wants to be called about the boat.")[1] == ()
    assert len(tried) <= len(list(rules())) / 8
