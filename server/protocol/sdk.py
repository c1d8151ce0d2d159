"""The private parts of the MCP SDK that the server uses; no other module may touch them.

The SDK has no public way to serve streams of one's own, to add methods of the protocol itself, or
to say which connection a request came on. tests/server/test_private_parts.py fails first when a
new version of the SDK changes one of them.
"""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer, Server
from mcp.server.connection import Connection
from mcp.server.session import ServerSession


def lowlevel(server: MCPServer[Any]) -> Server[Any]:
    """The protocol server inside *server*: it takes handlers by method, and streams to serve."""
    return server._lowlevel_server


def connection(session: ServerSession) -> Connection:
    """The connection of the request whose *session* this is; it outlives the request."""
    return session._connection
