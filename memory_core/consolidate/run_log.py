"""The journal's side of a consolidation run: begin, apply, end, undo, and go on after a kill.

A run is written as `run` changes (started, then completed or failed, perhaps undone) and the
changes that name it. Their before-images are enough to take any of it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memory_core.consolidate.plan import Action, Plan, plain
from memory_core.errors import Busy, InvalidInput, NotFound
from memory_core.records import (
    Change,
    MemoryRecord,
    RunReport,
    content_hash,
    from_fields,
    repeat_key,
)
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.locks import FileLock
from memory_core.storage.store import MemoryStore

BATCH = 256
"""Changes and checks in one transaction, about 0.1 s: others wait for the write lock as long."""

STARTED, COMPLETED, FAILED, UNDONE = "started", "completed", "failed", "undone"
STOPPING = "stopping"
"""Somebody asked for the end of a run that is at work, perhaps in another process."""

RESUMED_MOST = 3
"""A run whose process died that often is taken back: it may be what kills them."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run is asked for: whose, which *mode*, of which conversation ("" for all).

    *by_itself* is False for a run that somebody asked for by hand.
    """

    actor: str
    mode: str
    session: str = ""
    by_itself: bool = False

    def marks(self) -> dict[str, Any]:
        """It, as the run's entries tell it: the session as a hash."""
        of = content_hash(self.session) if self.session else ""
        body = {"mode": self.mode, "of": of, "by_itself": self.by_itself}
        return {name: value for name, value in body.items() if value}


