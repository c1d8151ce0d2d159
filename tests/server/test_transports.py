"""The real server and memory in every protocol revision: over stdio, alone and with an engine,
Streamable HTTP and SSE."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import engines
import httpx2
import pytest
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ResourceTemplateReference
from processes import Processes, keep

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.storage.locks import FileLock
from server.http.tokens import Tokens

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60.0
END_SECONDS = 30.0
"""It takes two when clients hold streams open; a busy machine takes longer."""

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("processes")]


class Listening:
    """A server process that listens on a free port."""

    def __init__(self, processes: Processes, folder: Path, *flags: str) -> None:
        self.folder = folder
        self._processes = processes
        self.process = processes.start(
            *[sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0"],
            *flags,
            env={**os.environ, "ANAMNESIS_DATA_DIR": str(folder), "ANAMNESIS_OFFLINE": "1"},
        )
        self.url = processes.says(self.process, r"serving (http://\S+)/mcp")[1]

    @property
    def told(self) -> str:
        """Everything that it said."""
        return self._processes.told(self.process)

    @property
    def token(self) -> str:
        return (self.folder / "token").read_text().strip()

    def end(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(END_SECONDS)
        finally:
            self.process.kill()


@pytest.fixture(scope="module")
def listening(
    tmp_path_factory: pytest.TempPathFactory, processes_of_a_file: Any
) -> Iterator[Listening]:
    with processes_of_a_file() as processes:
        server = Listening(processes, tmp_path_factory.mktemp("http") / "data")
        yield server
        assert server.end() == 0, "SIGTERM ends it"


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory whose engine the clients of this file share."""
    folder = tmp_path_factory.mktemp("engine") / "data"
    keep(folder)
    yield folder
    engines.end(folder)


