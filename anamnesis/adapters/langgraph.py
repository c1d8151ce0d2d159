"""A LangGraph store whose items are memories of one agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import anyio.to_thread
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from anamnesis.adapters.documents import Document, Documents
from anamnesis.memory import Memory
from memory_core.errors import InvalidInput
from memory_core.recall.query import K_MOST
from memory_core.text import secrets

Namespace = tuple[str, ...]


class RememberingStore(BaseStore):
    """A long-term store for graphs: `builder.compile(store=RememberingStore(memory))`.

    An item is a memory, which holds its value as JSON and is found by meaning. An item that is put
    again replaces the one before; `delete` retires it. Values come back as they were given, but
    for secrets, which are masked. All fields are searched, whatever `index` says, but for an item
    that is put with `index=False`. There is no `ttl`.
    """

    def __init__(self, memory: Memory) -> None:
        """Keep the items in *memory*; of an AsyncMemory that is its `blocking`."""
        self._items = Documents(memory, "langgraph", "tool")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of *ops*, as if all were read first; of two writes of a key the last counts.

        Raises InvalidNamespaceError, and what remember raises.
        """
        ops = list(ops)
        for op in ops:
            validate_op_namespace(op)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in ops]
        writes = {(op.namespace, op.key): op for op in ops if isinstance(op, PutOp)}
        for op in writes.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As batch, done in a thread."""
        return await anyio.to_thread.run_sync(self.batch, list(ops))

    def _write(self, op: PutOp) -> None:
        name = _name(op.namespace, op.key)
        if op.value is None:
            self._items.remove(name)
            return
        groups = [_group(op.namespace[: depth + 1]) for depth in range(len(op.namespace))]
        heading = f"{' '.join(op.namespace)} {op.key}".replace("\n", " ")
        groups += [] if op.index is False else [_SEARCHED]
        self._items.put(name, heading, _text(op.value), groups)

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            found = self._items.get(_name(op.namespace, op.key))
            return None if found is None else _item(found)
        if isinstance(op, SearchOp):
            return self._search(op)
        assert isinstance(op, ListNamespacesOp)
        return self._namespaces(op)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        """The items that answer best, then the others, the last written first."""
        group, last = _group(op.namespace_prefix), op.offset + op.limit
        found: dict[str, SearchItem] = {}
        if op.query:
            groups = [_SEARCHED, group] if group else [_SEARCHED]
            answers = self._items.search(op.query, K_MOST, groups)
            found = {d.name: SearchItem(**_item(d).dict(), score=score) for d, score in answers}
        if sum(_asked_for(item, op) for item in found.values()) < last:
            rest = [each for each in self._items.all(group) if each.name not in found]
            rest.sort(key=lambda each: -each.updated)
            found |= {each.name: SearchItem(**_item(each).dict()) for each in rest}
        return [item for item in found.values() if _asked_for(item, op)][op.offset : last]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {_item(each).namespace for each in self._items.all()}
        kept = {
            namespace[: op.max_depth]
            for namespace in found
            if all(_matches(namespace, each) for each in op.match_conditions or ())
        }
        return sorted(kept)[op.offset : op.offset + op.limit]


_SEARCHED = "searched"
"""The group of the items that a query may find."""


def _name(namespace: Namespace, key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False, separators=(",", ":"))


def _group(namespace: Namespace) -> str:
    """The group of a namespace and all below it; "" for all items."""
    return ".".join(namespace) and f"in {'.'.join(namespace)}"


def _text(value: Mapping[str, Any]) -> str:
    """*value* as JSON that stays JSON when its secrets are masked. Raises InvalidInput."""
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        for personal in (False, True):
            json.loads(secrets.mask(text, personal_too=personal)[0])
    except (TypeError, ValueError) as problem:
        raise InvalidInput(f"value: it is not JSON ({problem})", "give JSON, no secrets") from None
    return text


def _item(document: Document) -> Item:
    *namespace, key = json.loads(document.name)
    return Item(
        value=_value(document.text),
        key=key,
        namespace=tuple(namespace),
        created_at=datetime.fromtimestamp(document.created, UTC),
        updated_at=datetime.fromtimestamp(document.updated, UTC),
    )


def _value(text: str) -> dict[str, Any]:
    """The value of an item; {"text": ...} for a text that a person put in its place."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": text}


def _asked_for(item: Item, op: SearchOp) -> bool:
    """Whether *item* lies under the prefix of *op* and passes its filter."""
    under = item.namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)
    wanted = (op.filter or {}).items()
    return under and all(_fits(item.value.get(name), value) for name, value in wanted)


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    suffix = condition.match_type == "suffix"
    part = namespace[len(namespace) - len(path) :] if suffix else namespace[: len(path)]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    """Whether *value* is *wanted*, as the stores of LangGraph compare."""
    if isinstance(wanted, dict) and any(name.startswith("$") for name in wanted):
        return all(_compared(value, name, other) for name, other in wanted.items())
    if isinstance(wanted, dict):
        return isinstance(value, dict) and all(_fits(value.get(n), w) for n, w in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list) and len(value) == len(wanted)
        return same and all(_fits(v, w) for v, w in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compared(value: Any, operator: str, other: Any) -> bool:
    if operator not in _COMPARED:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _COMPARED[operator](value, other)
    except (TypeError, ValueError):  # what is no number is neither more nor less
        return False


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}
