"""What a disk may hold after the power went, from a record of everything that was done to it.

A write is only sure to be there once its file was synced, a name only once its directory was. Until
then the disk may hold any part of it: nothing, some sectors and not others, or zeros where the file
grew. Names of one directory come to the disk in their order, as journaling file systems do it.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SECTOR = 512
_HEAD = struct.Struct("=IIIIqq")

WAYS = ("dropped", "kept", "zeroed", "reordered")


class Event(NamedTuple):
    """One change of the disk, or (kind "#") something that the process said."""

    kind: str
    path: str
    other: str
    offset: int
    data: bytes


def events(record: Path) -> list[Event]:
    """What the shim recorded, in order; one that a kill cut off is left out."""
    body, place, found = record.read_bytes(), 0, []
    while place + _HEAD.size <= len(body):
        kind, path, other, _, offset, length = _HEAD.unpack_from(body, place)
        place += _HEAD.size
        if place + path + other + length > len(body):
            break
        names = body[place : place + path].decode(), body[place + path : place + path + other]
        place += path + other
        found.append(
            Event(chr(kind), names[0], names[1].decode(), offset, body[place : place + length])
        )
        place += length
    return found


class Change(NamedTuple):
    """A change of a file's content that is not synced: data at an offset, or (data None) a size."""

    offset: int
    data: bytes | None


@dataclass
class Inode:
    """A file or folder: what is surely on the disk, and what was done to it since."""

    folder: bool = False
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        self.durable, self.pending = self.content(self.pending), []

    def content(self, changes: list[Change]) -> bytearray:
        body = bytearray(self.durable)
        for offset, data in changes:
            if data is None:
                del body[offset:]
                body.extend(bytes(offset - len(body)))
            else:
                body.extend(bytes(max(0, offset - len(body))))
                body[offset : offset + len(data)] = data
        return body

    def guess(self, way: str, order: random.Random) -> bytearray:
        """What may be on the disk."""
        if way == "dropped":
            return bytearray(self.durable)
        if way == "kept":
            return self.content(self.pending)
        if way == "zeroed":
            lost = [
                c if c.data is None else Change(c.offset, bytes(len(c.data))) for c in self.pending
            ]
            return self.content(
                [order.choice(pair) for pair in zip(self.pending, lost, strict=True)]
            )
        return self.content([sector for sector in self._sectors() if order.random() < 0.5])

    def _sectors(self) -> Iterator[Change]:
        for offset, data in self.pending:
            if data is None:
                yield Change(offset, None)
                continue
            place = 0
            while place < len(data):
                end = (offset + place) // SECTOR * SECTOR + SECTOR - offset
                yield Change(offset + place, data[place:end])
                place = end


Names = dict[str, Inode]


class Disk:
    """Follows the events below *root* and tells what may be left of them."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._names: Names = {root: Inode(folder=True)}
        self._durable: Names = dict(self._names)
        self._pending: list[tuple[Event, Inode | None]] = []

    def follow(self, event: Event) -> None:
        """Do what *event* says."""
        inode = self._names.get(event.path)
        if event.kind in "cm":
            inode = Inode(folder=event.kind == "m")
        if event.kind == "w" and inode is not None:
            inode.pending.append(Change(event.offset, event.data))
        elif event.kind == "t" and inode is not None:
            inode.pending.append(Change(event.offset, None))
        elif event.kind == "s" and inode is not None:
            self._sync(event.path, inode)
        elif event.kind in "crlumd":
            self._pending.append((event, inode))
            _rename(self._names, event, inode)

    def _sync(self, path: str, inode: Inode) -> None:
        if not inode.folder:
            inode.sync()
            return
        late = []
        for event, made in self._pending:
            if path in (_folder(event.path), _folder(event.other or event.path)):
                _rename(self._durable, event, made)
            else:
                late.append((event, made))
        self._pending = late

    def guess(self, way: str, order: random.Random) -> dict[str, bytes | None]:
        """What may be on the disk: relative path -> content, None for a folder."""
        names, certain = dict(self._durable), len(self._pending)
        for event, made in self._pending[: _share(certain, way, order)]:
            _rename(names, event, made)
        found: dict[str, bytes | None] = {}
        for path in sorted(names):
            if path != self._root and _folder(path) in names:
                inode = names[path]
                content = None if inode.folder else bytes(inode.guess(way, order))
                found[path[len(self._root) + 1 :]] = content
        return found


def _share(count: int, way: str, order: random.Random) -> int:
    return {"dropped": 0, "kept": count}.get(way, order.randint(0, count))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _rename(names: Names, event: Event, inode: Inode | None) -> None:
    if event.kind in "ud":
        names.pop(event.path, None)
    elif event.kind in "cm":
        assert inode is not None
        names[event.path] = inode
    elif event.path in names:
        names[event.other] = names[event.path]
        if event.kind == "r":
            for path in [p for p in names if p.startswith(event.path + "/")]:
                names[event.other + path[len(event.path) :]] = names.pop(path)
            del names[event.path]


def lay_out(state: dict[str, bytes | None], directory: Path) -> None:
    """Write a guess into *directory*, private as the program makes it."""
    directory.mkdir(mode=0o700)
    for name, content in state.items():
        path = directory / name
        if content is None:
            path.mkdir(mode=0o700)
        else:
            path.write_bytes(content)
            path.chmod(0o600)
