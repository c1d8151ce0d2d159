"""The command hook: reads a client's hook from stdin and prints what the client is to be told."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from server import hook_client

PREFIX = "ANAMNESIS_"
MOST_BYTES = 4_000_000
"""Of a payload; a longer one is cut off and thus nothing."""


def hook(argv: Sequence[str]) -> int:
    """Run with the flags *argv* (--data-dir, --agent, --team, --config); always 0."""
    return answered(_flags(argv))


def answered(flags: Mapping[str, str]) -> int:
    """Run with *flags* by name; always 0.

    Whatever fails, the client's work must go on: then nothing is printed.
    """
    try:
        payload = sys.stdin.buffer.read(MOST_BYTES)
        who = _said(flags, "agent") or "me", _said(flags, "team")
        told = hook_client.run(_folder(flags), who, payload, lambda given: _here(flags, given))
        if told:
            print(told, flush=True)
    except Exception as problem:  # a process ends here
        logging.getLogger(__name__).warning("the hook failed with %s", type(problem).__name__)
    return 0


def _flags(argv: Sequence[str]) -> dict[str, str]:
    parser = argparse.ArgumentParser(prog="anamnesis hook")
    for name in ("--data-dir", "--agent", "--team", "--config"):
        parser.add_argument(name)
    return {name: value for name, value in vars(parser.parse_args(argv)).items() if value}


def _folder(flags: Mapping[str, str]) -> Path:
    """The data directory, as memory_core.config finds it but without its libraries."""
    if named := _said(flags, "data_dir"):
        return Path(named).expanduser()
    from platformdirs import user_data_dir

    return Path(user_data_dir("anamnesis", appauthor=False))


def _said(flags: Mapping[str, str], name: str) -> str:
    return flags.get(name) or os.environ.get(f"{PREFIX}{name.upper()}", "")


def _here(flags: Mapping[str, str], payload: Mapping[str, Any]) -> dict[str, Any]:
    """The answer from an engine of our own, which waits for no model: recall goes by words."""
    import time

    from memory_core import config
    from memory_core.memory import Memory
    from memory_core.records import Identity
    from server.hooks import Hooks, silently

    settings = config.load(os.environ, flags)
    who = Identity(settings.agent, settings.team)
    with Memory(settings) as memory:
        return silently(lambda: Hooks(memory, time.time).answer(who, payload))
