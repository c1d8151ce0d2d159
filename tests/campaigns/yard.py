"""Runs scenarios in processes of their own, under a shim that ends or hinders them at a given file
operation. What is imported once is forked for each run, so that a kill costs milliseconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COUNT, KILL_BEFORE, KILL_AMIDST, KILL_AFTER, FAIL, SHORT = range(6)
KILLS = (KILL_BEFORE, KILL_AMIDST, KILL_AFTER)
FOR_EVER = 2**62

Said = list[list[str]]


class NoShim(Exception):
    """The shim cannot be built or loaded here; the message says why."""


def build_shim(folder: Path) -> Path:
    """Compile the shim into *folder*. Raises NoShim."""
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if sys.platform != "linux" or compiler is None:
        raise NoShim("the preloaded shim needs Linux and a C compiler")
    built = folder / "faultshim.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(built), "faultshim.c", "-ldl"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    if done.returncode:
        raise NoShim(f"the shim does not compile: {done.stderr}")
    return built


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    killed: bool
    seen: int
    """File operations counted; 0 when it was killed."""
    said: Said
    """What it said, line by line, in words."""
    complaint: str
    """What it left on stderr."""


class Yard:
    """A process that forks one run after the other."""

    def __init__(self, shim: Path, module: str) -> None:
        """Take scenarios from tests/campaigns/<module>.py."""
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "foreman.py"), module],
            cwd=ROOT,
            env={**os.environ, "LD_PRELOAD": str(shim), "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, scenario: str, directory: Path, **task: Any) -> Path:
        """Begin a run; end() waits for it. See run()."""
        said = Path(self._folder.name) / "said"
        said.unlink(missing_ok=True)
        said.touch()
        task = {"scenario": scenario, "directory": str(directory), "said": str(said)} | task
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        return said

    def end(self) -> Outcome:
        """What became of the run that was started."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the yard is gone"
        told = json.loads(line)
        body = (Path(self._folder.name) / "said").read_text(encoding="utf-8")
        said = [line.split() for line in body.splitlines(keepends=True) if line.endswith("\n")]
        seen = next((int(words[1]) for words in said if words[0] == "seen"), 0)
        outcome = Outcome(told["signal"] == 9, seen, said, told["complaint"])
        assert outcome.killed or told["status"] == 0, (told, said[-3:])
        return outcome

    def run(self, scenario: str, directory: Path, **task: Any) -> Outcome:
        """Run *scenario* on *directory*.

        *task*: `what` (COUNT ...), `first`, `last`, `error`, `room` as faultshim_arm takes them;
        `record`, a file that gets every change; `options` for the scenario.
        """
        self.start(scenario, directory, **task)
        return self.end()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()
