"""The check: every step, red or not, and at the end one block with every failure.

    .ci/run [STEP ...]

runs the steps named, or all. Each gets a home of its own, no standard input, and a limit of time.
Printed are the time of each step, the slowest tests, the tests that were repeated, the lowest free
memory, and what still ran at the end, which is ended and makes the check red. The exit status is 0
when everything is green. What the steps said in full is in .ci/out.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
OUT = ROOT / ".ci" / "out"
FILES = OUT / "processes.txt"
"""The files with tests that start processes, as the step `collect` found them."""
PYTHON = ROOT / ".venv" / "bin" / "python"
VENDORS = ("tests/anamnesis", "tests/gist", "tests/server/proxy")
"""Folders of tests with the clients of models, which take seconds to import: one process does."""
MARK = "TESTS_STARTED_BY"
"""As in tests/processes.py: the variable by which everything is known that the check started."""
REQUIRED = {"REQUIRE_PAGE": "1"}
MINUTE = 60
ENDING = 20.0
"""Seconds within which what a step told to end has to be gone."""
STOPPING = 5.0
"""The same, and for a step to end by itself, once the check was told to stop: it may be killed soon
after."""
AHEAD = -10
"""The nice value of a step, where it may have that: beside others it takes little longer."""
SHOWN = 15
"""Lines of the end of a step that is not a run of pytest, in the closing block."""


@dataclass
class Step:
    """One part of the check, and what it came to.

    Stages run one after the other; in each, the steps `beside` run beside the others, and beside
    those of the next stage where they take longer.
    """

    name: str
    command: list[str]
    minutes: float
    stage: int = 0
    beside: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    status: int | None = None
    seconds: float = 0.0

    @property
    def log(self) -> Path:
        """The file of everything that the step said."""
        return OUT / f"{self.name}.log"

    @property
    def outcome(self) -> dict[str, Any]:
        """What tests/outcome.py wrote; {} when this is no run of pytest, or it was cut off."""
        with contextlib.suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads(self.log.with_suffix(".json").read_text("utf-8"))
            return found
        return {}


def steps() -> list[Step]:
    """Every step in its order; the first makes what the others need.

    To collect the tests imports, and so compiles, what all of them import, once for all workers; it
    also names the files that hold tests with processes: only these are collected again. Plain tests
    keep all cores busy, so they run alone. Those with processes wait now and then: three at a time,
    beside those of `VENDORS` and real clients, keep two cores busy.
    """
    python, pytest = str(PYTHON), [str(PYTHON), "-m", "pytest"]
    # a worker that crashed is not replaced: with loadfile xdist 3.8 waits for it without end
    by_file = ["--dist", "loadfile", "--max-worker-restart", "0"]
    # what hung is not repeated: pytest-timeout 2.4 would not stop the repeat
    once_more = ["--reruns", "1", "--rerun-except", "from pytest-timeout"]
    kind = ["-m", "processes and not long"]
    with_processes = [*by_file, *kind, *once_more, f"@{FILES.relative_to(ROOT)}"]
    plain = [*by_file, "-m", "not processes and not long", *without(VENDORS)]
    return [
        Step("install", [sys.executable, __file__, "--install"], 15),
        Step("packages", [sys.executable, "tests/node_packages.py"], 15, beside=True),
        Step("collect", [sys.executable, __file__, "--collect"], 5, 1),
        Step("types", [python, "-m", "mypy", "--cache-dir=/dev/null"], 10, 1, beside=True),
        Step("lint", [python, "-m", "ruff", "check", "."], 5, 1, beside=True),
        Step("format", [python, "-m", "ruff", "format", "--check", "."], 5, 1, beside=True),
        Step("plain", [*pytest, "-n", "3", *plain], 20, 2),
        Step("processes", [*pytest, "-n", "3", *with_processes], 30, 3, environment=REQUIRED),
        Step("vendors", [*pytest, "-m", "not long", *once_more, *VENDORS], 15, 3, beside=True),
        Step("clients", [python, "tests/conformance/run.py", "--few"], 15, 3, beside=True),
        Step("rest", [python, "tests/conformance/rest.py", "--few"], 15, 3, beside=True),
        Step("advisories", [python, ".ci/advisories.py"], 5, 3, beside=True),
    ]


def without(folders: Iterable[str]) -> list[str]:
    """What tells pytest to leave *folders* out."""
    return [f"--ignore={folder}" for folder in folders]


def main(wanted: list[str]) -> int:
    """Run the steps; the exit status.

    SIGTERM and SIGINT stop the step at work; the others are not run, and the end is as ever. SIGINT
    is heard even where it was ignored, as behind a shell's "&", and the steps hear it again.
    """
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    begun = time.monotonic()
    if "processes" in wanted:
        wanted = [*wanted, "collect"]
    todo = [step for step in steps() if not wanted or step.name in wanted]
    mark = f"check-{os.getpid()}"
    with tempfile.TemporaryDirectory() as home, lowest_memory() as low:

        def run_all(some: list[Step]) -> None:
            for step in some:
                if not stopping.is_set():
                    run(step, mark, Path(home), stopping)

        beside: list[threading.Thread] = []
        for stage in sorted({step.stage for step in todo}):
            now = [step for step in todo if step.stage == stage]
            beside.append(threading.Thread(target=run_all, args=([s for s in now if s.beside],)))
            beside[-1].start()
            run_all([step for step in now if not step.beside])
            for each in beside[:-1]:
                each.join()
            if any(step.name == "install" and step.status for step in now):
                break
        for each in beside:
            each.join()
        left = ended(mark, STOPPING if stopping.is_set() else ENDING)
    return closing(todo, left, low, time.monotonic() - begun)


def run(step: Step, mark: str, home: Path, stopping: threading.Event) -> None:
    """Run *step*, show and keep what it says; stop it when its time is over, or once *stopping*."""
    print(f"\n+ {step.name}: {' '.join(step.command)}", flush=True)
    at_once = not step.beside  # what runs beside is shown when it is over
    begun = time.monotonic()
    environment = {
        **os.environ,
        **step.environment,
        MARK: f"{mark}.{step.name}",
        "CHECK_OUTCOME": str(step.log.with_suffix(".json")),
        "ANAMNESIS_BUILD_WEIGHTS": "require",
        "REQUIRE_NODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the steps share what the first compiles
    if step.name != "install":  # pip and apt are set up where they are
        environment |= {"HOME": str(home), **kept_of_home()}
    with step.log.open("wb") as log, step.log.open("rb") as said:
        process = subprocess.Popen(
            step.command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,  # no pipe: a process that outlives the step would keep it open
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        go_ahead(process.pid)
        ways = [signal.SIGINT, signal.SIGKILL]  # pytest tells where it hangs
        why, limit = f"took longer than {step.minutes} minutes", begun + step.minutes * MINUTE
        patience = MINUTE
        while process.poll() is None:
            if stopping.is_set() and patience != STOPPING:
                why, limit, patience = "was at work", 0.0, STOPPING
            if time.monotonic() > limit and ways:
                print(f"\n{step.name} {why} and is stopped")
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, ways.pop(0))
                limit = time.monotonic() + patience
            time.sleep(0.1)
            if at_once:
                show(said.read())
        # one write: another step may print meanwhile
        show((b"" if at_once else f"\n== {step.name} ==\n".encode()) + said.read())
    step.status = process.returncode
    step.seconds = time.monotonic() - begun
    if step.seconds > step.minutes * MINUTE:
        step.status = step.status or 1


def go_ahead(process: int) -> None:
    """Let *process* and the session that it leads go before other programs, where that is allowed.

    Linux may share the time between sessions, and by the nice value only within each.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process, AHEAD)
        Path(f"/proc/{process}/autogroup").write_text(str(AHEAD))


