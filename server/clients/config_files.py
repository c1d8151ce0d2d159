"""Edits one entry of another program's configuration file and keeps everything else as it is."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput, ReadOnly

BACKUP = ".anamnesis-backup"
"""Suffix of the copy of a file as it was before the last change."""

_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edited:
    """A file before and after; None where there is none."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        """True when there is something to write."""
        return self.before != self.after


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> Edited:
    """Apply *change* to the JSON object in *path*; returns both texts and writes nothing.

    Order, indentation and the last newline are kept. Raises InvalidInput when the file is no JSON
    object, for example one with comments, and ReadOnly when it cannot be read.
    """
    before = _read(path)
    content = _parsed(path, before)
    held = json.dumps(content)
    change(content)
    if json.dumps(content) == held:
        return Edited(path, before, before)
    indent = _INDENT.search(before or "")
    text = json.dumps(content, indent=indent[1] if indent else 2, ensure_ascii=False)
    newline = "" if before and not before.endswith("\n") else "\n"
    return Edited(path, before, text + newline)


def write(edited: Edited) -> Path | None:
    """Replace the file atomically; returns the backup of the earlier one, None for a new file.

    A link is followed, the mode is kept (0600 for a new file). Raises ReadOnly.
    """
    path = Path(os.path.realpath(edited.path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        backup = None
        if edited.before is not None:
            backup = path.with_name(path.name + BACKUP)
            _replace(backup, edited.before, mode)
        _replace(path, edited.after or "", mode)
    except OSError as problem:
        raise ReadOnly(
            f"{edited.path} cannot be written ({problem.strerror})",
            "make it writable, or use --print and paste what is shown",
        ) from None
    return backup


def _replace(path: Path, text: str, mode: int) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise ReadOnly(
            f"{path} cannot be read ({problem})", "use --print and paste what is shown"
        ) from None


def _parsed(path: Path, text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        content = json.loads(text)
    except ValueError as problem:
        raise InvalidInput(
            f"{path} is not plain JSON ({problem}); it was left as it is",
            "use --print and paste what is shown, or take comments out of the file",
        ) from None
    if not isinstance(content, dict):
        raise InvalidInput(f"{path} holds no JSON object", "use --print and paste what is shown")
    return content
