"""The resources recent, review, item, session, entity, topic, health; and completions of names.

Each resource is JSON. As in the tools, `notice` marks recalled text as data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.types import (
    Annotations,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from memory_core.errors import NotFound
from memory_core.records import UNDOUBTED, Doubted, Identity, MemoryRecord
from server.gate import Gate, as_known_error
from server.identity import caller
from server.protocol import budget, rendering, schemas, structure
from server.protocol.guard import or_protocol_error
from server.protocol.icon import ICONS

if TYPE_CHECKING:
    from memory_core.memory import Memory

T = TypeVar("T")

RECENT = 20
LISTED = 50
LISTED_CHARS = 600
"""Characters of each text in a list; the item has the whole text."""
LINKS = 50
CHANGES = 50
COMPLETIONS = 100
_ASK = (
    "ask the user which one holds, then call consolidate with pair [older id, newer id] and "
    "decide; the user can decide with `anamnesis review`"
)
_LATE = "read it again; if it stays slow, read memory://health"

# Names are never used as paths, so ".." or a leading "/" in them is harmless.
_NAMES = ResourceSecurity(
    reject_path_traversal=False, reject_absolute_paths=False, reject_null_bytes=True
)


def add_resources(
    server: MCPServer[Any],
    memory: Memory,
    owner: Identity,
    gate: Gate,
    clock: Callable[[], float],
    engine: structure.Serving,
) -> None:
    """Register the seven resources."""
    reading = _Reading(memory, owner, gate, clock, engine)

    def add(uri: str, title: str, about: str, priority: float) -> Callable[[Any], Any]:
        return server.resource(
            uri,
            name=uri.removeprefix("memory://").partition("/")[0],
            title=title,
            description=about,
            mime_type="application/json",
            icons=ICONS,
            annotations=Annotations(audience=["user", "assistant"], priority=priority),
            security=_NAMES,
        )

    add("memory://recent", "Recent memories", f"The {RECENT} newest memories you may read.", 0.8)(
        reading.recent
    )
    add(
        "memory://review",
        "What may be out of date",
        "Pairs of which the later one may put the earlier one out of date.",
        0.4,
    )(reading.review)
    add("memory://health", "Memory health", "The state of every part of the memory.", 0.2)(
        reading.health
    )
    add(
        "memory://item/{id}",
        "One memory",
        "Its whole text, sources, history and links.",
        0.6,
    )(reading.item)
    add("memory://session/{id}", "A conversation", "Its memories, oldest first.", 0.5)(
        reading.session
    )
    add("memory://entity/{name}", "A person, place or thing", "The memories that name it.", 0.5)(
        reading.entity
    )
    add("memory://topic/{name}", "A topic", "Its memories, as consolidation grouped them.", 0.5)(
        reading.topic
    )


class _Reading:
    """The read function of each resource, by its method."""

    def __init__(
        self,
        memory: Memory,
        owner: Identity,
        gate: Gate,
        clock: Callable[[], float],
        engine: structure.Serving,
    ) -> None:
        self._memory = memory
        self._owner = owner
        self._gate = gate
        self._clock = clock
        self._engine = engine

    async def recent(self) -> str:
        found = await self._read(lambda who: self._memory.listing(who, limit=RECENT))
        return _json(await self._listing(found))

    async def review(self) -> str:
        pairs = await self._read(lambda who: self._memory.doubts(who))
        shown = structure.doubtful_pairs(pairs[:LISTED], self._clock())
        doubtful: dict[str, dict[str, Any]] = {}  # by the newer one, which is shown once
        for pair in shown:
            for entry in (pair["older"], pair["newer"]):
                entry["text"] = budget.clip(entry["text"], LISTED_CHARS, entry["id"])
            newer = pair.pop("newer")
            doubtful.setdefault(newer["id"], {"newer": newer, "may_outdate": []})
            doubtful[newer["id"]]["may_outdate"].append(pair)
        listed = {"notice": schemas.NOTICE, "doubtful": list(doubtful.values())}
        return _json({**listed, "count": len(pairs), "next": _ASK})

    async def item(self, id: str) -> str:
        record = await self._read(lambda who: self._memory.get(who, id))
        id = record.id
        history = await self._read(lambda who: self._memory.history(who, id))
        links = await self._read(lambda who: self._memory.links(who, id))
        doubted = await self._read(lambda who: self._memory.doubted(who, [id]))
        shown = item(record, self._clock(), history, doubted.get(id, UNDOUBTED))
        version = await self._read(lambda who: self._memory.version(who, id))
        more = {"version": asdict(version), "links": [asdict(link) for link in links[:LINKS]]}
        return _json({**shown, **more})

    async def session(self, id: str) -> str:
        found = await self._read(lambda who: self._memory.listing(who, limit=LISTED, session=id))
        mind = await self._read(lambda who: self._memory.in_mind(who, id))
        known = [(each, mind.explain(each)) for each in mind.hot]
        in_mind = [{"id": each, **facts} for each, facts in known if facts]
        shown = await self._listing(_some(found, "session")[::-1])
        return _json({**shown, **({"in_mind": in_mind} if in_mind else {})})

    async def entity(self, name: str) -> str:
        found = await self._read(lambda who: self._memory.listing(who, limit=LISTED, entity=name))
        return _json(await self._listing(_some(found, "entity")))

    async def topic(self, name: str) -> str:
        found = await self._read(lambda who: self._memory.listing(who, limit=LISTED, topic=name))
        edges = await self._read(lambda who: self._memory.topic_edges(who))
        near = {a if b == name else b: weight for (a, b), weight in edges.items() if name in (a, b)}
        shown = await self._listing(_some(found, "topic"))
        return _json({**shown, **({"recalled_with": near} if near else {})})

    async def health(self) -> str:
        report = await self._read(lambda who: self._memory.health(who))
        return _json(structure.health_report(report, self._engine()))

    async def _read(self, work: Callable[[Identity], T]) -> T:
        """What *work* returns for the caller; every failure is a resource error with its code."""
        try:
            who = caller(self._owner, "read")
            return await self._gate.run(lambda: work(who), late=_LATE)
        except NotFound as problem:
            raise ResourceNotFoundError(rendering.visible(str(problem))) from None
        except Exception as problem:  # a read ends here
            told = rendering.visible(str(as_known_error(problem, "a resource")))
            raise ResourceError(told) from None

    async def _listing(self, found: Sequence[MemoryRecord]) -> dict[str, Any]:
        now, ids = self._clock(), [record.id for record in found]
        doubted = await self._read(lambda who: self._memory.doubted(who, ids))
        shown = [
            schemas.compact(structure.recalled(record, now, doubted.get(record.id, UNDOUBTED)))
            for record in found
        ]
        for entry in shown:
            entry["text"] = budget.clip(entry["text"], LISTED_CHARS, entry["id"])
        return {"notice": schemas.NOTICE, "memories": shown}


def item(
    record: MemoryRecord, now: float, history: Sequence[Any], doubted: Doubted
) -> dict[str, Any]:
    """One memory: its whole text, provenance and history; for *doubted* see structure.recalled."""
    shown = schemas.compact(structure.recalled(record, now, doubted))
    for name in ("derived_from", "sources", "source", "trust", "superseded_by"):
        shown.pop(name, None)
    provenance = {
        "derived_from": list(record.derived_from),
        "run": record.run,
        "source": record.source,
        "client": record.client,
        "trust": record.trust,
        "agent": record.agent,
        "team": record.team,
    }
    return {
        "notice": schemas.NOTICE,
        **shown,
        "gist": record.gist,
        "provenance": {name: value for name, value in provenance.items() if value},
        "history": _history(record, history),
    }


def _history(record: MemoryRecord, changes: Sequence[Any]) -> dict[str, Any]:
    times = {
        name: rendering.iso(getattr(record, name))
        for name in (
            "recorded_at",
            "valid_from",
            "valid_until",
            "superseded_at",
            "retired_at",
            "stale_since",
            "last_accessed",
        )
    }
    facts: dict[str, Any] = {name: value for name, value in times.items() if value}
    if record.superseded_by:
        facts["superseded_by"] = record.superseded_by
        facts["replaced"] = record.replaced
    facts["access_count"] = record.access_count
    facts["tier"] = record.tier
    facts["changes"] = [
        {
            "at": rendering.iso(change.at),
            "kind": change.kind,
            **({"actor": change.actor} if change.actor else {}),
            **({"run": change.run} if change.run else {}),
        }
        for change in changes[-CHANGES:]
    ]
    return facts


def add_completions(server: MCPServer[Any], memory: Memory, owner: Identity, gate: Gate) -> None:
    """Register completions of ids, sessions, entities, topics and tags."""
    sources: dict[tuple[str, str], Callable[[Identity], list[str]]] = {
        ("memory://item/{id}", "id"): lambda who: [
            record.id for record in memory.listing(who, limit=LISTED)
        ],
        ("memory://session/{id}", "id"): lambda who: memory.names(who, "session"),
        ("memory://entity/{name}", "name"): lambda who: memory.names(who, "entities"),
        ("memory://topic/{name}", "name"): lambda who: memory.names(who, "topic"),
        ("briefing", "session"): lambda who: memory.names(who, "session"),
        ("briefing", "tag"): lambda who: memory.names(who, "tags"),
        ("reflect", "session"): lambda who: memory.names(who, "session"),
    }

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        del context  # no completion depends on another argument
        where = ref.name if isinstance(ref, PromptReference) else ref.uri
        source = sources.get((where, argument.name))
        if source is None:
            return Completion(values=[], total=0, has_more=False)

        async def answered() -> list[str]:
            who = caller(owner, "read")
            return await gate.run(lambda: source(who), late=_LATE)

        names = await or_protocol_error(answered(), "a completion")
        begun = argument.value.casefold()
        fitting = [name for name in names if name.casefold().startswith(begun)]
        return Completion(
            values=fitting[:COMPLETIONS],
            total=len(fitting),
            has_more=len(fitting) > COMPLETIONS,
        )


def _some(found: list[MemoryRecord], what: str) -> list[MemoryRecord]:
    if not found:
        raise ResourceNotFoundError(
            f"not_found: no memory of this {what} that you may read; recall by words instead"
        )
    return found


def _json(data: dict[str, Any]) -> str:
    return json.dumps(rendering.all_visible(data), ensure_ascii=False, separators=(",", ":"))
