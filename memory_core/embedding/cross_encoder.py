"""Whether a text entails or contradicts another, by a local cross-encoder. Needs an extra."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from memory_core.embedding.sentence_transformer import EXTRA
from memory_core.errors import EncoderUnavailable

MAX_PIECES = 512
"""Of both texts together; the rest is cut off."""

LABELS = ("contradiction", "entailment", "neutral")


class CrossEncoderEntailment:
    """A model with the labels contradiction, entailment and neutral. Thread-safe: one at a time."""

    def __init__(self, name: str) -> None:
        """Load the model of the folder *name*, or of this name in the cache of downloads.

        Never downloads. Raises EncoderUnavailable when the library or the model is missing, or
        when it has other labels.
        """
        self.name = name
        self._lock = threading.Lock()
        self._model = _load(name)
        known = self._model.config.id2label
        self._places = {str(label).casefold(): int(place) for place, label in known.items()}
        if set(self._places) != set(LABELS):
            raise EncoderUnavailable(
                f"the model {name} has the labels {', '.join(sorted(self._places))}",
                f"name a cross-encoder with the labels {', '.join(LABELS)}",
            )

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        """The probability of each of LABELS, 0 to 1, in all 1. One thread."""
        import torch

        with self._lock:
            torch.set_num_threads(1)
            scores = self._model.predict([(premise, hypothesis)], show_progress_bar=False)[0]
        scores = np.asarray(scores, dtype=np.float64)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        return {label: float(shares[self._places[label]]) for label in LABELS}


def _load(name: str) -> Any:
    try:
        import torch
        from safetensors import SafetensorError
        from sentence_transformers import CrossEncoder
    except ImportError as problem:
        raise EncoderUnavailable(
            f"sentence-transformers cannot be imported ({problem})",
            f"install it with {EXTRA}, or unset ANAMNESIS_ENCODER",
        ) from None
    try:
        return CrossEncoder(
            name,
            max_length=MAX_PIECES,
            local_files_only=True,
            activation_fn=torch.nn.Identity(),
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as problem:
        reason = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        raise EncoderUnavailable(
            f"the model {name} cannot be loaded ({reason})",
            "download it, and name its folder as ANAMNESIS_ENCODER_MODEL",
        ) from None
