"""Where an engine listens: names, lengths, rights, secrets."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.engine import endpoint
from server.engine.endpoint import TcpEndpoint, UnixEndpoint, Unsafe

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(os.name != "posix", reason="rights of POSIX"),
]
KEY = "0123456789abcdef"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Its path is short: those of tests may not be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        yield Path(made)


Listen = Callable[[Any], socket.socket]


@pytest.fixture
def listen() -> Iterator[Listen]:
    opened: list[tuple[Any, socket.socket]] = []

    def one(place: Any) -> socket.socket:
        opened.append((place, place.listen()))
        return opened[-1][1]

    yield one
    for place, listener in opened:
        listener.close()
        place.leave()


def test_only_its_owner_can_reach_the_socket(folder: Path, listen: Listen) -> None:
    place = UnixEndpoint(str(folder), KEY)
    listen(place)
    assert Path(place.path).stat().st_mode & 0o777 == 0o600
    place.connect().close()
    assert sorted(path.name for path in folder.iterdir()) == [f"engine-{KEY}.sock"]


def test_a_long_path_gets_a_private_folder(tmp_path: Path, listen: Listen) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir(mode=0o700)
    place = UnixEndpoint(str(deep), KEY)
    listen(place)
    assert len(place.path) < endpoint.LONGEST
    assert Path(place.folder).stat().st_mode & 0o777 == 0o700
    place.connect().close()
    assert UnixEndpoint(str(deep), KEY).path == place.path
    assert UnixEndpoint(str(tmp_path / ("e" * 120)), KEY).path != place.path
    assert endpoint.names(str(deep)) == [(KEY, "sock")]
    place.leave()
    assert not Path(place.folder).exists()


def test_private_folders_of_killed_engines_do_not_pile_up(
    tmp_path: Path, folder: Path, listen: Listen
) -> None:
    """Also of data directories that are gone, so that nobody starts an engine there again."""

    def deep(name: str) -> UnixEndpoint:
        path = tmp_path / (name * 120)
        path.mkdir(mode=0o700)
        return UnixEndpoint(str(path), KEY)

    killed, unfinished, alive, young = map(deep, "kuay")
    for place in (killed, young):
        place.listen().close()  # its name stays
    unfinished.listen().close()
    Path(unfinished.path).rename(f"{unfinished.path}.123")
    listen(alive)
    for place in (killed, unfinished, alive):
        os.utime(place.folder, (0, 0))
    strange = Path(f"{killed.folder}-notes")
    strange.mkdir()
    (strange / "notes.txt").write_text("somebody's")
    os.utime(strange, (0, 0))
    try:
        endpoint.sweep(str(folder))
        there = [Path(place.folder).exists() for place in (killed, unfinished, alive, young)]
        assert there == [False, False, True, True]
        assert (strange / "notes.txt").read_text() == "somebody's"
        alive.connect().close()
    finally:
        (strange / "notes.txt").unlink()
        strange.rmdir()
        young.leave()


@pytest.mark.parametrize("mode", [0o722, 0o770, 0o777])
@pytest.mark.parametrize("kind", [UnixEndpoint, TcpEndpoint])
def test_a_folder_that_others_may_write_is_refused(
    folder: Path, mode: int, kind: Any, listen: Listen
) -> None:
    place = kind(str(folder), KEY)
    listen(place)
    folder.chmod(mode)
    with pytest.raises(Unsafe):
        place.connect()
    with pytest.raises(Unsafe):
        kind(str(folder), "1" * 16).listen()


@pytest.mark.parametrize("kind", [UnixEndpoint, TcpEndpoint])
def test_loose_rights_are_refused(folder: Path, kind: Any, listen: Listen) -> None:
    place = kind(str(folder), KEY)
    listen(place)
    Path(place.path).chmod(0o666)
    with pytest.raises(Unsafe):
        place.connect()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize("kind", [UnixEndpoint, TcpEndpoint])
@pytest.mark.parametrize("which", ["folder", "socket"])
def test_what_belongs_to_another_user_is_refused(
    folder: Path, kind: Any, which: str, listen: Listen
) -> None:
    place = kind(str(folder), KEY)
    listen(place)
    os.chown(folder if which == "folder" else place.path, 12345, 12345)
    with pytest.raises(Unsafe):
        place.connect()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="changes its user")
def test_an_engine_of_another_user_at_our_name_is_refused(folder: Path) -> None:
    """The name may look right when somebody made it look so; the process behind it counts."""
    place = UnixEndpoint(str(folder), KEY)
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        listener = socket.socket(socket.AF_UNIX)
        os.chown(folder, 12345, 12345)
        os.setuid(12345)
        listener.bind(place.path)
        listener.listen()
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    try:
        os.read(ready[0], 1)
        for path in (folder, Path(place.path)):
            os.chown(path, 0, 0)
        Path(place.path).chmod(0o600)
        with pytest.raises(Unsafe, match="another user listens"):
            place.connect()
    finally:
        os.write(done[1], b"x")
        os.waitpid(child, 0)
        for end in (*ready, *done):
            os.close(end)


@pytest.mark.parametrize("kind", [UnixEndpoint, TcpEndpoint])
def test_the_last_to_listen_has_the_name(folder: Path, kind: Any, listen: Listen) -> None:
    first, second = kind(str(folder), KEY), kind(str(folder), KEY)
    listen(first)
    assert first.ours()
    listen(second)
    assert (first.ours(), second.ours()) == (False, True)
    first.leave()
    assert Path(second.path).exists()
    second.leave()
    assert not Path(second.path).exists()


def test_a_port_that_another_program_took_over_learns_nothing(folder: Path) -> None:
    place = TcpEndpoint(str(folder), KEY)
    place.listen().close()  # the engine dies, its file stays
    port = json.loads(Path(place.path).read_text())["port"]
    heard = bytearray()
    thief = socket.create_server(("127.0.0.1", port))

    def answer() -> None:
        connection, _ = thief.accept()
        with connection:
            while data := connection.recv(4096):
                heard.extend(data)
                connection.sendall(b"0" * 64 + b"\n")

    stealing = threading.Thread(target=answer)
    stealing.start()
    with pytest.raises(ConnectionError):
        TcpEndpoint(str(folder), KEY).connect()
    stealing.join(10)
    thief.close()
    assert set(json.loads(heard)) == {"nonce", "proof"}
    assert json.loads(Path(place.path).read_text())["secret"] not in heard.decode()


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b'{"nonce": "x", "proof": "y"}\n', b"GET /\n"])
def test_a_client_without_the_secret_is_refused(folder: Path, line: bytes, listen: Listen) -> None:
    place = TcpEndpoint(str(folder), KEY)
    listen(place)

    async def refused() -> str:
        reader = asyncio.StreamReader()
        reader.feed_data(line)
        reader.feed_eof()
        return await place.admit(reader, None)  # type: ignore[arg-type]

    assert "secret" in asyncio.run(refused())


@pytest.mark.parametrize(("user", "refused"), [(0, False), (1, True), (None, False)])
def test_another_user_is_refused_at_the_unix_socket(
    folder: Path, monkeypatch: pytest.MonkeyPatch, user: int | None, refused: bool
) -> None:
    """*user* counts from this one; None where the system does not tell."""
    there = None if user is None else os.getuid() + user
    monkeypatch.setattr(endpoint, "peer", lambda connection: there)
    ours, theirs = socket.socketpair()

    async def admitted() -> str:
        reader, writer = await asyncio.open_connection(sock=ours)
        said = await UnixEndpoint(str(folder), KEY).admit(reader, writer)
        writer.close()
        return said

    with theirs:
        said = asyncio.run(admitted())
    assert said == (f"user {there} may not use this memory" if refused else "")


@pytest.mark.parametrize("kind", [UnixEndpoint, TcpEndpoint])
def test_what_a_killed_engine_left_is_swept_and_a_living_one_stays(
    folder: Path, listen: Listen, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, killed = kind(str(folder), KEY), kind(str(folder), "f" * 16)
    listen(living)
    killed.listen().close()  # nothing removes its name
    foreign = folder / "engine-notes.sock"
    foreign.write_text("mine")
    (folder / "engine.lock").touch()
    monkeypatch.setattr(endpoint, "PROOF_SECONDS", 0.1)  # the living one is slow to prove itself
    endpoint.sweep(str(folder))
    left = {path.name for path in folder.iterdir()}
    assert left == {Path(living.path).name, foreign.name, "engine.lock"}


def test_an_engine_that_stands_still_is_neither_swept_nor_waited_for_without_end(
    folder: Path, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = UnixEndpoint(str(folder), KEY)
    listen(place)
    waiting = []
    while True:
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        waiting.append(one)
        try:
            one.connect(place.path)
        except BlockingIOError:
            break
    endpoint.sweep(str(folder))
    assert Path(place.path).exists()
    monkeypatch.setattr(endpoint, "ROOM_SECONDS", 0.05)
    problems: list[OSError] = []

    def connect() -> None:
        try:
            place.connect()
        except OSError as problem:
            problems.append(problem)

    connecting = threading.Thread(target=connect, daemon=True)
    connecting.start()
    connecting.join(30)
    assert [type(problem) for problem in problems] == [BlockingIOError]
    for one in waiting:
        one.close()


def test_the_private_folder_of_a_killed_engine_goes_with_its_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir(mode=0o700)
    place = UnixEndpoint(str(deep), KEY)
    place.listen().close()
    endpoint.sweep(str(deep))
    assert not Path(place.folder).exists()
