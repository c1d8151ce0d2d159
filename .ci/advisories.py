"""Fails for an installed package with a known advisory; says so where no source can be reached.

    .venv/bin/python .ci/advisories.py [REPORT]

asks pip-audit, which it installs into a folder of its own, or reads a REPORT of its JSON format.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any


def main() -> int:
    """The exit code: 1 for an advisory, else 0."""
    found = Path(sys.argv[1]).read_text("utf-8") if sys.argv[1:] else asked()
    try:
        packages: list[dict[str, Any]] = json.loads(found)["dependencies"]
    except (ValueError, LookupError):
        packages = []
    wrong = [
        f"{package['name']} {package['version']}: {each['id']}"
        for package in packages
        for each in package.get("vulns", ())
    ]
    looked_at = [package for package in packages if "vulns" in package]
    if not looked_at:
        print("advisories: skipped, no advisory source could be reached")
        return 0
    print(f"advisories: {len(looked_at)} of {len(packages)} packages were looked up")
    print("\n".join(wrong) or "no advisory is known")
    return 1 if wrong else 0


def asked() -> str:
    """What pip-audit says of the packages of this environment; "" when it cannot be had."""
    uv = Path(sys.executable).with_name("uv")
    audit = ["pip-audit", "--progress-spinner", "off", "-f", "json"]
    where = sysconfig.get_paths()["purelib"]
    command = [uv, "tool", "run", "--quiet", "--python", sys.executable, *audit, "--path", where]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    sys.exit(main())
