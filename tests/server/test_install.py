"""Our entry in the clients' configurations: right on each system, and nothing else touched."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import engines
import pytest
from processes import keep

from memory_core.errors import InvalidInput
from server.cli import doctor, main
from server.clients import clients, commented_json
from server.clients.clients import CLIENTS, User
from server.http.tokens import Tokens

pytestmark = pytest.mark.usefixtures("processes")

INSTALLED = Path(__file__).with_name("installed.json")
PLACES = {
    ("claude-desktop", "linux"): ".config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): "Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): "AppData/Roaming/Claude/claude_desktop_config.json",
    ("claude-code", "linux"): ".claude.json",
    ("claude-code", "darwin"): ".claude.json",
    ("claude-code", "win32"): ".claude.json",
    ("cursor", "linux"): ".cursor/mcp.json",
    ("cursor", "darwin"): ".cursor/mcp.json",
    ("cursor", "win32"): ".cursor/mcp.json",
    ("vscode", "linux"): ".config/Code/User/mcp.json",
    ("vscode", "darwin"): "Library/Application Support/Code/User/mcp.json",
    ("vscode", "win32"): "AppData/Roaming/Code/User/mcp.json",
    **{
        (name, platform): place
        for name, place in {
            "codex": ".codex/config.toml",
            "copilot": ".copilot/mcp-config.json",
            "gemini": ".gemini/settings.json",
            "opencode": ".config/opencode/opencode.json",
            "windsurf": ".codeium/windsurf/mcp_config.json",
        }.items()
        for platform in ("linux", "darwin", "win32")
    },
    ("zed", "linux"): ".config/zed/settings.json",
    ("zed", "darwin"): ".config/zed/settings.json",
    ("zed", "win32"): "AppData/Roaming/Zed/settings.json",
}
STDIO = {"command": "/opt/anamnesis", "args": ["serve"], "env": {"ANAMNESIS_AGENT": "zoe"}}
HTTP = {"url": "http://127.0.0.1:7832/mcp", "headers": {"Authorization": "Bearer t"}}
ENTRIES = {
    "claude-desktop": (STDIO, None),
    "claude-code": ({"type": "stdio", **STDIO}, {"type": "http", **HTTP}),
    "cursor": (STDIO, HTTP),
    "vscode": ({"type": "stdio", **STDIO}, {"type": "http", **HTTP}),
    "codex": (STDIO, {"url": HTTP["url"], "http_headers": HTTP["headers"]}),
    "copilot": (
        {"type": "local", **STDIO, "tools": ["*"]},
        {"type": "http", **HTTP, "tools": ["*"]},
    ),
    "gemini": (STDIO, {"type": "http", **HTTP}),
    "opencode": (
        {
            "type": "local",
            "command": ["/opt/anamnesis", "serve"],
            "environment": STDIO["env"],
            "enabled": True,
        },
        {"type": "remote", **HTTP, "enabled": True},
    ),
    "windsurf": (STDIO, {"serverUrl": HTTP["url"], "headers": HTTP["headers"]}),
    "zed": ({"source": "custom", **STDIO}, HTTP),
}


def read(path: Path) -> Any:
    text = path.read_text("utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


class Desk:
    """A home folder, and our command line run in it."""

    def __init__(self, home: Path, out: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.data = home / "memories"
        self._out = out

    def run(self, *words: str) -> tuple[int, str, str]:
        code = main.main([*words, "--data-dir", str(self.data)])
        said = self._out.readouterr()
        return code, said.out, said.err

    def file(self, client: str) -> Path:
        return self.home / PLACES[client, "linux"]

    def entry(self, client: str) -> Any:
        path = self.file(client)
        return read(path)[CLIENTS[client].key]["anamnesis"]

    def write(self, client: str, text: str) -> Path:
        path = self.file(client)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Desk]:
    """A user's home; an engine that an installed entry starts there ends with the test."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CONFIG_HOME", "ANAMNESIS_SHARED"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    found = Desk(tmp_path, capsys)
    own = found.data
    yield found
    engines.end(own)


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory for the entries of several clients, which share its engine."""
    folder = tmp_path_factory.mktemp("memories") / "data"
    keep(folder)
    yield folder
    engines.end(folder)


@pytest.mark.parametrize(("name", "platform"), PLACES)
def test_each_client_keeps_its_servers_where_it_looks(
    name: str, platform: str, tmp_path: Path
) -> None:
    user = User(tmp_path, platform, {})
    assert CLIENTS[name].file(user) == tmp_path / PLACES[name, platform]


def test_moved_configuration_folders_are_followed(tmp_path: Path) -> None:
    linux = User(tmp_path, "linux", {"XDG_CONFIG_HOME": str(tmp_path / "conf")})
    windows = User(tmp_path, "win32", {"APPDATA": str(tmp_path / "roam")})
    moved = User(tmp_path, "linux", {"CODEX_HOME": str(tmp_path / "c")})
    assert CLIENTS["codex"].file(moved) == tmp_path / "c" / "config.toml"
    assert CLIENTS["vscode"].file(linux).is_relative_to(tmp_path / "conf")
    assert CLIENTS["vscode"].file(windows).is_relative_to(tmp_path / "roam")


def test_every_client_has_its_places_and_forms_here() -> None:
    assert {name for name, _ in PLACES} == set(CLIENTS) == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_have_the_form_that_the_client_reads(name: str) -> None:
    stdio, http = ENTRIES[name]
    made = clients.over_stdio(CLIENTS[name], ["/opt/anamnesis"], {"ANAMNESIS_AGENT": "zoe"})
    assert made == stdio
    assert clients.understood(CLIENTS[name], made) == STDIO
    if http is None:
        with pytest.raises(InvalidInput, match="without --http"):
            clients.over_http(CLIENTS[name], "http://127.0.0.1:7832/mcp", "t")
    else:
        reached = clients.over_http(CLIENTS[name], "http://127.0.0.1:7832/mcp", "t")
        assert reached == http
        assert clients.understood(CLIENTS[name], reached) == HTTP


STARTED = ("claude-desktop", "codex")
"""Of the clients those whose entries are started in the check: one of JSON, and one of TOML."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in STARTED else pytest.mark.long) for name in CLIENTS],
)
def test_a_written_entry_starts(desk: Desk, memories: Path, name: str) -> None:
    desk.data = memories
    assert desk.run("install", name)[0] == 0
    entry = clients.understood(CLIENTS[name], desk.entry(name))
    assert doctor.probe(entry, os.environ) == ""


