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
