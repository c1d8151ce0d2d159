"""The commands `install` and `uninstall`: our entry in a client's own configuration."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from memory_core.config import PREFIX, Settings
from memory_core.errors import InvalidInput
from memory_core.interchange import local
from server.cli.console import Outcome
from server.cli.grammar import command, setting
from server.cli.invocation import Invocation
from server.clients import clients, config_files
from server.clients.clients import NAME, Client, User
from server.clients.config_files import Edited
from server.hooks import settings as hook_settings
from server.hooks.settings import Handler

PASSED_ON = ("data_dir", "agent", "team", "config")
_PATHS = {f"{PREFIX}DATA_DIR", f"{PREFIX}CONFIG", f"{PREFIX}MODEL_DIR"}
_HIDDEN = "TOKEN"  # shown by --print in place of one


_client_argument = click.argument(
    "client",
    type=click.Choice(sorted(clients.CLIENTS)),
    metavar="CLIENT",
    help=f"One of {', '.join(sorted(clients.CLIENTS))}.",
)


@command("install", example="anamnesis install claude-code --hooks")
@_client_argument
@click.option("--http", is_flag=True, help="The client calls a running server over HTTP.")
@click.option("--hooks", is_flag=True, help="Install hooks too: they store and recall.")
@setting("--host", help="Address of that server.  [default: 127.0.0.1]")
@setting("--port", type=int, help="Port of that server.  [default: 7832]")
@click.option("--print", "print_only", is_flag=True, help="Print the entry; write nothing.")
@click.pass_obj
def install(call: Invocation, client: str, http: bool, hooks: bool, print_only: bool) -> Outcome:
    """Add this server to the configuration of a client.

    Everything else in the file stays, and a copy of the file as it was is kept beside it.
    """
    chosen, user = clients.CLIENTS[client], clients.user(call.environment)
    path = chosen.file(user)

    replaced: list[Mapping[str, Any] | None] = []

    def add(content: dict[str, Any]) -> None:
        servers = _section(content, chosen, path)
        held = servers.get(NAME) if isinstance(servers.get(NAME), dict) else None
        replaced.append(held)
        servers[NAME] = _entry(call, chosen, http, lambda: _token(call.settings, chosen, held))

    hooked = hook_settings.place(client, user) if hooks else None
    if print_only:
        entry = _entry(call, chosen, http, lambda: _HIDDEN)
        return _shown(chosen, path, entry, hooked, _handler(call, chosen, entry))
    edited = [config_files.edit(path, add)]
    if hooked is not None:
        entry = config_files.parsed(edited[0].path, edited[0].after)[chosen.key][NAME]
        handler = _handler(call, chosen, entry)
        edited.append(
            config_files.edit(hooked, lambda held: hook_settings.add(client, held, handler))
        )
    note = f"restart: {chosen.after}"
    if hooks:
        note += "\nto have an engine that is always on: anamnesis service install"
    if edited[0].changes and local.places(user.home, Path.cwd()):
        note += "\nto bring in what other tools hold here: anamnesis import --found"
    done = _written(chosen, edited, note, private=http)
    for earlier in replaced:
        _revoke(call.settings, chosen, earlier, _texts(chosen, user))
    return done


def _texts(client: Client, user: User) -> str:
    """What the files of *client* hold now, its hooks' too."""
    files = [client.file(user)]
    if client.name in hook_settings.CLIENTS:
        files.append(hook_settings.place(client.name, user))
    return "\n".join(each.read_text("utf-8", "replace") for each in files if each.exists())


@command("uninstall")
@_client_argument
@click.pass_obj
def uninstall(call: Invocation, client: str) -> Outcome:
    """Remove this server from the configuration of a client.

    Its hooks are removed too; memories stay.
    """
    chosen, user = clients.CLIENTS[client], clients.user(call.environment)
    path = chosen.file(user)
    gone: list[Any] = []

    def remove(content: dict[str, Any]) -> None:
        if chosen.key in content:
            gone.append(_section(content, chosen, path).pop(NAME, None))

    edited = [config_files.edit(path, remove)]
    if client in hook_settings.CLIENTS:
        hooked = hook_settings.place(client, user)
        edited.append(config_files.edit(hooked, lambda held: hook_settings.remove(client, held)))
    done = _written(chosen, edited, "the memories were left as they are")
    for entry in gone:
        _revoke(call.settings, chosen, entry)
    return done


