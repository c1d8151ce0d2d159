"""The five tools: each calls the memory and answers in both channels, structure and text."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent, ToolAnnotations

from memory_core.errors import InvalidInput
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity, Recollection, RunReport, Step, is_id, is_prefix
from memory_core.remember.request import RememberRequest
from server.gate import Gate
from server.identity import caller
from server.protocol import patience, rendering, schemas, structure
from server.protocol.calling import calling
from server.protocol.guard import GuardedTool
from server.protocol.long_runs import Runs
from server.protocol.messages import replaced_surrogates

if TYPE_CHECKING:
    from memory_core.memory import Memory

_TRY_AGAIN = "call again; if it stays slow, call health"
_REPEAT = "repeat the same call; a memory that is already stored is not stored twice"
_REVIEW = "read memory://review to see whether it is decided; repeating the call is safe"
_UNCONFIRMED = "nothing was removed; repeat with these ids and confirm to forget them for good"
_LOOK = "preview again to see whether it is deleted; repeating the call is safe"


class Tools:
    """The tool functions over one memory. Names and defaults of arguments are public."""

    def __init__(
        self,
        memory: Memory,
        owner: Identity,
        gate: Gate,
        runs: Runs,
        clock: Callable[[], float],
        engine: structure.Serving,
    ) -> None:
        """*owner* is the caller where there is no token; *clock* returns epoch seconds."""
        self._memory = memory
        self._owner = owner
        self._gate = gate
        self._runs = runs
        self._clock = clock
        self._engine = engine

    async def remember(
        self,
        ctx: Context[Any, Any],
        text: schemas.Text,
        kind: schemas.KindOf = "",
        importance: schemas.Importance = 0.0,
        tags: schemas.Tags = (),
        when: schemas.When = "",
        speaker: str = "",
        session: str = "",
        scope: schemas.WriteScope = "",
        source: str = "",
        replaces: schemas.Replaces = "",
    ) -> Annotated[CallToolResult, schemas.RememberResult]:
        """Store one memory."""
        who = caller(self._owner, "write")
        request = RememberRequest(
            text,
            kind=kind,
            importance=importance,
            tags=tags,
            when=when,
            speaker=speaker,
            session=session,
            scope=scope,
            source=source,
            replaces=replaces,
            trust="agent",
            client=_client_name(ctx),
        )
        (done,) = await self._gate.run(
            lambda: patience.remembered(self._memory, who, request), late=_REPEAT
        )
        count = replaced_surrogates(ctx.request_context.params)
        warnings = [f"{count} invalid characters were replaced by U+FFFD"] if count else []
        return _answer(structure.receipt(done, warnings), rendering.remember)

    async def recall(
        self,
        ctx: Context[Any, Any],
        query: str,
        k: schemas.Hits = schemas.DEFAULT_HITS,
        max_tokens: schemas.Tokens = schemas.DEFAULT_TOKENS,
        scope: schemas.ReadScope = "",
        kinds: schemas.Kinds = (),
        tags: schemas.Tags = (),
        speaker: str = "",
        session: schemas.Conversation = "",
        since: schemas.Since = "",
        until: schemas.Until = "",
        as_of: schemas.AsOf = "",
        context: schemas.Neighbours = 1,
        explain: bool = False,
    ) -> Annotated[CallToolResult, schemas.RecallResult]:
        """Find memories."""
        who = caller(self._owner, "read")
        request = RecallRequest(
            query,
            k=k,
            scope=scope,
            kinds=kinds,
            tags=tags,
            speaker=speaker,
            session=session,
            since=since,
            until=until,
            as_of=as_of,
            context=context,
            explain=explain,
            cut=True,
        )
        with calling(_client_name(ctx)):
            found = await self._gate.run(
                lambda: patience.recalled(self._memory, who, request), late=_TRY_AGAIN
            )
        return _answer(self._shown(request, found, max_tokens), rendering.recall)

    def _shown(
        self, request: RecallRequest, found: Recollection, max_tokens: int
    ) -> dict[str, Any]:
        """*found* in the default form; full where it was asked for by its id, or explained."""
        query, default = request.query.strip(), max_tokens == schemas.DEFAULT_TOKENS
        first = found.hits[0].memory.id if found.hits else ""
        by_id = is_id(query) or (is_prefix(query) and first.startswith(query))
        if by_id and default:
            return structure.whole(found, self._clock())
        if request.explain and default:
            max_tokens = structure.EXPLAINED_TOKENS
        full = by_id or request.explain
        return structure.recollection(found, self._clock(), max_tokens, full=full)

    async def consolidate(
        self,
        ctx: Context[Any, Any],
        mode: schemas.Mode = "sleep",
        session: str = "",
        dry_run: bool = False,
        undo: schemas.Undo = "",
        decide: schemas.Decide = "",
        pair: schemas.Pair = (),
    ) -> Annotated[CallToolResult, schemas.ConsolidateResult]:
        """Turn episodes into knowledge, or decide what holds of a pair in doubt."""
        who = caller(self._owner, "write")
        if decide or pair:
            if undo or dry_run:
                raise InvalidInput(
                    "a decision has no preview and undoes no run",
                    "nothing was changed; decide without dry_run and undo",
                )
            return await self._decided(who, decide, pair)
        done = await self._runs.wait(
            (who, mode, session, dry_run, undo),
            lambda progress: self._memory.consolidate(
                who, mode=mode, session=session, dry_run=dry_run, undo=undo, progress=progress
            ),
            ctx.report_progress,
        )
        texts = structure.says(self._memory, who)  # past the gate: what is done is not refused
        shown = await asyncio.to_thread(structure.run_report, done, texts)
        return _answer(shown, rendering.consolidate)

    async def _decided(self, who: Identity, decision: str, pair: Sequence[str]) -> CallToolResult:
        if not decision or len(pair) != 2:
            raise InvalidInput(
                "a decision needs decide and a pair of two ids", "memory://review lists the pairs"
            )
        older, newer = pair
        done = await self._gate.run(
            lambda: self._memory.resolve(who, older, newer, decision), late=_REVIEW
        )
        run = RunReport("", "completed", (Step("decide", 1, done),))
        return _answer(
            structure.run_report(run, structure.says(self._memory, who)), rendering.consolidate
        )

    async def forget(
        self,
        ids: schemas.Ids = (),
        query: schemas.ForgetQuery = "",
        source: schemas.ForgetSource = "",
        reason: str = "",
        never_again: schemas.NeverAgain = True,
        confirm: bool = False,
    ) -> Annotated[CallToolResult, schemas.ForgetResult]:
        """Delete memories for good."""
        who = caller(self._owner, "write")
        asked = {"ids": ids, "query": query, "source": source}
        given = [name for name, value in asked.items() if value]
        if len(given) > 1:
            raise InvalidInput(f"{' and '.join(given)} were both given", "give one of them")
        done = await self._gate.run(
            lambda: self._memory.forget(
                who,
                ids=ids,
                query=query,
                source=source,
                reason=reason,
                never_again=never_again,
                confirm=confirm,
            ),
            late=_LOOK,
        )
        if done.status == "preview" and done.removed:
            done = replace(done, note="; ".join(filter(None, (_UNCONFIRMED, done.note))))
        return _answer(structure.forget_report(done), rendering.forget)

    async def health(self, repair: bool = False) -> Annotated[CallToolResult, schemas.HealthResult]:
        """Report the state of every part."""
        who = caller(self._owner, "admin" if repair else "read")
        done = await self._gate.run(
            lambda: self._memory.health(who, repair=repair), late=_TRY_AGAIN
        )
        return _answer(structure.health_report(done, self._engine()), rendering.health)


DESCRIPTIONS = {
    "remember": (
        "When the user states a fact, preference, plan, decision or correction worth keeping, or "
        "asks you to remember something: stores it verbatim, durably, at once. Do not store "
        "what recall returned. To correct a memory, pass its id as replaces."
    ),
    "recall": (
        "Before answering anything that may depend on earlier conversations, people, preferences "
        "or decisions: finds memories by meaning, words, names and dates, with a confidence. Ask a "
        "whole question; narrow with filters. An id as query returns that memory whole."
    ),
    "consolidate": (
        "At the end of a long session or when asked to tidy up: groups related memories, writes "
        "summaries with their sources, finds contradictions and duplicates. decide settles a pair "
        "in doubt as the user says. Nothing is deleted; all can be previewed or undone."
    ),
    "forget": (
        "Only when the user asks to delete something: without confirm it returns what would be "
        "deleted; with ids or source and confirm it deletes them for good, with everything derived "
        "only from them."
    ),
    "health": (
        "When a memory tool failed or seems slow or incomplete: checks every part with a real "
        "write, search and delete, and names the fix."
    ),
}

_TITLES = {
    "remember": "Remember",
    "recall": "Recall",
    "consolidate": "Consolidate memories",
    "forget": "Forget",
    "health": "Memory health",
}
_ANSWERS: dict[str, type[schemas.Result]] = {
    "remember": schemas.RememberResult,
    "recall": schemas.RecallResult,
    "consolidate": schemas.ConsolidateResult,
    "forget": schemas.ForgetResult,
    "health": schemas.HealthResult,
}
_HINTS = {
    "remember": ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
    "recall": ToolAnnotations(read_only_hint=True, open_world_hint=False),
    "consolidate": ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
    ),
    "forget": ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
    ),
    "health": ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
}


def build_tools(tools: Tools) -> list[GuardedTool]:
    """The tools in the order of their list, with schemas as short as possible."""
    return [_tool(getattr(tools, name), name) for name in DESCRIPTIONS]


def _tool(function: Callable[..., Any], name: str) -> GuardedTool:
    tool = GuardedTool.from_function(
        function,
        name=name,
        title=_TITLES[name],
        description=DESCRIPTIONS[name],
        annotations=_HINTS[name],
        meta={"anthropic/alwaysLoad": True},
        structured_output=False,
    )
    assert isinstance(tool, GuardedTool)
    tool.parameters = _lean(tool.parameters, ("title",))
    tool.publish(lambda: _output_schema(_ANSWERS[name]))
    return tool


@functools.cache
def _output_schema(answer: type[schemas.Result]) -> dict[str, Any]:
    schema = answer.model_json_schema(mode="validation")
    lean = _lean(schema, ("title", "default", "description", "additionalProperties"))
    return dict(lean)


def _lean(schema: Any, without: tuple[str, ...]) -> Any:
    """*schema* without the keywords *without*, which pydantic adds and which cost tokens."""
    if isinstance(schema, list):
        return [_lean(item, without) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: _lean(inner, without) for key, inner in value.items()}
        if name in ("properties", "$defs")
        else _lean(value, without)
        for name, value in schema.items()
        if name not in without
    }


def _answer(answer: dict[str, Any], draw: Callable[[dict[str, Any]], str]) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=draw(answer))], structured_content=answer)


def _client_name(ctx: Context[Any, Any]) -> str:
    """The name that the client gave at the handshake, or ""."""
    params = ctx.session.client_params
    return params.client_info.name[:100] if params is not None else ""
