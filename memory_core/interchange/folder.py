"""The folder by which machines are kept in step: for each machine files that only it appends to.

What is forgotten is blanked there by it, or by the one that it became when it was restored.

Any service that copies files may carry it. Lines may come late, torn or in any order; a reader
takes whole lines and comes back for the rest. Nothing is locked and nothing is shared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from memory_core.errors import InvalidInput, StorageError
from memory_core.interchange.found import Problem
from memory_core.records import is_id

SEGMENT_BYTES = 4 * 2**20
"""A file that is larger is not appended to: services send a changed file anew."""

LINE_BYTES = 256 * 2**20


class SyncFolder:
    """The folder of one path, as the memory of one machine writes and reads it."""

    def __init__(self, path: str) -> None:
        """Raises InvalidInput when *path* is no folder: a drive that is not mounted is no reason
        to begin anew."""
        self.path = Path(path).expanduser()
        if not self.path.is_dir():
            raise InvalidInput(f"{path} is no folder", "create it first, or mount it")

    def sizes(self, machine: str) -> dict[str, int]:
        """The names of the files of *machine* and how many bytes each has."""
        return {path.name: path.stat().st_size for path in self._files(machine)}

    def others(self, machine: str) -> list[tuple[str, Path]]:
        """The files of all other machines, each with its name, in the order of their names."""
        names = (each.name for each in self.path.iterdir() if is_id(each.name))
        found = (path for name in names if name != machine for path in self._files(name))
        return sorted((f"{path.parent.name}/{path.name}", path) for path in found)

    def _files(self, machine: str) -> list[Path]:
        place = self.path / machine
        if place.is_symlink() or not place.is_dir():
            return []
        found = (path for path in place.glob("*.jsonl") if path.is_file() and not path.is_symlink())
        return sorted(found)

    # Writing

    def next_name(self, own: Mapping[str, int], *, fresh: bool) -> str:
        """The file that the next lines go to, of files of the sizes *own*; a new one if *fresh*.

        No name is given twice, also when all files were deleted: others read on where a file of the
        same name ended.
        """
        last = max(own, default="")
        if last and own[last] < SEGMENT_BYTES and not fresh:
            return last
        number = int(last[:6]) + 1 if last else 1
        return f"{number:06}-{token_hex(4)}.jsonl"

    def append(self, machine: str, name: str, records: Sequence[Mapping[str, Any]]) -> int:
        """Append *records* to a file of *machine*, on the disk; its size then.

        Raises a StorageError.
        """
        place = self.path / machine
        lines = b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in records)
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(place / name, flags, 0o600), "r+b") as to:
                torn = _torn(to)
                to.seek(-torn, os.SEEK_END)
                to.write((b" " * torn + b"\n" if torn else b"") + lines)
                to.flush()
                os.fsync(to.fileno())
                return to.tell()
        except OSError as problem:
            raise self._unwritable(problem) from None

    def blank(self, machine: str, gone: Collection[str]) -> int:
        """Overwrite the lines of *machine* on the memories *gone* with spaces; how many.

        No file changes its length, so that readers go on where they were. Raises a StorageError.
        """
        count = 0
        try:
            for path in self._files(machine):
                with path.open("r+b") as file:
                    for line in iter(lambda file=file: file.readline(LINE_BYTES), b""):  # type: ignore[misc]
                        if _about(line) in gone:
                            end = file.tell()
                            file.seek(end - len(line))
                            file.write(b" " * (len(line) - 1) + b"\n")
                            file.seek(end)
                            count += 1
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as problem:
            raise self._unwritable(problem) from None
        return count

    def _unwritable(self, problem: OSError) -> StorageError:
        why = f"{self.path} cannot be written ({problem.strerror})"
        return StorageError(why, "check the folder and sync again; nothing is lost")


def _torn(file: IO[bytes]) -> int:
    """The bytes after the last whole line, which a writer left that was killed: its next sync
    writes them again, and readers wait for the end of a line."""
    file.seek(0)
    last = b"\n"
    while line := file.readline(LINE_BYTES):
        last = line
    return 0 if last.endswith(b"\n") else len(last)


def read(
    name: str, path: Path, start: int
) -> Iterator[tuple[int, dict[str, Any] | Problem | None]]:
    """The records of the file *path* from byte *start* on, each with the byte after it.

    A line that is not whole yet ends the reading; one that is no record is a Problem, an empty one
    None. Raises a StorageError.
    """
    try:
        with path.open("rb") as file:
            file.seek(start)
            while (line := file.readline(LINE_BYTES)).endswith(b"\n"):
                end = file.tell()
                yield end, _record(line, f"{name}, byte {end - len(line)}")
    except OSError as problem:
        raise StorageError(
            f"{path} cannot be read ({problem.strerror})", "sync again when it has arrived"
        ) from None


def _record(line: bytes, place: str) -> dict[str, Any] | Problem | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return Problem(place, "it is no JSON")
    if not isinstance(record, dict) or not ("text" in record or "forgotten" in record):
        return Problem(place, "it is no memory")
    return record


def _about(line: bytes) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(record.get("id", "")) if isinstance(record, dict) else ""
