"""When no engine is shared: this process does the work itself, and says why."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import engines
import pytest

from server.engine import endpoint, launch, wanted
from server.engine.launch import NoEngine

pytestmark = pytest.mark.usefixtures("processes")

MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home/ann nfs4 rw 0 0
/dev/vdb /home/ann/local ext4 rw 0 0
host:/x /mnt/my\\040share fuse.sshfs rw 0 0
"""


@pytest.fixture
def shared() -> str:
    return "on"


def serves_alone(one: Any, folder: Path) -> None:
    one.hello()
    assert one.call("remember", text="the tea is in the blue tin")["isError"] is False
    assert engines.alive(folder) == []
    one.process.stdin.close()
    assert one.ended() == 0


def test_a_client_follows_the_engine_of_a_program_that_was_replaced(folder: Path) -> None:
    """Its own key is that of what it was started as; no engine will ever listen there."""
    asked = wanted.find({"data_dir": str(folder)}, {"ANAMNESIS_SHARED": "on"})
    asked.key = "0123456789abcdef"
    try:
        with launch.connect(asked, {"kind": "status"}).socket:
            assert len(engines.alive(folder)) == 1
        with launch.connect(asked, {"kind": "status"}, start=False).socket:
            pass
    finally:
        engines.end(folder)


@pytest.mark.slow
def test_it_can_be_switched_off(talk: Any, folder: Path) -> None:
    serves_alone(talk(ANAMNESIS_SHARED="off"), folder)


def test_on_windows_an_engine_is_detached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Played here: what is asked of Windows, and that its first lines are read."""
    here = wanted.find({}, {"ANAMNESIS_DATA_DIR": str(folder)})
    folder.mkdir(exist_ok=True)
    names = ("CREATE_NO_WINDOW", "CREATE_BREAKAWAY_FROM_JOB", "CREATE_NEW_PROCESS_GROUP")
    for place, name in enumerate(names):
        monkeypatch.setattr(subprocess, name, 1 << place, raising=False)
    asked: list[dict[str, Any]] = []

    class Started:
        def __init__(self, words: list[str], **more: Any) -> None:
            asked.append(more)
            read, write = os.pipe()
            os.write(write, b"starting\nlistening another-key\n")
            os.close(write)
            self.stdout = os.fdopen(read, "rb", 0)

    monkeypatch.setattr(subprocess, "Popen", Started)
    monkeypatch.setattr(sys, "platform", "win32")
    launch.start(here)
    assert here.key == "another-key"
    assert asked[0]["creationflags"] == 0b111
    assert "start_new_session" not in asked[0]


@pytest.mark.parametrize(
    ("prefix", "cache"),
    [
        ("/home/me/.cache/uv/archive-v0/x1", "/home/me/.cache"),
        ("/Users/me/Library/Caches/uv/x1", "/Users/me/Library/Caches"),
        ("/home/me/.local/pipx/venvs/anamnesis", ""),
    ],
)
def test_a_folder_named_as_a_cache_is_one(
    monkeypatch: pytest.MonkeyPatch, prefix: str, cache: str
) -> None:
    monkeypatch.setattr(launch, "__file__", "/opt/program/server/engine/launch.py")
    monkeypatch.setattr(sys, "prefix", prefix)
    assert launch._in_a_cache() == cache


@pytest.mark.slow
def test_a_program_in_a_cache_keeps_its_memory_to_itself(
    talk: Any, folder: Path, tmp_path: Path
) -> None:
    """As uvx and pipx run leave it: an environment in a folder that says it is a cache."""
    home = tmp_path / "runner" / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", home], check=True)
    (tmp_path / "runner" / "CACHEDIR.TAG").touch()
    root = Path(launch.__file__).parent.parent.parent
    paths = os.pathsep.join([str(root), *(each for each in sys.path if "site-packages" in each)])
    found = subprocess.run(
        [home / "bin" / "python", "-c", "from server.engine import launch, wanted\n"
         "print(launch.unshared(wanted.find({}, {'ANAMNESIS_DATA_DIR': '/x'})))\n"
         "print(launch.unshared(wanted.find({}, {'ANAMNESIS_SHARED': 'on'})))\n"],
        env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert found == [f"the program lies in {home.parent}, which may be removed while it runs", ""]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_folder_of_another_user_is_not_shared(talk: Any, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    serves_alone(talk(), folder)


@pytest.mark.slow
def test_it_serves_alone_when_no_engine_can_be_started(talk: Any, folder: Path) -> None:
    """A file that cannot be a lock stands for every right that may be missing."""
    (folder / launch.LOCK).mkdir(parents=True)
    serves_alone(talk(), folder)


def test_an_engine_that_does_not_start_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(NoEngine, match="no engine could be started"):
        launch.connect(wanted.find({"data_dir": str(folder)}, {"ANAMNESIS_SHARED": "on"}), {})


def test_an_engine_that_says_nothing_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder.mkdir(mode=0o700)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 100\n")
    silent.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(silent))
    monkeypatch.setattr(launch, "ANSWER_SECONDS", 0.1)
    with pytest.raises(NoEngine, match="no engine could be started"):
        launch.connect(wanted.find({"data_dir": str(folder)}, {"ANAMNESIS_SHARED": "on"}), {})


def test_an_engine_that_is_late_reads_nothing_but_its_own_pipe(until: Any) -> None:
    """The pipe is closed when its time is over, and its number goes to the next file."""
    ours, late = os.pipe()
    before = {thread.ident for thread in threading.enumerate()}
    assert launch._line(ours, 0.0) == b""
    (reading,) = (each for each in threading.enumerate() if each.ident not in before)
    os.close(ours)
    other, engine = os.pipe()
    assert other == ours
    os.write(engine, b"an answer of the engine\n")
    os.write(late, b"listening")
    os.close(late)
    until(lambda: not reading.is_alive())
    os.close(engine)
    with os.fdopen(other, "rb") as stream:
        assert stream.read() == b"an answer of the engine\n"


def test_whoever_listens_and_says_nothing_is_no_engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from server.engine import endpoint

    folder.mkdir(mode=0o700)
    asked = wanted.find({"data_dir": str(folder)}, {"ANAMNESIS_SHARED": "on"})
    place = endpoint.of(asked)
    monkeypatch.setattr(launch, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(launch, "_TRIES", 3)
    with place.listen(), pytest.raises(NoEngine, match="leaves again and again"):
        launch.connect(asked, {})


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/ann/memory", "nfs4"),
        ("/home/ann", "nfs4"),
        ("/home/annika", ""),
        ("/home/ann/local/memory", ""),
        ("/mnt/my share/memory", "fuse.sshfs"),
        ("/home/bob/memory", ""),
        ("\\\\server\\share\\memory", "share"),
    ],
)
def test_network_file_systems_are_known(
    folder: str, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    monkeypatch.setattr(launch, "MOUNTS", str(mounts))
    assert launch.file_system(folder) == kind


def test_a_network_file_system_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "file_system", lambda folder: "nfs4")
    asked = wanted.find({"data_dir": "/x"}, {"ANAMNESIS_SHARED": "on"})
    with pytest.raises(NoEngine, match="network file system"):
        launch.connect(asked, {})


def test_engines_that_are_killed_as_they_start_are_started_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It shows that it lives, and dies before it listens; the last one cannot be an engine."""
    folder.mkdir(mode=0o700)
    dying = tmp_path / "dying"
    count = tmp_path / "count"
    dying.write_text(
        f"#!/bin/sh\necho starting\necho x >> {count}\n"
        f'[ "$(wc -l < {count})" -lt 5 ] || echo unable to listen\n'
    )
    dying.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(dying))
    asked = wanted.find({"data_dir": str(folder)}, {"ANAMNESIS_SHARED": "on"})
    with pytest.raises(NoEngine, match="unable to listen"):
        launch.connect(asked, {})
    assert count.read_text() == 5 * "x\n"


