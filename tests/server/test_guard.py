"""Calls in flight are bounded, late calls are answered, and runs outlive their call."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from memory_core.errors import Busy, StorageError, stop_if_abandoned
from server.gate import CallLimits, Gate

pytestmark = pytest.mark.anyio

SECONDS = 60.0
"""For what happens at once on a machine that is not busy."""


class Stop:
    """A place where the memory waits until it is released; always released in the end."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.inside = threading.Semaphore(0)

    def __call__(self, name: str) -> None:
        self.inside.release()
        assert self.released.wait(SECONDS)


@pytest.fixture
def stop() -> Any:
    stopping = Stop()
    yield stopping
    stopping.released.set()


@pytest.fixture
def limits() -> CallLimits:
    return CallLimits(calls=2, deadline_seconds=0.2, consolidate_seconds=0.2)


async def test_a_late_call_is_answered_with_what_to_do_next(
    connect: Any, fake: Any, stop: Stop
) -> None:
    fake.before = stop
    async with connect() as client:
        answer = await client.call_tool("remember", {"text": "slow"})
        assert answer.is_error
        text = answer.content[0].text
        assert text.startswith("busy: the call was not finished after 0.2 s and continues; ")
        assert "repeat the same call" in text
        stop.released.set()


async def test_beyond_the_limit_calls_are_busy_until_one_ends(
    connect: Any, fake: Any, stop: Stop, until: Any
) -> None:
    fake.before = stop
    async with connect() as client:
        for _ in range(2):
            late = await client.call_tool("recall", {"query": "x"})
            assert "not finished" in late.content[0].text
        full = await client.call_tool("recall", {"query": "x"})
        assert full.content[0].text.startswith("busy: 2 calls are in flight; nothing was done")
        assert len(fake.calls) == 2
        stop.released.set()
        fake.before = lambda name: None
        with anyio.fail_after(SECONDS):
            while (await client.call_tool("recall", {"query": "x"})).is_error:
                await anyio.lowlevel.checkpoint()


async def test_a_bad_argument_takes_no_place(connect: Any, fake: Any, stop: Stop) -> None:
    fake.before = stop
    async with connect() as client:
        for _ in range(2):
            await client.call_tool("recall", {"query": "x"})
        bad = await client.call_tool("recall", {"query": "x", "k": 0})
        assert bad.content[0].text.startswith("invalid_input: ")


async def test_a_long_consolidation_goes_on_and_can_be_waited_for(
    connect: Any, fake: Any, stop: Stop
) -> None:
    fake.before = stop
    async with connect() as client:
        first = await client.call_tool("consolidate", {})
        assert first.structured_content["status"] == "running"
        assert "repeat the same call" in first.structured_content["note"]
        assert not first.is_error
        again = await client.call_tool("consolidate", {})
        assert again.structured_content["status"] == "running"
        assert len(fake.calls) == 1, "the second call joined the first run"
        stop.released.set()
        with anyio.fail_after(SECONDS):
            while True:
                done = await client.call_tool("consolidate", {})
                if done.structured_content["status"] == "completed":
                    break
    assert len(fake.calls) == 1
    assert done.structured_content["summaries"]


async def test_a_running_consolidation_names_its_run(connect: Any, fake: Any, stop: Stop) -> None:
    run = "01hzzzzzzzzzzzzzzzzz"

    def consolidate(who: Any, *, progress: Any, **given: Any) -> Any:
        progress(0, 3, f"run {run}")
        stop("consolidate")

    fake.consolidate = consolidate
    async with connect() as client:
        with anyio.fail_after(SECONDS):
            while True:  # a call may be over before its thread has begun
                answer = await client.call_tool("consolidate", {})
                if answer.structured_content["run"]:
                    break
    assert answer.structured_content["run"] == run
    assert run in answer.content[0].text


async def test_other_arguments_start_another_run(connect: Any, fake: Any, stop: Stop) -> None:
    fake.before = stop
    async with connect() as client:
        await client.call_tool("consolidate", {})
        await client.call_tool("consolidate", {"dry_run": True})
    assert [arguments["dry_run"] for _, arguments in fake.calls] == [False, True]


async def test_a_failed_run_can_be_started_again(connect: Any, fake: Any) -> None:
    def fail(name: str) -> None:
        raise StorageError("the disk failed", "look at it")

    fake.before = fail
    async with connect() as client:
        failed = await client.call_tool("consolidate", {})
        fake.before = lambda name: None
        done = await client.call_tool("consolidate", {})
    assert failed.content[0].text == "storage: the disk failed; look at it"
    assert done.structured_content["status"] == "completed"


async def test_the_gate_counts_what_still_runs(stop: Stop) -> None:
    gate = Gate(1, 0.05)
    with pytest.raises(Busy, match="not finished"):
        await gate.run(lambda: stop("x"), late="wait")
    with pytest.raises(Busy, match="in flight"):
        await gate.run(lambda: None, late="wait")
    stop.released.set()
    with anyio.fail_after(SECONDS):
        while True:
            try:
                assert await gate.run(lambda: 7, late="wait") == 7
                break
            except Busy:
                await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("why", ["deadline", "cancelled"])
async def test_a_call_that_nobody_waits_for_is_told_to_stop(why: str) -> None:
    gate, ended = Gate(2, 0.05 if why == "deadline" else SECONDS), threading.Event()
    started = threading.Event()

    def work() -> None:
        started.set()
        try:
            while True:  # as a loop over words or memories
                stop_if_abandoned()
        finally:
            ended.set()

    async with anyio.create_task_group() as group:
        if why == "deadline":
            with pytest.raises(Busy, match="was not finished"):
                await gate.run(work, late="call again")
        else:
            group.start_soon(lambda: gate.run(work, late="call again"))
            await anyio.to_thread.run_sync(started.wait, SECONDS)
            group.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(ended.wait, SECONDS)


async def test_a_call_that_is_waited_for_is_not_told_to_stop() -> None:
    gate = Gate(2, SECONDS)

    def work() -> str:
        stop_if_abandoned()
        return "done"

    assert await gate.run(work, late="call again") == "done"
    assert gate.submit(work).result(SECONDS) == "done"
