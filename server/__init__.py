"""The face of the memory: MCP over stdio and HTTP, and the command line. No memory logic."""

from __future__ import annotations

__version__ = "0.1.0"
