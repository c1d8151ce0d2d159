"""The journal's files: names, modes, formats, and how to open them without write access."""

from __future__ import annotations

import functools
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from memory_core.errors import IncompatibleStore, InvalidInput, ReadOnly, StorageError
from memory_core.storage.errors import from_os_error, not_allowed
from memory_core.storage.journal.format import APPLICATION_ID, FORMAT, SCHEMA, Connection, first
from memory_core.storage.locks import open_private

log = logging.getLogger(__name__)

FILE = "journal.db"
WRITE_LOCK = "write.lock"

Signature: TypeAlias = tuple[tuple[int, int, int], ...]


def prepare(directory: Path) -> str:
    """Create *directory* (0700), its missing parents (0700) and an empty journal (0600).

    An existing directory that is open to others is closed to them; returns what was open, in words,
    or "". Files keep their modes, but a journal readable by others gets 0600. A directory that
    cannot be written is left alone. Raises ReadOnly, DiskFull, StorageError, or InvalidInput where
    SQLite could not open the journal.
    """
    journal, found = directory / FILE, ""
    name(journal)
    try:
        make_private(directory.absolute())
        found = _close_to_others(directory)
        if not journal.exists():
            if not _may_write(directory):
                problem = f"there is no journal in {directory} and none can be created"
                raise not_allowed(problem, directory)
            os.close(open_private(journal))
        elif _may_write(directory) and _open_to_others(journal):
            journal.chmod(0o600)
    except OSError as error:
        doing = f"create the journal in {directory}"
        raise from_os_error(error, doing, directory) from error
    return found


def name(path: Path) -> str:
    """*path* as SQLite and the journal take it, in UTF-8. Raises InvalidInput for other bytes."""
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise InvalidInput(
            f"{shown} is not UTF-8, as a path must be here", "choose another one"
        ) from None


def refuse_links(directory: Path) -> None:
    """Raise IncompatibleStore when the journal or a file beside it is a symbolic link.

    Through a link, SQLite looks for the log beside the file that is meant, and other programs
    beside the link; both then write. A data directory may be one.
    """
    for path in (directory / FILE, log_of(directory / FILE), index_of(directory / FILE)):
        if os.path.islink(path):  # noqa: PTH114 - False, no error, without the right to look
            raise IncompatibleStore(
                f"{path} is a symbolic link",
                "put the file itself there, or name its folder as the data directory",
            )


def refuse_remains(directory: Path) -> None:
    """Raise StorageError where the journal is missing or empty beside a table of memories.

    A new journal knows none of these, so that the next start would erase the table, which then is
    the last copy of every text.
    """
    try:
        if size(directory / FILE) or not any((directory / "table").glob("[1-9]*/*.lance")):
            return
    except OSError:
        return  # what opens the journal says why
    raise StorageError(
        f"the journal in {directory} is lost or empty, and the table beside it is not",
        f"put {FILE} back, restore a backup into another directory, or save what the table holds: "
        "`anamnesis salvage NEW_FOLDER`; to begin anew, move this one away",
    )


def _close_to_others(directory: Path) -> str:
    """Take from others what rights they have on *directory*, if that is safe; what was open.

    A folder that holds other things than a memory, or that everybody uses, keeps its mode: health
    names it.
    """
    status = directory.stat()
    mode = stat.S_IMODE(status.st_mode)
    if sys.platform == "win32" or not mode & 0o077 or status.st_uid != os.geteuid():
        return ""
    ours = (directory / FILE).exists() or not any(directory.iterdir())
    shared = mode & stat.S_ISVTX or directory.resolve() == Path.home().resolve()
    if not ours or shared:
        log.warning("%s can be read by others (mode %o)", directory, mode)
        return ""
    directory.chmod(mode & ~0o077)
    log.warning("%s could be read by others (mode %o); it is closed to them now", directory, mode)
    return f"{directory} could be read by others (mode {mode:o}) until it was opened"


