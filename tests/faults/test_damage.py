"""Any file but the journal goes bad: everything is served meanwhile, and it is built anew.

The long version is tests/campaigns/damage.py. Damage to single parts: test_table_damage.py and
tests/storage.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from damages import WAYS, spoil

from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def scenarios() -> Any:
    import memory_scenarios

    return memory_scenarios


@pytest.fixture(scope="module")
def whole(scenarios: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A memory with a table of several commits and a snapshot, closed; and what it was told."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    account, said = scenarios.Account(), list[list[str]]()
    memory = scenarios.open_memory(folder)
    client = scenarios.Client(memory, lambda *words: said.append([str(w) for w in words]))
    for number in range(12):
        client.remember(f"k{number}")
        if number % 4 == 3:
            client.round()
    memory.close()
    account.take(said)
    return folder, account


def serve(memory: Memory, account: Any, scenarios: Any) -> None:
    """Everything is recalled, whatever state the derived files are in."""
    for key, id in account.ids.items():
        found = memory.recall(scenarios.ME, RecallRequest(scenarios.text_of(key), k=3))
        texts = {hit.memory.id: hit.memory.text for hit in (*found.hits, *found.partial)}
        assert texts.get(id) == scenarios.text_of(key)
    listed = memory.listing(scenarios.ME, limit=100)
    assert {each.id for each in listed} == set(account.ids.values())


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2))])
@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_file_is_served_around_and_built_anew(
    whole: tuple[Path, Any], scenarios: Any, tmp_path: Path, way: str, seed: int
) -> None:
    folder, account = whole
    copy, order = tmp_path / "copy", random.Random(f"{way} {seed}")
    shutil.copytree(folder, copy)
    spoil(copy, way, order)
    memory = scenarios.open_memory(copy)
    try:
        serve(memory, account, scenarios)
        account.verify(memory)
        serve(memory, account, scenarios)
    finally:
        memory.close()


def test_a_file_that_goes_bad_under_a_running_server_is_served_around(
    whole: tuple[Path, Any], scenarios: Any, tmp_path: Path
) -> None:
    folder, account = whole
    copy, order = tmp_path / "copy", random.Random(71)
    shutil.copytree(folder, copy)
    memory = scenarios.open_memory(copy)
    try:
        account.verify(memory)
        for way in WAYS:
            spoil(copy / "table", way, order)
            serve(memory, account, scenarios)
            account.verify(memory)
    finally:
        memory.close()


def test_what_is_damaged_is_kept_to_look_at_until_something_is_forgotten(
    whole: tuple[Path, Any], scenarios: Any, tmp_path: Path
) -> None:
    folder, account = whole
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for path in (copy / "table").rglob("*.manifest"):
        path.write_bytes(b"")
    memory = scenarios.open_memory(copy)
    try:
        account.verify(memory)
        assert [path.name for path in (copy / "table").glob("*.damaged*")] == ["1.damaged"]
        checks = {check.name: check.status for check in memory.health(scenarios.ME).checks}
        assert checks["set aside"] == "repaired"
        memory.forget(scenarios.ME, ids=[account.ids["k3"]], confirm=True, never_again=False)
        for _ in range(2):
            memory._runtime.parts().maintenance.round()
        assert not list(copy.glob("*/*.damaged*"))
    finally:
        memory.close()
    left = [path for path in copy.rglob("*") if path.is_file()]
    assert not [p for p in left if scenarios.text_of("k3").encode() in p.read_bytes()]
