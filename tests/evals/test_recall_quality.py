"""Recall on the project's own dialogue: not below what was reached, above the baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import Embedder
from memory_core.evaluation.readers import DIALOGUE, read
from memory_core.evaluation.report import PRODUCT, Report
from memory_core.evaluation.runner import evaluate
from memory_core.memory import Memory

RECALL_5, RECALL_10, ANY_10 = 0.745, 0.825, 0.835
"""Reached 0.777, 0.855 and 0.864; three points are left to another build."""

ASSOCIATION, AUC = 0.6, 0.66
"""Reached 0.68 and 0.69; dense search alone has 0.62 of the associations."""


@pytest.fixture(scope="module")
def report(minilm: Embedder) -> Report:
    def open_memory(folder: Path) -> Memory:
        return Memory(Settings(data_dir=folder), embedder=minilm)

    baselines = ("dense", "bm25", "rrf")
    return evaluate(read(DIALOGUE), open_memory, k=20, baselines=baselines, embedder=minilm)


def overall(report: Report, ranking: str) -> dict[str, Any]:
    (row,) = [row for row in report.rows(ranking) if row.category == "overall"]
    return dict(row.means)


def test_recall_holds_the_level_that_was_reached(report: Report) -> None:
    reached = overall(report, PRODUCT)
    assert reached["recall@10"] >= RECALL_10
    assert reached["any@10"] >= ANY_10
    assert reached["recall@5"] >= RECALL_5


def test_what_shares_no_word_with_a_cue_comes_with_it(report: Report) -> None:
    (row,) = [row for row in report.rows() if row.category == "association"]
    assert row.means["recall@10"] >= ASSOCIATION


def test_the_confidence_tells_what_was_never_said(report: Report) -> None:
    abstention = report.abstention()
    assert abstention is not None
    assert abstention.auc is not None
    assert abstention.auc >= AUC
    assert abstention.not_found >= 0.18
    assert abstention.found_answerable is not None
    assert abstention.found_answerable >= 0.94


@pytest.mark.parametrize("baseline", ["dense", "bm25", "rrf"])
@pytest.mark.parametrize("metric", ["recall@5", "recall@10", "any@10", "mrr"])
def test_recall_is_above_every_baseline_of_the_same_run(
    report: Report, baseline: str, metric: str
) -> None:
    assert overall(report, PRODUCT)[metric] > overall(report, baseline)[metric]
