"""Hooks of Claude Code and Cursor: what comes in, what goes out, and never in the way."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config import LimitSettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.errors import DiskFull, StorageError
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.storage.index.analyzer import index_terms
from server.hooks import hooks, leaning, pause, payload, reminder, spool
from server.hooks.command import SENT_CHARS
from server.hooks.draining import Drain
from server.hooks.hooks import Hooks
from server.hooks.reminder import Told

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
    base["project"] = payload.repository(str(cwd))  # as the command does on the client's machine
    return {**base, "hook_event_name": name, **more}


def in_cursor(name: str, session: str, roots: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """What Cursor sends."""
    base = {"conversation_id": session, "generation_id": "g", "workspace_roots": list(roots)}
    base["project"] = payload.repository(roots[0] if roots else "")
    return {**base, "hook_event_name": name, **more}


def context(answer: dict[str, Any], name: str) -> str:
    assert answer.keys() == {"hookSpecificOutput"}
    added = answer["hookSpecificOutput"]
    assert added.keys() == {"hookEventName", "additionalContext"}
    assert added["hookEventName"] == name
    assert len(added["additionalContext"]) <= (1_200 if name == "UserPromptSubmit" else 1_500)
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


def test_what_another_project_said_is_told_with_its_name(memory: Memory, project: Path) -> None:
    answering = Hooks(memory, lambda: NOW)
    answering.answer(ME, event("UserPromptSubmit", "one", project, prompt=FACT))
    here = answering.answer(ME, event("UserPromptSubmit", "two", project, prompt=QUESTION))
    assert "project:" not in context(here, "UserPromptSubmit")
    asked = event("UserPromptSubmit", "three", prompt=QUESTION) | {"project": "lighthouse"}
    added = context(answering.answer(ME, asked), "UserPromptSubmit")
    assert FACT in added
    assert 'tags "project:harbour"' in added


def test_a_question_that_was_asked_before_hides_nothing(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    fact = "I can't have ibuprofen, it gives me hives."
    for text in (fact, FACT, "My sister plays the cello.", "We use pnpm in the web repository."):
        memory.remember(ME, RememberRequest(text))
    asked = "I have a headache, could I take an ibuprofen?"
    for turn in range(4):
        told = answering.answer(ME, event("UserPromptSubmit", f"s{turn}", prompt=asked))
        assert fact in context(told, "UserPromptSubmit")
    assert asked in texts(memory)
    again = "My back hurts again, is ibuprofen fine for that?"
    told = context(
        answering.answer(ME, event("UserPromptSubmit", "t", prompt=again)), "UserPromptSubmit"
    )
    assert fact in told
    assert asked not in told


def test_a_prompt_that_was_captured_before_makes_nothing_else_sure(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    for text in (
        "My sister plays the cello.",
        "We use pnpm in the web repository.",
        "Berta runs the ingress of the office building.",
        "Deploys are on Thursday evenings.",
        "The Kubernetes course is in May.",
        FACT,
    ):
        memory.remember(ME, RememberRequest(text))
    asked = "Our Terraform state is locked since the run of Marek, how do I unlock it?"
    for turn in range(3):
        assert answering.answer(ME, event("UserPromptSubmit", f"s{turn}", prompt=asked)) == {}
    assert asked in texts(memory)


def test_a_conversation_is_not_reminded_of_itself(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=FACT))
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt=QUESTION)) == {}


@pytest.mark.parametrize(
    ("general", "own"),
    [
        ("who founded the Nordwall pottery school", "what did I note of the Nordwall kiln"),
        ("how tall do peonies become", "did the frost get our peonies this time"),
        ("is a hazelnut a nut or a seed", "what may my guests with the hazelnut allergy eat"),
    ],
)
def test_what_asks_of_the_world_is_told_nothing_of_the_same_words(
    memory: Memory, general: str, own: str
) -> None:
    for text in (
        "The Nordwall kiln needs a new door.",
        "The peonies behind the barn were bruised by frost.",
        "Guests on Friday: Odile cannot eat hazelnut.",
        "The choir rehearses in the old chapel.",
        "Our van is due for inspection in May.",
    ):
        memory.remember(ME, RememberRequest(text))
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt=general)) == {}
    asked = event("UserPromptSubmit", "two", prompt=own)
    assert "\n> " in context(answering.answer(ME, asked), "UserPromptSubmit")


@pytest.mark.parametrize(
    ("held", "asked", "anybody"),
    [
        ("Odile has coeliac disease.", "birthday cake recipe", True),
        ("Odile has coeliac disease.", "birthday cake recipe for Odile", False),
        ("Postgres listens on 5433.", "connection refused on 5433", False),
        ("Postgres listens on 5433.", "connection refused on 5432", True),
        ("The exhibition is in 2026.", "best films in 2026", True),
        ("Odile has coeliac disease.", "birthday cake recipe for us", False),
    ],
)
def test_what_names_what_the_memory_names_is_not_anybodys(
    memory: Memory, held: str, asked: str, anybody: bool
) -> None:
    id = memory.remember(ME, RememberRequest(held)).id
    (first,) = memory.recall(ME, RecallRequest(id)).hits
    found = reminder.signs(0.5, first, asked, set(index_terms(asked)))
    assert found["anybody's"] is anybody


@pytest.mark.parametrize(
    ("anybodys", "own"),
    [
        ("who invented the zip?", "when does our zip come?"),
        ("translate this text", "write this to my landlord before the meeting"),
        ("wie alt wird ein Hund", "was muss ich für den Hund noch kaufen"),
        ("yes", "should we"),
    ],
)
def test_words_of_grammar_tell_what_asks_for_something_of_ones_own(anybodys: str, own: str) -> None:
    assert leaning.own(anybodys) < 0 < leaning.own(own)


def test_words_of_grammar_are_no_words_for_things() -> None:
    assert leaning.plain("When do we paint the zip?") == {"when", "do", "we", "the"}


def test_only_the_words_at_the_beginning_of_a_prompt_count() -> None:
    asked = " ".join(f"thing{number}" for number in range(leaning.MOST_WORDS))
    assert leaning.own(f"{asked} for my own") == leaning.own(asked) == leaning.BIAS


def test_a_long_number_that_a_memory_holds_is_known(memory: Memory) -> None:
    for text in ("Postgres listens on 5433.", "The talk is in 2026.", "Six guests at table 12."):
        memory.remember(ME, RememberRequest(text))
    known: list[set[str]] = []
    holds = reminder._holds

    def recorded(hit: Any, terms: set[str]) -> bool:
        known.append(set(terms))
        return holds(hit, terms)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reminder, "_holds", recorded)
        patch.setattr(reminder, "LIKELY", 0.0)
        for prompt in ("what is on 5433", "what happened in 2026", "who sits at table 12"):
            reminder.remind(memory, ME, prompt, "one", frozenset())
    assert "5433" in known[0]
    assert not any({"2026", "12"} & each for each in known)


def test_what_shares_no_rare_word_is_told_only_very_near_the_best(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (
        "Marek fires the big kiln on Mondays.",
        "Marek keeps bees on the roof.",
        "Marek's daughter plays handball.",
        "Marek bakes rye bread.",
        "Marek sings bass.",
        "The landlady lives on the second floor.",
    ):
        memory.remember(ME, RememberRequest(text))
    prompt = "when does Marek fire the big kiln, can I join him"

    def told(nearer: float) -> int:
        monkeypatch.setattr(reminder, "NEAR", 0.0)
        monkeypatch.setattr(reminder, "NEARER", nearer)
        found = reminder.remind(memory, ME, prompt, "one", frozenset())
        assert found is not None
        return len(found.hits)

    assert told(1.0) == 1 < told(0.0)


def test_silent_when_unsure(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, RememberRequest(FACT))
    asked = event("UserPromptSubmit", "two", prompt="How do penguins keep their eggs warm?")
    assert answering.answer(ME, asked) == {}


def test_a_need_is_told_what_helps_and_a_command_of_the_same_words_is_not(memory: Memory) -> None:
    for text in (
        "The choir rehearses in the old chapel on Mondays.",
        "Hakim gets a rash from wool.",
        "Our van is due for inspection in May.",
        "Glazes are mixed with rain water.",
        "The landlady lives on the second floor.",
    ):
        memory.remember(ME, RememberRequest(text))

    def told(prompt: str) -> str:
        return str(
            Hooks(memory, lambda: NOW).answer(ME, event("UserPromptSubmit", "", prompt=prompt))
        )

    asked = "what could I knit for my little brother Hakim that he is able to wear"
    assert "rash from wool" in told(asked)
    helps = told("what should we ask whoever lives below us about the noise")
    assert "landlady" in helps
    shown = re.search(r"confidence ([0-9.]+) \((\w+)\)", helps)
    assert shown is not None
    assert (float(shown[1]) >= reminder.LIKELY, shown[2] != "none") == (True, True)
    assert told("mix the list") == "{}"
    assert told("how do the penguins of the south keep all their eggs warm in winter") == "{}"


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
    lines = [f"Paragraph {number} tells what the tide did that day." for number in range(15)]
    asked = event("UserPromptSubmit", "one", prompt="\n".join(lines))
    assert Hooks(memory, lambda: NOW).answer(ME, asked) == {}
    kept = sorted(memory.listing(ME, session="one"), key=lambda each: each.position)
    assert len(kept) == 3
    assert [line for each in kept for line in each.text.strip().split("\n")] == lines


def test_of_a_very_long_text_the_beginning_and_the_end_are_captured(open_memory: Any) -> None:
    memory = open_memory(limits=LimitSettings(text_chars=300))
    lines = [f"Paragraph {number} tells what the tide did that day." for number in range(20_000)]
    answering = Hooks(memory, lambda: NOW)
    answering.answer(ME, event("Stop", "one", last_assistant_message="\n".join(lines)))
    kept = memory.listing(ME, session="one")
    told = "".join(each.text for each in kept)
    assert len(kept) <= 5
    assert lines[0] in told
    assert lines[-1] in told


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


PORTS = {
    "harbour": "We use pnpm, never npm. The API is on port 4000 and Postgres on 5544.",
    "lighthouse": "We use Poetry and Postgres listens on 5432, the API on port 8000 here.",
}


@pytest.mark.parametrize(
    ("prompt", "mine", "told"),
    [
        ("Which port does Postgres use in this repo?", "lighthouse", ["lighthouse"]),
        ("do we use pnpm or Poetry in this project?", "lighthouse", ["lighthouse"]),
        ("Which port does Postgres use in this repo?", "mill", []),
        ("start Postgres on the usual port", "lighthouse", ["lighthouse", "harbour"]),
        ("which port is postgres on?", "lighthouse", ["lighthouse", "harbour"]),
    ],
)
def test_the_project_of_the_prompt_comes_first(
    memory: Memory, prompt: str, mine: str, told: list[str]
) -> None:
    for text in ("The choir rehearses on Mondays.", "Hakim gets a rash from wool."):
        memory.remember(ME, RememberRequest(text))
    answering = Hooks(memory, lambda: NOW)
    for name, text in PORTS.items():
        answering.answer(ME, event("UserPromptSubmit", name, prompt=text) | {"project": name})
    asked = event("UserPromptSubmit", "new", prompt=prompt) | {"project": mine}
    added = str(answering.answer(ME, asked))
    places = {name: added.find(text) for name, text in PORTS.items() if text in added}
    assert sorted(places, key=lambda name: places[name]) == told


def test_a_recall_in_a_project_finds_what_is_of_it_or_of_none(memory: Memory) -> None:
    for name, text in PORTS.items():
        memory.remember(ME, RememberRequest(text, tags=[f"project:{name}"]))
    memory.remember(ME, RememberRequest("Postgres listens where the operator says."))
    found = memory.recall(ME, RecallRequest("where does Postgres listen?", project="Lighthouse"))
    assert {hit.memory.text for hit in found.hits} == {
        PORTS["lighthouse"],
        "Postgres listens where the operator says.",
    }


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("Schreibe ein Gedicht über den Herbst", ""),
        ("Welche Schlüssel brauche ich für den Keller?", "Der Schlüssel für den Fahrradkeller"),
        ("Wann sind meine Bestellungen wieder dran?", "Die Bestellung für Tee"),
    ],
)
def test_two_german_texts_are_near_by_a_word_that_both_have(
    memory: Memory, prompt: str, told: str
) -> None:
    for text in (
        "Der Schlüssel für den Fahrradkeller hängt am Haken neben der Wohnungstür.",
        "Wir überlegen, ob wir einen Hund wollen.",
        "Wir haben jetzt eine Katze aus dem Tierheim.",
        "Die Bestellung für Tee ist immer am ersten Montag fällig.",
        "Ich trinke jetzt keinen Kaffee mehr, nur noch grünen Tee.",
    ):
        memory.remember(ME, RememberRequest(text))
    asked = event("UserPromptSubmit", "one", prompt=prompt)
    added = str(Hooks(memory, lambda: NOW).answer(ME, asked))
    assert added.count("> ") == bool(told)
    assert told in added


def test_a_summary_of_what_is_told_is_not_told_besides(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW, ends_with_it=True)
    for text in (FACT, "The choir rehearses on Mondays.", "Hakim gets a rash from wool."):
        answering.answer(ME, event("UserPromptSubmit", "one", prompt=text))
    answering.answer(ME, event("SessionEnd", "one"))
    (summary,) = memory.listing(ME, kind="summary")
    assert FACT in summary.text
    asked = event("UserPromptSubmit", "two", prompt=QUESTION)
    assert str(answering.answer(ME, asked)).count(FACT) == 1


def test_what_only_asks_the_same_is_not_told(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    for session, text in (
        ("one", "The ladder is heavy. Where did I leave the ladder?"),
        ("two", "The ladder leans on the shed behind the house."),
    ):
        answering.answer(ME, event("UserPromptSubmit", session, prompt=text))
    for text in ("The choir rehearses on Mondays.", "Hakim gets a rash from wool."):
        memory.remember(ME, RememberRequest(text))
    asked = event("UserPromptSubmit", "three", prompt="where is the ladder?")
    added = str(answering.answer(ME, asked))
    assert "leans on the shed" in added
    assert "is heavy" not in added


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


@pytest.mark.parametrize("odd", [{}, {"hook_event_name": 3}, {"hook_event_name": "Stop"}])
def test_odd_payloads_are_nothing_too(memory: Memory, odd: dict[str, Any]) -> None:
    assert Hooks(memory, lambda: NOW).answer(ME, odd) == {}


def test_another_machines_folders_are_not_looked_at(memory: Memory, project: Path) -> None:
    """Without a name from the client's own machine the path is all that is known."""
    answering = Hooks(memory, lambda: NOW)
    places = {
        project: "The keel of the Ondine was laid on Monday.",
        project.parent: "Our tide tables come from Nordwall.",
        Path("/no/such/place"): "Mara repairs the radio in hut four.",
    }
    for place, text in places.items():
        asked = event("UserPromptSubmit", f"at {place}", prompt=text)
        del asked["project"]
        answering.answer(ME, asked | {"cwd": str(place)})
    tags = {each.session: each.tags for each in memory.listing(ME, limit=50)}
    assert tags == {
        f"at {project}": ("project:src",),  # the repository around it is not found
        f"at {project.parent}": ("project:harbour",),
        "at /no/such/place": ("project:place",),
    }
    asked = event("UserPromptSubmit", "again", prompt="The ferry leaves from pier nine.")
    del asked["project"]
    answering.answer(ME, asked | {"cwd": r"C:\work\harbour\docs"})
    assert memory.listing(ME, session="again")[0].tags == ("project:harbour",)


