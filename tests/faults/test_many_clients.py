"""Five clients on one directory; the long version is tests/campaigns/clients.py itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CAMPAIGN = ROOT / "tests" / "campaigns" / "clients.py"

PATIENT = ("--lock-seconds", "60")
"""A busy machine must not refuse a write; how long one waits is for the campaign to tell."""

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="forks and kill -9"),
]


@pytest.mark.timeout(300)
def test_five_clients_lose_nothing_and_see_each_other(processes: Any) -> None:
    """One of them, which keeps the table for all, is killed half way."""
    words = [CAMPAIGN, "--writes", "80", "--seconds", "250", *PATIENT]
    done = processes.run(sys.executable, *words, seconds=270.0)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["writes"] == 400
    assert found["seen"] > 15
    wrong = ("lost", "missing", "doubled", "refused", "unseen", "failed")
    assert {name: found[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert found["takeover_s"] >= 0  # the lock passed on
    assert found["table_agrees"]
    assert found["health"] == "ok"
