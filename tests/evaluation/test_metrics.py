"""Metrics against values worked out by hand and against a naive second implementation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import InvalidInput
from memory_core.evaluation import metrics

RANKING = ["d", "a", "x", "b", "y"]
EVIDENCE = {"a", "b", "c"}


def test_values_worked_out_by_hand() -> None:
    assert metrics.recall_at(RANKING, EVIDENCE, 1) == 0
    assert metrics.recall_at(RANKING, EVIDENCE, 2) == pytest.approx(1 / 3)
    assert metrics.recall_at(RANKING, EVIDENCE, 5) == pytest.approx(2 / 3)
    assert metrics.precision_at(RANKING, EVIDENCE, 4) == 0.5
    assert metrics.any_at(RANKING, EVIDENCE, 1) == 0
    assert metrics.any_at(RANKING, EVIDENCE, 2) == 1
    assert metrics.all_at(RANKING, EVIDENCE, 5) == 0
    assert metrics.all_at(RANKING, {"a", "b"}, 4) == 1
    assert metrics.reciprocal_rank(RANKING, EVIDENCE) == 0.5
    assert metrics.reciprocal_rank(RANKING, {"nowhere"}) == 0
    gained = 1 / math.log2(3) + 1 / math.log2(5)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg_at(RANKING, EVIDENCE, 10) == pytest.approx(gained / ideal)


def test_ndcg_ideal_is_cut_at_k() -> None:
    evidence = [f"e{n}" for n in range(30)]
    assert metrics.ndcg_at(evidence, evidence, 10) == pytest.approx(1.0)


def test_precision_counts_the_places_that_a_short_ranking_leaves_empty() -> None:
    assert metrics.precision_at(["a"], {"a"}, 10) == pytest.approx(0.1)


def test_sessions_count_in_order_of_first_appearance() -> None:
    sessions = {"d": "2", "a": "1", "x": "2", "b": "3", "y": "4", "c": "5"}
    order, gold = metrics.in_sessions(RANKING, EVIDENCE, sessions)
    assert [metrics.recall_at(order, gold, k) for k in (1, 2, 3)] == pytest.approx(
        [0, 1 / 3, 2 / 3]
    )
    assert [metrics.any_at(order, gold, k) for k in (1, 2, 3)] == [0, 1, 1]
    assert metrics.all_at(order, gold, 3) == 0
    with pytest.raises(InvalidInput, match="'c'"):
        metrics.in_sessions(RANKING, EVIDENCE, dict.fromkeys(RANKING, "1"))


def test_without_repeats_keeps_the_first_place() -> None:
    assert metrics.without_repeats(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("ranking", "evidence", "k"), [(["a"], [], 1), (["a"], ["a"], 0), (["a", "a"], ["a"], 1)]
)
def test_meaningless_input_is_refused(ranking: list[str], evidence: list[str], k: int) -> None:
    with pytest.raises(InvalidInput):
        metrics.recall_at(ranking, evidence, k)


def _naive_recall(ranking: list[str], evidence: list[str], k: int) -> float:
    return sum(1 for e in evidence if any(r == e for r in ranking[0:k])) / len(evidence)


def _naive_ndcg(ranking: list[str], evidence: list[str], k: int) -> float:
    def dcg(gains: list[int]) -> float:
        return sum(g / np.log2(place + 2) for place, g in enumerate(gains))

    gains = [1 if identifier in evidence else 0 for identifier in ranking[:k]]
    return float(dcg(gains) / dcg(([1] * len(evidence))[:k]))


def _naive_sessions(ranking: list[str], evidence: list[str], of: dict[str, str], k: int) -> float:
    best = {
        s: min((n for n, i in enumerate(ranking) if of[i] == s), default=None) for s in of.values()
    }
    order = sorted((s for s in best if best[s] is not None), key=lambda s: best[s] or 0)
    gold = {of[e] for e in evidence}
    return len([s for s in order[:k] if s in gold]) / len(gold)


IDS = [f"t{n}" for n in range(12)]
CASES = st.tuples(
    st.lists(st.sampled_from(IDS), unique=True),
    st.lists(st.sampled_from(IDS), unique=True, min_size=1),
    st.integers(1, 15),
)


@given(CASES, st.lists(st.sampled_from("pqrs"), min_size=len(IDS), max_size=len(IDS)))
def test_agrees_with_a_naive_second_implementation(
    case: tuple[list[str], list[str], int], letters: list[str]
) -> None:
    ranking, evidence, k = case
    sessions = dict(zip(IDS, letters, strict=True))
    hits = [place for place, i in enumerate(ranking, 1) if i in evidence]
    recall = _naive_recall(ranking, evidence, k)
    assert metrics.recall_at(ranking, evidence, k) == pytest.approx(recall)
    in_k = sum(1 for place in hits if place <= k)
    assert metrics.precision_at(ranking, evidence, k) == pytest.approx(in_k / k)
    assert metrics.any_at(ranking, evidence, k) == (1.0 if recall > 0 else 0.0)
    assert metrics.all_at(ranking, evidence, k) == (1.0 if in_k == len(evidence) else 0.0)
    assert metrics.reciprocal_rank(ranking, evidence) == (1 / hits[0] if hits else 0.0)
    naive = _naive_ndcg(ranking, evidence, k)
    assert metrics.ndcg_at(ranking, evidence, k) == pytest.approx(naive)
    by_session = _naive_sessions(ranking, evidence, sessions, k)
    order, gold = metrics.in_sessions(ranking, evidence, sessions)
    assert metrics.recall_at(order, gold, k) == pytest.approx(by_session)


SCORES = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=12)


@given(SCORES, SCORES)
def test_auc_is_the_share_of_pairs_in_the_right_order(high: list[float], low: list[float]) -> None:
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(high, low)]
    assert metrics.auc(high, low) == pytest.approx(sum(pairs) / len(pairs))


def test_auc_needs_both_sides() -> None:
    with pytest.raises(InvalidInput):
        metrics.auc([], [1.0])


def test_bootstrap_is_repeatable_and_as_wide_as_the_standard_error_says() -> None:
    values = np.random.default_rng(3).random(400).tolist()
    low, high = metrics.bootstrap_interval(values, seed=1, samples=2000)
    assert (low, high) == metrics.bootstrap_interval(values, seed=1, samples=2000)
    assert (low, high) != metrics.bootstrap_interval(values, seed=2, samples=2000)
    error = np.std(values) / math.sqrt(len(values))
    assert low == pytest.approx(np.mean(values) - 1.96 * error, abs=0.25 * error)
    assert high == pytest.approx(np.mean(values) + 1.96 * error, abs=0.25 * error)


def test_bootstrap_of_equal_values_is_a_point() -> None:
    assert metrics.bootstrap_interval([0.5] * 9, seed=0) == (0.5, 0.5)


def test_bootstrap_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput):
        metrics.bootstrap_interval([], seed=0)


def test_the_reliability_curve_compares_confidence_with_truth() -> None:
    curve = metrics.reliability([0.0, 0.05, 0.31, 0.39, 0.3, 1.0], [False, True, True, False, 0, 1])
    assert [(each.low, each.questions, each.right) for each in curve] == [
        (0.0, 2, 0.5),
        (0.3, 3, pytest.approx(1 / 3)),
        (0.9, 1, 1.0),
    ]
    assert [each.confidence for each in curve] == pytest.approx([0.025, 1 / 3, 1.0])
    assert metrics.calibration_error(curve) == pytest.approx((2 * 0.475 + 0 + 0) / 6)
    assert metrics.reliability([], []) == []
    assert metrics.calibration_error([]) == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_every_question_is_in_one_bin(asked: list[tuple[float, bool]]) -> None:
    curve = metrics.reliability([c for c, _ in asked], [r for _, r in asked])
    assert sum(each.questions for each in curve) == len(asked)
    right = sum(each.questions * each.right for each in curve)
    assert right == pytest.approx(sum(r for _, r in asked))
    assert 0 <= metrics.calibration_error(curve) <= 1
