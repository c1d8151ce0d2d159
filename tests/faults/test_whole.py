"""The memory against a plain dict, 800 steps; tests/campaigns/whole.py plays the rest."""

from __future__ import annotations

import sys
from itertools import count

import pytest
import whole

pytestmark = pytest.mark.usefixtures("processes")

STEPS = 800


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform == "win32", reason="fork and kill -9")
def test_the_whole_is_like_a_dict(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    killed = "the other is killed while it remembers"
    kills = whole.Whole.kinds[killed]
    seeds = count(1)
    assert whole.play(seeds, STEPS) >= STEPS
    while whole.Whole.kinds[killed] == kills:  # a seed leaves some kinds of steps out
        whole.play(seeds, 1)
