"""The protocol of embedders, the profile of a model, and the sanity check of its vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from memory_core.errors import EncoderUnavailable, InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Profile:
    """The properties of an embedding model: its prefixes, its dimension and its thresholds.

    *dimension* None accepts any. The thresholds are cosines in document space (no query prefix),
    and differ between models because some map all texts into a narrow cone. *near_duplicate*: two
    texts may say the same (numbers, names and negation decide). *related*: they are about the same
    thing. *topic*: a text belongs to the topic with that centroid. *cluster*: two episodes belong
    to one cluster. *english* is True of a model that knows English alone: a question about a
    speaker of the store is also embedded in the first person, and that German texts are near tells
    nothing.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    dimension: int | None = None
    near_duplicate: float = 0.90
    related: float = 0.45
    topic: float = 0.50
    cluster: float = 0.60
    english: bool = False


# By the last part of the model's name, so that any publisher's copy of a model is recognised.

_E5 = {
    size: Profile(
        query_prefix="query: ",
        document_prefix="passage: ",
        dimension=dimension,
        near_duplicate=0.95,
        related=0.80,
        topic=0.82,
        cluster=0.86,
    )
    for size, dimension in {"small": 384, "base": 768, "large": 1024}.items()
}

PROFILES = {
    # Measured on 2,080 turns of real conversation: 0.45 is passed by 2 % of pairs from different
    # conversations; 0.60 gives the most clusters of three and more among 50 turns (0.50 chains them
    # all). Topics on 2,998 turns: 0.50 leaves 1 to 3 % alone, 0.70 30 to 55 %
    # (docs/internals/evaluation.md). First person: docs/internals/recall.md.
    "all-MiniLM-L6-v2": Profile(dimension=384, english=True),
    # Trained on the same pairs as MiniLM, thresholds taken over, not measured.
    "all-mpnet-base-v2": Profile(dimension=768),
    # Narrower cone; not measured.
    "bge-large-en-v1.5": Profile(
        query_prefix="Represent this sentence for searching relevant passages: ",
        dimension=1024,
        near_duplicate=0.92,
        related=0.60,
        topic=0.70,
        cluster=0.70,
    ),
    # Between the two, by its model card; not measured.
    "bge-m3": Profile(dimension=1024, near_duplicate=0.92, related=0.55, topic=0.60, cluster=0.65),
    # Prefixes from the model cards; all cosines lie between 0.7 and 1, thresholds not measured.
    **{f"e5-{size}-v2": _E5[size] for size in _E5},
    **{f"multilingual-e5-{size}": _E5[size] for size in _E5},
}


def profile_of(name: str) -> Profile:
    """The built-in profile of the model *name*, which may be a path or have a tag.

    An unknown model gets the default profile: no prefixes, thresholds as for MiniLM.
    """
    return PROFILES.get(name.rstrip("/").rsplit("/", 1)[-1].split(":", 1)[0], Profile())


def fingerprint_of(base: str, profile: Profile) -> str:
    """*base*, which names weights and length limit, with a hash of the document prefix, if any.

    The query prefix is left out, because it does not change stored vectors.
    """
    if not profile.document_prefix:
        return base
    return f"{base}:{hashlib.sha256(profile.document_prefix.encode()).hexdigest()[:8]}"


class Embedder(Protocol):
    """Turns text into vectors of unit length. Thread-safe. Only `choose` makes one.

    *fingerprint* names the weights and the recipe from text to vector (length limit, document
    prefix). Vectors with the same fingerprint are comparable, whichever backend made them.
    """

    name: str
    fingerprint: str
    dimension: int
    profile: Profile

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text, in the order given: (len(texts), dimension) float32, unit length.

        Document space: with the document prefix, without the query prefix. Compare duplicates
        here. An empty sequence gives shape (0, dimension). Raises EncoderUnavailable when the
        model does not answer.
        """
        ...

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector to search with: (dimension,) float32, unit length, with the query prefix."""
        ...


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
    import numpy as np  # late: choosing an embedder costs no import of an array library

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
            "check which model the server runs, or name another",
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _unusable(name, "a vector that is zero or not finite")
    unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return unit


def examined(embedder: Embedder) -> Embedder:
    """*embedder*, after a check: different texts give different vectors, equal texts equal ones.

    Raises EncoderUnavailable otherwise. `unit_rows` has checked shape, length and finiteness.
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
