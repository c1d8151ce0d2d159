"""Starts the program without importing it every time: a process that has imported it forks.

Most of what a start costs are imports, and the suite starts the program many hundred times. The
first start in a process of tests brings up a template, which imports the program and does nothing
else. From then on a start of this very program is a fork of the template, which takes on the words,
environment, folder, streams and group that were asked for and runs `server/__main__.py`. It is a
child of whoever asked, /proc shows its own command line and environment, and it starts engines in
the same way.

What is no plain start of this program begins as ever: other programs, other flags of Python, other
settings of Python or the C library, a terminal. So does what has the variable `COLD`: where a test
sees what a start itself costs or loads. So does everything on systems without /proc.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
COLD = "TESTS_START_COLD"
"""What has this variable in its environment is not started by a template."""
PYTHON = sys.executable
PROGRAM = str(ROOT / "server" / "__main__.py")
MODULES = ("server", "memory_core")
_LOADED = ("faiss", "tokenizers", "uvicorn", "httpx", "apsw")
_OUTSIDE = ("PYTHON", "LC_", "LANG", "LD_", "OMP_", "OPENBLAS_", "MALLOC_", "GLIBC_")
"""Beginnings of variables that are read before a line of the program runs."""
_ROOM = "TESTS_ROOM"
_WORDS, _VARIABLES = 16_000, 64_000
"""Bytes that a template keeps free for a command line and for an environment."""
_LARGEST = 100_000
_ADOPT = 36
"""PR_SET_CHILD_SUBREAPER of prctl: what lost its parent becomes this process's child."""
_FAILED = b"-"
_INTERRUPTED = signal.getsignal(signal.SIGINT)


class Start(NamedTuple):
    """A start of the program; `group` is None for a session of its own, -1 for the same group."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    group: int | None
    mask: int


class Template:
    """The template of this process, and its starts."""

    def __init__(self, place: socket.socket | None = None) -> None:
        """The template that listens at the other end of *place*; without it one of its own."""
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._as_ever: Any = subprocess._fork_exec  # type: ignore[attr-defined]

    def use(self) -> None:
        """Start the program by this template from now on, where there is /proc."""
        if not Path("/proc/self/environ").exists():
            return
        subprocess._fork_exec = self._fork_exec  # type: ignore[attr-defined]

    def close(self) -> None:
        """End the template; the next start would bring up another."""
        if self._place:
            self._place.close()
            self._place = None

    def _fork_exec(self, *given: Any) -> int:
        """The one call by which the standard library starts a program; returns its process id."""
        found = _start(*given)
        if found is None:
            return int(self._as_ever(*given))
        start, files = found
        with self._lock:
            place = self._place = self._place or self._template()
            adopt(True)
            try:
                socket.send_fds(place, [json.dumps(start).encode()], files)
                answer = place.recv(_LARGEST)
            finally:
                adopt(False)
        if answer in (b"", _FAILED):
            raise OSError("a template could not start the program; stderr has the reason")
        return int(answer)

    def _template(self) -> socket.socket:
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {key: value for key, value in os.environ.items() if key != COLD}
        with other:
            self._process = subprocess.Popen(
                [PYTHON, __file__, str(other.fileno()), "x" * _WORDS],
                cwd=ROOT,
                env={_ROOM: "x" * _VARIABLES, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )
        self._process.returncode = 0  # it ends with this process, which does not wait for it
        return own


def adopt(yes: bool) -> None:
    """Whether what loses its parent among this process's descendants becomes its own child."""
    ctypes.CDLL(None).prctl(_ADOPT, int(yes), 0, 0, 0)


def _start(
    words: list[str | bytes | os.PathLike[str]],
    programs: tuple[bytes, ...],
    close: bool,
    passed: tuple[int, ...],
    folder: str | None,
    environment: list[bytes] | None,
    *more: Any,
) -> tuple[Start, list[int]] | None:
    """The start and its three streams, when it is one that a template can do."""
    files = [more[0], more[3], more[5]]
    restore, session, group, *user, setting, _ = more[8:]
    plain = (
        close
        and len(passed) == 1  # by it the standard library hears that a program was not found
        and restore
        and user == [None, None, None, -1]
        and setting is None
        and programs == (os.fsencode(PYTHON),)
    )
    names = [os.fsdecode(word) for word in words]
    safe, entry = _entry(names)
    if not plain or entry is None:
        return None
    if environment is None:
        values = dict(os.environ)
    else:
        values = dict(os.fsdecode(each).split("=", 1) for each in environment)
    where = str(Path.cwd() / (folder or ""))
    paths = values.get("PYTHONPATH", "")
    ours = (safe and entry == PROGRAM) or paths == str(ROOT) or (not safe and Path(where) == ROOT)
    if not ours or COLD in values or _outside(values) != _outside(os.environ):
        return None
    files = [at if given == -1 else given for at, given in enumerate(files)]
    fits = _length(names) < _WORDS and _length([*values, *values.values()]) < _VARIABLES
    if any(map(os.isatty, files)) or not Path(where).is_dir() or not fits:
        return None
    return Start(names, where, values, None if session else group, _mask()), files


def _length(texts: Iterable[str]) -> int:
    return sum(len(os.fsencode(text)) + 1 for text in texts)


def _mask() -> int:
    """The mask for new files of this process, which can only be asked for by setting it."""
    (line,) = re.findall(r"Umask:\t(\d+)", Path("/proc/self/status").read_text())
    return int(line, 8)


