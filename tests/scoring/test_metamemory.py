"""Confidence: monotonic in the evidence, banded into feelings."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.scoring import metamemory
from memory_core.scoring.metamemory import Evidence

UNIT = st.floats(0, 1)


@given(cosine=st.floats(-1, 1), coverage=UNIT, more=UNIT)
def test_more_evidence_never_lowers_the_confidence(
    cosine: float, coverage: float, more: float
) -> None:
    value = metamemory.confidence(Evidence(cosine, cosine, coverage))
    assert 0.0 < value < 1.0
    wider = min(1.0, coverage + more)
    assert metamemory.confidence(Evidence(cosine, cosine, wider)) >= value
    closer = min(1.0, cosine + more)
    assert metamemory.confidence(Evidence(closer, cosine, coverage)) >= value


@given(coverage=UNIT, cosine=st.floats(-1, 1))
def test_one_cosine_is_enough(coverage: float, cosine: float) -> None:
    nan = math.nan
    both = metamemory.confidence(Evidence(cosine, cosine, coverage))
    assert metamemory.confidence(Evidence(cosine, nan, coverage)) == both
    assert metamemory.confidence(Evidence(nan, cosine, coverage)) == both


def test_the_better_of_the_two_cosines_counts() -> None:
    assert metamemory.confidence(Evidence(0.2, 0.8, 0.5)) == metamemory.confidence(
        Evidence(0.8, 0.2, 0.5)
    )


@given(coverage=UNIT, more=UNIT)
def test_without_vectors_the_words_decide(coverage: float, more: float) -> None:
    def words(share: float) -> float:
        return metamemory.confidence(Evidence(math.nan, math.nan, share))

    assert 0.0 < words(coverage) < 1.0
    assert words(min(1.0, coverage + more)) >= words(coverage)
    assert metamemory.feeling(words(0.0)) == "none"
    assert metamemory.feeling(words(1.0)) == "high"


def test_no_evidence_is_no_feeling_and_full_evidence_a_high_one() -> None:
    assert metamemory.feeling(metamemory.confidence(Evidence(0.0, 0.0, 0.0))) == "none"
    assert metamemory.feeling(metamemory.confidence(Evidence(0.9, 0.9, 0.9))) == "high"


@pytest.mark.parametrize(
    ("value", "feeling"),
    [
        (1.0, "high"),
        (0.7, "high"),
        (0.69, "moderate"),
        (0.4, "moderate"),
        (0.39, "low"),
        (0.2, "low"),
        (0.19, "none"),
        (0.0, "none"),
    ],
)
def test_feelings_are_bands_of_the_confidence(value: float, feeling: str) -> None:
    assert metamemory.feeling(value) == feeling
