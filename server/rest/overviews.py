"""Operations about the whole: consolidation, contradictions, topics, agents, counts, health."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from memory_core.lifecycle.turn_pairs import TurnPair
from memory_core.memory import Memory
from memory_core.overview.tallies import Tallies
from memory_core.records import Identity
from server import __version__
from server.protocol import rendering, schemas, structure
from server.rest import answers, bodies
from server.rest.calls import Calls, answer
from server.rest.memories import Cursor, Limit

AgentName = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f/]+$")]
RunId = Annotated[str, Path(pattern=bodies.ID)]
Part = Annotated[bodies.Label, Query(description="only names that hold these letters, in any case")]
Session = Annotated[
    bodies.Label,
    Query(description="the conversation whose hot buffer is shown; empty: the last one"),
]


def add_consolidation(router: APIRouter, calls: Calls) -> None:
    """Add runs and contradictions to *router*."""
    memory = calls.memory
    reads = calls.needs("read")
    writes = calls.needs("write")
    both = calls.needs("write", "read")

    @router.post("/consolidate", response_model=answers.RunOut, tags=["consolidation"])
    async def consolidate(body: bodies.Consolidation, who: Identity = writes) -> Response:
        """Turn episodes into knowledge as one run, or preview it."""
        done = await calls.consolidate(
            who, mode=body.mode, session=body.session, dry_run=body.dry_run
        )
        return answer(answers.run(done))

    @router.get("/runs", response_model=answers.RunPage, tags=["consolidation"])
    async def list_runs(cursor: Cursor = "", limit: Limit = 50, who: Identity = reads) -> Response:
        """The caller's runs, newest first."""
        found = await calls.run(lambda: memory.runs(who, cursor=cursor, limit=limit))
        shown = [{**asdict(each), "at": rendering.iso(each.at)} for each in found.runs]
        return answer({"runs": shown, "next": found.next})

    @router.post("/runs/{id}/undo", response_model=answers.RunOut, tags=["consolidation"])
    async def undo_run(id: RunId, body: bodies.Nothing, who: Identity = writes) -> Response:
        """Undo a run as a whole; one in progress is stopped."""
        del body
        return answer(answers.run(await calls.consolidate(who, undo=id)))

    @router.get("/contradictions", response_model=answers.DoubtList, tags=["consolidation"])
    async def list_contradictions(who: Identity = reads) -> Response:
        """Pairs of which the later memory may put the earlier one out of date."""
        return answer(answers.doubts(await calls.run(lambda: memory.doubts(who))))

    @router.post("/contradictions", response_model=answers.RunOut, tags=["consolidation"])
    async def find_contradictions(body: bodies.Nothing, who: Identity = both) -> Response:
        """Look for contradictions, also between agents; changes nothing."""
        del body
        done = await calls.consolidate(who, mode="contradictions", dry_run=True)
        return answer(answers.run(done))

    @router.post(
        "/contradictions/decide", response_model=answers.DecidedOut, tags=["consolidation"]
    )
    async def decide_contradiction(body: bodies.Decision, who: Identity = both) -> Response:
        """Decide a pair; "undo" takes the last decision about it back."""
        done = await calls.run(lambda: memory.resolve(who, body.older, body.newer, body.decision))
        return answer({"done": done})


