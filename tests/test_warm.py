"""Starts from a template: real processes, which behave as those that Python starts anew do."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import engines
import pytest
from processes import Processes, ended
from warm import COLD, PROGRAM

pytestmark = [
    pytest.mark.usefixtures("processes"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc"),
]

ROOT = Path(__file__).parent.parent
ORDINARY = 60_000
"""Bytes of an environment in /proc: a template keeps more of them free, nobody else does."""


def from_a_template(process: int) -> bool:
    return len(Path(f"/proc/{process}/environ").read_bytes()) > ORDINARY


def shown(process: int, name: str) -> list[str]:
    return Path(f"/proc/{process}/{name}").read_text().rstrip("\0").split("\0")


@pytest.mark.parametrize("entry", [("-m", "server"), ("-P", PROGRAM)])
def test_it_is_a_child_of_who_asked_and_is_called_what_was_asked_for(
    processes: Processes, tmp_path: Path, entry: tuple[str, ...]
) -> None:
    words = [sys.executable, *entry, "--data-dir", str(tmp_path / "data")]
    asked = {**processes.environment, "COLOUR": "red"}
    one = processes.start(*words, stdin=subprocess.PIPE, env=asked)
    assert from_a_template(one.pid)
    assert shown(one.pid, "cmdline") == words
    assert {"COLOUR=red", f"HOME={processes.home}"} <= set(shown(one.pid, "environ"))
    assert f"\nPPid:\t{os.getpid()}\n" in Path(f"/proc/{one.pid}/status").read_text()
    assert os.getpgid(one.pid) == os.getsid(one.pid) == one.pid
    assert one.stdin
    one.stdin.close()
    assert one.wait(60) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("remember", "the tea is in the blue tin", "--dry-run"),
        ("no-such-command",),
        ("list", "--kind", "no-such-kind"),
        ("recall",),
        ("hook",),
        ("serve", "--help"),
    ],
)
def test_it_says_and_returns_what_an_ordinary_start_does(
    processes: Processes, words: tuple[str, ...]
) -> None:
    def run(**more: str) -> tuple[int, str, str]:
        environment = {**processes.environment, **more}
        done = processes.run(sys.executable, "-m", "server", *words, env=environment)
        return done.returncode, done.stdout, done.stderr

    assert run() == run(**{COLD: "1"})


@pytest.mark.parametrize(
    ("words", "environment", "folder"),
    [
        (("-m", "server"), {COLD: "1"}, ROOT),
        (("-m", "server"), {"PYTHONUTF8": "1"}, ROOT),
        (("-m", "server"), {"LC_ALL": "C.UTF-8"}, ROOT),
        (("-X", "utf8", "-m", "server"), {}, ROOT),
        (("-c", "import sys; sys.stdin.read()", "-m", "server"), {}, ROOT),
        (("-P", "-m", "server"), {}, ROOT),
        (("-m", "server"), {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}, Path("/")),
    ],
)
def test_what_is_no_plain_start_of_this_program_begins_as_ever(
    processes: Processes, words: tuple[str, ...], environment: dict[str, str], folder: Path
) -> None:
    one = processes.start(
        *[sys.executable, *words],
        stdin=subprocess.PIPE,
        env={**processes.environment, **environment},
        cwd=folder,
    )
    assert not from_a_template(one.pid)


def test_an_engine_comes_from_a_template_too(processes: Processes, until: Any) -> None:
    data = processes.folder / "data"
    environment = {**processes.environment, "ANAMNESIS_SHARED": "on"}
    processes.start(*[sys.executable, "-m", "server"], env=environment, stdin=subprocess.PIPE)

    def found() -> list[bool]:
        with suppress(OSError):  # it forks before it listens
            return [from_a_template(engine) for engine in engines.alive(data)]
        return []

    until(lambda: found() == [True])
    engines.end(data)


def test_a_template_ends_with_who_uses_it(processes: Processes, until: Any) -> None:
    code = (
        "import subprocess, sys, warm\n"
        "template = warm.Template()\n"
        "template.use()\n"
        "subprocess.run([sys.executable, '-m', 'server', '--version'], check=True)\n"
        "print(template._process.pid)\n"
    )
    environment = {**processes.environment, "PYTHONPATH": str(Path(__file__).parent)}
    done = processes.run(sys.executable, "-c", code, env=environment)
    version, template = done.stdout.split("\n", 1)
    assert version.startswith("anamnesis "), done.stderr
    until(lambda: ended(int(template)))
