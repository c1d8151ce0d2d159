"""Bearer tokens for HTTP: their hashes, their rights and the identity of each.

The first start of the server creates the first token and stores it in plain text in the file
`token` of the data directory, for clients on the same machine; `tokens.json` stores only hashes.
Both files have mode 0600. A token is 256 random bits, so one SHA-256 is enough.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mcp.server.auth.provider import AccessToken

from memory_core.errors import (
    Busy,
    IncompatibleStore,
    InvalidInput,
    NotFound,
    ReadOnly,
    StorageError,
)
from memory_core.records import RIGHTS

_PREFIX = "anm_"
_VERSION = 1
LOCK_SECONDS = 5.0
"""How long a change of the list waits for another process."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The identity and rights of one token. *hash* is its SHA-256 in hexadecimal.

    *encode* False: no memory stored with the token may be sent to a model.
    """

    id: str
    agent: str
    team: str
    rights: tuple[str, ...]
    hash: str
    created: float
    encode: bool = True

    def as_access_token(self) -> AccessToken:
        """The grant as the SDK attaches it to a request, without the secret."""
        return AccessToken(
            token=self.id,
            client_id=self.agent,
            scopes=list(self.rights),
            subject=self.id,
            claims={"team": self.team, "encode": self.encode},
        )


class Tokens:
    """The tokens of one data directory. Changes by other processes take effect at once."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Read nothing. *folder* is the data directory, which the first write creates."""
        self._file = folder / "tokens.json"
        self._first = folder / "token"
        self._clock = clock
        self._seen: tuple[int, int] | None = None
        self._place: tuple[int, int] | None = None
        """Device and inode of the folder in which there were grants."""
        self._grants: tuple[Grant, ...] = ()

    @property
    def first_file(self) -> Path:
        """The file with the first token in plain text."""
        return self._first

    def ensure_first(self, agent: str, team: str = "") -> None:
        """Create the first token, with every right, unless there is a token. Raises ReadOnly.

        Of two servers that start at once, the one that creates the file wins. A token in the file
        that is not in the list, because its creator was killed, is added to the list.
        """
        if not self._first.exists() and self.all():
            return
        with _writing(self._file.parent):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileExistsError):
                _create(self._first, _new_secret() + "\n")
            secret = self._first.read_text("ascii").strip()
        if self.find(secret) is None:
            self._append(secret, agent, team, tuple(sorted(RIGHTS)))

    def add(
        self,
        agent: str,
        team: str = "",
        rights: Sequence[str] = ("read", "write"),
        *,
        encode: bool = True,
    ) -> str:
        """A new token for *agent*. Only its hash is stored.

        *encode* False: no memory stored with the token may be sent to a model.
        """
        unknown = sorted(set(rights) - RIGHTS)
        if unknown or not rights:
            raise InvalidInput(
                f"unknown rights {', '.join(unknown)}" if unknown else "rights are empty",
                f"allowed are {', '.join(sorted(RIGHTS))}",
            )
        if not agent.strip():
            raise InvalidInput("agent is empty", "name the agent that will use the token")
        secret = _new_secret()
        self._append(secret, agent, team, tuple(rights), encode=encode)
        return secret

    def revoke(self, id: str) -> Grant:
        """Delete the token with *id*; returns its grant. Raises NotFound."""
        with self._alone():
            gone = [grant for grant in self.all() if grant.id == id]
            if not gone:
                raise NotFound(f"no token {id[:40]}", "see `anamnesis token list`")
            self._write([grant for grant in self.all() if grant.id != id])
        with _writing(self._first.parent), suppress(FileNotFoundError):
            if _hash(self._first.read_text("ascii").strip()) == gone[0].hash:
                self._first.unlink()
        return gone[0]

    def all(self) -> tuple[Grant, ...]:
        """Every grant, oldest first.

        Raises IncompatibleStore when the file cannot be parsed, and StorageError when the folder
        that held it was deleted, moved or replaced: nobody has revoked anything then.
        """
        try:
            state = self._file.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._require_folder()
            self._seen, self._grants = None, ()
            return ()
        seen = (state.st_mtime_ns, state.st_ino)
        if seen != self._seen:
            self._grants = self._read()
            self._seen, self._place = seen, _place(self._file.parent)
        return self._grants

    def _require_folder(self) -> None:
        """Raise StorageError unless the folder is there; who asks may be anybody: no place."""
        if self._place not in (None, _place(self._file.parent)):
            raise StorageError(
                "the data folder was deleted, moved or replaced while it was in use",
                "move it back, or restore a backup there, and restart this program",
            )

    def find(self, secret: str) -> Grant | None:
        """The grant of *secret*, compared in constant time; None for an unknown one."""
        presented = _hash(secret)
        found = None
        for grant in self.all():
            if hmac.compare_digest(grant.hash, presented):
                found = grant
        return found

    def granted(self, grant: Grant) -> bool:
        """True while *grant* is neither revoked nor changed."""
        return grant in self.all()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the list, so that no two processes change it at once."""
        from memory_core.storage.locks import FileLock  # only a change of the list needs it

        with _writing(self._file.parent):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._file.with_suffix(".lock"))
        if not lock.acquire(LOCK_SECONDS):
            raise Busy("another process is changing the tokens", "try again")
        try:
            yield
        finally:
            lock.release()

    def _append(
        self, secret: str, agent: str, team: str, rights: tuple[str, ...], *, encode: bool = True
    ) -> None:
        id, hashed = secrets.token_hex(4), _hash(secret)
        grant = Grant(id, agent, team, rights, hashed, self._clock(), encode)
        with self._alone():
            self._write([*self.all(), grant])

    def _read(self) -> tuple[Grant, ...]:
        try:
            data = json.loads(self._file.read_text("utf-8"))
            if data["version"] != _VERSION:
                raise ValueError("version")
            return tuple(
                Grant(**{**entry, "rights": tuple(entry["rights"])}) for entry in data["tokens"]
            )
        except (ValueError, KeyError, TypeError):
            raise IncompatibleStore(
                f"{self._file} is damaged or of another version",
                "move it away; the server then creates a new first token",
            ) from None

    def _write(self, grants: Sequence[Grant]) -> None:
        """Replace the file atomically: a reader sees the old or the new list."""
        data = {"version": _VERSION, "tokens": [asdict(grant) for grant in grants]}
        folder = self._file.parent
        with _writing(folder):
            handle, name = tempfile.mkstemp(prefix="tokens-", dir=folder)  # mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as stream:
                    json.dump(data, stream, indent=1)
                    stream.flush()
                    os.fsync(stream.fileno())
                Path(name).replace(self._file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        self._seen = None


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raise ReadOnly with the name of *folder* for an OSError."""
    try:
        yield
    except OSError as problem:
        raise ReadOnly(
            f"the tokens in {folder} cannot be written ({problem.strerror})",
            "make the data directory writable, or choose another with --data-dir",
        ) from None


def _place(folder: Path) -> tuple[int, int] | None:
    try:
        state = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return state.st_dev, state.st_ino


def _create(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _new_secret() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
