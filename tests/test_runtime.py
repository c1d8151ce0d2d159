"""Opening, what keeps a store from opening, and closing while others are at work."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core import runtime
from memory_core.config import Settings
from memory_core.consolidate import scheduler
from memory_core.errors import Busy, DiskFull, IncompatibleStore, StorageError
from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning
from memory_core.storage.locks import FileLock
from memory_core.storage.store import MemoryStore

ME = Identity("me")
ROOT = Path(__file__).parents[1]
HERON = "The heron waits by the weir."


def every_call(memory: Memory) -> dict[str, Callable[[], object]]:
    return {
        "remember": lambda: memory.remember(ME, RememberRequest(HERON)),
        "recall": lambda: memory.recall(ME, RecallRequest("heron")),
        "get": lambda: memory.get(ME, "0" * 20),
        "listing": lambda: memory.listing(ME),
        "consolidate": lambda: memory.consolidate(ME, dry_run=True),
        "forget": lambda: memory.forget(ME, query="heron"),
        "health": lambda: memory.health(ME),
        "stats": lambda: memory.stats(ME),
        "export": lambda: list(memory.export(ME)),
    }


# What keeps it from opening


def test_a_foreign_file_is_refused_by_every_call_and_left_alone(tmp_path: Path, toy: Any) -> None:
    (tmp_path / "journal.db").write_bytes(b"something else" * 400)
    with Memory(Settings(data_dir=tmp_path), embedder=toy) as memory:
        assert not memory.wait_ready(10.0)
        for name, call in every_call(memory).items():
            with pytest.raises(IncompatibleStore, match="another data directory"):
                call()
            assert name
    assert (tmp_path / "journal.db").read_bytes() == b"something else" * 400
    assert not (tmp_path / "table").exists()


def test_a_file_in_place_of_the_directory_is_refused_by_every_call(
    tmp_path: Path, toy: Any
) -> None:
    (tmp_path / "data").write_text("a file")
    with Memory(Settings(data_dir=tmp_path / "data"), embedder=toy) as memory:
        for call in every_call(memory).values():
            with pytest.raises(StorageError, match="data"):
                call()


def test_once_mended_the_next_call_opens_it(tmp_path: Path, toy: Any) -> None:
    """A server runs for weeks; "free some space and repeat the call" has to be true."""
    foreign = tmp_path / "journal.db"
    foreign.write_bytes(b"something else" * 400)
    with Memory(Settings(data_dir=tmp_path), embedder=toy) as memory:
        with pytest.raises(IncompatibleStore):
            memory.stats(ME)
        foreign.unlink()
        assert memory.remember(ME, RememberRequest(HERON)).status == "stored"
        assert memory.wait_ready(120.0)
        assert memory.recall(ME, RecallRequest("heron")).hits[0].memory.text == HERON


def test_a_replay_that_fails_gives_its_error_and_closes_the_files(
    tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[MemoryStore] = []

    def fails(self: MemoryStore) -> None:
        opened.append(self)
        raise StorageError("the disk did not answer", "look at it")

    with contextlib.ExitStack() as until_the_end:
        with monkeypatch.context() as patch:
            patch.setattr(MemoryStore, "catch_up", fails)  # a new memory opens by itself
            memory = until_the_end.enter_context(Memory(Settings(data_dir=tmp_path), embedder=toy))
            memory.wait_ready(10.0)
            with pytest.raises(StorageError, match="did not answer"):
                memory.stats(ME)
        assert memory.stats(ME)["memories"] == 0
        while not memory.wait_ready(10.0):  # the model was refused by the store that failed
            memory.stats(ME)
    for store in opened:
        with pytest.raises(StorageError, match="closed"):
            store.journal.last()


READ_ONLY = """
import json, sys
from pathlib import Path
from memory_core.config import Settings
from memory_core.errors import MemoryCoreError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
import importlib.util, faiss, lancedb, memory_core.storage.table.table, memory_core.recall.reader
import concurrent.futures.thread, http.client, numpy.testing, memory_core.embedding.minilm
import lancedb.query, lancedb.expr, lancedb.index, pyarrow.compute, pyarrow.dataset
import zipfile, encodings.cp437
spec = importlib.util.spec_from_file_location("conftest", "tests/conftest.py")
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)

import os
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

ME = Identity("me")

