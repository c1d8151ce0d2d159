"""Every example of docs/integrations.md, with the real packages over a stand-in for the model."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import pytest
from agents import set_tracing_disabled

from tests.anamnesis.stand_in import SAID

DOCUMENT = Path(__file__).parents[3] / "docs/integrations.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
assert len(EXAMPLES) == 5


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the frameworks' own clients
def test_the_examples_run(
    number: int,
    tmp_path: Path,
    model: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in {
        "ANAMNESIS_DATA_DIR": str(tmp_path),
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": model.url,
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": f"{model.url}/v1",
    }.items():
        monkeypatch.setenv(name, value)
    set_tracing_disabled(True)
    exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "__main__"})
    gc.collect()
    printed = capsys.readouterr().out
    assert "green tea" in printed if "langgraph" in EXAMPLES[number] else SAID in printed
