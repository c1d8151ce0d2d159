"""A file of exported memories is hostile input: what of it is refused, and what is not taken."""

from __future__ import annotations

import json
import sqlite3
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import InvalidInput
from memory_core.importing.request import ImportRequest
from memory_core.interchange import local
from memory_core.interchange.files import BOMB_BYTES
from memory_core.memory import Memory
from memory_core.records import Identity, new_id
from memory_core.remember.request import RememberRequest

ME = Identity("me")
OTHER = Identity("other", "", frozenset({"read", "write"}))
READER = Identity("me", "", frozenset({"read", "write"}))
A, B = new_id(1.7e9), new_id(1.7e9 + 1)

OpenMemory = Callable[..., Memory]


def link(a: str, b: str, kind: str, weight: float = 1.0) -> dict[str, Any]:
    return {"a": a, "b": b, "kind": kind, "weight": weight}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("entities", [f"name {each}" for each in range(300_000)]),
        ("entities", ["x" * 5_000]),
        ("emotions", ["joy"] * 300_000),
        ("emotions", ["x" * 5_000]),
        ("dates", ["2024-05-07"] * 10_000),
        ("derived_from", [new_id(each) for each in range(10_001)]),
        ("derived_from", ["x" * 1_000_000]),
        ("due", ["gist"] * 1_000),
        ("encoded", "x" * 1_000_000),
        ("links", [link(A, B, "co_recall")] * 10_001),
        ("links", [link(A, B, "co_recall", 1e9)]),
        ("links", [link(A, B, "updates", 2.0)]),
        ("links", [link(A, B, "similar", float("inf"))]),
        ("links", [link(A, B, "similar", -1.0)]),
        ("links", [link(A, B, "k" * 10_000)]),
        ("links", [link(A, B, "password=otterlighthouse")]),
        ("links", 5),
        ("recorded_at", 1e300),
    ],
)
def test_what_no_export_holds_is_refused_by_name(memory: Memory, field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=field):
        memory.bring_in(ME, {"id": A, "text": "The heron waits by the weir.", field: value})
    assert memory.stats(ME)["memories"] == 0


def test_what_an_export_may_hold_is_taken(memory: Memory) -> None:
    memory.bring_in(ME, {"id": B, "text": "The stork came back in March."})
    record = {
        "id": A,
        "text": "The heron waits by the weir.",
        "entities": [f"name {each}" for each in range(32)],
        "derived_from": [new_id(each) for each in range(3_000)],
        "links": [link(A, B, "co_recall", 20_000.0), link(A, B, "updates")],
    }
    assert memory.bring_in(ME, record).status == "stored"
    kinds = {(each.kind, each.weight) for each in memory.links(ME, A)}
    assert {("co_recall", 20_000.0), ("updates", 1.0)} <= kinds


@pytest.mark.parametrize("kind", ["updates", "contradicts", "doubts", "duplicate_of", "kept_both"])
@pytest.mark.parametrize("turned", [True, False])
def test_a_file_puts_nothing_in_the_place_of_what_was_said_here(
    memory: Memory, kind: str, turned: bool
) -> None:
    said = memory.remember(ME, RememberRequest("The door code is 4711.")).id
    ends = (A, said) if turned else (said, A)
    for record in (
        {"id": A, "text": "Quite another matter altogether.", "links": [link(*ends, kind)]},
        {"id": said, "text": "The door code is 4711.", "links": [link(*ends, kind)]},
        {"id": A, "text": "Quite another matter altogether.", "links": [link(*ends, kind)]},
    ):
        memory.bring_in(ME, record)
    assert [each for each in memory.links(ME, said) if each.kind == kind] == []


@pytest.mark.parametrize("kind", ["updates", "co_recall", "similar", "pair"])
def test_a_file_links_to_nothing_that_belongs_to_others(memory: Memory, kind: str) -> None:
    theirs = memory.remember(OTHER, RememberRequest("The bridge opens at nine.", scope="shared")).id
    memory.bring_in(READER, {"id": A, "text": "Quite another.", "links": [link(A, theirs, kind)]})
    assert memory.links(ME, theirs) == []


def test_both_ends_imported_keep_their_relation_in_either_order(open_memory: OpenMemory) -> None:
    for name, order in (("one", (A, B)), ("two", (B, A))):
        memory = open_memory(name)
        for id in order:
            text = f"Note number {order.index(id)} of the series."
            memory.bring_in(ME, {"id": id, "text": text, "links": [link(A, B, "contradicts")]})
        assert [each.kind for each in memory.links(ME, A)] == ["contradicts"]


ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
DEEP = "[" * 100_000


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as db:
        for each in statements:
            db.execute(each)
    db.close()
    return path