def attempt(call):
    try:
        return call()
    except MemoryCoreError as problem:
        assert problem.next_step
        return problem.code

def tell(directory):
    with Memory(Settings(data_dir=Path(directory)), embedder=shared.ToyEmbedder()) as memory:
        report = attempt(lambda: memory.health(ME))
        ready = memory.wait_ready(10.0)
        if not isinstance(report, str):
            memory._runtime.parts().maintenance.round()
            checks = {check.name: [check.status, check.fix] for check in report.checks}
            report = [report.status, checks, dict(report.counts)["memories"]]
        asked = RecallRequest("heron")
        recalled = attempt(lambda: [hit.memory.text for hit in memory.recall(ME, asked).hits])
        note = attempt(lambda: memory.recall(ME, asked).note)
        listed = attempt(lambda: [memory.text for memory in memory.listing(ME)])
        told = attempt(lambda: memory.remember(ME, RememberRequest("a new one")).status)
        return {"ready": ready, "report": report, "recalled": recalled, "note": note,
                "listed": listed, "told": told}

print(json.dumps([tell(directory) for directory in sys.argv[1:]]))
"""


@pytest.mark.usefixtures("processes")
@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_directory_that_cannot_be_written_is_read_and_says_so(toy: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="anamnesis-test-") as top:
        full, empty = Path(top) / "full", Path(top) / "empty"
        with Memory(Settings(data_dir=full), embedder=toy) as memory:
            assert memory.wait_ready(120.0)
            memory.remember(ME, RememberRequest(HERON))
            memory._runtime.parts().maintenance.round()
        empty.mkdir()
        for path in (Path(top), *Path(top).rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(full), str(empty)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, "HOME": top},
        )
        for path in (Path(top), *Path(top).rglob("*")):
            path.chmod(0o700)
    assert done.returncode == 0, done.stderr
    readable, nothing = json.loads(done.stdout)
    assert (readable["recalled"], readable["listed"]) == ([HERON], [HERON])
    assert (readable["ready"], readable["note"]) == (True, "")
    assert readable["told"] == "read_only"
    status, checks, counted = readable["report"]
    assert (status, counted) == ("failing", 1)
    assert checks["round trip"][0] == "failing"
    assert "chown" in checks["round trip"][1]
    assert checks["journal"][0] == "degraded"
    assert set(nothing.values()) == {"read_only", False}


# The model


def test_without_a_model_remember_works_and_recall_is_lexical_and_says_so(
    open_memory: Any, no_model: Any, toy: Any
) -> None:
    memory = open_memory("store", no_model)
    assert memory.remember(ME, RememberRequest(HERON)).status == "stored"
    answer = memory.recall(ME, RecallRequest("heron weir"))
    assert [hit.memory.text for hit in (*answer.hits, *answer.partial)] == [HERON]
    assert "lexical" in answer.note
    report = memory.health(ME)
    model = next(check for check in report.checks if check.name == "model")
    assert (report.status, model.status) == ("degraded", "degraded")
    assert "there is no model" in model.detail
    assert model.fix == "none in this test"
    memory.close()
    again = open_memory("store", toy)
    again._runtime.parts().maintenance.round()
    answer = again.recall(ME, RecallRequest("heron weir"))
    assert (answer.hits[0].memory.text, answer.note) == (HERON, "")


def test_the_model_of_the_store_is_used_and_not_the_one_of_the_settings(
    tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def choose(settings: Settings) -> Any:
        asked.append(settings.embedder)
        return toy

    monkeypatch.setattr(runtime, "choose", choose)
    for embedder in ("ollama:one", "ollama:two"):
        with Memory(Settings(data_dir=tmp_path, embedder=embedder)) as memory:
            assert memory.wait_ready(120.0)
            assert memory.health(ME).model["name"] == "ollama:one"
    assert asked == ["ollama:one", "ollama:one"]
    assert "works with ollama:one, not ollama:two" in caplog.text


def test_a_model_that_a_full_disk_kept_out_is_taken_on_by_a_later_call(
    tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: MemoryStore, *_: object) -> str:
        raise DiskFull("no room", "free some")

    with contextlib.ExitStack() as until_the_end:
        with monkeypatch.context() as patch:
            patch.setattr(MemoryStore, "adopt", full)  # a new memory opens by itself
            memory = until_the_end.enter_context(Memory(Settings(data_dir=tmp_path), embedder=toy))
            assert not memory.wait_ready(10.0)
            assert "lexical" in memory.recall(ME, RecallRequest("heron")).note
        while not memory.wait_ready(10.0):
            memory.stats(ME)
        assert memory.recall(ME, RecallRequest("heron")).note == ""


def test_a_model_with_other_vectors_than_the_store_is_not_used(
    open_memory: Any, toy: Any, tmp_path: Path
) -> None:
    first = open_memory()
    first.remember(ME, RememberRequest(HERON))
    first.close()
    toy.fingerprint = "toy-2"
    again = open_memory()
    answer = again.recall(ME, RecallRequest("heron"))
    assert "lexical" in answer.note
    assert answer.hits[0].memory.text == HERON
    assert again.remember(ME, RememberRequest("another heron")).status == "stored"
    model = next(check for check in again.health(ME).checks if check.name == "model")
    assert (model.status, "other vectors" in model.detail) == ("degraded", True)


# Closing


def test_after_close_every_call_says_so_and_the_files_are_free(open_memory: Any) -> None:
    memory = open_memory()
    memory.remember(ME, RememberRequest(HERON))
    memory._runtime.parts().maintenance.round()
    memory.close()
    memory.close()
    for call in every_call(memory).values():
        with pytest.raises(Busy, match="closed"):
            call()
    again = open_memory()
    again._runtime.parts().maintenance.round()
    assert again._runtime.parts().maintenance.holder
    assert again.recall(ME, RecallRequest("heron")).hits[0].memory.text == HERON


def test_close_while_it_opens_leaves_nothing_open(
    tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    stores: list[MemoryStore] = []
    original = MemoryStore.catch_up

    def slow(self: MemoryStore) -> None:
        stores.append(self)
        begun.set()
        go_on.wait(30)
        original(self)

    monkeypatch.setattr(MemoryStore, "catch_up", slow)
    memory = Memory(Settings(data_dir=tmp_path), embedder=toy)
    assert begun.wait(30)
    closing = threading.Thread(target=memory.close)
    closing.start()
    until(lambda: memory._runtime._closed)
    with pytest.raises(Busy, match="closed"):
        memory.stats(ME)
    go_on.set()
    closing.join(30)
    assert not closing.is_alive()
    with pytest.raises(StorageError, match="closed"):
        stores[0].journal.last()
    lock = FileLock(tmp_path / "maintenance.lock")
    assert lock.acquire()
    lock.release()


def test_a_store_that_opens_too_slowly_is_busy_and_close_does_not_wait_for_ever(
    tmp_path: Path, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, ended = threading.Event(), threading.Event()
    original, close = MemoryStore.catch_up, MemoryStore.close

    def slow(self: MemoryStore) -> None:
        go_on.wait(30)
        original(self)

    def note(self: MemoryStore) -> None:
        close(self)
        ended.set()

    monkeypatch.setattr(MemoryStore, "catch_up", slow)
    monkeypatch.setattr(MemoryStore, "close", note)
    tuning = Tuning(opening_seconds=0.05)
    memory = Memory(Settings(data_dir=tmp_path), embedder=toy, tuning=tuning)
    assert not memory.wait_ready(0.01)
    with pytest.raises(Busy, match="still opening"):
        memory.stats(ME)
    memory.close()
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(30)  # it closes itself as soon as it is open


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_nobody_else_can_read_what_is_stored_under_any_umask(
    open_memory: Any, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        memory = open_memory(
            "store", tuning=Tuning(maintenance=MaintenanceTuning(snapshot_changes=1))
        )
        memory.remember(ME, RememberRequest(HERON))
        for _ in range(3):
            memory._runtime.parts().maintenance.round()
        memory.consolidate(ME)
    finally:
        os.umask(before)
    store = tmp_path / "store"
    held = {path: stat.S_IMODE(path.stat().st_mode) for path in store.rglob("*")}
    names = {path.name for path in held}
    assert {"journal.db", "write.lock", "maintenance.lock", "table", "index"} <= names
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    table = store / "table"
    for path, mode in held.items():
        if table in path.parents and path.parent != table:
            continue  # LanceDB's own files, inside a folder that nobody else can enter
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_closing_waits_for_a_run_of_another_thread_and_nothing_of_it_remains(
    tmp_path: Path, toy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    memory = Memory(Settings(data_dir=tmp_path), embedder=toy)
    for text in (HERON, "The heron waits by the lake.", "The heron waits by the river."):
        memory.remember(ME, RememberRequest(text))
    consolidator = memory._runtime.parts().consolidator
    begun, go_on = threading.Event(), threading.Event()
    ended: list[object] = []

    def pause(_done: int, _total: int, message: str) -> None:
        if message == "contradictions":
            begun.set()
            go_on.wait(30)

    def sleep() -> None:
        with pytest.raises(Busy, match="closed") as refused:
            memory.consolidate(ME, progress=pause)
        ended.append(refused.value)

    run = threading.Thread(target=sleep)
    run.start()
    assert begun.wait(30)
    closing = threading.Thread(target=memory.close)
    closing.start()
    while not consolidator._closing:
        threading.Event().wait(0.001)
    assert closing.is_alive(), "it waits for the run"
    go_on.set()
    closing.join(30)
    assert not closing.is_alive()
    run.join(30)
    assert len(ended) == 1
    assert not [each for each in caplog.records if "closed" in each.getMessage()]
    with Memory(Settings(data_dir=tmp_path), embedder=toy) as again:
        assert [record["text"] for record in again.export(ME)] == [
            HERON, "The heron waits by the lake.", "The heron waits by the river.",
        ]  # fmt: skip
        store = again._runtime.parts().store
        assert [dict(mark.body or {})["state"] for mark in store.journal.runs()] == ["failed"]


class Held:
    """An embedder that waits, once it is told to hold, before it embeds a summary."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name, self.fingerprint = inner.name, inner.fingerprint
        self.dimension, self.profile = inner.dimension, inner.profile
        self.begun, self.go_on = threading.Event(), threading.Event()

    def documents(self, texts: Any) -> Any:
        if any("Session summary" in text for text in texts):
            self.begun.set()
            assert self.go_on.wait(60)
        return self.inner.documents(texts)

    def query(self, text: str) -> Any:
        return self.inner.query(text)


