"""A file that somebody else may have written: it is exactly a journal of ours, or is refused."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec

from memory_core.errors import IncompatibleStore, StorageError
from memory_core.records import Change
from memory_core.storage.journal import files
from memory_core.storage.journal.errors import from_sqlite
from memory_core.storage.journal.format import STORED, decode, intact, verified
from memory_core.storage.store import EMBEDDING, REEMBEDDING

MOST_CHARS = 1_000_000
"""Of a text, in any settings."""


def require_ours(file: Path) -> None:
    """Raise IncompatibleStore unless *file*, which nobody writes, is exactly a journal of ours.

    So it is in its tables and in each change and value that its checksum holds. StorageError when
    SQLite cannot read it.
    """
    try:
        uri = f"{file.absolute().as_uri()}?immutable=1"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            whole = files.claimed(connection)
            files.require_schema(connection)
            if whole:
                _require_entries(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise from_sqlite(getattr(error, "result", 0), 0, "read the backup", str(error)) from error
    if not whole:
        raise StorageError("the backup is empty", "use another backup; nothing was restored")


def _require_entries(connection: apsw.Connection) -> None:
    for row in connection.execute(f"SELECT {STORED} FROM changes AS c ORDER BY seq"):
        if intact(row):
            change = verified(row)
            if _unusable(change):
                raise IncompatibleStore(
                    f"change {change.seq} of the backup holds no text that a memory can have",
                    "use another backup; nothing was restored",
                )
    for key, value in connection.execute("SELECT key, value FROM meta"):
        if key in (EMBEDDING, REEMBEDDING) and not _is_model(value):
            raise IncompatibleStore(
                f"the backup names no model as {key}", "use another backup; nothing was restored"
            )


def _unusable(change: Change) -> bool:
    text = (change.body or {}).get("text", "")
    return change.kind == "put" and not (isinstance(text, str) and len(text) <= MOST_CHARS)


def _is_model(value: str) -> bool:
    try:
        model = decode(value)
        return model is None or (
            all(isinstance(model[name], str) for name in ("name", "fingerprint"))
            and type(model["dimension"]) is int
        )
    except (ValueError, LookupError, TypeError, RecursionError, msgspec.MsgspecError):
        return False
