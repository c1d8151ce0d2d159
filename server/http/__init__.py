"""Streamable HTTP and SSE, with bearer tokens."""
