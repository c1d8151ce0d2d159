"""The document of the operations: committed, current, announced; and the page that shows it."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fastapi.routing import APIRoute

from memory_core.records import Identity
from server.rest import answers, document, reference
from server.rest.app import build_rest

ROOT = Path(__file__).parents[3]
_SPEC = importlib.util.spec_from_file_location("write_openapi", ROOT / "tools/write_openapi.py")
assert _SPEC is not None
assert _SPEC.loader is not None
write_openapi = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(write_openapi)

COMMITTED = (ROOT / "docs/openapi.json").read_text("utf-8")
MADE: Any = json.loads(COMMITTED)


def operations() -> list[Any]:
    return [operation for methods in MADE["paths"].values() for operation in methods.values()]


def test_the_committed_document_is_current() -> None:
    assert write_openapi.text() == COMMITTED, "run tools/write_openapi.py"


def test_the_changelog_names_the_document() -> None:
    digest = write_openapi.digest(COMMITTED)
    assert f"`{digest}`" in (ROOT / "CHANGELOG.md").read_text("utf-8"), (
        f"say in CHANGELOG.md what changed for users of REST, with the digest `{digest}`"
    )


def test_no_operation_blocks_the_event_loop_in_a_thread_of_its_own() -> None:
    """All wait at the same gate; a plain function would run beside it."""
    app = build_rest(None, Identity("me"), None)  # type: ignore[arg-type]
    handlers = [route.endpoint for route in app.routes if isinstance(route, APIRoute)]
    assert len(handlers) >= 30
    assert [each.__name__ for each in handlers if not inspect.iscoroutinefunction(each)] == []


def test_every_operation_is_named_described_and_may_refuse() -> None:
    names = [operation["operationId"] for operation in operations()]
    assert len(names) == len(set(names)) >= 30
    for operation in operations():
        assert operation["description"], operation["operationId"]
        refusal = operation["responses"]["default"]["content"]
        assert list(refusal) == ["application/problem+json"]
        assert "422" not in operation["responses"]
    assert MADE["openapi"].startswith("3.1")


def test_every_body_refuses_unknown_fields_in_its_schema() -> None:
    for operation in operations():
        for content in operation.get("requestBody", {}).get("content", {}).values():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            if name:
                assert MADE["components"]["schemas"][name]["additionalProperties"] is False, name


def test_the_page_shows_every_operation_and_loads_nothing() -> None:
    page = reference.html(MADE)
    for path, methods in MADE["paths"].items():
        for method, operation in methods.items():
            assert f"{method.upper()} {path}" in page
            assert f"id={operation['operationId']}" in page
    assert not re.search(r"<script|src=|https?://", page)
    hostile = {**MADE, "info": {**MADE["info"], "description": "<script>alert(1)</script>"}}
    assert "<script>" not in reference.html(hostile)


@pytest.mark.anyio
async def test_document_and_page_are_served_without_a_token(ana: Any) -> None:
    del ana.headers["authorization"]
    assert (await ana.get("/openapi.json")).json() == MADE
    assert (await ana.get("/meta")).status_code == 401
    assert (await ana.get("/openapi.json", headers={"host": "evil.example"})).status_code == 421
    page = await ana.get("/reference")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "path",
    ["/memories", "/stats", "/topics", "/topics/graph", "/runs", "/contradictions", "/pairs",
     "/agents/ana/state", "/jobs", "/meta", "/health", "/stats/timeline", "/memories/{id}",
     "/memories/{id}/history", "/memories/{id}/links"],
)  # fmt: skip
async def test_answers_fit_their_schemas(ana: Any, clock: Any, path: str) -> None:
    for text in (
        "The team meeting is on Monday at nine.",
        "The team meeting is on Tuesday at ten.",
    ):
        clock.pass_by(86_400)
        done = await ana.post("/memories", json={"text": text, "session": "s"})
    answer = await ana.get(path.replace("{id}", done.json()["id"]))
    named = path.replace("/ana/", "/{agent}/")
    schema = MADE["paths"][named]["get"]["responses"]["200"]["content"]["application/json"][
        "schema"
    ]
    jsonschema.validate(answer.json(), {**schema, "components": MADE["components"]})


@pytest.mark.anyio
async def test_what_a_recall_answers_fits_its_schema(ana: Any) -> None:
    for number in range(4):
        await ana.post("/memories", json={"text": f"The ferry leaves at {number}.", "session": "s"})
    body = {"query": "When does the ferry leave?", "explain": True, "session": "s", "k": 2}
    answer = (await ana.post("/recall", json={**body, "max_tokens": 500})).json()
    answers.RecollectionOut.model_validate(answer, strict=True)
    schema = {"$ref": "#/components/schemas/RecollectionOut", "components": MADE["components"]}
    jsonschema.validate(answer, schema)


@pytest.mark.usefixtures("processes")
def test_the_application_is_imported_with_the_first_request_and_not_before() -> None:
    code = (
        "import sys\n"
        "import server.cli.site, server.cli.serve, server.http.app, server.rest.mount\n"
        "import server.engine.shared, server.stdio.proxy\n"
        "server.rest.mount.rest(None, None, None)\n"
        "print('fastapi' in sys.modules)\n"
        "import server.rest.app\n"
        "print('fastapi' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_the_document_is_made_once() -> None:
    app = build_rest(None, Identity("me"))  # type: ignore[arg-type]
    assert document.of(app) is document.of(app)
