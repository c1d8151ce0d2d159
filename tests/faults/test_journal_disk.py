"""The journal on a full disk and in a directory that it may not write: typed errors, reads go on.

Every case runs in a process of its own, because limits and user ids belong to processes. It
imports everything first, so that an unprivileged user need not be able to read this program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memory_core.records import Change
from memory_core.storage.journal.journal import Journal

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(sys.platform == "win32", reason="limits and modes of POSIX"),
]

ROOT = Path(__file__).parents[2]
NOBODY = 65534

COMMON = """
import json, os, sys
from pathlib import Path
from memory_core.errors import MemoryCoreError
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.journal.journal import Journal

def note(journal, name, size=10):
    return journal.write(lambda t: t.append(Change("meta", name, {"value": "x" * size})))

def names(journal):
    return [change.target for change in journal.changes(0, 100_000)]

def attempt(call, *arguments):
    try:
        return call(*arguments)
    except MemoryCoreError as error:
        assert str(error).startswith(error.code + ": ") and error.next_step
        return error.code
"""


def run(code: str, *arguments: str, prefix: tuple[str, ...] = ()) -> Any:
    """What the code printed as JSON."""
    done = subprocess.run(
        [*prefix, sys.executable, "-c", COMMON + code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FILL = """
def fill(journal, size, most=4000):
    told = []
    for number in range(most):
        outcome = attempt(note, journal, f"n{number}", size)
        if not isinstance(outcome, int):
            return told, outcome
        told.append(f"n{number}")
    return told, "no end"
"""


def test_a_file_size_limit_at_any_point_gives_disk_full_and_loses_nothing(tmp_path: Path) -> None:
    """The limit is swept through creation, shared memory, log and database file."""
    outcomes = run(
        FILL
        + """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
