"""The list of campaigns is whole, and each has its version in the suite."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.campaigns import __main__ as campaigns

HERE = Path(campaigns.__file__).parent
ROOT = HERE.parents[1]
PARTS = {"__main__", "foreman", "helpers"}
"""Programs that campaigns start."""


def test_every_script_is_listed() -> None:
    scripts = {path.stem for path in HERE.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert scripts - PARTS == campaigns.CAMPAIGNS.keys()


@pytest.mark.parametrize("name", sorted(campaigns.CAMPAIGNS))
def test_each_says_what_it_shows_and_has_a_short_version(name: str) -> None:
    assert campaigns.shows(name).endswith(".")
    short = campaigns.CAMPAIGNS[name].short
    if short.startswith("tests/"):
        names = [
            node.name
            for node in ast.walk(ast.parse((ROOT / short).read_text("utf-8")))
            if isinstance(node, ast.FunctionDef)
        ]
        assert [each for each in names if each.startswith("test_")]
    else:
        assert short.startswith("none: ")


def test_a_file_with_long_tests_has_others() -> None:
    """What the check leaves out is more of what it plays."""
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    texts = {path: path.read_text("utf-8") for path in files}
    long = {path: text for path, text in texts.items() if "mark.long" in text}
    assert len(long) > 5
    for path, text in long.items():
        marked = text.count("\n@pytest.mark.long\n")
        assert marked < text.count("\ndef test_") + text.count("\nasync def test_"), path


def test_the_list_and_a_name_that_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaigns.main([]) == 0
    said = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{said}" for name in campaigns.CAMPAIGNS)
    assert campaigns.main(["nothing"]) == 2
    assert "there are branches, clients" in capsys.readouterr().err
