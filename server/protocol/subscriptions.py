"""Tells subscribers that a resource changed, whichever process changed the memory.

Clients of 2026-07-28 open a stream with subscriptions/listen, older ones send resources/subscribe.
While there is a subscriber, and only then, the journal is looked at twice a second. Each subscriber
hears only of what its identity may read: that something happened in another's memory is private.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent
from mcp.types import (
    INVALID_PARAMS,
    EmptyResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from memory_core import records
from memory_core.errors import MemoryCoreError
from memory_core.records import Identity
from server.gate import Gate
from server.identity import caller
from server.protocol import sdk
from server.protocol.guard import or_protocol_error

if TYPE_CHECKING:
    from memory_core.memory import Memory

log = logging.getLogger(__name__)

SECONDS = 0.5
"""Between two looks at the journal."""
URIS = 1_000
"""What one older connection may subscribe to."""
_LATE = "subscribe again in a few seconds"

Ctx = ServerRequestContext[Any, Any]


@dataclass
class _Subscriber:
    """Whose identity it is, and how an event is handed over."""

    who: Identity
    deliver: Callable[[ServerEvent], None]
    uris: set[str] = field(default_factory=set)


class Changes:
    """The bus between the journal and the subscribers of one server."""

    def __init__(self, memory: Memory, owner: Identity, gate: Gate) -> None:
        """*owner* is who subscribes where no token says otherwise. Nothing is watched yet."""
        self._memory = memory
        self._owner = owner
        self._gate = gate
        self._subscribers: dict[object, _Subscriber] = {}
        self._older: dict[int, object] = {}
        self._reached = 0
        self._watching: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._starting = anyio.Lock()

    def serve(self, server: MCPServer[Any]) -> None:
        """Answer the subscription methods of both eras on *server*."""
        handle = ListenHandler(self)

        async def listen(
            ctx: Ctx, params: SubscriptionsListenRequestParams
        ) -> SubscriptionsListenResult:
            await or_protocol_error(self._open(), "a subscription")
            return await handle(ctx, params)

        low = sdk.lowlevel(server)  # the SDK's server class has no older subscriptions
        low.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)
        low.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        low.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe
        )

    # The SDK's SubscriptionBus

    async def publish(self, event: ServerEvent) -> None:
        """Hand *event* to every subscriber, whoever it is: only for what is public."""
        for subscriber in list(self._subscribers.values()):
            subscriber.deliver(event)
        await anyio.lowlevel.checkpoint()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add *listener* as the current caller; what is returned takes it away again."""
        return self._add(listener)[1]

    def _add(self, listener: Callable[[ServerEvent], None]) -> tuple[object, Callable[[], None]]:
        token = object()
        self._subscribers[token] = _Subscriber(caller(self._owner, "read"), listener)

        def leave() -> None:
            self._subscribers.pop(token, None)

        return token, leave

    # Clients up to 2025-11-25

    async def _subscribe(self, ctx: Ctx, params: SubscribeRequestParams) -> EmptyResult:
        await or_protocol_error(self._open(), "a subscription")
        connection = sdk.connection(ctx.session)
        key = id(connection)
        if key not in self._older:
            self._older[key], leave = self._add(self._sender(key, connection.send_resource_updated))
            connection.exit_stack.callback(leave)
            connection.exit_stack.callback(self._older.pop, key, None)
        uris = self._subscribers[self._older[key]].uris
        if len(uris) >= URIS and params.uri not in uris:
            raise MCPError(
                code=INVALID_PARAMS,
                message=f"invalid_input: {URIS} resources are subscribed to; unsubscribe from some",
            )
        uris.add(params.uri)
        return EmptyResult()

    async def _unsubscribe(self, ctx: Ctx, params: UnsubscribeRequestParams) -> EmptyResult:
        token = self._older.get(id(sdk.connection(ctx.session)))
        if token is not None:
            self._subscribers[token].uris.discard(params.uri)
        return EmptyResult()

    def _sender(
        self, key: int, send: Callable[[str], Awaitable[None]]
    ) -> Callable[[ServerEvent], None]:
        """Sends what the connection *key* subscribed to, without waiting for a slow client."""

        async def sent(uri: str) -> None:
            await send(uri)

        def deliver(event: ServerEvent) -> None:
            wanted = self._subscribers[self._older[key]].uris
            if isinstance(event, ResourceUpdated) and event.uri in wanted:
                task = asyncio.get_running_loop().create_task(sent(event.uri))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

        return deliver

    # Watching

    async def _open(self) -> None:
        """Watch from now on, before the caller is told that it will hear of changes."""
        who = caller(self._owner, "read")
        async with self._starting:
            if self._watching is None or self._watching.done():
                now = await self._gate.run(lambda: self._memory.changed(who), late=_LATE)
                self._reached = now.reached
                self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        """Until nobody is subscribed any more, tell what changed."""
        while True:
            await asyncio.sleep(SECONDS)
            if not self._subscribers:
                return
            try:
                await self._look()
            except MemoryCoreError as problem:  # busy, or the disk: the next look tells it all
                log.info("changes could not be looked at: %s", problem.code)

    async def _look(self) -> None:
        after, reached = self._reached, []
        for who in {subscriber.who for subscriber in self._subscribers.values()}:
            new = await self._gate.run(
                lambda who=who: self._memory.changed(who, after),  # type: ignore[misc]
                late=_LATE,
            )
            reached.append(new.reached)
            if new.memories or new.gone:
                self._tell(who, sorted(set(touched(new.memories, new.gone))))
        self._reached = min(reached, default=after)

    def _tell(self, who: Identity, uris: list[str]) -> None:
        for subscriber in list(self._subscribers.values()):
            if subscriber.who == who:
                for uri in uris:
                    subscriber.deliver(ResourceUpdated(uri))


def touched(memories: tuple[records.MemoryRecord, ...], gone: tuple[str, ...]) -> Iterator[str]:
    """The URIs of the resources that show one of *memories* or showed one of *gone*.

    A name stands in a URI percent-encoded; clients that do not encode subscribe to the plain form.
    """
    yield "memory://recent"
    yield "memory://health"
    for id in gone:
        yield f"memory://item/{id}"
    for record in memories:
        yield f"memory://item/{record.id}"
        for kind, names in (
            ("session", (record.session,)),
            ("topic", (record.topic,)),
            ("entity", record.entities),
        ):
            for name in filter(None, names):
                yield f"memory://{kind}/{name}"
                yield f"memory://{kind}/{quote(name, safe='')}"
