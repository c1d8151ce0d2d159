"""The queue before the gate: who waits for whom, how long, and who is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest

from memory_core.errors import Busy
from server import gate as gates
from server.gate import EACH, Gate, source

pytestmark = pytest.mark.anyio
SECONDS = 60.0


class Work:
    """Pieces of work that note when they begin, and wait until they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._go = threading.Semaphore(0)
        self._began = threading.Semaphore(0)

    def __call__(self, name: str) -> Callable[[], str]:
        def work() -> str:
            self.begun.append(name)
            self._began.release()
            assert self._go.acquire(timeout=SECONDS)
            return name

        return work

    def let_go(self, count: int = 1) -> None:
        self._go.release(count)

    async def began(self, count: int = 1) -> None:
        for _ in range(count):
            assert await asyncio.to_thread(self._began.acquire, timeout=SECONDS)


@pytest.fixture
def work() -> Iterator[Work]:
    one = Work()
    yield one
    one.let_go(1000)


def ask(gate: Gate, work: Work, agent: str, client: str, name: str = "") -> Any:
    source.set((agent, client))
    return asyncio.ensure_future(gate.run(work(name or f"{agent}{client}"), late="wait"))


async def settled() -> None:
    """Every task has asked for its place."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_agents_come_in_turn_and_their_clients_too(work: Work) -> None:
    gate = Gate(1, SECONDS)
    calls = [ask(gate, work, "a", "1", "first")]
    await work.began()
    for name, count in (("a1", 3), ("a2", 2), ("b1", 1), ("c1", 2)):
        calls += [ask(gate, work, name[0], name[1]) for _ in range(count)]
    await settled()
    for _ in calls[1:]:
        work.let_go()
        await work.began()
    work.let_go()
    await asyncio.gather(*calls)
    assert work.begun == ["first", "a1", "b1", "c1", "a2", "c1", "a1", "a2", "a1"]


async def test_one_client_never_takes_all_places(work: Work) -> None:
    gate = Gate(EACH + 2, SECONDS)
    calls = [ask(gate, work, "a", "1") for _ in range(3 * EACH)]
    await work.began(EACH)
    await settled()
    assert len(work.begun) == EACH
    calls.append(ask(gate, work, "b", "1"))
    await work.began()
    assert work.begun[-1] == "b1"
    work.let_go(len(calls))
    await asyncio.gather(*calls)


async def test_an_agent_with_many_clients_leaves_the_interpreter_to_others(work: Work) -> None:
    now = 100.0
    gate = Gate(32, SECONDS, lambda: now)
    calls = [ask(gate, work, "a", str(number), f"a{number}") for number in range(40)]
    await work.began(gates.AGENT)
    await settled()
    assert len(work.begun) == gates.AGENT
    calls.append(ask(gate, work, "b", "1"))
    await work.began()
    assert work.begun[-1] == "b1"
    for left in range(gates.AGENT, gates.BESIDE_AGENT, -1):  # until few enough of them run
        work.let_go()
        await settled_threads(gate, left)
    assert sum(name != "b1" for name in work.begun) == gates.AGENT, "none took their place"
    work.let_go(1000)
    await asyncio.gather(*calls)


async def settled_threads(gate: Gate, most: int) -> None:
    """At most so many calls run."""
    while len(gate._running) > most:
        await asyncio.sleep(0.001)


async def test_beside_another_client_one_call_runs_at_a_time(work: Work) -> None:
    now = 100.0
    gate = Gate(10, SECONDS, lambda: now)
    calls = [ask(gate, work, "b", "1")]
    await work.began()
    calls += [ask(gate, work, "a", "1", f"a{number}") for number in range(3)]
    await work.began()
    await settled()
    assert work.begun == ["b1", "a0"]
    now += gates.BRIEF_SECONDS  # it waits for something: the next one need not
    calls.append(ask(gate, work, "b", "2"))
    await work.began()
    assert work.begun[2:] == ["b2"]
    await work.began()  # when the gate looks again
    await settled()
    assert work.begun[3:] == ["a1"]
    now += 2 * gates.NEAR_SECONDS
    calls.append(ask(gate, work, "a", "1", "a3"))
    work.let_go()
    await work.began()
    work.let_go(len(calls))
    await asyncio.gather(*calls)
    assert sorted(work.begun[4:]) == ["a2", "a3"]


async def test_beyond_the_queue_the_last_of_the_greediest_is_refused(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "WAITING", 3)
    gate = Gate(1, SECONDS)
    running = ask(gate, work, "a", "1")
    await work.began()
    waiting = [ask(gate, work, "a", "1", f"a{number}") for number in range(3)]
    await settled()
    with pytest.raises(Busy, match="1 calls are in flight; nothing was done"):
        await ask(gate, work, "a", "1", "one more of the same")
    modest = ask(gate, work, "b", "1", "b")
    with pytest.raises(Busy):
        await waiting[-1]
    with pytest.raises(Busy):
        await ask(gate, work, "b", "1", "b2")
    work.let_go(4)
    assert await asyncio.gather(running, *waiting[:2], modest) == ["a1", "a0", "a1", "b"]
    assert "one more of the same" not in work.begun


async def test_a_call_that_waited_too_long_was_not_done(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "WAIT_SECONDS", 0.05)
    gate = Gate(1, SECONDS)
    running = ask(gate, work, "a", "1")
    await work.began()
    with pytest.raises(Busy, match="nothing was done"):
        await ask(gate, work, "a", "1", "late")
    work.let_go()
    assert await running == "a1"
    assert await asyncio.wrap_future(gate.submit(lambda: 7)) == 7
    assert work.begun == ["a1"]


async def test_a_cancelled_call_leaves_the_queue(work: Work) -> None:
    gate = Gate(1, SECONDS)
    running = ask(gate, work, "a", "1")
    await work.began()
    gone = ask(gate, work, "a", "1", "gone")
    await settled()
    gone.cancel()
    with anyio.fail_after(SECONDS), pytest.raises(asyncio.CancelledError):
        await gone
    work.let_go(2)
    assert await running == "a1"
    assert await asyncio.wrap_future(gate.submit(lambda: 7)) == 7
    assert work.begun == ["a1"]


async def test_what_fails_frees_its_place() -> None:
    gate = Gate(1, SECONDS)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await gate.run(lambda: 1 // 0, late="wait")
    assert await gate.run(lambda: 7, late="wait") == 7
