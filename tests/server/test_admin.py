from __future__ import annotations

import pytest

from server.cli import main
from server.cli.invocation import Invocation


def test_setup_finds_a_model_that_is_there(
    weights_available: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not weights_available:
        pytest.skip("no weights on this machine")
    monkeypatch.setattr("os.environ", {"ANAMNESIS_OFFLINE": "1"})
    outcome = main.run(["setup"], Invocation())
    assert outcome.code == 0
    assert outcome.data["model"] in outcome.text
