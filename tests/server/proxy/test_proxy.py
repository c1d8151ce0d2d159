"""The proxy between the clients of openai and anthropic and a stand-in for the model."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from memory_core.errors import InvalidInput
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.http import listener, peer
from server.http.tokens import Tokens
from server.proxy.app import build_proxy, root_of
from tests.anamnesis.stand_in import SAID
from tests.anamnesis.stand_in import model as model
from tests.anamnesis.test_transport import (
    FACT,
    KEY,
    PARSED,
    PROMPT,
    SECOND,
    WAYS,
    chatting,
    create,
    user,
)

ROOT = Path(__file__).parents[3]
ANN = Identity("ann", "north")


class Through:
    """The proxy as a base URL, for what makes clients of a model."""

    def __init__(self, url: str, end: Callable[[], None]) -> None:
        self.url = url
        self.end = end


@pytest.fixture
def serve(memory: Memory, model: Any, processes: Any) -> Iterator[Callable[..., Through]]:
    memory.remember(ANN, RememberRequest(FACT))
    begun: list[Through] = []

    def serving(tokens: Tokens | None = None) -> Through:
        socket = listener.bind("127.0.0.1", 0)
        end = listener.begin(build_proxy(memory, ANN, model.url, tokens), socket)
        begun.append(Through(f"http://127.0.0.1:{socket.getsockname()[1]}", end))
        return begun[-1]

    yield serving
    for each in begun:
        each.end()


def kept(memory: Memory, who: Identity = ANN) -> list[tuple[str, str]]:
    return sorted((m.role, m.text.strip()) for m in memory.listing(who, limit=50) if m.role)


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("made", "call"),
    [
        pytest.param(*way, marks=[pytest.mark.long] if place % 3 else [])
        for place, way in enumerate(WAYS)
    ],
    ids=lambda way: way.__name__,
)
def test_a_turn_is_told_what_it_brings_to_mind_and_is_kept(
    made: Callable[..., Any], call: Any, serve: Any, memory: Memory, model: Any
) -> None:
    through = serve()
    client = made(through)
    model.said = json.dumps({"place": SAID}) if call in PARSED else SAID
    assert call(client, [user(PROMPT)]).strip() == SAID
    (first,) = model.last.get("messages") or model.last["input"]
    assert first["content"].startswith(PROMPT + "\n\n")
    assert FACT in first["content"]
    call(client, [user(PROMPT), {"role": "assistant", "content": SAID}, user(SECOND)])
    assert (model.last.get("messages") or model.last["input"])[0] == first
    sent = model.headers[0]
    assert KEY in (sent.get("authorization", ""), sent.get("x-api-key"), sent["authorization"][7:])
    client.close()
    through.end()
    assert ("user", PROMPT) in kept(memory)
    assert call in PARSED or ("assistant", SAID) in kept(memory)


@pytest.mark.usefixtures("processes")
def test_a_loop_of_tools_is_one_turn(serve: Any, memory: Memory, model: Any) -> None:
    through = serve()
    client = anthropic.Anthropic(api_key=KEY, base_url=through.url, max_retries=0)
    model.tools = 1
    turns: list[Any] = [user(PROMPT)]
    for _ in range(2):
        done = client.messages.create(model="m", max_tokens=9, messages=turns)
        turns.append({"role": "assistant", "content": [part.to_dict() for part in done.content]})
        result = {"type": "tool_result", "tool_use_id": "t1", "content": "it is dark"}
        turns.append({"role": "user", "content": [result]})
    told = [json.loads(body)["messages"] for body in model.bodies]
    assert told[0][0] == told[1][0]
    assert json.dumps(told[1]).count("<recalled-") == 1
    client.close()
    through.end()
    assert [text for role, text in kept(memory) if role == "user"] == [PROMPT]


@pytest.mark.usefixtures("processes")
def test_refusals_of_the_model_pass_as_they_are(serve: Any, memory: Memory, model: Any) -> None:
    through = serve()
    model.status = 429
    with pytest.raises(openai.RateLimitError):
        create(chatting(through), [user(PROMPT)])
    through.end()
    assert [role for role, _ in kept(memory)] == ["user"]


@pytest.mark.usefixtures("processes")
def test_a_model_that_is_away_is_told(memory: Memory) -> None:
    socket = listener.bind("127.0.0.1", 0)
    away = listener.bind("127.0.0.1", 0)
    upstream = f"http://127.0.0.1:{away.getsockname()[1]}"
    away.close()
    end = listener.begin(build_proxy(memory, ANN, upstream, None), socket)
    answer = httpx2.get(f"http://127.0.0.1:{socket.getsockname()[1]}/v1/models")
    end()
    assert (answer.status_code, answer.json()["status"]) == (502, 502)


@pytest.mark.usefixtures("processes")
def test_memory_never_fails_a_call(serve: Any, memory: Memory, model: Any) -> None:
    through = serve()
    memory.close()
    assert create(chatting(through), [user(PROMPT)]) == SAID
    assert model.last["messages"] == [user(PROMPT)]


@pytest.mark.usefixtures("processes")
def test_a_web_page_and_a_foreign_host_are_refused(serve: Any, model: Any) -> None:
    url = f"{serve().url}/v1/chat/completions"
    for header in ({"origin": "http://127.0.0.1:7833"}, {"host": "memory.example"}):
        answer = httpx2.post(url, json={"messages": [user(PROMPT)]}, headers=header)
        assert answer.status_code == 403
    assert model.bodies == []


@pytest.mark.usefixtures("processes")
def test_with_tokens_each_call_is_its_agents(
    serve: Any, memory: Memory, model: Any, tmp_path: Path
) -> None:
    tokens = Tokens(tmp_path)
    url = serve(tokens).url
    secret = {name: tokens.add(name, "north", ("read", "write")) for name in ("ann", "ben")}
    reading = tokens.add("ann", "north", ("read",))
    body = {"model": "m", "messages": [user(PROMPT)]}
    for headers in ({}, {"x-anamnesis-token": "no"}, {"x-anamnesis-token": reading}):
        answer = httpx2.post(f"{url}/v1/chat/completions", json=body, headers=headers)
        assert answer.status_code == 401
    assert model.bodies == []
    for name in ("ann", "ben"):
        headers = {"x-anamnesis-token": secret[name], "x-anamnesis-agent": "ann"}
        httpx2.post(f"{url}/v1/chat/completions", json=body, headers=headers)
    again = {"x-anamnesis-session": "another"}  # in the first one she was told already
    httpx2.post(f"{url}/token/{secret['ann']}/v1/chat/completions", json=body, headers=again)
    assert [FACT in body.decode() for body in model.bodies] == [True, False, True]
    assert not [name for sent in model.headers for name in sent if "anamnesis" in name]
    assert not [secret for secret in secret.values() if secret in json.dumps(model.headers)]


@pytest.mark.usefixtures("processes")
def test_no_agent_goes_on_with_the_conversation_of_another(
    serve: Any, memory: Memory, model: Any, tmp_path: Path
) -> None:
    """Ids of a service that counts from one again are not its alone."""
    tokens = Tokens(tmp_path)
    through = serve(tokens)
    secret = {name: tokens.add(name, "north", ("read", "write")) for name in ("ann", "ben")}

    def ask(name: str, text: str, **more: Any) -> Any:
        headers = {"x-anamnesis-token": secret[name]}
        if name == "ann":
            headers["x-anamnesis-session"] = "the merger"
        body = {"model": "m", "input": text, **more}
        return httpx2.post(f"{through.url}/v1/responses", json=body, headers=headers).json()

    first = ask("ann", PROMPT, conversation="conv_1")
    ask("ben", "I want to paint the new fence green.", conversation="conv_1")
    ask("ben", "The fence of my garden is three years old.", previous_response_id=first["id"])
    through.end()
    ben = Identity("ben", "north")
    assert "the merger" in memory.names(ANN, "session")
    assert len(memory.names(ben, "session")) == 2
    assert "the merger" not in memory.names(ben, "session")


@pytest.mark.parametrize(
    ("upstream", "root"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
        ("http://127.0.0.1:11434/openai/v1beta", "http://127.0.0.1:11434/openai/v1beta"),
    ],
)
def test_the_upstream_is_the_root_of_an_api(upstream: str, root: str) -> None:
    assert root_of(upstream) == root


@pytest.mark.parametrize(
    "upstream", ["", "api.openai.com", "ftp://a", "http://", "http://u:p@a", "http://a?k=1"]
)
def test_anything_else_is_no_upstream(upstream: str) -> None:
    with pytest.raises(InvalidInput, match="no address"):
        root_of(upstream)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_command_serves_until_it_is_stopped(
    host: str, model: Any, tmp_path: Path, processes: Any
) -> None:
    """Beyond loopback it asks for a token; it prints no key."""
    words = ["proxy", "--upstream", model.url, "--host", host, "--port", "0"]
    environment = {**os.environ, "ANAMNESIS_DATA_DIR": str(tmp_path), "ANAMNESIS_OFFLINE": "1"}
    process = processes.start(sys.executable, "-m", "server", *words, env=environment)
    found = processes.says(process, r"http://\S+:(\d+)/v1")
    client = openai.OpenAI(api_key=KEY, base_url=f"http://127.0.0.1:{found[1]}/v1", max_retries=0)
    if host == "127.0.0.1":
        assert create(client, [user(PROMPT)]) == SAID
    else:
        with pytest.raises(openai.AuthenticationError):
            create(client, [user(PROMPT)])
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    told = processes.told(process)
    assert KEY not in told
    assert PROMPT not in told
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_another_user_of_the_machine_is_refused(
    serve: Callable[..., Through], memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve().url
    body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}
    assert httpx2.post(f"{url}/v1/chat/completions", json=body).status_code == 200
    monkeypatch.setattr(peer, "_users", lambda *_: iter([os.getuid() + 1]))
    if sys.platform == "linux":
        refused = httpx2.post(f"{url}/v1/chat/completions", json=body)
        assert (refused.status_code, FACT in refused.text) == (403, False)
        assert "user who started" in refused.text


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_system_tells_whose_process_calls(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        with socket.create_connection(listening.getsockname()[:2]) as client:
            ends = client.getsockname()[:2], client.getpeername()[:2]
            assert list(peer._users(*ends)) == [os.getuid()]
            assert not peer.is_of_another_user(*ends)
            monkeypatch.setattr(peer, "_users", lambda *_: iter([os.getuid() + 1]))
            assert peer.is_of_another_user(*ends)
