"""The commands `export` and `import`: JSON lines, one memory a line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory_core.errors import InvalidInput, NotFound, StorageError
from memory_core.records import Identity
from server.cli import console
from server.cli.console import Outcome
from server.cli.grammar import command, with_memory

if TYPE_CHECKING:
    from memory_core.memory import Memory


@command("export", json=False, example="anamnesis export memories.jsonl")
@click.argument("file", default="-")
@with_memory(ready=False)
def export(memory: Memory, who: Identity, file: str) -> Outcome:
    """Write every memory as JSON lines.

    FILE is by default stdout. A file gets mode 0600 and is replaced whole.
    """
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in memory.export(who))
    if file == "-":
        for line in lines:
            sys.stdout.write(line)
        return Outcome(None, "")
    count = _replace(Path(file), lines)
    return Outcome(None, f"written to {file}: {count}")


def _replace(path: Path, lines: Iterable[str]) -> int:
    try:
        handle, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            count = 0
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                for line in lines:
                    count += 1
                    stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise StorageError(
            f"{path} cannot be written ({problem.strerror})", "choose another file"
        ) from None
    return count


@command("import", example="anamnesis import memories.jsonl")
@click.argument("file")
@with_memory(ready=True)
def import_(memory: Memory, who: Identity, file: str) -> Outcome:
    """Store exported memories.

    FILE holds JSON lines; `-` is stdin. A memory that is there already is not stored twice. A wrong
    line is named and the others are imported; then the exit code is 1.
    """
    from memory_core.interchange import jsonl

    tally: dict[str, int] = {}
    problems: list[str] = []
    with read_lines(file) as (lines, size), console.progress("import") as move:
        for done, (number, record) in enumerate(jsonl.read_records(lines), 1):
            try:
                status = memory.bring_in(who, record).status
                tally[status] = tally.get(status, 0) + 1
            except InvalidInput as problem:
                problems.append(f"line {number}: {problem}")
            move(done, size, "import")
    counts = ", ".join(f"{count} {status}" for status, count in sorted(tally.items())) or "nothing"
    text = "\n".join([f"imported: {counts}", *problems])
    return Outcome({"imported": tally, "problems": problems}, text, 1 if problems else 0)


@contextmanager
def read_lines(name: str) -> Iterator[tuple[Iterable[str], int]]:
    """The lines of a file or of stdin, and how many there are (0: unknown)."""
    if name == "-":
        yield sys.stdin, 0
        return
    path = Path(name)
    try:
        with path.open("rb") as raw:
            size = sum(1 for line in raw if line.strip())
        with path.open(encoding="utf-8", errors="surrogateescape") as stream:
            yield stream, size
    except FileNotFoundError:
        raise NotFound(f"no file {name}", "check the path") from None
    except OSError as problem:
        raise StorageError(f"{name} cannot be read ({problem.strerror})", "check it") from None
