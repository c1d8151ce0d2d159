"""The indexes of a store as a file: a start reads it and replays only what came after.

It is stored in the folder of the vector snapshot, under the same manifest, and holds arrays and one
JSON text. Measured with 10,000 memories: 0.1 s to read, 0.6 s to replay them from the journal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from memory_core.errors import StorageError
from memory_core.records import MemoryRecord
from memory_core.storage.errors import from_os_error
from memory_core.storage.index.bm25 import LexicalIndex
from memory_core.storage.index.columns import Columns
from memory_core.storage.journal.format import decode, encode

FILE = "indexes.npz"
LAYOUT = 2
"""Raise it when the same memory gets other values in a way that _PROBE does not show."""

_TEXT = "text"
_PROBE = MemoryRecord(
    id="probe",
    text="Did Zoë's e-mail of 7 May 2024 reach 3,141 users at 10.0.0.1? 東京 snake_case ran.",
    session="s",
    speaker="Ana",
    tags=("tag one",),
    keywords=("keyword two",),
    entities=("Zoë",),
    dates=("2024-05-07",),
    occurred_at=1_715_000_000.0,
)


def layout(index_text: Callable[[MemoryRecord], str]) -> str:
    """A hash that is another one for a version of this program that indexes otherwise."""
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
    with io_errors(folder), (folder / FILE).open("wb") as file:
        np.savez(file, allow_pickle=False, **{**arrays, _TEXT: text})


def read(folder: Path) -> dict[str, Any] | None:
    """The state that was written, lists for tuples; None when the snapshot has none.

    Raises StorageError when it is damaged.
    """
    facts = check(folder, only=FILE)
    if FILE not in facts["files"]:
        return None
    try:
        with io_errors(folder), np.load(folder / FILE, allow_pickle=False) as held:
            state = {name: held[name] for name in held.files}
        rest: dict[str, Any] = decode(state.pop(_TEXT).tobytes())
    except (BadZipFile, KeyError, ValueError) as problem:
        raise damaged(folder, f"{FILE} cannot be read ({problem})") from problem
    return state | rest


MANIFEST = "manifest.json"
FORMAT = 1
_REBUILD = "it is rebuilt from the journal"


def begin(folder: Path) -> None:
    """Create *folder* (mode 0700) and delete a manifest of an earlier attempt."""
    with io_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)


def finish(folder: Path, names: list[str], facts: Mapping[str, Any]) -> None:
    """Write the manifest: *facts*, the format, and size and SHA-256 of each file of *names*."""
    with io_errors(folder):
        for name in names:
            (folder / name).chmod(0o600)
        files = {name: _fingerprint(folder / name) for name in names}
        body = {**facts, "format": FORMAT, "files": files}
        path = folder / MANIFEST
        path.touch(mode=0o600)
        path.chmod(0o600)  # under any umask
        path.write_text(_text({**body, "checksum": _checksum(body)}), encoding="utf-8")


def check(
    folder: Path, *, fingerprint: str | None = None, only: str | None = None
) -> dict[str, Any]:
    """The facts of the snapshot in *folder*, after every file was verified.

    Reads every byte once (SHA-256, measured 1.8 GB/s), with *only* those of the file of that name.
    Raises StorageError when the manifest or a file is missing, damaged, of another format or not of
    *fingerprint*, if one is given.
    """
    with io_errors(folder):
        facts = _read(folder)
        other = fingerprint is not None and facts.get("fingerprint") != fingerprint
        if facts.get("format") != FORMAT or other:
            raise StorageError(
                f"the snapshot in {folder} has format {facts.get('format')!r} and fingerprint "
                f"{facts.get('fingerprint')!r}, not {FORMAT} and {fingerprint!r}",
                _REBUILD,
            )
        for name, expected in facts["files"].items():
            if only in (None, name) and _fingerprint(folder / name) != expected:
                raise damaged(folder, f"{name} is not what was written")
    return facts


def damaged(folder: Path, why: str) -> StorageError:
    """The error for a snapshot that cannot be used."""
    return StorageError(f"the snapshot in {folder} is damaged: {why}", _REBUILD)


@contextmanager
def io_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the operating system below *folder* into ours."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, f"use the snapshot in {folder}") from error


def _read(folder: Path) -> dict[str, Any]:
    try:
        facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except ValueError as error:
        raise damaged(folder, f"{MANIFEST} cannot be read ({error})") from error
    if not isinstance(facts, dict) or not isinstance(facts.get("files"), dict):
        raise damaged(folder, f"{MANIFEST} is not a manifest")
    if facts.pop("checksum", None) != _checksum(facts):
        raise damaged(folder, f"{MANIFEST} is not what was written")
    return facts


def _text(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def _checksum(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(facts).encode("utf-8")).hexdigest()


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
