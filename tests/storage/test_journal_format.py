"""The change format is frozen: old files read the same, the same changes give the same bytes."""

from __future__ import annotations

import hashlib
import json
import runpy
import shutil
import struct
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core.lifecycle import stamps
from memory_core.storage.journal.journal import Journal

GOLDEN = Path(__file__).parent / "golden"
FORMATS = sorted(path.name for path in GOLDEN.glob("format_*"))
CURRENT = "format_1"

ROWS = "SELECT * FROM changes ORDER BY seq"
VECTORS = "SELECT * FROM vectors ORDER BY seq"
OTHERS = (
    "SELECT * FROM heads ORDER BY id",
    "SELECT * FROM tombstones ORDER BY rowid",
    "SELECT * FROM receipts ORDER BY seq",
    "SELECT * FROM receipt_ids ORDER BY id",
    "SELECT * FROM meta ORDER BY key",
    "SELECT type, name, sql FROM sqlite_schema ORDER BY name",
    "PRAGMA application_id",
    "PRAGMA user_version",
)


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    """The names defined by the script that wrote the golden files."""
    return runpy.run_path(str(GOLDEN / "write.py"))


def copied(name: str, folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copy(GOLDEN / name / "journal.db", folder))


def raw(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("name", FORMATS)
def test_a_store_of_every_format_reads_as_it_did(
    name: str, tmp_path: Path, golden: dict[str, Any]
) -> None:
    copied(name, tmp_path / "data")
    journal = Journal.open(tmp_path / "data", clock=lambda: 0.0)
    read = json.loads(json.dumps(golden["described"](journal)))
    assert read == json.loads((GOLDEN / name / "expected.json").read_text())
    assert journal.check() == []
    journal.close()


@pytest.mark.parametrize(("name", "count"), [(CURRENT, 17), ("format_1_synced", 11)])
def test_the_same_changes_are_written_byte_for_byte_as_before(
    name: str, count: int, tmp_path: Path, golden: dict[str, Any]
) -> None:
    journal = Journal.open(tmp_path / "new", clock=golden["clock"]())
    golden["SCRIPTS"][name](journal)
    journal.close()
    old, new = copied(name, tmp_path / "old"), tmp_path / "new" / "journal.db"
    for sql in (ROWS, VECTORS, *OTHERS):
        assert raw(new, sql) == raw(old, sql), sql
    assert len(raw(old, ROWS)) == count


def test_every_form_of_a_stamp_is_read_from_the_golden_journal(tmp_path: Path) -> None:
    copied("format_1_synced", tmp_path / "data")
    journal = Journal.open(tmp_path / "data", clock=lambda: 0.0)
    there = (1700000100.25, "0" * 18 + "m1")
    first, second = (stamps.stamps(journal, "0" * 19 + each) for each in "ab")
    journal.close()
    assert first.of("born") == first.of("tags") == first.of("importance") == there
    assert first.links == {("0" * 19 + "b", "updates"): there}
    assert second.of("retired") == second.of("superseded") == there


def as_bytes(stored: str | bytes) -> bytes:
    return stored if isinstance(stored, bytes) else stored.encode()


def test_checksums_are_what_the_document_says(tmp_path: Path) -> None:
    """Worked out here from docs/internals/journal-format.md, without the code of the journal."""
    path = copied(CURRENT, tmp_path / "data")
    for row in raw(path, ROWS):
        seq, at, kind, target, actor, source, scope, run, version, body, before, scrubbed, got = row
        texts = [kind, target, actor, source, scope, run, body, before]
        message = struct.pack(">q", seq) + struct.pack(">d", at) + struct.pack(">q", version)
        message += bytes([scrubbed])
        for text in texts:
            message += struct.pack(">i", -1 if text is None else len(as_bytes(text)))
        message += b"".join(as_bytes(text or "") for text in texts)
        assert hashlib.blake2b(message, digest_size=8).digest() == got
    for _, memory, model, parts, dimension, data, got, gone in raw(path, VECTORS):
        if gone:
            assert data == bytes(len(data))
            continue
        message = f"{memory}\0{model}\0{parts}\0{dimension}\0".encode() + data
        assert hashlib.blake2b(message, digest_size=8).digest() == got


def test_bodies_are_compact_json_with_sorted_keys(tmp_path: Path) -> None:
    path = copied(CURRENT, tmp_path / "data")
    rows = raw(path, ROWS)
    scrubbed = [text for row in rows if row[11] for text in (row[5], *row[9:11])]
    assert all(text is None or text == bytes(len(text)) for text in scrubbed)
    texts = [text for row in rows if not row[11] for text in row[9:11] if text is not None]
    assert len(texts) == 15
    for text in texts:
        text = text.rstrip(" ")
        written = json.dumps(
            json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        assert text == written


def test_the_document_shows_the_tables_as_they_are(tmp_path: Path) -> None:
    document = (Path(__file__).parents[2] / "docs/internals/journal-format.md").read_text()
    path = copied(CURRENT, tmp_path / "data")
    for kind, name in raw(path, "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL"):
        if kind == "table" and name != "sqlite_sequence":
            columns = raw(path, f"SELECT name FROM pragma_table_info('{name}')")
            shown = document.split(f"CREATE TABLE {name}(")[1].split(")\n")[0]
            assert [column for (column,) in columns if column not in shown] == []
        elif kind == "index":
            assert f"`{name}`" in document
