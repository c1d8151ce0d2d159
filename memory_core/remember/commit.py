"""What a write does inside its transaction: tombstones, repeats, replacement, the memory itself.

Whatever another writer could change before the commit is decided here, under the lock of the
journal. Nothing here embeds, waits or reads an index.
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
from memory_core.relations import change
from memory_core.relations.corrections import Correction
from memory_core.relations.duplicates import DOUBTS, DOUBTS_PART
from memory_core.storage.journal.journal import Transaction
from memory_core.text.time import timestamps


@dataclass(frozen=True, slots=True)
class Doubt:
    """That one memory may put another out of date, and what was *found* that says so.

    *id* is the stored one; *by_new* True when the new memory doubts it, False the other way round.
    """

    id: str
    found: change.Found
    by_new: bool = True


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory that is ready to be written, and what its writer found out about it.

    `vectors` is (n, d) float32, a row for each of `parts`, None without a model (`fingerprint`).
    `replaces` is an id as the caller gave it; `readable` is True when the caller may read the
    memory of that id (of an import: the memory's own id). `similar` are near memories; `twin` is
    the one of them that is reinforced in place of this one, "" for none; `corrected` are those that
    this one corrects, and how; `doubts` are those that it may put out of date, or that put it in
    doubt; `derived` is what is derived from each memory that this one may supersede. `leaving` are
    the ids that leave the ring of the conversation when this one enters
    it, each with the jobs that a model then has. `forms` are those of tombstones.forms when they
    were made before the lock was taken: long texts have many.
    """

    who: Identity
    memory: MemoryRecord
    fingerprint: str = ""
    parts: Sequence[int] = ()
    vectors: NDArray[np.float32] | None = None
    replaces: str = ""
    readable: bool = False
    similar: tuple[Similar, ...] = ()
    twin: str = ""
    corrected: Mapping[str, Correction] = field(default_factory=dict)
    doubts: Sequence[Doubt] = ()
    derived: Mapping[str, Sequence[str]] = field(default_factory=dict)
    leaving: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    key: str = ""
    warnings: tuple[str, ...] = ()


def remember(tx: Transaction, prepared: Prepared) -> Receipt:
    """Write *prepared*, reinforce what it repeats, or refuse it. Raises NotFound, ScopeDenied."""
    key = f"{prepared.who.agent}\x1f{prepared.key}" if prepared.key else ""
    if key and (kept := tx.receipt(key)) is not None:
        return _from_kept(tx, kept)
    marks = _forgotten(tx, prepared)
    lifted = prepared.replaces in marks
    if marks and not lifted:
        return _refused(prepared.memory, marks)
    for tombstone in marks:
        tx.remove_tombstone(tombstone)
    first = tx.find_repeat(repeat_key(prepared.memory))
    if first is None and prepared.twin and tx.accesses([prepared.twin]):
        receipt = replace(_reinforce(tx, prepared.twin, prepared), similar=prepared.similar)
    elif first is None:
        receipt = _doubt(tx, prepared, _correct(tx, prepared, _insert(tx, prepared)))
    else:
        receipt = _reinforce(tx, first, prepared)
    if prepared.replaces and not lifted:
        receipt = _replace(tx, prepared, receipt)
    if receipt.status in ("stored", "replaced"):
        _mark_stale(tx, prepared, [*receipt.replaced, *prepared.corrected])
    if key:
        _keep(tx, key, receipt)
    return receipt


def take_fact(tx: Transaction, prepared: Prepared, known: str = "") -> str:
    """Write an extracted fact, or add its sources to the stored fact that says the same.

    Returns the id, or "" when nothing is written: a source is gone, or the fact was forgotten.
    *known* is the id of a fact that says the same in other words.
    """
    memory = prepared.memory
    left = tuple(id for id in memory.derived_from if tx.accesses([id]))
    if left != memory.derived_from or _forgotten(tx, prepared):
        return ""
    first = tx.find_repeat(repeat_key(memory)) or known
    fields = tx.fields(first) if first else None
    if fields is None:
        return _insert(tx, prepared).id
    before = from_fields(fields)
    sources = tuple(dict.fromkeys((*before.derived_from, *left)))
    if sources != before.derived_from:
        _reinforce(tx, first, prepared)
    trust = max(before.trust, memory.trust, key=TRUSTS.index)
    body: dict[str, object] = {
        "derived_from": list(sources),
        "trust": trust,
        "encoded": memory.encoded,
    }
    body |= {"retired_at": None, "stale_since": None}
    changed = {name: value for name, value in body.items() if fields.get(name) != value}
    if changed:
        tx.append(Change("put", first, changed, actor=prepared.who.agent, scope=owner_of(before)))
    return first


