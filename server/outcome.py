"""What a command hands to the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command found: *data* for --json, *text* for people, and the exit *code*."""

    data: Any
    text: str
    code: int = 0
