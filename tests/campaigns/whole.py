"""The memory against a plain dict: every call, kills, restarts, a clock that jumps, a full disk, a
model that goes, a second process, files that are deleted, moved or replaced.

    python tests/campaigns/whole.py --steps 1000000 --minutes 60 --seed 1 --processes 2

plays until so many steps or minutes have passed, in stores that lie in memory where the system has
a folder for that, and prints how often each kind of step was played. Each round is one seed; a
failure prints its steps and the seed that plays them again (`--seed N --steps 1`). What is killed
is killed at a moment that no seed fixes.

What a step changed is compared with the dict after each step, for every reader; everything, in both
processes, every hundred steps and at the end of each store.
"""

from __future__ import annotations

import argparse
import copy
import functools
import logging
import math
import multiprocessing
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import hypothesis
import pytest
from helpers import RIGHTS, TUNING, Hashing, Helper, Helpers
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memory_core.config import Settings
from memory_core.errors import InvalidInput, MemoryCoreError, NotFound, ScopeDenied, StorageError
from memory_core.interchange.jsonl import to_record
from memory_core.maintenance.loop import Maintenance
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Receipt, normalised
from memory_core.remember.request import RememberRequest
from memory_core.storage.backup import backup

DAY = 86400.0
AGENTS = (Identity("ana", "crew", RIGHTS), Identity("ben", "crew", RIGHTS))
MOST = 40
"""Live memories; beyond it the machine forgets before it remembers."""
LOOK_EVERY = 100
"""Steps between two comparisons of everything with the dict."""
KEEPER_ONE_IN = 16
"""Of the second processes one in so many does upkeep too, and imports LanceDB for it."""
SEEDS = 20
"""Played by one process before another takes its place: what it has learnt of the steps grows."""
STEPS = 250
"""Of one example."""
EXAMPLES = 8
"""Of one seed."""
LOCKS = ("write.lock", "maintenance.lock", "encoder.lock")


@dataclass
class Known:
    """What the dict knows of one memory."""

    text: str
    owner: Identity
    scope: str
    speaker: str
    session: str
    position: int = -1
    superseded_by: str = ""
    run: str = ""
    rests_on: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        said = normalised(self.text)
        return (self.owner.agent, self.scope, self.speaker, self.session, said)

    @property
    def thread(self) -> tuple[str, ...]:
        return (self.owner.agent, self.scope, self.session)

    def readable(self, who: Identity) -> bool:
        return self.scope != "private" or who == self.owner


@dataclass
class World:
    """The dict."""

    known: dict[str, Known] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    runs: dict[str, Identity] = field(default_factory=dict)
    made: dict[str, AbstractSet[str]] = field(default_factory=dict)
    """What each run has made."""
    touched: set[str] = field(default_factory=set)
    """Ids of which something changed and that were not compared since."""

    def repeated(self, new: Known) -> str | None:
        live = ((id, k) for id, k in self.known.items() if not k.superseded_by)
        return next((id for id, k in live if k.key == new.key), None)

    def standing(self, id: str) -> str:
        while (following := self.known[id].superseded_by) in self.known:
            id = following
        return id

    def take(self, id: str, new: Known) -> None:
        assert id not in self.known
        if new.session:
            same = (k.position for k in self.known.values() if k.thread == new.thread)
            new.position = max(same, default=-1) + 1
        self.known[id] = new
        self.touched.add(id)

    def supersede(self, id: str, by: str) -> None:
        self.known[id].superseded_by = by
        self.touched |= {id, by} - {""}

    def lose(self, ids: list[str]) -> None:
        for id in ids:
            del self.known[id]
            self.gone.append(id)
            self.touched.add(id)


TOLD = st.sampled_from(
    [
        {
            "text": f"The {bird} waits by weir {number}.",
            "scope": scope,
            "speaker": speaker,
            "session": session,
        }
        for number in range(61)
        for bird in ("heron", "stork")
        for scope in ("private", "team", "shared")
        for speaker in ("", "Mara")
        for session in ("", "talk")
    ]
)
"""What may be told; one draw each, for drawing was a sixth of the time."""
WHO = st.sampled_from(AGENTS)
ANY = st.integers(0, 10**6)


