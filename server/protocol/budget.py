"""Reduces an answer to a budget of characters.

Both channels show one selection, so they hold the same facts; a selection fits when the compact
JSON of the structure and the rendered text both fit. Dropped are, in this order: rejected memories
from the end; the neighbours of the lowest hits; the ends of long texts, for which the id to recall
is given; partial matches; the lowest memories; the oldest recent turns; and last the lesser fields
of the first memory, which is always included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from server.protocol import rendering

Structure = dict[str, Any]
Render = Callable[[Structure], str]

DEFAULT_CHARS = 8_000
"""Characters of an answer other than recall's, in each channel."""

CLIP_TO = 240
_LESSER = (
    "why",
    "derived_from",
    "sources",
    "affect",
    "emotions",
    "entities",
    "topic",
    "tags",
    "gist",
    "age",
    "session",
    "speaker",
    "source",
    "doubtful_since",
    "in_part",
    "doubted_by",
    "superseded_by",
)
_LONG_TEXTS = (
    "texts that end with [clipped: ID] are cut; recall that id, or read memory://item/{id}"
)


def clip(text: str, limit: int, id: str) -> str:
    """*text*, or its first *limit* characters and the *id* to recall for the rest."""
    rest = f"… [clipped: {id}]"
    if len(text) <= limit + len(rest):
        return text
    return text[:limit].rstrip() + rest


def fits(answer: Structure, budget: int, draw: Render) -> bool:
    """True when *answer* takes at most *budget* characters as compact JSON and as text."""
    return len(compact_json(answer)) <= budget and len(draw(answer)) <= budget


def compact_json(answer: Mapping[str, Any]) -> str:
    """*answer* as compact JSON, the form whose length counts against the budget."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def fit_recall(answer: Structure, budget: int) -> Structure:
    """*answer* reduced until both channels fit *budget* characters; one memory is always kept."""
    if fits(answer, budget, rendering.recall):
        return answer
    whole = answer | {"truncated": True}
    for reduced in (
        _with_fewer_rejected,
        _without_neighbours,
        _with_clipped_texts,
        _with_fewer_entries,
    ):
        whole = reduced(whole, budget)
        if fits(whole, budget, rendering.recall):
            return whole
    return _bare(whole, budget)


def fit_lists(answer: Structure, lists: Sequence[str], draw: Render) -> Structure:
    """*answer* within DEFAULT_CHARS: texts clipped, then *lists* cut from the end, in order."""
    if fits(answer, DEFAULT_CHARS, draw):
        return answer
    answer = answer | {"truncated": True}
    for name in lists:
        answer[name] = [_clipped(item, CLIP_TO) for item in answer.get(name, [])]
    for name in lists:
        keep = _most(len(answer[name]), partial(_fits_with_first, answer, name, draw))
        answer[name] = answer[name][:keep]
    return answer


def _fits_with_first(answer: Structure, name: str, draw: Render, count: int) -> bool:
    return fits(answer | {name: answer[name][:count]}, DEFAULT_CHARS, draw)


def _with_fewer_rejected(answer: Structure, budget: int) -> Structure:
    """Rejected memories are dropped first, from the end."""
    rejected = answer.get("rejected", [])

    def kept(count: int) -> Structure:
        rest = {"rejected": rejected[:count]} if count else {}
        return _without(answer, "rejected") | rest

    return kept(_most(len(rejected), lambda n: fits(kept(n), budget, rendering.recall)))


def _without_neighbours(answer: Structure, budget: int) -> Structure:
    """Neighbours are dropped hit by hit, the lowest hit first."""
    hits = [*answer["memories"], *answer.get("partial", [])]

    def stripped(keep: int) -> Structure:
        kept = [hit if n < keep else _without(hit, "before", "after") for n, hit in enumerate(hits)]
        return _with_hits(answer, kept)

    return stripped(_most(len(hits), lambda n: fits(stripped(n), budget, rendering.recall)))


def _with_clipped_texts(answer: Structure, budget: int) -> Structure:
    """All texts are clipped to one length, the longest that fits and at least CLIP_TO."""

    def cut(limit: int) -> Structure:
        shorter = _with_hits(
            answer, [_clipped(hit, limit) for hit in [*answer["memories"], *_partial(answer)]]
        )
        if "recent" in shorter:
            shorter["recent"] = [_clipped(turn, limit) for turn in shorter["recent"]]
        shorter["note"] = "; ".join(part for part in (answer.get("note"), _LONG_TEXTS) if part)
        return shorter

    extra = max(0, budget - CLIP_TO)
    return cut(CLIP_TO + _most(extra, lambda n: fits(cut(CLIP_TO + n), budget, rendering.recall)))


def _with_fewer_entries(answer: Structure, budget: int) -> Structure:
    """Partial matches are dropped, then memories but the first, then the oldest recent turns."""
    answer = _without(answer, "partial") if answer["memories"] else answer
    recent = answer.get("recent", [])
    memories = answer["memories"]

    def kept(hits: int, turns: int) -> Structure:
        shorter = answer | {"memories": memories[:hits]}
        return shorter | {"recent": recent[len(recent) - turns :]} if recent else shorter

    floor = min(1, len(memories))
    hits = floor + _most(
        len(memories) - floor,
        lambda n: fits(kept(floor + n, len(recent)), budget, rendering.recall),
    )
    turns = _most(len(recent), lambda n: fits(kept(hits, n), budget, rendering.recall))
    return kept(hits, turns)


def _bare(answer: Structure, budget: int) -> Structure:
    """The first memory, or partial match, without lesser fields and with the text that fits."""
    name = "memories" if answer["memories"] else "partial"
    only = answer.get(name, [])[:1]
    answer = _without(answer, "note", "recent", "partial")
    if not only:
        return answer
    for field in _LESSER:
        if fits(answer | {name: only}, budget, rendering.recall):
            return answer | {name: only}
        only = [_without(only[0], field)]
    text = only[0]["text"]

    def cut(limit: int) -> Structure:
        return answer | {name: [only[0] | {"text": clip(text, limit, only[0]["id"])}]}

    least = cut(_most(len(text), lambda n: fits(cut(n), budget, rendering.recall)))
    return least if answer["memories"] or fits(least, budget, rendering.recall) else answer


def _most(high: int, holds: Callable[[int], bool]) -> int:
    """The largest number from 0 to *high* for which *holds*, by bisection; 0 when it never does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _clipped(item: Structure | str, limit: int) -> Any:
    if isinstance(item, str) or "text" not in item:
        return item
    shorter = item | {"text": clip(item["text"], limit, item["id"])}
    if item.get("gist"):
        shorter["gist"] = clip(item["gist"], limit, item["id"])
    return shorter


def _with_hits(answer: Structure, hits: Sequence[Structure]) -> Structure:
    count = len(answer["memories"])
    changed = answer | {"memories": list(hits[:count])}
    return changed | {"partial": list(hits[count:])} if "partial" in answer else changed


def _partial(answer: Structure) -> list[Structure]:
    return list(answer.get("partial", []))


def _without(item: Structure, *names: str) -> Structure:
    return {name: value for name, value in item.items() if name not in names}
