"""The hooks that install writes into the clients' own files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.hooks import settings
from server.hooks.settings import Handler

OURS = Handler(("/opt/anamnesis", "hook"))
OTHER = {"hooks": [{"type": "command", "command": "/usr/bin/lint", "args": ["hook"]}]}


def test_settings_are_added_once_and_taken_out_without_a_trace() -> None:
    held: dict[str, Any] = {"model": "x", "hooks": {"Stop": [OTHER], "PreToolUse": []}}
    begun = json.loads(json.dumps(held))
    for _ in range(2):
        settings.add("claude-code", held, OURS)
    assert [len(held["hooks"][name]) for name in ("Stop", "SessionStart")] == [2, 1]
    waited = held["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    assert waited == {
        "type": "command",
        "command": "/opt/anamnesis",
        "args": ["hook"],
        "timeout": 10,
    }
    assert held["hooks"]["Stop"][1]["hooks"][0] == waited, (
        "claude -p kills what is in the background"
    )
    assert held["hooks"]["PostCompact"][0]["hooks"][0]["async"] is True
    settings.remove("claude-code", held)
    assert held == begun


def test_settings_over_http() -> None:
    held: dict[str, Any] = {}
    handler = Handler(OURS.command, "http://127.0.0.1:7832/hook", "t")
    settings.add("claude-code", held, handler)
    assert held["hooks"]["Stop"][0]["hooks"] == [
        {
            "type": "http",
            "url": "http://127.0.0.1:7832/hook",
            "headers": {"Authorization": "Bearer t"},
            "timeout": 10,
        }
    ]
    settings.remove("claude-code", held)
    assert held == {}


def test_settings_of_cursor() -> None:
    held: dict[str, Any] = {"version": 1, "hooks": {"stop": [{"command": "/usr/bin/notify"}]}}
    settings.add("cursor", held, Handler(("/opt/my tools/anamnesis", "hook")))
    command = {"command": "'/opt/my tools/anamnesis' hook", "timeout": 10}
    assert held["hooks"]["beforeSubmitPrompt"] == [command]
    settings.remove("cursor", held)
    assert held == {"version": 1, "hooks": {"stop": [{"command": "/usr/bin/notify"}]}}


def test_settings_of_cursor_on_windows_are_quoted_for_its_shell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    held: dict[str, Any] = {}
    settings.add("cursor", held, Handler((r"C:\My Tools\anamnesis.exe", "hook")))
    assert held["hooks"]["sessionStart"][0]["command"] == r'"C:\My Tools\anamnesis.exe" hook'
    settings.remove("cursor", held)
    assert held == {}


CLAUDE_CODE = (
    "SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "PostCompact", "SessionEnd"
)  # fmt: skip


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:7832/hook"])
def test_every_event_has_its_handler(url: str) -> None:
    held: dict[str, Any] = {}
    settings.add("claude-code", held, Handler(OURS.command, url, "t"))
    assert tuple(held["hooks"]) == CLAUDE_CODE
    handlers = {name: groups[0]["hooks"][0] for name, groups in held["hooks"].items()}
    kinds = {name: handler["type"] for name, handler in handlers.items()}
    over_http = "http" if url else "command"
    expected = dict.fromkeys(CLAUDE_CODE, over_http) | {"SessionStart": "command"}
    assert kinds == expected
    beside = [name for name, handler in handlers.items() if handler.get("async")]
    assert beside == ([] if url else ["PreCompact", "PostCompact"])
    settings.remove("claude-code", held)
    assert held == {}