def _entry(words: list[str]) -> tuple[bool, str | None]:
    """Whether Python leaves out the current folder, and what it runs; None for anything else."""
    safe = words[1:2] == ["-P"]
    first = words[1 + safe : 3 + safe]
    if first == ["-m", "server"]:
        return safe, "server"
    return safe, PROGRAM if safe and first[:1] == [PROGRAM] else None


def _outside(values: Any) -> dict[str, str]:
    return {k: v for k, v in values.items() if k.startswith(_OUTSIDE) and k != "PYTHONPATH"}


def serve(place: socket.socket) -> Start:
    """Fork for every start that is asked for at *place*; returns in the processes started.

    Ends the process when nobody can ask any more.
    """
    while True:
        asked, files, _, _ = socket.recv_fds(place, _LARGEST, 3)
        if not asked:
            os._exit(0)
        reading, writing = os.pipe()
        if (between := os.fork()) == 0:
            here = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == here:  # a server ends when its parent changes
                time.sleep(0.001)
            place.close()
            os.close(reading)
            start = _become(Start(*json.loads(asked)), files)
            os.write(writing, str(os.getpid()).encode())
            os.close(writing)
            return start
        os.waitpid(between, 0)
        os.close(writing)
        place.send(os.read(reading, 100) or _FAILED)
        for file in (reading, *files):
            os.close(file)


def _become(start: Start, files: list[int]) -> Start:
    for at, file in enumerate(files):
        os.dup2(file, at)
        os.close(file)
    os.chdir(start.folder)
    if start.group is None:
        os.setsid()
    elif start.group >= 0:
        os.setpgid(0, start.group)
    os.umask(start.mask)
    signal.signal(signal.SIGINT, _INTERRUPTED)
    os.environ.clear()
    os.environ.update(start.environment)
    time.tzset()
    sys.orig_argv[:] = start.words
    _show(start.words, start.environment)
    return start


def _show(words: list[str], environment: dict[str, str]) -> None:
    """Let /proc show *words* and *environment* as those of this process."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    places = list(map(int, fields[45:49]))
    values = [f"{name}={value}" for name, value in environment.items()]
    for texts, begin, end in ((words, *places[:2]), (values, *places[2:])):
        shown = b"".join(os.fsencode(text) + b"\0" for text in texts)
        ctypes.memmove(begin, shown.ljust(end - begin, b"\0"), end - begin)


def _leave() -> None:
    """Hold nothing of the program that this process was forked from, and look like nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for at in range(3):
        os.dup2(nothing, at)
    os.close(nothing)
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _show(["template"], {})


def _load() -> None:
    from memory_core.storage.table.lance import light_import

    for name in MODULES:
        package = importlib.import_module(name)
        for each in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not each.name.endswith("__main__"):
                importlib.import_module(each.name)
    for name in _LOADED:
        importlib.import_module(name)
    with light_import():
        loop = importlib.import_module("lancedb.background_loop")
    loop.LOOP.loop.call_soon_threadsafe(loop.LOOP.loop.stop)  # a template has one thread
    loop.LOOP.thread.join()
    loop.LOOP.loop.close()
    loop.LOOP._start, loop._FORK_WARNED = lambda: None, True
    load_model_once()()
    gc.collect()
    gc.disable()
    gc.freeze()


def load_model_once() -> Callable[[], None]:
    """From now on the model of this installation is checked and loaded once in this process.

    What that returns does it at once. The model starts no thread, so forked processes can use it.
    """
    from memory_core.config import Settings
    from memory_core.embedding import acquisition, minilm, weights

    check, load = weights.damage, minilm._loaded
    places = acquisition._places(Settings(offline=True))
    folder = next((each for each in places if (each / weights.MODEL).exists()), None)
    problem = functools.cache(lambda: check(folder))
    model = functools.cache(lambda: load(folder))

    @functools.wraps(check)  # what reads the source of a module finds the real one
    def checked(place: Path) -> str:
        return problem() if place == folder else check(place)

    @functools.wraps(load)
    def loaded(place: Path) -> tuple[Any, Any]:
        return model() if place == folder else load(place)

    weights.damage, minilm._loaded = checked, loaded

    def now() -> None:
        if folder and not problem():
            model()

    return now


def _run(start: Start) -> None:
    """What Python does with the command line of *start*."""
    gc.enable()
    loop = sys.modules["lancedb.background_loop"].LOOP
    del loop._start
    loop._start()
    safe, entry = _entry(start.words)
    paths = [each for each in start.environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    own = 2  # ROOT, and the folder of this file
    sys.path[:] = [*([] if safe else [start.folder]), *paths, *sys.path[own:]]
    if entry == PROGRAM:
        sys.argv[:] = start.words[2:]
        runpy.run_path(PROGRAM, run_name="__main__")
    else:
        sys.argv[:] = start.words[2 + safe :]
        runpy.run_module("server", run_name="__main__", alter_sys=True)


def main() -> None:
    """Be a template, and then what is started from it."""
    sys.path.insert(0, str(ROOT))
    _load()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _show(["template"], {})
    start = serve(socket.socket(fileno=int(sys.argv[1])))
    while "--launched" not in start.words and start.environment.get("ANAMNESIS_SHARED") != "off":
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork():
            other.close()
            Template(own).use()
            break
        own.close()
        _leave()
        start = serve(other)
    _run(start)


if __name__ == "__main__":
    main()