outcomes = []
for limit in (0, 1, 4096, 20_000, 32_768, 50_000, 100_000, 140_000, 200_000, 300_001):
    directory = Path(sys.argv[1]) / str(limit)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    journal = attempt(lambda: Journal.open(directory, clock=lambda: 0.0))
    told, outcome, read, again = [], journal, [], None
    if not isinstance(journal, str):
        told, outcome = fill(journal, 3000)
        read = names(journal)
        again = attempt(journal.checkpoint), attempt(note, journal, "still", 100_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if not isinstance(journal, str):
        assert isinstance(note(journal, "room"), int)
        journal.close()
    journal = Journal.open(directory, clock=lambda: 0.0)
    note(journal, "again")
    outcomes.append([limit, told, outcome, read, again, names(journal), journal.check()])
    journal.close()
print(json.dumps(outcomes))
""",
        str(tmp_path),
    )
    for limit, told, outcome, read, _, after, problems in outcomes:
        assert outcome == "disk_full", limit
        assert read == told
        assert after[: len(told)] == told
        assert after[-1] == "again"
        assert problems == []
    counts = [len(told) for _, told, *_ in outcomes]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] > 5


def test_a_full_file_system_gives_disk_full_and_reads_go_on(tmp_path: Path) -> None:
    prefix = ("unshare", "--mount", "--propagation", "private")
    mount = f"mount -t tmpfs -o size=1m,mode=700 tmpfs {tmp_path}"
    probe = [*prefix, "sh", "-c", mount]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("mount namespaces are not allowed here")
    told, outcome, read, reopened, written, room, after, problems = run(
        FILL
        + """
import subprocess
directory = Path(sys.argv[1])
subprocess.run(sys.argv[2].split(), check=True)
ballast = directory / "ballast"
ballast.write_bytes(b"0" * 200_000)
journal = Journal.open(directory, clock=lambda: 0.0)
told, outcome = fill(journal, 3000)
filler = directory / "filler"
file = os.open(filler, os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(file, b"0" * 512)
except OSError:
    os.close(file)
read = names(journal)
journal.close()
journal = Journal.open(directory, clock=lambda: 0.0)
reopened = names(journal)
written = attempt(note, journal, "no", 500_000)
ballast.unlink()
room = attempt(note, journal, "room")
after = names(journal)
print(json.dumps([told, outcome, read, reopened, written, room, after, journal.check()]))
journal.close()
""",
        str(tmp_path),
        mount,
        prefix=prefix,
    )
    assert len(told) > 10
    assert (outcome, written) == ("disk_full", "disk_full")
    assert read == reopened == told
    assert room == len(told) + 1
    assert after == [*told, "room"]
    assert problems == []


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that another user can reach, which those of pytest are not."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory / "data"
    (directory / "data").chmod(0o700)
    shutil.rmtree(directory)


READ_ONLY = """
directory = Path(sys.argv[1])
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
journal = attempt(lambda: Journal.open(directory, clock=lambda: 0.0))
if isinstance(journal, str):
    print(json.dumps(journal), flush=True)
    sys.exit()
refused = [attempt(note, journal, "no"), attempt(journal.checkpoint)]
healthy = [journal.check(), journal.stats()["live"]]
print(json.dumps([journal.read_only, names(journal), *refused, *healthy]), flush=True)
for line in sys.stdin:
    print(json.dumps(names(journal)), flush=True)
journal.close()
"""

LEAVE = """
journal = Journal.open(Path(sys.argv[1]), clock=lambda: 0.0)
note(journal, "a")
journal.checkpoint()
note(journal, "b")
os._exit(0)
"""


def close_to_writing(directory: Path) -> None:
    if os.getuid() == 0:
        for path in (directory, *directory.iterdir()):
            os.chown(path, NOBODY, NOBODY)
    for path in directory.iterdir():
        path.chmod(0o400)
    directory.chmod(0o500)


class ReadOnlyProcess:
    """A process that has the journal open without the right to write it."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMON + READ_ONLY, str(directory)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.first = json.loads(self.process.stdout.readline())

    def names(self) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        said: list[str] = json.loads(self.process.stdout.readline())
        return said

    def close(self) -> None:
        self.process.communicate(timeout=60)


Open: TypeAlias = Callable[[Path], ReadOnlyProcess]


@pytest.fixture
def open_read_only() -> Iterator[Open]:
    started: list[ReadOnlyProcess] = []

    def start(directory: Path) -> ReadOnlyProcess:
        started.append(ReadOnlyProcess(directory))
        return started[-1]

    yield start
    for each in started:
        each.close()
        assert each.process.returncode == 0


@pytest.mark.parametrize("shared_memory", [True, False])
def test_a_read_only_directory_with_a_log_is_read_completely(
    public_directory: Path, open_read_only: Open, shared_memory: bool
) -> None:
    """A killed writer left a log; its shared memory is there, or was not copied along."""
    left = subprocess.run([sys.executable, "-c", COMMON + LEAVE, str(public_directory)], cwd=ROOT)
    assert left.returncode == 0
    assert (public_directory / "journal.db-wal").stat().st_size > 0
    if not shared_memory:
        (public_directory / "journal.db-shm").unlink()
    close_to_writing(public_directory)
    reader = open_read_only(public_directory)
    assert reader.first == [True, ["a", "b"], "read_only", "read_only", [], 0]
    assert reader.names() == ["a", "b"]


def write(directory: Path, name: str) -> Journal:
    journal = Journal.open(directory, clock=lambda: 0.0)
    journal.write(lambda t: t.append(Change("meta", name, {"value": name})))
    return journal


def test_a_read_only_reader_of_a_closed_journal_sees_what_is_written_later(
    public_directory: Path, open_read_only: Open
) -> None:
    write(public_directory, "a").close()
    close_to_writing(public_directory)
    reader = open_read_only(public_directory)
    assert reader.first == [True, ["a"], "read_only", "read_only", [], 0]
    if os.getuid() == 0:  # somebody else who may write
        journal = write(public_directory, "b")
        assert reader.names() == ["a", "b"]
        journal.write(lambda t: t.append(Change("meta", "c", {"value": 1})))
        assert reader.names() == ["a", "b", "c"]
        journal.checkpoint(truncate=True)
        journal.close()
        assert reader.names() == ["a", "b", "c"]


def test_a_read_only_reader_follows_a_writer_that_is_there_already(
    public_directory: Path, open_read_only: Open
) -> None:
    journal = write(public_directory, "a")
    close_to_writing(public_directory)
    reader = open_read_only(public_directory)
    assert reader.first == [True, ["a"], "read_only", "read_only", [], 0]
    journal.write(lambda t: t.append(Change("meta", "b", {"value": 1})))
    assert reader.names() == ["a", "b"]
    journal.close()


@pytest.mark.parametrize("content", [None, b""])
def test_a_read_only_directory_without_a_journal_is_a_typed_error(
    public_directory: Path, open_read_only: Open, content: bytes | None
) -> None:
    public_directory.mkdir()
    if content is not None:
        (public_directory / "journal.db").write_bytes(content)
    close_to_writing(public_directory)
    process = open_read_only(public_directory)
    assert process.first == "read_only"


def test_a_directory_that_cannot_be_created_is_a_typed_error(
    public_directory: Path, open_read_only: Open
) -> None:
    public_directory.mkdir()
    close_to_writing(public_directory)
    process = open_read_only(public_directory / "new" / "data")
    assert process.first == "read_only"
