"""Every refusal is a problem document with a code and the next step; the door's as well."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx2
import pytest

from tests.server.rest.test_rights import operations

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
UNKNOWN = "0" * 20
SECRET = "what a memory says"


def refusal(done: Any, status: int, code: str) -> Any:
    assert done.status_code == status, done.text
    assert done.headers["content-type"] == "application/problem+json"
    said = done.json()
    assert (said["status"], said["code"]) == (status, code)
    assert all(said[name] for name in ("title", "detail", "next_step"))
    assert said["type"] == "about:blank"
    return said


async def test_the_door_refuses_with_a_problem_document(app: Any, ana: Any) -> None:
    token = ana.headers["authorization"]
    transport = httpx2.ASGITransport(app=app)
    cases = [
        ({}, 401, "unauthorized"),
        ({"authorization": "Bearer wrong"}, 401, "unauthorized"),
        ({"authorization": token, "host": "evil.example"}, 421, "unknown_host"),
        ({"authorization": token, "origin": "http://evil.example"}, 403, "scope_denied"),
        ({"authorization": token, "content-length": "9999999"}, 413, "too_large"),
    ]
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:7832") as bare:
        for headers, status, code in cases:
            for path in ("/api/v1/stats", "/api/v1/nothing", "/mcp"):
                answer = await bare.get(path, headers=headers)
                refusal(answer, status, code)
                if status == 401:
                    assert "anamnesis token add" in answer.json()["next_step"]


BODIES: list[tuple[str, Any, str]] = [
    ("/memories", {"text": "x", "speeker": "Mara"}, "speeker"),
    ("/memories", {}, "text"),
    ("/memories", {"text": 5}, "text"),
    ("/memories", {"text": "x", "importance": True}, "importance"),
    ("/memories", {"text": "x", "importance": "0.5"}, "importance"),
    ("/memories", {"text": "x", "importance": 1.01}, "importance"),
    ("/memories", {"text": "x", "tags": "sea"}, "tags"),
    ("/memories", {"text": "x", "tags": ["sea", 5]}, "tags[1]"),
    ("/memories", {"text": "x", "kind": "poem"}, "kind"),
    ("/memories", {"text": "x", "when": "yesterday"}, "when"),
    ("/memories", {"text": "x", "session": "a\nb"}, "session"),
    ("/memories", {"text": " "}, "text"),
    ("/memories", {"text": "\u001f\u200b"}, "text"),
    ("/memories", [], ""),
    ("/memories", "x", ""),
    ("/recall", {"query": "x", "k": 0}, "k"),
    ("/recall", {"query": "x", "k": 51}, "k"),
    ("/recall", {"query": "x", "k": 2.5}, "k"),
    ("/recall", {"query": "x" * 2001}, "query"),
    ("/recall", {"query": "x", "weights": {"recency": 2}}, "weights.recency"),
    ("/recall", {"query": "x", "weights": {"speed": 1}}, "weights.speed"),
    ("/forget", {"ids": ["../x"]}, "ids[0]"),
    ("/consolidate", {"mode": "dream"}, "mode"),
    ("/clear", {"confirm": 1}, "confirm"),
    (f"/memories/{'0' * 20}/votes", {"query": "x", "value": True}, "value"),
]


@pytest.mark.parametrize(("path", "body", "field"), BODIES)
async def test_a_wrong_field_is_named(chief: Any, path: str, body: Any, field: str) -> None:
    said = refusal(await chief.post(path, json=body), 422, "invalid_input")
    assert said["errors"][0]["field"] == field
    assert field in said["detail"]
    assert "pattern" not in said["detail"], "nobody reads an expression"


async def test_an_unknown_field_is_answered_with_the_known_ones(ana: Any) -> None:
    cases = [
        ("PATCH", f"/memories/{UNKNOWN}", {"tag": []}, "text, tags, importance"),
        ("POST", "/recall", {"query": "x", "weights": {"speed": 1}},
         "recency, importance, half_life_days, variety"),
        ("POST", f"/runs/{UNKNOWN}/undo", {"why": "x"}, "none"),
    ]  # fmt: skip
    for method, path, body, allowed in cases:
        said = refusal(await ana.request(method, path, json=body), 422, "invalid_input")
        assert said["next_step"] == f"allowed there are: {allowed}"
    misspelt = refusal(await ana.post("/observe", json={"rolle": "user"}), 422, "invalid_input")
    assert misspelt["detail"] == "role: it is missing"
    assert misspelt["next_step"].startswith("allowed there are: role, content, ")


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_time_whose_offset_leads_out_of_the_calendar_is_refused(
    ana: Any, when: str
) -> None:
    """No answer could show it, and no import takes back what an export holds of it."""
    bodies = {
        "/memories": {"text": "The key is under the mat."},
        "/observe": {"role": "user", "content": "I have put the key under the mat."},
        "/extract": {"text": "The key is under the mat."},
    }
    for path, body in bodies.items():
        said = refusal(await ana.post(path, json={**body, "when": when}), 422, "invalid_input")
        assert "years 1 to 9999" in said["detail"]
    assert (await ana.get("/memories", params={"since": when})).status_code == 200


async def test_unknown_and_repeated_parameters_are_refused(ana: Any) -> None:
    said = refusal(await ana.get("/memories", params={"limitt": 5}), 422, "invalid_input")
    assert "limitt" in said["detail"]
    assert "limit" in said["next_step"]
    twice = await ana.get("/memories", params=[("limit", 5), ("limit", 6)])
    assert "limit" in refusal(twice, 422, "invalid_input")["detail"]
    for query in ({"limit": 0}, {"state": "lost"}, {"since": "x"}, {"cursor": "x"}):
        refusal(await ana.get("/memories", params=query), 422, "invalid_input")
    refusal(await ana.get("/stats", params={"x": 1}), 422, "invalid_input")


HOSTILE = {
    "deep": b"[" * 100_000,
    "deep surrogates": b'{"text": ' + b"[" * 700 + b'"\\ud800"' + b"]" * 700 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "no end": b'{"text": "x"',
    "not utf-8": b'{"\xff\xfe": 1}',
    "empty": b"",
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "nan": b'{"importance": NaN}',
    "infinity": b'{"k": -Infinity}',
    "huge number": b'{"importance": 1e999}',
    "many digits": b'{"k": ' + b"9" * 5000 + b"}",
    "twice": b'{"text": "x", "query": "x", "text": "y"}',
    "twice inside": b'{"weights": {"recency": 0.1, "recency": 0.2}}',
    "unknown": b'{"__class__": "x"}',
}
JSON_OPERATIONS = [
    (method, path)
    for _, method, path in operations()
    if method in ("POST", "PATCH") and path not in ("/import", "/import/file")
]


def target(path: str) -> str:
    return path.replace("{id}", UNKNOWN)


async def test_hostile_bodies_are_refused_by_every_operation(chief: Any) -> None:
    await chief.post("/memories", json={"text": "The key is under the mat."})
    assert len(JSON_OPERATIONS) > 15
    for method, path in JSON_OPERATIONS:
        for name, content in HOSTILE.items():
            done = await chief.request(method, target(path), content=content, headers=JSON)
            assert done.status_code in (400, 422), (path, name, done.text)
            refusal(done, done.status_code, done.json()["code"])
            if name.startswith("twice"):
                field = "text" if name == "twice" else "recency"
                assert f'"{field}" is given twice' in done.json()["detail"]
            elif name == "unknown":
                fields = [each["field"] for each in done.json()["errors"]]
                assert "__class__" in fields, (path, fields)
    assert (await chief.get("/stats")).json()["memories"] == 1


async def test_a_body_that_is_not_utf_8_is_refused_and_nothing_of_it_stored(chief: Any) -> None:
    latin = '{"text": "Die Tür der Schüler klemmt.", "query": "Tür"}'.encode("latin-1")
    for charset in ("", "; charset=iso-8859-1"):
        headers = {"content-type": f"application/json{charset}"}
        for method, path in JSON_OPERATIONS:
            done = await chief.request(method, target(path), content=latin, headers=headers)
            said = refusal(done, 422, "invalid_input")
            assert said["detail"] == "the body is not UTF-8, from its byte 15 on"
            assert said["next_step"] == "send it as UTF-8"
    assert (await chief.get("/stats")).json()["memories"] == 0
    marked = b'\xef\xbb\xbf{"text": "Die T\xc3\xbcr klemmt."}'
    stored = await chief.post("/memories", content=marked, headers=JSON)
    id = stored.json()["id"]
    assert (await chief.get(f"/memories/{id}")).json()["text"] == "Die Tür klemmt."


async def test_bodies_are_bounded_whatever_their_length_says(ana: Any) -> None:
    async def chunks() -> Any:
        for _ in range(40):
            yield b'{"text": "' + b"x" * 50_000

    for method, path in JSON_OPERATIONS:
        done = await ana.request(method, target(path), content=chunks(), headers=JSON)
        refusal(done, 413, "too_large")
    refusal(await ana.post("/memories", json={"text": "x" * 20_001}), 413, "too_large")


FORGED = ('["x"]', '[true, "x"]', '[NaN, "x"]', '[1e999, "x"]', f'[{"9" * 400}, "x"]', "[[], {}]")


async def test_forged_cursors_are_refused(ana: Any) -> None:
    for path in ("/memories", "/tags"):
        for key in FORGED:
            cursor = base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")
            done = await ana.get(path, params={"cursor": cursor})
            assert refusal(done, 422, "invalid_input")["detail"].startswith("cursor: ")


async def test_an_import_is_bounded_by_the_rights(
    ana: Any, chief: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.rest.transfer.MOST_BYTES", 1_060_000)
    line = json.dumps({"text": "x" * 15_000}).encode() + b"\n"
    types = {"content-type": "application/x-ndjson"}
    body = line * 71  # above the limit of other requests, and of those who are no admin
    refusal(await ana.post("/import", content=body, headers=types), 413, "too_large")
    done = await chief.post("/import", content=body, headers=types)
    assert done.status_code == 200
    assert len(done.text.splitlines()) == 71


async def test_types_and_methods_and_paths(ana: Any) -> None:
    for path in ("/memories", "/recall", "/import", f"/runs/{UNKNOWN}/undo"):
        plain = await ana.post(path, content=b"{}", headers={"content-type": "text/plain"})
        refusal(plain, 415, "unsupported_media_type")
    bare = refusal(await ana.post("/consolidate"), 415, "unsupported_media_type")
    assert (bare["detail"], "{}" in bare["next_step"]) == ("there is no body", True)
    lines = refusal(await ana.post("/import"), 415, "unsupported_media_type")
    assert lines["next_step"] == "send one, of application/x-ndjson"
    form = {"content-type": "application/x-www-form-urlencoded"}
    patched = await ana.patch(f"/memories/{UNKNOWN}", content=b"{}", headers=form)
    refusal(patched, 415, "unsupported_media_type")
    refusal(await ana.post("/stats"), 405, "method_not_allowed")
    allowed = (await ana.request("OPTIONS", f"/memories/{UNKNOWN}")).headers["allow"]
    assert allowed == "GET, PATCH"
    refusal(await ana.get("/recall"), 405, "method_not_allowed")
    refusal(await ana.get("/nothing"), 404, "not_found")
    refusal(await ana.get("/agents/a%0Ab/state"), 404, "not_found")
    assert (await ana.post("/recall", json={"query": "x", "k": 5.0})).status_code == 200
    refusal(await ana.get(f"/memories/{UNKNOWN}"), 404, "not_found")
    refusal(await ana.get("/memories/short"), 422, "invalid_input")
    pair = {"older": "000000", "newer": "000001", "decision": "merge"}
    refusal(await ana.post("/contradictions/decide", json=pair), 404, "not_found")
    refusal(await ana.post(f"/runs/{UNKNOWN}/undo", json={}), 404, "not_found")


async def test_an_internal_fault_names_no_memory(ana: Any, memory: Any) -> None:
    def broken(who: Any) -> None:
        raise ValueError("the secret text of a memory")

    memory.stats = broken
    said = refusal(await ana.get("/stats"), 500, "storage")
    assert "secret" not in json.dumps(said)
    assert "ValueError" in said["detail"]


async def test_an_answer_that_cannot_be_made_is_a_problem_document_too(
    app: Any, ana: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(done: Any) -> None:
        raise ValueError(done.gist or SECRET)

    monkeypatch.setattr("server.rest.answers.receipt", broken)
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(
        transport=transport, base_url=ana.base_url, headers=ana.headers
    ) as client:
        done = await client.post("/memories", json={"text": "The key is under the mat."})
    said = refusal(done, 500, "storage")
    assert "ValueError" in said["detail"]
    assert "ValueError at" in caplog.text, "the log says where"
    assert SECRET not in json.dumps(said) + caplog.text


@pytest.mark.parametrize(
    ("path", "kind"), [("import", "x-ndjson"), ("import/file", "octet-stream"), ("recall", "json")]
)
async def test_a_client_that_leaves_while_it_sends_is_no_failure(
    app: Any, ana: Any, caplog: pytest.LogCaptureFixture, path: str, kind: str
) -> None:
    parts = [
        {"type": "http.request", "body": b'{"text": "half of a li', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Any:
        return parts.pop(0) if len(parts) > 1 else parts[0]

    async def send(message: Any) -> None:
        """Nobody hears it."""

    request = ana.build_request("POST", f"/{path}", headers={"content-type": f"application/{kind}"})
    scope = {
        "type": "http", "method": "POST", "path": request.url.path, "query_string": b"",
        "http_version": "1.1", "scheme": "http", "root_path": "", "client": ("127.0.0.1", 1),
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
    }  # fmt: skip
    await app({**scope, "raw_path": request.url.raw_path, "server": None}, receive, send)
    assert caplog.text == ""
