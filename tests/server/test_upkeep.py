from __future__ import annotations

import pytest

from server.cli import admin


def test_setup_finds_a_model_that_is_there(weights_available: bool) -> None:
    if not weights_available:
        pytest.skip("no weights on this machine")
    from memory_core.config import Settings

    outcome = admin.setup(Settings(offline=True), None, {})  # type: ignore[arg-type]
    assert outcome.code == 0
    assert outcome.data["model"] in outcome.text
