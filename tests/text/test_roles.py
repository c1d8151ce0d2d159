"""A speaker that names a role has it; a person has none."""

from __future__ import annotations

import pytest

from memory_core.text.roles import role_of


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        ("user", "user"),
        ("USER", "user"),
        ("Human", "user"),
        ("the user", "user"),
        ("Nutzerin", "user"),
        ("der Benutzer", "user"),
        ("assistant", "assistant"),
        ("Assistant:", "assistant"),
        ("AI", "assistant"),
        ("AI assistant", "assistant"),
        ("my assistant", "assistant"),
        ("KI-Assistent", "assistant"),
        ("Assistentin", "assistant"),
        ("system", "system"),
        ("tool", "tool"),
        ("", ""),
        ("the", ""),
        ("Lena", ""),
        ("Ai Weiwei", ""),
        ("user assistant", ""),
        ("Tool Time Tim", ""),
        ("assistant manager Ruth", ""),
        ("Useramy", ""),
    ],
)
def test_words_for_a_role(speaker: str, role: str) -> None:
    assert role_of(speaker) == role


@pytest.mark.parametrize(
    ("speaker", "client", "role"),
    [
        ("Claude", "claude-code", "assistant"),
        ("claude", "Claude Desktop", "assistant"),
        ("Claude Code", "claude-code", "assistant"),
        ("Cursor", "cursor-vscode", "assistant"),
        ("gemini", "gemini-cli-mcp-client", "assistant"),
        ("Claude", "cursor", ""),
        ("Anna", "Anna's MCP client", ""),
        ("Code", "claude-code", ""),
        ("", "mcp-client", ""),
        ("Lena", "", ""),
    ],
)
def test_the_name_of_the_client_is_the_assistants(speaker: str, client: str, role: str) -> None:
    assert role_of(speaker, client) == role
