"""Rows of an SQLite file, read page by page without its trees, which may be broken.

Written from the published file format (sqlite.org/fileformat2.html). Reads leaf pages of tables
only; a malformed page yields no rows and stops nothing. Newer images of a page are in the
write-ahead log, in order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_LEAF = 0x0D
_FRAME, _LOG = 24, 32
"""Bytes of the header of a frame, and of the log."""

_WIDTHS = (0, 1, 2, 3, 4, 6, 8)
_MOST = 2**26
"""Most bytes of a row; a larger length is damage."""

_WRONG = (IndexError, struct.error, UnicodeDecodeError, ValueError, OverflowError)


class StoredRow(NamedTuple):
    """A row as it is stored: its rowid, and its values (text as bytes; NULL for the rowid)."""

    rowid: int
    values: Sequence[Any]


class Pages:
    """The pages of a database file and of its log."""

    def __init__(self, database: Path, log: Path) -> None:
        """Read both files; the page size is the log's when the file has lost its own."""
        self._body = database.read_bytes()
        frames = log.read_bytes() if log.exists() else b""
        self.size = _page_size(self._body, frames)
        self._log = list(_frames(frames, self.size))
        self._newest = dict(self._log)

    def rows(self) -> Iterator[StoredRow]:
        """Every row of every table leaf, the older images of a page before the newer ones."""
        for number in range(1, len(self._body) // self.size + 1):
            yield from self._leaf(number, self._stored(number))
        for number, page in self._log:
            yield from self._leaf(number, page)

    def _stored(self, number: int) -> bytes:
        return self._body[(number - 1) * self.size : number * self.size]

    def _leaf(self, number: int, page: bytes) -> Iterator[StoredRow]:
        start = 100 if number == 1 else 0
        if len(page) < self.size or page[start] != _LEAF:
            return
        for place in range(int.from_bytes(page[start + 3 : start + 5])):
            pointer = start + 8 + 2 * place
            try:
                yield self._cell(page, int.from_bytes(page[pointer : pointer + 2]))
            except _WRONG:
                continue

    def _cell(self, page: bytes, at: int) -> StoredRow:
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        if length > _MOST:
            raise ValueError("longer than any row")
        most, least = self.size - 35, (self.size - 12) * 32 // 255 - 23
        if length <= most:
            return StoredRow(rowid, _values(page[at : at + length]))
        kept = least + (length - least) % (self.size - 4)
        kept = kept if kept <= most else least
        following = int.from_bytes(page[at + kept : at + kept + 4])
        rest = self._overflow(following, length - kept)
        return StoredRow(rowid, _values(page[at : at + kept] + rest))

    def _overflow(self, number: int, length: int) -> bytes:
        parts: list[bytes] = []
        while length > 0:
            page = self._newest.get(number) or self._stored(number)
            number, part = int.from_bytes(page[:4]), page[4 : 4 + length]
            if not part:
                raise ValueError("the row goes on nowhere")
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


def _page_size(body: bytes, frames: bytes) -> int:
    for found in (int.from_bytes(body[16:18]), int.from_bytes(frames[8:12])):
        size = 65_536 if found == 1 else found
        if 512 <= size <= 65_536 and size & (size - 1) == 0:
            return size
    return 4096


def _frames(log: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Page number and content of the frames of the log's current round."""
    salt = log[16:24]
    for start in range(_LOG, len(log) - _FRAME - size + 1, _FRAME + size):
        if log[start + 8 : start + 16] != salt:
            return
        yield int.from_bytes(log[start : start + 4]), log[start + _FRAME : start + _FRAME + size]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(8):
        byte = data[at + count]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    return value << 8 | data[at + 8], at + 9


def _values(payload: bytes) -> list[Any]:
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    found: list[Any] = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        found.append(value)
    return found


def _value(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    width = 8 if kind == 7 else _WIDTHS[kind] if kind < 7 else (kind - 12) // 2
    data = payload[at : at + width]
    if len(data) < width or width < 0:
        raise ValueError("the row is cut")
    if kind == 7:
        return struct.unpack(">d", data)[0], at + width
    return int.from_bytes(data, signed=True) if kind < 7 else data, at + width
