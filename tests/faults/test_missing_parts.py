"""It starts without its parts: the real program, over stdio, with something missing or foreign.

Each time it must start, remember, find what it remembered, and say in health what is wrong and what
mends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import parts
import pytest

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ROOT = Path(__file__).parents[2]
ME = Identity("me")
HERON = "The heron waits by the weir in the morning."

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.usefixtures("processes")]


def program(folder: Path, *argv: str, **environment: str) -> tuple[int, Any, str]:
    """Exit code, JSON and errors of one command."""
    given = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANAMNESIS")},
        **{"ANAMNESIS_DATA_DIR": str(folder), "ANAMNESIS_OFFLINE": "1", "PYTHONPATH": str(ROOT)},
        "ANAMNESIS_SHARED": "off",
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-m", "server", *argv, "--json"],
        capture_output=True,
        env={name: value for name, value in given.items() if value != "-"},
        cwd=ROOT,
        check=False,
        timeout=240,
    )
    return done.returncode, json.loads(done.stdout or b"null"), done.stderr.decode()


def checks(health: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in health["checks"]}


TOLD = {
    "no HOME and no model": ("lexical", "anamnesis setup"),
    "no embedding server": ("Ollama does not answer", "start it"),
    "slow language model": ("does not answer", "encoder_url"),
    "garbage from the language model": ("unreadable answer", "tried again"),
    "refusing language model": ("HTTP 403", "check the key"),
}
"""Of some of the variants that tests/campaigns/parts.py times: words of health's cause and fix."""
IN_THE_CHECK = ("no HOME and no model", "slow language model")


@pytest.mark.parametrize(
    "name",
    [name if name in IN_THE_CHECK else pytest.param(name, marks=pytest.mark.long) for name in TOLD],
)
def test_the_program_starts_remembers_recalls_and_health_names_cause_and_fix(
    name: str, tmp_path: Path
) -> None:
    variant = parts.VARIANTS[name]
    found = parts.play(variant, tmp_path)
    status, detail, fix = found.told[variant.check]
    assert (status, found.health) == ("degraded", "degraded")
    cause, mends = TOLD[name]
    assert cause in detail
    assert mends.casefold() in fix.casefold()


def filled(folder: Path, toy: Any, now: float = 1.7e9) -> None:
    with Memory(Settings(data_dir=folder), clock=lambda: now, embedder=toy) as memory:
        assert memory.wait_ready(120)
        for number in range(8):
            memory.remember(
                ME, RememberRequest(f"The stork number {number} stands on chimney {number * 3}.")
            )
        upkeep = memory._runtime.parts().maintenance
        upkeep.round()
        upkeep.repair()


@pytest.mark.parametrize(
    "lose", [parts.no_table, parts.no_index, parts.foreign_table, parts.foreign_index]
)
def test_with_a_missing_or_foreign_index(
    tmp_path: Path, toy: Any, lose: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    filled(folder, toy)
    lose(folder)
    with Memory(Settings(data_dir=folder), clock=lambda: 1.7e9, embedder=toy) as memory:
        assert memory.wait_ready(120)
        found = memory.recall(ME, RecallRequest("The stork number 5 stands on chimney 15."))
        assert found.hits[0].memory.text == "The stork number 5 stands on chimney 15."
        assert memory.remember(ME, RememberRequest(HERON)).status == "stored"
        report = memory.health(ME, repair=True)
        assert report.status in ("ok", "degraded")
        assert memory.stats(ME)["memories"] == 9
        by_name = {check.name: check for check in report.checks}
        assert by_name["round trip"].status == "ok"


@pytest.mark.parametrize("years", [-10, 10])
def test_with_a_clock_that_is_ten_years_off(tmp_path: Path, toy: Any, years: int) -> None:
    folder, now = tmp_path / "data", 1.7e9
    filled(folder, toy, now)
    off = now + years * 365.25 * 86400
    with Memory(Settings(data_dir=folder), clock=lambda: off, embedder=toy) as memory:
        assert memory.wait_ready(120)
        later = memory.remember(ME, RememberRequest(HERON, session="talk"))
        assert (
            memory.remember(ME, RememberRequest("And then it flies.", session="talk")).status
            == "stored"
        )
        found = memory.recall(ME, RecallRequest("The stork number 5 stands on chimney 15."))
        assert found.hits[0].memory.text == "The stork number 5 stands on chimney 15."
        assert found.hits[0].score == found.hits[0].score
        check = next(c for c in memory.health(ME).checks if c.name == "clock")
        assert check.status == ("degraded" if years < 0 else "ok")
        assert bool(check.fix) is (years < 0)
    with Memory(Settings(data_dir=folder), clock=lambda: now, embedder=toy) as memory:
        records = {record["text"]: record for record in memory.export(ME)}
        assert records[HERON]["id"] == later.id
        assert [records[text]["position"] for text in (HERON, "And then it flies.")] == [0, 1]


def test_a_newer_format_is_refused_clearly_by_program_and_doctor(tmp_path: Path, toy: Any) -> None:
    folder = tmp_path / "data"
    filled(folder, toy)
    connection = apsw.Connection(str(folder / "journal.db"))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    code, _, errors = program(folder, "remember", HERON)
    assert code == 1
    assert "incompatible_store: journal.db has format 99" in errors
    assert "upgrade anamnesis-mcp" in errors
    code, found, _ = program(folder, "doctor")
    assert code == 1
    assert "format 99" in checks(found)["memory"]["detail"]
