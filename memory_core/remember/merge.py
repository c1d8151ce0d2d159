"""What the import of an exported memory does to one of the same id, inside its transaction.

Of each value the one that was set last holds, wherever that was; the other one stays in the
history. What was forgotten stays forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memory_core.lifecycle.doubts import linked
from memory_core.lifecycle.stamps import (
    BORN,
    FORGOTTEN,
    GROUPS,
    MACHINE,
    NEVER,
    OF,
    Stamp,
    Stamps,
    later,
    marks,
    stamps,
)
from memory_core.link_kinds import DOUBTS
from memory_core.records import (
    Change,
    Identity,
    Link,
    MemoryRecord,
    Receipt,
    from_fields,
    owner_of,
)
from memory_core.remember import commit
from memory_core.remember.prepared import Prepared
from memory_core.storage.journal.journal import Transaction

CHANGED, GONE = "changed", "forgotten"
"""Statuses of a receipt of merge: values of the known memory changed; it was forgotten here."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What an exported memory brings besides its fields: its stamps by group, and links.

    `of` names the folder of machines that are kept in step, "" for a file that is imported.
    `fields` are the names of those that it gives, None where it gives all.
    """

    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    links: Sequence[tuple[Link, Stamp]] = ()
    of: str = ""
    fields: Collection[str] | None = None


def merge(
    tx: Transaction, prepared: Prepared, given: Brought, links: Sequence[Link] = (), run: str = ""
) -> Receipt:
    """Write an exported memory, or what was changed of it since, as of *run*.

    The status of the receipt is that of commit.take_in, CHANGED or GONE. Of a file *links* are
    taken as there.
    """
    tx.run = run
    memory = prepared.memory
    fields = tx.fields(memory.id) if memory.id else None
    own = fields is None or prepared.who.admin or fields.get("agent") == prepared.who.agent
    if not memory.id or not own:
        return commit.take_in(tx, prepared, links, run)
    mine = stamps(tx, memory.id)
    if fields is not None:
        receipt = _merge(tx, prepared, given, mine, from_fields(fields))
        if given.of:
            for link, stamp in given.links:
                put_link(tx, prepared.who, link, stamp, given.of)
            return receipt
        if receipt.replaced:
            put_doubt(tx, prepared.who, *receipt.replaced)
        known = commit.take_in(tx, prepared, links, run)
        return receipt if receipt.status == CHANGED else known
    if given.of:
        return _arrive(tx, prepared, given, mine)
    kept = dict(given.stamps)
    if mine.forgotten != NEVER:  # somebody imports again what was taken back
        kept[BORN] = later(mine.forgotten, tx.now, tx.meta(MACHINE) or "")
    return commit.take_in(tx, replace(prepared, marks=marks(kept, "") if kept else {}), links, run)


def _merge(
    tx: Transaction, prepared: Prepared, given: Brought, mine: Stamps, old: MemoryRecord
) -> Receipt:
    """Set what was set later elsewhere of the known memory *old*.

    The receipt's `replaced` are the two memories that replaced it, one here and one there.
    """
    new = prepared.memory
    receipt = Receipt(old.id, "reinforced", old.kind, old.importance, old.gist)
    if given.stamps.get(BORN, NEVER) < mine.of(BORN):
        return receipt  # of what it was before it was forgotten
    body: dict[str, Any] = {}
    if "superseded" in given.stamps and old.replaced and new.replaced:
        by_both = {old.superseded_by, new.superseded_by} - {""}
        receipt = replace(receipt, replaced=tuple(sorted(by_both)) if len(by_both) > 1 else ())
    kept = {name: stamp for name, stamp in given.stamps.items() if stamp > mine.of(name)}
    for name in kept:
        for each in GROUPS.get(name, ()):
            value = getattr(new, each)
            body[each] = list(value) if isinstance(value, tuple) else value
    if not kept:
        return receipt
    by: dict[str, Any] = {"actor": prepared.who.agent, "source": "sync" if given.of else "import"}
    told = {**body, **marks(kept, given.of)}
    tx.append(Change("put", old.id, told, scope=owner_of(old), **by))
    if "said" in kept and not given.of:  # of a folder the links come too
        receipt = commit.overcome(tx, old, prepared, receipt)
    changed = any(getattr(old, name) != getattr(new, name) for name in body)
    return replace(receipt, status=CHANGED) if changed else receipt


def _arrive(tx: Transaction, prepared: Prepared, given: Brought, mine: Stamps) -> Receipt:
    """Store a memory of another machine, unless it, or its text, was forgotten here.

    Of two that say the same the one with the lower id stands for both, on every machine.
    """
    memory, machine = prepared.memory, tx.meta(MACHINE) or ""
    if given.stamps.get(BORN, NEVER) <= mine.forgotten and mine.forgotten != NEVER:
        return Receipt(memory.id, GONE, memory.kind, memory.importance)
    if tombstones := commit.forgotten(tx, prepared):
        stamp = later(max(mine.forgotten, given.stamps.get(BORN, NEVER)), tx.now, machine)
        note_forgotten(tx, memory.id, stamp, "", never_again=True)
        return commit.refused(memory, tombstones)
    prepared = replace(prepared, marks=marks(given.stamps, given.of))
    standing = not (memory.replaced and memory.superseded_by)
    first = tx.find_repeat(memory) if standing else None
    if first is not None and first > memory.id:
        _stand_for(tx, prepared.who, from_fields(tx.fields(first) or {}), memory.id)
        first = None
    if first is not None:
        said = replace(memory, superseded_by=first, superseded_at=tx.now, replaced=True)
        receipt = commit.insert(tx, replace(prepared, memory=said))
        _stand_for(tx, prepared.who, said, first)
    else:
        receipt = commit.insert(tx, prepared)
    for link, stamp in given.links:
        put_link(tx, prepared.who, link, stamp, given.of)
    if first is None:
        receipt = commit.bear(tx, prepared, receipt)
        commit.mark_stale(tx, prepared, commit.corrected(prepared))
    return receipt


def _stand_for(tx: Transaction, who: Identity, memory: MemoryRecord, first: str) -> None:
    """Journal, as a change of this machine, that *first* says what *memory* says."""
    body = {"superseded_by": first, "superseded_at": tx.now, "replaced": True}
    by: dict[str, Any] = {"actor": who.agent, "source": "repeat", "scope": owner_of(memory)}
    tx.append(Change("put", memory.id, body, **by))


def put_link(tx: Transaction, who: Identity, link: Link, stamp: Stamp, of: str) -> bool:
    """Set *link* as it was set elsewhere, unless it was set later here.

    False while one of its ends has yet to arrive; a link to what was forgotten is dropped.
    """
    if len(tx.accesses([link.a, link.b])) < 2:
        ends = (link.a, link.b)
        return any(stamps(tx, id).forgotten != NEVER for id in ends if not tx.accesses([id]))
    if stamp > stamps(tx, link.a).links.get((link.b, link.kind), NEVER):
        body = {"b": link.b, "kind": link.kind, "weight": link.weight}
        told = {**body, **marks({"link": stamp}, of)}
        tx.append(Change("link", link.a, told, actor=who.agent, source="sync"))
    return True


def put_doubt(tx: Transaction, who: Identity, one: str, other: str) -> bool:
    """Put two memories in doubt that replaced the same one on two machines.

    False while one of them has yet to arrive.
    """
    both = tx.fold([one, other])
    if len(both) < 2:
        return any(stamps(tx, id).forgotten != NEVER for id in (one, other) if id not in both)
    memories = sorted(map(from_fields, both.values()), key=lambda m: (m.occurred_at, m.id))
    older, newer = memories
    if not (older.superseded_by or newer.superseded_by or linked(tx, newer.id, older.id)):
        body = {"b": older.id, "kind": DOUBTS, "weight": 1.0}
        by: dict[str, Any] = {"source": commit.DOUBT, "scope": owner_of(newer)}
        tx.append(Change("link", newer.id, body, actor=who.agent, **by))
    return True


def note_forgotten(tx: Transaction, id: str, stamp: Stamp, of: str, *, never_again: bool) -> bool:
    """Journal that *id* was forgotten elsewhere; True when it still lives here and has to go."""
    mine = stamps(tx, id)
    if stamp <= mine.forgotten:
        return False
    value = {"stamp": list(stamp), "never_again": never_again, OF: of}
    tx.append(Change("meta", f"{FORGOTTEN}{id}", {"value": value}, source="sync"))
    return bool(tx.accesses([id])) and mine.of(BORN) < stamp
