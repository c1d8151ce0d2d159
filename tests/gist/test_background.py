"""Model work over time: one commit a turn, ends and kills between, the queue and its bounds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core import config
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.errors import DiskFull
from memory_core.memory import Memory
from memory_core.records import JOBS, Change, Identity
from memory_core.remember import commit
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
ROOT = Path(__file__).parents[2]
PORT = "Tomasz keeps a sticky note with the number 5433 at the staging screen."
WAIT = 60.0

Opened = Callable[..., Memory]


def answer(data: dict[str, Any], *facts: str, **turn: Any) -> dict[str, Any]:
    """A report on each turn that was shown, and *facts* that rest on the last."""
    empty = {"gist": "", "tags": [], "topic": "", "entities": [], "importance": 0.6}
    last = data["turns"][-1]["turn"]
    told = {"kind": "fact", "importance": 0.6, "topic": "", "entities": [], "sources": [last]}
    return {
        "turns": [{**empty, **turn, "turn": each["turn"]} for each in data["turns"]],
        "facts": [{**told, "text": text} for text in facts],
    }


def facts_of(memory: Memory) -> list[str]:
    return sorted(each.text for each in memory.listing(ME, limit=100) if each.extracted)


def jobs_of(memory: Memory) -> Any:
    return memory._runtime.parts().worker


# One commit


def test_what_follows_from_a_turn_is_written_in_one_commit(
    opened: Opened, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full between the second fact and the third: then none of it is there."""
    told = [f"Tomasz keeps a sticky note {word}." for word in ("here", "there", "everywhere")]
    server.say = lambda data: answer(data, *told, topic="work", importance=0.9)
    memory = opened()
    id = memory.remember(ME, RememberRequest(PORT)).id
    before = memory.get(ME, id)
    take, taken = commit.take_fact, []

    def breaks(*given: Any) -> str:
        taken.append(given)
        if len(taken) == 3:
            raise DiskFull("the disk is full", "make room")
        return take(*given)

    monkeypatch.setattr(commit, "take_fact", breaks)
    with pytest.raises(DiskFull):
        memory.encode(ME)
    assert facts_of(memory) == []
    assert memory.get(ME, id) == before
    assert before.due == JOBS
    monkeypatch.undo()
    assert memory.encode(ME).left == 0
    assert facts_of(memory) == sorted(told)
    changes = [change.kind for change in memory.history(ME, id) if change.kind == "put"]
    assert changes == ["put", "put"]  # remembered, encoded


# A turn that moves on. A batch is larger than what is said, so that no worker begins it unasked.


def says(memory: Memory, text: str) -> str:
    receipt = memory.observe(ME, ConversationTurn("user", text, session="s")).receipt
    assert receipt is not None
    return receipt.id


def says_little(memory: Memory) -> str:
    """A turn that is captured and was judged to be of little importance."""
    id = says(memory, "The radio plays in the kitchen.")
    body = {"importance": 0.2}
    memory._runtime.parts().store.commit(lambda tx: tx.append(Change("put", id, body)))
    return id


def talk(memory: Memory, count: int) -> list[str]:
    return [says(memory, f"Note {n} on the apple tree, the one by the gate.") for n in range(count)]


def test_late_importance_reaches_what_has_moved_on(opened: Opened, server: Any) -> None:
    """A judge that comes late finds the memory wherever it is."""
    memory = opened(batch_turns=50)
    unkept, kept = says_little(memory), says(memory, "The pump hums.")
    talk(memory, 21)
    memory.sweep(ME)
    assert memory.get(ME, unkept).retired_at is not None
    assert memory.get(ME, kept).tier == "recent"
    server.say = lambda data: answer(data, importance=0.9)
    assert memory.encode(ME).left == 0
    for id in (unkept, kept):
        found = memory.get(ME, id)
        assert (found.retired_at, found.tier, found.importance) == (None, "recent", 0.9)


def test_late_importance_below_the_bound_brings_nothing_back(opened: Opened, server: Any) -> None:
    memory = opened(batch_turns=50)
    unkept = says_little(memory)
    talk(memory, 21)
    memory.sweep(ME)
    server.say = lambda data: answer(data, importance=0.4)
    assert memory.encode(ME).left == 0
    assert memory.get(ME, unkept).retired_at is not None
    assert memory.get(ME, unkept).importance == 0.4