# When there is something to say


@pytest.mark.parametrize(
    "prompt",
    [
        "run the tests",
        "ok go ahead",
        "thanks, that works",
        "review this PR",
        "now use the other one",
        "mach bitte weiter",
        "führe die Tests nochmal aus",
        "👍",
        "...",
    ],
)
def test_a_prompt_that_names_nothing_is_told_nothing(memory: Memory, prompt: str) -> None:
    """Even where the memory knows something with the same words."""
    for text in (
        "The tests run with pytest and two workers.",
        "Every PR is reviewed by two people before it goes ahead.",
        "Thanks to Nordwall the pump works again.",
        "Die Tests führen wir immer zweimal aus und machen dann weiter.",
    ):
        memory.remember(ME, RememberRequest(text))
    asked = event("UserPromptSubmit", "one", prompt=prompt)
    assert Hooks(memory, lambda: NOW).answer(ME, asked) == {}


@pytest.mark.parametrize(
    "prompt",
    [
        "gracias, funciona",
        "ejecuta las pruebas",
        "corrige les erreurs",
        "adelante",
        "grazie, funziona",
        "kjør testene",
        "обнови тесты",
        "运行测试",
        "好的，继续",
        "テストを実行して",
        "ありがとう",
    ],
)
def test_what_the_model_does_not_read_is_told_by_its_words_alone(
    memory: Memory, prompt: str
) -> None:
    """To the default model all texts of a language that it never learned are near to each other."""
    for text in (
        FACT,
        "Our office is in Lisbon near the river.",
        "Mon chat s'appelle Moustache et il a douze ans.",
        "La réunion de l'équipe est le mardi à 10 heures.",
        "El coche rojo está en el garaje de Marta.",
        "我的猫叫小白，今年三岁。",
        "会议改到周五下午三点。",
    ):
        memory.remember(ME, RememberRequest(text))

    def told(prompt: str) -> dict[str, Any]:
        asked = event("UserPromptSubmit", f"about {prompt}", prompt=prompt)
        return Hooks(memory, lambda: NOW).answer(ME, asked)

    assert told(prompt) == {}
    added = context(told("¿dónde está el coche rojo?"), "UserPromptSubmit")
    assert added.count("\n> ") == 1
    assert "garaje de Marta" in added


