"""The demo plays through with the real server and tells the truth about what failed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from server.cli import demo, main, running
from server.cli.invocation import Invocation

pytestmark = pytest.mark.usefixtures("processes")

ROOT = Path(__file__).parent.parent.parent


def test_the_demo_of_two_conversations_works(
    weights_available: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    if not weights_available:
        pytest.fail("the demo needs the embedding model: run `anamnesis setup`")
    whole = json.loads(demo.DIALOGUE.read_text("utf-8"))
    some = [each for each in whole["sessions"] if each["id"] in ("s03", "s12")]
    turns = {turn["id"] for session in some for turn in session["turns"]}
    about = [q for q in whole["questions"] if turns.issuperset(q["evidence"])]
    short = tmp_path / "dialogue.json"
    short.write_text(json.dumps({**whole, "sessions": some, "questions": about}), "utf-8")
    monkeypatch.setattr(demo, "DIALOGUE", short)
    words = ["demo", "--json", "--questions", "4", "--data-dir", str(tmp_path / "data")]
    shown = running.printed(main.program, words, Invocation())
    said = capsys.readouterr().err
    assert (shown.code, shown.err) == (0, ""), said
    told: dict[str, Any] = json.loads(shown.out)
    assert told["problems"] == []
    assert told["turns"] == len(turns) > 30
    asked = [answer["when"] for answer in told["answers"]]
    assert asked == ["in other words"] * 4 + ["after the restart"] * 2
    assert (tmp_path / "data" / "journal.db").exists()
    assert "consolidate (completed)" in said


@pytest.mark.long
@pytest.mark.slow
def test_the_demo_works_end_to_end(weights_available: bool, tmp_path: Path) -> None:
    if not weights_available:
        pytest.fail("the demo needs the embedding model: run `anamnesis setup`")
    words = ["demo", "--json", "--questions", "7", "--data-dir", str(tmp_path / "data")]
    done = subprocess.run(
        [sys.executable, "-m", "server", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,  # against a hang: the demo computes for half a minute on an idle machine
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["problems"] == []
    assert told["turns"] >= 150
    assert len([a for a in told["answers"] if a["when"] == "in other words"]) == 7
    assert any(a["when"] == "after the restart" for a in told["answers"])
    assert (tmp_path / "data" / "journal.db").exists()
    assert "consolidate (completed)" in done.stderr


def test_a_problem_is_told_and_is_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def play(*given: Any) -> None:
        given[-1].expect(False, "it broke")

    monkeypatch.setattr(demo, "_play", play)
    said: list[str] = []
    outcome = demo.run(tmp_path, 3, {}, said.append)
    assert outcome.code == 1
    assert outcome.data["problems"] == ["it broke"]
    assert "problem: it broke" in outcome.text


def test_shown_questions_are_in_the_dialogue() -> None:
    questions = json.loads(demo.DIALOGUE.read_text("utf-8"))["questions"]
    chosen = demo._chosen(questions, 8)
    assert [q["question"] for q in chosen[:6]] == list(demo.QUESTIONS)
    assert len(chosen) == 8
    assert all(q["evidence"] for q in chosen)
