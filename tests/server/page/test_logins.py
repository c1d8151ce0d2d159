"""One-time codes and the sessions of pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from server.http.app import build_app
from server.http.tokens import Tokens
from server.page import routes
from server.page.logins import CODE_SECONDS, OPEN_SECONDS, Logins
from server.protocol.server import build_server
from server.rest.mount import rest

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
ME = Identity("me", "north")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def logins(clock: Clock) -> Logins:
    return Logins(clock)


@pytest.fixture
def http(memory: Memory, logins: Logins, tmp_path: Path) -> httpx2.AsyncClient:
    app = build_app(
        build_server(memory, owner=ME),
        tokens=Tokens(tmp_path),
        more=[*rest(memory, ME, None), *routes.routes(logins)],
        pages=logins,
    )
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:7832"
    )


def test_a_code_is_good_once_and_for_a_minute(logins: Logins, clock: Clock) -> None:
    code = logins.code(ME, {"read"})
    assert logins.exchange(code) is not None
    assert logins.exchange(code) is None
    late = logins.code(ME, {"read"})
    clock.now += CODE_SECONDS + 1
    assert logins.exchange(late) is None


def test_an_open_page_counts_until_it_stops_asking(logins: Logins, clock: Clock) -> None:
    assert not logins.in_use()
    secret = logins.exchange(logins.code(ME, {"read"}))
    assert secret is not None
    grant = logins.find(secret)
    assert grant is not None
    clock.now += OPEN_SECONDS - 1
    assert logins.granted(grant)
    clock.now += OPEN_SECONDS - 1
    assert logins.in_use()
    clock.now += 2
    assert not logins.in_use()
    logins.end(secret)
    assert logins.find(secret) is None
    assert not logins.granted(grant)


async def test_a_session_has_the_rights_that_were_asked_for(http: Any, logins: Logins) -> None:
    answer = await http.post("/ui/session", json={"code": logins.code(ME, {"read"})})
    token = {"authorization": f"Bearer {answer.json()['token']}"}
    meta = (await http.get("/api/v1/meta", headers=token)).json()
    assert (meta["agent"], meta["team"], meta["rights"]) == ("me", "north", ["read"])
    refused = await http.post("/api/v1/memories", headers=token, json={"text": "a fact"})
    assert refused.status_code == 403


async def test_a_correction_on_the_page_is_the_users(
    http: Any, logins: Logins, tmp_path: Path
) -> None:
    answer = await http.post("/ui/session", json={"code": logins.code(ME, {"read", "write"})})
    for secret, trust in (
        (answer.json()["token"], "user"),
        (Tokens(tmp_path).add("me", "north"), "agent"),
    ):
        token = {"authorization": f"Bearer {secret}"}
        told = {"text": f"The {trust} keeps the key in the shed."}
        old = (await http.post("/api/v1/memories", headers=token, json=told)).json()["id"]
        text = {"text": f"The {trust} keeps the key in the barn."}
        new = await http.patch(f"/api/v1/memories/{old}", headers=token, json=text)
        whole = await http.get(f"/api/v1/memories/{new.json()['id']}", headers=token)
        assert (whole.json()["text"], whole.json()["trust"]) == (text["text"], trust)


@pytest.mark.parametrize(
    "headers", [{"origin": "http://127.0.0.1:9"}, {"sec-fetch-site": "same-site"}]
)
async def test_another_origin_cannot_exchange_a_code(
    http: Any, logins: Logins, headers: dict[str, str]
) -> None:
    code = logins.code(ME, {"read"})
    assert (await http.post("/ui/session", json={"code": code}, headers=headers)).status_code == 403
    assert logins.exchange(code) is not None


@pytest.mark.parametrize("body", [{}, [], {"code": 5}, {"code": "unknown"}])
async def test_what_is_no_code_is_refused(http: Any, body: Any) -> None:
    assert (await http.post("/ui/session", json=body)).status_code == 401


async def test_the_files_need_no_token_and_carry_the_policy(http: Any) -> None:
    for name in ("", "app.js", "style.css", "views/now.js"):
        answer = await http.get(f"/ui/{name}")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    again = await http.get(
        "/ui/app.js", headers={"if-none-match": (await http.get("/ui/app.js")).headers["etag"]}
    )
    assert again.status_code == 304
    for name in ("../routes.py", "%2e%2e/routes.py", "nothing.js"):
        assert (await http.get(f"/ui/{name}")).status_code in (401, 404)


def test_no_script_makes_markup_from_text_or_calls_another_place() -> None:
    for name, (_, plain, _, _) in routes.files().items():
        text = plain.decode("utf-8")
        if not name.startswith("vendor/"):
            assert "innerHTML" not in text, name
            assert "eval(" not in text, name
            assert "https://" not in text, name


def test_the_languages_have_the_same_words() -> None:
    def keys(name: str) -> list[str]:
        text = (routes.FOLDER / "words" / name).read_text("utf-8")
        return [line.split('"')[1] for line in text.splitlines() if line.startswith('  "')]

    assert keys("en.js") == keys("de.js")
    assert len(keys("en.js")) > 100


def test_every_file_of_the_page_gets_into_the_wheel(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    builder = WheelBuilder(str(ROOT))
    packed = {Path(each.distribution_path).as_posix() for each in builder.recurse_included_files()}
    for name in routes.files():
        assert f"server/page/static/{name}" in packed


def test_vendored_libraries_are_named_with_their_licences() -> None:
    spec = importlib.util.spec_from_file_location("vendor_page", ROOT / "tools/vendor_page.py")
    assert spec is not None
    assert spec.loader is not None
    vendor_page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(vendor_page)
    licences = (ROOT / "third_party/page-libraries.txt").read_text("utf-8")
    targets = set()
    for name, (version, _, taken) in vendor_page.PACKAGES.items():
        assert f"{name} {version}" in licences
        targets |= set(taken.values())
    assert {each.name for each in vendor_page.VENDOR.iterdir()} == targets
