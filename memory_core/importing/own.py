"""Records of our own form: what one says of a memory, its fields checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_core import validation
from memory_core.errors import InvalidInput
from memory_core.interchange import jsonl
from memory_core.lifecycle import stamps
from memory_core.records import MemoryRecord
from memory_core.remember.merge import Brought


def memory(record: Mapping[str, Any], now: float) -> tuple[MemoryRecord, tuple[str, ...]]:
    """The memory of *record*, said *now* where it gives no time, and warnings; see from_record."""
    told = with_when(record, now)
    fields = {name: value for name, value in told.items() if name not in ("links", "stamps")}
    found, warnings = jsonl.from_record(fields)
    return found if "occurred_at" in fields else replace(found, occurred_at=now), warnings


def brought(record: Mapping[str, Any]) -> Brought:
    """What *record* brings besides a memory. Raises InvalidInput for stamps that are none."""
    return Brought(stamps.read(record.get("stamps", {})), fields=frozenset(record))


def with_when(record: Mapping[str, Any], now: float) -> Mapping[str, Any]:
    """*record* with what it calls `when`, as remember does, as its `occurred_at`.

    An exported memory has no `when`. Raises InvalidInput for what remember does not take.
    """
    if "when" not in record or "occurred_at" in record:
        return record
    when = validation.when(record["when"], "when", now)
    return {name: v for name, v in record.items() if name != "when"} | {"occurred_at": when}


def text_of(record: Mapping[str, Any]) -> str:
    """The text of a *record* of ours; "" when it cannot be stored."""
    try:
        return jsonl.from_record({"text": record.get("text")})[0].text
    except InvalidInput:
        return ""
