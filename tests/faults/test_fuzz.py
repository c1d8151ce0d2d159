"""No input crashes or hangs it: all tools over stdio and HTTP, damaged bytes to every parser."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzz import Http, Stdio, play, tools_of
from fuzzing import STRINGS, damaged

from memory_core import config
from memory_core.beliefs import importance
from memory_core.errors import MemoryCoreError
from memory_core.evaluation import readers
from memory_core.interchange import jsonl
from memory_core.storage.backup import backup
from memory_core.storage.index.vectors import VectorIndex
from memory_core.text import normalise, passages, secrets
from memory_core.text.names import entities
from memory_core.text.time import dates
from server.http.tokens import Tokens
from server.protocol import messages

pytestmark = pytest.mark.usefixtures("processes")

CALLS = 60
TIMES = 150


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [Stdio, Http])
def test_every_call_of_every_tool_is_answered(kind: Any, tmp_path: Path) -> None:
    target = kind(tmp_path / "data")
    try:
        tools = tools_of(target)
        assert len(tools) >= 5
        found = play(target, tools, seed=7, calls=CALLS)
    finally:
        status = target.close()
    assert status == 0
    assert sum(found.values()) >= CALLS
    assert found["done"] > 0
    assert found["invalid_input"] > 0


def survives(parse: Callable[[bytes], object], data: bytes, seed: int) -> None:
    """*parse* answers or raises one of our errors, whatever is done to *data*."""
    draw = random.Random(seed)
    for _ in range(TIMES):
        broken = damaged(data, draw)
        try:
            parse(broken)
        except MemoryCoreError:
            continue
        except Exception as problem:
            raise AssertionError(f"seed {seed}: {broken[:300]!r}") from problem


def test_a_damaged_message(tmp_path: Path) -> None:
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"a": list(STRINGS)}}

    def parse(data: bytes) -> None:
        text = messages.readable(data)
        for answer in (messages.refusal(text), messages.too_long(data)):
            assert answer is None or answer["error"]["message"]

    survives(parse, json.dumps(message).encode(), 1)


def test_a_damaged_export() -> None:
    record = {
        "id": "06h0105d4r04pq8fyv7f", "text": "The heron waits.", "tags": ["a"], "kind": "fact",
        "occurred_at": "2024-05-07T08:00:00Z", "importance": 0.5, "entities": ["Lena"],
    }  # fmt: skip

    def parse(data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                jsonl.from_record(found)

    survives(parse, json.dumps(record).encode(), 2)


@pytest.mark.parametrize("kind", ["locomo", "dialogue", "pairs", "auto"])
def test_a_damaged_file_of_questions(tmp_path: Path, kind: str) -> None:
    dialogue = Path(config.__file__).parent / "evaluation" / "data" / "dialogue.json"
    data = dialogue.read_bytes()[:3000] if kind == "dialogue" else (
        b'[{"query": "Where is the tea?", "relevant_texts": ["The tea is in the tin."]}]'
    )  # fmt: skip
    path = tmp_path / "questions.json"

    def parse(broken: bytes) -> None:
        path.write_bytes(broken)
        list(readers.read(path, kind))

    survives(parse, data, 3)


def test_a_damaged_settings_file(tmp_path: Path) -> None:
    data = b'agent = "me"\n[recall]\ncandidates = 50\n[limits]\nsecrets = "mask"\n'
    path = tmp_path / "settings.toml"

    def parse(broken: bytes) -> None:
        path.write_bytes(broken)
        config.load({"ANAMNESIS_CONFIG": str(path)})

    survives(parse, data, 4)


def test_damaged_tokens(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("me", "", ["read"])
    (path,) = tmp_path.glob("*.json")

    def parse(broken: bytes) -> None:
        path.write_bytes(broken)
        Tokens(tmp_path).find("nothing")

    survives(parse, path.read_bytes(), 5)


def test_a_damaged_backup_manifest(tmp_path: Path) -> None:
    data = json.dumps(
        {"version": 1, "at": 1.0, "sequence": 3, "memories": 3, "bytes": 5, "sha256": "0",
         "damaged": []}
    ).encode()  # fmt: skip

    def parse(broken: bytes) -> None:
        (tmp_path / "backup.json").write_bytes(broken)
        backup.read_manifest(tmp_path)

    survives(parse, data, 6)


@pytest.mark.parametrize("number", range(3))
def test_a_damaged_snapshot(tmp_path: Path, number: int) -> None:
    import numpy as np

    index = VectorIndex(8, exact_limit=1000)
    drawn = np.random.default_rng(1).normal(size=(20, 8)).astype(np.float16)
    index.put_many(np.arange(20), np.zeros(20, np.int64), drawn)
    ids = [f"{each:020d}" for each in range(20)]
    folder = tmp_path / "1"
    folder.mkdir()
    index.frozen(ids).write(folder, sequence=5, fingerprint="toy")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    path = files[number % len(files)]
    rows = {id: each for each, id in enumerate(ids)}

    def parse(broken: bytes) -> None:
        path.write_bytes(broken)
        VectorIndex.load(folder, fingerprint="toy", exact_limit=1000, row=rows.get)

    survives(parse, path.read_bytes(), 7 + number)


def test_any_text_can_be_read() -> None:
    """The parsers of plain text take whatever there is, in bounded time."""
    draw = random.Random(8)
    for _ in range(TIMES):
        text = "".join(draw.choices(STRINGS, k=3))[:3000]
        text = damaged(text.encode("utf-8", "replace"), draw).decode("utf-8", "replace")
        text, _ = normalise.clean(text)
        dates.resolve(text, 1.7e9)
        dates.query_dates(text, 1.7e9)
        entities.entities(text)
        passages.passages(text, packed=False)
        importance.salience(text)
        secrets.mask(text)


def test_standard_input_of_any_bytes_is_imported_line_by_line(tmp_path: Path) -> None:
    draw = random.Random(9)
    for _ in range(20):
        stream = io.BytesIO(damaged(b'{"text": "a"}\n' * 30, draw))
        for line in stream:
            messages.readable(line)
