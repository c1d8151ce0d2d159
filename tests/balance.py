"""Which worker of pytest-xdist gets which tests: files, the longest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

LONGEST = (
    "test_sharing.py",
    "test_views.py",
    "test_hook_command.py",
    "test_engine.py",
    "test_ask_engine.py",
    "test_flags.py",
    "test_stdio.py",
    "test_page.py",
    "test_transports.py",
    "test_whole.py",
    "test_missing_parts.py",
    "test_many_clients.py",
    "test_daily_notes.py",
    "test_reader_recipe.py",
    "test_recall_quality.py",
    "test_memory_kill.py",
    "test_store_model.py",
    "test_memory_points.py",
    "test_power_cut.py",
    "test_demo.py",
)
"""Files that take more than half a minute, or ten seconds in few tests."""

TOGETHER = {"tests/evals/test_recall_quality.py": "tests/recall/test_reader_recipe.py"}
"""Files of which one worker takes both: they embed the same dialogue."""


def scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of --dist loadfile but for files of `TOGETHER`."""
    from xdist.scheduler import LoadFileScheduling

    class Balanced(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Balanced(config, log)
