"""Takes over what waits in the spool: each payload is captured, then its file is removed."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memory_core.errors import Busy, IncompatibleStore, MemoryCoreError, StorageError
from memory_core.records import Identity
from memory_core.storage.locks import FileLock
from server.hooks import spool

log = logging.getLogger(__name__)

LOCK = "spool.lock"
LATER_SECONDS = 0.1
"""How long `start` waits: a capture would take the interpreter from the answer that is written."""
Keep = Callable[[Identity, Mapping[str, Any], float], None]
"""Captures a payload of somebody, reported at epoch seconds. Raises what the memory raises."""


class Drain:
    """Takes over the spool of one data directory, in one thread of one process at a time."""

    def __init__(self, data: Path, keep: Keep) -> None:
        """*keep* captures one payload."""
        self._data = data
        self._keep = keep
        self._mine = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Take over what waits. Where another process does so at this moment, it takes all.

        What cannot be stored now (a full disk, a store that is damaged) stays where it is.
        """
        with self._mine:
            spool.tidy(str(self._data))
            while spool.waiting(str(self._data)):
                lock = FileLock(self._data / LOCK)
                if not lock.acquire():
                    return  # its holder looks again after it has released it
                try:
                    if not self._all():
                        return
                finally:
                    lock.release()

    def start(self) -> None:
        """Run in a thread of its own, a moment later; nobody waits for it but `wait`."""
        self._thread = threading.Thread(target=self._silently, name="drain-spool", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the last `start` has done its work, at most *seconds*."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _silently(self) -> None:
        time.sleep(LATER_SECONDS)
        try:
            self.run()
        except MemoryCoreError as problem:
            log.warning("the spool waits: %s", type(problem).__name__)

    def _all(self) -> bool:
        """Capture each; False when what is left must wait."""
        for path in spool.waiting(str(self._data)):
            try:
                told = json.loads(Path(path).read_bytes())
                who = Identity(str(told["agent"]), str(told["team"]))
                self._keep(who, dict(told["payload"]), float(told["at"]))
            except (Busy, IncompatibleStore, StorageError) as problem:
                log.warning("the spool waits: %s", type(problem).__name__)
                return False
            except FileNotFoundError:
                continue
            except Exception as problem:  # one that can never be captured must not stop the others
                log.warning("a payload is dropped: %s", type(problem).__name__)
                spool.drop(str(self._data))
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
        return True
