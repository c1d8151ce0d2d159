"""Corrections that are noticed in speech, and what they reach; through the façade."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.beliefs.change import WORDS, Found
from memory_core.link_kinds import KNOWN
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember import relate
from memory_core.remember.prepared import Doubt
from memory_core.remember.request import RememberRequest

ME, OTHER = Identity("me", "crew"), Identity("other", "crew")


def test_a_correction_in_speech_marks_what_it_corrects(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz."))
    new = memory.remember(ME, RememberRequest("Actually Mara lives in Linz now."))
    assert (new.status, new.replaced) == ("stored", ())
    assert [(near.id, near.relation) for near in new.similar] == [(old.id, "updates")]
    assert new.warnings == (f"the new text corrects {old.id}",)
    kept = memory.get(ME, old.id)
    assert (kept.superseded_by, kept.replaced, kept.retired_at) == (new.id, False, None)
    assert kept.valid_until == memory.get(ME, new.id).occurred_at
    last = memory.history(ME, old.id)[-1]
    assert (last.actor, last.source) == ("me", "correction")


MOVED = "Actually Mara lives in Linz now."


@pytest.mark.parametrize(
    ("text", "role", "trust"),
    [
        (MOVED, "", "agent"),  # an assistant that remembers by the tool
        (MOVED, "assistant", "agent"),
        (MOVED, "user", "quoted"),
        ('Her sister wrote "actually Mara lives in Linz now", is that so.', "user", "user"),
    ],
)
def test_only_a_user_corrects_what_a_user_said(
    memory: Memory, text: str, role: str, trust: str
) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.", role="user", trust="user")).id
    memory.remember(ME, RememberRequest(text, role=role, trust=trust))
    assert memory.get(ME, old).superseded_by == ""
    own = "No, actually Mara lives in Linz."
    new = memory.remember(ME, RememberRequest(own, role="user", trust="user")).id
    assert memory.get(ME, old).superseded_by == new


def test_a_user_corrects_what_an_agent_remembered(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    new = memory.remember(ME, RememberRequest(MOVED, role="user", trust="user")).id
    assert memory.get(ME, old).superseded_by == new


def test_the_newest_valid_one_comes_first_and_the_older_one_with_as_of(
    memory: Memory, clock: Any
) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz, Graz, Graz."))
    clock.pass_by(86_400.0)
    new = memory.remember(
        ME, RememberRequest("Mara no longer lives in Graz, Graz, Graz; Mara moved to Linz.")
    )
    ids = [hit.memory.id for hit in memory.recall(ME, RecallRequest("Mara lives in Graz")).hits]
    assert ids[:2] == [new.id, old.id]
    then = memory.recall(ME, RecallRequest("Mara lives in Graz", as_of="2024-06-01T12:00:00Z")).hits
    assert [hit.memory.id for hit in then] == [old.id]


def test_what_was_said_before_the_clock_was_set_back_is_corrected_and_can_be_moved(
    memory: Memory, clock: Any, open_memory: Any
) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    clock.pass_by(-3650 * 86_400.0)
    new = memory.remember(ME, RememberRequest("Actually Mara lives in Linz now.")).id
    assert memory.get(ME, old).superseded_by == new
    elsewhere = open_memory("elsewhere")
    for record in memory.export(ME):
        elsewhere.bring_in(ME, record)
    assert elsewhere.get(ME, old).superseded_by == new


def test_what_is_dated_before_what_is_stored_corrects_nothing_of_it(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    memory.remember(ME, RememberRequest("Actually Mara lives in Linz now.", when="2019-03-01"))
    assert memory.get(ME, old).superseded_by == ""


def test_it_survives_restart_export_and_import(memory: Memory, open_memory: Any) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    new = memory.remember(ME, RememberRequest("Actually Mara lives in Linz now.")).id
    exported = list(memory.export(ME))
    memory.close()
    again = open_memory()
    assert again.get(ME, old).superseded_by == new
    elsewhere = open_memory("elsewhere")
    for record in exported:
        elsewhere.bring_in(ME, record)
    assert elsewhere.get(ME, old).superseded_by == new


@pytest.mark.parametrize(
    ("older", "newer", "options"),
    [
        ("Mara lives in Graz.", "Mara lives in Linz.", {}),
        ("Mara lives in Graz.", "Actually Tomas lives in Linz now.", {}),
        ("Mara lives in Graz.", "Actually Mara lives in Linz now.", {"scope": "shared"}),
        ("Mara lives in Graz.", "Actually Mara lives in Linz now.", {"speaker": "Tomas"}),
    ],
    ids=["no word of correction", "another subject", "another scope", "another speaker"],
)
def test_what_is_no_correction_changes_nothing(
    memory: Memory, older: str, newer: str, options: dict[str, str]
) -> None:
    old = memory.remember(ME, RememberRequest(older)).id
    memory.remember(ME, RememberRequest(newer, **options))  # type: ignore[arg-type]
    assert memory.get(ME, old).superseded_by == ""


@pytest.mark.parametrize(
    "asked",
    [
        "Can you update the address book?",
        "Please change the letterhead.",
        "Kannst du das im Adressbuch ändern?",
    ],
)
def test_what_is_said_beside_a_request_is_a_doubt_at_most(memory: Memory, asked: str) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    new = memory.remember(ME, RememberRequest(f"Actually Mara lives in Linz now. {asked}"))
    assert memory.get(ME, old).superseded_by == ""
    assert [(near.id, near.relation) for near in new.similar] == [(old, "doubts")]


def test_a_question_beside_a_correction_takes_nothing_from_it(memory: Memory) -> None:
    old = memory.remember(ME, RememberRequest("Mara lives in Graz.")).id
    said = "Actually Mara lives in Linz now. How far is that from here?"
    new = memory.remember(ME, RememberRequest(said)).id
    assert memory.get(ME, old).superseded_by == new


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("Our team lead is Ana.", "Correction: our team lead is Rui.", "updates"),
        ("The choir rehearsal is on Monday.", "The choir rehearsal is now on Friday.", "updates"),
        ("Tomas works at Siemens.", "Tomas no longer works at Siemens.", "updates"),
        ("I like filter coffee.", "Actually I don't like filter coffee.", "contradicts"),
        ("Ich habe einen Hund.", "Ich habe keinen Hund mehr.", "updates"),
        ("Unser Büro ist in Berlin.", "Korrektur: Unser Büro ist in Hamburg.", "updates"),
        ("I live in Graz.", "Last week I moved to Linz.", "doubts"),
        ("My sister Ann lives in Oslo.", "My sister Ann moved to Tromsø in May.", "doubts"),
        ("I live in Porto.", "We moved from Porto to Aveiro.", "doubts"),
        ("The choir rehearsal is on Monday.", "The choir rehearsal was moved to Friday.", "doubts"),
        ("Die Chorprobe ist am Montag.", "Die Chorprobe wurde auf Freitag verschoben.", "doubts"),
        (
            "The service is written in Kotlin and deployed to Heroku.",
            "We pulled the service off Heroku, it's deployed to Fly.io.",
            "doubts_part",
        ),
        ("My sister Ann lives in Oslo.", "My sister Bea moved to Tromsø in May.", ""),
        ("My boss is Karen.", "My boss is Canadian.", None),
        ("I work at Bosch.", "I work for Christian Meyer.", ""),
        ("Ich wohne in Köln.", "Ich bin in Elternzeit.", ""),
        ("I live in Oslo.", "Translate this into French. I no longer live in Oslo.", None),
    ],
)
def test_only_what_is_said_once_more_and_taken_back_is_superseded(
    open_memory: Any, minilm: Any, older: str, newer: str, relation: str | None
) -> None:
    """All else is in doubt at most; of some it does not matter which."""
    memory = open_memory("told", minilm)
    for text in ("The heron waits by the weir.", "Lea plays the cello.", "Tea is at four."):
        memory.remember(ME, RememberRequest(text))
    old = memory.remember(ME, RememberRequest(older)).id
    new = memory.remember(ME, RememberRequest(newer)).id
    found = {link.kind for link in memory.links(ME, new) if link.b == old and link.kind in KNOWN}
    superseded = relation in ("updates", "contradicts")
    assert memory.get(ME, old).superseded_by == (new if superseded else "")
    if relation is not None:
        assert found == ({relation} if relation else set())


@pytest.mark.parametrize("supersedes", ["", "updates"])
def test_what_is_forgotten_while_it_is_compared_is_left_out(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, supersedes: str
) -> None:
    gone = Doubt("0" * 20, Found(WORDS, ("now",), supersedes=supersedes))
    monkeypatch.setattr(relate, "_doubts", lambda *_: [gone])
    receipt = memory.remember(ME, RememberRequest("Actually Mara lives in Linz now."))
    assert (receipt.status, receipt.similar, receipt.warnings) == ("stored", (), ())


def test_another_agents_memory_is_not_touched(memory: Memory) -> None:
    theirs = memory.remember(OTHER, RememberRequest("Mara lives in Graz.", scope="team")).id
    memory.remember(ME, RememberRequest("Actually Mara lives in Linz now.", scope="team"))
    assert memory.get(OTHER, theirs).superseded_by == ""


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Actually our big office is now in Hamburg for two weeks.", 14),
        ("For now our big office is in Hamburg.", 30),
        ("Our big office is temporarily in Hamburg.", 30),
    ],
)
def test_an_update_for_a_while_goes_first_only_while_it_holds(
    memory: Memory, clock: Any, text: str, days: int
) -> None:
    old = memory.remember(ME, RememberRequest("Our big office is in Berlin.")).id
    new = memory.remember(ME, RememberRequest(text)).id
    assert memory.get(ME, old).superseded_by == ""
    assert memory.get(ME, new).valid_until == pytest.approx(clock() + days * 86_400.0)

    def first() -> str:
        hits = memory.recall(ME, RecallRequest("Our big office is in Berlin.")).hits
        return next(hit.memory.id for hit in hits if hit.memory.id in (old, new))

    assert first() == new
    clock.pass_by((days + 1) * 86_400.0)
    assert first() == old


def test_a_correction_reaches_the_summaries_that_rest_on_it(memory: Memory) -> None:
    texts = ("Mara lives in Graz.", "Mara lives in Graz near the park.", "Mara likes Graz a lot.")
    ids = [memory.remember(ME, RememberRequest(text, session="talk")).id for text in texts]
    summary = memory.consolidate(ME, mode="session", session="talk").summaries[0].id
    assert memory.get(ME, summary).stale_since is None
    journal = memory._runtime.parts().store.journal
    before = journal.commits
    new = memory.remember(ME, RememberRequest("Mara lives in Linz.", replaces=ids[0])).id
    assert memory.get(ME, summary).stale_since == memory.get(ME, ids[0]).superseded_at
    assert journal.commits == before + 1, "what is acknowledged holds the mark too"
    # by the first id again: its successor is replaced, and what is derived from that is marked
    told = {"text": "Mara moved to Linz.", "kind": "summary", "derived_from": [new]}
    renewed = memory.bring_in(ME, told).id
    memory.remember(ME, RememberRequest("Mara lives in Wels.", replaces=ids[0]))
    assert memory.get(ME, new).replaced
    assert memory.get(ME, renewed).stale_since is not None
