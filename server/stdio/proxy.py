"""`anamnesis serve` over stdio: passes lines between a client and the engine that it shares.

It loads nothing but a few modules of the standard library. It ends within five seconds when stdin
ends, stdout breaks, a signal arrives (SIGTERM, SIGINT, SIGHUP) or the parent process ends. When the
engine dies, what is open is answered or asked again, and the next one is told what it must know.
Without an engine this process is its own.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from server.engine import launch, wanted, wire
from server.engine.launch import EngineLink, Gone, Late, NoEngine
from server.protocol import messages
from server.stdio.parents import Ancestry
from server.stdio.pipes import Pipes
from server.stdio.session import ProxySession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from server.engine.own import OwnEngine

PARENT_SECONDS = 0.5
END_SECONDS = 4.5
"""After the end of stdin, whatever waits: the client may live and not read. Five are promised."""
LAST_ANSWERS_SECONDS = 3.0
"""How long an engine may take to end its side after stdin has ended."""
FIRST_ANSWER_SECONDS = 20.0
"""The same for one that has not answered yet, because it still loads."""
RESTART_SECONDS = 20.0
"""How long calls wait while no engine comes up that lives to hear of them."""
CLOSE_SECONDS = 3.0
_LINES_AHEAD = 64


class _End:
    """What the reader of stdin hands on after the last line."""


Event = bytes | EngineLink | _End
"""A line from stdin, a link that has ended, or the end of stdin."""


def serve(flags: Mapping[str, str], own: Callable[[Mapping[str, str]], OwnEngine]) -> int:
    """Serve with *flags* (settings by name) until the client is gone, then end the process.

    *own* makes an engine of this process, for where none can be shared. Returns an exit code only
    if neither can serve.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        print("serving MCP over stdio: a client should start this", file=sys.stderr)
    try:
        asked = wanted.find(flags, os.environ)
    except (OSError, ValueError):
        asked = wanted.WantedEngine(
            "", "", "", "", "off", flags
        )  # its own engine says what is wrong
    proxy = Proxy(Pipes(), asked, lambda: own(flags))
    try:
        proxy.run()
    except wire.Refused as problem:
        print(f"anamnesis: {problem}", file=sys.stderr)
        return problem.exit


