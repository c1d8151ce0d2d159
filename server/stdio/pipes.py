"""The protocol's own copies of stdin and stdout, and the lines that arrive on stdin."""

from __future__ import annotations

import os
from collections.abc import Iterator

from memory_core.errors import InvalidInput
from server.engine.wire import MAX_LINE
from server.protocol.messages import TAIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO


class Pipes:
    """stdin and stdout, for the protocol alone.

    Afterwards file descriptor 0 is empty and 1 is stderr, so that only the protocol can read or
    write the client's pipes, not a library at import time or a child process.
    """

    def __init__(self) -> None:
        """Take over the two descriptors; call once, as early as possible.

        Raises InvalidInput when one of them is closed.
        """
        try:
            self.incoming: BinaryIO = os.fdopen(os.dup(0), "rb")
            self.outgoing: BinaryIO = os.fdopen(os.dup(1), "wb")
        except OSError:
            raise InvalidInput(
                "stdin or stdout is closed", "let a client start the server"
            ) from None
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def lines(self) -> Iterator[bytes]:
        """The lines that are not blank, until the end; blocks.

        Of one over MAX_LINE only the two ends are kept, and it is longer than MAX_LINE. Raises
        OSError or ValueError when stdin breaks.
        """
        while line := self.incoming.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                line += self._rest_of_line()
            if line.strip():
                yield line

    def _rest_of_line(self) -> bytes:
        """Read the rest of a line that is too long and return its last bytes."""
        kept = b""
        while piece := self.incoming.readline(MAX_LINE):
            kept = (kept + piece)[-TAIL:]
            if piece.endswith(b"\n"):
                break
        return kept

    def write(self, line: bytes) -> None:
        """Write *line* and flush. Raises OSError or ValueError when stdout is broken."""
        self.outgoing.write(line)
        self.outgoing.flush()
