"""The names that a store knows, so that the rules for names find them however they are written.

A name is known when a memory holds it that one may read; a single word when two do, because the
rules are wrong now and then and a mistake should not spread; and anybody who has spoken. Call
inside store.reading().
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from memory_core.records import Identity
from memory_core.storage.store import MemoryStore

HOLDERS = 2
"""Memories that hold a single word before it is known as a name."""


class Gazetteer(Mapping[str, str]):
    """Known names by their casefolded form; looked up one by one, so a write costs the same in any
    store.
    """

    def __init__(self, store: MemoryStore, who: Identity) -> None:
        """The names in *store* that *who* may know of."""
        self._graph, self._columns = store.graph, store.columns
        self._seen = store.readable(who)
        self._any = bool(self._seen.any())

    def __getitem__(self, key: str) -> str:
        """The name as it was first spelt. Raises KeyError for an unknown one."""
        name = self._name(key) if self._any else ""
        if not name:
            raise KeyError(key)
        return name

    def get(self, key: str, default: Any = None) -> Any:
        """The name as it was first spelt, *default* for an unknown one: most are, by far."""
        return (self._name(key) if self._any else "") or default

    def _name(self, key: str) -> str:
        rows = self._graph.rows_of(key)
        if rows:
            wanted = 1 if " " in key else HOLDERS
            if len(list(islice((row for row in rows if self._seen[row]), wanted))) == wanted:
                return self._graph.spelling(key)
        speaker = key.title()
        code = self._columns.code(speaker, "speaker")
        if code > 0 and bool(np.any(self._seen & (self._columns.speaker == code))):
            return speaker
        return ""

    def __iter__(self) -> Iterator[str]:
        """Every name of the readable memories, casefolded."""
        return (name.casefold() for name in self._graph.entities() if name.casefold() in self)

    def __len__(self) -> int:
        """How many names there are."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """True while there may be names; counting them would cost a walk over all."""
        return self._any
