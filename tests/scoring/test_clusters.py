"""Near pairs and topics against plain loops over numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.scoring import clusters


def units(seed: int, count: int, dimension: int = 8) -> NDArray[np.float32]:
    values = np.random.default_rng(seed).normal(size=(count, dimension))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def at(*degrees: float) -> NDArray[np.float32]:
    """Unit vectors in the plane; their cosine is that of the angle between them."""
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


# Near pairs


@given(seed=st.integers(0, 1000), count=st.integers(0, 40), block=st.sampled_from([1, 3, 1024]))
def test_near_pairs_are_those_of_the_full_matrix(seed: int, count: int, block: int) -> None:
    vectors, threshold = units(seed, count), 0.3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "BLOCK", block)
        found = list(clusters.near_pairs(vectors, threshold))
    cosines = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    surely = {(i, j) for i in range(count) for j in range(i) if cosines[i, j] >= threshold + 1e-6}
    maybe = {(i, j) for i in range(count) for j in range(i) if cosines[i, j] >= threshold - 1e-6}
    assert surely <= {(j, i) for i, j, _ in found} <= maybe
    assert [(i, j) for i, j, _ in found] == sorted({(i, j) for i, j, _ in found})
    for i, j, cosine in found:
        assert cosine == pytest.approx(cosines[i, j], abs=1e-5)


def test_a_row_without_a_vector_is_near_nothing() -> None:
    vectors = at(0, 0, 0)
    vectors[1] = np.nan
    assert [(i, j) for i, j, _ in clusters.near_pairs(vectors, 0.1)] == [(0, 2)]


@given(seed=st.integers(0, 1000), count=st.integers(2, 40), block=st.sampled_from([1, 3, 1024]))
def test_the_nearest_before_is_that_of_a_loop(seed: int, count: int, block: int) -> None:
    vectors, places = units(seed, count), list(range(1, count, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "BLOCK", block)
        found = list(clusters.nearest_before(vectors, places))
    assert [place for place, _, _ in found] == places
    for place, nearest, cosine in found:
        cosines = vectors[:place].astype(np.float64) @ vectors[place].astype(np.float64)
        assert nearest < place
        assert cosine == pytest.approx(cosines.max(), abs=1e-5)
        assert cosines[nearest] == pytest.approx(cosines.max(), abs=1e-5)


# Assigning


def naive_assign(
    vectors: NDArray[np.float32], centroids: NDArray[np.float32], counts: list[int], least: float
) -> list[int]:
    sums = [np.float64(n) * c for n, c in zip(counts, centroids, strict=True)]
    found = []
    for vector in vectors.astype(np.float64):
        cosines = [float(s @ vector / np.linalg.norm(s)) for s in sums]
        best = int(np.argmax(cosines)) if cosines else -1
        if best < 0 or cosines[best] < least:
            sums.append(np.zeros(len(vector)))
            best = len(sums) - 1
        sums[best] = sums[best] + vector
        found.append(best)
    return found


@given(seed=st.integers(0, 1000), count=st.integers(0, 60), known=st.integers(0, 20))
def test_assign_follows_the_nearest_running_mean(seed: int, count: int, known: int) -> None:
    vectors, centroids = units(seed, count), units(seed + 5000, known)
    counts = [1 + number % 4 for number in range(known)]
    found = clusters.assign(vectors, centroids, np.array(counts, dtype=np.int64), 0.45)
    assert found == naive_assign(vectors, centroids, counts, 0.45)


def test_the_mean_moves_so_that_a_topic_can_drift() -> None:
    nothing, none = np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=np.int64)
    threshold = float(np.cos(np.deg2rad(31)))
    assert clusters.assign(at(0, 30, 45), nothing, none, threshold) == [0, 0, 0]
    assert clusters.assign(at(0, 45), nothing, none, threshold) == [0, 1]


def test_a_heavy_topic_moves_less_than_a_light_one() -> None:
    threshold = float(np.cos(np.deg2rad(31)))
    heavy, light = np.array([100]), np.array([1])
    assert clusters.assign(at(30, 45), at(0), heavy, threshold) == [0, 1]
    assert clusters.assign(at(30, 45), at(0), light, threshold) == [0, 0]


def test_without_a_vector_there_is_no_topic() -> None:
    vectors = at(0, 0)
    vectors[0] = np.nan
    nothing, none = np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=np.int64)
    assert clusters.assign(vectors, nothing, none, 0.5) == [-1, 0]


# Splitting and merging


@given(seed=st.integers(0, 500), count=st.integers(1, 60), most=st.integers(2, 20))
def test_split_parts_are_a_partition_in_order(seed: int, count: int, most: int) -> None:
    parts = clusters.split(units(seed, count), 0.4, most)
    assert sorted(index for part in parts for index in part) == list(range(count))
    assert all(part == sorted(part) for part in parts)
    assert parts == sorted(parts)
    assert max(map(len, parts)) <= most
    if count <= most:
        assert len(parts) == 1
    elif most > 3:
        assert min(map(len, parts)) > 1  # nobody is left alone


def test_who_is_alone_after_a_split_joins_the_nearest_group() -> None:
    assert clusters.split(at(0, 1, 2, 60, 61, 35, 20), 0.5, 5) == [[0, 1, 2, 6], [3, 4, 5]]


def test_what_falls_into_no_groups_is_halved() -> None:
    vectors = np.eye(30, dtype=np.float32)  # each is alone at any threshold
    parts = clusters.split(vectors, 0.5, 20)
    assert sorted(map(len, parts)) == [15, 15]


def test_a_large_topic_falls_into_what_it_is_made_of() -> None:
    vectors = at(0, 1, 2, 62, 61, 60, 3)
    assert clusters.split(vectors, 0.45, 4) == [[0, 1, 2, 6], [3, 4, 5]]


def test_what_says_one_thing_is_not_split() -> None:
    assert clusters.split(at(*[0.01 * n for n in range(30)]), 0.5, 20) == [list(range(30))]


def test_the_nearest_pair_merges_into_the_larger() -> None:
    centroids = at(0, 10, 90)
    counts = np.array([2, 3, 1])
    assert clusters.merge(centroids, counts, 0.93, 20) == [1, 1, 2]
    assert clusters.merge(centroids, np.array([3, 3, 1]), 0.93, 20) == [0, 0, 2]


def test_three_that_are_close_become_one() -> None:
    assert clusters.merge(at(0, 10, 20), np.array([1, 5, 1]), 0.93, 20) == [1, 1, 1]


def test_merging_stops_where_splitting_would_begin() -> None:
    assert clusters.merge(at(0, 1), np.array([11, 10]), 0.93, 20) == [0, 1]


# Topics as a whole


def topics(vectors: NDArray[np.float32], current: list[str], most: int = 20) -> list[str]:
    names = [f"name {index}" for index in range(len(current))]
    return clusters.topics(vectors, current, names, threshold=0.7, most=most, merge_at=0.99)


def test_new_members_join_and_strangers_begin_their_own() -> None:
    found = topics(at(0, 5, 90, 10, 95), ["old", "", "", "", ""])
    assert found == ["old", "old", "name 2", "old", "name 2"]


def test_members_share_a_name_with_their_topic_or_have_none() -> None:
    about = [{"redis"}, {"mysql"}, set(), {"redis", "mysql"}, {"mysql"}]
    found = clusters.topics(
        at(0, 14, 12, 2, 3),
        ["old", "", "", "", ""],
        [f"name {index}" for index in range(5)],
        threshold=0.5,
        most=20,
        merge_at=0.99,
        subjects=about,
    )
    assert found == ["old", "name 1", "name 1", "old", "old"]


def test_assigning_again_changes_nothing() -> None:
    vectors = units(3, 40)
    once = topics(vectors, [""] * 40)
    assert topics(vectors, once) == once


def test_the_largest_part_keeps_the_label_and_the_other_gets_one() -> None:
    angles = [*range(3), *range(60, 64)]
    found = clusters.topics(
        at(*angles),
        ["both"] * 7,
        [f"name {index}" for index in range(7)],
        threshold=0.5,
        most=5,
        merge_at=0.99,
    )
    assert found == ["name 0"] * 3 + ["both"] * 4


def test_close_topics_become_one_under_the_label_of_the_larger() -> None:
    assert topics(at(0, 1, 2), ["a", "b", "b"]) == ["b", "b", "b"]


def test_two_topics_never_share_a_label() -> None:
    found = clusters.topics(
        at(0, 90, 180),
        ["", "", "same"],
        ["same", "same", "same"],
        threshold=0.7,
        most=20,
        merge_at=0.99,
    )
    assert found == ["same (2)", "same (3)", "same"]


@given(seed=st.integers(0, 500), count=st.integers(1, 50), known=st.integers(0, 3))
def test_every_memory_gets_exactly_one_topic(seed: int, count: int, known: int) -> None:
    current = [f"topic {n % known}" if known and n % 2 else "" for n in range(count)]
    found = topics(units(seed, count, 3), current, most=5)
    assert len(found) == count
    assert all(found)
