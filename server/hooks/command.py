"""The command `anamnesis hook`: reads a client's hook payload from stdin and prints the answer.

It prints only an answer, ends with 0 whatever fails (2 would block the prompt), and ends in time.
It imports next to nothing unless no server runs and it must do the work itself.
"""

# ruff: noqa: PTH111, PTH118, PTH123
from __future__ import annotations

import _thread
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from server.hooks import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PREFIX = "ANAMNESIS_"
NAMES = ("data_dir", "agent", "team", "config")
MOST_BYTES = 4_000_000
"""Longest payload; a longer one is read to its end and ignored."""
SECONDS = 8.0
"""After which the process ends, whatever it waits for; clients wait settings.SECONDS."""
DETACHED_SECONDS = 60.0
"""The same for the detached process that summarises a session that has ended."""
ENDS = ("SessionEnd", "sessionEnd")


def hook(argv: Sequence[str]) -> NoReturn:
    """Run with the flags *argv* (--data-dir, --agent, --team, --config) and end the process."""
    try:
        _thread.start_new_thread(_end_in_time, (SECONDS,))
        answer(_flags(argv), detached)
    finally:
        os._exit(0)  # an orderly exit would abort threads that are loading a model


def detached() -> bool:
    """Fork; True in the child, which has no terminal, pipes or session of the client.

    At the end of a session Claude Code kills a plugin's hook after 1.5 seconds, which is too short
    for its summary. Without fork, as on Windows, nothing is detached and the result is True.
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

    *detached* returns whether this process summarises the session that has ended.
    """
    try:
        flags = {**_from_file(flags), **flags}
        who = _setting(flags, "agent") or "me", _setting(flags, "team")
        payload = _with_last_turn(_payload())
        output = client.run(
            _folder(flags), who, payload, lambda given: _answered_here(flags, given, detached)
        )
        if output:
            sys.stdout.buffer.write(output.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
    except BaseException as problem:  # a process ends here
        print(f"the hook failed with {type(problem).__name__}", file=sys.stderr)
    return 0


def _end_in_time(seconds: float) -> None:
    import time

    time.sleep(seconds)
    os._exit(0)


def _payload() -> bytes:
    payload = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(payload) <= MOST_BYTES:
        return payload
    while sys.stdin.buffer.read(1 << 20):
        pass  # a closed pipe would be an error for the client
    return b""


def _with_last_turn(payload: bytes) -> bytes:
    """*payload*, at a PreCompact with the assistant's last message."""
    if b'"PreCompact"' not in payload:
        return payload
    from server.hooks import transcript

    return transcript.with_last_turn(payload)


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


def _from_file(flags: Mapping[str, str]) -> dict[str, str]:
    """The settings of the file, if one is named, that neither flag nor environment sets."""
    named = _setting(flags, "config")
    if not named:
        return {}
    import tomllib

    with open(os.path.expanduser(named), "rb") as stream:
        found = tomllib.load(stream)
    here = {name: found[name] for name in NAMES if name in found}
    return {name: str(value) for name, value in here.items() if not _setting(flags, name)}


def _folder(flags: Mapping[str, str]) -> str:
    """The data directory, as memory_core.config finds it but without its libraries."""
    if named := _setting(flags, "data_dir"):
        return os.path.expanduser(named)
    if sys.platform == "linux":  # the same result as platformdirs in a twentieth of the time
        shared = os.environ.get("XDG_DATA_HOME", "").strip()
        return os.path.join(shared or os.path.expanduser("~/.local/share"), "anamnesis")
    from platformdirs import user_data_dir

    return user_data_dir("anamnesis", appauthor=False)


def _setting(flags: Mapping[str, str], name: str) -> str:
    return flags.get(name) or os.environ.get(f"{PREFIX}{name.upper()}", "")


def _answered_here(
    flags: Mapping[str, str], payload: Mapping[str, Any], detached: Callable[[], bool]
) -> dict[str, Any]:
    """The answer of a memory in this process. It does not wait for a model: recall is lexical."""
    if payload.get("hook_event_name") in ENDS and not detached():
        return {}
    import time

    from memory_core import config
    from memory_core.memory import Memory
    from memory_core.records import Identity
    from server.hooks.hooks import Hooks, silently

    settings = config.load(os.environ, flags)
    who = Identity(settings.agent, settings.team)
    with Memory(settings) as memory:
        return silently(lambda: Hooks(memory, time.time, ends_with_it=True).answer(who, payload))
