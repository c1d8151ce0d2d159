"""Each form that can be imported: what arrives of a file made by hand, and what is left out."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import Clock

from memory_core.errors import InvalidInput
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord
from memory_core.remember.request import RememberRequest

ME = Identity("me")
DATA = Path(__file__).parent.parent / "interchange" / "data"
FILE_TIME = 1_777_593_600.0
"""2026-05-01T00:00:00Z, the time of every file."""

EXPECTED = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def in_2026(clock: Clock) -> None:
    clock.now = FILE_TIME + 1_000_000


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a file or folder of DATA, so that its time is known."""

    def copied(name: str) -> Path:
        target = tmp_path / "given" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (DATA / name).is_dir():
            shutil.copytree(DATA / name, target)
        else:
            shutil.copyfile(DATA / name, target)
        for path in (target, *target.rglob("*")):
            os.utime(path, (FILE_TIME, FILE_TIME))
        return target

    return copied


def database(path: Path, *statements: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()
    os.utime(path, (FILE_TIME, FILE_TIME))
    return path


def stored(memory: Memory) -> list[MemoryRecord]:
    found = memory.listing(ME, limit=1000)
    return sorted(
        found, key=lambda each: (each.occurred_at, each.session, each.position, each.text)
    )


def shown(memory: MemoryRecord, root: Path) -> dict[str, Any]:
    """The fields that a source gives, with the folder of the test cut out."""
    given = {
        "text": memory.text,
        "when": datetime.fromtimestamp(memory.occurred_at, UTC).isoformat(),
        "kind": memory.kind,
        "role": memory.role,
        "speaker": memory.speaker,
        "session": memory.session,
        "tags": list(memory.tags),
        "source": memory.source.replace(str(root), "ROOT"),
        "trust": memory.trust,
    }
    return {name: value for name, value in given.items() if value}


def told(report: ImportReport) -> dict[str, Any]:
    return {
        "forms": sorted(report.forms),
        "counts": dict(report.counts),
        "left_out": dict(sorted(report.left_out.items())),
        "dated": dict(sorted(report.dated.items())),
        "problems": report.problems,
        "unknown": report.unknown,
    }


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_form_arrives_with_its_dates_roles_and_conversations(
    memory: Memory, place: Callable[[str], Path], name: str
) -> None:
    columns = {"text": "Body", "when": "Day", "speaker": "Author", "tags": "Labels"}
    path = place(name)
    request = ImportRequest(str(path), columns=columns if name.endswith(".csv") else {})
    report = memory.import_files(ME, request)
    assert told(report) == EXPECTED[name]["report"]
    root = path if path.is_dir() else path.parent
    assert [shown(each, root) for each in stored(memory)] == EXPECTED[name]["memories"]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_second_import_adds_nothing(
    memory: Memory, place: Callable[[str], Path], name: str
) -> None:
    columns = {"text": "Body", "when": "Day", "speaker": "Author", "tags": "Labels"}
    request = ImportRequest(str(place(name)), columns=columns if name.endswith(".csv") else {})
    first, before = memory.import_files(ME, request), stored(memory)
    again = memory.import_files(ME, request)
    assert dict(again.counts) == {"reinforced": first.counts["stored"]}
    assert again.run == ""
    assert stored(memory) == before


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_preview_says_what_would_come_and_stores_nothing(
    memory: Memory, place: Callable[[str], Path], name: str
) -> None:
    columns = {"text": "Body", "when": "Day", "speaker": "Author", "tags": "Labels"}
    request = ImportRequest(
        str(place(name)), columns=columns if name.endswith(".csv") else {}, dry_run=True
    )
    report = memory.import_files(ME, request)
    assert report.counts["new"] == EXPECTED[name]["report"]["counts"]["stored"]
    assert (report.status, report.run, stored(memory)) == ("preview", "", [])


# Databases


def test_mem0_history_arrives_as_a_chain_of_replacements(memory: Memory, tmp_path: Path) -> None:
    path = database(
        tmp_path / "history.db",
        "CREATE TABLE history(id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT,"
        " event TEXT, created_at TEXT, updated_at TEXT, is_deleted INTEGER)",
        "INSERT INTO history VALUES('1','a',NULL,'Lives in Oslo','ADD',"
        "'2024-01-01T00:00:00+00:00',NULL,0)",
        "INSERT INTO history VALUES('2','b',NULL,'Owns a boat','ADD',"
        "'2024-01-02T00:00:00+00:00',NULL,0)",
        "INSERT INTO history VALUES('3','a','Lives in Oslo','Lives in Bergen',"
        "'UPDATE',"
        "'2024-01-01T00:00:00+00:00','2024-06-01T00:00:00+00:00',0)",
        "INSERT INTO history VALUES('4','b','Owns a boat',NULL,'DELETE',"
        "'2024-01-02T00:00:00+00:00',"
        "'2024-07-01T00:00:00+00:00',1)",
    )
    request = ImportRequest(str(path))
    report = memory.import_files(ME, request)
    assert dict(report.counts) == {"stored": 1, "replaced": 1}
    assert dict(report.left_out) == {"deleted": 2}
    (now,) = stored(memory)
    assert now.text == "Lives in Bergen"
    (old,) = [each for each in memory.export(ME) if each["text"] == "Lives in Oslo"]
    assert (old["superseded_by"], old["valid_until"]) == (now.id, "2024-06-01T00:00:00.000000Z")
    assert dict(memory.import_files(ME, request).counts) == {"reinforced": 2}


def test_mem0_relations_of_its_graph_arrive(memory: Memory, tmp_path: Path) -> None:
    told = {"id": "a", "memory": "Ann rows.", "hash": "h", "user_id": "ann"}
    edges = [
        {"source": "ann", "relationship": "works_at", "target": "weir"},
        {"source": "ann", "relationship": "knows", "destination": "ben"},
        {"source": "ann", "relationship": "knows"},
    ]
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"results": [told], "relations": edges}))
    os.utime(file, (FILE_TIME, FILE_TIME))
    report = memory.import_files(ME, ImportRequest(str(file)))
    found = stored(memory)
    assert [(each.text, each.kind, each.entities) for each in found if each.text[0] == "a"] == [
        ("ann knows ben.", "relationship", ("ann", "ben")),
        ("ann works at weir.", "relationship", ("ann", "weir")),
    ]
    assert report.problems == ["all.json element 4: the relation lacks an end or its type"]


