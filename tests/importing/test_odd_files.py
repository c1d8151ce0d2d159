"""Odd and broken files: each thing that they hold is taken as it was meant, or named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Clock

from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord

ME = Identity("me")

Bring = Callable[..., ImportReport]


@pytest.fixture(autouse=True)
def after_every_file(clock: Clock) -> None:
    clock.now = 2_000_000_000.0


@pytest.fixture
def bring(memory: Memory, tmp_path: Path) -> Bring:
    """Imports a file of a name and a text."""

    def brought(name: str, text: str | bytes, **more: object) -> ImportReport:
        path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return memory.import_files(ME, ImportRequest(str(path), **more))  # type: ignore[arg-type]

    return brought


def stored(memory: Memory) -> list[MemoryRecord]:
    found = memory.listing(ME, limit=1000)
    return sorted(found, key=lambda each: (each.occurred_at, each.position, each.text))


def texts(memory: Memory) -> list[str]:
    return [each.text for each in stored(memory)]


# Numbers


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400], ids=["inf", "-inf", "int"])
def test_a_time_beyond_all_numbers_is_none(memory: Memory, bring: Bring, number: str) -> None:
    ours = f'{{"text": "The heron waits.", "occurred_at": {number}}}\n{{"text": "A stork."}}\n'
    assert bring("a.jsonl", ours).problem_count == 1
    message = f'{{"uuid": "m", "sender": "human", "text": "A swan.", "created_at": {number}}}'
    talk = f'{{"uuid": "a", "created_at": "2024-05-07", "chat_messages": [{message}]}}'
    assert bring("b.json", f"[{talk}]").dated["conversation"] == 1
    assert sorted(texts(memory)) == ["A stork.", "A swan."]


# Lists


@pytest.mark.parametrize("more", ["{0}", "x", "\n\n{0}\n", " " * 2**20 + "{0}"])
def test_what_follows_a_list_is_named(memory: Memory, bring: Bring, more: str) -> None:
    talk = '{"uuid": "a", "chat_messages": [{"uuid": "m", "sender": "human", "text": "A swan."}]}'
    report = bring("a.json", f"[{talk}]" + more.format(f"[{talk}]"))
    assert report.problems == [
        "a.json after element 1: the list ends here, and what follows is not read"
    ]
    assert texts(memory) == ["A swan."]


def test_an_entity_that_says_nothing_is_counted(bring: Bring) -> None:
    report = bring("m.jsonl", '{"type":"entity","name":"Ann","entityType":"x","observations":[]}\n')
    assert report.left_out == {"entity without observations": 1}


# Tables


@pytest.mark.parametrize(
    ("table", "expected", "lines"),
    [
        ('id,text\n1,"a heron\n2,a stork\n3,"a swan"\n4,a gull\n', "gull stork swan", [2]),
        ('id,text\n1,"a heron\n2,a stork\n4,a gull\n', "gull stork", [2]),
        ("id,text\n1,a heron, and more\n2,a stork\n", "stork", [2]),
        ('id,text\n1,"a "grey" heron"\n2,a stork\n', "stork", [2]),
        ("text,when\ra heron,2024-05-07\ra stork,2024-05-08\r", "heron stork", []),
        ("sep=;\ntext;when\na heron;2024-05-07\n;\n", "heron", []),
        ('"id"|"text"|"from, to, by"\n1|"a heron"|x\n\n,,\n', "heron", [4]),
        ('text\n"a\rheron"\n', "a\nheron", []),
    ],
)
def test_each_row_of_a_table_is_read_or_named(
    memory: Memory, bring: Bring, table: str, expected: str, lines: list[int]
) -> None:
    report = bring("t.csv", table)
    said = sorted(text.removeprefix("a ") for text in texts(memory))
    assert said == (expected.split(" ") if "\n" not in expected else [expected])
    assert [int(each.split(" line ")[1].split(":")[0]) for each in report.problems] == lines


def test_a_wrong_line_of_a_table_moves_no_number(bring: Bring) -> None:
    report = bring("t.csv", b"id,text\n1,caf\xe9\n2,\n")
    assert [each.partition(":")[0] for each in report.problems] == ["t.csv line 2", "t.csv line 3"]


def test_who_speaks_in_a_table_is_kept_under_any_name(memory: Memory, bring: Bring) -> None:
    bring("t.csv", "text,role\na heron,Human\na stork,AI\na swan,Ann\n")
    found = {each.text: (each.role, each.speaker) for each in stored(memory)}
    assert found == {
        "a heron": ("user", ""),
        "a stork": ("assistant", ""),
        "a swan": ("", "Ann"),
    }