def test_a_word_that_much_of_the_memory_holds_names_nothing(memory: Memory) -> None:
    for number in range(8):
        memory.remember(ME, RememberRequest(f"The kiln was fired at {900 + number} degrees."))
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt="open the kiln")) == {}
    memory.remember(ME, RememberRequest("The kiln is opened by Nordwall's mechanic only."))
    asked = event("UserPromptSubmit", "one", prompt="Which mechanic may open the kiln?")
    assert "Nordwall" in context(answering.answer(ME, asked), "UserPromptSubmit")


def test_few_memories_are_told_and_only_those_near_the_best(memory: Memory) -> None:
    memory.remember(ME, RememberRequest(FACT))
    for number in range(12):
        memory.remember(ME, RememberRequest(f"The staging banner number {number} is painted blue."))
    asked = event("UserPromptSubmit", "one", prompt=QUESTION)
    added = context(Hooks(memory, lambda: NOW).answer(ME, asked), "UserPromptSubmit")
    assert FACT in added
    assert added.count("\n> ") <= 2


def test_of_many_that_are_near_three_are_told(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is near the best is given here: all that is recalled."""
    monkeypatch.setattr(reminder, "NEAR", 0.0)
    monkeypatch.setattr(reminder, "NEARER", 0.0)
    for said in (
        "was bought in Vienna",
        "stands behind the old barn",
        "burns birch wood only",
        "needs a new door",
        "is fired on Mondays",
        "takes forty bowls",
        "was insured by Karl",
    ):
        memory.remember(ME, RememberRequest(f"Nordwall's kiln {said}."))
    prompt = "Tell me about Nordwall's kiln"
    found = reminder.remind(memory, ME, prompt, "one", frozenset())
    assert found is not None
    assert len(found.hits) > 3
    asked = event("UserPromptSubmit", "one", prompt=prompt)
    added = context(Hooks(memory, lambda: NOW).answer(ME, asked), "UserPromptSubmit")
    assert added.count("\n> Nordwall's kiln") == 3


def test_what_was_told_is_not_told_again_in_the_conversation(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    memory.remember(ME, RememberRequest(FACT))
    asked = event("UserPromptSubmit", "one", prompt=QUESTION)
    assert FACT in str(answering.answer(ME, asked))
    assert answering.answer(ME, asked) == {}
    assert FACT in str(answering.answer(ME, asked | {"session_id": "two"})), "another one"
    answering.answer(ME, event("PostCompact", "one", compact_summary="ok"))
    assert FACT in str(answering.answer(ME, asked)), "it was compacted away"


def test_what_the_conversation_has_said_is_not_told(memory: Memory) -> None:
    """It was remembered without the conversation's name, as a tool call does."""
    answering = Hooks(memory, lambda: NOW)
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=f"{FACT} Please note it."))
    memory.remember(ME, RememberRequest(FACT))
    assert answering.answer(ME, event("UserPromptSubmit", "one", prompt=QUESTION)) == {}
    assert FACT in str(answering.answer(ME, event("UserPromptSubmit", "two", prompt=QUESTION)))


