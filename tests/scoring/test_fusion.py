"""Fusion against plain numpy."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.scoring import fusion

SIGNALS = st.lists(st.floats(-50, 50) | st.just(float("nan")), min_size=1, max_size=30)


@given(SIGNALS)
def test_z_scores_are_those_of_the_known_values(values: list[float]) -> None:
    found = fusion.z_scores(np.array(values))
    known = [value for value in values if value == value]
    spread = statistics.pstdev(known) if len(known) > 1 else 0.0
    if spread < 1e-9:
        assert np.abs(found).max() < 1e-3 or spread > 1e-12
        return
    mean = statistics.fmean(known)
    wanted = [0.0 if value != value else (value - mean) / spread for value in values]
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)


def test_no_evidence_and_no_spread_count_nothing() -> None:
    nan = float("nan")
    assert fusion.z_scores(np.array([nan, nan])).tolist() == [0, 0]
    assert fusion.z_scores(np.array([3.0, nan])).tolist() == [0, 0]
    assert fusion.z_scores(np.array([2.0, 2.0, 2.0])).tolist() == [0, 0, 0]
    assert fusion.z_scores(np.array([])).tolist() == []
    assert fusion.z_scores(np.array([1.0, nan, 3.0])).tolist() == [-1, 0, 1]


def test_half_precision_is_scored_in_double() -> None:
    values = np.array([0.1, 0.2, 0.4], dtype=np.float16)
    assert fusion.z_scores(values).dtype == np.float64


def test_fuse_is_the_weighted_sum() -> None:
    first, second = np.array([1.0, 2.0, 3.0]), np.array([5.0, float("nan"), 1.0])
    z = np.sqrt(1.5)
    found = fusion.fuse([(2.0, first, 0.0), (0.5, second, 0.0)])
    assert found == pytest.approx([-2 * z + 0.5, 0.0, 2 * z - 0.5])


def test_the_scale_of_a_signal_makes_no_difference() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    other = np.array([2.0, 7.0, 1.0, 8.0, 2.0])
    plain = fusion.fuse([(0.6, values, 0.0), (0.4, other, 0.0)])
    scaled = fusion.fuse([(0.6, 1000 * values - 7, 0.0), (0.4, other, 0.0)])
    assert scaled == pytest.approx(plain)


def test_what_spreads_by_less_than_counts_is_as_good_as_equal() -> None:
    values = np.array([0.631, 0.632, 0.633])
    assert np.abs(fusion.z_scores(values)).max() > 1
    assert np.abs(fusion.z_scores(values, 0.1)).max() < 0.02
    wide = np.array([0.1, 0.5, 0.9])
    assert fusion.z_scores(wide, 0.1).tolist() == fusion.z_scores(wide).tolist()


def test_words_lose_weight_where_they_cover_less_than_half_of_the_question() -> None:
    assert [fusion.trust_in_words(c) for c in (0.0, 0.1, 0.25, 0.5, 0.9, 3.0)] == pytest.approx(
        [0.0, 0.2, 0.5, 1.0, 1.0, 1.0]
    )


def test_half_way_is_as_like_the_one_as_the_other() -> None:
    one, other = np.eye(3, dtype=np.float32)[:2]
    middle = fusion.between(one, other)
    assert np.linalg.norm(middle) == pytest.approx(1.0)
    assert middle @ one == pytest.approx(middle @ other)
    assert middle @ one == pytest.approx(math.sqrt(0.5))
    assert fusion.between(one, -one).tolist() == one.tolist()
