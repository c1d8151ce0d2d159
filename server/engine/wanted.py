"""Which engine a process wants: its data directory, its identity, and the key of its settings.

It is asked before anything else starts, so only parts of the standard library that are loaded
anyway are imported: no settings are validated here.
"""

from __future__ import annotations

import os
import sys

from server import __version__
from server.engine import plain
from server.engine.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PREFIX = "ANAMNESIS_"
SHARED = ("auto", "on", "off", "tcp")
"""Values of the setting: without an engine for a program in a temporary place; with one; without;
with one over loopback TCP."""

_NO_ANSWER = frozenset(
    {
        "data_dir",
        "agent",
        "team",
        "config",
        "host",
        "port",
        "log_level",
        "shared",
        "build_weights",
        "hooks",
    }
)
"""Settings that change no answer: a connection has its own, or they are the first client's."""
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


class WantedEngine:
    """What a process asks of an engine: where, whose, and how it must be set up."""

    def __init__(
        self, folder: str, agent: str, team: str, key: str, shared: str, flags: Mapping[str, str]
    ) -> None:
        """*folder* is absolute; *flags* are settings by name, for an engine that is started."""
        self.folder = folder
        self.agent = agent
        self.team = team
        self.key = key
        self.shared = shared
        self.flags = dict(flags)
        self.served = False
        """True once an engine has answered here: who was served from the folder never makes it."""


def find(flags: Mapping[str, str], environment: Mapping[str, str]) -> WantedEngine:
    """What *flags* and *environment* ask for, with the settings file that they name.

    Raises OSError or ValueError when that file cannot be read; the settings' own check says more.
    """
    file = flags.get("config") or environment.get(f"{PREFIX}CONFIG", "")
    values = _from_file(file) if file else {}
    for name, value in environment.items():
        if name.startswith(PREFIX) and value:
            values[name.removeprefix(PREFIX).lower()] = value
    values.update({name: value for name, value in flags.items() if value})
    folder = os.path.abspath(
        os.path.expanduser(str(values.get("data_dir") or _standard(environment)))
    )
    passed = {**{name: value for name, value in flags.items() if value}, "data_dir": folder}
    if file:
        passed["config"] = os.path.abspath(os.path.expanduser(file))
    for name in ("model_dir", "judge"):
        if name in values:  # an engine works in another folder
            values[name] = os.path.abspath(os.path.expanduser(str(values[name])))
            passed[name] = values[name]
    return WantedEngine(
        folder,
        str(values.get("agent", "me")),
        str(values.get("team", "")),
        _key(values, environment),
        str(values.get("shared", "auto")).lower(),
        passed,
    )


def _key(values: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """16 hex digits of the program and of every setting that changes an answer.

    Equal settings give equal keys. Settings that only look different may give two engines, which
    is correct too.
    """
    settings = {name: value for name, value in values.items() if name not in _NO_ANSWER}
    models = str(settings.get("encoder", "passthrough")), str(settings.get("embedder", ""))
    if models[0] != "passthrough" or ":" in models[1]:  # else no key is used
        settings["keys"] = [environment.get(name, "") for name in _KEYS]
    program = [__version__, sys.version, sys.platform, sys.prefix, os.path.dirname(__file__)]
    text = plain.dumps([program, settings], sort_keys=True, default=str)
    return digest(text.encode("utf-8", "surrogateescape"))


def _from_file(file: str) -> dict[str, Any]:
    import tomllib

    with open(os.path.expanduser(file), "rb") as stream:
        return tomllib.load(stream)


def _standard(environment: Mapping[str, str]) -> str:
    """The data directory as memory_core.config finds it, but without its libraries."""
    if sys.platform == "linux":  # the same result as platformdirs in a twentieth of the time
        shared = environment.get("XDG_DATA_HOME", "").strip()
        return os.path.join(shared or os.path.expanduser("~/.local/share"), "anamnesis")
    from platformdirs import user_data_dir

    return user_data_dir("anamnesis", appauthor=False)
