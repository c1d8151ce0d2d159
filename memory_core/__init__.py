"""A long-term memory: a journal that loses nothing, and indexes that answer. No MCP in here."""
