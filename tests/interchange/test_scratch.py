"""Folders of an import: gone at its end, and those that a killed process left at the next one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from memory_core.interchange import scratch
from memory_core.storage.locks import FileLock


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(place: Path, name: str, *, locked: bool = True, old: bool = False) -> Path:
    """A folder as a process leaves it that was killed."""
    path = place / f"{scratch.PREFIX}{name}"
    path.mkdir()
    (path / "diary.md").write_text("- The key is under the mat.\n")
    if locked:
        (path / ".lock").touch()
    if old:
        os.utime(path, (1, 1))
    return path


def test_it_is_private_and_gone_at_the_end(place: Path) -> None:
    with suppress(KeyError), scratch.folder() as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        (path / "diary.md").write_text("- The key is under the mat.\n")
        raise KeyError
    assert list(place.iterdir()) == []


def test_one_that_another_process_swept_as_it_was_made_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    took, swept = scratch._take, list[Path]()

    def take(lock: int) -> bool:
        if not swept:
            swept.extend(place.iterdir())
            scratch.remove(swept[0])
        return took(lock)

    monkeypatch.setattr(scratch, "_take", take)
    with scratch.folder() as path:
        assert path.is_dir()
        assert path != swept[0]


def test_at_the_end_of_the_process_all_go(place: Path) -> None:
    for path in (scratch.make(), scratch.make()):
        (path / "diary.md").write_text("- The key is under the mat.\n")
    scratch.remove_all()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_and_all_else_stays(place: Path) -> None:
    killed, unborn = left(place, "killed"), left(place, "unborn", locked=False, old=True)
    young = left(place, "young", locked=False)
    running = FileLock(left(place, "running") / ".lock")
    assert running.acquire()
    other = place / "anamnesis-diary"
    other.mkdir()
    link = place / f"{scratch.PREFIX}link"
    link.symlink_to(other, target_is_directory=True)
    with scratch.folder() as mine:
        assert set(place.iterdir()) == {mine, young, running._path.parent, other, link}
        scratch.sweep()
        assert mine.is_dir()
    running.release()
    scratch.sweep()
    assert set(place.iterdir()) == {young, other, link}
    assert not killed.exists()
    assert not unborn.exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner")
def test_a_folder_of_another_user_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = left(place, "killed")
    monkeypatch.setattr(scratch.os, "getuid", lambda: path.stat().st_uid + 1)
    scratch.sweep()
    assert path.is_dir()
