"""The package for programs: its names, its methods, and every example of its document."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

import anamnesis
import memory_core
from anamnesis import AsyncMemory, InvalidInput, Memory, MemoryCoreError, NotFound, Settings
from memory_core.memory import Memory as Facade
from server.http.tokens import Tokens

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/python.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
INSIDE = {"of"}
"""Of Memory, and not of AsyncMemory."""


@pytest.fixture
def own(open_memory: object, memory: Facade) -> Memory:
    return Memory.of(memory, anamnesis.Identity("ann"))


def test_every_name_loads_and_nothing_else_is_there() -> None:
    for name in anamnesis.__all__:
        assert getattr(anamnesis, name).__name__ == name
    assert dir(anamnesis) == sorted(anamnesis.__all__) == sorted(anamnesis._HOMES)
    with pytest.raises(AttributeError, match="has no attribute 'Memorie'"):
        anamnesis.Memorie  # noqa: B018
    assert memory_core.Memory is Memory
    with pytest.raises(AttributeError):
        memory_core.Memorie  # noqa: B018


@pytest.mark.usefixtures("processes")
def test_importing_it_loads_nothing_of_the_memory() -> None:
    code = (
        "import sys, anamnesis, memory_core\n"
        "print([n for n in sys.modules if n.startswith(('memory_core.', 'anamnesis.', 'numpy'))])"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_both_classes_have_the_same_methods() -> None:
    def methods(one: type) -> set[str]:
        return {n for n, m in vars(one).items() if callable(m) and not n.startswith("_")}

    assert methods(Memory) - methods(AsyncMemory) <= INSIDE
    assert methods(AsyncMemory) <= methods(Memory)
    for name in methods(Memory):
        method = getattr(Memory, name)
        assert method.__doc__
        assert "who" not in inspect.signature(method).parameters


def test_what_is_told_is_recalled_corrected_and_forgotten(own: Memory) -> None:
    told = own.remember("The tea is in the tin.", tags=["kitchen"], when=datetime(2024, 5, 1, 8))
    record = own.get(told.id)
    assert (record.text, record.agent, record.tags) == (
        "The tea is in the tin.",
        "ann",
        ("kitchen",),
    )
    assert datetime.fromtimestamp(record.occurred_at) == datetime(2024, 5, 1, 8)
    found = own.recall("tea tin", k=3)
    assert found.texts == ("The tea is in the tin.",)
    first, line = repr(found).split("\n")
    assert first.startswith("<Recollection: 1 found, confidence ")
    assert line == f"1. 2024-05-01 {told.id} 'The tea is in the tin.'"
    new = own.remember("The tea is in the jar.", replaces=told.id)
    assert f"(out of date, see {new.id})" in repr(own.recall(told.id))
    assert [each.text for each in own.forget(new.id).removed] == ["The tea is in the jar."]
    assert own.forget(new.id, confirm=True).status == "forgotten"
    with pytest.raises(NotFound):
        own.get(new.id)


def test_what_it_passes_on_is_what_the_facade_does(own: Memory) -> None:
    id = own.remember("The standup is on Tuesday.").id
    assert own.amend(id, tags=["work"]) > 0
    assert own.get(id).tags == ("work",)
    assert own.listing(limit=1) == [own.get(id)]
    assert own.stats()["memories"] == 1
    assert own.doubts() == []
    run = own.consolidate(dry_run=True)
    assert (run.run, run.retired) == ("", ())
    assert [record["id"] for record in own.export()] == [id]
    assert own.history(id)[0].kind == "put"


def test_an_export_is_brought_in_elsewhere(own: Memory, open_memory: object) -> None:
    own.remember("The standup is on Tuesday.")
    other = Memory.of(open_memory("other"), anamnesis.Identity("ann"))  # type: ignore[operator]
    (receipt,) = other.bring_in(own.export())
    assert other.get(receipt.id).text == "The standup is on Tuesday."


def test_settings_come_from_the_arguments_the_settings_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANAMNESIS_AGENT", "bea")
    monkeypatch.setenv("ANAMNESIS_DATA_DIR", str(tmp_path / "a"))
    with Memory() as one, Memory(agent="cleo", data_dir=tmp_path / "b") as two:
        assert (one.identity.agent, one.facade.settings.data_dir) == ("bea", tmp_path / "a")
        assert (two.identity.agent, two.facade.settings.data_dir) == ("cleo", tmp_path / "b")
        assert repr(two) == f"<Memory of 'cleo' in {str(tmp_path / 'b')!r}>"
    with pytest.raises(TypeError, match="not both"):
        Memory(Settings(), agent="cleo")
    with pytest.raises(InvalidInput):
        Memory(agent="")
    with pytest.raises(TypeError, match="tag"):
        two.remember("x", tag="y")  # type: ignore[call-arg]


@pytest.mark.anyio
async def test_the_methods_are_awaited(tmp_path: Path) -> None:
    async with AsyncMemory(data_dir=tmp_path) as memory:
        told = await memory.remember("The tea is in the tin.", tags=["kitchen"])
        assert (await memory.get(told.id)).tags == ("kitchen",)
        assert (await memory.recall("tea tin")).texts == ("The tea is in the tin.",)
        assert [record["id"] async for record in memory.export()] == [told.id]
        assert repr(memory).startswith("<AsyncMemory of ")
        with pytest.raises(MemoryCoreError):
            await memory.get("0" * 20)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_run(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    tokens: Tokens,
) -> None:
    assert len(EXAMPLES) >= 5
    monkeypatch.setenv("ANAMNESIS_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("MEMORY_URL", url)
    monkeypatch.setenv("MEMORY_TOKEN", tokens.add("ann"))
    exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()
