"""kill -9 during a sync: repeated, both machines hold the same, and nothing is lost or doubled.

A sample of the steps of a sync; all of them are played by tests/campaigns/sync_kill.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sync_kill import Machines

pytestmark = [pytest.mark.usefixtures("processes"), pytest.mark.slow]


def test_a_killed_sync_comes_to_what_an_unkilled_one_does(tmp_path: Path) -> None:
    machines = Machines(tmp_path)
    steps = [point for point in (5, 11) if machines.kill(point)]
    assert len(steps) == 2, "there are fewer steps than the sample needs"
