"""What was recalled, and what was not stored and why, as its own agent is shown it."""

from __future__ import annotations

from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.page.activity import CHARS, IDS, MOST, Activity, WatchedMemory
from server.protocol.calling import calling

ME = Identity("me", "north")
NOW = 1_717_200_000.0  # 2024-06-01T00:00:00Z


def test_a_recall_is_noted_with_what_it_found_and_a_look_is_not(memory: Memory) -> None:
    activity = Activity(lambda: NOW)
    watched = WatchedMemory(memory, activity)
    stored = watched.remember(ME, RememberRequest("The spare key is under the flowerpot."))
    watched.recall(ME, RecallRequest("Where is the spare key?", rehearse=False))
    assert activity.of(ME) == []
    watched.recall(ME, RecallRequest("Where is the spare key?"))
    (act,) = activity.of(ME)
    assert (act["kind"], act["text"], act["ids"]) == (
        "recalled",
        "Where is the spare key?",
        [stored.id],
    )
    assert act["at"].startswith("2024-06-01T00:00:00")
    assert (act["agent"], act["client"]) == ("me", "")
    with calling("command line"):
        watched.recall(ME, RecallRequest("Where is the spare key now?"))
    assert activity.of(ME)[0]["client"] == "command line"
    watched.shown(ME, [stored.id])  # at the start of a conversation
    watched.shown(ME, [])
    assert [(each["kind"], each["ids"]) for each in activity.of(ME)] == [
        ("briefed", [stored.id]),
        ("recalled", [stored.id]),
        ("recalled", [stored.id]),
    ]


def test_a_turn_that_is_not_stored_is_noted_with_its_reason(memory: Memory) -> None:
    activity = Activity()
    watched = WatchedMemory(memory, activity)
    watched.observe(ME, ConversationTurn("user", "ok"))
    watched.observe(ME, ConversationTurn("user", "The greenhouse was built by Mara in 1987."))
    (act,) = activity.of(ME)
    assert (act["kind"], act["text"], act["reason"]) == ("skipped", "ok", "too short")


def test_a_turn_that_also_recalls_notes_both(memory: Memory) -> None:
    activity = Activity()
    watched = WatchedMemory(memory, activity)
    watched.observe_and_recall(ME, ConversationTurn("user", "ok", client="chat"))
    assert [(act["kind"], act["text"], act["client"]) for act in activity.of(ME)] == [
        ("recalled", "ok", "chat"),
        ("skipped", "ok", "chat"),
    ]


def test_acts_are_shown_to_the_same_agent_of_the_same_team_alone() -> None:
    activity = Activity()
    activity.note(ME, "recalled", "mine", "", [])
    for other in (Identity("other", "north"), Identity("me", "south"), Identity("me")):
        assert activity.of(other) == []
    assert [act["text"] for act in activity.of(ME)] == ["mine"]


def test_only_the_last_acts_are_kept_the_newest_first_and_cut() -> None:
    activity = Activity()
    for number in range(MOST + 5):
        activity.note(ME, "recalled", f"{number} " + "x" * CHARS, "", [str(n) for n in range(20)])
    acts = activity.of(ME)
    assert [act["number"] for act in acts] == list(range(MOST + 5, 5, -1))
    assert all(len(act["text"]) == CHARS and len(act["ids"]) == IDS for act in acts)
