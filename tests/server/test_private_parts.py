"""The parts of other libraries that are used though they are private: there, and in one file each.

After an upgrade look here first. Each message says what to read and which file to change.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import tomllib
from collections.abc import Iterator
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h11
import pytest
import uvicorn
from mcp.server import MCPServer, Server
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from packaging.requirements import Requirement
from uvicorn.server import ServerState

from server.protocol import sdk

ROOT = Path(__file__).parent.parent.parent
CHECKED = {"mcp": "==2.3.0", "uvicorn": "<0.55"}
"""The libraries with private parts in use, and how pyproject.toml bounds their versions."""
STANDARD = {"_exit"}
"""Of the standard library: documented."""

SDK = (
    "the MCP SDK changed {}: read its MCPServer.run_stdio_async and ServerSession, adapt "
    "server/protocol/sdk.py, then raise the pin of mcp in pyproject.toml"
)
UVICORN = (
    "uvicorn changed {}: read uvicorn/protocols/http/h11_impl.py, adapt "
    "server/http/bounded_protocol.py, then raise the upper bound of uvicorn in pyproject.toml"
)


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted([*ROOT.glob("memory_core/**/*.py"), *ROOT.glob("server/**/*.py")]):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


@pytest.mark.parametrize("library", CHECKED)
def test_the_installed_version_is_one_that_was_checked(library: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = {r.name: r.specifier for r in map(Requirement, project["dependencies"])}
    assert CHECKED[library] in str(required[library])
    assert version(library) in required[library], (
        f"{library} {version(library)} is installed and pyproject.toml allows "
        f"{required[library]}: run the tests of this file with it, then raise the bound"
    )


def test_the_sdk_has_the_private_parts_that_are_used() -> None:
    server = MCPServer[Any]("any")
    assert isinstance(getattr(server, "_lowlevel_server", None), Server), SDK.format(
        "MCPServer._lowlevel_server"
    )
    low = sdk.lowlevel(server)
    for name, arguments in (
        ("add_request_handler", ("method", "params_type", "handler")),
        ("run", ("read_stream", "write_stream", "initialization_options")),
        ("create_initialization_options", ()),
    ):
        found = tuple(inspect.signature(getattr(low, name)).parameters)
        assert found[: len(arguments)] == arguments, SDK.format(f"Server.{name}")


def test_a_session_of_the_sdk_holds_its_connection() -> None:
    connection = Connection(None, protocol_version="2025-11-25")  # type: ignore[arg-type]
    session = ServerSession(None, connection)  # type: ignore[arg-type]
    assert getattr(session, "_connection", None) is connection, SDK.format(
        "ServerSession._connection"
    )
    assert sdk.connection(session) is connection
    assert isinstance(connection.exit_stack, AsyncExitStack), SDK.format("Connection.exit_stack")
    assert callable(connection.send_resource_updated), SDK.format("send_resource_updated")
    assert "session" in ServerRequestContext.__dataclass_fields__, SDK.format("the context")


def test_uvicorns_protocol_has_the_parts_that_are_used() -> None:
    try:
        from uvicorn.protocols.http.h11_impl import H11Protocol
    except ImportError:
        pytest.fail(UVICORN.format("the place of H11Protocol"))
    from server.http.bounded_protocol import BoundedProtocol

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise NotImplementedError

    async def made() -> H11Protocol:
        config = uvicorn.Config(app, http=BoundedProtocol, log_config=None)
        config.load()
        return BoundedProtocol(config, ServerState(), {})

    protocol = asyncio.run(made())
    assert isinstance(getattr(protocol, "conn", None), h11.Connection), UVICORN.format("conn")
    assert isinstance(getattr(protocol, "connections", None), set), UVICORN.format("connections")
    for name in ("loop", "transport", "timeout_keep_alive_task"):
        assert hasattr(protocol, name), UVICORN.format(name)
    for name in ("connection_made", "data_received", "connection_lost"):
        given = inspect.signature(getattr(H11Protocol, name)).parameters
        ours = inspect.signature(getattr(BoundedProtocol, name)).parameters
        assert list(given) == list(ours), UVICORN.format(f"H11Protocol.{name}")


def test_each_private_part_is_used_in_one_file() -> None:
    ours: set[str] = set()
    used: dict[str, set[str]] = {}
    for name, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                ours.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                ours.add(node.id)
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
                if isinstance(node.ctx, ast.Store):
                    ours.add(node.attr)
                elif not node.attr.startswith("__"):
                    used.setdefault(node.attr, set()).add(name)
            elif isinstance(node, ast.ImportFrom) and "h11_impl" in (node.module or ""):
                used.setdefault("h11_impl", set()).add(name)
    foreign = {attribute: files for attribute, files in used.items() if attribute not in ours}
    assert {
        attribute: files for attribute, files in foreign.items() if attribute not in STANDARD
    } == {
        "_lowlevel_server": {"server/protocol/sdk.py"},
        "_connection": {"server/protocol/sdk.py"},
        "h11_impl": {"server/http/bounded_protocol.py"},
    }
