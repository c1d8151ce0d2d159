"""The life of the real server on stdin and stdout: what it says, and every way it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engines
import pytest
from processes import keep
from talking import END_SECONDS, HELLO, Talk

from memory_core.records import new_id
from server.stdio import proxy
from server.stdio.session import GONE

ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX"),
]


@pytest.fixture
def engine() -> str:
    """Whose engine serves: "on" for a shared one, as by default; ENGINES asks for both."""
    return "on"


LONG = pytest.mark.long
ENGINES = pytest.mark.parametrize("engine", ["on", "off"], ids=["shared engine", "own engine"])
SHARED_IN_THE_CHECK = pytest.mark.parametrize(
    "engine",
    [pytest.param("on", id="shared engine"), pytest.param("off", marks=LONG, id="own engine")],
)
"""For how a process begins and ends, and for what each reads from its client by itself."""


@pytest.fixture(scope="module")
def sharing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory whose engine the clients of this file share."""
    folder = tmp_path_factory.mktemp("engine") / "data"
    keep(folder)
    yield folder
    engines.end(folder)


@pytest.fixture
def environment(
    engine: str, tmp_path: Path, processes: Any, request: pytest.FixtureRequest
) -> dict[str, str]:
    """That of a client with an agent, and so memories, of its own."""
    shared = engine == "on"
    folder = request.getfixturevalue("sharing") if shared else tmp_path / "data"
    return {
        **os.environ,
        "ANAMNESIS_DATA_DIR": str(folder),
        "ANAMNESIS_OFFLINE": "1",
        "ANAMNESIS_SHARED": engine,
        "ANAMNESIS_AGENT": new_id(1e9),
    }


@pytest.fixture
def cold(environment: dict[str, str], tmp_path: Path) -> Iterator[None]:
    """No engine is there yet."""
    environment["ANAMNESIS_DATA_DIR"] = str(tmp_path / "data")
    yield
    engines.end(tmp_path / "data")


@pytest.fixture
def talk(environment: dict[str, str]) -> Iterator[Callable[..., Talk]]:
    started: list[Talk] = []

    def start(*command: str) -> Talk:
        started.append(Talk([sys.executable, *(command or ("-m", "server"))], environment))
        return started[-1]

    yield start
    for one in started:
        one.finish()


@ENGINES
def test_stdout_carries_only_the_protocol(talk: Any) -> None:
    server = talk()
    server.hello()
    assert server.call("remember", text="the tea is in the blue tin")["isError"] is False
    found = server.call("recall", query="where is the tea")
    assert found["structuredContent"]["memories"][0]["text"] == "the tea is in the blue tin"
    server.process.stdin.close()
    assert server.ended() == 0
    for thread in server.threads:
        thread.join(END_SECONDS)
    assert server.lines.empty()


def test_a_lone_surrogate_is_answered_with_a_warning(talk: Any) -> None:
    server = talk()
    server.hello()
    server.send(
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"remember",'
        b'"arguments":{"text":"half \\ud83d of a smile"}}}'
    )
    answer = server.get()
    assert answer["id"] == 5
    assert answer["result"]["structuredContent"]["status"] == "stored"
    assert any("U+FFFD" in w for w in answer["result"]["structuredContent"]["warnings"])


@ENGINES
def test_requests_that_the_parser_refuses_are_answered(talk: Any) -> None:
    server = talk()
    server.hello()
    for value in (
        b"[1]",
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"[" * 999 + b"]" * 999 + b"}",
    ):
        server.send(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":' + value + b"}")
        answer = server.get()
        assert answer["id"] == 5
        assert "error" in answer
        for noise in (b"hello", b"[]", b"{}", b"\xff\xfe", b'{"jsonrpc":'):
            server.send(noise)
        assert "result" in server.ask(6, "tools/list")


@ENGINES
def test_calls_written_before_stdin_closes_are_answered(talk: Any) -> None:
    server = talk()
    server.hello()
    server.call("remember", text="warm up")
    for number in range(10):
        arguments = {"text": f"the last words, number {number}"}
        params = {"name": "remember", "arguments": arguments}
        server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    server.process.stdin.close()
    answers = [server.get() for _ in range(10)]
    assert {answer["id"] for answer in answers} == set(range(10))
    told = [answer["result"] for answer in answers]
    late = {"content": [{"type": "text", "text": GONE}], "isError": True}
    stored = [result for result in told if result != late]  # a busy machine may not do all in time
    assert {result["structuredContent"]["status"] for result in stored} == {"stored"}
    assert server.ended() == 0


