"""Every regular expression of the project takes time linear in the text, also on hostile texts.

The texts are made from the expression itself: its alternatives, its literals, the bodies of its
repetitions and whole matches, complete and cut short, each repeated to 5,000 and 20,000 characters
and the costliest one to 1,000,000; and each repeated after the beginnings of a match, since what is
repeated in the middle of an expression is tried only there. What is compared are times of one run,
so that a slow machine changes nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, TypeVar

import pytest

import memory_core
import server
from memory_core.text.lazy_pattern import LazyPattern

ROOT = Path(__file__).parents[1]
T = TypeVar("T")

SHORT, LONG = 20_000, 1_000_000
WORTH_MEASURING = 0.004
"""Seconds on SHORT characters; an expression that is quadratic takes a hundred times as long."""
FEW = 48
"""Characters on which an expression that doubles its time with each already takes long."""
RESOLUTION = 0.001
"""Seconds by which a measured time may be wrong."""
TRIES = 6
TIMES = 8
"""Of a longer text, where it grows: a quadratic expression then costs so many times the linear."""
LEADS = 40
"""Beginnings of a match, at most."""
_REPEATED = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
UNITS = 16
"""Texts for one expression, at most; of more alternatives some are drawn."""

FIRST = {
    "CATEGORY_DIGIT": "7",
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": "a",
    "CATEGORY_NOT_DIGIT": "a",
    "CATEGORY_NOT_SPACE": "a",
    "CATEGORY_NOT_WORD": "-",
}


def modules() -> Iterator[ModuleType]:
    for package in (memory_core, server):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.endswith("__main__"):
                yield importlib.import_module(info.name)


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    """The expressions over text that *value* is or holds."""
    if isinstance(value, LazyPattern):
        value = value.compiled
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from patterns_in(each)
    elif isinstance(value, dict):
        for pair in value.items():
            yield from patterns_in(pair)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from patterns_in(getattr(value, field.name, None))


@cache
def sources() -> list[tuple[str, ast.Module]]:
    return [
        (str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8")))
        for package in ("memory_core", "server")
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


def calls_of_re(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=method)):
                yield method, node
            case ast.Call(func=ast.Name(id="lazy_pattern")):
                yield "compile", node


def flags_of(method: str, call: ast.Call) -> int:
    """The flags that *call* gives to its expression."""
    given = [each.value for each in call.keywords if each.arg == "flags"]
    given += call.args[1:2] if method == "compile" else []
    return sum(int(eval(ast.unparse(each), {"re": re})) for each in given)


def only_matched() -> set[str]:
    """Names of expressions that are compared at one place of a text only, never sought in it."""
    used: dict[str, set[str]] = {}
    for _, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            if isinstance(node.value, ast.Name):
                used.setdefault(node.value.id, set()).add(node.attr)
            elif isinstance(node.value, ast.Attribute):
                used.setdefault(node.value.attr, set()).add(node.attr)
    return {name for name, methods in used.items() if methods <= {"match", "fullmatch"}}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    pattern: re.Pattern[str]
    anchored: bool


def cases() -> dict[tuple[str, int], Case]:
    """Every expression once: those that modules hold, and those written into a call or function."""
    anchored = only_matched()
    found: dict[tuple[str, int], Case] = {}
    for module in modules():
        for name, value in vars(module).items():
            for pattern in patterns_in(value):
                case = Case(f"{module.__name__}.{name}", pattern, name in anchored)
                known = found.get((pattern.pattern, pattern.flags))
                if known is None or (known.anchored and not case.anchored):
                    found[pattern.pattern, pattern.flags] = case
    for path, tree in sources():
        for method, call in calls_of_re(tree):
            written = getattr(call.args[0], "value", None)
            if method != "escape" and isinstance(written, str):
                pattern = re.compile(written, flags_of(method, call))
                anchored_too = method in ("match", "fullmatch")
                case = Case(f"{path}:{call.lineno}", pattern, anchored_too)
                found.setdefault((pattern.pattern, pattern.flags), case)
    return found


class Texts:
    """Texts made from one expression."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.units: dict[str, None] = {}
        flags = pattern.flags & ~re.UNICODE if "(?u" not in pattern.pattern else pattern.flags
        tree = _parser.parse(pattern.pattern, flags)
        whole = self._sample(tree)
        drawn = list(self.units)
        random.Random(ascii(pattern.pattern)).shuffle(drawn)
        first = [whole, whole[:-1], "".join(drawn[:50]), " ".join(drawn[:50])]
        self.leads = list(dict.fromkeys(self._beginnings(tree)))[:LEADS]
        self.units = {unit[:400]: None for unit in [*first, *drawn[: UNITS - 4]] if unit}

    def _beginnings(self, tree: Any, before: str = "") -> Iterator[str]:
        """The beginnings of a match, piece by piece; what may be left out is left out."""
        for op, given in tree:
            if op is _constants.SUBPATTERN:
                inner = list(self._beginnings(given[3], before))
                yield from inner
                before = inner[-1] if inner else before
                continue
            if op not in _REPEATED or given[0] > 0:
                before += chr(given) if op is _constants.LITERAL else self._piece(op, given)
            if before:
                yield before[:400]

    def _sample(self, tree: Any) -> str:
        pieces: list[str] = []
        literal = ""
        for op, given in tree:
            if op is _constants.LITERAL:
                literal += chr(given)
                pieces.append(chr(given))
                continue
            if literal:
                self._add(literal)
                literal = ""
            pieces.append(self._piece(op, given))
        if literal:
            self._add(literal)
        return "".join(pieces)

    def _piece(self, op: Any, given: Any) -> str:
        if op is _constants.BRANCH:
            samples = [self._sample(each) for each in given[1]]
            for sample in samples:
                self._add(sample)
            return max(samples, key=len)
        if op is _constants.SUBPATTERN:
            return self._sample(given[3])
        if op in _REPEATED:
            least, _, body = given
            sample = self._sample(body)
            self._add(sample)
            return sample * max(1, min(least, 40))
        if op is _constants.ATOMIC_GROUP:
            return self._sample(given)
        if op in (_constants.ASSERT, _constants.ASSERT_NOT):
            sample = self._sample(given[1])
            return ""
        if op is _constants.IN:
            return self._one_of(given)
        if op is _constants.ANY:
            return "a"
        if op is _constants.NOT_LITERAL:
            return "a" if given != ord("a") else "b"
        return ""

    def _one_of(self, given: Any) -> str:
        chars: list[str] = []
        negated = given[0][0] is _constants.NEGATE
        for op, value in given[1:] if negated else given:
            if op is _constants.LITERAL:
                chars.append(chr(value))
            elif op is _constants.RANGE:
                chars.append(chr(value[0]))
            elif op is _constants.CATEGORY:
                chars.append(FIRST[str(value)])
        if negated:
            return next(char for char in "a1 .\nxß" if char not in chars)
        for char in chars[:4]:
            self._add(char)
        return chars[0]

    def _add(self, unit: str) -> None:
        if unit:
            self.units[unit] = None