def test_what_was_told_is_kept_for_a_bounded_number_of_conversations() -> None:
    told = Told()
    for number in range(300):
        told.note(ME, f"talk {number}", [f"{number}-{place}" for place in range(500)])
    assert told.of(ME, "talk 0") == frozenset()
    assert len(told.of(ME, "talk 299")) == 400
    assert len(told._told) == 256


@pytest.mark.parametrize("fence", ["```", ""])
@pytest.mark.parametrize("sent", [lambda told: payload.shortened(told, SENT_CHARS), dict])
def test_a_question_below_a_long_paste_is_answered(memory: Memory, fence: str, sent: Any) -> None:
    """Also when its middle is left out, as by the command."""
    memory.remember(ME, RememberRequest(FACT))
    log = "".join(f"08:{n // 60:02}:{n % 60:02} INFO gate opened\n" for n in range(1_000))
    asked = event("UserPromptSubmit", "one", prompt=f"{fence}\n{log}{fence}\n{QUESTION}")
    answer = Hooks(memory, lambda: NOW).answer(ME, sent(asked))
    assert FACT in context(answer, "UserPromptSubmit")


def test_a_long_memory_is_clipped_at_a_prompt(memory: Memory) -> None:
    memory.remember(ME, RememberRequest(FACT + " The harbour master wrote it all down." * 100))
    asked = event("UserPromptSubmit", "one", prompt=QUESTION)
    added = context(Hooks(memory, lambda: NOW).answer(ME, asked), "UserPromptSubmit")
    assert "port 6543" in added
    assert "clipped" in added


