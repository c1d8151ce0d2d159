"""Changing the model: recall answers throughout, models are never mixed, a kill loses nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.errors import EncoderUnavailable
from memory_core.lifecycle import turn_pairs
from memory_core.maintenance.loop import Maintenance, MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning
from memory_core.storage.store import EMBEDDING
from tests.views import view_of

ME = Identity("me")
ROOT = Path(__file__).parents[2]
BATCH = 8
FAST = Tuning(maintenance=MaintenanceTuning(round_seconds=0.02))


class Turned:
    """The toy with every vector turned by a permutation and a sign: cosines within it are the
    toy's, cosines with the toy's are noise. *dimension* may be smaller."""

    profile = Profile()

    def __init__(self, toy: Any, name: str, seed: int, dimension: int = 64) -> None:
        self.name = name
        self.fingerprint = f"{name}-1"
        self.dimension = dimension
        self._toy = toy
        drawn = np.random.default_rng(seed)
        self._order = drawn.permutation(64)[:dimension]
        self._sign = drawn.choice([-1.0, 1.0], size=dimension)
        self.refuses: Callable[[str], bool] = lambda text: False

    def documents(self, texts: Any) -> NDArray[np.float32]:
        for text in texts:
            if self.refuses(text):
                raise EncoderUnavailable("it refuses this text", "give it another")
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        turned = self._toy.query(text)[self._order] * self._sign
        return (turned / np.linalg.norm(turned)).astype(np.float32)


class Models:
    """What can be loaded, by setting; what is missing fails as a vendor's model would."""

    def __init__(self, toy: Any) -> None:
        self.by_name: dict[str, Any] = {
            "ollama:a": Turned(toy, "a", 1),
            "ollama:b": Turned(toy, "b", 2),
            "ollama:small": Turned(toy, "small", 3, 32),
        }
        self.loaded: list[str] = []

    def __call__(self, settings: Settings) -> Any:
        self.loaded.append(settings.embedder)
        if settings.embedder not in self.by_name:
            raise EncoderUnavailable(f"{settings.embedder} is not there", "fetch it")
        return self.by_name[settings.embedder]

    def __getitem__(self, name: str) -> Any:
        return self.by_name[f"ollama:{name}"]


