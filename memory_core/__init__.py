"""A long-term memory: a journal that loses nothing, and indexes that answer. No MCP in here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_FOR_PROGRAMS = {"AsyncMemory", "Identity", "Memory", "Settings"}
"""What programs look for here; it is made in the package that is meant for them."""


def __getattr__(name: str) -> Any:
    """Load *name* of the package `anamnesis`, which stands above this one."""
    if name not in _FOR_PROGRAMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("anamnesis"), name)
