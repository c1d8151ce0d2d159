"""The project's own dialogue: its shape, its labels, and that it is neither easy nor hopeless."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from memory_core.embedding.base import Embedder
from memory_core.evaluation import metrics
from memory_core.evaluation.baselines import Baselines
from memory_core.evaluation.conversation import Conversation
from memory_core.evaluation.readers import DIALOGUE, read

CATEGORIES = {
    "single-hop",
    "multi-hop",
    "temporal",
    "update",
    "paraphrase",
    "association",
    "unanswerable",
}


@pytest.fixture(scope="module")
def raw() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(DIALOGUE.read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="module")
def dialogue() -> Conversation:
    (conversation,) = read(DIALOGUE)
    return conversation


def test_two_people_talk_for_weeks(raw: dict[str, Any], dialogue: Conversation) -> None:
    assert len(dialogue.turns) >= 160
    dates = [session["date"] for session in raw["sessions"]]
    assert len(dates) >= 10
    assert dates == sorted(dates)
    assert {turn.speaker for turn in dialogue.turns} == set(raw["people"])
    times = [turn.when or 0 for turn in dialogue.turns]
    assert times[-1] - times[0] > 28 * 86_400


def test_turn_ids_name_session_and_place(raw: dict[str, Any]) -> None:
    for session in raw["sessions"]:
        ids = [turn["id"] for turn in session["turns"]]
        assert ids == [f"{session['id']}t{n:02d}" for n in range(1, len(ids) + 1)]


def test_no_turn_repeats_another(dialogue: Conversation) -> None:
    repeats = [text for text, n in Counter(t.text for t in dialogue.turns).items() if n > 1]
    assert repeats == []


def test_questions_cover_every_category(dialogue: Conversation) -> None:
    counts = Counter(question.category for question in dialogue.questions)
    assert set(counts) == CATEGORIES
    assert counts["unanswerable"] >= 15
    assert counts.total() - counts["unanswerable"] >= 60
    for question in dialogue.questions:
        assert bool(question.evidence) == (question.category != "unanswerable")
        assert bool(question.answer) == bool(question.evidence)
    assert len({question.text for question in dialogue.questions}) == counts.total()


def test_marked_entities_stand_in_their_turns(raw: dict[str, Any]) -> None:
    marked = [
        turn for session in raw["sessions"] for turn in session["turns"] if "entities" in turn
    ]
    assert len(marked) >= 40
    assert any(not turn["entities"] for turn in marked)
    for turn in marked:
        for entity in turn["entities"]:
            assert re.search(rf"\b{re.escape(entity)}\b", turn["text"]), (turn["id"], entity)


def test_the_street_links_two_texts_that_the_model_finds_unlike(
    dialogue: Conversation, minilm: Embedder
) -> None:
    texts = [turn.text for turn in dialogue.turns if "Tannery Row" in turn.text]
    assert len(texts) == 2
    one, other = minilm.documents(texts)
    assert float(one @ other) < 0.2


def test_wildlife_never_uses_the_words_of_its_query(dialogue: Conversation) -> None:
    said = " ".join(turn.text for turn in dialogue.turns).casefold()
    for word in ("zebra", "stripe", "savannah", "safari", "africa", "wildlife", "animal"):
        assert word not in said
    wild = next(question for question in dialogue.questions if question.text == "zebra")
    assert len(wild.evidence) >= 4


def test_the_questions_are_neither_trivial_nor_hopeless(
    dialogue: Conversation, minilm: Embedder
) -> None:
    means = {}
    for name in ("dense", "bm25"):
        rankings = Baselines(dialogue, minilm).rank(name, 50)
        means[name] = np.mean(
            [
                metrics.recall_at(ranking, question.evidence, 10)
                for question, ranking in zip(dialogue.questions, rankings, strict=True)
                if question.evidence
            ]
        )
    assert 0.5 < means["dense"] < 0.85
    assert 0.4 < means["bm25"] < 0.85
