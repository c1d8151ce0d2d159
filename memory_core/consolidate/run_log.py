"""The journal of consolidation runs: start, apply, complete, fail, undo, resume after a kill.

A run is stored as `run` changes (started, then completed or failed, perhaps undone) and the changes
that carry its id. Their before-images suffice to revert it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from memory_core.consolidate.plan import Action, Plan, plain
from memory_core.errors import Busy, InvalidInput, NotFound
from memory_core.records import (
    Change,
    MemoryRecord,
    RunReport,
    content_hash,
    from_fields,
)
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.journal.transaction import UNDO
from memory_core.storage.locks import FileLock
from memory_core.storage.store import MemoryStore

BATCH = 256
"""Changes and checks in one transaction: it holds the write lock for about 0.1 s."""

STARTED, COMPLETED, FAILED, UNDONE = "started", "completed", "failed", "undone"
IMPORT = "import"
"""The mode of a run that imports; when it was killed, the next import of the same goes on."""

STOPPING = "stopping"
"""The state of a run that was asked to stop, perhaps by another process."""

RESUMED_MOST = 3
"""A run whose process was killed more often is reverted: it may be the cause."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The arguments of a run: its owner, its *mode*, its conversation ("" for all).

    *by_itself* is True for a run that the scheduler starts.
    """

    actor: str
    mode: str
    session: str = ""
    by_itself: bool = False

    def body(self) -> dict[str, Any]:
        """The arguments as the run's entries hold them: the session as a hash."""
        of = content_hash(self.session) if self.session else ""
        values = {"mode": self.mode, "of": of, "by_itself": self.by_itself}
        return {name: value for name, value in values.items() if value}


PATIENCE = 20.0
"""Seconds that a transfer waits for a run that began by itself, as after the transfer before it."""


