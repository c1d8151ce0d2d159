"""A real server, and a real Chromium on its page."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import engines
import httpx2
import node_packages
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from processes import keep

from server.engine import client, wanted
from server.engine.launch import NoEngine

FIX = "apt-get install -y chromium; pip install -e '.[page]'; or set CHROMIUM_PATH"


class Server:
    """An engine that serves the page over HTTP, and another client of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "ANAMNESIS_DATA_DIR": str(folder),
            "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_SHARED": "on",
            "ANAMNESIS_PORT": "0",
        }

    def command(self, *words: str, status: int = 0) -> str:
        """What the command line prints; it ends with *status*."""
        ran = subprocess.run(
            [sys.executable, "-m", "server", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert ran.returncode == status, ran.stdout + ran.stderr
        return ran.stdout

    def address(self, *flags: str) -> str:
        """A fresh address of the page, of the running engine or of one that is started."""
        try:
            asked = wanted.find({}, self.environment)
            return client.page(asked, read_only="--read-only" in flags, start=False)
        except NoEngine:
            return self.command("ui", "--no-browser", *flags).strip()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Ask an operation, or another /path, with the first token, as another client does."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self._asked(method, path, data, "application/json"))

    def bring(self, *records: dict[str, Any]) -> None:
        """Import a file of *records* from another client."""
        file = "".join(json.dumps(each) + "\n" for each in records).encode()
        path = "import/file?name=records.jsonl"
        told = self._asked("POST", path, file, "application/octet-stream").splitlines()
        report = json.loads(told[-1])
        assert (report["status"], report["counts"]) == ("completed", {"stored": len(records)})

    def _asked(self, method: str, path: str, data: bytes | None, kind: str) -> bytes:
        url = json.loads((self.folder / "http.json").read_text("utf-8"))["url"]
        token = (self.folder / "token").read_text("ascii").strip()
        asked = urllib.request.Request(
            url + (path if path.startswith("/") else f"/api/v1/{path}"),
            method=method,
            data=data,
            headers={"Authorization": f"Bearer {token}", "Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as refused:
            refused.close()  # it holds the connection
            raise

    def tool(self, name: str, **arguments: Any) -> Any:
        """What a tool answers over MCP, as data."""

        async def called() -> Any:
            token = (self.folder / "token").read_text("ascii").strip()
            url = json.loads((self.folder / "http.json").read_text("utf-8"))["url"]
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
                stream = streamable_http_client(f"{url}/mcp", http_client=http)
                async with Client(stream) as client:
                    return await client.call_tool(name, arguments)

        with ThreadPoolExecutor(1) as apart:  # the browser's driver has a loop in this thread
            answer = apart.submit(lambda: asyncio.run(called())).result()
        assert not answer.is_error, answer
        return answer.structured_content

    def remember(self, text: str, **more: Any) -> str:
        """Store *text* from another client; its id."""
        return str(self.call("POST", "memories", {"text": text, **more})["id"])


@pytest.fixture(scope="session")
def npm(processes_of_a_file: Any) -> Path:
    """The folder node_modules of what package-lock.json names.

    Without npm the test is skipped, or fails where REQUIRE_PAGE=1.
    """
    required = bool(os.environ.get("REQUIRE_PAGE"))
    try:
        if not required and not shutil.which("npm"):
            raise OSError("there is no npm")
        return node_packages.installed(Path(__file__).parent)
    except (OSError, subprocess.SubprocessError) as problem:
        why = f"the page's code is not checked: {problem}; install Node and npm"
        pytest.fail(why) if required else pytest.skip(why)


@pytest.fixture(scope="session")
def served(
    tmp_path_factory: pytest.TempPathFactory, processes_of_a_file: Any
) -> Callable[[], Server]:
    """Starts a server with a data directory of its own; engines.end(its folder) ends it."""

    def start() -> Server:
        started = Server(tmp_path_factory.mktemp("page") / "data")
        keep(started.folder)
        started.address()  # the engine, and its HTTP side
        return started

    return start


@pytest.fixture(scope="module")
def server(served: Callable[[], Server]) -> Iterator[Server]:
    """One server for a whole file: a test counts only what it stored itself."""
    started = served()
    yield started
    engines.end(started.folder)


SHELL = "chromium-headless-shell"
"""Chromium without windows: a page costs half of the processor time of one in the whole browser."""


def chromium(*first: str) -> str:
    """The browser: CHROMIUM_PATH, or what PATH holds, *first* if it is there; "" for none."""
    found = map(shutil.which, (*first, "chromium", "google-chrome"))
    return os.environ.get("CHROMIUM_PATH", "") or next(filter(None, found), "")


@pytest.fixture(scope="module")
def browser(processes_of_a_file: Any) -> Iterator[Any]:
    """Chromium, one for a file: its driver keeps a loop in this thread, which others use after it.

    Without it the test is skipped, or fails where REQUIRE_PAGE=1.
    """
    required = bool(os.environ.get("REQUIRE_PAGE"))
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if sync_playwright is None or not chromium(SHELL):
        said = f"no Chromium or no playwright: {FIX}"
        pytest.fail(said) if required else pytest.skip(said)
    with sync_playwright() as driving:
        opened = driving.chromium.launch(
            executable_path=chromium(SHELL),
            args=["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP evil.test 127.0.0.1"],
        )
        yield opened
        opened.close()


GONE = re.compile(r"status of 404 .*/api/v1/memories/[0-9a-z]{20}(?:/history|/links)?$")
"""A memory that was forgotten elsewhere, of which the feed, a run or a view still tells."""


class Watched:
    """A page, and everything that the console and the network of its browser context said.

    Reports of the content security policy are among it. A test that makes one of these errors
    happen says so with `expects`; any other fails it.
    """

    def __init__(self, context: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self._expected: dict[str, bool] = {}
        context.on("console", lambda m: self._note(m) if m.type == "error" else None)
        context.on("weberror", lambda problem: self.said.append(str(problem.error)))
        context.on("request", lambda request: self.asked.append(request.url))
        self.page = context.new_page()

    def _note(self, message: Any) -> None:
        self.said.append(f"{message.text} {message.location.get('url', '')}".strip())

    def expects(self, *parts: str, sure: bool = True) -> Watched:
        """Let pass each error that holds one of *parts*; where *sure*, there has to be one."""
        self._expected |= dict.fromkeys(parts, sure)
        return self

    def judge(self) -> None:
        """Fail where an error was said that is not expected, or an expected one was not."""
        open = [
            said
            for said in self.said
            if not GONE.search(said) and not any(part in said for part in self._expected)
        ]
        sure = [part for part, sure in self._expected.items() if sure]
        missed = [part for part in sure if not any(part in said for said in self.said)]
        assert (open, missed) == ([], []), "said by the console, and expected but not said"


@pytest.fixture
def opened(browser: Any, server: Server) -> Iterator[Any]:
    """Opens the page: (flags, of=another server, options of the browser's context) -> Watched.

    At the end of the test every page that was opened has said no error but what it expects.
    """
    all_opened = []

    def go(*flags: str, of: Server = server, **more: Any) -> Watched:
        context = browser.new_context(**{"locale": "en-GB", "timezone_id": "UTC", **more})
        context.set_default_timeout(20_000)
        watched = Watched(context)
        all_opened.append((context, watched))
        watched.page.goto(of.address(*flags))
        watched.page.wait_for_selector("h1")
        return watched

    yield go
    for context, _ in all_opened:
        context.close()
    for _, watched in all_opened:
        watched.judge()


@pytest.fixture
def attacker(processes: Any) -> Iterator[str]:
    """The address of another program's page on another port of this machine."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title><body>")

        def log_message(self, *_: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}/"
        serving.shutdown()
