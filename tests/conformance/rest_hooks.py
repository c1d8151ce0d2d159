"""A check of schemathesis: a request that fits the schema is refused only for what no schema says.

JSON Schema cannot compare two values of a request with each other, nor one with what is stored.
Every such refusal stands here with the condition under which it is right; any other is a failure.
"""

from __future__ import annotations

from typing import Any

import schemathesis


def _given(case: Any) -> dict[str, Any]:
    """The fields of the body and the parameters of the query, by name."""
    body = case.body if isinstance(case.body, dict) else {}
    return {**body, **(case.query or {})}


def _disorder(given: dict[str, Any], detail: str, path: str) -> bool:
    """The period ends in an earlier year than it begins, or in the same one."""
    since, until = str(given.get("since") or ""), str(given.get("until") or "")
    return detail.startswith("since: ") and bool(until) and since[:4] >= until[:4]


def _foreign_cursor(given: dict[str, Any], detail: str, path: str) -> bool:
    """The cursor is of no page of this listing."""
    return detail.startswith("cursor: ") and bool(given.get("cursor"))


def _no_such_change(given: dict[str, Any], detail: str, path: str) -> bool:
    """The memory has no change of that number, or one that cannot be undone."""
    return path == "/memories/{id}/undo" and detail.startswith("change: ")


def _used_key(given: dict[str, Any], detail: str, path: str) -> bool:
    """The idempotency key was used for another body."""
    return "key" in detail and path in ("/memories", "/memories/{id}")


def _ambiguous(given: dict[str, Any], detail: str, path: str) -> bool:
    """Several memories begin with the id."""
    return "{id}" in path and "begin" in detail


def _out_of_calendar(given: dict[str, Any], detail: str, path: str) -> bool:
    """The time is of the first or the last day of all, and its offset leads out of it."""
    return "outside of the years" in detail and str(given.get("when"))[:4] in ("0001", "9999")


RIGHT = (_disorder, _foreign_cursor, _no_such_change, _used_key, _ambiguous, _out_of_calendar)


@schemathesis.check
def refused_only_for_what_no_schema_says(ctx: Any, response: Any, case: Any) -> None:
    """Raise AssertionError for a 422 to what fits the schema, unless one of RIGHT explains it."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code != 422:
        return
    detail, path = response.json()["detail"], case.operation.path
    assert any(each(_given(case), detail, path) for each in RIGHT), (
        f"{path} refuses what fits the schema: {detail}"
    )
