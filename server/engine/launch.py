"""Finds the engine that a process wants, or starts it: nobody waits long, nobody is killed.

The lock is held only around the launch, so that several clients that start at once start one
engine. There is no file with a process id: whoever answers at the endpoint is the engine.
"""

from __future__ import annotations

import os
import sys
import time

from server.engine import endpoint, wire
from server.engine.endpoint import Unsafe
from server.engine.plain import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from typing import Any

    from server.engine.endpoint import Endpoint
    from server.engine.plain import Socket
    from server.engine.wanted import WantedEngine

ANSWER_SECONDS = 5.0
"""Within which an engine answers the preamble, and a new one shows its first sign of life."""
LISTEN_SECONDS = 20.0
"""Within which a new engine that lives must listen, and launches of other processes must end."""
LOCK = "engine.lock"
LOG = "engine.log"
MOUNTS = "/proc/self/mounts"
_LOOK_SECONDS = 0.01
_LAST_SECONDS = 0.5
_TRIES = 20

_CACHES = frozenset({"cache", ".cache", "caches", "temp", "tmp"})
_NETWORK = ("nfs", "cifs", "smb", "afs", "fuse.sshfs", "ceph", "glusterfs", "lustre", "davfs")


class NoEngine(Exception):
    """There is no engine and none can be started here: this process must do the work itself."""


class Late(NoEngine):
    """No engine came up in time, though one may the next time."""


class Gone(NoEngine):
    """The data directory, from which this process was served, is no longer there."""


class EngineLink:
    """A connection that an engine has accepted: its socket, and the lines that arrive on it."""

    def __init__(self, connection: Socket | socket.socket, lines: Iterator[bytes]) -> None:
        self.socket = connection
        self.lines = lines


def connect(
    wanted: WantedEngine,
    preamble: dict[str, Any],
    *,
    start: bool = True,
    seconds: float | None = None,
) -> EngineLink:
    """A connection to the engine that is *wanted*, opened with *preamble*.

    It has *seconds* to take the client, by default ANSWER_SECONDS. *start* starts one when there is
    none. LISTEN_SECONDS bound all tries but for a launch that has begun. Raises NoEngine; Late when
    they are over, or when there is an engine that hangs and none is to be started; wire.Refused
    when the engine says why this client, or its settings, cannot be served; Gone when the data
    directory went away since an engine was found for *wanted*: a new one in its place would begin
    another memory.
    """
    if reason := unshared(wanted):
        raise NoEngine(reason)
    told = {"agent": wanted.agent, "team": wanted.team, "client": {"pid": os.getpid()}, **preamble}
    try:
        deadline = time.monotonic() + LISTEN_SECONDS
        for _ in range(_TRIES):  # an engine may leave, or be killed, when it is found
            place = endpoint.of(wanted)
            try:
                link = _found(place, told, ANSWER_SECONDS if seconds is None else seconds)
            except TimeoutError:
                if not start:
                    raise Late("the engine does not answer") from None
                link = None
            if link is not None:
                wanted.served = True
                return link
            if wanted.served and not os.path.isdir(wanted.folder):
                raise Gone(
                    f"storage: {wanted.folder} was deleted or moved away while it was in use;"
                    " move it back, or restore a backup there, then repeat the call"
                )
            if not start:
                raise NoEngine("no engine is running")
            if time.monotonic() > deadline:
                raise Late("no engine has answered for too long")
            _launch(wanted, place, deadline)
    except (OSError, Unsafe) as problem:
        raise NoEngine(str(problem)) from None
    raise NoEngine("the engine leaves again and again")


def unshared(wanted: WantedEngine) -> str:
    """Why this process may not share an engine; "" when it may."""
    if wanted.shared == "off":
        return "ANAMNESIS_SHARED is off"
    if wanted.shared not in ("on", "tcp") and (cache := _in_a_cache()):
        return f"the program lies in {cache}, which may be removed while it runs"
    if kind := file_system(wanted.folder):
        return f"the data directory is on a network file system ({kind})"
    if getattr(sys, "frozen", False) or not sys.executable:
        return "there is no Python to start an engine with"
    return ""


def _found(place: Endpoint, preamble: dict[str, Any], seconds: float) -> EngineLink | None:
    """A connection to the engine at *place*; None without one.

    Raises Unsafe or wire.Refused; TimeoutError when it does not answer within *seconds*.
    """
    try:
        connection = place.connect()
    except (OSError, ValueError, LookupError):
        return None
    try:
        return EngineLink(connection, wire.opened(connection, preamble, seconds))
    except ConnectionError:
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise


def _launch(wanted: WantedEngine, place: Endpoint, deadline: float) -> None:
    """Start the engine unless another process does, until *deadline*; returns when one listens.

    Raises OSError, Late, NoEngine or wire.Refused.
    """
    os.makedirs(wanted.folder, mode=0o700, exist_ok=True)
    with open(os.path.join(wanted.folder, LOCK), "ab", opener=_private) as lock:
        if not _locked(lock.fileno(), deadline):
            raise Late("another process has been starting an engine for too long")
        try:
            place.connect().close()
        except (OSError, ValueError, LookupError):
            endpoint.sweep(wanted.folder)
            start(wanted)


