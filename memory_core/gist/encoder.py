"""Gist encoders: a turn in, what it is about out. The text itself is always kept beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_core.config import Settings


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


class GistEncoder(Protocol):
    """Turns one turn of a conversation into a Gist (seed row B1.4)."""

    @property
    def name(self) -> str:
        """The name that the settings and `health` use."""
        ...

    def encode(
        self, text: str, *, role: str = "", speaker: str = "", context: Sequence[str] = ()
    ) -> Gist:
        """The gist of *text*; *context* are the turns before it, oldest first."""
        ...


def choose(settings: Settings) -> GistEncoder:
    """The encoder that *settings* name. passthrough needs no model and cannot fail."""
    from memory_core.gist.passthrough import PassthroughEncoder  # it imports Gist from here

    encoders: dict[str, type[PassthroughEncoder]] = {PassthroughEncoder.name: PassthroughEncoder}
    return encoders[settings.encoder]()
