"""Who judges how a later memory relates to an earlier one: a local model, and the configured one.

A judge is asked in the background and its verdict is stored with its name (`judging`). A local
entailment model tells contradiction from entailment and costs nothing, so it is asked first; only a
language model can tell a change from two things that cannot both be so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import Related
from memory_core.link_kinds import CONTRADICTS, DUPLICATE, EXTENDS
from memory_core.records import Check, MemoryRecord

log = logging.getLogger(__name__)

ENTAILED, CONTRADICTED = 0.80, 0.65
"""Probabilities above which a text entails the other, or both contradict each other."""

ADDS = 0.3
"""Of entailment and of being neutral, above which the later text adds to the earlier one."""


class Judge(Protocol):
    """Relates two memories. Thread-safe."""

    @property
    def name(self) -> str:
        """The name of the model, as it is stored with a verdict."""
        ...

    @property
    def free(self) -> bool:
        """True when a question costs nothing."""
        ...

    def may_ask(self) -> bool:
        """False while a question would not be answered."""
        ...

    def ask(self, older: MemoryRecord, newer: MemoryRecord) -> Related | None:
        """How *newer* relates to *older*; None, or relation "", for no verdict.

        Raises ServiceFailure when it can be asked again later, AnswerFailure for an unusable
        answer.
        """
        ...


class Entailment(Protocol):
    """A classifier of pairs."""

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        """The probability of contradiction, entailment and neutral, 0 to 1."""
        ...


class LocalJudge:
    """An entailment model in a folder of this machine, loaded by the first question."""

    free = True

    def __init__(self, place: Path, load: Callable[[Path], Entailment] | None = None) -> None:
        """Judge by the model in *place*, which *load* loads."""
        folders = [each for each in (place, *place.parents) if each.suffix != ".onnx"]
        self.name = "entailment:" + next(each.name for each in folders if each.name != "onnx")
        self._place = place
        self._load = load or _cross_encoder
        self._loaded: Entailment | None = None
        self._problem: EncoderUnavailable | None = None
        self._lock = threading.Lock()

    def may_ask(self) -> bool:
        """True: it is on this machine."""
        return True

    def ask(self, older: MemoryRecord, newer: MemoryRecord) -> Related | None:
        """See Judge. Both texts are premise once.

        Never "updates", which it cannot tell from a contradiction. That it finds nothing says too
        little to end a doubt. None, too, when the model could not be loaded: `check` says why.
        """
        model = self._model()
        if model is None:
            return None
        forth = model.probabilities(older.text, newer.text)
        back = model.probabilities(newer.text, older.text)
        against = (forth["contradiction"] + back["contradiction"]) / 2
        if forth["entailment"] > ENTAILED:
            return Related(DUPLICATE, f"entailment {forth['entailment']:.2f}")
        if against > CONTRADICTED:
            return Related(CONTRADICTS, f"contradiction {against:.2f}")
        if back["entailment"] > ENTAILED:
            return Related(EXTENDS, f"entailment {back['entailment']:.2f}")
        if forth["entailment"] > ADDS and forth["neutral"] > ADDS:
            return Related(EXTENDS, f"entailment {forth['entailment']:.2f}")
        return None

    def check(self) -> Check:
        """The health check of the local judge."""
        if not self._place.exists():
            self._model()  # says what is wrong before the first question does
        if self._problem is not None:
            return Check("judge", "degraded", self._problem.problem, self._problem.next_step)
        return Check("judge", "ok", self.name)

    def _model(self) -> Entailment | None:
        with self._lock:
            if self._loaded is None and self._problem is None:
                try:
                    self._loaded = self._load(self._place)
                except EncoderUnavailable as problem:
                    self._problem = problem
                    log.warning("%s: %s", self.name, problem.problem)
            return self._loaded


def _cross_encoder(place: Path) -> Entailment:
    from memory_core.embedding.cross_encoder import CrossEncoder  # most stores have no judge

    return CrossEncoder(place)
