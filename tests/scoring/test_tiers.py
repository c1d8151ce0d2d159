"""What leaves the ring, goes cold or is crowded out, against a plain model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_core.scoring import tiers
from memory_core.scoring.tiers import (
    ACTIVE,
    COLD,
    CROWDED,
    KEPT,
    LONG_TERM,
    OVER,
    RECENT,
    STAY,
    UNKEPT,
    Bounds,
    Held,
)

BOUNDS = Bounds(0.5, 0.2, 300.0, recent_most=40, long_term_most=100)


def held(count: int = 1, **columns: list[float]) -> Held:
    plain = {
        "tier": RECENT,
        "importance": 0.5,
        "retention": 1.0,
        "age_s": 1000.0,
        "recorded_at": 0.0,
        "ringed": False,
        "covered": False,
        "owner": 0,
    }
    flags = ("ringed", "covered")
    return Held(
        **{
            name: np.array(
                columns.get(name, [value] * count), dtype=np.bool_ if name in flags else None
            )
            for name, value in plain.items()
        }
    )


def settle(bounds: Bounds = BOUNDS, **columns: list[float]) -> list[int]:
    return tiers.next_moves(held(len(next(iter(columns.values()))), **columns), bounds).tolist()


def test_what_leaves_the_ring_is_kept_from_an_importance_on() -> None:
    active = [ACTIVE] * 4
    assert settle(tier=active, importance=[0.49, 0.5, 0.15, 0.9]) == [UNKEPT, KEPT, UNKEPT, KEPT]
    assert (
        settle(tier=active, importance=[0.1] * 4, ringed=[1, 1, 0, 0]) == [STAY] * 2 + [UNKEPT] * 2
    )
    assert settle(tier=active[:1], importance=[0.1], covered=[1]) == [KEPT]


def test_a_recent_memory_is_cold_when_little_is_retained_and_it_is_no_longer_new() -> None:
    moves = settle(retention=[0.19, 0.2, 0.19], age_s=[300.0, 300.0, 299.0])
    assert moves == [COLD, STAY, STAY]
    assert settle(tier=[LONG_TERM], retention=[0.0]) == [STAY]


def test_the_oldest_least_important_are_crowded_out_of_recent_by_owner() -> None:
    bounds = replace(BOUNDS, recent_most=2)
    moves = settle(
        bounds,
        importance=[0.9, 0.5, 0.5, 0.2, 0.1],
        recorded_at=[1.0, 2.0, 3.0, 4.0, 5.0],
        owner=[0, 0, 0, 0, 1],
    )
    assert moves == [STAY, CROWDED, STAY, CROWDED, STAY]


def test_long_term_retires_only_beyond_its_cap_and_nothing_protected() -> None:
    bounds = replace(BOUNDS, long_term_most=1)
    moves = settle(
        bounds,
        tier=[LONG_TERM] * 5,
        importance=[0.5, 0.4, 0.85, 1.0, 0.1],
        covered=[0, 0, 0, 0, 1],
    )
    assert moves == [STAY, OVER, STAY, STAY, STAY]


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 50)), max_size=40, unique=True),
    st.integers(1, 6),
)
def test_the_ring_holds_the_last_turns_of_each_conversation(
    turns: list[tuple[int, int]], most: int
) -> None:
    thread = np.array([t for t, _ in turns], dtype=np.int32)
    position = np.array([p for _, p in turns], dtype=np.int32)
    inside = tiers.ringed(thread, position, most)
    for place, (t, p) in enumerate(turns):
        later = sum(1 for other, q in turns if other == t and q > p)
        assert inside[place] == (t >= 0 and later < most)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([ACTIVE, RECENT, LONG_TERM]),
            st.floats(0, 1),
            st.floats(0, 1),
            st.booleans(),
            st.integers(0, 1),
        ),
        max_size=60,
    ),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_settling_keeps_the_caps_and_is_done_after_a_second_time(
    rows: list[tuple[int, float, float, bool, int]], recent: int, lasting: int
) -> None:
    bounds = replace(BOUNDS, recent_most=recent, long_term_most=lasting)
    state = held(
        len(rows),
        tier=[r[0] for r in rows],
        importance=[r[1] for r in rows],
        retention=[r[2] for r in rows],
        ringed=[r[3] for r in rows],
        owner=[r[4] for r in rows],
        recorded_at=list(range(len(rows))),
    )
    for _ in range(4):  # active -> recent -> long_term -> retired, then there is nothing to do
        moves = tiers.next_moves(state, bounds)
        tier = np.where(moves == KEPT, RECENT, state.tier)
        tier = np.where((moves == COLD) | (moves == CROWDED), LONG_TERM, tier)
        stays = (moves != UNKEPT) & (moves != OVER)
        state = Held(
            *(
                np.asarray(tier if name == "tier" else getattr(state, name))[stays]
                for name in Held.__dataclass_fields__
            )
        )
    assert not tiers.next_moves(state, bounds).any()
    for owner in (0, 1):
        mine = state.owner == owner
        assert np.count_nonzero(mine & (state.tier == RECENT)) <= recent
        low = state.importance < tiers.PROTECTED_IMPORTANCE
        assert np.count_nonzero(mine & (state.tier == LONG_TERM) & low) <= lasting
