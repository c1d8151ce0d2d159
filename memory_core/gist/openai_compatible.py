"""Any server of OpenAI's chat completions: vLLM, LM Studio, llama.cpp, OpenAI.

Over httpx2, without a vendor's client: the protocol is one request, and other servers differ from
OpenAI in ways that its client reports as errors.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from memory_core.gist import http_client
from memory_core.gist.base import ServiceFailure, Usage
from memory_core.gist.http_client import Reply
from memory_core.gist.prompts import Request

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
        import httpx2

        if not self.model:
            raise ServiceFailure("no model was named", "set ANAMNESIS_ENCODER_MODEL", lasting=True)
        if not self._key and self._url == OPENAI_URL:
            raise ServiceFailure("there is no key for OpenAI", f"set {KEY}", lasting=True)
        try:
            answer = self._client().post(
                f"{self._url}/v1/chat/completions", json=self._body(request)
            )
        except (httpx2.HTTPError, httpx2.InvalidURL, http_client.TooMuch) as problem:
            raise http_client.unreachable(self._where, problem) from None
        if answer.status_code != 200:
            raise http_client.refused(self._where, answer.status_code, answer.text, answer)
        return _reply(answer, request, self._where)

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
