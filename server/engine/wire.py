"""Lines between a client and an engine, and the preamble that opens each connection.

The client sends one line of JSON, the preamble: {"protocol", "kind", "agent", "team", "client"} and
what the kind needs. The engine answers with one line: {"ok": true, "version", "pid"}, or
{"problem", "exit"}. Then, by kind:

    mcp     lines of MCP both ways, as over stdin and stdout
    hook    the preamble holds the payload; one line follows: what the hook answers
    command the preamble holds a command line; what it prints follows, and what is asked meanwhile
    call    the preamble holds operation, arguments and deadline; one line follows, see client.call
    http    one line follows: the address of the engine's HTTP side, which it opens on first need
    page    the preamble says read_only; one line follows: an address of the page, good for once
    status  one line follows: what the engine is and who its clients are
    stop    the connection ends once the engine has finished and is about to leave
"""

from __future__ import annotations

from server.engine import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Iterator, Mapping
    from typing import Any

PROTOCOL = 1
MAX_LINE = 4 * 2**20
"""Bytes of one message. A call with the longest text, all escaped, takes 240 kB."""
KINDS = ("mcp", "hook", "command", "call", "http", "page", "status", "stop")
_CHUNK = 65_536


class Refused(Exception):
    """An engine answered and refuses the connection; `exit` is the process's exit code for it."""

    def __init__(self, problem: str, exit: int) -> None:
        super().__init__(problem)
        self.exit = exit


def encode(message: Mapping[str, Any]) -> bytes:
    """*message* as one line."""
    return plain.dumps(message).encode("utf-8", "replace") + b"\n"


def lines(connection: socket) -> Iterator[bytes]:
    """The lines that arrive, each with its end, until the connection ends or breaks.

    A last line without an end is dropped: its sender died. Raises TimeoutError when the connection
    has a timeout and nothing comes in time.
    """
    kept: list[bytes] = []
    while True:
        try:
            data = connection.recv(_CHUNK)
        except TimeoutError:
            raise
        except OSError:
            return
        if not data:
            return
        head, end, rest = data.partition(b"\n")
        kept.append(head)
        while end:
            yield b"".join(kept) + b"\n"
            head, end, rest = rest.partition(b"\n")
            kept = [head]


def opened(connection: socket, preamble: Mapping[str, Any], seconds: float) -> Iterator[bytes]:
    """Send the *preamble* and return the lines after an engine's answer, which is awaited here.

    Raises Refused; TimeoutError when nothing is answered within *seconds*; ConnectionError when it
    is no engine, or one that ends.
    """
    try:
        connection.settimeout(seconds)
        connection.sendall(encode({"protocol": PROTOCOL, **preamble}))
        found = lines(connection)
        answer = plain.loads(next(found))
        connection.settimeout(None)
    except TimeoutError:
        raise
    except (OSError, ValueError, StopIteration):
        raise ConnectionError("nobody answers") from None
    if not isinstance(answer, dict) or not answer.get("ok"):
        told = answer if isinstance(answer, dict) else {}
        raise Refused(
            str(told.get("problem", "the engine gives no reason")), int(told.get("exit", 1))
        )
    return found
