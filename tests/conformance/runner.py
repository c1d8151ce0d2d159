"""What the parts of run.py share: Node and the tools, commands run and kept, a server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from tests import node_packages  # noqa: E402
from tests.processes import MARK, end, running  # noqa: E402

MODULES = HERE / "node_modules"
OLDEST_NODE = (22, 19)
SECONDS = 300


@contextmanager
def place() -> Iterator[Path]:
    """A folder for a run. What works in it at the end is ended, and then the folder is removed.

    An engine outlives its clients by ten minutes, and writes meanwhile.
    """
    mark = os.environ[MARK] = f"{os.environ.get(MARK, 'conformance')}.{os.getpid()}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            yield folder
        finally:
            end(running(mark, folder), lambda: running(mark, folder))


@dataclass(frozen=True)
class Outcome:
    """One thing that was run: which *part*, what, whether it went well, and a line about it."""

    part: str
    what: str
    passed: bool
    detail: str


class Runner:
    """Runs commands and keeps what they print; *few* of those that only vary the transport."""

    def __init__(self, node: Path, output: Path, home: Path, few: bool = False) -> None:
        self.few = few
        self.node = str(node)
        self.home = home
        self.output = output
        self.path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self._environment = {
            **os.environ, "HOME": str(home), "PATH": self.path, "NO_COLOR": "1",
            "ANAMNESIS_OFFLINE": "1", "ANAMNESIS_DATA_DIR": str(home / "stdio"),
        }  # fmt: skip
        self.outcomes: list[Outcome] = []

    def __call__(self, part: str, what: str, program: str, *arguments: str) -> str:
        """Run *program* of the installed ones, note the outcome and return what was printed."""
        return self.command(part, what, self.installed(program, *arguments))

    def installed(self, program: str, *arguments: str) -> list[str]:
        """The command that runs *program* of the installed ones."""
        return [self.node, str(MODULES / ".bin" / program), *arguments]

    def command(
        self,
        part: str,
        what: str,
        command: Sequence[str],
        expected: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run *command*; it went well when it ends with 0 and prints what *expected* matches."""
        said, code = self.ran(part, what, command, environment)
        found = re.search(expected, said, re.MULTILINE)
        detail = found[0].strip() if expected and found else line(said, code)
        self.note(part, what, code == 0 and found is not None, detail)
        return said

    def ran(
        self, part: str, what: str, command: Sequence[str], environment: Mapping[str, str] | None
    ) -> tuple[str, int]:
        """What *command* prints, which is kept, and its exit code; no outcome is noted."""
        try:
            done = subprocess.run(
                command, cwd=ROOT, timeout=SECONDS, check=False,
                env={**(environment or self._environment), MARK: os.environ[MARK]},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            )  # fmt: skip
            said, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired:
            said, code = f"not finished after {SECONDS} s", -1
        name = re.sub(r"[^\w.-]+", "-", f"{part}-{what}")
        (self.output / f"{name}.txt").write_text(said, "utf-8")
        return said, code

    def note(self, part: str, what: str, passed: bool, detail: str) -> None:
        """Keep an outcome and print it."""
        self.outcomes.append(Outcome(part, what, passed, detail))
        print(f"{'ok  ' if passed else 'FAIL'} {part} {what}: {detail}", flush=True)


def line(said: str, code: int) -> str:
    """What a command said about its result, in a few words."""
    ran = re.findall(r"^([✓✗]) ([\w-]+): ", said, re.MULTILINE)
    if ran:  # a whole revision: what the suite runs without scoring it does not count
        unscored = set(re.findall(r"^  [✓✗] ([\w-]+) \(", said, re.MULTILINE))
        scored = [mark for mark, name in ran if name not in unscored]
        return f"{scored.count('✓')} of {len(scored)} scored scenarios"
    return f"exit {code}"


def judged(said: str, scenario: str) -> tuple[bool, str]:
    """Whether *scenario* passed in a whole revision but for what is expected, and its checks."""
    found = re.search(rf"^[✓✗] {re.escape(scenario)}: (.+)$", said, re.MULTILINE)
    if found is None:
        return False, "it was not run"
    unexpected = said.partition("Unexpected failures (not in baseline):")[2]
    return re.search(rf"^  ✗ {re.escape(scenario)}\b", unexpected, re.MULTILINE) is None, found[1]


def install() -> Path:
    """Install what package-lock.json names unless it is there already; the node to run it with."""
    node_packages.installed(HERE)
    own = [*MODULES.glob("node-linux-*/bin/node"), *filter(None, [shutil.which("node")])]
    for node in map(Path, own):
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        version = re.match(r"v(\d+)\.(\d+)", said.stdout)
        if version and (int(version[1]), int(version[2])) >= OLDEST_NODE:
            return node
    raise SystemExit(f"no Node {OLDEST_NODE[0]}.{OLDEST_NODE[1]} for this platform; install one")


@contextmanager
def serving(arguments: Sequence[str], log: Path) -> Iterator[str]:
    """A server process on a free port of loopback; gives its address without the path."""
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "ANAMNESIS_OFFLINE": "1"},
        )  # fmt: skip
        assert process.stderr
        first = process.stderr.readline()
        found = re.search(r"serving (http://\S+)/mcp", first)
        rest = subprocess.Popen(["cat"], stdin=process.stderr, stdout=stream)
        try:
            if not found:
                raise SystemExit(f"the server did not start: {first}")
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            process.stderr.close()
            rest.wait(20)
