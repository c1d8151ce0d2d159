"""It starts without its parts: the real program, over stdio, with something missing or foreign.

Each time it must start, remember, find what it remembered, and say in health what is wrong and what
mends it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.storage.vector_index import VectorIndex

ROOT = Path(__file__).parents[2]
ME = Identity("me")
HERON = "The heron waits by the weir in the morning."

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def program(folder: Path, *argv: str, **environment: str) -> tuple[int, Any, str]:
    """Exit code, JSON and errors of one command."""
    given = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANAMNESIS")},
        **{"ANAMNESIS_DATA_DIR": str(folder), "ANAMNESIS_OFFLINE": "1", "PYTHONPATH": str(ROOT)},
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


def works(folder: Path, **environment: str) -> dict[str, dict[str, str]]:
    """Remember and recall through the program; the checks of health."""
    code, told, errors = program(folder, "remember", HERON, **environment)
    assert code == 0, errors
    assert told["status"] in ("stored", "reinforced")
    code, found, errors = program(folder, "recall", "heron weir morning", **environment)
    assert code == 0, errors
    texts = [hit["text"] for hit in (*found["memories"], *found.get("partial", []))]
    assert HERON in texts
    code, health, errors = program(folder, "health", **environment)
    assert health is not None, errors
    return checks(health)


def test_without_a_model_and_without_a_home(tmp_path: Path) -> None:
    none = tmp_path / "no-model"
    none.mkdir()
    found = works(tmp_path / "data", ANAMNESIS_MODEL_DIR=str(none), HOME="-")
    assert found["model"]["status"] == "degraded"
    assert "lexical" in found["model"]["detail"]
    assert "anamnesis setup" in found["model"]["fix"]
    assert found["round trip"]["status"] == "ok"


def test_with_a_model_server_that_is_not_there(tmp_path: Path) -> None:
    found = works(tmp_path / "data", ANAMNESIS_EMBEDDER="ollama:nothing", OLLAMA_HOST="127.0.0.1:9")
    assert found["model"]["status"] == "degraded"
    assert found["model"]["fix"]


def filled(folder: Path, toy: Any, now: float = 1.7e9) -> None:
    with Memory(Settings(data_dir=folder), clock=lambda: now, embedder=toy) as memory:
        assert memory.wait_ready(30)
        for number in range(8):
            memory.remember(ME, f"The stork number {number} stands on chimney {number * 3}.")
        upkeep = memory._engine.parts().maintenance
        upkeep.round()
        upkeep.repair()


def no_table(folder: Path) -> None:
    shutil.rmtree(folder / "table")


def no_index(folder: Path) -> None:
    shutil.rmtree(folder / "index")


def foreign_table(folder: Path) -> None:
    for path in (folder / "table").rglob("*"):
        if path.is_file():
            path.write_bytes(b"another program's file" * 30)


def index_of_another_store(folder: Path) -> None:
    for generation in (folder / "index").iterdir():
        shutil.rmtree(generation)
        generation.mkdir()
        other = VectorIndex(8, exact_limit=100, mode="auto")
        other.put_many(np.arange(3), np.zeros(3, np.int64), np.ones((3, 8), np.float16))
        other.save(generation, sequence=3, fingerprint="other", ids=["a" * 20, "b" * 20, "c" * 20])


@pytest.mark.parametrize("lose", [no_table, no_index, foreign_table, index_of_another_store])
def test_with_a_missing_or_foreign_index(
    tmp_path: Path, toy: Any, lose: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    filled(folder, toy)
    lose(folder)
    with Memory(Settings(data_dir=folder), clock=lambda: 1.7e9, embedder=toy) as memory:
        assert memory.wait_ready(30)
        found = memory.recall(ME, "The stork number 5 stands on chimney 15.")
        assert found.hits[0].memory.text == "The stork number 5 stands on chimney 15."
        assert memory.remember(ME, HERON).status == "stored"
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
        assert memory.wait_ready(30)
        later = memory.remember(ME, HERON, session="talk")
        assert memory.remember(ME, "And then it flies.", session="talk").status == "stored"
        found = memory.recall(ME, "The stork number 5 stands on chimney 15.")
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