def show(said: bytes) -> None:
    """Print what a step said."""
    sys.stdout.buffer.write(said)
    sys.stdout.buffer.flush()


def kept_of_home() -> dict[str, str]:
    """Where npm, pip and uv keep what they fetched and how they are set up, for another home."""
    home = Path.home()
    named = {
        "npm_config_userconfig": home / ".npmrc",
        "npm_config_cache": home / ".npm",
        "PIP_CACHE_DIR": home / ".cache" / "pip",
        "UV_CACHE_DIR": home / ".cache" / "uv",
        "PIP_CONFIG_FILE": home / ".config" / "pip" / "pip.conf",
    }
    return {
        name: str(path)
        for name, path in named.items()
        if name not in os.environ and (path.exists() or not name.endswith(("config", "FILE")))
    }


@contextlib.contextmanager
def lowest_memory() -> Iterator[list[int]]:
    """The free memory in MB now, and as the last number the least until the block ends."""
    found, over = list[int](), threading.Event()

    def look() -> None:
        while True:
            with contextlib.suppress(OSError):
                lines = Path("/proc/meminfo").read_text().splitlines()
                (line,) = (each for each in lines if each.startswith("MemAvailable"))
                free = int(line.split()[1]) // 1024
                found.append(min(found[-1], free) if found else free)
            if over.wait(1.0):
                return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    yield found
    over.set()
    looking.join()