def take_in(tx: Transaction, prepared: Prepared, links: Sequence[Link] = ()) -> Receipt:
    """Write an imported memory under its own id; a stored memory is not changed.

    When the id is that of a memory which the caller may not read, the import gets a new id and
    none of its *links*.
    """
    receipt = _take_in(tx, prepared)
    for link in links:
        mine = receipt.id in (link.a, link.b) and receipt.status != "refused"
        if mine and tx.weight(link.a, link.b, link.kind) < link.weight:
            body = {"b": link.b, "kind": link.kind, "weight": link.weight}
            tx.append(Change("link", link.a, body, actor=prepared.who.agent, source="import"))
    return receipt


def _take_in(tx: Transaction, prepared: Prepared) -> Receipt:
    memory = prepared.memory
    marks = _forgotten(tx, prepared)
    if marks:
        return _refused(memory, marks)
    fields = tx.fields(memory.id) if memory.id else None
    if fields is not None and not (prepared.readable or prepared.who.admin):
        fields, prepared = None, replace(prepared, memory=replace(memory, id=""))
    if fields is None and not (memory.replaced and memory.superseded_by):
        repeated = tx.find_repeat(repeat_key(memory))
        fields = tx.fields(repeated) if repeated is not None else None
    if fields is None:
        return _insert(tx, prepared)
    warnings = prepared.warnings
    if fields["text"] != memory.text and fields["id"] == memory.id:
        warnings = (*warnings, f"{memory.id} is known with another text, which stays")
    return _known(fields, warnings)


def _insert(tx: Transaction, prepared: Prepared) -> Receipt:
    memory = replace(
        prepared.memory,
        id=prepared.memory.id or new_id(tx.now),
        recorded_at=prepared.memory.recorded_at or tx.now,
    )
    if memory.session:  # an imported place in a conversation is kept where it is free
        place = max(memory.position, tx.next_position(memory.thread))
        memory = replace(memory, position=place)
    tx.append(
        Change(
            "put",
            memory.id,
            to_fields(memory),
            actor=prepared.who.agent,
            source=memory.client,
            scope=owner_of(memory),
        )
    )
    if prepared.vectors is not None:
        half = prepared.vectors.astype(np.float16)
        tx.put_vectors(memory.id, prepared.fingerprint, prepared.parts, half)
    for id, due in prepared.leaving.items():
        _leave(tx, id, due)
    return Receipt(
        memory.id,
        "stored",
        memory.kind,
        memory.importance,
        memory.gist,
        similar=prepared.similar,
        warnings=prepared.warnings,
    )


def _leave(tx: Transaction, id: str, due: tuple[str, ...]) -> None:
    """Move the memory *id* from the ring to recent, with the jobs *due*, unless a sweep has."""
    fields = tx.fields(id)
    if fields is not None and fields.get("tier") == "active" and fields.get("retired_at") is None:
        scope = owner_of(from_fields(fields))
        late = due and not (fields.get("encoded") or fields.get("due"))
        body = {"tier": "recent"} | ({"due": list(due)} if late else {})
        tx.append(Change("put", id, body, source="ring", scope=scope))


def _reinforce(tx: Transaction, first: str, prepared: Prepared) -> Receipt:
    """Count one more access to *first*, the repeated memory; a retired one is active again."""
    count, _last = tx.accesses([first])[first]
    tx.append(Change("access", "", {"ids": [first], "counts": [count + 1], "last": [tx.now]}))
    fields = tx.fields(first) or {}
    by: dict[str, Any] = {"actor": prepared.who.agent, "scope": owner_of(from_fields(fields))}
    if (
        fields.get("text") != prepared.memory.text
    ):  # keep the other words: undo makes a memory of them
        body = {history.MERGED: history.merged(prepared.memory, fields)}
        tx.append(Change("put", first, body, source="merge", **by))
    if fields.get("retired_at") is not None:
        tx.append(Change("put", first, {"retired_at": None}, **by))
    return _known(fields, prepared.warnings)


def _known(fields: Mapping[str, Any], warnings: tuple[str, ...]) -> Receipt:
    memory = from_fields(fields)
    return Receipt(
        memory.id, "reinforced", memory.kind, memory.importance, memory.gist, warnings=warnings
    )


# Tombstones


def _forgotten(tx: Transaction, prepared: Prepared) -> dict[str, float]:
    """The tombstones that match the memory of *prepared*, with the time of each, oldest first."""
    memory = prepared.memory
    secret = tx.meta(SECRET)
    if secret is None:
        return {}  # nothing was ever forgotten
    owners = dict.fromkeys((owner_of(memory), f"private:{memory.agent}"))
    said = prepared.forms or forms(memory.text)
    wanted = [digest for owner in owners for digest in sealed(secret, owner, said)]
    return {tombstone: at for tombstone, _digest, at in tx.tombstones(wanted)}


def _refused(memory: MemoryRecord, marks: Mapping[str, float]) -> Receipt:
    tombstone, at = next(iter(marks.items()))
    warning = (
        f"this was forgotten on {timestamps.day_words(at)} and is not remembered again by itself; "
        f"to remember it after all, pass replaces={tombstone}"
    )
    return Receipt(tombstone, "refused", memory.kind, memory.importance, warnings=(warning,))


