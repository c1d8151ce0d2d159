"""Tests that are too many for the check: more of what shorter tests of the same file show.

    python tests/campaigns/long.py [FILES AND FLAGS OF PYTEST]

Runs what is marked `long`, first the plain tests, then those with processes, and ends with status 1
when one failed. `-m long` of pytest runs the same at once.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NONE = 5
"""What pytest returns when the files named have no such tests."""


def main() -> None:
    status = 0
    for kind in ("long and not processes", "long and processes"):
        words = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", kind]
        done = subprocess.run([sys.executable, *words, *sys.argv[1:]], cwd=ROOT, check=False)
        if done.returncode != NONE:
            status = status or done.returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
