"""Every branch of journal, store, recovery and filter building is taken by a test.

    python tests/campaigns/branches.py

Runs the tests that are about these modules with coverage.py (package `coverage`) in one process,
prints each line and branch that none of them took, and ends with status 1 when there is one. What
only Windows runs is left out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

STORAGE = "memory_core/storage"
MODULES = (
    *(f"{STORAGE}/{name}.py" for name in ("store", "accesses", "disk_reserve", "generations")),
    *(f"{STORAGE}/{name}.py" for name in ("locks", "errors")),
    *(f"{STORAGE}/index/{name}.py" for name in ("indexes", "files", "vector_source")),
    *(f"{STORAGE}/{room}/*.py" for room in ("journal", "table", "backup")),
    *(f"memory_core/maintenance/{name}.py" for name in ("table_sync", "snapshots", "inspection")),
)
"""Patterns of the modules whose every branch is to be taken, in the root of the repository."""

TESTS = (
    *("tests/storage", "tests/maintenance", "tests/faults/test_damage.py"),
    *("tests/faults/test_full_disk.py", "tests/faults/test_modes.py", "tests/test_runtime.py"),
    *("tests/maintenance/test_reembedding.py", "tests/test_history.py", "tests/consolidate"),
)

SETTINGS = r"""
[run]
branch = True
include = {include}
data_file = {data}

[report]
fail_under = 100
precision = 2
show_missing = True
exclude_also =
    if sys.platform == "win32":
    if os.name != "posix":
    @abstractmethod
partial_also =
    if sys.platform != "win32":
"""


def main() -> None:
    assert all(list(ROOT.glob(pattern)) for pattern in MODULES)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings"
        include = "".join(f"\n    {pattern}" for pattern in MODULES)
        settings.write_text(SETTINGS.format(include=include, data=Path(folder) / "data"))
        coverage = [sys.executable, "-m", "coverage"]
        told = f"--rcfile={settings}"
        tests = ["-m", "pytest", "-q", "-p", "no:xdist", *TESTS]
        ran = subprocess.run([*coverage, "run", told, *tests], cwd=ROOT, check=False)
        found = subprocess.run([*coverage, "report", told], cwd=ROOT, check=False)
    sys.exit(ran.returncode or found.returncode)


if __name__ == "__main__":
    main()
