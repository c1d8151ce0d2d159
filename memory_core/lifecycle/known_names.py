"""The names that a store knows, which are found in a text however they are written.

A name is known when a readable memory holds it; a single word when two do, since the rules are
sometimes wrong and a mistake should not spread; and the name of every speaker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from memory_core.scoring.arrays import Mask
from memory_core.storage.view import View

HOLDERS = 2
"""Memories that must hold a single word before it is known as a name."""


class KnownNames(Mapping[str, str]):
    """Names by their casefolded form, looked up one by one: a write costs the same in any store."""

    def __init__(self, view: View, readable: Mask) -> None:
        """The names in *view* of the *readable* rows."""
        self._graph, self._columns = view.graph, view.columns
        self._seen = readable
        self._namings = view.graph.namings(readable)
        self._any = bool(self._seen.any())

    def __getitem__(self, key: str) -> str:
        """The name as it was first spelt. Raises KeyError for an unknown one."""
        name = self._name(key) if self._any else ""
        if not name:
            raise KeyError(key)
        return name

    def get(self, key: str, default: Any = None) -> Any:
        """The name as it was first spelt, *default* for an unknown one; most words are unknown."""
        return (self._name(key) if self._any else "") or default

    def _name(self, key: str) -> str:
        rows = self._graph.rows_of(key)
        if rows:
            wanted = 1 if " " in key else HOLDERS
            if len(list(islice((row for row in rows if self._seen[row]), wanted))) == wanted:
                return self._namings.spelling(key)
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
        """True when there may be names; counting them would read all of them."""
        return self._any
