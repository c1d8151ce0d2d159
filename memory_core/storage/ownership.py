"""Whose the files of a data directory are: a command run with sudo leaves files of root behind."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

_MOST = 10_000
"""Entries that are looked at; a store has some hundred."""


def foreign(directory: Path) -> str:
    """The first file of another user in *directory*, and whose it is, in words; "" for none.

    Root may use every file, so for root nothing is foreign; nor on Windows.
    """
    if sys.platform == "win32" or os.geteuid() == 0:
        return ""
    own = os.geteuid()
    for seen, path in enumerate(_entries(directory)):
        if seen == _MOST:
            break
        try:
            owner = path.lstat().st_uid
        except OSError:  # gone, or in a folder that may not be searched
            continue
        if owner != own:
            return f"{path} belongs to {_name(owner)}"
    return ""


def remedy(directory: Path) -> str:
    """The command that gives *directory* and all in it to this user."""
    user = "" if sys.platform == "win32" else _name(os.geteuid())
    return f"`sudo chown -R {user} {shlex.quote(str(directory.absolute()))}`"


def _entries(directory: Path) -> Iterator[Path]:
    yield directory
    for folder, folders, names in os.walk(directory):
        for name in (*sorted(names), *sorted(folders)):
            yield Path(folder) / name


def _name(user: int) -> str:
    import pwd  # not on Windows

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
