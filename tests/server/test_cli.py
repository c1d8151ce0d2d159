"""Flags, exit codes, JSON and readable output of the command line, over the honest fake."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.records import Receipt
from server.cli import main
from server.cli.parser import build_parser

COMMANDS = [
    "serve",
    "demo",
    "remember",
    "observe",
    "seed",
    "recall",
    "consolidate",
    "forget",
    "history",
    "encode",
    "health",
    "stats",
    "evaluate",
    "export",
    "import",
    "clear",
    "setup",
    "token",
    "install",
    "hook",
    "uninstall",
    "doctor",
    "backup",
    "restore",
    "salvage",
    "reembed",
]


@pytest.fixture
def run(
    fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command over the fake memory; (exit code, stdout, stderr)."""
    kind = type(fake)
    monkeypatch.setattr(kind, "__enter__", lambda self: self, raising=False)
    monkeypatch.setattr(kind, "__exit__", lambda self, *_: None, raising=False)
    monkeypatch.setattr(kind, "wait_ready", lambda self, seconds: True, raising=False)
    monkeypatch.setattr(main, "_engine", lambda settings: fake)
    monkeypatch.setattr("os.environ", {"ANAMNESIS_DATA_DIR": str(tmp_path / "data")})

    def running(*argv: str) -> tuple[int, str, str]:
        try:
            code = main.main(argv)
        except SystemExit as end:
            code = int(end.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return running


def test_remember_and_recall_as_json(run: Any, fake: Any) -> None:
    code, out, _ = run(
        "remember", "the tea is in the tin", "--kind", "fact", "--importance", "0.7", "--tag", "a",
        "--tag", "b", "--speaker", "Ann", "--session", "s", "--source", "x", "--scope", "shared",
        "--json",
    )  # fmt: skip
    assert code == 0
    stored = json.loads(out)
    assert stored["status"] == "stored"
    (memory,) = fake.memories.values()
    assert (memory.kind, memory.importance, memory.tags) == ("fact", 0.7, ("a", "b"))
    assert (memory.speaker, memory.session, memory.source) == ("Ann", "s", "x")
    assert (memory.visibility, memory.trust, memory.agent) == ("shared", "user", "me")
    code, out, _ = run("recall", "where is the tea", "-k", "3", "--json")
    assert code == 0
    assert json.loads(out)["memories"][0]["id"] == stored["id"]
    assert fake.calls[-1][1]["k"] == 3


def test_recall_is_readable_and_steers_no_terminal(run: Any, fake: Any) -> None:
    memory = fake.add("tea \x1b[31mred\x07 [bold]not markup[/bold]", speaker="Ann")
    code, out, _ = run("recall", "tea", "--explain")
    assert code == 0
    assert memory.id in out
    assert "tea [31mred [bold]not markup[/bold]" in out
    assert "why: words 1" in out
    assert "confidence 0.8 (high)" in out
    assert "\x1b" not in out


def test_an_explanation_tells_what_was_rejected_and_why(run: Any, fake: Any) -> None:
    given, left = fake.add("green tea tea"), fake.add("black tea")
    _, out, _ = run("recall", "green tea", "--top", "1", "--explain")
    shown, _, rejected = out.partition("rejected")
    assert given.id in shown
    assert left.id not in shown
    assert left.id in rejected
    assert "why: rejected below_k" in rejected
    _, plain, _ = run("recall", "green tea", "--top", "1")
    assert left.id not in plain


def test_nothing_found_is_no_failure(run: Any) -> None:
    code, out, _ = run("recall", "quark")
    assert code == 0
    assert out.startswith("nothing found")


def test_text_comes_from_stdin(run: Any, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    assert run("remember", "-")[0] == 0
    assert [m.text for m in fake.memories.values()] == ["from a pipe"]


def test_global_flags_stand_before_or_after_the_command(run: Any, fake: Any) -> None:
    run("--agent", "ann", "remember", "one")
    run("remember", "two", "--agent", "bob", "--team", "ours")
    assert [(m.agent, m.team) for m in fake.memories.values()] == [("ann", ""), ("bob", "ours")]


def test_a_forgotten_text_is_refused_unless_again(run: Any, fake: Any) -> None:
    fake.forgotten["the old address"] = "0" * 20
    assert run("remember", "the old address")[0] == 1
    code, out, _ = run("remember", "the old address", "--again", "--json")
    assert code == 0
    assert json.loads(out)["status"] == "stored"


def test_forget_previews_without_yes(run: Any, fake: Any) -> None:
    memory = fake.add("a wish")
    code, out, _ = run("forget", memory.id)
    assert code == 0
    assert "would be removed" in out
    assert memory.id in fake.memories
    code, out, _ = run("forget", memory.id, "--yes", "--json")
    assert code == 0
    assert json.loads(out)["status"] == "forgotten"
    assert fake.memories == {}


def test_health_stats_and_consolidate_print_json(run: Any) -> None:
    assert json.loads(run("health", "--json")[1])["status"] == "ok"
    assert json.loads(run("stats", "--json")[1]) == {"memories": 0}
    assert json.loads(run("consolidate", "--dry-run", "--json")[1])["status"] == "preview"


def test_health_and_stats_are_readable(run: Any) -> None:
    _, out, _ = run("health")
    assert "round trip 4 ms" in out
    assert out.rstrip().endswith("status: ok")
    assert "memories" in run("stats")[1]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("recal", "x"), "did you mean recall?"),
        (("recall", "x", "--tpo", "3"), "did you mean --top?"),
        (("recall", "x", "--sesion", "3"), "did you mean --session?"),
        (("serve", "--prot", "3"), "did you mean --port?"),
        (("token", "lst"), "did you mean list?"),
        (("recall",), "required: QUERY"),
        (("remember", "x", "--kind", "rumour"), "invalid choice: 'rumour'"),
        (("remember", "x", "--importance", "high"), "invalid float value"),
        (("--log-level", "LOUD", "stats"), "log_level"),
        (("--config", "/nonexistent.toml", "stats"), "cannot be read"),
        (("forget", "a", "--query", "b"), "give one of them"),
        (("clear",), "say --yes"),
    ],
)
def test_wrong_usage_exits_with_two_and_says_what_is_right(
    run: Any, argv: tuple[str, ...], says: str
) -> None:
    code, out, err = run(*argv)
    assert code == 2
    assert says in err
    assert out == ""


