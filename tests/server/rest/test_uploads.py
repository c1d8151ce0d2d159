"""Exports of other tools come by REST: previewed, as one run, taken back; and all goes as OKF."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_core.importing.request import ImportRequest
from memory_core.interchange import okf, scratch
from memory_core.memory import Memory
from memory_core.records import Identity
from server import __version__
from server.rest import uploads
from tests.server.rest.test_operations import found, sent, told

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parents[2] / "interchange/data"
ANA = Identity("ana", "north")
FORMS = {
    "chatgpt.json": {},
    "claude.json": {},
    "mem0.json": {},
    "server_memory.jsonl": {},
    "table.csv": {"column": ["text=Body"]},
    "dialogue.txt": {},
}


async def upload(client: Any, content: bytes, **query: Any) -> list[Any]:
    types = {"content-type": "application/octet-stream"}
    done = await client.post("/import/file", content=content, params=query, headers=types)
    assert done.status_code == 200, done.text
    return [json.loads(line) for line in done.text.splitlines()]


def texts(memory: Memory, who: Identity = ANA) -> list[str]:
    return sorted(each.text for each in memory.listing(who, limit=1000))


@pytest.fixture(autouse=True)
def after_every_file(clock: Any) -> None:
    clock.now = 2_000_000_000.0


@pytest.mark.parametrize("name", sorted(FORMS))
async def test_a_form_is_previewed_imported_once_and_taken_back(
    ana: Any, memory: Memory, open_memory: Any, name: str
) -> None:
    content = (DATA / name).read_bytes()
    given = {"name": name, **FORMS[name]}
    *_, preview = await upload(ana, content, dry_run=True, **given)
    assert (preview["status"], preview["run"], texts(memory)) == ("preview", "", [])
    *_, report = await upload(ana, content, **given)
    assert report["status"] == "completed"
    assert report["counts"]["stored"] == preview["counts"]["new"] == len(texts(memory)) > 0
    assert memory.listing(ANA, limit=1)[0].trust in ("import", "quoted")
    *_, again = await upload(ana, content, **given)
    assert again["counts"] == {"reinforced": report["counts"]["stored"]}
    undone = await sent(ana, f"/runs/{report['run']}/undo")
    assert undone["status"] == "undone"
    assert texts(memory) == []


async def test_a_note_that_changed_replaces_its_old_self(ana: Any, memory: Memory) -> None:
    await upload(ana, b"- The heron waits at weir nine.\n- A gull.\n", name="birds.md")
    *_, report = await upload(ana, b"- The heron waits at weir ten.\n- A gull.\n", name="birds.md")
    assert report["counts"] == {"replaced": 1, "reinforced": 1}
    assert {each.source for each in memory.listing(ANA, limit=9)} == {"birds.md"}


async def test_the_instructions_of_two_projects_replace_nothing(ana: Any, memory: Memory) -> None:
    for project in ("heron", "stork"):
        await upload(ana, f"- Build the {project} with make.\n".encode(), name="CLAUDE.md")
    assert [each.replaced for each in memory.listing(ANA, limit=9)] == [False, False]
    assert {each.tags for each in memory.listing(ANA, limit=9)} == {()}


def zipped(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as to:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                to.write(path, path.relative_to(folder.parent))
    return packed.getvalue()


async def test_what_comes_by_rest_is_what_comes_by_the_command(
    ana: Any, memory: Memory, open_memory: Any, clock: Any
) -> None:
    """Of every form, with its times, sessions, roles, speakers, tags and kinds."""
    other, took = open_memory("other"), {}
    for path in sorted(DATA.iterdir()):
        if path.name == "expected.json":
            continue
        columns = ["text=Body"] if path.name == "table.csv" else []
        name = f"{path.name}.zip" if path.is_dir() else path.name
        content = zipped(path) if path.is_dir() else path.read_bytes()
        *_, report = await upload(ana, content, name=name, column=columns)
        asked = ImportRequest(str(path), "", dict(each.split("=") for each in columns))
        done = other.import_files(ANA, asked)
        took[path.name] = report["counts"]
        assert (report["counts"], set(report["forms"])) == (done.counts, set(done.forms)), path
    assert len(took) > 10
    assert all(any(counts.values()) for counts in took.values()), took
    by_rest, by_command = told_of(memory), told_of(other)
    assert by_rest == by_command
    for part in ("session", "role", "speaker", "tags"):
        assert len({each[part] for each in by_rest}) > 2, part
    assert len({each["occurred_at"] for each in by_rest}) > len(by_rest) / 4


def told_of(memory: Memory) -> list[dict[str, Any]]:
    """What an import sets of each memory, but for the time of a file, which an upload has not."""
    parts = ("text", "kind", "role", "speaker", "session", "tags", "trust", "importance")
    files = min(path.stat().st_mtime for path in DATA.rglob("*") if path.is_file()) - 2
    found = [
        {part: getattr(each, part) for part in parts}
        | {"occurred_at": each.occurred_at if each.occurred_at < files else None}
        for each in memory.listing(ANA, limit=1000)
    ]
    return sorted(found, key=lambda each: (each["session"], each["text"], each["role"]))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("my.zip", b"PK\x03\x04 torn", "my.zip is a broken archive (File is not a zip file)"),
        ("my.bin", b"\0\1", "nothing in my.bin has a known form."),
    ],
)
async def test_a_refused_file_is_called_by_its_name(
    ana: Any, name: str, content: bytes, said: str
) -> None:
    headers = {"content-type": "application/octet-stream"}
    answer = await ana.post("/import/file", content=content, params={"name": name}, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(said)
    assert "upload" not in answer.text


async def test_what_may_not_be_written_is_named_and_the_rest_comes(
    http: Any, memory: Memory
) -> None:
    lines = [{"text": "a"}, {"text": "b", "visibility": "team"}, {"text": "c", "colour": "red"}]
    async with http("bob", team="") as bob:
        content = "\n".join(map(json.dumps, lines)).encode()
        *_, report = await upload(bob, content, name="m.jsonl")
    assert report["problems"] == [
        "m.jsonl line 2: scope_denied: you are in no team; set ANAMNESIS_TEAM, or use private or "
        "shared",
        "m.jsonl line 3: unknown field 'colour' is ignored",
    ]
    assert texts(memory, Identity("bob")) == ["a", "c"]


async def test_a_zip_is_read_packed_and_an_upload_tells_no_path(ana: Any, memory: Memory) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as to:
        to.write(DATA / "chatgpt.json", "conversations.json")
        to.writestr("../climbs.md", "- A bullet that climbs.")
    *_, report = await upload(ana, packed.getvalue(), name="export.zip")
    assert report["counts"]["stored"] > 0
    assert [each for each in report["problems"] if "climbs.md" in each]
    assert not [text for text in texts(memory) if "climbs" in text]
    types = {"content-type": "application/octet-stream"}
    unknown = await ana.post("/import/file", content=b"\x00\x01\x02" * 50, headers=types)
    assert (unknown.status_code, unknown.json()["code"]) == (422, "invalid_input")
    for said in (json.dumps(report), unknown.text):
        assert str(tempfile.gettempdir() + "/a") not in said
        assert "anamnesis-import-" not in said
    assert not [each for each in memory.listing(ANA) if "anamnesis-import-" in each.source]


async def test_nothing_of_an_upload_stays_on_the_disk(
    ana: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(uploads, "MOST_BYTES", 100_000)
    await upload(ana, (DATA / "chatgpt.json").read_bytes())
    types = {"content-type": "application/octet-stream"}
    done = await ana.post("/import/file", content=b"x" * 100_001, headers=types)
    assert (done.status_code, done.json()["code"]) == (413, "too_large")
    done = await ana.post("/import/file", content=b"", headers=types)
    assert done.status_code == 422
    assert not list(tmp_path.glob("anamnesis-import-*"))


async def test_strict_stores_nothing_when_a_line_is_wrong(ana: Any, memory: Memory) -> None:
    content = b'{"text": "The key is under the mat."}\n{"text": \n'
    given = {"name": "notes.jsonl", "from": "anamnesis"}
    *_, report = await upload(ana, content, strict=True, **given)
    assert (report["status"], report["problem_count"], texts(memory)) == ("refused", 1, [])
    *_, report = await upload(ana, content, **given)
    assert (report["counts"], report["problem_count"]) == ({"stored": 1}, 1)


async def test_progress_is_told_while_it_goes_on(ana: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(uploads, "TOLD_EVERY", 1)
    content = "".join(f'{{"text": "Bird {n} was ringed at weir {n * 7}."}}\n' for n in range(20))
    *steps, report = await upload(ana, content.encode(), name="birds.jsonl")
    assert report["counts"] == {"stored": 20}
    assert steps
    assert steps == sorted(steps, key=lambda each: each["done"])


async def test_an_agent_imports_one_thing_at_a_time_and_holds_up_nobody(
    ana: Any, ben: Any, memory: Memory, monkeypatch: Any
) -> None:
    took, begun, go_on = memory.import_files, threading.Event(), threading.Event()

    def slow(who: Identity, *given: Any) -> Any:
        if who.agent == ANA.agent:
            begun.set()
            assert go_on.wait(60)
        return took(who, *given)

    monkeypatch.setattr(memory, "import_files", slow)
    first = asyncio.ensure_future(upload(ana, b"- The heron waits.\n", name="birds.md"))
    try:
        assert await asyncio.to_thread(begun.wait, 60)
        types = {"content-type": "application/octet-stream"}
        second = await ana.post("/import/file", content=b"- A gull.\n", headers=types)
        assert (second.status_code, second.json()["code"]) == (503, "busy")
        assert "another import of yours" in second.json()["detail"]
        *_, other = await upload(ben, b"- A gull.\n", name="birds.md")
        assert other["counts"] == {"stored": 1}
    finally:
        go_on.set()
        *_, report = await first
    assert report["counts"] == {"stored": 1}
    for _ in range(3):
        assert (await upload(ana, b"- A gull.\n", name="birds.md"))[-1]["status"] == "completed"


@pytest.mark.parametrize(
    "query",
    [
        {"name": "../x"},
        {"name": ".."},
        {"name": "a/b.csv"},
        {"name": ""},
        {"from": "carrier-pigeon"},
        {"column": "nothing"},
        {"encoding": "../x"},
        {"surprise": "1"},
    ],
)
async def test_wrong_parameters_are_refused_by_name(ana: Any, query: dict[str, str]) -> None:
    types = {"content-type": "application/octet-stream"}
    done = await ana.post("/import/file", content=b"x", params=query, headers=types)
    assert (done.status_code, done.json()["code"]) == (422, "invalid_input")
    assert next(iter(query)) in done.json()["detail"]


async def test_an_upload_becomes_the_callers_own(
    ana: Any, ben: Any, memory: Memory, http: Callable[..., Any]
) -> None:
    """An export of one agent, sent by another one, is that one's and leaves the first alone."""
    await told(ana, "The key is under the mat.")
    whole = (await ana.get("/export")).content
    before = list(memory.export(ANA))
    *_, report = await upload(ben, whole, name="all.jsonl")
    assert report["counts"] == {"stored": 1} or report["problem_count"] == 1
    assert list(memory.export(ANA)) == before
    run = report["run"]
    if run:
        assert (await ana.post(f"/runs/{run}/undo", json={})).status_code == 404


