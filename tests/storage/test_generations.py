"""Numbered folders, against what pathlib sees."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.errors import DiskFull, ReadOnly, StorageError
from memory_core.storage.generations import Generations


@pytest.fixture
def generations(tmp_path: Path) -> Generations:
    return Generations(tmp_path / "table")


def test_nothing_is_created_before_the_first_generation(
    generations: Generations, tmp_path: Path
) -> None:
    assert generations.numbers() == []
    assert generations.quarantined() == []
    assert generations.remove_others(None) == []
    assert list(tmp_path.iterdir()) == []


def test_create_makes_the_next_folder_empty_and_private(generations: Generations) -> None:
    assert [generations.create() for _ in range(3)] == [1, 2, 3]
    assert generations.numbers() == [1, 2, 3]
    for number in (1, 2, 3):
        folder = generations.path(number)
        assert list(folder.iterdir()) == []
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_folder_is_private_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o277)
    try:
        generations = Generations(tmp_path / "index")
        number = generations.create()
    finally:
        os.umask(before)
    for folder in (tmp_path / "index", generations.path(number)):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_numbers_sort_as_numbers_and_ignore_what_is_not_ours(
    generations: Generations, tmp_path: Path
) -> None:
    root = tmp_path / "table"
    for name in ("2", "10", "0", "01", "x", "3.damaged", "-1", "٣"):
        (root / name).mkdir(parents=True)
    (root / "7").write_text("a file")
    assert generations.numbers() == [2, 10]


def test_remove_others_keeps_the_current_one_with_its_files(generations: Generations) -> None:
    for _ in range(3):
        generations.create()
    (generations.path(1) / "deep").mkdir()
    (generations.path(1) / "deep" / "file").write_text("old")
    (generations.path(2) / "file").write_text("kept")
    assert generations.remove_others(2) == [1, 3]
    assert generations.numbers() == [2]
    assert (generations.path(2) / "file").read_text() == "kept"


def test_a_set_aside_generation_keeps_its_files_and_its_number_is_not_used_again(
    generations: Generations,
) -> None:
    number = generations.create()
    (generations.path(number) / "file").write_text("evidence")
    aside = generations.quarantine(number)
    assert aside.name == "1.damaged"
    assert (aside / "file").read_text() == "evidence"
    assert generations.numbers() == []
    assert generations.create() == 2


def test_a_second_quarantine_of_a_number_overwrites_nothing(generations: Generations) -> None:
    names = []
    for _ in range(3):
        folder = generations.path(1)
        folder.mkdir(parents=True)
        names.append(generations.quarantine(1).name)
    assert names == ["1.damaged", "1.damaged-2", "1.damaged-3"]
    assert [path.name for path in generations.quarantined()] == names


def test_quarantined_folders_go_only_when_asked_for(generations: Generations) -> None:
    generations.create()
    generations.quarantine(1)
    current = generations.create()
    assert generations.remove_others(current) == []
    assert len(generations.quarantined()) == 1
    assert generations.remove_others(current, quarantined=True) == []
    assert generations.quarantined() == []
    assert generations.numbers() == [current]


def test_setting_aside_what_is_not_there_is_a_storage_error(generations: Generations) -> None:
    with pytest.raises(StorageError):
        generations.quarantine(4)


@pytest.mark.parametrize("number", [0, -1])
def test_generations_count_from_one(generations: Generations, number: int) -> None:
    with pytest.raises(ValueError, match="count from 1"):
        generations.path(number)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (errno.ENOSPC, DiskFull),
        (errno.EDQUOT, DiskFull),
        (errno.EROFS, ReadOnly),
        (errno.EACCES, ReadOnly),
        (errno.EIO, StorageError),
    ],
)
def test_what_the_disk_refuses_has_a_name(
    generations: Generations, monkeypatch: pytest.MonkeyPatch, code: int, error: type[StorageError]
) -> None:
    generations.create()

    def refuse(*args: object, **options: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    for call in (generations.create, lambda: generations.remove_others(None)):
        with pytest.raises(StorageError) as caught:
            call()
        assert type(caught.value) is error


@settings(deadline=None, max_examples=15)
@given(steps=st.lists(st.sampled_from(["create", "quarantine", "remove"]), max_size=12))
def test_a_number_is_never_used_while_a_folder_of_it_exists(
    steps: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    generations = Generations(tmp_path_factory.mktemp("root") / "table")
    live: list[int] = []
    aside: list[int] = []
    for step in steps:
        if step == "create":
            number = generations.create()
            assert number > max([0, *live, *aside])
            live.append(number)
        elif live and step == "quarantine":
            generations.quarantine(live[0])
            aside.append(live.pop(0))
        elif live:
            assert generations.remove_others(live[-1]) == live[:-1]
            live = live[-1:]
        assert generations.numbers() == live
        assert len(generations.quarantined()) == len(aside)
