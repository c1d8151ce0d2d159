"""The processes that tests start: a place of their own for each, and an end with the test.

A plugin of pytest. A test that uses the fixture `processes`, or a fixture that uses it or
`processes_of_a_file`, gets the marker `processes`; a test without it that starts a process or opens
a port fails where it does. Whatever such a test leaves running is ended and fails it, whatever a
run leaves running is ended and fails the run, each time with the command lines.

What a test started is known by a variable in its environment, which detached processes keep, and by
the folder of the tests' files in its command line or as its working directory. Linux only: without
/proc only the groups of processes that were started here are ended.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from server.engine import endpoint

ROOT = Path(__file__).parent.parent
MARK = "TESTS_STARTED_BY"
"""The variable; its value is that of the run, a dot, and what started the process within it."""
PATIENCE = 120.0
"""Seconds to wait for what has to come: far more than it takes, and free when it comes."""
ENDING = 30.0
"""Seconds within which what a test told to end has to be gone."""
SOCKETS = "/tmp"
"""Where sockets lie whose own folder has too long a path."""
STARTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "socket.bind"}
)
"""Audit events of tests that are not plain."""
_HARMLESS = ("uname", "ldconfig", "gcc", "cc", "ld", "objdump", "file")
"""Programs that the standard library asks something (platform, ctypes.util)."""
_SHOWN = 4_000


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until *condition* is true; fails after *seconds*, naming it."""
    begun = time.monotonic()
    while not condition():
        waited = time.monotonic() - begun
        assert waited < seconds, f"did not come true in {seconds} s: {condition}"
        time.sleep(min(0.01 + waited / 20, 0.1))  # what it waits for needs the processor


class Process(NamedTuple):
    """A running process and its command line."""

    id: int
    command: str

    def __str__(self) -> str:
        return f"{self.id} {self.command[:300]}"


def running(mark: str, *folders: Path) -> list[Process]:
    """Processes whose environment bears *mark* or begins so, or that work on one of *folders*.

    This process, those above it and zombies are left out.
    """
    marks = (f"{MARK}={mark}\0".encode(), f"{MARK}={mark}.".encode())
    names = [os.fsencode(folder) for folder in folders]
    above = _above(os.getpid())
    found = []
    for process, command in commands():
        if process in above:
            continue
        with contextlib.suppress(OSError):
            about = b"\0" + _read(process, "environ") + b"\0"
            where = os.readlink(f"/proc/{process}/cwd".encode())
            if any(b"\0" + each in about for each in marks) or any(
                name in command or where.startswith(name) for name in names
            ):
                words = command.rstrip(b"\0").split(b"\0")
                found.append(Process(process, b" ".join(words).decode(errors="replace")))
    return sorted(found)


def commands() -> Iterator[tuple[int, bytes]]:
    """Every process and its command line, words with NUL behind each, where there is /proc.

    Zombies and threads of the kernel have none and are left out. Each test looks through all
    processes, some often, and pathlib takes three times as long for it.
    """
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdecimal():
            with contextlib.suppress(OSError):
                if command := _command(int(name)):
                    yield int(name), command


def _command(process: int) -> bytes:
    """The command line of *process*; empty when it has none, and never will.

    It is empty for a moment while a program is started, too: that one has a file. Raises OSError
    when the process is gone.
    """
    for _ in range(1_000):
        found = _read(process, "cmdline")
        if found or not os.path.exists(f"/proc/{process}/exe"):
            break
        time.sleep(0.001)
    return found


def _read(process: int, name: str) -> bytes:
    with open(f"/proc/{process}/{name}", "rb", buffering=0) as file:
        return file.readall()


def ended(process: int) -> bool:
    """Whether the process with that id is gone, or only waits to be collected."""
    try:
        return not _command(process)
    except OSError:
        return True


def end(processes: Iterable[Process], again: Callable[[], list[Process]]) -> None:
    """Kill *processes*, and what `again` finds then, until it finds nothing."""
    left = list(processes)
    deadline = time.monotonic() + ENDING
    while left and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process.id, signal.SIGKILL)
        time.sleep(0.01)
        left = again()


def _above(process: int) -> set[int]:
    """*process*, its parent, the parent of that, and so on."""
    found = set()
    while process > 0:
        found.add(process)
        try:
            stats = (Path("/proc") / str(process) / "stat").read_text()
        except OSError:
            break
        process = int(stats.rpartition(")")[2].split()[1])
    return found


