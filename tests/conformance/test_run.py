"""The conformance check itself: what it pins, what it expects to fail, how it reads results."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.processes import MARK, ended

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WHOLE = """
=== SUMMARY ===
✓ ping: 2 passed, 0 failed
{mark} tools-list: 3 passed, 1 failed
✗ tasks-lifecycle: 2 passed, 7 failed

Total: 7 passed, 8 failed

Not scored for 2026-07-28: 1 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ tasks-lifecycle (extension)
"""


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    about = importlib.util.spec_from_file_location("conformance_runner", HERE / "runner.py")
    assert about
    assert about.loader
    module = importlib.util.module_from_spec(about)
    sys.modules[about.name] = module
    about.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("mark", "passed"), [("✓", "2 of 2"), ("✗", "1 of 2")])
def test_only_scored_scenarios_count(runner: ModuleType, mark: str, passed: str) -> None:
    assert runner.line(WHOLE.format(mark=mark), 0) == f"{passed} scored scenarios"


def test_what_is_expected_to_fail_is_no_failure_of_a_scenario(runner: ModuleType) -> None:
    summary = WHOLE.format(mark="✗")
    baseline = "\nExpected failures (in baseline):\n  ~ tools-list:paging\n"
    unexpected = "\nUnexpected failures (not in baseline):\n  ✗ tasks-lifecycle\n"
    said = summary + baseline + unexpected
    assert runner.judged(said, "ping") == (True, "2 passed, 0 failed")
    assert runner.judged(said, "tools-list") == (True, "3 passed, 1 failed")
    assert runner.judged(said, "tasks-lifecycle") == (False, "2 passed, 7 failed")
    assert runner.judged(said, "caching") == (False, "it was not run")
    assert runner.judged(said.replace("✗ tasks-lifecycle\n", "✗ ping\n"), "ping")[0] is False


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("marked", [True, False])
def test_what_still_writes_is_ended_before_its_folder_is_removed(
    runner: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    until: Callable[..., None],
    marked: bool,
) -> None:
    monkeypatch.setenv(MARK, os.environ[MARK])
    writes = "while :; do n=$((n+1)); mkdir -p $PLACE/data; : > $PLACE/data/$n; done"
    with runner.place() as folder:
        process = subprocess.Popen(
            ["/bin/sh", "-c", writes],
            cwd="/" if marked else folder,
            env={"PLACE": str(folder), **({MARK: os.environ[MARK]} if marked else {})},
        )
        until((folder / "data" / "100").exists)
    assert ended(process.pid)
    process.wait()
    assert not folder.exists()


def test_every_tool_is_pinned_exactly_and_locked_with_its_hash() -> None:
    wanted = json.loads((HERE / "package.json").read_text())
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    assert wanted["dependencies"]
    for name, version in (wanted["dependencies"] | wanted["optionalDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version)
        assert locked[f"node_modules/{name}"]["version"] == version
    assert all("integrity" in about for path, about in locked.items() if path)


def test_node_is_new_enough_for_the_inspector(runner: ModuleType) -> None:
    nodes = json.loads((HERE / "package.json").read_text())["optionalDependencies"]
    for version in (version for name, version in nodes.items() if name.startswith("node-")):
        assert tuple(map(int, version.split(".")[:2])) >= runner.OLDEST_NODE >= (22, 0)


def test_four_checks_are_expected_to_fail_on_the_shipped_server_and_no_other() -> None:
    listed = re.findall(r"^  - (\S+)$", (HERE / "expected.yml").read_text(), re.MULTILINE)
    assert len(listed) == 4
    assert all(id.startswith("server-stateless:sep-2575-") for id in listed)


def test_ci_runs_the_check_and_keeps_what_it_printed() -> None:
    assert "tests/conformance/run.py" in (ROOT / ".ci" / "check.py").read_text()
    assert "tests/conformance/out/" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_table_in_the_documents_names_the_versions_that_are_pinned() -> None:
    text = (ROOT / "docs/internals/conformance.md").read_text("utf-8")
    table = text.partition("## What was run")[2]
    wanted = json.loads((HERE / "package.json").read_text())
    programs = {k: v for k, v in wanted["optionalDependencies"].items() if "claude-code" in k}
    for version in (wanted["dependencies"] | programs).values():
        assert f"| {version} |" in table
    (uv,) = re.findall(r'^UV = "uv==(.+)"$', (HERE / "publishing.py").read_text(), re.MULTILINE)
    assert f"uv {uv}," in table


def test_the_documents_build_the_bundle_with_the_version_that_is_pinned() -> None:
    text = (ROOT / "docs/internals/conformance.md").read_text("utf-8")
    version = json.loads((HERE / "package.json").read_text())["dependencies"]["@anthropic-ai/mcpb"]
    assert re.findall(r"@anthropic-ai/mcpb@([\d.]+)", text) == [version]
