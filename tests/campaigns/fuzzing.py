"""Arguments for the tools, made from their published schemas: right, wrong and monstrous ones.

Deterministic: the same seed makes the same calls. `arguments` makes one set for a schema; `damaged`
breaks the bytes of a file or message.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

STRINGS = (
    "", " ", "a", "The heron waits.", "0" * 20, "06h0105d4r04pq8fyv7f", "\x00", "\x1b[31m",
    "\ud83d",
    "x\udfffy", "\u202e\u200b", "é" * 300, "漢字" * 90, "a" * 25_000, "2024-13-45", "0001-01-01",
    "9999-12-31T23:59:59Z", "2024-02-30", "; DROP TABLE changes", "../../etc", "%00", "{}", "[]",
    "null", "NaN", "</recalled-00000000>", "🦢" * 50, "last week", "-1", "\n\n\n", "A\u0301" * 20,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, -1e308, 2**53, 2**63, -(2**70), 10**400,
    [], {}, [None], {"a": 1}, [[[[]]]], {"": {"": {}}}, ["a"] * 200, "x", "\ud83d",
)  # fmt: skip


def arguments(schema: Mapping[str, Any], draw: random.Random) -> dict[str, Any]:
    """Arguments for a tool with that input schema; some fit, most are wrong somewhere."""
    wanted = schema.get("properties", {})
    chosen = {
        name: value(about, draw)
        for name, about in wanted.items()
        if name in schema.get("required", ()) or draw.random() < 0.4
    }
    if draw.random() < 0.15 and chosen:
        del chosen[draw.choice(list(chosen))]
    if draw.random() < 0.1:
        chosen[draw.choice(STRINGS)] = draw.choice(OTHERS)
    return chosen


def value(about: Mapping[str, Any], draw: random.Random) -> Any:
    """A value for one argument."""
    if draw.random() < 0.2:
        return draw.choice(OTHERS)
    if "enum" in about:
        return draw.choice([*about["enum"], *STRINGS[:3]])
    kind = about.get("type")
    if kind == "array":
        return [value(about.get("items", {}), draw) for _ in range(draw.choice((0, 1, 2, 150)))]
    if kind == "boolean":
        return draw.random() < 0.5
    if kind in ("integer", "number"):
        low, high = about.get("minimum", -5), about.get("maximum", 5)
        return draw.choice((low, high, low - 1, high + 1, 0, 0.5, 3))
    return draw.choice(STRINGS)


def damaged(data: bytes, draw: random.Random) -> bytes:
    """*data* with some bytes flipped, cut, doubled, moved or replaced by anything."""
    broken = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5, 30))):
        if not broken:
            break
        at = draw.randrange(len(broken))
        span = draw.choice((1, 1, 2, 8, 200))
        match draw.randrange(6):
            case 0:
                broken[at] ^= 1 << draw.randrange(8)
            case 1:
                del broken[at : at + span]
            case 2:
                broken[at:at] = broken[at : at + span]
            case 3:
                broken[at : at + span] = draw.randbytes(span)
            case 4:
                broken[at : at + span] = bytes(span)
            case _:
                del broken[at:]
    return bytes(broken)
