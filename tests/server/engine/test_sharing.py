"""Real clients of one real engine: they share it, keep their identities, and survive its death."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import engines
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from talking import END_SECONDS, HELLO, ROOT

from memory_core.storage.locks import FileLock
from server.engine import client, endpoint, logfile, wanted
from server.engine.launch import NoEngine
from server.hooks import spool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="counts processes in /proc"),
    pytest.mark.usefixtures("processes"),
]

BUSY = "busy: the engine restarted; repeat the call"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def recalled(one: Any, query: str) -> list[str]:
    """The texts for *query*, asked again if the engine is gone before the client knows."""
    done = one.call("recall", query=query)
    if done["isError"]:
        assert done["content"][0]["text"] == BUSY
        done = one.call("recall", query=query)
    return [memory["text"] for memory in done["structuredContent"]["memories"]]


def told(one: Any, text: str, session: str = "") -> None:
    """Remember *text*, again if the engine is gone before the client knows."""
    done = one.call("remember", text=text, session=session)
    if done["isError"]:
        assert done["content"][0]["text"] == BUSY
        done = one.call("remember", text=text, session=session)
    assert done["isError"] is False


TRANSPORTS = pytest.mark.parametrize("shared", ["on", "tcp"])
"""A Unix socket, and loopback TCP as on Windows."""
ONE_IN_THE_CHECK = pytest.mark.parametrize(
    "shared", ["on", pytest.param("tcp", marks=pytest.mark.long)]
)


@ONE_IN_THE_CHECK
@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.long)])
def test_clients_that_start_at_once_share_one_engine(talk: Any, folder: Path, count: int) -> None:
    clients = [talk() for _ in range(count)]
    for one in clients:
        one.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
    assert all("result" in one.get() for one in clients)
    (engine,) = engines.alive(folder)
    text = "the parcel lies behind the barn door"
    clients[0].call("remember", text=text)
    assert recalled(clients[-1], "parcel behind the barn") == [text]
    assert engines.alive(folder) == [engine]


def test_a_client_has_nothing_but_the_standard_library_in_it(environment: dict[str, str]) -> None:
    code = (
        "import os, sys\n"
        "interpreter = 'sitecustomize', '_distutils_hack'\n"  # what a .pth file brings in
        "from server.__main__ import main\n"
        "def told(status):\n"
        "    foreign = sorted(name for name, module in list(sys.modules.items())\n"
        "        if name.partition('.')[0] not in sys.stdlib_module_names\n"
        "        and not name.startswith(('server', 'memory_core', '__main__', *interpreter)))\n"
        "    ours = sorted(n for n in sys.modules if n.startswith('memory_core'))\n"
        "    print('FOREIGN', foreign, ours, file=sys.stderr, flush=True)\n"
        "    leave(status)\n"
        "leave, os._exit = os._exit, told\n"
        "sys.argv = ['anamnesis', 'serve']\n"
        "main()\n"
    )
    asked = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=asked + "\n",
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
            check=True,
        )
    finally:
        engines.end(Path(environment["ANAMNESIS_DATA_DIR"]))
    assert '"result"' in done.stdout
    assert "FOREIGN [] ['memory_core', 'memory_core.errors']" in done.stderr


@TRANSPORTS
def test_each_connection_has_its_own_identity(talk: Any, folder: Path) -> None:
    ann, bob = talk(ANAMNESIS_AGENT="ann", ANAMNESIS_TEAM="barn"), talk("--agent", "bob")
    eve = talk(ANAMNESIS_AGENT="eve", ANAMNESIS_TEAM="barn")
    for number, one in enumerate((ann, bob, eve)):
        one.hello(f"editor-{number}")
    assert len(engines.alive(folder)) == 1
    text = "the letters are in the red drawer"
    id = ann.call("remember", text=text)["structuredContent"]["id"]
    ann.call("remember", text="the barn is painted in spring", scope="team")
    assert recalled(ann, "red drawer letters")[0] == text
    for other in (bob, eve):
        assert text not in recalled(other, "red drawer letters")
        hidden = other.call("recall", query=id)
        assert hidden["content"][0]["text"].startswith("not_found: ")
    assert recalled(eve, "when is the barn painted") == ["the barn is painted in spring"]
    assert recalled(bob, "when is the barn painted") == []
    cows = eve.call("remember", text="the cows are milked at five")["structuredContent"]["id"]
    for one, own, name in ((ann, id, "editor-0"), (eve, cows, "editor-2")):
        read = one.ask(1, "resources/read", {"uri": f"memory://item/{own}"})["result"]["contents"][
            0
        ]
        assert json.loads(read["text"])["provenance"]["client"] == name


@TRANSPORTS
def test_open_calls_are_answered_when_the_engine_is_killed(
    talk: Any, folder: Path, kill: Any
) -> None:
    one, other = talk(), talk()
    one.hello()
    other.hello()
    kept = one.call("remember", text="the first word")["structuredContent"]["id"]
    lock = FileLock(folder / "write.lock")
    assert lock.acquire(5)  # now a write waits
    try:
        params = {"name": "remember", "arguments": {"text": "the second word"}}
        one.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params})
        threading.Event().wait(0.2)  # whether the engine has read it or not, it is answered
        kill()
        answer = one.get()
    finally:
        lock.release()
    assert answer["id"] == "w"
    assert answer["result"] == {"content": [{"type": "text", "text": BUSY}], "isError": True}
    assert engines.alive(folder) == []  # nobody waits for anything
    assert one.call("remember", text="the second word")["isError"] is False
    assert recalled(other, kept) == ["the first word"]
    assert len(engines.alive(folder)) == 1


def test_a_request_that_only_asks_is_asked_again(talk: Any, folder: Path, kill: Any) -> None:
    one = talk()
    one.hello()
    one.call("remember", text="the first word")
    (engine,) = engines.alive(folder)
    os.kill(engine, signal.SIGSTOP)
    one.send({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
    kill()
    answer = one.get()
    assert answer["id"] == 7
    assert len(answer["result"]["tools"]) == 5


def test_a_subscription_outlives_the_engine(talk: Any, folder: Path, kill: Any) -> None:
    hearing, other = talk(), talk()
    hearing.hello()
    other.hello()
    hearing.ask("s", "resources/subscribe", {"uri": "memory://session/barn"})
    kill()
    told(other, "the roof leaks", "elsewhere")
    assert "result" in hearing.ask("t", "tools/list")  # the new engine has heard of it by now
    assert len(engines.alive(folder)) == 1
    told(other, "the door is open", "barn")
    heard = hearing.get()
    assert heard["method"] == "notifications/resources/updated"
    assert heard["params"]["uri"] == "memory://session/barn"
    assert hearing.lines.empty()


def test_an_open_stream_of_changes_outlives_the_engine(talk: Any, kill: Any) -> None:
    hearing, other = talk(), talk()
    other.hello()
    wish = {"notifications": {"resourceSubscriptions": ["memory://session/barn"]}, "_meta": MODERN}
    listen = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": wish}
    hearing.send(listen)
    assert hearing.get()["method"] == "notifications/subscriptions/acknowledged"
    kill()
    assert "result" in hearing.ask("t", "tools/list", {"_meta": MODERN})
    for number in range(50):  # a stream begins some time after it was asked for
        told(other, f"the door {number} is open", "barn")
        if not hearing.lines.empty():
            break
    heard = hearing.get()
    assert heard["params"]["uri"] == "memory://session/barn"


def test_another_version_stands_beside_the_first(talk: Any, folder: Path) -> None:
    """A setting that changes answers stands for the version: both are in the key."""
    one, other = talk(), talk(ANAMNESIS_ENCODER="ollama")
    one.hello()
    other.hello()
    assert len(engines.alive(folder)) == 2
    text = "the parcel lies behind the barn door"
    assert one.call("remember", text=text)["isError"] is False
    assert recalled(other, "parcel behind the barn") == [text]
    other.process.stdin.close()
    assert other.ended() == 0
    assert recalled(one, "parcel behind the barn") == [text]


@ONE_IN_THE_CHECK
def test_the_engine_leaves_when_its_name_is_gone(
    talk: Any, folder: Path, asked: wanted.WantedEngine
) -> None:
    one = talk()
    one.hello()
    one.call("remember", text="the first word")
    name = Path(client.status(asked)["socket"])
    name.unlink()
    engines.until_gone(folder)
    assert recalled(one, "first word") == ["the first word"]
    assert name.exists()
    assert "the engine leaves: its name is gone" in logfile.last(folder, lines=50)


def test_no_memory_begins_where_the_folder_of_a_client_went_away(
    talk: Any, folder: Path, kill: Any
) -> None:
    """An engine leaves when its folder does; the next would say "stored" and know nothing."""
    one = talk()
    one.hello()
    told(one, "the first word")
    kill()
    away = folder.with_name("away")
    folder.rename(away)
    for name, asked in (("remember", {"text": "the second word"}), ("recall", {"query": "word"})):
        said = one.call(name, **asked)["content"][0]["text"]
        if said == BUSY:  # the client did not know yet that its engine is gone
            said = one.call(name, **asked)["content"][0]["text"]
        assert said.startswith(f"storage: {folder} was deleted or moved away")
    assert "moved away" in one.ask("l", "tools/list")["error"]["message"]
    assert not folder.exists()
    away.rename(folder)
    assert recalled(one, "first word") == ["the first word"]
    told(one, "the second word")


def test_sigterm_lets_open_calls_finish(talk: Any, folder: Path) -> None:
    one = talk()
    one.hello()
    one.call("remember", text="the first word")
    lock = FileLock(folder / "write.lock")
    assert lock.acquire(5)
    try:
        params = {"name": "remember", "arguments": {"text": "the second word"}}
        one.send({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": params})
        assert "result" in one.ask("t", "tools/list")  # so the engine has read the call before
        (engine,) = engines.alive(folder)
        os.kill(engine, signal.SIGTERM)
    finally:
        lock.release()
    answer = one.get()
    assert answer["id"] == "w"
    assert answer["result"]["structuredContent"]["status"] == "stored"
    engines.until_gone(folder)
    assert endpoint.names(str(folder)) == []


def test_the_engine_survives_its_starters_process_group(talk: Any, folder: Path) -> None:
    code = (
        "import os, subprocess, sys\n"
        "os.setpgid(0, 0)\n"
        "sys.exit(subprocess.call([sys.executable, '-m', 'server']))\n"
    )
    starter, other = talk(command=("-c", code)), None
    starter.hello()
    (engine,) = engines.alive(folder)
    assert os.getpgid(engine) != starter.process.pid
    os.killpg(starter.process.pid, signal.SIGKILL)
    starter.process.wait(END_SECONDS)
    other = talk()
    other.hello()
    assert engines.alive(folder) == [engine]


def test_the_engine_holds_no_folder_of_its_starter(talk: Any, folder: Path, tmp_path: Path) -> None:
    """Else no disk could be taken away that a project of some client once lay on."""
    project = tmp_path / "project"
    (project / "weights").mkdir(parents=True)
    code = (
        "import os, sys\n"
        "os.chdir(sys.argv.pop(1))\n"
        f"os.execv(sys.executable, [sys.executable, '-P', {str(ROOT / 'server/__main__.py')!r}])\n"
    )
    named = {"ANAMNESIS_MODEL_DIR": "weights", "ANAMNESIS_JUDGE": "nli"}
    starter = talk(command=("-c", code, str(project)), **named)
    starter.hello()
    (engine,) = engines.alive(folder)
    assert Path(f"/proc/{engine}/cwd").readlink() == folder
    words = Path(f"/proc/{engine}/cmdline").read_text("utf-8").split("\0")
    assert words[words.index("--model-dir") + 1] == str(project / "weights")
    assert words[words.index("--judge") + 1] == str(project / "nli")


@pytest.mark.long
def test_the_engine_survives_its_starters_terminal(talk: Any, folder: Path) -> None:
    window, terminal = os.openpty()
    code = (
        "import os, sys\n"
        "os.setsid()\n"
        "os.open(sys.argv.pop(1), os.O_RDWR)\n"  # the first one a session opens is its terminal
        "os.execv(sys.executable, [sys.executable, '-m', 'server'])\n"
    )
    starter = talk(command=("-c", code, os.ttyname(terminal)))
    starter.hello()
    starter.call("remember", text="the parcel lies behind the barn door")
    other = talk()
    other.hello()
    (engine,) = engines.alive(folder)
    os.close(terminal)
    os.close(window)  # the kernel hangs up: SIGHUP for all of that session
    starter.process.wait(END_SECONDS)
    assert recalled(other, "parcel behind the barn") == ["the parcel lies behind the barn door"]
    assert engines.alive(folder) == [engine]


@pytest.fixture
def scope() -> Iterator[Path]:
    """A control group of its own, as systemd makes one for each application."""
    mounts = Path("/proc/mounts").read_text("utf-8").splitlines()
    roots = [Path(line.split()[1]) for line in mounts if line.split()[2] == "cgroup2"]
    if not roots or not os.access(roots[0], os.W_OK):
        pytest.skip("needs a writable control group")
    made = roots[0] / f"anamnesis-test-{os.getpid()}"
    made.mkdir()
    yield made
    (made / "cgroup.kill").write_text("1")
    while (made / "cgroup.procs").read_text("ascii"):
        threading.Event().wait(0.01)
    made.rmdir()


@pytest.mark.long
def test_the_others_go_on_when_the_engine_is_killed_with_its_starters_scope(
    talk: Any, folder: Path, scope: Path
) -> None:
    code = (
        "import os, sys\n"
        "open(sys.argv.pop(1), 'w').write(str(os.getpid()))\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'server'])\n"
    )
    starter = talk(command=("-c", code, str(scope / "cgroup.procs")))
    starter.hello()
    kept = starter.call("remember", text="the parcel lies behind the barn door")
    assert kept["isError"] is False
    others = [talk() for _ in range(3)]
    for each in others:
        each.hello()
    (engine,) = engines.alive(folder)
    assert str(engine) in (scope / "cgroup.procs").read_text("ascii").split()
    (scope / "cgroup.kill").write_text("1")
    starter.process.wait(END_SECONDS)
    engines.until_gone(folder, of=[engine])
    for number, each in enumerate(others):
        told(each, f"the gate of field {number} is open")
        assert "the parcel lies behind the barn door" in recalled(each, "parcel behind the barn")
    assert len(engines.alive(folder)) == 1


def test_what_a_gone_client_left_open_is_dropped(
    talk: Any, asked: wanted.WantedEngine, until: Any
) -> None:
    one = talk()
    one.hello()
    one.ask("s", "resources/subscribe", {"uri": "memory://recent"})
    assert [each["kind"] for each in client.status(asked)["clients"]] == ["mcp"]
    one.process.kill()
    until(lambda: client.status(asked)["clients"] == [])


def test_the_command_line_asks_the_engine(
    talk: Any, environment: dict[str, str], asked: wanted.WantedEngine
) -> None:
    one = talk("--agent", "ann")
    one.hello()
    one.call("remember", text="the key is under the blue flowerpot")
    ann = wanted.find({"agent": "ann"}, environment)
    assert client.call(ann, "stats", {})["memories"] == 1
    assert client.call(asked, "stats", {})["memories"] == 0
    found = client.call(ann, "recall", {"request": {"query": "where is the key", "k": 3}})
    assert [each["text"] for each in found["memories"]] == ["the key is under the blue flowerpot"]
    with pytest.raises(client.CallFailed) as failed:
        client.call(ann, "history", {"id": "0" * 20})
    assert failed.value.code == "not_found"
    with pytest.raises(client.CallFailed, match="invalid_input: recall: "):
        client.call(ann, "recall", {"question": "where?"})
    with pytest.raises(
        client.CallFailed, match="invalid_input: the engine does not know the operation open"
    ):
        client.call(ann, "open_the_door", {})


def test_the_engine_takes_over_what_hooks_left_while_nobody_ran(
    talk: Any, folder: Path, until: Any
) -> None:
    text = "The tide gauge of the northern pier was replaced by Nordwall on Tuesday."
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "before", "prompt": text}
    assert spool.put(str(folder), "me", "", prompt, time.time())
    one = talk()
    one.hello()
    until(lambda: not spool.waiting(str(folder)))  # the engine opens its memory by itself
    assert recalled(one, "who replaced the tide gauge?") == [text]
    assert len(engines.alive(folder)) == 1


def test_a_hook_asks_the_engine(talk: Any, asked: wanted.WantedEngine) -> None:
    one = talk()
    one.hello()
    text = "Ann Miller keeps the spare key of the boathouse under the blue flowerpot"
    one.call("remember", text=text)
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "one",
        "prompt": "where is the spare key of the boathouse that Ann Miller keeps?",
    }
    answer = client.hook(asked, prompt, seconds=30.0, start=False)
    assert text in answer["hookSpecificOutput"]["additionalContext"]
    assert client.hook(asked, {"hook_event_name": "Nothing"}, seconds=30.0, start=False) == {}


def test_what_a_hook_was_told_over_one_way_it_is_not_told_over_the_other(
    talk: Any, folder: Path, asked: wanted.WantedEngine, until: Any
) -> None:
    """`install --http` writes a command for the start of a session, and addresses for the rest."""
    one = talk()
    one.hello()
    text = "Ann Miller keeps the spare key of the boathouse under the blue flowerpot"
    one.call("remember", text=text)
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "one",
        "prompt": "where is the spare key of the boathouse that Ann Miller keeps?",
    }
    assert text in str(client.hook(asked, prompt, seconds=30.0, start=False))
    url = client.http(asked, start=False)
    token = {"authorization": f"Bearer {(folder / 'token').read_text().strip()}"}

    def over_http(session: str) -> str:
        told = {**prompt, "session_id": session}
        return httpx2.post(f"{url}/hook", json=told, headers=token, timeout=60).text

    assert over_http("one") == "{}"
    others = iter(range(1_000_000))  # an answer that is late on a busy machine is empty, too
    until(lambda: text in over_http(f"other {next(others)}"))


async def health_over_mcp(url: str, headers: dict[str, str]) -> dict[str, Any]:
    """What the server at *url* says of its process."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as mcp,
    ):
        answer = await mcp.call_tool("health", {})
    return dict(answer.structured_content["engine"])


