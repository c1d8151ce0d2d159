"""The REST application: its operations, its refusals, its document and the page that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, get_args

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from memory_core.errors import InvalidInput, MemoryCoreError
from memory_core.records import Identity
from server import __version__
from server.gate import CallLimits, Gate, as_known_error
from server.http.app import is_empty
from server.http.problems import of_error, problem
from server.protocol import structure
from server.protocol.arguments import shown
from server.protocol.long_runs import Runs
from server.rest import bodies, document, reference, uploads
from server.rest.calls import Calls, RightsFirst
from server.rest.chatting import add_chat
from server.rest.memories import add_memories
from server.rest.overviews import add_consolidation, add_overview
from server.rest.recalling import add_recall
from server.rest.transfer import NDJSON, add_transfer

if TYPE_CHECKING:
    from memory_core.memory import Memory

ROOT = "/api/v1"

_BODIES = {"/import": NDJSON, uploads.PATH: uploads.FILE}
"""The media types of bodies that are no JSON."""

_NEXT = {
    404: "see the operations at /api/v1/reference",
    405: "see the methods of this path at /api/v1/reference",
    400: "send one JSON object",
}


def build_rest(
    memory: Memory,
    owner: Identity,
    gate: Gate | None = None,
    clock: Callable[[], float] = time.time,
    engine: structure.Serving = structure.unshared,
) -> FastAPI:
    """The application, to be mounted at ROOT behind the door.

    *owner* is the caller where there is no token; *gate* is shared with what else calls *memory*;
    *engine* says for a health report what process this is.
    """
    calls = shared_calls(memory, owner, gate, clock, engine)
    app = FastAPI(
        title="Anamnesis",
        version=__version__,
        description=document.ABOUT,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        redirect_slashes=False,
        dependencies=[Depends(_checked)],
    )
    app.router.route_class = RightsFirst
    for add in (
        add_memories,
        add_recall,
        add_chat,
        add_consolidation,
        add_overview,
        add_transfer,
        uploads.add_uploads,
    ):
        add(app.router, calls)
    app.router.route_class = APIRoute  # the document and its page hold no memories

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return JSONResponse(document.of(app))

    @app.get("/reference", include_in_schema=False)
    async def page() -> Response:
        return reference.page(document.of(app))

    add_refusals(app)
    return app


def build_compat(calls: Calls, add: Callable[[FastAPI, Calls], None]) -> FastAPI:
    """An application of the paths of earlier servers, which *add* adds; see compat."""
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(_checked)],
    )
    app.router.route_class = RightsFirst
    add(app, calls)
    add_refusals(app)
    return app


def shared_calls(
    memory: Memory,
    owner: Identity,
    gate: Gate | None,
    clock: Callable[[], float] = time.time,
    engine: structure.Serving = structure.unshared,
) -> Calls:
    """What operations share; see build_rest."""
    limits = CallLimits()
    gate = gate or Gate(limits.calls, limits.deadline_seconds)
    return Calls(memory, owner, gate, Runs(gate, limits.consolidate_seconds), clock, engine)


def add_refusals(app: FastAPI) -> None:
    """Answer every failure of *app* with a problem document."""
    app.add_exception_handler(MemoryCoreError, _memory_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(ClientDisconnect, _left)
    app.add_exception_handler(Exception, _failed)


async def _checked(request: Request) -> None:
    """Refuse a body that is not of the operation's type, and unknown or repeated parameters."""
    route = request.scope["route"]
    if request.method in ("POST", "PATCH"):
        wanted = _BODIES.get(route.path, "application/json")
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if is_empty(request.headers):
            if not _may_be_empty(route):
                empty = wanted == "application/json"
                next_step = f"send one, of {wanted}" + (": {} at least" if empty else "")
                raise HTTPException(415, ("there is no body", next_step))
        elif given != wanted:
            raise HTTPException(415, (f"the body is not {wanted}", f"send Content-Type: {wanted}"))
    known = {each.alias: each for each in route.dependant.query_params}
    names = [name for name, _ in request.query_params.multi_items()]
    unknown = sorted(set(names) - known.keys())
    if unknown:
        allowed = ", ".join(known) or "none"
        raise InvalidInput(
            f"unknown parameter {shown(unknown[0])}", f"allowed in the query are: {allowed}"
        )
    twice = [name for name in set(names) if names.count(name) > 1 and name not in ("tag", "column")]
    if twice:
        raise InvalidInput(f"{twice[0]} is given twice", "give it once")


def _may_be_empty(route: Any) -> bool:
    bodies = route.dependant.body_params
    return bool(bodies) and not any(each.field_info.is_required() for each in bodies)


async def _memory_error(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, MemoryCoreError)
    return of_error(error)


async def _failed(request: Request, error: Exception) -> Response:
    """What no operation foresees, such as an answer that cannot be made; it is logged."""
    del request
    return of_error(as_known_error(error, "an operation"))


async def _left(request: Request, error: Exception) -> Response:
    """Nobody waits for it: the client left while it sent its body."""
    del request, error
    return Response(status_code=400)


async def _invalid(request: Request, error: Exception) -> Response:
    """The first field that is wrong, and all of them as `errors`."""
    assert isinstance(error, RequestValidationError)
    found = [_explained(each) for each in error.errors()]
    unknown = [each["loc"][1:-1] for each in error.errors() if each["type"] == "extra_forbidden"]
    next_step = "correct it and call again"
    if unknown:
        allowed = ", ".join(_fields(request.scope["route"], unknown[0])) or "none"
        next_step = f"allowed there are: {allowed}"
    first = found[0]
    named = f"{first['field']}: {first['problem']}" if first["field"] else first["problem"]
    return problem(422, named, next_step, errors=found)


def _fields(route: Any, place: Sequence[Any]) -> list[str]:
    """The names that the body of *route* knows at *place* in it."""
    (body,) = route.dependant.body_params
    model = _model(body.field_info.annotation)
    for part in place:
        model = _model(model.model_fields[part].annotation)
    return list(model.model_fields)


def _model(kind: Any) -> type[BaseModel]:
    """The model in the annotation *kind*, which may be optional."""
    found: type[BaseModel]
    found = next(each for each in (kind, *get_args(kind)) if hasattr(each, "model_fields"))
    return found


def _explained(error: Any) -> dict[str, str]:
    place: Sequence[Any] = error["loc"][1:] if len(error["loc"]) > 1 else ()
    if error["type"] == "json_invalid":
        return {"field": "", "problem": "the body is not JSON"}
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    said = {
        "missing": "it is missing",
        "extra_forbidden": "it is unknown",
        "string_pattern_mismatch": bodies.SAID.get(error.get("ctx", {}).get("pattern", "")),
    }.get(error["type"]) or str(error["msg"])
    if error["type"] not in ("missing", "extra_forbidden", "json_invalid"):
        said = f"{said}, got {shown(error.get('input'))}"
    return {"field": field.lstrip("."), "problem": said}


def _methods(request: Request) -> list[str]:
    """The methods that the path of *request* takes, by all of its operations."""
    taken: set[str] = set()
    for route in request.app.router.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            taken |= getattr(route, "methods", None) or set()
    return sorted(taken)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    status, said = error.status_code, error.detail
    if isinstance(said, tuple):
        answer = problem(status, *said)
    elif status == 405:
        answer = problem(405, "this path does not take this method", _NEXT[405])
        answer.headers["Allow"] = ", ".join(_methods(request))
        return answer
    else:
        answer = problem(status, str(said) or "refused", _NEXT.get(status, "correct the request"))
    answer.headers.update(error.headers or {})
    return answer
