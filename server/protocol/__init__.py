"""The MCP server: tools, resources and prompts, the same over every transport."""
