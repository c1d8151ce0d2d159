"""Shared by the HTTP clients of the three services: limits on an answer, and errors by status.

Imports no vendor. Error texts of services are shown to users, so they are shortened, and anything
that looks like a key is masked.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import AnswerFailure, ServiceFailure, Usage
from memory_core.gist.prompts import Request
from memory_core.text import secrets
from memory_core.text.lazy_pattern import lazy_pattern

TIMEOUT_SECONDS = 60.0
"""Without a byte from the server; a whole answer may take twice as long."""

MOST_BYTES = 2**20
"""Largest answer in bytes; a real one has a few thousand."""

_MOST_WAIT = 3600.0
_QUOTED = 160
_AGAIN = "nothing to do, it is tried again; if it persists, see the log of that service"
_LOGIN = lazy_pattern(r"(?<=//)[^/@]*@|^[^/@]*@")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as data, not yet checked against its schema, and its usage."""

    data: Any
    usage: Usage


Ask = Callable[[Request], Reply]
"""One call to a service. Raises ServiceFailure or AnswerFailure, nothing else."""


class TooMuch(Exception):
    """An answer exceeded MOST_BYTES or its time limit, or was compressed."""


def bounded(stream: type, seconds: float) -> Callable[[Any], None]:
    """A response hook for httpx and httpx2 (*stream* is their SyncByteStream).

    It aborts an answer that exceeds MOST_BYTES, that is compressed (a small body could unpack to
    any size) or that takes longer than *seconds*: the clients' own timeout restarts with each byte.
    """

    class Bounded(stream):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __iter__(self) -> Iterator[bytes]:
            end, taken = time.monotonic() + seconds, 0
            for chunk in self.inner:
                taken += len(chunk)
                if taken > MOST_BYTES:
                    raise TooMuch(f"the answer has more than {MOST_BYTES:,} bytes")
                if time.monotonic() > end:
                    raise TooMuch(f"the answer was not complete after {seconds:g} s")
                yield chunk

        def close(self) -> None:
            self.inner.close()

    def hook(response: Any) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise TooMuch("the answer is compressed, which was not asked for")
        response.stream = Bounded(response.stream)

    return hook


PLAIN = {"accept-encoding": "identity"}
"""Request headers for `bounded`: no compression."""


def refused(where: str, status: int, detail: str, response: Any = None) -> EncoderUnavailable:
    """The error for the HTTP *status* of *where*; *detail* is the text of its answer.

    *response* (of httpx or httpx2) holds the wait that was asked for, and the key to mask.
    """
    headers = {} if response is None else response.headers
    for key in _keys(response):
        detail = detail.replace(key, "[key]")
    problem = f"{where} answered HTTP {status} ({brief(detail)})"
    if status in (401, 403):
        return ServiceFailure(problem, "check the key and its rights", lasting=True)
    if status == 402:
        return ServiceFailure(problem, "check the account's credit", lasting=True)
    if status == 404 or 300 <= status < 400:
        return ServiceFailure(problem, "check encoder_model and encoder_url", lasting=True)
    if status in (408, 409, 425, 429) or status >= 500:
        return ServiceFailure(problem, _AGAIN, retry_after=seconds(headers.get("retry-after")))
    return AnswerFailure(problem, "check encoder_model; the text stays as it is")


def _keys(response: Any) -> list[str]:
    """The keys in the request of *response*."""
    if response is None:
        return []
    sent = (response.request.headers.get(name, "") for name in ("authorization", "x-api-key"))
    return [value.split()[-1] for value in sent if value]


def address(url: str) -> str:
    """*url* for messages: without user, password and query."""
    return _LOGIN.sub("", url.partition("?")[0])


def unreachable(where: str, problem: BaseException) -> ServiceFailure:
    """The error for a connection that failed or was aborted."""
    cause = problem.__cause__ if isinstance(problem.__cause__, TooMuch) else problem
    said = str(cause) if isinstance(cause, TooMuch) else type(cause).__name__
    return ServiceFailure(
        f"{where} does not answer ({said})", "start it, or correct encoder_url; it is tried again"
    )


def unusable(problem: str, usage: Usage = Usage()) -> AnswerFailure:  # noqa: B008 - frozen
    """The error for an answer that cannot be used."""
    return AnswerFailure(problem, "it is tried again, then the text stays as it is", usage)


def parsed(text: str, usage: Usage) -> Any:
    """*text* as JSON. Raises AnswerFailure."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise unusable("the model's answer is not JSON", usage) from None


def seconds(header: str | None) -> float | None:
    """A Retry-After *header* in seconds, at most an hour; None when missing or unreadable."""
    if not header:
        return None
    try:
        return min(max(0.0, float(header)), _MOST_WAIT)
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        wait = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(max(0.0, wait), _MOST_WAIT)


def brief(text: str) -> str:
    """*text* on one line, shortened, with secrets masked."""
    flat = " ".join(secrets.mask(text[: 4 * _QUOTED])[0].split())
    return flat if len(flat) <= _QUOTED else f"{flat[:_QUOTED]}…"


def estimate(text: str) -> int:
    """Approximate tokens of *text*, for services that report no usage."""
    return len(text.encode("utf-8", "replace")) // 3 + 1
