"""Operations that stream or sweep: events, export, import, and deleting everything."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import zipfile
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import Response, StreamingResponse

from memory_core.browse import News
from memory_core.errors import Busy, MemoryCoreError
from memory_core.interchange import jsonl, okf
from memory_core.interchange.other_forms import FORMS
from memory_core.records import Identity
from memory_core.storage.backup import copies
from server import __version__
from server.rest import answers, bodies
from server.rest.calls import Calls, answer

NDJSON = "application/x-ndjson"
IMPORT_BYTES = 256 * 1024 * 1024
"""Of one import by an admin; others may send MOST_BYTES."""
MOST_BYTES = 16 * 1024 * 1024
IN_MEMORY = 1024 * 1024
"""Of an import; more lies in a temporary file, which has no name."""
EXPORTED = 200
"""Memories that are read at once."""
IMPORTED = 25
"""Records that are imported in one call; some hundred milliseconds of the model."""

POLL_SECONDS = 0.5
TOLD = 500
"""Ids of changed memories in one event, at most."""
PAUSE_SECONDS = 15.0
"""Silence after which a comment keeps the stream open."""

OKF = "okf"
EXPORTS = {
    "jsonl": NDJSON,
    "server-memory": NDJSON,
    "mem0": "application/json",
    "csv": "text/csv",
    OKF: "application/zip",
}
"""The media type of each form of an export."""

Form = Annotated[
    Literal["jsonl", "server-memory", "mem0", "csv", "okf"],
    Query(description="the form: of this program, of another tool, or a folder of Markdown"),
]
After = Annotated[
    str,
    Query(
        pattern="^(0|[A-Za-z0-9_-]{38})?$",
        description="the id of the last event seen; empty: from now, 0: from the beginning",
    ),
]


def add_transfer(router: APIRouter, calls: Calls) -> None:
    """Add the operations to *router*."""
    reads = calls.needs("read")
    writes = calls.needs("write")
    admins = calls.needs("admin")

    @router.get("/events", tags=["transfer"], response_class=StreamingResponse)
    async def events(request: Request, after: After = "", who: Identity = reads) -> Response:
        """Changes of memories as server-sent events, with the ids of what changed."""
        last = request.headers.get("last-event-id") or after
        place = {"": None, "0": ""}.get(last, last)
        first = await calls.run(lambda: calls.memory.news(who, place))
        return StreamingResponse(
            _events(calls, who, first),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store"},
        )

    @router.get("/export", tags=["transfer"], response_class=StreamingResponse)
    async def export(format: Form = "jsonl", who: Identity = reads) -> Response:
        """Everything that the caller may read, one JSON object a line, with all fields.

        In the form of another tool only what is current, as far as that form holds it; okf is a
        zip archive of Markdown with everything.
        """
        await calls.run(lambda: calls.memory.note_export(who, copies.REST))
        if format == OKF:
            whole = await calls.run(lambda: _zipped(calls.memory.export(who)))
            return Response(whole, media_type=EXPORTS[OKF])
        return StreamingResponse(_exported(calls, who, format), media_type=EXPORTS[format])

    @router.post("/import", tags=["transfer"], response_class=StreamingResponse)
    async def import_memories(request: Request, who: Identity = writes) -> Response:
        """Import lines of JSON as export writes them; answers one line for each.

        A memory keeps its id, and nothing stored is changed, so repeating an import is safe.
        """
        file = await _received(request, IMPORT_BYTES if who.admin else MOST_BYTES)
        return StreamingResponse(_imported(calls, who, file), media_type=NDJSON)

    @router.post("/clear", response_model=answers.ClearedOut, tags=["transfer"])
    async def clear(body: bodies.Clearing, who: Identity = admins) -> Response:
        """Delete everything that the caller owns, for good; needs the right admin."""
        del body
        deleted = await calls.run(lambda: calls.memory.clear(who))
        return answer({"deleted": deleted, "status": "cleared"})


async def _events(calls: Calls, who: Identity, new: News) -> AsyncIterator[str]:
    """The events from *new* on. How long they take and how they are cut tells of nobody else's."""
    begun = not (new.more or new.memories or new.gone)
    yield f"id: {new.place}\n\n" if begun else ": changes\n\n"
    quiet, memories, gone = 0.0, dict.fromkeys(new.memories), dict.fromkeys(new.gone)
    while True:
        if not new.more:
            quiet += POLL_SECONDS
            if memories or gone:
                quiet = 0.0
                parts = [f"event: changed\ndata: {each}\n\n" for each in _told(memories, gone)]
                parts[-1] = f"id: {new.place}\n{parts[-1]}"
                yield "".join(parts)
                memories, gone = {}, {}
            elif quiet >= PAUSE_SECONDS:
                quiet = 0.0
                yield ": nothing new\n\n"
            await asyncio.sleep(POLL_SECONDS)
        try:
            new = await calls.run(partial(calls.memory.news, who, new.place))
        except Busy:
            await asyncio.sleep(POLL_SECONDS)
            continue
        memories |= dict.fromkeys(new.memories)
        gone |= dict.fromkeys(new.gone)