def test_a_turn_that_leaves_the_ring_without_a_gist_gets_one(
    opened: Opened, open_memory: Callable[..., Memory], server: Any, clock: Any
) -> None:
    """A model was chosen after it was captured."""
    plain = open_memory("store")
    ids = talk(plain, 20)
    plain._runtime.parts().capture._heard.clear()  # as after a kill: the ring is not emptied
    plain.close()
    memory = opened(batch_turns=50)
    assert memory.encode(ME).due == 0
    newest = says(memory, "The pear tree bears.")  # the first one leaves
    assert [id for id in ids if memory.get(ME, id).due] == ids[:1]
    clock.pass_by(4000.0)
    memory.sweep(ME)  # the conversation is over, the others leave
    assert {memory.get(ME, id).tier for id in ids} == {"recent"}
    server.say = lambda data: answer(data, gist="It is about the tree by the gate.")
    assert memory.encode(ME).left == 0
    assert {memory.get(ME, id).gist for id in ids} == {"It is about the tree by the gate."}
    assert memory.get(ME, newest).encoded


def test_what_may_not_be_sent_is_not_made_due_on_leaving(
    opened: Opened, open_memory: Callable[..., Memory], server: Any
) -> None:
    plain = open_memory("store")
    ids = talk(plain, 20)
    plain._runtime.parts().capture._heard.clear()
    plain.close()
    memory = opened(forbid_agents=("me",))
    says(memory, "The pear tree bears.")
    memory.sweep(ME)
    assert not any(memory.get(ME, id).due for id in ids)


