"""Priming falls from 1.3 to 1 with the turns."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.scoring import decay


def test_priming_is_strongest_at_activation() -> None:
    assert decay.share(0, 0.3) == 1.0
    assert decay.boost(1.0) == 1.3


@given(st.integers(0, 50), st.floats(0.01, 3))
def test_it_falls_with_every_turn(turns: int, rate: float) -> None:
    now, later = decay.share(turns, rate), decay.share(turns + 1, rate)
    assert 0 < later < now <= 1
    assert decay.boost(now) == pytest.approx(1 + 0.3 * math.exp(-rate * turns))
