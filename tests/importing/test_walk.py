"""The rules of an import: one run, ids of the source, what replaces what, and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Clock

from memory_core.consolidate.run_log import RunLog
from memory_core.errors import InvalidInput, NotFound
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity, new_id
from memory_core.remember.request import RememberRequest
from memory_core.storage import locks
from memory_core.storage.locks import FileLock

ME = Identity("me")
OpenMemory = Callable[..., Memory]


@pytest.fixture(autouse=True)
def after_every_file(clock: Clock) -> None:
    clock.now = 2_000_000_000.0


def message(number: int, text: str, at: float | None) -> dict[str, Any]:
    return {
        "id": f"m{number}",
        "author": {"role": "user"},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {},
    }


def conversation(name: str, texts: list[str], at: float | None = 1_714_986_000.0) -> dict[str, Any]:
    nodes = {
        f"n{number}": {
            "parent": f"n{number - 1}" if number else None,
            "message": message(number, text, None if at is None else at + number),
        }
        for number, text in enumerate(texts)
    }
    return {
        "id": name,
        "create_time": at,
        "current_node": f"n{len(texts) - 1}",
        "mapping": nodes,
    }


def birds(count: int, first: int = 0) -> list[str]:
    return [f"Bird number {n} was ringed at weir {n * 7} near Husum." for n in range(first, count)]


def chatgpt(path: Path, *talks: dict[str, Any]) -> Path:
    path.write_text(json.dumps(talks), encoding="utf-8")
    return path


def bring(memory: Memory, path: Path, **more: Any) -> ImportReport:
    return memory.import_files(ME, ImportRequest(str(path), **more))


def texts(memory: Memory) -> list[str]:
    return sorted(each.text for each in memory.listing(ME, limit=1000))


# One run


def test_a_preview_shows_how_the_first_texts_begin_without_secrets(
    memory: Memory, tmp_path: Path
) -> None:
    key = "sk-proj-" + "Ab3dEf9hIj" * 5
    texts = [f"The key of the weir station is {key}.", "Long: " + "heron " * 80, *birds(20)]
    path = chatgpt(tmp_path / "conversations.json", conversation("c1", texts))
    samples = bring(memory, path, dry_run=True).samples
    assert len(samples) == 10
    assert key not in samples[0]
    assert samples[0].startswith("The key of the weir station is ")
    assert (len(samples[1]), samples[2]) == (200, birds(1)[0])
    assert bring(memory, path).samples == []


def test_a_preview_counts_as_the_import_does(memory: Memory, tmp_path: Path) -> None:
    note, own = tmp_path / "a.md", tmp_path / "own.jsonl"
    for day, said in (("2024-05-01", ""), ("2024-06-01", "- The stork nests on the barn.\n")):
        once_more = "\n# Pond\n- The heron waits by the weir.\n"
        note.write_text(
            f"---\nupdated: {day}\n---\n- The heron waits by the weir.\n{said}{once_more}"
        )
        own.write_text('{"text": "The otter swims.", "occurred_at": "2024-05-01"}\n' * 2)
        for file in (note, own):
            told, done = (bring(memory, file, dry_run=dry).counts for dry in (True, False))
            assert (told["new"], told["reinforced"]) == (done["stored"], done["reinforced"])


def test_an_import_is_taken_back_whole(memory: Memory, tmp_path: Path, clock: Clock) -> None:
    said = memory.remember(ME, RememberRequest("The gate code is 4711 since 2023-01-01.")).id
    before = list(memory.export(ME))
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("- The heron waits by the weir.\n- The stork nests on the barn.\n")
    report = bring(memory, notes)
    assert len(texts(memory)) == 3
    undone = memory.consolidate(ME, undo=report.run)
    assert (undone.status, undone.steps[0].changed) == ("undone", 2)
    assert list(memory.export(ME)) == before
    assert memory.get(ME, said).text.startswith("The gate code")
    assert bring(memory, notes).counts["stored"] == 2  # nothing stands in the way of another one


def test_undoing_gives_back_what_a_changed_note_replaced(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_text("- The ferry leaves at nine on Sundays.\n")
    bring(memory, note)
    before = list(memory.export(ME))
    note.write_text("- The ferry leaves at ten on Sundays.\n")
    report = bring(memory, note)
    assert texts(memory) == ["a: The ferry leaves at ten on Sundays."]
    memory.consolidate(ME, undo=report.run)
    undone = list(memory.export(ME))
    assert any(row.get("stamps") for row in undone), "the undo is a change of its own time"
    assert [{**row, "stamps": {}} for row in undone] == [{**row, "stamps": {}} for row in before]


def test_a_grown_export_adds_only_what_is_new(memory: Memory, tmp_path: Path) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(3)))
    assert dict(bring(memory, path).counts) == {"stored": 3}
    chatgpt(path, conversation("c", birds(5)), conversation("d", birds(9, 7)))
    assert dict(bring(memory, path).counts) == {"stored": 4, "reinforced": 3}
    assert texts(memory) == sorted([*birds(5), *birds(9, 7)])
    turns = memory.listing(ME, session="chatgpt:c")
    assert [turn.text for turn in sorted(turns, key=lambda t: t.position)] == birds(5)


def test_a_note_that_changes_back_and_forth_keeps_one_current_self(
    memory: Memory, tmp_path: Path
) -> None:
    note = tmp_path / "a.md"
    for stand in ("nine", "ten", "nine", "ten"):
        note.write_text(
            f"- The ferry leaves at {stand} on Sundays.\n- The pier is closed in May.\n"
        )
        report = bring(memory, note)
        assert report.gone == 0
        assert texts(memory) == [
            f"a: The ferry leaves at {stand} on Sundays.",
            "a: The pier is closed in May.",
        ]
        assert bring(memory, note).counts["stored"] == 0


def test_what_a_note_no_longer_says_stays_and_is_counted(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_text("- The ferry leaves at nine.\n- Quinces ripen late in October.\n")
    bring(memory, note)
    note.write_text("- The ferry leaves at nine.\n- Zip ties hang behind the furnace.\n")
    assert bring(memory, note).gone == 1
    assert len(texts(memory)) == 3


def test_an_import_that_was_interrupted_goes_on_under_its_run(
    memory: Memory, tmp_path: Path
) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(12)))

    class Killed(BaseException):
        pass

    for stop in range(1, 12):

        def progress(done: int, total: int, text: str, stop: int = stop) -> None:
            if done == 0:
                raise Killed

        with pytest.raises(Killed):
            memory.import_files(ME, ImportRequest(str(path)), progress)
        assert len(texts(memory)) == stop
        memory.consolidate(ME, mode="prune")  # another run leaves the import alone
    report = bring(memory, path)
    assert texts(memory) == sorted(birds(12))
    memory.consolidate(ME, undo=report.run)
    assert texts(memory) == []


def test_an_import_that_had_everything_but_its_end_is_ended_by_the_next(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(3)))
    with monkeypatch.context() as cut:
        cut.setattr(RunLog, "end_import", lambda *_: None)
        run = bring(memory, path).run
    report = bring(memory, path)
    assert (report.run, dict(report.counts)) == (run, {"reinforced": 3})
    assert bring(memory, path).run == ""  # it has ended
    memory.consolidate(ME, undo=run)
    assert texts(memory) == []


def test_an_import_waits_for_a_run_that_began_by_itself(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = chatgpt(tmp_path / "conversations.json", conversation("a", birds(2)))
    other = FileLock(tmp_path / "store" / "run.lock")
    assert other.acquire()

    def ends_meanwhile(seconds: float) -> None:
        other.release()

    patient = SimpleNamespace(monotonic=time.monotonic, sleep=ends_meanwhile)
    monkeypatch.setattr(locks, "time", patient)
    assert bring(memory, path).counts["stored"] == 2


def test_an_import_that_did_not_end_can_be_taken_back(memory: Memory, tmp_path: Path) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(5)))
    runs: list[str] = []

    def progress(done: int, total: int, text: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.import_files(ME, ImportRequest(str(path)), progress)
    runs = [memory.health(ME).last_run["run"]]
    memory.consolidate(ME, undo=runs[0])
    assert texts(memory) == []


# Trust and what was said here


def test_newer_words_of_the_user_stay_whatever_an_import_says(
    memory: Memory, tmp_path: Path
) -> None:
    said = memory.remember(ME, RememberRequest("My office is in room 12.")).id
    path = tmp_path / "m.json"
    old = {"id": "1", "memory": "My office is in room 7.", "created_at": "2020-01-01T00:00:00Z"}
    path.write_text(json.dumps({"results": [old | {"user_id": ""}]}))
    assert bring(memory, path).doubts == 1
    assert memory.get(ME, said).superseded_by == ""
    ((pair, known),) = [(pair, {pair.older.text, pair.newer.text}) for pair in memory.doubts(ME)]
    assert (known, pair.newer.id) == ({"My office is in room 7.", "My office is in room 12."}, said)


def test_what_is_in_doubt_is_counted_and_not_read_in_warnings(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember(ME, RememberRequest("My office is in room 12."))
    path = tmp_path / "m.jsonl"
    office = {"text": "My office is in room 7.", "occurred_at": "2020-01-01T00:00:00Z"}
    path.write_text(json.dumps(office) + '\n{"text": "A lone cormorant.", "out of date": 1}\n')
    assert bring(memory, path).doubts == len(memory.doubts(ME)) == 1
    assert bring(memory, path).doubts == 0


def test_secrets_are_masked_and_forgotten_texts_refused(memory: Memory, tmp_path: Path) -> None:
    gone = memory.remember(ME, RememberRequest("a: The safe is behind the painting.")).id
    memory.forget(ME, ids=[gone], confirm=True)
    note = tmp_path / "a.md"
    key = "sk-" + "proj-" + "a1B2c3D4" * 5
    note.write_text(f"- The safe is behind the painting.\n- The key of the shop is {key}.\n")
    assert bring(memory, note, dry_run=True).counts == {"new": 1, "refused": 1}
    report = bring(memory, note)
    assert dict(report.counts) == {"stored": 1, "refused": 1}
    assert key not in json.dumps(list(memory.export(ME)))


def test_a_path_that_holds_a_secret_is_masked_and_still_known(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "ann.lind@example.org"
    folder.mkdir()
    note = folder / "a.md"
    note.write_text("- The ferry leaves at nine on Sundays.\n")
    bring(memory, note)
    note.write_text("- The ferry leaves at ten on Sundays.\n")
    assert dict(bring(memory, note).counts) == {"replaced": 1}


def test_two_agents_import_the_same_export_apart(memory: Memory, tmp_path: Path) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(3)))
    other = Identity("other", "", frozenset({"read", "write"}))
    bring(memory, path)
    assert memory.import_files(other, ImportRequest(str(path))).counts["stored"] == 3
    assert memory.import_files(other, ImportRequest(str(path))).counts["reinforced"] == 3


# Bad input


def test_an_unknown_form_says_what_was_looked_for(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "holiday.bin"
    path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(InvalidInput, match=r"chatgpt: conversations\.json.*--from"):
        bring(memory, path)
    with pytest.raises(NotFound):
        bring(memory, tmp_path / "nothing.json")
    assert memory.stats(ME)["memories"] == 0


def test_one_broken_conversation_does_not_end_the_import(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    good = [json.dumps(conversation(name, birds(n + 1, n))) for n, name in enumerate("abc")]
    path.write_text(f"[{good[0]}, {good[1].replace(': null', ': nul', 1)}, {good[2]}]")
    report = bring(memory, path)
    assert report.counts["stored"] == 2
    assert [each.partition(": it is not JSON")[0] for each in report.problems] == [
        "c.json element 2"
    ]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_export_names_where_it_breaks_off(
    memory: Memory, tmp_path: Path, share: float
) -> None:
    path = chatgpt(tmp_path / "c.json", *(conversation(f"c{n}", birds(n + 1, n)) for n in range(9)))
    whole = path.read_text()
    path.write_text(whole[: int(len(whole) * share)])
    report = bring(memory, path)
    known = report.counts["stored"]
    assert known == whole[: int(len(whole) * share)].count('{"id": "c') - 1
    assert report.problems == [f"c.json element {known + 1}: the file breaks off in it"]


def test_strict_stores_nothing_when_anything_is_wrong(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"text": "The heron waits by the weir."}\n{"text": \n')
    report = bring(memory, path, strict=True)
    assert (report.status, report.problem_count, texts(memory)) == ("refused", 1, [])
    path.write_text('{"text": "The heron waits by the weir."}\n')
    assert bring(memory, path, strict=True).counts["stored"] == 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_in_any_form_is_recognised(memory: Memory, tmp_path: Path, encoding: str) -> None:
    note = tmp_path / "a.md"
    note.write_bytes(
        "- Die Fähre fährt um neun ab Süderhafen.\n- Danach kommt lange keine.\n".encode(encoding)
    )
    bring(memory, note)
    assert "a: Die Fähre fährt um neun ab Süderhafen." in texts(memory)


def test_another_encoding_is_refused_by_name_and_read_when_named(
    memory: Memory, tmp_path: Path
) -> None:
    note = tmp_path / "a.md"
    note.write_bytes("- Die Fähre fährt um neun ab Süderhafen.\n".encode("latin-1"))
    report = bring(memory, note)
    assert "a.md is not UTF-8 (byte 0xE4)" in report.problems[0]
    assert texts(memory) == []
    bring(memory, note, encoding="cp1252")
    assert texts(memory) == ["a: Die Fähre fährt um neun ab Süderhafen."]


def test_a_wrong_line_of_a_table_or_log_is_named_with_its_number(
    memory: Memory, tmp_path: Path
) -> None:
    log = tmp_path / "talk.txt"
    lines = [b"2024-05-07 09:30 Ann: The ferry leaves at nine.", b"2024-05-07 09:31 Ben: Sch\xf6n."]
    log.write_bytes(b"\n".join([*lines, b"2024-05-07 09:32 Ann: The pier closes at ten."]))
    report = bring(memory, log)
    (problem,) = report.problems
    assert problem.startswith("talk.txt line 2: it is not UTF-8; name another with --encoding")
    assert len(texts(memory)) == 2


@pytest.mark.parametrize("at", [0.0, 12.0, 4e9])
def test_a_date_of_1970_or_of_tomorrow_is_named(
    memory: Memory, tmp_path: Path, clock: Clock, at: float
) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(1), at))
    report = bring(memory, path)
    assert report.problems[0].startswith("c.json element 1 (c) n0: its date is")
    assert report.dated == {"today": 1}
    (found,) = memory.listing(ME)
    assert found.occurred_at == clock.now
    assert bring(memory, path).counts["stored"] == 0


@pytest.mark.parametrize("at", [0, "1970-01-01T00:00:00Z", "2999-05-07T09:30:00Z"])
def test_a_line_of_ours_that_nobody_exported_is_dated_as_all_others_are(
    memory: Memory, tmp_path: Path, clock: Clock, at: object
) -> None:
    path = tmp_path / "mine.jsonl"
    mine = {"text": "The heron waits by the weir.", "occurred_at": at}
    born = {"text": "Mara was born in Graz.", "occurred_at": "1985-03-01T00:00:00Z"}
    path.write_text("\n".join(map(json.dumps, [mine, {**born, "id": new_id(1.7e9)}])))
    preview = bring(memory, path, dry_run=True)
    report = bring(memory, path)
    assert preview.problems == report.problems
    (problem,) = report.problems
    assert problem.startswith("mine.jsonl line 1: its date is ")
    assert report.counts["stored"] == 2
    found = {each.text[:4]: each.occurred_at for each in memory.listing(ME)}
    assert found["The "] == clock.now
    assert found["Mara"] == 478_483_200.0  # it was remembered with that date


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("2025-01-01T10:00:00+02:00", 1_735_718_400.0),
        ("2025-01", 1_735_689_600.0),
        (1_735_689_600, 1_735_689_600.0),
        ("", 2_000_000_000.0),
    ],
)
def test_a_line_of_ours_may_say_when_as_remember_does(
    memory: Memory, tmp_path: Path, when: object, seconds: float
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"text": "Mara moved to Porto.", "when": when}))
    preview = bring(memory, path, dry_run=True)
    report = bring(memory, path, strict=True)
    assert (report.problems, report.counts["stored"]) == ([], 1)
    assert preview.first == report.first == memory.listing(ME)[0].occurred_at == seconds


def test_a_wrong_time_of_a_line_is_named_with_its_place(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"text": "a", "when": "some day"}\n{"text": "b", "when": null}\n{"text": "c"}')
    report = bring(memory, path)
    assert [each[:40] for each in report.problems] == [
        "mine.jsonl line 1: invalid_input: when i",
        "mine.jsonl line 2: invalid_input: when: ",
    ]
    assert texts(memory) == ["c"]


def test_a_field_that_is_not_known_is_named_and_strict_refuses_it(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"text": "The heron waits by the weir.", "colour": "red", "wen": "2025"}')
    said = [f"mine.jsonl line 1: unknown field {name} is ignored" for name in ("'colour'", "'wen'")]
    refused = bring(memory, path, strict=True)
    assert (refused.status, refused.problems, texts(memory)) == ("refused", said, [])
    for known in (0, 1):
        preview, report = bring(memory, path, dry_run=True), bring(memory, path)
        assert preview.problems == report.problems == said
        assert report.counts["reinforced"] == known


def test_a_line_that_may_not_be_written_is_named_and_the_rest_goes_on(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b", "visibility": "team"}\n{"text": "c"}\n')
    assert bring(memory, path, strict=True).status == "refused"
    report = bring(memory, path)
    assert (report.status, texts(memory)) == ("completed", ["a", "c"])
    (problem,) = report.problems
    assert problem.startswith("mine.jsonl line 2: scope_denied: you are in no team")
    memory.consolidate(ME, undo=report.run)
    assert texts(memory) == []


def test_an_id_that_comes_twice_with_another_text_is_named(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    rows = [
        {"content_hash": "a", "content": "The heron waits by the weir.", "created_at": 1.7e9},
        {"content_hash": "a", "content": "The stork nests on the barn.", "created_at": 1.7e9},
    ]
    path.write_text(json.dumps({"memories": rows}))
    report = bring(memory, path)
    assert len(report.problems) == 1
    assert "element 2: its id came before" in report.problems[0]


def test_a_zip_is_read_packed_and_what_is_unsafe_in_it_is_named(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "export.zip"
    link = zipfile.ZipInfo("link.md")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes/a.md", "- The heron waits by the weir.\n")
        archive.writestr("../climbs.md", "- Never.\n")
        archive.writestr("/root.md", "- Never.\n")
        archive.writestr("bomb.json", b"[" + b" " * (80 * 2**20))
        archive.writestr(link, "notes/a.md")
    report = bring(memory, path)
    assert texts(memory) == ["a: The heron waits by the weir."]
    said = dict(each.split(": ", 1) for each in report.problems)
    assert said["../climbs.md"] == said["/root.md"] == "its path leads out of the archive"
    assert said["bomb.json"].startswith("it unpacks to")
    assert said["link.md"] == "a symbolic link is not followed"
    assert not (tmp_path / "climbs.md").exists()


def test_links_in_a_folder_are_not_followed(memory: Memory, tmp_path: Path) -> None:
    secret, vault = tmp_path / "secret.md", tmp_path / "vault"
    vault.mkdir()
    secret.write_text("- Never to be read from the vault.\n")
    (vault / "a.md").write_text("- The heron waits by the weir.\n")
    (vault / "out.md").symlink_to(secret)
    (vault / "round").symlink_to(vault, target_is_directory=True)
    report = bring(memory, vault)
    assert texts(memory) == ["a: The heron waits by the weir."]
    assert sorted(report.problems) == [
        "out.md: a symbolic link is not followed",
        "round: a symbolic link is not followed",
    ]


def test_a_folder_of_many_forms_is_read_file_by_file(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    chatgpt(folder / "conversations.json", conversation("c", birds(2)))
    (folder / "a.md").write_text("- The heron waits by the weir.\n")
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n" + os.urandom(400))
    report = bring(memory, folder)
    assert (report.counts["stored"], report.unknown) == (3, ["photo.png"])


def test_a_list_is_streamed_across_the_edges_of_its_pieces(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory_core.interchange.files import File

    said = 'The sign reads "C:\\\\weir\\"" and {never [closes]}, said number %d.'
    path = chatgpt(tmp_path / "c.json", conversation("c", [said % n for n in range(4)]))
    whole = path.read_text()
    for size in (1, 2, 3, 7, 64):
        parts = [whole[at : at + size] for at in range(0, len(whole), size)]
        monkeypatch.setattr(File, "chunks", lambda self, parts=parts: iter(parts))
        report = bring(memory, path, dry_run=True)
        assert (report.counts["new"], report.problems) == (4, [])


def test_a_conversation_that_leads_in_a_circle_is_named_and_ends(
    memory: Memory, tmp_path: Path
) -> None:
    circle, itself = conversation("c", birds(3)), conversation("d", birds(5, 4))
    circle["mapping"]["n0"]["parent"] = "n2"
    itself["mapping"]["n0"]["parent"] = "n0"
    report = bring(memory, chatgpt(tmp_path / "c.json", circle, itself, conversation("e", ["Hi."])))
    assert [each for each in report.problems if "circle" in each] == [
        "c.json element 1 (c): its messages lead in a circle; those before it are taken",
        "c.json element 2 (d): its messages lead in a circle; those before it are taken",
    ]
    assert texts(memory) == sorted([*birds(3), *birds(5, 4), "Hi."])


def test_one_bad_line_of_many_is_named_with_its_number(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    good = '{"id": "%020d", "text": "Heron %d waits by the weir."}\n'
    lines = [good % (number, number) for number in range(2_000)]
    lines[1_543] = lines[1_543][:30] + "\n"
    path.write_text("".join(lines))
    report = bring(memory, path, dry_run=True)
    assert (report.counts["new"], report.problem_count) == (1_999, 1)
    assert report.problems[0].startswith("m.jsonl line 1544: ")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    ("name", "begins", "stored"),
    [
        ("m.jsonl", b'{"text": "The heron waits by the weir."}\n', 1),
        ("a.md", b"- The heron waits by the weir.\n", 0),
        ("talk.txt", b"User: hello there\nAssistant: good morning\n", 1),
        ("t.csv", b"text\nThe heron waits by the weir.\n", 1),
        ("c.json", b'[{"mapping": {"message": ', 0),
    ],
)
def test_five_gigabytes_of_nothing_are_named_within_bounds(
    memory: Memory, tmp_path: Path, name: str, begins: bytes, stored: int
) -> None:
    path = tmp_path / name
    with path.open("wb") as to:
        to.write(begins)
        to.truncate(5 * 2**30)  # sparse
    before = resident("VmRSS")
    try:
        report = bring(memory, path)
        problems = report.problems
    except InvalidInput as problem:
        problems = [str(problem)]
    assert problems
    assert name in problems[0]
    assert len(texts(memory)) == stored
    assert resident("VmHWM") - before < 2**20


def resident(name: str) -> int:
    """KiB of this process: "VmRSS" now, "VmHWM" at most since "VmRSS" was asked for.

    Not by tracemalloc: before Python 3.12.9 its stop() crashes a process in which a thread of a
    native library begins at that moment (python/cpython#128679).
    """
    if name == "VmRSS":
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def test_what_is_longer_than_a_memory_may_be_is_named(memory: Memory, tmp_path: Path) -> None:
    long = " ".join(birds(memory.settings.limits.text_chars // 20))
    path = chatgpt(tmp_path / "c.json", conversation("c", [long, *birds(2)]))
    for preview in (True, False):
        report = bring(memory, path, dry_run=preview)
        assert report.problem_count == 1
        assert report.problems[0].startswith("c.json element 1 (c) n0: ")
    assert texts(memory) == birds(2)


_IMPORTER = """
import os, signal, sys
from memory_core.config import Settings
from memory_core.importing.request import ImportRequest
from memory_core.memory import Memory
from memory_core.records import Identity
from conftest import ToyEmbedder

folder, path, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
memory = Memory(Settings(data_dir=folder), clock=lambda: 2e9, embedder=ToyEmbedder())
memory.wait_ready(60)
left = last

def kill(tx, *rest):
    global left
    if rest[0] == "put" and (left := left - 1) == 0:
        os.kill(os.getpid(), signal.SIGKILL)

from memory_core.storage.journal.transaction import Transaction
append = Transaction.append

def appended(self, change):
    kill(self, change.kind)
    return append(self, change)

Transaction.append = appended
memory.import_files(Identity("me"), ImportRequest(path))
memory.close()
"""


@pytest.mark.usefixtures("processes")
def test_a_killed_import_resumes_and_doubles_nothing(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    path = chatgpt(tmp_path / "c.json", conversation("c", birds(9)))
    here = Path(__file__).parent.parent
    paths = os.pathsep.join((str(here), str(here.parent)))
    words = [sys.executable, "-c", _IMPORTER, str(tmp_path / "store"), str(path)]
    for last in (1, 2, 4, 3):  # a put of each further memory comes too late by one
        done = subprocess.run(
            [*words, str(last)], env={**os.environ, "PYTHONPATH": paths}, check=False
        )
        assert done.returncode == -signal.SIGKILL
    memory = open_memory()
    assert len(texts(memory)) == 6
    report = bring(memory, path)
    assert dict(report.counts) == {"reinforced": 6, "stored": 3}
    turns = memory.listing(ME, session="chatgpt:c")
    assert [turn.text for turn in sorted(turns, key=lambda t: t.position)] == birds(9)
    memory.consolidate(ME, undo=report.run)
    assert texts(memory) == []
