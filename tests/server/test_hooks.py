"""Hooks of Claude Code and Cursor: what comes in, what goes out, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core.config import Settings
from memory_core.embedding.embedder import Embedder
from memory_core.errors import StorageError
from memory_core.memory import Memory
from memory_core.records import Identity
from server import hook_settings, hooks
from server.hook_settings import Handler
from server.hooks import Hooks

ME = Identity("me")
NOW = 1_780_000_000.0
FACT = "The staging database moved to port 6543 because the old server is retired in March."
QUESTION = "Which port does the staging database listen on since the old server is retired?"


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(Settings(data_dir=tmp_path / "data"), clock=lambda: NOW, embedder=minilm) as made:
        assert made.wait_ready(60)
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    inside = tmp_path / "harbour" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "harbour" / ".git").mkdir()
    return inside


def event(name: str, session: str, cwd: Path | str = "", **more: Any) -> dict[str, Any]:
    """What Claude Code sends."""
    base = {"session_id": session, "transcript_path": "/t.jsonl", "cwd": str(cwd)}
    return {**base, "hook_event_name": name, **more}


def in_cursor(name: str, session: str, roots: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """What Cursor sends."""
    base = {"conversation_id": session, "generation_id": "g", "workspace_roots": list(roots)}
    return {**base, "hook_event_name": name, **more}


def context(answer: dict[str, Any], name: str) -> str:
    assert answer.keys() == {"hookSpecificOutput"}
    told = answer["hookSpecificOutput"]
    assert told.keys() == {"hookEventName", "additionalContext"}
    assert told["hookEventName"] == name
    assert len(told["additionalContext"]) <= 8_000
    return str(told["additionalContext"])


def texts(memory: Memory) -> list[str]:
    return sorted(each.text for each in memory.listing(ME, limit=50))


def test_what_one_conversation_said_another_is_reminded_of(memory: Memory, project: Path) -> None:
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, event("UserPromptSubmit", "one", project, prompt=FACT)) == {}
    reminded = answering.answer(ME, event("UserPromptSubmit", "two", project, prompt=QUESTION))
    told = context(reminded, "UserPromptSubmit")
    assert FACT in told
    assert "recalled" in told.casefold()
    assert QUESTION not in told
    kept = {each.text: each for each in memory.listing(ME, limit=50)}
    assert kept[FACT].tags == ("project:harbour",)
    assert (kept[FACT].session, kept[FACT].role, kept[FACT].trust) == ("one", "user", "user")


def test_a_conversation_is_not_reminded_of_itself(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=FACT))
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt=QUESTION)) == {}


def test_silent_when_unsure(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, FACT)
    asked = event("UserPromptSubmit", "two", prompt="How do penguins keep their eggs warm?")
    assert answering.answer(ME, asked) == {}


def test_what_was_recalled_is_not_captured_again(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, FACT)
    reminded = answering.answer(ME, event("UserPromptSubmit", "two", prompt=QUESTION))
    told = context(reminded, "UserPromptSubmit")
    before = texts(memory)
    for echo in (told, FACT):
        answering.answer(ME, event("Stop", "two", last_assistant_message=echo))
    assert texts(memory) == before


@pytest.mark.parametrize(
    ("name", "field"),
    [("Stop", "last_assistant_message"), ("PostCompact", "compact_summary")],
)
def test_answers_and_summaries_are_captured_as_the_assistants(
    memory: Memory, name: str, field: str
) -> None:
    said = "We decided to ship the harbour release on Friday after the load test."
    assert Hooks(memory, lambda: NOW).answer(ME, event(name, "one", **{field: said})) == {}
    (kept,) = memory.listing(ME)
    assert (kept.text, kept.role, kept.trust, kept.session) == (said, "assistant", "agent", "one")


def test_small_talk_is_not_captured(memory: Memory) -> None:
    Hooks(memory, lambda: NOW).answer(ME, event("UserPromptSubmit", "one", prompt="ok thanks"))
    assert memory.listing(ME) == []


def test_the_briefing_prefers_the_project_and_leaves_others_out(
    memory: Memory, project: Path
) -> None:
    memory.remember(ME, "Harbour is deployed from the release branch.", tags=["project:harbour"])
    memory.remember(ME, "Lighthouse uses trunk based development.", tags=["project:lighthouse"])
    memory.remember(ME, "Mara likes short commit messages.")
    answer = Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "n", project))
    told = context(answer, "SessionStart")
    assert "release branch" in told
    assert "short commit messages" in told
    assert "trunk based" not in told


def test_an_empty_memory_says_nothing(memory: Memory) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "one")) == {}


def test_long_memories_are_told_within_the_limit(memory: Memory) -> None:
    for number in range(8):
        memory.remember(ME, f"Chapter {number}. " + "The tide table fills many pages. " * 200)
    told = context(
        Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "n")), "SessionStart"
    )
    assert "Chapter" in told


def test_a_conversation_that_ends_is_over(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(Memory, "end_session", lambda self, who, session: ended.append(session))
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, event("SessionEnd", "one", reason="exit")) == {}
    assert answering.answer(ME, in_cursor("sessionEnd", "two")) == {}
    assert ended == ["one", "two"]


def test_cursor_captures_and_is_briefed_at_the_beginning(memory: Memory, project: Path) -> None:
    answering = Hooks(memory, lambda: NOW)
    roots = [str(project)]
    asked = in_cursor("beforeSubmitPrompt", "one", roots, prompt=FACT)
    assert answering.answer(ME, asked) == {"continue": True}
    said = "I changed the port in every configuration file of the staging cluster."
    assert answering.answer(ME, in_cursor("afterAgentResponse", "one", roots, text=said)) == {}
    assert texts(memory) == sorted([FACT, said])
    begun = answering.answer(ME, in_cursor("sessionStart", "two", roots))
    assert begun.keys() == {"additional_context"}
    assert FACT in begun["additional_context"]


@pytest.mark.parametrize("name", ["PreToolUse", "", "PreCompact"])
def test_other_events_are_nothing_to_us(memory: Memory, name: str) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, event(name, "one", prompt=FACT)) == {}
    assert memory.listing(ME) == []


@pytest.mark.parametrize("payload", [{}, {"hook_event_name": 3}, {"hook_event_name": "Stop"}])
def test_odd_payloads_are_nothing_too(memory: Memory, payload: dict[str, Any]) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, payload) == {}


def test_a_project_is_its_repository(project: Path, tmp_path: Path) -> None:
    assert hooks.project_tag({"cwd": str(project)}) == "project:harbour"
    assert hooks.project_tag({"workspace_roots": [str(project)]}) == "project:harbour"
    assert hooks.project_tag({"cwd": str(tmp_path)}) == ""
    assert hooks.project_tag({"workspace_roots": []}) == ""
    assert hooks.project_tag({"cwd": 7}) == ""


def test_a_failure_is_logged_without_its_text_and_is_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails() -> dict[str, Any]:
        raise StorageError("the secret text", "try again")

    assert hooks.silently(fails) == {}
    assert "StorageError" in caplog.text
    assert "secret" not in caplog.text


# The settings that install writes


OURS = Handler(("/opt/anamnesis", "hook"))
OTHER = {"hooks": [{"type": "command", "command": "/usr/bin/lint", "args": ["hook"]}]}


def test_settings_are_added_once_and_taken_out_without_a_trace() -> None:
    held: dict[str, Any] = {"model": "x", "hooks": {"Stop": [OTHER], "PreToolUse": []}}
    begun = json.loads(json.dumps(held))
    for _ in range(2):
        hook_settings.add("claude-code", held, OURS)
    assert [len(held["hooks"][name]) for name in ("Stop", "SessionStart")] == [2, 1]
    waited = held["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    assert waited == {
        "type": "command",
        "command": "/opt/anamnesis",
        "args": ["hook"],
        "timeout": 10,
    }
    assert held["hooks"]["Stop"][1]["hooks"][0]["async"] is True
    hook_settings.remove("claude-code", held)
    assert held == begun


def test_settings_over_http() -> None:
    held: dict[str, Any] = {}
    handler = Handler(url="http://127.0.0.1:7832/hook", token="t")
    hook_settings.add("claude-code", held, handler)
    assert held["hooks"]["Stop"][0]["hooks"] == [
        {
            "type": "http",
            "url": "http://127.0.0.1:7832/hook",
            "headers": {"Authorization": "Bearer t"},
            "timeout": 10,
        }
    ]
    hook_settings.remove("claude-code", held)
    assert held == {}


def test_settings_of_cursor() -> None:
    held: dict[str, Any] = {"version": 1, "hooks": {"stop": [{"command": "/usr/bin/notify"}]}}
    hook_settings.add("cursor", held, Handler(("/opt/my tools/anamnesis", "hook")))
    command = {"command": "'/opt/my tools/anamnesis' hook", "timeout": 10}
    assert held["hooks"]["beforeSubmitPrompt"] == [command]
    hook_settings.remove("cursor", held)
    assert held == {"version": 1, "hooks": {"stop": [{"command": "/usr/bin/notify"}]}}


# The thin client and the route, with the real server


def thin(
    data: Path, payload: dict[str, Any] | str, *flags: str
) -> subprocess.CompletedProcess[str]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    command = [sys.executable, "-m", "server", "hook", "--data-dir", str(data), *flags]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    data = tmp_path_factory.mktemp("served")
    command = [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(data)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    url = process.stderr.readline().split()[-1].removesuffix("/mcp")
    process.stderr.readline()
    yield data, url
    process.terminate()
    process.wait(30)
    process.stderr.close()
    assert not (data / "http.json").exists()


def until_loaded(url: str, token: str) -> None:
    """Ask until the server has its model."""
    headers = {"Authorization": f"Bearer {token}"}
    ask = event("UserPromptSubmit", "probe", prompt="Is anybody there who knows about boats?")
    for _ in range(100):
        if httpx2.post(f"{url}/hook", json=ask, headers=headers, timeout=60).status_code == 200:
            return
        time.sleep(0.1)


def test_a_scripted_conversation_is_reminded_without_any_tool_call(
    served: tuple[Path, str], weights_available: bool
) -> None:
    assert weights_available, "run `anamnesis setup`"
    data, url = served
    token = (data / "token").read_text().strip()
    until_loaded(url, token)
    assert (data / "http.json").stat().st_mode & 0o777 == 0o600
    one = thin(data, event("UserPromptSubmit", "one", prompt=FACT))
    assert (one.returncode, one.stdout) == (0, "")
    two = thin(data, event("UserPromptSubmit", "two", prompt=QUESTION))
    assert two.returncode == 0
    assert FACT in context(json.loads(two.stdout), "UserPromptSubmit")


def test_hooks_over_http_need_a_token_and_answer_whatever_comes(served: tuple[Path, str]) -> None:
    data, url = served
    headers = {"Authorization": f"Bearer {(data / 'token').read_text().strip()}"}
    payload = event("UserPromptSubmit", "x", prompt=FACT)
    assert httpx2.post(f"{url}/hook", json=payload).status_code == 401
    assert httpx2.get(f"{url}/hook", headers=headers).status_code == 405
    for odd in ("[]", "nonsense", "{}", '{"hook_event_name": "Stop"}'):
        typed = {**headers, "Content-Type": "application/json"}
        answer = httpx2.post(f"{url}/hook", content=odd, headers=typed, timeout=60)
        assert (answer.status_code, answer.json()) == (200, {})


def test_without_a_server_the_hook_does_the_work_itself(
    tmp_path: Path, weights_available: bool
) -> None:
    data = tmp_path / "data"
    said = thin(data, event("UserPromptSubmit", "one", prompt=FACT), "--agent", "zoe")
    assert (said.returncode, said.stdout) == (0, "")
    with Memory(Settings(data_dir=data)) as memory:
        (kept,) = memory.listing(Identity("zoe"))
    assert (kept.text, kept.agent) == (FACT, "zoe")


def test_a_server_of_somebody_else_is_not_asked(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    said = {"url": "http://127.0.0.1:9", "agent": "other", "team": ""}
    (data / "http.json").write_text(json.dumps(said))
    thin(data, event("UserPromptSubmit", "one", prompt=FACT))
    with Memory(Settings(data_dir=data)) as memory:
        assert len(memory.listing(ME)) == 1


@pytest.mark.parametrize("payload", ["", "nonsense", "[1]", '{"hook_event_name": "Stop"}'])
def test_whatever_comes_the_client_goes_on(tmp_path: Path, payload: str) -> None:
    done = thin(tmp_path / "data", payload)
    assert (done.returncode, done.stdout) == (0, "")


def test_where_nothing_can_be_written_the_client_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = thin(tmp_path / "file", event("UserPromptSubmit", "one", prompt=FACT))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_thin_client_imports_none_of_the_vendors() -> None:
    code = "import server.__main__, server.hook_command, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    heavy = {"pydantic", "mcp", "numpy", "anyio", "starlette", "apsw", "memory_core"}
    assert heavy & set(done.stdout.split()) == set()