@ENGINES
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, pytest.param(signal.SIGHUP, marks=LONG)]
)
def test_a_signal_ends_it_and_what_was_acknowledged_stays(
    talk: Any, number: signal.Signals
) -> None:
    server = talk()
    server.hello()
    id = server.call("remember", text="kept through a signal")["structuredContent"]["id"]
    server.process.send_signal(number)
    assert server.ended() == 0
    again = talk()
    again.hello()
    found = again.call("recall", query=id)["structuredContent"]["memories"]
    assert [memory["text"] for memory in found] == ["kept through a signal"]


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_a_cancelled_call_is_not_answered(talk: Any, version: str) -> None:
    meta = {"_meta": MODERN} if version == "2026-07-28" else {}
    server = talk()
    if meta:
        server.ask(0, "server/discover", meta)
    else:
        server.ask(0, "initialize", {**HELLO, "protocolVersion": version})
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    params = {"name": "recall", "arguments": {"query": "tea"}, **meta}  # waits for the store
    server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    params = {"name": "remember", "arguments": {"text": "tea"}, **meta}
    assert "result" in server.ask(2, "tools/call", params)
    server.process.stdin.close()
    assert server.ended() == 0
    assert server.lines.empty(), "nothing more was said"


@pytest.mark.usefixtures("cold")
def test_a_signal_during_the_start_ends_it(talk: Any) -> None:
    server = talk()
    server.hello()
    server.process.send_signal(signal.SIGTERM)
    assert server.ended() == 0


@ENGINES
def test_a_kill_loses_nothing_that_was_acknowledged(talk: Any) -> None:
    server = talk()
    server.hello()
    ids = [
        server.call("remember", text=f"fact number {n}")["structuredContent"]["id"]
        for n in range(5)
    ]
    server.process.kill()
    server.process.wait(END_SECONDS)
    again = talk()
    again.hello()
    for id in ids:
        assert again.call("recall", query=id)["structuredContent"]["found"] is True


@ENGINES
def test_it_ends_when_stdout_breaks(environment: dict[str, str], processes: Any) -> None:
    reading, writing = os.pipe()
    code = (
        "import os, sys, subprocess\n"
        f"os.dup2({writing}, 1); os.close({writing})\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'server'])"
    )
    os.set_inheritable(writing, True)
    process = processes.start(
        sys.executable, "-c", code, stdin=subprocess.PIPE, env=environment, pass_fds=(writing,)
    )
    os.close(writing)
    assert process.stdin
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    with os.fdopen(reading, "rb") as answers:
        assert b"result" in answers.readline()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    process.stdin.flush()
    assert process.wait(END_SECONDS) == 0


UNREAD_SECONDS = 120.0
"""A server that waits for its client stays for ever; its own bound is below five seconds."""


def test_what_waits_for_a_client_waits_for_less_than_five_seconds() -> None:
    assert proxy.LAST_ANSWERS_SECONDS < proxy.END_SECONDS < 5.0