def test_a_heading_of_claudes_memories_stands_with_what_it_is_about(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "memories.json"
    text = "**Work context**\n\nAnn keeps the weir.\n\nShe rows.\n\n## Home\n\nShe lives in Bonn."
    file.write_text(json.dumps([{"account_uuid": "a", "conversations_memory": text}]))
    memory.import_files(ME, ImportRequest(str(file)))
    assert {each.text for each in stored(memory)} == {
        "**Work context**\nAnn keeps the weir.",
        "She rows.",
        "## Home\nShe lives in Bonn.",
    }


def test_mcp_memory_service_database(memory: Memory, tmp_path: Path) -> None:
    path = database(
        tmp_path / "sqlite_vec.db",
        "CREATE TABLE memories(id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,"
        " memory_type TEXT, metadata TEXT, created_at REAL, deleted_at REAL)",
        "INSERT INTO memories VALUES(1,'h1','The boiler is serviced in May.',"
        "'home,heating','note',"
        "'{}',1709280000.0,NULL)",
        "INSERT INTO memories VALUES(2,'h2','A deleted line about the boiler.','','note','{}',"
        "1.7e9,1.71e9)",
        "CREATE TABLE memory_graph(source_hash TEXT, target_hash TEXT, similarity REAL)",
        "INSERT INTO memory_graph VALUES('h1', 'h2', 0.9)",
    )
    report = memory.import_files(ME, ImportRequest(str(path)))
    (found,) = stored(memory)
    assert (found.text, found.tags) == ("The boiler is serviced in May.", ("home", "heating"))
    assert found.occurred_at == 1_709_280_000.0
    assert dict(report.left_out) == {"deleted": 1, "association": 1}


def test_cursor_is_copied_and_read_in_the_order_of_its_headers(
    memory: Memory, tmp_path: Path
) -> None:
    talk = {
        "createdAt": 1_709_280_000_000,
        "name": "Ports",
        "fullConversationHeadersOnly": [
            {"bubbleId": "b2", "type": 1},
            {"bubbleId": "b1", "type": 2},
            {"bubbleId": "b3", "type": 2},
            {"bubbleId": "b4", "type": 1},
        ],
    }
    path = database(
        tmp_path / "cursor" / "state.vscdb",
        "CREATE TABLE cursorDiskKV(key TEXT UNIQUE, value BLOB)",
        f"INSERT INTO cursorDiskKV VALUES('composerData:c1', '{json.dumps(talk)}')",
        """INSERT INTO cursorDiskKV VALUES('bubbleId:c1:b1',
        '{"type": 2, "text": "I moved the proxy to port 8443 in the compose file."}')""",
        """INSERT INTO cursorDiskKV VALUES('bubbleId:c1:b2',
        '{"type": 1, "text": "The proxy must leave port 443 to the other service."}')""",
        'INSERT INTO cursorDiskKV VALUES(\'bubbleId:c1:b3\', \'{"type": 2, "text": ""}\')',
        "INSERT INTO cursorDiskKV VALUES('bubbleId:c1:b4', NULL)",
        "INSERT INTO cursorDiskKV VALUES('composerData:c2', NULL)",
    )
    before = (path.read_bytes(), sorted(path.parent.iterdir()))
    report = memory.import_files(ME, ImportRequest(str(path)))
    found = sorted(stored(memory), key=lambda each: each.position)
    assert [(each.role, each.text[:9]) for each in found] == [
        ("user", "The proxy"),
        ("assistant", "I moved t"),
    ]
    assert {each.occurred_at for each in found} == {1_709_280_000.0}
    assert {each.session for each in found} == {"cursor:c1"}
    assert dict(report.dated) == {"conversation": 2}
    assert (report.problems, dict(report.left_out)) == ([], {"no text": 2, "deleted": 1})
    assert before == (path.read_bytes(), sorted(path.parent.iterdir()))


def test_what_was_typed_in_cursors_editor_is_read(memory: Memory, tmp_path: Path) -> None:
    lines = [[("The proxy ", "text"), ("@ports", "mention")], [("listens on 8443.", "text")]]
    typed = {
        "root": {
            "children": [
                {"type": "paragraph", "children": [{"text": t, "type": k} for t, k in line]}
                for line in lines
            ]
        }
    }
    bubble = {"type": 1, "bubbleId": "b", "text": "", "richText": json.dumps(typed)}
    talk = json.dumps({"createdAt": 1_709_280_000_000, "conversation": [bubble]})
    path = database(
        tmp_path / "state.vscdb",
        "CREATE TABLE cursorDiskKV(key TEXT UNIQUE, value BLOB)",
        f"INSERT INTO cursorDiskKV VALUES('composerData:c1', '{talk}')",
    )
    memory.import_files(ME, ImportRequest(str(path)))
    assert [each.text for each in stored(memory)] == ["The proxy @ports\nlistens on 8443."]


def test_mempalace_drawers_keep_wing_and_room_and_are_the_same_in_its_export(
    memory: Memory, place: Callable[[str], Path], tmp_path: Path
) -> None:
    path = database(
        tmp_path / "chroma.sqlite3",
        "CREATE TABLE embeddings(id INTEGER PRIMARY KEY, embedding_id TEXT)",
        "CREATE TABLE embedding_metadata(id INTEGER, key TEXT, string_value TEXT,"
        " int_value INTEGER, float_value REAL)",
        "INSERT INTO embeddings VALUES(1, 'drawer_house_hall_0a1'), (2, 'd2')",
        "INSERT INTO embedding_metadata VALUES"
        "(1, 'chroma:document', 'The tide table hangs in the hall.', NULL, NULL),"
        "(1, 'wing', 'house', NULL, NULL), (1, 'room', 'hall', NULL, NULL),"
        "(1, 'source_file', 'notes/hall.md', NULL, NULL), (2, 'wing', 'house', NULL, NULL),"
        "(1, 'filed_at', '2026-03-14T08:00:00+00:00', NULL, NULL)",
    )
    report = memory.import_files(ME, ImportRequest(str(path)))
    (found,) = stored(memory)
    assert (found.text, found.tags) == ("The tide table hangs in the hall.", ("house", "hall"))
    assert found.source == "notes/hall.md"
    assert report.problems == ["chroma.sqlite3 drawer d2: it has no text"]
    exported = place("palace")
    assert memory.import_files(ME, ImportRequest(str(exported))).counts == {
        "reinforced": 1,
        "stored": 2,
    }


def test_our_own_export_comes_back_with_its_links_and_times(
    memory: Memory, open_memory: Callable[..., Memory], place: Callable[[str], Path], tmp_path: Path
) -> None:
    memory.import_files(ME, ImportRequest(str(place("vault"))))
    lines = [json.dumps(each) for each in memory.export(ME)]
    file = tmp_path / "ours.jsonl"
    file.write_text("\n".join(lines))
    other = open_memory("other")
    report = other.import_files(ME, ImportRequest(str(file)))
    assert dict(report.counts) == {"stored": 9}
    assert [json.dumps(each) for each in other.export(ME)] == lines


def test_tags_of_a_note_may_stand_in_one_line(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "n.md"
    file.write_text('---\ntags: "#river #bird"\n---\nThe heron waits.\n')
    memory.import_files(ME, ImportRequest(str(file)))
    assert stored(memory)[0].tags == ("river", "bird")


def test_what_was_attached_to_a_chat_is_counted(memory: Memory, tmp_path: Path) -> None:
    said = (
        "\u200eimage omitted",
        "<Media omitted>",
        "IMG-20240507-WA0001.jpg (file attached)",
        "Hi",
    )
    lines = [f"07/05/2024, 21:3{number} - Ann: {text}\n" for number, text in enumerate(said)]
    file = tmp_path / "chat.txt"
    file.write_text("".join(lines), encoding="utf-8")
    assert memory.import_files(ME, ImportRequest(str(file))).left_out == {"attachment": 3}
    assert [each.text for each in stored(memory)] == ["Hi"]


def test_a_text_that_was_edited_in_our_own_export_replaces_its_memory(
    memory: Memory, tmp_path: Path
) -> None:
    ferry = memory.remember(ME, RememberRequest("The ferry leaves at nine.", tags=("sea",))).id
    file = tmp_path / "ours.jsonl"
    edited = next(memory.export(ME)) | {"text": "The ferry leaves at ten."}
    file.write_text(json.dumps(edited) + "\n")
    for dry_run, counts in ((True, {"changed": 1}), (False, {"replaced": 1})):
        request = ImportRequest(str(file), dry_run=dry_run)
        assert dict(memory.import_files(ME, request).counts) == counts
    (now,) = stored(memory)
    assert (now.text, now.tags) == ("The ferry leaves at ten.", ("sea",))
    assert memory.get(ME, ferry).superseded_by == now.id
    assert dict(memory.import_files(ME, ImportRequest(str(file))).counts) == {"reinforced": 1}


def test_a_line_of_ones_own_is_read_as_what_is_remembered(memory: Memory, tmp_path: Path) -> None:
    text = "Mara met Jonas Berg in Leipzig on 3 May 2026; never forget her number 0151 223344."
    memory.remember(Identity("you"), RememberRequest(text, when="2026-05-04"))
    (told,) = memory.listing(Identity("you"))
    file = tmp_path / "e.jsonl"
    line = {"text": text, "when": "2026-05-04"}
    given = {"entities": ["Bo"], "keywords": ["x"], "valence": -0.5, "importance": 0.5}
    file.write_text(_lines(line, {**line, **given, "text": f"{text} Really."}))
    memory.import_files(ME, ImportRequest(str(file)))
    own, partly = stored(memory)
    assert "Jonas Berg" in own.entities
    for name in ("entities", "dates", "keywords", "gist", "topic", "valence"):
        assert getattr(own, name) == getattr(told, name), name
    assert own.importance > 0.5
    assert (partly.entities, partly.keywords, partly.valence, partly.importance) == (
        *(("Bo",), ("x",)),
        *(-0.5, 0.5),
    )
    assert partly.dates == told.dates


def test_a_line_of_an_export_is_taken_as_it_is(
    memory: Memory, tmp_path: Path, open_memory: Any
) -> None:
    memory.remember(ME, RememberRequest("Mara met Jonas Berg in Leipzig."))
    whole = next(memory.export(ME)) | {"entities": [], "keywords": []}
    file = tmp_path / "ours.jsonl"
    file.write_text(_lines(whole))
    other = open_memory("other")
    other.import_files(ME, ImportRequest(str(file)))
    (taken,) = stored(other)
    assert (taken.entities, taken.keywords) == ((), ())


@pytest.mark.parametrize(("scope", "editor"), [("team", "you"), ("shared", "me"), ("team", "me")])
def test_an_edited_text_keeps_owner_and_scope(
    memory: Memory, tmp_path: Path, scope: str, editor: str
) -> None:
    you = Identity("you", "crew", frozenset({"read", "write"}))
    memory.remember(you, RememberRequest("The ferry leaves at nine.", scope=scope))
    who = you if editor == "you" else Identity("me", "crew")
    file = tmp_path / "ours.jsonl"
    file.write_text(_lines(next(memory.export(who)) | {"text": "The ferry leaves at ten."}))
    assert dict(memory.import_files(who, ImportRequest(str(file))).counts) == {"replaced": 1}
    (now,) = memory.listing(you)
    assert (now.text, now.agent, now.team) == ("The ferry leaves at ten.", "you", "crew")
    assert now.visibility == scope


def test_an_edited_text_of_another_agent_is_named_and_the_rest_goes_on(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember(Identity("you"), RememberRequest("The ferry leaves at nine.", scope="shared"))
    me = Identity("me", rights=frozenset({"read", "write"}))
    edited = next(memory.export(me)) | {"text": "The ferry leaves at ten."}
    file = tmp_path / "ours.jsonl"
    file.write_text(_lines(edited, {"text": "The heron waits."}))
    why = f"ours.jsonl line 1: {edited['id']} belongs to another agent; ask its owner or an admin"
    for dry_run in (True, False):
        report = memory.import_files(me, ImportRequest(str(file), dry_run=dry_run))
        assert report.problems == [why]
    assert {each.text for each in memory.listing(me)} == {
        "The ferry leaves at nine.",
        "The heron waits.",
    }


def test_an_id_of_ours_that_comes_with_another_text_is_named(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "ours.jsonl"
    said = ("The heron waits.", "The stork nests.")
    file.write_text(_lines(*({"id": "0" * 20, "text": text} for text in said)))
    named = ["ours.jsonl line 2: its id came before with another text, which stays"]
    for more in ({"dry_run": True}, {"strict": True}, {}, {}):
        assert memory.import_files(ME, ImportRequest(str(file), **more)).problems == named  # type: ignore[arg-type]
    assert [each.text for each in stored(memory)] == [said[0]]


def test_our_own_export_is_known_whatever_characters_it_holds(
    memory: Memory, tmp_path: Path
) -> None:
    file, text = tmp_path / "ours.jsonl", "Line one\u2028line two\u0085line three."
    file.write_text(json.dumps({"text": text}, ensure_ascii=False), encoding="utf-8")
    assert dict(memory.import_files(ME, ImportRequest(str(file))).counts) == {"stored": 1}
    assert [found.text for found in stored(memory)] == [text]


def test_a_form_that_is_named_is_read_whatever_the_file_is_called(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("- The key hangs behind the blue door.\n")
    with pytest.raises(InvalidInput, match="known form"):
        memory.import_files(ME, ImportRequest(str(file)))
    assert memory.import_files(ME, ImportRequest(str(file), form="markdown")).counts["stored"] == 1
    with pytest.raises(InvalidInput, match="mem0"):
        memory.import_files(ME, ImportRequest(str(file), form="nosuch"))


_PASTED = "The weir log of Tuesday. " * 4_000
"""Longer than what is read of a file to know its form."""


def _lines(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("claude-code", _lines({"type": "user", "message": _PASTED, "sessionId": "s"})),
        ("codex", _lines({"payload": {"base_instructions": _PASTED}, "type": "session_meta"})),
        ("anamnesis", _lines({"notes": _PASTED, "text": "The heron waits by the weir."})),
        (
            "server-memory",
            _lines({"type": "entity", "observations": [_PASTED, "Waits."], "name": "The heron"}),
        ),
    ],
)
def test_a_first_line_may_be_longer_than_what_tells_the_form(
    memory: Memory, tmp_path: Path, form: str, text: str
) -> None:
    file = tmp_path / "rollout-1.jsonl"
    file.write_text(text)
    assert set(memory.import_files(ME, ImportRequest(str(tmp_path))).forms) == {form}
