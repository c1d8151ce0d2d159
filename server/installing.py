"""The commands install and uninstall: our entry in a client's own configuration."""

from __future__ import annotations

import base64
import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_core.config import PREFIX, Settings
from memory_core.errors import InvalidInput
from server import clients, foreign_files
from server.auth import Tokens
from server.clients import NAME, Client, User
from server.foreign_files import Edited
from server.outcome import Outcome

_SAID = ("data_dir", "agent", "team", "config")
_PATHS = {f"{PREFIX}DATA_DIR", f"{PREFIX}CONFIG", f"{PREFIX}MODEL_DIR"}
_SECRET = "TOKEN"  # what --print shows in place of one


def install(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Write or merge our entry into the configuration of the client args.client."""
    client, user = clients.CLIENTS[args.client], clients.user(environment)
    path = client.file(user)

    def add(content: dict[str, Any]) -> None:
        servers = _section(content, client, path)
        held = servers.get(NAME) if isinstance(servers.get(NAME), dict) else None
        servers[NAME] = _entry(settings, args, environment, client, held)

    if args.print:
        entry = _entry(settings, args, environment, client, None)
        return _shown(client, str(path), entry)
    edited = foreign_files.edit(path, add)
    return _written(client, edited, f"restart: {client.after}")


def uninstall(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Take our entry out of the configuration of the client args.client."""
    client, user = clients.CLIENTS[args.client], clients.user(environment)
    path = client.file(user)
    gone: list[Any] = []

    def remove(content: dict[str, Any]) -> None:
        if client.key in content:
            gone.append(_section(content, client, path).pop(NAME, None))

    done = _written(client, foreign_files.edit(path, remove), "the memories were left as they are")
    for entry in gone:
        _revoke(settings, entry)
    return done


def installed(client: Client, user: User) -> dict[str, Any] | None:
    """Our entry in the configuration of *client*; None when there is none.

    Raises InvalidInput or ReadOnly when the file cannot be read.
    """
    found: list[dict[str, Any]] = []
    path = client.file(user)

    def look(content: dict[str, Any]) -> None:
        entry = _section(content, client, path).get(NAME) if client.key in content else None
        found.extend([entry] if isinstance(entry, dict) else [])

    foreign_files.edit(path, look)
    return found[0] if found else None


def deeplink(entry: Mapping[str, Any]) -> str:
    """The link that makes Cursor ask its user whether to add *entry*."""
    config = base64.b64encode(json.dumps(entry).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={quote(config)}"


def _entry(
    settings: Settings,
    args: Namespace,
    environment: Mapping[str, str],
    client: Client,
    held: Mapping[str, Any] | None,
) -> dict[str, Any]:
    if not args.http:
        command = clients.program(sys.executable)
        return clients.over_stdio(client, command, _variables(args, environment))
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{settings.port}/mcp"
    clients.over_http(client, url, _SECRET)  # before a token is made for nothing
    secret = _SECRET if args.print else _token(settings, held)
    return clients.over_http(client, url, secret)


def _token(settings: Settings, held: Mapping[str, Any] | None) -> str:
    """The token of the entry *held*, if it still stands for this agent; else a new one."""
    tokens, secret = Tokens(settings.data_dir), _secret(held)
    grant = tokens.find(secret)
    if grant is not None and (grant.agent, grant.team) == (settings.agent, settings.team):
        return secret
    return tokens.add(settings.agent, settings.team, ["read", "write"])


def _revoke(settings: Settings, entry: Mapping[str, Any] | None) -> None:
    tokens = Tokens(settings.data_dir)
    grant = tokens.find(_secret(entry))
    if grant is not None:
        tokens.revoke(grant.id)


def _secret(entry: Mapping[str, Any] | None) -> str:
    headers = entry.get("headers") if isinstance(entry, Mapping) else None
    held = headers.get("Authorization", "") if isinstance(headers, Mapping) else ""
    return str(held).removeprefix("Bearer ")


def _variables(args: Namespace, environment: Mapping[str, str]) -> dict[str, str]:
    """Our settings as they hold now: clients start servers without the shell's variables."""
    said = {name: value for name, value in environment.items() if name.startswith(PREFIX)}
    for name in _SAID:
        if getattr(args, name, None):
            said[f"{PREFIX}{name.upper()}"] = str(getattr(args, name))
    for name in _PATHS & said.keys():  # a client starts us in a folder of its own
        said[name] = str(Path(said[name]).expanduser().absolute())
    return dict(sorted(said.items()))


def _section(content: dict[str, Any], client: Client, path: object) -> dict[str, Any]:
    section = content.setdefault(client.key, {})
    if not isinstance(section, dict):
        raise InvalidInput(
            f"{client.key} in {path} is no object; it was left as it is",
            "mend the file, or use --print and paste what is shown",
        )
    return section


def _shown(client: Client, path: str, entry: dict[str, Any]) -> Outcome:
    block = {client.key: {NAME: entry}}
    lines = [f"{path}:", json.dumps(block, indent=2)]
    data: dict[str, Any] = {"client": client.name, "file": path, "content": block}
    if client.name == "cursor":
        lines.append(deeplink(entry))
        data["deeplink"] = lines[-1]
    return Outcome(data, "\n".join(lines))


def _written(client: Client, edited: Edited, note: str) -> Outcome:
    data: dict[str, Any] = {"client": client.name, "file": str(edited.path)}
    if not edited.changes:
        return Outcome({**data, "changed": False}, f"{edited.path} needs no change")
    backup = foreign_files.write(edited)
    data |= {"changed": True, "backup": str(backup) if backup else None}
    kept = f"\nbefore: {backup}" if backup else ""
    return Outcome(data, f"written: {edited.path}{kept}\n{note}")
