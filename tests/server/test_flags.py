"""Every flag of every command does what it says: a case for each, and none without a flag.

A case is a function here, or a test elsewhere that uses the flag. All are in one table, which is
compared with the commands that the program has.
"""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import engines
import httpx2
import pytest
from command_line import commands, options

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main
from server.cli.console import Outcome
from server.cli.grammar import SHARED
from server.cli.invocation import Invocation
from server.engine.launch import NoEngine

ROOT = Path(__file__).parents[2]
ME = Identity("me")
Run = Callable[..., Outcome]
Case = Callable[[Memory, Run, Path, pytest.MonkeyPatch], None]
CASES: dict[str, Case] = {}
"""What shows the effect of "command --flag"."""

ELSEWHERE = {
    "remember --again": "test_cli.py::test_a_forgotten_text_is_refused_unless_again",
    "recall --explain": "test_cli.py::test_an_explanation_tells_what_was_rejected_and_why",
    "forget --query": "test_cli.py::test_what_is_to_be_forgotten_is_chosen_by_number",
    "forget --source": "test_history_command.py::test_forget_by_source_previews_and_deletes",
    "forget --yes": "test_history_command.py::test_forget_by_source_previews_and_deletes",
    "history --undo": "test_history_command.py::test_history_shows_each_change_and_undoes_one",
    "review --decide": "test_review.py::test_a_pair_is_decided_by_its_ids",
    "chat --model": "test_chat.py::test_the_flags_choose_service_model_and_address",
    "chat --service": "test_chat.py::test_the_flags_choose_service_model_and_address",
    "chat --session": "test_chat.py::test_a_session_is_continued_by_its_name",
    "chat --url": "test_chat.py::test_the_flags_choose_service_model_and_address",
    "list --about": "test_look.py::test_every_filter_narrows",
    "list --cursor": "test_look.py::test_a_long_list_goes_on_where_it_ended",
    "list --importance": "test_look.py::test_every_filter_narrows",
    "list --kind": "test_look.py::test_every_filter_narrows",
    "list --limit": "test_look.py::test_a_long_list_goes_on_where_it_ended",
    "list --owner": "test_look.py::test_owner_trust_and_tier_narrow_too",
    "list --scope": "test_look.py::test_every_filter_narrows",
    "list --session": "test_look.py::test_every_filter_narrows",
    "list --since": "test_look.py::test_every_filter_narrows",
    "list --speaker": "test_look.py::test_every_filter_narrows",
    "list --state": "test_look.py::test_states_are_told_apart_and_filtered",
    "list --tag": "test_look.py::test_every_filter_narrows",
    "list --tier": "test_look.py::test_owner_trust_and_tier_narrow_too",
    "list --trust": "test_look.py::test_owner_trust_and_tier_narrow_too",
    "list --until": "test_look.py::test_every_filter_narrows",
    "edit --text": "test_look.py::test_an_edited_text_replaces_the_old_one_and_can_be_undone",
    "pin --off": "test_look.py::test_a_pin_is_taken_off_with_the_importance_from_before",
    "tag --add": "test_look.py::test_tags_are_given_and_taken",
    "tag --remove": "test_look.py::test_tags_are_given_and_taken",
    "retire --off": "test_look.py::test_what_is_retired_comes_back",
    "reembed --no-wait": "test_backup_commands.py"
    "::test_reembed_without_waiting_leaves_it_to_the_next",
    "install --hooks": "test_install.py::test_hooks_over_http_carry_the_token",
    "install --http": "test_install.py::test_over_http_a_token_is_made_kept_and_taken_back",
    "install --print": "test_install.py::test_print_writes_nothing_and_makes_no_token",
    "token add --no-encoder": "test_cli.py"
    "::test_a_token_without_the_encoder_keeps_what_it_stores_from_models",
    "token add --rights": "test_cli.py::test_tokens_are_added_listed_and_revoked",
    "encode --since": "../gist/test_jobs.py::test_older_memories_are_encoded_on_request",
    "demo --questions": "test_demo.py::test_the_demo_works_end_to_end",
    "evaluate --top": "test_evaluate.py::test_so_many_memories_are_taken_and_each_question_is_told",
    "evaluate --details": "test_evaluate.py"
    "::test_so_many_memories_are_taken_and_each_question_is_told",
    "evaluate --format": "test_evaluate.py::test_cases_of_beliefs_are_played_to_a_fresh_store",
    "evaluate --markdown": "test_evaluate.py::test_the_table_to_keep_says_how_it_was_made",
    "evaluate --misses": "test_evaluate.py"
    "::test_a_file_is_measured_beside_everything_it_is_compared_with",
    "evaluate --no-baselines": "test_evaluate.py::test_the_table_to_keep_says_how_it_was_made",
    "evaluate --own-store": "test_evaluate.py::test_the_own_store_answers_and_keeps_nothing",
    "evaluate --pooled": "test_evaluate.py::test_the_table_to_keep_says_how_it_was_made",
    "evaluate --seed": "test_evaluate.py::test_the_seed_draws_the_interval",
    **{
        f"proxy --{flag}": "proxy/test_proxy.py::test_the_command_serves_until_it_is_stopped"
        for flag in ("upstream", "host")
    },
    "serve --port": "test_transports.py::test_a_taken_port_is_said_so",
    "serve --host": "test_transports.py::test_a_listener_open_to_others_needs_a_token",
    "--json": "test_flags.py::test_json_is_printed_for_json",
    "export --watch": "test_export_command.py"
    "::test_a_watched_folder_follows_what_changes_until_it_is_stopped",
    "export --format": "test_export_command.py"
    "::test_a_folder_gives_everything_back_and_stays_the_same",
    "import --dry-run": "test_import_command.py"
    "::test_it_says_what_came_and_how_to_take_it_back",
    "import --found": "test_import_command.py"
    "::test_what_lies_on_the_machine_is_listed_and_brought_in_by_name",
    "engine run --stay": "engine/test_service.py"
    "::test_only_an_engine_that_stays_needs_no_client",
    "service install --print": "engine/test_service.py"
    "::test_install_writes_and_enables_once_and_uninstall_takes_it_back",
}  # fmt: skip
"""The tests that show a flag in its own place; each holds the flag's name."""


