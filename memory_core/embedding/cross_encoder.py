"""Whether a text entails or contradicts another, by a local cross-encoder in an ONNX file."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_core.embedding import onnx_files
from memory_core.errors import EncoderUnavailable

MAX_PIECES = 512
"""Of both texts together; the rest of the longer one is cut off."""

LABELS = ("contradiction", "entailment", "neutral")

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
"""The names of the labels, and the tokenizer: beside the ONNX file or in the folder above."""

_INPUTS = ("attention_mask", "input_ids", "token_type_ids")


class Unfit(EncoderUnavailable):
    """There is no entailment model at a place."""

    def __init__(self, place: Path, why: str) -> None:
        """Say *why* there is none at *place*."""
        super().__init__(
            f"{place} is no entailment model ({why})",
            "name the ONNX file of a cross-encoder, or its folder, as ANAMNESIS_JUDGE",
        )


class CrossEncoder:
    """A model with the labels contradiction, entailment and neutral. Thread-safe: one at a time."""

    def __init__(self, place: Path) -> None:
        """Load the model of *place*: its ONNX file, or a folder that holds one, or has it in onnx/.

        Never downloads. Raises Unfit with what is missing or does not fit.
        """
        file = _file(place)
        self._places = _labels(file)
        try:
            self._tokenizer = onnx_files.tokenizer(_beside(file, TOKENIZER), MAX_PIECES)
            self._session = onnx_files.session(str(file), file.parent)
        except onnx_files.UnusableModel as problem:
            raise Unfit(file, str(problem)) from None
        self._inputs = [each.name for each in self._session.get_inputs()]
        if not {"input_ids"} <= set(self._inputs) <= set(_INPUTS):
            raise Unfit(file, f"it asks for {', '.join(self._inputs)}")
        self._lock = threading.Lock()
        try:
            shape = self._scores("a", "b").shape
        except onnx_files.failures() as problem:
            raise Unfit(file, f"it fails: {problem}") from None
        if shape != (len(LABELS),):
            raise Unfit(file, f"its scores have the shape {shape}")

    def probabilities(self, premise: str, hypothesis: str) -> Mapping[str, float]:
        """The probability of each of LABELS, 0 to 1, in all 1. One thread."""
        scores = self._scores(premise, hypothesis)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        return {label: float(shares[self._places[label]]) for label in LABELS}

    def _scores(self, premise: str, hypothesis: str) -> NDArray[np.float64]:
        pieces = self._tokenizer.encode(premise, hypothesis)
        given = {
            "input_ids": pieces.ids,
            "attention_mask": pieces.attention_mask,
            "token_type_ids": pieces.type_ids,
        }
        rows = {name: np.array([given[name]], dtype=np.int64) for name in self._inputs}
        with self._lock:
            scores: NDArray[np.float64] = self._session.run(None, rows)[0][0].astype(np.float64)
        return scores


def _file(place: Path) -> Path:
    """The ONNX file that *place* is, or the only one of its folder."""
    if place.is_file():
        return place
    found = sorted(place.glob("*.onnx")) or sorted(place.glob("onnx/*.onnx"))
    if len(found) > 1:
        raise Unfit(place, f"it holds several: {', '.join(each.name for each in found)}")
    if not found:
        raise Unfit(place, "it holds no ONNX file" if place.exists() else "it is not there")
    return found[0]


def _beside(file: Path, name: str) -> Path:
    for folder in (file.parent, file.parent.parent):
        if (folder / name).is_file():
            return folder / name
    raise Unfit(file, f"there is no {name} beside it")


def _labels(file: Path) -> dict[str, int]:
    """The place of each of LABELS among the scores of the model in *file*."""
    config = _beside(file, CONFIG)
    try:
        known = json.loads(config.read_text("utf-8"))["id2label"]
        places = {str(label).casefold(): int(place) for place, label in known.items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        raise Unfit(file, f"its {CONFIG} names no labels") from None
    if set(places) != set(LABELS):
        raise Unfit(file, f"it has the labels {', '.join(sorted(places))}")
    return places
