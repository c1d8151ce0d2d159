"""What takes back what an assistant was told to do always, or never."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.beliefs.withdrawn import withdraws
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import ConversationTurn, RememberRequest
from server.hooks.briefing import briefing

ME = Identity("me")
TAKEN_BACK = [
    ("please always answer in short sentences", "forget what I said about short sentences"),
    ("please always answer in English", "you can answer in German again"),
    ("never push to main without asking me", "you may push to main without asking from now on"),
    ("ask me before adding dependencies", "no need to ask about dependencies any more"),
    ("Antworte immer auf Englisch", "du kannst wieder auf Deutsch antworten"),
    ("don't use tables in answers", "the table ban is lifted"),
    ("no emojis please", "emojis are fine again"),
    ("Never mention the budget in mails", "the budget may be mentioned again"),
    ("User prefers answers without code", "User wants code in the answers again"),
    ("Nenn mich immer Frau Lindner", "vergiss das mit Frau Lindner, du reicht"),
]
NOT_TAKEN_BACK = [
    ("please always answer in English", "my sister can answer the phone again"),
    ("never deploy on Fridays", "you can deploy the docs now"),
    ("always ask me before you delete files", "you can delete the old branch"),
    ("no emojis please", "you can book the flight again"),
    ("the office is closed on Fridays", "the office is open on Fridays again"),
    ("we answer mails in English", "you can answer mails in German again"),
    ("no emojis please", ""),
    ("", "you can use emojis again"),
]


@pytest.mark.parametrize(("older", "newer"), TAKEN_BACK)
def test_what_is_allowed_again_takes_a_wish_back(older: str, newer: str) -> None:
    assert withdraws(older, newer)


@pytest.mark.parametrize(("older", "newer"), NOT_TAKEN_BACK)
def test_what_is_said_of_one_time_or_of_somebody_does_not(older: str, newer: str) -> None:
    assert not withdraws(older, newer)


@pytest.mark.parametrize("as_note", [True, False])
@pytest.mark.parametrize(("older", "newer"), TAKEN_BACK[1:4])
def test_a_briefing_tells_the_wish_with_what_takes_it_back(
    open_memory: Any, clock: Any, minilm: Any, older: str, newer: str, *, as_note: bool
) -> None:
    memory: Memory = open_memory(embedder=minilm)
    assert memory.wait_ready(60)
    for number, text in enumerate((older, newer)):
        if as_note:
            memory.remember(ME, RememberRequest(text))
        else:
            turn = ConversationTurn("user", text, session=f"s{number}")
            assert memory.observe(ME, turn).receipt is not None
        clock.pass_by(20 * 86_400.0)
    text = briefing(memory, ME, "", "later", clock.now).text
    assert f"> {older}\n> but later: {newer}\n" in text
    assert not memory.listing(ME, limit=9)[0].superseded_by


@given(st.text(), st.text())
def test_any_two_texts_are_compared(older: str, newer: str) -> None:
    assert isinstance(withdraws(older, newer), str)
