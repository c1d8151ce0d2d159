"""What a companion is told of an answer that was passed on: whole, decoded, and not too long."""

from __future__ import annotations

import httpx2

from server.companion.companion import Companion, Exchange

MOST_BYTES = 8 * 1024 * 1024
"""Of an answer that are looked at; a longer one is passed on and not kept."""


def gather(kept: bytearray, part: bytes) -> None:
    """Add *part* to *kept*, up to one byte more than MOST_BYTES."""
    kept += part[: MOST_BYTES + 1 - len(kept)]


def tell(
    companion: Companion, exchange: Exchange, response: httpx2.Response, kept: bytearray
) -> None:
    """Tell *companion* the answer *kept*, decoded; nothing of one that is too long."""
    if len(kept) > MOST_BYTES:
        return
    try:
        whole = httpx2.Response(200, headers=response.headers, content=bytes(kept)).content
    except httpx2.DecodingError:
        return
    companion.answered(exchange, response.headers.get("content-type", ""), whole)