Step = TypeVar("Step", bound=Callable[..., None])


def step(**given: Any) -> Callable[[Step], Step]:
    """A rule that counts how often it was played."""

    def mark(function: Step) -> Step:
        @functools.wraps(function)
        def played(self: Whole, **drawn: Any) -> None:
            Whole.kinds[function.__name__.replace("_", " ")] += 1
            function(self, **drawn)

        marked: Step = rule(**given)(played)  # type: ignore[no-untyped-call]
        return marked

    return mark


class Whole(RuleBasedStateMachine):
    """This process and at times a helper over one directory; the dict says what is true."""

    helpers: ClassVar[Helpers | None] = None
    steps: ClassVar[int] = 0
    kinds: ClassVar[Counter[str]] = Counter()
    """Steps played, by kind; also looks and compared memories."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=_ram()))
        self.now = 1.7e9
        self.world = World()
        self.helper: Helper | None = None
        self.model = Hashing()
        self.number = 0
        self.played = 0
        self.saved: tuple[Path, World] | None = None

    @initialize()
    def start(self) -> None:
        self.memory = self.opened()

    def opened(self) -> Memory:
        chosen = Settings(data_dir=self.folder)
        memory = Memory(chosen, clock=lambda: self.now, embedder=self.model, tuning=TUNING)
        memory.wait_ready(60)
        return memory

    # Writing

    def expected(self, who: Identity, told: dict[str, str]) -> tuple[Known, str | None]:
        new = Known(told["text"], who, told["scope"], told["speaker"], told["session"])
        return new, self.world.repeated(new)

    def noted(self, id: str, new: Known, first: str | None) -> None:
        if first is None:
            self.world.take(id, new)
        else:
            assert id == first

    def room(self) -> None:
        """Forget the oldest until there is room in the dict."""
        while len(self.world.known) >= MOST:
            self.forget_id(next(iter(self.world.known)))

    def remembered(self, who: Identity, told: dict[str, str], **more: str) -> Receipt:
        return self.memory.remember(who, RememberRequest(**told, **more))  # type: ignore[arg-type]

    @step(who=WHO, told=TOLD)
    def remember(self, who: Identity, told: dict[str, str]) -> None:
        self.tell(who, told)

    @step(who=WHO, told=TOLD)
    def remember_more(self, who: Identity, told: dict[str, str]) -> None:
        self.tell(who, told)

    def tell(self, who: Identity, told: dict[str, str]) -> None:
        self.room()
        self.now += 1.0
        new, first = self.expected(who, told)
        receipt = self.remembered(who, told)
        assert receipt.status == ("stored" if first is None else "reinforced")
        self.noted(receipt.id, new, first)

    @step(who=WHO, told=TOLD)
    def remember_with_a_key_twice(self, who: Identity, told: dict[str, str]) -> None:
        self.room()
        self.number += 1
        new, first = self.expected(who, told)
        receipts = [self.remembered(who, told, key=f"k{self.number}") for _ in range(2)]
        assert receipts[0].id == receipts[1].id
        self.noted(receipts[0].id, new, first)

    @precondition(lambda self: self.world.known)
    @step(which=ANY, who=WHO, told=TOLD)
    def correct(self, which: int, who: Identity, told: dict[str, str]) -> None:
        self.room()
        self.now += 1.0
        known, old = self.world.known, self.pick(which)
        last = self.world.standing(old)
        new, first = self.expected(who, told)
        error: type[MemoryCoreError] | None = None
        if not known[old].readable(who):
            error = NotFound
        elif last != first and (known[old].owner, known[last].owner) != (who, who):
            error = ScopeDenied
        if error is not None:
            with pytest.raises(error):
                self.remembered(who, told, replaces=old)
            return
        receipt = self.remembered(who, told, replaces=old)
        self.noted(receipt.id, new, first)
        if last != receipt.id:
            assert (receipt.status, receipt.replaced) == ("replaced", (last,))
            self.world.supersede(last, receipt.id)

    def pick(self, which: int) -> str:
        ids = list(self.world.known)
        return ids[which % len(ids)]

    @precondition(lambda self: self.world.known)
    @step(which=ANY, who=WHO)
    def forget(self, which: int, who: Identity) -> None:
        id = self.pick(which)
        known = self.world.known[id]
        if known.owner != who:
            with pytest.raises(ScopeDenied if known.readable(who) else NotFound):
                self.memory.forget(who, ids=[id], confirm=True)
            return
        self.forget_id(id)

    def forget_id(self, id: str) -> None:
        owner = self.world.known[id].owner
        report = self.memory.forget(owner, ids=[id], confirm=True, never_again=False)
        removed = [each.id for each in (*report.removed, *report.derived)]
        assert report.removed[0].id == id
        assert all(self.world.known[each].run for each in removed[1:])
        self.world.lose(removed)

    # Reading

    @precondition(lambda self: self.world.known)
    @step(which=ANY, who=WHO)
    def recall(self, which: int, who: Identity) -> None:
        known = self.world.known[self.pick(which)]
        self.check_recall(known, who)

    @precondition(lambda self: self.world.known)
    @step(which=ANY)
    def recall_own(self, which: int) -> None:
        known = self.world.known[self.pick(which)]
        self.check_recall(known, known.owner)

    def check_recall(self, asked: Known, who: Identity) -> None:
        """Quoted, it comes; a summary may stand back behind what it retells.

        What was merged into another stays retired, also when that one was forgotten since.
        """
        text = asked.text
        found = self.memory.recall(who, RecallRequest(text, k=50))
        hits = [hit.memory for hit in (*found.hits, *found.partial)]
        for memory in hits:
            known = self.world.known[memory.id]
            assert known.readable(who)
            assert memory.text == known.text
            assert not known.superseded_by
        ids = [id for id, known in self.world.known.items() if known is asked]
        merged = asked.readable(who) and self.memory.get(who, ids[0]).retired_at is not None
        if found.found and asked.readable(who) and not asked.superseded_by and not merged:
            texts = {normalised(memory.text) for memory in hits}
            same = normalised(text) in texts
            assert same or {memory.id for memory in hits} & {*asked.rests_on}, (text, sorted(texts))

    @precondition(lambda self: self.world.known)
    @step(which=ANY, who=WHO)
    def get(self, which: int, who: Identity) -> None:
        id = self.pick(which)
        known = self.world.known[id]
        if known.readable(who):
            assert self.memory.get(who, id).text == known.text
        else:
            with pytest.raises(NotFound):
                self.memory.get(who, id)

    @precondition(lambda self: self.world.gone)
    @step(which=ANY, who=WHO)
    def get_what_is_gone(self, which: int, who: Identity) -> None:
        with pytest.raises(NotFound):
            self.memory.get(who, self.world.gone[which % len(self.world.gone)])

    # Sleeping

    @precondition(lambda self: len(self.world.known) > 4 and self.played % 4 == 0)
    @step(who=WHO, dry=st.booleans())
    def consolidate(self, who: Identity, dry: bool) -> None:
        before = self.texts(self.memory, who)
        report = self.memory.consolidate(who, dry_run=dry)
        after = self.texts(self.memory, who)
        assert report.status == ("preview" if dry else "completed")
        assert {id: after.get(id) for id in before} == before
        new = after.keys() - before.keys()
        assert not (dry and new)
        for id in new:
            made = self.memory.get(who, id)
            assert made.kind in ("summary", "concept", "fact")
            assert made.derived_from
            assert set(made.derived_from) <= self.world.known.keys()
            self.world.known[id] = Known(
                made.text, who, made.visibility, made.speaker, made.session, made.position,
                run=report.run, rests_on=made.derived_from,
            )  # fmt: skip
            self.world.touched.add(id)
        self.renewed(who, new)
        if not dry:
            self.world.runs[report.run] = who
            self.world.made[report.run] = new

    def renewed(self, who: Identity, new: AbstractSet[str]) -> None:
        """A run may put a *new* memory in the place of an older one that was derived too."""
        for record in self.memory.export(who):
            id, by = record["id"], record["superseded_by"]
            if by in new:
                old, fresh = self.world.known[id], self.world.known[by]
                assert old.run != fresh.run != ""
                assert not old.superseded_by
                assert old.rests_on
                assert old.rests_on != fresh.rests_on
                self.world.supersede(id, by)

    @precondition(lambda self: self.world.runs)
    @step(which=ANY)
    def undo(self, which: int) -> None:
        run = list(self.world.runs)[which % len(self.world.runs)]
        who = self.world.runs.pop(run)
        report = self.memory.consolidate(who, undo=run)
        assert report.status == "undone"
        left = self.texts(self.memory, who)
        for id, known in list(self.world.known.items()):
            if known.run == run and id not in left:
                self.world.lose([id])
        for id, known in self.world.known.items():
            if known.superseded_by in self.world.made[run]:
                self.world.supersede(id, "")
        with pytest.raises(InvalidInput):
            self.memory.consolidate(who, undo=run)

    # What happens to a program

    @step(jump=st.sampled_from([-3650.0, -30.0, -1.0, 0.01, 1.0, 30.0, 3650.0]))
    def the_clock_jumps(self, jump: float) -> None:
        self.now = min(max(self.now + jump * DAY, 1e9), 3e9)

    @precondition(lambda self: self.played % 16 == 0)
    @step()
    def upkeep(self) -> None:
        self.memory._runtime.parts().maintenance.round()

    @precondition(lambda self: self.played % 12 == 5)
    @step()
    def restart(self) -> None:
        self.memory.close()
        self.memory = self.opened()

    @precondition(lambda self: self.played % 4 == 1)
    @step()
    def the_model_goes_or_comes_back(self) -> None:
        self.model.gone = not self.model.gone
        self.memory._runtime.gate.retry()

    # A second process

    @precondition(lambda self: self.helper is None and self.played % 6 == 1)
    @step(keeping=st.integers(1, KEEPER_ONE_IN))
    def a_second_process_starts(self, keeping: int) -> None:
        assert self.helpers is not None
        keeps = keeping == KEEPER_ONE_IN
        Whole.kinds["second processes that may keep the table"] += keeps
        self.helper = self.helpers.start(self.folder, self.now, keeps=keeps)

    @precondition(lambda self: self.helper is not None)
    @step(who=WHO, told=TOLD)
    def the_other_remembers(self, who: Identity, told: dict[str, str]) -> None:
        assert self.helper is not None
        self.room()
        new, first = self.expected(who, told)
        answer = self.helper.ask("remember", self.now, agent=who.agent, team=who.team, **told)
        self.noted(answer["answer"][0], new, first)
        id = answer["answer"][0]
        assert self.memory.get(who, id).text == self.world.known[id].text

    @precondition(lambda self: self.helper is not None and self.world.known)
    @step(which=ANY)
    def the_other_forgets(self, which: int) -> None:
        assert self.helper is not None
        id = self.pick(which)
        if any(known.run for known in self.world.known.values()):
            return  # what is derived would go with it, and the helper does not say which
        who = self.world.known[id].owner
        answer = self.helper.ask("forget", self.now, agent=who.agent, team=who.team, id=id)
        assert answer == {"answer": "forgotten"}
        self.world.lose([id])

    @precondition(lambda self: self.helper is not None)
    @step(who=WHO, told=TOLD, room=st.integers(0, 16_000))
    def the_other_writes_to_a_full_disk(
        self, who: Identity, told: dict[str, str], room: int
    ) -> None:
        """Stored and said so, or not stored and said so; then it works again."""
        assert self.helper is not None
        self.room()
        new, first = self.expected(who, told)
        self.helper.ask("fill_disk", self.now, room=room)
        answer = self.helper.ask("remember", self.now, agent=who.agent, team=who.team, **told)
        self.helper.ask("empty_disk", self.now)
        if "error" in answer:
            assert answer["error"] == "disk_full"
            Whole.kinds["writes that met a full disk"] += 1
            answer = self.helper.ask("remember", self.now, agent=who.agent, team=who.team, **told)
        self.noted(answer["answer"][0], new, first)

    @precondition(lambda self: self.helper is not None)
    @step(who=WHO, told=TOLD, moment=st.integers(0, 40))
    def the_other_is_killed_while_it_remembers(
        self, who: Identity, told: dict[str, str], moment: int
    ) -> None:
        """Whether it got as far is unknown; the same call with the same key settles it, once."""
        assert self.helper is not None
        self.room()
        self.number += 1
        new, first = self.expected(who, told)
        key = f"k{self.number}"
        self.helper.tell("remember", self.now, agent=who.agent, team=who.team, key=key, **told)
        time.sleep(moment * 0.0002)
        self.helper.kill()
        self.helper = None
        receipt = self.remembered(who, told, key=key)
        self.noted(receipt.id, new, first)

    @precondition(lambda self: self.helper is not None and self.played % 12 == 3)
    @step()
    def the_other_leaves(self) -> None:
        assert self.helper is not None
        self.helper.ask("close", self.now)
        self.helper.kill()
        self.helper = None

    # Files that go away

    @precondition(lambda self: self.played % 24 == 7)
    @step(name=st.sampled_from(["journal.db-wal", "journal.db-shm", *LOCKS]))
    def a_file_beside_the_journal_is_deleted(self, name: str) -> None:
        """Nothing is lost; what follows shows it."""
        (self.folder / name).unlink(missing_ok=True)
        self.world.touched |= self.world.known.keys()

    @precondition(lambda self: self.played % 24 == 13)
    @step(who=WHO, told=TOLD)
    def the_folder_is_moved_away_and_back(self, who: Identity, told: dict[str, str]) -> None:
        away = self.away()
        self.refused(who, told)
        away.rename(self.folder)

    @precondition(lambda self: self.played % 24 == 19)
    @step()
    def a_backup_is_made(self) -> None:
        self.back_up()

    def back_up(self) -> None:
        folder = Path(tempfile.mkdtemp(dir=_ram()))
        backup.create(self.folder, folder, lambda: self.now)
        self.throw_away_the_backup()
        self.saved = folder, copy.deepcopy(self.world)

    @precondition(lambda self: self.played % (24 if self.saved is None else 8) == 7)
    @step(who=WHO, told=TOLD, restored=st.booleans())
    def the_folder_is_deleted_or_replaced(
        self, who: Identity, told: dict[str, str], restored: bool
    ) -> None:
        """All is lost that no backup holds; nothing more is acknowledged."""
        if restored and self.saved is None:
            self.back_up()
        away, self.world = self.away(), World()
        if restored:
            assert self.saved is not None
            backup.restore(self.saved[0], self.folder)
            self.world = copy.deepcopy(self.saved[1])
            Whole.kinds["backups restored under a running memory"] += 1
        self.refused(who, told)
        if self.helper is not None:
            self.helper.kill()
            self.helper = None
        self.memory.close()
        shutil.rmtree(away)
        self.memory = self.opened()
        self.look()

    def away(self) -> Path:
        """The folder is gone; where it went."""
        away = self.folder.with_name(f"{self.folder.name}-away")
        self.folder.rename(away)
        return away

    def refused(self, who: Identity, told: dict[str, str]) -> None:
        """Neither process says that it stored something."""
        with pytest.raises(StorageError, match="while it was open"):
            self.remembered(who, told)
        with pytest.raises(StorageError, match="while it was open"):
            self.memory.recall(who, RecallRequest(told["text"]))
        if self.helper is not None:
            answer = self.helper.ask("remember", self.now, agent=who.agent, team=who.team, **told)
            assert answer == {"error": "storage"}

    def throw_away_the_backup(self) -> None:
        if self.saved is not None:
            shutil.rmtree(self.saved[0])

    # All of it

    @invariant()
    def counted(self) -> None:
        type(self).steps += 1
        self.played += 1
        if self.played % LOOK_EVERY == 0:
            self.look()
        else:
            self.look_at_what_changed()

    def look_at_what_changed(self) -> None:
        """What the last step changed is now as the dict says, for everybody."""
        for id in self.world.touched:
            known = self.world.known.get(id)
            for who in AGENTS:
                if known is None or not known.readable(who):
                    with pytest.raises(NotFound):
                        self.memory.get(who, id)
                else:
                    same(to_record(self.memory.get(who, id)), known)
        Whole.kinds["memories compared after a change"] += len(self.world.touched)
        self.world.touched.clear()

    def look(self) -> None:
        """Everything that either program says is what the dict says, field by field."""
        Whole.kinds["comparisons of everything"] += 1
        self.world.touched.clear()
        for who in AGENTS:
            wanted = {id: k for id, k in self.world.known.items() if k.readable(who)}
            records = {record["id"]: record for record in self.memory.export(who)}
            assert records.keys() == wanted.keys()
            for id, known in wanted.items():
                same(records[id], known)
            assert self.memory.stats(who)["memories"] == len(wanted)
            if self.helper is not None:
                texts = self.helper.ask("export", self.now, agent=who.agent, team=who.team)
                assert texts["answer"] == {id: known.text for id, known in wanted.items()}

    def texts(self, memory: Memory, who: Identity) -> dict[str, str]:
        return {record["id"]: record["text"] for record in memory.export(who)}

    def teardown(self) -> None:
        try:
            if hasattr(self, "memory"):
                self.look()
                assert self.memory._runtime.parts().store.journal.check() == []
        finally:
            if self.helper is not None:
                self.helper.kill()
            if hasattr(self, "memory"):
                self.memory.close()
            shutil.rmtree(self.folder)
            self.throw_away_the_backup()


def same(record: dict[str, Any], known: Known) -> None:
    """One memory, as it is exported, is what the dict knows."""
    names = ("text", "visibility", "speaker", "session", "agent", "position", "superseded_by")
    found = [record[name] for name in names]
    wanted = [
        *(known.text, known.scope, known.speaker, known.session),
        *(known.owner.agent, known.position, known.superseded_by),
    ]
    assert found == wanted, (record["id"], found, wanted)


def _ram() -> str | None:
    """A folder in memory where there is one: a kill of a process needs no real disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def play(seeds: Iterable[int], steps: int, end: float = math.inf, examples: int = EXAMPLES) -> int:
    """Play one seed after another until *steps* were played or the monotonic clock shows *end*.

    How many were played; `Whole.kinds` counts them by kind.
    """
    begun, patch = Whole.steps, pytest.MonkeyPatch()
    patch.setattr(Maintenance, "start", lambda self: None)  # rounds are steps, so they replay
    Whole.helpers = Helpers()
    try:
        for seed in seeds:
            _play_one(seed, examples)
            if Whole.steps - begun >= steps or time.monotonic() > end:
                break
    finally:
        patch.undo()
        Whole.helpers.close()
    return Whole.steps - begun


