"""Hooks of Claude Code and Cursor: what comes in, what goes out, and never in the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config import LimitSettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.errors import StorageError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.hooks import hooks
from server.hooks.hooks import Hooks

ME = Identity("me")
NOW = 1_780_000_000.0
FACT = "The staging database moved to port 6543 because the old server is retired in March."
QUESTION = "Which port does the staging database listen on since the old server is retired?"


@pytest.fixture
def memory(tmp_path: Path, minilm: Embedder) -> Iterator[Memory]:
    with Memory(Settings(data_dir=tmp_path / "data"), clock=lambda: NOW, embedder=minilm) as made:
        assert made.wait_ready(60)
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    inside = tmp_path / "harbour" / "src"
    inside.mkdir(parents=True)
    (tmp_path / "harbour" / ".git").mkdir()
    return inside


def event(name: str, session: str, cwd: Path | str = "", **more: Any) -> dict[str, Any]:
    """What Claude Code sends."""
    base = {"session_id": session, "transcript_path": "/t.jsonl", "cwd": str(cwd)}
    return {**base, "hook_event_name": name, **more}


def in_cursor(name: str, session: str, roots: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """What Cursor sends."""
    base = {"conversation_id": session, "generation_id": "g", "workspace_roots": list(roots)}
    return {**base, "hook_event_name": name, **more}


def context(answer: dict[str, Any], name: str) -> str:
    assert answer.keys() == {"hookSpecificOutput"}
    added = answer["hookSpecificOutput"]
    assert added.keys() == {"hookEventName", "additionalContext"}
    assert added["hookEventName"] == name
    assert len(added["additionalContext"]) <= 8_000
    return str(added["additionalContext"])


def texts(memory: Memory) -> list[str]:
    return sorted(each.text for each in memory.listing(ME, limit=50))


def test_what_one_conversation_said_another_is_reminded_of(memory: Memory, project: Path) -> None:
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, event("UserPromptSubmit", "one", project, prompt=FACT)) == {}
    reminded = answering.answer(ME, event("UserPromptSubmit", "two", project, prompt=QUESTION))
    added = context(reminded, "UserPromptSubmit")
    assert FACT in added
    assert "recalled" in added.casefold()
    assert QUESTION not in added
    kept = {each.text: each for each in memory.listing(ME, limit=50)}
    assert kept[FACT].tags == ("project:harbour",)
    assert (kept[FACT].session, kept[FACT].role, kept[FACT].trust) == ("one", "user", "user")


def test_a_conversation_is_not_reminded_of_itself(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=FACT))
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt=QUESTION)) == {}


def test_silent_when_unsure(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, RememberRequest(FACT))
    asked = event("UserPromptSubmit", "two", prompt="How do penguins keep their eggs warm?")
    assert answering.answer(ME, asked) == {}


def test_what_was_recalled_is_not_captured_again(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, RememberRequest(FACT))
    reminded = answering.answer(ME, event("UserPromptSubmit", "two", prompt=QUESTION))
    added = context(reminded, "UserPromptSubmit")
    before = texts(memory)
    for echo in (added, FACT):
        answering.answer(ME, event("Stop", "two", last_assistant_message=echo))
    assert texts(memory) == before


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Stop", "last_assistant_message"),
        ("PreCompact", "last_assistant_message"),
        ("PostCompact", "compact_summary"),
    ],
)
def test_answers_and_summaries_are_captured_as_the_assistants(
    memory: Memory, name: str, field: str
) -> None:
    said = "We decided to ship the harbour release on Friday after the load test."
    assert Hooks(memory, lambda: NOW).answer(ME, event(name, "one", **{field: said})) == {}
    (kept,) = memory.listing(ME)
    assert (kept.text, kept.role, kept.trust, kept.session) == (said, "assistant", "agent", "one")


def test_what_a_compaction_is_to_keep_is_the_users(memory: Memory) -> None:
    wish = "Keep the decision that the harbour release ships on Friday."
    asked = event("PreCompact", "one", trigger="manual", custom_instructions=wish)
    assert Hooks(memory, lambda: NOW).answer(ME, asked) == {}
    (kept,) = memory.listing(ME)
    assert (kept.text, kept.role, kept.trust) == (wish, "user", "user")


def test_what_is_longer_than_a_memory_is_captured_in_parts(open_memory: Any) -> None:
    memory = open_memory(limits=LimitSettings(text_chars=300))
    lines = [f"Paragraph {number} tells what the tide did that day." for number in range(20)]
    asked = event("UserPromptSubmit", "one", prompt="\n".join(lines))
    assert Hooks(memory, lambda: NOW).answer(ME, asked) == {}
    kept = sorted(memory.listing(ME, session="one"), key=lambda each: each.position)
    assert len(kept) == 4
    assert [line for each in kept for line in each.text.strip().split("\n")] == lines


def test_what_follows_the_first_part_of_a_long_prompt_is_pasted(open_memory: Any) -> None:
    memory = open_memory(limits=LimitSettings(text_chars=300))
    lines = [f"Paragraph {number} tells what the tide did that day." for number in range(12)]
    Hooks(memory, lambda: NOW).answer(ME, event("UserPromptSubmit", "one", prompt="\n".join(lines)))
    kept = sorted(memory.listing(ME, session="one"), key=lambda each: each.position)
    assert [each.trust for each in kept] == ["user", "quoted"]


@given(st.text(max_size=300), st.integers(2, 40))
def test_parts_lose_nothing_and_keep_to_the_length(text: str, most: int) -> None:
    found = list(hooks.parts(text, most))
    assert "".join(found) == text
    assert all(0 < len(part) <= most for part in found) or found == [text]


def test_what_the_conversation_itself_knows_makes_nothing_else_sure(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, RememberRequest("The beach hut was painted in a pale yellow last summer."))
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=FACT))
    assert memory.recall(ME, RecallRequest(QUESTION, session="one")).feeling in ("high", "moderate")
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt=QUESTION)) == {}


def test_small_talk_is_not_captured(memory: Memory) -> None:
    Hooks(memory, lambda: NOW).answer(ME, event("UserPromptSubmit", "one", prompt="ok thanks"))
    assert memory.listing(ME) == []


def test_the_briefing_prefers_the_project_and_leaves_others_out(
    memory: Memory, project: Path
) -> None:
    memory.remember(
        ME,
        RememberRequest("Harbour is deployed from the release branch.", tags=["project:harbour"]),
    )
    memory.remember(
        ME, RememberRequest("Lighthouse uses trunk based development.", tags=["project:lighthouse"])
    )
    memory.remember(ME, RememberRequest("Mara likes short commit messages."))
    answer = Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "n", project))
    added = context(answer, "SessionStart")
    assert "release branch" in added
    assert "short commit messages" in added
    assert "trunk based" not in added


def test_the_briefing_finds_the_project_behind_much_that_is_newer(
    memory: Memory, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_LOOKED_AT", 5)
    memory.remember(
        ME,
        RememberRequest("Harbour is deployed from the release branch.", tags=["project:harbour"]),
    )
    for number in range(6):
        memory.remember(
            ME, RememberRequest(f"Errand {number} is done and paid for.", when=NOW + number)
        )
    answer = Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "n", project))
    assert "release branch" in context(answer, "SessionStart")


def test_a_project_is_no_access_right(memory: Memory, project: Path) -> None:
    """Another project's memories come last, but they come; another agent's never do."""
    memory.remember(ME, RememberRequest(FACT, tags=["project:lighthouse"]))
    answering = Hooks(memory, lambda: NOW)
    asked = event("UserPromptSubmit", "two", project, prompt=QUESTION)
    assert FACT in context(answering.answer(ME, asked), "UserPromptSubmit")
    memory.remember(Identity("else"), RememberRequest(FACT + " Really.", tags=["project:harbour"]))
    added = context(answering.answer(ME, asked | {"session_id": "three"}), "UserPromptSubmit")
    assert "Really" not in added


def test_an_empty_memory_says_nothing(memory: Memory) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "one")) == {}


def test_long_memories_are_added_within_the_limit(open_memory: Any) -> None:
    memory = open_memory()
    for number in range(8):
        memory.remember(
            ME, RememberRequest(f"Chapter {number}. " + "The tide table fills many pages. " * 200)
        )
    added = context(
        Hooks(memory, lambda: NOW).answer(ME, event("SessionStart", "n")), "SessionStart"
    )
    assert "Chapter" in added


def test_a_conversation_that_ends_is_over(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr(
        Memory, "end_session", lambda self, who, session, **_: ended.append(session)
    )
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, event("SessionEnd", "one", reason="exit")) == {}
    assert answering.answer(ME, in_cursor("sessionEnd", "two")) == {}
    assert ended == ["one", "two"]


def test_cursor_captures_and_is_briefed_at_the_beginning(memory: Memory, project: Path) -> None:
    answering = Hooks(memory, lambda: NOW)
    roots = [str(project)]
    asked = in_cursor("beforeSubmitPrompt", "one", roots, prompt=FACT)
    assert answering.answer(ME, asked) == {"continue": True}
    said = "I changed the port in every configuration file of the staging cluster."
    assert answering.answer(ME, in_cursor("afterAgentResponse", "one", roots, text=said)) == {}
    assert texts(memory) == sorted([FACT, said])
    begun = answering.answer(ME, in_cursor("sessionStart", "two", roots))
    assert begun.keys() == {"additional_context"}
    assert FACT in begun["additional_context"]


@pytest.mark.parametrize("name", ["PreToolUse", "", "stop"])
def test_other_events_are_nothing_to_us(memory: Memory, name: str) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, event(name, "one", prompt=FACT)) == {}
    assert memory.listing(ME) == []


@pytest.mark.parametrize("payload", [{}, {"hook_event_name": 3}, {"hook_event_name": "Stop"}])
def test_odd_payloads_are_nothing_too(memory: Memory, payload: dict[str, Any]) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, payload) == {}


def test_a_project_is_its_repository(project: Path, tmp_path: Path) -> None:
    assert hooks.project_tag({"cwd": str(project)}) == "project:harbour"
    assert hooks.project_tag({"workspace_roots": [str(project)]}) == "project:harbour"
    assert hooks.project_tag({"cwd": str(tmp_path)}) == ""
    assert hooks.project_tag({"workspace_roots": []}) == ""
    assert hooks.project_tag({"cwd": 7}) == ""


def test_a_failure_is_logged_without_its_text_and_is_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails() -> dict[str, Any]:
        raise StorageError("the secret text", "try again")

    assert hooks.silently(fails) == {}
    assert "StorageError" in caplog.text
    assert "secret" not in caplog.text