@pytest.fixture
def models(toy: Any, monkeypatch: pytest.MonkeyPatch) -> Models:
    made = Models(toy)
    monkeypatch.setattr("memory_core.runtime.choose", made)
    monkeypatch.setattr("memory_core.maintenance.backfill.BACKFILL", BATCH)
    return made


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No background thread: rounds are done by hand."""
    monkeypatch.setattr(Maintenance, "start", lambda self: None)


Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path, models: Models) -> Iterator[Open]:
    made: list[Memory] = []

    def open_one(embedder: str = "ollama:a") -> Memory:
        settings = Settings(data_dir=tmp_path / "store", embedder=embedder)
        made.append(Memory(settings, tuning=FAST))
        made[-1].wait_ready(120.0)
        return made[-1]

    yield open_one
    for memory in made:
        memory.close()


def fill(memory: Memory, number: int) -> None:
    for each in range(number):
        memory.remember(ME, RememberRequest(f"Heron number {each} waits by weir {each * 7}."))


def rounds(memory: Memory, number: int = 1) -> None:
    for _ in range(number):
        memory._runtime.parts().maintenance.round()


def test_a_pair_keeps_its_vector(opened: Open, models: Models, quiet: None) -> None:
    memory = opened()
    turns = [("user", "Which paint did we choose?"), ("assistant", "The green one, two litres.")]
    asked, answered = (
        memory.remember(ME, RememberRequest(text, role=role, session="s")).id
        for role, text in turns
    )
    store = memory._runtime.parts().store
    made = turn_pairs.vectors(store, models["a"], [(asked, answered)])
    store.commit(lambda tx: turn_pairs.write(tx, asked, answered, made, "a-1", "sweep"))
    memory.reembedding.begin("ollama:b")
    rounds(memory, 3)
    assert working_with(memory) == "b-1"
    parts, vectors = store.journal.vectors([asked, answered], "b-1")[asked]
    assert parts == [0, turn_pairs.PART]
    text = f"User: {turns[0][1]} / Agent: {turns[1][1]}"
    assert np.allclose(vectors[-1], models["b"].query(text), atol=1e-3)
    assert store.journal.vectors([answered], "b-1")[answered][0] == [0]


def working_with(memory: Memory) -> str:
    return str(memory._runtime.parts().store.fingerprint)


def wholes(memory: Memory) -> dict[str, NDArray[np.float32]]:
    """The whole vector in the index of every memory, by text."""
    memory.stats(ME)
    store = memory._runtime.parts().store
    vectors = view_of(store).vectors
    assert vectors is not None
    rows = {r["text"]: view_of(store).columns.row(r["id"]) for r in memory.export(ME)}
    found = vectors.wholes(np.array(list(rows.values()), np.int64))
    return dict(zip(rows, found, strict=True))


def assert_all_of(memory: Memory, model: Any) -> None:
    """Every vector that is searched is the one that *model* makes of that text."""
    held = wholes(memory)
    assert held
    for text, vector in held.items():
        wanted = model.query(text).astype(np.float16).astype(np.float32)
        np.testing.assert_array_equal(vector, wanted)


def see_through(memory: Memory) -> None:
    for _ in range(50):
        if memory.reembedding.target is None:
            return
        memory.reembedding.step()
    raise AssertionError("the change did not come to an end")


def steps(memory: Memory, number: int) -> None:
    for _ in range(number):
        memory.reembedding.step()
        threading.Event().wait(0.01)


# The change


@pytest.mark.parametrize("new", ["b", "small"])
@pytest.mark.usefixtures("quiet")
def test_every_vector_is_the_new_models_afterwards(opened: Open, models: Models, new: str) -> None:
    memory = opened()
    fill(memory, 20)
    assert_all_of(memory, models["a"])
    memory.reembedding.begin(f"ollama:{new}")
    assert working_with(memory) == "a-1"
    assert_all_of(memory, models["a"])
    see_through(memory)
    assert working_with(memory) == f"{new}-1"
    assert_all_of(memory, models[new])
    found = memory.recall(ME, RecallRequest("Heron number 17 waits by weir 119."))
    assert found.hits[0].memory.text == "Heron number 17 waits by weir 119."
    assert "lexical" not in found.note


@pytest.mark.usefixtures("quiet")
def test_recall_is_by_the_old_model_until_all_is_embedded(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 20)
    memory.reembedding.begin("ollama:b")
    left = [memory.reembedding.left()]
    while memory.reembedding.step():
        left.append(memory.reembedding.left())
        if memory.reembedding.target is not None:
            assert_all_of(memory, models["a"])
            found = memory.recall(ME, RecallRequest("Heron number 5 waits by weir 35."))
            assert (found.hits[0].memory.text[:13], found.note) == ("Heron number ", "")
    assert left == sorted(left, reverse=True)
    assert left[0] == 20
    assert_all_of(memory, models["b"])


@pytest.mark.usefixtures("quiet")
def test_what_is_written_meanwhile_has_both(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 20)
    memory.reembedding.begin("ollama:b")
    memory.reembedding.step()
    memory.remember(ME, RememberRequest("A stork, in the middle of it."))
    see_through(memory)
    memory.remember(ME, RememberRequest("A crane, after it."))
    assert_all_of(memory, models["b"])
    assert len(wholes(memory)) == 22


@pytest.mark.usefixtures("quiet")
def test_what_is_forgotten_meanwhile_stays_forgotten(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 20)
    id = memory.remember(ME, RememberRequest("A stork that goes.")).id
    memory.reembedding.begin("ollama:b")
    memory.reembedding.step()
    memory.forget(ME, ids=[id], confirm=True)
    see_through(memory)
    assert_all_of(memory, models["b"])
    assert "A stork that goes." not in wholes(memory)
    journal = memory._runtime.parts().store.journal
    assert journal.vectors([id], "a-1") == journal.vectors([id], "b-1") == {}


@pytest.mark.usefixtures("quiet")
def test_going_back_embeds_only_what_is_new(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 12)
    memory.reembedding.begin("ollama:b")
    see_through(memory)
    memory.remember(ME, RememberRequest("A stork."))
    memory.reembedding.begin("ollama:a")
    assert memory.reembedding.left() == 1
    see_through(memory)
    assert_all_of(memory, models["a"])


@pytest.mark.usefixtures("quiet")
def test_asking_for_the_model_that_it_has_takes_the_wish_back(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 12)
    memory.reembedding.begin("ollama:b")
    memory.reembedding.step()
    memory.reembedding.begin("ollama:a")
    assert memory.reembedding.target is None
    assert not memory.reembedding.step()
    assert_all_of(memory, models["a"])


def test_files_hold_the_new_vectors_too(opened: Open, models: Models, tmp_path: Path) -> None:
    """Table and snapshot are of one model, also at the same dimension."""
    memory = opened()
    fill(memory, 12)
    upkeep = memory._runtime.parts().maintenance
    wait(lambda: memory._runtime.parts().store.table is not None and not upkeep._store.unsynced)
    upkeep.snapshots.write()
    memory.reembedding.begin("ollama:b")
    wait(lambda: working_with(memory) == "b-1")
    upkeep.nudge()
    wait(lambda: (upkeep.table_sync.since or 0) > upkeep._store.model_changed_at)
    wait(lambda: not upkeep.snapshots.stale and not upkeep._store.unsynced)
    table = memory._runtime.parts().store.table
    assert table is not None
    query = models["b"].query("Heron number 7 waits by weir 49.")
    held = table.vectors(table.ids())
    nearest = max(held, key=lambda id: float(held[id] @ query))
    assert memory.get(ME, nearest).text == "Heron number 7 waits by weir 49."
    assert float(held[nearest] @ query) > 0.99
    memory.close()
    again = opened("ollama:b")
    assert again._runtime.parts().store.snapshot_problem == ""
    assert_all_of(again, models["b"])


def wait(condition: Callable[[], object], seconds: float = 30.0) -> None:
    pause = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("the condition did not come true in time")


# Several processes


def test_a_second_process_follows_the_change(opened: Open, models: Models) -> None:
    first, second = opened(), opened()
    fill(first, 12)
    assert second.recall(ME, RecallRequest("Heron number 3")).hits
    first.reembedding.begin("ollama:b")
    wait(lambda: working_with(first) == "b-1")
    second.remember(ME, RememberRequest("A stork, told to the second."))
    wait(
        lambda: (
            second.recall(ME, RecallRequest("a stork")).note == "" and working_with(second) == "b-1"
        )
    )
    wait(lambda: first.reembedding.left() == 0)
    assert_all_of(second, models["b"])
    assert_all_of(first, models["b"])


@pytest.mark.usefixtures("quiet")
def test_another_setting_warns_and_uses_the_stores_model(opened: Open, models: Models) -> None:
    fill(opened(), 3)
    other = opened("ollama:b")
    assert working_with(other) == "a-1"
    other.remember(ME, RememberRequest("A stork."))
    assert_all_of(other, models["a"])
    (check,) = [c for c in other.health(ME).checks if c.name == "model"]
    assert check.status == "degraded"
    assert "works with ollama:a" in check.detail
    assert "`anamnesis reembed ollama:b`" in check.fix


@pytest.mark.usefixtures("quiet")
def test_one_process_works_at_a_time(opened: Open) -> None:
    first, second = opened(), opened()
    fill(first, 20)
    first.reembedding.begin("ollama:b")
    assert first.reembedding.step()
    for _ in range(3):
        assert not second.reembedding.step()
    assert second.reembedding.left() == 20 - BATCH
    first.close()
    see_through(second)
    assert working_with(second) == "b-1"


@pytest.mark.usefixtures("quiet")
def test_a_query_made_with_the_old_model_is_not_asked_of_the_new_index(
    opened: Open, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between embedding the question and searching, another process changes the model."""
    first, second = opened(), opened()
    fill(first, 10)
    first.reembedding.begin("ollama:b")
    second.stats(ME)
    asked = models["a"].query

    def query(text: str) -> NDArray[np.float32]:
        if first.reembedding.target is not None:
            see_through(first)
        return asked(text)  # type: ignore[no-any-return]

    monkeypatch.setattr(models["a"], "query", query)
    found = second.recall(ME, RecallRequest("Heron number 3"))
    assert "lexical" in found.note
    assert found.hits
    assert working_with(second) == "b-1"


