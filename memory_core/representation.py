"""The text of a memory that is embedded and indexed, the same at a write, a backfill, a rebuild."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_core.embedding.base import Embedder
from memory_core.errors import InvalidInput
from memory_core.records import MemoryRecord
from memory_core.text import passages, roles
from memory_core.text.time import timestamps


def embed_text(memory: MemoryRecord) -> str:
    """The text embedded for the whole of a memory: `speaker: text`, without a role's word."""
    return _prefix(memory) + memory.text


def index_text(memory: MemoryRecord) -> str:
    """What BM25 indexes: day, name, text, tags and keywords not in it, days that it names."""
    said = memory.text.casefold()
    labels = (label for label in (*memory.tags, *memory.keywords) if label.casefold() not in said)
    named = (_day_words(day) for day in memory.dates)
    day = timestamps.day_words(memory.occurred_at)
    return " ".join((day, _name(memory), memory.text, *labels, *named))


def _name(memory: MemoryRecord) -> str:
    """Who said it, "" for a speaker named by a role ("user", "the assistant").

    Half of a conversation would share that word, and a question about a user would find it.
    """
    return "" if roles.role_of(memory.speaker) else memory.speaker


def _prefix(memory: MemoryRecord) -> str:
    name = _name(memory)
    return f"{name}: " if name else ""


def _day_words(day: str) -> str:
    """7 May 2024 for 2024-05-07; "" for years and months, which are in the text as they are.

    "" also for what is no date: one malformed record must not stop the indexing of others.
    """
    try:
        return timestamps.day_words(timestamps.moment(day, "dates")[0]) if len(day) == 10 else ""
    except InvalidInput:
        return ""


def embed(embedder: Embedder, memory: MemoryRecord) -> tuple[list[int], NDArray[np.float32]]:
    """The document vectors of *memory*: part 0 the whole, 1.. its passages when several."""
    texts = _parts(memory)
    return list(range(len(texts))), embedder.documents(texts)


def _parts(memory: MemoryRecord) -> list[str]:
    """The texts that are embedded of *memory*: the whole, then its passages when several."""
    pieces = passages.passages(memory.text, packed=memory.role == "assistant")
    if len(pieces) == 1:
        pieces = []
    return [embed_text(memory), *(_prefix(memory) + piece for piece in pieces)]
