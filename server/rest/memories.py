"""Operations on memories: store, list, read, change, retire, undo, vote, forget."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2s
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response

from memory_core import validation
from memory_core.lifecycle.pins import PINNED, before_pin
from memory_core.memory import Memory
from memory_core.overview import cursors
from memory_core.overview.request import PageRequest
from memory_core.records import Identity, MemoryRecord, Receipt
from memory_core.remember.request import RememberRequest, digest, instead_of
from server.identity import at_page
from server.protocol import patience, schemas
from server.protocol.schemas import OptionalKind, OptionalScope
from server.rest import answers, bodies
from server.rest.calls import CLIENT, Calls, answer, etag, is_guarded, require_version, unmodified

MemoryId = Annotated[str, Path(pattern=bodies.ID, description="an id, or its beginning")]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=validation.LABEL_CHARS,
        description="the same key with the same body answers as before; another body is refused",
    ),
]
IfMatch = Annotated[
    str, Header(alias="If-Match", description="an ETag; with another version nothing is changed")
]
IfNoneMatch = Annotated[str, Header(alias="If-None-Match", description="an ETag; 304 if it holds")]
Cursor = Annotated[
    str, Query(max_length=validation.QUERY_CHARS, description="`next` of the page before")
]
Limit = Annotated[int, Query(ge=1, le=cursors.MOST)]


def add_memories(router: APIRouter, calls: Calls) -> None:
    """Add the operations to *router*."""
    memory = calls.memory
    reads = calls.needs("read")
    writes = calls.needs("write")
    both = calls.needs("write", "read")

    @router.post("/memories", response_model=answers.ReceiptOut, tags=["memories"])
    async def remember(body: bodies.NewMemory, key: Key = "", who: Identity = writes) -> Response:
        """Store one memory verbatim."""
        request = _request(body, key)
        (done,) = await calls.run(lambda: patience.remembered(memory, who, request))
        return answer(answers.receipt(done))

    @router.post("/seed", response_model=answers.ReceiptList, tags=["memories"])
    async def seed(body: bodies.Seed, key: Key = "", who: Identity = writes) -> Response:
        """Store many facts as they are, past the relevance gate."""
        facts = [
            RememberRequest(
                text,
                kind="fact",
                session=body.session,
                scope=body.scope,
                source=body.source,
                client=CLIENT,
            )
            for text in body.facts
        ]
        requests = _keyed(facts, key)
        done = await calls.run(lambda: patience.remembered(memory, who, *requests))
        return answer(_receipts(done))

    @router.get("/memories", response_model=answers.MemoryPage, tags=["memories"])
    async def list_memories(
        cursor: Cursor = "",
        limit: Limit = 50,
        state: Literal["", "current", "doubtful", "superseded", "retired"] = "",
        kind: OptionalKind = "",
        tier: Literal["", "active", "recent", "long_term"] = "",
        scope: OptionalScope = "",
        trust: Literal["", "user", "agent", "import", "web", "quoted"] = "",
        agent: bodies.Label = "",
        tag: Annotated[list[bodies.Label], Query(max_length=validation.LABELS_MOST)] = [],  # noqa: B006
        topic: bodies.Name = "",
        entity: bodies.Name = "",
        session: bodies.Label = "",
        speaker: bodies.Label = "",
        importance: bodies.Share = 0.0,
        since: bodies.Moment = "",
        until: bodies.Moment = "",
        who: Identity = reads,
    ) -> Response:
        """List memories in any state, newest first; `tag` may be repeated."""
        request = PageRequest(
            cursor=cursor,
            limit=limit,
            state=state,
            kind=kind,
            tier=tier,
            scope=scope,
            trust=trust,
            agent=agent,
            tags=tag,
            topic=topic,
            entity=entity,
            session=session,
            speaker=speaker,
            importance=importance,
            since=since,
            until=until,
        )
        page = await calls.run(lambda: memory.page(who, request))
        shown = [answers.memory(each) for each in page.memories]
        return answer({"memories": shown, "next": page.next, "notice": schemas.NOTICE})

    @router.get("/memories/{id}", response_model=answers.OneMemory, tags=["memories"])
    async def get_memory(
        request: Request, id: MemoryId, known: IfNoneMatch = "", who: Identity = reads
    ) -> Response:
        """One memory whole, with its votes and versions, and how it fades."""
        del known  # read from the request, where it may be a list
        shown, tag = await calls.run(lambda: _shown(memory, who, id))
        if unmodified(request, tag):
            return Response(status_code=304, headers={"ETag": tag})
        return answer(shown, ETag=tag)

    @router.get("/memories/{id}/history", response_model=answers.HistoryOut, tags=["memories"])
    async def get_history(id: MemoryId, who: Identity = reads) -> Response:
        """Every change of a memory, oldest first."""
        found = await calls.run(lambda: memory.history(who, id))
        changes = [answers.change(each) for each in found]
        return answer({"id": found[0].target, "changes": changes, "notice": schemas.NOTICE})

    @router.get("/memories/{id}/links", response_model=answers.LinksOut, tags=["memories"])
    async def get_links(id: MemoryId, who: Identity = reads) -> Response:
        """The links of a memory to others, strongest first."""

        def read() -> Any:
            whole = memory.get(who, id).id
            return answers.links(whole, memory.links(who, whole))

        return answer(await calls.run(read))

    @router.patch("/memories/{id}", response_model=answers.AmendmentOut, tags=["memories"])
    async def amend_memory(
        request: Request,
        id: MemoryId,
        body: bodies.Amendment,
        version: IfMatch = "",
        key: Key = "",
        who: Identity = both,
    ) -> Response:
        """Change tags or importance in place, or replace the text; each can be undone."""
        del version

        def change() -> Any:
            shown, seen = _guarded(memory, who, id, request)
            whole = shown["id"]
            if body.text is not None:
                return _replaced(memory, who, memory.get(who, whole), body, key, seen)
            number = memory.amend(who, whole, tags=body.tags, importance=body.importance, seen=seen)
            return _amended(whole, number)

        return answer(await calls.run(change))

    @router.post("/memories/{id}/pin", response_model=answers.AmendmentOut, tags=["memories"])
    async def pin_memory(
        request: Request,
        id: MemoryId,
        body: bodies.Pin,
        version: IfMatch = "",
        who: Identity = both,
    ) -> Response:
        """Keep a memory for good (importance 1), or no longer."""
        del version

        def change() -> Any:
            shown, seen = _guarded(memory, who, id, request)
            wanted = PINNED
            if not body.pinned:
                wanted = before_pin(memory.history(who, shown["id"]), shown["importance"])
            number = memory.amend(who, shown["id"], importance=wanted, seen=seen)
            return _amended(shown["id"], number)

        return answer(await calls.run(change))

    @router.post("/memories/{id}/retire", response_model=answers.AmendmentOut, tags=["memories"])
    async def retire_memory(
        request: Request,
        id: MemoryId,
        body: bodies.Retirement,
        version: IfMatch = "",
        who: Identity = both,
    ) -> Response:
        """Take a memory out of the first search without deleting it, or put it back."""
        del version

        def change() -> Any:
            shown, seen = _guarded(memory, who, id, request)
            whole = shown["id"]
            return _amended(whole, memory.retire(who, whole, retired=body.retired, seen=seen))

        return answer(await calls.run(change))

    @router.post("/memories/{id}/undo", response_model=answers.UndoneOut, tags=["memories"])
    async def undo_change(
        id: MemoryId, body: bodies.ChangeToUndo, who: Identity = both
    ) -> Response:
        """Undo one change of a memory, by its number in the history."""
        change, done = await calls.run(lambda: memory.undo_change(who, id, body.change))
        return answer({"id": change.target, "change": change.seq, "done": done})

    @router.post("/memories/{id}/votes", response_model=answers.VotesOut, tags=["memories"])
    async def vote(id: MemoryId, body: bodies.Vote, who: Identity = both) -> Response:
        """Say whether a memory was a good answer; votes are shown and change no ranking."""
        votes = await calls.run(lambda: memory.vote(who, id, body.query, body.value))
        return answer({"up": votes.up, "down": votes.down})

    @router.post("/forget", response_model=answers.ForgetOut, tags=["memories"])
    async def forget(body: bodies.Forget, who: Identity = writes) -> Response:
        """Preview what would be deleted; with `ids` or `source` and `confirm`, delete it."""
        done = await calls.run(
            lambda: memory.forget(
                who,
                ids=body.ids,
                query=body.query,
                source=body.source,
                reason=body.reason,
                never_again=body.never_again,
                confirm=body.confirm,
            )
        )
        return answer(answers.forgotten(done))


def _request(body: bodies.NewMemory, key: str = "") -> RememberRequest:
    request = RememberRequest(
        body.text,
        kind=body.kind,
        importance=body.importance,
        tags=body.tags,
        when=body.when,
        speaker=body.speaker,
        role=body.role,
        session=body.session,
        scope=body.scope,
        source=body.source,
        replaces=body.replaces,
        trust="agent",
        client=CLIENT,
    )
    return keyed(request, key)


def keyed(request: RememberRequest, key: str) -> RememberRequest:
    """*request* under an idempotency *key*; as it is under none."""
    return replace(request, key=key, asked=digest(request)) if key else request


def _keyed(facts: list[RememberRequest], key: str) -> list[RememberRequest]:
    """*facts* under one idempotency *key*, each of which stands for all of them."""
    if not key:
        return facts
    every = blake2s("".join(map(digest, facts)).encode(), digest_size=16).hexdigest()
    own = [blake2s(f"{key} {place}".encode()).hexdigest() for place in range(len(facts))]
    return [replace(fact, key=key, asked=every) for fact, key in zip(facts, own, strict=True)]


def _receipts(done: list[Receipt]) -> dict[str, Any]:
    ids = [each.id for each in done if each.status in ("stored", "replaced")]
    return {"receipts": [answers.receipt(r) for r in done], "ids": ids, "count": len(ids)}


def _shown(memory: Memory, who: Identity, id: str) -> tuple[dict[str, Any], str]:
    """A memory as GET answers it, and its ETag."""
    whole = memory.get(who, id).id
    found = memory.states(who, [whole])
    if not found:
        raise validation.unknown(id)
    shown = answers.memory(found[0])
    votes, version = memory.votes(who, whole), memory.version(who, whole)
    fading = memory.fading(who, whole)
    more = {
        "votes": {"up": votes.up, "down": votes.down},
        "version": {
            "relation": version.relation,
            "number": version.number,
            "parent": version.parent,
            "root": version.root,
            "latest": version.latest,
        },
        "fading": {"left": fading.left, "half_life_days": fading.half_life_days},
        "notice": schemas.NOTICE,
    }
    return {**shown, **more}, etag(shown)


def _guarded(
    memory: Memory, who: Identity, id: str, request: Request
) -> tuple[dict[str, Any], int]:
    """A memory as GET answers it, and how many changes it had before; 0 without If-Match.

    With as many its version is still the one that was compared when a change of it is written.
    """
    seen = 0
    if is_guarded(request):
        seen = len(memory.history(who, memory.get(who, id).id))
    shown, tag = _shown(memory, who, id)
    require_version(request, tag)
    return shown, seen


def _replaced(
    memory: Memory, who: Identity, old: MemoryRecord, body: bodies.Amendment, key: str, seen: int
) -> dict[str, Any]:
    """Store the text of *body* in the place of *old*, with what is not given as it was."""
    assert body.text is not None
    asked = blake2s(f"{old.id} {body.model_dump_json()}".encode(), digest_size=16).hexdigest()
    wanted = replace(
        instead_of(old, body.text),
        trust="user" if at_page() else "agent",
        client=CLIENT,
        key=key,
        asked=asked if key else "",
        seen=seen,
    )
    if body.importance is not None:
        wanted = replace(wanted, importance=body.importance)
    if body.tags is not None:
        wanted = replace(wanted, tags=body.tags)
    done = memory.remember(who, wanted)
    undo = None
    if done.replaced:
        puts = [c for c in memory.history(who, done.replaced[0]) if c.kind == "put"]
        undo = {"id": done.replaced[0], "change": puts[-1].seq}
    return {
        "id": done.id,
        "status": "replaced" if done.status in ("stored", "replaced") else done.status,
        "replaced": list(done.replaced),
        "warnings": list(done.warnings),
        "undo": undo,
    }


def _amended(id: str, number: int) -> dict[str, Any]:
    return {
        "id": id,
        "status": "changed" if number else "unchanged",
        "replaced": [],
        "warnings": [],
        "undo": {"id": id, "change": number} if number else None,
    }
