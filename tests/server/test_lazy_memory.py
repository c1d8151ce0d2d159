from __future__ import annotations

import threading
from typing import Any

import pytest

from memory_core.errors import Busy, IncompatibleStore, StorageError
from server.protocol.lazy_memory import LazyMemory


def test_nothing_is_made_before_it_is_needed(fake: Any) -> None:
    made = threading.Event()

    def make() -> Any:
        made.set()
        return fake

    late = LazyMemory(make, 60)
    late.close()
    assert not made.is_set()
    assert late.memories is fake.memories
    assert made.is_set()


def test_calls_wait_for_the_memory_and_it_is_made_once(fake: Any) -> None:
    go, count = threading.Event(), []

    def make() -> Any:
        count.append(1)
        assert go.wait(60)
        return fake

    late = LazyMemory(make, 60)
    got: list[Any] = []
    threads = [threading.Thread(target=lambda: got.append(late.memories)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert got == []
    go.set()
    for thread in threads:
        thread.join(60)
    assert got == [fake.memories] * 4
    assert count == [1]


def test_waiting_is_bounded() -> None:
    go = threading.Event()
    late = LazyMemory(lambda: go.wait(60), 0.05)  # type: ignore[arg-type,return-value]
    with pytest.raises(Busy, match="still loading"):
        late.recall  # noqa: B018
    go.set()


@pytest.mark.parametrize(
    ("raised", "expected", "says"),
    [
        (IncompatibleStore("newer", "update"), IncompatibleStore, "newer"),
        (ImportError("x", name="lancedb"), StorageError, "the package lancedb cannot be loaded"),
        (ValueError("swordfish"), StorageError, "internal error"),
    ],
)
def test_what_kept_it_from_being_made_is_what_every_call_raises(
    raised: Exception, expected: type[Exception], says: str
) -> None:
    def make() -> Any:
        raise raised

    late = LazyMemory(make, 60)
    for _ in range(2):
        with pytest.raises(expected, match=says) as error:
            late.recall  # noqa: B018
        assert "swordfish" not in str(error.value)
    late.close()