# What is not for the memory


def test_private_parts_are_neither_kept_nor_asked(memory: Memory) -> None:
    answering = Hooks(memory, lambda: NOW)
    secret = "My therapist is called Doctor Winterbourne."
    said = f"{FACT} <private>{secret}</private> So it stays."
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=said))
    answering.answer(ME, event("Stop", "two", last_assistant_message=f"{FACT} <PRIVATE> {secret}"))
    kept = texts(memory)
    assert len(kept) == 2
    assert not any("Winterbourne" in text for text in kept)
    assert all(FACT in text for text in kept)
    memory.remember(ME, RememberRequest(secret))
    hidden = "Write a haiku. <Private >Who is Doctor Winterbourne, my therapist?</private>"
    assert answering.answer(ME, event("UserPromptSubmit", "three", prompt=hidden)) == {}


def test_a_pause_is_silent_and_deaf_until_it_ends(memory: Memory) -> None:
    now = [NOW]
    answering = Hooks(memory, lambda: now[0])
    memory.remember(ME, RememberRequest(FACT))
    data = str(memory.settings.data_dir)
    pause.begin(data, NOW + 60)
    other = "The ferry to the island leaves from pier nine on Sundays."
    for paused in (
        event("SessionStart", "two"),
        event("UserPromptSubmit", "two", prompt=QUESTION),
        event("Stop", "two", last_assistant_message=other),
    ):
        assert answering.answer(ME, paused) == {}
    assert answering.answer(ME, in_cursor("beforeSubmitPrompt", "c", prompt=other)) == {
        "continue": True
    }
    assert texts(memory) == [FACT]
    now[0] += 61
    assert FACT in str(answering.answer(ME, event("UserPromptSubmit", "two", prompt=QUESTION)))
    pause.begin(data, None)
    now[0] += 10**9
    assert answering.answer(ME, event("UserPromptSubmit", "three", prompt=QUESTION)) == {}
    pause.end(data)
    assert FACT in str(answering.answer(ME, event("UserPromptSubmit", "four", prompt=QUESTION)))


