"""Which client the current call is of, kept apart from what a hook would wait for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

program: ContextVar[str] = ContextVar("program", default="")
"""The client by the name that memories stored by it have; "" where it is unknown."""


@contextmanager
def calling(client: str) -> Iterator[None]:
    """What is done inside is done for *client*."""
    before = program.set(client)
    try:
        yield
    finally:
        program.reset(before)
