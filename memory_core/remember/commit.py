"""What a write does inside its transaction: tombstones, repeats, replacement, the memory itself.

Everything that another writer could change between a look and the commit is decided here, under
the journal's lock; nothing here embeds, waits or reads an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core import history
from memory_core.errors import NotFound, ScopeDenied
from memory_core.lifecycle.tombstones import SECRET, forms, sealed
from memory_core.records import (
    TRUSTS,
    Change,
    Identity,
    Link,
    MemoryRecord,
    Receipt,
    Similar,
    from_fields,
    new_id,
    owner_of,
    repeat_key,
    to_fields,
)
from memory_core.relations.corrections import Correction
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.text.time import moments


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory that is ready to be written, and what its writer found out about it.

    *vectors* is (n, d) float32, a row for each of *parts*, None while there is no model
    (*fingerprint*). *replaces* is an id as the caller gave it; *readable* tells whether the caller
    may read a memory of that id (for an import: of the memory's own id). *leaving* are the ids that
    leave the ring of the conversation for tier recent when this enters it, each with the jobs that
    a model has to do for it then. *forms* are those of
    tombstones.forms where they were made before the lock was taken: long texts have many.
    """

    who: Identity
    memory: MemoryRecord
    fingerprint: str = ""
    parts: Sequence[int] = ()
    vectors: NDArray[np.float32] | None = None
    similar: tuple[Similar, ...] = ()
    replaces: str = ""
    readable: bool = False
    corrected: Mapping[str, Correction] = field(default_factory=dict)
    """Ids of the caller's memories that this one corrects in so many words, and how."""
    key: str = ""
    forms: tuple[str, ...] = ()
    leaving: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def remember(tx: Transaction, entry: Entry, twin: str = "") -> Receipt:
    """Write *entry*, reinforce what it repeats or refuse it. Raises NotFound, ScopeDenied.

    *twin* is a near-duplicate that is reinforced in its place, while it is there; the receipt then
    names it in similar.
    """
    key = f"{entry.who.agent}\x1f{entry.key}" if entry.key else ""
    if key and (kept := tx.receipt(key)) is not None:
        return _from_kept(tx, kept)
    marks = _forgotten(tx, entry)
    lifted = entry.replaces in marks
    if marks and not lifted:
        return _refused(entry.memory, marks)
    for tombstone in marks:
        tx.remove_tombstone(tombstone)
    first = tx.find_repeat(repeat_key(entry.memory))
    if first is None and twin and tx.accesses([twin]):
        receipt = replace(_reinforce(tx, twin, entry), similar=entry.similar)
    elif first is None:
        receipt = _correct(tx, entry, _insert(tx, entry))
    else:
        receipt = _reinforce(tx, first, entry)
    if entry.replaces and not lifted:
        receipt = _replace(tx, entry, receipt)
    if key:
        _keep(tx, key, receipt)
    return receipt


def take_fact(tx: Transaction, entry: Entry, known: str = "") -> str:
    """Write an extracted fact, or let what says so already rest on its sources too; its id or "".

    *known* is the id of a fact that says the same in other words. Nothing is written for a fact
    whose sources are gone or that was forgotten before.
    """
    memory = entry.memory
    left = tuple(id for id in memory.derived_from if tx.accesses([id]))
    if left != memory.derived_from or _forgotten(tx, entry):
        return ""
    first = tx.find_repeat(repeat_key(memory)) or known
    fields = tx.fields(first) if first else None
    if fields is None:
        return _insert(tx, entry).id
    before = from_fields(fields)
    sources = tuple(dict.fromkeys((*before.derived_from, *left)))
    if sources != before.derived_from:
        _reinforce(tx, first, entry)
    trust = max(before.trust, memory.trust, key=TRUSTS.index)
    body: dict[str, object] = {
        "derived_from": list(sources),
        "trust": trust,
        "encoded": memory.encoded,
    }
    body |= {"retired_at": None, "stale_since": None}
    changed = {name: value for name, value in body.items() if fields.get(name) != value}
    if changed:
        tx.append(Change("put", first, changed, actor=entry.who.agent, scope=owner_of(before)))
    return first


def take_in(tx: Transaction, entry: Entry, links: Sequence[Link] = ()) -> Receipt:
    """Write an imported memory under its own id; what is there already stays as it is.

    An id that belongs to what the caller may not read is as good as unknown: the memory then gets
    a new one, and none of its *links*.
    """
    receipt = _take_in(tx, entry)
    for link in links:
        mine = receipt.id in (link.a, link.b) and receipt.status != "refused"
        if mine and tx.weight(link.a, link.b, link.kind) < link.weight:
            body = {"b": link.b, "kind": link.kind, "weight": link.weight}
            tx.append(Change("link", link.a, body, actor=entry.who.agent, source="import"))
    return receipt


