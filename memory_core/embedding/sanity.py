"""Can the vectors of a backend be trusted? Asked of every answer, and once before first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memory_core.errors import EncoderUnavailable, InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory_core.embedding.embedder import Embedder

SAMPLES = ("The invoice is due on Friday.", "Our cat sleeps on the warm radiator.")
_SAME = 0.999
"""Cosine of a text with itself. Backends differ by batch and thread in the last digits, no more."""


def prefixed(prefix: str, texts: Sequence[str]) -> list[str]:
    """*texts* with *prefix* put before each.

    Raises InvalidInput for a lone surrogate, which no encoding of text can carry to a model.
    """
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as problem:
            raise InvalidInput(
                f"the text has a lone surrogate at position {problem.start}",
                "replace it, for example with U+FFFD",
            ) from None
    return [prefix + text for text in texts] if prefix else list(texts)


def unit_rows(rows: Any, count: int, dimension: int | None, name: str) -> NDArray[np.float32]:
    """*rows* as (count, dimension) float32 at unit length; *name* is the embedder's, for the error.

    *dimension* None accepts any. Raises EncoderUnavailable when the number or the size of the
    vectors is wrong, or one is not finite or zero.
    """
    vectors: NDArray[np.float32]
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        raise _unusable(name, "what is not a table of numbers") from None
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise _unusable(name, f"an array of shape {vectors.shape} for {count} texts")
    if dimension is not None and vectors.shape[1] != dimension:
        raise EncoderUnavailable(
            f"{name} gave {vectors.shape[1]} numbers a text instead of {dimension}",
            "name another model, or correct dimension under [embedding] in the settings file",
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _unusable(name, "a vector that is zero or not finite")
    unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return unit


def examined(embedder: Embedder) -> Embedder:
    """*embedder* itself, once two texts gave two vectors, twice the same, and a query fits them.

    Raises EncoderUnavailable otherwise. Shapes, length and finiteness are those of `unit_rows`.
    """
    first = embedder.documents(SAMPLES)
    again = embedder.documents(SAMPLES[::-1])[::-1]
    if first.shape != (len(SAMPLES), embedder.dimension):
        raise _unusable(embedder.name, f"an array of shape {first.shape}")
    if float(first[0] @ first[1]) >= _SAME:
        raise _unusable(embedder.name, "the same vector for different texts")
    if float((first * again).sum(axis=1).min()) < _SAME:
        raise _unusable(embedder.name, "different vectors for the same text")
    if embedder.query(SAMPLES[0]).shape != (embedder.dimension,):
        raise _unusable(embedder.name, "a query vector of another size")
    return embedder


def _unusable(name: str, what: str) -> EncoderUnavailable:
    return EncoderUnavailable(
        f"the embedder {name} gave {what}", "check that it is an embedding model, or name another"
    )
