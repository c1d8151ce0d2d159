"""The encoder that relates texts by a local entailment classifier; rules do the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from memory_core.config import Settings
from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import CLASSIFIER, Related, ServiceFailure
from memory_core.gist.passthrough import PassthroughEncoder
from memory_core.link_kinds import CONTRADICTS as CONTRADICTION
from memory_core.link_kinds import DUPLICATE, EXTENDS

ENTAILS, CONTRADICTS = 0.80, 0.65
"""Probabilities above which a newer text repeats the older one, or denies it."""

ADDS = 0.3
"""Of entailment and of being neutral, above which a newer text adds to the older one."""

NEW = "new"


class Entailment(Protocol):
    """A classifier of pairs."""

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        """The probability of contradiction, entailment and neutral, 0 to 1."""
        ...


class ClassifierEncoder(PassthroughEncoder):
    """A GistEncoder whose `relate` asks a classifier. It costs nothing and sends nothing."""

    name = CLASSIFIER

    def __init__(self, model: str, load: Callable[[str], Entailment]) -> None:
        """Relate by the classifier that *load* makes of *model*, a name or folder, when asked."""
        self.model = model
        self.version = f"{CLASSIFIER}:{model}"
        self._load = load
        self._loaded: Entailment | None = None
        self._lock = threading.Lock()

    def relate(self, older: str, newer: str) -> Related:
        """See GistEncoder. Raises ServiceFailure while the classifier cannot be loaded.

        A contradiction leaves the doubt: a classifier cannot tell a change from another thing.
        """
        chances = self._entailment().probabilities(older, newer)
        contradiction, entailment = chances["contradiction"], chances["entailment"]
        if entailment > ENTAILS:
            return Related(DUPLICATE, f"entailment {entailment:.2f}")
        if contradiction > CONTRADICTS:
            return Related(CONTRADICTION, f"contradiction {contradiction:.2f}")
        if entailment > ADDS and chances["neutral"] > ADDS:
            return Related(EXTENDS, f"entailment {entailment:.2f}")
        return Related(NEW)

    def _entailment(self) -> Entailment:
        with self._lock:
            if not self.model:
                raise ServiceFailure(
                    "the encoder classifier has no model",
                    "name the folder of an entailment cross-encoder as ANAMNESIS_ENCODER_MODEL",
                    lasting=True,
                )
            if self._loaded is None:
                try:
                    self._loaded = self._load(self.model)
                except EncoderUnavailable as problem:
                    raise ServiceFailure(problem.problem, problem.next_step, lasting=True) from None
            return self._loaded


def classifier_encoder(settings: Settings) -> ClassifierEncoder:
    """The encoder of the cross-encoder that *settings* name; loaded by the first question."""
    from memory_core.embedding.cross_encoder import CrossEncoderEntailment

    return ClassifierEncoder(settings.encoder_model, CrossEncoderEntailment)
