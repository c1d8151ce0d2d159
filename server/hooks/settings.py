"""The hooks that `install --hooks` adds to the settings of Claude Code and Cursor, or removes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput
from server.clients.clients import HOOK, User

CLIENTS = ("claude-code", "cursor")
"""The clients that have hooks."""

OVER_HTTP = ("claude-code",)
"""The clients whose hooks can call a server over HTTP. Claude Code skips handlers of type http at
SessionStart (anthropics/claude-code issue 30170)."""

PATH = "/hook"
"""The path of the server's route for hooks."""

SECONDS = 10
"""How long the client waits for a hook."""

_IN_BACKGROUND = ("PreCompact", "PostCompact")
"""Events whose hook runs in the background. Stop is not among them: `claude -p` ends after it, and
kills what still runs in the background then. Its hook only writes a file before it returns."""
_COMMAND_ONLY = ("SessionStart",)
_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", *_IN_BACKGROUND, "SessionEnd")
_CURSOR_EVENTS = ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "sessionEnd")


@dataclass(frozen=True, slots=True)
class Handler:
    """How a client calls a hook: the *command* it starts, or the *url* of a server."""

    command: tuple[str, ...] = ()
    url: str = ""
    token: str = ""


def place(client: str, user: User) -> Path:
    """The file with the hooks of *client*. Raises InvalidInput for one without hooks."""
    if client == "claude-code":
        return user.home / ".claude" / "settings.json"
    if client == "cursor":
        return user.home / ".cursor" / "hooks.json"
    raise InvalidInput(f"{client} has no hooks", "omit --hooks; its model calls the tools")


def add(client: str, content: dict[str, Any], handler: Handler) -> None:
    """Add our handlers to *content*, the parsed file of *client*, in place of earlier ones."""
    remove(client, content)
    if client == "cursor":
        content.setdefault("version", 1)
        command = {"command": _line(handler.command), "timeout": SECONDS}
        for event in _CURSOR_EVENTS:
            _entries(content, event).append(dict(command))
        return
    for event in _EVENTS:
        _entries(content, event).append({"hooks": [_handler(event, handler)]})


def remove(client: str, content: dict[str, Any]) -> None:
    """Remove our handlers from *content*, with the events and groups that are then empty."""
    if "hooks" not in content:
        return
    events = _events(content)
    for event in list(events):
        if not isinstance(events[event], list):
            continue
        kept = [each for each in map(_without_ours, events[event]) if each is not None]
        if kept or not events[event]:
            events[event] = kept
        else:
            del events[event]
    if not events:
        del content["hooks"]
        if client == "cursor" and content == {"version": 1}:
            content.clear()


def _handler(event: str, handler: Handler) -> dict[str, Any]:
    if handler.url and event not in _COMMAND_ONLY:
        headers = {"Authorization": f"Bearer {handler.token}"}
        return {"type": "http", "url": handler.url, "headers": headers, "timeout": SECONDS}
    program, *words = handler.command
    made = {"type": "command", "command": program, "args": words, "timeout": SECONDS}
    return {**made, "async": True} if event in _IN_BACKGROUND else made


def _without_ours(entry: Any) -> Any | None:
    """*entry* without our handlers; None when it is empty then."""
    if not isinstance(entry, dict):
        return entry
    if isinstance(entry.get("hooks"), list):
        kept = [each for each in entry["hooks"] if not _ours(each)]
        return {**entry, "hooks": kept} if kept or not entry["hooks"] else None
    return None if _ours(entry) else entry


def _ours(handler: Any) -> bool:
    if not isinstance(handler, Mapping):
        return False
    if str(handler.get("url", "")).endswith(PATH):
        return True
    words = [*_words(str(handler.get("command", ""))), *map(str, handler.get("args") or ())]
    named = any("anamnesis" in Path(word).name or word == "server" for word in words)
    return HOOK in words or (named and "hook" in words)


def _line(words: Sequence[str]) -> str:
    """*words* as one line for the shell of this system."""
    if sys.platform != "win32":
        return shlex.join(words)
    from subprocess import list2cmdline  # its import takes 10 ms

    return list2cmdline(words)


def _words(command: str) -> Sequence[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _events(content: dict[str, Any]) -> dict[str, Any]:
    events = content.setdefault("hooks", {})
    if not isinstance(events, dict):
        raise _odd("hooks is not an object")
    return events


def _entries(content: dict[str, Any], event: str) -> list[Any]:
    entries = _events(content).setdefault(event, [])
    if not isinstance(entries, list):
        raise _odd(f"hooks.{event} is not a list")
    return entries


def _odd(problem: str) -> InvalidInput:
    return InvalidInput(
        f"{problem}; the file is unchanged", "repair the file, or use --print and paste the output"
    )
