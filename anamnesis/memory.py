"""Memory and AsyncMemory: one agent's memory, with the methods of the façade and no identity each.

The methods that only pass on are made from the façade's own, so that they take what it takes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import islice
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    ParamSpec,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
)

import anyio.to_thread

from memory_core import config, validation
from memory_core.config import Settings
from memory_core.memory import Memory as Facade
from memory_core.overview.pages import Page
from memory_core.overview.request import PageRequest
from memory_core.recall.request import RecallRequest, Weights
from memory_core.records import ForgetReport, Identity, Receipt, Recollection, RunReport
from memory_core.remember.capture import Observation
from memory_core.remember.request import ConversationTurn, RememberRequest, digest

if TYPE_CHECKING:
    from anamnesis.remote import RemoteFacade

P = ParamSpec("P")
R = TypeVar("R")

FINISH_SECONDS = 5.0
"""How long forgetting waits for another process that erases; as the command line waits."""


_AT_ONCE = 200
"""Records of an export that are read in one thread."""


class About(TypedDict, total=False):
    """What a caller may know of a memory; see RememberRequest."""

    kind: str
    importance: float
    tags: Sequence[str]
    when: str | float | date
    speaker: str
    session: str
    scope: str
    source: str
    replaces: str
    role: str
    key: str


class Narrow(TypedDict, total=False):
    """What narrows or weighs a recall; see RecallRequest."""

    k: int
    scope: str
    kinds: Sequence[str]
    tags: Sequence[str]
    speaker: str
    session: str
    since: str | date
    until: str | date
    as_of: str | date
    context: int
    explain: bool
    rehearse: bool
    elsewhere: bool
    project: str
    cut: bool
    topic: str
    entity: str
    importance: float
    weights: Weights


def _timed(given: Mapping[str, Any]) -> dict[str, Any]:
    """*given* with dates and datetimes in ISO 8601; one without a time zone is of this machine's.

    In UTC, for the offset of a zone may have had seconds. Raises InvalidInput for what is outside
    of its years there.
    """
    told = dict(given)
    for name, value in given.items():
        try:
            if isinstance(value, datetime):
                told[name] = value.astimezone(UTC).isoformat()
            elif isinstance(value, date):
                told[name] = value.isoformat()
        except (ValueError, OverflowError, OSError):
            raise validation.invalid(
                name, f"{value} is outside of the years 1 to 9999 in UTC", "correct it"
            ) from None
    return told


def _own(
    method: Callable[Concatenate[Facade, Identity, P], R],
) -> Callable[Concatenate[Memory, P], R]:
    """*method* of the façade, called as the agent of the memory that it is asked of."""

    @functools.wraps(method)
    def called(self: Memory, /, *args: P.args, **named: P.kwargs) -> R:
        own: Callable[Concatenate[Identity, P], R] = getattr(self.facade, method.__name__)
        return own(self.identity, *args, **named)

    signature = inspect.signature(method)
    takes = [each for name, each in signature.parameters.items() if name != "who"]
    called.__signature__ = signature.replace(parameters=takes)  # type: ignore[attr-defined]
    return called


def _awaited(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """*method* of Memory, done in a thread and awaited."""

    @functools.wraps(method)
    async def called(self: AsyncMemory, /, *args: P.args, **named: P.kwargs) -> R:
        work = functools.partial(method, self.blocking, *args, **named)
        return await anyio.to_thread.run_sync(work)

    return called


class Memory:
    """A long-term memory for one agent, thread-safe; use as a context manager or call close().

    Any number of processes may share a data directory. The constructor returns at once and opens in
    the background; calls wait for the store, never for the model. What is acknowledged is durable
    without close(). Every method raises a MemoryCoreError, which says what to do next.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        data_dir: str | Path | None = None,
        agent: str | None = None,
        team: str | None = None,
    ) -> None:
        """Open the memory of *settings*, by default those of the environment, as the program's.

        *data_dir*, *agent* and *team* go before the environment. Raises InvalidInput for settings
        that are out of range.
        """
        given = {"data_dir": data_dir, "agent": agent, "team": team}
        if settings is None:
            settings = config.load(flags=given)
        elif any(value is not None for value in given.values()):
            raise TypeError("give settings, or data_dir, agent and team, not both")
        self.identity = Identity(settings.agent, settings.team)
        self.facade = Facade(settings)

    @classmethod
    def of(cls, facade: Facade, identity: Identity) -> Self:
        """The memory of *identity* in a *facade* that is open already; close() closes that."""
        memory = cls.__new__(cls)
        memory.facade, memory.identity = facade, identity
        return memory

    @classmethod
    def connect(cls, url: str, token: str, *, timeout: float = 30.0) -> Self:
        """The memory of the server at *url* ("http://127.0.0.1:7832"), as *token* may use it.

        *timeout* is in seconds for each call. Calls the server once; raises ScopeDenied for an
        unknown token, StorageError for a server that cannot be reached.
        """
        from anamnesis.remote import RemoteFacade

        remote = RemoteFacade(url, token, timeout)
        return cls.of(cast("Facade", remote), remote.identity())

    @classmethod
    def shared(
        cls,
        *,
        data_dir: str | Path | None = None,
        agent: str | None = None,
        team: str | None = None,
        timeout: float = 30.0,
    ) -> Self:
        """The memory of this machine's engine, which is found or started, and serves others too.

        Settings are those of the environment; the arguments go before them. Where there can be no
        engine, as in a temporary place, the memory is opened in this process as by `Memory()`.
        *timeout* is in seconds for each call. Raises InvalidInput for settings out of range.
        """
        from anamnesis import shared

        given = {"data_dir": data_dir, "agent": agent, "team": team}
        flags = {name: str(value) for name, value in given.items() if value is not None}
        remote = shared.find(flags, timeout)
        if remote is None:
            return cls(data_dir=data_dir, agent=agent, team=team)
        return cls.of(cast("Facade", remote), remote.identity())

    def __enter__(self) -> Self:
        """The memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __repr__(self) -> str:
        """The agent, and the data directory or the address."""
        settings = getattr(self.facade, "settings", None)
        place = str(settings.data_dir) if settings else cast("RemoteFacade", self.facade).url
        return f"<Memory of {self.identity.agent!r} in {place!r}>"

    def close(self) -> None:
        """Journal the last accesses, stop the threads, close the files. May be called twice."""
        self.facade.close()

    def wait_ready(self, timeout: float = 30.0) -> bool:
        """True when store and model are ready within *timeout* seconds; calls need not wait."""
        return self.facade.wait_ready(timeout)

    # Writing

    def remember(self, text: str, **about: Unpack[About]) -> Receipt:
        """Store *text* durably; the receipt has its id, and what is like it or out of date by it.

        `when` may also be a date or a datetime, which without a time zone is of this machine's. The
        receipt's status is stored, reinforced (an exact repeat), replaced, or refused (it was
        forgotten). A repeat with the same `key` gets the same receipt; with the key of another one
        InvalidInput is raised.
        """
        request = RememberRequest(text, **_timed(about))
        if request.key:
            request = replace(request, asked=digest(request))
        return self.facade.remember(self.identity, request)

    def observe(
        self,
        content: str,
        *,
        role: str = "user",
        speaker: str = "",
        session: str = "",
        when: str | float | date | None = None,
        tags: Sequence[str] = (),
        scope: str = "",
        source: str = "",
    ) -> Observation:
        """Store one turn of a conversation verbatim, when it is worth keeping.

        *when* is as for remember, None now. What is not stored is named in `skipped`.
        """
        said = "" if when is None else _timed({"when": when})["when"]
        seconds = None if said == "" else validation.when(said, "when", 0.0)
        turn = ConversationTurn(
            role, content, seconds, session, speaker, scope=scope, tags=tags, source=source
        )
        return self.facade.observe(self.identity, turn)

    def observe_and_recall(
        self, content: str, *, role: str = "user", session: str = "", k: int = 8
    ) -> tuple[Observation, Recollection]:
        """Store one turn of a conversation as observe does, and recall what bears on it."""
        turn = ConversationTurn(role, content, session=session)
        return self.facade.observe_and_recall(self.identity, turn, k=k)

    def bring_in(self, records: Iterable[Mapping[str, Any]]) -> list[Receipt]:
        """Import exported *records*, which keep their ids; a stored memory is never changed."""
        return [self.facade.bring_in(self.identity, record) for record in records]

    amend = _own(Facade.amend)
    retire = _own(Facade.retire)
    vote = _own(Facade.vote)
    end_session = _own(Facade.end_session)

    # Recalling

    def recall(self, query: str, **narrow: Unpack[Narrow]) -> Recollection:
        """What answers *query*, best first; its repr shows the texts.

        `since`, `until` and `as_of` may also be a date or a datetime, as `when` of remember.
        """
        request = RecallRequest(query, **_timed(narrow))
        validation.instance(request.weights, "weights", Weights)
        return self.facade.recall(self.identity, request)

    # Consolidating, forgetting, undoing

    def consolidate(
        self,
        mode: str = "sleep",
        *,
        session: str = "",
        dry_run: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> RunReport:
        """Turn episodes into knowledge, as one run that `undo` takes back; see memory.MODES."""
        return self.facade.consolidate(
            self.identity, mode=mode, session=session, dry_run=dry_run, progress=progress
        )

    def undo(self, run: str) -> RunReport:
        """Undo the consolidation or import *run* by its id."""
        return self.facade.consolidate(self.identity, undo=run)

    def forget(
        self,
        *ids: str,
        query: str = "",
        source: str = "",
        reason: str = "",
        never_again: bool = True,
        confirm: bool = False,
    ) -> ForgetReport:
        """Preview what would be forgotten; with *confirm*, delete *ids* or a *source* for good.

        Then the texts are erased from every file before this returns. *query* only previews.
        """
        return self.facade.forget(
            self.identity,
            ids=ids,
            query=query,
            source=source,
            reason=reason,
            never_again=never_again,
            confirm=confirm,
            finish_seconds=FINISH_SECONDS,
        )

    undo_change = _own(Facade.undo_change)
    resolve = _own(Facade.resolve)
    clear = _own(Facade.clear)

    # Looking

    get = _own(Facade.get)
    history = _own(Facade.history)
    links = _own(Facade.links)
    listing = _own(Facade.listing)

    def page(self, request: PageRequest) -> Page:
        """Memories in any state, as *request* asks for; see overview.pages."""
        validation.instance(request, "request", PageRequest)
        return self.facade.page(self.identity, request)

    names = _own(Facade.names)
    stats = _own(Facade.stats)
    timeline = _own(Facade.timeline)
    doubts = _own(Facade.doubts)
    runs = _own(Facade.runs)
    export = _own(Facade.export)
    health = _own(Facade.health)


class AsyncMemory:
    """Memory for asyncio and trio: the same methods, awaited; `async with AsyncMemory() as memory`.

    Each call runs in a thread, so the event loop never waits. A cancelled call is finished.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        data_dir: str | Path | None = None,
        agent: str | None = None,
        team: str | None = None,
    ) -> None:
        """Open as Memory does. Raises InvalidInput for settings that are out of range."""
        self.blocking = Memory(settings, data_dir=data_dir, agent=agent, team=team)

    @classmethod
    async def connect(cls, url: str, token: str, *, timeout: float = 30.0) -> Self:
        """As Memory.connect."""
        return await cls._over(functools.partial(Memory.connect, url, token, timeout=timeout))

    @classmethod
    async def shared(
        cls,
        *,
        data_dir: str | Path | None = None,
        agent: str | None = None,
        team: str | None = None,
        timeout: float = 30.0,
    ) -> Self:
        """As Memory.shared."""
        open_it = functools.partial(
            Memory.shared, data_dir=data_dir, agent=agent, team=team, timeout=timeout
        )
        return await cls._over(open_it)

    @classmethod
    async def _over(cls, open_it: Callable[[], Memory]) -> Self:
        made = cls.__new__(cls)
        made.blocking = await anyio.to_thread.run_sync(open_it)
        return made

    async def __aenter__(self) -> Self:
        """The memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        with anyio.CancelScope(shield=True):
            await self.close()

    def __repr__(self) -> str:
        """As that of Memory."""
        return repr(self.blocking).replace("<Memory", "<AsyncMemory", 1)

    async def export(self) -> AsyncIterator[dict[str, Any]]:
        """As Memory.export: `async for record in memory.export()`."""
        records = self.blocking.export()
        while some := await anyio.to_thread.run_sync(lambda: list(islice(records, _AT_ONCE))):
            for record in some:
                yield record

    close = _awaited(Memory.close)
    wait_ready = _awaited(Memory.wait_ready)
    observe = _awaited(Memory.observe)
    observe_and_recall = _awaited(Memory.observe_and_recall)
    bring_in = _awaited(Memory.bring_in)
    consolidate = _awaited(Memory.consolidate)
    undo = _awaited(Memory.undo)
    forget = _awaited(Memory.forget)
    remember = _awaited(Memory.remember)
    recall = _awaited(Memory.recall)
    amend = _awaited(Memory.amend)
    retire = _awaited(Memory.retire)
    vote = _awaited(Memory.vote)
    end_session = _awaited(Memory.end_session)
    undo_change = _awaited(Memory.undo_change)
    resolve = _awaited(Memory.resolve)
    clear = _awaited(Memory.clear)
    get = _awaited(Memory.get)
    history = _awaited(Memory.history)
    links = _awaited(Memory.links)
    listing = _awaited(Memory.listing)
    page = _awaited(Memory.page)
    names = _awaited(Memory.names)
    stats = _awaited(Memory.stats)
    timeline = _awaited(Memory.timeline)
    doubts = _awaited(Memory.doubts)
    runs = _awaited(Memory.runs)
    health = _awaited(Memory.health)
