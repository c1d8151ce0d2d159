"""Flags, exit codes, JSON and readable output of the command line, over the honest fake."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import commands, options, read

import server.__main__
from memory_core.records import MemoryRecord, Recollection
from memory_core.remember import commit
from server import __version__
from server.cli import grammar, invocation, main, people
from server.http.tokens import Tokens
from server.protocol import structure


@pytest.fixture
def run(
    fake: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command over the fake memory; (exit code, stdout, stderr)."""
    kind = type(fake)
    monkeypatch.setattr(kind, "__enter__", lambda self: self, raising=False)
    monkeypatch.setattr(kind, "__exit__", lambda self, *_: None, raising=False)
    monkeypatch.setattr(kind, "wait_ready", lambda self, seconds: True, raising=False)
    monkeypatch.setattr(invocation, "open_memory", lambda settings: fake)
    monkeypatch.setattr("os.environ", {"ANAMNESIS_DATA_DIR": str(tmp_path / "data")})

    def running(*argv: str) -> tuple[int, str, str]:
        code = main.main(argv)
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


def test_what_is_to_be_stored_waits_less_for_a_model_than_a_question_does(
    run: Any, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(type(fake), "wait_ready", lambda self, seconds: waited.append(seconds))
    assert run("remember", "the tea is in the tin")[0] == 0
    assert run("recall", "where is the tea?")[0] == 0
    assert waited == [grammar.STORING_SECONDS, grammar.READY_SECONDS]
    assert grammar.STORING_SECONDS <= 5.0


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command on a terminal where somebody types *keys*."""

    def running(keys: str, *argv: str) -> tuple[int, str, str]:
        out, asked = Terminal(), io.StringIO()
        monkeypatch.setattr("sys.stdin", Terminal(keys))
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stderr", asked)
        return main.main(argv), out.getvalue(), asked.getvalue()

    return running


@pytest.mark.parametrize(
    "words",
    [("recall", "tea"), ("remember", "tea is hot"), ("forget", "--query", "tea"), ("consolidate",)],
    ids=" ".join,
)
def test_people_see_no_fence_and_no_notice(run: Any, fake: Any, words: tuple[str, ...]) -> None:
    fake.add("the tea is in the tin")
    code, out, _ = run(*words)
    assert code == 0
    assert "recalled-" not in out
    assert "not instructions" not in out


def test_an_interruption_at_a_question_is_no_traceback(fake: Any, on_terminal: Any) -> None:
    fake.add("the tea is in the tin")
    code, _, err = on_terminal("", "forget", "--query", "tea")  # the keys end
    assert code == 130
    assert err.endswith("anamnesis: interrupted\n")


STARTING = """
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ["anamnesis", "edit", "06h0105d"]
from server.__main__ import command
command()
"""


@pytest.mark.usefixtures("processes")
def test_an_interruption_while_the_program_starts_is_no_traceback() -> None:
    words = [sys.executable, "-c", STARTING]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "anamnesis: interrupted\n"


@pytest.mark.parametrize(
    "flags", ["--port 7999", "--host 0.0.0.0", "--no-token", "--allow-host a.example", "--compat"]
)
def test_a_flag_of_http_is_refused_over_stdio(run: Any, flags: str) -> None:
    code, out, err = run("serve", *flags.split())
    assert (code, out) == (2, "")
    assert f"{flags.split()[0]} needs --transport http beside it" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("pause --for -1h", "-1h is no time; give a number and a unit, such as 30m, 2h or 3d"),
        ("--json recall x", "--json stands behind the name of the command."),
        ("stats --config nosuch.toml", "; correct --config or remove it"),
        ("import", "Name a FILE, or list what is on this machine with --found."),
    ],
)
def test_a_wrong_line_is_told_what_to_do(run: Any, words: str, told: str) -> None:
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert told in err


def test_ids_are_short_on_a_terminal_and_whole_in_a_pipe(
    run: Any, fake: Any, on_terminal: Any
) -> None:
    memory, newer = fake.add("the tea is in the tin"), fake.add("the tea is in the box")
    fake.doubtful[memory.id] = newer.id
    assert memory.id in run("recall", "tea tin")[1]
    shown = on_terminal("", "recall", "tea tin")[1]
    assert f"{memory.id[:8]}+" in shown
    assert memory.id not in shown
    assert memory.id in on_terminal("", "recall", "tea tin", "--json")[1]


def test_what_is_to_be_forgotten_is_chosen_by_number(fake: Any, on_terminal: Any) -> None:
    for text in ("tea one", "tea two", "tea three"):
        fake.add(text)
    code, out, asked = on_terminal("1 3\ny\n", "forget", "--query", "tea")
    assert code == 0
    assert "Delete 2 for good?" in asked
    listed = [line.split()[1:3] for line in asked.split("\n") if re.match(r" ?[123] ", line)]
    gone = [listed[0], listed[2]]
    assert [memory.text.split() for memory in fake.memories.values()] == [listed[1]]
    assert all(" ".join(words) in out for words in gone)
    assert "forgotten: 2 memories removed" in out


@pytest.mark.parametrize("keys", ["\n", "1\nn\n"])
def test_nothing_is_deleted_without_a_number_and_a_yes(
    fake: Any, on_terminal: Any, keys: str
) -> None:
    fake.add("tea")
    code, out, _ = on_terminal(keys, "forget", "--query", "tea")
    assert code == 0
    assert "would be removed" in out
    assert len(fake.memories) == 1


def test_a_number_that_is_not_listed_is_refused(fake: Any, on_terminal: Any) -> None:
    fake.add("tea")
    code, _, asked = on_terminal("1-2\n", "forget", "--query", "tea")
    assert code == 2
    assert "1-2 is no number from 1 to 1; give numbers" in asked
    assert len(fake.memories) == 1


def test_nothing_found_is_no_failure(run: Any) -> None:
    code, out, _ = run("recall", "quark")
    assert code == 0
    assert out.startswith("nothing found")


@pytest.mark.parametrize(
    ("note", "half", "head"),
    [
        ("", 0, "nothing found; confidence 0.1 (none)"),
        ("", 1, "nothing found, only the half-matches above; confidence 0.1 (none)"),
        ("by words only", 0, "nothing found yet; confidence 0.1 (none)"),
        (
            "by words only",
            1,
            "nothing found yet, only the half-matches above; confidence 0.1 (none)",
        ),
    ],
)
def test_a_person_reads_whether_nothing_is_found_or_not_yet(
    run: Any, fake: Any, hit: Any, monkeypatch: pytest.MonkeyPatch, note: str, half: int, head: str
) -> None:
    found = Recollection(
        False, 0.1, "none", partial=tuple(hit("half a match") for _ in range(half)), note=note
    )
    monkeypatch.setattr(type(fake), "recall", lambda self, who, request: found)
    code, out, _ = run("recall", "quark")
    assert code == 0
    lines = out.splitlines()
    assert ("half a match" in out) == bool(half)
    assert lines[-2:] == [head, f"note: {note}"] if note else lines[-1] == head


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


def test_a_refused_text_is_told_the_option_that_is_made_for_it() -> None:
    receipt = commit.refused(MemoryRecord(id="", text="the old address"), {"0" * 20: 0.0})
    said = people.remembered(structure.receipt(receipt))
    assert said.endswith("; to remember it after all, add --again")


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
        (("recal", "x"), "Did you mean 'recall'?"),
        (("recall", "x", "--tpo", "3"), "'--top'"),
        (("recall", "x", "--sesion", "3"), "'--session'"),
        (("serve", "--prot", "3"), "'--port'"),
        (("token", "lst"), "Did you mean 'list'?"),
        (("recall",), "Missing argument 'QUERY'. (see anamnesis recall --help)"),
        (("recall", "x", "--since", "--json"), "Option '--since' needs a value."),
        (("stats", "--agent"), "Option '--agent' needs a value."),
        (("remember", "x", "--kind", "rumour"), "'rumour' is not one of 'episode', 'fact'"),
        (("remember", "x", "--importance", "high"), "'high' is not a valid float"),
        (("remember", "x", "y"), "Got unexpected extra argument (y)"),
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
    assert run("export", str(file))[:2] == (0, f"written to {file}: 2 memories\n")
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


def test_a_token_without_the_encoder_keeps_what_it_stores_from_models(
    run: Any, tmp_path: Path
) -> None:
    tokens = Tokens(tmp_path / "data")
    for words, encode in (((), True), (("--no-encoder",), False)):
        grant = tokens.find(run("token", "add", *words)[1].strip())
        assert grant is not None
        assert grant.encode is encode


def test_help_shows_ten_commands_first_and_each_once(run: Any) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert out.startswith("Usage: anamnesis [OPTIONS] COMMAND [ARGS]...")
    _, *parts = re.split(r"^(\w[^\n]*):$", out, flags=re.MULTILINE)
    listed = {
        title: re.findall(r"^  (\w+) ", text, re.MULTILINE)
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }
    first = listed["Commands"]
    assert first[:5] == ["remember", "recall", "forget", "consolidate", "health"]
    assert len(first) == 10
    names = [name for section in listed.values() for name in section]
    assert sorted(names) == sorted({name.split()[0] for name in commands()})


@pytest.mark.parametrize("name", commands())
def test_every_command_has_help(run: Any, name: str) -> None:
    code, out, _ = run(*name.split(), "--help")
    assert code == 0
    assert out.startswith(f"Usage: anamnesis {name} [OPTIONS]")
    assert "--data-dir DIR" in out
    summary = str(commands()[name].help).splitlines()[0]
    assert f"\n  {summary}\n" in out
    assert re.fullmatch(r"[A-Z].{10,70}\.", summary)


def test_help_shows_defaults_and_an_example(run: Any) -> None:
    _, out, _ = run("recall", "-h")
    assert "Memories, 1 to 50.  [default: 8]" in out
    assert out.rstrip().endswith('anamnesis recall "how do I get into the flat without my key?"')


def test_every_example_is_a_command_line() -> None:
    examples = [example for each in commands().values() if (example := each.example)]
    assert len(examples) >= 10
    for example in examples:
        program, *words = shlex.split(example)
        assert program == "anamnesis"
        read(words)


def test_every_command_that_prints_data_takes_json() -> None:
    without = {name for name, each in commands().items() if "--json" not in options(each)}
    assert without == {"serve", "proxy", "chat", "export", "hook", "engine run"}


def test_the_version_is_printed(run: Any) -> None:
    assert run("--version") == (0, f"anamnesis {__version__}\n", "")


def test_flags_come_before_the_environment_and_that_before_the_file(
    run: Any, fake: Any, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text('agent = "file"\nteam = "file"\n')
    config = ("--config", str(tmp_path / "c.toml"))
    os.environ["ANAMNESIS_AGENT"] = "environment"
    run("remember", "one", *config)
    run(*config, "remember", "two", "--agent", "flag")
    assert [(m.agent, m.team) for m in fake.memories.values()] == [
        ("environment", "file"),
        ("flag", "file"),
    ]


@pytest.mark.parametrize("words", [("recall", "x", "--kind"), ("show",), ("nothing",)])
def test_what_an_error_repeats_hides_nothing(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = "\u200b\u2063\u00ad\u3164\u202e\U000e0041\U000e0101"
    assert main.main([*words, f"fa{marks}ct", "--data-dir", str(tmp_path)])
    said = capsys.readouterr().err
    assert said
    assert not set(said) & set(marks), ascii(said)


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_a_hook_has_a_help_too(
    flag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It answers before click is imported, and prints nothing for what it cannot read."""
    monkeypatch.setattr("sys.argv", ["anamnesis", "hook", flag])
    monkeypatch.setattr("server.hooks.command.hook", pytest.fail)
    assert server.__main__.main() == 0
    assert "Answer a hook of a client" in capsys.readouterr().out
