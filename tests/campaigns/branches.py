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

MODULES = {
    "journal": (
        *("journal", "journal_files", "journal_format", "journal_queries", "journal_reading"),
        *("transaction", "group_commit", "locks", "failures", "scrubbing", "migrations"),
    ),
    "store": (
        "store",
        "slices",
        "indexes",
        "index_state",
        "vector_source",
        "accesses",
        "reserve",
        "ages",
        "past_values",
    ),
    "recovery": (
        *("salvage", "sqlite_pages", "backups", "generations", "manifest", "snapshots"),
        *("mirror", "inspection"),
    ),
    "filters": ("table", "rows", "lance_errors"),
}
"""Modules of memory_core.storage."""

TESTS = (
    *("tests/storage", "tests/maintenance", "tests/faults/test_damage.py"),
    *("tests/faults/test_full_disk.py", "tests/faults/test_modes.py", "tests/test_engine.py"),
    *("tests/test_reembedding.py", "tests/test_undoing.py", "tests/consolidation"),
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
    files = [f"memory_core/storage/{name}.py" for names in MODULES.values() for name in names]
    assert all((ROOT / file).exists() for file in files)
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "settings"
        include = "".join(f"\n    {file}" for file in files)
        settings.write_text(SETTINGS.format(include=include, data=Path(folder) / "data"))
        coverage = [sys.executable, "-m", "coverage"]
        told = f"--rcfile={settings}"
        tests = ["-m", "pytest", "-q", "-p", "no:xdist", *TESTS]
        ran = subprocess.run([*coverage, "run", told, *tests], cwd=ROOT, check=False)
        found = subprocess.run([*coverage, "report", told], cwd=ROOT, check=False)
    sys.exit(ran.returncode or found.returncode)


if __name__ == "__main__":
    main()
