"""Checks of arguments. Every error names the argument, its value and what is allowed."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memory_core.config import LimitSettings
from memory_core.errors import InvalidInput, NotFound, ScopeDenied, TooLarge
from memory_core.records import VISIBILITIES, Identity, MemoryRecord, is_id
from memory_core.text import normalise
from memory_core.text.time import timestamps

QUERY_CHARS = 2_000
"""Longest question, entity or topic."""
SOURCE_CHARS = 500
"""Longest source or reason."""
LABEL_CHARS = 200
"""Longest speaker, session or tag."""
LABELS_MOST = 50
IDS_MOST = 100

LISTS_MOST = {
    **{"entities": 200, "dates": 2_000, "derived_from": 10_000},
    **{"due": 20, "lead": 10, "emotions": 20},
}
"""Most values of an imported memory; a text of 20,000 characters has at most 32 names found in it,
and the summary of a long conversation some thousand sources."""
LINKS_MOST = 10_000
"""Most links of an imported memory."""
CO_RECALL_MOST = 100_000.0
"""Highest weight of an imported link that counts; the others say how sure a relation is, 0 to 1."""

EPOCH_MOST = 253_402_300_799.0
"""The last second of the year 9999."""
EPOCH_LEAST = -62_135_596_800.0
"""The first second of the year 1."""
COUNT_MOST = 2**31 - 1
"""What a column of counts or positions can hold."""

TIMES = (
    "occurred_at",
    "recorded_at",
    "valid_from",
    "valid_until",
    "superseded_at",
    "retired_at",
    "stale_since",
    "last_accessed",
)
"""The fields of a memory that are epoch seconds."""

SPLIT = (
    "split it into several memories, or write the parts to a file, each as a line of JSON with a "
    "text, and run `anamnesis import FILE`"
)
SHORTEN = "shorten it"


def invalid(argument: str, problem: str, next_step: str) -> InvalidInput:
    """The error for *argument*."""
    return InvalidInput(f"{argument}: {problem}", next_step)


def unknown(id: str) -> NotFound:
    """The error for an id that does not exist or that the caller may not read, which look alike."""
    return NotFound(f"no memory {id[:40]}", "recall by words to find the right id")


def text(value: str, argument: str, most: int, next_step: str = SHORTEN) -> str:
    """*value* when it is a str of at most *most* characters, lone surrogates made U+FFFD."""
    if not isinstance(value, str):
        raise invalid(argument, f"must be text, got {type(value).__name__}", "pass a string")
    cleaned = normalise.clean(value)[0]
    if len(cleaned) > most:
        raise TooLarge(
            f"{argument} has {len(cleaned):,} characters, at most {most:,} are allowed", next_step
        )
    return cleaned


def prose(value: str, argument: str, most: int, next_step: str) -> tuple[str, tuple[str, ...]]:
    """*value* as text that is not blank, and a warning for each kind of character repaired."""
    repaired = text(value, argument, most, next_step)
    if normalise.is_blank(repaired):
        raise invalid(argument, "it is empty", "pass some words")
    warnings = normalise.clean(value)[1]
    if "\0" in repaired:
        warnings.append(f"{argument} contains NUL characters, which are kept")
    return repaired, tuple(warnings)


def label(value: str, argument: str) -> str:
    """*value* when it is a short str of one line."""
    cleaned = text(value, argument, LABEL_CHARS)
    if any(unicodedata.category(char) == "Cc" for char in cleaned):
        raise invalid(argument, "it contains a control character", "pass one line of plain text")
    return cleaned


def labels(values: Sequence[str], argument: str, most: int = LABELS_MOST) -> tuple[str, ...]:
    """*values* without repeats and blanks, in order; at most *most* short texts."""
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise invalid(argument, "must be a list of texts", 'pass for example ["work"]')
    if len(values) > most:
        raise invalid(argument, f"has {len(values)} entries", f"pass at most {most}")
    cleaned = (label(value, argument).strip() for value in values)
    return tuple(dict.fromkeys(value for value in cleaned if value))


def one_of(value: str, argument: str, allowed: Collection[str]) -> str:
    """*value* when it is "" or one of *allowed*."""
    if not isinstance(value, str) or (value and value not in allowed):
        known = ", ".join(name for name in allowed if name)
        raise invalid(argument, f"{value!r:.60} is unknown", f"use one of {known}")
    return value


def number(value: float, argument: str, low: float, high: float) -> float:
    """*value* when it is a finite number from *low* to *high*."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise invalid(argument, f"must be a number, got {value!r:.60}", f"pass {low:g} to {high:g}")
    if not low <= value <= high:
        shown = f"{value:g}" if abs(value) < 1e300 else "a number out of range"
        raise invalid(argument, f"must be {low:g} to {high:g}, got {shown}", "correct it")
    return value


