"""Confidence: monotonic in the evidence, banded into feelings."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.scoring import calibration
from memory_core.scoring.calibration import Evidence

UNIT = st.floats(0, 1)


@given(cosine=st.floats(-1, 1), coverage=UNIT, lead=st.floats(0, 20), more=UNIT)
def test_more_evidence_never_lowers_the_confidence(
    cosine: float, coverage: float, lead: float, more: float
) -> None:
    value = calibration.confidence(Evidence(cosine, coverage, lead))
    assert 0.0 < value <= 1.0
    wider = min(1.0, coverage + more)
    assert calibration.confidence(Evidence(cosine, wider, lead)) >= value
    closer = min(1.0, cosine + more)
    assert calibration.confidence(Evidence(closer, coverage, lead)) >= value
    assert calibration.confidence(Evidence(cosine, coverage, lead + more)) >= value


@given(coverage=UNIT, more=UNIT, held=st.integers(0, 30))
def test_without_vectors_the_words_decide(coverage: float, more: float, held: int) -> None:
    def words(share: float, held: int) -> float:
        return calibration.confidence(Evidence(math.nan, share, math.nan, held))

    assert 0.0 < words(coverage, held) < 1.0
    assert words(min(1.0, coverage + more), held) >= words(coverage, held)
    assert words(coverage, held + 1) >= words(coverage, held)
    assert calibration.feeling(words(0.0, held)) == "none"
    assert calibration.feeling(words(1.0, 4)) == "high"
    assert calibration.feeling(words(1.0, 1)) == "moderate", "one word says little"


def test_a_lead_among_bad_matches_says_little() -> None:
    def gained(cosine: float) -> float:
        low, high = (calibration.confidence(Evidence(cosine, 0.0, lead)) for lead in (2.0, 6.0))
        return high - low

    assert gained(0.2) < 0.1 < gained(0.7)


@given(cosine=st.floats(-1, 1), coverage=UNIT)
def test_a_lead_that_cannot_be_told_counts_as_usual(cosine: float, coverage: float) -> None:
    few = calibration.confidence(Evidence(cosine, coverage, math.nan))
    usual = Evidence(cosine, coverage, calibration.USUAL_LEAD)
    assert few == calibration.confidence(usual)


@given(cosine=st.floats(-1, 1), more=UNIT, coverage=UNIT)
def test_a_cue_is_judged_by_meaning_unless_its_words_are_all_held(
    cosine: float, more: float, coverage: float
) -> None:
    def goes(cosine: float, coverage: float, among: int = 200) -> float:
        return calibration.association(Evidence(cosine, coverage, 3.0, 1), among)

    assert goes(cosine, 0.0) <= goes(min(1.0, cosine + more), 0.0)
    assert goes(cosine, 1.0) == calibration.ASSOCIATED < calibration.MODERATE
    by_words = calibration.confidence(Evidence(math.nan, coverage, 1.0, 1))
    assert goes(math.nan, coverage) == min(calibration.ASSOCIATED, by_words)
    assert calibration.feeling(goes(0.26, 0.5)) == "none"
    assert calibration.feeling(goes(0.30, 0.0)) == calibration.feeling(goes(0.34, 0.0)) == "low"
    assert goes(0.26, 0.0, among=10) > goes(0.26, 0.0) > goes(0.26, 0.0, among=10_000)


def test_no_evidence_is_no_feeling_and_full_evidence_a_high_one() -> None:
    assert calibration.feeling(calibration.confidence(Evidence(0.0, 0.0, math.nan))) == "none"
    assert calibration.feeling(calibration.confidence(Evidence(1.0, 1.0, math.nan))) == "high"


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
    assert calibration.feeling(value) == feeling