class RunLog:
    """The runs of one store; only one works at a time, in whichever process."""

    def __init__(self, store: MemoryStore) -> None:
        """Keep the runs of *store*."""
        self._store = store

    @contextmanager
    def alone(self) -> Iterator[list[Change]]:
        """Hold run.lock for a block; gives the marks of runs that a kill left half done.

        Each of them is to be resumed or failed in the block. Raises Busy.
        """
        lock = FileLock(self._store.directory / "run.lock")
        if not lock.acquire():
            raise Busy(
                "another consolidation is at work on this store", "wait until it ends, then repeat"
            )
        try:
            # their process is dead, else it would hold the lock
            yield [c for c in self._store.journal.runs() if _state(c) in (STARTED, STOPPING)]
        finally:
            lock.release()

    def start(self, run: str, asked: RunRequest, times: int = 0) -> None:
        """Journal that *run* began, or that it goes on for the *times*th time."""
        resumed = {"resumed": times} if times else {}
        self._mark(run, asked.actor, {"state": STARTED, **asked.marks(), **resumed})

    def resumable(self, mark: Change, asked: RunRequest) -> int:
        """How often the run of *mark* has been started if it is the one asked for; else 0.

        0 also for a run that somebody stopped, and for one that was resumed too often.
        """
        body, wanted = dict(mark.body or {}), asked.marks()
        same = mark.actor == asked.actor
        same = same and all(body.get(name) == wanted.get(name) for name in ("mode", "of"))
        times = int(body.get("resumed", 0)) + 1
        return times if same and _state(mark) == STARTED and times <= RESUMED_MOST else 0

    def ask_to_stop(self, run: str, actor: str) -> bool:
        """Ask the run *run* of *actor*, which is at work somewhere, to end; False if it is not."""
        marks = [change for change in self._store.journal.history(run) if change.kind == "run"]
        if not marks or marks[-1].actor != actor or _state(marks[-1]) not in (STARTED, STOPPING):
            return False
        self._mark(run, actor, {"state": STOPPING})
        return True

    def is_stopping(self, run: str) -> bool:
        """True when somebody has asked for the end of *run*."""
        return _state(self._store.journal.history(run)[-1]) == STOPPING

    def written(self, run: str) -> list[Change]:
        """What *run* has written so far and still stands, its own marks left out."""
        changes = self._store.journal.run_changes(run)
        return [change for change in changes if change.kind != "run" and change.body is not None]

    def apply(self, plan: Plan, ready: Callable[[], None]) -> list[Action]:
        """Write the actions of *plan* and return those that still held.

        An action is left out, whole, when a field that it changes or a memory that it rests on is
        no longer as it was planned. *ready* is called before each transaction. Raises a
        StorageError or what *ready* raises; what was written by then stays until fail().
        """
        done: list[Action] = []
        for batch in _batches(plan.actions):
            ready()
            done += self._store.commit(lambda tx, batch=batch: self._write(tx, batch))  # type: ignore[misc]
        return done

    def complete(self, plan: Plan, report: RunReport, asked: RunRequest) -> None:
        """Journal the end of a run. The entry names memories by id and holds no text."""
        body = {
            "state": COMPLETED,
            **asked.marks(),
            "steps": [[step.name, step.changed] for step in report.steps],
            "summaries": [summary.id for summary in report.summaries],
            "retired": list(report.retired),
        }
        self._mark(plan.run, plan.who.agent, body)

    def fail(self, run: str, actor: str, why: str) -> None:
        """Take back everything that *run* wrote and journal that it failed."""
        self._revert(run)
        self._mark(run, actor, {"state": FAILED, "why": why})

    def undo(self, run: str, actor: str) -> tuple[int, list[str]]:
        """Take back a completed run; how many memories were restored, and ids kept as they are.

        Kept are memories with a field that somebody changed after the run. Raises NotFound for a
        run that is unknown or another agent's, InvalidInput for one that is not completed.
        """
        marks = [change for change in self._store.journal.history(run) if change.kind == "run"]
        if not marks or marks[-1].actor != actor:
            raise NotFound(f"no run {run[:40]}", "take the run's id from the answer of consolidate")
        state = _state(marks[-1])
        if state == UNDONE:
            raise InvalidInput(
                f"undo: run {run} is already undone", "there is nothing to take back"
            )
        if state != COMPLETED:
            raise InvalidInput(
                f"undo: run {run} {state}", "it changed nothing that could be undone"
            )
        body = {"state": UNDONE, "mode": (marks[-1].body or {}).get("mode", "")}
        left = self._concerned(run)
        restored, kept = self._revert(run)
        self._mark(run, actor, {**body, "kept": kept, "left": left})
        return restored, kept

    def left_alone(self, actor: str) -> frozenset[str]:
        """Ids of memories of *actor* that a run which begins by itself does not change.

        They are what undone runs had changed or summed up, until a whole run by hand has looked at
        them again: what somebody took back does not come back by itself.
        """
        left: set[str] = set()
        for mark in self._store.journal.runs():
            body = dict(mark.body or {})
            if mark.actor != actor:
                continue
            by_hand = not body.get("by_itself") and not body.get("of")
            if body.get("state") == COMPLETED and body.get("mode") == "sleep" and by_hand:
                break
            left.update(body.get("left", ()) if body.get("state") == UNDONE else ())
        return frozenset(left)

    def _concerned(self, run: str) -> list[str]:
        """The memories that *run* changed, linked, or made something of."""
        found: set[str] = set()
        for change in self._store.journal.run_changes(run):
            body = change.body or {}
            if change.kind == "link":
                found |= {change.target, body.get("b", change.target)}
            elif change.kind == "put":
                found.update(body["derived_from"] if "id" in body else [change.target])
        return sorted(found)

    def _mark(self, run: str, actor: str, body: dict[str, Any]) -> None:
        self._store.commit(lambda tx: tx.append(Change("run", run, body, run=run, actor=actor)))

    def decided(self, id: str, name: str) -> bool:
        """True when the latest value of that field of the memory *id* comes from a run."""
        puts = (c for c in reversed(self._store.journal.history(id)) if c.kind == "put")
        return next((bool(c.run) for c in puts if name in (c.body or {})), False)

    # Applying

    def _write(self, tx: Transaction, actions: Sequence[Action]) -> list[Action]:
        done = []
        for action in actions:
            if _holds(tx, action):
                self._write_one(tx, action)
                done.append(action)
        return done

    def _write_one(self, tx: Transaction, action: Action) -> None:
        for change in action.changes:
            tx.append(change)
        if action.created is not None and action.vectors is not None:
            id = action.created.id
            tx.put_vectors(id, action.fingerprint, action.parts, action.vectors)
        if action.heir:
            _bequeath(tx, action)

    # Taking back

    def _revert(self, run: str) -> tuple[int, list[str]]:
        changes = self._store.journal.run_changes(run)
        by_target: dict[str, list[Change]] = {}
        for change in changes:
            if change.kind != "run" and change.body is not None:  # else forgotten since
                by_target.setdefault(change.target, []).append(change)
        targets = list(reversed(by_target.values()))
        restored, kept = 0, []
        for start in range(0, len(targets), BATCH):
            batch = targets[start : start + BATCH]
            outcome = self._store.commit(
                lambda tx, batch=batch: [_take_back(tx, run, each) for each in batch]  # type: ignore[misc]
            )
            restored += sum(1 for done, _ in outcome if done)
            kept += [id for _, ids in outcome for id in ids]
        return restored, sorted(set(kept))


