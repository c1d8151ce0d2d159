"""Refusals as problem documents (RFC 9457) with our code and the next step."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from memory_core.errors import MemoryCoreError
from memory_core.text.invisible import visible

STATUS = {
    "invalid_input": 422,
    "too_large": 413,
    "not_found": 404,
    "scope_denied": 403,
    "changed_meanwhile": 412,
    "busy": 503,
    "encoder_unavailable": 503,
    "incompatible_store": 500,
    "storage": 500,
    "disk_full": 507,
    "read_only": 503,
}
"""The HTTP status of each code of memory_core.errors."""

CODES = {
    400: "invalid_input",
    401: "unauthorized",
    403: "scope_denied",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    412: "changed_meanwhile",
    413: "too_large",
    415: "unsupported_media_type",
    421: "unknown_host",
    422: "invalid_input",
    503: "busy",
}
"""The code of a refusal that the memory did not raise, by its status."""

RETRY_SECONDS = 1
"""After which a client may repeat a call that was refused as busy."""


def problem(
    status: int, detail: str, next_step: str, *, code: str = "", **more: Any
) -> JSONResponse:
    """The refusal *detail* with what the caller can do, as application/problem+json."""
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code or CODES.get(status, "storage"),
        "detail": visible(detail),
        "next_step": next_step,
        **more,
    }
    headers = {"Retry-After": str(RETRY_SECONDS)} if content["code"] == "busy" else None
    return JSONResponse(content, status, headers, "application/problem+json")


def of_error(error: MemoryCoreError) -> JSONResponse:
    """The refusal for what the memory raised."""
    return problem(STATUS.get(error.code, 500), error.problem, error.next_step, code=error.code)