def _play_one(seed: int, examples: int) -> None:
    try:
        run_state_machine_as_test(
            hypothesis.seed(seed)(Whole),
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    except BaseException:
        print(f"failed with --seed {seed} --steps 1", flush=True)
        raise


def _round(seeds: Sequence[int], steps: int, end: float) -> tuple[int, Counter[str]]:
    """A round in a process of its own: the steps played, and by kind."""
    logging.disable(logging.CRITICAL)
    return play(seeds, steps, end), Whole.kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    begun = time.monotonic()
    end, seeds = begun + 60 * args.minutes, count(args.seed)
    played, kinds, waiting = 0, Counter[str](), set[Future[tuple[int, Counter[str]]]]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, context, max_tasks_per_child=1) as pool:
        while True:
            while len(waiting) < args.processes and played < args.steps and time.monotonic() < end:
                left = (args.steps - played) // args.processes
                waiting.add(pool.submit(_round, list(islice(seeds, SEEDS)), left, end))
            if not waiting:
                break
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in done:
                steps, of_kind = each.result()
                played, kinds = played + steps, kinds + of_kind
            print(f"{played} steps, {time.monotonic() - begun:.0f} s", flush=True)
    for kind, number in kinds.most_common():
        print(f"{number:9} {kind}")
    print(f"{played} steps from seed {args.seed}: nothing lost, no error")


if __name__ == "__main__":
    main()
