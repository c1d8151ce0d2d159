"""The package for programs: its names, its methods, and every example of its document."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("content", [None, 5, ["It rained."]])
def test_a_turn_that_is_no_text_is_an_error_of_ours(own: Memory, content: object) -> None:
    for call in (own.observe, own.observe_and_recall):
        with pytest.raises(InvalidInput, match="content: must be text"):
            call(content)  # type: ignore[operator]


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


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def use(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield use
    monkeypatch.undo()
    time.tzset()


EAST, WEST = (timezone(sign * timedelta(hours=2, minutes=1, seconds=9)) for sign in (1, -1))


@pytest.mark.parametrize(
    ("when", "told"),
    [
        (datetime(1934, 7, 2), "1934-07-01T22:40:28Z"),
        (datetime(2026, 5, 5, 12, tzinfo=EAST), "2026-05-05T09:58:51Z"),
        (date(2026, 5, 5), "2026-05-04T22:00:00Z"),
        ("2026-05", "2026-04-30T22:00:00Z"),
        (0, "1970-01-01T00:00:00Z"),
    ],
)
def test_a_time_may_be_a_datetime_a_date_a_text_or_seconds(
    own: Memory, zone: Callable[[str], None], when: str | float | date, told: str
) -> None:
    zone("Europe/Amsterdam")
    seconds = datetime.fromisoformat(told).timestamp()
    assert own.get(own.remember("Grandfather was born.", when=when).id).occurred_at == seconds
    observed = own.observe("My sister Ana moved to Porto.", when=when).receipt
    assert observed is not None
    assert own.get(observed.id).occurred_at == seconds


@pytest.mark.parametrize("when", [datetime(1, 1, 1), datetime.max.replace(tzinfo=WEST)])
def test_a_time_outside_of_the_calendar_is_refused(
    own: Memory, zone: Callable[[str], None], when: datetime
) -> None:
    zone("Europe/Amsterdam")
    for call in (
        lambda: own.remember("Old.", when=when),
        lambda: own.observe("My sister Ana moved to Porto.", when=when),
        lambda: own.recall("x", since=when),
    ):
        with pytest.raises(InvalidInput, match="outside of the years 1 to 9999 in UTC"):
            call()


def test_a_recall_takes_dates(own: Memory) -> None:
    for day in (4, 5, 6):
        own.remember(f"The ferry of {day} May left.", when=datetime(2026, 5, day, 12, tzinfo=UTC))
    day = {"since": date(2026, 5, 5), "until": date(2026, 5, 5)}
    assert own.recall("ferry", **day).texts == ("The ferry of 5 May left.",)
    noon = datetime(2026, 5, 5, 12, tzinfo=UTC)
    assert own.recall("ferry", since=noon, until=noon).texts == ("The ferry of 5 May left.",)
    assert len(own.recall("ferry", as_of=datetime(2099, 1, 1)).texts) == 3


def test_what_is_no_time_is_refused_with_the_forms_that_are(own: Memory) -> None:
    wrong: list[Any] = [None, True, [2026], b"2026"]
    for value in wrong:
        with pytest.raises(InvalidInput, match=r"when: must be a date or time, .*; use 2024, "):
            own.remember("The tea is in the tin.", when=value)
        with pytest.raises(InvalidInput, match=r"since: must be a date or time, .*; use 2024, "):
            own.recall("tea", since=value)


def test_what_is_no_request_is_refused(own: Memory) -> None:
    wrong: Any = {"recency": 0.3}
    with pytest.raises(InvalidInput, match=r"weights: must be Weights, .*; pass Weights\("):
        own.recall("tea", weights=wrong)
    wrong = None
    with pytest.raises(InvalidInput, match=r"request: must be PageRequest, got None"):
        own.page(wrong)


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
