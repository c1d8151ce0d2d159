"""The history of one memory, and undoing one change of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

from memory_core import link_kinds, validation
from memory_core.errors import InvalidInput, NotFound, ScopeDenied
from memory_core.records import (
    SYNCED,
    VOTE,
    Change,
    Identity,
    MemoryRecord,
    content_hash,
    from_fields,
    new_id,
    to_fields,
)
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore

MERGED = "merged"
"""The key, in the body of a put, of a repeat that was merged. It is no field of a memory."""

EDIT = "edit"
"""The source of the change by which a text that was put right takes the place of the old one."""

DISMISSED = 0.01
"""Weight of a link that was undone; it stays, so that consolidation does not find it again."""

_UNDO = "undo of change "
"""How the source of a reversal begins; in the journal the change's sequence follows."""

_DEFAULTS = {f.name: f.default for f in fields(MemoryRecord) if f.default is not MISSING}


def history(store: MemoryStore, who: Identity, id: str) -> list[Change]:
    """Every change of the memory *id*, oldest first. Raises NotFound where *who* may not read.

    Their `seq` counts from 1 within this memory: a position in the journal would tell how much
    others write.
    """
    whole = _read(store, who, id)
    return [_numbered(change, n, whole) for n, change in enumerate(whole, 1)]


def undo(store: MemoryStore, who: Identity, id: str, number: int) -> tuple[Change, str]:
    """Undo the change *number* of the memory *id*; that change, and what was done, in words."""
    changes = _read(store, who, id)
    if not 0 < number <= len(changes):
        raise InvalidInput(f"change: {id} has no change {number}", "see its history")
    change = changes[number - 1]
    own = store.memories([id])[id]
    if own.agent != who.agent and not who.admin:
        raise ScopeDenied(f"{id} belongs to another agent", "ask its owner or an admin")
    if any(each.source == _source(change.seq) for each in changes):
        raise InvalidInput(f"change: {number} was undone before", "see its history")
    done = store.commit(lambda tx: _undo(tx, who, change))
    return _numbered(change, number, changes), done


def undo_decision(tx: Transaction, who: Identity, older: str, newer: str, source: str) -> None:
    """Undo the last change of a pair whose source begins with *source*.

    Raises NotFound where there is none, InvalidInput where what it set was changed since.
    """
    decided = [
        (change, other)
        for id, other in ((older, newer), (newer, older))
        for change in _lasting(tx, id)
        if change.source.startswith(source)
    ]
    about = [change for change, other in decided if other in _others(change)]
    last = max(about, key=lambda change: change.seq, default=None)
    if last is None:
        raise NotFound(f"nothing was decided about {older} and {newer}", "see their histories")
    whole = [each for each, _ in decided if (each.at, each.source) == (last.at, last.source)]
    for change in sorted(whole, key=lambda each: each.seq, reverse=True):
        if change in _lasting(tx, change.target):  # not undone with the one after it
            _undo(tx, who, change)


def _others(change: Change) -> tuple[Any, ...]:
    """The memory that a decision puts in the place of its target, or links it to."""
    body = change.body or {}
    return body.get("superseded_by"), body.get("b")


def _lasting(tx: Transaction, id: str) -> list[Change]:
    """The changes of the memory *id* that were not undone."""
    changes = tx.history(id)
    undone = {each.source for each in changes}
    return [each for each in changes if _source(each.seq) not in undone]


def _read(store: MemoryStore, who: Identity, id: str) -> list[Change]:
    store.catch_up()
    if not store.may_read(who, id):
        raise validation.unknown(id)
    return store.journal.history(id)


def _numbered(change: Change, number: int, whole: Sequence[Change]) -> Change:
    """*change* of the history *whole* as its readers see it, with numbers of this memory alone."""
    source = change.source
    if source.startswith(_UNDO):
        undone = [n for n, each in enumerate(whole, 1) if source == _source(each.seq)]
        source = f"{_UNDO}{undone[0]}" if undone else "undo at another memory"
    return replace(change, seq=number, source=source)