@pytest.mark.parametrize("name", CLIENTS)
def test_an_entry_is_written_once(desk: Desk, memories: Path, name: str) -> None:
    desk.data = memories
    code, said, _ = desk.run("install", name, "--agent", "zoe")
    assert code == 0
    assert str(desk.file(name)) in said
    entry = clients.understood(CLIENTS[name], desk.entry(name))
    assert entry["env"] == {"ANAMNESIS_AGENT": "zoe", "ANAMNESIS_DATA_DIR": str(desk.data)}
    assert Path(entry["command"]).is_absolute()
    desk.run("install", STARTED[0], "--agent", "zoe")
    assert entry == clients.understood(CLIENTS[STARTED[0]], desk.entry(STARTED[0]))
    before = desk.file(name).read_bytes()
    assert "no change" in desk.run("install", name, "--agent", "zoe")[1]
    assert desk.file(name).read_bytes() == before
    assert desk.file(name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", CLIENTS)
def test_without_a_setting_an_entry_names_none(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable in [each for each in os.environ if each.startswith("ANAMNESIS_")]:
        monkeypatch.delenv(variable)
    assert main.main(["install", name]) == 0
    entry = clients.understood(CLIENTS[name], desk.entry(name))
    assert (Path(entry["command"]).name, entry["args"], entry["env"]) == (
        "anamnesis",
        ["serve"],
        {},
    )
    assert main.main(["uninstall", name]) == 0
    assert "anamnesis" not in desk.file(name).read_text()


INLINE = (
    '{\n    "permissions": {"allow": ["Bash(ls:*)", "Read"], "deny": []},\n'
    '    "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo hi"}]}]},\n'
    '    "mcpServers": {"git": {"command": "git", "args": ["-C", "/srv"]}}\n}\n'
)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude-code", INLINE),
        ("cursor", INLINE),
        ("cursor", '{"mcpServers": {"git": {"command": "git"}}, "é": 1}\n'),
        ("codex", '[mcp_servers.git]\ncommand = "git"  # mine\n'),
    ],
)
def test_what_is_installed_and_taken_out_leaves_every_byte(
    desk: Desk, name: str, text: str, end: str, mark: str
) -> None:
    path = desk.write(name, "")
    settings = path.parent / ".claude" / "settings.json" if name == "claude-code" else path
    settings.parent.mkdir(exist_ok=True)
    before = (mark + text).replace("\n", end).encode()
    for each in {path, settings}:
        each.write_bytes(before)
    assert desk.run("install", name, *(["--hooks"] if name == "claude-code" else []))[0] == 0
    for each in {path, settings}:
        now = each.read_bytes()
        assert now.startswith(mark.encode())
        assert now != before
        assert now.count(b"\n") == now.count(end.encode())
    assert desk.entry(name)
    assert desk.run("uninstall", name)[0] == 0
    for each in {path, settings}:
        assert each.read_bytes().rstrip() == before.rstrip()


