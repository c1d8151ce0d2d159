"""A model of an Ollama server, through the official client, with answers in a JSON schema."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memory_core.gist import http_client
from memory_core.gist.base import MOST_SAID, ChatMessage, Usage
from memory_core.gist.http_client import Reply
from memory_core.gist.prompts import Request

if TYPE_CHECKING:
    import ollama as vendor

    from memory_core.config import Settings

DEFAULT_MODEL = "mistral"

_SPARE = 512
"""Tokens of context beyond prompt and answer. Ollama cuts a prompt that does not fit, silently."""


class Ollama:
    """Calls /api/chat at `encoder_url`, or at the client's default (OLLAMA_HOST)."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        """Imports and connects nothing yet."""
        self.model = settings.encoder_model or DEFAULT_MODEL
        self._url = settings.encoder_url or None
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._made: vendor.Client | None = None

    def __call__(self, request: Request) -> Reply:
        """See wire.Ask."""
        with self._failures():
            return _reply(self._send(request), request)

    def say(self, system: str, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """See base.Speaker."""
        shown = [{"role": "system", "content": system}]
        shown += [{"role": each.role, "content": each.text} for each in messages]
        taken = sum(http_client.estimate(each["content"]) for each in shown)
        options = {"num_ctx": taken + MOST_SAID + _SPARE, "num_predict": MOST_SAID}
        ended: bool | None = False
        with self._failures():
            for part in self._client().chat(
                model=self.model, messages=shown, options=options, stream=True
            ):
                ended = part.done
                if part.message.content:
                    yield part.message.content
        if not ended:
            raise http_client.unusable("the model's answer broke off")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Every failure inside is a ServiceFailure or an AnswerFailure."""
        import httpx
        import ollama as vendor
        from pydantic import ValidationError

        where = f"Ollama at {http_client.address(self._url)}" if self._url else "Ollama"
        try:
            yield
        except vendor.ResponseError as problem:
            cause = problem.__context__  # the client drops the headers, its cause has them
            response = cause.response if isinstance(cause, httpx.HTTPStatusError) else None
            raise http_client.refused(
                where, problem.status_code, str(problem.error), response
            ) from None
        except http_client.TooMuch as problem:
            raise http_client.unreachable(where, problem) from None
        except (ConnectionError, httpx.HTTPError) as problem:
            raise http_client.unreachable(where, problem) from None
        except (ValidationError, ValueError, TypeError, AttributeError, RecursionError):
            # the client assumes that any JSON is an object
            raise http_client.unusable(f"{where} gave an unreadable answer") from None

    def _send(self, request: Request) -> vendor.ChatResponse:
        room = http_client.estimate(request.system + request.data) + request.most + _SPARE
        options: dict[str, Any] = {"temperature": 0, "num_predict": request.most, "num_ctx": room}
        return self._client().chat(
            model=self.model,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.data},
            ],
            format=request.schema,
            options=options,
            think=False,
            stream=False,
        )

    def _client(self) -> vendor.Client:
        with self._lock:
            if self._made is None:
                import httpx
                import ollama as vendor

                hook = http_client.bounded(httpx.SyncByteStream, 2 * self._timeout)
                self._made = vendor.Client(
                    host=self._url,
                    timeout=self._timeout,
                    headers=http_client.PLAIN,
                    event_hooks={"response": [hook]},
                )
            return self._made


def _reply(answer: vendor.ChatResponse, request: Request) -> Reply:
    text = answer.message.content or ""
    taken = answer.prompt_eval_count or http_client.estimate(request.system + request.data)
    usage = Usage(taken, answer.eval_count or http_client.estimate(text))
    if answer.done_reason == "length":
        raise http_client.unusable("the model's answer was cut off", usage)
    return Reply(http_client.parsed(text, usage), usage)
