"""The order of half-precision numbers, and the scans against numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_core.storage.index.faiss_scans import Codes, Signs, ordered

HALF = st.floats(width=16, allow_nan=False, allow_infinity=False)


@given(HALF, HALF)
def test_ordered_keeps_the_order_of_halves(a: float, b: float) -> None:
    first, second = ordered(np.array([a, b], np.float16))
    if a != b:
        assert (first < second) == (a < b)


def test_sign_candidates_are_those_whose_signs_agree_most() -> None:
    rng = np.random.default_rng(4)
    half = rng.normal(0.3, 1.0, (5_000, 20)).astype(np.float16)
    mean = half.astype(np.float32).mean(axis=0)
    signs = Signs(mean)
    signs.add(half)
    wanted = rng.random(5_000) < 0.7
    point = half[11:12].astype(np.float32)
    over = mean.astype(np.float16)
    distance = ((half > over) != (half[11] > over)).sum(axis=1)
    found = signs.candidates(point, wanted, 10)
    assert found.size == 1000
    assert wanted[found].all()
    assert sorted(distance[found]) == sorted(distance[wanted])[:1000]
    assert signs.widen()
    assert signs.candidates(point, wanted, 10).size == 2000


def test_scores_are_the_inner_products_in_the_order_asked_for() -> None:
    rng = np.random.default_rng(6)
    half = rng.normal(size=(50, 12)).astype(np.float16)
    codes = Codes(12)
    codes.add(half)
    point = rng.normal(size=(1, 12)).astype(np.float32)
    entries = np.array([7, 3, 3, 49, 0])
    expected = half[entries].astype(np.float32) @ point[0]
    np.testing.assert_allclose(codes.scores(entries, point), expected, rtol=1e-5)