def test_what_other_tools_hold_is_mentioned_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "import --found" not in desk.run("install", "cursor")[1]
    notes = tmp_path / ".claude" / "CLAUDE.md"
    notes.parent.mkdir()
    notes.write_text("- The heron waits by the weir.\n")
    assert "anamnesis import --found" in desk.run("install", "cursor", "--agent", "zoe")[1]
    assert "import --found" not in desk.run("install", "cursor", "--agent", "zoe")[1]


WAYS = {
    "stdio": ("--agent", "zoe", "--team", "home"),
    "http": ("--http", "--port", "9999"),
    "hooks": ("--hooks",),
    "http and hooks": ("--http", "--hooks"),
}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_written_configurations_are_those_of_the_snapshot(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    platform: str,
) -> None:
    """Every file that every way of installing writes, on each operating system."""
    windows = platform == "win32"
    program = tmp_path / "venv" / ("Scripts/anamnesis.exe" if windows else "bin/anamnesis")
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setattr(Tokens, "add", lambda *given, **more: "anm_secret")
    monkeypatch.setattr(sys, "platform", platform)
    for variable in (
        "XDG_CONFIG_HOME",
        "APPDATA",
        "CODEX_HOME",
        "COPILOT_HOME",
        "ANAMNESIS_SHARED",
    ):
        monkeypatch.delenv(variable, raising=False)
    written: dict[str, Any] = {}
    for name in CLIENTS:
        for way, flags in WAYS.items():
            home = tmp_path / f"{name} {way}"
            home.mkdir()
            monkeypatch.setenv("USERPROFILE" if windows else "HOME", str(home))
            data = ("--data-dir", str(tmp_path / "data"))
            code = main.main(["install", name, *flags, *data])
            files = [path for path in sorted(home.rglob("*")) if path.is_file()]
            assert bool(files) is (code == 0), capsys.readouterr().err
            written[f"{name}, {way}"] = {
                path.relative_to(home).as_posix(): json.loads(
                    json.dumps(read(path)).replace(str(tmp_path), "/somewhere")
                )
                for path in files
            }
    snapshot = json.loads(INSTALLED.read_text("utf-8"))
    assert written == snapshot[platform], f"if this is wanted, write it to {INSTALLED.name}"


def test_what_else_stands_in_the_file_stays_and_a_copy_is_kept(desk: Desk) -> None:
    other = (
        '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"git": {"command": "git"}\n\t},\n\t"é": 1\n}'
    )
    path = desk.write("cursor", other)
    path.chmod(0o640)
    desk.run("install", "cursor")
    now = json.loads(path.read_text())
    assert list(now) == ["theme", "mcpServers", "é"]
    assert now["mcpServers"].pop("anamnesis")
    assert now == json.loads(other)
    assert '\n\t"theme"' in path.read_text()
    assert "é" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.with_name("mcp.json.anamnesis-backup").read_text() == other
    desk.run("uninstall", "cursor")
    assert json.loads(path.read_text()) == json.loads(other)


def test_settings_of_the_shell_come_along_with_absolute_paths(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.home)
    monkeypatch.setenv("ANAMNESIS_TEAM", "backend")
    monkeypatch.setenv("ANAMNESIS_BUILD_WEIGHTS", "require")  # of the build, not of the server
    monkeypatch.setenv("ANAMNESIS_CONFIG", "memory.toml")
    (desk.home / "memory.toml").write_text("")
    desk.run("install", "cursor")
    variables = desk.entry("cursor")["env"]
    assert variables["ANAMNESIS_TEAM"] == "backend"
    assert "ANAMNESIS_BUILD_WEIGHTS" not in variables
    assert variables["ANAMNESIS_CONFIG"] == str(desk.home / "memory.toml")


