"""The words before which a pattern is tried at all never cost a match."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from memory_core.text.secrets import (
    command_lines,
    configured,
    forms,
    mask,
    named,
    personal,
    spans,
    told,
)
from memory_core.text.secrets.spans import Rule, folded

DATA = Path(__file__).parent / "data"


def rules() -> Iterator[tuple[str, Rule]]:
    for place, (kind, rule) in enumerate(forms._RULES):
        yield f"{kind}-{place}", rule
    for module in (command_lines, configured, forms, named, personal, told):
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


@cache
def both() -> list[tuple[str, str]]:
    return [(text, folded(text)) for text in texts()]


@pytest.mark.parametrize(("name", "rule"), list(rules()))
def test_no_match_is_missed_for_lack_of_a_word(name: str, rule: Rule) -> None:
    for text, low in both():
        if not any(word in low for word in rule.words):
            assert not rule.pattern.search(text), text


def test_the_lists_are_masked_alike_without_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    some = texts()[::3]
    before = [mask(text) for text in some]
    monkeypatch.setattr(spans.Rule, "found", lambda rule, text, _: rule.pattern.finditer(text))
    assert [mask(text) for text in some] == before


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