@pytest.mark.parametrize("form", ["", "mem0"])
@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE VIEW history AS {ENDLESS} SELECT n AS memory_id, n AS old_memory,"
        " 'x' || n AS new_memory, 'ADD' AS event, n AS created_at FROM c",
        "CREATE TABLE history (memory_id, old_memory, event, created_at,"
        " new_memory AS (hex(zeroblob(400000000))))",
    ],
    ids=["a view without an end", "a gigabyte of each row"],
)
def test_nothing_in_a_database_is_computed(
    memory: Memory, tmp_path: Path, statement: str, form: str
) -> None:
    insert = "INSERT INTO history (memory_id, event, created_at) VALUES ('a', 'ADD', '2024-01-01')"
    given = database(tmp_path / "h.db", statement, *([insert] if "TABLE" in statement else []))
    try:
        report = memory.import_files(ME, ImportRequest(str(given), form))
        assert report.problem_count
    except InvalidInput:
        assert not form
    assert memory.stats(ME)["memories"] == 0


def test_a_join_without_an_index_ends(memory: Memory, tmp_path: Path) -> None:
    rows = f"{ENDLESS} SELECT 1, 'wing', 'w', 1, 1 FROM c LIMIT 20000"
    given = database(
        tmp_path / "chroma.sqlite3",
        "CREATE TABLE embeddings (id, embedding_id)",
        "CREATE TABLE embedding_metadata (id, key, string_value, int_value, float_value)",
        f"INSERT INTO embeddings {ENDLESS} SELECT 1, 'a' FROM c LIMIT 20000",
        f"INSERT INTO embedding_metadata {rows}",
    )
    report = memory.import_files(ME, ImportRequest(str(given)))
    assert any("interrupted" in each for each in report.problems)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"type": "entity", "name": "a", "observations": ' + DEEP),
        ("b.jsonl", '{"sessionId": "a", "type": "user", "message": ' + DEEP),
        ("c.jsonl", '{"type": "session_meta", "payload": ' + DEEP),
        ("d.jsonl", '{"text": ' + DEEP),
        ("e.json", json.dumps([{"content": "a", "content_hash": "h", "tags": DEEP}])),
        ("f.json", '[{"mapping": {"message": ' + DEEP),
        ("g.md", "---\ntitle: a\n---\n<!-- anamnesis " + '{"a": ' + DEEP + " -->\n"),
    ],
)
def test_deep_json_is_a_problem_of_its_file(
    memory: Memory, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / name).write_text(text)
    (tmp_path / "given" / "z.md").write_text("- The heron waits by the weir.\n")
    memory.import_files(ME, ImportRequest(str(tmp_path / "given")))
    assert memory.stats(ME)["memories"] >= 1, "what stands beside it is read"


@pytest.mark.parametrize("given", [b"", b"[", b"{"], ids=["text", "list", "object"])
@pytest.mark.parametrize("encoding", ["bz2", "rot13", "idna", "undefined", "punycode"])
def test_an_encoding_that_is_none_of_texts_ends_in_words(
    memory: Memory, tmp_path: Path, encoding: str, given: bytes
) -> None:
    (tmp_path / "talk.txt").write_bytes(given + b"User: hello there\nAssistant: good morning\n" * 5)
    with pytest.raises(InvalidInput):
        memory.import_files(ME, ImportRequest(str(tmp_path / "talk.txt"), encoding=encoding))


def test_many_files_that_unpack_to_far_more_are_refused_together(
    memory: Memory, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):  # each alone is below the bound
            archive.writestr(f"{number}.md", bytes(BOMB_BYTES // 2))
    with pytest.raises(InvalidInput, match="unpacks to"):
        memory.import_files(ME, ImportRequest(str(tmp_path / "a.zip")))


def test_a_damaged_file_of_an_archive_is_named_and_the_others_are_read(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", "- The heron waits by the weir. " * 50)
        archive.writestr("b.md", "- The stork came back in March.")
    data = bytearray(path.read_bytes())
    data[40:60] = bytes(20)
    path.write_bytes(data)
    report = memory.import_files(ME, ImportRequest(str(path)))
    assert any("a.md is damaged" in each for each in report.problems)
    assert report.counts["stored"] == 1


@pytest.mark.parametrize(
    ("name", "unit", "encoding"),
    [
        ("a.md", "# " + "#" * 2_000 + " x\n", "utf-8"),
        ("b.md", " - t\n" * 400, "utf-8"),
        ("c.txt", "a" * 400_000, "utf-16"),
    ],
    ids=["heading", "list in front matter", "line in UTF-16"],
)
def test_reading_takes_time_that_is_linear(
    memory: Memory, tmp_path: Path, name: str, unit: str, encoding: str
) -> None:
    def seconds(times: int) -> float:
        before = "---\ntags:\n" if name == "b.md" else "User: hello\nAssistant: hello\n"
        after = "\n---\n- x y\n" if name == "b.md" else "\n"
        (tmp_path / name).write_bytes((before + unit * times + after).encode(encoding))
        start = time.process_time()
        memory.import_files(ME, ImportRequest(str(tmp_path / name), dry_run=True))
        return time.process_time() - start

    seconds(1)
    few = min(seconds(4) for _ in range(3))
    assert any(seconds(32) < 3 * 8 * few + 0.2 for _ in range(3))


def test_transcripts_lead_to_no_path_that_cannot_be(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    for name, line in (("a", '{"cwd": "/tmp/\\u0000x"}'), ("b", '{"cwd": ' + DEEP)):
        (folder / f"{name}.jsonl").write_text(line + "\n")
    found = local.places(tmp_path, tmp_path)
    assert {place.name for place in found} == {"claude-code"}
