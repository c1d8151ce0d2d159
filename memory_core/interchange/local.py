"""What other tools keep in the home folder of a user: where it lies, without reading it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_KNOWN = (
    ("claude-code", "claude-code", ".claude/projects"),
    ("codex", "codex", ".codex/sessions"),
    ("gemini", "gemini", ".gemini/tmp"),
    ("cursor", "cursor", ".config/Cursor/User/globalStorage/state.vscdb"),
    ("cursor", "cursor", "Library/Application Support/Cursor/User/globalStorage/state.vscdb"),
    ("cursor", "cursor", "AppData/Roaming/Cursor/User/globalStorage/state.vscdb"),
    ("server-memory", "server-memory", ".config/mcp-memory/memory.jsonl"),
    ("server-memory", "server-memory", "memory.jsonl"),
    ("server-memory", "server-memory", "memory.json"),
    ("mem0", "mem0", ".mem0/history.db"),
    ("user-files", "markdown", ".claude/CLAUDE.md"),
    ("user-files", "markdown", ".codex/AGENTS.md"),
    ("user-files", "markdown", ".gemini/GEMINI.md"),
)
"""A name, a form and a path under the home folder."""

_PROJECT_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "memory-bank", ".cursor/rules")
_LINE_CHARS = 2**20
_LINES = 50
"""Lines of a transcript that are searched for its project."""


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """Something of another tool: the name it is chosen by, its form and its path."""

    name: str
    form: str
    path: Path


def places(home: Path, here: Path) -> list[LocalPlace]:
    """What lies under *home*, and the files for agents of the projects that are known there.

    The folder *here* is a project, too.
    """
    found = [
        LocalPlace(name, form, home / path)
        for name, form, path in _KNOWN
        if _holds_something(home / path)
    ]
    projects = dict.fromkeys((here, *_projects(home / ".claude" / "projects")))
    for project in projects:
        for name in _PROJECT_FILES:
            path = project / name
            if _holds_something(path) and path not in {place.path for place in found}:
                found.append(LocalPlace("project-files", "markdown", path))
    return found


def _holds_something(path: Path) -> bool:
    try:
        within = [path] if path.is_file() else path.rglob("*")
        return any(each.is_file() and each.stat().st_size > 0 for each in within)
    except (OSError, ValueError):  # a NUL in a name that a transcript tells
        return False


def _projects(transcripts: Path) -> Iterator[Path]:
    """The folders in which conversations of Claude Code took place."""
    for file in sorted(transcripts.glob("*/*.jsonl")):
        try:
            with file.open(encoding="utf-8", errors="replace") as lines:
                for _ in range(_LINES):
                    line = lines.readline(_LINE_CHARS)
                    if '"cwd"' in line and (folder := _folder(line)):
                        yield Path(folder)
                        break
        except OSError:
            continue


def _folder(line: str) -> str:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    found = event.get("cwd") if isinstance(event, dict) else None
    return found if isinstance(found, str) else ""
