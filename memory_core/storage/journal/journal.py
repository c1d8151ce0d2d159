"""The journal: every change, in order, durable before it is acknowledged. SQLite through apsw.

Only SQLite may open journal.db and its companions: closing another handle on them would drop the
locks that SQLite holds for the whole process.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memory_core.errors import (
    Busy,
    DiskFull,
    InvalidInput,
    MemoryCoreError,
    ReadOnly,
    StorageError,
)
from memory_core.storage.errors import from_os_error
from memory_core.storage.journal import files
from memory_core.storage.journal.errors import RESTORE, closed, from_sqlite, unwritable
from memory_core.storage.journal.format import DamagedChange, DamagedVectors
from memory_core.storage.journal.group_commit import GroupCommit, PendingWrite
from memory_core.storage.journal.presence import Presence
from memory_core.storage.journal.queries import Queries, rows_of
from memory_core.storage.journal.transaction import Transaction
from memory_core.storage.locks import FileLock

__all__ = ["DamagedChange", "DamagedVectors", "Journal", "Transaction"]

log = logging.getLogger(__name__)

R = TypeVar("R")

OLDEST_SQLITE = (3, 51, 3)
"""3.7.0 to 3.51.2 can lose committed pages when a commit races a checkpoint (the WAL-reset bug)."""

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI

_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON;
PRAGMA wal_autocheckpoint = 0;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -1024;
PRAGMA cell_size_check = ON;
PRAGMA trusted_schema = OFF;
"""

_TRUNCATE_WAIT_MS = 50
"""How long a truncating checkpoint waits for readers; writers of all processes wait too."""

_ALONE = (apsw.ConstraintError, apsw.MismatchError, apsw.SQLError, apsw.TooBigError)
"""Errors of one statement after which the rest of the transaction is still valid."""


