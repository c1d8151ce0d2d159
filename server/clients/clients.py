"""The clients that `install` knows: the file of each, and the form of an entry in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput

NAME = "anamnesis"
"""The name of our entry in every client."""

HOOK = "from server.hooks.command import hook; hook()"
"""What Python runs for a hook; by it `uninstall` knows our handlers."""


@dataclass(frozen=True, slots=True)
class User:
    """The owner of the configuration: home folder, platform as in sys.platform, variables."""

    home: Path
    platform: str
    environment: Mapping[str, str]

    @property
    def programs(self) -> Path:
        """The folder of programs' configuration for one user on this platform."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return _folder(self.environment, "APPDATA", self.home / "AppData" / "Roaming")
        return _folder(self.environment, "XDG_CONFIG_HOME", self.home / ".config")


@dataclass(frozen=True, slots=True)
class Form:
    """How a client writes an entry: the names of its fields, and the fields that never change."""

    transports: tuple[str, str] = ("", "")
    """The values of `type` for a command and for a URL; "" where an entry names none."""
    one_command: bool = False
    """True when program and arguments are one list."""
    variables: str = "env"
    url: str = "url"
    headers: str = "headers"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)
    """Further fields that only an entry with a command has."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its name, the file and key of its servers, and what the user does afterwards."""

    name: str
    file: Callable[[User], Path]
    key: str
    after: str
    form: Form = Form()
    http: bool = True


_TYPED = Form(transports=("stdio", "http"))

CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            lambda user: user.programs / "Claude" / "claude_desktop_config.json",
            "mcpServers",
            "quit Claude and open it again; closing the window is not enough",
            http=False,
        ),
        Client(
            "claude-code",
            lambda user: user.home / ".claude.json",
            "mcpServers",
            "start a new session; /mcp shows the server",
            _TYPED,
        ),
        Client(
            "codex",
            lambda user: (
                _folder(user.environment, "CODEX_HOME", user.home / ".codex") / "config.toml"
            ),
            "mcp_servers",
            "start a new session; /mcp shows the server",
            Form(headers="http_headers"),
        ),
        Client(
            "copilot",
            lambda user: (
                _folder(user.environment, "COPILOT_HOME", user.home / ".copilot")
                / "mcp-config.json"
            ),
            "mcpServers",
            "start a new session; `copilot mcp list` shows the server",
            Form(transports=("local", "http"), fixed={"tools": ["*"]}),
        ),
        Client(
            "cursor",
            lambda user: user.home / ".cursor" / "mcp.json",
            "mcpServers",
            "look at Settings, MCP; start Cursor again if the server is not there",
        ),
        Client(
            "gemini",
            lambda user: user.home / ".gemini" / "settings.json",
            "mcpServers",
            "start a new session in a trusted folder; /mcp shows the server",
            Form(transports=("", "http")),
        ),
        Client(
            "opencode",
            lambda user: (
                _folder(user.environment, "XDG_CONFIG_HOME", user.home / ".config")
                / "opencode"
                / "opencode.json"
            ),
            "mcp",
            "start a new session; `opencode mcp list` shows the server",
            Form(
                transports=("local", "remote"),
                one_command=True,
                variables="environment",
                fixed={"enabled": True},
            ),
        ),
        Client(
            "vscode",
            lambda user: user.programs / "Code" / "User" / "mcp.json",
            "servers",
            "run the command `MCP: List Servers` and start it there",
            _TYPED,
        ),
        Client(
            "windsurf",
            lambda user: user.home / ".codeium" / "windsurf" / "mcp_config.json",
            "mcpServers",
            "press Refresh in the list of MCP servers of Cascade",
            Form(url="serverUrl"),
        ),
        Client(
            "zed",
            lambda user: _zed(user) / "settings.json",
            "context_servers",
            "look at the settings of the Agent Panel; the dot beside the server is green",
            Form(started={"source": "custom"}),
        ),
    )
}


def user(environment: Mapping[str, str]) -> User:
    """The user of this machine whose *environment* it is."""
    home = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME", "")
    return User(Path(home) if home else Path.home(), sys.platform, environment)


def program(executable: str) -> list[str]:
    """The command line of this program: the script beside *executable*, else the module."""
    folder = Path(executable).parent
    for name in ("anamnesis", "anamnesis.exe"):
        if (folder / name).is_file():
            return [str(folder / name)]
    return [executable, "-m", "server"]


def hook_program(executable: str) -> list[str]:
    """The command line of `anamnesis hook` that starts soonest: Python without a script.

    pip's scripts, and -m, first load re and more, which takes as long as the rest of the hook. A
    package named server in the folder of a project, or in PYTHONPATH, is not ours: hence -P and -E.
    Where Python does not find this program so, the line is that of `program`.
    """
    python = [executable, "-E", "-P", "-c"]
    try:
        subprocess.run(
            [*python, "import server.hooks.command"], check=True, capture_output=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return [*program(executable), "hook"]
    return [*python, HOOK]


def over_stdio(client: Client, command: list[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """The entry with which *client* starts *command* itself, with *variables* set."""
    form, words = client.form, [*command, "serve"]
    called = {"command": words} if form.one_command else {"command": words[0], "args": words[1:]}
    return {
        **_transport(form.transports[0]),
        **form.started,
        **called,
        form.variables: dict(variables),
        **form.fixed,
    }


def over_http(client: Client, url: str, token: str) -> dict[str, Any]:
    """The entry with which *client* reaches a running server. Raises InvalidInput if it cannot."""
    if not client.http:
        raise InvalidInput(
            f"{client.name} reaches servers over HTTP only through its connector settings",
            "install it without --http: the client then starts the server itself",
        )
    form = client.form
    return {
        **_transport(form.transports[1]),
        form.url: url,
        form.headers: {"Authorization": f"Bearer {token}"},
        **form.fixed,
    }


def understood(client: Client, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What an *entry* of *client* says, under the names `command`, `args`, `env` or `url`,
    `headers`."""
    form = client.form
    if form.url in entry:
        return {"url": entry[form.url], "headers": entry.get(form.headers) or {}}
    command = entry.get("command")
    words = command if isinstance(command, list) else [command, *entry.get("args", ())]
    return {"command": words[0], "args": words[1:], "env": entry.get(form.variables) or {}}


def _transport(kind: str) -> dict[str, str]:
    return {"type": kind} if kind else {}


def _zed(user: User) -> Path:
    """Zed follows XDG on Linux, and keeps to ~/.config on macOS too."""
    if user.platform == "win32":
        return user.programs / "Zed"
    if user.platform == "darwin":
        return user.home / ".config" / "zed"
    return user.programs / "zed"


def _folder(environment: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    value = environment.get(variable, "")
    return Path(value) if value else otherwise
