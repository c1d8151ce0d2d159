"""`anamnesis history` and `anamnesis forget --source` over a real memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from memory_core.errors import InvalidInput
from memory_core.link_kinds import KNOWN
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.accesses import CO_RECALL
from server.cli import invocation, main
from server.cli.console import Outcome
from server.cli.invocation import Invocation
from server.cli.plain_words import plain

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
    assert "replaced at = 2024-06-01T00:00:00Z" in " ".join(shown.text.split())
    assert "superseded" not in shown.text
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


def test_a_preview_of_what_is_out_of_date_says_so(
    memory: Memory, run: Callable[..., Outcome]
) -> None:
    old = memory.remember(ME, RememberRequest("The ferry leaves at nine.")).id
    new = memory.remember(ME, RememberRequest("It sails at ten.", replaces=old)).id
    preview = run("forget", "--query", "ferry nine")
    assert [each["id"] for each in preview.data["removed"]] == [old]
    assert f"note: out of date: {old}; the newer text stays: {new}\n" in preview.text


def test_the_tables_have_words_and_json_has_names(
    memory: Memory, run: Callable[..., Outcome]
) -> None:
    first = memory.remember(Identity("my_agent"), RememberRequest("Otto owns a boat."))
    memory.retire(Identity("my_agent"), first.id, retired=True)
    outcome = run("--agent", "my_agent", "history", first.id)
    assert outcome.data[-1]["how"] == "amend"
    assert "by hand" in outcome.text
    for command in ("stats", "health", "history", "show"):
        words = (first.id,) if command in ("history", "show") else ()
        text = "".join(run("--agent", "my_agent", command, *words).text.split())
        for name in ("my_agent", "long_term", str(memory.settings.data_dir)):  # a value is no name
            text = text.replace(name, "")
        assert "_" not in text
    assert "my_agent 1" in run("--agent", "my_agent", "stats").text
    assert "topics_of_one" in run("stats").data


@pytest.mark.parametrize("kind", sorted({*KNOWN, CO_RECALL}))
def test_no_kind_of_link_is_shown_as_the_program_names_it(kind: str) -> None:
    assert "_" not in plain(kind)