def _undo(tx: Transaction, who: Identity, change: Change) -> str:
    body = change.body or {}
    if change.kind == "put" and MERGED in body:
        return _split(tx, who, change, body[MERGED])
    if change.kind == "put" and VOTE in body:
        withdrawn = {VOTE: {**body[VOTE], "value": 0}}
        tx.append(
            replace(_reversal(who, change, "put", change.target, withdrawn), actor=change.actor)
        )
        return "the vote was withdrawn"
    if change.kind == "link":
        _dismiss(tx, who, change, change)
        return f"no longer {body['kind']} {body['b']}"
    if change.kind != "put" or "id" in body or not body:
        raise InvalidInput(
            f"change: it changed no value ({change.kind})",
            "to remove the memory, forget it",
        )
    return _restore(tx, who, change, body)


# A value


def _restore(tx: Transaction, who: Identity, change: Change, body: Mapping[str, Any]) -> str:
    """Restore the values from before *change*, of the fields that were not changed since."""
    puts = [c for c in tx.history(change.target) if c.kind == "put" and c.body]
    before: dict[str, Any] = {}
    for put in puts:
        if put.seq < change.seq:
            before.update(put.body or {})
    later = {name for put in puts if put.seq > change.seq for name in put.body or {}}
    names = [name for name in body if name in _DEFAULTS and name not in later]
    if not names:
        raise InvalidInput(
            "change: what it set was changed again since", "undo the later change first"
        )
    values = {name: before.get(name, _plain(_DEFAULTS[name])) for name in names}
    other = str(body.get("superseded_by") or values.get("superseded_by", ""))
    edited = "superseded_by" in values and _is_edit(tx, who, change, other)
    tx.append(_reversal(who, change, "put", change.target, values))
    if edited:
        return _turn(tx, who, change, other)
    for link in _links(tx, change, body):
        _dismiss(tx, who, change, link)
    if "retired_at" in values:
        _return_accesses(tx, who, change)
    return _told(values)


def _told(values: Mapping[str, Any]) -> str:
    """What is as before, in words."""
    if "superseded_by" in values:
        other = values["superseded_by"]
        return f"{other} holds in its place again" if other else "it holds again"
    if "retired_at" in values:
        return "it is retired again" if values["retired_at"] else "it is no longer retired"
    return f"as before: {', '.join(name.replace('_', ' ') for name in values)}"


def _is_edit(tx: Transaction, who: Identity, change: Change, other: str) -> bool:
    """True when *change* is an edit, or the undoing of one, and *who* may change its *other* text.

    That is another memory, which may be forgotten by now.
    """
    fields = tx.fields(other)
    if fields is None or (fields["agent"] != who.agent and not who.admin):
        return False
    both = [*tx.history(change.target), *tx.history(other)]
    undoing = {_source(each.seq): each for each in both}
    while change.source in undoing:
        change = undoing[change.source]
    return change.source == EDIT


def _turn(tx: Transaction, who: Identity, change: Change, other: str) -> str:
    """Let of two texts of one memory, of which *change* was undone, only one hold.

    Raises InvalidInput where the *other* text was put right again.
    """
    here, there = (from_fields(tx.fields(id) or {}) for id in (change.target, other))
    if here.superseded_by:
        body: dict[str, Any] = {"superseded_by": "", "superseded_at": None, "replaced": False}
    elif there.replaced:
        raise InvalidInput(f"change: {other} was edited since", "undo the later change first")
    else:
        body = {"superseded_by": here.id, "superseded_at": tx.now, "replaced": True}
    tx.append(_reversal(who, change, "put", other, body))
    now, before = (there, here) if here.superseded_by else (here, there)
    return f"{now.id} holds again, in the place of {before.id}"


