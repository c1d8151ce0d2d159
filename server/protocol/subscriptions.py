"""Notifies subscribers of changed resources, whichever process changed the memory.

Clients of protocol revision 2026-07-28 open a stream with subscriptions/listen; older ones send
resources/subscribe. The journal is polled twice a second while there is a subscriber. Each is
notified only of memories that its identity may read, because another's activity is private.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
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

from memory_core.errors import MemoryCoreError
from memory_core.records import Identity, MemoryRecord
from server.gate import Gate
from server.identity import caller
from server.protocol import sdk
from server.protocol.guard import or_protocol_error

if TYPE_CHECKING:
    from memory_core.memory import Memory

log = logging.getLogger(__name__)

SECONDS = 0.5
"""Between two polls of the journal."""
STREAMS = 256
"""Open streams of one agent; an engine has as many clients."""
URIS = 1_000
"""Subscriptions of one connection of an older client."""
_LATE = "subscribe again in a few seconds"

Ctx = ServerRequestContext[Any, Any]


@dataclass
class _Subscriber:
    """An identity, and the function that delivers an event to it."""

    who: Identity
    deliver: Callable[[ServerEvent], None]
    uris: set[str] = field(default_factory=set)


class Subscriptions:
    """The subscribers of one server, and the poll of the journal that notifies them."""

    def __init__(self, memory: Memory, owner: Identity, gate: Gate) -> None:
        """*owner* is the subscriber where there is no token. Polling starts with the first."""
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
        """Register the subscription methods of both generations of clients on *server*."""
        handle = ListenHandler(self)

        async def listen(
            ctx: Ctx, params: SubscriptionsListenRequestParams
        ) -> SubscriptionsListenResult:
            await or_protocol_error(self._open(), "a subscription")
            self._check_room()
            return await handle(ctx, params)

        low = sdk.lowlevel(server)  # the SDK's server class has no older subscriptions
        low.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, listen)
        low.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        low.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe
        )

    def _check_room(self) -> None:
        """Raise when the caller has STREAMS streams already."""
        who = caller(self._owner, "read")
        if sum(each.who == who for each in self._subscribers.values()) >= STREAMS:
            raise MCPError(
                code=INVALID_PARAMS,
                message=f"busy: {STREAMS} streams of this agent are open; close one, then listen",
            )

    # The SDK's SubscriptionBus

    async def publish(self, event: ServerEvent) -> None:
        """Deliver *event* to every subscriber of any identity, so only for public events."""
        for subscriber in list(self._subscribers.values()):
            subscriber.deliver(event)
        await anyio.lowlevel.checkpoint()

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Add *listener* for the current caller; the returned function removes it."""
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
                message=f"invalid_input: there are {URIS} subscriptions; unsubscribe from some",
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
        """A function that sends events to the connection *key* without awaiting its client."""

        async def sent(uri: str) -> None:
            await send(uri)

        def deliver(event: ServerEvent) -> None:
            wanted = self._subscribers[self._older[key]].uris
            if isinstance(event, ResourceUpdated) and event.uri in wanted:
                task = asyncio.get_running_loop().create_task(sent(event.uri))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

        return deliver

    # Polling

    async def _open(self) -> None:
        """Start polling, before the caller gets its answer, so that it misses no change."""
        who = caller(self._owner, "read")
        async with self._starting:
            if self._watching is None or self._watching.done():
                now = await self._gate.run(lambda: self._memory.changed(who), late=_LATE)
                self._reached = now.reached
                self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        """Poll until there is no subscriber left."""
        while True:
            await asyncio.sleep(SECONDS)
            if not self._subscribers:
                return
            try:
                await self._poll()
            except MemoryCoreError as problem:  # busy, or the disk: the next poll returns all
                log.info("the journal could not be polled: %s", problem.code)

    async def _poll(self) -> None:
        after, reached = self._reached, []
        for who in {subscriber.who for subscriber in self._subscribers.values()}:
            new = await self._gate.run(
                partial(self._memory.changed, who, after),
                late=_LATE,
            )
            reached.append(new.reached)
            if new.memories or new.gone:
                self._notify(who, sorted(set(changed_uris(new.memories, new.gone))))
        self._reached = min(reached, default=after)

    def _notify(self, who: Identity, uris: list[str]) -> None:
        for subscriber in list(self._subscribers.values()):
            if subscriber.who == who:
                for uri in uris:
                    subscriber.deliver(ResourceUpdated(uri))


def changed_uris(memories: tuple[MemoryRecord, ...], gone: tuple[str, ...]) -> Iterator[str]:
    """The URIs of the resources that show one of *memories* or showed one of *gone*.

    Each name is given percent-encoded and plain, for clients that do not encode.
    """
    yield "memory://recent"
    yield "memory://review"
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
