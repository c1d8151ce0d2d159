"""Memory against a plain dict: any sequence of calls, restarts and second programs."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.errors import NotFound, ScopeDenied
from memory_core.memory import Memory
from memory_core.records import Identity, normalised
from memory_core.remember.request import RememberRequest

RIGHTS = frozenset({"read", "write"})
AGENTS = (Identity("ana", "crew", RIGHTS), Identity("ben", "crew", RIGHTS))
TEXTS = ("The heron waits.", "the HERON waits", "The heron waits 5.", "A weir.", "A weir!", "Mill")


class Hashing:
    """Every text a direction of its own; equal texts are equal."""

    name = fingerprint = "hashing"
    dimension = 16
    profile = Profile()

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        drawn = np.random.default_rng(seed).normal(size=self.dimension)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)


@dataclass
class Known:
    """What the dict knows of one memory."""

    text: str
    owner: Identity
    scope: str
    speaker: str
    session: str
    superseded_by: str = ""
    accesses: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        said = normalised(self.text)
        return (self.owner.agent, self.scope, self.speaker, self.session, said)

    def readable(self, who: Identity) -> bool:
        return self.scope != "private" or who == self.owner


@dataclass
class World:
    known: dict[str, Known] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    receipts: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def repeated(self, new: Known) -> str | None:
        live = ((id, k) for id, k in self.known.items() if not k.superseded_by)
        return next((id for id, k in live if k.key == new.key), None)

    def standing(self, id: str) -> str:
        while (following := self.known[id].superseded_by) in self.known:
            id = following
        return id


TOLD = st.fixed_dictionaries(
    {
        "text": st.sampled_from(TEXTS),
        "scope": st.sampled_from(["private", "team", "shared"]),
        "speaker": st.sampled_from(["", "Mara"]),
        "session": st.sampled_from(["", "talk"]),
    }
)
WHO = st.sampled_from(AGENTS)


class Machine(RuleBasedStateMachine):
    """Two programs over one directory; the dict says what either must answer."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = 1.7e9
        self.world = World()
        self.open: list[Memory] = []

    @initialize()
    def start(self) -> None:
        self.open = [self.another()]

    def another(self) -> Memory:
        chosen = Settings(data_dir=self.folder)
        memory = Memory(chosen, clock=lambda: self.now, embedder=Hashing())
        assert memory.wait_ready(120.0)
        return memory

    def told(self, who: Identity, told: dict[str, str]) -> tuple[Known, str | None]:
        new = Known(told["text"], who, told["scope"], told["speaker"], told["session"])
        return new, self.world.repeated(new)

    def noted(self, id: str, new: Known, first: str | None) -> None:
        if first is None:
            assert id not in self.world.known
            self.world.known[id] = new
        else:
            assert id == first
            self.world.known[id].accesses += 1

    @rule(who=WHO, told=TOLD, which=st.integers(0, 1))
    def remember(self, who: Identity, told: dict[str, str], which: int) -> None:
        self.now += 1.0
        new, first = self.told(who, told)
        receipt = self.open[which % len(self.open)].remember(who, RememberRequest(**told))
        assert receipt.status == ("stored" if first is None else "reinforced")
        self.noted(receipt.id, new, first)

    @rule(who=WHO, told=TOLD, key=st.sampled_from("kl"), which=st.integers(0, 1))
    def remember_once(self, who: Identity, told: dict[str, str], key: str, which: int) -> None:
        new, first = self.told(who, told)
        receipt = self.open[which % len(self.open)].remember(who, RememberRequest(**told, key=key))
        said = (receipt.id, receipt.status)
        if (who.agent, key) in self.world.receipts:
            assert said == self.world.receipts[who.agent, key]
            return
        self.world.receipts[who.agent, key] = said
        self.noted(receipt.id, new, first)

    @precondition(lambda self: self.world.known)
    @rule(data=st.data(), who=WHO, told=TOLD, which=st.integers(0, 1))
    def replace(self, data: Any, who: Identity, told: dict[str, str], which: int) -> None:
        self.now += 1.0
        known = self.world.known
        old = data.draw(st.sampled_from(list(known)))
        last = self.world.standing(old)
        new, first = self.told(who, told)
        memory = self.open[which % len(self.open)]
        error = None
        if not known[old].readable(who):
            error = NotFound
        elif last != first and (known[old].owner, known[last].owner) != (who, who):
            error = ScopeDenied
        if error is not None:
            with pytest.raises(error):
                memory.remember(who, RememberRequest(**told, replaces=old))
            return
        receipt = memory.remember(who, RememberRequest(**told, replaces=old))
        self.noted(receipt.id, new, first)
        if last != receipt.id:
            assert (receipt.status, receipt.replaced) == ("replaced", (last,))
            known[last].superseded_by = receipt.id
        else:
            assert receipt.status == "reinforced"

    @precondition(lambda self: self.world.known)
    @rule(data=st.data(), who=WHO, which=st.integers(0, 1))
    def forget(self, data: Any, who: Identity, which: int) -> None:
        id = data.draw(st.sampled_from(list(self.world.known)))
        memory, known = self.open[which % len(self.open)], self.world.known[id]
        if known.owner != who:
            with pytest.raises(ScopeDenied if known.readable(who) else NotFound):
                memory.forget(who, ids=[id], confirm=True)
            return
        report = memory.forget(who, ids=[id], confirm=True, never_again=False)
        assert [removal.id for removal in report.removed] == [id]
        del self.world.known[id]
        self.world.gone.append(id)
        kept = self.world.receipts.items()
        self.world.receipts = {key: said for key, said in kept if said[0] != id}

    @rule()
    def reopen(self) -> None:
        for memory in self.open:
            memory.close()
        self.open = [self.another()]

    @precondition(lambda self: len(self.open) == 1)
    @rule()
    def open_a_second(self) -> None:
        self.open.append(self.another())

    @rule(which=st.integers(0, 1))
    def import_what_was_exported(self, which: int) -> None:
        memory = self.open[which % len(self.open)]
        for record in list(memory.export(AGENTS[0])):
            own = record["agent"] == AGENTS[0].agent
            assert not own or memory.bring_in(AGENTS[0], record).id == record["id"]

    @invariant()
    def every_program_answers_like_the_dict(self) -> None:
        for memory in self.open:
            for who in AGENTS:
                self.check(memory, who)

    def check(self, memory: Memory, who: Identity) -> None:
        wanted = {id: k for id, k in self.world.known.items() if k.readable(who)}
        records = {record["id"]: record for record in memory.export(who)}
        assert records.keys() == wanted.keys()
        for id, known in wanted.items():
            record = records[id]
            said = [record[n] for n in ("text", "visibility", "speaker", "session", "agent")]
            expected = [known.text, known.scope, known.speaker, known.session, known.owner.agent]
            assert said == expected
            assert record["superseded_by"] == known.superseded_by
            assert record["access_count"] == known.accesses
        assert memory.stats(who)["memories"] == len(wanted)
        live = {id for id, known in wanted.items() if not known.superseded_by}
        assert {m.id for m in memory.listing(who, limit=1000)} == live
        for id in self.world.gone[-2:]:
            with pytest.raises(NotFound):
                memory.get(who, id)

    def teardown(self) -> None:
        for memory in self.open:
            memory.close()
        shutil.rmtree(self.folder)


TestMemoryIsLikeADict = Machine.TestCase
TestMemoryIsLikeADict.settings = settings(
    max_examples=7,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
