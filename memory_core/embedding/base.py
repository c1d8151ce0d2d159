"""What an embedder is: its protocol, the profile of a model, and the check that it makes sense."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from memory_core.errors import EncoderUnavailable, InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.config import EmbedderSettings


@dataclass(frozen=True, slots=True)
class Profile:
    """What belongs to the name of an embedding model: its prefixes, its size and its thresholds.

    *dimension* None means whatever the model gives. The thresholds are cosines in document space
    (no query prefix) and differ from model to model, because some press all texts into a narrow
    cone: *near_duplicate* from which two texts may say the same (numbers, names and negation still
    decide), *related* from which they are about the same thing, *topic* of a text to the centroid
    of its topic, *cluster* of two episodes of one cluster. With *first_person* a question about
    somebody who speaks in the store is also embedded as they would put it.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    dimension: int | None = None
    near_duplicate: float = 0.90
    related: float = 0.45
    topic: float = 0.50
    cluster: float = 0.60
    first_person: bool = False


PROFILES = {
    # Measured on 2,080 turns of real conversation: 0.45 is passed by 2 % of pairs from different
    # conversations; 0.60 gives the most clusters of three and more among 50 turns (0.50 chains them
    # all). Topics on 2,998 turns: 0.50 leaves 1 to 3 % alone, 0.70 30 to 55 %
    # (docs/internals/evaluation.md). First person: docs/internals/recall.md.
    "all-MiniLM-L6-v2": Profile(dimension=384, first_person=True),
    # Trained on the same pairs as MiniLM, thresholds taken over, not measured.
    "all-mpnet-base-v2": Profile(dimension=768),
    # Narrower cone; seed rows A2.2, A4.6, A5.1, not measured.
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
}


def profile_of(name: str, settings: EmbedderSettings) -> Profile:
    """The built-in profile of the model called *name*, overruled by what *settings* set.

    A model that is not known gets the plain profile: no prefixes, thresholds as for MiniLM.
    """
    built_in = PROFILES.get(name.rstrip("/").rsplit("/", 1)[-1].split(":", 1)[0], Profile())
    given = {
        field: value
        for field in Profile.__dataclass_fields__
        if (value := getattr(settings, field)) is not None
    }
    return replace(built_in, **given)


def fingerprint_of(base: str, profile: Profile) -> str:
    """*base*, which names weights and length limit, and the document prefix where there is one.

    The query prefix is left out: it does not touch what is stored.
    """
    if not profile.document_prefix:
        return base
    return f"{base}:{hashlib.sha256(profile.document_prefix.encode()).hexdigest()[:8]}"


class Embedder(Protocol):
    """Turns text into vectors of unit length. Thread-safe. Only `choose` makes one.

    *fingerprint* names the weights and the recipe from text to vector (length limit, document
    prefix). Vectors with the same fingerprint can be compared, whichever backend made them.
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
