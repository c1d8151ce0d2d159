"""The command `import` over a real memory: what it prints, its exit codes, stdin."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import Busy
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity, new_id
from server.cli import console, invocation, main

ME = Identity("me")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command over *memory*; (exit code, stdout, stderr)."""
    monkeypatch.setattr(Memory, "__exit__", lambda self, *_: None)
    monkeypatch.setattr(invocation, "open_memory", lambda settings: memory)
    monkeypatch.setattr("os.environ", {"ANAMNESIS_DATA_DIR": str(tmp_path / "data")})
    memory._clock.now = 2e9  # type: ignore[attr-defined]

    def running(*argv: str) -> tuple[int, str, str]:
        code = main.main(argv)
        said = capsys.readouterr()
        return code, said.out, said.err

    return running


def test_a_bad_line_is_named_and_the_rest_goes_on(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"text":"a"}\n\n{"x":1}\nno json\n{"text":"b"}\n')
    code, out, _ = run("import", str(file), "--json")
    found = json.loads(out)
    assert (code, found["counts"], found["status"]) == (1, {"stored": 2}, "completed")
    assert found["problems"] == [
        "in.jsonl line 3: invalid_input: text is missing; give every memory a text",
        "in.jsonl line 4: it is not JSON (Expecting value, line 1 column 1)",
    ]


def test_a_memory_that_is_not_seen_from_here_is_named(
    run: Run, memory: Memory, tmp_path: Path
) -> None:
    home, other = Identity("me", "home"), Identity("ann")
    file = tmp_path / "in.jsonl"
    records = [
        {"id": new_id(1.7e9), "text": "The boiler is serviced in May.", "visibility": "team"},
        {"id": new_id(1.7e9), "text": "Ann likes herons."},
        {"id": new_id(1.7e9), "text": "The gate is green."},
    ]
    file.write_text(
        "".join(
            json.dumps({**record, "agent": who.agent, "team": who.team}) + "\n"
            for record, who in zip(records, (home, other, ME), strict=True)
        )
    )
    said = [
        "of the agent ann, not seen from here: 1 (they are with --agent ann)",
        "of the team home, not seen from here: 1 (they are with --team home)",
    ]
    for preview, done in (("3 new", "3 stored"), ("3 reinforced", "3 reinforced")):
        code, out, _ = run("import", str(file), "--dry-run")
        assert (code, out.splitlines()[0]) == (0, f"would import: {preview}")
        assert [line for line in out.splitlines() if "not seen" in line] == said
        code, out, _ = run("import", str(file))
        assert (code, out.splitlines()[0]) == (0, f"imported: {done}")
        assert [line for line in out.splitlines() if "not seen" in line] == said
    assert memory.stats(ME)["memories"] == 1
    assert {each.text for each in memory.listing(home)} == {
        "The boiler is serviced in May.",
        "The gate is green.",
    }
    _, out, _ = run("import", str(file), "--json")
    assert json.loads(out)["elsewhere"] == {"agent ann": 1, "team home": 1}


