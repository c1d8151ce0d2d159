"""Maximal marginal relevance against the definition, spelt out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.scoring import reranking


def naive(
    relevance: NDArray[np.float64],
    vectors: NDArray[np.float64],
    k: int,
    lambda_: float,
    alike: tuple[float, float],
) -> list[int]:
    spread = relevance.max() - relevance.min()
    scaled = (relevance - relevance.min()) / spread if spread else np.ones(len(relevance))
    chosen: list[int] = []
    by_relevance = sorted(range(len(relevance)), key=lambda i: (-relevance[i], i))
    while len(chosen) < min(k, len(relevance)):

        def gain(i: int) -> float:
            cosines = [float(vectors[i] @ vectors[j]) for j in chosen]
            same = [(c - alike[0]) / (alike[1] - alike[0]) for c in cosines]
            return lambda_ * scaled[i] - (1 - lambda_) * sum(min(1.0, max(0.0, s)) for s in same)

        chosen.append(max((i for i in by_relevance if i not in chosen), key=gain))
    return chosen


@given(
    seed=st.integers(0, 2000),
    count=st.integers(1, 15),
    k=st.integers(1, 20),
    lambda_=st.sampled_from([0.0, 0.3, 0.7, 0.95]),
    alike=st.sampled_from([(0.0, 1.0), (0.45, 0.6)]),
)
def test_each_choice_maximises_the_marginal_relevance(
    seed: int, count: int, k: int, lambda_: float, alike: tuple[float, float]
) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevance = random.normal(size=count)
    found = reranking.select(relevance, vectors, k, lambda_, alike)
    assert found == naive(relevance, vectors, k, lambda_, alike)


def test_lambda_one_is_plain_order_with_ties_in_order_given() -> None:
    relevance = np.array([1.0, 3.0, 1.0, 2.0])
    assert reranking.select(relevance, np.zeros((4, 2)), 3, 1.0) == [1, 3, 0]


def test_a_repetition_comes_after_something_else() -> None:
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert reranking.select(np.array([1.0, 0.9, 0.5]), vectors, 3, 0.5) == [0, 2, 1]


def test_a_memory_without_a_vector_is_like_nothing() -> None:
    vectors = np.array([[1.0, 0.0], [np.nan, np.nan], [1.0, 0.0]])
    assert reranking.select(np.array([1.0, 0.6, 0.9]), vectors, 3, 0.5) == [0, 1, 2]


@pytest.mark.parametrize("lambda_", [0.5, 1.0])
def test_nothing_and_one_are_chosen_from_safely(lambda_: float) -> None:
    assert reranking.select(np.array([]), np.zeros((0, 3)), 5, lambda_) == []
    assert reranking.select(np.array([2.0]), np.ones((1, 3)), 5, lambda_) == [0]
    assert reranking.select(np.array([2.0, 2.0]), np.eye(2), 1, lambda_) == [0]
