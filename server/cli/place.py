"""Where a command runs: whose memory, input, files and terminal it works with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.errors import NotFound, StorageError
from server.cli import invocation, letters
from server.cli.invocation import Invocation
from server.engine import usage

if TYPE_CHECKING:
    from memory_core.memory import Memory

Progress = Callable[[int, int, str], None]
"""Is told how much of how much is done, and a word on it."""

Lines = tuple[Iterable[str], int]
"""Lines of text, and how many there are (0: unknown)."""


class Place:
    """This process: it opens a memory of its own, and reads and asks for itself."""

    def memory(self, call: Invocation) -> AbstractContextManager[Memory]:
        """The memory that *call* names, open as long as the context is."""
        return invocation.open_memory(call.settings)

    def serving(self) -> Mapping[str, Any]:
        """What the process of the memory says of itself; see Shared.serving."""
        return usage.own()

    def terminal(self) -> Mapping[str, str] | None:
        """The variables that say what the terminal at stdout can; None for a file or a pipe."""
        return invocation.environment() if sys.stdout.isatty() else None

    def takes_unicode(self) -> bool:
        """True when stdout can show every letter."""
        return letters.takes_unicode()

    def asks(self) -> bool:
        """True when somebody can be asked: stdin and stdout are a terminal."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def progress(self, label: str) -> Progress | None:
        """What is told how far the work called *label* is; None for a bar on this stderr."""
        del label
        return None

    @contextmanager
    def lines(self, name: str) -> Iterator[Lines]:
        """The lines of the file *name*, "-" for stdin. Raises NotFound or StorageError."""
        path = Path(name)
        try:
            if name == "-":
                yield letters.lines(sys.stdin), 0
                return
            with path.open("rb") as raw:
                size = sum(1 for line in raw if line.strip())
            with path.open(encoding="utf-8", errors="surrogateescape") as stream:
                yield letters.lines(stream), size
        except FileNotFoundError:
            raise NotFound(f"no file {name}", "check the path") from None
        except OSError as problem:
            called = "stdin" if name == "-" else name
            raise StorageError(
                f"{called} cannot be read ({problem.strerror})", "check it"
            ) from None


place: ContextVar[Place] = ContextVar("place", default=Place())  # noqa: B039 - it holds no state
"""Where the current command runs."""
