"""An honest fake of the memory, a server over it, and clients of both protocol eras."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from memory_core.brief import Brief
from memory_core.browse import Changed, News
from memory_core.config import Settings
from memory_core.errors import InvalidInput, NotFound, TooLarge
from memory_core.lifecycle.versions import Version
from memory_core.lifecycle.working_memory import Mind
from memory_core.recall.request import RecallRequest
from memory_core.records import (
    Change,
    Check,
    Doubted,
    DoubtfulPair,
    ForgetReport,
    HealthReport,
    Hit,
    Identity,
    Link,
    MemoryRecord,
    Neighbour,
    Receipt,
    Recollection,
    Removal,
    RunReport,
    Step,
    Summary,
    new_id,
    normalised,
)
from memory_core.remember.request import RememberRequest
from server.gate import CallLimits
from server.protocol.server import build_server

NOW = 1_717_200_000.0  # 2024-06-01T00:00:00Z


class FakeMemory:
    """The façade over a dict; recall counts shared words. No vectors, no disk."""

    def __init__(self) -> None:
        self.settings = Settings(data_dir=Path("/nonexistent/fake"))
        self.memories: dict[str, MemoryRecord] = {}
        self.forgotten: dict[str, str] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.before: Callable[[str], None] = lambda name: None
        self.lock = threading.Lock()
        self.doubtful: dict[str, str] = {}
        """By the id of a memory, the id of the one that puts it in doubt."""

    def _called(self, call: str, **arguments: Any) -> None:
        self.calls.append((call, arguments))
        self.before(call)

    def add(self, text: str, **fields: Any) -> MemoryRecord:
        memory = MemoryRecord(
            id=new_id(NOW + len(self.memories)),
            text=text,
            **{"agent": "me", "occurred_at": NOW - 86400, "recorded_at": NOW, **fields},
        )
        self.memories[memory.id] = memory
        return memory

    def wait_ready(self, timeout: float) -> bool:
        del timeout
        return True

    def readable(self, who: Identity) -> list[MemoryRecord]:
        return [
            m
            for m in self.memories.values()
            if m.visibility == "shared"
            or (m.visibility == "private" and m.agent == who.agent)
            or (m.visibility == "team" and who.team and m.team == who.team)
        ]

    def remember(self, who: Identity, request: RememberRequest) -> Receipt:
        text = request.text
        self._called("remember", who=who, **asdict(request))
        if not text.strip():
            raise InvalidInput("text is empty", "pass some words")
        if len(text) > 20_000:
            raise TooLarge("text has too many characters", "split it")
        with self.lock:
            if text in self.forgotten and request.replaces != self.forgotten[text]:
                return Receipt(self.forgotten[text], "refused", "", 0.0, warnings=("forgotten",))
            for known in self.readable(who):
                if normalised(known.text) == normalised(text):
                    return Receipt(known.id, "reinforced", known.kind, known.importance)
            memory = self.add(
                text,
                agent=who.agent,
                team=who.team,
                visibility=request.scope or "private",
                kind=request.kind or "episode",
                importance=request.importance or 0.5,
                tags=tuple(request.tags),
                speaker=request.speaker,
                session=request.session,
                source=request.source,
                trust=request.trust,
                client=request.client,
            )
        return Receipt(memory.id, "stored", memory.kind, memory.importance, gist=text[:50])

    def short_ids(self, who: Identity, ids: Iterable[str]) -> dict[str, str]:
        return {id: f"{id[:8]}+" for id in ids}

    def whole_id(self, who: Identity, given: str) -> str:
        return given

    def recall(self, who: Identity, request: RecallRequest) -> Recollection:
        query, k = request.query, request.k
        self._called("recall", who=who, **asdict(request))
        if not query.strip():
            raise InvalidInput("query is empty", "pass some words")
        words = set(query.casefold().split())
        scored = [
            (len(words & set(m.text.casefold().split())), m)
            for m in self.readable(who)
            if not request.tags or set(request.tags) & set(m.tags)
        ]
        if query in self.memories:
            scored = [(1, self.memories[query])]
        best = sorted(((s, m) for s, m in scored if s), key=lambda pair: -pair[0])
        marks = self.doubted(who, [m.id for _, m in best])
        hits = tuple(
            Hit(m, float(s), (), (), {"words": float(s)}, *marks.get(m.id, ("", None)))
            for s, m in best[:k]
        )
        left = best[k:] if request.explain else ()
        rejected = tuple(Hit(m, float(s), why={"rejected": "below_k"}) for s, m in left)
        sure, feeling = (0.8, "high") if hits else (0.1, "none")
        return Recollection(bool(hits), sure, feeling, hits, rejected=rejected)

    def consolidate(
        self,
        who: Identity,
        *,
        progress: Callable[[int, int, str], None] | None = None,
        **given: Any,
    ) -> RunReport:
        self._called("consolidate", who=who, progress=progress, **given)
        if progress:
            progress(1, 2, "settle")
            progress(2, 2, "summarise")
        status = "preview" if given.get("dry_run") else "completed"
        source = next(iter(self.memories), "")
        return RunReport(
            new_id(NOW),
            status,
            steps=(Step("settle", 1),),
            summaries=(Summary(new_id(NOW), "what happened", (source,)),),
        )

    def forget(
        self,
        who: Identity,
        *,
        ids: Sequence[str] = (),
        source: str = "",
        confirm: bool = False,
        **given: Any,
    ) -> ForgetReport:
        self._called("forget", who=who, ids=ids, source=source, confirm=confirm, **given)
        found = [self.get(who, id) for id in ids]
        found += [m for m in self.readable(who) if source and m.source == source]
        query = given.get("query")
        found += [m for m in self.readable(who) if query and query in m.text]
        removed = tuple(Removal(m.id, m.text) for m in found)
        if not confirm or not found:
            return ForgetReport("preview", removed)
        for memory in found:
            del self.memories[memory.id]
            self.forgotten[memory.text] = new_id(NOW)
        return ForgetReport("forgotten", removed)

    def health(self, who: Identity, *, repair: bool = False) -> HealthReport:
        self._called("health", who=who, repair=repair)
        return HealthReport(
            "ok",
            (Check("journal", "ok", "round trip 4 ms"), Check("model", "degraded", "", "setup")),
            {"memories": len(self.readable(who))},
            {"bytes": 1},
            {"name": "none"},
            {},
            {},
            {},
            {"python": "3"},
        )

    def get(self, who: Identity, id: str) -> MemoryRecord:
        self._called("get", who=who, id=id)
        for memory in self.readable(who):
            if memory.id == id:
                return memory
        raise NotFound(f"no memory {id[:40]}", "recall by words")

    def history(self, who: Identity, id: str) -> list[Change]:
        self.get(who, id)
        return [Change("put", id, {"text": "x"}, actor=who.agent, seq=1, at=NOW)]

    def version(self, who: Identity, id: str) -> Version:
        return Version("updates", 2, "0" * 20, "0" * 20, id)

    def links(self, who: Identity, id: str) -> list[Link]:
        return [Link(id, "1" * 20, "co_recall", 2.0)]

    def doubts(self, who: Identity) -> list[DoubtfulPair]:
        self._called("doubts", who=who)
        seen = {m.id: m for m in self.readable(who)}
        pairs = [(old, new) for old, new in self.doubtful.items() if {old, new} <= seen.keys()]
        return [DoubtfulPair(seen[old], seen[new], "moved") for old, new in pairs]

    def doubted(self, who: Identity, ids: Iterable[str]) -> dict[str, Doubted]:
        by = {id: self.doubtful[id] for id in ids if id in self.doubtful}
        return {id: Doubted(new, self.memories[new].occurred_at) for id, new in by.items()}

    def resolve(self, who: Identity, older: str, newer: str, decision: str) -> str:
        self._called("resolve", who=who, older=older, newer=newer, decision=decision)
        if self.doubtful.get(older) != newer:
            raise NotFound(f"no doubtful pair {older}", "list the pairs")
        del self.doubtful[older]
        return f"decided: {decision}"

    def in_mind(self, who: Identity, session: str) -> Mind:
        hot = [memory.id for memory in self.memories.values() if memory.session == session]
        return Mind(tuple(hot), dict.fromkeys(hot[:1], 4), {}, dict.fromkeys(hot[:1], "recent"))

    def topic_edges(self, who: Identity) -> dict[tuple[str, str], float]:
        return {("baking", "cooking"): 3.0, ("baking", "sailing"): 1.0}

    def listing(
        self,
        who: Identity,
        *,
        limit: int = 20,
        session: str = "",
        kind: str = "",
        entity: str = "",
        topic: str = "",
    ) -> list[MemoryRecord]:
        self._called("listing", who=who)
        fitting = [
            m
            for m in self.readable(who)
            if (not session or m.session == session)
            and (not kind or m.kind == kind)
            and (not entity or entity in m.entities)
            and (not topic or m.topic == topic)
        ]
        return sorted(fitting, key=lambda m: m.id, reverse=True)[:limit]

    def brief(self, who: Identity, tag: str, session: str, days: tuple[str, str]) -> Brief:
        self._called("brief", who=who, tag=tag, session=session, days=days)
        return Brief(recent=tuple(self.readable(who)))

    def stats(self, who: Identity) -> dict[str, Any]:
        return {"memories": len(self.readable(who))}

    def names(self, who: Identity, column: str) -> list[str]:
        found = [getattr(m, column) for m in self.readable(who)]
        return sorted({n for f in found for n in ((f,) if isinstance(f, str) else f) if n})

    def changed(self, who: Identity, after: int | None = None) -> Changed:
        with self.lock:
            ids = list(self.memories)
        new = [self.memories[id] for id in ids[len(ids) if after is None else after :]]
        seen = {m.id for m in self.readable(who)}
        return Changed(len(ids), tuple(m for m in new if m.id in seen))

    def news(self, who: Identity, place: str | None) -> News:
        found = self.changed(who, None if place is None else int(place or 0))
        return News(str(found.reached), tuple(m.id for m in found.memories))

    def note_export(self, who: Identity, place: str) -> None:
        self.calls.append(("note_export", {"who": who, "place": place}))

    def finish_erasing(self, seconds: float) -> bool:
        return True

    def copies(self, who: Identity) -> str:
        return ""

    def export(self, who: Identity) -> Iterator[Mapping[str, Any]]:
        return iter(())


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fake() -> FakeMemory:
    return FakeMemory()


@pytest.fixture
def limits() -> CallLimits:
    return CallLimits()


@pytest.fixture
def mode() -> str:
    return "auto"


@pytest.fixture
def connect(fake: FakeMemory, limits: CallLimits, mode: str) -> Callable[[], Any]:
    """A context manager: a client on the real server over the fake memory."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[Client]:
        server = build_server(
            fake,  # type: ignore[arg-type]
            owner=Identity("me"),
            limits=limits,
            clock=lambda: NOW,
        )
        async with Client(server, mode=mode) as client:
            yield client

    return connected