def test_one_bound_holds_over_all_tries(
    folder: Path, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    """The first engine is killed after 15 s; then another process has the lock for good."""
    folder.mkdir(mode=0o700)
    free = [True]

    def start(asked: Any) -> None:
        free.pop()
        clock.pass_by(15.0)

    monkeypatch.setattr(launch, "start", start)
    monkeypatch.setattr(launch, "_try_lock", lambda file: bool(free))
    monkeypatch.setattr(launch.time, "monotonic", clock)
    monkeypatch.setattr(launch.time, "sleep", lambda seconds: clock.pass_by(1.0))
    begun = clock()
    with pytest.raises(launch.Late):
        launch.connect(wanted.find({"data_dir": str(folder)}, {"ANAMNESIS_SHARED": "on"}), {})
    assert clock() - begun <= launch.LISTEN_SECONDS + 1.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [endpoint.UnixEndpoint, endpoint.TcpEndpoint])
def test_who_starts_the_next_engine_removes_what_a_killed_one_of_another_version_left(
    talk: Any, folder: Path, kind: Any
) -> None:
    folder.mkdir(mode=0o700)
    old = kind(str(folder), "0" * 16)
    old.listen().close()
    one = talk()
    one.hello()
    assert len(engines.alive(folder)) == 1
    assert ("0" * 16) not in {key for key, _ in endpoint.names(str(folder))}


def test_a_process_that_becomes_the_engine_itself_removes_it_too(
    folder: Path, asked: wanted.WantedEngine
) -> None:
    folder.mkdir(mode=0o700)
    endpoint.UnixEndpoint(str(folder), "0" * 16).listen().close()
    listening = launch.alone(asked)
    assert listening is not None
    listening()
    assert endpoint.names(str(folder)) == []