@pytest.mark.parametrize("text", ["{ // mine", "[]", '{"mcpServers": []}', '{"a": '])
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_file_that_is_not_understood_is_left_alone(desk: Desk, text: str, command: str) -> None:
    path = desk.write("cursor", text)
    code, _, error = desk.run(command, "cursor")
    assert code == 2
    assert "--print" in error
    assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]


def test_comments_stay_where_they_are(desk: Desk) -> None:
    other = (
        '// Zed settings\n{\n  // colours\n  "theme": "One", // dark\n'
        '  "context_servers": {\n    "git": {"command": "git"}, // mine\n  },\n}\n'
    )
    path = desk.write("zed", other)
    desk.run("install", "zed")
    now = path.read_text()
    assert commented_json.parsed(now)["context_servers"]["anamnesis"]["source"] == "custom"
    assert [line for line in now.splitlines() if line in other.splitlines()] == other.splitlines()
    assert "no change" in desk.run("install", "zed")[1]
    desk.run("uninstall", "zed")
    assert path.read_text() == other


def test_toml_keeps_its_comments_and_its_order(desk: Desk) -> None:
    other = (
        'model = "o3" # the good one\n\n[mcp_servers.git]\ncommand = "git"\n\n'
        "[tools]\nsince = 2026-01-02\n"
    )
    path = desk.write("codex", other)
    desk.run("install", "codex", "--agent", "zoe")
    entry = desk.entry("codex")
    assert (entry["args"], entry["env"]["ANAMNESIS_AGENT"]) == (["serve"], "zoe")
    assert [line for line in path.read_text().splitlines() if line in other.splitlines()]
    desk.run("uninstall", "codex")
    assert path.read_text() == other


@pytest.mark.parametrize(
    "servers",
    [
        'mcp_servers = { git = { command = "git" } }\n',
        'mcp_servers.git.command = "git"\n',
        '[mcp_servers]\ngit.command = "git"\nanamnesis.command = "old"\n',
        '[mcp_servers]\ngit = { command = "git" }\nanamnesis = { command = "old", args = [] }\n',
        '[mcp_servers."git"]\ncommand = "git"\n[mcp_servers."anamnesis"]\nenv = { A = "1" }\n',
        '[mcp_servers.anamnesis.env]\nA = "1"\n[mcp_servers.git]\ncommand = "git"\n',
    ],
)
def test_toml_in_any_spelling_holds_what_it_held_and_the_entry(desk: Desk, servers: str) -> None:
    path = desk.write("codex", f'model = "o3" # the good one\n{servers}')
    assert desk.run("install", "codex")[0] == 0
    assert desk.entry("codex")["args"] == ["serve"]
    assert read(path)["mcp_servers"]["git"] == {"command": "git"}
    assert 'model = "o3" # the good one' in path.read_text()
    assert "no change" in desk.run("install", "codex")[1]
    assert desk.run("uninstall", "codex")[0] == 0
    assert read(path) == {"model": "o3", "mcp_servers": {"git": {"command": "git"}}}


def test_toml_that_is_none_is_left_alone(desk: Desk) -> None:
    path = desk.write("codex", "model = ")
    code, _, error = desk.run("install", "codex")
    assert (code, "--print" in error, path.read_text()) == (2, True, "model = ")


def test_print_shows_toml_where_the_file_is_toml(desk: Desk) -> None:
    said = desk.run("install", "codex", "--print")[1]
    assert tomllib.loads(said.partition(":\n")[2])["mcp_servers"]["anamnesis"]["args"] == ["serve"]


def test_an_empty_file_is_a_beginning(desk: Desk) -> None:
    desk.write("cursor", "")
    assert desk.run("install", "cursor")[0] == 0
    assert desk.entry("cursor")


def test_a_link_stays_a_link(desk: Desk) -> None:
    real = desk.home / "dotfiles.json"
    real.write_text("{}\n")
    path = desk.file("claude-code")
    path.symlink_to(real)
    desk.run("install", "claude-code")
    assert path.is_symlink()
    assert "anamnesis" in real.read_text()


def test_print_writes_nothing_and_makes_no_token(desk: Desk) -> None:
    code, said, _ = desk.run("install", "vscode", "--http", "--print", "--json")
    assert code == 0
    shown = json.loads(said)["content"]["servers"]["anamnesis"]
    assert shown["headers"] == {"Authorization": "Bearer TOKEN"}
    assert list(desk.home.iterdir()) == []


