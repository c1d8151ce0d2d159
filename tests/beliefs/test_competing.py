from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory_core.beliefs.compare import compare_texts
from memory_core.beliefs.competing import (
    LEAST,
    LIKELY_WORDED,
    WEIGHTS,
    Nearness,
    likelihood,
    may_compete,
    signs,
    weighable,
)

TEXTS = st.lists(
    st.text(st.sampled_from("abcdeé'’.,-?XZ09"), min_size=1, max_size=8), min_size=1
).map(" ".join)
NEAR = st.builds(
    Nearness, st.floats(LEAST, 1.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.booleans()
)

OLDER, NEWER = "The parcels go to the porter.", "parcels: the kiosk next door takes them in"


@given(TEXTS, TEXTS, NEAR)
def test_each_sign_is_weighed_and_bounded(older: str, newer: str, near: Nearness) -> None:
    assume(weighable(older, newer, near))
    found = signs(older, newer, near)
    assert found.keys() == WEIGHTS.keys()
    assert all(-1.0 <= value <= 2.0 for value in found.values())


@given(TEXTS, TEXTS, NEAR, st.booleans())
def test_a_likelihood_is_one(older: str, newer: str, near: Nearness, form: bool) -> None:
    assert 0.0 <= likelihood(older, newer, near, form=form) <= 1.0


@given(TEXTS, TEXTS, NEAR)
def test_what_may_not_compete_is_never_likely(older: str, newer: str, near: Nearness) -> None:
    if not may_compete(older, newer, near):
        ahead = replace(near, margin=near.ahead)
        most = [
            likelihood(older, newer, each, form=form)
            for each in (near, ahead)
            for form in (True, False)
        ]
        assert max(most) < LIKELY_WORDED


ENDS = st.tuples(st.floats(LEAST, 1.0), st.floats(-0.5, 0.5))


@given(ENDS, ENDS)
def test_what_is_nearer_is_no_less_likely(
    one: tuple[float, float], other: tuple[float, float]
) -> None:
    ends = zip(*(sorted(each) for each in zip(one, other, strict=True)), strict=True)
    less, more = (likelihood(OLDER, NEWER, Nearness(*each)) for each in ends)
    assert less <= more


def test_a_contracted_is_makes_nothing_anybodys() -> None:
    older = "Elsie has swimming on Thursdays"
    for newer, anothers in (("Elsie's gone up to stage 6", 0.0), ("Elsie's bag is blue", 1.0)):
        assert signs(older, newer, Nearness(0.5))["another's"] == anothers


def test_what_holds_for_a_while_has_the_form_of_its_rule() -> None:
    texts = "The choir meets on Monday.", "This week the choir meets on Thursday."
    with_form, without = (likelihood(*texts, Nearness(0.8), form=form) for form in (True, False))
    assert with_form < without


@pytest.mark.parametrize(
    ("older", "newer", "near"),
    [
        (OLDER, NEWER, Nearness(None)),
        (OLDER, NEWER, Nearness(LEAST - 0.01)),
        (OLDER, "...", Nearness(0.6)),
        (OLDER, " ".join(["parcels arrive"] * 40), Nearness(0.6)),
        ("I live in Graz.", "We have a flat at the Danube.", Nearness(0.6)),
    ],
    ids=["no vectors", "far apart", "no words", "a story", "no word in common"],
)
def test_of_some_pairs_nothing_is_said(older: str, newer: str, near: Nearness) -> None:
    assert likelihood(older, newer, near) == 0.0


def test_what_is_done_has_the_form_of_what_was_to_be_done() -> None:
    older = "the parish key has to be returned by friday"
    newer, near = "parish key: returned, tick that off", Nearness(0.6, 0.2, 0.2)
    assert compare_texts(older, newer, near) is not None
    assert likelihood(older, newer, near) < LIKELY_WORDED
