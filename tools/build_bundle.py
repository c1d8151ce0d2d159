"""Builds the .mcpb bundle: a folder with the source and the manifest, packed by the official tool.

    python tools/build_bundle.py [--output dist/anamnesis.mcpb] [--mcpb "npx @anthropic-ai/mcpb"]

The bundle holds no dependency and no model, about half a megabyte: uv installs both from PyPI on
the user's machine at the first start, as `pip install .` would.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = ROOT / "integrations" / "mcpb"
ICON = ROOT / "integrations" / "claude-code" / ".claude-plugin" / "icon.png"
FOLDERS = ("anamnesis", "memory_core", "server", "third_party")
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "NOTICE")
LEFT_OUT = ("__pycache__", "model.safetensors", "tokenizer.json", "*.part")
TOOL = "npx @anthropic-ai/mcpb"


def stage(folder: Path) -> None:
    """Put what the bundle holds into *folder*, which must not exist."""
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for path in (*(ROOT / name for name in FILES), ICON):
        shutil.copyfile(path, folder / path.name)


def main() -> int:
    """Stage, validate and pack; the exit code of the official tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / "anamnesis.mcpb")
    parser.add_argument("--mcpb", default=TOOL, help=f"the official tool (default: {TOOL})")
    args = parser.parse_args()
    output = args.output.absolute()
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "bundle"
        stage(folder)
        for words in (("validate", str(folder)), ("pack", str(folder), str(output))):
            done = subprocess.run([*shlex.split(args.mcpb), *words], check=False)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
