"""Working memory, hot buffer and priming, turn by turn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.lifecycle.working_memory import (
    CONVERSATIONS,
    EMPTY,
    RECALLED,
    Activation,
    Sessions,
    WorkingMemory,
)
from memory_core.records import Identity

ME, OTHER = Identity("me"), Identity("other")


@pytest.fixture
def session() -> WorkingMemory:
    return WorkingMemory()


def activate(session: WorkingMemory, *ids: str, similarity: float = 0.5) -> None:
    session.activate([Activation(id, similarity) for id in ids])


def test_what_is_recalled_stays_in_working_memory_for_five_turns(session: WorkingMemory) -> None:
    activate(session, "a")
    for left in (5, 4, 3, 2, 1):
        assert session.mind().working == {"a": left}
        session.tick()
    assert session.mind().working == {}


def test_reactivation_renews_and_keeps_the_higher_score(session: WorkingMemory) -> None:
    activate(session, "a", similarity=0.9)
    session.tick()
    session.tick()
    activate(session, "a", similarity=0.2)
    assert session.mind().working == {"a": 5}
    activate(session, *(f"b{n}" for n in range(10)), similarity=0.5)
    assert "a" in session.mind().working  # 0.9 still counts


def test_when_full_the_lowest_goes(session: WorkingMemory) -> None:
    session.activate([Activation(f"m{n}", n / 20) for n in range(12)])
    assert set(session.mind().working) == {f"m{n}" for n in range(2, 12)}


def test_stale_items_are_rescored_and_do_not_crowd_out(session: WorkingMemory) -> None:
    activate(session, *(f"old{n}" for n in range(10)), similarity=0.9)
    session.rescore({f"old{n}": 0.05 for n in range(10)})
    activate(session, "new", similarity=0.3)
    assert "new" in session.mind().working
    assert len(session.mind().working) == 10


def test_another_topic_empties_working_memory_within_five_turns(session: WorkingMemory) -> None:
    activate(session, "zebra", "lion")
    for turn in range(5):
        session.tick()
        activate(session, f"code{turn}")
    assert not {"zebra", "lion"} & set(session.mind().working)


def test_the_hot_buffer_keeps_the_twenty_recalled_last(session: WorkingMemory) -> None:
    for n in range(30):
        activate(session, f"m{n}")
    activate(session, "m12")
    assert session.mind().hot == (*(f"m{n}" for n in range(10, 30) if n != 12), "m12")


def test_priming_falls_with_turns_and_ends_after_ten(session: WorkingMemory) -> None:
    activate(session, "a")
    shares = []
    for _ in range(11):
        shares.append(session.mind().primed["a"])
        session.tick()
    assert shares[0] == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert session.mind().primed == {}


def test_reactivation_resets_priming(session: WorkingMemory) -> None:
    activate(session, "a")
    for _ in range(4):
        session.tick()
    assert session.mind().primed["a"] < 0.5
    activate(session, "a")
    assert session.mind().primed["a"] == pytest.approx(1.0)


def test_what_comes_from_a_lower_tier_is_promoted_once(session: WorkingMemory) -> None:
    session.activate([Activation("a", 0.5, "long_term", "Africa"), Activation("b", 0.5, "active")])
    session.activate([Activation("a", 0.5, "recent", "Africa")])
    assert session.mind().promoted == {"a": "long_term"}
    assert session.mind().topics == {"Africa"}
    assert session.mind().explain("a")["promoted_from"] == "long_term"
    assert session.mind().explain("b") == {"priming": 1.3, "working_memory_turns": 5}
    assert session.mind().explain("c") == {}


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 30), st.floats(-1, 1))), max_size=80))
def test_sizes_and_lives_stay_within_their_bounds(steps: list[tuple[int, float] | None]) -> None:
    session = WorkingMemory()
    for step in steps:
        if step is None:
            session.tick()
        else:
            activate(session, f"m{step[0]}", similarity=step[1])
        mind = session.mind()
        assert len(mind.hot) <= 20
        assert len(mind.working) <= 10
        assert all(1 <= left <= 5 for left in mind.working.values())
        assert all(0 < share <= 1 for share in mind.primed.values())


# All conversations of a process


def test_conversations_do_not_leak_into_each_other() -> None:
    sessions = Sessions()
    sessions.asked(ME, "a")
    sessions.answered(ME, "a", [Activation("secret", 0.9)], {})
    assert sessions.mind(ME, "a").hot == ("secret",)
    for who, name in ((ME, "b"), (OTHER, "a"), (Identity("me", "crew"), "a"), (ME, "")):
        assert sessions.mind(who, name) == EMPTY
        assert sessions.asked(who, name).hot == ()


def test_the_conversation_that_was_used_last_is_known() -> None:
    sessions = Sessions()
    assert sessions.last(ME) == ""
    for who, name in ((ME, "a"), (ME, "b"), (ME, "a"), (OTHER, "c")):
        sessions.heard(who, name)
    assert (sessions.last(ME), sessions.last(OTHER)) == ("a", "c")
    sessions.end(ME, "a")
    assert sessions.last(ME) == "b"


def test_without_a_session_nothing_is_kept() -> None:
    sessions = Sessions()
    sessions.answered(ME, "", [Activation("a", 0.9)], {})
    assert sessions.asked(ME, "") == EMPTY


def test_an_ended_conversation_begins_anew() -> None:
    sessions = Sessions()
    sessions.answered(ME, "a", [Activation("m", 0.9)], {})
    sessions.end(ME, "a")
    sessions.end(ME, "never begun")
    assert sessions.mind(ME, "a") == EMPTY


def test_questions_count_as_turns_only_where_none_are_observed() -> None:
    sessions = Sessions()
    sessions.answered(ME, "asked", [Activation("m", 0.9)], {})
    assert sessions.asked(ME, "asked").working == {"m": 4}
    sessions.heard(ME, "heard")
    sessions.answered(ME, "heard", [Activation("m", 0.9)], {})
    assert sessions.asked(ME, "heard").working == {"m": 5}
    sessions.heard(ME, "heard")
    assert sessions.asked(ME, "heard").working == {"m": 4}


def test_what_was_told_lately_is_bounded() -> None:
    sessions = Sessions()
    sessions.note_shown(ME, [f"m{n}" for n in range(RECALLED + 5)])
    assert sessions.shown(ME) == [f"m{n}" for n in range(5, RECALLED + 5)]
    for n in range(CONVERSATIONS):
        sessions.note_shown(Identity(f"agent {n}"), ["x"])
    assert sessions.shown(ME) == []
    for n in range(CONVERSATIONS + 1):
        sessions.heard(ME, f"talk {n}")
        sessions.answered(ME, f"talk {n}", [Activation("m", 0.9)], {})
    assert sessions.mind(ME, "talk 0") == EMPTY
    assert sessions.mind(ME, "talk 1").hot == ("m",)
