"""A consolidation run on a store that gives every step of it something to do, for the sake of being
killed; and what the store may look like afterwards.

Several transactions make one run, so that a kill finds it half written.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from unittest import mock

from memory_scenarios import shared

from memory_core.config import ConsolidationSettings, Settings
from memory_core.consolidate import run_log
from memory_core.consolidate.steps import ConsolidationTuning
from memory_core.errors import InvalidInput
from memory_core.maintenance.loop import Maintenance
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Tuning

Say = Callable[..., None]
ME = Identity("me")
NOW, DAY = 1_717_900_000.0, 86_400.0
STILL = ConsolidationSettings(automatic=False)
TUNING = Tuning(consolidation=ConsolidationTuning(concept_members=3))
FEW = 3
"""Changes in one transaction of a run."""

DERIVED = ("summary", "concept")


def open_memory(directory: Path, clock: Callable[[], float] = lambda: NOW) -> Memory:
    """A memory at a fixed time, without upkeep and without runs that begin by themselves."""
    run_log.BATCH = FEW
    with mock.patch.object(Maintenance, "start"):
        settings = Settings(data_dir=directory, consolidation=STILL)
        memory = Memory(settings, clock=clock, embedder=shared.ToyEmbedder(), tuning=TUNING)
        assert memory.wait_ready(120)
    return memory


def prepare(directory: Path) -> None:
    """A store in which every step of sleep finds something."""
    past, lately = count(NOW - 100 * DAY), count(NOW - DAY)
    memory = open_memory(directory, lambda: float(next(past)))
    first = [memory.remember(ME, RememberRequest(text)).id for text in _about("heron")]
    memory.remember(ME, RememberRequest("an umbrella stood there", importance=0.1))
    for text in _about("otter"):
        memory.observe(ME, ConversationTurn("user", text, session="river"))
    memory.consolidate(ME)
    memory.remember(ME, RememberRequest("The stork walks over the old meadow", replaces=first[0]))
    for how in ("in the rain", "full of owls", "beside its weir", "on three stilts"):
        text = f"The mill of the mill house waits by the old mill gate {how}"
        memory.observe(ME, ConversationTurn("user", text, session="mill"))
    memory.close()
    memory = open_memory(directory, lambda: float(next(lately)))
    less = "the little blue boat of the widow lies at the second wooden pier of the old harbour"
    for text in (less, f"{less} beside Tomas near Linz"):
        memory.remember(ME, RememberRequest(text, speaker="Mara"))
    twice = "the harbour master sold his red boat to the baker of the lower town"
    for text in (f"Yes, {twice}.", twice):
        memory.remember(ME, RememberRequest(text, speaker="Tom"))
    memory.close()


def _about(thing: str) -> list[str]:
    return [
        f"The {thing} was asleep in the tall reeds, said the {thing} warden",
        f"Children painted a {thing} on the school wall, a blue {thing}",
        f"A {thing} needs clean water, and much of it has this {thing}",
        f"Nobody knows how old the {thing} is, the grey {thing}",
    ]


def one_sleep(directory: Path, say: Say) -> None:
    """One run from opening the store to closing it."""
    memory = open_memory(directory)
    say("completed", memory.consolidate(ME).run)
    memory.close()


def export(memory: Memory) -> str:
    """All that is exported but the stamps: an undo sets what it gives back once more."""
    rows = [{**row, "stamps": {}} for row in memory.export(ME)]
    return json.dumps(rows, sort_keys=True)


def told(memory: Memory) -> str:
    """The export with texts in place of the ids that a run makes up."""
    rows = list(memory.export(ME))
    text = json.dumps(sorted(rows, key=lambda row: (row["kind"], row["text"])), sort_keys=True)
    for row in rows:
        if row["kind"] in DERIVED:
            text = text.replace(f'"{row["id"]}"', json.dumps(row["text"]))
    for run in states(memory):
        text = text.replace(run, "a run")
    return text


def states(memory: Memory) -> dict[str, str]:
    """The state of every run of the store."""
    found = memory._runtime.parts().store.journal.runs()
    return {change.target: (change.body or {})["state"] for change in found}


class Legal:
    """The two states that a store may be in once a run was killed and the next process came."""

    def __init__(self, directory: Path) -> None:
        """Take the store in *directory*, which prepare() has made, before and after a run."""
        memory = open_memory(directory)
        self.earlier = states(memory)
        self.before, self.told_before = export(memory), told(memory)
        self.said = {row["id"]: row["text"] for row in memory.export(ME)}
        report = memory.consolidate(ME)
        self.steps = {step.name: step.changed for step in report.steps}
        self.after = told(memory)
        assert self.after != self.told_before
        memory.consolidate(ME, undo=report.run)
        assert export(memory) == self.before
        memory.close()

    def verify(self, directory: Path, *, go_on: bool) -> str:
        """What became of the killed run: not begun, completed, resumed or taken back.

        A run that was left half done is gone on with or, else, taken back. Whatever was said is
        there meanwhile, and the store is in a legal state at the end; undo brings it back exactly.
        """
        memory = open_memory(directory)
        try:
            rows = {row["id"]: row["text"] for row in memory.export(ME)}
            assert self.said.items() <= rows.items(), "something that was said is lost"
            outcome = self._settled(memory, go_on=go_on)
            assert memory._runtime.parts().store.journal.check() == []
            return outcome
        finally:
            memory.close()

    def _settled(self, memory: Memory, *, go_on: bool) -> str:
        left = self.new(memory)
        assert len(left) <= 1, left
        if not left:
            assert export(memory) == self.before
            return "not begun"
        ((run, state),) = left.items()
        if state == "started" and not go_on:
            with suppress(InvalidInput):  # it is taken back as failed: nothing is left to undo
                memory.consolidate(ME, undo=run)
            assert self.new(memory) == {run: "failed"}
            assert export(memory) == self.before
            return "taken back"
        if state == "started":
            assert memory.consolidate(ME).run == run
        assert self.new(memory) == {run: "completed"}
        assert told(memory) == self.after
        memory.consolidate(ME, undo=run)
        assert export(memory) == self.before
        return "resumed" if state == "started" else "completed"

    def new(self, memory: Memory) -> dict[str, str]:
        found = states(memory)
        return {run: state for run, state in found.items() if run not in self.earlier}