def ended(mark: str, seconds: float) -> list[str]:
    """Command lines of what the check started and is there after *seconds*; it is ended."""
    sought = f"{MARK}={mark}.".encode()

    def left() -> dict[int, str]:
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if sought in (place / "environ").read_bytes():
                    words = (place / "cmdline").read_bytes().split(b"\0")
                    found[int(place.name)] = b" ".join(words).decode(errors="replace")[:200]
        return found

    deadline = time.monotonic() + seconds
    while left() and time.monotonic() < deadline:
        time.sleep(0.1)
    found = left()
    while still := left():
        for process in still:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.1)
    return [f"{process} {command}" for process, command in found.items()]


def closing(done: list[Step], left: list[str], low: list[int], seconds: float) -> int:
    """Print what everything came to, failures last; the exit status."""
    outcomes = {step.name: step.outcome for step in done}
    slowest = [each for found in outcomes.values() for each in found.get("slowest", ())]
    print("\n== slowest tests ==")
    for took, test in sorted(slowest, reverse=True)[:20]:
        print(f"{took:7.1f} s  {test}")
    print("\n== steps ==")
    for step in done:
        state = "not run" if step.status is None else "RED" if step.status else "green"
        counts = outcomes[step.name].get("counts", {})
        said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        print(f"{step.seconds:7.1f} s  {state:8}{step.name:12}{said}")
    free = f"{low[-1]} MB, {low[0] - low[-1]} less than before" if low else "unknown"
    print(f"{seconds / MINUTE:.1f} minutes; lowest free memory {free}; load {load()}")
    repeats = [each for found in outcomes.values() for each in found.get("repeats", ())]
    for each in repeats:
        print(f"repeated: {each['test']}  {each['place']}\n{indented(each['error'])}")
    print(f"{len(repeats)} tests were repeated, {len(left)} processes were left")
    red = [step for step in done if step.status != 0]
    print(f"\n== {'RED' if red or left else 'GREEN'} ==")
    for step in red:
        failures = outcomes[step.name].get("failures", ())
        for each in failures:
            print(f"{step.name}: {each['test']}  {each['place']}\n{indented(each['error'])}")
        if not failures:
            print(f"{step.name}: exit status {step.status}")
            if step.status is not None:
                print(indented(tail(step.log)))
    for line in left:
        print(f"left running: {line}")
    return 1 if red or left else 0


def tail(path: Path) -> str:
    """The last lines of *path*."""
    return "\n".join(path.read_text("utf-8", errors="replace").splitlines()[-SHOWN:])


def indented(text: str) -> str:
    """*text* with each line moved in."""
    return "\n".join(f"    {line[:200]}" for line in text.splitlines())


def load() -> str:
    """The load of the machine over the last fifteen minutes, where it is known."""
    return f"{os.getloadavg()[2]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def install() -> int:
    """The environment, and Chromium; the exit status."""
    subprocess.run([sys.executable, "-m", "venv", ROOT / ".venv"], check=True)
    pip = [str(PYTHON), "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "uv"], check=True)  # 15 s instead of pip's 60 for the rest
    fast = [PYTHON.with_name("uv"), "pip", "install", "-q"]
    anew = ["--reinstall-package", "anamnesis-mcp"]  # else what it built here before
    if subprocess.run([*fast, *anew, "--python", PYTHON, ".[dev,page]"], cwd=ROOT).returncode:
        print("uv did not install it, so pip does: it knows other indexes and certificates")
        subprocess.run([*pip, ".[dev,page]"], cwd=ROOT, check=True)
    return browser()


def collect() -> int:
    """Collect all tests, and write `FILES`; the exit status of pytest."""
    command = [PYTHON, "-m", "pytest", "--collect-only", "-qq", "-m", "processes"]
    command += without(VENDORS)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout)
    found = re.findall(r"^(\S+\.py): [0-9]+$", done.stdout, re.MULTILINE)
    FILES.write_text("\n".join(found), "utf-8")
    return done.returncode if found else 1


def browser() -> int:
    """Chromium, where it can be had the one without windows, which costs half; the exit status."""
    if any(map(shutil.which, (os.environ.get("CHROMIUM_PATH", ""), "chromium-headless-shell"))):
        return 0
    if not os.geteuid() and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        get = ["apt-get", "-qq", "-o", "Dpkg::Use-Pty=0"]
        subprocess.run([*get, "update"], env=quiet)
        for each in ("chromium-headless-shell", "chromium"):
            install = [*get, "install", "-y", "--no-install-recommends", each]
            if not subprocess.run(install, env=quiet, stdout=subprocess.DEVNULL).returncode:
                return 0
    if any(map(shutil.which, ("chromium", "google-chrome"))):
        return 0
    print("there is no Chromium: install it, or set CHROMIUM_PATH to one")
    return 1


if __name__ == "__main__":
    parts = {"--install": install, "--collect": collect}
    part = parts.get("".join(sys.argv[1:2]))
    sys.exit(part() if part else main(sys.argv[1:]))
