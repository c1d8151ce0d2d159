"""The real server and engine over stdio, Streamable HTTP and SSE, in both protocol eras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from server.auth import Tokens

ROOT = Path(__file__).parent.parent.parent
SECONDS = 60.0

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Listening:
    """A server process that listens on a free port."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0", *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "ANAMNESIS_DATA_DIR": str(folder), "ANAMNESIS_OFFLINE": "1"},
        )
        assert self.process.stderr
        self.said = self.process.stderr.readline()
        found = re.search(r"serving (http://\S+)/mcp", self.said)
        assert found, self.said + self.process.stderr.read()
        self.url = found[1]
        self.draining = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.draining.start()

    @property
    def token(self) -> str:
        return (self.folder / "token").read_text().strip()

    def end(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(5)
        finally:
            self.process.kill()
            self.process.wait(10)
            self.draining.join(10)
            for stream in (self.process.stdout, self.process.stderr):
                assert stream
                stream.close()


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    server = Listening(tmp_path_factory.mktemp("http") / "data")
    yield server
    assert server.end() == 0, "SIGTERM ends it within five seconds"


@pytest.fixture(params=["stdio", "http", "sse"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def target(transport: str, mode: str, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A context manager that gives a client over the transport in the era."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[Client]:
        if transport == "stdio":
            stdio = StdioServerParameters(
                command=sys.executable,
                args=["-m", "server", "--data-dir", str(tmp_path / "data")],
                env={"ANAMNESIS_OFFLINE": "1"},
                cwd=ROOT,
            )
            async with Client(stdio, mode=mode, read_timeout_seconds=SECONDS) as client:
                yield client
            return
        server: Listening = request.getfixturevalue("listening")
        headers = {"authorization": f"Bearer {server.token}"}
        if transport == "sse":
            stream = sse_client(f"{server.url}/sse", headers=headers)
            async with Client(stream, mode=mode, read_timeout_seconds=SECONDS) as client:
                yield client
            return
        async with (
            httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
            Client(
                streamable_http_client(f"{server.url}/mcp", http_client=http),
                mode=mode,
                read_timeout_seconds=SECONDS,
            ) as client,
        ):
            yield client

    return connected


async def test_a_whole_session(target: Any, transport: str, mode: str) -> None:
    text = f"The kettle of the {transport} {mode} office stands on the windowsill"
    async with target() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["remember", "recall", "consolidate", "forget", "health"]

        done = await client.call_tool("remember", {"text": text, "session": f"{transport}-{mode}"})
        assert not done.is_error, done.content[0].text
        id = done.structured_content["id"]

        found = await client.call_tool("recall", {"query": f"kettle {transport} {mode} windowsill"})
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

        contents = (await client.read_resource(f"memory://item/{id}")).contents
        assert text in contents[0].text
        with pytest.raises(MCPError) as missing:
            await client.read_resource("memory://item/unknown")
        assert missing.value.error.code == -32602

        prompt = await client.get_prompt("briefing", {"about": "kettle"})
        assert id in prompt.messages[0].content.text

        preview = await client.call_tool("consolidate", {"dry_run": True})
        assert preview.structured_content["status"] == "preview"

        report = await client.call_tool("health", {})
        assert report.structured_content["status"] in ("ok", "degraded")

        gone = await client.call_tool("forget", {"ids": [id], "confirm": True})
        assert gone.structured_content["status"] == "forgotten"
        refused = await client.call_tool("remember", {"text": text})
        assert refused.structured_content["status"] == "refused"


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
    assert "no token is asked for" in done.stderr
    assert done.stdout == ""


def test_a_taken_port_is_said_so(listening: Listening, tmp_path: Path) -> None:
    port = listening.url.rpartition(":")[2]
    done = subprocess.run(
        [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", port,
         "--data-dir", str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr


def test_an_idle_stream_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    server = Listening(tmp_path / "data", "--no-token")
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
    holding.join(10)