# The spool


def test_what_waits_in_the_spool_is_taken_over_in_its_order(memory: Memory) -> None:
    data = str(memory.settings.data_dir)
    answering = Hooks(memory, lambda: NOW)
    said = [f"The tide gauge of pier {n} was replaced by Nordwall." for n in range(5)]
    for place, text in enumerate(said):
        told = event("UserPromptSubmit", "one", prompt=text)
        assert spool.put(data, "zoe", "", told, NOW - 100 + place)
    files = spool.waiting(data)
    assert [Path(file).stat().st_mode & 0o777 for file in files] == [0o600] * 5
    assert (Path(data) / "spool").stat().st_mode & 0o777 == 0o700
    answering.answer(ME, event("Stop", "x", last_assistant_message="", spooled=True))
    kept = sorted(memory.listing(Identity("zoe")), key=lambda each: each.position)
    assert [each.text for each in kept] == said
    assert [each.occurred_at for each in kept] == [NOW - 100 + place for place in range(5)]
    assert spool.waiting(data) == []


def test_what_a_killed_hook_left_half_written_goes(memory: Memory) -> None:
    folder = Path(memory.settings.data_dir) / "spool"
    folder.mkdir(parents=True, exist_ok=True)
    torn, young = folder / "0-1.new", folder / "0-2.new"
    for path in (torn, young):
        path.write_text('{"payload": {"prompt": "The tide gauge')
    os.utime(torn, (1, 1))
    Drain(memory.settings.data_dir, lambda _: True).run()
    assert sorted(folder.glob("*.new")) == [young]


