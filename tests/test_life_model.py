"""Remember, correct, sleep, undo, forget, restart, rebuild in any order, against a plain model.

The model knows what was said, what replaced it, and what was forgotten. It knows nothing of
summaries: whatever sleep writes must leave what was said as it is, rest on what is there, hold no
word of what was forgotten, and go away with the undo of its run.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memory_core.config import ConsolidationSettings, Settings
from memory_core.consolidate.steps import ConsolidationTuning
from memory_core.errors import InvalidInput, NotFound
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ME = Identity("me")
THINGS = ("heron", "otter", "weir", "mill")
DAY = 86_400.0
MODES = ("sleep", "sleep", "session", "topics", "deduplicate", "contradictions", "prune")


@dataclass
class Said:
    text: str
    word: str
    session: str
    replaced_by: str = ""
    place: str = ""


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="life"))
        self.now = 1_700_000_000.0
        self.said: dict[str, Said] = {}
        self.gone: list[str] = []
        self.home = ""
        self.words: list[str] = []
        self.runs: list[str] = []
        self.states: dict[str, str] = {}
        self.number = 0
        self.memory = self.open()

    def open(self) -> Memory:
        still = ConsolidationSettings(automatic=False)
        chosen = Settings(data_dir=self.folder, consolidation=still)
        tuning = Tuning(consolidation=ConsolidationTuning(concept_members=4))
        memory = Memory(chosen, clock=lambda: self.now, embedder=TOY(), tuning=tuning)
        assert memory.wait_ready(30.0)
        return memory

    def sentence(self, thing: str) -> tuple[str, str]:
        self.number += 1
        word = f"qz{self.number}x"
        return f"The {thing} of the {thing} house waits by the old {thing} gate for {word}", word

    def export(self) -> str:
        return json.dumps(list(self.memory.export(ME)), sort_keys=True)

    def changed(self) -> None:
        """Something was said or forgotten: undo cannot give back an earlier export any more."""
        self.states.clear()

    @rule(thing=st.sampled_from(THINGS), session=st.sampled_from(("", "talk")))
    def remember(self, thing: str, session: str) -> None:
        text, word = self.sentence(thing)
        receipt = self.memory.remember(ME, RememberRequest(text, session=session))
        assert receipt.status == "stored"
        self.said[receipt.id] = Said(text, word, session)
        self.changed()

    @precondition(lambda self: any(not s.replaced_by for s in self.said.values()))
    @rule(data=st.data())
    def correct(self, data: Any) -> None:
        standing = [id for id, each in self.said.items() if not each.replaced_by]
        old = data.draw(st.sampled_from(standing))
        text, word = self.sentence("mill")
        receipt = self.memory.remember(ME, RememberRequest(text, replaces=old))
        assert receipt.replaced == (old,)
        self.said[receipt.id] = Said(text, word, "")
        self.said[old].replaced_by = receipt.id
        self.changed()

    @rule(place=st.sampled_from(("Linz", "Graz", "Wels")))
    def move(self, place: str) -> None:
        """A correction in speech: what was said before of the same person is out of date."""
        self.number += 1
        self.now += 60.0
        word = "qz" + "".join("abcdefghij"[int(digit)] for digit in str(self.number)) + "x"
        text = f"Actually, Mara lives in {place} now ({word})."
        receipt = self.memory.remember(ME, RememberRequest(text))
        assert receipt.status == "stored"
        last, self.home = self.home, receipt.id
        self.said[receipt.id] = Said(text, word, "", place=place)
        if last in self.said and self.said[last].place != place:
            before = self.memory.get(ME, last)
            assert before.superseded_by or before.retired_at
        self.changed()

    @rule(mode=st.sampled_from(MODES))
    def sleep(self, mode: str) -> None:
        before = self.export()
        report = self.memory.consolidate(ME, mode=mode)
        assert report.status == "completed"
        self.runs.append(report.run)
        self.states[report.run] = before

    @precondition(lambda self: self.runs)
    @rule()
    def undo_the_last_run(self) -> None:
        run = self.runs.pop()
        assert self.memory.consolidate(ME, undo=run).status == "undone"
        if run in self.states:
            assert self.export() == self.states.pop(run)
        with pytest.raises(InvalidInput):
            self.memory.consolidate(ME, undo=run)

    @precondition(lambda self: self.said)
    @rule(data=st.data())
    def forget(self, data: Any) -> None:
        id = data.draw(st.sampled_from(list(self.said)))
        report = self.memory.forget(ME, ids=[id], confirm=True)
        assert [each.id for each in report.removed] == [id]
        assert not {each.id for each in report.derived} & set(self.said)
        each = self.said.pop(id)
        self.gone.append(id)
        self.words.append(each.word)
        assert (
            self.memory.remember(ME, RememberRequest(each.text, session=each.session)).status
            == "refused"
        )
        self.changed()

    @rule(days=st.integers(1, 100))
    def time_passes(self, days: int) -> None:
        self.now += days * DAY

    @rule(rebuild=st.booleans())
    def restart(self, rebuild: bool) -> None:
        before = self.export()
        self.memory.close()
        if rebuild:  # everything but the journal can be dropped
            for name in ("table", "index"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
        self.memory = self.open()
        assert self.export() == before

    @invariant()
    def what_was_said_is_there_and_what_was_forgotten_is_not(self) -> None:
        rows = {row["id"]: row for row in self.memory.export(ME)}
        told = {id: row for id, row in rows.items() if row["kind"] not in ("summary", "concept")}
        assert told.keys() == self.said.keys()
        for id, each in self.said.items():
            assert (told[id]["text"], told[id]["session"]) == (each.text, each.session)
            assert told[id]["superseded_by"] == each.replaced_by or not each.replaced_by
            assert told[id]["replaced"] == bool(each.replaced_by)
        if self.home in self.said and not self.said[self.home].replaced_by:
            assert not told[self.home]["superseded_by"], "the newest is what counts"
        known = self.export()
        assert not [word for word in self.words if word in known]
        for row in rows.values():
            if row["kind"] in ("summary", "concept"):
                assert row["derived_from"]
                assert set(row["derived_from"]) <= rows.keys()
                assert row["run"]

    @invariant()
    def the_forgotten_is_unknown(self) -> None:
        for id in self.gone[-2:]:
            with pytest.raises(NotFound):
                self.memory.get(ME, id)

    def teardown(self) -> None:
        self.memory.close()
        data = b"".join(p.read_bytes() for p in self.folder.glob("journal.db*"))
        assert not [word for word in self.words if word.encode() in data]
        shutil.rmtree(self.folder)


TOY: Any = None


@pytest.fixture(autouse=True, scope="module")
def _toy() -> None:
    global TOY
    import importlib.util

    spec = importlib.util.spec_from_file_location("shared", Path(__file__).parent / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    TOY = shared.ToyEmbedder


TestLife = Machine.TestCase
TestLife.settings = settings(
    max_examples=4,
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
