"""Spreading activation against the formulas of the design, written out turn by turn."""

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
        return scores[t] if 0 <= t < count else 0.0

    wanted = []
    for t in range(count):
        gained = 0.1 * f(t - 1) + 0.2 * f(t + 1) + 0.2 * f(t - 2) + 0.1 * f(t + 2)
        gained += 0.5 * f(t - 1) if t > 0 and asks[t - 1] else 0.0
        wanted.append(f(t) + min(1.0, 30 / max(1, int(words[t]))) * gained)
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


# Paths over links


def naive_paths(scores: list[float], links: list[tuple[int, int, float]], hops: int) -> list[float]:
    """The best product along any walk of 1..hops links, whatever its parents."""
    best = [0.0] * len(scores)
    frontier = [max(0.0, score) for score in scores]
    for _ in range(hops):
        reached = [0.0] * len(scores)
        for source, target, factor in links:
            reached[target] = max(reached[target], frontier[source] * factor)
        best = [max(pair) for pair in zip(best, reached, strict=True)]
        frontier = reached
    return best


def test_activation_decays_along_a_chain_and_remembers_where_it_came_from() -> None:
    links = [(0, 1, 0.5), (1, 2, 0.5), (2, 3, 0.5)]
    scores = np.array([8.0, 0.0, 0.0, 0.0])
    arrived, parents = activation.best_paths(scores, links, 2, 0.0)
    assert arrived.tolist() == [0.0, 4.0, 2.0, 0.0]
    assert parents == {1: 0, 2: 1}


def test_the_best_of_two_ways_is_kept() -> None:
    links = [(0, 2, 0.2), (0, 1, 0.9), (1, 2, 0.9)]
    arrived, parents = activation.best_paths(np.array([1.0, 0.0, 0.0]), links, 2, 0.0)
    assert arrived == pytest.approx([0.0, 0.9, 0.81])
    assert parents[2] == 1


def test_what_falls_below_the_floor_does_not_arrive() -> None:
    arrived, parents = activation.best_paths(np.array([1.0, 0.0]), [(0, 1, 0.3)], 3, 0.3)
    assert arrived.tolist() == [0.0, 0.0]
    assert parents == {}


def test_a_negative_score_spreads_nothing() -> None:
    arrived, _ = activation.best_paths(np.array([-1.0, 0.0]), [(0, 1, 0.5)], 1, 0.0)
    assert arrived.tolist() == [0.0, 0.0]


@given(seed=st.integers(0, 3000), count=st.integers(2, 7), hops=st.integers(1, 4))
def test_on_links_without_a_way_back_each_node_gets_its_best_path(
    seed: int, count: int, hops: int
) -> None:
    random = np.random.default_rng(seed)
    links = [
        (i, j, float(random.uniform(0.1, 1.0)))
        for i in range(count)
        for j in range(i + 1, count)
        if random.random() < 0.5
    ]
    random.shuffle(links)
    scores = random.uniform(-1, 3, count)
    arrived, _ = activation.best_paths(scores, links, hops, 0.0)
    assert arrived == pytest.approx(naive_paths(scores.tolist(), links, hops))


@given(seed=st.integers(0, 3000), count=st.integers(2, 7), hops=st.integers(1, 4))
def test_the_order_of_the_links_makes_no_difference(seed: int, count: int, hops: int) -> None:
    random = np.random.default_rng(seed)
    links = [
        (i, j, float(random.uniform(0.1, 1.0)))
        for i in range(count)
        for j in range(count)
        if i != j and random.random() < 0.4
    ]
    scores = random.uniform(0, 3, count)
    first, _ = activation.best_paths(scores, links, hops, 0.0)
    second, _ = activation.best_paths(scores, links[::-1], hops, 0.0)
    assert first == pytest.approx(second)