def test_the_engine_opens_http_when_it_is_needed(
    talk: Any, folder: Path, asked: wanted.WantedEngine
) -> None:
    one = talk()
    one.hello()
    one.call("remember", text="the key is under the blue flowerpot")
    assert not (folder / "http.json").exists()
    url = client.http(asked, start=False)
    assert client.http(asked, start=False) == url
    assert httpx2.get(f"{url}/healthz").json() == {"status": "ok"}
    assert httpx2.get(f"{url}/mcp").status_code == 401
    token = {"authorization": f"Bearer {(folder / 'token').read_text().strip()}"}
    health = httpx2.get(f"{url}/api/v1/health", headers=token, timeout=60).json()
    assert health["engine"].items() >= {"shared": True, "pid": engines.alive(folder)[0]}.items()
    over_http = anyio.run(health_over_mcp, url, token)
    assert over_http["pid"] == health["engine"]["pid"]
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "x", "prompt": "hello there"}
    assert httpx2.post(f"{url}/hook", json=prompt, headers=token).status_code == 200
    assert len(engines.alive(folder)) == 1
    assert json.loads((folder / "http.json").read_text())["process"] == engines.alive(folder)[0]
    client.stop(asked)
    engines.until_gone(folder)
    assert not (folder / "http.json").exists()


