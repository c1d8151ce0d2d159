"""REST as it is called: the document's own curl lines, and the stream of events."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memory_core import browse
from memory_core.importing.walk import Importer
from memory_core.interchange.other_forms import FORMS
from memory_core.memory import Memory
from memory_core.records import Identity, new_id
from memory_core.remember.request import RememberRequest
from server.http.tokens import Tokens
from server.rest import transfer
from server.rest.transfer import EXPORTS
from tests.anamnesis.conftest import url as url

pytestmark = pytest.mark.usefixtures("processes")

DOCUMENT = Path(__file__).parents[3] / "docs/rest.md"
CALLS = re.findall(r"^curl .*$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
NORTH = ("ana", "north")


@pytest.mark.skipif(shutil.which("curl") is None, reason="install curl")
def test_the_curl_lines_of_the_document_run(
    url: str, tokens: Tokens, memory: Memory, clock: Any
) -> None:
    assert len(CALLS) >= 4
    environment = {**os.environ, "TOKEN": tokens.add(*NORTH, ("read", "write"))}
    answers = []
    for line in CALLS:
        command = line.replace("http://127.0.0.1:7832", url).replace("curl -s", "curl -sS --fail")
        done = subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, text=True, check=True
        )
        answers.append(json.loads(done.stdout))
        clock.pass_by(60)
    blocks = re.findall(r"(?ms)^```text\n(.*?)^```$", DOCUMENT.read_text("utf-8"))
    shown = [line for line in blocks[0].splitlines() if line.startswith("{")]
    for line, answer in zip(shown, answers, strict=True):
        assert shortened(answer, json.loads(line)) == json.loads(line)
    stored, recalled, observed, listed = answers
    assert stored["status"] == "stored"
    assert recalled["memories"][0]["id"] == stored["id"]
    assert "review" in recalled["block"]
    assert observed["receipt"]["status"] == "stored"
    assert {each["id"] for each in listed["memories"]} <= {stored["id"], observed["receipt"]["id"]}


def shortened(whole: Any, wanted: Any) -> Any:
    """*whole* with the fields of *wanted* alone, and what is left out there left out."""
    if wanted == "…":
        return wanted
    if isinstance(wanted, dict) and isinstance(whole, dict):
        return {name: shortened(whole[name], value) for name, value in wanted.items()}
    if isinstance(wanted, list) and isinstance(whole, list) and len(whole) == len(wanted):
        return [shortened(one, other) for one, other in zip(whole, wanted, strict=True)]
    return whole


class Stream:
    """The events of one caller, as they come."""

    def __init__(self, client: httpx2.Client, **asked: Any) -> None:
        self._opened = client.stream("GET", "/events", **asked)
        self.answer = self._opened.__enter__()
        self._lines = self.answer.iter_lines()

    def next(self) -> dict[str, Any]:
        """The next event: its id, its name and its data."""
        found: dict[str, Any] = {}
        for line in self._lines:
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                found[name] = json.loads(value) if name == "data" else value
            elif not line and "data" in found:
                return found
        raise AssertionError("the stream ended")

    def close(self) -> None:
        self._opened.__exit__(None, None, None)


@pytest.fixture
def client(url: str, tokens: Tokens) -> Iterator[httpx2.Client]:
    headers = {"authorization": f"Bearer {tokens.add(*NORTH, ('read', 'write'))}"}
    with httpx2.Client(base_url=f"{url}/api/v1", headers=headers, timeout=30) as one:
        yield one


def told(client: httpx2.Client, text: str) -> str:
    return str(client.post("/memories", json={"text": text}).json()["id"])


def test_events_tell_what_changed_and_go_on_where_they_ended(
    client: httpx2.Client, memory: Memory
) -> None:
    stream = Stream(client)
    assert stream.answer.headers["content-type"].startswith("text/event-stream")
    assert stream.answer.headers["cache-control"] == "no-store"
    first = told(client, "The key is under the mat.")
    event = stream.next()
    assert (event["event"], event["data"]) == ("changed", {"memories": [first], "gone": []})
    stream.close()
    second = told(client, "The ladder leans on the shed.")
    client.post("/forget", json={"ids": [first], "confirm": True})
    again = Stream(client, headers={"last-event-id": event["id"]})
    seen = again.next()["data"]
    while not seen["gone"]:
        more = again.next()["data"]
        seen = {name: [*seen[name], *more[name]] for name in seen}
    again.close()
    assert second in seen["memories"]
    assert seen["gone"] == [first]
    after = Stream(client, params={"after": 0})
    assert second in after.next()["data"]["memories"]
    after.close()


def test_events_tell_nothing_of_what_another_agent_keeps(
    client: httpx2.Client, memory: Memory
) -> None:
    """Neither ids nor the way a past is cut into events tell how much others wrote meanwhile."""
    ben, stream = Identity("ben", "south"), Stream(client)
    own = [told(client, "The key is under the mat.")]
    before = stream.next()
    assert before["data"] == {"memories": own, "gone": []}
    for number in range(40):
        memory.remember(ben, RememberRequest(f"The anvil number {number} lies in the harbour."))
    own.append(told(client, "The ladder leans on the shed."))
    after = stream.next()
    assert after["data"] == {"memories": own[1:], "gone": []}
    assert len(before["id"]) == len(after["id"])
    assert re.fullmatch(r"[\w-]{20,}", before["id"])  # one token, of which no part is a number
    stream.close()
    whole = Stream(client, params={"after": "0"})
    assert whole.next()["data"] == {"memories": own, "gone": []}
    whole.close()


def test_a_past_is_one_event_however_much_others_wrote_between(
    client: httpx2.Client, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "CHANGES", 3)
    monkeypatch.setattr(browse, "NEWS", 2)
    monkeypatch.setattr(transfer, "TOLD", 2)
    own = []
    for number in range(5):
        own.append(told(client, f"The key number {number} is under the mat."))
        for _ in range(number * 3):
            memory.remember(Identity("ben", "south"), RememberRequest(f"An anvil {new_id(1.0)}."))
    stream = Stream(client, params={"after": "0"})
    cut = [stream.next() for _ in range(3)]
    stream.close()
    assert [each["data"]["memories"] for each in cut] == [own[:2], own[2:4], own[4:]]
    assert ["id" in each for each in cut] == [False, False, True]  # resumed, all of it comes again


def test_an_id_of_events_is_of_its_agent_and_whole(client: httpx2.Client, memory: Memory) -> None:
    place = memory.news(Identity(*NORTH), None).place
    again = memory.news(Identity(*NORTH), None).place
    assert place != again  # two ids do not tell whether anything lies between
    other = memory.news(Identity("ben", "south"), None).place
    changed = place[:-6] + ("A" if place[-6] != "A" else "B") + place[-5:]
    for wrong in (other, changed, "7", "x" * 38):
        done = client.get("/events", headers={"last-event-id": wrong})
        assert (done.status_code, done.json()["code"]) == (422, "invalid_input")
    for wrong in (other, changed, "7"):
        assert client.get("/events", params={"after": wrong}).status_code == 422


def test_ids_of_events_hold_after_a_restart(open_memory: Any) -> None:
    ana = Identity(*NORTH)
    with open_memory("one") as memory:
        place = memory.news(ana, None).place
        id = memory.remember(ana, RememberRequest("The key is under the mat.")).id
    with open_memory("one") as memory:
        assert memory.news(ana, place).memories == (id,)


@pytest.mark.parametrize("form", sorted({*EXPORTS} - {"okf"}))
def test_an_export_has_the_form_and_the_bytes_of_the_command(
    client: httpx2.Client, memory: Memory, form: str
) -> None:
    told(client, "The key is under the mat, «left».")
    memory.remember(Identity("ben", "south"), RememberRequest("The anvil lies in the harbour."))
    done = client.get("/export", params={"format": form})
    records = memory.export(Identity(*NORTH))
    lines = (
        FORMS[form][0](records)
        if form in FORMS
        else (json.dumps(each, ensure_ascii=False) + "\n" for each in records)
    )
    assert done.content == "".join(lines).encode()
    assert "under the mat" in done.text
    assert "anvil" not in done.text
    assert done.headers["content-type"].partition(";")[0] == EXPORTS[form]


def test_every_form_of_an_export_is_there() -> None:
    assert set(EXPORTS) == {"jsonl", "okf", *FORMS}


def test_an_unknown_form_is_refused(client: httpx2.Client) -> None:
    done = client.get("/export", params={"format": "xml"})
    assert (done.status_code, done.json()["code"]) == (422, "invalid_input")


def test_a_preview_stops_when_nobody_reads_it_any_more(
    client: httpx2.Client, memory: Memory, monkeypatch: Any, until: Any
) -> None:
    """It would go on for minutes, and nothing else of that agent is imported meanwhile."""
    monkeypatch.setattr(Importer, "_preview", lambda *_: time.sleep(0.01))
    types = {"content-type": "application/octet-stream"}
    notes = b"".join(b"- The heron number %d waits.\n" % n for n in range(20_000))
    query = {"name": "birds.md", "dry_run": True}
    with client.stream(
        "POST", "/import/file", content=notes, params=query, headers=types
    ) as answer:
        next(answer.iter_lines())
    small = {"content": b"- A gull.\n", "params": {"name": "a.md"}, "headers": types}
    until(lambda: client.post("/import/file", **small).status_code == 200)
    assert [each.text for each in memory.listing(Identity(*NORTH))] == ["a: A gull."]
