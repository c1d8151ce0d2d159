"""Everything at once: all calls answer, and closing amidst them neither hangs nor crashes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from memory_core.errors import MemoryCoreError
from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
HERON = "The heron waits by the weir."
TUNING = Tuning(
    lock_seconds=60.0, maintenance=MaintenanceTuning(round_seconds=0.02, snapshot_changes=40)
)


def outcomes(
    memory: Memory, works: list[Callable[[int], object]], steps: int
) -> tuple[list[threading.Thread], list[BaseException]]:
    """Threads that repeat their work; what they raise that is no error of ours is collected."""
    wrong: list[BaseException] = []

    def repeat(work: Callable[[int], object]) -> None:
        for step in range(steps):
            try:
                work(step)
            except MemoryCoreError:
                continue
            except BaseException as problem:
                wrong.append(problem)
                return

    threads = [threading.Thread(target=repeat, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    return threads, wrong


def crowd(memory: Memory) -> list[Callable[[int], object]]:
    """One of everything at once."""

    def forget(step: int) -> None:
        told = memory.remember(ME, RememberRequest(f"a stork that leaves, {step}", session="s"))
        memory.forget(ME, ids=[told.id], confirm=True, never_again=False)

    return [
        *(
            lambda step, who=who: memory.remember(
                ME, RememberRequest(f"heron {who} {step}", session=f"s{who}")
            )
            for who in range(3)
        ),
        *(
            lambda step: memory.recall(ME, RecallRequest(f"which heron or stork {step}"))
            for _ in range(3)
        ),
        forget,
        forget,
        lambda step: memory.health(ME, repair=step % 5 == 4),
        lambda step: memory._runtime.parts().maintenance.round(),
        lambda step: memory.listing(ME, session="s1"),
        lambda step: memory.consolidate(ME, dry_run=step % 2 == 0),
        lambda step: list(memory.export(ME)),
    ]


def test_everything_at_once_answers_and_agrees_with_the_journal(open_memory: Any) -> None:
    memory = open_memory("store", tuning=TUNING)
    other = open_memory("store", tuning=TUNING)
    works = [*crowd(memory), *crowd(other)[:6]]
    threads, wrong = outcomes(memory, works, 6)
    for thread in threads:
        thread.join(100)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    for each in (memory, other):
        stored = {m["text"] for m in each.export(ME) if m["kind"] == "episode"}
        assert stored == {f"heron {who} {step}" for who in range(3) for step in range(6)}
        assert each.recall(ME, RecallRequest("heron 1 4", k=3)).hits


def test_close_with_calls_in_flight_neither_hangs_nor_crashes(open_memory: Any) -> None:
    for name in ("one", "two", "three"):
        memory = open_memory(name, tuning=TUNING)
        threads, wrong = outcomes(memory, crowd(memory), 200)
        memory.remember(ME, RememberRequest(HERON))
        memory.close()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []
        again = open_memory(name)
        assert HERON in {record["text"] for record in again.export(ME)}