def test_the_http_server_is_the_engine_of_the_others(
    environment: dict[str, str], talk: Any, folder: Path, asked: wanted.WantedEngine, until: Any
) -> None:
    words = ["serve", "--transport", "http", "--port", "0", "--agent", "ann"]
    with subprocess.Popen(
        [sys.executable, "-m", "server", *words],
        stderr=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
        text=True,
    ) as server:
        try:
            assert server.stderr
            url = server.stderr.readline().split()[1].removesuffix("/mcp")
            until(lambda: endpoint.names(str(folder)))
            one = talk()
            one.hello()
            assert one.call("remember", text="the tea is in the blue tin")["isError"] is False
            assert client.status(asked)["pid"] == server.pid
            assert engines.alive(folder) == []  # no other was started
            name = Path(client.status(asked)["socket"])
            name.unlink()  # so it is nobody's engine any more, but still the server
            one.process.stdin.close()
            assert one.ended() == 0
            assert httpx2.get(f"{url}/healthz").json() == {"status": "ok"}
        finally:
            server.terminate()
            assert server.wait(END_SECONDS) == 0
    assert not (folder / "http.json").exists()


TOO_LATE = """
import os, signal, sys
from server.engine.engine import Engine
run, Engine.look = Engine.run, lambda self: self._leaving.set()
async def late(self, listening):
    found = await run(self, listening)
    os.kill(os.getpid(), signal.SIGTERM)  # heard by a loop that is about to close
    return found
Engine.run = late
from server.__main__ import main
sys.argv = ["anamnesis", "serve", "--transport", "http", "--port", "0"]
sys.exit(main())
"""


@pytest.mark.long
def test_the_http_server_hears_a_signal_while_it_ceases_to_be_the_engine(
    environment: dict[str, str],
) -> None:
    found = subprocess.run(
        [sys.executable, "-c", TOO_LATE], env=environment, cwd=ROOT, timeout=END_SECONDS
    )
    assert found.returncode == 0


def test_there_is_nobody_to_ask_without_an_engine(asked: wanted.WantedEngine) -> None:
    with pytest.raises(NoEngine):
        client.call(asked, "stats", {})
    with pytest.raises(NoEngine):
        client.status(asked)


def test_wrong_settings_are_said_as_without_an_engine(talk: Any, folder: Path) -> None:
    for flags, more, said in (
        (("--agent", " x"), {}, b"begins or ends with white space"),
        ((), {"ANAMNESIS_EMBEDDING": "", "ANAMNESIS_PORT": "many"}, b"ANAMNESIS_PORT"),
    ):
        one = talk(*flags, **more)
        assert one.ended() == 2
        for thread in one.threads:
            thread.join(END_SECONDS)
        assert said in one.log
