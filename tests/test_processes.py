"""The plugin that watches processes, seen by runs of pytest on small files of tests."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import ended

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc"),
]

HERE = Path(__file__).parent
SLEEPER = "[sys.executable, '-c', 'import time; time.sleep(600)']"
PLUGINS = ("processes", "outcome", "pytest_timeout", "pytest_rerunfailures")
"""Importing the others that are installed takes a second of each run; nothing here needs them."""
HEAD = "import os, socket, subprocess, sys, pytest, processes as plugin\nplugin.ENDING = 0.2\n"


@pytest.fixture
def played(tmp_path: Path, processes: Any) -> Any:
    """Plays the text of a file of tests: (text, flags) -> the exit status, the output, outcome."""

    def play(text: str, *flags: str) -> tuple[int, str, dict[str, Any]]:
        (tmp_path / "test_it.py").write_text(HEAD + text)
        outcome = tmp_path / "outcome.json"
        named = [word for plugin in PLUGINS for word in ("-p", plugin)]
        words = ["-m", "pytest", *named, "-p", "no:cacheprovider"]
        paths = os.pathsep.join((str(HERE), str(HERE.parent)))
        done = processes.run(
            *[sys.executable, *words, "--timeout", "20", *flags, "test_it.py"],
            cwd=tmp_path,
            env={
                **processes.environment,
                "PYTHONPATH": paths,
                "CHECK_OUTCOME": str(outcome),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
        )
        return done.returncode, done.stdout + done.stderr, json.loads(outcome.read_text())

    return play


STARTS = (
    "subprocess.run(['true'])",
    "os.fork() or os._exit(0)",
    "socket.create_server(('127.0.0.1', 0)).close()",
)


def test_a_plain_test_starts_nothing_and_opens_no_port(played: Any) -> None:
    tests = "".join(f"def test_{n}(): {line}\n" for n, line in enumerate(STARTS))
    plain, said, outcome = played(tests)
    assert plain == 1
    assert len(outcome["failures"]) == len(STARTS), said
    assert said.count("is a plain test") >= len(STARTS)
    allowed, said, _ = played(tests.replace("():", "(processes):"), "-m", "processes")
    assert allowed == 0, said


def test_what_a_test_leaves_running_is_ended_and_fails_it(played: Any) -> None:
    status, said, outcome = played(
        f"def test_it(processes): subprocess.Popen({SLEEPER}, start_new_session=True)\n"
    )
    assert status == 1
    (failure,) = outcome["failures"]
    assert failure["test"] == "test_it.py::test_it (teardown)"
    assert "time.sleep(600)" in failure["error"]
    process = int(failure["error"].split("left running: ")[1].split()[0])
    assert ended(process), said


LEAVING = f"import subprocess, sys; subprocess.Popen({SLEEPER}, start_new_session=True)"
"""A program that ends and leaves a process, which holds its pipes."""


def test_what_holds_the_pipes_of_a_server_is_ended_and_fails_the_test(played: Any) -> None:
    status, said, outcome = played(
        "import talking\n"
        "talking.END_SECONDS = 0.2\n"
        "@pytest.fixture\n"
        "def talk(processes):\n"
        f"    talk = talking.Talk([sys.executable, '-c', {LEAVING!r}], dict(os.environ))\n"
        "    yield talk\n"
        "    talk.finish()\n"
        "def test_it(talk): talk.process.wait()\n"
        "def test_others(): pass\n"
    )
    assert status == 1, said
    (failure,) = outcome["failures"]
    assert failure["test"] == "test_it.py::test_it (teardown)"
    assert "left running: " in failure["error"]
    assert outcome["counts"]["passed"] == 2


def test_a_pipe_that_is_held_and_read_does_not_keep_a_test_from_its_end(played: Any) -> None:
    status, said, _ = played(
        "import threading\n"
        "def test_it(processes):\n"
        f"    one = processes.start(sys.executable, '-c', {LEAVING!r}, stdout=subprocess.PIPE)\n"
        "    threading.Thread(target=one.stdout.read, daemon=True).start()\n"
        "    one.wait()\n"
    )
    assert status == 0, said


def test_what_the_run_leaves_running_is_ended_and_fails_it(played: Any) -> None:
    """Without the mark in its environment, it is known by the folder in its command line."""
    status, said, outcome = played(
        "@pytest.fixture(scope='session')\n"
        "def left(tmp_path_factory):\n"
        f"    words = [*{SLEEPER}, str(tmp_path_factory.mktemp('x'))]\n"
        "    return subprocess.Popen(words, env={}, start_new_session=True)\n"
        "def test_it(left, processes): pass\n"
    )
    assert status == 1, said
    assert "left by the run" in said
    assert outcome["counts"]["passed"] == 1


def test_what_processes_said_is_shown_when_the_test_fails(played: Any) -> None:
    status, said, _ = played(
        "def test_it(processes):\n"
        "    one = processes.start(sys.executable, '-c', \"print('the tin is blue')\")\n"
        "    processes.says(one, 'the tin is (red|blue)$')\n"
        "    assert one.wait() == 3\n"
    )
    assert status == 1
    assert "the tin is blue" in said.split("what the processes said")[1]


def test_a_test_that_hangs_is_named_and_its_processes_end(played: Any, tmp_path: Path) -> None:
    status, said, outcome = played(
        f"def test_it(processes):\n    processes.start(*{SLEEPER}).wait()\n",
        "--timeout",
        "1",
    )
    assert status == 1, said
    assert [failure["test"] for failure in outcome["failures"]] == ["test_it.py::test_it"]
    assert "Timeout" in outcome["failures"][0]["error"]


def test_what_is_left_unclosed_is_told_at_the_end_and_reddens_no_test(played: Any) -> None:
    status, said, _ = played(
        "class Cycle: pass\n"
        "def test_it(processes):\n"
        "    import gc; gc.disable()\n"
        "    one = Cycle(); one.self, one.socket = one, socket.socket()\n",
        "-W",
        "error",
    )
    assert status == 0, said
    assert "unclosed <socket.socket" in said.split("unclosed at the end")[1]


def test_a_repeat_is_told_with_its_reason(played: Any) -> None:
    status, said, outcome = played(
        "tries = []\ndef test_it(processes):\n    tries.append(1)\n    assert len(tries) == 2\n",
        "--reruns",
        "1",
    )
    assert status == 0, said
    assert outcome["counts"]["rerun"] == 1
    (repeat,) = outcome["repeats"]
    assert "assert 1 == 2" in repeat["error"]
    assert repeat["place"].startswith("test_it.py:")


def test_a_plain_test_is_not_repeated(played: Any) -> None:
    status, _, outcome = played("def test_it(): assert False\n", "--reruns", "1")
    assert status == 1
    assert (outcome["counts"]["failed"], outcome["counts"]["rerun"]) == (1, 0)


def test_no_program_of_a_test_shares_an_engine_wherever_it_lies(processes: Any) -> None:
    """By default one in a temporary folder does not, and others do."""
    told = processes.run(
        *[sys.executable, "-c"],
        "import os; from server.engine import launch, wanted\n"
        "print(launch.unshared(wanted.find({}, os.environ)))",
    )
    assert told.stdout == "ANAMNESIS_SHARED is off\n", told.stderr