class RunLog:
    """The runs of one store; one process at a time runs one."""

    def __init__(self, store: MemoryStore) -> None:
        """Journal the runs of *store*."""
        self._store = store

    @contextmanager
    def exclusive(self, seconds: float = 0.0) -> Iterator[list[Change]]:
        """Hold run.lock for the block; yields the latest entry of each run that was killed.

        The block has to resume or fail each of them. Raises Busy where another run is at work for
        *seconds* more.
        """
        lock = FileLock(self._store.directory / "run.lock")
        if not lock.acquire(seconds):
            raise Busy(
                "another consolidation is at work on this store", "wait until it ends, then repeat"
            )
        try:
            # a live process would hold the lock
            killed = (c for c in self._store.journal.runs() if _state(c) in (STARTED, STOPPING))
            yield [c for c in killed if not _imported(c)]
        finally:
            lock.release()

    def start(self, run: str, request: RunRequest, times: int = 0) -> None:
        """Journal that *run* started, or that it is resumed for the *times*th time."""
        resumed = {"resumed": times} if times else {}
        self._mark(run, request.actor, {"state": STARTED, **request.body(), **resumed})

    def resumable(self, mark: Change, request: RunRequest) -> int:
        """How often the run of *mark* has been started, if its arguments are those of *request*.

        0 for another run, for one that was asked to stop, and for one that was resumed too often.
        """
        body, wanted = dict(mark.body or {}), request.body()
        same = mark.actor == request.actor
        same = same and all(body.get(name) == wanted.get(name) for name in ("mode", "of"))
        times = int(body.get("resumed", 0)) + 1
        return times if same and _state(mark) == STARTED and times <= RESUMED_MOST else 0

    def unfinished_import(self, actor: str, of: str) -> str:
        """The run of *actor* that imported *of* and was killed or interrupted; "" for none."""
        for mark in self._store.journal.runs():
            same = mark.actor == actor and (mark.body or {}).get("of") == content_hash(of)
            if same and _imported(mark) and _state(mark) == STARTED:
                return mark.target
        return ""

    def end_import(self, run: str, request: RunRequest, counts: Mapping[str, int]) -> None:
        """Journal that *run* has imported everything, and how many of each status."""
        body = {"state": COMPLETED, **request.body(), "steps": [[n, c] for n, c in counts.items()]}
        self._mark(run, request.actor, {**body, "summaries": [], "retired": []})

    def ask_to_stop(self, run: str, actor: str) -> bool:
        """Ask the run *run* of *actor* to stop; False when it is not at work."""
        marks = [change for change in self._store.journal.history(run) if change.kind == "run"]
        if not marks or marks[-1].actor != actor or _state(marks[-1]) not in (STARTED, STOPPING):
            return False
        self._mark(run, actor, {"state": STOPPING})
        return True

    def is_stopping(self, run: str) -> bool:
        """True when *run* was asked to stop."""
        return _state(self._store.journal.history(run)[-1]) == STOPPING

    def written(self, run: str) -> list[Change]:
        """What *run* has written and was not forgotten since, without its own entries."""
        changes = self._store.journal.run_changes(run)
        return [change for change in changes if change.kind != "run" and change.body is not None]

    def apply(self, plan: Plan, ready: Callable[[], None]) -> list[Action]:
        """Write the actions of *plan*; those that were written.

        An action is skipped as a whole when a field that it changes, or a memory that it is based
        on, has changed since it was planned. *ready* is called before each transaction. Raises a
        StorageError or what *ready* raises; what was written by then stays until fail().
        """
        done: list[Action] = []
        for batch in _batches(plan.actions):
            ready()
            done += self._store.commit(partial(_write, actions=batch))
        return done

    def complete(self, plan: Plan, report: RunReport, request: RunRequest) -> None:
        """Journal the end of a run. The entry names memories by id and holds no text."""
        body = {
            "state": COMPLETED,
            **request.body(),
            "steps": [[step.name, step.changed] for step in report.steps],
            "summaries": [summary.id for summary in report.summaries],
            "retired": list(report.retired),
        }
        self._mark(plan.run, plan.who.agent, body)

    def fail(self, run: str, actor: str, why: str) -> None:
        """Revert everything that *run* wrote and journal that it failed."""
        self._revert(run)
        self._mark(run, actor, {"state": FAILED, "why": why})

    def undo(self, run: str, actor: str) -> tuple[int, list[str]]:
        """Revert a completed run; how many memories were restored, and the ids kept as they are.

        Kept are memories with a field that was changed after the run, and of what the run brought
        what somebody said again since. An import can be undone before it was completed, too. Raises
        NotFound for a run that is unknown or another agent's, InvalidInput for one that is not
        completed.
        """
        marks = [change for change in self._store.journal.history(run) if change.kind == "run"]
        if not marks or marks[-1].actor != actor:
            raise NotFound(f"no run {run[:40]}", "take the run's id from the answer of consolidate")
        state = _state(marks[-1])
        if state == UNDONE:
            raise InvalidInput(
                f"undo: run {run} is already undone", "there is nothing to take back"
            )
        if state != COMPLETED and not (_imported(marks[-1]) and state in (STARTED, STOPPING)):
            raise InvalidInput(
                f"undo: run {run} {state}", "it changed nothing that could be undone"
            )
        body = {"state": UNDONE, "mode": (marks[-1].body or {}).get("mode", "")}
        left = self._touched(run)
        restored, kept = self._revert(run)
        self._mark(run, actor, {**body, "kept": kept, "left": left})
        return restored, kept

    def excluded(self, actor: str) -> frozenset[str]:
        """Ids of memories of *actor* that a scheduled run does not change.

        They are what undone runs had changed or summarised, up to the latest whole run that was
        started by hand: a change that was undone does not return by schedule.
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

    def _touched(self, run: str) -> list[str]:
        """The memories that *run* changed, linked, or derived something from."""
        found: set[str] = set()
        for change in self._store.journal.run_changes(run):
            body = change.body or {}
            if change.kind == "link":
                found |= {change.target, body.get("b", change.target)}
            elif change.kind == "put":
                found.update(body.get("derived_from", ()) if "id" in body else [change.target])
        return sorted(found)

    def _mark(self, run: str, actor: str, body: dict[str, Any]) -> None:
        self._store.commit(lambda tx: tx.append(Change("run", run, body, run=run, actor=actor)))

    def set_by_run(self, id: str, name: str) -> bool:
        """True when a run set the field *name* of the memory *id* last."""
        puts = (c for c in reversed(self._store.journal.history(id)) if c.kind == "put")
        return next((bool(c.run) for c in puts if name in (c.body or {})), False)

    def _revert(self, run: str) -> tuple[int, list[str]]:
        changes = self._store.journal.run_changes(run)
        by_target: dict[str, list[Change]] = {}
        for change in changes:
            if change.kind != "run" and change.body is not None:  # else it was forgotten since
                by_target.setdefault(change.target, []).append(change)
        targets = list(reversed(by_target.values()))
        restored, kept = 0, []
        for start in range(0, len(targets), BATCH):
            batch = targets[start : start + BATCH]
            reverted = self._store.commit(partial(_revert_all, run=run, targets=batch))
            restored += sum(1 for done, _ in reverted if done)
            kept += [id for _, ids in reverted for id in ids]
        return restored, sorted(set(kept))


def _batches(actions: Sequence[Action]) -> Iterator[list[Action]]:
    """*actions* in order, in runs of about BATCH changes and checks, of one action at least."""
    batch: list[Action] = []
    weight = 0
    for action in actions:
        weight += len(action.changes) + len(action.based_on)
        batch.append(action)
        if weight >= BATCH:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _imported(change: Change) -> bool:
    return (change.body or {}).get("mode") == IMPORT


def _state(change: Change) -> str:
    return str((change.body or {}).get("state", ""))


# Applying


def _write(tx: Transaction, actions: Sequence[Action]) -> list[Action]:
    done = []
    for action in actions:
        if _still_holds(tx, action):
            _write_one(tx, action)
            done.append(action)
    return done


def _write_one(tx: Transaction, action: Action) -> None:
    for change in action.changes:
        tx.append(change)
    if action.created is not None and action.vectors is not None:
        tx.put_vectors(action.created.id, action.fingerprint, action.parts, action.vectors)
    if action.accesses_to:
        _transfer_access_counts(tx, action)


def _still_holds(tx: Transaction, action: Action) -> bool:
    """True when everything that *action* was planned on is unchanged."""
    for id in action.based_on:
        fields = tx.fields(id)
        if fields is None or fields.get("replaced", False):
            return False
    if action.created is not None and tx.find_repeat(action.created) is not None:
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


def _transfer_access_counts(tx: Transaction, action: Action) -> None:
    """Add the accesses of one memory to those of another, with the later last access."""
    giver, taker = action.accesses_from, action.accesses_to
    known = tx.accesses([giver, taker])
    given, given_last = known[giver]
    count, last = known[taker]
    if not given:
        return
    newest = max((at for at in (given_last, last) if at is not None), default=tx.now)
    first = action.changes[0]
    tx.append(
        Change(
            "access",
            "",
            {"ids": [taker], "counts": [count + given], "last": [newest]},
            run=first.run,
            before={"ids": [taker], "counts": [count], "last": [last]},
            actor=first.actor,
            source=first.source,
            scope=first.scope,
        )
    )


# Reverting


def _revert_all(
    tx: Transaction, run: str, targets: Sequence[Sequence[Change]]
) -> list[tuple[bool, list[str]]]:
    return [_revert_target(tx, run, changes) for changes in targets]


def _revert_target(tx: Transaction, run: str, changes: Sequence[Change]) -> tuple[bool, list[str]]:
    """Revert what *run* did to one target: whether anything was restored, and ids kept."""
    target, kind = changes[0].target, changes[0].kind
    if kind == "access":
        return _restore_accesses(tx, run, changes)
    if tx.fields(target) is None:
        return False, []
    created = any("id" in (c.body or {}) and c.kind == "put" for c in changes)
    if created and _said_again(tx, run, target):
        return False, [target]
    if created:
        body = {"digests": [], "reason": "undone", "erase": False}
        tx.forget(_reversal(changes[0], run, "forget", body))
        return True, []
    for change in changes:
        if change.kind == "link":
            tx.append(_reversal(change, run, "link", change.before or {}))
    return _restore_fields(tx, run, [c for c in changes if c.kind == "put"])


def _said_again(tx: Transaction, run: str, target: str) -> bool:
    """Whether somebody has said since what *run* brought: that gave it a trust of its own."""
    puts = (change for change in tx.history(target) if change.kind == "put")
    return any("trust" in (put.body or {}) for put in puts if put.run != run)


def _restore_fields(tx: Transaction, run: str, puts: Sequence[Change]) -> tuple[bool, list[str]]:
    before: dict[str, Any] = {}
    for change in reversed(puts):
        before.update(change.before or {})
    if not before:
        return True, []
    target = puts[0].target
    ours = {name: v for name, v in before.items() if tx.latest_writer(target, name) == run}
    if ours:
        tx.append(_reversal(puts[0], run, "put", ours))
    current = _memory(tx, target)
    changed = [n for n, value in before.items() if plain(getattr(current, n)) != value]
    return bool(ours), [target] if changed else []


def _restore_accesses(
    tx: Transaction, run: str, changes: Sequence[Change]
) -> tuple[bool, list[str]]:
    """Restore the access counts from before *run*, where nothing was accessed since."""
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
            tx.append(_reversal(change, run, "access", {"ids": [id], **values}))
    return False, kept


def _reversal(change: Change, run: str, kind: str, body: Any) -> Change:
    """The change that reverts *change*; it carries no run id, so it does not count as the run's."""
    source = f"{UNDO}{run}"
    return Change(kind, change.target, body, actor=change.actor, source=source, scope=change.scope)
