"""Any server of OpenAI's chat completions: vLLM, LM Studio, llama.cpp, OpenAI.

Over httpx2, without a vendor's client: the protocol is one request, and other servers differ from
OpenAI in ways that its client reports as errors.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memory_core.gist import http_client
from memory_core.gist.base import MOST_SAID, ChatMessage, ServiceFailure, Usage
from memory_core.gist.http_client import Reply
from memory_core.gist.prompts import Request
from memory_core.text.lines import lines

if TYPE_CHECKING:
    import httpx2

    from memory_core.config import Settings

OPENAI_URL = "https://api.openai.com"
KEY = "OPENAI_API_KEY"


class OpenAICompatible:
    """Calls POST {encoder_url}/v1/chat/completions, with the key if there is one."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        """Imports and connects nothing yet."""
        self.model = settings.encoder_model
        self._url = (settings.encoder_url or OPENAI_URL).rstrip("/").removesuffix("/v1")
        self._where = http_client.address(self._url)
        self._key = settings.vendors.get(KEY, "")
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._made: httpx2.Client | None = None

    def __call__(self, request: Request) -> Reply:
        """See wire.Ask."""
        self._require()
        with self._failures():
            answer = self._client().post(self._path, json=self._body(request))
        if answer.status_code != 200:
            raise http_client.refused(self._where, answer.status_code, answer.text, answer)
        return _reply(answer, request, self._where)

    def say(self, system: str, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """See base.Speaker."""
        self._require()
        shown = [{"role": "system", "content": system}]
        shown += [{"role": each.role, "content": each.text} for each in messages]
        limit = "max_completion_tokens" if self._url == OPENAI_URL else "max_tokens"
        body = {"model": self.model, "messages": shown, "stream": True, limit: MOST_SAID}
        with self._failures(), self._client().stream("POST", self._path, json=body) as answer:
            if answer.status_code != 200:
                said = answer.read().decode("utf-8", "replace")
                raise http_client.refused(self._where, answer.status_code, said, answer)
            ended = False
            for line in lines(answer.iter_bytes()):
                if line.startswith("data:"):
                    piece, last = _piece(line.removeprefix("data:").strip(), self._where)
                    ended = ended or last
                    if piece:
                        yield piece
        if not ended:
            raise http_client.unusable("the model's answer broke off")

    def _require(self) -> None:
        if not self.model:
            raise ServiceFailure("no model was named", "set ANAMNESIS_ENCODER_MODEL", lasting=True)
        if not self._key and self._url == OPENAI_URL:
            raise ServiceFailure("there is no key for OpenAI", f"set {KEY}", lasting=True)

    @property
    def _path(self) -> str:
        return f"{self._url}/v1/chat/completions"

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """A connection that fails inside is a ServiceFailure."""
        import httpx2

        try:
            yield
        except (httpx2.HTTPError, httpx2.InvalidURL, http_client.TooMuch) as problem:
            raise http_client.unreachable(self._where, problem) from None

    def _body(self, request: Request) -> dict[str, Any]:
        shape = {"name": request.name, "strict": True, "schema": request.schema}
        official = self._url == OPENAI_URL  # its newer models accept neither of the older names
        limit = {"max_completion_tokens": request.most}
        return {
            "model": self.model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.data},
            ],
            "response_format": {"type": "json_schema", "json_schema": shape},
            **(limit if official else {"max_tokens": request.most, "temperature": 0}),
        }

    def _client(self) -> httpx2.Client:
        with self._lock:
            if self._made is None:
                import httpx2

                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                hook = http_client.bounded(httpx2.SyncByteStream, 2 * self._timeout)
                self._made = httpx2.Client(
                    headers=headers | http_client.PLAIN,
                    timeout=self._timeout,
                    event_hooks={"response": [hook]},
                )
            return self._made


def _piece(line: str, where: str) -> tuple[str, bool]:
    """The text of one event of a stream, and whether it says that the answer ends."""
    if line == "[DONE]":
        return "", True
    try:
        choices = json.loads(line).get("choices")
        if not choices:
            return "", False
        return str(choices[0]["delta"].get("content") or ""), bool(choices[0].get("finish_reason"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise http_client.unusable(f"{where} gave an unreadable answer") from None


def _reply(answer: httpx2.Response, request: Request, where: str) -> Reply:
    try:
        whole = answer.json()
        choice, spent = whole["choices"][0], whole.get("usage") or {}
        message, text = choice["message"], choice["message"].get("content") or ""
        reason = choice.get("finish_reason")
        taken = int(
            spent.get("prompt_tokens") or http_client.estimate(request.system + request.data)
        )
        usage = Usage(taken, int(spent.get("completion_tokens") or http_client.estimate(text)))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise http_client.unusable(f"{where} gave an unreadable answer") from None
    if message.get("refusal") or reason == "content_filter":
        raise http_client.unusable("the model refused", usage)
    if reason == "length":
        raise http_client.unusable("the model's answer was cut off", usage)
    return Reply(http_client.parsed(text, usage), usage)