class Proxy:
    """The lines of one client, to and from whatever engine there is.

    One thread reads stdin, one reads the engine and writes stdout, and the caller's thread writes
    to the engine, finds the next one and looks after the parent process.
    """

    def __init__(
        self, pipes: Pipes, asked: wanted.WantedEngine, own: Callable[[], OwnEngine]
    ) -> None:
        """Nothing runs yet."""
        self._pipes = pipes
        self._asked = asked
        self._make_own = own
        self._own: OwnEngine | None = None
        self._session = ProxySession()
        self._link: EngineLink | None = None
        self._answered = False
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._room = threading.Semaphore(_LINES_AHEAD)
        self._writing = threading.Lock()

    def run(self) -> NoReturn:
        """Serve until the client is gone, then end the process. Raises wire.Refused."""
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: self._leave())
        ancestry = Ancestry()
        self._connect()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()
        while True:
            try:
                event = self._events.get(timeout=PARENT_SECONDS)
            except Empty:
                if ancestry.broken():
                    self._leave()
                continue
            if isinstance(event, bytes):
                self._room.release()
                self._pass(event)
            elif isinstance(event, EngineLink):
                self._ended(event)
            else:
                self._finish()

    def _read(self) -> None:
        try:
            for line in self._pipes.lines():
                self._room.acquire()
                self._events.put(line)
        except (OSError, ValueError):
            pass  # stdin is broken: the client is gone
        self._events.put(_End())
        time.sleep(END_SECONDS if self._answered else FIRST_ANSWER_SECONDS + CLOSE_SECONDS)
        os._exit(0)  # the client does not read, and a write into its full pipe never returns

    def _pass(self, line: bytes) -> None:
        """Pass a *line* of the client on to an engine."""
        if self._refused(line):
            return
        held = self._session.sent(line)
        if self._link is not None:
            self._send(line)
            return
        self._connect()
        if not held and self._link is not None:
            self._send(line)

    def _refused(self, line: bytes) -> bool:
        """Answer a *line* that is too long for an engine; False for any other."""
        if len(line) <= wire.MAX_LINE:
            return False
        answer = messages.too_long(line)
        if answer is not None:
            self._put(wire.encode(answer))
        return True

    def _send(self, *lines: bytes) -> None:
        assert self._link is not None
        with suppress(OSError):  # it has ended: its reader says so, after the last answers
            self._link.socket.sendall(b"".join(lines))

    def _connect(self) -> None:
        """Find or start an engine and tell it what it must know; raises wire.Refused.

        After RESTART_SECONDS without one, what the client asks is answered until there is one.
        While the data directory is gone there is none, and what is open is answered.
        """
        begun = time.monotonic()
        while True:
            first, rest = self._session.replay()
            try:
                link = self._open()
            except Gone as problem:
                for answer in self._session.refused(str(problem)):
                    self._put(answer)
                return
            if link is not None:
                self._link = link
                if self._replayed(link, first):
                    break
                link.socket.close()
            if time.monotonic() - begun > RESTART_SECONDS:
                self._answer_without()
        threading.Thread(target=self._listen, args=(link,), name="engine", daemon=True).start()
        self._send(*rest)

    def _open(self) -> EngineLink | None:
        """A link to an engine; None when a client that had one must wait for the next.

        Raises Gone.
        """
        if self._own is None:
            try:
                return launch.connect(self._asked, {"kind": "mcp"})
            except Gone:
                raise
            except NoEngine as problem:
                if isinstance(problem, Late) and self._answered:
                    return None
                if not launch.unshared(self._asked):
                    print(f"anamnesis: no engine is shared: {problem}", file=sys.stderr, flush=True)
                self._own = self._make_own()
        return self._own.connect()

    def _answer_without(self) -> None:
        """Answer what is open, and what has been asked meanwhile, without an engine."""
        ended = False
        while not ended and self._events.qsize():
            event = self._events.get()
            ended = isinstance(event, _End)
            if isinstance(event, bytes):
                self._room.release()
                if not self._refused(event):
                    self._session.sent(event)
        for answer in self._session.died():
            self._put(answer)
        if ended:
            self._leave()

    def _replayed(self, link: EngineLink, first: list[bytes]) -> bool:
        """Tell the handshake; False when the engine died over it."""
        if not first:
            return True
        self._send(first[0])
        for line in link.lines:
            if not self._session.heard(line):
                self._send(*first[1:])
                return True
            self._put(line)
        return False

    def _listen(self, link: EngineLink) -> None:
        """Pass on what the engine says, until it ends."""
        for line in link.lines:
            self._answered = True
            if self._session.heard(line):
                self._put(line)
        self._events.put(link)

    def _ended(self, link: EngineLink) -> None:
        """An engine has ended: answer what it cannot, and find another if somebody waits."""
        link.socket.close()
        if link is not self._link:
            return
        self._link = None
        for answer in self._session.died():
            self._put(answer)
        if self._session.waiting:
            self._connect()

    def _finish(self) -> NoReturn:
        """stdin has ended: a script may have written its calls and closed it at once."""
        if self._link is not None:
            with suppress(OSError):
                self._link.socket.shutdown(socket.SHUT_WR)
            try:
                seconds = LAST_ANSWERS_SECONDS if self._answered else FIRST_ANSWER_SECONDS
                while self._events.get(timeout=seconds) is not self._link:
                    pass
            except Empty:
                pass
        for answer in self._session.died():
            self._put(answer)
        self._leave()

    def _put(self, line: bytes) -> None:
        with self._writing:
            try:
                self._pipes.write(line)
            except (OSError, ValueError):
                self._leave()  # stdout is broken: the client is gone

    def _leave(self) -> NoReturn:
        """End the process with status 0; an own memory is closed, for CLOSE_SECONDS at most."""
        if self._own is not None:
            closing = threading.Thread(target=self._own.close, name="close", daemon=True)
            closing.start()
            closing.join(CLOSE_SECONDS)
        os._exit(0)  # a thread that blocks in a read would keep the process alive
