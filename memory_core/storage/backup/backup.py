"""Backups: a folder with a consistent copy of the journal and a manifest that verifies it.

The journal holds every memory; table, indexes and snapshots are rebuilt from it. Tokens for HTTP
and the model's weights are not part of a backup.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput, StorageError
from memory_core.records import Change
from memory_core.storage.backup import copies
from memory_core.storage.errors import from_os_error
from memory_core.storage.journal import files
from memory_core.storage.journal.foreign import require_ours
from memory_core.storage.journal.journal import Journal, Transaction
from memory_core.storage.locks import open_private
from memory_core.storage.store import EMBEDDING, REEMBEDDING, RESTORED_MODEL

MANIFEST = "backup.json"
VERSION = 1
_PIECE = 2**20
_DERIVED = ("table", "index")
_RESTORING = ".restoring"


@dataclass(frozen=True, slots=True)
class Backup:
    """The manifest: *sequence* and live *memories* of the copied journal, *at* epoch seconds."""

    version: int
    at: float
    sequence: int
    memories: int
    bytes: int
    sha256: str
    damaged: tuple[str, ...] = ()
    """Problems that the checksums of the journal showed when it was copied; empty when there were
    none."""


def create(source: Path, target: Path, clock: Callable[[], float]) -> Backup:
    """Copy the journal in *source* to the new or empty folder *target* while others write to it.

    The copy holds one moment of the journal, is read back and checked, and is complete once the
    manifest exists. Raises InvalidInput when *source* has no journal, or *target* is in it or not
    empty; DiskFull, ReadOnly or StorageError, and then *target* is as it was.
    """
    if not (source / files.FILE).exists():
        raise InvalidInput(f"there is no memory in {source}", "name its folder with --data-dir")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} is not an empty folder", "name a new one for each backup")
    if target.resolve().is_relative_to(source.resolve()):  # there forget would leave a text
        raise InvalidInput(f"{target} is in the data directory {source}", "name one outside of it")
    journal = target / files.FILE
    done, found = False, target.exists()
    try:
        files.make_private(target.absolute())
        live = Journal.open(source, clock=clock)
        try:
            live.backup(journal)
        finally:
            live.close()
        made = _examined(target, clock())
        _write(target / MANIFEST, json.dumps(asdict(made), indent=2))
        done = True
    except OSError as error:
        raise from_os_error(error, f"write the backup in {target}") from error
    finally:
        if not done:
            with suppress(OSError):  # there may be no folder
                journal.unlink(missing_ok=True)
                if not found:
                    target.rmdir()
    return made


def note(directory: Path, place: Path, made: Backup, clock: Callable[[], float]) -> None:
    """Note in the journal of *directory* that the backup *made* is in *place*.

    Raises Busy, DiskFull, ReadOnly or StorageError.
    """
    copy = copies.Copy("backup", files.name(place.absolute()), made.at, made.sequence)
    journal = Journal.open(directory, clock=clock)
    try:
        journal.write(lambda tx: tx.append(copies.noted(copy)))
    finally:
        journal.close()


def restore(
    backup: Path, directory: Path, clock: Callable[[], float] = time.time
) -> tuple[Backup, str]:
    """Restore the folder *backup* to *directory*, which must not hold a journal.

    Returns its manifest and the model that it works with, "" for none. That model is used where the
    settings name it: who made the backup does not decide where texts go. The copy is compared with
    the manifest and with what a journal holds before it gets its name. Raises InvalidInput when
    *backup* is incomplete or *directory* holds a journal, StorageError for a damaged backup,
    IncompatibleStore for one that is not exactly a journal.
    """
    manifest = read_manifest(backup)
    taken = _taken(directory)
    if taken:
        raise InvalidInput(
            f"{directory} holds a memory already ({taken})",
            "nothing was changed; name an empty folder with --data-dir, or move that one away",
        )
    try:
        files.make_private(directory.absolute())
        target = directory / files.FILE
        partial = target.with_name(f"{files.FILE}{_RESTORING}")
        try:
            digest = _copy(backup / files.FILE, partial)
            if digest != manifest.sha256:
                raise StorageError(
                    f"the backup in {backup} is damaged (its checksum does not match)",
                    "use another backup; nothing was restored",
                )
            require_ours(partial)
            os.link(partial, target)  # unlike a rename, never replaces a newer file
        except FileExistsError:
            raise InvalidInput(
                f"a memory was just created in {directory}", "stop its server and repeat"
            ) from None
        finally:
            partial.unlink(missing_ok=True)
        files.sync_directory(directory)
    except OSError as error:
        raise from_os_error(error, f"restore the backup to {directory}") from error
    return manifest, _note_model(directory, clock)


def _note_model(directory: Path, clock: Callable[[], float]) -> str:
    """Note in the journal in *directory* which model the backup works with; its name.

    A change to another model that was under way is over.
    """
    journal = Journal.open(directory, clock=clock, read_only=True)
    model, other = journal.meta(EMBEDDING), journal.meta(REEMBEDDING)
    journal.close()
    name = str(model["name"]) if model else ""
    values = {RESTORED_MODEL: name} | ({REEMBEDDING: None} if other else {})

    def note(tx: Transaction) -> None:
        for key, value in values.items():
            tx.append(Change("meta", key, {"value": value}, source="restore"))

    if name:
        journal = Journal.open(directory, clock=clock)
        try:
            journal.write(note)
        finally:
            journal.close()
    return name


def read_manifest(backup: Path) -> Backup:
    """The manifest of the folder *backup*. Raises InvalidInput when it is missing or malformed."""
    try:
        data: Any = json.loads((backup / MANIFEST).read_text("utf-8"))
        version = data["version"]
        if type(version) is int and version > VERSION:
            raise InvalidInput(
                f"the backup in {backup} has version {version}", "upgrade anamnesis-mcp"
            )
        known = {name: data[name] for name in Backup.__dataclass_fields__}
        return Backup(**{**known, "damaged": tuple(known["damaged"])})
    except OSError as error:
        raise InvalidInput(
            f"there is no complete backup in {backup} ({error.strerror})",
            f"name a folder that holds {MANIFEST}",
        ) from None
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidInput(f"{MANIFEST} in {backup} is damaged", "use another backup") from None


def _examined(folder: Path, at: float) -> Backup:
    """The manifest of the finished copy in *folder*, read back from the disk."""
    copy = Journal.open(folder, clock=lambda: at, read_only=True)
    try:
        damaged, sequence, counts = copy.check(), copy.last(), copy.stats()
    finally:
        copy.close()
    file = folder / files.FILE
    digest = _digest(file)
    return Backup(VERSION, at, sequence, counts["live"], files.size(file), digest, tuple(damaged))


def _taken(directory: Path) -> str:
    """The name of a file of a store in *directory*, or ""."""
    if not directory.is_dir():
        return directory.name if directory.exists() else ""
    names = sorted(entry.name for entry in directory.iterdir())
    left = f"{files.FILE}{_RESTORING}"  # by a restore that was killed
    mine = (n for n in names if (n.startswith(files.FILE) and n != left) or n in _DERIVED)
    return next(mine, "")


def _copy(source: Path, target: Path) -> str:
    """Copy a file to a new private one, durably; its SHA-256."""
    target.unlink(missing_ok=True)
    found = hashlib.sha256()
    descriptor = open_private(target)
    with source.open("rb") as reading, os.fdopen(descriptor, "wb") as writing:
        while piece := reading.read(_PIECE):
            found.update(piece)
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    return found.hexdigest()


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write(file: Path, text: str) -> None:
    with files.partial(file) as partial, partial.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
