"""The clients that `install` knows: the file of each, and the form of an entry in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput

NAME = "anamnesis"
"""The name of our entry in every client."""


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
class Client:
    """One client: its name, the file and key of its servers, and what the user does afterwards."""

    name: str
    file: Callable[[User], Path]
    key: str
    typed: bool
    """True when an entry names its transport."""
    http: bool
    after: str


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            lambda user: user.programs / "Claude" / "claude_desktop_config.json",
            "mcpServers",
            typed=False,
            http=False,
            after="quit Claude and open it again; closing the window is not enough",
        ),
        Client(
            "claude-code",
            lambda user: user.home / ".claude.json",
            "mcpServers",
            typed=True,
            http=True,
            after="start a new session; /mcp shows the server",
        ),
        Client(
            "cursor",
            lambda user: user.home / ".cursor" / "mcp.json",
            "mcpServers",
            typed=False,
            http=True,
            after="look at Settings, MCP; start Cursor again if the server is not there",
        ),
        Client(
            "vscode",
            lambda user: user.programs / "Code" / "User" / "mcp.json",
            "servers",
            typed=True,
            http=True,
            after="run the command `MCP: List Servers` and start it there",
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


def over_stdio(client: Client, command: list[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """The entry with which *client* starts *command* itself, with *variables* set."""
    entry = {"command": command[0], "args": [*command[1:], "serve"], "env": dict(variables)}
    return {"type": "stdio", **entry} if client.typed else entry


def over_http(client: Client, url: str, token: str) -> dict[str, Any]:
    """The entry with which *client* reaches a running server. Raises InvalidInput if it cannot."""
    if not client.http:
        raise InvalidInput(
            f"{client.name} reaches servers over HTTP only through its connector settings",
            "install it without --http: the client then starts the server itself",
        )
    entry = {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
    return {"type": "http", **entry} if client.typed else entry


def _folder(environment: Mapping[str, str], variable: str, otherwise: Path) -> Path:
    value = environment.get(variable, "")
    return Path(value) if value else otherwise