async def test_everything_goes_as_a_folder_of_markdown_and_comes_back(
    ana: Any, memory: Memory, open_memory: Any
) -> None:
    await told(ana, "The key is under the mat.", session="talk", tags=["home"])
    await told(ana, "Zoë moved to Kraków.", speaker="Zoë")
    memory.remember(Identity("ben", "south"), _request("The anvil lies in the harbour."))
    done = await ana.get("/export", params={"format": "okf"})
    assert (done.status_code, done.headers["content-type"]) == (200, "application/zip")
    with zipfile.ZipFile(io.BytesIO(done.content)) as packed:
        files = {name: packed.read(name).decode() for name in packed.namelist()}
    assert files == okf.files(memory.export(ANA), __version__)
    assert "anvil" not in "".join(files.values())
    assert done.content == (await ana.get("/export", params={"format": "okf"})).content
    before = texts(memory)
    await sent(ana, "/forget", ids=[each.id for each in memory.listing(ANA)], confirm=True,
               never_again=False)  # fmt: skip
    *_, report = await upload(ana, done.content, name="all.zip")
    assert (report["forms"], texts(memory)) == ({"okf": 2}, before)
    assert (await found(ana, "/runs"))["runs"] is not None


def _request(text: str) -> Any:
    from memory_core.remember.request import RememberRequest

    return RememberRequest(text)
