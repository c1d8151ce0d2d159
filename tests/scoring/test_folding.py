"""Relations, folding and single linkage against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.beliefs import claims
from memory_core.scoring import clusters


def units(seed: int, count: int) -> NDArray[np.float64]:
    values = np.random.default_rng(seed).normal(size=(count, 3))
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("difference", "relation"),
    [
        ("", "duplicate"),
        ("numbers", "updates"),
        ("polarity", "contradicts"),
        ("names", "similar"),
        ("values", "updates"),
        ("order", "similar"),
    ],
)
def test_what_sets_two_texts_apart_decides_their_relation(difference: str, relation: str) -> None:
    assert claims.relation(difference) == relation


# Folding


@given(seed=st.integers(0, 2000), count=st.integers(0, 25), k=st.integers(1, 10))
def test_fold_keeps_the_first_of_those_that_say_the_same(seed: int, count: int, k: int) -> None:
    vectors, threshold = units(seed, count), 0.8

    def same(a: int, b: int) -> bool:
        return (a + b) % 3 != 0

    kept, folded = clusters.fold(vectors, threshold, same, k)
    wanted: list[int] = []
    into: dict[int, list[int]] = {}
    for index in range(count):
        if len(wanted) == k:
            break
        twins = [
            other
            for other in wanted
            if vectors[other] @ vectors[index] >= threshold and same(other, index)
        ]
        if twins:
            nearest = max(twins, key=lambda other: vectors[other] @ vectors[index])
            into.setdefault(nearest, []).append(index)
        else:
            wanted.append(index)
    assert kept == wanted
    assert folded == into


def test_what_is_close_but_differs_is_not_folded() -> None:
    vectors = np.ones((2, 1))
    assert clusters.fold(vectors, 0.9, lambda a, b: False, 5) == ([0, 1], {})
    assert clusters.fold(vectors, 0.9, lambda a, b: True, 5) == ([0], {0: [1]})


def test_without_a_vector_nothing_is_folded() -> None:
    vectors = np.full((3, 2), np.nan)
    assert clusters.fold(vectors, 0.9, lambda a, b: True, 5) == ([0, 1, 2], {})


# Single linkage


def components(near: NDArray[np.bool_]) -> list[list[int]]:
    group = list(range(len(near)))
    for i in range(len(near)):
        for j in range(len(near)):
            if near[i, j] and group[i] != group[j]:
                old, new = max(group[i], group[j]), min(group[i], group[j])
                group = [new if value == old else value for value in group]
    return [[i for i, g in enumerate(group) if g == head] for head in sorted(set(group))]


@given(seed=st.integers(0, 2000), count=st.integers(1, 30), threshold=st.floats(0.2, 0.99))
def test_single_linkage_gives_the_connected_components(
    seed: int, count: int, threshold: float
) -> None:
    vectors = units(seed, count)
    near = vectors @ vectors.T >= threshold
    assert clusters.single_linkage(vectors, threshold) == components(near)


def test_a_chain_is_one_group() -> None:
    radians = np.deg2rad([0, 80, 20, 40, 60])
    vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1)
    assert clusters.single_linkage(vectors, 0.9) == [[0, 1, 2, 3, 4]]


def test_no_vectors_are_no_groups() -> None:
    assert clusters.single_linkage(np.zeros((0, 4)), 0.5) == []
