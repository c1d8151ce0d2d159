"""What other programs read about this one says what the code says, and the bundle is enough."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType
from typing import Any

import command_line
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from syntax import statements

from memory_core import config
from server import __version__
from server.clients.clients import User
from server.hooks import settings
from server.protocol.tools import DESCRIPTIONS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def tool(name: str) -> ModuleType:
    about = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert about
    assert about.loader
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    return module


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text("utf-8"))


MANIFESTS = tool("write_manifests").contents()


@pytest.mark.parametrize("path", MANIFESTS)
def test_a_manifest_is_what_its_writer_writes(path: str) -> None:
    written = (ROOT / path).read_text("utf-8")
    assert written == MANIFESTS[path], "run: python tools/write_manifests.py"


@pytest.mark.parametrize(
    "path",
    [
        "server.json",
        "integrations/mcpb/manifest.json",
        "integrations/claude-code/.claude-plugin/plugin.json",
    ],
)
def test_the_version_is_that_of_the_server(path: str) -> None:
    assert read(path)["version"] == __version__ == PROJECT["version"]


def test_the_readme_carries_the_name_that_the_registry_looks_for() -> None:
    name = read("server.json")["name"]
    text = (ROOT / PROJECT["readme"]).read_text("utf-8")
    assert re.findall(r"mcp-name: (\S+)(?=\s|$)", text) == [name]


def test_the_registry_entry_starts_the_server_with_settings_that_exist() -> None:
    (package,) = read("server.json")["packages"]
    assert package["identifier"] == PROJECT["name"]
    assert package["identifier"] in PROJECT["scripts"], "uvx starts the command of that name"
    words = [argument["value"] for argument in package["packageArguments"]]
    assert command_line.read(words)[0] == "serve"
    given = {variable["name"]: "x" for variable in package["environmentVariables"]}
    assert not config.load(given).warnings


def test_the_plugins_hooks_are_those_that_install_writes(tmp_path: Path) -> None:
    place = settings.place("claude-code", User(tmp_path, "linux", {}))
    assert place.name == "settings.json"
    held: dict[str, Any] = {}
    settings.add("claude-code", held, settings.Handler(("anamnesis", "hook")))
    assert read("integrations/claude-code/hooks/hooks.json") == held


def test_the_marketplace_leads_to_the_plugin_and_the_plugin_starts_the_server() -> None:
    (entry,) = read(".claude-plugin/marketplace.json")["plugins"]
    folder = entry["source"].removeprefix("./")
    assert read(f"{folder}/.claude-plugin/plugin.json")["name"] == entry["name"]
    (server,) = read(f"{folder}/.mcp.json")["mcpServers"].values()
    assert server["command"] in PROJECT["scripts"]
    assert command_line.read(server["args"])[0] == "serve"


def test_the_icon_is_a_square_png_of_the_size_that_catalogues_ask_for() -> None:
    data = (ROOT / "integrations/claude-code/.claude-plugin/icon.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (512, 512)


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    tool("build_bundle").stage(tmp_path / "bundle")
    return tmp_path / "bundle"


def test_the_bundle_holds_what_it_names_and_nothing_fetched(staged: Path) -> None:
    manifest = json.loads((staged / "manifest.json").read_text("utf-8"))
    assert [entry["name"] for entry in manifest["tools"]] == list(DESCRIPTIONS)
    assert (staged / manifest["icon"]).exists()
    assert manifest["server"]["entry_point"] in manifest["server"]["mcp_config"]["args"]
    packaged = tomllib.loads((staged / "pyproject.toml").read_text("utf-8"))["project"]
    for name in (packaged["readme"], *packaged["license-files"]):
        assert list(staged.glob(name)), name
    files = [path for path in staged.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 4_500_000
    assert not [path for path in files if path.suffix in (".pyc", ".safetensors")]


@pytest.mark.usefixtures("processes")
def test_the_bundles_source_is_enough_to_start(staged: Path, tmp_path: Path) -> None:
    manifest = json.loads((staged / "manifest.json").read_text("utf-8"))
    about = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    (variable,) = manifest["server"]["mcp_config"]["env"]
    passed_on = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-P", str(staged / manifest["server"]["entry_point"])],
        input=json.dumps(hello) + "\n",
        env={
            **passed_on,
            "PYTHONPATH": str(staged),
            variable: manifest["user_config"]["agent"]["default"],
            "ANAMNESIS_DATA_DIR": str(tmp_path / "data"),
            "ANAMNESIS_OFFLINE": "1",
            "ANAMNESIS_SHARED": "off",
            "HOME": str(tmp_path),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "anamnesis"


def test_every_dependency_has_an_upper_bound() -> None:
    """A release with other behaviour is taken on purpose."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(each for group in project["project"]["optional-dependencies"].values() for each in group),
    ]
    assert len(named) > 30
    assert [each for each in named if "<" not in each and "==" not in each] == []


def test_whatever_is_imported_is_a_dependency_of_its_own() -> None:
    """What only comes with another package has no bound of ours."""
    groups = (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    declared = {canonicalize_name(Requirement(each).name) for group in groups for each in group}
    packages = [ROOT / name for name in ("anamnesis", "memory_core", "server")]
    imported: set[str] = set()
    for path in (path for package in packages for path in package.rglob("*.py")):
        for node in statements(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.partition(".")[0])
    imported -= sys.stdlib_module_names | {package.name for package in packages}
    known = packages_distributions()
    assert "starlette" in imported
    missing = {
        name
        for name in imported
        if declared.isdisjoint(map(canonicalize_name, known.get(name, [name])))
    }
    assert missing == set()
