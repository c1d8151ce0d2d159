"""The three earlier systems: their formulas, by hand, on vectors that are easy to see."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from evals.earlier_systems import (
    SYSTEMS,
    AgentMemory,
    CognitiveMemoryModel,
    SimpleMemory,
    Stored,
    rankings,
)

from memory_core.evaluation.conversation import Conversation

DAY = 86_400.0


def stored(angles: list[float], days: list[float], texts: list[str] | None = None) -> Stored:
    vectors = np.array([[math.cos(a), math.sin(a)] for a in angles])
    return Stored(texts or [f"turn {n}" for n in range(len(angles))], vectors, np.array(days) * DAY)


QUERY = np.array([1.0, 0.0])


def test_simple_memory_gives_nothing_below_its_floor_but_the_last_turns() -> None:
    far = stored([1.2] * 70, [70.0 - n for n in range(70)])
    assert SimpleMemory().rank(far, QUERY) == [65, 66, 67, 68, 69]
    assert len(SimpleMemory(floor=0.0).rank(far, QUERY)) == 6 + 5


def test_simple_memory_fuses_similarity_and_recency_in_its_recent_tier() -> None:
    angles = [1.5] * 60
    angles[5], angles[30] = 0.0, 0.3
    days = [0.5] * 60
    days[5] = 20.0
    order = SimpleMemory(k=2).rank(stored(angles, days), QUERY)[:2]
    near = 0.6 * 1.0 + 0.3 * math.exp(-20 / 7)
    fresh = 0.6 * math.cos(0.3) + 0.3 * math.exp(-0.5 / 7)
    assert (near < fresh, order) == (True, [30, 5])


def test_simple_memory_looks_at_ten_of_its_recent_tier() -> None:
    # the eleventh is fresh enough to win if it were looked at
    angles = [1.5] * 60
    angles[:11] = [0.01 * n for n in range(10)] + [0.2]
    days = [60.0] * 60
    days[10] = 0.0
    assert 10 not in SimpleMemory().rank(stored(angles, days), QUERY)
    assert SimpleMemory(candidates=11).rank(stored(angles, days), QUERY)[0] == 10


def test_simple_memory_takes_two_members_of_each_of_its_nearest_nodes() -> None:
    angles = [0.1] * 20 + [1.3] * 20 + [2.5] * 60
    system = SimpleMemory(floor=0.0, nodes=1, members=2, k=6)
    found = system.rank(stored(angles, [30.0] * 100), QUERY)
    assert {turn for turn in found if turn < 40} == {0, 1, 2, 3}
    wider = SimpleMemory(floor=0.0, nodes=2, members=1, k=60)
    from_nodes = {turn for turn in wider.rank(stored(angles, [30.0] * 100), QUERY) if turn < 40}
    assert from_nodes == {0, 1, 20, 21}


def test_simple_memory_splits_a_node_that_is_too_large() -> None:
    # 12 pairs within 0.70 of each other, in two groups that 0.75 tells apart
    angles = [0.0] * 12 + [0.75] * 12
    vectors = stored(angles, [0.0] * 24).vectors
    assert [len(node) for node in SimpleMemory(node_cap=30)._clusters(vectors)] == [24]
    assert [len(node) for node in SimpleMemory(node_cap=20)._clusters(vectors)] == [12, 12]


def test_cognitive_memory_model_multiplies_similarity_decay_and_importance() -> None:
    angles, days = [0.0, 0.05, 1.0], [3.0, 0.0, 0.0]
    order = CognitiveMemoryModel(spread_factor=0.0).rank(stored(angles, days), QUERY)
    assert math.exp(-1e-5 * 3 * DAY) < math.cos(1.0)
    assert order == [1, 2, 0]
    no_decay = CognitiveMemoryModel(spread_factor=0.0, decay_rate=0.0)
    # the first is novel, the second repeats it
    assert no_decay.rank(stored(angles, days), QUERY)[0] == 0


def test_cognitive_memory_model_reaches_what_shares_a_name() -> None:
    texts = [
        "We had lunch on Quill Street.",
        "It rains.",
        "The archive on Quill Street was flooded.",
    ]
    space = stored([0.0, 1.2, 1.5], [0.0, 0.0, 0.0], texts)
    system = CognitiveMemoryModel(k=1, overfetch=1, neighbours=0)
    assert system.rank(space, QUERY) == [0]
    reach = CognitiveMemoryModel(k=3, overfetch=1, neighbours=0)
    few = stored([0.0, 1.4, 1.45, 1.5], [0.0] * 4, [texts[0], "x", "y", texts[2]])
    assert 3 in CognitiveMemoryModel(k=2, overfetch=1, neighbours=0).rank(few, QUERY)
    assert set(reach.rank(space, QUERY)) == {0, 1, 2}


def test_agent_memory_weighs_then_diversifies() -> None:
    angles, days = [0.0, 0.01, 0.6, 1.4], [0.0, 0.0, 0.0, 0.0]
    plain = AgentMemory(k=2, mmr_lambda=1.0).rank(stored(angles, days), QUERY)
    assert plain == [0, 1]
    alike = stored([0.5, 0.51, -0.6], [0.0] * 3)
    assert AgentMemory(k=2, mmr_lambda=1.0).rank(alike, QUERY) == [0, 1]
    assert AgentMemory(k=2).rank(alike, QUERY) == [0, 2]
    old = AgentMemory(k=2, mmr_lambda=1.0).rank(stored(angles, [300.0, 0.0, 0.0, 0.0]), QUERY)
    assert old == [1, 2]
    half = AgentMemory(k=1, mmr_lambda=1.0)
    # a half-life of 30 days costs 0.15, as much as 0.3 of cosine
    pair = stored([0.0, math.acos(0.69)], [30.0, 0.0])
    assert half.rank(pair, QUERY) == [0]
    assert half.rank(stored([0.0, math.acos(0.71)], [30.0, 0.0]), QUERY) == [1]


@pytest.mark.parametrize("system", [SimpleMemory(), CognitiveMemoryModel(), AgentMemory()])
@pytest.mark.parametrize("count", [1, 2, 21, 61, 75])
def test_any_number_of_turns_has_a_ranking_without_repeats(
    system: SimpleMemory | CognitiveMemoryModel | AgentMemory, count: int
) -> None:
    generator = np.random.default_rng(count)
    space = stored(
        generator.uniform(0, 1.5, count).tolist(), generator.uniform(0, 90, count).tolist()
    )
    found = system.rank(space, QUERY)
    assert len(found) == len(set(found))
    assert set(found) <= set(range(count))
    assert found


def test_every_system_ranks_the_turns_of_a_conversation_by_id(
    conversation: Conversation, embedder: Any
) -> None:
    found = rankings(conversation, embedder, k=2)
    assert found.keys() == SYSTEMS.keys()
    ids = [turn.id for turn in conversation.turns]
    for lists in found.values():
        assert len(lists) == len(conversation.questions)
        assert all(len(ranking) <= 2 and set(ranking) <= set(ids) for ranking in lists)
