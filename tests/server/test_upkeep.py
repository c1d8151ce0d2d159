from __future__ import annotations

import json
from typing import Any

import pytest

from server import upkeep


def row(category: str, questions: int, value: float) -> dict[str, Any]:
    return {"category": category, "questions": questions, "recall@10": value, "mrr": value}


def test_figures_show_categories_of_the_product_and_overall_of_all() -> None:
    data = {
        "rankings": {
            "recall": [row("temporal", 3, 0.25), row("overall", 9, 0.5)],
            "bm25": [row("temporal", 3, 0.125), row("overall", 9, 0.375)],
        },
        "unanswerable": {"questions": 4, "auc": 0.77},
        "milliseconds": {"recall": {"p50": 6.5}},
        "counts": {"turns": 238},
        "versions": {"python": "3"},
        "machine": {"processors": 2},
    }
    text = upkeep._figures(data)
    by_category, overall = text.split("over all questions")
    assert [part for part in by_category.split() if part == "0.250"] == ["0.250", "0.250"]
    assert "0.375" in overall
    assert "0.125" not in text
    for fact in ("temporal", "0.770", "p50 6.500", "238"):
        assert fact in text


def test_the_own_dialogue_is_shipped_and_labelled() -> None:
    dialogue = json.loads(upkeep.OWN_DIALOGUE.read_text("utf-8"))
    turns = [turn for session in dialogue["sessions"] for turn in session["turns"]]
    assert len(turns) >= 150
    assert dialogue["questions"]


def test_setup_finds_a_model_that_is_there(weights_available: bool) -> None:
    if not weights_available:
        pytest.skip("no weights on this machine")
    from memory_core.config import Settings

    outcome = upkeep.setup(Settings(offline=True), None, {})  # type: ignore[arg-type]
    assert outcome.code == 0
    assert outcome.data["model"] in outcome.text
