"""The memory against a plain dict, 500 steps; tests/campaigns/whole.py plays the rest."""

from __future__ import annotations

import sys
from itertools import count

import pytest
import whole

pytestmark = pytest.mark.usefixtures("processes")

STEPS = 500
PLAYED = (
    "the other is killed while it remembers",
    "the folder is deleted or replaced",
    "backups restored under a running memory",
)
"""Steps of which there is one at least: a seed leaves some kinds out."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform == "win32", reason="fork and kill -9")
def test_the_whole_is_like_a_dict(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    kinds = whole.Whole.kinds
    before, seeds = kinds.copy(), count(5)  # the first seed with all of them
    assert whole.play(seeds, STEPS, examples=3) >= STEPS
    while any(kinds[name] == before[name] for name in PLAYED):
        whole.play(seeds, 1, examples=3)
