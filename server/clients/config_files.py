"""Edits one entry of another program's configuration file and keeps everything else as it is."""

from __future__ import annotations

import copy
import json
import os
import tempfile
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput, ReadOnly
from server.clients import commented_json

BACKUP = ".anamnesis-backup"
"""Suffix of the copy of a file as it was before the last change."""

TOML = ".toml"
"""The suffix of files that are not JSON."""

_MARK = "\ufeff"
"""With which Windows programs may begin a file."""


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
    """Apply *change* to the object in *path*; returns both texts and writes nothing.

    The file is TOML by its name, else JSON with or without comments. Order, comments, indentation,
    the ends of lines and what else is not changed are kept. Raises InvalidInput when the file
    cannot be understood, and ReadOnly when it cannot be read.
    """
    before = _read(path)
    content = parsed(path, before)
    held = copy.deepcopy(content)
    change(content)
    if content == held:
        return Edited(path, before, before)
    mark = _MARK if (before or "").startswith(_MARK) else ""
    text = (before or "").removeprefix(_MARK)
    ends_like_windows = "\r\n" in text
    after = mark + _changed(path, text.replace("\r\n", "\n"), content)
    if ends_like_windows:
        after = after.replace("\n", "\r\n")
    if _holds(path, after) != content:
        raise InvalidInput(
            f"{path} is written in a way that cannot be changed safely; it was left as it is",
            "use --print and paste what is shown",
        )
    return Edited(path, before, after)


def _changed(path: Path, before: str, content: dict[str, Any]) -> str:
    """*before*, the text of the file *path*, with *content*."""
    if not before.strip():
        return written_out(path, content) + "\n"
    if path.suffix == TOML:
        text = _changed_toml(before, content)
        return text if _holds(path, text) == content else _changed_toml(before, content, anew=True)
    return commented_json.changed(before, content)


def _holds(path: Path, text: str) -> dict[str, Any] | None:
    """What the file *path* holds when *text* is written to it; None for nothing readable."""
    try:
        return parsed(path, text)
    except InvalidInput:
        return None


def written_out(path: Path, content: dict[str, Any]) -> str:
    """The text of *content* in the form of the file *path*, without a last newline."""
    if path.suffix == TOML:
        return _changed_toml("", content).rstrip()
    return json.dumps(content, indent=2, ensure_ascii=False)


def parsed(path: Path, text: str | None) -> dict[str, Any]:
    """The object that *text*, the file *path*, holds; empty for no text. Raises InvalidInput."""
    if text is None or not text.strip():
        return {}
    text = text.removeprefix(_MARK)
    kind = "TOML" if path.suffix == TOML else "JSON"
    try:
        content = tomllib.loads(text) if kind == "TOML" else commented_json.parsed(text)
    except ValueError as problem:
        raise InvalidInput(
            f"{path} is not {kind} ({problem}); it was left as it is",
            "use --print and paste what is shown, or repair the file",
        ) from None
    if not isinstance(content, dict):
        raise InvalidInput(f"{path} holds no JSON object", "use --print and paste what is shown")
    return content


def _changed_toml(before: str, content: dict[str, Any], *, anew: bool = False) -> str:
    """The TOML *before* with *content*; with *anew* a top-level key that changes is written anew.

    "" where tables stand in a way in which they cannot be changed in place, as in one line.
    """
    import tomlkit

    try:
        document = tomlkit.parse(before)
        for name, value in content.items() if anew else ():
            if name in document and document[name] != value:
                del document[name]
        _merge(document, content)
        return tomlkit.dumps(document)
    except (ValueError, tomlkit.exceptions.TOMLKitError):
        return ""


def _merge(table: MutableMapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Make *table* hold what *wanted* holds; what is equal already keeps its text."""
    import tomlkit

    for name in [name for name in table if name not in wanted]:
        del table[name]
    for name, value in wanted.items():
        held = table.get(name)
        if isinstance(value, Mapping):
            if not isinstance(held, MutableMapping):
                bare = bool(value) and not _has_plain(value)
                table[name] = tomlkit.table(is_super_table=bare)
            _merge(table[name], value)
        elif held != value:
            table[name] = value


def _has_plain(values: Mapping[str, Any]) -> bool:
    return any(not isinstance(value, Mapping) for value in values.values())


def write(edited: Edited, *, private: bool = False) -> Path | None:
    """Replace the file atomically; returns the backup of the earlier one, None for a new file.

    A link is followed. The mode is kept; it is 0600 for a new file, a backup, and one that is
    *private*, as with a token in it. Raises ReadOnly.
    """
    path = Path(os.path.realpath(edited.path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() and not private else 0o600
        backup = None
        if edited.before is not None:
            backup = path.with_name(path.name + BACKUP)
            _replace(backup, edited.before, 0o600)
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