class Journal(Queries):
    """The changes of one data directory, shared by any number of threads and processes.

    Each statement is a short read transaction of its own; none outlives its call. Queries raise
    StorageError when the file cannot be read, and DamagedChange or DamagedVectors where a row does
    not match its checksum.
    """

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        clock: Callable[[], float],
        lock_seconds: float = 2.0,
        read_only: bool = False,
    ) -> Journal:
        """Open the journal in *directory*, creating both where they are missing.

        The directory is created with mode 0700, files with 0600. Where the directory cannot be
        written, or with *read_only*, which creates nothing, the journal opens for reading and
        write() raises ReadOnly. *clock* gives the time of changes in seconds; *lock_seconds* bounds
        every wait for another process.
        Raises IncompatibleStore for a file of another program or of a newer format, Busy,
        DiskFull, ReadOnly (nothing to read and no right to create it) or StorageError.
        """
        _require_sqlite()
        return cls(directory, clock, lock_seconds, read_only)

    def __init__(
        self, directory: Path, clock: Callable[[], float], lock_seconds: float, read_only: bool
    ) -> None:
        """Use Journal.open."""
        super().__init__(self._read)
        self.commits = 0
        """Commits made by this object; fewer than writes when callers share them."""
        self._path = directory / files.FILE
        self._clock = clock
        self._lock_seconds = lock_seconds
        self._lock = FileLock(directory / files.WRITE_LOCK)
        self._group = GroupCommit(self._exclusive, self._commit)
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._writer: apsw.Connection | None = None
        self._doubtful = False
        self._closed = False
        self._reached = 0
        files.refuse_links(directory)
        files.refuse_remains(directory)
        self.was_open = "" if read_only else files.prepare(directory)
        """What of the directory was open to others before, in words; "" for nothing."""
        self.read_only = read_only or not files.writable(directory)
        self._presence = Presence(self._path)
        self._reader: apsw.Connection | None
        self._reader, self._seen = self._open()
        with self._or_close(self._reader, "open the journal"):
            self._presence.require_journal()

    def _open(self) -> tuple[apsw.Connection, files.Signature | None]:
        if self.read_only:
            return self._open_unwritable()
        try:
            return self._open_writable(), None
        except DiskFull:  # no room even for SQLite's shared memory: read what is there
            with suppress(ReadOnly):
                return self._open_unwritable()
            raise

    def _open_writable(self) -> apsw.Connection:
        writer = self._connect()
        with self._or_close(writer, "open the journal"):
            if not files.ready(writer):
                with self._lock.hold(self._lock_seconds):
                    files.create_tables(writer)
            self._sync_recovered(writer)
            reader = self._second()
        self._writer = writer
        return reader

    def _second(self) -> apsw.Connection:
        """A connection for reading beside the writer, and both noted as what is open."""
        reader = self._connect()
        with self._or_close(reader, "open the journal"):
            files.require_format(reader)  # the first read opens the log and its index
            self._presence.note()
        return reader

    def _sync_recovered(self, writer: apsw.Connection) -> None:
        """Sync what a killed process left in the log without having synced it.

        SQLite's recovery accepts such a commit. It was never acknowledged, but a repeated call
        would be, because its idempotency key is found. Copying the log syncs it. Skipped while
        another process is writing: it has recovered the log itself.
        """
        if files.size(files.log_of(self._path)) and self._lock.acquire(self._lock_seconds):
            try:
                writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error as error:
                log.warning("the journal's log was not copied at open: %s", error)
            finally:
                self._lock.release()

    def _open_unwritable(self) -> tuple[apsw.Connection, files.Signature | None]:
        """A reading connection, and a signature to compare if SQLite does not see changes."""
        try:
            seen = files.signature(self._path)
            source = files.reading_source(self._path)
        except OSError as error:
            raise from_os_error(error, "open the journal", self._path.parent) from error
        reader = self._connect(source)
        with self._or_close(reader, "open the journal"):
            if not files.claimed(reader):
                raise ReadOnly("the journal is empty", "give this user write access once")
            files.require_format(reader)
        return reader, None if source.live else seen

    def _connect(self, source: files.Source | None = None) -> apsw.Connection:
        try:
            if source is None:
                connection = apsw.Connection(
                    files.name(self._path), flags=apsw.SQLITE_OPEN_READWRITE
                )
            else:
                connection = apsw.Connection(source.uri, flags=_READ_ONLY, vfs=source.vfs)
        except apsw.Error as error:
            raise self._failure(error, None, "open the journal") from error
        with self._or_close(connection, "open the journal"):
            connection.set_busy_timeout(int(self._lock_seconds * 1000))
            if source is not None and source.alone:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
            connection.execute(_SETTINGS).fetchall()
        return connection

    # Writing

    def write(self, build: Callable[[Transaction], R]) -> R:
        """The result of *build*, once its changes are durable; concurrent callers share a commit.

        *build* gets a Transaction, runs in any thread that is writing at that moment, and must be
        short: no embedding, no model, no other lock. When it raises, only its changes are undone
        and the exception is raised here. Raises Busy (lock), DiskFull, ReadOnly, StorageError; then
        nothing of that commit was acknowledged.
        """
        if self.read_only:
            raise unwritable(self._path.parent)
        return self._group.run(build, self._lock_seconds)

    @contextmanager
    def _exclusive(self, deadline: float) -> Iterator[None]:
        if not self._writing.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise Busy("a commit or checkpoint of this process takes long", "repeat the call")
        try:
            if self._closed:
                raise closed()
            self._presence.require_journal()
            with self._lock.hold(max(0.0, deadline - time.monotonic())):
                yield
        finally:
            self._writing.release()

    def _commit(self, entries: list[PendingWrite]) -> None:
        """Commit *entries* to the files at the journal's paths, or acknowledge none of them."""
        self._rejoin()
        self._write_out(entries)
        self._rejoin()

    def _write_out(self, entries: list[PendingWrite]) -> None:
        writer = self._writer or self._reopen_writer()
        try:
            writer.execute("BEGIN IMMEDIATE")
            files.require_format(writer)
            for entry in entries:
                self._run(writer, entry)
            reached = Queries(rows_of(writer)).last()
            writer.execute("COMMIT")
        except apsw.Error as error:
            failure = self._failure(error, writer, "write the journal")
            self._roll_back(writer, discard=not isinstance(failure, Busy))
            self._doubtful = not isinstance(error, apsw.FullError | apsw.BusyError)
            raise failure from error
        except BaseException:
            self._roll_back(writer, discard=False)
            raise
        self.commits += 1
        self._reached = reached

    def _run(self, writer: apsw.Connection, entry: PendingWrite) -> None:
        writer.execute("SAVEPOINT entry")
        try:
            entry.result = entry.build(Transaction(writer, self._clock()))
        except apsw.Error as error:
            if not isinstance(error, _ALONE) or not writer.in_transaction:
                raise
            entry.error = self._failure(error, writer, "write the journal")
            entry.error.__cause__ = error
        except Exception as error:  # handed to the caller whose function raised it
            entry.error = error
        if entry.error is not None:
            writer.execute("ROLLBACK TO entry")
        writer.execute("RELEASE entry")

    def _roll_back(self, writer: apsw.Connection, *, discard: bool) -> None:
        with suppress(apsw.Error):
            if writer.in_transaction:
                writer.execute("ROLLBACK")
        if discard:
            self._writer = None
            writer.close(force=True)

    def _reopen_writer(self) -> apsw.Connection:
        """A new writing connection after a failure, under both locks.

        Copying the log makes room in it on a full disk. It is required after a failed sync: the log
        may end in frames that a later recovery would accept although they are not on the disk.
        """
        writer = self._connect()
        with self._or_close(writer, "check the journal after a failed write"):
            try:
                writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error:
                if self._doubtful:
                    raise
            if self._doubtful:
                Queries(rows_of(writer)).require_whole()
        self._doubtful = False
        self._writer = writer
        return writer

    # Files that go away

    def require_present(self) -> None:
        """Raise StorageError unless what is open is what lies at the journal's path.

        Costs a few calls of stat. A log or shared memory that somebody deleted is opened anew,
        which loses nothing; Busy when that has to wait too long for another process.
        """
        if self._presence.intact:
            return
        with self._exclusive(time.monotonic() + self._lock_seconds):
            self._rejoin()

    def _rejoin(self) -> None:
        """Open log and shared memory anew where they are no longer at their paths; locks held.

        A deleted log is still open here, so it is copied into the journal first. Where another one
        has taken its place, the process that made it has copied the old one, and the index no
        longer fits the log that is open: nothing may be read with it.
        """
        if self._presence.intact:
            return
        self._presence.require_journal()
        with self._reading, self._translated("open the journal's log anew"):
            saved = self._reader if self._presence.log_missing else None
            if saved is not None and not self._copy_log(saved, truncate=False):
                raise Busy("journal.db-wal was deleted while it was read", "repeat the call")
            self._drop_connections()
            self._reader = self._second()
            found = Queries(rows_of(self._reader)).last()
        log.warning("the journal's log was deleted while it was open; it was opened anew")
        if found < self._reached:
            raise StorageError(
                f"journal.db-wal was deleted while it was open, and changes {found + 1} to"
                f" {self._reached} were in it",
                RESTORE,
            )

    def _drop_connections(self) -> None:
        """Close both without touching the log at their path, which may be another one by now."""
        for connection in (self._writer, self._reader):
            if connection is not None:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close(force=True)
        self._reader = self._writer = None

    # Reading

    def _read(self, sql: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._reading:
            reader = self._current_reader()
            try:
                return reader.execute(sql, bindings).fetchall()
            except apsw.Error as error:
                raise self._failure(error, reader, "read the journal") from error
            except UnicodeDecodeError as error:
                raise StorageError(
                    "a text in the journal is damaged", "restore a backup"
                ) from error

    def _current_reader(self) -> apsw.Connection:
        if self._reader is None:
            raise closed()
        if self._seen is not None and files.signature(self._path) != self._seen:
            fresh, self._seen = self._open_unwritable()
            self._reader.close(force=True)
            self._reader = fresh
        return self._reader

    @contextmanager
    def _extra_reader(self) -> Iterator[apsw.Connection]:
        self.require_present()
        with self._reading:
            self._current_reader()
            shared = self._seen is None and not self.read_only
            extra = self._connect() if shared else self._open_unwritable()[0]
        try:
            yield extra
            self._presence.require_journal()
        finally:
            extra.close(force=True)

    # Maintenance

    def checkpoint(self, *, truncate: bool = False) -> bool:
        """Copy the write-ahead log into the database; False while a reader or writer prevents it.

        With *truncate* the log is also emptied, which makes forgotten content unreadable. Raises
        DiskFull, ReadOnly or StorageError.
        """
        if self.read_only:
            raise unwritable(self._path.parent)
        try:
            with self._exclusive(time.monotonic() + self._lock_seconds):
                self._rejoin()
                return self._copy_log(self._writer or self._reopen_writer(), truncate)
        except Busy:
            return False

    def _copy_log(self, writer: apsw.Connection, truncate: bool) -> bool:
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        writer.set_busy_timeout(_TRUNCATE_WAIT_MS)
        try:
            frames, copied = writer.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            return False
        except apsw.Error as error:
            raise self._failure(error, writer, "empty the write-ahead log") from error
        finally:
            writer.set_busy_timeout(int(self._lock_seconds * 1000))
        return frames == copied

    def backup(self, target: Path) -> None:
        """Write a consistent copy to the file *target* (mode 0600) while others write.

        Raises InvalidInput when *target* exists; DiskFull, ReadOnly or StorageError.
        """
        if target.exists():
            raise InvalidInput(f"{target} exists", "name a file that does not exist")
        with files.partial(target) as partial, self._extra_reader() as source:
            copy = apsw.Connection(files.name(partial))
            with self._or_close(copy, "write the backup"):
                with copy.backup("main", source, "main") as progress:
                    progress.step()
                copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            copy.close()

    def check(self) -> list[str]:
        """Problems that quick_check and the checksums of all changes and vectors show; [] for none.

        Reads everything, on a connection of its own, so that no call waits for it.
        """
        with self._extra_reader() as reader:
            try:
                return Queries(rows_of(reader)).problems()
            except apsw.Error as error:
                return [f"{self._failure(error, reader, 'read the journal').problem}"]

    def without_vectors(self, fingerprint: str, limit: int) -> list[str]:
        """As in Queries, on a connection of its own: it reads everything, and no call waits."""
        with self._extra_reader() as reader:
            try:
                return Queries(rows_of(reader)).without_vectors(fingerprint, limit)
            except apsw.Error as error:
                raise self._failure(error, reader, "read the journal") from error

    def stats(self) -> dict[str, int]:
        """`bytes` and `wal_bytes` on disk, number of `changes` and of `live` memories."""
        sizes = {
            "bytes": files.size(self._path),
            "wal_bytes": files.size(files.log_of(self._path)),
        }
        return sizes | self.counts()

    def close(self) -> None:
        """Wait for the commit under way and close; later calls raise StorageError. Idempotent."""
        with self._writing, self._reading:
            self._closed = True
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close(force=True)
            self._reader = self._writer = None

    # Errors

    @contextmanager
    def _or_close(self, connection: apsw.Connection, doing: str) -> Iterator[None]:
        """Close the connection when the block fails; translate the vendor's errors."""
        try:
            yield
        except apsw.Error as error:
            failure = self._failure(error, connection, doing)
            connection.close(force=True)
            raise failure from error
        except BaseException:
            connection.close(force=True)
            raise

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        """Translate the vendor's errors of the block."""
        try:
            yield
        except apsw.Error as error:
            raise self._failure(error, None, doing) from error

    def _failure(
        self, error: apsw.Error, connection: apsw.Connection | None, doing: str
    ) -> MemoryCoreError:
        number = 0 if connection is None else connection.system_errno
        if not number and not os.access(self._path, os.R_OK):
            number = errno.EACCES
        code = getattr(error, "result", 0)
        return from_sqlite(code, number, doing, str(error), self._path.parent)


def _require_sqlite() -> None:
    version = tuple(int(each) for each in apsw.sqlite_lib_version().split("."))
    if version < OLDEST_SQLITE:
        raise StorageError(
            f"SQLite {apsw.sqlite_lib_version()} can lose committed changes",
            "install the pinned apsw: pip install --force-reinstall anamnesis-mcp",
        )