def shows(*flags: str) -> Callable[[Case], Case]:
    def note(case: Case) -> Case:
        for flag in flags:
            assert flag not in CASES
            CASES[flag] = case
        return case

    return note


@pytest.fixture
def run(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command over *memory*, as the agent `me`."""
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(invocation, "open_memory", lambda settings: nullcontext(memory))
    return lambda *words: main.run(words, Invocation())


def every_flag() -> set[str]:
    """One spelling of each flag, "command --flag"; those of all commands without a command."""
    found = set()
    for name, command in commands().items():
        for parameter in command.params:
            opts = [each for each in getattr(parameter, "opts", []) if each.startswith("--")]
            if parameter not in SHARED and set(opts) & options(command):
                found.add(f"{name} {opts[-1]}" if opts[-1] != "--json" else "--json")
    return found | {parameter.opts[-1] for parameter in SHARED}


# remember


def kept(name: str, flag: str, given: str, value: object) -> Case:
    """The field *name* of what is remembered is *value* with the flag, and not without."""

    def case(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
        plain = run("remember", "The tin is blue.").data["id"]
        flagged = run("remember", "The ferry leaves at nine.", flag, given).data["id"]
        assert getattr(memory.get(ME, flagged), name) == value
        assert getattr(memory.get(ME, plain), name) != value

    return case


for field, option, word, stored in (
    ("importance", "--importance", "0.9", 0.9),
    ("kind", "--kind", "preference", "preference"),
    ("role", "--role", "assistant", "assistant"),
    ("scope", "--scope", "shared", "shared"),
    ("session", "--session", "trip", "trip"),
    ("source", "--source", "notes.md", "notes.md"),
    ("speaker", "--speaker", "Mara", "Mara"),
    ("tags", "--tag", "sea", ("sea",)),
    ("occurred_at", "--when", "2021-03-04T05:06:07Z", 1614834367.0),
):
    shows(f"remember {option}")(kept(field, option, word, stored))


@shows("remember --replaces")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    old = run("remember", "Mara lives in Graz.").data["id"]
    new = run("remember", "Mara lives in Linz.", "--replaces", old).data["id"]
    assert memory.get(ME, old).superseded_by == new


# recall


def found(run: Run, *flags: str) -> set[str]:
    return {
        hit["text"] for hit in run("recall", "When does the ferry leave?", *flags).data["memories"]
    }


FERRIES = {
    "The red ferry leaves at nine.": RememberRequest(
        "The red ferry leaves at nine.",
        kind="fact",
        tags=("sea",),
        speaker="Mara",
        scope="shared",
        when="2021-05-01T00:00:00Z",
    ),
    "The blue ferry leaves at noon.": RememberRequest(
        "The blue ferry leaves at noon.", when="2023-05-01T00:00:00Z", session="now"
    ),
}
RED, BLUE = FERRIES


def narrows(*flags: str, to: str) -> Case:
    def case(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
        for request in FERRIES.values():
            memory.remember(ME, request)
        assert found(run) == {RED, BLUE}
        assert found(run, *flags) == {to}

    return case


for option, word, left in (
    ("--scope", "shared", RED),
    ("--kind", "fact", RED),
    ("--tag", "sea", RED),
    ("--speaker", "Mara", RED),
    ("--since", "2022-01-01", BLUE),
    ("--until", "2022-01-01", RED),
):
    shows(f"recall {option}")(narrows(option, word, to=left))


@shows("recall --top")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for request in FERRIES.values():
        memory.remember(ME, request)
    assert len(found(run)) == 2
    assert len(found(run, "--top", "1")) == len(found(run, "-k", "1")) == 1


@shows("recall --session")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for request in FERRIES.values():
        memory.remember(ME, request)
    asked = ("recall", "When does the ferry leave?")
    assert "recent" not in run(*asked).data
    assert [turn["text"] for turn in run(*asked, "--session", "now").data["recent"]] == [BLUE]


@shows("recall --context")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for text in ("Shall we sail on Sunday?", "The red ferry leaves at nine.", "I pack the bags."):
        memory.remember(ME, RememberRequest(text, session="talk", speaker="Mara"))
    for flags, around in (("--context", "0"), 0), (("--context", "1"), 2):
        hits = run("recall", "When does the red ferry leave?", "--top", "1", *flags).data
        (hit,) = hits["memories"]
        assert len([*hit.get("before", ()), *hit.get("after", ())]) == around


@shows("recall --as-of")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    memory.remember(ME, RememberRequest("The ferry leaves at nine."))
    assert found(run) == {"The ferry leaves at nine."}
    assert found(run, "--as-of", "1999-01-01") == set()


# list, topics, people, sessions


def named(memory: Memory) -> None:
    """One memory of the first name, two of the second, three of the third."""
    for count, name in enumerate(("Ash", "Birch", "Cedar"), 1):
        for number in range(count):
            said = {"text": f"{name} was seen {number} times.", "topic": name, "session": name}
            memory.bring_in(ME, {**said, "entities": [name]})


@shows("list --topic")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    named(memory)
    assert len(run("list").data["memories"]) == 6
    listed = run("list", "--topic", "Birch").data["memories"]
    assert [each["topic"] for each in listed] == ["Birch", "Birch"]


def in_pages(command: str) -> Case:
    def case(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
        named(memory)
        names = lambda *flags: [each["name"] for each in run(command, *flags).data["names"]]  # noqa: E731
        assert names() == ["Cedar", "Birch", "Ash"]
        assert names("--limit", "2") == ["Cedar", "Birch"]
        after = run(command, "--limit", "2").data["next"]
        assert names("--cursor", after) == ["Ash"]

    return case


for command in ("topics", "people", "sessions"):
    shows(f"{command} --limit", f"{command} --cursor")(in_pages(command))


# consolidate


def talked(memory: Memory) -> None:
    for session in ("one", "two"):
        for text in ("ferry leaves at nine", "ferry costs twelve", "ferry is red", "ferry is new"):
            said = f"In {session} the {text}."
            memory.remember(ME, RememberRequest(said, session=session, role="user"))


@shows("consolidate --dry-run", "consolidate --undo")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    talked(memory)
    for text in ("The rent is 480 euros.", "The rent is 520 euros."):
        memory.remember(ME, RememberRequest(text))
    faded = {"text": "Lunch was soup.", "importance": 0.05, "tier": "long_term"}
    memory.bring_in(ME, faded | {"occurred_at": "2001-02-03", "recorded_at": "2001-02-03"})
    count = memory.stats(ME)["memories"]
    preview = run("consolidate", "--dry-run")
    planned = preview.data
    assert sum(step["changed"] for step in planned["steps"]) > 0
    for text in ("  The rent is 480 euros.", "  The rent is 520 euros.", ": Lunch was soup."):
        assert f"{text}\n" in f"{preview.text}\n"
    assert memory.stats(ME)["memories"] == count
    done = run("consolidate").data
    after = memory.stats(ME)["memories"]
    assert after > count
    run("consolidate", "--undo", done["run"])
    assert memory.stats(ME)["memories"] == count


@shows("consolidate --mode")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    talked(memory)
    every = {step["name"] for step in run("consolidate", "--dry-run").data["steps"]}
    some = {
        step["name"] for step in run("consolidate", "--dry-run", "--mode", "prune").data["steps"]
    }
    assert some < every


@shows("consolidate --session")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    talked(memory)
    planned = [run("consolidate", "--dry-run", *flags).data for flags in ((), ("--session", "one"))]
    every, some = ({step["name"]: step["changed"] for step in plan["steps"]} for plan in planned)
    assert 0 < some["topics"] <= 4 < every["topics"]


# forget


@shows("forget --allow-again")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for flags, status in ((), "refused"), (("--allow-again",), "stored"):
        id = run("remember", "The safe is behind the clock.", "--again").data["id"]
        run("forget", id, "--yes", *flags)
        assert run("remember", "The safe is behind the clock.").data["status"] == status


@shows("forget --reason")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    id = run("remember", "The safe is behind the clock.").data["id"]
    run("forget", id, "--yes", "--reason", "he asked for it")
    journal = memory.settings.data_dir / "journal.db"
    memory.close()
    assert b"he asked for it" in b"".join(
        path.read_bytes() for path in journal.parent.glob("journal.db*")
    )


# observe, seed, health, encode, clear, pause


@shows(
    "observe --role", "observe --session", "observe --speaker", "observe --tag", "observe --source"
)
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    file = folder / "talk.txt"
    file.write_text("The flight to Oslo leaves on Friday at nine.\n")
    run("observe", str(file))
    (plain,) = memory.listing(ME)
    assert (plain.role, plain.session, plain.speaker, plain.tags, plain.source) == (
        "user", "", "", (), "",
    )  # fmt: skip
    file.write_text("The train to Bergen leaves on Monday at ten.\n")
    flags = ("--role", "assistant", "--session", "s", "--speaker", "Mara", "--tag", "t")
    run("observe", str(file), *flags, "--source", "mail")
    flagged = next(each for each in memory.listing(ME, limit=5) if "train" in each.text)
    assert (flagged.role, flagged.session, flagged.speaker) == ("assistant", "s", "Mara")
    assert (flagged.tags, flagged.source) == (("t",), "mail")


@shows("seed --source")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for name, flags in (("one", ()), ("two", ("--source", "mail"))):
        (folder / name).write_text(f"The code {name} opens the shed.\n")
        run("seed", str(folder / name), *flags)
    assert {each.text[9:12]: each.source for each in memory.listing(ME)} == {
        "one": "",
        "two": "mail",
    }


@shows("health --repair")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    aside = memory.settings.data_dir / "table" / "7.damaged"
    aside.mkdir(parents=True)
    run("health")
    assert aside.exists()
    run("health", "--repair")
    assert not aside.exists()


@shows("clear --yes")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    run("remember", "The tin is blue.")
    with pytest.raises(Exception, match="--yes"):
        run("clear")
    assert memory.stats(ME)["memories"] == 1
    run("clear", "--yes")
    assert memory.stats(ME)["memories"] == 0


@shows("pause --for")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    data = str(folder / "data")
    for_good = run("pause", "--data-dir", data).data
    for_long = run("pause", "--data-dir", data, "--for", "2h").data
    assert for_good != for_long


# Those around the memory


@shows("engine log --lines")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / "engine.log").write_text("one\ntwo\nthree\n")
    log = ("engine", "log", "--data-dir", str(folder))
    assert run(*log).data["log"] == ["one", "two", "three"]
    assert run(*log, "--lines", "2").data["log"] == ["two", "three"]


@shows("install --host", "install --port")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("os.environ", {"HOME": str(folder)})
    shown = ("install", "cursor", "--http", "--print", "--data-dir", str(folder))
    assert "http://127.0.0.1:7832/" in run(*shown).text
    assert "http://127.0.0.1:9000/" in run(*shown, "--port", "9000").text
    assert "http://box.example:7832/" in run(*shown, "--host", "box.example").text


@shows("import --column", "import --encoding")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Of a table without the usual names, in an encoding that is no UTF-8."""
    table = folder / "table.csv"
    table.write_text("Was;Wann\nDer Tee ist grün.;2024-05-01\n", "cp1252")
    run(
        "import",
        str(table),
        "--encoding",
        "cp1252",
        "--column",
        "text=Was",
        "--column",
        "when=Wann",
    )
    (record,) = memory.listing(ME)
    assert (record.text, datetime.fromtimestamp(record.occurred_at, UTC).date().isoformat()) == (
        "Der Tee ist grün.", "2024-05-01"
    )  # fmt: skip


@shows("import --from", "import --strict")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Of lines of which one cannot be read: nothing with --strict, the others without."""
    lines = folder / "lines.txt"
    lines.write_text('{"text": "The tea is in the tin."}\n{"text": \n')
    words = ("import", str(lines), "--from", "anamnesis")
    assert run(*words, "--strict").code
    assert memory.listing(ME) == []
    run(*words)
    assert [record.text for record in memory.listing(ME)] == ["The tea is in the tin."]


@shows("serve --compat")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for flags, status in ((), 404), (("--compat",), 200):
        with serving(folder / f"at{status}", "--no-token", *flags) as url:
            assert httpx2.get(f"{url}/api/stats", timeout=60).status_code == status


@shows("serve --transport")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Without it the server talks over its pipes: it ends with them, and says no address."""
    done = ended(folder / "data", "serve")
    assert (done.returncode, done.stdout, "serving" in done.stderr) == (0, "", False)
    with serving(folder / "data") as url:
        assert httpx2.get(f"{url}/healthz").json() == {"status": "ok"}


@shows("serve --no-token")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for flags, status in ((), 401), (("--no-token",), 404):
        with serving(folder / f"at{status}", *flags) as url:
            assert httpx2.get(f"{url}/nothing").status_code == status


@shows("proxy --port")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = ended(folder / "data", "proxy", "--upstream", "http://127.0.0.1:9", "--port", port)
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr


def alone(home: Path) -> dict[str, str]:
    """The environment of a command that shares no engine."""
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "ANAMNESIS_OFFLINE": "1",
        "ANAMNESIS_SHARED": "off",
    }


