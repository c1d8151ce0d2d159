"""What each word list and rule of `memory_core.beliefs` adds: each is left out in turn.

    python tests/bench/guards.py FILE [FILE ...] [--module NAME ...] [--words MODULE.NAME]

Each file holds cases of beliefs (docs/internals/evaluation.md). Its texts are remembered twice:
each case alone with the file's background, and all of them in one store. Every comparison of a
write is recorded with what the memory knew, and made again without a pattern (it matches nothing),
a set of words (it is empty) or a predicate (it says no, then yes). Printed is for each how many
findings change, of corrections and of pairs that are both true. The last line names those that
change none. With --words each word of one set is left out in turn. Nothing is drawn at random.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from competing import NOW, Story, stories
from material import machine

from memory_core.beliefs import change
from memory_core.beliefs.compare import compare
from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember import relate
from memory_core.remember.request import RememberRequest
from memory_core.scoring.decay import DAY
from memory_core.text.lazy_pattern import LazyPattern

MODULES = (
    *("change", "compare", "competing", "events", "forms", "lexicon", "order", "restated"),
    *("sentence", "shared"),
)
NOTHING = LazyPattern(r"(?!)", 0)


@dataclass(frozen=True)
class Pair:
    """One comparison: its arguments, and whether the older text changed."""

    arguments: tuple[Any, ...]
    changed: bool


def recorded(told: Sequence[Story], folder: Path) -> Iterator[Pair]:
    """The comparisons that are made when the texts of each story are remembered in their order."""
    made: list[tuple[Any, ...]] = []

    def record(*arguments: Any) -> Any:
        made.append(arguments)
        return compare(*arguments)

    settings = Settings(
        data_dir=folder, offline=True, consolidation=ConsolidationSettings(automatic=False)
    )
    with Memory(settings, clock=lambda: NOW) as memory:
        assert memory.wait_ready(60)
        for number, story in enumerate(told):
            made.clear()
            with patch.object(relate, "compare", record):
                for text, days in sorted(story.texts, key=lambda each: -each[1]):
                    request = RememberRequest(text, when=NOW - days * DAY)
                    memory.remember(Identity(f"story-{number}"), request)
            for arguments in made:
                texts = (arguments[0].text, arguments[1].text)
                if texts not in story.left:
                    yield Pair(arguments, texts in story.changed)


def found(pairs: Sequence[Pair]) -> list[str]:
    """What each comparison finds: "" for nothing."""
    return [_said(compare(*pair.arguments)) for pair in pairs]


def _said(result: change.Found | None) -> str:
    if result is None:
        return ""
    part = " in part" if result.partial else ""
    return ("for a while" if result.passing else result.supersedes or "doubt") + part


def parts(names: Sequence[str]) -> Iterator[tuple[str, object, object]]:
    """The name of each pattern, set of words and predicate of the modules, and what stands in."""
    seen: set[int] = set()
    for module in map(_module, names):
        for name, value in vars(module).items():
            if id(value) in seen or name.startswith("__"):
                continue
            stands_in: list[object] = []
            if isinstance(value, LazyPattern):
                stands_in = [NOTHING]
            elif isinstance(value, frozenset | tuple | list) and name.lstrip("_").isupper():
                stands_in = [type(value)()] if all(isinstance(w, str) for w in value) else []
            elif _is_predicate(value) and value.__module__ == module.__name__:
                stands_in = [lambda *_, **__: False, lambda *_, **__: True]
            seen.add(id(value))
            for place, other in enumerate(stands_in):
                told = (" -> no", " -> yes")[place] if len(stands_in) > 1 else ""
                yield f"{module.__name__.rpartition('.')[2]}.{name}{told}", value, other


def _is_predicate(value: object) -> bool:
    function = inspect.unwrap(value) if callable(value) else None
    return inspect.isfunction(function) and function.__annotations__.get("return") == "bool"


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"memory_core.beliefs.{name}")


def _rooms() -> list[ModuleType]:
    return [module for name, module in sys.modules.items() if name.startswith("memory_core.")]


@contextmanager
def without(value: object, other: object) -> Iterator[None]:
    """*other* wherever *value* is known, and nothing kept of what was read before."""
    with ExitStack() as stack:
        for module in _rooms():
            for name in [name for name, known in vars(module).items() if known is value]:
                stack.enter_context(patch.object(module, name, other))
        forget()
        yield
    forget()


def forget() -> None:
    """Empty every cache of the room."""
    for module in _rooms():
        for value in vars(module).values():
            if module.__name__.startswith(("memory_core.beliefs", "memory_core.text")):
                getattr(value, "cache_clear", lambda: None)()


def told(pairs: Sequence[Pair], before: Sequence[str], after: Sequence[str]) -> Counter[str]:
    """How many findings changed, and how."""
    counts: Counter[str] = Counter()
    for pair, was, now in zip(pairs, before, after, strict=True):
        if was != now:
            whose = "corrections" if pair.changed else "true"
            counts[f"{whose}: {was or 'none'} to {now or 'none'}"] += 1
    return counts


def main() -> None:
    """Leave each out, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--module", nargs="*", default=list(MODULES))
    parser.add_argument("--words", default="")
    args = parser.parse_args()
    print(machine(0))
    pairs: dict[str, list[Pair]] = {}
    for file in args.files:
        alone, whole = stories(file)
        with tempfile.TemporaryDirectory() as folder:
            pairs[file.stem] = list(recorded([*alone, whole], Path(folder)))
    before = {name: found(some) for name, some in pairs.items()}
    for name, some in pairs.items():
        by = Counter(
            f"{'corrections' if pair.changed else 'true'}: {what or 'none'}"
            for pair, what in zip(some, before[name], strict=True)
        )
        print(name, len(some), dict(sorted(by.items())), flush=True)
    nothing: list[str] = []
    for name, value, other in words(args.words) if args.words else parts(args.module):
        with without(value, other):
            changes = {n: told(some, before[n], found(some)) for n, some in pairs.items()}
        if any(changes.values()):
            print(name, {n: dict(sorted(each.items())) for n, each in changes.items() if each})
            sys.stdout.flush()
        else:
            nothing.append(name)
    print("change nothing:", " ".join(nothing))


def words(name: str) -> Iterator[tuple[str, object, object]]:
    """Each word of a set, and the set without it."""
    module, _, name = name.partition(".")
    value = getattr(_module(module), name)
    for word in sorted(value):
        yield word, value, type(value)(each for each in value if each != word)


if __name__ == "__main__":
    main()
