"""The command `anamnesis hook`: reads a client's hook payload from stdin and prints the answer.

It prints only an answer, ends with 0 whatever fails (2 would block the prompt), and ends in time.
It imports next to nothing unless no server runs and it must do the work itself.
"""

# ruff: noqa: PTH110, PTH118
from __future__ import annotations

import _thread
import os
import sys
import time

from server.engine import plain, wanted
from server.hooks import client, pause, payload, spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

PREFIX = "ANAMNESIS_"
EVENTS = frozenset((*payload.CAPTURED, *payload.ANSWERED, *payload.ENDS))
NAMES = ("data_dir", "agent", "team", "config")
_ON = ("", "on", "1", "true", "yes")
"""Values of ANAMNESIS_HOOKS with which hooks work; any other stops them: a doubt is silent."""
MOST_BYTES = 4_000_000
"""Longest payload; a longer one is read to its end and counted as dropped."""
SENT_CHARS = 4_000
"""Of each text that waits in the spool: more than a query may have."""
SECONDS = 8.0
"""After which the process ends, whatever it waits for; clients wait settings.SECONDS."""
DETACHED_SECONDS = 60.0
"""The same for the detached process that takes over what nobody waits for."""


def hook(argv: Sequence[str] | None = None) -> NoReturn:
    """Run with the flags *argv* (--data-dir, --agent, --team, --config) and end the process.

    Without *argv* they are those of this process.
    """
    try:
        _thread.start_new_thread(_end_in_time, (SECONDS,))
        answer(_flags(sys.argv[1:] if argv is None else argv), detached)
    finally:
        os._exit(0)  # an orderly exit would abort threads that are loading a model


def detached() -> bool:
    """Fork; True in the child, which has no terminal, pipes or session of the client.

    The client would wait for the memory to open, or end before it does: Claude Code kills a hook in
    the background when `claude -p` ends, and at the end of a session after 1.5 seconds. Without
    fork, as on Windows, nothing is detached and the result is True.
    """
    if not hasattr(os, "fork"):
        return True
    if os.fork():
        return False
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    _thread.start_new_thread(_end_in_time, (DETACHED_SECONDS,))
    return True


def answer(flags: Mapping[str, str], detached: Callable[[], bool] = lambda: True) -> int:
    """Answer the payload on stdin with *flags* by name; always 0, and no output for a failure.

    *detached* returns whether this process does the work that nobody waits for.
    """
    try:
        asked = wanted.find(flags, os.environ)
        told = _told(asked.folder)
        if told is None:
            return 0
        answered = told["hook_event_name"] in payload.ANSWERED
        output = client.run(
            asked,
            _kept(asked.folder, (asked.agent, asked.team), told),
            forwarded=_forwarded,
            start=lambda: answered or detached(),
            otherwise=lambda given: _answered_here(flags, given),
        )
        if output:
            sys.stdout.buffer.write(output.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
    except BaseException as problem:  # a process ends here
        print(f"the hook failed with {type(problem).__name__}", file=sys.stderr)
    return 0


def _told(folder: str) -> dict[str, Any] | None:
    """What the client reports, without what is private; None where nothing is to be done.

    That is so when the hooks are off or paused, for an ignored project and for an odd payload.
    """
    raw = _payload(folder)
    if os.environ.get(f"{PREFIX}HOOKS", "").strip().lower() not in _ON:
        return None
    try:
        told = plain.loads(_with_last_turn(raw))
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("hook_event_name") not in EVENTS:
        return None
    places = payload.folders(told)
    if any(map(payload.ignored, places)) or pause.until(folder, time.time()) is not None:
        return None
    return {**payload.without_private(told), "project": payload.repository(payload.folder(told))}


def _kept(folder: str, who: tuple[str, str], told: dict[str, Any]) -> dict[str, Any]:
    """What is sent of *told*: its words wait in the spool, where they can be written."""
    if not any(payload.said(told)):
        return told
    try:
        spool.put(folder, *who, told, time.time())
    except OSError:
        return told
    return {**payload.shortened(told, SENT_CHARS), "spooled": True}


def _end_in_time(seconds: float) -> None:
    time.sleep(seconds)
    os._exit(0)


def _payload(folder: str) -> bytes:
    found = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(found) <= MOST_BYTES:
        return found
    spool.drop(folder)
    while sys.stdin.buffer.read(1 << 20):
        pass  # a closed pipe would be an error for the client
    return b""


def _with_last_turn(raw: bytes) -> bytes:
    """The payload *raw*, at a PreCompact with the assistant's last message."""
    if b'"PreCompact"' not in raw:
        return raw
    from server.hooks import transcript

    return transcript.with_last_turn(raw)


def _flags(argv: Sequence[str]) -> dict[str, str]:
    """The flags of *argv* by name, from `--data-dir X` or `--data-dir=X`; the rest is ignored."""
    found: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if flag.startswith("--") and name in NAMES:
            found[name] = value if equals else next(words, "")
    return {name: value for name, value in found.items() if value}


def _forwarded(asked: wanted.WantedEngine, given: Mapping[str, Any]) -> str | None:
    """What a server over HTTP answers; None without one."""
    if not os.path.exists(os.path.join(asked.folder, client.ADDRESS)):
        return None
    from server.hooks import forwarding

    told = plain.dumps(given).encode("utf-8", "replace")
    return forwarding.forwarded(asked.folder, (asked.agent, asked.team), told)


def _answered_here(flags: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a memory in this process."""
    from memory_core import config
    from memory_core.memory import Memory
    from memory_core.records import Identity
    from server.hooks.hooks import Hooks, silently

    settings = config.load(os.environ, flags)
    who = Identity(settings.agent, settings.team)
    with Memory(settings) as memory:
        return silently(lambda: Hooks(memory, time.time, ends_with_it=True).answer(who, given))
