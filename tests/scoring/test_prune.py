"""What has faded: both conditions, and the protection that no setting lifts."""

from __future__ import annotations

import numpy as np

from memory_core.scoring import tiers


def test_only_what_is_neither_retained_nor_important_is_faded() -> None:
    retention = np.array([0.1, 0.1, 0.2, 0.9])
    importance = np.array([0.3, 0.31, 0.1, 0.1])
    found = tiers.faded(retention, importance, least_retention=0.2, most_importance=0.3)
    assert found.tolist() == [True, False, False, False]


def test_corrections_stay_whatever_the_settings() -> None:
    importance = np.array([0.84, 0.85, 1.0])
    found = tiers.faded(np.zeros(3), importance, least_retention=1.0, most_importance=1.0)
    assert found.tolist() == [True, False, False]
