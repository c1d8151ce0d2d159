"""Lines of a stream, as JSON lines and server-sent events have them: a line feed ends each.

`str.splitlines`, and the lines of an HTTP client, also end at characters that JSON holds as they
are, such as U+2028.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def lines(parts: Iterable[bytes]) -> Iterator[str]:
    """The lines of *parts*, without their ends; bad UTF-8 becomes U+FFFD."""
    rest = b""
    for part in parts:
        *whole, rest = (rest + part).split(b"\n")
        yield from map(_text, whole)
    if rest:
        yield _text(rest)


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