def test_an_interrupted_import_says_how_far_it_is_and_goes_on_when_repeated(
    run: Run, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("".join(f'{{"text": "Heron {n} waits."}}\n' for n in range(3)))

    @contextmanager
    def interrupting(label: str) -> Iterator[Callable[..., None]]:
        def move(done: int, total: int, message: str) -> None:
            if done == 1:
                raise KeyboardInterrupt

        yield move

    with monkeypatch.context() as patch:
        patch.setattr(console, "progress", interrupting)
        code, out, err = run("import", str(file))
    assert (code, out) == (130, "")
    assert err == (
        "anamnesis: interrupted; entries done: 2; repeat the command for the rest, and for how to"
        " take it back\n"
    )
    code, out, _ = run("import", str(file))
    assert (code, out.splitlines()[0]) == (0, "imported: 2 reinforced, 1 stored")
    run("consolidate", "--undo", out.split("--undo ")[1].split()[0])
    assert memory.stats(ME)["memories"] == 0


def test_it_says_what_came_and_how_to_take_it_back(
    run: Run, memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("---\ncreated: 2024-05-07\n---\n- The heron waits by the weir.\n")
    (folder / "b.md").write_text("- The stork nests on the barn.\n")
    (folder / "c.png").write_bytes(b"\x89PNG")
    code, out, _ = run("import", str(folder), "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "would import: 2 new")
    assert memory.stats(ME)["memories"] == 0
    code, out, _ = run("import", str(folder))
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "imported: 2 stored"
    assert lines[1].startswith("dates: 2024-05-07 to ")
    assert lines[1].endswith("(1 from the time of the file)")
    assert lines[2] == "not read, of no known form: 1 (c.png)"
    assert lines[3].startswith("to take it back: anamnesis consolidate --undo ")
    code, out, _ = run("consolidate", "--undo", lines[3].split()[-1])
    assert code == 0
    assert memory.stats(ME)["memories"] == 0


def test_stdin_is_read_as_a_file(run: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    given: Any = io.TextIOWrapper(io.BytesIO(b'{"text": "The heron waits by the weir."}\n'))
    monkeypatch.setattr("sys.stdin", given)
    assert run("import", "-")[0] == 0
    assert memory.stats(ME)["memories"] == 1


def test_stdin_of_another_form_comes_once_and_from_no_file(
    run: Run, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in ("Tuesday", "Friday"):
        chat = f"User: The heron waits by the weir.\nUser: It comes on {day}s.\n"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(chat.encode())))
        assert run("import", "-", "--from", "chat-log")[0] == 0
    assert memory.stats(ME)["memories"] == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"- The stork came back.\n")))
    assert run("import", "-", "--from", "markdown")[0] == 0
    assert memory.listing(ME, limit=1)[0].source == "stdin"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("{}.gone",), "not_found: no file"),
        (("{}", "--from", "nosuch"), "give one of chatgpt"),
        (("{}", "--column", "colour=Body"), "FIELD=NAME"),
        (("{}", "--encoding", "nosuch"), "no encoding"),
        (("{}",), "Looked for chatgpt"),
    ],
)
def test_what_cannot_be_imported_says_what_to_do(
    run: Run, memory: Memory, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "holiday.bin"
    file.write_bytes(b"\0\1\2")
    code, out, err = run("import", *(word.replace("{}", str(file)) for word in words))
    assert code == (1 if words[0] == "{}.gone" else 2)
    assert said in err
    assert out == ""
    assert memory.stats(ME)["memories"] == 0


def test_what_lies_on_the_machine_is_listed_and_brought_in_by_name(
    run: Run, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "code" / "weir"
    talks = home / ".claude" / "projects" / "-code-weir"
    talks.mkdir(parents=True)
    project.mkdir(parents=True)
    said = "We deploy the weir service on Thursdays, never on a Friday."
    event = {
        "type": "user",
        "uuid": "e1",
        "sessionId": "s",
        "timestamp": "2026-03-04T10:00:00Z",
        "cwd": str(project),
        "message": {"role": "user", "content": said},
    }
    (talks / "s.jsonl").write_text(json.dumps(event) + "\n")
    (project / "CLAUDE.md").write_text("- Run the tests with `make check`.\n")
    (home / ".codex").mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("import", "--found", "--json")
    listed = json.loads(out)
    assert [(each["name"], each["counts"]) for each in listed] == [
        ("claude-code", {"new": 1}),
        ("project-files", {"new": 1}),
    ]
    assert (code, listed[0]["first"], memory.stats(ME)["memories"]) == (0, "2026-03-04", 0)
    assert "  ~/.claude/projects\n" in run("import", "--found")[1]
    code, out, _ = run("import", "--found", "claude-code")
    assert (code, [each.text for each in memory.listing(ME)]) == (0, [said])
    assert "to take it back: anamnesis consolidate --undo " in out
    assert run("import", "--found", "all")[0] == 0
    assert memory.stats(ME)["memories"] == 2
    assert "found: claude-code, project-files" in run("import", "--found", "cursor")[2]


def test_one_place_that_cannot_be_read_keeps_no_other_from_coming(
    run: Run, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name, text in {
        ".codex/sessions/2024/rollout-a.jsonl": "no json\n",
        ".gemini/tmp/h/chats/.keep": "",
        ".config/Cursor/User/globalStorage/state.vscdb": "no database",
        "memory.jsonl": "torn\n"
        '{"type":"entity","name":"Ann","entityType":"person","observations":["rows"]}\n'
        '{"type":"entity","name":"Ben","entityType":"person","observations":[]}\n',
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("import", "--found")
    assert (code, memory.stats(ME)["memories"]) == (0, 0)
    assert "codex/sessions has a known form" in out
    code, out, _ = run("import", "--found", "all")
    assert (code, [each.text for each in memory.listing(ME)]) == (1, ["Ann: rows"])
    for said in (
        "server-memory: left out: 1 entity without observations",
        "server-memory: memory.jsonl line 1: it is not JSON",
        "state.vscdb cannot be read (file is not a database)",
        "to take it back: anamnesis consolidate --undo ",
    ):
        assert said in out
    assert ".gemini" not in out


def test_a_store_that_is_busy_for_one_place_keeps_no_word_of_the_others(
    run: Run, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "memory.jsonl").write_text(
        '{"type":"entity","name":"Ann","entityType":"person","observations":["rows"]}\n'
    )
    (tmp_path / "CLAUDE.md").write_text("- Run the tests.\n")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    really = Memory.import_files

    def busy_later(self: Memory, who: Identity, request: ImportRequest) -> ImportReport:
        if request.path.endswith("CLAUDE.md"):
            raise Busy("another consolidation is at work", "wait until it ends, then repeat")
        return really(self, who, request)

    monkeypatch.setattr(Memory, "import_files", busy_later)
    code, out, _ = run("import", "--found", "all")
    assert (code, [each.text for each in memory.listing(ME)]) == (1, ["Ann: rows"])
    assert "wait until it ends, then repeat" in out
    assert "to take it back: anamnesis consolidate --undo " in out


@pytest.mark.usefixtures("processes")
def test_two_data_directories_are_kept_in_step_by_the_real_command(tmp_path: Path) -> None:
    cloud = tmp_path / "cloud"
    cloud.mkdir()

    def command(machine: str, *words: str) -> str:
        here = {"ANAMNESIS_DATA_DIR": str(tmp_path / machine), "ANAMNESIS_OFFLINE": "true"}
        done = subprocess.run(
            [sys.executable, "-m", "server", *words],
            env={**os.environ, **here},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    command("one", "remember", "The dentist is on the 14th of December.")
    command("two", "remember", "Ana prefers the train to flying.")
    command("one", "health")
    assert "sent: 1 memory, 0 forgotten\n" in command("one", "sync", str(cloud))
    assert "came: 1 stored" in command("two", "sync", str(cloud))
    assert "came: 1 stored" in command("one", "sync", str(cloud))
    exports = [
        [json.loads(line) for line in command(name, "export").splitlines()]
        for name in ("one", "two")
    ]
    one, two = ({record["id"]: record["text"] for record in found} for found in exports)
    assert one == two
    assert len(one) == 2
    assert "came: nothing\nsent: 0 memories, 0 forgotten" in command("one", "sync", str(cloud))
