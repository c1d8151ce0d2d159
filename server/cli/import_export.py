"""The commands export and import: JSON lines, one memory a line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.errors import InvalidInput, NotFound, StorageError
from memory_core.records import Identity
from server.cli import console
from server.cli.console import Outcome

if TYPE_CHECKING:
    from memory_core.memory import Memory as Engine

READY_SECONDS = 60.0
"""How long an import waits for the model; without it vectors are added later."""


def export(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Write JSON lines to a file (mode 0600, replaced at once) or to stdout."""
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in engine.export(who))
    if args.file == "-":
        for line in lines:
            sys.stdout.write(line)
        return Outcome(None, "")
    count = _replace(Path(args.file), lines)
    return Outcome(None, f"written to {args.file}: {count}")


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


def bring_in(engine: Engine, who: Identity, args: Namespace) -> Outcome:
    """Import JSON lines; a line that is refused does not stop the others and is exit code 1."""
    from memory_core.interchange import jsonl

    engine.wait_ready(READY_SECONDS)
    tally: dict[str, int] = {}
    problems: list[str] = []
    with read_lines(args.file) as (lines, size), console.progress("import") as move:
        for done, (number, record) in enumerate(jsonl.read_records(lines), 1):
            try:
                status = engine.bring_in(who, record).status
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
