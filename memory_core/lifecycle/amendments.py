"""Changes of a stored memory that its owner asks for: tags, importance, retirement; and votes.

Each is one journalled change that undo_change takes back. The text is never changed in place:
another text is another memory, which replaces this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

from memory_core import validation
from memory_core.config import LimitSettings
from memory_core.errors import ChangedMeanwhile, ScopeDenied
from memory_core.records import VOTE, Change, Identity, from_fields, normalised, owner_of
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets


@dataclass(frozen=True, slots=True)
class Votes:
    """How many say that a memory was a good answer (*up*) and that it was none (*down*).

    Each agent counts once for each question.
    """

    up: int = 0
    down: int = 0


def values(
    tags: Sequence[str] | None, importance: float | None, limits: LimitSettings
) -> dict[str, Any]:
    """The fields to set, checked; secrets in the tags are masked. None leaves a field as it is."""
    found: dict[str, Any] = {}
    if tags is not None:
        personal = limits.secrets != "mask_keys_only"
        given = validation.labels(tags, "tags")
        found["tags"] = tuple(secrets.mask(tag, personal_too=personal)[0] for tag in given)
    if importance is not None:
        found["importance"] = validation.number(importance, "importance", 0.0, 1.0)
    return found


def amend(
    store: MemoryStore, who: Identity, id: str, values: Mapping[str, Any], seen: int = 0
) -> int:
    """Set fields of the memory *id* to checked *values*; the change's number, 0 for none.

    Raises NotFound where *who* may not read it, ScopeDenied for another agent's, and
    ChangedMeanwhile unless it has *seen* changes; 0 asks for no number.
    """
    _require_own(store, who, id)

    def write(tx: Transaction) -> int:
        fields = tx.fields(id)
        if fields is None:
            raise validation.unknown(id)
        require_seen(tx, id, seen)
        before = from_fields(fields)
        changed = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if getattr(before, name) != value
        }
        if not changed:
            return 0
        tx.append(
            Change("put", id, changed, actor=who.agent, source="amend", scope=owner_of(before))
        )
        return len(tx.history(id))

    return store.commit(write)


def retire(store: MemoryStore, who: Identity, id: str, *, retired: bool, seen: int = 0) -> int:
    """Retire the memory *id*, or make it active again; as amend."""
    retired = validation.flag(retired, "retired")
    _require_own(store, who, id)

    def write(tx: Transaction) -> int:
        fields = tx.fields(id)
        if fields is None:
            raise validation.unknown(id)
        require_seen(tx, id, seen)
        if (fields.get("retired_at") is not None) == retired:
            return 0
        body = {"retired_at": tx.now if retired else None}
        scope = owner_of(from_fields(fields))
        tx.append(Change("put", id, body, actor=who.agent, source="amend", scope=scope))
        return len(tx.history(id))

    return store.commit(write)


def require_seen(tx: Transaction, id: str, seen: int) -> None:
    """Raise ChangedMeanwhile unless the memory *id* has *seen* changes, or *seen* is 0."""
    if seen and len(tx.history(id)) != seen:
        raise ChangedMeanwhile("the memory was changed meanwhile", "get it again, then decide")


def _require_own(store: MemoryStore, who: Identity, id: str) -> None:
    store.catch_up()
    memory = store.memories([id]).get(id) if store.may_read(who, id) else None
    if memory is None:
        raise validation.unknown(id)
    if memory.agent != who.agent and not who.admin:
        raise ScopeDenied(f"{id} belongs to another agent", "ask its owner or an admin")


# Votes


def vote(store: MemoryStore, who: Identity, id: str, query: str, value: int) -> Votes:
    """Store what *who* says of the memory *id* as an answer to *query*; the votes of all then.

    *value* is 1, -1, or 0, which takes a vote back. Only a hash of the query is stored. Votes are
    shown and change no ranking. Raises NotFound where *who* may not read the memory.
    """
    query = validation.text(query, "query", validation.QUERY_CHARS)
    value = validation.whole(value, "value", -1, 1)
    store.catch_up()
    if not store.may_read(who, id):
        raise validation.unknown(id)
    asked = blake2s(normalised(query).encode("utf-8", "replace"), digest_size=8).hexdigest()

    def write(tx: Transaction) -> Votes:
        fields = tx.fields(id)
        if fields is None:
            raise validation.unknown(id)
        if _latest(tx.history(id)).get((who.agent, asked), 0) != value:
            body = {VOTE: {"query": asked, "value": value}}
            scope = owner_of(from_fields(fields))
            tx.append(Change("put", id, body, actor=who.agent, source=VOTE, scope=scope))
        return counted(tx.history(id))

    return store.commit(write)


def counted(changes: list[Change]) -> Votes:
    """The votes in the history of a memory."""
    values = list(_latest(changes).values())
    return Votes(values.count(1), values.count(-1))


def _latest(changes: list[Change]) -> dict[tuple[str, str], int]:
    """The last vote of each agent on each question."""
    given = [
        (change.actor, change.body[VOTE])
        for change in changes
        if change.kind == "put" and change.body and VOTE in change.body
    ]
    return {(actor, each["query"]): each["value"] for actor, each in given}
