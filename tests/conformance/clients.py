"""Part D: real clients, each connected as its users would connect it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import stand_in
from runner import HERE, MODULES, ROOT, Runner

PLUGIN = ROOT / "integrations" / "claude-code"
FACT = "My sister Ann moved to Tromsø in May, she works at the harbour office there."

TRIES = 3
"""Conversations that may begin without what is known: a hook answers in its time or not at all."""

PATIENCE = 60.0


def typescript(run: Runner, url: str, token: str) -> None:
    """A whole session of both TypeScript SDKs on each transport."""
    stdio = {
        "command": sys.executable,
        "args": ["-m", "server", "serve"],
        "env": {
            "PYTHONPATH": str(ROOT),
            "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_DATA_DIR": str(run.home / "typescript"),
        },
    }
    targets = {
        "stdio": stdio,
        "http": {"url": f"{url}/mcp", "token": token},
        "sse": {"url": f"{url}/sse", "token": token},
    }
    for (transport, target), once in zip(targets.items(), ("sdk", "modern", "legacy"), strict=True):
        for mode in (once,) if run.few else ("sdk", "legacy", "modern"):
            session(run, f"D {transport}", f"TypeScript {mode}", mode, target)


def session(run: Runner, part: str, what: str, mode: str, target: object) -> None:
    """session.mjs with *target*; see there for *mode*."""
    command = [run.node, str(HERE / "session.mjs"), mode, json.dumps(target)]
    run.command(part, what, command, expected=r"^anamnesis .+$")


class ClaudeCode:
    """Claude Code with a home of its own and no account. Nothing of this machine reaches it."""

    def __init__(self, run: Runner, name: str) -> None:
        self._run = run
        self._part = f"D {name}"
        self._program = next(MODULES.glob("@anthropic-ai/claude-code-*/claude"), None)
        home = run.home / name
        home.mkdir()
        self.ours = _on_the_path(home / "bin")
        self.data = home / "data"
        self._environment = {
            "HOME": str(home),
            "PATH": f"{home / 'bin'}:{run.path}",
            "DISABLE_TELEMETRY": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ANTHROPIC_API_KEY": "none",
            "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_DATA_DIR": str(self.data),
        }

    def __call__(self, what: str, *arguments: str, expected: str = "", model: str = "") -> None:
        """Run it with *arguments*, its model at the URL *model*."""
        if self._program is None:
            raise SystemExit("package.json names no Claude Code for this platform")
        command = [str(self._program), *arguments]
        environment = {**self._environment, "ANTHROPIC_BASE_URL": model or "http://127.0.0.1:9"}
        self._run.command(self._part, what, command, expected, environment)

    def anamnesis(self, *arguments: str) -> None:
        """Run our own command where it runs."""
        command = [self.ours, *arguments]
        self._run.command(self._part, " ".join(arguments), command, "", self._environment)

    def keeps(self, text: str) -> bool:
        """Whether the memory holds *text* by now; what a hook was told is stored after its end."""
        until = time.monotonic() + PATIENCE
        exported = ""
        while text not in exported and time.monotonic() < until:
            done = subprocess.run(
                [self.ours, "export"],
                env=self._environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            exported = done.stdout
        return text in exported

    def note(self, what: str, passed: bool) -> None:
        """Keep an outcome."""
        self._run.note(self._part, what, passed, "as expected" if passed else "not so")


def claude_code(run: Runner, url: str, token: str) -> None:
    """Its command line: its own check of each server, however it was added."""
    claude = ClaudeCode(run, "claude")
    claude.anamnesis("install", "claude-code", "--hooks")
    claude("mcp get, what install wrote", "mcp", "get", "anamnesis", expected=r"✔ Connected")
    claude.anamnesis("uninstall", "claude-code")
    here = ("--scope", "user", "anamnesis")
    if not run.few:
        claude("mcp add", "mcp", "add", *here, "--", claude.ours, "serve")
        claude("mcp list, stdio", "mcp", "list", expected=r"^anamnesis: .+ ✔ Connected")
        claude("mcp remove", "mcp", "remove", *here)
    header = ("--header", f"Authorization: Bearer {token}")
    for name, path in (("http", "mcp"), ("sse", "sse"))[: 1 if run.few else 2]:
        claude(
            f"mcp add, {name}", "mcp", "add", "--scope", "user", "--transport", name, "anamnesis",
            f"{url}/{path}", *header,
        )  # fmt: skip
        claude(f"mcp list, {name}", "mcp", "list", expected=r"^anamnesis: .+ ✔ Connected")
        claude(f"mcp remove, {name}", "mcp", "remove", *here)


def claude_plugin(run: Runner) -> None:
    """The plugin and its marketplace: valid, installed, and at work in conversations."""
    claude = ClaudeCode(run, "plugin")
    if not run.few:
        valid = r"Validation passed.*$"
        check = ("plugin", "validate", "--strict")
        claude("validate, marketplace", *check, str(ROOT), expected=valid)
        claude("validate, plugin", *check, "--profile", "directory", str(PLUGIN), expected=valid)
    claude("marketplace add", "plugin", "marketplace", "add", str(ROOT))
    claude("install", "plugin", "install", "anamnesis@anamnesis")
    if not run.few:
        claude("details", "plugin", "details", "anamnesis", expected=r"Hooks \(\d+\).*$")
    claude("mcp list", "mcp", "list", expected=r"^plugin:anamnesis.+ ✔ Connected")
    with stand_in.model() as model:
        answered = {"expected": f"^{re.escape(stand_in.ANSWER)}$", "model": model.url}
        claude("a conversation", "-p", FACT, **answered)
        claude.note("it did not know yet", model.last.count(FACT) == 1)
        claude.note("the answer of a one-shot is kept", claude.keeps(stand_in.ANSWER))
        for _ in range(TRIES):
            claude("another conversation", "-p", "Good morning! What is new?", **answered)
            if FACT in model.last:
                break
        claude.note("it was told without a tool call", FACT in model.last)
        tool = "mcp__plugin_anamnesis_anamnesis__recall"
        prompt = f'Use {tool} with {{"query": "Where does Ann work?"}}'
        claude("a tool call", "-p", prompt, "--allowedTools", tool, **answered)
        result = [part for part in _newest(model) if part.get("type") == "tool_result"]
        claude.note("the tool's result came", FACT in json.dumps(result, ensure_ascii=False))


def _newest(model: stand_in.Model) -> list[dict[str, Any]]:
    """The parts of the newest message of the user in the last request."""
    content = [m["content"] for m in model.asked[-1]["messages"] if m["role"] == "user"][-1]
    return content if isinstance(content, list) else []


def _on_the_path(folder: Path) -> str:
    """The command `anamnesis` of this checkout, in *folder*."""
    folder.mkdir()
    program = folder / "anamnesis"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m server "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    return str(program)
