"""Fixtures that several folders of tests share."""

from __future__ import annotations

import pytest

from memory_core.config import Settings
from memory_core.embedding.acquisition import locate
from memory_core.embedding.minilm import MiniLM
from memory_core.errors import EncoderUnavailable


@pytest.fixture(scope="session")
def weights_available() -> bool:
    """True when this machine has the real model's weights; nothing is fetched."""
    try:
        locate(Settings(offline=True))
    except EncoderUnavailable:
        return False
    return True


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    """The real model. Without its weights the test errors, with the way to get them."""
    return MiniLM(locate(Settings(offline=True)))
