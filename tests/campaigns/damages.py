"""Ways in which a file goes bad, and the files of a memory that are derived from its journal."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, list[Path], random.Random], None]


def zero(path: Path, others: list[Path], order: random.Random) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def zero_block(path: Path, others: list[Path], order: random.Random) -> None:
    body = bytearray(path.read_bytes())
    start = order.randrange(len(body) // 512 + 1) * 512
    body[start : start + 512] = bytes(len(body[start : start + 512]))
    path.write_bytes(bytes(body))


def truncate(path: Path, others: list[Path], order: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: order.randrange(path.stat().st_size + 1)])


def flip(path: Path, others: list[Path], order: random.Random) -> None:
    body = bytearray(path.read_bytes())
    if body:
        body[order.randrange(len(body))] ^= 1 << order.randrange(8)
    path.write_bytes(bytes(body))


def delete(path: Path, others: list[Path], order: random.Random) -> None:
    path.unlink()


def swap(path: Path, others: list[Path], order: random.Random) -> None:
    other = order.choice(others)
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)


WAYS: dict[str, Damage] = {
    each.__name__: each for each in (zero, zero_block, truncate, flip, delete, swap)
}


def derived(directory: Path) -> list[Path]:
    """Every file of the memory in *directory* but the journal with its log, in order."""
    return sorted(
        path
        for path in directory.rglob("*")
        if path.is_file() and path.name not in ("journal.db", "journal.db-wal")
    )


def spoil(directory: Path, way: str, order: random.Random) -> str:
    """Damage a derived file chosen by *order* in that *way*; its name."""
    files = derived(directory)
    path = order.choice(files)
    WAYS[way](path, [file for file in files if file != path], order)
    return str(path.relative_to(directory))
