"""Concurrent writers share one commit: each waits for the same sync instead of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

from memory_core.errors import MemoryCoreError, StorageError

R = TypeVar("R")

PAUSE_SECONDS = 0.0005
"""Between releasing the lock and acquiring it again: longer than a waiting lock sleeps between
polls, so that every waiter gets a turn."""


class PendingWrite:
    """One caller's write in the queue, with its result or error."""

    def __init__(self, build: Callable[[Any], Any], deadline: float) -> None:
        """Queue *build*; *deadline* ends waiting for the lock (monotonic seconds)."""
        self.build = build
        self.deadline = deadline
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        """True once `result` or `error` is final."""
        self.woken = threading.Event()
        """Set when the write is done or has become the leader."""


class GroupCommit:
    """A queue in which one caller at a time leads and commits everything that is queued.

    *exclusive(deadline)* holds the locks that a commit needs. *commit(entries)* runs each build,
    sets its `result` or `error`, and returns when all are durable; when it raises, none is.
    """

    def __init__(
        self,
        exclusive: Callable[[float], AbstractContextManager[None]],
        commit: Callable[[list[PendingWrite]], None],
    ) -> None:
        """Start with an empty queue."""
        self._exclusive = exclusive
        self._commit = commit
        self._mutex = threading.Lock()
        self._queue: list[PendingWrite] = []
        self._leading = False
        self._committing: int | None = None

    def run(self, build: Callable[[Any], R], seconds: float) -> R:
        """The result of *build* once it is durable; raises what *build* raised.

        Raises Busy when the locks were not free within *seconds*, RuntimeError when a build starts
        a commit of its own, which could never end.
        """
        if self._committing == threading.get_ident():
            raise RuntimeError("a transaction cannot start another one")
        entry = PendingWrite(build, time.monotonic() + seconds)
        with self._mutex:
            self._queue.append(entry)
            leads = not self._leading
            self._leading = True
        if not leads:
            self._wait(entry)
        if not entry.done:
            self._lead(entry)
        if entry.error is not None:
            raise entry.error
        return cast(R, entry.result)

    def _wait(self, entry: PendingWrite) -> None:
        try:
            entry.woken.wait()
        except BaseException:  # an interrupt: leave the queue, or hand on the lead just received
            with self._mutex:
                queued = entry in self._queue
                elected = queued and self._queue[0] is entry and entry.woken.is_set()
                if queued:
                    self._queue.remove(entry)
                if elected:
                    self._elect()
            raise

    def _lead(self, entry: PendingWrite) -> None:
        batch = [entry]
        try:
            with self._exclusive(entry.deadline):
                batch = self._drain()
                self._committing = threading.get_ident()
                self._commit(batch)
        except BaseException as error:
            for each in batch:
                each.error = error if each is entry else _copy(error)
        finally:
            self._committing = None
            self._finish(batch)

    def _drain(self) -> list[PendingWrite]:
        with self._mutex:
            batch, self._queue = self._queue, []
        return batch

    def _finish(self, batch: list[PendingWrite]) -> None:
        for each in batch:
            each.done = True
            each.woken.set()
        try:
            time.sleep(PAUSE_SECONDS)
        finally:
            with self._mutex:
                self._queue = [each for each in self._queue if not each.done]
                self._elect()

    def _elect(self) -> None:
        self._leading = bool(self._queue)
        if self._queue:
            self._queue[0].woken.set()


def _copy(error: BaseException) -> MemoryCoreError:
    """A copy of *error* for each caller: a traceback must not be shared between threads."""
    if isinstance(error, MemoryCoreError):
        copy = type(error).__new__(type(error), *error.args)
        copy.__dict__.update(error.__dict__)
        copy.__cause__ = error.__cause__
        return copy
    return StorageError("the commit was interrupted", "repeat the call")