class Processes:
    """Starts processes with a folder, a home and an environment of their own; ends them all.

    `folder` has a path that is short enough for a socket in it. `environment` is this process's
    own without its settings of the memory, with `home` for HOME, no model from the network and no
    shared engine. By default a program starts one unless it lies in a temporary folder, so what a
    test that leaves the setting out sees would depend on where the program lies.
    """

    def __init__(self, mark: str) -> None:
        """Processes that bear *mark*."""
        self.mark = mark
        self.folder = Path(tempfile.mkdtemp(prefix="t", dir=_short()))
        self.home = self.folder / "home"
        self.home.mkdir()
        own = {k: v for k, v in os.environ.items() if not k.startswith(("ANAMNESIS_", "XDG_"))}
        self.environment = {
            **own,
            MARK: mark,
            "HOME": str(self.home),
            "ANAMNESIS_DATA_DIR": str(self.folder / "data"),
            "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_PORT": "0",
            "ANAMNESIS_SHARED": "off",
        }
        self._started: list[subprocess.Popen[Any]] = []
        self._kept: dict[int, list[Path]] = {}
        self._numbers = itertools.count(1)

    def start(self, *command: str | Path, **more: Any) -> subprocess.Popen[Any]:
        """Start *command* as the head of a group of its own; *more* goes to subprocess.Popen.

        What it says on stderr, and on stdout, is kept in files unless *more* says otherwise, and
        shown when the test fails.
        """
        name, kept = f"{next(self._numbers)}-{Path(command[0]).name}", []
        with contextlib.ExitStack() as files:
            for stream in ("stdout", "stderr"):
                if stream not in more:
                    kept.append(self.folder / f"{name}.{stream}")
                    more[stream] = files.enter_context(kept[-1].open("wb"))
            more = {"cwd": ROOT, "env": self.environment, "start_new_session": True, **more}
            more["env"] = {**more["env"], MARK: self.mark}
            more.setdefault("stdin", subprocess.DEVNULL)
            process = subprocess.Popen([str(word) for word in command], **more)
        self._started.append(process)
        self._kept[process.pid] = kept
        return process

    def run(
        self, *command: str | Path, seconds: float = PATIENCE, **more: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run *command* to its end and return what it said; *more* goes to subprocess.Popen.

        Raises subprocess.TimeoutExpired when it takes longer than *seconds*.
        """
        given = more.pop("input", None)
        more = {"stdin": subprocess.PIPE, **more} if given is not None else more
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = self.start(*command, **{**pipes, **more})
        said, told = process.communicate(given, timeout=seconds)
        return subprocess.CompletedProcess(list(command), process.returncode, said, told)

    def told(self, process: subprocess.Popen[Any]) -> str:
        """What *process* has said so far on those of stdout and stderr that are kept here."""
        paths = self._kept[process.pid]
        return "".join(path.read_text("utf-8", errors="replace") for path in paths)

    def says(self, process: subprocess.Popen[Any], pattern: str) -> re.Match[str]:
        """Wait until *process* says *pattern*; fails when it ends without."""
        deadline = time.monotonic() + PATIENCE
        while True:
            over = process.poll() is not None or time.monotonic() > deadline
            if found := re.search(pattern, self.told(process), re.MULTILINE):
                return found
            assert not over, f"it never said {pattern!r}, but\n{self.told(process)}"
            time.sleep(0.01)

    def said(self) -> str:
        """The ends of what the processes said."""
        parts = []
        for path in sorted(self.folder.glob("*.std*")):
            if text := path.read_text("utf-8", errors="replace")[-_SHOWN:].rstrip():
                parts.append(f"-- {path.name}\n{text}")
        return "\n".join(parts)

    def close(self) -> None:
        """End everything that was started here, and what that started; remove the folder."""
        for process in self._started:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(ENDING)
        end(self._left(), self._left)
        for process in self._started:  # what held them is gone, so no reader waits
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _left(self) -> list[Process]:
        return running(self.mark, self.folder)


def _short() -> str:
    """A folder for folders of which a socket's path may be made."""
    found = tempfile.gettempdir()
    return found if len(os.fsencode(found)) < 40 else SOCKETS


# The plugin

_run = ""
_mark = ""
"""What the processes of this moment bear: the mark of a test, or that of the run."""
_counter = itertools.count(1)
_plain: list[str] = []
"""The plain test that is running, if one is."""
_kept: set[str] = set()
_problems: list[str] = []
_unclosed: list[str] = []
_open = pytest.StashKey[Processes]()


def keep(folder: Path) -> None:
    """What works on *folder* belongs to a fixture that outlives the test that starts it."""
    _kept.add(str(folder))


@pytest.fixture(name="until")
def _until() -> Callable[..., None]:
    """Wait for a condition, bounded: (condition, seconds)."""
    return until


@pytest.fixture
def processes(request: pytest.FixtureRequest) -> Iterator[Processes]:
    """Starts processes for one test, and ends them with it."""
    started = Processes(f"{_mark}.own")
    request.node.stash[_open] = started
    yield started
    started.close()


@pytest.fixture(scope="session")
def processes_of_a_file() -> Callable[[], contextlib.AbstractContextManager[Processes]]:
    """`with processes_of_a_file() as processes`: for fixtures that live longer than a test."""

    @contextlib.contextmanager
    def begin() -> Iterator[Processes]:
        started = Processes(f"{_run}.{os.getpid()}-file-{next(_counter)}")
        keep(started.folder)
        try:
            yield started
        finally:
            started.close()

    return begin


def pytest_configure(config: pytest.Config) -> None:
    """Begin a run; its workers go on with the same."""
    global _run, _mark
    name = (
        "processes: starts processes or opens ports; set by the fixture, not among the plain ones"
    )
    config.addinivalue_line("markers", name)
    if hasattr(config, "workerinput"):
        _run = os.environ[MARK]
    else:
        outer = os.environ.get(MARK)
        _run = f"{outer}.{os.getpid()}" if outer else str(os.getpid())
        os.environ[MARK] = _run
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # else nothing is ended by it
    _mark = _run
    sys.addaudithook(_audit)
    from warm import Template  # found in runs of pytest; others take parts of this file

    template = Template()
    template.use()
    config.add_cleanup(template.close)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _plain and event in STARTS:  # at the end of the interpreter both are None, _plain first
        what = arguments[0] if arguments else ""
        if event == "socket.bind":
            what = arguments[1]
            if arguments[0].family == getattr(socket, "AF_NETLINK", None):
                return
        elif event == "subprocess.Popen" and Path(str(what)).name in _HARMLESS:
            return
        said = f"{_plain[0]} is a plain test, and {event} of {what} needs the fixture `processes`"
        raise RuntimeError(said)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the fixtures; nothing else is repeated."""
    for item in items:
        if {"processes", "processes_of_a_file"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("processes")
        elif config.getoption("reruns", None):
            item.add_marker(pytest.mark.flaky(reruns=0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Keep plain tests from starting anything."""
    if item.get_closest_marker("processes") is None:
        _plain.append(item.nodeid)
    try:
        return (yield)
    finally:
        _plain.clear()


@pytest.fixture(autouse=True)
def _ends_with_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of what a test starts nothing lives on after it."""
    if request.node.get_closest_marker("processes") is None:
        yield
        return
    global _mark
    mark = _mark = os.environ[MARK] = f"{_run}.{os.getpid()}-{next(_counter)}"
    yield
    _mark = os.environ[MARK] = _run

    folders = [Path(f) for f in [request.node.funcargs.get("tmp_path")] if f]

    def left() -> list[Process]:
        found = running(mark, *folders)
        return [each for each in found if not any(name in each.command for name in _kept)]

    deadline = time.monotonic() + ENDING
    while (found := left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    end(found, left)
    told = [f"left running: {each}" for each in found]
    told += [f"left a socket: {each}" for each in _sockets(folders)]
    if told:
        pytest.fail("\n".join(told))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Show what the processes of a failed test said."""
    report = yield
    started = item.stash.get(_open, None)
    if report.failed and started is not None and (said := started.said()):
        report.sections.append(("what the processes said", said))
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what the whole run left, and fail it for that."""
    if hasattr(session.config, "workerinput"):
        gc.freeze()  # pytest would look for garbage, for seconds, and in a worker tell nobody
        return
    files: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]

    def left() -> list[Process]:
        return running(_run, files)

    deadline = time.monotonic() + ENDING
    while (found := left()) and time.monotonic() < deadline:
        time.sleep(0.05)
    _problems.extend(f"left running: {each}" for each in found)
    end(found, left)
    _problems.extend(f"left a socket: {each}" for each in _sockets(map(Path, _kept)))
    if _problems:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    _unclosed.extend(_collected())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was left."""
    if _problems:
        terminalreporter.section("left by the run", red=True)
        for line in _problems:
            terminalreporter.line(line)
    if _unclosed:
        terminalreporter.section("unclosed at the end, of no test that is known", yellow=True)
        for line in _unclosed:
            terminalreporter.line(line)


def _collected() -> list[str]:
    """What nothing refers to any more and nobody closed, with its origin under tracemalloc.

    Within a test this fails the test. At the end of the run nobody knows whose it was: pytest would
    end with an error that names none, and in a worker it says nothing.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(2):  # what a finaliser let go is found by the second
            gc.collect()
    return [
        "\n".join([str(each.message), *_origin(each.source)])
        for each in caught
        if issubclass(each.category, ResourceWarning)
    ]


def _origin(source: object) -> list[str]:
    found = tracemalloc.get_object_traceback(source) if tracemalloc.is_tracing() else None
    return found.format() if found else []


def _sockets(folders: Iterable[Path]) -> list[str]:
    """Where engines listened that are gone, for these data directories or those in *folders*."""
    places = {each for folder in folders for each in (folder, *folder.glob("*/"))}
    found = []
    for place in map(str, places):
        found += [f"{place}: engine-{key}.{ending}" for key, ending in endpoint.names(place)]
        endpoint.sweep(place)
    return found
