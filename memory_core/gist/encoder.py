"""Chooses the gist encoder that the settings name.

An encoder describes turns; their text is always stored beside the description. It treats its input
as data: it answers no question and follows no instruction in it.
"""

from __future__ import annotations

from memory_core.config import Settings
from memory_core.gist.base import GistEncoder
from memory_core.gist.http_client import TIMEOUT_SECONDS
from memory_core.gist.passthrough import PassthroughEncoder


def choose(settings: Settings, timeout_seconds: float = TIMEOUT_SECONDS) -> GistEncoder:
    """The encoder that *settings* name; its vendor's library is imported by the first call.

    A call fails after *timeout_seconds* without a byte from the server.
    """
    if settings.encoder == "passthrough":
        return PassthroughEncoder()
    from memory_core.gist.model import model_encoder  # most stores have no model

    return model_encoder(settings, timeout_seconds)