def whole(value: int, argument: str, low: int, high: int) -> int:
    """*value* when it is an int from *low* to *high*; 2.0 is one too."""
    checked = number(value, argument, low, high)
    if checked != math.floor(checked):
        raise invalid(argument, f"must be a whole number, got {value:g}", f"pass {low} to {high}")
    return int(checked)


def flag(value: bool, argument: str) -> bool:
    """*value* when it is True or False; 0 and 1 are refused."""
    if not isinstance(value, bool):
        raise invalid(argument, f"must be true or false, got {value!r:.60}", "pass true or false")
    return value


def reference(value: str, argument: str) -> str:
    """*value* when it has the form of an id, or is ""."""
    checked = text(value, argument, LABEL_CHARS, "pass an id from recall")
    if checked and not is_id(checked):
        raise invalid(argument, f"{checked[:40]!r} is not an id", "pass an id from recall")
    return checked


def uncut(given: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise InvalidInput where ids were *given* by a part of the *wanted* ones."""
    for id in given:
        if id not in wanted:
            whole = next((each for each in wanted if each.startswith(id)), "")
            raise invalid(
                "ids",
                f"{id} is a part of {whole}, and nothing was deleted",
                "confirm with whole ids, once a preview has shown what they are",
            )


def span(value: object, argument: str) -> tuple[float, float] | None:
    """The first and last moment of the ISO 8601 *value*, both inside; None for ""."""
    if not isinstance(value, str):
        raise invalid(argument, f"must be a date or time, got {value!r:.60}", timestamps.ALLOWED)
    checked = text(value, argument, LABEL_CHARS, "pass a date such as 2024-05-07")
    return timestamps.moment(checked, argument) if checked else None


def period(since: str, until: str) -> tuple[float | None, float | None]:
    """The first moment of *since* and the last of *until*, ISO 8601; None where unset."""
    first, last = span(since, "since"), span(until, "until")
    if first is not None and last is not None and first[0] > last[1]:
        raise invalid("since", f"{since} is after until ({until})", "swap them")
    return (first[0] if first else None), (last[1] if last else None)


def when(value: str | float, argument: str, now: float) -> float:
    """The epoch seconds of *value*: ISO 8601 (its first moment), a number, or "" for *now*."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value, argument, EPOCH_LEAST, EPOCH_MOST)
    if (found := span(value, argument)) is None:  # it refuses what is no text
        return now
    if not EPOCH_LEAST <= found[0] <= EPOCH_MOST:  # by its offset
        raise invalid(argument, f"{value} is outside of the years 1 to 9999 in UTC", "correct it")
    return found[0]


def instance(value: object, argument: str, wanted: type) -> None:
    """Raise InvalidInput for a *value* that is none of *wanted*."""
    if not isinstance(value, wanted):
        raise invalid(
            argument,
            f"must be {wanted.__name__}, got {value!r:.60}",
            f"pass {wanted.__name__}(...)",
        )


def mapping(value: Mapping[str, Any], argument: str) -> Mapping[str, Any]:
    """*value* when it is a mapping of names to values."""
    if not isinstance(value, Mapping):
        raise invalid(argument, f"must be an object, got {type(value).__name__}", "pass a dict")
    return value


def imported(memory: MemoryRecord, limits: LimitSettings) -> None:
    """Raise InvalidInput for a field of an imported *memory* that remember would refuse."""
    prose(memory.text, "text", limits.text_chars, SPLIT)
    for name in ("agent", "team", "session", "speaker"):
        label(getattr(memory, name), name)
    text(memory.client, "client", LABEL_CHARS)
    text(memory.source, "source", SOURCE_CHARS)
    labels(memory.tags, "tags")
    labels(memory.keywords, "keywords")
    for name, most in LISTS_MOST.items():
        few(getattr(memory, name), name, most)
    for name in ("entities", "lead", "emotions", "due"):
        for each in getattr(memory, name):
            text(each, name, SOURCE_CHARS)
    for id in memory.derived_from:
        reference(id, "derived_from")
    text(memory.encoded, "encoded", LABEL_CHARS)
    for name in ("gist", "topic"):
        text(getattr(memory, name), name, limits.text_chars)
    for name in ("position", "access_count"):
        number(getattr(memory, name), name, -1, COUNT_MOST)
    for name in TIMES:
        if (moment := getattr(memory, name)) is not None:
            number(moment, name, EPOCH_LEAST, EPOCH_MOST)
    for date in memory.dates:
        timestamps.moment(date, "dates")


def few(values: Sequence[Any], argument: str, most: int) -> None:
    """Raise InvalidInput for more than *most* values."""
    if len(values) > most:
        raise invalid(argument, f"{len(values)} values, at most {most} are allowed", SHORTEN)


def write_scope(who: Identity, scope: str) -> str:
    """The visibility for a new memory; "" means private."""
    one_of(scope, "scope", VISIBILITIES)
    if scope == "team" and not who.team:
        raise ScopeDenied("you are in no team", "set ANAMNESIS_TEAM, or use private or shared")
    return scope or "private"