def test_a_summary_that_no_model_gives_is_extractive_and_counted(
    opened: Opened, server: Any, spoken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    memory = opened()
    for text in ("The allotment needs water.", "Nora waters the allotment.", "It is number 17."):
        memory.remember(ME, RememberRequest(text, session="s"))
    server.say = lambda data: spoken(status=500)
    run = memory.consolidate(ME, mode="session", session="s")
    assert (run.status, len(run.summaries)) == ("completed", 1)
    assert "The allotment needs water." in run.summaries[0].text
    assert memory.health(ME).jobs["summarise"] == {"queued": 0, "running": 0, "failed": 1}
    assert any(f"summarise:{run.run} is extractive" in line for line in caplog.messages)


# The end of a process


def test_a_call_under_way_at_the_end_is_waited_for(opened: Opened, server: Any) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def say(data: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        assert go_on.wait(WAIT)
        return answer(data, "Tomasz keeps a sticky note.")

    server.say = say
    memory = opened(gather_seconds=0.0, drain_seconds=WAIT)
    memory.remember(ME, RememberRequest(PORT))
    assert asked.wait(WAIT)
    stopping = jobs_of(memory)._stopping
    closing = threading.Thread(target=memory.close)
    closing.start()
    assert stopping.wait(WAIT)
    go_on.set()
    closing.join(WAIT)
    assert not closing.is_alive()
    again = opened()
    assert facts_of(again) == ["Tomasz keeps a sticky note."]
    assert again.encode(ME).due == 0
    assert len(server.asked) == 1


ENCODE = """
import importlib.util, os, sys
from pathlib import Path
from memory_core.config import Settings
from memory_core.enrichment.queue import EnrichmentTuning
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.runtime import Tuning

spec = importlib.util.spec_from_file_location("conftest", "tests/conftest.py")
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)
settings = Settings(
    data_dir=Path(sys.argv[1]), encoder="openai", encoder_model="newer", encoder_url=sys.argv[2]
)
tuning = Tuning(enrichment=EnrichmentTuning(batch_turns=4, gather_seconds=3600.0))
memory = Memory(settings, embedder=shared.ToyEmbedder(), tuning=tuning)
assert memory.wait_ready(60)
memory.encode(Identity("me"), "2000-01-01")
"""


@pytest.mark.usefixtures("processes")
@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_encoding_again_goes_on_after_a_kill(opened: Opened, server: Any, tmp_path: Path) -> None:
    first = opened(batch_turns=20)
    ids = [
        first.remember(ME, RememberRequest(f"Tomasz counted {n} parcels.", session="s")).id
        for n in range(20)
    ]
    assert first.encode(ME).left == 0
    first.close()
    server.asked.clear()
    third, over = threading.Event(), threading.Event()

    def say(data: dict[str, Any]) -> dict[str, Any]:
        if len(server.asked) == 3:
            third.set()
            over.wait(WAIT)
        return answer(data)

    server.say = say
    command = [sys.executable, "-c", ENCODE, str(tmp_path / "store"), server.url]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        assert third.wait(WAIT)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT)
    over.set()
    sent = [turn["text"] for asked in server.asked for turn in asked.data["turns"]]
    assert len(sent) == 12
    again = opened(batch_turns=50)
    states = Counter(again.get(ME, id).encoded for id in ids)
    assert states == {"1 openai:newer": 8, "1 openai:small": 12}
    assert all(again.get(ME, id).due for id in ids[8:])  # it is known what is left
    assert again.encode(ME).left == 0
    resent = [turn["text"] for asked in server.asked[3:] for turn in asked.data["turns"]]
    assert sorted(resent) == sorted(set(resent))
    assert set(resent) == {f"Tomasz counted {n} parcels." for n in range(8, 20)}


# What it may take


def test_a_text_that_no_days_budget_covers_does_not_block_the_rest(
    opened: Opened, server: Any
) -> None:
    memory = opened(daily_tokens=4_000)
    long = memory.remember(ME, RememberRequest("Tomasz counted parcels. " * 500, session="s")).id
    short = memory.remember(ME, RememberRequest("Tomasz counted 3 parcels.", session="s")).id
    assert memory.encode(ME).left == 0
    assert (memory.get(ME, long).encoded, memory.get(ME, short).encoded) == (
        "failed",
        "1 openai:small",
    )
    assert [turn["text"] for asked in server.asked for turn in asked.data["turns"]] == [
        "Tomasz counted 3 parcels."
    ]
    assert memory.health(ME).jobs["gist"]["failed"] == 1


def test_an_encoder_that_fails_in_its_own_way_is_not_asked_forever(
    opened: Opened, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fail(*_: Any) -> Any:
        asked.append(1)
        raise LookupError("what a library raises")

    memory = opened()
    budget = jobs_of(memory).budget
    monkeypatch.setattr(budget.encoder, "encode", fail)
    id = memory.remember(ME, RememberRequest(PORT)).id
    assert memory.encode(ME).problem == "the encoder failed (LookupError)"
    assert (memory.encode(ME).left, len(asked)) == (1, 1)  # it is paused
    budget._monotonic = iter(range(10**6, 10**9, 10**4)).__next__  # each pause is over
    while memory.encode(ME).left:
        assert len(asked) < 4
    assert (memory.get(ME, id).encoded, len(asked)) == ("failed", 3)
    assert memory.health(ME).jobs["gist"]["failed"] == 1


def test_no_budget_means_no_call_and_nothing_is_given_up(opened: Opened, server: Any) -> None:
    memory = opened(daily_tokens=0)
    id = memory.remember(ME, RememberRequest(PORT)).id
    assert memory.encode(ME).left == 1
    assert (server.asked, memory.get(ME, id).due) == ([], JOBS)


def test_bans_and_budget_can_stand_in_the_file(
    open_memory: Callable[..., Memory], server: Any, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        f"""
        encoder = "openai"
        encoder_model = "small"
        encoder_url = "{server.url}"
        [gist]
        daily_tokens = 5000
        forbid_scopes = ["shared"]
        forbid_agents = ["diary"]
        """
    )
    loaded = config.load({"ANAMNESIS_CONFIG": str(file)})
    names = ("encoder", "encoder_model", "encoder_url", "gist")
    given = {name: getattr(loaded, name) for name in names}
    tuning = Tuning(enrichment=EnrichmentTuning(batch_turns=1))
    memory = open_memory("store", tuning=tuning, **given)
    memory.remember(ME, RememberRequest("Shared: Tomasz counts.", scope="shared"))
    memory.remember(Identity("diary"), RememberRequest("Diary: Tomasz counts."))
    for n in range(40):
        memory.remember(ME, RememberRequest(f"Tomasz counted {n} parcels."))
    assert 0 < memory.encode(ME).left < 40
    sent = json.dumps([asked.data for asked in server.asked])
    assert "Shared" not in sent
    assert "Diary" not in sent
    today = memory.health(ME).encoder["today"]
    assert today["tokens_in"] + today["tokens_out"] <= 5000


def test_a_hanging_model_bounds_queue_and_hands(opened: Opened, server: Any) -> None:
    """The short form of tests/bench/slow_model.py: what a process holds while nothing is answered.

    The queue is a look at the columns, cut at `queue`; in hand are at most a batch a worker, and
    only those are told of anywhere else in the process.
    """
    first, over = threading.Event(), threading.Event()

    def say(data: dict[str, Any]) -> dict[str, Any]:
        first.set()
        over.wait(10 * WAIT)
        return answer(data)

    server.say = say
    bounds = {"queue": 32, "workers": 3, "batch_turns": 4}
    memory = opened(gather_seconds=0.0, drain_seconds=0.0, **bounds)
    jobs = jobs_of(memory)
    try:
        for n in range(90):
            memory.remember(
                ME, RememberRequest(f"Tomasz counted {n} parcels.", session=f"s{n % 7}")
            )
            assert len(jobs._state.busy) <= 3 * 4
            assert len(jobs._state.groups) <= 3
            assert len(jobs.queue.waiting()) <= 32
        assert first.wait(WAIT)
        assert len(jobs.queue.waiting()) == 32
        assert len(jobs._state.tried) == 0
        assert jobs._state.running.total() <= 3 * 4 * len(JOBS)
        assert len(server.asked) <= 3
        assert len(jobs._threads) == 3
        counts = memory.health(ME).jobs
        assert counts["gist"]["queued"] + counts["gist"]["running"] == 90
        memory.close()  # waits for nobody
    finally:
        over.set()
    for worker in jobs._threads:
        worker.join(WAIT)
