"""The commands install and uninstall: our entry in a client's own configuration."""

from __future__ import annotations

import base64
import json
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memory_core.config import PREFIX, Settings
from memory_core.errors import InvalidInput
from server.cli.console import Outcome
from server.clients import clients, config_files
from server.clients.clients import NAME, Client, User
from server.clients.config_files import Edited
from server.hooks import settings as hook_settings
from server.hooks.settings import Handler
from server.http.tokens import Tokens

_SAID = ("data_dir", "agent", "team", "config")
_PATHS = {f"{PREFIX}DATA_DIR", f"{PREFIX}CONFIG", f"{PREFIX}MODEL_DIR"}
_HIDDEN = "TOKEN"  # what --print shows in place of one


def install(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Write or merge our entry into the configuration of the client args.client."""
    client, user = clients.CLIENTS[args.client], clients.user(environment)
    path = client.file(user)

    def add(content: dict[str, Any]) -> None:
        servers = _section(content, client, path)
        held = servers.get(NAME) if isinstance(servers.get(NAME), dict) else None
        servers[NAME] = _entry(settings, args, environment, client, held)

    hooked = hook_settings.place(client.name, user) if args.hooks else None
    if args.print:
        entry = _entry(settings, args, environment, client, None)
        return _shown(client, path, entry, hooked, _handler(client, entry, args, environment))
    edited = [config_files.edit(path, add)]
    if hooked is not None:
        entry = json.loads(edited[0].after or "{}")[client.key][NAME]
        handler = _handler(client, entry, args, environment)
        edited.append(
            config_files.edit(hooked, lambda held: hook_settings.add(client.name, held, handler))
        )
    return _written(client, edited, f"restart: {client.after}")


def uninstall(settings: Settings, args: Namespace, environment: Mapping[str, str]) -> Outcome:
    """Take our entry out of the configuration of the client args.client."""
    client, user = clients.CLIENTS[args.client], clients.user(environment)
    path = client.file(user)
    gone: list[Any] = []

    def remove(content: dict[str, Any]) -> None:
        if client.key in content:
            gone.append(_section(content, client, path).pop(NAME, None))

    edited = [config_files.edit(path, remove)]
    if client.name in hook_settings.CLIENTS:
        hooked = hook_settings.place(client.name, user)
        edited.append(
            config_files.edit(hooked, lambda held: hook_settings.remove(client.name, held))
        )
    done = _written(client, edited, "the memories were left as they are")
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

    config_files.edit(path, look)
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
    clients.over_http(client, url, _HIDDEN)  # before a token is made for nothing
    secret = _HIDDEN if args.print else _token(settings, held)
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
    known = {_variable(name) for name in (*Settings.model_fields, "config")}
    said = {name: value for name, value in environment.items() if name in known}
    for name in _SAID:
        if getattr(args, name, None):
            said[_variable(name)] = str(getattr(args, name))
    for name in _PATHS & said.keys():  # a client starts us in a folder of its own
        said[name] = str(Path(said[name]).expanduser().absolute())
    return dict(sorted(said.items()))


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _section(content: dict[str, Any], client: Client, path: object) -> dict[str, Any]:
    section = content.setdefault(client.key, {})
    if not isinstance(section, dict):
        raise InvalidInput(
            f"{client.key} in {path} is no object; it was left as it is",
            "mend the file, or use --print and paste what is shown",
        )
    return section


def _handler(
    client: Client, entry: Mapping[str, Any], args: Namespace, environment: Mapping[str, str]
) -> Handler:
    """How hooks reach the server of *entry*: a program that looks for it, and its address."""
    said = _variables(args, environment)
    flags = [(f"--{name.replace('_', '-')}", said.get(_variable(name), "")) for name in _SAID]
    given = [word for flag, value in flags if value for word in (flag, value)]
    command = (*clients.program(sys.executable), "hook", *given)
    if "url" not in entry or client.name not in hook_settings.OVER_HTTP:
        return Handler(command)
    url = str(entry["url"]).removesuffix("/mcp") + hook_settings.PATH
    return Handler(command, url, _secret(entry))


def _shown(
    client: Client, path: Path, entry: dict[str, Any], hooked: Path | None, handler: Handler
) -> Outcome:
    block = {client.key: {NAME: entry}}
    lines = [f"{path}:", json.dumps(block, indent=2)]
    data: dict[str, Any] = {"client": client.name, "file": str(path), "content": block}
    if hooked is not None:
        hooks: dict[str, Any] = {}
        hook_settings.add(client.name, hooks, handler)
        data["hooks"] = {"file": str(hooked), "content": hooks}
        lines += [f"{hooked}:", json.dumps(hooks, indent=2)]
    if client.name == "cursor":
        lines.append(deeplink(entry))
        data["deeplink"] = lines[-1]
    return Outcome(data, "\n".join(lines))


def _written(client: Client, edited: Sequence[Edited], note: str) -> Outcome:
    """Write all of *edited*, each whole, once all of them could be made."""
    files, lines = [], []
    for each in edited:
        backup = config_files.write(each) if each.changes else None
        files.append(
            {
                "file": str(each.path),
                "changed": each.changes,
                "backup": str(backup) if backup else None,
            }
        )
        lines.append(f"written: {each.path}" if each.changes else f"{each.path} needs no change")
        lines += [f"before: {backup}"] if backup else []
    return Outcome({"client": client.name, "files": files}, "\n".join([*lines, note]))
