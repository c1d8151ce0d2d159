"""Half a year of daily notes: sleep halves what is searched first, recall stays, undo is exact.

The notes and questions were written for this project; the model is the real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.minilm import MiniLM
from memory_core.memory import Memory
from memory_core.records import Identity

ME = Identity("me")
DATA = Path(__file__).parent / "data"
START, DAY = 1_704_700_800.0, 86_400.0  # Monday, 8 January 2024


def lines(name: str) -> list[str]:
    text = (DATA / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class Remembering:
    """The real model; each text is embedded once."""

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._known: dict[str, NDArray[np.float32]] = {}
        self.name, self.fingerprint = model.name, model.fingerprint
        self.dimension, self.profile = model.dimension, model.profile

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._model.documents(new), strict=True))
        return np.stack([self._known[text] for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        return self._model.query(text)


class Diary:
    """One store with a clock set by hand and all notes in it, 75 days after the last."""

    def __init__(self, directory: Path, model: Any) -> None:
        self.now = START
        still = ConsolidationSettings(automatic=False)
        settings = Settings(data_dir=directory, consolidation=still)
        self.memory = Memory(settings, clock=lambda: self.now, embedder=model)
        assert self.memory.wait_ready(60.0)
        self.ids: dict[str, str] = {}
        for number, note in enumerate(lines("daily_notes.txt")):
            self.now = START + number * DAY
            self.ids[note] = self.memory.remember(ME, note).id
        self.now += 75 * DAY

    def export(self) -> str:
        return json.dumps(list(self.memory.export(ME)), sort_keys=True)

    def searched_first(self) -> int:
        rows = list(self.memory.export(ME))
        return sum(row["retired_at"] is None and not row["replaced"] for row in rows)

    def sleep(self, times: int) -> list[str]:
        runs = []
        for _ in range(times):
            report = self.memory.consolidate(ME)
            assert report.status == "completed"
            runs.append(report.run)
            self.now += 7 * DAY
        return runs

    def recall_10(self) -> float:
        shares = []
        for line in lines("daily_questions.txt"):
            question, answers = line.split(" | ")
            wanted = {self._id(start) for start in answers.split("; ")}
            found = self.memory.recall(ME, question, k=10, context=0)
            given = {hit.memory.id for hit in (*found.hits, *found.partial)}
            shares.append(len(wanted & given) / len(wanted))
        return sum(shares) / len(shares)

    def _id(self, start: str) -> str:
        (found,) = [id for note, id in self.ids.items() if note.startswith(start)]
        return found


@pytest.fixture(scope="module")
def model(minilm: MiniLM) -> Remembering:
    return Remembering(minilm)


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory, model: Remembering) -> Iterator[Diary]:
    made = Diary(tmp_path_factory.mktemp("diary") / "store", model)
    yield made
    made.memory.close()


@pytest.mark.timeout(600)
def test_sleep_halves_what_is_searched_first_and_recall_does_not_fall(
    diary: Diary, tmp_path: Path, model: Remembering
) -> None:
    awake = Diary(tmp_path / "awake", model)
    before, reached = diary.searched_first(), awake.recall_10()
    awake.memory.close()
    exported, now = diary.export(), diary.now
    for run in reversed(diary.sleep(3)):
        undone = diary.memory.consolidate(ME, undo=run)
        assert (undone.status, undone.kept) == ("undone", ())
    assert diary.export() == exported, "undo brings everything back, byte for byte"
    diary.now = now
    diary.sleep(3)
    assert diary.searched_first() <= before / 2
    assert {diary.memory.get(ME, id).text for id in diary.ids.values()} == set(diary.ids)
    assert reached > 0.9
    assert diary.recall_10() >= reached


def test_a_broad_cue_finds_the_summary_and_a_specific_one_its_source(diary: Diary) -> None:
    diary.sleep(3)
    broad = diary.memory.recall(ME, "How did the running with Judit go this year?", k=10)
    assert {hit.memory.kind for hit in broad.hits} & {"summary", "concept"}
    specific = diary.memory.recall(ME, "What time did we run in the city run in Graz?", k=5)
    race = next(id for note, id in diary.ids.items() if note.startswith("City run in Graz"))
    assert race in {hit.memory.id for hit in specific.hits}
