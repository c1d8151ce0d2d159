"""What may be out of date, as the command, hooks, prompts, resources and tools show it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from mcp import Client

from memory_core.errors import InvalidInput, NotFound
from memory_core.lifecycle import doubts
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main, people, review
from server.cli.console import Outcome
from server.cli.invocation import Invocation
from server.hooks.hooks import Hooks
from server.protocol import rendering, schemas, structure
from server.protocol.server import build_server

ME = Identity("me")
DAY = 86_400.0
PAIRS = [
    (
        "Standup of the harbour crew is at nine.",
        "Standup of the harbour crew moved to ten.",
    ),
    ("The spare key is under the flowerpot.", "We keep the spare key in the hall drawer now."),
]


@pytest.fixture
def memory(open_memory: Any, minilm: Any) -> Memory:
    """With the real model: what competes is told by meaning."""
    opened: Memory = open_memory("store", minilm)
    return opened


HOMES = (
    "I live near the mill.",
    "We live in the old town.",
    "I live on the second floor.",
    "I moved to Linz last week.",
)
"""The last one may put all others out of date."""


@pytest.fixture
def pairs(memory: Memory, clock: Any) -> list[tuple[str, str]]:
    """The ids of PAIRS, each text said a day after the one before."""
    return told(memory, clock)


def told(memory: Memory, clock: Any) -> list[tuple[str, str]]:
    found = []
    for texts in PAIRS:
        ids = []
        for text in texts:
            clock.pass_by(DAY)
            ids.append(memory.remember(ME, RememberRequest(text, speaker="Ann")).id)
        found.append((ids[0], ids[1]))
    return found


@pytest.fixture
def run(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    return running(memory, monkeypatch)


def running(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run a command over *memory*, as the agent `me`."""
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(invocation, "open_memory", lambda settings: nullcontext(memory))
    return lambda *words: main.run(words, Invocation())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def answer(run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `review` on a terminal where somebody presses *keys*; the outcome and what was asked."""

    def answered(*keys: str) -> tuple[Outcome, str]:
        shown = Terminal()
        monkeypatch.setattr("sys.stdin", Terminal("".join(f"{key}\n" for key in keys)))
        monkeypatch.setattr("sys.stdout", Terminal())
        monkeypatch.setattr("sys.stderr", shown)
        return run("review"), shown.getvalue()

    return answered


# The command


def test_the_pairs_are_listed_newest_first_with_ids_dates_and_reason(
    run: Callable[..., Outcome], pairs: list[tuple[str, str]]
) -> None:
    shown = run("review")
    assert [(p["older"]["id"], p["newer"]["id"]) for p in shown.data] == pairs[::-1]
    first = shown.data[0]
    assert (first["older"]["text"], first["newer"]["text"]) == PAIRS[1]
    assert (first["older"]["when"][:10], first["newer"]["when"][:10]) == (
        "2024-06-04",
        "2024-06-05",
    )
    assert (first["older"]["speaker"], first["reason"]) == ("Ann", 'the later text says "now"')
    for text in (
        *PAIRS[0],
        *pairs[0],
        "2024-06-04",
        "Ann",
        "because: the later text says",
        "1",
        "2",
    ):
        assert text in shown.text
    assert shown.text.endswith(
        "--decide newer-holds|newer-holds-in-part|older-holds|keep-both|merge"
    )


@pytest.mark.parametrize(
    ("older", "newer", "part"),
    [
        (
            "The wedding of Jana and Tim is on 5 June in Graz.",
            "The wedding of Jana has been moved to 12 June.",
            "The wedding of Jana and Tim is on 5 June in Graz",
        ),
        ("I live in Cork and teach physics.", "I moved to Kerry.", "I live in Cork"),
    ],
)
def test_the_part_in_doubt_is_no_fragment(
    memory: Memory, clock: Any, older: str, newer: str, part: str
) -> None:
    one = memory.remember(ME, RememberRequest(older)).id
    clock.pass_by(DAY)
    memory.remember(ME, RememberRequest(newer))
    assert [(pair.older.id, pair.part.rstrip(".")) for pair in memory.doubts(ME)] == [(one, part)]


def test_a_pair_of_which_a_part_is_in_doubt_says_which(
    memory: Memory, run: Callable[..., Outcome], clock: Any
) -> None:
    old = memory.remember(
        ME, RememberRequest("Our office is in Lyon, and Ada runs the front desk.")
    ).id
    clock.pass_by(DAY)
    new = memory.remember(ME, RememberRequest("Ada left, Bo runs the front desk now.")).id
    shown = run("review")
    (pair,) = shown.data
    assert (pair["older"]["id"], pair["newer"]["id"]) == (old, new)
    assert pair["part"] == "Ada runs the front desk"
    assert "in doubt: Ada runs the front desk" in shown.text
    (doubted,) = memory.doubted(ME, [old]).values()
    assert (doubted.by, doubted.in_part) == (new, True)  # the rest holds
    run("review", old, new, "--decide", "keep-both")
    assert run("review").data == []


def test_what_is_to_be_decided_says_how(
    memory: Memory, run: Callable[..., Outcome], clock: Any
) -> None:
    assert people.DECIDE not in run("consolidate").text
    old = memory.remember(ME, RememberRequest(PAIRS[0][0])).id
    clock.pass_by(DAY)
    written = run("remember", PAIRS[0][1])
    assert f"if so, repeat with --replaces {old}" in written.text
    assert written.data["warnings"][0].endswith(f"replaces={old}")
    assert run("consolidate").text.endswith(people.DECIDE)
    run("review", old, written.data["id"], "--decide", "newer-holds")
    assert people.DECIDE not in run("consolidate").text


def test_nothing_in_doubt_says_so(run: Callable[..., Outcome]) -> None:
    assert (run("review").data, run("review").text) == ([], "nothing is in doubt")


def test_the_decisions_of_the_command_are_those_of_the_memory() -> None:
    assert tuple(doubts.DECISIONS) == people.DECISIONS


def test_a_pair_is_decided_by_its_ids(
    memory: Memory, run: Callable[..., Outcome], pairs: list[tuple[str, str]]
) -> None:
    old, new = pairs[0]
    done = run("review", old, new, "--decide", "newer-holds")
    assert done.text == done.data["done"] == f"{old} is replaced by {new}"
    assert (done.data["older"], done.data["newer"]) == (old, new)
    assert [pair["older"]["id"] for pair in run("review").data] == [pairs[1][0]]
    last = run("history", old).data[-1]
    assert (last["how"], last["who"]) == ("review: newer-holds", "me")
    run("history", old, "--undo", str(last["change"]))
    assert len(run("review").data) == 2


def test_kept_both_is_in_the_history_of_the_newer(
    run: Callable[..., Outcome], pairs: list[tuple[str, str]]
) -> None:
    old, new = pairs[0]
    run("review", old, new, "--decide", "keep-both")
    last = run("history", new).data[-1]
    assert (last["what"], last["how"]) == (f"kept_both {old}", "review: keep-both")


def test_half_a_decision_is_wrong_usage(
    run: Callable[..., Outcome], pairs: list[tuple[str, str]]
) -> None:
    old, new = pairs[0]
    for words in ((old,), (old, new), ("--decide", "merge"), (old, "--decide", "merge")):
        with pytest.raises(InvalidInput):
            run("review", *words)
    with pytest.raises(NotFound):
        run("review", new, new, "--decide", "merge")


def test_a_terminal_is_asked_about_one_pair_after_the_other(
    memory: Memory, answer: Callable[..., Any], pairs: list[tuple[str, str]]
) -> None:
    done, asked = answer("s", "x", "o")
    assert done.data == [
        {
            "older": pairs[0][0],
            "newer": pairs[0][1],
            "decision": "older-holds",
            "done": f"{pairs[0][1]} is replaced by {pairs[0][0]}",
        }
    ]
    assert done.text == "decided: 1, left: 1"
    assert asked.index(PAIRS[1][0]) < asked.index(PAIRS[0][0])
    assert memory.get(ME, pairs[0][1]).superseded_by == pairs[0][0]


def test_a_question_mark_explains_the_choices(
    answer: Callable[..., Any], pairs: list[tuple[str, str]]
) -> None:
    done, asked = answer("?", "q")
    assert done.data == []
    assert "is not one of" not in asked
    assert all(f"\n{key}  " in asked for key in (*review.KEYS, "s", "q"))


@pytest.mark.parametrize("keys", [("q",), ("s", "q"), ()])
def test_quitting_and_the_end_of_the_input_decide_nothing(
    memory: Memory, answer: Callable[..., Any], pairs: list[tuple[str, str]], keys: tuple[str, ...]
) -> None:
    done, _ = answer(*keys)
    assert (done.data, done.text) == ([], "decided: 0, left: 2")
    assert len(memory.doubts(ME)) == 2


@pytest.mark.parametrize("words", [("review",), ("review", "--json")])
def test_nobody_is_asked_without_a_terminal_or_for_json(
    run: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
    pairs: list[tuple[str, str]],
    words: tuple[str, ...],
) -> None:
    reader: io.StringIO = Terminal("n\n") if "--json" in words else io.StringIO("n\n")
    monkeypatch.setattr("sys.stdin", reader)
    monkeypatch.setattr("sys.stdout", Terminal())
    assert len(run(*words).data) == 2
    assert reader.tell() == 0


def test_recall_marks_the_older_in_its_table(
    run: Callable[..., Outcome], pairs: list[tuple[str, str]]
) -> None:
    shown = run("recall", "when is the standup of the harbour crew", "--context", "0")
    by = {hit["id"]: hit.get("doubted_by") for hit in shown.data["memories"]}
    assert (by[pairs[0][0]], by[pairs[0][1]]) == (pairs[0][1], None)
    assert shown.text.count("may be out of date from 2024-06-03, see") == 1


# Hooks


def test_a_hook_marks_what_may_be_out_of_date(
    memory: Memory, clock: Any, pairs: list[tuple[str, str]]
) -> None:
    hooks = Hooks(memory, clock)
    marks = {
        "SessionStart": f"[doubtful, ask which holds] {pairs[0][0]}",
        "UserPromptSubmit": f"may be out of date from 2024-06-03, see {pairs[0][1]}",
    }
    for event, mark in marks.items():
        payload = {"hook_event_name": event, "session_id": event}
        if event == "UserPromptSubmit":
            payload["prompt"] = "When is the standup of the harbour crew?"
        added = hooks.answer(ME, payload)["hookSpecificOutput"]["additionalContext"]
        lines = [line for line in added.split("\n") if mark in line]
        assert len(lines) == 1
        assert pairs[0][0] in lines[0]


# Tools, resources and prompts, over the fake


@pytest.fixture
def doubted(fake: Any) -> tuple[Any, Any]:
    older, newer = fake.add("the tea is in the tin", session="s"), fake.add("the tea is gone now")
    fake.doubtful[older.id] = newer.id
    return older, newer


async def read(client: Any, uri: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((await client.read_resource(uri)).contents[0].text)
    return found


@pytest.mark.anyio
async def test_both_channels_of_recall_mark_the_older(connect: Any, doubted: Any) -> None:
    older, newer = doubted
    async with connect() as client:
        found = await client.call_tool("recall", {"query": "the tea"})
    hits = {hit["id"]: hit for hit in found.structured_content["memories"]}
    since = "2024-05-31"
    assert (hits[older.id]["doubted_by"], hits[older.id]["doubtful_since"]) == (newer.id, since)
    assert not {"doubted_by", "doubtful_since"} & hits[newer.id].keys()
    text = found.content[0].text
    assert f" · {older.id} · may be out of date from {since}, see {newer.id}\n" in text
    assert text.count("out of date") == 1


@pytest.mark.anyio
async def test_lists_items_and_the_briefing_mark_the_older(connect: Any, doubted: Any) -> None:
    older, newer = doubted
    async with connect() as client:
        item = await read(client, f"memory://item/{older.id}")
        listed = [await read(client, uri) for uri in ("memory://recent", "memory://session/s")]
        briefing = await client.get_prompt("briefing", {})
    marked = [each for found in listed for each in found["memories"] if "doubted_by" in each]
    for each in (item, *marked):
        assert (each["id"], each["doubted_by"]) == (older.id, newer.id)
    assert len(marked) == 2
    assert f"see {newer.id}" in briefing.messages[0].content.text


@pytest.mark.anyio
async def test_the_review_lists_the_pairs_as_data(connect: Any, fake: Any, doubted: Any) -> None:
    older, newer = doubted
    async with connect() as client:
        found = await read(client, "memory://review")
        long = fake.add("y" * 5_000)
        fake.doubtful = {long.id: newer.id}
        clipped = await read(client, "memory://review")
        fake.doubtful = {}
        empty = await read(client, "memory://review")
    assert found["notice"] == schemas.NOTICE
    (shown,) = found["doubtful"]
    (pair,) = shown["may_outdate"]
    assert (pair["older"]["id"], shown["newer"]["id"]) == (older.id, newer.id)
    assert (pair["older"]["text"], pair["reason"]) == (older.text, "moved")
    assert "score" not in pair["older"]
    assert "consolidate with pair" in found["next"]
    text = clipped["doubtful"][0]["may_outdate"][0]["older"]["text"]
    assert text.endswith(f"[clipped: {long.id}]")
    assert len(text) < 700
    assert (empty["doubtful"], empty["count"]) == ([], 0)


@pytest.mark.anyio
async def test_an_assistant_writes_down_what_its_user_decided_and_takes_it_back(
    memory: Memory, pairs: list[tuple[str, str]]
) -> None:
    old, new = pairs[0]
    async with Client(build_server(memory, owner=ME)) as client:
        decide = partial(client.call_tool, "consolidate")
        done = await decide({"decide": "newer-holds", "pair": [old, new]})
        assert done.structured_content["steps"][0]["detail"] == f"{old} is replaced by {new}"
        assert f"{old} is replaced by {new}" in done.content[0].text
        assert memory.get(ME, old).superseded_by == new
        left = await read(client, "memory://review")
        assert [each["newer"]["id"] for each in left["doubtful"]] == [pairs[1][1]]
        await decide({"decide": "undo", "pair": [old, new]})
        assert memory.get(ME, old).superseded_by == ""
        assert (await read(client, "memory://review"))["count"] == 2
        for wrong in (
            {"decide": "merge"},
            {"pair": [old, new]},
            {"decide": "merge", "pair": [old]},
        ):
            refused = await decide(wrong)
            assert refused.content[0].text.startswith("invalid_input: a decision needs")
        for more in ({"dry_run": True}, {"undo": "a-run"}):
            refused = await decide({"decide": "newer-holds", "pair": [old, new], **more})
            assert refused.content[0].text.startswith("invalid_input: a decision has no preview")
        assert memory.get(ME, old).superseded_by == ""
        refused = await decide({"decide": "undo", "pair": [old, new]})
        assert refused.content[0].text.startswith("not_found: nothing was decided")


def test_a_newer_memory_stands_once_before_all_that_it_may_outdate_and_the_most_recalled_first(
    memory: Memory, run: Callable[..., Outcome], pairs: list[tuple[str, str]], clock: Any
) -> None:
    for text in HOMES:
        clock.pass_by(60 * DAY)
        latest = memory.remember(ME, RememberRequest(text, speaker="Ann")).id
    shown = run("review")
    assert [each["newer"]["id"] for each in shown.data[:2]] == [latest, latest]
    assert shown.text.count(HOMES[-1]) == 1
    for _ in range(20):
        memory.recall(ME, RecallRequest("where is the spare key", k=2, context=0))
    memory.sweep(ME)  # writes what was recalled
    assert run("review").data[0]["newer"]["id"] == pairs[1][1]


def test_a_receipt_names_two_doubts_at_most_with_their_texts(memory: Memory, clock: Any) -> None:
    for text in HOMES:
        clock.pass_by(DAY)
        done = memory.remember(ME, RememberRequest(text, speaker="Ann"))
    hints = [each for each in done.warnings if "may be out of date" in each]
    assert len(memory.doubts(ME)) == 3
    assert len(hints) == 3
    assert hints[2] == "1 more may be out of date: see the review"
    named = [each.id for each in done.similar if each.relation == "doubts"]
    assert all(any(id in hint for hint in hints[:2]) for id in named)


# The mark


def test_a_superseded_memory_is_out_of_date_and_no_longer_in_doubt() -> None:
    memory = {"superseded_by": "1" * 20, "doubted_by": "2" * 20, "doubtful_since": "2024-06-01"}
    assert rendering.out_of_date(memory) == f"out of date, see {'1' * 20}"
    assert rendering.out_of_date({"doubted_by": "2" * 20}) == f"may be out of date, see {'2' * 20}"
    assert rendering.out_of_date({"id": "3" * 20}) == ""


def test_a_memory_in_doubt_in_part_says_so_and_one_decided_in_part_is_sure_of_it() -> None:
    doubted = {"doubted_by": "2" * 20, "doubtful_since": "2026-05-01", "in_part": True}
    said = f"may be out of date in part from 2026-05-01, see {'2' * 20}"
    assert rendering.out_of_date(doubted) == said
    del doubted["doubtful_since"]
    assert rendering.out_of_date(doubted) == f"out of date in part, see {'2' * 20}"


@pytest.mark.anyio
async def test_a_preview_of_sleep_says_what_the_memories_say_that_it_names(
    memory: Memory, pairs: list[tuple[str, str]]
) -> None:
    async with Client(build_server(memory, owner=ME)) as client:
        found = await client.call_tool("consolidate", {"dry_run": True})
    told = {
        tuple(each["ids"]): each["texts"] for each in found.structured_content["contradictions"]
    }
    assert told == {ids: list(texts) for ids, texts in zip(pairs, PAIRS, strict=True)}
    for older, newer in PAIRS:
        assert f"> {older}\n> {newer}" in found.content[0].text


def test_an_answer_about_a_run_shows_no_text_to_who_may_not_read(
    memory: Memory, pairs: list[tuple[str, str]]
) -> None:
    writer = Identity("me", rights=frozenset({"write"}))
    report = memory.consolidate(ME, dry_run=True)
    assert report.contradictions
    said = structure.run_report(report, structure.says(memory, writer))
    assert [each.get("texts") for each in said["contradictions"]] == [None] * len(PAIRS)