def add_overview(router: APIRouter, calls: Calls) -> None:
    """Add topics, sessions, entities, agents, counts and health to *router*."""
    memory = calls.memory
    reads = calls.needs("read")
    writes = calls.needs("write")
    admins = calls.needs("admin")
    anyone = calls.needs()

    @router.get("/topics", response_model=answers.NamePage, tags=["overview"])
    async def list_topics(
        cursor: Cursor = "", limit: Limit = 100, who: Identity = reads
    ) -> Response:
        """Topics, the largest first."""
        return await _names(calls, who, "topic", cursor, limit)

    @router.get("/topics/graph", response_model=answers.GraphOut, tags=["overview"])
    async def topic_graph(who: Identity = reads) -> Response:
        """All topics, and what ties them together."""
        return answer(asdict(await calls.run(lambda: memory.topic_graph(who))))

    @router.get("/graph", response_model=answers.MemoryGraphOut, tags=["overview"])
    async def memory_graph(who: Identity = reads) -> Response:
        """Topics, summaries, episodes and names as a graph of at most 500 nodes."""
        found = await calls.run(lambda: memory.memory_graph(who))
        return answer({**asdict(found), "notice": schemas.NOTICE})

    @router.get("/sessions", response_model=answers.NamePage, tags=["overview"])
    async def list_sessions(
        cursor: Cursor = "", limit: Limit = 100, who: Identity = reads
    ) -> Response:
        """Conversations, the longest first."""
        return await _names(calls, who, "session", cursor, limit)

    @router.post("/sessions/end", response_model=answers.DecidedOut, tags=["overview"])
    async def end_session(body: bodies.SessionEnd, who: Identity = writes) -> Response:
        """End a conversation: its working memory is cleared, and its summary is due."""

        def end() -> str:
            memory.end_session(who, body.session)
            if who.reader and not memory.listing(who, limit=1, session=body.session):
                return "nothing is stored of this conversation"
            return "the conversation has ended; its summary is written soon"

        return answer({"done": await calls.run(end)})

    @router.get("/entities", response_model=answers.NamePage, tags=["overview"])
    async def list_entities(
        part: Part = "", cursor: Cursor = "", limit: Limit = 100, who: Identity = reads
    ) -> Response:
        """People, places and things, the most frequent first."""
        return await _names(calls, who, "entities", cursor, limit, part)

    @router.get("/tags", response_model=answers.NamePage, tags=["overview"])
    async def list_tags(cursor: Cursor = "", limit: Limit = 100, who: Identity = reads) -> Response:
        """Tags, the most frequent first."""
        return await _names(calls, who, "tags", cursor, limit)

    @router.get("/agents", response_model=answers.NamePage, tags=["overview"])
    async def list_agents(
        cursor: Cursor = "", limit: Limit = 100, who: Identity = reads
    ) -> Response:
        """Agents whose memories the caller may read."""
        return await _names(calls, who, "agent", cursor, limit)

    @router.get("/agents/{agent}/state", response_model=answers.StateOut, tags=["overview"])
    async def agent_state(
        agent: AgentName, session: Session = "", who: Identity = reads
    ) -> Response:
        """Tiers, hot buffer, pairs and topics of an agent, as far as the caller may read them."""
        return answer(await calls.run(lambda: state(memory, who, agent, session)))

    @router.get("/pairs", response_model=answers.PairList, tags=["overview"])
    async def list_pairs(
        agent: bodies.Label = "", limit: Limit = 50, who: Identity = reads
    ) -> Response:
        """Pairs of a turn and its answer, newest first."""
        pairs = await calls.run(lambda: memory.pairs(who, agent=agent, limit=limit))
        return answer({"pairs": _pairs(memory, who, pairs), "notice": schemas.NOTICE})

    @router.get("/stats", response_model=answers.StatsOut, tags=["overview"])
    async def stats(who: Identity = reads) -> Response:
        """Counts of what the caller may read."""
        return answer(await calls.run(lambda: memory.stats(who)))

    @router.get("/stats/timeline", response_model=answers.TimelineOut, tags=["overview"])
    async def timeline(
        step: Literal["day", "week", "month"] = "day",
        since: bodies.Moment = "",
        until: bodies.Moment = "",
        who: Identity = reads,
    ) -> Response:
        """How many memories happened in each day, week or month."""
        spans = await calls.run(lambda: memory.timeline(who, step=step, since=since, until=until))
        return answer({"spans": [asdict(span) for span in spans]})

    @router.get("/jobs", response_model=answers.JobsOut, tags=["overview"])
    async def jobs(who: Identity = reads) -> Response:
        """The jobs of the language model."""
        found = await calls.run(lambda: memory.jobs(who))
        totals = {name: found[name] for name in ("queued", "running", "failed")}
        named = {name: value for name, value in found.items() if isinstance(value, dict)}
        return answer({"in_flight": found["running"], **totals, "by_name": named})

    @router.get("/health", response_model=schemas.HealthResult, tags=["overview"])
    async def health(who: Identity = reads) -> Response:
        """Check every part with a real write, search and delete."""
        done = await calls.run(lambda: memory.health(who))
        return answer(structure.health_report(done, calls.engine()))

    @router.post("/health/repair", response_model=schemas.HealthResult, tags=["overview"])
    async def repair(body: bodies.Nothing, who: Identity = admins) -> Response:
        """Check every part, and repair what can be repaired; needs the right admin."""
        del body
        done = await calls.run(lambda: memory.health(who, repair=True))
        return answer(structure.health_report(done, calls.engine()))

    @router.get("/meta", response_model=answers.MetaOut, tags=["overview"])
    async def meta(who: Identity = anyone) -> Response:
        """The version of the program, and who the caller is."""
        rights = sorted(who.rights)
        return answer(
            {"version": __version__, "agent": who.agent, "team": who.team, "rights": rights}
        )


async def _names(
    calls: Calls, who: Identity, column: str, cursor: str, limit: int, part: str = ""
) -> Response:
    tally = calls.memory.tally
    found = await calls.run(lambda: tally(who, column, part=part, cursor=cursor, limit=limit))
    return answer(_page(found))


def _page(found: Tallies) -> dict[str, Any]:
    names = [
        {**asdict(each), "first": rendering.iso(each.first), "last": rendering.iso(each.last)}
        for each in found.tallies
    ]
    return {"names": names, "next": found.next}


def state(memory: Memory, who: Identity, agent: str, session: str) -> dict[str, Any]:
    """The state of *agent*; the hot buffer is the caller's own alone."""
    found = memory.agent_state(who, agent)
    hot = memory.in_mind(who, session).hot if agent == who.agent else ()
    tiers = {
        tier: [answers.memory(e) for e in memory.states(who, [record.id for record in records])]
        for tier, records in found.tiers.items()
    }
    return {
        "agent": agent,
        "counts": found.counts,
        "tiers": tiers,
        "hot": list(hot),
        "pairs": _pairs(memory, who, found.pairs),
        "graph": asdict(memory.topic_graph(who)),
        "notice": schemas.NOTICE,
    }


def _pairs(memory: Memory, who: Identity, pairs: Any) -> list[dict[str, Any]]:
    return [pair for each in pairs if (pair := _pair(memory, who, each)) is not None]


def _pair(memory: Memory, who: Identity, pair: TurnPair) -> dict[str, Any] | None:
    both = memory.states(who, [pair.user.id, pair.agent.id])
    if len(both) < 2:
        return None  # forgotten meanwhile
    return {
        "user": answers.memory(both[0]),
        "agent": answers.memory(both[1]),
        "importance": pair.importance,
        "access_count": pair.access_count,
        "topic": pair.topic,
    }
