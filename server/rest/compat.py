"""The paths of earlier memory servers, each a thin layer over the operations of /api/v1.

Two applications, because one path means two things under /api and at the root.
The {agent} and the `agent_id` of a call must be the caller's own.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response
from pydantic import Field

from memory_core.errors import ScopeDenied
from memory_core.overview import cursors
from memory_core.recall.request import RecallRequest
from memory_core.records import KINDS, Hit, Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.protocol import patience, rendering, structure
from server.protocol.schemas import Kind
from server.rest import answers, bodies, overviews, recalling
from server.rest.calls import CLIENT, Calls, answer
from server.rest.chatting import Chats
from server.rest.overviews import AgentName

BLOCK_TOKENS = 1_250
"""Of the text for a prompt, as the tools answer by default."""


class AddText(bodies.Body):
    """A text whose facts are stored."""

    text: bodies.Text


class Search(bodies.Body):
    """A query."""

    query: bodies.Question
    k: int = Field(10, ge=1, le=50)
    importance: bodies.Share = 0.0
    topic: bodies.Name = ""
    kinds: Annotated[list[Kind], Field(max_length=len(KINDS))] = Field(default_factory=list)


class Asked(bodies.Body):
    """A query to explain."""

    query: bodies.Question


class AskedFacts(bodies.Body):
    """Texts to store past the relevance gate."""

    facts: list[bodies.Text] = Field(min_length=1, max_length=100)


class Message(bodies.Body):
    """A turn of a chat."""

    message: bodies.Text


class IngestedTurn(bodies.Body):
    """A turn of a conversation."""

    role: bodies.Role = "user"
    content: bodies.Text
    agent_id: bodies.Label = ""
    session_id: bodies.Label = ""
    k: int = Field(8, ge=1, le=50)


class Whose(bodies.Body):
    """Whose memories, and of which conversation."""

    agent_id: bodies.Label = ""
    session_id: bodies.Label = ""


Empty = bodies.Nothing | None
"""The body of what takes none; earlier clients send no body at all."""


def under_api(app: FastAPI, calls: Calls) -> None:
    """Add what lies under /api."""
    _counts(app.router, calls)
    _agents(app.router, calls)
    _facts(app.router, calls)


def _counts(router: APIRouter, calls: Calls) -> None:
    memory = calls.memory
    reads = calls.needs("read")

    @router.get("/meta")
    async def meta(who: Identity = reads) -> Response:
        names = await calls.run(lambda: memory.tally(who, "agent", limit=cursors.MOST))
        chosen = memory.settings
        models = {"embedding_model": chosen.embedder, "language_model": chosen.encoder}
        return answer({**models, "agents": [each.name for each in names.tallies]})

    @router.get("/agents")
    async def agents(who: Identity = reads) -> Response:
        names = await calls.run(lambda: memory.tally(who, "agent", limit=cursors.MOST))
        return answer([each.name for each in names.tallies])

    @router.get("/l4")
    async def topics(who: Identity = reads) -> Response:
        graph = await calls.run(lambda: memory.topic_graph(who))
        return answer(asdict(graph))

    @router.get("/jobs")
    async def jobs(who: Identity = reads) -> Response:
        found = await calls.run(lambda: memory.jobs(who))
        return answer({"in_flight": found["running"]})

    @router.get("/stats")
    async def stats(who: Identity = reads) -> Response:
        found = await calls.run(lambda: memory.stats(who))
        return answer({"total": found["memories"], "by_type": found["by_kind"]})


def _agents(router: APIRouter, calls: Calls) -> None:
    memory, chats = calls.memory, Chats(calls)
    reads = calls.needs("read")
    writes = calls.needs("write")
    both = calls.needs("write", "read")
    admins = calls.needs("admin")

    @router.get("/state")
    async def states(who: Identity = reads) -> Response:

        def read() -> dict[str, Any]:
            names = [each.name for each in memory.tally(who, "agent", limit=cursors.MOST).tallies]
            return {name: overviews.state(memory, who, name, "") for name in names}

        return answer(await calls.run(read))

    @router.get("/state/{agent}")
    async def state(agent: AgentName, who: Identity = reads) -> Response:
        return answer(await calls.run(lambda: overviews.state(memory, who, agent, "")))

    @router.get("/registry/{agent}")
    async def registry(agent: AgentName, who: Identity = reads) -> Response:
        shown = await calls.run(lambda: overviews.state(memory, who, agent, "")["pairs"])
        return answer(shown)

    @router.post("/explain/{agent}")
    async def explain(agent: AgentName, body: Asked, who: Identity = reads) -> Response:
        who = _own(who, agent)
        request = RecallRequest(body.query, explain=True, rehearse=False)
        found = await calls.run(lambda: memory.recall(who, request))
        chosen = [{**_result(hit), "selected": True} for hit in found.hits]
        dropped = [
            {**_result(hit), "selected": False, "reason": hit.why.get("rejected", "")}
            for hit in found.rejected
        ]
        return answer({"candidates": [*chosen, *dropped], "confidence": found.confidence})

    @router.post("/consolidate/{agent}")
    async def consolidate(agent: AgentName, body: Empty = None, who: Identity = writes) -> Response:
        """Moves everything to long-term, whatever its age, and consolidates."""
        del body
        who = _own(who, agent)
        moved = asdict(await calls.run(lambda: memory.sweep(who, all_of_it=True)))
        done = answers.run(await calls.consolidate(who, mode="sleep"))
        return answer({**done, "moved": moved})

    @router.post("/abstract/{agent}")
    async def abstract(agent: AgentName, body: Empty = None, who: Identity = writes) -> Response:
        """Concepts over topics, made now."""
        del body
        done = answers.run(await calls.consolidate(_own(who, agent), mode="topics"))
        made = done["summaries"]
        return answer({"concepts": made, "count": len(made), "run": done["run"]})

    @router.post("/kg/dedupe")
    async def dedupe(body: Empty = None, who: Identity = writes) -> Response:
        """Merge topics that lie close to each other; the names of those that are gone."""
        del body
        before = await calls.run(lambda: _topics(calls, who))
        done = await calls.consolidate(who, mode="topics")
        merged = before - await calls.run(lambda: _topics(calls, who))
        shown = sorted(merged) if who.reader else []
        return answer({"merged": len(merged), "nodes": shown, "run": done.run})

    @router.post("/chat/{agent}")
    async def chat(agent: AgentName, body: Message, who: Identity = both) -> Response:
        """The reply of the language model, and what came to mind."""
        said = await chats.turn(_own(who, agent), f"chat {agent}", body.message)
        found = said["recalled"]["memories"]
        trace = {"candidates": found, "stored": said["receipt"], "skipped": said["skipped"]}
        return answer({"reply": said["reply"], "note": said["note"], "trace": trace})

    @router.post("/seed/{agent}")
    async def seed(agent: AgentName, body: AskedFacts, who: Identity = writes) -> Response:
        who = _own(who, agent)
        wanted = [RememberRequest(text, kind="fact", client=CLIENT) for text in body.facts]
        done = await calls.run(lambda: patience.remembered(memory, who, *wanted))
        stored = [each.id for each in done if each.status == "stored"]
        return answer({"stored": len(stored), "ids": stored})

    @router.post("/reset")
    async def reset(body: Empty = None, who: Identity = admins) -> Response:
        del body
        return answer({"deleted": await calls.run(lambda: memory.clear(who)), "status": "reset"})


def _facts(router: APIRouter, calls: Calls) -> None:
    memory = calls.memory
    reads = calls.needs("read")
    writes = calls.needs("write")
    admins = calls.needs("admin")

    @router.post("/add")
    async def add(body: AddText, who: Identity = writes) -> Response:
        """The ids of what is new: the facts, or the text itself where no model extracts any."""
        request = RememberRequest(body.text, client=CLIENT)
        done = await calls.run(lambda: recalling.extracted(calls, who, request))
        stored = [done["receipt"]["id"]] if done["receipt"]["status"] == "stored" else []
        ids = done["ids"] or stored
        return answer({"ids": ids, "count": len(ids)})

    @router.post("/search")
    async def search(body: Search, who: Identity = reads) -> Response:
        request = RecallRequest(
            body.query,
            k=body.k,
            importance=body.importance,
            topic=body.topic,
            kinds=body.kinds,
            explain=True,
        )
        found = await calls.run(lambda: memory.recall(who, request))
        results = [_result(hit) for hit in found.hits or found.partial]
        return answer({"results": results, "count": len(results)})

    @router.post("/consolidate")
    async def consolidate_all(body: Empty = None, who: Identity = writes) -> Response:
        del body
        done = await calls.consolidate(who, mode="sleep")
        return answer({"summaries_created": len(done.summaries), "status": done.status})

    @router.post("/clear")
    async def clear(body: Empty = None, who: Identity = admins) -> Response:
        del body
        await calls.run(lambda: memory.clear(who))
        return answer({"status": "cleared"})


def at_root(app: FastAPI, calls: Calls) -> None:
    """Add what lies at the root."""
    router, memory = app.router, calls.memory
    reads = calls.needs("read")
    writes = calls.needs("write")
    both = calls.needs("write", "read")

    @router.post("/ingest_and_recall")
    async def ingest_and_recall(body: IngestedTurn, who: Identity = both) -> Response:
        who = _own(who, body.agent_id)
        turn = ConversationTurn(body.role, body.content, session=body.session_id, client=CLIENT)
        seen, found = await calls.run(lambda: memory.observe_and_recall(who, turn, k=body.k))
        shown = structure.recollection(found, calls.clock(), BLOCK_TOKENS)
        results = [_result(hit) for hit in found.hits]
        stored = answers.observation(seen, reader=True)
        return answer({**stored, "block": rendering.recall(shown), "results": results})

    @router.post("/consolidate")
    async def consolidate(body: Whose | None = None, who: Identity = writes) -> Response:
        body = body or Whose()
        who = _own(who, body.agent_id)
        mode = "session" if body.session_id else "sleep"
        done = await calls.consolidate(who, mode=mode, session=body.session_id)
        return answer(answers.run(done))

    @router.post("/contradictions")
    async def contradictions(body: Whose | None = None, who: Identity = both) -> Response:
        who = _own(who, body.agent_id if body else "")
        done = await calls.consolidate(who, mode="contradictions", dry_run=True)
        return answer({"contradictions": answers.run(done)["contradictions"]})

    @router.get("/stats")
    async def stats(who: Identity = reads) -> Response:
        found = await calls.run(lambda: memory.stats(who))
        return answer({"total": found["memories"], "agents": found["by_agent"]})


def _topics(calls: Calls, who: Identity) -> set[str]:
    found = calls.memory.tally(who, "topic", limit=cursors.MOST).tallies
    return {each.name for each in found}


def _own(who: Identity, agent: str) -> Identity:
    """*who*. Raises ScopeDenied when *agent* names another one; "" is the caller."""
    if agent and agent != who.agent:
        raise ScopeDenied(f"the token is of another agent than {agent[:40]}", "use its own token")
    return who


def _result(hit: Hit) -> dict[str, Any]:
    """*hit* as the earlier servers named its parts."""
    record = hit.memory
    return {
        "id": record.id,
        "text": record.text,
        "memory_type": record.kind,
        "importance": record.importance,
        "topic": record.topic,
        "entities": list(record.entities),
        "tier": record.tier,
        "agent": record.agent,
        "combined_score": hit.score,
        "raw_similarity": hit.why.get("whole"),
        "recency_score": hit.why.get("retention"),
        "created_at": rendering.iso(record.occurred_at),
    }