@ENGINES
@pytest.mark.parametrize("way", ["end of input", "signal"])
def test_it_ends_although_its_client_does_not_read(
    environment: dict[str, str], processes: Any, way: str
) -> None:
    """Forty answers wait, more than a pipe holds; the client lives on and keeps the pipe open.

    The first twenty are lists and come at once. Calls that are open are answered when the process
    ends, into the same full pipe.
    """
    words = "".join(f"the {number}th ferry leaves at nine; " for number in range(400))
    call = {"name": "remember", "arguments": {"text": words[:12_000], "kind": "unknown"}}
    lists, calls = {"method": "tools/list"}, {"method": "tools/call", "params": call}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = processes.start(sys.executable, "-m", "server", env=environment, **pipes)
    assert process.stdin
    assert process.stdout
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    process.stdin.flush()
    assert b"result" in process.stdout.readline()
    process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    for id in range(1, 41):
        line = {"jsonrpc": "2.0", "id": id, **(calls if id > 20 else lists)}
        process.stdin.write(json.dumps(line).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.read(1)  # the answers have begun to come
    threading.Event().wait(0.5)  # and fill the pipe
    if way == "signal":
        process.send_signal(signal.SIGTERM)
    else:
        process.stdin.close()
    assert process.wait(UNREAD_SECONDS) == 0


@ENGINES
def test_it_ends_when_its_parent_dies_while_stdin_stays_open(
    talk: Any, tmp_path: Path, until: Any
) -> None:
    code = (
        "import pathlib, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'server'])\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))\n"
        "child.wait()"
    )
    parent = talk("-c", code)
    parent.hello()
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    pid = int((tmp_path / "pid").read_text())
    parent.process.kill()
    until(lambda: not _alive(pid))


WRAPPER = """
import os, pathlib, subprocess, sys, threading, time
child = subprocess.Popen([sys.executable, '-m', 'server'], stdin=subprocess.PIPE)
pathlib.Path(sys.argv[1]).write_text(f'{os.getpid()} {child.pid}')
for line in sys.stdin.buffer:
    child.stdin.write(line)
    child.stdin.flush()
time.sleep(600)
"""


@SHARED_IN_THE_CHECK
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_it_ends_when_the_client_dies_behind_a_wrapper_that_keeps_the_pipe_open(
    talk: Any, tmp_path: Path, until: Any
) -> None:
    """The wrapper hands lines on and lives on; its own stdin is the client's pipe."""
    code = (
        "import subprocess, sys\n"
        f"wrapper = subprocess.Popen([sys.executable, '-c', {WRAPPER!r}, sys.argv[1]],"
        " stdin=subprocess.PIPE)\n"
        "for line in sys.stdin.buffer:\n"
        "    wrapper.stdin.write(line)\n"
        "    wrapper.stdin.flush()\n"
    )
    client = talk("-c", code, str(tmp_path / "pids"))
    client.hello()
    assert client.call("remember", text="the tea is in the blue tin")["isError"] is False
    wrapper, server = map(int, (tmp_path / "pids").read_text().split())
    try:
        client.process.kill()
        until(lambda: not _alive(server))
        assert _alive(wrapper)
    finally:
        os.kill(wrapper, signal.SIGKILL)
    again = talk()
    again.hello()
    assert again.call("recall", query="where is the tea")["structuredContent"]["found"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_it_stays_when_only_the_launcher_of_its_client_goes(talk: Any, tmp_path: Path) -> None:
    """A client started from a shell lives on when the shell ends, and so does its server."""
    inner = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'server'], stdin=subprocess.PIPE)\n"
        "for line in sys.stdin.buffer:\n"
        "    child.stdin.write(line)\n"
        "    child.stdin.flush()\n"
    )
    launcher = (
        "import os, pathlib, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {inner!r}])\n"
        "while not pathlib.Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "os._exit(0)\n"
    )
    client = talk("-c", launcher, str(tmp_path / "go"))
    client.hello()  # the server has looked at its parents
    (tmp_path / "go").touch()
    client.process.wait(END_SECONDS)
    threading.Event().wait(1.5)
    assert client.call("remember", text="the tea is in the blue tin")["isError"] is False


@ENGINES
def test_a_line_of_fifty_megabytes_is_answered_and_the_next_too(talk: Any) -> None:
    server = talk()
    server.hello()
    text = b"a" * 50_000_000
    head = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"recall","arguments":'
    server.send(head + b'{"query":"' + text + b'"}}}')
    answer = server.get()
    assert answer["id"] == 5
    assert answer["error"]["message"].startswith("too_large: ")
    tail = b'}},"method":"tools/call","jsonrpc":"2.0","id":"last"}'
    server.send(b'{"params":{"name":"recall","arguments":{"query":"' + text + b'"' + tail)
    assert server.get()["id"] == "last"
    server.send(b"[" * 50_000_000)  # asks for nothing, so nothing is answered
    assert "result" in server.ask(6, "tools/list")


def _alive(pid: int) -> bool:
    """False for a process that is gone or only waits to be collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return sys.platform != "linux"


def test_two_servers_share_one_memory(talk: Any) -> None:
    first, second = talk(), talk()
    first.hello()
    second.hello()
    first.call("remember", text="the parcel lies behind the barn door")
    found = second.call("recall", query="parcel behind the barn")["structuredContent"]
    assert [memory["text"] for memory in found["memories"]] == [
        "the parcel lies behind the barn door"
    ]
    second.call("remember", text="answered by the second one")
    found = first.call("recall", query="what was answered by the second")["structuredContent"]
    assert "answered by the second one" in [memory["text"] for memory in found["memories"]]


def test_a_data_directory_that_cannot_be_used_is_a_typed_error_not_a_crash(
    talk: Any, environment: dict[str, str], tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment["ANAMNESIS_DATA_DIR"] = str(blocked / "data")
    server = talk()
    server.hello()
    answer = server.call("remember", text="x")
    assert answer["isError"] is True
    code = answer["content"][0]["text"].partition(":")[0]
    assert code in {"storage", "read_only", "incompatible_store"}
    assert "result" in server.ask(1, "tools/list")