def test_the_link_for_cursor_holds_the_entry(desk: Desk) -> None:
    shown = json.loads(desk.run("install", "cursor", "--print", "--json")[1])
    link = urlsplit(shown["deeplink"])
    asked = parse_qs(link.query)
    assert (link.scheme, link.netloc, link.path) == (
        "cursor",
        "anysphere.cursor-deeplink",
        "/mcp/install",
    )
    assert asked["name"] == ["anamnesis"]
    held = json.loads(base64.b64decode(asked["config"][0]))
    assert held == shown["content"]["mcpServers"]["anamnesis"]


def test_a_token_of_an_entry_that_is_replaced_is_taken_back(desk: Desk) -> None:
    path = desk.write("cursor", '{"mcpServers": {}}')
    path.chmod(0o644)
    assert desk.run("install", "cursor", "--http")[0] == 0
    secret = desk.entry("cursor")["headers"]["Authorization"].removeprefix("Bearer ")
    assert path.stat().st_mode & 0o777 == 0o600, "it holds a token"
    assert Tokens(desk.data).find(secret) is not None
    path.chmod(0o644)
    assert desk.run("install", "cursor")[0] == 0
    assert Tokens(desk.data).find(secret) is None
    backup = path.with_name("mcp.json.anamnesis-backup")
    assert secret in backup.read_text()
    assert backup.stat().st_mode & 0o777 == 0o600


def test_a_token_that_hooks_still_use_stays(desk: Desk) -> None:
    settings = desk.home / HOOKS["claude-code"]
    settings.parent.mkdir(parents=True)
    settings.write_text("{}")
    assert desk.run("install", "claude-code", "--http", "--hooks")[0] == 0
    secret = desk.entry("claude-code")["headers"]["Authorization"].removeprefix("Bearer ")
    assert secret in settings.read_text()
    assert settings.stat().st_mode & 0o777 == 0o600
    assert desk.run("install", "claude-code")[0] == 0
    assert Tokens(desk.data).find(secret) is not None
    assert desk.run("install", "claude-code", "--hooks")[0] == 0
    assert secret not in settings.read_text()


def test_over_http_a_token_is_made_kept_and_taken_back(desk: Desk) -> None:
    words = ("install", "vscode", "--http", "--port", "9999", "--agent", "zoe")
    desk.run(*words)
    entry = desk.entry("vscode")
    assert entry["url"] == "http://127.0.0.1:9999/mcp"
    secret = entry["headers"]["Authorization"].removeprefix("Bearer ")
    grant = Tokens(desk.data).find(secret)
    assert grant is not None
    assert (grant.agent, set(grant.rights)) == ("zoe", {"read", "write"})
    desk.run(*words)
    assert desk.entry("vscode") == entry
    assert len(Tokens(desk.data).all()) == 1
    desk.run("uninstall", "vscode")
    assert Tokens(desk.data).all() == ()
    assert json.loads(desk.file("vscode").read_text()) == {"servers": {}}


HOOKS = {"claude-code": ".claude/settings.json", "cursor": ".cursor/hooks.json"}


