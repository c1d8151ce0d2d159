"""A second process for the model of the whole: forked from one that has imported everything.

`Helpers` starts the mother; `Helpers.start` gives a process with a memory of its own on one
directory, which does what it is told and can be killed at any moment.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.base import Profile
from memory_core.errors import EncoderUnavailable, MemoryCoreError
from memory_core.maintenance import loop
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning

ROOT = Path(__file__).parents[2]
RIGHTS = frozenset({"read", "write"})
TUNING = Tuning(
    lock_seconds=60.0,
    maintenance=loop.MaintenanceTuning(
        round_seconds=0.05,
        snapshot_changes=30,
        compact_commits=6,
        table_batch=7,
        access_seconds=1e9,
    ),
)
SECONDS = 120.0


class Hashing:
    """Every text a direction of its own; equal texts are equal. It can go away."""

    name = fingerprint = "hashing"
    dimension = 16
    profile = Profile()

    def __init__(self) -> None:
        self.gone = False

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        if self.gone:
            raise EncoderUnavailable("the model went away", "bring it back")
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        drawn = np.random.default_rng(seed).normal(size=self.dimension)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)


class Helper:
    """One process beside this one."""

    def __init__(self, address: str, directory: Path, now: float, *, keeps: bool) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(SECONDS)
        self._socket.connect(address)
        self._stream = self._socket.makefile("r", encoding="utf-8")
        self.pid = int(self._stream.readline())
        self.ask("open", now, directory=str(directory), keeps=keeps)

    def tell(self, call: str, now: float, **given: Any) -> None:
        line = json.dumps({"call": call, "now": now, "given": given})
        self._socket.sendall(line.encode() + b"\n")

    def ask(self, call: str, now: float, **given: Any) -> Any:
        """What *call* answers; an error of ours comes back as {"error": code}."""
        self.tell(call, now, **given)
        line = self._stream.readline()
        assert line, f"the helper died in {call}"
        answer = json.loads(line)
        assert "crash" not in answer, answer["crash"]
        return answer

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.hang_up()

    def hang_up(self) -> None:
        """Wait until the process is gone; its end closes the connection."""
        with contextlib.suppress(OSError):
            while self._socket.recv(65536):
                pass
        self._stream.close()
        self._socket.close()


class Helpers:
    """The mother process."""

    def __init__(self) -> None:
        # a socket's path is short, whatever TMPDIR is
        self._folder = tempfile.mkdtemp(dir="/tmp" if len(tempfile.gettempdir()) > 40 else None)
        self._address = str(Path(self._folder) / "mother")
        self._mother = subprocess.Popen(
            [sys.executable, __file__, self._address],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert self._mother.stdout is not None
        assert self._mother.stdout.readline() == b"ready\n"

    def start(self, directory: Path, now: float, *, keeps: bool) -> Helper:
        """A process over *directory*; with *keeps* it does upkeep from its start on, else none."""
        return Helper(self._address, directory, now, keeps=keeps)

    def close(self) -> None:
        self._mother.terminate()
        self._mother.wait(10)
        assert self._mother.stdout is not None
        self._mother.stdout.close()


class _Child:
    """The life of one helper: a memory, a clock that is told, a disk that can be made full."""

    def __init__(self) -> None:
        self._memory: Memory | None = None
        self._now = 0.0

    def serve(self, line: str) -> dict[str, Any]:
        order = json.loads(line)
        self._now = order["now"]
        try:
            return {"answer": getattr(self, f"_{order['call']}")(**order["given"])}
        except MemoryCoreError as problem:
            return {"error": problem.code}
        except Exception as problem:  # told to the machine, which fails with it
            return {"crash": f"{order['call']}: {type(problem).__name__}: {problem}"}

    def _open(self, directory: str, keeps: bool) -> None:
        loop.HEAD_START = 0.0
        if not keeps:
            loop.Maintenance.start = lambda self: None  # type: ignore[method-assign]
        settings = Settings(data_dir=Path(directory))
        self._memory = Memory(settings, clock=lambda: self._now, embedder=Hashing(), tuning=TUNING)
        self._memory.wait_ready(SECONDS)

    def _remember(self, agent: str, team: str, **told: str) -> list[str]:
        assert self._memory is not None
        receipt = self._memory.remember(Identity(agent, team, RIGHTS), RememberRequest(**told))  # type: ignore[arg-type]
        return [receipt.id, receipt.status]

    def _forget(self, agent: str, team: str, id: str) -> str:
        assert self._memory is not None
        who = Identity(agent, team, RIGHTS)
        return self._memory.forget(who, ids=[id], confirm=True, never_again=False).status

    def _export(self, agent: str, team: str) -> dict[str, str]:
        assert self._memory is not None
        records = self._memory.export(Identity(agent, team, RIGHTS))
        return {record["id"]: record["text"] for record in records}

    def _fill_disk(self, room: int) -> None:
        """No file may grow beyond the write-ahead log and *room* bytes."""
        assert self._memory is not None
        log = self._memory.settings.data_dir / "journal.db-wal"
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + room, hard))

    def _empty_disk(self) -> None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    def _close(self) -> None:
        assert self._memory is not None
        self._memory.close()


def _mother(address: str) -> None:

    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _live(connection)
            os._exit(0)
        connection.close()


def _live(connection: socket.socket) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    child = _Child()
    connection.sendall(f"{os.getpid()}\n".encode())
    with connection, connection.makefile("r", encoding="utf-8") as orders:
        for line in orders:
            connection.sendall(json.dumps(child.serve(line)).encode() + b"\n")


if __name__ == "__main__":
    _mother(sys.argv[1])
