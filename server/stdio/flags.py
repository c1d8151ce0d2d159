"""Reads a command line that only starts the server over stdio, without click: a client waits."""

from __future__ import annotations

from collections.abc import Sequence

_FLAGS = ("--data-dir", "--agent", "--team", "--config", "--log-level")


def stdio_flags(words: Sequence[str]) -> dict[str, str] | None:
    """The flags of a command line that only starts the server over stdio, by setting.

    None for every other command line, help and mistakes included: click reads those.
    """
    flags: dict[str, str] = {}
    serving = False
    rest = iter(words)
    for word in rest:
        if word == "serve" and not serving:
            serving = True
            continue
        flag, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        known = flag in _FLAGS or (serving and flag == "--transport")
        if not known or not value or (value.startswith("-") and not equals):
            return None
        flags[flag.removeprefix("--").replace("-", "_")] = value
    return flags if flags.pop("transport", "stdio") == "stdio" else None
