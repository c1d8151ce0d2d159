"""The commands that list memories, show one, and put one right."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import click
import pytest

from memory_core.errors import InvalidInput, NotFound
from memory_core.lifecycle.pins import NORMAL, PINNED
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main, printed, running
from server.cli.console import Outcome
from server.cli.invocation import Invocation
from server.cli.place import Place

ME = Identity("me")
Run = Callable[..., Outcome]

KEY = RememberRequest("The spare key is under the flowerpot.", tags=("home",), speaker="Mara")
BOAT = RememberRequest(
    "Otto keeps the boat in Triest.",
    kind="fact",
    session="crew",
    importance=0.9,
    when="2021-05-01",
    scope="shared",
)


@pytest.fixture
def run(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command over *memory*, as the agent `me`."""
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(invocation, "open_memory", lambda settings: nullcontext(memory))
    return lambda *words: main.run(words, Invocation())


@pytest.fixture
def two(memory: Memory) -> tuple[str, str]:
    """The ids of KEY and BOAT."""
    return memory.remember(ME, KEY).id, memory.remember(ME, BOAT).id


def ids(outcome: Outcome) -> list[str]:
    return [each["id"] for each in outcome.data["memories"]]


@pytest.mark.parametrize(
    ("flag", "word", "left"),
    [
        ("--kind", "fact", "boat"),
        ("--scope", "shared", "boat"),
        ("--tag", "home", "key"),
        ("--tag", "HOME", "key"),
        ("--about", "Otto", "boat"),
        ("--session", "crew", "boat"),
        ("--speaker", "Mara", "key"),
        ("--speaker", "mara", "key"),
        ("--importance", "0.85", "boat"),
        ("--since", "2022", "key"),
        ("--until", "2022", "boat"),
    ],
)
def test_every_filter_narrows(
    run: Run, two: tuple[str, str], flag: str, word: str, left: str
) -> None:
    key, boat = two
    assert ids(run("list")) == [key, boat]  # the newest first
    assert ids(run("list", flag, word)) == [key if left == "key" else boat]


def test_owner_trust_and_tier_narrow_too(run: Run, two: tuple[str, str], memory: Memory) -> None:
    other = memory.remember(Identity("ann"), replace(BOAT, text="Ann rows at dawn.")).id
    assert other in ids(run("list"))
    assert ids(run("list", "--owner", "ann")) == [other]
    read = memory.remember(ME, RememberRequest("Ann won a cup.", source="https://news.example")).id
    assert ids(run("list", "--trust", "web")) == [read]
    assert read not in ids(run("list", "--trust", "agent"))
    by_tier = [ids(run("list", "--tier", tier)) for tier in ("active", "recent", "long_term")]
    assert sorted(id for tier in by_tier for id in tier) == sorted(ids(run("list")))


def test_states_are_told_apart_and_filtered(run: Run, two: tuple[str, str]) -> None:
    key, boat = two
    new = run("remember", "The spare key is with Priya.", "--replaces", key).data["id"]
    run("retire", boat)
    found = {each["id"]: each["state"] for each in run("list").data["memories"]}
    assert found == {new: "current", key: "superseded", boat: "retired"}
    for state, id in (("current", new), ("superseded", key), ("retired", boat)):
        assert ids(run("list", "--state", state)) == [id]
    assert ids(run("list", "--state", "doubtful")) == []
    text = run("list").text
    assert "out of date" in text
    assert "retired" in text


def test_a_long_list_goes_on_where_it_ended(run: Run, two: tuple[str, str]) -> None:
    first = run("list", "--limit", "1")
    rest = run("list", "--limit", "1", "--cursor", first.data["next"])
    assert (ids(first), ids(rest)) == ([two[0]], [two[1]])
    assert f"--cursor {first.data['next']}" in first.text
    assert rest.data["next"] == ""
    assert "--cursor" not in rest.text


