"""Five clients on one directory; the long version is tests/campaigns/clients.py itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "tests" / "campaigns" / "clients.py"

PATIENT = ("--lock-seconds", "60")
"""A busy machine must not refuse a write; how long one waits is for the campaign to tell."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and kill -9")


@pytest.mark.timeout(300)
def test_five_clients_lose_nothing_and_see_each_other() -> None:
    """One of them, which keeps the table for all, is killed half way."""
    done = subprocess.run(
        [sys.executable, str(CAMPAIGN), "--writes", "500", "--seconds", "280", *PATIENT],
        capture_output=True,
        text=True,
        timeout=290,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["writes"] == 2500
    assert found["seen"] > 100
    wrong = ("lost", "missing", "doubled", "refused", "unseen", "failed")
    assert {name: found[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert found["takeover_s"] >= 0  # the lock passed on
    assert found["table_agrees"]
    assert found["health"] == "ok"
