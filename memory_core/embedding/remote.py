"""Embedding by a server: Ollama, or any server of OpenAI's /v1/embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_core.embedding.base import SAMPLES, Profile, fingerprint_of, prefixed, unit_rows
from memory_core.errors import EncoderUnavailable

if TYPE_CHECKING:
    import ollama
    from numpy.typing import NDArray

    from memory_core.config import Settings

OPENAI_URL = "https://api.openai.com"
TIMEOUT_SECONDS = 30.0
"""For one request."""
_BATCH = 32
"""Texts in one request, so that a bulk of long ones stays within the timeout."""
_QUOTED = 200


class RemoteEmbedder:
    """A model on a server. Thread-safe; a call takes one request for every 32 texts."""

    def __init__(
        self, weights: str, name: str, profile: Profile, request: Callable[[list[str]], Any]
    ) -> None:
        """*weights* names the weights, for the fingerprint; *request* returns a row for each text.

        Asks for one vector to learn the dimension. Raises EncoderUnavailable when that fails or is
        not the dimension that the profile expects.
        """
        self.name = name
        self.profile = profile
        self._request = request
        self.dimension = self._embed(list(SAMPLES[:1]), self.profile.dimension).shape[1]
        self.fingerprint = fingerprint_of(f"{weights}:{self.dimension}", self.profile)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors to store: (len(texts), dimension) float32, unit length, in the order given."""
        whole = prefixed(self.profile.document_prefix, texts)
        vectors = np.empty((len(whole), self.dimension), dtype=np.float32)
        for start in range(0, len(whole), _BATCH):
            batch = whole[start : start + _BATCH]
            vectors[start : start + len(batch)] = self._embed(batch, self.dimension)
        return vectors

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector to search with: (dimension,) float32, unit length."""
        whole = prefixed(self.profile.query_prefix, [text])
        vector: NDArray[np.float32] = self._embed(whole, self.dimension)[0]
        return vector

    def _embed(self, texts: list[str], dimension: int | None) -> NDArray[np.float32]:
        return unit_rows(self._request(texts), len(texts), dimension, self.name)


def ollama_embedder(name: str, settings: Settings, profile: Profile) -> RemoteEmbedder:
    """The model *name* of an Ollama server, at `settings.embedding.url` or Ollama's default.

    The fingerprint holds the digest of the model, if the server reports it, because the weights
    behind a name such as "nomic-embed-text:latest" can change. Raises EncoderUnavailable.
    """
    import httpx
    import ollama
    from pydantic import ValidationError

    url = settings.embedding.url
    client = ollama.Client(host=url, timeout=TIMEOUT_SECONDS)
    where = f"Ollama at {url}" if url else "Ollama"

    def asked(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except ollama.ResponseError as problem:
            raise EncoderUnavailable(
                f"{where} refused {name} ({_brief(str(problem.error))})",
                f"run `ollama pull {name}`" if problem.status_code == 404 else "read its log",
            ) from None
        except (ConnectionError, httpx.HTTPError) as problem:
            raise EncoderUnavailable(
                f"{where} does not answer ({type(problem).__name__})",
                "start it, or set url under [embedding] in the settings file",
            ) from None
        except (ValidationError, ValueError, TypeError, AttributeError, RecursionError):
            # the client assumes that any JSON is an object
            raise EncoderUnavailable(
                f"{where} gave an unreadable answer", "check that url names an Ollama server"
            ) from None

    def request(texts: list[str]) -> Any:
        return asked(lambda: client.embed(model=name, input=texts, truncate=True)).embeddings

    digest = _digest(asked(client.list), name)
    weights = ":".join(filter(None, ("ollama", name, digest)))
    return RemoteEmbedder(weights, name, profile, request)


def _digest(listing: ollama.ListResponse, name: str) -> str:
    """The first eight digits of the digest of the model *name* in *listing*, "" without one."""
    tagged = name if ":" in name else f"{name}:latest"
    for model in listing.models:
        if model.model in (name, tagged) and model.digest:
            return model.digest.removeprefix("sha256:")[:8]
    return ""


def openai_embedder(name: str, settings: Settings, profile: Profile) -> RemoteEmbedder:
    """The model *name* behind POST {url}/v1/embeddings; url from the settings, else OpenAI's.

    OPENAI_API_KEY is sent as bearer token; local servers need none. Raises EncoderUnavailable.
    """
    import httpx2

    base = (settings.embedding.url or OPENAI_URL).rstrip("/").removesuffix("/v1")
    key = settings.vendors.get("OPENAI_API_KEY", "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    client = httpx2.Client(headers=headers, timeout=TIMEOUT_SECONDS)

    def request(texts: list[str]) -> Any:
        wanted = {"model": name, "input": texts, "encoding_format": "float"}
        try:
            answer = client.post(f"{base}/v1/embeddings", json=wanted)
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise EncoderUnavailable(
                f"{base} does not answer ({type(problem).__name__})",
                "start the server, or correct url under [embedding] in the settings file",
            ) from None
        if answer.status_code != 200:
            raise EncoderUnavailable(
                f"{base} refused {name} (HTTP {answer.status_code}: {_brief(answer.text)})",
                "check the model's name and the key" if answer.status_code < 500 else "try again",
            )
        return _rows(answer, base)

    return RemoteEmbedder(f"openai:{name}", name, profile, request)


def _rows(answer: Any, base: str) -> list[Any]:
    """The vectors in the order of the texts; the protocol allows any order."""
    try:
        entries = sorted(answer.json()["data"], key=lambda entry: int(entry["index"]))
        return [entry["embedding"] for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EncoderUnavailable(
            f"{base} gave an unreadable answer", "check that url names an OpenAI-compatible server"
        ) from None


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTED else f"{flat[:_QUOTED]}..."
