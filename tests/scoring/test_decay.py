"""Retention: a true half-life, slowed by rehearsal."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import InvalidInput
from memory_core.scoring import decay


@pytest.mark.parametrize("half_lives", [0, 1, 2, 3])
def test_each_half_life_halves(half_lives: int) -> None:
    week = 7 * decay.DAY
    assert float(decay.retention(half_lives * week, week, 0, 1.0)) == 0.5**half_lives


def test_rehearsal_divides_the_rate() -> None:
    month = 30 * decay.DAY
    found = decay.retention(month, month, np.array([0, 1, 10]), 0.7)
    wanted = [math.exp(-math.log(2) / (1 + 0.7 * math.log(1 + n))) for n in (0, 1, 10)]
    assert found == pytest.approx(wanted)


@given(
    age=st.floats(0, 1e9),
    more=st.floats(0, 1e8),
    life=st.floats(1, 1e8),
    accesses=st.integers(0, 1000),
    weight=st.floats(0, 5),
)
def test_retention_falls_with_age_and_rises_with_accesses(
    age: float, more: float, life: float, accesses: int, weight: float
) -> None:
    now = float(decay.retention(age, life, accesses, weight))
    assert 0.0 <= now <= 1.0
    assert float(decay.retention(age + more, life, accesses, weight)) <= now
    assert float(decay.retention(age, life, accesses + 1, weight)) >= now


def test_a_clock_that_was_set_back_counts_as_no_age() -> None:
    assert float(decay.retention(-1000.0, 60.0, 0, 1.0)) == 1.0


def test_arrays_are_taken_element_by_element() -> None:
    found = decay.retention(np.array([10.0, 20.0]), np.array([10.0, 5.0]), np.array([0, 0]), 1.0)
    assert found.tolist() == [0.5, 0.0625]


@pytest.mark.parametrize("life", [0.0, -1.0])
def test_a_half_life_that_is_not_positive_is_refused(life: float) -> None:
    with pytest.raises(InvalidInput):
        decay.retention(1.0, np.array([10.0, life]), 0, 1.0)
