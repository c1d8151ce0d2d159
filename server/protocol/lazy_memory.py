"""A memory that opens in the background, after the first answer to the client.

Importing its libraries takes seconds of CPU, which would delay the handshake. A call that arrives
before the memory is open waits for it in its own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_core.errors import Busy, StorageError
from server.gate import as_known_error

if TYPE_CHECKING:
    from memory_core.memory import Memory


class LazyMemory:
    """Has every method of the Memory that *make* returns, and calls *make* once, when needed."""

    def __init__(self, make: Callable[[], Memory], seconds: float) -> None:
        """A call waits *seconds* for the memory to open; then it raises Busy."""
        self._make = make
        self._seconds = seconds
        self._memory: Future[Memory] = Future()
        self._starting = threading.Lock()
        self._started = False

    def start(self) -> None:
        """Start opening the memory in a thread; later calls do nothing."""
        with self._starting:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self._run, name="make-memory", daemon=True).start()

    def close(self) -> None:
        """Close the memory when it is open; wait while it is being opened."""
        if self._started:
            with suppress(Exception):  # the callers got what kept it from opening
                self._memory.result(self._seconds).close()

    def __getattr__(self, name: str) -> Any:
        """The memory's attribute *name*. Raises Busy, or the error that kept it from opening."""
        self.start()
        try:
            return getattr(self._memory.result(self._seconds), name)
        except NotYet:
            raise Busy("the memory is still loading", "try again in a few seconds") from None

    def _run(self) -> None:
        try:
            self._memory.set_result(self._make())
        except ImportError as problem:
            self._memory.set_exception(
                StorageError(
                    f"the package {problem.name} cannot be loaded", "install anamnesis-mcp again"
                )
            )
        except BaseException as problem:  # a thread ends here; the callers raise it
            self._memory.set_exception(as_known_error(problem, "opening the memory"))