@pytest.mark.parametrize("client", HOOKS)
def test_hooks_are_written_beside_what_is_there_and_taken_out(desk: Desk, client: str) -> None:
    path = desk.home / HOOKS[client]
    path.parent.mkdir()
    other = {"hooks": {"Other": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
    path.write_text(json.dumps(other))
    desk.run("install", client, "--hooks", "--agent", "zoe")
    first = path.read_text()
    assert "--agent" in first
    assert str(desk.data) in first
    assert "no change" in desk.run("install", client, "--hooks", "--agent", "zoe")[1]
    assert path.read_text() == first
    desk.run("uninstall", client)
    left = json.loads(path.read_text())
    assert left.pop("version", 1) == 1
    assert left == other


def test_an_installed_hook_runs_and_no_project_leads_it_astray(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = desk.home / "project"
    (project / "server").mkdir(parents=True)
    (project / "server" / "__init__.py").write_text("raise SystemExit(2)")  # blocks a prompt
    monkeypatch.setenv("PYTHONPATH", str(project))
    monkeypatch.setenv("ANAMNESIS_SHARED", "off")
    desk.run("install", "claude-code", "--hooks")
    held = read(desk.home / HOOKS["claude-code"])
    (hook,) = held["hooks"]["SessionStart"][0]["hooks"]
    told = {"hook_event_name": "SessionStart", "session_id": "one", "cwd": str(project)}
    done = subprocess.run(
        [hook["command"], *hook["args"]],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        cwd=project,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (desk.data / "journal.db").exists()
    desk.run("uninstall", "claude-code")
    assert read(desk.home / HOOKS["claude-code"]) == {}


def test_where_python_alone_does_not_find_the_program_its_script_is_the_hook(
    tmp_path: Path,
) -> None:
    (tmp_path / "anamnesis").touch()
    assert clients.hook_program(str(tmp_path / "python")) == [str(tmp_path / "anamnesis"), "hook"]
    assert clients.hook_program(sys.executable)[-1] == clients.HOOK


def test_hooks_over_http_carry_the_token(desk: Desk) -> None:
    desk.run("install", "claude-code", "--hooks", "--http")
    held = json.loads((desk.home / HOOKS["claude-code"]).read_text())
    (handler,) = held["hooks"]["UserPromptSubmit"][0]["hooks"]
    assert handler["url"] == "http://127.0.0.1:7832/hook"
    assert handler["headers"] == desk.entry("claude-code")["headers"]


@pytest.mark.parametrize(
    "hooks", ["null", "[]", '{"Stop": null}', '{"Stop": {"a": 1}}', '{"SessionEnd": "x"}']
)
def test_hooks_that_are_not_understood_are_left_alone(desk: Desk, hooks: str) -> None:
    path = desk.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(text := f'{{"hooks": {hooks}}}')
    code, _, error = desk.run("install", "claude-code", "--hooks")
    assert (code, "--print" in error) == (2, True)
    assert path.read_text() == text
    assert not desk.file("claude-code").exists()


def test_a_client_without_hooks_is_told_so_and_nothing_is_written(desk: Desk) -> None:
    code, _, error = desk.run("install", "vscode", "--hooks")
    assert code == 2
    assert "--hooks" in error
    assert not desk.file("vscode").exists()


def test_uninstall_without_a_file_writes_none(desk: Desk) -> None:
    assert desk.run("uninstall", "cursor")[0] == 0
    assert not desk.file("cursor").exists()


def test_doctor_starts_what_the_clients_would_start(desk: Desk) -> None:
    for client in ("claude-desktop", "cursor", "claude-code"):
        desk.run("install", client)
    text = desk.file("cursor").read_text().replace('"serve"', '"nonsense"')
    desk.file("cursor").write_text(text)
    desk.file("claude-code").write_text("not json")
    found = {c["name"]: c for c in json.loads(desk.run("doctor", "--json")[1])["checks"]}
    assert found["claude-desktop"]["status"] == "ok"
    assert found["cursor"]["status"] == "degraded"
    assert found["cursor"]["command"] == "anamnesis install cursor"
    assert "nonsense" in found["cursor"]["detail"]
    assert found["claude-code"]["status"] == "degraded"
    assert "vscode" not in found


def test_what_does_not_answer_is_told_apart(tmp_path: Path) -> None:
    def said(code: str) -> str:
        return doctor.probe({"command": sys.executable, "args": ["-c", code]}, os.environ)

    assert "cannot be started" in doctor.probe({"command": str(tmp_path / "no")}, {})
    assert "ended with status 3: oh" in said(
        "import sys; sys.exit(print('oh', file=sys.stderr) or 3)"
    )
    assert said("print('hello')") == "what answers is no MCP server"
    other = '{"result": {"serverInfo": {"name": "other"}}}'
    assert said(f"print({other!r})") == "what answers is 'other'"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    assert "does not answer" in doctor.probe({"url": url}, {})


def test_doctor_asks_a_running_server(tmp_path: Path, processes: Any) -> None:
    data = tmp_path / "data"
    command = [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0"]
    server = processes.start(*command, "--data-dir", data)
    url = processes.says(server, r"serving (http://\S+/mcp)$")[1]
    processes.says(server, "token in")
    secret = (data / "token").read_text().strip()
    entry = {"url": url, "headers": {"Authorization": f"Bearer {secret}"}}
    assert doctor.probe(entry, {}) == ""
    assert "answers 401" in doctor.probe({"url": url}, {})
