"""Lets a running engine do a command line: its words go there, what it prints comes back.

No settings are validated, no command line is parsed and nothing of the memory is loaded here: a
recall takes tens of milliseconds. Without an engine the process does the command itself.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from server.cli import letters
from server.cli.printed import Printed
from server.engine import launch, wanted, wire
from server.engine.launch import EngineLink, NoEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from server.cli.place import Progress

COMMANDS = frozenset(
    {
        "clear",
        "consolidate",
        "encode",
        "forget",
        "health",
        "history",
        "list",
        "observe",
        "people",
        "pin",
        "recall",
        "remember",
        "retire",
        "review",
        "seed",
        "sessions",
        "show",
        "stats",
        "tag",
        "topics",
    }
)
"""The commands that an engine does."""
READING = frozenset({"list", "people", "recall", "sessions", "show", "stats", "topics"})
"""Of these, those that are simply done again when the engine ends over them."""
FLAGS = ("--data-dir", "--agent", "--team", "--config")
MOST_BYTES = 1_000_000
"""Of stdin or a file that is sent; a command with a longer one is done by this process."""
_HERE = ("-h", "--help", "--version", "--log-level")
_TERMINAL = ("TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def run(words: Sequence[str]) -> int | None:
    """The exit code of the command line *words*, which an engine did.

    None when this process must do it: there is no engine of these settings, the command is none of
    COMMANDS, it asks on this terminal, this terminal or a word lacks letters, or somebody wants its
    help or its log.
    """
    flags, rest = _flags(words)
    here = any(word.partition("=")[0] in _HERE for word in words)
    if not rest or rest[0] not in COMMANDS or here or os.environ.get("ANAMNESIS_LOG_LEVEL"):
        return None
    letters.prepare()
    plain = all(word == letters.typed(word) for word in words) and letters.takes_unicode()
    link = _linked(flags, words) if plain else None
    if link is None:
        return None
    try:
        with link.socket, ExitStack() as shown:
            printed = _followed(link, shown)
    except KeyboardInterrupt:
        stays = "" if rest[0] in READING else "; what is done stays; the command may be repeated"
        printed = Printed("", f"anamnesis: interrupted{stays}\n", 130)
    except (OSError, ValueError, StopIteration):  # it was killed
        if rest[0] in READING:
            return None
        problem = "busy: the engine ended over the command; repeat it"
        printed = Printed("", f"anamnesis: {problem}\n", 1)
    return None if printed is None else printed.show()


def _linked(flags: Mapping[str, str], words: Sequence[str]) -> EngineLink | None:
    """A connection to an engine that was told *words*; None without one."""
    try:
        asked = wanted.find(flags, os.environ)
        preamble = {
            "kind": "command",
            "words": list(words),
            "flags": {name: value for name, value in flags.items() if value},
            "terminal": _terminal() if sys.stdout.isatty() else None,
            "asks": sys.stdin.isatty() and sys.stdout.isatty(),
            "watched": sys.stderr.isatty(),
        }
        return launch.connect(asked, preamble, start=False)
    except (NoEngine, wire.Refused, OSError, ValueError, AttributeError):
        return None  # what is wrong, the command itself says better; a stream may be closed


def _followed(link: EngineLink, shown: ExitStack) -> Printed | None:
    """What the engine says is to be printed; None when it gives the command back.

    Raises OSError, ValueError or StopIteration when it ends before.
    """
    moves: dict[str, Progress] = {}
    for line in link.lines:
        told: dict[str, Any] = json.loads(line)
        if "read" in told:
            text = _text(told["read"])
            if text is None:
                return None
            link.socket.sendall(wire.encode({"text": text}))
        elif "label" in told:
            if told["label"] not in moves:
                from server.cli import console

                moves[told["label"]] = shown.enter_context(console.progress(told["label"]))
            moves[told["label"]](told["done"], told["total"], told["message"])
        elif "error" in told:
            problem = f"anamnesis: {told['error']}: {told['problem']}; {told['next']}\n"
            return Printed("", problem, 1)
        else:
            done = told["answer"]
            return None if done is None else Printed(**done)
    raise StopIteration


def _text(name: str) -> str | None:
    """The text of the file *name*, "-" for stdin; None where this process must read it itself."""
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
            if len(raw) <= MOST_BYTES:
                return raw.decode("utf-8")
        else:
            with open(name, "rb") as stream:  # noqa: PTH123 - pathlib is not loaded
                raw = stream.read(MOST_BYTES + 1)
            return raw.decode("utf-8") if len(raw) <= MOST_BYTES else None
    except OSError:
        return None
    except UnicodeDecodeError:
        if name != "-":
            return None
    stdin: Any = sys.stdin
    encoding, errors = stdin.encoding, stdin.errors
    whole = io.BufferedReader(_Again(raw, stdin.detach()))
    sys.stdin = io.TextIOWrapper(whole, encoding=encoding, errors=errors)
    return None


class _Again(io.RawIOBase):
    """Input that begins with what was read of it before."""

    def __init__(self, read: bytes, rest: Any) -> None:
        self._read = io.BytesIO(read)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _terminal() -> dict[str, str]:
    """The variables of the terminal, with its width in COLUMNS where they do not say it."""
    found = {name: os.environ[name] for name in _TERMINAL if name in os.environ}
    columns = os.environ.get("COLUMNS", "")
    for stream in () if columns.isdigit() else (0, 1, 2):
        try:
            columns = str(os.get_terminal_size(stream).columns)
            break
        except (OSError, ValueError):
            continue
    return {**found, "COLUMNS": columns}


def _flags(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The settings that *words* give, as the engine will find them too, and the other words."""
    flags: dict[str, str] = {}
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if word == "--":
            others += [word, *rest]
        elif flag in FLAGS:
            flags[flag[2:].replace("-", "_")] = value if equals else next(rest, "")
        else:
            others.append(word)
    return flags, others
