"""Private keys: PEM blocks, whole or cut, bodies without their frame, and PuTTY's files."""

from __future__ import annotations

import base64
import re
from bisect import bisect_left
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import Span

MOST = 20_000
"""Characters of one key; the longest RSA key of 16,384 bits takes 13,000."""

_FRAME = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_BEGIN = lazy_pattern(f"-----BEGIN {_FRAME}")
_END = lazy_pattern(f"-----END {_FRAME}")
_GAP = r"(?:\\[nr]|[\s>|#*])"
_BODY = lazy_pattern(
    rf"(?:{_GAP}{{1,40}}+[A-Za-z-]{{3,40}}: [^\n]{{0,200}}+)*+"
    rf"(?:{_GAP}{{0,40}}+[A-Za-z0-9+/]{{1,400}}+={{0,2}}+){{0,600}}+"
)
"""What follows the first line of a key without a last one: its headers and its lines.

Nothing follows that would make it try again, so no part gives back what it has.
"""

_CODED = lazy_pattern(
    r"(?<![A-Za-z0-9+/=])(?:M[A-Za-z0-9+/]{31,}|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]+"
    r"|LS0tLS1CRUdJTi[A-Za-z0-9+/]{50,})"
)
_LINES = lazy_pattern(rf"={{0,2}}(?:{_GAP}{{1,8}}[A-Za-z0-9+/]{{16,400}}={{0,2}}){{0,400}}")
_LINE = lazy_pattern(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{4,400}={0,2}(?![A-Za-z0-9+/=])")
_BREAK = lazy_pattern(rf"{_GAP}{{1,40}}")
_VERSIONS = lazy_pattern(rb"\x30(?:\x82..|\x81.|[\x00-\x7f])\x02\x01[\x00\x01]", re.DOTALL)
_ENCRYPTED = b"\x2a\x86\x48\x86\xf7\x0d\x01\x05"
"""The object identifier of PKCS #5, with which an encrypted key of PKCS #8 begins."""

_PUTTY = lazy_pattern(
    r"Private-Lines: [0-9]{1,3}"
    rf"(?P<value>(?:{_GAP}{{1,8}}[A-Za-z0-9+/]{{4,80}}={{0,2}}(?![\w:+/=-])){{1,400}})"
    r"|Private-MAC: (?P<mac>[0-9a-f]{32,128})"
)


def found(text: str) -> Iterator[Span]:
    """The places of private keys in *text*."""
    ends = [match.end() for match in _END.finditer(text)]
    done = 0
    for end in _END.finditer(text):
        before = text.rfind("-----BEGIN ", max(0, end.start() - MOST), end.start())
        if before < 0 and (start := _first_line(text, end.start())) < end.start():
            yield start, end.end(), "private_key"
    for match in _BEGIN.finditer(text):
        if match.start() < done:
            continue
        place = bisect_left(ends, match.end())
        whole = place < len(ends) and ends[place] - match.start() <= MOST + 200
        body = None if whole else _BODY.match(text, match.end())
        done = ends[place] if whole else body.end() if body else match.end()
        yield match.start(), done, "private_key"
    for match in _CODED.finditer(text):
        if match.start() >= done and _opens_a_key(match.group()):
            more = _LINES.match(text, match.end())
            done = more.end() if more else match.end()
            yield match.start(), done, "private_key"
    for match in _PUTTY.finditer(text):
        yield (*match.span(match.lastgroup or 0), "private_key")


def _first_line(text: str, end: int) -> int:
    """Where the lines of base64 begin that stand right before *end*; *end* when there are none."""
    window = text[max(0, end - MOST) : end]
    start = len(window)
    for line in reversed(list(_LINE.finditer(window))):
        if _BREAK.fullmatch(window, line.end(), start) is None:
            break
        start = line.start()
    return end - len(window) + start


def _opens_a_key(coded: str) -> bool:
    """True when the base64 *coded* begins as OpenSSH's keys do, as a PEM block, or as DER of a key.

    These are a sequence with a version first, or with the encryption of PKCS #5.
    """
    if coded.startswith("b3Blb"):
        return True
    if coded.startswith("LS0t"):
        return b"PRIVATE KEY" in base64.b64decode(coded[:64])
    opening = base64.b64decode(coded[:32])
    return bool(_VERSIONS.match(opening)) or _ENCRYPTED in opening
