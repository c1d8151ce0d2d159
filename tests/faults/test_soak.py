"""Ten thousand mixed calls to one server, when asked for with LONG=1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parents[1] / "campaigns" / "soak.py"
LONG_CALLS = 10_000
GROWTH_MIB = 5.0
SLOWER = 1.2

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux"),
]


@pytest.mark.timeout(7200)
@pytest.mark.skipif(os.environ.get("LONG") != "1", reason="takes up to an hour; ask with LONG=1")
def test_ten_thousand_calls_take_no_memory_no_descriptors_and_no_time() -> None:
    done = subprocess.run(
        [sys.executable, str(CAMPAIGN), "--calls", str(LONG_CALLS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["calls"] == LONG_CALLS
    first, last = report["descriptors"]
    assert last <= first + 2
    assert report["growth_mib_after_warm_up"] <= GROWTH_MIB
    assert report["p99_last_to_second_tenth"] <= SLOWER
