"""What the callers of a long run are told of its progress."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from memory_core.records import RunReport
from server.gate import Gate
from server.protocol.long_runs import Progress, Runs


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Watched(Gate):
    """A gate that tells when its only work is done."""

    ended = threading.Event()

    def submit(self, *given: Any, **named: Any) -> Any:
        future = super().submit(*given, **named)
        future.add_done_callback(lambda _: self.ended.set())
        return future


@pytest.mark.anyio
async def test_the_last_step_is_told_though_the_run_ends_while_another_is_told() -> None:
    first_told = threading.Event()

    def work(progress: Progress) -> RunReport:
        progress(1, 2, "settle")
        assert first_told.wait(30)
        progress(2, 2, "summarise")
        return RunReport(run="r", status="done")

    told: list[tuple[int, int, str]] = []

    async def report(done: int, total: int, message: str) -> None:
        told.append((done, total, message))
        first_told.set()
        await anyio.to_thread.run_sync(gate.ended.wait, 30)

    gate = Watched(2, 60.0)
    done = await Runs(gate, 60.0).wait("key", work, report)
    assert done.status == "done"
    assert told == [(1, 2, "settle"), (2, 2, "summarise")]
