from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest


def _cost(function: Callable[[str], Any], text: str) -> float:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        function(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.fixture
def grows_linearly() -> Callable[[Callable[[str], Any], str], bool]:
    """Whether processor time on twice the text stays well under the fourfold of quadratic rules."""

    def check(function: Callable[[str], Any], unit: str) -> bool:
        text = unit * (10_000 // len(unit))
        for _ in range(3):  # a busy machine gets another chance; a quadratic rule does not pass
            if _cost(function, text) < 3 * _cost(function, text[: len(text) // 2]) + 0.004:
                return True
        return False

    return check
