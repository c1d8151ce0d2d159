"""What a gist encoder is: turns in, what they are about out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_core.errors import EncoderUnavailable

RELATIONS = ("new", "duplicate", "updates", "extends", "contradicts")


@dataclass(frozen=True, slots=True)
class InputTurn:
    """One turn as an encoder sees it; *when* it was said in epoch seconds, None if unknown."""

    text: str
    speaker: str = ""
    role: str = ""
    when: float | None = None


@dataclass(frozen=True, slots=True)
class Gist:
    """What an encoder makes of one turn.

    *gist* is one or two sentences, "" when the text is short enough to be its own. *tags* are lower
    case, most telling first; *topic* "" when none was judged; *importance* 0-1, None when the
    encoder does not judge it; *reason* names the rule or the model behind the importance.
    """

    gist: str = ""
    tags: tuple[str, ...] = ()
    topic: str = ""
    entities: tuple[str, ...] = ()
    importance: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One self-contained statement in the third person, of one of records.FACT_KINDS.

    *importance* is 0-1; *sources* are the places of the turns that it rests on in context + turns,
    from 0, ascending.
    """

    text: str
    kind: str
    sources: tuple[int, ...]
    importance: float = 0.5
    topic: str = ""
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a call took and gave; zero without a model."""

    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Encoded:
    """What was made of some turns: a gist for each, in order, and the facts of all."""

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
    """How a newer text relates to an older one: one of RELATIONS, "" when it cannot be told."""

    relation: str
    detail: str = ""
    usage: Usage = Usage()


class ServiceFailure(EncoderUnavailable):
    """The service does not serve: nobody's fault but its own or the settings'. Try again later.

    *retry_after* are the seconds that it asked for, None when it did not say. *lasting*: it will
    not get better by itself (a wrong key, an unknown model).
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
    """The service answered with something unusable; *usage* is what it took all the same."""

    def __init__(self, problem: str, next_step: str, usage: Usage = Usage()) -> None:
        """State the *problem* and the *next_step* like every error."""
        super().__init__(problem, next_step)
        self.usage = usage


class GistEncoder(Protocol):
    """Turns what was said into gists, facts, summaries and relations (seed rows B1.4, B4.3, C9.1).

    Thread-safe. Implementations with a model raise ServiceFailure and AnswerFailure.
    """

    @property
    def name(self) -> str:
        """The name that the settings and `health` use."""
        ...

    @property
    def model(self) -> str:
        """The model behind it; "" without one."""
        ...

    @property
    def version(self) -> str:
        """What an encoded memory names as its maker: prompt version, encoder and model."""
        ...

    @property
    def prices(self) -> tuple[float, float] | None:
        """US dollars for a million tokens in and out; None when nobody knows."""
        ...

    def encode(self, turns: Sequence[InputTurn], context: Sequence[InputTurn] = ()) -> Encoded:
        """The gist of each of *turns* and their facts; *context* came before, oldest first."""
        ...

    def summarise(self, texts: Sequence[str], sentences: int) -> Summarised:
        """What *texts* say together, in at most *sentences* sentences."""
        ...

    def relate(self, older: str, newer: str) -> Related:
        """How the text *newer* relates to the text *older* about the same thing."""
        ...