def alone(wanted: WantedEngine) -> Callable[[], None] | None:
    """Take the lock for a launch by this process itself; None when an engine answers already.

    The function that is returned frees the lock; call it once this process listens. Raises OSError
    or Unsafe.
    """
    os.makedirs(wanted.folder, mode=0o700, exist_ok=True)
    lock = open(os.path.join(wanted.folder, LOCK), "ab", opener=_private)  # noqa: SIM115
    try:
        if _locked(lock.fileno(), time.monotonic() + LISTEN_SECONDS):
            try:
                endpoint.of(wanted).connect().close()
            except (OSError, ValueError, LookupError):
                endpoint.sweep(wanted.folder)
                return lock.close
    except BaseException:
        lock.close()
        raise
    lock.close()
    return None


def start(wanted: WantedEngine) -> None:
    """Start an engine in a session of its own and wait until it listens, or has ended.

    It works in the data directory, so that it holds no folder of whoever started it. Its log, and
    whatever else it prints, goes to a file there. Raises OSError, NoEngine, or wire.Refused when
    its settings are wrong.
    """
    import subprocess

    program = os.path.join(os.path.dirname(os.path.dirname(__file__)), "__main__.py")
    words = [sys.executable, "-P", program, "engine", "run", "--launched"]
    for name, value in wanted.flags.items():
        words += [f"--{name.replace('_', '-')}", value]
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_BREAKAWAY_FROM_JOB
        detached = {"creationflags": flags | subprocess.CREATE_NEW_PROCESS_GROUP}
    with open(os.path.join(wanted.folder, LOG), "ab", opener=_private) as log:
        process = subprocess.Popen(
            words,
            cwd=wanted.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            **detached,
        )
    assert process.stdout is not None
    with process.stdout as told:
        if _line(told.fileno(), ANSWER_SECONDS) != b"starting":
            with suppress(subprocess.TimeoutExpired):
                if process.wait(_LAST_SECONDS) <= 0:
                    return  # somebody killed it, before or after it forked
            process.kill()
            process.wait()
            raise NoEngine(f"no engine could be started; see {LOG} in the data directory")
        if sys.platform == "win32":
            process.returncode = 0  # it outlives this process, which never waits for it
        else:
            process.wait()  # it has forked, so that it is nobody's child
        line = _line(told.fileno(), LISTEN_SECONDS)
    kind, _, key = line.partition(b" ")
    if kind == b"listening":  # under another key where the program or its settings were replaced
        wanted.key = key.decode() or wanted.key
        return
    if line.startswith(b"problem "):
        _, code, problem = line.split(b" ", 2)
        raise wire.Refused(problem.decode("utf-8", "replace"), int(code))
    if line.startswith(b"unable "):
        raise NoEngine(line.decode("utf-8", "replace"))


def _line(pipe: int, seconds: float) -> bytes:
    """The next line of *pipe* without its end; what there is of it after *seconds*."""
    import threading

    found = bytearray()
    own = os.dup(pipe)  # the number of *pipe* may be another file's while this still reads

    def read() -> None:
        while (byte := os.read(own, 1)) and byte != b"\n":
            found.extend(byte)
        os.close(own)

    reading = threading.Thread(target=read, daemon=True)  # a pipe has no timeout on Windows
    reading.start()
    reading.join(seconds)
    return bytes(found)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _locked(file: int, deadline: float) -> bool:
    """Take the lock on *file*, which ends with it; False when it is not free by *deadline*."""
    while not _try_lock(file):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _try_lock(file: int) -> bool:
    """Take the lock on *file*; False when another process has it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            os.lseek(file, 0, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
    else:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _in_a_cache() -> str:
    """The folder of the program when a package runner, or somebody, keeps it only for a while."""
    for folder in (os.path.abspath(sys.prefix), os.path.abspath(os.path.dirname(__file__))):
        while (parent := os.path.dirname(folder)) != folder:
            tagged = os.path.exists(os.path.join(folder, "CACHEDIR.TAG"))
            if tagged or os.path.basename(folder).lower() in _CACHES:
                return folder
            folder = parent
    return ""


def file_system(folder: str) -> str:
    """The kind of network file system that *folder* lies on; "" for a local one, or if unknown.

    Its locks and sockets are not those of one machine. Known on Linux, and by a share's name on
    Windows; elsewhere the engine fails to listen there.
    """
    if folder.startswith("\\\\"):
        return "share"
    folder = os.path.realpath(folder)
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as stream:
            mounts = [line.split(" ")[1:3] for line in stream]
    except OSError:
        return ""
    place, kind = "", ""
    for point, its_kind in mounts:
        point = point.replace("\\040", " ").rstrip("/")
        if f"{folder}/".startswith(f"{point}/") and len(point) >= len(place):
            place, kind = point, its_kind
    return kind if kind.startswith(_NETWORK) else ""
