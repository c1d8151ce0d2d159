"""Reading JSON that somebody else wrote: a failure names the file, the place and what is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from memory_core.errors import InvalidInput

T = TypeVar("T")

_NAMES = {str: "a text", list: "a list", dict: "an object", int: "a whole number"}


def load_json(path: Path) -> Any:
    """The parsed content of *path*. Raises InvalidInput when it cannot be read or is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be read ({problem.strerror})", "check the path"
        ) from None
    except ValueError as problem:  # UnicodeDecodeError and JSONDecodeError
        raise InvalidInput(f"{path} is not JSON in UTF-8 ({problem})", "repair the file") from None


def need(record: Any, name: str, kind: type[T], where: str) -> T:
    """Field *name* of *record*, which must be a *kind*; *where* names the record in an error."""
    typed(record, dict, where)
    if name not in record:
        raise InvalidInput(f"{where} has no field {name!r}", "repair the file")
    return typed(record[name], kind, f"{where}, field {name!r},")


def typed(value: Any, kind: type[T], where: str) -> T:
    """*value*, which must be a *kind* (true and false are not numbers)."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidInput(
            f"{where} is {type(value).__name__} instead of {_NAMES[kind]}", "repair the file"
        )
    return value


def unique(identifier: str, seen: set[str], where: str) -> str:
    """*identifier* after adding it to *seen*; an id that is there already is an error."""
    if identifier in seen:
        raise InvalidInput(f"{where} repeats the id {identifier!r}", "make ids unique in the file")
    seen.add(identifier)
    return identifier


def seconds(text: str, pattern: str, where: str, example: str) -> float:
    """The time *text* in seconds since 1970, read by a strptime *pattern* as UTC."""
    try:
        return datetime.strptime(text.strip(), pattern).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InvalidInput(f"{where} has the date {text!r}", f"write it like {example!r}") from None
