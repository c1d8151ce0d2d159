from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.config import EmbeddingSettings, Settings
from memory_core.embedding.base import Embedder, Profile
from memory_core.embedding.embedder import choose
from memory_core.errors import EncoderUnavailable, InvalidInput

DIMENSION = 8
DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
NAN = float("nan")
BACKENDS = ("ollama:tiny", "openai:tiny")
Connect = Callable[..., Embedder]


def vector_of(text: str) -> list[float]:
    """A direction of its own for each text, of length far from one."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return [float(x) for x in np.random.default_rng(seed).normal(size=DIMENSION) * 3]


def unit(text: str) -> NDArray[np.float64]:
    vector = np.array(vector_of(text))
    return vector / np.linalg.norm(vector)


def as_ollama(rows: list[Any]) -> Any:
    return {"model": "tiny", "embeddings": rows}


def as_openai(rows: list[Any]) -> Any:
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return {"object": "list", "data": data[::-1], "model": "tiny"}  # any order is allowed


@pytest.fixture
def speaking(server: Any) -> Any:
    """The server, speaking both protocols; `server.rows` makes the vectors of a request."""
    answer = type(server.reply("", b""))
    server.rows = lambda texts: [vector_of(text) for text in texts]

    def reply(path: str, body: bytes) -> Any:
        if path == "/api/tags":
            models = [{"model": "other:latest", "digest": "ff" * 32}]
            models += [{"model": "tiny:latest", "digest": DIGEST}]
            return answer(200, json.dumps({"models": models}).encode())
        shapes = {"/api/embed": as_ollama, "/v1/embeddings": as_openai}
        if path not in shapes:
            return answer(404)
        rows = server.rows(json.loads(body)["input"])
        return answer(200, json.dumps(shapes[path](rows)).encode())

    server.reply = reply
    return server


@pytest.fixture
def connect(speaking: Any) -> Connect:
    def make(
        name: str, key: str = "", url: str = speaking.url, profile: Profile | None = None
    ) -> Embedder:
        vendors = {"OPENAI_API_KEY": key} if key else {}
        embedding = EmbeddingSettings(url=url)
        return choose(Settings(embedder=name, embedding=embedding, vendors=vendors), profile)

    return make


@pytest.mark.parametrize("name", BACKENDS)
def test_vectors_are_those_of_the_server_at_unit_length_and_in_order(
    name: str, connect: Connect
) -> None:
    embedder = connect(name)
    texts = [f"text {number}" for number in range(70)]  # more than two requests
    vectors = embedder.documents(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [unit(text) for text in texts], atol=1e-6)
    np.testing.assert_allclose(embedder.query("where?"), unit("where?"), atol=1e-6)
    assert embedder.documents([]).shape == (0, DIMENSION)
    assert embedder.dimension == DIMENSION


@pytest.mark.parametrize("name", BACKENDS)
def test_prefixes_go_where_they_belong(name: str, connect: Connect) -> None:
    embedder = connect(name, profile=Profile("query: ", "passage: "))
    np.testing.assert_allclose(embedder.query("x"), unit("query: x"), atol=1e-6)
    np.testing.assert_allclose(embedder.documents(["x"])[0], unit("passage: x"), atol=1e-6)


def test_ollama_fingerprint_holds_the_digest_of_the_model(connect: Connect) -> None:
    assert connect("ollama:tiny").fingerprint == "ollama:tiny:0a109f42:8"
    assert connect("ollama:tiny:latest").fingerprint == "ollama:tiny:latest:0a109f42:8"
    assert connect("openai:tiny").fingerprint == "openai:tiny:8"


def test_openai_gets_the_key_and_the_protocol(connect: Connect, speaking: Any) -> None:
    connect("openai:tiny", key="s3cret", url=f"{speaking.url}/v1/")
    path, body, headers = speaking.asked[0]
    assert path == "/v1/embeddings"
    assert headers["authorization" if "authorization" in headers else "Authorization"] == (
        "Bearer s3cret"
    )
    assert body["model"] == "tiny"
    assert body["encoding_format"] == "float"


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("body", [b'{"error": "out of memory"}', b'["out of memory"]'])
def test_server_error_is_reported_without_the_key(
    name: str, body: bytes, speaking: Any, connect: Connect
) -> None:
    answer = type(speaking.reply("", b""))
    speaking.reply = lambda path, _: answer(500, body)
    with pytest.raises(EncoderUnavailable, match=r"out of memory|unreadable") as caught:
        connect(name, key="s3cret")
    assert "s3cret" not in str(caught.value)


def test_unknown_model_of_ollama_names_the_command(speaking: Any, connect: Connect) -> None:
    answer = type(speaking.reply("", b""))
    good = speaking.reply
    speaking.reply = lambda path, body: (
        good(path, body) if path == "/api/tags" else answer(404, b'{"error": "model not found"}')
    )
    with pytest.raises(EncoderUnavailable, match="model not found") as caught:
        connect("ollama:absent")
    assert caught.value.next_step == "run `ollama pull absent`"


@pytest.mark.parametrize("name", BACKENDS)
def test_nobody_listening_is_named_with_the_fix(name: str, connect: Connect) -> None:
    with pytest.raises(EncoderUnavailable, match="does not answer") as caught:
        connect(name, url="http://127.0.0.1:9")
    assert "url under [embedding]" in caught.value.next_step


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"data": 1, "embeddings": 1}',
        b'{"data": [{}], "models": 2}',
    ],
    ids=["html", "list", "nothing", "deep", "numbers", "no vectors"],
)
def test_garbage_is_an_unreadable_answer(
    name: str, body: bytes, speaking: Any, connect: Connect
) -> None:
    answer = type(speaking.reply("", b""))
    speaking.reply = lambda path, _: answer(200, body)
    with pytest.raises(EncoderUnavailable, match=r"unreadable answer|gave an array"):
        connect(name)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (lambda texts: [[0.0] * DIMENSION for _ in texts], "zero or not finite"),
        (lambda texts: [[NAN] * DIMENSION for _ in texts], "zero or not finite|unreadable"),
        (lambda texts: [], "shape"),
        (lambda texts: [vector_of("x")] * (len(texts) + 1), "shape"),
        (lambda texts: [[]] * len(texts), "shape"),
        (lambda texts: [["a"] * DIMENSION] * len(texts), "not a table|unreadable"),
        (lambda texts: [[1.0], [1.0, 2.0]][: len(texts)], "not a table|same vector|instead of"),
        (lambda texts: [vector_of("same")] * len(texts), "the same vector for different texts"),
    ],
    ids=["zero", "nan", "none", "too many", "empty", "words", "ragged", "constant"],
)  # fmt: skip
def test_vectors_that_cannot_be_right_are_refused(
    name: str, rows: Any, said: str, speaking: Any, connect: Connect
) -> None:
    speaking.rows = rows
    with pytest.raises(EncoderUnavailable, match=said):
        connect(name)


@pytest.mark.parametrize("name", BACKENDS)
def test_unstable_vectors_are_refused(name: str, speaking: Any, connect: Connect) -> None:
    requests = iter(range(100))

    def rows(texts: list[str]) -> list[list[float]]:
        number = next(requests)
        return [vector_of(f"{number} {text}") for text in texts]

    speaking.rows = rows
    with pytest.raises(EncoderUnavailable, match="different vectors for the same text"):
        connect(name)


@pytest.mark.parametrize("name", BACKENDS)
def test_wrong_dimension_is_refused_at_start_and_later(
    name: str, speaking: Any, connect: Connect
) -> None:
    with pytest.raises(EncoderUnavailable, match="8 numbers a text instead of 16"):
        connect(name, profile=Profile(dimension=16))
    embedder = connect(name, profile=Profile(dimension=DIMENSION))
    speaking.rows = lambda texts: [[1.0, 2.0]] * len(texts)
    with pytest.raises(EncoderUnavailable, match="2 numbers a text instead of 8"):
        embedder.documents(["x"])


@pytest.mark.parametrize("name", BACKENDS)
def test_lone_surrogate_never_reaches_the_server(
    name: str, speaking: Any, connect: Connect
) -> None:
    embedder = connect(name)
    asked = len(speaking.asked)
    with pytest.raises(InvalidInput, match="lone surrogate"):
        embedder.query("\udcff")
    assert len(speaking.asked) == asked