def _batches(actions: Sequence[Action]) -> Iterator[list[Action]]:
    """*actions* in order, in runs of about BATCH changes and checks, of one action at least."""
    batch: list[Action] = []
    weight = 0
    for action in actions:
        weight += len(action.changes) + len(action.rests_on)
        batch.append(action)
        if weight >= BATCH:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _state(change: Change) -> str:
    return str((change.body or {}).get("state", ""))


def _holds(tx: Transaction, action: Action) -> bool:
    """True when everything that *action* was planned on is still so."""
    for id in action.rests_on:
        fields = tx.fields(id)
        if fields is None or fields.get("replaced", False):
            return False
    if action.created is not None and tx.find_repeat(repeat_key(action.created)) is not None:
        return False
    puts = [c for c in action.changes if c.kind == "put" and c.target != _created_id(action)]
    return all(_as_planned(tx, change) for change in puts)


def _created_id(action: Action) -> str:
    return action.created.id if action.created is not None else ""


def _as_planned(tx: Transaction, change: Change) -> bool:
    current = _memory(tx, change.target)
    before = change.before or {}
    return current is not None and all(
        plain(getattr(current, name)) == value for name, value in before.items()
    )


def _memory(tx: Transaction, id: str) -> MemoryRecord | None:
    fields = tx.fields(id)
    return None if fields is None else from_fields(fields)


def _bequeath(tx: Transaction, action: Action) -> None:
    """Add the accesses of the bequeather to the heir's, the later last access with them."""
    known = tx.accesses([action.bequeather, action.heir])
    given, given_last = known[action.bequeather]
    count, last = known[action.heir]
    if not given:
        return
    newest = max((at for at in (given_last, last) if at is not None), default=tx.now)
    first = action.changes[0]
    tx.append(
        Change(
            "access",
            "",
            {"ids": [action.heir], "counts": [count + given], "last": [newest]},
            run=first.run,
            before={"ids": [action.heir], "counts": [count], "last": [last]},
            actor=first.actor,
            source=first.source,
            scope=first.scope,
        )
    )


def _take_back(tx: Transaction, run: str, changes: Sequence[Change]) -> tuple[bool, list[str]]:
    """Take back what *run* did to one target: whether anything was restored, and ids kept."""
    target, kind = changes[0].target, changes[0].kind
    if kind == "access":
        return _restore_accesses(tx, run, changes)
    if tx.fields(target) is None:
        return False, []
    created = any("id" in (c.body or {}) and c.kind == "put" for c in changes)
    if created:
        body = {"digests": [], "reason": "undone", "erase": False}
        tx.forget(_counter(changes[0], run, "forget", body))
        return True, []
    for change in changes:
        if change.kind == "link":
            tx.append(_counter(change, run, "link", change.before or {}))
    return _restore_fields(tx, run, [c for c in changes if c.kind == "put"])


def _restore_fields(tx: Transaction, run: str, puts: Sequence[Change]) -> tuple[bool, list[str]]:
    before: dict[str, Any] = {}
    for change in reversed(puts):
        before.update(change.before or {})
    if not before:
        return True, []
    target = puts[0].target
    ours = {name: v for name, v in before.items() if tx.latest_writer(target, name) == run}
    if ours:
        tx.append(_counter(puts[0], run, "put", ours))
    current = _memory(tx, target)
    changed = [n for n, value in before.items() if plain(getattr(current, n)) != value]
    return bool(ours), [target] if changed else []


def _restore_accesses(
    tx: Transaction, run: str, changes: Sequence[Change]
) -> tuple[bool, list[str]]:
    """Give heirs the counts back that they had, where nothing was accessed since."""
    kept = []
    for change in reversed(changes):
        body, before = change.body or {}, change.before or {}
        for id, count, last in zip(body["ids"], body["counts"], body["last"], strict=True):
            known = tx.accesses([id])
            if known.get(id) != (count, last):
                kept += [id] if id in known else []
                continue
            place = before["ids"].index(id)
            values = {"counts": [before["counts"][place]], "last": [before["last"][place]]}
            tx.append(_counter(change, run, "access", {"ids": [id], **values}))
    return False, kept


def _counter(change: Change, run: str, kind: str, body: Any) -> Change:
    """The change that takes *change* back; it names no run, else it would pass for the run's."""
    source = f"undo of run {run}"
    return Change(kind, change.target, body, actor=change.actor, source=source, scope=change.scope)
