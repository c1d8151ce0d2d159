"""What a run of the tests came to, written as JSON where CHECK_OUTCOME says, for .ci/check.py.

A plugin of pytest. The file holds `counts` by outcome, `failures` and `repeats` (test, place,
error), and `slowest` (seconds, test): the twenty that took longest with what set them up. `files`
holds the seconds of each file.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

SLOWEST = 20
LINES = 6
"""Of an error that are shown."""
WIDTH = 200


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the file."""
    if path := os.environ.get("CHECK_OUTCOME"):
        stats, root = terminalreporter.stats, terminalreporter.config.rootpath
        seconds: dict[str, float] = defaultdict(float)
        for reports in stats.values():
            for report in reports:
                if hasattr(report, "duration"):
                    seconds[report.nodeid] += report.duration
        files: dict[str, float] = defaultdict(float)
        for test, each in seconds.items():
            files[test.partition("::")[0]] += each
        slowest = sorted(((s, test) for test, s in seconds.items()), reverse=True)[:SLOWEST]
        told = {
            "counts": {
                name: len(stats.get(name, ()))
                for name in ("passed", "failed", "error", "rerun", "skipped")
            },
            "failures": [
                _told(each, root) for name in ("failed", "error") for each in stats.get(name, ())
            ],
            "repeats": [_told(each, root) for each in stats.get("rerun", ())],
            "slowest": [[round(each, 1), test] for each, test in slowest],
            "files": {file: round(each, 1) for file, each in files.items()},
        }
        Path(path).write_text(json.dumps(told), encoding="utf-8")


def _own(report: Any, root: Path) -> str:
    """The innermost line under *root* that *report* went through; "" for none."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", ())
    for found in reversed([each.reprfileloc for each in entries if hasattr(each, "reprfileloc")]):
        path = Path(found.path).absolute() if found else root.parent
        if path.is_relative_to(root) and not path.is_relative_to(root / ".venv"):
            return f"{os.path.relpath(path)}:{found.lineno}"
    return ""


def _told(report: Any, root: Path) -> dict[str, str]:
    """The test of a failed report, where it failed, and the first lines of why."""
    crash = getattr(report.longrepr, "reprcrash", None)
    place = _own(report, root) or (f"{os.path.relpath(crash.path)}:{crash.lineno}" if crash else "")
    message = crash.message if crash else str(report.longrepr)
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line)[:WIDTH] for line in message.splitlines()]
    kept = [line for line in lines if line.strip()][:LINES]
    when = "" if report.when == "call" else f" ({report.when})"
    return {"test": report.nodeid + when, "place": place, "error": "\n".join(kept)}
