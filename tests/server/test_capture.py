"""The commands observe and seed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.memory import Memory
from server.cli import invocation, main


@pytest.fixture
def shell(
    tmp_path: Path, toy: Any, clock: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> Any:
    monkeypatch.setattr("os.environ", {"ANAMNESIS_DATA_DIR": str(tmp_path / "data")})
    monkeypatch.setattr(
        invocation, "open_memory", lambda settings: Memory(settings, clock=clock, embedder=toy)
    )

    def run(*argv: str, stdin: str = "") -> tuple[int, Any]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main.main([*argv, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


TALK = """\
The flight to Oslo leaves on Friday.
ok

{"role": "assistant", "content": "I noted the flight on Friday.", "session": "t", "timestamp": 5.0}
{"role": "assistant", "text": "no content"}
"""


def test_observe_keeps_turns_and_names_the_others(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text(TALK)
    code, said = shell("observe", str(tmp_path / "talk.txt"), "--session", "s", "--tag", "trip")
    assert code == 1
    assert said["observed"] == {"stored": 2, "skipped": 1}
    assert said["skipped"] == [{"line": 2, "reason": "too short", "of": "", "text": "ok"}]
    assert [text.split(":")[0] for text in said["problems"]] == ["line 5"]
    _, first = shell("recall", said["ids"][0])
    _, second = shell("recall", said["ids"][1])
    assert (first["memories"][0]["session"], first["memories"][0]["tags"]) == ("s", ["trip"])
    assert second["memories"][0]["when"] == "1970-01-01T00:00:05Z"
    assert [hit["memories"][0]["trust"] for hit in (first, second)] == ["user", "agent"]


def test_observe_reads_stdin(shell: Any) -> None:
    code, said = shell("observe", "--role", "assistant", stdin="{a brace is no object\n")
    assert (code, said["observed"]) == (0, {"stored": 1})


def test_seed_skips_the_gate(shell: Any, tmp_path: Path) -> None:
    facts = ['{"text": "Tea", "kind": "preference", "tags": ["food"]}', "ok", "Ben is 42.", "Tea"]
    (tmp_path / "facts.txt").write_text("\n".join(facts))
    code, said = shell("seed", str(tmp_path / "facts.txt"), "--source", "notes")
    assert (code, said["seeded"]) == (0, {"stored": 3, "reinforced": 1})
    _, found = shell("recall", said["ids"][0])
    tea = found["memories"][0]
    assert (tea["kind"], tea["tags"], tea["source"], tea["trust"]) == (
        "preference",
        ["food"],
        "notes",
        "user",
    )
    _, found = shell("recall", said["ids"][2])
    assert found["memories"][0]["kind"] == "fact"


@pytest.mark.parametrize("line", ['{"text": 5}', '{"text": "A fact.", "kind": "rumour"}', "{}"])
def test_a_bad_line_is_named_and_stops_nothing(shell: Any, tmp_path: Path, line: str) -> None:
    (tmp_path / "facts.txt").write_text(f"{line}\nThe good fact.\n")
    code, said = shell("seed", str(tmp_path / "facts.txt"))
    assert (code, said["seeded"]) == (1, {"stored": 1})
    assert said["problems"][0].startswith("line 1: invalid_input: ")


FACTS = "Käse und Brot für Jürgen.\nGrüße aus Graz.\n"


@pytest.mark.parametrize("command", ["seed", "observe"])
def test_a_file_is_decoded_as_the_same_bytes_from_stdin_are(
    shell: Any, tmp_path: Path, command: str
) -> None:
    (tmp_path / "facts.txt").write_text(FACTS, "latin-1")
    code, said = shell(command, str(tmp_path / "facts.txt"))
    assert code == 0
    texts = [shell("recall", id)[1]["memories"][0]["text"] for id in said["ids"]]
    assert texts == FACTS.splitlines()


@pytest.mark.parametrize(
    "line", ['{"text": "The tea is in the tin."}', "The tea is in the tin."], ids=["json", "plain"]
)
def test_the_byte_order_mark_of_a_file_is_no_part_of_its_first_line(
    shell: Any, tmp_path: Path, line: str
) -> None:
    (tmp_path / "facts.txt").write_text(f"{line}\n", "utf-8-sig")
    _, said = shell("seed", str(tmp_path / "facts.txt"))
    assert shell("recall", said["ids"][0])[1]["memories"][0]["text"] == "The tea is in the tin."


def test_a_file_in_utf_16_is_named_and_not_stored_as_it_looks(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text(FACTS, "utf-16")
    code, said = shell("seed", str(tmp_path / "facts.txt"))
    assert (code, said["seeded"]) == (1, {})
    assert said["problems"][0].endswith("as a file in UTF-16 does; save it as UTF-8")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"role": "assistant", "content": null}', "content"),
        ('{"content": 5}', "content"),
        ('{"content": "It rained in Graz all day.", "role": ["user"]}', "role"),
        ('{"content": "It rained in Graz all day.", "speaker": 5}', "speaker"),
        ('{"content": ' + "[" * 100_000, "JSON is nested too deeply"),
    ],
)
def test_a_turn_that_is_no_text_is_named_and_the_rest_goes_on(
    shell: Any, line: str, named: str
) -> None:
    talk = f"My brother Paul lives in Graz.\n{line}\nOur cat is called Muffin.\n"
    code, said = shell("observe", stdin=talk)
    assert (code, said["observed"]) == (1, {"stored": 2})
    (problem,) = said["problems"]
    assert problem.startswith("line 2: invalid_input: ")
    assert named in problem


def test_json_that_is_nested_too_deeply_is_named(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text('{"a":' * 100_000 + "\nThe good fact.\n")
    code, said = shell("seed", str(tmp_path / "facts.txt"))
    assert (code, said["seeded"]) == (1, {"stored": 1})
    assert said["problems"][0].startswith("line 1: invalid_input: its JSON is nested too deeply")


@pytest.mark.parametrize(
    ("command", "said"), [("seed", "seeded: 1 stored"), ("observe", "observed: 1 stored")]
)
def test_an_interruption_says_what_is_stored_and_that_the_command_may_be_repeated(
    shell: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    said: str,
) -> None:
    (tmp_path / "facts.txt").write_text("Paul lives in Graz.\nOur cat is called Muffin.\n")
    name = {"seed": "remember", "observe": "observe"}[command]
    store, calls = getattr(Memory, name), iter((1,))

    def interrupted(*words: Any) -> Any:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return store(*words)

    monkeypatch.setattr(Memory, name, interrupted)
    assert main.main([command, str(tmp_path / "facts.txt")]) == 130
    told = f"anamnesis: interrupted; {said}; repeat the command for the rest\n"
    assert capsys.readouterr().err == told