def work(case: Case) -> Callable[[str], Any]:
    if case.anchored:
        return lambda text: (case.pattern.match(text), case.pattern.fullmatch(text))
    return lambda text: sum(1 for _ in case.pattern.finditer(text))


def cost(function: Callable[[str], Any], text: str, tries: int = 1) -> float:
    best = float("inf")
    for _ in range(tries):
        start = time.process_time()
        function(text)
        best = min(best, time.process_time() - start)
    return best


def of_length(unit: str, count: int, lead: str = "") -> str:
    """*lead* and *count* characters of *unit*; then one that nothing matches: no match ends."""
    return lead + (unit * (count // len(unit) + 1))[:count] + "\x00"


def grows(
    function: Callable[[str], Any],
    unit: str,
    count: int,
    times: int,
    slack: float = 4.0,
    lead: str = "",
) -> bool:
    """Whether *times* the text costs more than *slack* times what is linear.

    Compared are the least costs of several tries: what else runs only ever adds to one. A quadratic
    expression costs *times* times what is linear, however often it is tried; one whose repetitions
    have a bound near *count* up to twice.
    """
    short = long = float("inf")
    for _ in range(TRIES):
        short = min(short, cost(function, of_length(unit, count, lead), 2))
        long = min(long, cost(function, of_length(unit, times * count, lead)))
        if long < slack / 2 * times * short + RESOLUTION:
            return False  # far from it: no need to look again
    return long > slack * times * short + RESOLUTION


def superlinear(case: Case, short: int = SHORT, long: int = LONG, most: int = 10**9) -> str:
    """The unit on whose repetitions the time of *case* grows faster than the text; or "".

    Tried are texts of *short* characters, and of *long* ones with the unit that costs most; of the
    units, and of the units after the beginnings of a match, so many as *most*, drawn by chance.
    """
    function = work(case)
    drawn = random.Random(ascii(case.pattern.pattern))
    costs: dict[str, float] = {}
    texts = Texts(case.pattern)
    for unit in _some(drawn, texts.units, most):
        if cost(function, of_length(unit, short // 10)) > WORTH_MEASURING and grows(
            function, unit, short // 10, TIMES
        ):
            return unit
        costs[unit] = cost(function, of_length(unit, short))
        if costs[unit] > WORTH_MEASURING and grows(function, unit, short // 4, TIMES):
            return unit
    for lead, unit in _some(drawn, product(texts.leads, texts.units), most):
        # an exponential expression shows with few, and ends; a fast machine needs more to show any
        for count in (FEW, short // 10, short // 2):
            text = of_length(unit, count, lead)
            if cost(function, text) > WORTH_MEASURING and grows(
                function, unit, count, TIMES if count > FEW else 2, lead=lead
            ):
                return f"{lead!r} and then {unit!r}"
    worst = max(costs, key=lambda unit: costs[unit])
    # a text that leaves the caches costs more for each character; a quadratic expression 50 times
    return worst if grows(function, worst, short, long // short, 5.0) else ""


def _some(drawn: random.Random, all: Iterable[T], most: int) -> list[T]:
    found = list(all)
    return found if len(found) <= most else drawn.sample(found, most)


@cache
def every() -> list[Case]:
    return sorted(cases().values(), key=lambda case: (case.name, case.pattern.pattern))


SHARDS = 8
MOST = 60
"""Units of an expression, and units after a beginning, that the suite tries."""


def test_every_expression_is_collected() -> None:
    compiled = sum(method == "compile" for _, tree in sources() for method, _ in calls_of_re(tree))
    assert len(every()) >= compiled > 300
    assert any("<private" in case.pattern.pattern for case in every()), "compiled in a function"


def test_no_import_of_the_core_compiles_an_expression() -> None:
    """It would cost every process what few of them use. Below the room of texts it is allowed."""
    below = ("server/", "memory_core/interchange/", "memory_core/records.py")
    core = [(path, tree) for path, tree in sources() if not path.startswith(below)]
    eager = {
        path
        for path, tree in core
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "re.compile"
    }
    assert eager == {"memory_core/text/lazy_pattern.py"}


def looks_around(tree: Any) -> bool:
    """Whether a part of *tree*, at any depth, looks ahead or behind."""
    asserting = (_constants.ASSERT, _constants.ASSERT_NOT)
    return any(op in asserting or any(map(looks_around, _trees(given))) for op, given in tree)


def possessive(tree: Any) -> Iterator[Any]:
    """What *tree* repeats possessively, at any depth."""
    for op, given in tree:
        if op is _constants.POSSESSIVE_REPEAT:
            yield given[2]
        for each in _trees(given):
            yield from possessive(each)


def _trees(given: Any) -> Iterator[Any]:
    """The parts of a piece of an expression that are expressions."""
    if isinstance(given, _parser.SubPattern):
        yield given
    elif isinstance(given, list | tuple):
        for each in given:
            yield from _trees(each)


def test_nothing_that_looks_around_is_repeated_possessively() -> None:
    """Such a repetition never matches in Python 3.11.2, that of Debian 12; an atomic group does."""
    bad = _parser.parse(r"a|(?:b(?:(?! / )[^\n])++)?")
    assert [looks_around(each) for each in possessive(bad)] == [True]
    assert [looks_around(each) for each in possessive(_parser.parse("(?:ab)++"))] == [False]
    found = {
        case.name
        for case in every()
        for each in possessive(
            _parser.parse(case.pattern.pattern, case.pattern.flags & ~re.UNICODE)
        )
        if looks_around(each)
    }
    assert found == set()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_time_grows_no_faster_than_the_text(shard: int) -> None:
    """With texts of 2,000 and 20,000 characters; `tests/campaigns/patterns.py` has longer ones."""
    found = {
        f"{case.name} {case.pattern.pattern[:60]}": superlinear(case, SHORT // 10, SHORT, MOST)
        for case in every()[shard::SHARDS]
    }
    assert {name: unit for name, unit in found.items() if unit} == {}


@pytest.mark.parametrize("name", ["memory_core.interchange.sources.mempalace._ROOM"])
def test_what_only_long_texts_showed_stays_linear(name: str) -> None:
    """Found by the campaign, and too fast on the shorter texts above."""
    (case,) = (case for case in every() if case.name == name)
    assert superlinear(case) == ""


@pytest.mark.parametrize(
    ("expression", "short"),
    [
        (r"a*b", 1_000),
        (r"(?:ab)+c", 1_000),
        *(
            pytest.param(expression, 1_000, marks=pytest.mark.long)
            for expression in (
                r"(?:x[^\n]*y)",
                r"\s+$",
                r"from\s+[^.]{1,30}?\s+to\b",
                r"#\s+(.*?)\s;",
            )
        ),
    ],
)
def test_a_quadratic_expression_is_found(expression: str, short: int) -> None:
    assert superlinear(Case("bad", re.compile(expression), False), short, 10 * short, MOST)


def test_a_linear_expression_is_not() -> None:
    good = Case("good", re.compile(r"(?i)\b(?:key|token)[ =]{1,4}[a-z0-9]{8,64}"), False)
    assert not superlinear(good, SHORT // 10, SHORT, MOST)
