"""The protocol of gist encoders: what they are given and what they return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_core.errors import EncoderUnavailable

MOST_SAID = 1_024
"""Tokens of an answer in a chat, at most."""

RELATIONS = ("new", "duplicate", "updates", "extends", "contradicts")


@dataclass(frozen=True, slots=True)
class InputTurn:
    """One turn as an encoder sees it; *when* it was said in epoch seconds, None if unknown."""

    text: str
    speaker: str = ""
    role: str = ""
    when: float | None = None


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a chat as a model sees it: *role* is user or assistant."""

    role: str
    text: str


class Speaker(Protocol):
    """A model that answers in a chat. Thread-safe."""

    @property
    def model(self) -> str:
        """The name of the model."""
        ...

    def say(self, system: str, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """The answer to *messages*, of which the last is the user's, piece by piece.

        Raises ServiceFailure or AnswerFailure, also after the first piece.
        """
        ...


@dataclass(frozen=True, slots=True)
class Gist:
    """The description of one turn.

    *gist* is one or two sentences, "" when the text is short enough to be its own gist. *keywords*
    are lower case, most telling first; *topic* is "" when none was found; *importance* is 0-1, None
    when it was not judged; *reason* names the rule or the model behind the importance.
    """

    gist: str = ""
    keywords: tuple[str, ...] = ()
    topic: str = ""
    entities: tuple[str, ...] = ()
    importance: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One self-contained statement in the third person, of one of records.FACT_KINDS.

    *importance* is 0-1; *sources* are the indices, ascending, of the turns that state it in
    context + turns.
    """

    text: str
    kind: str
    sources: tuple[int, ...]
    importance: float = 0.5
    topic: str = ""
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens in and out of a call; zero without a model."""

    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Encoded:
    """The descriptions of some turns: a gist for each, in order, and the facts of all."""

    gists: tuple[Gist, ...]
    facts: tuple[Fact, ...] = ()
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Summarised:
    """A summary; "" when there is nothing to say."""

    text: str
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Related:
    """How a newer text relates to an older one: one of RELATIONS, "" when it was not judged."""

    relation: str
    detail: str = ""
    usage: Usage = Usage()


class ServiceFailure(EncoderUnavailable):
    """The service did not answer; the texts are not the cause, so the call can be repeated.

    *retry_after* is the wait in seconds that it asked for, None when it named none. *lasting* True:
    repeating does not help (a wrong key, an unknown model).
    """

    def __init__(
        self,
        problem: str,
        next_step: str,
        *,
        retry_after: float | None = None,
        lasting: bool = False,
    ) -> None:
        """State the *problem* and the *next_step* like every error."""
        super().__init__(problem, next_step)
        self.retry_after = retry_after
        self.lasting = lasting


class AnswerFailure(EncoderUnavailable):
    """The service answered with something unusable; *usage* is what that cost."""

    def __init__(self, problem: str, next_step: str, usage: Usage = Usage()) -> None:
        """State the *problem* and the *next_step* like every error."""
        super().__init__(problem, next_step)
        self.usage = usage


class GistEncoder(Protocol):
    """Turns conversation into gists, facts, summaries and relations. Thread-safe.

    Implementations with a model raise ServiceFailure and AnswerFailure.
    """

    @property
    def name(self) -> str:
        """The name of the encoder in the settings and in `health`."""
        ...

    @property
    def model(self) -> str:
        """The name of the model; "" without one."""
        ...

    @property
    def version(self) -> str:
        """Prompt version, encoder and model; each encoded memory stores it."""
        ...

    @property
    def prices(self) -> tuple[float, float] | None:
        """US dollars for a million tokens in and out; None when unknown."""
        ...

    def encode(self, turns: Sequence[InputTurn], context: Sequence[InputTurn] = ()) -> Encoded:
        """The gist of each of *turns* and their facts; *context* came before, oldest first."""
        ...

    def summarise(self, texts: Sequence[str], sentences: int) -> Summarised:
        """A summary of *texts* in at most *sentences* sentences."""
        ...

    def relate(self, older: str, newer: str) -> Related:
        """How the text *newer* relates to the text *older* about the same thing."""
        ...
