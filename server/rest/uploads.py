"""The operation that imports what another tool exported: one upload, one run, in steps."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from memory_core.errors import Busy
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.interchange import scratch
from memory_core.interchange.sources import registry
from memory_core.interchange.sources.table import FIELDS
from memory_core.records import Identity
from memory_core.text.time.timestamps import iso
from memory_core.validation import LABEL_CHARS
from server.gate import as_known_error
from server.rest.calls import Calls
from server.rest.transfer import IMPORT_BYTES, MOST_BYTES, NDJSON, received

FILE = "application/octet-stream"
PATH = "/import/file"
TOLD_EVERY = 100
"""Entries between two lines of progress."""

FileName = Annotated[
    str,
    Query(
        min_length=1,
        max_length=LABEL_CHARS,
        pattern=r"^[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*$",
        description="the name of the file; its ending tells some forms, such as .md and .csv",
    ),
]
FromForm = Annotated[
    Literal[("", *registry.NAMES)],  # type: ignore[valid-type]
    Query(alias="from", description="the form; empty: recognised"),
]
Column = Annotated[
    list[Annotated[str, Query(pattern=f"^({'|'.join(FIELDS)})=[^=]+$", max_length=LABEL_CHARS)]],
    Query(max_length=len(FIELDS), description="FIELD=NAME of a table; may be repeated"),
]


def add_uploads(router: APIRouter, calls: Calls) -> None:
    """Add the operations to *router*."""
    writes = calls.needs("write")
    scratch.sweep()
    importing: dict[str, Path] = {}  # by agent the folder of the import that is under way

    @router.post(PATH, tags=["transfer"], response_class=StreamingResponse)
    async def import_file(
        request: Request,
        name: FileName = "upload",
        form: FromForm = "",
        dry_run: bool = False,
        strict: bool = False,
        encoding: Annotated[str, Query(pattern="^[A-Za-z0-9_-]{0,30}$")] = "",
        column: Column = [],  # noqa: B006
        who: Identity = writes,
    ) -> Response:
        """Import an export of another tool, a file or a zip archive, as one run.

        Answers lines of `done`, and at last the report, with the `run` that POST /runs/{id}/undo
        takes back. With `dry_run` nothing is stored, with `strict` nothing if anything is wrong.
        """
        if who.agent in importing:
            raise Busy("another import of yours is under way", "wait until it ends, then repeat")
        folder = scratch.make()
        importing[who.agent] = folder

        def ended() -> None:
            scratch.remove(folder)
            if importing.get(who.agent) == folder:  # it is told twice that this has ended
                del importing[who.agent]

        try:
            path, digest = folder / name, hashlib.sha256()
            with path.open("wb") as to:
                async for part in received(request, IMPORT_BYTES if who.admin else MOST_BYTES):
                    digest.update(part)
                    to.write(part)
        except BaseException:
            ended()
            raise
        columns = dict(each.split("=", 1) for each in column)
        called = f"upload {digest.hexdigest()[:32]} as {name}"
        asked = ImportRequest(str(path), form, columns, encoding, dry_run, strict, called, name)
        steps = _Steps(calls, who, asked, ended)
        await steps.begun()
        return StreamingResponse(steps.lines(), media_type=NDJSON)


class _Steps:
    """One import under way. It goes on when nobody reads its lines any more, but for a dry run."""

    def __init__(
        self, calls: Calls, who: Identity, asked: ImportRequest, end: Callable[[], None]
    ) -> None:
        """Begin to import *asked*; *end* is called at the end."""
        loop = asyncio.get_running_loop()
        self._unread = threading.Event() if asked.dry_run else None
        self._new = asyncio.Event()
        self._done = 0

        def progress(done: int, total: int, message: str) -> None:
            del total, message
            if done % TOLD_EVERY == 0:
                self._done = done
                loop.call_soon_threadsafe(self._new.set)

        def ended(_: Future[ImportReport]) -> None:
            end()  # it may never have begun
            loop.call_soon_threadsafe(self._new.set)

        def work() -> ImportReport:
            try:
                return calls.memory.import_files(who, asked, progress)
            finally:
                end()  # before the report is told, for the next import may come at once

        self._future = calls.submit(work, self._unread)
        self._future.add_done_callback(ended)

    async def begun(self) -> None:
        """Wait for the first entry. Raises what refuses the whole import."""
        with self._read():
            await self._new.wait()
        if self._future.done():
            self._report()

    async def lines(self) -> AsyncIterator[str]:
        """How far it is, and its report."""
        with self._read():
            async for line in self._told():
                yield line

    @contextmanager
    def _read(self) -> Iterator[None]:
        """Somebody reads meanwhile; a dry run stops where that ends early."""
        try:
            yield
        except BaseException:
            if self._unread is not None:
                self._unread.set()
            raise

    async def _told(self) -> AsyncIterator[str]:
        told = 0
        while not self._future.done():
            self._new.clear()
            if self._done > told:
                told = self._done
                yield json.dumps({"done": told}) + "\n"
            if not self._future.done():
                await self._new.wait()
        try:
            yield json.dumps(_shown(self._report()), ensure_ascii=False) + "\n"
        except Exception as problem:  # the answer has begun: told in its last line
            yield json.dumps({"error": str(problem)}) + "\n"

    def _report(self) -> ImportReport:
        try:
            return self._future.result()
        except Exception as problem:  # a call ends here
            raise as_known_error(problem, "an import") from None


def _shown(report: ImportReport) -> dict[str, Any]:
    values = {field.name: getattr(report, field.name) for field in fields(report)}
    times = {
        name: None if values[name] is None else iso(values[name]) for name in ("first", "last")
    }
    return values | times