def _links(tx: Transaction, change: Change, body: Mapping[str, Any]) -> list[Change]:
    """The links written with *change*: of a merge, or of what superseded the memory."""
    newer = str(body.get("superseded_by", ""))
    own = [c for c in tx.history(change.target) if c.kind == "link"]
    mine = [c for c in own if change.run or (c.at, c.source) == (change.at, change.source)]
    theirs = [c for c in tx.history(newer) if c.kind == "link"] if newer else []
    return [
        link
        for link, target in [*((c, "") for c in mine), *((c, change.target) for c in theirs)]
        if link.body
        and link.run == change.run
        and link.body["kind"] in (*link_kinds.RELATIONS, link_kinds.DUPLICATE_OF)
        and (not target or link.body["b"] == target)
    ]


def _dismiss(tx: Transaction, who: Identity, change: Change, link: Change) -> None:
    own = {name: value for name, value in (link.body or {}).items() if name != SYNCED}
    body = {**own, "weight": DISMISSED}
    tx.append(_reversal(who, change, "link", link.target, body))


def _return_accesses(tx: Transaction, who: Identity, change: Change) -> None:
    """Undo the transfer of accesses by a merge, unless the survivor was recalled since."""
    near = [c for c in tx.run_changes(change.run) if c.kind == "access"] if change.run else []
    given = next((c for c in near if 0 < c.seq - change.seq <= 2), None)
    if given is None or given.body is None or given.before is None:
        return
    ids, counts, last = given.body["ids"], given.body["counts"], given.body["last"]
    if tx.accesses(ids) == {ids[0]: (counts[0], last[0])}:
        body = {name: given.before[name] for name in ("ids", "counts", "last")}
        tx.append(_reversal(who, change, "access", "", body))


# A merge at remember


def merged(memory: MemoryRecord, first: Mapping[str, Any]) -> dict[str, Any]:
    """What a merge stores of *memory*, which repeats *first* (fields): the values that differ."""
    said = {
        "text": memory.text,
        "occurred_at": memory.occurred_at,
        "source": memory.source,
        "client": memory.client,
        "trust": memory.trust,
        "role": memory.role,
        "gist": memory.gist,
    }
    return {name: value for name, value in said.items() if value != first.get(name, "")}


def repeats(tx: Transaction, id: str) -> list[str]:
    """The texts of the repeats that were merged into the memory *id*."""
    bodies = [change.body for change in tx.history(id) if change.kind == "put" and change.body]
    texts = [body[MERGED].get("text", "") for body in bodies if body.get(MERGED)]
    return [text for text in texts if text]


def _split(tx: Transaction, who: Identity, change: Change, said: Mapping[str, Any]) -> str:
    """Make a merged repeat a memory of its own; the first one loses one access."""
    first = from_fields(tx.fields(change.target) or {})
    memory = replace(
        first,
        **{name: value for name, value in said.items() if name in _DEFAULTS or name == "text"},
        id=new_id(tx.now),
        recorded_at=change.at,
        position=tx.next_position(first.thread) if first.session else -1,
        access_count=0,
        last_accessed=None,
        retired_at=None,
        superseded_by="",
        superseded_at=None,
        replaced=False,
    )
    memory = replace(memory, content_hash=content_hash(memory.text))
    # written as superseded first: only one memory may hold the repeat key, and the first keeps it
    apart = {**to_fields(memory), "superseded_by": first.id, "replaced": True}
    tx.append(_reversal(who, change, "put", memory.id, apart))
    current = {"superseded_by": "", "replaced": False}
    tx.append(_reversal(who, change, "put", memory.id, current))
    count, last = tx.accesses([first.id])[first.id]
    body = {"ids": [first.id], "counts": [max(0, count - 1)], "last": [last]}
    tx.append(_reversal(who, change, "access", "", body))
    tx.append(_reversal(who, change, "put", first.id, {MERGED: {}}))
    return f"{memory.id} is a memory of its own"


def _reversal(who: Identity, change: Change, kind: str, target: str, body: Any) -> Change:
    return Change(
        kind, target, body, actor=who.agent, source=_source(change.seq), scope=change.scope
    )


def _source(seq: int) -> str:
    return f"{_UNDO}{seq}"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
