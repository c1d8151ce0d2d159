"""`anamnesis history` and `anamnesis forget --source` over a real memory."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from memory_core.errors import InvalidInput
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli.commands import forget, history

ME = Identity("me")


def asked(id: str, undo: int = 0) -> Namespace:
    return Namespace(id=id, undo=undo)


def test_history_shows_each_change_and_takes_one_back(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    memory.remember(ME, RememberRequest("mara lives in graz!"))
    new = memory.remember(ME, RememberRequest("Mara lives in Linz.", replaces=old)).id
    shown = history(memory, ME, asked(old))
    whats = [row["what"] for row in shown.data]
    assert whats[0] == "begins: Mara lives in Graz."
    assert "said again: mara lives in graz!" in whats
    assert new in whats[-1]
    assert "superseded_by" in shown.text
    number = shown.data[-1]["change"]
    done = history(memory, ME, asked(old, number))
    assert done.data["change"] == number
    assert memory.get(ME, old).superseded_by == ""
    last = history(memory, ME, asked(old)).data[-1]
    assert (last["how"], last["who"]) == (f"undo of change {number}", "me")


def test_forget_by_source_previews_and_deletes(memory: Memory) -> None:
    for text in ("Do this.", "Do that."):
        memory.remember(ME, RememberRequest(text, source="bad.md"))
    values: dict[str, Any] = {"ids": [], "query": "", "reason": "", "allow_again": False}

    def run(**given: Any) -> Any:
        return forget(memory, ME, Namespace(**{**values, "source": "bad.md", **given})).data

    assert (run(yes=False)["status"], len(run(yes=False)["removed"])) == ("preview", 2)
    assert memory.stats(ME)["memories"] == 2
    assert (run(yes=True)["status"], memory.stats(ME)["memories"]) == ("forgotten", 0)
    with pytest.raises(InvalidInput):
        run(yes=True, ids=["x"])
