"""3,260 pairs of notes, half of which both hold: none of these is called superseded."""

from __future__ import annotations

import json
from pathlib import Path

from memory_core.beliefs.compare import compare_texts
from memory_core.beliefs.competing import Nearness

DATA = Path(__file__).parent / "data"
NEAR = Nearness(0.9)
"""Of two texts that are as near as such pairs ever are: nothing is held back as too far."""


def test_what_holds_is_never_superseded() -> None:
    pairs = json.loads((DATA / "replaced.json").read_text("utf-8"))
    found = {
        pair["id"]: compare_texts(pair["older"], pair["newer"], NEAR)
        for pair in pairs
        if pair["first"] == "older"
    }
    assert len(found) > 1_600
    assert [id for id, each in found.items() if each is not None and each.supersedes] == []