def _told(memories: Collection[str], gone: Collection[str]) -> Iterator[str]:
    """What changed as JSON, TOLD ids at once; what is gone comes last."""
    kept = [id for id in memories if id not in gone]
    for start in range(0, max(len(kept), 1), TOLD):
        ends = start + TOLD >= len(kept)
        some = {"memories": kept[start : start + TOLD], "gone": list(gone) if ends else []}
        yield json.dumps(some)


def _zipped(records: Iterable[Mapping[str, Any]]) -> bytes:
    """The OKF folder of *records* as a zip archive; the same records give the same bytes."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as to:
        for name, text in sorted(okf.files(records, __version__).items()):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            to.writestr(entry, text)
    return whole.getvalue()


async def _exported(calls: Calls, who: Identity, form: str) -> AsyncIterator[str]:
    records = calls.memory.export(who)
    if form in FORMS:
        lines = FORMS[form][0](records)
    else:
        lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in records)
    while some := await calls.run(lambda: list(islice(lines, EXPORTED))):
        yield "".join(some)


async def received(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body in parts. Raises 413 above *most* bytes."""
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise HTTPException(
                413, (f"the body is over {most} bytes", "send it in parts, or as an admin")
            )
        yield part


async def _received(request: Request, most: int) -> IO[bytes]:
    """The body in a file, at its beginning."""
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed when it is imported
    try:
        async for part in received(request, most):
            file.write(part)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


async def _imported(calls: Calls, who: Identity, file: IO[bytes]) -> AsyncIterator[str]:
    """A line for each line of *file*: its number with id and status, or the problem."""
    with file:
        lines = enumerate(file, start=1)
        while some := list(islice(lines, IMPORTED)):
            try:
                done = await calls.run(partial(_import, calls, who, some))
            except MemoryCoreError as problem:  # of the call, not of a record
                yield json.dumps({"line": some[0][0], "error": str(problem)}) + "\n"
                return
            yield "".join(json.dumps(each) + "\n" for each in done)


def _import(calls: Calls, who: Identity, lines: list[tuple[int, bytes]]) -> list[dict[str, Any]]:
    return list(_each(calls, who, lines))


def _each(calls: Calls, who: Identity, lines: list[tuple[int, bytes]]) -> Iterator[dict[str, Any]]:
    for number, line in lines:
        try:
            for _, record in jsonl.read_records([line.decode("utf-8", "replace")]):
                receipt = calls.memory.bring_in(who, record)
                more = {"warnings": list(receipt.warnings)} if receipt.warnings else {}
                yield {"line": number, "id": receipt.id, "status": receipt.status, **more}
        except MemoryCoreError as problem:
            yield {"line": number, "error": str(problem).replace("line 1 ", "the line ")}