# Replacement


def _replace(tx: Transaction, prepared: Prepared, receipt: Receipt) -> Receipt:
    """Mark the memory to replace, or its latest successor, as replaced by that of *receipt*."""
    fields = tx.fields(prepared.replaces)
    if fields is None or not prepared.readable:
        raise NotFound(
            f"no memory {prepared.replaces}", "recall it first and pass its id as replaces"
        )
    old, current = from_fields(fields), _current(tx, from_fields(fields))
    if current.id == receipt.id:
        return receipt  # the new text repeats it
    if not prepared.who.admin and {old.agent, current.agent} != {prepared.who.agent}:
        raise ScopeDenied(
            f"{prepared.replaces} belongs to another agent", "remember it as a memory of your own"
        )
    body = {"superseded_by": receipt.id, "replaced": True}
    if not current.replaced:
        body |= {"superseded_at": tx.now, "valid_until": prepared.memory.occurred_at}
    tx.append(
        Change("put", current.id, body, actor=prepared.who.agent, scope=owner_of(current)),
    )
    warnings = receipt.warnings
    if current.id != old.id:
        warnings = (*warnings, f"{old.id} had been replaced by {current.id}, which this replaces")
    similar = tuple(near for near in receipt.similar if near.id != current.id)
    return replace(
        receipt, status="replaced", replaced=(current.id,), similar=similar, warnings=warnings
    )


def _correct(tx: Transaction, prepared: Prepared, receipt: Receipt) -> Receipt:
    """Mark what *prepared* corrects as superseded; recall goes on returning it."""
    warnings = receipt.warnings
    for id, found in prepared.corrected.items():
        fields = tx.fields(id)
        if fields is None or fields.get("superseded_by"):
            continue  # forgotten or corrected by another writer meanwhile
        old = from_fields(fields)
        by: dict[str, Any] = {
            "actor": prepared.who.agent,
            "source": "correction",
            "scope": owner_of(old),
        }
        link = {"b": id, "kind": found.relation, "weight": 1.0}
        tx.append(Change("link", receipt.id, link, **by))
        if found.until is None and not found.partial:
            body = {"superseded_by": receipt.id, "superseded_at": tx.now}
            if old.valid_until is None:
                body["valid_until"] = prepared.memory.occurred_at
            tx.append(Change("put", id, body, **by))
        warnings = (*warnings, f"it corrects {id} ({found.detail})")
    return replace(receipt, warnings=warnings)


def _doubt(tx: Transaction, prepared: Prepared, receipt: Receipt) -> Receipt:
    """Link *prepared* with what it puts in doubt, or is put in doubt by; nothing else changes."""
    warnings = receipt.warnings
    for doubt in prepared.doubts:
        fields = tx.fields(doubt.id)
        if fields is None or fields.get("superseded_by"):
            continue  # forgotten, or corrected by somebody else, just now
        newer, older = (receipt.id, doubt.id) if doubt.by_new else (doubt.id, receipt.id)
        link = {"b": older, "kind": DOUBTS_PART if doubt.found.partial else DOUBTS, "weight": 1.0}
        tx.append(
            Change(
                "link",
                newer,
                link,
                actor=prepared.who.agent,
                source="doubt",
                scope=owner_of(prepared.memory),
            )
        )
        why = doubt.found.reason
        if doubt.by_new:
            hint = f"{older} may be out of date ({why}); if it is, repeat with replaces={older}"
        else:
            hint = f"{newer} may put it out of date ({why})"
        warnings = (*warnings, hint)
    return replace(receipt, warnings=warnings)


def _mark_stale(tx: Transaction, prepared: Prepared, superseded: Sequence[str]) -> None:
    """Mark as stale what is derived from the memories *superseded*.

    What another writer derived from them just now is found by the next run of consolidation.
    """
    derived = (id for old in superseded for id in prepared.derived.get(old, ()))
    for id in dict.fromkeys(derived):
        fields = tx.fields(id)
        if fields is not None and fields.get("stale_since") is None:
            body = {"stale_since": tx.now}
            tx.append(Change("put", id, body, actor=prepared.who.agent, source="correction"))


def _current(tx: Transaction, memory: MemoryRecord) -> MemoryRecord:
    """*memory*, or the last live one in the chain of memories that replaced it."""
    seen = {memory.id}
    while memory.replaced and memory.superseded_by not in seen:
        fields = tx.fields(memory.superseded_by)
        if fields is None:
            break  # the successor was forgotten
        memory = from_fields(fields)
        seen.add(memory.id)
    return memory


# Receipts under an idempotency key


def _keep(tx: Transaction, key: str, receipt: Receipt) -> None:
    """Store *receipt* without the texts of other memories, which may be forgotten later."""
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
