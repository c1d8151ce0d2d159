"""Where an engine listens, and who may be at the other end.

A Unix socket in the data directory, or loopback TCP with port and secret in a file there (Windows,
and `ANAMNESIS_SHARED=tcp`). Both are 0600, in a directory that only its owner may write, and both
sides check each other: the user id at a Unix socket, the secret over TCP.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys
import time

from server.engine import plain
from server.engine.digest import digest
from server.engine.plain import Socket, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from asyncio import StreamReader, StreamWriter

    from server.engine.wanted import WantedEngine

LONGEST = 103
"""Bytes of a socket's path: macOS has room for 104 with the zero, Linux for 108."""
PRIVATE = "/tmp/anamnesis-"
"""How private folders begin, before the user's id; TMPDIR is not the same for all clients."""
OLD_SECONDS = 3_600.0
"""After which a private folder without an engine is removed, whatever its data directory is."""
BACKLOG = 128
ROOM_SECONDS = 2.0
"""How long a client waits while BACKLOG others wait for the engine."""
PROOF_SECONDS = 5.0
_LOOK_SECONDS = 0.01
_PROOF_BYTES = 200
_TEMPORARY = 12
"""Characters that the name of a socket that is being made has more."""


class Unsafe(Exception):
    """The place belongs to somebody else, or others may write it: no engine is shared there."""