def ended(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a command said that ends by itself."""
    return subprocess.run(
        [sys.executable, "-m", "server", *words, "--data-dir", str(data)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=alone(data.parent),
        timeout=90,
    )


@contextmanager
def serving(data: Path, *flags: str) -> Iterator[str]:
    """The address of a server over HTTP with *flags*."""
    command = [sys.executable, "-m", "server", "serve", "--transport", "http", "--port", "0"]
    server = subprocess.Popen(
        [*command, *flags, "--data-dir", str(data)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=alone(data.parent),
    )
    assert server.stderr
    try:
        said = re.search(r"serving (http://\S+)/mcp", server.stderr.readline())
        assert said
        yield said[1]
    finally:
        server.kill()
        server.wait(30)
        server.stderr.close()


@shows("serve --allow-host")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    for flags, status in ((), 421), (("--allow-host", "memory.example"), 401):
        with serving(folder / f"at{status}", *flags) as url:
            answer = httpx2.post(f"{url}/mcp", json={}, headers={"Host": "memory.example"})
            assert answer.status_code == status


@shows("ui --read-only", "ui --no-browser")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """With each flag, what the page may change and whether a browser was opened."""
    data, told, opener = folder / "data", folder / "opened", folder / "opener.py"
    opener.write_text(f"import sys; open({str(told)!r}, 'w').write(sys.argv[1])")
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "ANAMNESIS_OFFLINE": "1",
        "ANAMNESIS_PORT": "0",
        "ANAMNESIS_SHARED": "on",
        "BROWSER": f"{sys.executable} {opener} %s",
    }
    words = [sys.executable, "-m", "server", "ui", "--data-dir", str(data)]
    try:
        for flags, status, opened in (
            ((), 200, True),
            (("--no-browser",), 200, False),
            (("--read-only", "--no-browser"), 403, False),
        ):
            said = subprocess.run(
                [*words, *flags],
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=90,
            )
            address, _, code = said.stdout.strip().partition("#")
            assert told.exists() == opened, said.stderr
            if opened:
                assert told.read_text() == said.stdout.strip()
                told.unlink()
            place = address.removesuffix("/ui/")
            session = httpx2.post(f"{place}/ui/session", json={"code": code.rpartition("=")[2]})
            asked = {"authorization": f"Bearer {session.json()['token']}"}
            done = httpx2.post(
                f"{place}/api/v1/memories", json={"text": "The tin is blue."}, headers=asked
            )
            assert done.status_code == status, done.text
    finally:
        engines.end(data)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_address_of_a_page_without_an_engine_is_told_as_asked(
    as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def none(*_: object, **__: object) -> str:
        raise NoEngine("switched off")

    def served(call: Invocation, show: Callable[[str], None], *, read_only: bool) -> None:
        show(address)
        raise SystemExit

    address = "http://127.0.0.1:9/ui/#code=x"
    monkeypatch.setattr("server.engine.client.page", none)
    monkeypatch.setattr("server.cli.serve.serve_page", served)
    with pytest.raises(SystemExit):
        main.main(["ui", "--no-browser", "--data-dir", str(tmp_path)] + ["--json"] * as_json)
    told = capsys.readouterr().out
    assert (json.loads(told) if as_json else told) == (
        {"address": address} if as_json else f"{address}\n"
    )


# Those of every command


@pytest.mark.parametrize("words", ["stats", "pause", "token list", "engine status", "health"])
def test_json_is_printed_for_json(
    words: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [*words.split(), "--data-dir", str(tmp_path)]
    (tmp_path / "journal.db").touch()  # the memory itself is elsewhere
    main.main(said)
    with pytest.raises(json.JSONDecodeError):
        json.loads(capsys.readouterr().out)
    main.main([*said, "--json"])
    assert isinstance(json.loads(capsys.readouterr().out), dict | list)


@shows("--data-dir")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    run("token", "add", "--data-dir", str(folder / "here"))
    assert (folder / "here" / "tokens.json").exists()


@shows("--agent", "--team")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    run("token", "add", "--data-dir", str(folder))
    run("token", "add", "--data-dir", str(folder), "--agent", "ann", "--team", "sea")
    rows = run("token", "list", "--data-dir", str(folder)).data
    assert [(row["agent"], row["team"]) for row in rows] == [("me", ""), ("ann", "sea")]


@shows("--config")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / "c.toml").write_text('agent = "ann"\n')
    run("token", "add", "--data-dir", str(folder), "--config", str(folder / "c.toml"))
    assert [row["agent"] for row in run("token", "list", "--data-dir", str(folder)).data] == ["ann"]


@shows("--log-level")
def _(memory: Memory, run: Run, folder: Path, patch: pytest.MonkeyPatch) -> None:
    called: list[Invocation] = []
    for flags in ((), ("--log-level", "DEBUG")):
        call = Invocation()
        main.run(("token", "list", "--data-dir", str(folder), *flags), call)
        called.append(call)
    assert [call.settings.log_level for call in called] == ["WARNING", "DEBUG"]


# The table


def test_every_flag_has_a_case_and_every_case_a_flag() -> None:
    assert not CASES.keys() & ELSEWHERE.keys()
    assert every_flag() == CASES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("flag", sorted(ELSEWHERE))
def test_the_test_elsewhere_exists_and_uses_the_flag(flag: str) -> None:
    file, _, name = ELSEWHERE[flag].partition("::")
    source = (Path(__file__).parent / file).read_text("utf-8")
    (found,) = (
        "\n".join(ast.unparse(each) for each in [*node.decorator_list, node])
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    )
    assert name.startswith("test_")
    assert flag.rpartition(" ")[2] in found


SERVERS = ("serve ", "ui ", "install ", "proxy ")
"""Commands that start processes."""


@pytest.mark.parametrize("flag", sorted(flag for flag in CASES if flag.startswith(SERVERS)))
def test_a_flag_of_a_command_that_starts_processes_does_what_it_says(
    flag: str,
    memory: Memory,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    processes: Any,
) -> None:
    CASES[flag](memory, run, tmp_path, monkeypatch)


@pytest.mark.parametrize("flag", sorted(flag for flag in CASES if not flag.startswith(SERVERS)))
def test_a_flag_does_what_it_says(
    flag: str, memory: Memory, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CASES[flag](memory, run, tmp_path, monkeypatch)


@pytest.mark.parametrize("flag", sorted(flag for flag in CASES if not flag.startswith(SERVERS)))
def test_a_case_fails_where_its_flag_is_ignored(
    flag: str, memory: Memory, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, option = flag.rpartition(" ")
    real = click.Parameter.consume_value

    def ignoring(self: click.Parameter, context: click.Context, given: Any) -> Any:
        if option in self.opts and context.command_path.endswith(name):
            given = {key: value for key, value in given.items() if key != self.name}
        return real(self, context, given)

    monkeypatch.setattr(click.Parameter, "consume_value", ignoring)
    with pytest.raises((Exception, pytest.fail.Exception)):
        CASES[flag](memory, run, tmp_path, monkeypatch)
