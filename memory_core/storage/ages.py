"""How long ago something was, on a clock that people and time servers may set back."""

from __future__ import annotations

import math


def elapsed(since: float, now: float) -> float:
    """Seconds from *since* to *now*, both of the wall clock; infinite when *since* lies ahead.

    That is so after the clock was set back: nobody can say how long ago it was, and what is done
    after some time must not wait for years until the clock has caught up. Never negative.
    """
    return now - since if now >= since else math.inf
