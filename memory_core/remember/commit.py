"""What a write does inside its transaction: tombstones, repeats, replacement, the memory itself.

Whatever another writer could change before the commit is decided here, under the lock of the
journal. Nothing here embeds, waits or reads an index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from memory_core import history, validation
from memory_core.beliefs import change
from memory_core.errors import InvalidInput, NotFound, ScopeDenied
from memory_core.lifecycle.amendments import require_seen
from memory_core.lifecycle.doubts import linked
from memory_core.lifecycle.pins import PINNED
from memory_core.lifecycle.tombstones import SECRET, forms, sealed
from memory_core.link_kinds import DOUBTING, DOUBTS, DOUBTS_PART, HOLDS, KNOWN, SUSPENDS, told
from memory_core.records import (
    TRUSTS,
    Change,
    Link,
    MemoryRecord,
    Receipt,
    Similar,
    from_fields,
    is_heard,
    new_id,
    owner_of,
    to_fields,
)
from memory_core.remember import again
from memory_core.remember.prepared import Doubt, Prepared
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.journal.queries import Queries
from memory_core.text.time import timestamps

TOLD = 2
"""Doubts that a receipt names; the review lists all."""

DOUBT = "doubt"
"""The source of the doubts that a write finds, in the history of a memory."""


def remember(tx: Transaction, prepared: Prepared) -> Receipt:
    """Write *prepared*, reinforce what it repeats, or refuse it. Raises NotFound, ScopeDenied."""
    key = f"{prepared.who.agent}\x1f{prepared.key}" if prepared.key else ""
    if key and (kept := tx.receipt(key)) is not None:
        return _from_kept(tx, kept, prepared.asked)
    require_seen(tx, prepared.replaces, prepared.seen)
    marks = forgotten(tx, prepared)
    lifted = prepared.replaces in marks
    if marks and not lifted:
        return refused(prepared.memory, marks)
    for tombstone in marks:
        tx.remove_tombstone(tombstone)
    first = _repeated(tx, prepared.memory)
    if first is None and prepared.twin and tx.accesses([prepared.twin]):
        receipt = replace(_reinforce(tx, prepared.twin, prepared), similar=prepared.similar)
    elif first is None:
        receipt = bear(tx, prepared, insert(tx, prepared))
        receipt = _said_elsewhere(tx, prepared, receipt)
    else:
        receipt = _reinforce(tx, first, prepared)
        if first in prepared.overcome:
            old = again.hold(tx, first, prepared.memory.occurred_at, prepared.who.agent)
            receipt = overcome(tx, old, prepared, receipt)
    if prepared.replaces and not lifted:
        receipt = _replace(tx, prepared, receipt)
    if receipt.status in ("stored", "replaced"):
        mark_stale(tx, prepared, [*receipt.replaced, *corrected(prepared)])
    if key:
        _keep(tx, key, receipt, prepared.asked)
    return receipt


def embedded_late(tx: Transaction, prepared: Prepared) -> None:
    """Write the vectors of a stored memory, and the relations that are found with them."""
    memory = prepared.memory
    fields = tx.fields(memory.id)
    if fields is None or prepared.vectors is None:
        return  # forgotten meanwhile
    half = prepared.vectors.astype(np.float16)
    tx.put_vectors(memory.id, prepared.fingerprint, prepared.parts, half)
    bear(tx, prepared, _known(fields, ()))
    mark_stale(tx, prepared, corrected(prepared))


def take_fact(tx: Transaction, prepared: Prepared, known: str = "") -> str:
    """Write an extracted fact, or add its sources to the stored fact that says the same.

    Returns the id, or "" when nothing is written: a source is gone, or the fact was forgotten.
    *known* is the id of a fact that says the same in other words.
    """
    memory = prepared.memory
    left = tuple(id for id in memory.derived_from if tx.accesses([id]))
    if left != memory.derived_from or forgotten(tx, prepared):
        return ""
    first = tx.find_repeat(memory) or known
    fields = tx.fields(first) if first else None
    if fields is None:
        return insert(tx, prepared).id
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


def take_in(
    tx: Transaction, prepared: Prepared, links: Sequence[Link] = (), run: str = ""
) -> Receipt:
    """Write an imported memory under its own id; a stored memory is not changed.

    Only that which it replaces is marked as replaced. All changes are those of *run*. When the id
    is that of a memory which the caller may not read, the import gets a new id and none of its
    *links*.
    """
    tx.run = run
    receipt = _take_in(tx, prepared)
    _link(tx, prepared, receipt, links)
    if receipt.status == "stored":
        receipt = bear(tx, prepared, receipt)
        mark_stale(tx, prepared, corrected(prepared))
    if prepared.replaces and receipt.status != "refused":
        receipt = _replace(tx, prepared, receipt)
        mark_stale(tx, prepared, receipt.replaced)
    return receipt


def _link(tx: Transaction, prepared: Prepared, receipt: Receipt, links: Sequence[Link]) -> None:
    """Store those of the imported *links* that are the memory's own and stronger than known.

    A memory that was here before is put in no relation by an import.
    """
    for link in links:
        if link.kind in KNOWN and receipt.status != "stored":
            continue
        mine = receipt.id in (link.a, link.b) and receipt.status != "refused"
        if mine and tx.weight(link.a, link.b, link.kind) < link.weight:
            body = {"b": link.b, "kind": link.kind, "weight": link.weight}
            tx.append(Change("link", link.a, body, actor=prepared.who.agent, source="import"))


def _take_in(tx: Transaction, prepared: Prepared) -> Receipt:
    memory = prepared.memory
    marks = forgotten(tx, prepared)
    if marks:
        return refused(memory, marks)
    fields = tx.fields(memory.id) if memory.id else None
    if fields is not None and not (prepared.readable or prepared.who.admin):
        fields, prepared = None, replace(prepared, memory=replace(memory, id=""))
    if fields is None and not (memory.replaced and memory.superseded_by):
        repeated = tx.find_repeat(memory)
        fields = tx.fields(repeated) if repeated is not None else None
    if fields is None:
        return insert(tx, prepared)
    warnings = prepared.warnings
    if fields["text"] != memory.text and fields["id"] == memory.id:
        warnings = (*warnings, f"{memory.id} is known with another text, which stays")
    return _known(fields, warnings)


def insert(tx: Transaction, prepared: Prepared) -> Receipt:
    """Write the new memory of *prepared*, which repeats none."""
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
            {**to_fields(memory), **prepared.marks},
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


def _repeated(tx: Transaction, memory: MemoryRecord) -> str | None:
    """The id of the live memory that *memory* repeats; None when there is none.

    What was only heard may repeat what the user stated, never the other way round.
    """
    heard = is_heard(memory)
    stated = replace(memory, role="", trust="agent") if heard else memory
    first = tx.find_repeat(stated)
    if first is None:
        return tx.find_repeat(memory) if heard else None
    old = from_fields(tx.fields(first) or {})
    if heard or not is_heard(old):
        return first
    # of an older version, which kept what was heard under the key of what is stated
    tx.append(Change("put", first, {"role": old.role}, scope=owner_of(old)))
    return None


def _raised(fields: Mapping[str, Any], memory: MemoryRecord) -> dict[str, Any]:
    """The role and trust of a repeated memory, of *fields*, that *memory* says with more right.

    What is derived has the trust of what it rests on, whoever it is derived for again.
    """
    old = from_fields(fields)
    if is_heard(memory) or old.derived_from or memory.derived_from:
        return {}
    raised: dict[str, Any] = {}
    if memory.role and not old.role:
        raised["role"] = memory.role
    if TRUSTS.index(memory.trust) < TRUSTS.index(old.trust):
        raised["trust"] = memory.trust
    return raised


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
    raised = _raised(fields, prepared.memory) | _given(fields, prepared)
    if fields.get("retired_at") is not None:
        raised["retired_at"] = None
    if raised:
        tx.append(Change("put", first, raised, **by))
    return _known({**fields, **raised}, prepared.warnings)


def _given(fields: Mapping[str, Any], prepared: Prepared) -> dict[str, Any]:
    """What the caller says of a repeated memory, of *fields*, besides its text; a pin stays."""
    old, memory = from_fields(fields), prepared.memory
    if memory.derived_from or old.derived_from:
        return {}
    given: dict[str, Any] = {}
    known = {tag.casefold() for tag in old.tags}
    if tags := [tag for tag in memory.tags if tag.casefold() not in known]:
        given["tags"] = [*old.tags, *tags][: validation.LABELS_MOST]
    if old.kind == "episode" != memory.kind:
        given["kind"] = memory.kind
    if prepared.judged and old.importance not in (PINNED, memory.importance):
        given["importance"] = memory.importance
    return given


def overcome(tx: Transaction, old: MemoryRecord, prepared: Prepared, receipt: Receipt) -> Receipt:
    """Let nothing keep *old* out of date; what superseded it, or is doubted, is in doubt."""
    later = [id for id in prepared.overcome.get(old.id, ()) if tx.accesses([id])]
    again.withdraw(tx, old, later, prepared.who.agent)
    found = {doubt.id: doubt for doubt in prepared.doubts}
    found.setdefault(old.superseded_by, Doubt(old.superseded_by, change.Found(change.PRESUMED)))
    said = list(receipt.warnings)
    for id in later:
        if id in found:
            _doubt_link(tx, prepared, old.id, id, DOUBTS, found[id].found)
            said += _hint(found[id])
    return replace(receipt, warnings=tuple(said))


def _said_elsewhere(tx: Transaction, prepared: Prepared, receipt: Receipt) -> Receipt:
    """End the doubts about what the new memory says again; doubt what superseded it."""
    said = list(receipt.warnings)
    for id, later in prepared.overcome.items():
        fields = tx.fields(id)
        if fields is None:
            continue
        old = from_fields(fields)
        if not old.superseded_by:
            again.withdraw(tx, old, later, prepared.who.agent)
            continue
        doubt = Doubt(old.superseded_by, change.Found(change.PRESUMED))
        if _doubt(tx, prepared, receipt.id, doubt.id, doubt.found):
            said += _hint(doubt)
    return replace(receipt, warnings=tuple(said))


def _known(fields: Mapping[str, Any], warnings: tuple[str, ...]) -> Receipt:
    memory = from_fields(fields)
    return Receipt(
        memory.id, "reinforced", memory.kind, memory.importance, memory.gist, warnings=warnings
    )


# Tombstones


def forgotten(tx: Queries, prepared: Prepared) -> dict[str, float]:
    """The tombstones in *tx* for the memory of *prepared*, with the time of each, oldest first."""
    memory = prepared.memory
    if (secret := tx.meta(SECRET)) is None:
        return {}  # nothing was ever forgotten
    owners = dict.fromkeys((owner_of(memory), f"private:{memory.agent}"))
    said = prepared.forms or forms(memory.text)
    wanted = [digest for owner in owners for digest in sealed(secret, owner, said)]
    return {tombstone: at for tombstone, _digest, at in tx.tombstones(wanted)}


def refused(memory: MemoryRecord, marks: Mapping[str, float]) -> Receipt:
    """The receipt of a *memory* that matches the tombstones *marks*."""
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
        body |= {"superseded_at": tx.now, "valid_until": prepared.memory.holds_from}
    by: dict[str, Any] = {"actor": prepared.who.agent, "scope": owner_of(current)}
    if prepared.edit and receipt.status == "stored":  # a text that was known holds by itself
        by["source"] = history.EDIT
    tx.append(Change("put", current.id, body, **by))
    warnings = receipt.warnings
    if current.id != old.id:
        warnings = (*warnings, f"{old.id} had been replaced by {current.id}, which this replaces")
    similar = tuple(near for near in receipt.similar if near.id != current.id)
    return replace(
        receipt, status="replaced", replaced=(current.id,), similar=similar, warnings=warnings
    )


# What it changes, and what changes it


def bear(tx: Transaction, prepared: Prepared, receipt: Receipt) -> Receipt:
    """Write how the new memory of *receipt* and those that were said before or after it relate.

    Of a pair that has a link already, as an import may bring it, that link says what holds. The
    warnings name what is corrected, then TOLD doubts, the surest first. They hold no word of
    another memory: whoever may only write reads them, and they are kept.
    """
    new, late = receipt.id, prepared.overtaken
    said: list[str] = []
    doubts: list[str] = []
    for doubt in prepared.doubts:
        if _correct(tx, prepared, new, doubt.id, doubt.found):
            said.append(f"the new text corrects {doubt.id}")
    for doubt in late.doubted_by:
        if _correct(tx, prepared, doubt.id, new, doubt.found):
            said.append(f"{doubt.id} corrects the new text")
    for doubt in surest(prepared.doubts):
        if _doubt(tx, prepared, new, doubt.id, doubt.found):
            doubts += _hint(doubt)
    for doubt in late.doubted_by:
        if _doubt(tx, prepared, doubt.id, new, doubt.found) and not doubt.found.passing:
            doubts.append(f"{doubt.id} may put the new text out of date")
    if len(doubts) > TOLD:
        doubts[TOLD:] = [f"{len(doubts) - TOLD} more may be out of date: see the review"]
    for newer, older in late.withdrawn:
        _withdraw(tx, prepared, newer, older)
    return replace(receipt, warnings=(*receipt.warnings, *said, *doubts))


def surest(doubts: Sequence[Doubt]) -> list[Doubt]:
    """*doubts*, those first that doubt a whole text, and then those that say so in words."""
    return sorted(doubts, key=lambda doubt: (doubt.found.partial, not doubt.found.worded))


def corrected(prepared: Prepared) -> list[str]:
    """The ids of what *prepared* puts out of date without a doubt."""
    return [doubt.id for doubt in prepared.doubts if doubt.found.supersedes]


def _correct(
    tx: Transaction, prepared: Prepared, newer: str, older: str, found: change.Found
) -> bool:
    """Mark *older* as superseded by *newer*; recall goes on returning it. False: not so."""
    if not found.supersedes:
        return False
    both = tx.fold([newer, older])
    if len(both) < 2 or both[older].get("superseded_by") or linked(tx, newer, older):
        return False  # forgotten, corrected or decided by another writer meanwhile
    old = from_fields(both[older])
    actor = prepared.who.agent
    by: dict[str, Any] = {"actor": actor, "source": "correction", "scope": owner_of(old)}
    link = {"b": older, "kind": found.supersedes, "weight": 1.0}
    tx.append(Change("link", newer, link | told(found.reason), **by))
    body = {"superseded_by": newer, "superseded_at": tx.now}
    if old.valid_until is None:
        body["valid_until"] = from_fields(both[newer]).holds_from
    tx.append(Change("put", older, body, **by))
    return True


def _doubt(
    tx: Transaction, prepared: Prepared, newer: str, older: str, found: change.Found
) -> bool:
    """Link *newer* to *older*, which it may put out of date; nothing else changes."""
    both = tx.fold([newer, older])
    if len(both) < 2 or both[older].get("superseded_by") or linked(tx, newer, older):
        return False  # forgotten, corrected or decided by another writer meanwhile
    _doubt_link(tx, prepared, newer, older, _kind(found), found)
    return True


def _withdraw(tx: Transaction, prepared: Prepared, newer: str, older: str) -> None:
    """Remove the doubt that a write found between two stored memories, unless somebody set it."""
    for kind in DOUBTING:
        own = [
            change.source
            for change in tx.history(newer)
            if change.kind == "link"
            and change.body
            and (change.body["b"], change.body["kind"]) == (older, kind)
        ]
        if own and own[-1] == DOUBT and tx.weight(newer, older, kind) >= HOLDS:
            _doubt_link(tx, prepared, newer, older, kind, None)


def _doubt_link(
    tx: Transaction,
    prepared: Prepared,
    newer: str,
    older: str,
    kind: str,
    found: change.Found | None,
) -> None:
    """Link *newer* to *older* for what was *found*; None takes the link back."""
    body = {"b": older, "kind": kind, "weight": float(found is not None)}
    body |= {} if found is None else told(found.reason, part=found.part)
    scope, actor = owner_of(prepared.memory), prepared.who.agent
    tx.append(Change("link", newer, body, actor=actor, source=DOUBT, scope=scope))


def _kind(found: change.Found) -> str:
    """The kind of the link from a later memory to the earlier one that *found* is about."""
    if found.passing:
        return SUSPENDS
    return DOUBTS_PART if found.partial else DOUBTS


def _hint(doubt: Doubt) -> list[str]:
    """What a writer reads about a doubt, and what to do about it; nothing of an exception."""
    old, found = doubt.id, doubt.found
    if found.passing:
        return []
    if found.partial:
        part, if_so = " in part", "if all of it is"
    else:
        part, if_so = "", "if so"
    return [f"{old} may be out of date{part}: {found.reason}; {if_so}, repeat with replaces={old}"]


def mark_stale(tx: Transaction, prepared: Prepared, superseded: Sequence[str]) -> None:
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


def _keep(tx: Transaction, key: str, receipt: Receipt, asked: str) -> None:
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
        "asked": asked,
    }
    tx.save_receipt(key, body, [receipt.id])


def _from_kept(tx: Transaction, body: Mapping[str, Any], asked: str) -> Receipt:
    if asked and body.get("asked", "") not in ("", asked):
        raise InvalidInput(
            "key: it was used before for another request", "use a new key, or repeat that request"
        )
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
