"""The server: MCP over stdio and HTTP, hooks, and the command line. No memory logic."""

from __future__ import annotations

__version__ = "0.1.0"
