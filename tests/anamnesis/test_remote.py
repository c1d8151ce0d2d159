"""Over REST the same methods give the same answers as in the process itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from anamnesis import (
    AsyncMemory,
    Busy,
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
    new = remote.remember("We moved the team meeting from Monday to Tuesday.", session="s")
    gone = remote.remember("Lunch was soup with Ole Lund.")
    assert remote.retire(gone.id) > 0
    asked = {"rehearse": False, "explain": True, "session": "s", "k": 3}
    questions = ("When is the team meeting?", old.id, "nothing like it at all")
    for question in questions:
        for more in ({}, {"elsewhere": True}, {"cut": True}, {"since": "2020-01-01 10:00"}):
            found = remote.recall(question, **asked, **more)
            assert found == inside.recall(question, **asked, **more)
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
    assert done == "as before: importance, tags"
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


SEPARATORS = "Line one\u2028line two\u2029line three\u0085line four."


def test_an_export_holds_every_character(inside: Memory, remote: Memory) -> None:
    """Some end a line for str.splitlines, and none of JSON lines."""
    for text in (SEPARATORS, "The key is under the mat."):
        remote.remember(text)
    records = list(remote.export())
    assert [record["text"] for record in records] == [SEPARATORS, "The key is under the mat."]
    assert [done.status for done in remote.bring_in(records)] == ["reinforced"] * 2


TIMES = (datetime(2020, 5, 1, 8, 30, 0, 250_000, UTC), 1_700_000_000.25, 1_700_000_000, 0.0)


def test_what_was_said_is_stored_at_its_time(inside: Memory, remote: Memory) -> None:
    for number, when in enumerate(TIMES):
        at = when.timestamp() if isinstance(when, datetime) else when
        told = remote.remember(f"The key number {number} is under the mat.", when=when)
        seen = remote.observe(f"I want to paint fence number {number} green.", when=when)
        assert seen.receipt is not None
        assert [inside.get(id).occurred_at for id in (told.id, seen.receipt.id)] == [at, at]


WRONG: list[Callable[[Memory], Any]] = [
    lambda m: m.remember(b"x"),  # type: ignore[arg-type]
    lambda m: m.remember("x y z", importance=float("nan")),
    lambda m: m.remember("x y z", when=float("inf")),
    lambda m: m.remember("x y z", when="0001-01-01T00:00:00+14:00"),
    lambda m: m.remember("x y z", key="a\nb"),
    lambda m: m.observe("I want to paint the fence.", when=1e300),
    lambda m: m.amend("0" * 20, tags={"a"}),  # type: ignore[arg-type]
    lambda m: m.listing(limit=0),
    lambda m: m.listing(limit="x"),  # type: ignore[arg-type]
    lambda m: m.names("colour"),
    lambda m: m.health(repair="x"),  # type: ignore[arg-type]
    lambda m: m.bring_in([{"text": object()}]),
    lambda m: m.bring_in(["text"]),  # type: ignore[list-item]
]


def test_what_is_wrong_is_refused_as_inside(inside: Memory, remote: Memory) -> None:
    for call in WRONG:
        for memory in (inside, remote):
            with pytest.raises(InvalidInput):
                call(memory)


def test_a_key_stands_for_one_request(inside: Memory, remote: Memory) -> None:
    """The same over both ways, so that a program may try again by the other one."""
    for number, key in enumerate(("k", "k of \u00fcber \u2014", " padded ")):
        told = f"The key number {number} is under the mat."
        first = inside.remember(told, key=key, tags=["a"], when="2024-05-07")
        for memory in (inside, remote):
            again = memory.remember(told, key=key, tags=("a",), when="2024-05-07")
            assert again.id == first.id
            if key == "k":
                assert again == first
                with pytest.raises(InvalidInput, match="another request"):
                    memory.remember("Another text.", key=key)


def test_a_lone_surrogate_is_replaced(inside: Memory, remote: Memory) -> None:
    texts = [m.get(m.remember("The key\ud800 is here.").id).text for m in (inside, remote)]
    assert texts == ["The key\ufffd is here."] * 2


def test_a_closed_memory_says_so(remote: Memory) -> None:
    remote.close()
    for call in (remote.stats, lambda: list(remote.export()), lambda: remote.bring_in([{}])):
        with pytest.raises(Busy, match="closed"):
            call()


@pytest.mark.parametrize(
    ("status", "content"), [(200, b"<html>"), (200, b"{}"), (200, b"[]"), (302, b""), (500, b"[]")]
)
def test_another_server_is_told_from_ours(status: int, content: bytes, processes: Any) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("location", "https://example.org/")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(StorageError, match="check that the address is that of an Anamnesis"):
            Memory.connect(f"http://127.0.0.1:{server.server_port}", "x")
        thread.join()


def test_an_address_or_a_token_that_is_none(url: str) -> None:
    for place in ("127.0.0.1:7832", "", "ftp://a", "http://", "http://a\nb"):
        with pytest.raises(InvalidInput, match="url is no address"):
            Memory.connect(place, "x")
    with pytest.raises(InvalidInput, match="token"):
        Memory.connect(url, "a\nb")
    with pytest.raises(ScopeDenied):
        Memory.connect(url, "\u00e9")


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