def _take_in(tx: Transaction, entry: Entry) -> Receipt:
    memory = entry.memory
    marks = _forgotten(tx, entry)
    if marks:
        return _refused(memory, marks)
    fields = tx.fields(memory.id) if memory.id else None
    if fields is not None and not (entry.readable or entry.who.admin):
        fields, entry = None, replace(entry, memory=replace(memory, id=""))
    if fields is None and not (memory.replaced and memory.superseded_by):
        repeated = tx.find_repeat(repeat_key(memory))
        fields = tx.fields(repeated) if repeated is not None else None
    if fields is None:
        return _insert(tx, entry)
    warnings = entry.warnings
    if fields["text"] != memory.text and fields["id"] == memory.id:
        warnings = (*warnings, f"{memory.id} is known with another text, which stays")
    return _known(fields, warnings)


def _insert(tx: Transaction, entry: Entry) -> Receipt:
    memory = replace(
        entry.memory,
        id=entry.memory.id or new_id(tx.now),
        recorded_at=entry.memory.recorded_at or tx.now,
    )
    if memory.session:  # an imported place in a conversation is kept where it is free
        place = max(memory.position, tx.next_position(memory.thread))
        memory = replace(memory, position=place)
    tx.append(
        Change(
            "put",
            memory.id,
            to_fields(memory),
            actor=entry.who.agent,
            source=memory.client,
            scope=owner_of(memory),
        )
    )
    if entry.vectors is not None:
        half = entry.vectors.astype(np.float16)
        tx.put_vectors(memory.id, entry.fingerprint, entry.parts, half)
    for id, due in entry.leaving.items():
        _leave(tx, id, due)
    return Receipt(
        memory.id,
        "stored",
        memory.kind,
        memory.importance,
        memory.gist,
        similar=entry.similar,
        warnings=entry.warnings,
    )


def _leave(tx: Transaction, id: str, due: tuple[str, ...]) -> None:
    """Move what leaves the ring to recent, unless a sweep was faster; *due* are jobs for it."""
    fields = tx.fields(id)
    if fields is not None and fields.get("tier") == "active" and fields.get("retired_at") is None:
        scope = owner_of(from_fields(fields))
        late = due and not (fields.get("encoded") or fields.get("due"))
        body = {"tier": "recent"} | ({"due": list(due)} if late else {})
        tx.append(Change("put", id, body, source="ring", scope=scope))


def _reinforce(tx: Transaction, first: str, entry: Entry) -> Receipt:
    """One more access to *first*, the memory that is repeated; a retired one comes back."""
    count, _last = tx.accesses([first])[first]
    tx.append(Change("access", "", {"ids": [first], "counts": [count + 1], "last": [tx.now]}))
    fields = tx.fields(first) or {}
    told: dict[str, Any] = {"actor": entry.who.agent, "scope": owner_of(from_fields(fields))}
    if fields.get("text") != entry.memory.text:  # other words are kept, to be taken apart again
        body = {history.MERGED: history.merged(entry.memory, fields)}
        tx.append(Change("put", first, body, source="merge", **told))
    if fields.get("retired_at") is not None:
        tx.append(Change("put", first, {"retired_at": None}, **told))
    return _known(fields, entry.warnings)


def _known(fields: Mapping[str, Any], warnings: tuple[str, ...]) -> Receipt:
    memory = from_fields(fields)
    return Receipt(
        memory.id, "reinforced", memory.kind, memory.importance, memory.gist, warnings=warnings
    )


# Tombstones


def _forgotten(tx: Transaction, entry: Entry) -> dict[str, float]:
    """The tombstones that the memory of *entry* meets, with the time of each, oldest first."""
    memory = entry.memory
    secret = tx.meta(SECRET)
    if secret is None:
        return {}  # nothing was ever forgotten
    owners = dict.fromkeys((owner_of(memory), f"private:{memory.agent}"))
    said = entry.forms or forms(memory.text)
    wanted = [digest for owner in owners for digest in sealed(secret, owner, said)]
    return {tombstone: at for tombstone, _digest, at in tx.tombstones(wanted)}


def _refused(memory: MemoryRecord, marks: Mapping[str, float]) -> Receipt:
    tombstone, at = next(iter(marks.items()))
    warning = (
        f"this was forgotten on {moments.day_words(at)} and is not remembered again by itself; "
        f"to remember it after all, pass replaces={tombstone}"
    )
    return Receipt(tombstone, "refused", memory.kind, memory.importance, warnings=(warning,))


# Replacement


