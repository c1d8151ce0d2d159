"""Consolidation runs that outlive the call that started them.

A call waits for its run until the deadline. Then it returns status "running", and the same call
made again waits for the same run and returns its report.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress

import anyio

from memory_core.records import RunReport, is_id
from server.gate import Gate

Progress = Callable[[int, int, str], None]
Report = Callable[[int, int, str], Awaitable[None]]

KEPT_SECONDS = 600.0
"""How long the report of a run that ended after its call's deadline is kept."""


class _Run:
    """One run and the calls that wait for it."""

    def __init__(self, gate: Gate, start: Callable[[Progress], RunReport]) -> None:
        self.id = ""
        self.latest = (0, 0, "")
        self.waiting: set[asyncio.Event] = set()
        self._loop = asyncio.get_running_loop()
        self._ended_at = 0.0
        self.future: Future[RunReport] = gate.submit(lambda: start(self._progress))
        self.future.add_done_callback(self._ended)

    @property
    def stale(self) -> bool:
        """True when it ended more than KEPT_SECONDS ago."""
        return bool(self._ended_at) and time.monotonic() - self._ended_at > KEPT_SECONDS

    def _progress(self, done: int, total: int, message: str) -> None:
        self.id = self.id or next((word for word in message.split() if is_id(word)), "")
        self.latest = (done, total, message)
        self._wake()

    def _ended(self, _: Future[RunReport]) -> None:
        self._ended_at = time.monotonic()
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: no call waits
            self._loop.call_soon_threadsafe(self._set_events)

    def _set_events(self) -> None:
        for event in self.waiting:
            event.set()


class Runs:
    """The runs of one server, by caller and arguments."""

    def __init__(self, gate: Gate, seconds: float) -> None:
        """One call waits *seconds* at most."""
        self._gate = gate
        self._seconds = seconds
        self._runs: dict[Hashable, _Run] = {}

    async def wait(
        self, key: Hashable, start: Callable[[Progress], RunReport], report: Report
    ) -> RunReport:
        """The report of the run of *key*; its status is "running" when the deadline passed.

        *start* starts the run unless one of *key* is under way; the first message to its progress
        callback may hold the run's id. *report* is awaited with each step, in rising order. Raises
        what the run raises, or Busy.
        """
        self._runs = {key: run for key, run in self._runs.items() if not run.stale}
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run(self._gate, start)
        with anyio.move_on_after(self._seconds):
            await _follow(run, report)
            self._runs.pop(key, None)
            return run.future.result()
        note = (
            f"the run was not finished after {self._seconds:g} s and continues; repeat the same "
            "call to wait for it, or see last_run in health"
        )
        return RunReport(run=run.id, status="running", note=note)


async def _follow(run: _Run, report: Report) -> None:
    changed = asyncio.Event()
    run.waiting.add(changed)
    reported = 0
    try:
        while True:
            ended = run.future.done()  # asked before the latest step: the last one is reported too
            done, total, message = run.latest
            if done > reported:
                reported = done
                await report(done, total, message)
            if ended:
                return
            await changed.wait()
            changed.clear()
    finally:
        run.waiting.discard(changed)
