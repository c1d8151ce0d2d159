"""LongMemEval by its published rules, on a small file of its format written for these tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import InvalidInput
from memory_core.evaluation.readers import read
from memory_core.evaluation.runner import evaluate


def said(role: str, content: str, **marks: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **marks}


def instance(id: str, sessions: dict[str, tuple[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    return {
        "question_id": id,
        "question_type": "single-session-user",
        "question": "Where did I put the spare key?",
        "answer": "under the fern",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": list(sessions),
        "haystack_dates": [date for date, _ in sessions.values()],
        "haystack_sessions": [turns for _, turns in sessions.values()],
        "answer_session_ids": [name for name in sessions if name.startswith("answer")],
    }


ANSWER = (
    "2023/05/20 (Sat) 02:21",
    [
        said("user", "I put the spare key under the fern.", has_answer=True),
        said("assistant", "A safe place for the spare key.", has_answer=True),
        said("user", "Thanks.", has_answer=False),
    ],
)
OTHER = (
    "2023/05/02 (Tue) 09:00",
    [said("user", "How long do eggs boil?"), said("assistant", "Nine minutes.")],
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    only_assistant = ("2023/05/20 (Sat) 02:21", [said("assistant", "Fern!", has_answer=True)])
    data = [
        instance("q1", {"answer_a_1": ANSWER, "chat_7": OTHER}),
        instance("q2_abs", {"answer_b_abs_1": ANSWER, "chat_7": OTHER}),
        instance("q3", {"answer_c_1": only_assistant, "chat_7": OTHER}),
    ]
    file = tmp_path / "longmemeval_s.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def test_each_instance_is_a_haystack_of_its_own(path: Path) -> None:
    first, second, third = read(path)
    assert [c.id for c in (first, second, third)] == ["q1", "q2_abs", "q3"]
    assert [turn.id for turn in first.turns] == [
        "chat_7_1", "chat_7_2", "answer_a_1_1", "answer_a_1_2", "answer_a_1_3",
    ]  # fmt: skip
    assert first.turns[2].when == datetime(2023, 5, 20, 2, 21, tzinfo=UTC).timestamp()
    assert (first.turns[1].role, first.turns[1].session) == ("assistant", "chat_7")


def test_evidence_is_what_the_user_said(path: Path) -> None:
    (question,) = read(path)[0].questions
    assert question.evidence == ("answer_a_1_1",)
    assert (question.category, question.answer) == ("single-session-user", "under the fern")


def test_abstention_is_no_retrieval_question_and_no_target_is_skipped(path: Path) -> None:
    _, abstention, without = read(path)
    assert abstention.questions[0].evidence == ()
    assert (without.questions, without.skipped) == ((), 1)


def test_figures_by_turn_and_by_session(path: Path, open_memory: Callable[..., Any]) -> None:
    report = evaluate(read(path), open_memory)
    row = report.rows()[-1]
    assert row.questions == 1
    for name in ("any@5", "all@5", "any@10", "session_any@5", "session_all@5", "session_recall@5"):
        assert row.means[name] == 1.0
    abstention = report.abstention()
    assert abstention is not None
    assert abstention.questions == 1
    assert report.counts["skipped"] == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"haystack_dates": []}, "unequal length"),
        ({"haystack_dates": ["May", "June"]}, "the date 'May'"),
        ({"haystack_sessions": [[said("robot", "x")], []]}, "the role 'robot'"),
        ({"question": 5}, "field 'question'"),
    ],
)
def test_a_broken_file_is_named(path: Path, change: dict[str, Any], complaint: str) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([data[0] | change]), encoding="utf-8")
    with pytest.raises(InvalidInput, match=complaint):
        read(path)
