"""Part D: real clients, each connected as its users would connect it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from runner import HERE, MODULES, ROOT, Runner

PLUGIN = ROOT / "integrations" / "claude-code"


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
    for transport, target in targets.items():
        for mode in ("sdk", "legacy", "modern"):
            session(run, f"D {transport}", f"TypeScript {mode}", mode, target)


def session(run: Runner, part: str, what: str, mode: str, target: object) -> None:
    """session.mjs with *target*; see there for *mode*."""
    command = [run.node, str(HERE / "session.mjs"), mode, json.dumps(target)]
    run.command(part, what, command, expected=r"^anamnesis .+$")


def claude_code(run: Runner, url: str, token: str) -> None:
    """Claude Code's command line, without an account: its own check of each server."""
    (program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude")
    folder = run.home / "bin"
    environment = {
        "HOME": str(run.home / "claude"),
        "PATH": f"{folder}:{run.path}",
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ANAMNESIS_OFFLINE": "1",
        "ANAMNESIS_DATA_DIR": str(run.home / "claude" / "data"),
    }
    Path(environment["HOME"]).mkdir()
    ours = _on_the_path(folder)

    def claude(what: str, *arguments: str, expected: str = "") -> None:
        run.command("D claude", what, [str(program), *arguments], expected, environment)

    def anamnesis(*arguments: str) -> None:
        run.command("D claude", " ".join(arguments), [ours, *arguments], "", environment)

    anamnesis("install", "claude-code", "--hooks")
    claude("mcp get, what install wrote", "mcp", "get", "anamnesis", expected=r"✔ Connected")
    anamnesis("uninstall", "claude-code")
    here = ("--scope", "user", "anamnesis")
    claude("mcp add", "mcp", "add", *here, "--", ours, "serve")
    claude("mcp list, stdio", "mcp", "list", expected=r"^anamnesis: .+ ✔ Connected")
    claude("mcp remove", "mcp", "remove", *here)
    header = ("--header", f"Authorization: Bearer {token}")
    for name, path in (("http", "mcp"), ("sse", "sse")):
        claude(
            f"mcp add, {name}", "mcp", "add", "--scope", "user", "--transport", name, "anamnesis",
            f"{url}/{path}", *header,
        )  # fmt: skip
        claude(f"mcp list, {name}", "mcp", "list", expected=r"^anamnesis: .+ ✔ Connected")
        claude(f"mcp remove, {name}", "mcp", "remove", *here)
    valid = r"Validation passed.*$"
    check = ("plugin", "validate", "--strict")
    claude("plugin validate, marketplace", *check, str(ROOT), expected=valid)
    claude("plugin validate, plugin", *check, "--profile", "directory", str(PLUGIN), expected=valid)
    claude("plugin marketplace add", "plugin", "marketplace", "add", str(ROOT))
    claude("plugin install", "plugin", "install", "anamnesis@anamnesis")
    claude("plugin details", "plugin", "details", "anamnesis", expected=r"Hooks \(\d+\).*$")
    claude("mcp list, plugin", "mcp", "list", expected=r"^plugin:anamnesis.+ ✔ Connected")


def _on_the_path(folder: Path) -> str:
    """The command `anamnesis` of this checkout, in *folder*."""
    folder.mkdir()
    program = folder / "anamnesis"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m server "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    return str(program)