def _replace(tx: Transaction, entry: Entry, receipt: Receipt) -> Receipt:
    """Mark what *entry* corrects, or what has replaced that since, as replaced by *receipt*."""
    fields = tx.fields(entry.replaces)
    if fields is None or not entry.readable:
        raise NotFound(f"no memory {entry.replaces}", "recall it first and pass its id as replaces")
    old, standing = from_fields(fields), _standing(tx, from_fields(fields))
    if standing.id == receipt.id:
        return receipt  # it says so already
    if not entry.who.admin and {old.agent, standing.agent} != {entry.who.agent}:
        raise ScopeDenied(
            f"{entry.replaces} belongs to another agent", "remember it as a memory of your own"
        )
    body = {"superseded_by": receipt.id, "replaced": True}
    if not standing.replaced:
        body |= {"superseded_at": tx.now, "valid_until": entry.memory.occurred_at}
    tx.append(
        Change("put", standing.id, body, actor=entry.who.agent, scope=owner_of(standing)),
    )
    warnings = receipt.warnings
    if standing.id != old.id:
        warnings = (*warnings, f"{old.id} had been replaced by {standing.id}, which this replaces")
    similar = tuple(near for near in receipt.similar if near.id != standing.id)
    return replace(
        receipt, status="replaced", replaced=(standing.id,), similar=similar, warnings=warnings
    )


def _correct(tx: Transaction, entry: Entry, receipt: Receipt) -> Receipt:
    """Mark what *entry* corrects in so many words as out of date; nothing is left out of recall."""
    warnings = receipt.warnings
    for id, found in entry.corrected.items():
        fields = tx.fields(id)
        if fields is None or fields.get("superseded_by"):
            continue  # forgotten, or corrected by somebody else, just now
        old = from_fields(fields)
        said_by: dict[str, Any] = {
            "actor": entry.who.agent,
            "source": "correction",
            "scope": owner_of(old),
        }
        link = {"b": id, "kind": found.relation, "weight": 1.0}
        tx.append(Change("link", receipt.id, link, **said_by))
        if found.until is None and not found.partial:
            body = {"superseded_by": receipt.id, "superseded_at": tx.now}
            if old.valid_until is None:
                body["valid_until"] = entry.memory.occurred_at
            tx.append(Change("put", id, body, **said_by))
        warnings = (*warnings, f"it corrects {id} ({found.detail})")
    return replace(receipt, warnings=warnings)


def _standing(tx: Transaction, memory: MemoryRecord) -> MemoryRecord:
    """*memory*, or the last of those that have replaced it, one the other, and still live."""
    seen = {memory.id}
    while memory.replaced and memory.superseded_by not in seen:
        fields = tx.fields(memory.superseded_by)
        if fields is None:
            break  # its successor was forgotten
        memory = from_fields(fields)
        seen.add(memory.id)
    return memory


# Receipts under an idempotency key


def _keep(tx: Transaction, key: str, receipt: Receipt) -> None:
    """Keep *receipt*, without the texts of others: they may be forgotten, the receipt stays."""
    body = {
        "id": receipt.id,
        "status": receipt.status,
        "kind": receipt.kind,
        "importance": receipt.importance,
        "gist": receipt.gist,
        "similar": [[near.id, near.relation] for near in receipt.similar],
        "replaced": list(receipt.replaced),
        "warnings": list(receipt.warnings),
    }
    tx.save_receipt(key, body, [receipt.id])


def _from_kept(tx: Transaction, body: Mapping[str, Any]) -> Receipt:
    rows = {id: tx.fields(id) for id, _ in body["similar"]}
    similar = [
        Similar(id, fields["text"], relation)
        for id, relation in body["similar"]
        if (fields := rows[id]) is not None
    ]
    return Receipt(
        body["id"],
        body["status"],
        body["kind"],
        body["importance"],
        body["gist"],
        tuple(similar),
        tuple(body["replaced"]),
        tuple(body["warnings"]),
    )


def mark(store: MemoryStore, actor: str, corrected: Sequence[str], now: float) -> None:
    """Mark everything that rests on the memories *corrected* as stale since *now*.

    A kill before this is no loss: sleep finds what rests on something superseded by itself.
    """
    if not corrected:
        return
    with store.reading():
        found = [id for id in corrected for id in resting_on(store, id)]
    if not found:
        return

    def build(tx: Transaction) -> None:
        for id in dict.fromkeys(found):
            fields = tx.fields(id)
            if fields is not None and fields.get("stale_since") is None:
                body = {"stale_since": now}
                tx.append(Change("put", id, body, actor=actor, source="correction"))

    store.commit(build)


def resting_on(store: MemoryStore, id: str) -> list[str]:
    """What rests on the memory *id*, however far; call inside store.reading()."""
    columns, graph = store.columns, store.graph
    found: dict[int, None] = {}
    row = columns.row(id)
    frontier = [] if row is None else [row]
    while frontier:
        reached = [other for row in frontier for other in graph.origins(row, DERIVED_FROM)]
        frontier = [row for row in dict.fromkeys(reached) if row not in found]
        found |= dict.fromkeys(frontier)
    return [columns.id(row) for row in found]
