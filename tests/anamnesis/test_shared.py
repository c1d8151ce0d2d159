"""The memory of the machine's engine: found, started, lost and found again; alone where none is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import openai
import pytest

import anamnesis
from anamnesis import AsyncMemory, InvalidInput, Memory
from anamnesis.adapters.memory_tool import MemoryTool
from tests.anamnesis.stand_in import SAID

pytestmark = pytest.mark.usefixtures("processes")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    place = tmp_path / "data"
    for name, value in (("DATA_DIR", str(place)), ("OFFLINE", "1"), ("SHARED", "on")):
        monkeypatch.setenv(f"ANAMNESIS_{name}", value)
    yield place
    engines.end(place)


def test_programs_share_one_engine_and_keep_their_agents_apart(folder: Path, model: Any) -> None:
    with Memory.shared(agent="ann") as ann, Memory.shared(agent="ben") as ben:
        assert (ann.identity.agent, ben.identity.agent) == ("ann", "ben")
        told = ann.remember("The wheelbarrow is behind the shed.")
        assert ann.recall("where is the wheelbarrow?").texts
        assert ben.recall("where is the wheelbarrow?").texts == ()
        assert len(engines.alive(folder)) == 1
        assert str(folder) in repr(ann)
        assert [record["id"] for record in ann.export()] == [told.id]
        bare = openai.OpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0)
        with anamnesis.wrap(bare, ann, session="pond") as client:
            said: Any = [{"role": "user", "content": "I hurt my left wrist at Millbrook today."}]
            client.chat.completions.create(model="m", messages=said)
        turns = {(turn.session, turn.role, turn.text) for turn in ann.listing() if turn.role}
        assert turns == {("pond", "user", said[0]["content"]), ("pond", "assistant", SAID)}
        assert "Notes" in MemoryTool(ann).call(
            {"command": "create", "path": "/memories/Notes", "file_text": "x"}
        )


def test_a_data_directory_may_have_any_name(folder: Path) -> None:
    place = folder / "C# 100%41" / "api" / "v1"
    with Memory.shared(agent="ann", data_dir=place) as ann:
        told = ann.remember("The wheelbarrow is behind the shed.")
        assert ann.get(told.id).agent == "ann"
        assert len(engines.alive(place)) == 1
    engines.end(place)


def test_an_engine_that_was_killed_is_followed_by_another(folder: Path) -> None:
    with Memory.shared(agent="ann") as ann:
        told = ann.remember("The wheelbarrow is behind the shed.")
        (first,) = engines.alive(folder)
        os.kill(first, signal.SIGKILL)
        engines.until_gone(folder, of=[first])
        assert ann.get(told.id).text == "The wheelbarrow is behind the shed."
        (second,) = engines.alive(folder)
        assert second != first


def test_without_an_engine_it_is_opened_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANAMNESIS_SHARED", "off")
    with Memory.shared(agent="ann") as ann:
        id = ann.remember("The wheelbarrow is behind the shed.").id
        assert engines.alive(folder) == []
    monkeypatch.setenv("ANAMNESIS_SHARED", "on")
    with Memory.shared(agent="ann") as ann:
        assert ann.get(id).agent == "ann"
        assert len(engines.alive(folder)) == 1
        engines.end(folder)
    monkeypatch.setenv("ANAMNESIS_SHARED", "off")
    monkeypatch.setenv("ANAMNESIS_PORT", "-1")
    with pytest.raises(InvalidInput):
        Memory.shared()


@pytest.mark.anyio
async def test_it_is_awaited(folder: Path) -> None:
    async with await AsyncMemory.shared(agent="ann") as ann:
        await ann.remember("The wheelbarrow is behind the shed.")
        assert (await ann.stats())["memories"] == 1
