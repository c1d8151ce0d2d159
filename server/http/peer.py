"""Whose process is at the other end of a connection on this machine, as far as the system tells."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

Address = tuple[str, int]

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def is_of_another_user(client: Address | None, server: Address | None) -> bool:
    """True where the *client* of a connection to *server* belongs to another user than this process
    and root. False where nobody can tell: on other systems than Linux.
    """
    if sys.platform != "linux" or client is None or server is None:
        return False
    return not {*_users(client, server)} <= {os.getuid(), 0}


def _users(client: Address, server: Address) -> Iterator[int]:
    """The user of each socket that is connected from *client* to *server*."""
    wanted = {(_written(*client, form), _written(*server, form)) for form in _forms(client[0])}
    for table in TABLES:
        try:
            with Path(table).open(encoding="ascii") as lines:
                for line in lines:
                    local, remote, *rest = line.split()[1:8]
                    if (local, remote) in wanted:
                        yield int(rest[4])
        except (OSError, ValueError):
            continue


def _forms(host: str) -> tuple[str, ...]:
    return ("", "::ffff:") if "." in host and ":" not in host else ("",)


def _written(host: str, port: int, form: str) -> str:
    """An address as the kernel writes it: words in the order of bytes of this machine."""
    host = form + host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host)
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    number = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{number}:{port:04X}"