class UnixEndpoint:
    """A Unix socket, named by the key of the settings."""

    def __init__(self, folder: str, key: str) -> None:
        """In the data directory *folder*, or in a private one when that path is too long."""
        self.folder = self._data = folder
        self.path = os.path.join(folder, f"engine-{key}.sock")
        if len(os.fsencode(self.path)) + _TEMPORARY > LONGEST:
            name = digest(os.fsencode(os.path.realpath(folder)))
            self.folder = f"{PRIVATE}{os.getuid()}-{name}"
            self.path = os.path.join(self.folder, f"engine-{key}.sock")

    def connect(self) -> Socket:
        """A connection to whatever listens. Raises OSError when nothing does, or Unsafe."""
        _check_folder(self._data)
        _check_folder(self.folder)
        found = os.lstat(self.path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise Unsafe(f"{self.path} is not this user's own socket")
        connection = Socket(_socket.AF_UNIX)
        try:
            _connect(connection, self.path)
            if peer(connection) not in (os.getuid(), None):
                raise Unsafe(f"another user listens at {self.path}")
        except BaseException:
            connection.close()
            raise
        return connection

    def dead(self) -> bool:
        """True when this user's socket lies there and no process listens: it was killed."""
        return _is_dead(self.path)

    def remove(self) -> None:
        """Remove the name, and the private folder if nothing else is in it."""
        with suppress(OSError):
            os.unlink(self.path)
        if self.folder.startswith(PRIVATE):
            with suppress(OSError):
                os.rmdir(self.folder)  # fails while another engine has its socket there

    def listen(self) -> socket.socket:
        """A listening socket that takes over the name. Raises OSError or Unsafe."""
        import socket

        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        _check_folder(self._data)
        _check_folder(self.folder)
        listener = socket.socket(socket.AF_UNIX)
        being_made = f"{self.path}.{os.getpid() % 10**10}"
        try:
            with suppress(FileNotFoundError):
                os.unlink(being_made)
            listener.bind(being_made)
            os.chmod(being_made, 0o600)  # the folder is private, and nothing listens yet
            listener.listen(BACKLOG)
            os.rename(being_made, self.path)
        except BaseException:
            listener.close()
            with suppress(OSError):
                os.unlink(being_made)
            raise
        self._made = _mark(self.path)
        return listener

    def ours(self) -> bool:
        """True while the name still stands for the socket of `listen`."""
        return _mark(self.path) == self._made

    def leave(self) -> None:
        """Remove the name, if it is still ours."""
        if self.ours():
            self.remove()

    async def admit(self, reader: StreamReader, writer: StreamWriter) -> str:
        """Why the client at the other end is refused; "" when it is this user."""
        del reader
        user = peer(writer.get_extra_info("socket"))
        return "" if user in (os.getuid(), None) else f"user {user} may not use this memory"


class TcpEndpoint:
    """Loopback TCP: a file of mode 0600 names the port, and a secret that both sides prove.

    Neither side sends anything else before the other has proved it: another program may listen at
    the port of an engine that died.
    """

    def __init__(self, folder: str, key: str) -> None:
        """With its file in the data directory *folder*."""
        self.folder = folder
        self.path = os.path.join(folder, f"engine-{key}.json")

    def connect(self) -> Socket:
        """A connection to the engine. Raises OSError when there is none, or Unsafe."""
        if os.name == "posix":
            _check_folder(self.folder)
            found = os.lstat(self.path)
            if found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise Unsafe(f"{self.path} is not this user's own file")
        port, secret = _read(self.path)
        nonce = os.urandom(16).hex()
        connection = Socket(_socket.AF_INET)
        try:
            connection.settimeout(PROOF_SECONDS)
            connection.connect(("127.0.0.1", port))
            proof = _mac(secret, f"client {nonce}")
            connection.sendall(plain.dumps({"nonce": nonce, "proof": proof}).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                if not (byte := connection.recv(1)) or len(answer) > _PROOF_BYTES:
                    raise ConnectionError("another program listens at the engine's port")
                answer += byte
            if answer.strip().decode("ascii", "replace") != _mac(secret, f"engine {nonce}"):
                raise ConnectionError("another program listens at the engine's port")
            connection.settimeout(None)
            connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def dead(self) -> bool:
        """True when nobody, or another program, listens at the port that the file names."""
        try:
            self.connect().close()
        except ConnectionError as problem:
            return type(problem) in (ConnectionRefusedError, ConnectionError)
        except (OSError, ValueError, LookupError, Unsafe):
            pass
        return False

    def remove(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            os.unlink(self.path)

    def listen(self) -> socket.socket:
        """A listening socket whose port the file names. Raises OSError or Unsafe."""
        import socket

        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        if os.name == "posix":
            _check_folder(self.folder)
        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self._secret = os.urandom(32)
        text = plain.dumps({"port": listener.getsockname()[1], "secret": self._secret.hex()})
        being_made = f"{self.path}.{os.getpid()}"
        try:
            file = os.open(being_made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(file, "w", encoding="ascii") as stream:
                stream.write(text)
            os.replace(being_made, self.path)
        except BaseException:
            listener.close()
            with suppress(OSError):
                os.unlink(being_made)
            raise
        return listener

    def ours(self) -> bool:
        """True while the file still names the secret of `listen`."""
        try:
            return _read(self.path)[1] == self._secret
        except (OSError, ValueError, LookupError):
            return False

    def leave(self) -> None:
        """Remove the file, if it is still ours."""
        if self.ours():
            self.remove()

    async def admit(self, reader: StreamReader, writer: StreamWriter) -> str:
        """Why the client at the other end is refused; "" once it has proved the secret."""
        import hmac

        line = await reader.readline()
        try:
            told = plain.loads(line)
            nonce, proof = str(told["nonce"]), str(told["proof"])
        except (ValueError, LookupError, TypeError):
            return "the secret is missing"
        if not hmac.compare_digest(proof.encode(), _mac(self._secret, f"client {nonce}").encode()):
            return "the secret is wrong"
        writer.write(_mac(self._secret, f"engine {nonce}").encode("ascii") + b"\n")
        return ""


Endpoint = UnixEndpoint | TcpEndpoint


def of(wanted: WantedEngine) -> Endpoint:
    """Where the engine that is *wanted* listens."""
    over_tcp = wanted.shared == "tcp" or not hasattr(_socket, "AF_UNIX") or os.name != "posix"
    return (TcpEndpoint if over_tcp else UnixEndpoint)(wanted.folder, wanted.key)


def names(folder: str) -> list[tuple[str, str]]:
    """The key, and "sock" or "json", of each place of *folder* where an engine may listen."""
    places = {folder}
    if os.name == "posix":
        places.add(UnixEndpoint(folder, "0" * 16).folder)
    found = set()
    for place in places:
        with suppress(OSError):
            for name in os.listdir(place):
                key, dot, ending = name.removeprefix("engine-").partition(".")
                if name.startswith("engine-") and dot and ending in ("sock", "json"):
                    found.add((key, ending))
    return sorted(found)


def sweep(folder: str) -> None:
    """Remove what engines of any version left in *folder* when they were killed.

    Hold the lock of launches: so no engine is about to listen.
    """
    for key, ending in names(folder):
        place = TcpEndpoint(folder, key) if ending == "json" else UnixEndpoint(folder, key)
        if place.dead():
            place.remove()
    _sweep_private()


def _sweep_private() -> None:
    """Remove old private folders in which no engine listens: their data directories may be gone.

    No lock protects a folder of another data directory. An engine that begins there just now makes
    it young, and one that still loses its name leaves, so that its clients start the next one.
    """
    if os.name != "posix":
        return
    place, prefix = os.path.split(f"{PRIVATE}{os.getuid()}-")
    for name in os.listdir(place):
        with suppress(OSError):  # such as one that is not empty then
            if name.startswith(prefix) and _is_old(folder := os.path.join(place, name)):
                for socket_name in os.listdir(folder):
                    if _is_dead(path := os.path.join(folder, socket_name)):
                        os.unlink(path)
                os.rmdir(folder)


def _is_old(folder: str) -> bool:
    """True when *folder* is this user's and nothing began or ended in it for OLD_SECONDS."""
    found = os.lstat(folder)
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return ours and time.time() - found.st_mtime > OLD_SECONDS


def _is_dead(path: str) -> bool:
    """True when this user's socket lies at *path* and no process listens."""
    try:
        found = os.lstat(path)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
            return False
        with Socket(_socket.AF_UNIX) as asking:
            asking.setblocking(False)  # an engine that stands still may have a full backlog
            asking.connect(path)
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


def _connect(connection: Socket, path: str) -> None:
    """Connect to the socket at *path*; waits for room, for ROOM_SECONDS at most. Raises OSError.

    Of an engine that stands still clients that have ended take the room for good.
    """
    connection.setblocking(False)
    deadline = time.monotonic() + ROOM_SECONDS
    while True:
        try:
            connection.connect(path)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_SECONDS)
    connection.setblocking(True)


def _read(path: str) -> tuple[int, bytes]:
    with open(path, encoding="ascii") as stream:
        told = plain.loads(stream.read())
    return int(told["port"]), bytes.fromhex(told["secret"])


def _mac(secret: bytes, text: str) -> str:
    return digest(text.encode("utf-8", "replace"), key=secret, size=32)


def _mark(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def peer(connection: _socket.socket) -> int | None:
    """The user id at the other end of a Unix socket; None where the system does not tell."""
    if hasattr(_socket, "SO_PEERCRED"):
        told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(told[4:8], sys.byteorder)  # process, user, group
    if sys.platform == "darwin":
        told = connection.getsockopt(0, 1, 76)  # LOCAL_PEERCRED: struct xucred
        return int.from_bytes(told[4:8], sys.byteorder)  # version, user, groups
    return None


def _check_folder(folder: str) -> None:
    """Raise Unsafe unless *folder* is this user's, and nobody else may write it."""
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode):
        found = os.stat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise Unsafe(f"{folder} belongs to another user, or others may write it")
