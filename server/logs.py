"""The log: to stderr, and without the texts of exceptions, since they may quote a memory."""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType

_TALKATIVE = (
    "mcp", "uvicorn", "sse_starlette", "asyncio",
    "anthropic", "ollama", "httpx", "httpx2", "httpcore", "httpcore2",
)  # fmt: skip


class DiscreetFormatter(logging.Formatter):
    """Shows where an exception came from and its type, not its message."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        """Type and places in the code of *ei*."""
        kind, _, places = ei
        if kind is None:
            return ""
        return "".join(traceback.format_tb(places)) + kind.__name__


def configure(level: str) -> None:
    """Log from *level* on to stderr. Libraries that log requests whole stay at WARNING."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(DiscreetFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
