"""The command hook: reads a client's hook from stdin and prints what the client is to be told.

Whatever happens, it prints nothing but an answer, ends with 0 (2 would block the prompt) and in
time. Like the client it imports next to nothing until it has to do the work itself.
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
"""Of a payload; a longer one is read to its end and is nothing."""
SECONDS = 8.0
"""After which it ends, whatever it is waiting for; clients give it hook_settings.SECONDS."""
SUMMING_UP_SECONDS = 60.0
"""The same for what goes on alone when a conversation has ended."""
ENDS = ("SessionEnd", "sessionEnd")


def hook(argv: Sequence[str]) -> NoReturn:
    """Run with the flags *argv* (--data-dir, --agent, --team, --config) and end the process."""
    try:
        _thread.start_new_thread(_end_in_time, (SECONDS,))
        answered(_flags(argv), apart)
    finally:
        os._exit(0)  # not past threads that are loading a model, which would end in an abort


def apart() -> bool:
    """Leave the client, which does not wait for the end of its conversation to be summed up.

    Claude Code gives a plugin 1.5 seconds then, and ends what is not done. True in the process that
    goes on alone; also where there is no fork, as on Windows.
    """
    if not hasattr(os, "fork"):
        return True
    if os.fork():
        return False
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    _thread.start_new_thread(_end_in_time, (SUMMING_UP_SECONDS,))
    return True


def answered(flags: Mapping[str, str], apart: Callable[[], bool] = lambda: True) -> int:
    """Run with *flags* by name; always 0.

    Whatever fails, the client's work must go on: then nothing is printed. *apart* is asked whether
    this process sums up the conversation that has ended.
    """
    try:
        flags = {**_from_file(flags), **flags}
        who = _said(flags, "agent") or "me", _said(flags, "team")
        payload = _with_last_turn(_payload())
        told = client.run(_folder(flags), who, payload, lambda given: _here(flags, given, apart))
        if told:
            sys.stdout.buffer.write(told.encode("utf-8") + b"\n")
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
        pass  # a client that writes into a closed pipe would see an error
    return b""


def _with_last_turn(payload: bytes) -> bytes:
    """Before a compaction, *payload* with what the assistant said last; else as it is."""
    if b'"PreCompact"' not in payload:
        return payload
    from server.hooks import transcript

    return transcript.with_last_turn(payload)


def _flags(argv: Sequence[str]) -> dict[str, str]:
    """What *argv* says, by name, as `--data-dir X` or `--data-dir=X`; the rest is nothing."""
    said: dict[str, str] = {}
    words = iter(argv)
    for word in words:
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if flag.startswith("--") and name in NAMES:
            said[name] = value if equals else next(words, "")
    return {name: value for name, value in said.items() if value}


def _from_file(flags: Mapping[str, str]) -> dict[str, str]:
    """What the settings file, if there is one, says that nothing else does."""
    named = _said(flags, "config")
    if not named:
        return {}
    import tomllib

    with open(os.path.expanduser(named), "rb") as stream:
        found = tomllib.load(stream)
    here = {name: found[name] for name in NAMES if name in found}
    return {name: str(value) for name, value in here.items() if not _said(flags, name)}


def _folder(flags: Mapping[str, str]) -> str:
    """The data directory, as memory_core.config finds it but without its libraries."""
    if named := _said(flags, "data_dir"):
        return os.path.expanduser(named)
    if sys.platform == "linux":  # what platformdirs finds there, in a twentieth of the time
        shared = os.environ.get("XDG_DATA_HOME", "").strip()
        return os.path.join(shared or os.path.expanduser("~/.local/share"), "anamnesis")
    from platformdirs import user_data_dir

    return user_data_dir("anamnesis", appauthor=False)


def _said(flags: Mapping[str, str], name: str) -> str:
    return flags.get(name) or os.environ.get(f"{PREFIX}{name.upper()}", "")


def _here(
    flags: Mapping[str, str], payload: Mapping[str, Any], apart: Callable[[], bool]
) -> dict[str, Any]:
    """The answer from a memory of our own, which waits for no model: recall goes by words."""
    if payload.get("hook_event_name") in ENDS and not apart():
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