def installed(client: Client, user: User) -> dict[str, Any] | None:
    """Our entry in the configuration of *client* (`clients.understood`); None when there is none.

    Raises InvalidInput or ReadOnly when the file cannot be read.
    """
    found: list[dict[str, Any]] = []
    path = client.file(user)

    def look(content: dict[str, Any]) -> None:
        entry = _section(content, client, path).get(NAME) if client.key in content else None
        found.extend([entry] if isinstance(entry, dict) else [])

    config_files.edit(path, look)
    return clients.understood(client, found[0]) if found else None


def deeplink(entry: Mapping[str, Any]) -> str:
    """The link at which Cursor asks its user whether to add *entry*."""
    config = base64.b64encode(json.dumps(entry).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={quote(config)}"


def _entry(
    call: Invocation, client: Client, http: bool, secret: Callable[[], str]
) -> dict[str, Any]:
    """The entry for *client*; *secret* returns the token of one over HTTP."""
    if not http:
        return clients.over_stdio(client, clients.program(sys.executable), variables(call))
    host = f"[{call.settings.host}]" if ":" in call.settings.host else call.settings.host
    url = f"http://{host}:{call.settings.port}/mcp"
    clients.over_http(client, url, _HIDDEN)  # raises before a token is made for nothing
    return clients.over_http(client, url, secret())


def _token(settings: Settings, client: Client, held: Mapping[str, Any] | None) -> str:
    """The token of the entry *held*, if it is valid for this agent and team; else a new one."""
    from server.http.tokens import Tokens

    tokens, secret = Tokens(settings.data_dir), _secret(client, held)
    grant = tokens.find(secret)
    if grant is not None and (grant.agent, grant.team) == (settings.agent, settings.team):
        return secret
    return tokens.add(settings.agent, settings.team, ["read", "write"])


def _revoke(
    settings: Settings, client: Client, entry: Mapping[str, Any] | None, held: str = ""
) -> None:
    """Revoke the token of *entry*, unless it is still in *held*, the text of some files."""
    secret = _secret(client, entry)
    if not secret or secret in held:
        return
    from server.http.tokens import Tokens

    tokens = Tokens(settings.data_dir)
    grant = tokens.find(secret)
    if grant is not None:
        tokens.revoke(grant.id)


def _secret(client: Client, entry: Mapping[str, Any] | None) -> str:
    if not isinstance(entry, Mapping):
        return ""
    headers = clients.understood(client, entry).get("headers")
    held = headers.get("Authorization", "") if isinstance(headers, Mapping) else ""
    return str(held).removeprefix("Bearer ")


def variables(call: Invocation) -> dict[str, str]:
    """The settings in force as variables: clients start servers without the shell's environment."""
    known = {_variable(name) for name in (*Settings.model_fields, "config")}
    found = {name: value for name, value in call.environment.items() if name in known}
    found |= {_variable(name): str(call.flags[name]) for name in PASSED_ON if call.flags.get(name)}
    for name in _PATHS & found.keys():  # a client starts us in a folder of its own
        found[name] = str(Path(found[name]).expanduser().absolute())
    return dict(sorted(found.items()))


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _section(content: dict[str, Any], client: Client, path: object) -> dict[str, Any]:
    section = content.setdefault(client.key, {})
    if not isinstance(section, dict):
        raise InvalidInput(
            f"{client.key} in {path} is no object; it was left as it is",
            "repair the file, or use --print and paste the entry",
        )
    return section


def _handler(call: Invocation, client: Client, entry: Mapping[str, Any]) -> Handler:
    """How hooks call the server of *entry*: the program that finds it, and its URL."""
    found = variables(call)
    flags = [(f"--{name.replace('_', '-')}", found.get(_variable(name), "")) for name in PASSED_ON]
    given = [word for flag, value in flags if value for word in (flag, value)]
    command = (*clients.hook_program(sys.executable), *given)
    if "url" not in entry or client.name not in hook_settings.OVER_HTTP:
        return Handler(command)
    url = str(entry["url"]).removesuffix("/mcp") + hook_settings.PATH
    return Handler(command, url, _secret(client, entry))


def _shown(
    client: Client, path: Path, entry: dict[str, Any], hooked: Path | None, handler: Handler
) -> Outcome:
    block = {client.key: {NAME: entry}}
    lines = [f"{path}:", config_files.written_out(path, block)]
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


def _written(
    client: Client, edited: Sequence[Edited], note: str, *, private: bool = False
) -> Outcome:
    """Write all of *edited*, each atomically, after every one could be made; see write."""
    files, lines = [], []
    for each in edited:
        backup = config_files.write(each, private=private) if each.changes else None
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
