"""What .ci/run makes of a report on advisories."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
CLEAN = {"name": "numpy", "version": "2.0", "vulns": []}
BAD = {"name": "uvicorn", "version": "0.54", "vulns": [{"id": "PYSEC-2026-1"}]}
UNKNOWN = {"name": "apsw", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([CLEAN, UNKNOWN], 0, "1 of 2 packages were looked up\nno advisory is known"),
        ([CLEAN, BAD], 1, "uvicorn 0.54: PYSEC-2026-1"),
        ([UNKNOWN], 0, "skipped, no advisory source could be reached"),
        (None, 0, "skipped, no advisory source could be reached"),
    ],
)
def test_an_advisory_fails_and_a_missing_source_is_told(
    tmp_path: Path, packages: Any, code: int, said: str
) -> None:
    report = tmp_path / "report.json"
    report.write_text("" if packages is None else json.dumps({"dependencies": packages}))
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "advisories.py", report], capture_output=True, text=True
    )
    assert (done.returncode, said in done.stdout) == (code, True)