@pytest.fixture(params=["stdio", "engine", "http", "sse"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A protocol revision that the client offers: the SDK's own would be the newest of its era."""
    if request.param < "2026":
        monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", request.param)
    return str(request.param)


FEW = (VERSIONS[0], VERSIONS[3], VERSIONS[4])
"""Enough where each session starts a process: the first, the last of its era, the newest."""
SESSIONS = [
    *[(transport, version) for transport in ("stdio", "engine") for version in FEW],
    *[(transport, version) for transport in ("http", "sse") for version in VERSIONS],
]


@pytest.fixture
def mode(version: str) -> str:
    return "auto" if version == VERSIONS[-1] else "legacy"


@pytest.fixture
def folder(transport: str, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The data directory of the server that `target` connects to."""
    if transport == "stdio":
        return tmp_path / "data"
    if transport == "engine":
        return Path(request.getfixturevalue("sharing"))
    return Path(request.getfixturevalue("listening").folder)


@pytest.fixture
def target(transport: str, mode: str, request: pytest.FixtureRequest, folder: Path) -> Any:
    """A context manager that gives a client over the transport in the era."""

    @asynccontextmanager
    async def connected(**more: Any) -> AsyncIterator[Client]:
        more |= {"mode": mode, "read_timeout_seconds": SECONDS}
        if transport in ("stdio", "engine"):
            shared = "on" if transport == "engine" else "off"
            stdio = StdioServerParameters(
                command=sys.executable,
                args=["-m", "server", "--data-dir", str(folder)],
                env={"ANAMNESIS_OFFLINE": "1", "ANAMNESIS_SHARED": shared},
                cwd=ROOT,
            )
            async with Client(stdio, **more) as client:
                yield client
            return
        server: Listening = request.getfixturevalue("listening")
        headers = {"authorization": f"Bearer {server.token}"}
        if transport == "sse":
            async with Client(sse_client(f"{server.url}/sse", headers=headers), **more) as client:
                yield client
            return
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
            stream = streamable_http_client(f"{server.url}/mcp", http_client=http)
            async with Client(stream, **more) as client:
                yield client

    return connected


@pytest.mark.parametrize(("transport", "version"), SESSIONS, indirect=True)
async def test_a_whole_session(target: Any, transport: str, version: str) -> None:
    where = f"{transport}-{version}"
    text = f"The kettle of the office {where} stands on the windowsill"
    async with target() as client:
        assert client.protocol_version == version
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["remember", "recall", "consolidate", "forget", "health"]

        done = await client.call_tool("remember", {"text": text, "session": where})
        assert not done.is_error, done.content[0].text
        id = done.structured_content["id"]

        found = await client.call_tool("recall", {"query": f"kettle {where} windowsill"})
        assert id in [memory["id"] for memory in found.structured_content["memories"]]
        assert id in found.content[0].text

        for arguments, code in (
            ({"query": "x", "k": 0}, "invalid_input: k must be"),
            ({"query": "x", "nonsense": 1}, 'invalid_input: unknown argument "nonsense"'),
            ({"query": "0" * 20}, "not_found: "),
        ):
            refused = await client.call_tool("recall", arguments)
            assert refused.is_error
            assert refused.content[0].text.startswith(code)

        await offers_resources(client, id, text, where)

        prompt = await client.get_prompt("briefing", {"about": "kettle"})
        assert id in prompt.messages[0].content.text

        steps: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            steps.append(done)

        preview = await client.call_tool(
            "consolidate", {"dry_run": True}, progress_callback=progress
        )
        assert preview.structured_content["status"] == "preview"
        assert steps
        assert steps == sorted(set(steps)), "progress rises"

        report = await client.call_tool("health", {})
        assert report.structured_content["status"] in ("ok", "degraded")

        gone = await client.call_tool("forget", {"ids": [id], "confirm": True})
        assert gone.structured_content["status"] == "forgotten"
        refused = await client.call_tool("remember", {"text": text})
        assert refused.structured_content["status"] == "refused"


async def offers_resources(client: Client, id: str, text: str, where: str) -> None:
    """Lists, reads, misses and completes; the memory *id* with *text* is of session *where*."""
    listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
    assert listed == ["memory://recent", "memory://review", "memory://health"]
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.name for template in templates] == ["item", "session", "entity", "topic"]
    contents = (await client.read_resource(f"memory://item/{id}")).contents
    assert text in contents[0].text
    with pytest.raises(MCPError) as missing:
        await client.read_resource("memory://item/unknown")
    assert missing.value.error.code == -32602
    reference = ResourceTemplateReference(uri="memory://session/{id}")
    answer = await client.complete(reference, {"name": "id", "value": where[:-2]})
    assert where in answer.completion.values


@pytest.mark.parametrize("version", FEW, indirect=True)
@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
async def test_a_subscriber_hears_of_what_another_connection_wrote(
    target: Any, hearing: Any, transport: str, version: str
) -> None:
    topic = f"{transport}-{version}"
    async with hearing(target, f"memory://session/{topic}") as (_, heard):
        async with target() as other:  # over stdio that is another process
            await other.call_tool("remember", {"text": f"a note, {topic}", "session": topic})
        await heard.until(f"memory://session/{topic}")
        assert heard.uris == {f"memory://session/{topic}"}


@pytest.mark.parametrize("version", VERSIONS[-2:], indirect=True)
async def test_a_cancelled_call_leaves_the_session_usable(
    target: Any, folder: Path, transport: str, version: str
) -> None:
    text = f"the umbrella is in the hall, {transport} {version}"
    lock = FileLock(folder / "write.lock")
    async with target() as client:
        await client.call_tool("recall", {"query": "umbrella"})  # the store is open from here on
        assert lock.acquire(5)  # now a write waits
        try:
            with anyio.move_on_after(0.2) as waiting:
                await client.call_tool("remember", {"text": text})
            assert waiting.cancelled_caught
            assert len((await client.list_tools()).tools) == 5
        finally:
            lock.release()
        again = await client.call_tool("remember", {"text": text})
        assert again.structured_content["status"] in ("stored", "reinforced")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"], indirect=True)
@pytest.mark.parametrize("path", ["mcp", "sse"])
async def test_identity_comes_from_the_token_on_both_paths(
    listening: Listening, path: str, mode: str
) -> None:
    @asynccontextmanager
    async def speaking(token: str) -> AsyncIterator[Client]:
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
            stream = (
                sse_client(f"{listening.url}/sse", headers=headers)
                if path == "sse"
                else streamable_http_client(f"{listening.url}/mcp", http_client=http)
            )
            async with Client(stream, mode=mode, read_timeout_seconds=SECONDS) as client:
                yield client

    ann = Tokens(listening.folder).add(f"ann-{path}-{mode}")  # counts without a restart
    async with speaking(ann) as client:
        done = await client.call_tool("remember", {"text": f"the piano of ann {path} {mode}"})
        id = done.structured_content["id"]
        own = await client.call_tool("recall", {"query": id})
    async with speaking(listening.token) as client:
        foreign = await client.call_tool("recall", {"query": id})
        forbidden = await client.call_tool("forget", {"ids": [id], "confirm": True})
    assert own.structured_content["found"] is True
    for refused in (foreign, forbidden):
        assert refused.is_error
        assert refused.content[0].text.startswith("not_found: ")


async def test_an_open_stream_is_cut_when_its_token_is_revoked(listening: Listening) -> None:
    tokens = Tokens(listening.folder)
    secrets = {name: tokens.add(name) for name in ("leaving", "staying")}
    ended: set[str] = set()

    async def hold(name: str, begun: anyio.Event) -> None:
        headers = {"authorization": f"Bearer {secrets[name]}"}
        async with httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http:
            with suppress(httpx2.HTTPError):  # cut in the middle
                async with http.stream("GET", f"{listening.url}/sse") as answer:
                    async for _ in answer.aiter_lines():
                        begun.set()
        ended.add(name)

    async with anyio.create_task_group() as tasks:
        for name in secrets:
            begun = anyio.Event()
            tasks.start_soon(hold, name, begun)
            await begun.wait()
        tokens.revoke(next(grant.id for grant in tokens.all() if grant.agent == "leaving"))
        with anyio.fail_after(SECONDS):
            while not ended:
                await anyio.sleep(0.02)
        assert ended == {"leaving"}
        tasks.cancel_scope.cancel()


async def test_http_asks_for_the_token_and_healthz_does_not(listening: Listening) -> None:
    async with httpx2.AsyncClient(timeout=SECONDS) as http:
        for path in ("/mcp", "/sse", "/messages/", "/anything"):
            assert (await http.get(f"{listening.url}{path}")).status_code == 401
        assert (await http.get(f"{listening.url}/healthz")).json() == {"status": "ok"}
    assert (listening.folder / "token").stat().st_mode & 0o777 == 0o600


def test_a_listener_open_to_others_needs_a_token(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "server", "serve", "--transport", "http", "--host", "0.0.0.0",
         "--port", "0", "--no-token", "--data-dir", str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "no token is required" in done.stderr
    assert done.stdout == ""


def test_a_client_that_is_installed_before_the_first_start_has_hooks_that_work(
    tmp_path: Path, processes: Processes
) -> None:
    """Its token is the first one, so the server makes none and names no file that is not there."""
    folder = tmp_path / "data"
    install = [sys.executable, "-m", "server", "install", "claude-code", "--http", "--hooks"]
    subprocess.run(
        [*install, "--data-dir", str(folder)],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={
            "PATH": os.defpath,
            "HOME": str(tmp_path),
            "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_SHARED": "off",
        },
    )
    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]
    (handler,) = hooks["UserPromptSubmit"][0]["hooks"]
    server = Listening(processes, folder)
    try:
        said = "The staging database moved to port 6543."
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": said}
        address = server.url + urlsplit(handler["url"]).path
        answer = httpx2.post(address, json=payload, headers=handler["headers"], timeout=60)
        assert answer.status_code == 200
        assert httpx2.post(address, json=payload).status_code == 401
        assert not (folder / "token").exists()
    finally:
        server.end()
    assert str(folder / "token") not in server.told
    with Memory(Settings(data_dir=folder, offline=True)) as memory:
        assert [each.text for each in memory.listing(Identity("me"))] == [said]


def test_a_taken_port_is_said_so(listening: Listening, tmp_path: Path) -> None:
    port = listening.url.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", port,
         "--data-dir", str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr


def test_an_import_that_the_end_of_the_server_cuts_leaves_nothing_in_the_open(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    server = Listening(processes, tmp_path / "data")
    notes = b"".join(b"- The heron number %d waits.\n" % number for number in range(50_000))
    headers = {
        "authorization": f"Bearer {server.token}",
        "content-type": "application/octet-stream",
    }
    with (
        suppress(httpx2.HTTPError),  # the server cuts the answer
        httpx2.stream(
            *("POST", f"{server.url}/api/v1/import/file"),
            params={"name": "birds.md"},
            content=notes,
            headers=headers,
            timeout=SECONDS,
        ) as answer,
    ):
        next(answer.iter_lines())
        assert len(list(scratch.glob("anamnesis-import-*"))) == 1, "it is under way"
        assert server.end() == 0
    assert list(scratch.glob("anamnesis-import-*")) == []


def test_an_idle_stream_does_not_keep_the_server_alive(
    tmp_path: Path, processes: Processes
) -> None:
    server = Listening(processes, tmp_path / "data", "--no-token")
    opened = threading.Event()

    def hold() -> None:
        with (
            httpx2.Client(timeout=SECONDS) as http,
            http.stream("GET", f"{server.url}/sse") as answer,
        ):
            try:
                for _ in answer.iter_lines():
                    opened.set()
            except httpx2.HTTPError:
                pass

    holding = threading.Thread(target=hold, daemon=True)
    holding.start()
    try:
        assert opened.wait(SECONDS)
    finally:
        assert server.end() == 0
    holding.join(SECONDS)
