"""The recorded facts of the project's dialogue take the way of a model's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evals.recorded import FACTS, RecordedEncoder

from memory_core.config import GistSettings, Settings
from memory_core.errors import InvalidInput
from memory_core.evaluation import readers
from memory_core.evaluation.conversation import Conversation, Turn
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me")


@pytest.fixture(scope="module")
def dialogue() -> Conversation:
    return readers.read(readers.DIALOGUE, "dialogue")[0]


@pytest.mark.long
def test_every_recorded_fact_passes_the_checks_and_points_to_its_turns(
    dialogue: Conversation, tmp_path: Path, toy: Any
) -> None:
    settings = Settings(data_dir=tmp_path, gist=GistSettings(daily_tokens=10**7))
    with Memory(settings, embedder=toy, encoder=RecordedEncoder(dialogue)) as memory:
        assert memory.wait_ready(120.0)
        turn_of = {}
        for turn in dialogue.turns:
            receipt = memory.remember(
                ME,
                RememberRequest(
                    turn.text, speaker=turn.speaker, session=turn.session, when=turn.when or ""
                ),
            )
            turn_of[receipt.id] = turn.id
        assert memory.encode(ME, "0001-01-01").left == 0
        taken = {
            found.text: {turn_of[id] for id in found.derived_from}
            for found in memory.listing(ME, limit=1000)
            if found.extracted
        }
    recorded = json.loads(FACTS.read_text("utf-8"))
    assert {fact["text"] for fact in recorded} == taken.keys()
    assert all(set(fact["sources"]) <= taken[fact["text"]] for fact in recorded)


def test_facts_of_another_conversation_are_refused() -> None:
    other = Conversation("talk", (Turn("t1", "Hello there."),), ())
    with pytest.raises(InvalidInput, match="not about talk"):
        RecordedEncoder(other)


def test_what_is_not_recorded_is_left_to_rules(dialogue: Conversation) -> None:
    encoder = RecordedEncoder(dialogue)
    assert encoder.summarise(["Ann has a cat."], 1).text == ""
    assert encoder.relate("a", "b").relation == ""