# What is not there


@pytest.mark.usefixtures("quiet")
def test_a_new_model_that_is_not_there_changes_nothing(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 5)
    with pytest.raises(EncoderUnavailable, match="not there"):
        memory.reembedding.begin("ollama:c")
    assert memory.reembedding.target is None
    assert_all_of(memory, models["a"])


@pytest.mark.usefixtures("quiet")
def test_without_the_old_model_the_new_serves_what_it_has(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 20)
    memory.close()
    del models.by_name["ollama:a"]
    again = opened("ollama:b")
    assert "lexical" in again.recall(ME, RecallRequest("Heron number 3")).note
    again.reembedding.begin("ollama:b")
    assert working_with(again) == "b-1"
    again.remember(ME, RememberRequest("A stork with a vector."))
    found = again.recall(ME, RecallRequest("Heron number 3 waits by weir 21."))
    assert found.hits[0].memory.text == "Heron number 3 waits by weir 21."
    rounds(again, 4)
    assert again.reembedding.left() == 0
    assert_all_of(again, models["b"])


@pytest.mark.usefixtures("quiet")
def test_the_old_model_lost_half_way_makes_the_new_one_serve(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 20)
    memory.reembedding.begin("ollama:b")
    memory.reembedding.step()
    memory.close()
    del models.by_name["ollama:a"]
    again = opened()
    assert again._runtime.gate.problem is not None
    wait(lambda: again.reembedding.step() or working_with(again) == "b-1")
    rounds(again, 3)
    assert_all_of(again, models["b"])


