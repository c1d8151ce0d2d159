"""Operations that find: recall, observe (store a turn and recall in one call), extract."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from memory_core import validation
from memory_core.recall.request import RecallRequest, Weights
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.protocol import patience
from server.rest import answers, bodies
from server.rest.calls import CLIENT, Calls, answer
from server.rest.memories import Key, keyed

EXTRACT_SECONDS = 15.0
"""That a language model has for one text; the call's own deadline is 20."""


def add_recall(router: APIRouter, calls: Calls) -> None:
    """Add the operations to *router*."""
    memory = calls.memory
    reads = calls.needs("read")
    writes = calls.needs("write")

    @router.post("/recall", response_model=answers.RecollectionOut, tags=["recall"])
    async def recall(body: bodies.Recall, who: Identity = reads) -> Response:
        """Find memories by meaning, words, names and dates, best first, with a confidence."""
        request = recall_request(body)
        found = await calls.run(lambda: patience.recalled(memory, who, request))
        return answer(answers.recollection(found, calls.clock(), body.max_tokens))

    @router.post("/explain", response_model=answers.RecollectionOut, tags=["recall"])
    async def explain(body: bodies.Recall, who: Identity = reads) -> Response:
        """Recall with the reasons and the best rejected candidates; changes nothing."""
        request = recall_request(body.model_copy(update={"explain": True, "rehearse": False}))
        found = await calls.run(lambda: patience.recalled(memory, who, request))
        return answer(answers.recollection(found, calls.clock(), body.max_tokens))

    @router.post("/observe", response_model=answers.ObservationOut, tags=["recall"])
    async def observe(body: bodies.NewTurn, who: Identity = writes) -> Response:
        """Store a turn of a conversation if it is worth it; with `recall` also ask it."""
        if body.recall:
            calls.who("read")
        turn = turn_of(body)
        if not body.recall:
            seen = await calls.run(lambda: memory.observe(who, turn))
            return answer({**answers.observation(seen, reader=who.reader), "recalled": None})
        seen, found = await calls.run(lambda: memory.observe_and_recall(who, turn, k=body.k))
        recalled = answers.recollection(found, calls.clock(), body.max_tokens)
        return answer({**answers.observation(seen, reader=True), "recalled": recalled})

    @router.post("/extract", response_model=answers.ExtractionOut, tags=["recall"])
    async def extract(
        body: bodies.TextToExtract, key: Key = "", who: Identity = writes
    ) -> Response:
        """Store a text, and the facts that the language model finds in it, now."""
        request = RememberRequest(
            body.text,
            when=body.when,
            speaker=body.speaker,
            session=body.session,
            scope=body.scope,
            source=body.source,
            client=CLIENT,
        )
        asked = keyed(request, key)
        return answer(await calls.run(lambda: extracted(calls, who, asked)))


def extracted(calls: Calls, who: Any, request: RememberRequest) -> dict[str, Any]:
    """The answer of extract; a caller that may not read gets ids alone."""
    receipt, facts = calls.memory.extract(who, request, EXTRACT_SECONDS)
    ids = [fact.id for fact in facts]
    shown = calls.memory.states(who, ids) if who.reader else []
    waiting = "" if facts or receipt.status == "refused" else NO_FACTS
    return {
        "receipt": answers.receipt(receipt),
        "facts": [answers.memory(each) for each in shown],
        "ids": ids,
        "count": len(ids),
        "note": waiting,
    }


NO_FACTS = (
    "no facts were extracted in this call: no language model is configured, it did not answer in "
    "time, or it found none; the text itself is stored"
)


def recall_request(body: bodies.Recall) -> RecallRequest:
    """*body* as the memory takes it."""
    return RecallRequest(
        body.query,
        k=body.k,
        scope=body.scope,
        kinds=body.kinds,
        tags=body.tags,
        topic=body.topic,
        entity=body.entity,
        importance=body.importance,
        speaker=body.speaker,
        session=body.session,
        since=body.since,
        until=body.until,
        as_of=body.as_of,
        context=body.context,
        explain=body.explain,
        elsewhere=body.elsewhere,
        project=body.project,
        cut=body.cut,
        rehearse=body.rehearse,
        weights=Weights(**body.weights.model_dump()),
    )


def turn_of(body: bodies.NewTurn) -> ConversationTurn:
    """*body* as the memory takes it."""
    return ConversationTurn(
        body.role,
        body.content,
        timestamp=validation.when(body.when, "when", 0.0) if body.when else None,
        session=body.session,
        speaker=body.speaker,
        scope=body.scope,
        tags=body.tags,
        source=body.source,
        client=CLIENT,
    )
