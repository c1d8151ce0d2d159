"""Which client the current call is of, kept apart from what a hook would wait for."""

from __future__ import annotations

from contextvars import ContextVar

program: ContextVar[str] = ContextVar("program", default="")
"""The client by the name that memories stored by it have; "" where it is unknown."""