def make_private(directory: Path) -> None:
    """Create *directory* and its missing parents with mode 0700; raises OSError."""
    if directory.is_dir():
        return
    make_private(directory.parent)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        return
    directory.chmod(0o700)
    sync_directory(directory.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in *directory* durable, where the system has a way to do so."""
    if sys.platform != "win32":
        file = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _open_to_others(file: Path) -> bool:
    status = file.stat()
    return sys.platform != "win32" and bool(status.st_mode & 0o077) and status.st_uid == os.getuid()


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def writable(directory: Path) -> bool:
    """True when this process may change the journal and create the files beside it."""
    return _may_write(directory) and _may_write(directory / FILE)


@contextmanager
def partial(target: Path) -> Iterator[Path]:
    """A new private file to fill; it is renamed to *target* at the end, or deleted on failure.

    Raises ReadOnly, DiskFull or StorageError.
    """
    path = target.with_name(f"{target.name}.partial")
    try:
        path.unlink(missing_ok=True)
        os.close(open_private(path))
        yield path
        path.rename(target)
        sync_directory(target.parent)
    except OSError as error:
        raise from_os_error(error, f"write {target.name}") from error
    finally:
        path.unlink(missing_ok=True)


class Source(NamedTuple):
    """How SQLite has to open a journal that cannot be written."""

    uri: str
    vfs: str | None
    alone: bool
    """True: no shared memory, so the log is indexed in this process (locking_mode EXCLUSIVE)."""
    live: bool
    """True: SQLite sees what writers do; False: compare the signature before each read."""


def reading_source(journal: Path) -> Source:
    """How to read *journal* without writing anything, and without missing what its log holds.

    The log needs an index in shared memory. While a writer is open, its index is shared. Without a
    writer, but with a log, the index is built in memory. Without a log the file is complete and is
    read as it is.
    """
    uri = journal.absolute().as_uri()
    if not size(log_of(journal)):
        return Source(f"{uri}?immutable=1", None, alone=False, live=False)
    if index_of(journal).exists():
        return Source(f"{uri}?mode=ro", None, alone=False, live=True)
    vfs = "win32-none" if sys.platform == "win32" else "unix-none"
    return Source(f"{uri}?mode=ro", vfs, alone=True, live=False)


def size(path: Path) -> int:
    """Bytes of a file, 0 when it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def log_of(journal: Path) -> Path:
    """The write-ahead log beside *journal*."""
    return journal.with_name(f"{journal.name}-wal")


def index_of(journal: Path) -> Path:
    """The shared memory beside *journal*, which indexes the write-ahead log."""
    return journal.with_name(f"{journal.name}-shm")


def signature(journal: Path) -> Signature:
    """Changes whenever the journal or its log does: inode, size and time of each."""
    found = []
    for path in (journal, log_of(journal)):
        try:
            status = path.stat()
        except FileNotFoundError:
            found.append((0, 0, 0))
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


_CLAIM = """
SELECT (SELECT application_id FROM pragma_application_id),
    (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)
"""
"""One statement reads one moment: another process may be creating the tables just now."""


def claimed(connection: Connection) -> bool:
    """True when the open file is a journal of ours, False when it is empty.

    Raises IncompatibleStore for a file of another program and for a newer format.
    """
    application, version, tables = connection.execute(_CLAIM).fetchall()[0]
    if not (application or version or tables):
        return False
    if application != APPLICATION_ID:
        raise IncompatibleStore(
            f"{FILE} belongs to another program (application id {application:#x})",
            "choose another data directory; nothing was changed",
        )
    if version > FORMAT:
        raise IncompatibleStore(
            f"{FILE} has format {version}; this program reads up to {FORMAT}",
            "upgrade anamnesis-mcp; nothing was changed",
        )
    if strange := _acting(connection):
        raise _not_ours(strange)
    return True


def require_schema(connection: Connection) -> None:
    """Raise IncompatibleStore unless the open file has exactly the schema that is created here."""
    found = set(connection.execute(_SCHEMA).fetchall())
    ours = _own_schema(type(connection))
    if version_of(connection) == FORMAT and found != ours:
        raise _not_ours(sorted({f"{row[0]} {row[1]}" for row in found ^ ours}))


def _not_ours(strange: Sequence[str]) -> IncompatibleStore:
    return IncompatibleStore(
        f"{FILE} does not have the schema of this program: {', '.join(strange[:5])}",
        "use a backup that nobody changed; nothing was changed",
    )


def _acting(connection: Connection) -> list[str]:
    """Triggers and views: this program makes none, and they would run with its statements."""
    sql = "SELECT type || ' ' || name FROM sqlite_schema WHERE type IN ('trigger', 'view')"
    return [str(row[0]) for row in connection.execute(sql).fetchall()]


_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


@functools.cache
def _own_schema(connect: Callable[[str], Connection]) -> frozenset[tuple[Any, ...]]:
    """The schema that this program creates."""
    fresh = connect(":memory:")
    fresh.execute(SCHEMA).fetchall()
    return frozenset(fresh.execute(_SCHEMA).fetchall())


def require_format(connection: Connection) -> None:
    """Raise unless the open journal has the format of this program.

    IncompatibleStore when another program has migrated it to a newer one; ReadOnly for an older one
    that cannot be migrated.
    """
    version = version_of(connection)
    if version > FORMAT:
        raise IncompatibleStore(
            f"{FILE} has format {version} now; this program reads up to {FORMAT}",
            "upgrade anamnesis-mcp; nothing was changed",
        )
    if version < FORMAT:
        raise ReadOnly(
            f"{FILE} has the older format {version}", "give this user write access to migrate it"
        )


def ready(connection: Connection) -> bool:
    """True when the open file has our tables of this format and a write-ahead log.

    Raises as claimed() does.
    """
    logged = claimed(connection) and first(connection, "PRAGMA journal_mode") == "wal"
    return logged and version_of(connection) == FORMAT


def create_tables(connection: Connection) -> None:
    """Create the write-ahead log and, in one transaction, the tables; under the write lock.

    A restored backup has the tables already and no log; an older journal is migrated.
    """
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    if not claimed(connection):
        connection.execute(SCHEMA).fetchall()
    migrate(connection, to=FORMAT)
    connection.execute("COMMIT")


Step = Callable[[Connection], None]

STEPS: Mapping[int, Step] = {}
"""Migrations from each older format to the next. There is one format so far, so none."""


def version_of(connection: Connection) -> int:
    """The format of the open journal, 0 for an empty file."""
    return int(first(connection, "PRAGMA user_version") or 0)


def migrate(connection: Connection, steps: Mapping[int, Step] = STEPS, to: int = FORMAT) -> int:
    """Migrate the open journal to format *to* inside the caller's transaction.

    An empty file and one of that format are left alone. Returns the number of migrations.
    """
    taken = 0
    while 0 < (version := version_of(connection)) < to:
        steps[version](connection)
        connection.execute(f"PRAGMA user_version = {version + 1}").fetchall()
        taken += 1
    return taken