class Hearing:
    """What a client hears of changed resources, whatever its era."""

    def __init__(self) -> None:
        self.uris: set[str] = set()
        self._new = anyio.Event()

    def hear(self, uri: str) -> None:
        self.uris.add(uri)
        self._new.set()

    async def until(self, *uris: str, seconds: float = 60.0) -> None:
        with anyio.fail_after(seconds):
            while not set(uris) <= self.uris:
                self._new = anyio.Event()
                await self._new.wait()


@pytest.fixture
def hearing() -> Callable[..., Any]:
    """(how to connect, uris) -> a client that is subscribed to them, and what it hears.

    Warnings about the older subscriptions are silenced by the tests that use it.
    """

    @asynccontextmanager
    async def subscribed(connect: Callable[..., Any], *uris: str) -> AsyncIterator[Any]:
        heard = Hearing()

        async def on_message(message: Any) -> None:
            if getattr(message, "method", "") == "notifications/resources/updated":
                heard.hear(str(message.params.uri))

        async with connect(message_handler=on_message) as client:
            if client.protocol_version < "2026":
                for uri in uris:
                    await client.subscribe_resource(uri)
                yield client, heard
                return
            async with (
                client.listen(resource_subscriptions=uris) as stream,
                anyio.create_task_group() as tasks,
            ):

                async def listen() -> None:
                    async for event in stream:
                        heard.hear(event.uri)

                tasks.start_soon(listen)
                yield client, heard
                tasks.cancel_scope.cancel()

    return subscribed


@pytest.fixture
def hit() -> Callable[..., Hit]:
    """Build a Hit from a text and fields of Memory; `before` and `after` are texts."""

    def build(
        text: str,
        *,
        score: float = 1.0,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        **fields: Any,
    ) -> Hit:
        memory = MemoryRecord(id=new_id(NOW), text=text, occurred_at=NOW - 86400 * 21)
        near = [
            tuple(Neighbour(new_id(NOW), "Ann", t, NOW) for t in texts) for texts in (before, after)
        ]
        return Hit(replace(memory, **fields), score, near[0], near[1])

    return build
