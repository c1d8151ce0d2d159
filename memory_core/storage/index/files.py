"""The indexes of a store as a file, so that a start reads them and replays only what came after.

It lies in the folder of the vector snapshot, under the same manifest, and holds arrays and one JSON
text. Measured with 10,000 memories: 0.1 s to read, 0.6 s to replay them from the journal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from memory_core.records import Memory
from memory_core.storage import manifest
from memory_core.storage.index.columns import Columns
from memory_core.storage.journal.format import decode, encode
from memory_core.storage.index.bm25 import LexicalIndex

FILE = "indexes.npz"
LAYOUT = 1
"""Raise it when the same memory comes to other values in a way that _PROBE does not show."""

_TEXT = "text"
_PROBE = Memory(
    id="probe",
    text="Did Zoë's e-mail of 7 May 2024 reach 3,141 users at 10.0.0.1? 東京 snake_case ran.",
    session="s",
    speaker="Ana",
    tags=("tag one",),
    entities=("Zoë",),
    dates=("2024-05-07",),
    occurred_at=1_715_000_000.0,
)


def layout(index_text: Callable[[Memory], str]) -> str:
    """What tells states apart that this program and another version of it would make."""
    columns, lexical = Columns(), LexicalIndex()
    columns.put(_PROBE)
    lexical.put(0, index_text(_PROBE))
    only = np.zeros(1, np.int64)
    shown = [
        (name, getattr(value, "dtype", None), list(value))
        for state in (columns.state(only), lexical.state(only))
        for name, value in sorted(state.items())
    ]
    return hashlib.sha256(f"{LAYOUT} {shown}".encode()).hexdigest()


def write(folder: Path, state: Mapping[str, Any]) -> None:
    """Write *state*: arrays, and values that JSON can hold. Raises StorageError."""
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in state.items() if name not in arrays}
    text = np.frombuffer(encode(rest).encode("utf-8"), np.uint8)
    with manifest.io_errors(folder), (folder / FILE).open("wb") as file:
        np.savez(file, allow_pickle=False, **{**arrays, _TEXT: text})


def read(folder: Path) -> dict[str, Any] | None:
    """What `write` was given, lists for tuples; None when the snapshot in *folder* has no state.

    Raises StorageError when it is damaged.
    """
    facts = manifest.check(folder, only=FILE)
    if FILE not in facts["files"]:
        return None
    try:
        with manifest.io_errors(folder), np.load(folder / FILE, allow_pickle=False) as held:
            state = {name: held[name] for name in held.files}
        rest: dict[str, Any] = decode(state.pop(_TEXT).tobytes())
    except (BadZipFile, KeyError, ValueError) as problem:
        raise manifest.damaged(folder, f"{FILE} cannot be read ({problem})") from problem
    return state | rest
