"""Names found by a spaCy pipeline, in addition to those of the rules (entities.py).

The only file that imports spaCy. Its models are not on PyPI; the user installs one.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from memory_core.errors import EncoderUnavailable

log = logging.getLogger(__name__)

NAMED = frozenset(
    "PERSON PER ORG GPE LOC FAC PRODUCT EVENT WORK_OF_ART NORP MISC".split()  # noqa: SIM905
)
"""Labels of names; the others are dates, amounts and numbers."""


class SpacyNames:
    """The names that one spaCy pipeline finds. Thread-safe; loaded by the first call."""

    def __init__(self, model: str) -> None:
        """*model*: a package such as en_core_web_sm, or the folder of a pipeline."""
        self._model = model
        self._pipeline: Any = None
        self._lock = threading.Lock()

    def __call__(self, text: str) -> tuple[str, ...]:
        """The names in *text*, in order, without repeats and without a leading article.

        Raises EncoderUnavailable when spaCy or the model is not installed.
        """
        with self._lock:
            if self._pipeline is None:
                self._pipeline = self._load()
            found = [span.text for span in self._pipeline(text).ents if span.label_ in NAMED]
        names = (" ".join(name.split()).removeprefix("the ") for name in found)
        return tuple(dict.fromkeys(name for name in names if len(name) > 1))

    def _load(self) -> Any:
        try:
            import spacy  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise EncoderUnavailable(
                "spaCy is not installed", "pip install 'anamnesis-mcp[spacy]'"
            ) from None
        try:
            return spacy.load(self._model)
        except (OSError, ValueError) as problem:
            raise EncoderUnavailable(
                f"spaCy cannot load {self._model!r} ({problem})",
                f"python -m spacy download {self._model}",
            ) from None


class OptionalNames:
    """The names that a spaCy pipeline finds; none without one, and none after it failed once."""

    def __init__(self, model: str) -> None:
        """*model* as in SpacyNames; "" for no pipeline."""
        self._find = SpacyNames(model) if model else None

    def __call__(self, text: str) -> tuple[str, ...]:
        """The names in *text*, () when there is no pipeline. Never raises EncoderUnavailable."""
        if self._find is None:
            return ()
        try:
            return self._find(text)
        except EncoderUnavailable as problem:
            log.warning("names are found by rules alone: %s", problem)
            self._find = None
            return ()
