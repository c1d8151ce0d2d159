"""The command `export` in every format: bytes that stay the same, and what comes back of them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Clock

from memory_core.importing.request import ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server import __version__
from server.cli import invocation, main, serve

ME = Identity("me")

HOSTILE = (
    "# A heading\n---\n```\nfence --> <!-- anamnesis {} -->\n> quoted\n\n## Elsewhere\n",
    "Carriage\r\nreturns stay in here.",
    "  Leading and trailing blanks  ",
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    monkeypatch.setattr(Memory, "__exit__", lambda self, *_: None)
    monkeypatch.setattr(invocation, "open_memory", lambda settings: memory)
    memory._clock.now = 2e9  # type: ignore[attr-defined]
    monkeypatch.setattr("os.environ", {"ANAMNESIS_DATA_DIR": str(tmp_path / "data")})

    def running(*argv: str) -> tuple[int, str, str]:
        code = main.main(argv)
        said = capsys.readouterr()
        return code, said.out, said.err

    return running


@pytest.fixture
def filled(run: Run, memory: Memory, clock: Clock) -> list[dict[str, Any]]:
    """A memory of every kind of file, one superseded, and texts that look like Markdown."""
    first = memory.remember(ME, RememberRequest("Mara Lind lives in Oslo.", kind="fact")).id
    clock.pass_by(60)
    memory.remember(ME, RememberRequest("Mara Lind lives in Bergen.", kind="fact", replaces=first))
    clock.pass_by(60)
    for number, text in enumerate(HOSTILE):
        who = f"Ann {number}"
        memory.remember(ME, RememberRequest(text, session="Trip: Nørd/../e", speaker=who))
    memory.remember(ME, RememberRequest("Deploy on Thursdays.", tags=("project:weir", "rule")))
    memory.remember(ME, RememberRequest("it rained all day", session="CON"))
    return list(memory.export(ME))


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_folder_gives_everything_back_and_stays_the_same(
    run: Run, filled: list[dict[str, Any]], open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    root = tmp_path / "out"
    code, out, err = run("export", str(root), "--format", "okf")
    assert (code, err) == (0, "")
    assert "not in it: nothing; imported again, the trust becomes import" in out
    first = contents(root)
    code, out, err = run("export", str(root), "--format", "okf")
    assert contents(root) == first
    assert f"0 files, {len(first)} unchanged, 0 deleted" in out + err
    other = open_memory("other")
    report = other.import_files(ME, ImportRequest(str(root)))
    assert report.problems == []
    assert dict(report.counts) == {"stored": len(filled)}
    kept = list(other.export(ME))
    assert sorted(kept, key=lambda each: each["id"]) == sorted(
        ({**each, "trust": "import"} for each in filled), key=lambda each: each["id"]
    )


def test_a_file_of_the_folder_says_what_the_format_asks_for(
    run: Run, memory: Memory, tmp_path: Path
) -> None:
    said = {"source": "letter: 7", "tags": ("project:weir",)}
    old = memory.remember(ME, RememberRequest("Ann keeps the weir.", session="talk", **said)).id
    new = memory.remember(ME, RememberRequest("Ben keeps the weir.", replaces=old, **said)).id
    run("export", str(tmp_path), "--format", "okf")
    talk = (tmp_path / "sessions" / "talk.md").read_text()
    matter, _, rest = talk.removeprefix("---\n").partition("---\n")
    assert matter.splitlines() == [
        'okf: "0.2"',
        'type: "conversation"',
        'title: "talk"',
        "generated:",
        f'  by: "anamnesis/{__version__}"',
        f'  at: "{next(memory.export(ME))["recorded_at"]}"',
        "sources:",
        '  - "letter: 7"',
    ]
    where = next(path for path in tmp_path.rglob("*.md") if "> Ben keeps" in path.read_text())
    place = where.relative_to(tmp_path).as_posix()
    assert f"Lifecycle: superseded by [{new}](../{place}#{new})." in rest
    assert re.search(r"^Valid: \.\.\. to \d{4}-\d\d-\d\d\.$", rest, re.MULTILINE)
    assert "- [talk](sessions/talk.md): 1" in (tmp_path / "index.md").read_text()


def test_files_have_names_that_every_system_takes(
    run: Run, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    run("export", str(tmp_path / "out"), "--format", "okf")
    names = contents(tmp_path / "out")
    assert len({name.casefold() for name in names}) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-/.") for name in names)
    assert "sessions/con.md" not in names
    assert any(name.startswith("projects/weir") for name in names)
    assert b"superseded by [" in b"".join(names.values())


def test_what_was_forgotten_is_gone_at_the_next_export(
    run: Run, memory: Memory, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    root = tmp_path / "out"
    run("export", str(root), "--format", "okf")
    own = root / "own.md"
    own.write_text("- my own note\n")
    (gone,) = [each["id"] for each in filled if each["session"] == "CON"]
    memory.forget(ME, ids=[gone], confirm=True)
    _, out, err = run("export", str(root), "--format", "okf")
    assert "1 deleted" in out + err
    assert b"it rained all day" not in b"".join(contents(root).values())
    assert own.exists()


def test_an_edited_text_comes_back_as_a_replacement(
    run: Run, memory: Memory, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    root = tmp_path / "out"
    run("export", str(root), "--format", "okf")
    (file,) = [path for path in root.rglob("*.md") if "> Deploy on Thursdays." in path.read_text()]
    file.write_text(file.read_text().replace("> Deploy on Thursdays.", "> Deploy on Mondays."))
    os.utime(file, (1e9, 1e9))
    preview = memory.import_files(ME, ImportRequest(str(root), dry_run=True))
    assert dict(preview.counts) == {"changed": 1, "reinforced": len(filled) - 1}
    assert dict(memory.import_files(ME, ImportRequest(str(root))).counts)["replaced"] == 1
    texts = {each.text: each for each in memory.listing(ME, limit=100)}
    assert "Deploy on Thursdays." not in texts
    assert texts["Deploy on Mondays."].tags == ("project:weir", "rule")


def test_a_folder_that_git_wrote_with_other_line_ends_gives_everything_back(
    run: Run, memory: Memory, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    root = tmp_path / "out"
    run("export", str(root), "--format", "okf")
    for path in root.rglob("*.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    report = memory.import_files(ME, ImportRequest(str(root)))
    assert (report.counts, report.left_out) == ({"reinforced": len(filled)}, {})


def test_what_is_written_beside_the_memories_of_a_folder_is_counted(
    run: Run, memory: Memory, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    root = tmp_path / "out"
    run("export", str(root), "--format", "okf")
    file = next(root.glob("projects/*.md"))
    file.write_text(file.read_text() + "\nMy own remark.\n- and a bullet\n")
    report = memory.import_files(ME, ImportRequest(str(root)))
    assert report.left_out == {"line that belongs to no memory": 2}


def test_nothing_of_somebody_else_is_overwritten_or_followed(
    run: Run, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    root, outside = tmp_path / "out", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "index.md").write_text("my own index\n")
    code, _, err = run("export", str(root), "--format", "okf")
    assert code == 2
    assert "is not of an export" in err
    (root / "index.md").unlink()
    (root / "sessions").symlink_to(outside, target_is_directory=True)
    code, _, err = run("export", str(root), "--format", "okf")
    assert code == 2
    assert "symbolic link" in err
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("form", ["server-memory", "mem0", "csv"])
def test_other_forms_come_back_with_every_text_that_holds(
    run: Run,
    memory: Memory,
    filled: list[dict[str, Any]],
    open_memory: Callable[..., Memory],
    tmp_path: Path,
    form: str,
) -> None:
    file = tmp_path / f"out.{'csv' if form == 'csv' else 'json'}"
    code, out, err = run("export", str(file), "--format", form)
    assert code == 0
    assert "not in it: " in out + err
    other = open_memory("other")
    report = other.import_files(ME, ImportRequest(str(file)))
    assert (sorted(report.forms), report.problems) == ([form], [])
    current = {each["text"].strip() for each in filled if not each["superseded_by"]}
    found = {each["text"] for each in other.export(ME)}
    if form == "csv":  # its reader ends lines one way
        current = {text.replace("\r\n", "\n") for text in current}
    assert found == current


NAMED = {
    "id": "ids",
    "occurred_at": "dates",
    "speaker": "speakers",
    "role": "speakers",
    "session": "conversations",
    "position": "conversations",
    "tags": "tags",
    "kind": "kinds",
    "source": "sources",
    "links": "links",
    "stamps": "superseded",
}
"""Of fields that somebody gave, the word by which the command says that they are lost. The others
are made anew from the text, or say when and by whom it was imported."""


@pytest.mark.parametrize(
    ("form", "least"),
    [
        ("server-memory", {"id", "occurred_at", "speaker", "session", "tags", "source"}),
        ("mem0", {"source"}),
        ("csv", {"source"}),
    ],
)
def test_what_a_round_trip_loses_is_said_before(
    run: Run,
    memory: Memory,
    open_memory: Callable[..., Memory],
    tmp_path: Path,
    form: str,
    least: set[str],
) -> None:
    given = {
        "speaker": "Zoë", "role": "user", "session": "talk", "tags": ("move",), "kind": "fact",
        "when": "2023-05-07", "source": "letter",
    }  # fmt: skip
    old = memory.remember(ME, RememberRequest("Zoë lives in Bergen.", **given)).id
    memory.remember(ME, RememberRequest("Zoë lives in Kraków.", replaces=old, **given))
    file = tmp_path / f"m.{'csv' if form == 'csv' else 'json'}"
    _, out, err = run("export", str(file), "--format", form)
    said = (out + err).partition("not in it: ")[2]
    other = open_memory("other")
    other.import_files(ME, ImportRequest(str(file)))
    (back,) = other.export(ME)
    first = next(each for each in memory.export(ME) if not each["superseded_by"])
    assert back["text"].endswith(first["text"])
    lost = {name for name in NAMED if back.get(name) != first.get(name)}
    assert least <= lost
    assert [name for name in lost if NAMED[name] not in said] == []
    assert "superseded" in said, "the memory that was replaced is not there"


def test_mem0_keeps_ids_and_dates(run: Run, filled: list[dict[str, Any]], tmp_path: Path) -> None:
    run("export", str(tmp_path / "m.json"), "--format", "mem0")
    rows = json.loads((tmp_path / "m.json").read_text())["results"]
    known = {each["id"]: each for each in filled}
    assert len(rows) == len(filled) - 1
    assert all(row["created_at"] == known[row["id"]]["occurred_at"] for row in rows)


def test_what_mem0_can_hold_comes_back_and_is_known_again(
    run: Run, memory: Memory, open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    talk = {"session": "talk", "role": "user", "speaker": "Zoë", "tags": ("move", "north")}
    memory.remember(ME, RememberRequest("Zoë lives in Bergen.", kind="preference", **talk))
    memory.remember(ME, RememberRequest("The heron waits by the weir."))
    file = tmp_path / "m.json"
    run("export", str(file), "--format", "mem0")
    other = open_memory("other")
    other.import_files(ME, ImportRequest(str(file)))
    held = ("text", "session", "role", "speaker", "tags", "kind", "occurred_at")
    given, back = (
        sorted([str(each[name]) for name in held] for each in each_memory.export(ME))
        for each_memory in (memory, other)
    )
    assert back == given
    assert memory.import_files(ME, ImportRequest(str(file))).counts == {"reinforced": 2}


def test_the_file_behind_a_symbolic_link_is_replaced(
    run: Run, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
    target.write_text("old\n")
    link.symlink_to(target.name)
    assert run("export", str(link))[0] == 0
    assert link.is_symlink()
    assert [json.loads(line) for line in target.read_text().splitlines()] == filled
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_what_is_no_file_is_written_to_and_stays(
    run: Run, filled: list[dict[str, Any]], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("export", str(pipe))[:2] == (0, f"written to {pipe}: {len(filled)} memories\n")
        read = os.read(reader, 65_536).decode()
    finally:
        os.close(reader)
    assert [json.loads(line) for line in read.splitlines()] == filled
    assert pipe.is_fifo()


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
@pytest.mark.parametrize("words", ["export", "export --format okf", "sync"])
def test_a_path_that_cannot_be_kept_is_said_and_left_alone(
    run: Run, tmp_path: Path, words: str
) -> None:
    place = tmp_path / "caf\udce9"
    code, out, err = run(*words.split(), str(place))
    assert (code, out) == (2, "")
    assert err.startswith("anamnesis: invalid_input: ")
    assert "caf\\xe9" in err
    assert err.endswith("is not UTF-8, as a path must be here; choose another one\n")
    assert not place.exists()


def test_a_watched_folder_follows_what_changes_until_it_is_stopped(
    run: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each wait of the command is one change by another client; the last one is the signal."""
    root = tmp_path / "notes"
    said: list[bytes] = []
    first = memory.remember(ME, RememberRequest("The heron waits.", session="weir")).id

    class Signal:
        def wait(self, seconds: float) -> bool:
            said.append(b"".join(contents(root).values()))
            if len(said) == 1:
                memory.remember(ME, RememberRequest("The stork nests.", session="barn"))
            elif len(said) == 2:
                memory.forget(ME, ids=[first], confirm=True)
            return len(said) == 4

    monkeypatch.setattr(serve, "on_signal", Signal)
    code, out, err = run("export", str(root), "--format", "okf", "--watch")
    assert (code, out) == (0, "")
    assert [b"heron" in each for each in said] == [True, True, False, False]
    assert [b"stork" in each for each in said] == [False, True, True, True]
    assert len(err.splitlines()) == 3  # nothing changed before the last look
    assert run("export", str(tmp_path / "x"), "--watch")[0] == 2
