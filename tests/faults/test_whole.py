"""The memory against a plain dict, 5,000 steps; tests/campaigns/whole.py plays the rest."""

from __future__ import annotations

import sys

import pytest
import whole

STEPS = 5_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="fork and kill -9")
def test_the_whole_is_like_a_dict(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    kills = whole.Whole.kills
    assert whole.play(seed=1, steps=STEPS) >= STEPS
    assert whole.Whole.kills > kills
