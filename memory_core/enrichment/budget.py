"""The budget of the model behind the encoder, with a circuit breaker.

Every call to a model goes through `Budget.call`. It enforces the daily budget (reserving the most
that a call can take, so that the bill is bounded), counts usage in the journal, and stops calling a
service that fails: the pause doubles from 2 s to 10 minutes, or is what the service asked for; then
one call probes the service.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from memory_core.config import GistSettings
from memory_core.errors import EncoderUnavailable, MemoryCoreError
from memory_core.gist.base import AnswerFailure, GistEncoder, ServiceFailure, Usage
from memory_core.records import Change
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.text.time import timestamps

log = logging.getLogger(__name__)

USAGE = "encoder_usage"
"""The meta key of the usage: {day: [calls, failed calls, tokens in, tokens out]}."""

DAYS_KEPT = 31
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 600.0

_COUNTS = ("calls", "failed", "tokens_in", "tokens_out")


class _Used(Protocol):
    @property
    def usage(self) -> Usage: ...


R = TypeVar("R", bound=_Used)


@dataclass(slots=True)
class _Breaker:
    """The circuit breaker: open *until* a time of the monotonic clock, in seconds, after failures.

    *probing* is True while one call tests whether the service works again.
    """

    failures: int = 0
    until: float = 0.0
    problem: EncoderUnavailable | None = None
    probing: bool = False


class Budget:
    """Limits the calls to one encoder with a model, for all threads of a process."""

    def __init__(
        self,
        store: MemoryStore,
        encoder: GistEncoder,
        settings: GistSettings,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """Count in the journal of *store*; days are UTC days of *clock*."""
        self.encoder = encoder
        self._store = store
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._breaker = _Breaker()
        self._reserved = 0
        self._spent_day = ""
        self._unjournalled = [0, 0, 0, 0]

    # Calling

    def may_ask(self) -> bool:
        """True when a call could be made now: no pause, and today's budget is not used up."""
        with self._lock:
            return self._is_closed() and self._spent_day != self._day()

    def _is_closed(self) -> bool:
        """True when the breaker lets a call through."""
        breaker = self._breaker
        expired = self._monotonic() >= breaker.until
        return breaker.failures == 0 or (expired and not breaker.probing)

    def _left(self) -> int:
        used = self.today()
        spent = used["tokens_in"] + used["tokens_out"] + sum(self._unjournalled[2:])
        return self._settings.daily_tokens - spent - self._reserved

    def call(self, most: int, ask: Callable[[GistEncoder], R]) -> R:
        """The result of *ask*(encoder); *most* is the most that it can take, in tokens.

        Raises ServiceFailure, also while the service is paused or the budget used up, and
        AnswerFailure, also when a whole day's budget does not cover it, and for any other failure
        of the encoder. Holds no lock meanwhile.
        """
        self._reserve(most)
        usage, failed = Usage(), True
        try:
            result = ask(self.encoder)
            usage, failed = result.usage, False
        except AnswerFailure as problem:
            usage = problem.usage
            self._failed(problem, None, lasting=False)
            raise
        except ServiceFailure as problem:
            self._failed(problem, problem.retry_after, lasting=problem.lasting)
            raise
        except Exception as problem:  # whatever a library raises: to ask on would never end
            failure = AnswerFailure(
                f"the encoder failed ({type(problem).__name__})",
                "it is tried again, then the text stays as it is",
            )
            self._failed(failure, None, lasting=False)
            raise failure from problem
        finally:
            self._account(most, usage, failed=failed)
        with self._lock:
            self._breaker = _Breaker()
        return result

    def _reserve(self, most: int) -> None:
        if 0 < self._settings.daily_tokens < most:
            raise BeyondBudget(most, self._settings.daily_tokens)
        with self._lock:
            if not self._is_closed():
                problem = self._breaker.problem
                why = problem.problem if problem else "another call is testing it"
                raise ServiceFailure(f"the model is paused: {why}", "it is tried again")
            if most > self._left():
                self._spent_day = self._day()
                raise BudgetUsed(self._settings.daily_tokens)
            self._reserved += most
            self._breaker.probing = self._breaker.failures > 0

    def _failed(
        self, problem: EncoderUnavailable, retry_after: float | None, *, lasting: bool
    ) -> None:
        with self._lock:
            failures = self._breaker.failures + 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures - 1, 16))
            pause = LONGEST_PAUSE if lasting else max(pause, retry_after or 0.0)
            self._breaker = _Breaker(failures, self._monotonic() + pause, problem)
        log.warning("%s: %s", self.encoder.name, problem.problem)

    # Accounting

    def _account(self, most: int, usage: Usage, *, failed: bool) -> None:
        spent = (1, int(failed), usage.tokens_in, usage.tokens_out)
        with self._lock:
            self._reserved -= most
            self._breaker.probing = False
            self._unjournalled = [a + b for a, b in zip(self._unjournalled, spent, strict=True)]
            counted = list(self._unjournalled)
        try:
            self._store.commit(lambda tx: self._count(tx, counted))
        except MemoryCoreError as problem:  # counted in this process, journalled with a later call
            log.warning("the usage of the model is not journalled yet: %s", problem.problem)
            return
        with self._lock:
            pairs = zip(self._unjournalled, counted, strict=True)
            self._unjournalled = [have - done for have, done in pairs]

    def _count(self, tx: Transaction, spent: list[int]) -> None:
        days: dict[str, list[int]] = dict(tx.meta(USAGE) or {})
        day = self._day()
        days[day] = [a + b for a, b in zip(days.get(day, [0] * 4), spent, strict=True)]
        kept = {day: days[day] for day in sorted(days)[-DAYS_KEPT:]}
        tx.append(Change("meta", USAGE, {"value": kept}, source="encoder"))

    def _day(self) -> str:
        return timestamps.utc_day(self._clock()).isoformat()

    def today(self) -> dict[str, int]:
        """Calls, failed calls and tokens of all processes on this UTC day."""
        days = self._store.journal.meta(USAGE) or {}
        return dict(zip(_COUNTS, days.get(self._day(), [0] * 4), strict=True))

    # State

    @property
    def spent(self) -> bool:
        """True when today's budget did not cover a call; no call is made until tomorrow (UTC)."""
        with self._lock:
            return self._spent_day == self._day()

    @property
    def problem(self) -> EncoderUnavailable | None:
        """Why the last call failed; None when it succeeded, or when the budget is used up."""
        with self._lock:
            return self._breaker.problem

    def report(self) -> dict[str, Any]:
        """What health reports: counts by day, cost, budget, pause."""
        days = self._store.journal.meta(USAGE) or {}
        with self._lock:
            breaker = self._breaker
            wait = max(0.0, breaker.until - self._monotonic()) if breaker.failures else 0.0
        used = self.today()
        return {
            "name": self.encoder.name,
            "model": self.encoder.model,
            "version": self.encoder.version,
            "today": used | self._cost(used),
            "budget_tokens": self._settings.daily_tokens,
            "pause_seconds": round(wait, 1),
            "days": {
                day: (counts := dict(zip(_COUNTS, values, strict=True))) | self._cost(counts)
                for day, values in sorted(days.items())[-7:]
            },
        }

    def _cost(self, used: Mapping[str, int]) -> dict[str, float]:
        """{"cost_usd": estimated US dollars}; {} when no price is known."""
        prices = self.encoder.prices
        if prices is None:
            return {}
        dollars = (used["tokens_in"] * prices[0] + used["tokens_out"] * prices[1]) / 1e6
        return {"cost_usd": round(dollars, 6)}


class BudgetUsed(ServiceFailure):
    """The rest of today's budget does not cover the call; rules are used until the next day."""

    def __init__(self, tokens: int) -> None:
        """Name the budget."""
        super().__init__(
            f"today's budget of {tokens:,} tokens is used up: rules are used until midnight UTC",
            "raise daily_tokens under [gist]",
        )


class BeyondBudget(AnswerFailure):
    """A whole day's budget does not cover the call; it is never made."""

    def __init__(self, most: int, tokens: int) -> None:
        """Name the tokens of the call and of the day."""
        super().__init__(
            f"a call can take {most:,} tokens, more than the {tokens:,} of a day",
            "raise daily_tokens under [gist]",
        )
