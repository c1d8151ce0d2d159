"""The example configuration is what a client reads, and what it names starts the server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "claude_desktop_config.example.json"

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.mark.usefixtures("processes")
async def test_the_example_starts_the_server(tmp_path: Path) -> None:
    config = json.loads(EXAMPLE.read_text("utf-8"))
    ((name, entry),) = config["mcpServers"].items()
    assert name == "anamnesis"
    assert Path(entry["command"]).name == "anamnesis"
    assert Path(entry["command"]).is_absolute(), "desktop clients start servers without a PATH"
    program = [sys.executable, "-m", "server"]  # what the command `anamnesis` runs
    parameters = StdioServerParameters(
        command=program[0],
        args=[*program[1:], *entry["args"]],
        env={
            **entry["env"],
            "ANAMNESIS_DATA_DIR": str(tmp_path / "data"),
            "ANAMNESIS_SHARED": "off",
        },
        cwd=ROOT,
    )
    async with Client(parameters) as client:
        assert len((await client.list_tools()).tools) == 5
