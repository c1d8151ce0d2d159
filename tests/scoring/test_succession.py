"""What is out of date comes after what supersedes it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_core.scoring.reranking import behind


def test_what_is_newer_moves_up_to_just_before_the_older() -> None:
    assert behind([5, 3, 8, 1], {3: 1}) == [5, 1, 3, 8]
    assert behind([5, 3, 8, 1], {1: 3}) == [5, 3, 8, 1]  # it is behind already


def test_a_chain_comes_newest_first() -> None:
    assert behind([0, 1, 2, 3], {0: 2, 2: 3}) == [3, 2, 0, 1]


def test_two_that_one_supersedes_both_follow_it() -> None:
    assert behind([0, 1, 2], {0: 2, 1: 2}) == [2, 0, 1]


def test_what_is_not_there_changes_nothing() -> None:
    assert behind([2, 0], {2: -1, 0: 7}) == [2, 0]
    assert behind([], {1: 2}) == []


def test_a_circle_ends() -> None:
    assert sorted(behind([0, 1, 2], {0: 1, 1: 0})) == [0, 1, 2]


@given(st.permutations(range(8)), st.dictionaries(st.integers(0, 7), st.integers(-1, 9)))
def test_nothing_is_lost_and_order_holds_where_nothing_is_superseded(
    order: list[int], newer: dict[int, int]
) -> None:
    found = behind(order, newer)
    assert sorted(found) == list(range(8))
    rising = {old: new for old, new in newer.items() if old < new < 8}
    moved = behind(order, rising)
    for old, new in rising.items():
        assert moved.index(new) < moved.index(old)
    named = {*rising, *rising.values()}
    assert [i for i in moved if i not in named] == [i for i in order if i not in named]
