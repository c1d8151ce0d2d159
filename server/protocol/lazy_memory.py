"""A memory that is made in the background, after the client's first answer went out.

Importing the memory's vendors costs seconds of CPU; done before or during the handshake it would
delay it. Whoever uses the memory before it is there waits for it in their own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_core.errors import Busy, StorageError
from server.gate import as_expected

if TYPE_CHECKING:
    from memory_core.memory import Memory


class LazyMemory:
    """Stands for the memory that *make* returns. Every method of the memory can be called on it."""

    def __init__(self, make: Callable[[], Memory], seconds: float) -> None:
        """*seconds* is how long a call waits for the memory before it is answered busy."""
        self._make = make
        self._seconds = seconds
        self._memory: Future[Memory] = Future()
        self._starting = threading.Lock()
        self._started = False

    def start(self) -> None:
        """Begin to make the memory, in a thread; only the first call has an effect."""
        with self._starting:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self._run, name="make-memory", daemon=True).start()

    def close(self) -> None:
        """Close the memory if it was made; wait for it if it is being made."""
        if self._started:
            with suppress(Exception):  # what kept it from being made was told to the callers
                self._memory.result(self._seconds).close()

    def __getattr__(self, name: str) -> Any:
        """The memory's attribute *name*; waits for the memory or raises what stopped it."""
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
            self._memory.set_exception(as_expected(problem, "opening the memory"))
