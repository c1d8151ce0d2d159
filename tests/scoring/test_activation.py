"""Spreading activation against the formulas of docs/internals/design.md, turn by turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.scoring import activation

OFFSETS = (-2, -1, 1, 2)


def line(count: int) -> dict[int, NDArray[np.int64]]:
    """The neighbours of *count* turns of one conversation, all of them candidates."""
    places = np.arange(count)
    found = {}
    for offset in OFFSETS:
        at = places + offset
        found[offset] = np.where((at >= 0) & (at < count), at, -1)
    return found


# Words of the turns around


@given(seed=st.integers(0, 1000), count=st.integers(1, 12), terms=st.integers(0, 4))
def test_a_word_counts_where_it_counts_most(seed: int, count: int, terms: int) -> None:
    table = np.random.default_rng(seed).random((terms, count))
    wanted = [
        sum(
            max(
                share * word[t + offset]
                for offset, share in {0: 1.0, -1: 0.4, 1: 0.4, -2: 0.25, 2: 0.25}.items()
                if 0 <= t + offset < count
            )
            for word in table
        )
        for t in range(count)
    ]
    assert activation.nearby_words(table, line(count)) == pytest.approx(wanted)


def test_words_of_another_conversation_do_not_count() -> None:
    alone = {offset: np.array([-1, -1]) for offset in OFFSETS}
    assert activation.nearby_words(np.array([[1.0, 0.0]]), alone).tolist() == [1.0, 0.0]


# The thread kernel


@given(
    scores=st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    seed=st.integers(0, 1000),
)
def test_the_kernel_is_the_formula_of_the_design(scores: list[float], seed: int) -> None:
    random = np.random.default_rng(seed)
    count = len(scores)
    words, asks = random.integers(0, 90, count), random.random(count) < 0.5

    def f(t: int) -> float:
        """What turn t lends."""
        return scores[t] * min(1.0, 30 / max(1, int(words[t]))) if 0 <= t < count else 0.0

    wanted = []
    for t in range(count):
        gained = 0.1 * f(t - 1) + 0.2 * f(t + 1) + 0.2 * f(t - 2) + 0.1 * f(t + 2)
        gained += 0.5 * f(t - 1) if t > 0 and asks[t - 1] else 0.0
        wanted.append(scores[t] + gained)
    found = activation.thread_kernel(np.array(scores), line(count), words, asks)
    assert found == pytest.approx(wanted)


def test_a_turn_alone_keeps_its_score() -> None:
    alone = {offset: np.array([-1, -1]) for offset in OFFSETS}
    scores = np.array([1.5, -2.0])
    found = activation.thread_kernel(scores, alone, np.array([3, 3]), np.array([True, True]))
    assert found.tolist() == [1.5, -2.0]


def test_the_input_is_left_as_it_was() -> None:
    scores = np.array([1.0, 2.0, 3.0])
    activation.thread_kernel(scores, line(3), np.array([5, 5, 5]), np.array([True, True, True]))
    assert scores.tolist() == [1.0, 2.0, 3.0]


# The session term


def test_a_session_is_worth_the_mean_of_its_three_best() -> None:
    scores = np.array([1.0, 4.0, 2.0, 3.0, 9.0, 5.0])
    threads = np.array([0, 0, 0, 0, -1, 7])
    found = activation.session_term(scores, threads)
    assert found == pytest.approx([3.0, 3.0, 3.0, 3.0, 0.0, 5.0 / 3.0])


def test_no_candidates_have_no_session() -> None:
    assert activation.session_term(np.array([]), np.array([], dtype=np.int64)).tolist() == []