@pytest.mark.usefixtures("quiet")
def test_a_model_that_goes_half_way_is_told_and_nothing_changes(
    opened: Open, models: Models
) -> None:
    memory = opened()
    fill(memory, 20)
    memory.reembedding.begin("ollama:b")
    memory.reembedding.step()
    models["b"].refuses = lambda text: True
    with pytest.raises(EncoderUnavailable, match="refuses"):
        steps(memory, 5)
    rounds(memory)
    (check,) = [c for c in memory.health(ME).checks if c.name == "model"]
    assert check.status == "degraded"
    assert "12 more memories" in check.detail
    assert_all_of(memory, models["a"])
    assert memory.reembedding.target is not None


@pytest.mark.usefixtures("quiet")
def test_one_text_that_it_refuses_does_not_block_the_change(opened: Open, models: Models) -> None:
    memory = opened()
    fill(memory, 20)
    memory.remember(ME, RememberRequest("A poisonous stork."))
    models["b"].refuses = lambda text: "poison" in text
    memory.reembedding.begin("ollama:b")
    see_through(memory)
    assert working_with(memory) == "b-1"
    assert memory.reembedding.left() == 1
    found = memory.recall(ME, RecallRequest("poisonous stork"))
    assert [hit.memory.text for hit in found.hits][:1] == ["A poisonous stork."]


@pytest.mark.usefixtures("quiet")
def test_other_vectors_under_the_same_name_are_told_and_not_mixed(
    opened: Open, models: Models
) -> None:
    memory = opened()
    fill(memory, 20)
    memory.reembedding.begin("ollama:b")
    memory.reembedding.step()
    memory.close()
    models.by_name["ollama:b"].fingerprint = "b-2"
    again = opened()
    with pytest.raises(EncoderUnavailable, match="other vectors"):
        steps(again, 100)
    assert_all_of(again, models["a"])


@pytest.mark.usefixtures("quiet")
def test_an_empty_store_changes_at_once(opened: Open, models: Models) -> None:
    memory = opened()
    memory.reembedding.begin("ollama:b")
    see_through(memory)
    memory.remember(ME, RememberRequest("The first."))
    assert_all_of(memory, models["b"])
    assert memory._runtime.parts().store.journal.meta(EMBEDDING)["name"] == "ollama:b"  # type: ignore[index]


# Kills

WORKER = """
import importlib.util, os, sys, time
from pathlib import Path

def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made

shared = module("conftest", "tests/conftest.py")
here = module("here", "tests/maintenance/test_reembedding.py")
import memory_core.runtime
import memory_core.maintenance.backfill
memory_core.maintenance.backfill.BACKFILL = 8
memory_core.runtime.choose = here.Models(shared.ToyEmbedder())
memory = here.Memory(here.Settings(data_dir=Path(sys.argv[1]), embedder="ollama:a"))
memory.wait_ready(30)
memory.reembedding.begin("ollama:b")
print(memory.reembedding.left(), flush=True)
while memory.reembedding.target is not None:
    memory.reembedding.step()
    print(memory.reembedding.left(), flush=True)
"""


@pytest.mark.usefixtures("processes")
@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_a_kill_half_way_loses_nothing_and_the_next_goes_on(
    opened: Open, models: Models, tmp_path: Path
) -> None:
    memory = opened()
    fill(memory, 60)
    memory.close()
    left = 60
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "store")],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as worker:
            assert worker.stdout is not None
            assert int(worker.stdout.readline()) <= left
            left = int(worker.stdout.readline())
            worker.send_signal(signal.SIGKILL)
    again = opened()
    assert 0 < again.reembedding.left() < 60 - BATCH
    assert_all_of(again, models["a"])
    see_through(again)
    assert len(wholes(again)) == 60
    assert_all_of(again, models["b"])
