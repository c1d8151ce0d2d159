"""`anamnesis history` and `anamnesis forget --source` over a real memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from memory_core.errors import InvalidInput
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main
from server.cli.console import Outcome
from server.cli.invocation import Invocation

ME = Identity("me")


@pytest.fixture
def run(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run a command over *memory*, as the agent `me`."""
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(invocation, "open_memory", lambda settings: nullcontext(memory))
    return lambda *words: main.run(words, Invocation())


def test_history_shows_each_change_and_undoes_one(
    memory: Memory, run: Callable[..., Outcome]
) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    memory.remember(ME, RememberRequest("mara lives in graz!"))
    new = memory.remember(ME, RememberRequest("Mara lives in Linz.", replaces=old)).id
    shown = run("history", old)
    whats = [row["what"] for row in shown.data]
    assert whats[0] == "begins: Mara lives in Graz."
    assert "said again: mara lives in graz!" in whats
    assert new in whats[-1]
    assert "superseded_at = 2024-06-01T00:00:00Z" in whats[-1]
    assert shown.text.startswith(f"version 1, new; the latest is {new}\n")
    assert run("history", new).text.startswith(f"version 2, updates {old}\n")
    number = shown.data[-1]["change"]
    done = run("history", old, "--undo", str(number))
    assert done.data["change"] == number
    assert memory.get(ME, old).superseded_by == ""
    last = run("history", old).data[-1]
    assert (last["how"], last["who"]) == (f"undo of change {number}", "me")


def test_forget_by_source_previews_and_deletes(memory: Memory, run: Callable[..., Outcome]) -> None:
    for text in ("Do this.", "Do that."):
        memory.remember(ME, RememberRequest(text, source="bad.md"))
    command = ("forget", "--source", "bad.md")
    preview = run(*command).data
    assert (preview["status"], len(preview["removed"])) == ("preview", 2)
    assert memory.stats(ME)["memories"] == 2
    assert run(*command, "--yes").data["status"] == "forgotten"
    assert memory.stats(ME)["memories"] == 0
    with pytest.raises(InvalidInput):
        run(*command, "--yes", "x")
