"""One run of the program: its flags and environment become Settings, its log goes to stderr."""

from __future__ import annotations

import logging
import os
import sys
import time
import traceback
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from memory_core import config
from memory_core.errors import InvalidInput, MemoryCoreError, NotFound, TooLarge
from memory_core.records import Identity

if TYPE_CHECKING:
    from memory_core.memory import Memory

PROGRAM = "anamnesis"

log = logging.getLogger(__name__)

_TALKATIVE = (
    "mcp", "uvicorn", "sse_starlette", "asyncio",
    "anthropic", "ollama", "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip


class Invocation:
    """The flags that were given, the environment, and what follows from both."""

    def __init__(
        self, flags: Mapping[str, Any] | None = None, settings: config.Settings | None = None
    ) -> None:
        """*flags* are settings by field name, with `config` for the settings file.

        *settings* are what they come to, where that is known.
        """
        self.flags = dict(flags or {})
        if settings is not None:
            self.__dict__["settings"] = settings
        self.as_json = False
        self.environment = dict(os.environ)

    @cached_property
    def settings(self) -> config.Settings:
        """The settings; the first access also starts the log. Raises InvalidInput."""
        settings = config.load(self.environment, self.flags)
        configure(settings.log_level)
        for warning in settings.warnings:
            log.warning("%s", warning)
        return settings

    @property
    def who(self) -> Identity:
        """The agent and team that the settings name."""
        return Identity(self.settings.agent, self.settings.team)

    def require_memory(self) -> None:
        """Raise NotFound when --data-dir names a place without a memory, and nothing for one."""
        from server.hooks import spool

        folder = self.settings.data_dir
        if self.flags.get("data_dir") and not (has_memory(folder) or spool.waiting(str(folder))):
            raise NotFound(
                f"there is no memory in {folder}",
                'check --data-dir; `anamnesis remember "..."` with it begins one there',
            )


def has_memory(directory: Path) -> bool:
    """True when there is a memory in *directory*."""
    return os.path.exists(directory / "journal.db")  # noqa: PTH110 - False without the right to look


def open_memory(settings: config.Settings) -> Memory:
    """Open the memory in the data directory."""
    from memory_core.memory import Memory

    return Memory(settings)


def take_over(memory: Memory, settings: config.Settings, wait: float = 0.0) -> None:
    """Capture what hooks have left for *memory*, in the background; wait *wait* seconds for it."""
    from server.hooks import spool

    if spool.waiting(str(settings.data_dir)):
        from server.hooks.hooks import Hooks

        drain = Hooks(memory, time.time).drain
        drain.start()
        drain.wait(wait)


def environment() -> Mapping[str, str]:
    """The environment of this process."""
    return os.environ


def exit_code(problem: MemoryCoreError) -> int:
    """The exit code of *problem*: 2 for wrong input, else 1."""
    return 2 if isinstance(problem, InvalidInput) and not isinstance(problem, TooLarge) else 1


class DiscreetFormatter(logging.Formatter):
    """Formats an exception as its type and code locations, without its message."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        """Code locations and type of *ei*."""
        kind, _, places = ei
        if kind is None:
            return ""
        return "".join(traceback.format_tb(places)) + kind.__name__


def configure(level: str) -> None:
    """Log to stderr from *level* on. Libraries that log whole requests stay at WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(DiscreetFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
