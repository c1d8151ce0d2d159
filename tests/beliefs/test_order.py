"""Questions for the latest or the first."""

from __future__ import annotations

import pytest

from memory_core.beliefs.question import order_asked


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("What is Ana's latest plan?", 1),
        ("What has Ana painted RECENTLY?", 1),
        ("Which is the most recent port?", 1),
        ("Where did we go last time?", 1),
        ("Which race did Ana run first?", -1),
        ("What was it originally called?", -1),
        ("Was the first plan better than the latest?", 0),
        ("Who knows?", 0),  # not "now"
        ("What did Ana do last week?", 0),
        ("", 0),
    ],
)
def test_which_of_several_is_asked_for(query: str, order: int) -> None:
    assert order_asked(query) == order
