"""The page's code fits the types of the API's document, and its libraries are those of npm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
STATIC = ROOT / "server/page/static"

pytestmark = pytest.mark.slow


@pytest.fixture
def copied(npm: Path, tmp_path: Path) -> Path:
    """The page's code beside the types of what it uses, in the place of the libraries."""
    shutil.copytree(STATIC, tmp_path / "checked", ignore=shutil.ignore_patterns("vendor"))
    shutil.copytree(HERE / "types", tmp_path / "checked", dirs_exist_ok=True)
    shutil.copy(ROOT / "typescript/src/schema.ts", tmp_path / "checked")
    shutil.copy(HERE / "tsconfig.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(npm)
    return tmp_path


def said(folder: Path) -> str:
    """What the compiler says of *folder*; "" when everything fits."""
    ran = subprocess.run(
        ["node", folder / "node_modules/typescript/bin/tsc", "-p", folder],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (ran.returncode == 0) == (not ran.stdout), ran
    return ran.stdout


@pytest.mark.usefixtures("processes")
def test_every_script_fits_the_types_of_the_api(copied: Path) -> None:
    assert said(copied) == ""


@pytest.mark.usefixtures("processes")
def test_an_answer_that_lost_a_field_is_noticed(copied: Path) -> None:
    schema = copied / "checked/schema.ts"
    text = schema.read_text("utf-8")
    fewer = re.sub(r"\bderived_from\b", "derived_of", text)
    assert fewer != text
    schema.write_text(fewer)
    assert "views/memory.js" in said(copied)


@pytest.mark.usefixtures("processes")
def test_the_libraries_are_those_of_their_packages(npm: Path) -> None:
    assert npm.is_dir()  # so the registry can be reached
    done = subprocess.run(
        [sys.executable, "tools/vendor_page.py", "--check"],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
