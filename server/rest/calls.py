"""What every operation shares: whose call it is, its right, the gate, and ETags."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from hashlib import blake2s
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from memory_core.records import Identity, RunReport
from server.gate import Gate, as_known_error
from server.identity import caller
from server.protocol import messages, structure
from server.protocol.arguments import shown
from server.protocol.calling import calling
from server.protocol.long_runs import Runs

if TYPE_CHECKING:
    from memory_core.memory import Memory

T = TypeVar("T")

CLIENT = "rest"
"""The client of what is stored here, in its history."""

_LATE = "repeat the call; what was stored is not stored twice"
_VOLATILE = ("access_count", "last_accessed")
"""Fields that reading changes; an ETag does not follow them."""


class Needs:
    """The caller, as a dependency of an operation that needs *rights*."""

    def __init__(self, calls: Calls, rights: Sequence[str]) -> None:
        """No *rights*: every token may call it."""
        self._calls = calls
        self.rights = tuple(rights)

    async def __call__(self) -> Identity:
        """The caller. Raises ScopeDenied when it lacks one of the rights."""
        return self._calls.who(*self.rights)


class StrictRequest(Request):
    """A request whose JSON is refused where it names a field twice, or holds NaN or infinity.

    So is what is not UTF-8: its letters would be lost, and no answer says so.
    """

    async def json(self) -> Any:
        """The body. Raises HTTPException, or a ValueError for what is no JSON."""
        body = await self.body()
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as problem:
            wrong = f"the body is not UTF-8, from its byte {problem.start} on"
            raise HTTPException(422, (wrong, "send it as UTF-8")) from None
        repaired = messages.readable(body).encode("utf-8")
        return json.loads(repaired, object_pairs_hook=_once, parse_constant=_no_number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise HTTPException(422, (f"{shown(name)} is given twice", "give it once"))
        found[name] = value
    return found


def _no_number(name: str) -> Any:
    raise HTTPException(422, (f"{name} is no number of JSON", "give a finite number"))


class RightsFirst(APIRoute):
    """A route that refuses who lacks a right of its operation before the request is read."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a request."""
        handle = super().get_route_handler()
        needed = [each.call for each in self.dependant.dependencies if isinstance(each.call, Needs)]
        assert needed, f"{self.path} says in no `who` which right it needs"

        async def handle_after_rights(request: Request) -> Response:
            for need in needed:
                await need()
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_after_rights


class Calls:
    """Runs the work of operations over one memory, with the rights and limits of the tools."""

    def __init__(
        self,
        memory: Memory,
        owner: Identity,
        gate: Gate,
        runs: Runs,
        clock: Callable[[], float],
        engine: structure.Serving,
    ) -> None:
        """*owner* is the caller where there is no token; *clock* returns epoch seconds.

        *engine* says for a health report what process this is.
        """
        self.memory = memory
        self.owner = owner
        self.clock = clock
        self.engine = engine
        self._gate = gate
        self._runs = runs

    def who(self, *rights: str) -> Identity:
        """The caller. Raises ScopeDenied when it lacks one of *rights*."""
        for right in rights:
            caller(self.owner, right)
        return caller(self.owner)

    def needs(self, *rights: str) -> Any:
        """The default of an operation's `who`: the caller, refused before its body is looked at."""
        return Depends(Needs(self, rights))

    async def run(self, work: Callable[[], T]) -> T:
        """The result of *work*, in a thread and behind the gate. Raises a MemoryCoreError."""
        try:
            with calling(CLIENT):
                return await self._gate.run(work, late=_LATE)
        except HTTPException:
            raise
        except Exception as problem:  # a call ends here
            raise as_known_error(problem, "an operation") from None

    def submit(self, work: Callable[[], T], flag: threading.Event | None) -> Future[T]:
        """Begin *work* in a thread and behind the gate, without a deadline; see Gate.submit."""
        return self._gate.submit(work, flag=flag)

    async def consolidate(self, who: Identity, **given: Any) -> RunReport:
        """The report of a run; its status is running after the deadline, and it goes on."""

        async def unheard(done: int, total: int, message: str) -> None:
            del done, total, message

        try:
            return await self._runs.wait(
                (who, *sorted(given.items())),
                lambda progress: self.memory.consolidate(who, progress=progress, **given),
                unheard,
            )
        except Exception as problem:  # a call ends here
            raise as_known_error(problem, "a run") from None


def etag(shown: dict[str, Any]) -> str:
    """The version of a memory as it is *shown*."""
    kept = {name: value for name, value in shown.items() if name not in _VOLATILE}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=True)
    return f'"{blake2s(text.encode(), digest_size=12).hexdigest()}"'


def unmodified(request: Request, tag: str) -> bool:
    """True when the caller has this version already."""
    known = request.headers.get("if-none-match", "")
    return known == "*" or tag in [each.strip().removeprefix("W/") for each in known.split(",")]


def is_guarded(request: Request) -> bool:
    """True when the caller asks for certain versions to be changed."""
    return request.headers.get("if-match", "") not in ("", "*")


def require_version(request: Request, tag: str) -> None:
    """Raise 412 when the caller asks for another version to be changed."""
    wanted = request.headers.get("if-match", "")
    if is_guarded(request) and tag not in [each.strip() for each in wanted.split(",")]:
        raise HTTPException(412, ("the memory was changed meanwhile", "get it again, then decide"))


def answer(content: Any, status: int = 200, **headers: str) -> JSONResponse:
    """*content*, which is JSON already, as a response; nothing validates it again."""
    return JSONResponse(content, status, headers or None)