def test_what_waits_is_captured_once_and_behind_the_answer(memory: Memory) -> None:
    data = str(memory.settings.data_dir)
    told = event("UserPromptSubmit", "one", prompt=FACT)
    spool.put(data, "me", "", told, NOW)
    answering = Hooks(memory, lambda: NOW)
    assert answering.answer(ME, told | {"spooled": True}) == {}
    answering.drain.wait(60)
    (kept,) = memory.listing(ME)
    assert (kept.text, kept.access_count) == (FACT, 0)


def test_secrets_in_the_spool_are_masked_when_it_is_drained(memory: Memory) -> None:
    data = str(memory.settings.data_dir)
    key = "sk-ant-api03-" + "aB3" * 30
    words = f"The harbour is deployed on Fridays at noon. Its key is {key}. " + FACT * 3
    spool.put(data, "me", "", event("UserPromptSubmit", "one", prompt=words), NOW)
    Hooks(memory, lambda: NOW).drain.run()
    (kept,) = memory.listing(ME)
    assert key not in kept.text
    assert "Fridays at noon" in kept.text


def test_what_cannot_be_stored_now_waits_and_what_never_can_is_counted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = memory.settings.data_dir
    spool.put(str(data), "me", "", event("UserPromptSubmit", "one", prompt=FACT), NOW)
    (data / "spool" / "0-1.json").write_text("half a payl")
    answering = Hooks(memory, lambda: NOW)

    def full(*_: Any) -> None:
        raise DiskFull("no space left", "free some")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "observe", full)
        answering.drain.run()
    assert len(spool.waiting(str(data))) == 1
    (check,) = [each for each in memory.health(ME).checks if each.name == "hooks"]
    assert (check.status, check.detail) == ("degraded", "1 waiting, 1 dropped")
    answering.drain.run()
    assert texts(memory) == [FACT]
    assert spool.waiting(str(data)) == []


def test_the_spool_is_bounded_and_counts_what_it_drops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_FILES", 2)
    data = str(tmp_path / "data")
    assert [bool(spool.put(data, "me", "", {}, NOW)) for _ in range(4)] == [
        True,
        True,
        False,
        False,
    ]
    assert (tmp_path / "data" / "spool" / "dropped").stat().st_size == 2
    monkeypatch.setattr(spool, "MOST_FILES", 100)
    monkeypatch.setattr(spool, "MOST_BYTES", 500)
    assert spool.put(data, "me", "", {"prompt": "x" * 500}, NOW) == ""


def test_a_failure_is_logged_without_its_text_and_is_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails() -> dict[str, Any]:
        raise StorageError("the secret text", "try again")

    assert hooks.silently(fails) == {}
    assert "StorageError" in caplog.text
    assert "secret" not in caplog.text


def test_what_asked_the_same_before_is_told_as_no_answer_and_hides_none(memory: Memory) -> None:
    rule = "deploys go out on tuesdays and thursdays, never on fridays"
    memory.remember(ME, RememberRequest(rule, when=NOW - 30 * 86_400))
    for text in ("the choir rehearses in the chapel", "the van is due for inspection in may"):
        memory.remember(ME, RememberRequest(text, when=NOW - 30 * 86_400))
    answering = Hooks(memory, lambda: NOW)
    asked = "should I deploy today? it's friday"
    answering.answer(ME, event("UserPromptSubmit", "one", prompt=asked))
    assert next(m.text for m in memory.listing(ME)) == asked
    again = event("UserPromptSubmit", "two", prompt="can I deploy to prod, it's friday anyway")
    told = context(answering.answer(ME, again), "UserPromptSubmit")
    assert rule in told
    assert asked not in told
