"""Gist encoders: turns in, what they are about out. The text itself is always kept beside it.

An encoder describes what was said. It never answers a question for anybody, and what it is given is
data: a text that asks for something is only reported as having been said.
"""

from __future__ import annotations

from memory_core.config import Settings
from memory_core.gist.base import GistEncoder

"""How a newer text can relate to an older one (seed row C9.1)."""


def choose(settings: Settings) -> GistEncoder:
    """The encoder that *settings* name; its vendor is imported when it is first asked."""
    if settings.encoder == "passthrough":
        from memory_core.gist.passthrough import PassthroughEncoder  # it imports Gist from here

        return PassthroughEncoder()
    from memory_core.gist.model import model_encoder

    return model_encoder(settings)
