"""Text from and to a terminal or pipe, whatever encoding the system has set for it."""

from __future__ import annotations

import io
import locale
import os
import sys
from collections.abc import Iterable, Iterator

_COMMON = "cp1252"
"""Tried for bytes that are not UTF-8 where the system names no encoding of its own."""
MARK = "\ufeff"
"""The byte order mark, with which editors of Windows begin a file in UTF-8."""


def prepare() -> None:
    """Let the streams take every letter: none that was printed ends the program with an error.

    What the encoding of the output lacks is written as \\uXXXX. Input is read as UTF-8; bytes that
    are not are kept for `typed`. A stream that is closed is an empty one, or one that takes
    nothing; an unbuffered one writes all or raises an error, where Python drops what is too much.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: PTH123, SIM115 - for the whole process
    sys.stdout = sys.stdout or open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115
    out = sys.stdout
    raw = out.buffer if out is sys.__stdout__ and isinstance(out, io.TextIOWrapper) else None
    if isinstance(raw, io.RawIOBase):
        whole = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(whole, out.encoding, out.errors, line_buffering=True)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not _is_unicode(stream):
            stream.reconfigure(errors="backslashreplace")


def typed(text: str) -> str:
    """*text* with the letters that were typed, where bytes of it could not be decoded.

    They are decoded as UTF-8, else as the system's encoding, else as Windows' western one.
    """
    if not any("\udc80" <= char <= "\udcff" for char in text):
        return text
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that is no byte; the memory replaces and tells it
        return text
    for encoding in ("utf-8", locale.getencoding(), _COMMON):
        try:
            return raw.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return raw.decode("latin-1")


def lines(stream: Iterable[str]) -> Iterator[str]:
    """The lines of *stream*, whose errors are kept for `typed`, as they were typed.

    Without the mark before the first.
    """
    for number, line in enumerate(stream):
        yield typed(line) if number else typed(line).removeprefix(MARK)


def takes_unicode() -> bool:
    """True when standard output can show every letter."""
    return not isinstance(sys.stdout, io.TextIOWrapper) or _is_unicode(sys.stdout)


def _is_unicode(stream: io.TextIOWrapper) -> bool:
    return stream.encoding.lower().replace("_", "-").startswith("utf")
