"""Over REST the same methods give the same answers as in the process itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from anamnesis import (
    AsyncMemory,
    ChangedMeanwhile,
    Identity,
    InvalidInput,
    Memory,
    NotFound,
    PageRequest,
    ScopeDenied,
    StorageError,
    TooLarge,
    Weights,
)
from memory_core.memory import Memory as Facade
from server.http.tokens import Tokens

DAY = 86_400.0


@pytest.fixture
def inside(memory: Facade) -> Memory:
    return Memory.of(memory, Identity("ann", "north"))


@pytest.fixture
def remote(url: str, tokens: Tokens) -> Iterator[Memory]:
    token = tokens.add("ann", "north", ("read", "write", "admin"))
    with Memory.connect(url, token) as connected:
        yield connected


def test_what_reads_answers_as_inside(inside: Memory, remote: Memory, clock: Any) -> None:
    old = remote.remember("The team meeting is on Monday at nine.", session="s", tags=["work"])
    clock.pass_by(DAY)
    new = remote.remember("The team meeting is on Tuesday at ten.", session="s")
    gone = remote.remember("Lunch was soup with Ole Lund.")
    assert remote.retire(gone.id) > 0
    asked = {"rehearse": False, "explain": True, "session": "s", "k": 3}
    questions = ("When is the team meeting?", old.id, "nothing like it at all")
    for question in questions:
        assert remote.recall(question, **asked) == inside.recall(question, **asked)
    for id in (old.id, new.id, gone.id):
        assert remote.get(id) == inside.get(id)
        assert remote.links(id) == inside.links(id)
        assert [c.seq for c in remote.history(id)] == [c.seq for c in inside.history(id)]
        assert [c.body for c in remote.history(id)] == [c.body for c in inside.history(id)]
    assert remote.page(PageRequest(limit=2)) == inside.page(PageRequest(limit=2))
    assert remote.listing(limit=5) == inside.listing(limit=5)
    assert remote.doubts() == inside.doubts()
    assert [(p.older.id, p.newer.id) for p in remote.doubts()] == [(old.id, new.id)]
    assert remote.stats() == inside.stats()
    assert remote.timeline() == inside.timeline()
    assert remote.runs() == inside.runs()
    assert list(remote.export()) == list(inside.export())
    for column in ("session", "tags", "topic"):
        assert remote.names(column) == inside.names(column)
    assert inside.names("entities") == ["Ole Lund"]
    assert remote.names("entities") == []  # of what is not retired
    assert remote.health().status == inside.health().status
    assert remote.wait_ready()
    assert "127.0.0.1" in repr(remote)
    # last, for its accesses are counted a little later
    assert remote.recall("team meeting").hits[0].memory.text.startswith("The team meeting")


def test_what_writes_is_done(inside: Memory, remote: Memory, clock: Any) -> None:
    first = remote.remember("The key is under the mat.", key="k", importance=0.4, scope="team")
    assert first == remote.remember("The key is under the mat.", key="k", importance=0.4,
                                    scope="team")  # fmt: skip
    change = remote.amend(first.id, tags=["home"], importance=0.9)
    assert inside.get(first.id).tags == ("home",)
    undone, done = remote.undo_change(first.id, change)
    assert (undone.seq, inside.get(first.id).tags) == (change, ())
    assert "restored" in done
    assert remote.vote(first.id, "where is the key", 1).up == 1
    replaced = remote.remember("The key is in the shed.", replaces=first.id)
    assert (replaced.status, replaced.replaced) == ("replaced", (first.id,))
    observed = remote.observe("I want to paint the new fence green.", session="s")
    assert observed.receipt is not None
    again, found = remote.observe_and_recall("The fence should be green, I think.", session="s")
    assert again.receipt is not None
    assert "fence" in found.texts[0]
    preview = remote.forget(first.id)
    assert preview == inside.forget(first.id)
    assert remote.forget(first.id, confirm=True).status == "forgotten"
    with pytest.raises(NotFound):
        inside.get(first.id)
    clock.pass_by(2 * DAY)
    run = remote.consolidate()
    assert remote.undo(run.run).status == "undone"
    records = list(remote.export())
    assert [r.status for r in remote.bring_in(records)] == ["reinforced"] * len(records)
    assert remote.clear() == len(records)


def test_a_change_of_another_version_is_refused(inside: Memory, remote: Memory) -> None:
    for memory in (inside, remote):
        id = memory.remember(f"The key lies under mat {memory is remote}.").id
        seen = len(memory.history(id))
        assert memory.amend(id, tags=["a"], seen=seen)
        with pytest.raises(ChangedMeanwhile):
            memory.amend(id, tags=["b"], seen=seen)
        with pytest.raises(ChangedMeanwhile):
            memory.retire(id, seen=seen)
        assert memory.get(id).tags == ("a",)


def test_errors_are_those_of_the_library(remote: Memory, url: str, tokens: Tokens) -> None:
    with pytest.raises(InvalidInput, match="importance"):
        remote.remember("x y z", importance=2.0)
    with pytest.raises(TooLarge):
        remote.remember("x " * 15_000)
    with pytest.raises(NotFound):
        remote.get("0" * 20)
    with pytest.raises(NotFound):
        remote.get("../stats")
    with pytest.raises(InvalidInput, match="recency"):
        remote.recall("x", weights=Weights(recency=2.0))
    with pytest.raises(InvalidInput, match="text"):
        remote.bring_in([{"text": 5}])
    with pytest.raises(ScopeDenied):
        Memory.connect(url, "wrong")
    with pytest.raises(StorageError, match="cannot be reached"):
        Memory.connect("http://127.0.0.1:1", "x")
    with Memory.connect(url, tokens.add("ben")) as other, pytest.raises(ScopeDenied):
        other.clear()


@pytest.mark.anyio
async def test_the_asynchronous_one_connects_too(url: str, tokens: Tokens) -> None:
    async with await AsyncMemory.connect(url, tokens.add("ann")) as memory:
        told = await memory.remember("The tea is in the tin.")
        assert (await memory.recall("tea")).hits[0].memory.id == told.id


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
