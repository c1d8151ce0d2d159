"""The closing block of .ci/check.py: a wrong result, a process that stays, a step that hangs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import PATIENCE, ended

ROOT = Path(__file__).parent.parent

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc"),
]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, which keeps its logs in a folder of the test."""
    spec = importlib.util.spec_from_file_location("check", ROOT / ".ci" / "check.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "check", module)
    spec.loader.exec_module(module)
    module.OUT = tmp_path / "out"
    module.ENDING = 0.2
    return module


def played(check: Any, monkeypatch: pytest.MonkeyPatch, *steps: Any) -> int:
    monkeypatch.setattr(check, "steps", lambda: list(steps))
    return int(check.main([]))


def python(check: Any, name: str, code: str, minutes: float = 1) -> Any:
    return check.Step(name, [sys.executable, "-c", code], minutes)


def test_every_step_runs_and_the_last_lines_tell_what_is_red(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    failure = {"test": "tests/test_a.py::test_b", "place": "tests/test_a.py:7", "error": "1 == 2"}
    outcome = {"counts": {"passed": 3, "failed": 1}, "failures": [failure], "repeats": [failure]}
    tests = f"import os; open(os.environ['CHECK_OUTCOME'], 'w').write({json.dumps(outcome)!r})"
    status = played(
        check,
        monkeypatch,
        python(check, "plain", f"{tests}; raise SystemExit(1)"),
        python(check, "lint", "raise SystemExit('x.py:1: unused')"),
        check.Step("types", [sys.executable, "-c", "print('all is fine')"], 1, beside=True),
    )
    said = capfdbinary.readouterr().out.decode()
    closing = said.rpartition("== RED ==")[2]
    assert status == 1
    assert "plain: tests/test_a.py::test_b  tests/test_a.py:7\n    1 == 2\n" in closing
    assert "lint: exit status 1\n    x.py:1: unused" in closing
    assert "types" not in closing
    assert "== types ==\nall is fine\n" in said
    assert "repeated: tests/test_a.py::test_b" in said
    assert "1 tests were repeated, 0 processes were left" in said


def test_what_runs_beside_goes_on_beside_the_next_stage_and_no_further(
    check: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, over = tmp_path / "begun", tmp_path / "over"
    waiting = (
        "import pathlib, time\n"
        f"while not pathlib.Path({str(begun)!r}).exists(): time.sleep(0.01)\n"
        "time.sleep(0.5)\n"  # for as long the stage after the next would begin too early
        f"pathlib.Path({str(over)!r}).touch()"
    )
    status = played(
        check,
        monkeypatch,
        python(check, "first", "pass"),
        check.Step("beside", [sys.executable, "-c", waiting], 1, beside=True),
        check.Step("next", [sys.executable, "-c", f"open({str(begun)!r}, 'w')"], 1, 1),
        check.Step("last", [sys.executable, "-c", f"open({str(over)!r})"], 1, 2),
    )
    assert status == 0


def test_no_test_is_in_two_steps(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {step.name: step.command for step in check.steps()}
    left_out = {f"--ignore={folder}" for folder in check.VENDORS}
    assert set(check.VENDORS) <= set(words["vendors"])
    assert left_out <= set(words["plain"])
    assert words["processes"][-1] == "@.ci/out/processes.txt"
    asked: list[str] = []

    def collected(command: list[Any], **_: Any) -> Any:
        asked.extend(map(str, command))
        return subprocess.CompletedProcess(command, 0, "tests/test_a.py: 3\n\nnothing else")

    monkeypatch.setattr(check.subprocess, "run", collected)
    monkeypatch.setattr(check, "FILES", check.OUT.with_suffix(".txt"))
    assert check.collect() == 0
    assert check.FILES.read_text() == "tests/test_a.py"
    assert left_out <= set(asked)


def test_the_advisories_are_a_step_and_a_skip_is_told(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any, tmp_path: Path
) -> None:
    (step,) = (each for each in check.steps() if each.name == "advisories")
    python, *words = step.command
    assert (python, words) == (str(check.PYTHON), [".ci/advisories.py"])
    (tmp_path / "report.json").touch()  # as from a source that could not be reached
    step.command = [sys.executable, *words, str(tmp_path / "report.json")]
    assert played(check, monkeypatch, step) == 0
    said = capfdbinary.readouterr().out.decode()
    assert "advisories: skipped, no advisory source could be reached" in said


def test_a_process_that_stays_is_named_and_ended(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    code = f"import subprocess; subprocess.Popen({sleeper}, start_new_session=True)"
    assert played(check, monkeypatch, python(check, "plain", code)) == 1
    closing = capfdbinary.readouterr().out.decode().rpartition("== RED ==")[2]
    assert "left running: " in closing
    process = int(closing.split("left running: ")[1].split()[0])
    assert ended(process)


def test_a_step_that_hangs_is_stopped(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    status = played(
        check,
        monkeypatch,
        python(check, "types", "import time; time.sleep(600)", 0.02),
        python(check, "lint", "print('green')"),
    )
    said = capfdbinary.readouterr().out.decode()
    assert status == 1
    assert "types took longer than 0.02 minutes and is stopped" in said
    assert "types: exit status" in said.rpartition("== RED ==")[2]
    assert "green   lint" in said


def test_a_test_that_hangs_is_named_and_not_repeated(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any, tmp_path: Path
) -> None:
    (real,) = (step for step in check.steps() if step.name == "processes")
    code = """
import threading, pytest
pytestmark = pytest.mark.processes
@pytest.mark.timeout(1)
def test_hangs():
    threading.Event().wait()
tries = []
def test_works_the_second_time():
    tries.append(1)
    assert len(tries) == 2
"""
    (tmp_path / "test_broken.py").write_text(code, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = processes\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    *words, files = real.command[1:]
    assert files == "@.ci/out/processes.txt"
    command = [sys.executable, *words, "-n", "0", "-p", "outcome"]
    command += ["--rootdir", str(tmp_path), str(tmp_path / "test_broken.py")]
    assert played(check, monkeypatch, check.Step("processes", command, 2)) == 1
    said = capfdbinary.readouterr().out.decode()
    assert said.count("repeated: ") == 1
    assert "test_works_the_second_time" in said.partition("repeated: ")[2].partition("\n")[0]
    closing = said.rpartition("== RED ==")[2]
    assert re.search(r"test_hangs +\S*test_broken\.py:6\n", closing)
    assert "Timeout (>1.0s) from pytest-timeout" in closing
    assert "test_works" not in closing


def test_a_check_that_is_told_to_stop_tells_what_was_at_work_and_ends_it(processes: Any) -> None:
    code = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("check", {str(ROOT / ".ci" / "check.py")!r})
check = sys.modules["check"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check)
check.OUT = check.Path({str(processes.folder)!r}) / "out"
sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
child = f"import subprocess; subprocess.Popen({{sleeper}}, start_new_session=True).wait()"
check.steps = lambda: [
    check.Step("plain", [sys.executable, "-c", f"print('at work', flush=True); {{child}}"], 9),
    check.Step("processes", sleeper, 9, 1),
]
check.STOPPING = 0.5
sys.exit(check.main([]))
"""
    started = processes.start(sys.executable, "-u", "-c", code)
    processes.says(started, "^at work")
    started.terminate()
    assert started.wait(PATIENCE) == 1
    said = processes.told(started)
    assert "plain was at work and is stopped" in said
    closing = said.rpartition("== RED ==")[2]
    assert "plain: exit status" in closing
    assert "processes: exit status None" in closing
    assert "left running: " in closing
    assert ended(int(closing.split("left running: ")[1].split()[0]))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root goes before others")
def test_a_step_and_its_session_go_before_other_programs(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    waits = "while os.getpriority(os.PRIO_PROCESS, 0) == 0: time.sleep(0.01)"
    group = "pathlib.Path('/proc/self/autogroup')"
    code = (
        f"import os, pathlib, time\n{waits}\n"
        f"while {group}.exists() and 'nice -10' not in {group}.read_text(): time.sleep(0.01)\n"
        "print('nice', os.getpriority(os.PRIO_PROCESS, 0))"
    )
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert played(check, monkeypatch, python(check, "types", code)) == 0
    assert "\nnice -10\n" in capfdbinary.readouterr().out.decode()
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_green_check_says_so(
    check: Any, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any
) -> None:
    assert played(check, monkeypatch, python(check, "types", "print('fine')")) == 0
    assert capfdbinary.readouterr().out.decode().rstrip().endswith("== GREEN ==")