@pytest.mark.parametrize("closed_by_the_program", [True, False])
def test_a_run_that_does_not_stop_in_time_keeps_its_files_and_the_process(
    closed_by_the_program: bool,
    tmp_path: Path,
    toy: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It comes back from native code to an interpreter and a journal that are there."""
    monkeypatch.setattr(runtime, "RUN_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "STOP_SECONDS", 0.0)
    of_others = set(threading.enumerate())
    held = Held(toy)
    memory = Memory(Settings(data_dir=tmp_path), embedder=held)
    told = [HERON, "The heron waits by the lake.", "The heron waits by the river."]
    for text in told:
        memory.remember(ME, RememberRequest(text, session="pond", role="user"))
    memory.end_session(ME, "pond")
    assert held.begun.wait(60)
    opened = memory._runtime
    if closed_by_the_program:
        memory.close()
        assert opened._ending is not None
        assert not opened._ending.daemon, "the interpreter waits for it"
        waiting = opened._ending
    else:
        waiting = threading.Thread(target=runtime._close, args=(weakref.ref(opened),))
        waiting.start()
        while opened._ending is None:
            threading.Event().wait(0.001)
    assert waiting.is_alive()
    held.go_on.set()
    waiting.join(60)
    assert not waiting.is_alive()
    assert "the journal is closed" not in caplog.text
    names = {thread.name for thread in set(threading.enumerate()) - of_others}
    assert not names & {"scheduler", "maintenance", "end"}
    with Memory(Settings(data_dir=tmp_path), embedder=toy) as again:
        assert [record["text"] for record in again.export(ME)] == told
        store = again._runtime.parts().store
        assert [dict(mark.body or {})["state"] for mark in store.journal.runs()] == ["failed"]


LEFT_OPEN = """
import atexit, sys, threading
from pathlib import Path

def look():  # registered first, so it runs last
    names = {thread.name for thread in threading.enumerate()}
    print("closed" if memory._runtime._closed else "open", *sorted(names - {"MainThread"}))

atexit.register(look)
from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity
memory = Memory(Settings(data_dir=Path(sys.argv[1])))
from memory_core.remember.request import RememberRequest
print(memory.remember(Identity("me"), RememberRequest("The heron waits by the weir.")).status)
"""


@pytest.mark.usefixtures("processes")
def test_a_program_that_ends_without_closing_leaves_no_thread_in_native_code(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "store")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["stored", "closed"]