def test_a_memory_is_shown_with_links_and_version(run: Run, memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.", speaker="Mara")).id
    new = memory.remember(ME, RememberRequest("Now Mara lives in Linz.", speaker="Mara")).id
    shown = run("show", new[:15], old)
    second, first = shown.data
    assert (first["id"], first["state"], first["superseded_by"]) == (old, "superseded", new)
    assert second["version"] == {"number": 2, "root": old, "latest": new}
    assert [(x["kind"], x["id"], x["text"]) for x in second["links"]] == [
        ("updates", old, "Mara lives in Graz.")
    ]
    assert "Mara lives in Graz." in shown.text.splitlines()
    ties = [line.split("  ")[0] for line in shown.text.splitlines() if "updates" in line]
    assert [each.strip() for each in ties] == ["updates", "updates this"]
    assert [(x["from"], x["id"]) for x in (*first["links"], *second["links"])] == [
        (new, new),
        (new, old),
    ]
    with pytest.raises(NotFound):
        run("show", "0" * 20)


def test_a_pin_from_the_first_day_on_is_taken_off_too(run: Run, memory: Memory) -> None:
    id = memory.remember(ME, replace(KEY, importance=PINNED)).id
    assert run("pin", "--off", id).text.startswith(f"no longer pinned: {id}")
    assert memory.get(ME, id).importance == NORMAL


def test_tags_are_given_and_taken(run: Run, two: tuple[str, str], memory: Memory) -> None:
    key, boat = two
    run("tag", key, boat, "--add", "sea", "--add", "home", "--remove", "work")
    assert set(memory.get(ME, key).tags) == {"home", "sea"}
    done = run("tag", key, "--remove", "home")
    assert memory.get(ME, key).tags == ("sea",)
    run("history", key, "--undo", str(done.data[0]["change"]))
    assert set(memory.get(ME, key).tags) == {"home", "sea"}
    with pytest.raises(InvalidInput, match="--add"):
        run("tag", key)


def test_a_pin_is_taken_off_with_the_importance_from_before(
    run: Run, two: tuple[str, str], memory: Memory
) -> None:
    _, boat = two
    before = memory.get(ME, boat).importance
    assert "undo: anamnesis history" in run("pin", boat).text
    assert memory.get(ME, boat).importance == PINNED
    assert "pinned" in run("list").text
    assert run("pin", boat).data == [{"id": boat, "change": 0}]
    run("pin", boat, "--off")
    assert memory.get(ME, boat).importance == before
    normal = memory.remember(ME, RememberRequest("The rope is in the shed.")).id
    assert memory.get(ME, normal).importance == 0.5  # which the journal does not hold
    run("pin", normal)
    run("pin", normal, "--off")
    assert memory.get(ME, normal).importance == 0.5


def test_what_is_retired_comes_back(run: Run, two: tuple[str, str], memory: Memory) -> None:
    assert run("retire", *two).text.startswith(f"retired: {two[0]}\n")
    assert all(memory.get(ME, id).retired_at is not None for id in two)
    assert run("retire", *two).text == f"unchanged: {two[0]}\nunchanged: {two[1]}"
    assert run("retire", *two, "--off").text.startswith(f"active again: {two[0]}\n")
    assert all(memory.get(ME, id).retired_at is None for id in two)


def test_none_is_changed_when_one_of_them_is_unknown(
    run: Run, two: tuple[str, str], memory: Memory
) -> None:
    for words in (("pin",), ("tag", "--add", "x"), ("retire",)):
        with pytest.raises(NotFound):
            run(words[0], two[0], "0" * 20, *words[1:])
    record = memory.get(ME, two[0])
    assert (record.tags, record.retired_at) == (KEY.tags, None)
    assert record.importance < PINNED


def test_an_edited_text_replaces_the_old_one_and_can_be_undone(
    run: Run, two: tuple[str, str], memory: Memory
) -> None:
    key, _ = two
    done = run("edit", key, "--text", "The spare key is with Priya.")
    new = memory.get(ME, done.data["id"])
    old = memory.get(ME, key)
    assert old.superseded_by == new.id
    assert (new.text, new.tags, new.speaker) == ("The spare key is with Priya.", ("home",), "Mara")
    assert new.trust == "user"
    undo = done.text.rpartition("anamnesis ")[2].split()
    assert run(*undo).text.endswith(f"{key} holds again, in the place of {new.id}")
    assert ids(run("list", "--state", "current"))[0] == key
    assert memory.get(ME, new.id).superseded_by == key
    assert run("edit", key, "--text", KEY.text).data == {"id": key, "status": "unchanged"}
    again = memory.history(ME, key)[-1].seq
    run("history", key, "--undo", str(again))
    assert (memory.get(ME, key).superseded_by, memory.get(ME, new.id).superseded_by) == (new.id, "")
    run("edit", new.id, "--text", "The spare key is with Otto.")
    with pytest.raises(InvalidInput, match="edited since"):
        run("history", key, "--undo", str(memory.history(ME, key)[-1].seq))


def test_an_edit_of_what_was_replaced_before_names_the_change_of_what_held_then(
    run: Run, two: tuple[str, str], memory: Memory
) -> None:
    lid = replace(KEY, text="The spare key is under the lid.", replaces=two[0])
    held = memory.remember(ME, lid).id
    done = run("edit", two[0], "--text", "The spare key is with Otto.")
    undo = done.text.rpartition("anamnesis ")[2].split()
    assert undo[1] == held
    run(*undo)
    current = ids(run("list", "--state", "current"))
    assert held in current
    assert not {two[0], done.data["id"]} & {*current}


def test_a_text_that_was_known_before_an_edit_still_holds_after_its_undoing(
    run: Run, two: tuple[str, str], memory: Memory
) -> None:
    known = memory.remember(ME, replace(KEY, text="The spare key is with Priya.")).id
    done = run("edit", two[0], "--text", "The spare key is with Priya.")
    assert done.data["id"] == known
    run(*done.text.rpartition("anamnesis ")[2].split())
    assert memory.get(ME, known).superseded_by == ""


def test_a_text_put_right_was_said_when_the_first_one_was(
    run: Run, two: tuple[str, str], memory: Memory
) -> None:
    new = memory.get(ME, run("edit", two[1], "--text", "Otto keeps his boat in Triest.").data["id"])
    assert new.occurred_at == memory.get(ME, two[1]).occurred_at
    assert memory.history(ME, two[1])[-1].source == "edit"


def test_a_date_to_come_is_said_on_the_command_line(run: Run) -> None:
    done = run("remember", "The dentist.", "--when", "2099-02-03")
    assert (
        "warning: the new text counts as said on 3 February 2099, which is yet to come" in done.text
    )
    assert done.text.endswith("store it so, without when, in the place of this")


@pytest.mark.parametrize(
    ("saved", "status"), [(None, "unchanged"), ("\n", "unchanged"), ("It is gone.\n", "replaced")]
)
def test_the_editor_of_the_user_writes_the_text(
    run: Run,
    two: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    saved: str | None,
    status: str,
) -> None:
    shown: list[str] = []

    def editor(text: str, extension: str) -> str | None:
        shown.append(text)
        return saved

    with pytest.raises(InvalidInput, match="--text"):
        run("edit", two[0])
    with pytest.raises(InvalidInput, match=r"text is empty; .* anamnesis forget"):
        run("edit", two[0], "--text", " ")
    monkeypatch.setattr(click, "edit", editor)
    monkeypatch.setattr(Place, "asks", lambda self: True)
    assert run("edit", two[0]).data["status"] == status
    assert shown == [KEY.text]


@pytest.mark.parametrize(
    ("command", "most"), [("people", "Otto"), ("sessions", "crew"), ("topics", None)]
)
def test_names_are_counted_in_pages(
    run: Run, two: tuple[str, str], memory: Memory, command: str, most: str | None
) -> None:
    memory.remember(ME, replace(BOAT, text="We met Otto on the quay.", when="2022-05-01"))
    whole = run(command).data
    counts = [each["memories"] for each in whole["names"]]
    assert counts == sorted(counts, reverse=True)
    pages, cursor = [], ""
    while page := run(command, "--limit", "1", "--cursor", cursor).data:
        pages += page["names"]
        if not (cursor := page["next"]):
            break
    assert pages == whole["names"]
    if most is not None:
        assert whole["names"][0] | {"name": most} == whole["names"][0]
        assert (whole["names"][0]["memories"], whole["names"][0]["first"][:4]) == (2, "2021")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_listing_is_json_in_a_pipe_and_a_table_on_a_terminal(
    run: Run, two: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = running.printed(main.program, ["list"], Invocation())
    assert [each["id"] for each in json.loads(piped.out)["memories"]] == list(two)
    assert not piped.paged
    monkeypatch.setattr(Place, "terminal", lambda self: {"COLUMNS": "120", "TERM": "dumb"})
    shown = running.printed(main.program, ["list"], Invocation())
    assert shown.paged
    assert KEY.text.split()[-1] in shown.out
    assert two[0] not in shown.out  # ids are short there
    assert two[0][:10] in shown.out
    assert "\x1b[" not in piped.out + shown.out
    colours = {"COLUMNS": "120", "TERM": "xterm-256color"}
    monkeypatch.setattr(Place, "terminal", lambda self: colours)
    assert "\x1b[" in running.printed(main.program, ["list"], Invocation()).out
    asked = running.printed(main.program, ["list", "--json"], Invocation())
    assert not asked.paged
    assert json.loads(asked.out)


@pytest.mark.parametrize(("lines", "paged"), [(200, True), (3, False)])
def test_what_is_longer_than_the_terminal_is_paged(
    monkeypatch: pytest.MonkeyPatch, lines: int, paged: bool
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(click, "echo_via_pager", seen.append)
    monkeypatch.setattr(
        printed.os, "get_terminal_size", lambda fd: printed.os.terminal_size((80, 24))
    )
    monkeypatch.setattr("sys.stdout", out := Terminal())
    monkeypatch.setattr(out, "fileno", lambda: 1)
    text = "line\n" * lines
    assert printed.Printed(text, "", 0, paged=True).show() == 0
    assert (seen, out.getvalue()) == (([text], "") if paged else ([], text))


def test_what_the_assistant_said_is_recognised(run: Run, memory: Memory) -> None:
    memory.remember(ME, RememberRequest("The tent is in the attic.", role="user"))
    memory.remember(ME, RememberRequest("The stove is in the attic.", role="assistant"))
    for words in (("list",), ("recall", "what is in the attic?")):
        lines = run(*words).text.splitlines()
        assert ["assistant" in each for each in lines if "tent is" in each] == [False]
        assert ["assistant" in each for each in lines if "stove is" in each] == [True]
