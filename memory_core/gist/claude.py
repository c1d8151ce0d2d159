"""Claude, through the official anthropic client: one tool, which it has to call."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memory_core.gist import http_client
from memory_core.gist.base import MOST_SAID, ChatMessage, ServiceFailure, Usage
from memory_core.gist.http_client import Reply
from memory_core.gist.prompts import Request

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

    from memory_core.config import Settings

DEFAULT_MODEL = "claude-haiku-5-5"
PRICES = {DEFAULT_MODEL: (0.10, 0.50), "claude-haiku-4-5": (1.0, 5.0)}
"""US dollars for a million tokens in and out, from the vendor's price list of October 2026."""

KEY = "ANTHROPIC_API_KEY"


class Claude:
    """Calls the Messages API. The fixed part (prompt and tool) is marked for the prompt cache."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        """Imports and connects nothing yet."""
        self.model = settings.encoder_model or DEFAULT_MODEL
        self._url = settings.encoder_url
        self._key = settings.vendors.get(KEY, "")
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._made: anthropic.Anthropic | None = None
        self._forced = True

    def __call__(self, request: Request) -> Reply:
        """See wire.Ask."""
        with self._failures():
            return _reply(self._send(request), request)

    def say(self, system: str, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """See base.Speaker."""
        shown: Any = [{"role": each.role, "content": each.text} for each in messages]
        with (
            self._failures(),
            self._client().messages.stream(
                model=self.model, max_tokens=MOST_SAID, system=system, messages=shown
            ) as stream,
        ):
            yield from stream.text_stream

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Every failure inside is a ServiceFailure or an AnswerFailure, as is a missing key."""
        import anthropic
        import httpx2

        where = "Anthropic" if not self._url else f"Claude at {http_client.address(self._url)}"
        if not self._key:
            raise ServiceFailure(f"there is no key for {where}", f"set {KEY}", lasting=True)
        try:
            yield
        except anthropic.APIStatusError as problem:
            said = problem.message
            raise http_client.refused(where, problem.status_code, said, problem.response) from None
        except (anthropic.APIConnectionError, httpx2.HTTPError, http_client.TooMuch) as problem:
            raise http_client.unreachable(where, problem) from None
        except (anthropic.AnthropicError, ValueError, TypeError, AttributeError, RecursionError):
            raise http_client.unusable(f"{where} gave an unreadable answer") from None

    def _send(self, request: Request) -> Message:
        """The answer to *request*; repeated without forcing the tool if the model refuses that.

        Models that always think refuse a forced tool with HTTP 400; with a single tool and a prompt
        that asks for nothing else, they call it without force.
        """
        import anthropic

        try:
            return self._create(request)
        except anthropic.BadRequestError as problem:
            said = problem.message.casefold()
            if not self._forced or not ("tool_choice" in said or "thinking" in said):
                raise
            self._forced = False
            return self._create(request)

    def _create(self, request: Request) -> Message:
        cached: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
        system: Any = {"type": "text", "text": request.system, **cached}
        tool: Any = {"name": request.name, "input_schema": request.schema, "strict": True, **cached}
        force: dict[str, Any] = {}
        if self._forced:
            choice = {"type": "tool", "name": request.name, "disable_parallel_tool_use": True}
            force = {"thinking": {"type": "disabled"}, "tool_choice": choice}
        message: Message = self._client().messages.create(
            model=self.model,
            max_tokens=request.most,
            system=[system],
            tools=[tool],
            messages=[{"role": "user", "content": request.data}],
            **force,
        )
        return message

    def _client(self) -> anthropic.Anthropic:
        with self._lock:
            if self._made is None:
                import anthropic
                import httpx2

                hook = http_client.bounded(httpx2.SyncByteStream, 2 * self._timeout)
                self._made = anthropic.Anthropic(
                    api_key=self._key,
                    base_url=self._url or None,
                    max_retries=0,  # the queue tries again
                    default_headers=http_client.PLAIN,
                    open_telemetry=False,
                    http_client=anthropic.DefaultHttpxClient(
                        timeout=self._timeout, event_hooks={"response": [hook]}
                    ),
                )
            return self._made


def _reply(message: Message, request: Request) -> Reply:
    spent = message.usage
    cached = (spent.cache_creation_input_tokens or 0) + (spent.cache_read_input_tokens or 0)
    usage = Usage(spent.input_tokens + cached, spent.output_tokens)
    if message.stop_reason == "refusal":
        raise http_client.unusable("the model refused", usage)
    if message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise http_client.unusable("the model's answer was cut off", usage)
    for block in message.content:
        if block.type == "tool_use" and block.name == request.name:
            return Reply(block.input, usage)
    raise http_client.unusable("the model did not use its tool", usage)
