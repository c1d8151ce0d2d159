"""The pause of the hooks: a file in the data directory says until when nothing is told or captured.

Every process that answers a hook looks at it, so it holds for all clients at once.
"""

# ruff: noqa: PTH103, PTH105, PTH118, PTH123
from __future__ import annotations

import os

from server.engine import plain
from server.engine.plain import suppress

PAUSED = "hooks-paused.json"


def until(folder: str, now: float) -> float | None:
    """The end of the pause in the data directory *folder*, in epoch seconds; None without one.

    Infinite for a pause without an end, and for a file that cannot be read: a doubt is silent.
    """
    try:
        with open(os.path.join(folder, PAUSED), encoding="utf-8") as stream:
            end = plain.loads(stream.read())["until"]
        end = float("inf") if end is None else float(end)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError):
        return float("inf")
    return end if now < end else None


def begin(folder: str, end: float | None) -> None:
    """Pause the hooks until *end* in epoch seconds, None until `end` is called. Raises OSError."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, PAUSED)
    file = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.write(plain.dumps({"until": end}))
    os.replace(f"{path}.new", path)


def end(folder: str) -> None:
    """End the pause; nothing happens without one. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, PAUSED))  # noqa: PTH108
