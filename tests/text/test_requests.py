"""Questions for help, and for what the assistant said."""

from __future__ import annotations

import pytest

from memory_core.text.question import asks_for_help, asks_what_was_answered


@pytest.mark.parametrize(
    ("query", "help_", "answered"),
    [
        ("How do I sharpen a chisel?", True, False),
        ("Could you show me how to bake rye bread?", True, False),
        ("Hi, can you please help me plan a garden?", True, False),
        ("I'm planning to build a shed. Which wood would you suggest?", True, False),
        ("What steps should I take to insulate the roof?", True, False),
        ("What are some ways to remove rust?", True, False),
        ("Wie kann ich Rost entfernen?", True, False),
        ("How did I sharpen the chisel?", False, False),
        ("Can you summarize what we did so far?", False, False),
        ("How can I find what I mentioned about rust?", False, False),
        ("Which wood did you recommend?", False, True),
        ("What had you suggested for the roof?", False, True),
        ("Was hast du mir für das Dach empfohlen?", False, True),
        ("What did Ana recommend?", False, False),
        ("What did Ana paint?", False, False),
        ("", False, False),
    ],
)
def test_what_a_question_wants(query: str, help_: bool, answered: bool) -> None:
    assert asks_for_help(query) is help_
    assert asks_what_was_answered(query) is answered