def test_a_problem_exits_with_one_and_its_code(run: Any) -> None:
    code, out, err = run("forget", "0" * 20)
    assert code == 1
    assert "not_found: " in err
    assert out == ""
    assert run("import", "/nonexistent")[0] == 1


def test_import_reports_each_bad_line_and_goes_on(
    run: Any, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory_core.errors import InvalidInput

    def bring_in(self: Any, who: Any, record: dict[str, Any]) -> Receipt:
        if "text" not in record:
            raise InvalidInput("text is missing", "give it")
        return Receipt("0" * 20, "stored", "fact", 0.5)

    monkeypatch.setattr(type(fake), "bring_in", bring_in, raising=False)
    file = tmp_path / "in.jsonl"
    file.write_text('{"text":"a"}\n\n{"x":1}\n{"text":"b"}\n')
    code, out, _ = run("import", str(file), "--json")
    assert code == 1
    assert json.loads(out)["imported"] == {"stored": 2}
    assert json.loads(out)["problems"] == ["line 3: invalid_input: text is missing; give it"]


def test_export_writes_private_files_whole(
    run: Any, fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [{"id": "1", "text": "ä"}, {"id": "2", "text": "b"}]
    monkeypatch.setattr(type(fake), "export", lambda self, who: iter(records))
    code, out, _ = run("export")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == records
    file = tmp_path / "out.jsonl"
    file.write_text("old")
    assert run("export", str(file))[0] == 0
    assert [json.loads(line) for line in file.read_text("utf-8").splitlines()] == records
    assert file.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("out")] == ["out.jsonl"]
    assert run("export", str(tmp_path / "none" / "x"))[0] == 1


def test_tokens_are_added_listed_and_revoked(run: Any) -> None:
    code, out, _ = run("token", "add", "--agent", "ann", "--rights", "read", "--json")
    assert code == 0
    added = json.loads(out)
    (listed,) = json.loads(run("token", "list", "--json")[1])
    assert (listed["id"], listed["agent"], listed["rights"]) == (added["id"], "ann", "read")
    assert added["token"] not in run("token", "list")[1]
    assert run("token", "revoke", added["id"])[0] == 0
    assert run("token", "revoke", added["id"])[0] == 1
    assert run("token", "add", "--rights", "fly")[0] == 2


def test_every_command_has_help(run: Any) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in COMMANDS:
        assert command in out
        code, help_text, _ = run(command, "--help")
        assert code == 0
        assert help_text.startswith(f"usage: anamnesis {command}")
    assert set(build_parser()._commands()) == set(COMMANDS)


def test_every_command_that_prints_data_takes_json() -> None:
    parser = build_parser()
    without = {name for name in COMMANDS if "--json" not in parser.command(name)._words()}
    assert without == {"serve", "export", "hook", "token"}
