"""Names by a spaCy pipeline: a real one where spaCy is installed, and none where it is not."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import EncoderUnavailable
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.names.spacy import SpacyNames

ME = Identity("me")
TEXT = "on tuesday the gull's nest and mossy hollow sent two letters to mossy hollow"

OpenMemory = Callable[..., Memory]


@pytest.fixture
def pipeline(tmp_path: Path) -> str:
    """A folder with a pipeline that knows a house, a place and a day."""
    spacy: Any = pytest.importorskip("spacy")
    made = spacy.blank("en")
    patterns = {"the gull's nest": "FAC", "mossy hollow": "GPE", "tuesday": "DATE"}
    made.add_pipe("entity_ruler").add_patterns(
        [{"label": label, "pattern": words} for words, label in patterns.items()]
    )
    made.to_disk(tmp_path / "pipeline")
    return str(tmp_path / "pipeline")


def entities(memory: Memory) -> list[str]:
    (record,) = memory.export(ME)
    return list(record["entities"])


def test_a_pipeline_finds_what_has_a_name(pipeline: str) -> None:
    assert SpacyNames(pipeline)(TEXT) == ("gull's nest", "mossy hollow")
    assert SpacyNames(pipeline)("") == ()


def test_its_names_join_those_of_the_rules(pipeline: str, open_memory: OpenMemory) -> None:
    memory = open_memory("named", names={"spacy": pipeline})
    memory.remember(ME, RememberRequest(f"Ana Ruiz wrote: {TEXT}."))
    assert {"Ana Ruiz", "gull's nest", "mossy hollow"} <= set(entities(memory))


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(EncoderUnavailable, match="no_such_model"):
        SpacyNames("no_such_model")(TEXT)


def test_without_spacy_the_rules_serve_and_the_log_says_so(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    memory = open_memory("plain", names={"spacy": "en_core_web_sm"})
    with caplog.at_level(logging.WARNING):
        memory.remember(ME, RememberRequest("Ana Ruiz moved to Lisbon."))
        memory.remember(ME, RememberRequest("Ana Ruiz likes it there."))
    assert "Ana Ruiz" in {name for record in memory.export(ME) for name in record["entities"]}
    told = [record.message for record in caplog.records if "spaCy" in record.message]
    assert len(told) == 1
    assert "pip install" in told[0]
