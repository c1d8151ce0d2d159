"""Erases a memory from the journal: its content is overwritten, its place in the order remains.

Everything is overwritten in place, with as many zero bytes or spaces. A deleted or shorter row
makes SQLite merge pages, and a cell that moves can leave a copy behind that secure_delete does not
reach (measured: 2 of 21,600 vectors forgotten by DELETE were still in the file). Rows of changes,
vectors and receipts are only appended and never change their size, so none of them moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory_core.storage.journal.format import (
    STORED,
    Connection,
    checksum,
    decode,
    encode,
    first,
    intact,
)

_OWN = f"""
SELECT {STORED} FROM changes AS c
WHERE target = ? AND kind <> 'forget' AND scrubbed = 0
"""

_LINKS = f"""
SELECT {STORED} FROM changes AS c
WHERE kind = 'link' AND seq > ? AND scrubbed = 0 AND instr(body, ?) > 0
"""

_ACCESSES = f"""
SELECT {STORED} FROM changes AS c
WHERE kind = 'access' AND seq > ? AND scrubbed = 0 AND instr(body, ?) > 0
"""

_SCRUB = """
UPDATE changes SET source = ?, body = ?, before = ?, scrubbed = 1, checksum = ? WHERE seq = ?
"""

_ERASE_VECTORS = """
UPDATE vectors SET data = zeroblob(octet_length(data)), gone = 1 WHERE memory = ? AND gone = 0
"""

_ERASE_RECEIPT = """
UPDATE receipts SET gone = 1, key = zeroblob(octet_length(key)),
    body = zeroblob(octet_length(body))
WHERE seq = ?
"""


def erase(connection: Connection, id: str) -> None:
    """Overwrite everything that the journal's tables hold of the memory *id*.

    A damaged link or access change that names it is scrubbed whole. Older pages in the write-ahead
    log are dropped by the next truncating checkpoint.
    """
    born = int(first(connection, "SELECT min(seq) FROM changes WHERE target = ?", (id,)) or 0)
    for row in connection.execute(_OWN, (id,)).fetchall():
        _scrub(connection, row)
    for row in connection.execute(_LINKS, (born, id)).fetchall():
        if not intact(row) or decode(row[9])["b"] == id:
            _scrub(connection, row)
    for row in connection.execute(_ACCESSES, (born, id)).fetchall():
        if intact(row):
            _leave_out(connection, row, id)
        else:
            _scrub(connection, row)
    connection.execute("DELETE FROM heads WHERE id = ?", (id,))
    connection.execute(_ERASE_VECTORS, (id,))
    _erase_receipts(connection, id)


def erase_vectors(connection: Connection, id: str, fingerprint: str) -> None:
    """Overwrite the vectors of one model."""
    connection.execute(f"{_ERASE_VECTORS} AND fingerprint = ?", (id, fingerprint))


def blank(
    connection: Connection, field: str, matches: Callable[[str, str], bool], seq: int
) -> None:
    """Empty a text field in put *seq* and its before-image where *matches*(memory id, value)."""
    sql = f"SELECT {STORED} FROM changes AS c WHERE seq = ? AND scrubbed = 0"
    for row in connection.execute(sql, (seq,)).fetchall():
        body, before = (blanked(text, row[3].decode(), field, matches) for text in row[9:11])
        _seal_again(connection, row, body, before)


def blanked(
    text: bytes | None, id: str, field: str, matches: Callable[[str, str], bool]
) -> bytes | None:
    """The image *text* with *field* emptied where *matches*(id, its value), of equal length."""
    image = None if text is None else decode(text)
    if text is None or not image or not image.get(field) or not matches(id, image[field]):
        return text
    image[field] = ""
    return encode(image).encode().ljust(len(text))


def _seal_again(
    connection: Connection, row: tuple[Any, ...], body: bytes | None, before: bytes | None
) -> None:
    sealed = checksum((*row[:9], body, before, row[11]))
    texts = (None if text is None else text.decode() for text in (body, before))
    sql = "UPDATE changes SET body = ?, before = ?, checksum = ? WHERE seq = ?"
    connection.execute(sql, (*texts, sealed, row[0]))


def _scrub(connection: Connection, row: tuple[Any, ...]) -> None:
    source, body, before = (
        None if text is None else bytes(len(text)) for text in (row[5], row[9], row[10])
    )
    scrubbed = (*row[:5], source, *row[6:9], body, before, 1)
    connection.execute(_SCRUB, (source, body, before, checksum(scrubbed), row[0]))


def _leave_out(connection: Connection, row: tuple[Any, ...], id: str) -> None:
    body = decode(row[9])
    kept = [at for at, each in enumerate(body["ids"]) if each != id]
    for name in ("ids", "counts", "last"):
        body[name] = [body[name][at] for at in kept]
    padded = encode(body).encode().ljust(len(row[9]))
    sealed = checksum((*row[:9], padded, *row[10:12]))
    sql = "UPDATE changes SET body = ?, checksum = ? WHERE seq = ?"
    connection.execute(sql, (padded.decode(), sealed, row[0]))


def _erase_receipts(connection: Connection, id: str) -> None:
    sql = "SELECT receipt FROM receipt_ids WHERE id = ?"
    for (number,) in connection.execute(sql, (id,)).fetchall():
        connection.execute(_ERASE_RECEIPT, (number,))
        connection.execute("DELETE FROM receipt_ids WHERE receipt = ?", (number,))
