"""The report: means by category, intervals, what confidence is worth, JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from memory_core.evaluation import metrics
from memory_core.evaluation.metrics import Answer, score
from memory_core.evaluation.report import Report, Row, machine, misses, versions

SESSIONS = {"a": "1", "b": "1", "c": "2"}


def _answer(category: str, evidence: str, ranking: str, confidence: float = 0.5) -> Answer:
    scores = score(list(ranking), list(evidence), SESSIONS, 20) if evidence else {}
    return Answer(
        "chat", f"{category} {evidence}?", category, tuple(evidence), tuple(ranking), scores,
        bool(ranking), confidence,
    )  # fmt: skip


def _report() -> Report:
    answers = [
        _answer("name", "a", "abc", 0.9),
        _answer("place", "bc", "axb", 0.6),
        _answer("name", "c", "ab", 0.2),
        _answer("none", "", "", 0.2),
        _answer("none", "", "a", 0.7),
    ]
    baseline = [_answer("name", "a", "ba"), _answer("none", "", "a")]
    return Report(
        k=20,
        seed=4,
        started=1_700_000_000.0,
        answers={"recall": answers, "bm25": baseline},
        times={"recall": [0.001, 0.002, 0.009], "remember": []},
    )


def test_rows_are_means_by_category_then_overall() -> None:
    rows = _report().rows()
    assert [(row.category, row.questions) for row in rows] == [
        ("name", 2),
        ("place", 1),
        ("overall", 3),
    ]
    name, place, overall = rows
    assert name.means["recall@1"] == 0.5
    assert place.means["recall@10"] == 0.5
    assert overall.means["recall@10"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert overall.means["mrr"] == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert overall.means["precision@5"] == pytest.approx((1 + 1 + 0) / 15)
    assert overall.means["any@10"] == pytest.approx(2 / 3)
    assert overall.means["all@10"] == pytest.approx(1 / 3)
    assert overall.means["session_recall@5"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert overall.interval == metrics.bootstrap_interval([1, 0.5, 0], seed=4)


def test_unanswerable_questions_are_told_apart() -> None:
    found = _report().abstention()
    assert found is not None
    assert (found.questions, found.not_found) == (2, 0.5)
    assert found.mean_confidence == pytest.approx(0.45)
    assert found.mean_confidence_answerable == pytest.approx((0.9 + 0.6 + 0.2) / 3)
    assert found.found_answerable == 1.0
    # 0.9 beats both, 0.6 beats one, 0.2 ties with one: 3.5 of 6 pairs
    assert found.auc == pytest.approx(3.5 / 6)


def test_without_unanswerable_questions_there_is_nothing_to_say() -> None:
    report = Report(k=5, seed=0, started=0, answers={"recall": [_answer("name", "a", "a")]})
    assert report.abstention() is None
    assert report.to_dict()["unanswerable"] is None


def test_only_unanswerable_questions_give_no_rows_and_no_auc() -> None:
    report = Report(k=5, seed=0, started=0, answers={"recall": [_answer("none", "", "")]})
    assert report.rows() == []
    found = report.abstention()
    assert found is not None
    assert (found.not_found, found.auc) == (1.0, None)


def test_misses_are_the_questions_without_any_evidence() -> None:
    assert [answer.question for answer in _report().misses()] == ["name c?"]
    assert [answer.question for answer in _report().misses(1)] == ["place bc?", "name c?"]


def test_misses_are_read_with_what_was_wanted_and_what_was_given() -> None:
    texts = {"chat": {"a": "An apple.", "b": "A boat.", "c": "A cat."}}
    report = replace(_report(), texts=texts)
    (missed,) = misses(report, 5)
    assert missed["question"] == "name c?"
    assert missed["evidence"] == [{"id": "c", "text": "A cat.", "rank": None}]
    assert [given["text"] for given in missed["given"]] == ["An apple.", "A boat."]
    first, _ = misses(report, 5, k=1)
    assert first["evidence"][0] == {"id": "b", "text": "A boat.", "rank": 3}
    assert len(misses(report, 1, k=1)) == 1
    assert misses(report, 0) == []


def test_calibration_counts_every_question_of_the_product() -> None:
    found = _report().calibration()
    assert sum(each["questions"] for each in found.curve) == 5
    by_low = {each["low"]: each["right"] for each in found.curve}
    assert by_low == {0.2: 0.0, 0.6: 1.0, 0.7: 0.0, 0.9: 1.0}
    assert found.error == pytest.approx((2 * 0.2 + 0.4 + 0.7 + 0.1) / 5)
    assert _report().to_dict()["calibration"]["error"] == found.error


def test_times_in_milliseconds() -> None:
    times = _report().milliseconds()
    assert list(times) == ["recall"]
    assert times["recall"]["p50"] == pytest.approx(2.0)
    assert times["recall"]["p95"] == pytest.approx(np.quantile([1, 2, 9], 0.95))


def test_json_holds_the_figures_and_on_request_every_question() -> None:
    report = _report()
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["date"] == "2023-11-14T22:13:20+00:00"
    assert [row["category"] for row in plain["rankings"]["recall"]] == ["name", "place", "overall"]
    assert plain["rankings"]["bm25"][-1]["recall@1"] == 0
    assert plain["unanswerable"]["not_found"] == 0.5
    assert "questions" not in plain
    detailed = json.loads(json.dumps(report.to_dict(details=True)))
    assert detailed["questions"]["recall"][1]["ranking"] == ["a", "x", "b"]
    assert detailed["questions"]["recall"][1]["evidence"] == ["b", "c"]


def test_short_rankings_have_no_figures_beyond_their_length() -> None:
    scores = score(["a", "b"], ["a"], SESSIONS, 5)
    assert set(scores) == {
        "recall@1",
        "recall@5",
        "precision@1",
        "precision@5",
        "mrr",
        "any@5",
        "all@5",
        "ndcg@5",
        "session_recall@5",
        "session_any@5",
        "session_all@5",
    }
    row = Report(
        k=5,
        seed=0,
        started=0,
        answers={"recall": [_answer_short("a", "b"), _answer_short("a", "a")]},
    ).rows()[-1]
    assert isinstance(row, Row)
    assert row.interval == metrics.bootstrap_interval([0, 1], seed=0)


def _answer_short(evidence: str, ranking: str) -> Answer:
    scores = score([ranking], [evidence], SESSIONS, 5)
    return Answer("chat", "?", "x", (evidence,), (ranking,), scores, True, 0.5)


def test_one_session_has_no_session_recall() -> None:
    assert "session_recall@5" not in score(["a"], ["a"], {"a": "1", "b": "1"}, 20)


def test_what_is_no_turn_keeps_its_place() -> None:
    scores = score(["summary", "c"], ["c"], SESSIONS, 20)
    assert scores["recall@1"] == 0
    assert scores["session_recall@5"] == 1


def test_versions_and_machine_say_what_ran() -> None:
    assert versions("some-model")["embedder"] == "some-model"
    assert versions()["numpy"] == np.__version__
    assert int(machine()["processors"]) >= 1
