"""Which worker of pytest-xdist gets which tests: files, the longest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

LONGEST = (
    "test_sharing.py",
    "test_hook_command.py",
    "test_views.py",
    "test_engine.py",
    "test_transports.py",
    "test_whole.py",
    "test_ask_engine.py",
    "test_page.py",
    "test_stdio.py",
    "test_memory_points.py",
    "test_client.py",
    "test_demo.py",
    "test_journal_points.py",
    "test_memory_kill.py",
    "test_letters.py",
    "test_power_cut.py",
    "test_install.py",
    "test_many_clients.py",
    "test_tasks.py",
    "test_flags.py",
    "test_sleep_kill.py",
    "test_attacks.py",
    "test_way_back.py",
    "test_startup.py",
    "test_warm.py",
    "test_processes.py",
    "test_lance_import.py",
    "test_check.py",
    "test_runtime.py",
    "test_injections.py",
    "test_over_a_socket.py",
    "test_docs.py",
    "test_patterns.py",
    "test_reader.py",
    "test_daily_notes.py",
    "test_secret_lists.py",
    "test_damage.py",
    "test_beliefs.py",
    "test_reader_recipe.py",
    "test_store_model.py",
    "test_spreading.py",
    "test_recall_quality.py",
    "test_inference.py",
    "test_rights.py",
    "test_memory.py",
    "test_operations.py",
    "test_refusals.py",
    "test_health.py",
    "test_mirror_damage.py",
    "test_browse.py",
    "test_late.py",
    "test_hooks.py",
    "test_hostile_imports.py",
    "test_architecture.py",
    "test_http.py",
    "test_secrets.py",
    "test_reembedding.py",
)
"""Files that take more than ten seconds, the longest first: with processes, then without."""

TOGETHER = {
    "tests/evals/test_recall_quality.py": "tests/recall/test_reader_recipe.py",
    "tests/evaluation/test_dialogue.py": "tests/recall/test_reader_recipe.py",
}
"""Files of which one worker takes all: they embed the same dialogue."""


def scheduler(config: pytest.Config, log: Any) -> Any:
    """The scheduler of --dist loadfile but for files of `TOGETHER`."""
    from xdist.scheduler import LoadFileScheduling

    class Balanced(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Balanced(config, log)
