"""Each operation over the real memory: what it answers, and what it changes."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from server.rest import memories
from tests.gist.conftest import KEYS, ModelServer, Trouble

pytestmark = pytest.mark.anyio

ANA = Identity("ana", "north")
MOVED = "I moved to Oslo with my dog Bruno last week."
DAY = 86_400.0


async def told(client: Any, text: str, **more: Any) -> str:
    done = await client.post("/memories", json={"text": text, **more})
    assert done.status_code == 200, done.text
    id: str = done.json()["id"]
    return id


async def found(client: Any, path: str, **query: Any) -> Any:
    done = await client.get(path, params=query)
    assert done.status_code == 200, done.text
    return done.json()


async def sent(client: Any, path: str, **body: Any) -> Any:
    done = await client.post(path, json=body)
    assert done.status_code == 200, done.text
    return done.json()


async def test_what_is_stored_is_recalled_and_read_whole(ana: Any) -> None:
    given = {
        "kind": "fact",
        "importance": 0.8,
        "tags": ["sea"],
        "when": "2024-05-07",
        "speaker": "Mara",
        "session": "walk",
        "scope": "team",
        "source": "notes",
    }
    id = await told(ana, "The ferry to Bodø leaves at six.", **given)
    answer = await sent(ana, "/recall", query="When does the ferry to Bodø leave?", explain=True)
    assert answer["found"]
    first = answer["memories"][0]
    assert (first["id"], first["text"]) == (id, "The ferry to Bodø leaves at six.")
    assert first["why"]
    whole = await found(ana, f"/memories/{id}")
    shown = {name: whole[name] for name in given if name in whole}
    assert shown == {n: v for n, v in given.items() if n in whole}
    assert (whole["visibility"], whole["state"]) == ("team", "current")
    assert whole["occurred_at"].startswith("2024-05-07T00:00:00")
    assert whole["client"] == "rest"
    assert (await found(ana, f"/memories/{id[:10]}"))["id"] == id


async def test_what_is_over_in_part_says_so(ana: Any, memory: Memory) -> None:
    old = await told(ana, "The ferry to Bodø leaves at six, and the quay has a café.")
    new = await told(ana, "The café on the quay is shut for good.")
    memory.resolve(ANA, old, new, "newer-holds-in-part")
    answer = await sent(ana, "/recall", query="The ferry to Bodø and the café on the quay")
    shown = {hit["id"]: hit for hit in answer["memories"]}
    facts = [
        (shown[id]["doubted_by"], shown[id]["in_part"], shown[id]["state"]) for id in (old, new)
    ]
    assert facts == [(new, True, "current"), ("", False, "current")]


async def test_a_block_for_a_prompt_holds_the_texts_within_its_budget(ana: Any) -> None:
    for number in range(5):
        await told(ana, f"The ferry to Bodø leaves at {number}. " + "It is a slow boat. " * 20)
    answer = await sent(ana, "/recall", query="ferry to Bodø", max_tokens=200)
    assert "ferry to Bodø" in answer["block"]
    assert len(answer["block"]) <= 800
    assert "block" not in await sent(ana, "/recall", query="ferry to Bodø")


async def test_the_same_key_answers_as_before_and_refuses_another_body(ana: Any) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = await ana.post("/memories", json={"text": "The sky is blue."}, headers=key)
    again = await ana.post("/memories", json={"text": "The sky is blue."}, headers=key)
    other = await ana.post("/memories", json={"text": "The sky is grey."}, headers=key)
    assert first.json() == again.json()
    assert first.json()["status"] == "stored"
    assert other.status_code == 422
    assert "another request" in other.json()["detail"]
    assert len((await found(ana, "/memories"))["memories"]) == 1


@pytest.mark.parametrize(
    ("path", "body", "another"),
    [
        ("/seed", {"facts": ["Mara sails.", "Ben rows."]}, {"facts": ["Mara sails."]}),
        ("/seed", {"facts": ["Mara sails."]}, {"facts": ["Mara sails.", "Ben rows."]}),
        ("/extract", {"text": "Mara sails."}, {"text": "Mara rows."}),
    ],
)
async def test_a_key_stands_for_all_that_one_call_stores(
    ana: Any, path: str, body: dict[str, Any], another: dict[str, Any]
) -> None:
    key = {"Idempotency-Key": "k-1"}
    first, again = [await ana.post(path, json=body, headers=key) for _ in range(2)]
    assert first.json() == again.json()
    stored = (await found(ana, "/memories"))["memories"]
    other = await ana.post(path, json=another, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "invalid_input")
    assert (await found(ana, "/memories"))["memories"] == stored


async def test_a_key_stands_for_one_memory_too(ana: Any) -> None:
    """With another one nothing was replaced, so the answer of the first would be a lie."""
    text, key = {"text": "It is in room 14."}, {"Idempotency-Key": "k-1"}
    office, archive = await told(ana, "It is in room 12."), await told(ana, "It is in cellar 3.")
    first = await ana.patch(f"/memories/{office}", json=text, headers=key)
    again = await ana.patch(f"/memories/{office[:12]}", json=text, headers=key)
    other = await ana.patch(f"/memories/{archive}", json=text, headers=key)
    assert first.json()["status"] == "replaced"
    assert first.json() == again.json()
    assert (other.status_code, other.json()["code"]) == (422, "invalid_input")
    assert "another request" in other.json()["detail"]
    assert (await found(ana, f"/memories/{archive}"))["state"] == "current"


async def test_pages_filters_and_states(ana: Any, clock: Any) -> None:
    ids = []
    for number in range(5):
        clock.pass_by(60)
        ids.append(await told(ana, f"Note {number}.", tags=["a", f"n{number}"], session="s"))
    seen, cursor = [], ""
    for _ in range(3):
        page = await found(ana, "/memories", limit=2, cursor=cursor)
        seen += [each["id"] for each in page["memories"]]
        cursor = page["next"]
    assert (seen, cursor) == (ids[::-1], "")
    tagged = await ana.get("/memories", params=[("tag", "a"), ("tag", "n3")])
    assert [each["id"] for each in tagged.json()["memories"]] == [ids[3]]
    await sent(ana, f"/memories/{ids[0]}/retire")
    for state, wanted in (("retired", ids[:1]), ("current", ids[:0:-1])):
        page = await found(ana, "/memories", state=state)
        assert [each["id"] for each in page["memories"]] == wanted


async def test_each_filter_of_a_listing_leaves_what_fits(ana: Any, ben: Any) -> None:
    ferry = "Bodø Harbour keeps the ferry papers."
    fits = {
        "kind": "fact",
        "importance": 0.9,
        "tags": ["sea"],
        "when": "2024-05-07",
        "speaker": "Mara",
        "session": "walk",
        "scope": "team",
    }
    id = await told(ana, ferry, **fits)
    other = {"importance": 0.1, "when": "2024-03-01", "speaker": "Nils", "session": "talk"}
    await told(ana, "Lunch was soup with bread.", **other)
    await told(ben, "Supper was rice.", scope="team", when="2024-03-02")
    entity = (await found(ana, f"/memories/{id}"))["entities"][0]
    asked: dict[str, Any] = {
        **{name: fits[name] for name in ("kind", "importance", "speaker", "session")},
        "tag": "sea",
        "entity": entity,
        "since": "2024-05-01",
        "until": "2024-04-01",
        "agent": "ana",
        "scope": "private",
    }
    left = {
        name: [
            each["text"][:5]
            for each in (await found(ana, "/memories", **{name: value}))["memories"]
        ]
        for name, value in asked.items()
    }
    only = {key: [ferry[:5]] for key in asked}
    own = {"until": ["Suppe", "Lunch"], "agent": [ferry[:5], "Lunch"], "scope": ["Lunch"]}
    assert left == only | own
    for name, value in {"tag": "SEA", "speaker": "mara", "entity": entity.upper()}.items():
        (fitting,) = (await found(ana, "/memories", **{name: value}))["memories"]
        assert fitting["id"] == id, name
    assert len((await found(ana, "/memories"))["memories"]) == 3


async def test_a_patch_of_the_text_replaces_and_can_be_undone(ana: Any) -> None:
    old = await told(ana, "The office is in room 12.", tags=["work"], speaker="Mara")
    done = (await ana.patch(f"/memories/{old}", json={"text": "The office is in room 14."})).json()
    assert (done["status"], done["replaced"]) == ("replaced", [old])
    new = await found(ana, f"/memories/{done['id']}")
    assert (new["tags"], new["speaker"]) == (["work"], "Mara")
    assert (await found(ana, f"/memories/{old}"))["state"] == "superseded"
    undo = done["undo"]
    await sent(ana, f"/memories/{undo['id']}/undo", change=undo["change"])
    assert (await found(ana, f"/memories/{old}"))["state"] == "current"
    assert (await found(ana, f"/memories/{done['id']}"))["state"] == "superseded"


async def test_tags_and_importance_are_patched_in_place(ana: Any) -> None:
    id = await told(ana, "The key is under the mat.", tags=["house"])
    done = await ana.patch(f"/memories/{id}", json={"tags": ["home"], "importance": 0.9})
    assert (done.json()["id"], done.json()["status"]) == (id, "changed")
    whole = await found(ana, f"/memories/{id}")
    assert (whole["tags"], whole["importance"]) == (["home"], 0.9)
    assert (await ana.patch(f"/memories/{id}", json={})).json()["status"] == "unchanged"


async def test_a_pin_is_taken_back_to_the_importance_before(ana: Any) -> None:
    id = await told(ana, "The key is under the mat.", importance=0.4)
    await sent(ana, f"/memories/{id}/pin")
    assert (await found(ana, f"/memories/{id}"))["importance"] == 1.0
    await sent(ana, f"/memories/{id}/pin", pinned=False)
    assert (await found(ana, f"/memories/{id}"))["importance"] == 0.4


async def test_an_etag_saves_the_answer_and_guards_a_change(ana: Any) -> None:
    id = await told(ana, "The key is under the mat.")
    tag = (await ana.get(f"/memories/{id}")).headers["etag"]
    await sent(ana, "/recall", query="key under the mat")  # reading changes no version
    same = await ana.get(f"/memories/{id}", headers={"if-none-match": tag})
    assert (same.status_code, same.content) == (304, b"")
    guard = {"if-match": tag}
    done = await ana.patch(f"/memories/{id}", json={"tags": ["x"]}, headers=guard)
    assert done.status_code == 200
    for method, path, body in (
        ("PATCH", "", {"tags": ["y"]}),
        ("PATCH", "", {"text": "Another text."}),
        ("POST", "/pin", {}),
        ("POST", "/retire", {}),
    ):
        late = await ana.request(method, f"/memories/{id}{path}", json=body, headers=guard)
        assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
    whole = await ana.get(f"/memories/{id}")
    assert whole.headers["etag"] != tag
    assert whole.json()["tags"] == ["x"]


@pytest.mark.parametrize(
    ("method", "path", "bodies"),
    [
        ("PATCH", "", [{"tags": ["a"]}, {"tags": ["b"]}]),
        ("PATCH", "", [{"text": "The key is in the shed."}, {"text": "The key is at Mara's."}]),
        ("PATCH", "", [{"text": "The key is in the shed."}, {"tags": ["b"]}]),
        ("POST", "/pin", [{}, {}]),
        ("POST", "/retire", [{}, {}]),
    ],
)
async def test_of_two_writers_with_one_etag_exactly_one_succeeds(
    ana: Any, memory: Memory, monkeypatch: Any, method: str, path: str, bodies: list[Any]
) -> None:
    """Both have compared their version before either writes."""
    id = await told(ana, "The key is under the mat.")
    tag = (await ana.get(f"/memories/{id}")).headers["etag"]
    both, compare = threading.Barrier(2, timeout=20), memories.require_version

    def compared(*given: Any) -> None:
        compare(*given)
        both.wait()

    monkeypatch.setattr(memories, "require_version", compared)
    asked = [
        ana.request(method, f"/memories/{id}{path}", json=body, headers={"if-match": tag})
        for body in bodies
    ]
    done = await asyncio.gather(*asked)
    assert sorted(each.status_code for each in done) == [200, 412]
    late = next(each for each in done if each.status_code == 412)
    assert late.json()["code"] == "changed_meanwhile"
    changes = memory.history(Identity("ana", "north"), id)
    assert len([each for each in changes if each.kind == "put"]) == 2


async def test_history_links_and_votes(ana: Any, ben: Any) -> None:
    id = await told(ana, "The release is on Friday.", scope="team")
    assert await sent(ben, f"/memories/{id}/votes", query="When?", value=1) == {"up": 1, "down": 0}
    shown = await found(ana, f"/memories/{id}")
    assert shown["votes"] == {"up": 1, "down": 0}
    assert 0 < shown["fading"]["left"] <= 1 < shown["fading"]["half_life_days"]
    changes = (await found(ana, f"/memories/{id}/history"))["changes"]
    assert [(c["kind"], c["actor"]) for c in changes[:1]] == [("put", "ana")]
    assert changes[-1]["source"] == "vote"
    assert (await found(ana, f"/memories/{id}/links"))["id"] == id


async def test_observe_stores_and_recalls_in_one_call(ana: Any) -> None:
    await told(ana, "Our fence is painted dark green.")
    turn = {"role": "user", "content": "I want to paint the new fence green too.", "session": "s"}
    done = await sent(ana, "/observe", **turn, recall=True, max_tokens=300)
    assert done["receipt"]["status"] == "stored"
    texts = [hit["text"] for hit in done["recalled"]["memories"]]
    assert texts[:1] == ["Our fence is painted dark green."]
    assert "dark green" in done["recalled"]["block"]
    skipped = await sent(ana, "/observe", role="user", content="ok")
    assert skipped["receipt"] is None
    assert skipped["skipped"][0]["reason"]


async def test_seeds_pass_the_gate(ana: Any) -> None:
    done = await sent(ana, "/seed", facts=["ok then", "Mara sails."])
    assert (done["count"], len(set(done["ids"]))) == (2, 2)
    assert [r["status"] for r in done["receipts"]] == ["stored", "stored"]


async def test_without_a_model_extract_says_so(ana: Any) -> None:
    done = await sent(ana, "/extract", text="Mara moved to Oslo.")
    assert (done["receipt"]["status"], done["count"]) == ("stored", 0)
    assert "language model" in done["note"]


@pytest.fixture
def reading(open_memory: Any, server: ModelServer) -> Memory:
    """A memory with a language model that finds a fact in each text."""
    return open_memory(
        "reading", encoder="openai", encoder_model="small", encoder_url=server.url,
        vendors=KEYS,
    )  # fmt: skip


async def test_a_model_extracts_facts_now(
    reading: Memory, server: ModelServer, serving: Any
) -> None:
    def say(data: dict[str, Any]) -> dict[str, Any]:
        assert [turn["text"] for turn in data["turns"]] == [MOVED]
        turn = {"turn": 1, "gist": "", "tags": ["move"], "topic": "", "entities": []}
        facts = [
            {"text": text, "kind": "fact", "importance": 0.7, "topic": "home", "entities": ["Mara"],
             "sources": [1]}
            for text in ("Mara lives in Oslo.", "Mara has a dog called Bruno.")
        ]  # fmt: skip
        return {"turns": [{**turn, "importance": 0.6}], "facts": facts}

    server.say = say
    given = {"text": MOVED, "session": "s", "speaker": "Mara", "when": "2024-05-07"}
    async with serving(reading, ("read", "write")) as ana:
        done = await sent(ana, "/extract", **given)
        assert (done["count"], done["note"], len(server.asked)) == (2, "", 1)
        facts = {each["id"]: each for each in done["facts"]}
        assert list(facts) == done["ids"]
        assert {f["text"] for f in facts.values()} == {
            "Mara lives in Oslo.",
            "Mara has a dog called Bruno.",
        }
        text = done["receipt"]["id"]
        assert {tuple(f["derived_from"]) for f in facts.values()} == {(text,)}
        found = await sent(ana, "/recall", query="Where does Mara live?", kinds=["fact"])
        assert found["memories"][0]["id"] in facts
        again = await sent(ana, "/extract", **given)
        assert (again["receipt"]["status"], again["ids"]) == ("reinforced", done["ids"])
        assert len(server.asked) == 1
        server.say = lambda data: Trouble(status=500)
        failed = await sent(ana, "/extract", text="Mara sold her boat in June.")
        assert (failed["receipt"]["status"], failed["ids"]) == ("stored", [])
        assert "language model" in failed["note"]
    async with serving(reading, ("write",)) as writer:
        blind = await sent(writer, "/extract", **given)
        assert (len(blind["ids"]), blind["facts"]) == (2, [])


async def test_forgetting_is_previewed_then_done(ana: Any) -> None:
    id = await told(ana, "The PIN of the gate changed.")
    preview = await sent(ana, "/forget", ids=[id])
    assert (preview["status"], [r["id"] for r in preview["removed"]]) == ("preview", [id])
    done = await sent(ana, "/forget", ids=[id], confirm=True)
    assert done["status"] == "forgotten"
    assert (await ana.get(f"/memories/{id}")).status_code == 404


async def test_what_is_out_of_date_is_found_to_be_forgotten(ana: Any) -> None:
    old = await told(ana, "The cleaning day is Sunday.")
    new = (await sent(ana, "/memories", text="It moved to Friday.", replaces=old))["id"]
    preview = await sent(ana, "/forget", query="cleaning day", confirm=True)
    assert [each["id"] for each in preview["removed"]] == [old]
    assert preview["note"] == f"out of date: {old}; the newer text stays: {new}"


async def test_runs_are_made_listed_and_undone(ana: Any, clock: Any) -> None:
    for number in range(4):
        clock.pass_by(60)
        await told(ana, f"The ferry of day {number} was late again.", session="s")
    clock.pass_by(2 * DAY)
    preview = await sent(ana, "/consolidate", dry_run=True)
    assert preview["status"] == "preview"
    done = await sent(ana, "/consolidate")
    assert (await sent(ana, f"/runs/{done['run']}/undo"))["status"] == "undone"
    runs = (await found(ana, "/runs"))["runs"]
    assert [(run["run"], run["state"]) for run in runs] == [(done["run"], "undone")]


async def test_contradictions_are_listed_and_decided(ana: Any, clock: Any) -> None:
    old = await told(ana, "The team meeting is on Monday at nine.")
    clock.pass_by(DAY)
    new = await told(ana, "We moved the team meeting from Monday to Tuesday.")
    pairs = (await found(ana, "/contradictions"))["pairs"]
    assert [(p["older"]["id"], p["newer"]["id"]) for p in pairs] == [(old, new)]
    assert (await sent(ana, "/contradictions"))["status"] == "preview"
    await sent(ana, "/contradictions/decide", older=old, newer=new, decision="newer-holds")
    assert (await found(ana, "/contradictions"))["count"] == 0
    assert (await found(ana, f"/memories/{old}"))["state"] == "superseded"


async def test_the_whole_is_counted(ana: Any, memory: Memory) -> None:
    for topic in ("bread", "sailing"):
        told_of = {
            "text": f"About {topic} with Mara Vogt.",
            "topic": topic,
            "session": "talk",
            "tags": ["t"],
            "entities": ["Mara Vogt"],
        }
        memory.bring_in(ANA, told_of)
    names = {
        "/topics": ["bread", "sailing"],
        "/sessions": ["talk"],
        "/tags": ["t"],
        "/agents": ["ana"],
        "/entities": ["Mara Vogt"],
    }
    for path, wanted in names.items():
        assert sorted(n["name"] for n in (await found(ana, path))["names"]) == wanted
    for part, wanted in (("VOGT", ["Mara Vogt"]), ("vogel", [])):
        assert [n["name"] for n in (await found(ana, "/entities", part=part))["names"]] == wanted
    graph = await found(ana, "/topics/graph")
    assert [(e["a"], e["b"], e["relation"]) for e in graph["edges"]] == [
        ("bread", "sailing", "co_occurs")
    ]
    whole = await found(ana, "/graph")
    assert {n["label"] for n in whole["nodes"] if n["type"] == "topic"} == {"bread", "sailing"}
    assert {t["relation"] for t in whole["ties"]} >= {"tied", "holds"}
    stats = await found(ana, "/stats")
    assert (stats["memories"], stats["by_agent"]) == (2, {"ana": 2})
    assert (await found(ana, "/stats/timeline", step="month"))["spans"][0]["memories"] == 2
    state = await found(ana, "/agents/ana/state", session="talk")
    assert state["counts"]["memories"] == 2
    assert state["graph"]["nodes"]
    assert (await found(ana, "/pairs"))["pairs"] == []
    assert (await found(ana, "/jobs"))["in_flight"] == 0
    assert (await found(ana, "/meta"))["rights"] == ["read", "write"]
    assert (await found(ana, "/health"))["status"] in ("ok", "degraded")


async def test_an_export_is_imported_elsewhere_with_its_ids(
    ana: Any, chief: Any, http: Any, open_memory: Any
) -> None:
    ids = {await told(ana, f"Note {number} of the harbour.") for number in range(30)}
    exported = await ana.get("/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    records = [json.loads(line) for line in exported.text.splitlines()]
    assert {record["id"] for record in records} == ids
    lines = exported.content + b'{"text": 5}\nnot json\n'
    done = await ana.post(
        "/import", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    answers = [json.loads(line) for line in done.text.splitlines()]
    assert [a["line"] for a in answers] == list(range(1, 33))
    assert {a["status"] for a in answers[:30]} == {"reinforced"}
    assert all("invalid_input" in a["error"] for a in answers[30:])


async def test_a_new_import_is_stored(ana: Any) -> None:
    body = "".join(json.dumps({"text": f"Imported note {n}."}) + "\n" for n in range(60))
    done = await ana.post(
        "/import", content=body.encode(), headers={"content-type": "application/x-ndjson"}
    )
    answers = [json.loads(line) for line in done.text.splitlines()]
    assert {a["status"] for a in answers} == {"stored"}
    assert (await found(ana, "/stats"))["memories"] == 60


async def test_everything_of_the_caller_is_cleared_and_nothing_else(ana: Any, chief: Any) -> None:
    await told(ana, "A note of Ana.", scope="team")
    await told(chief, "A note of the chief.")
    assert (await chief.post("/clear", json={"confirm": False})).status_code == 422
    assert await sent(chief, "/clear", confirm=True) == {"deleted": 1, "status": "cleared"}
    assert (await found(chief, "/stats"))["by_agent"] == {"ana": 1}


async def test_the_note_of_forget_names_an_export_over_rest(http: Any, memory: Memory) -> None:
    async with http("ana", rights=("read", "write", "admin")) as admin:
        id = (await admin.post("/memories", json={"text": "The gate code is new."})).json()["id"]
        assert (await admin.get("/export")).status_code == 200
        done = (await admin.post("/forget", json={"ids": [id], "confirm": True})).json()
        assert re.search(r"the export of \d{4}-\d\d-\d\d over REST$", done["note"])
        id = (await admin.post("/memories", json={"text": "The gate is green."})).json()["id"]
        assert (await admin.get("/export")).status_code == 200
        memory.note_export(Identity("ana", "north"), "")
        done = (await admin.post("/forget", json={"ids": [id], "confirm": True})).json()
        assert {"over REST", "to standard output"} <= set(
            re.findall("over REST|to standard output", done["note"])
        )


async def test_exports_of_several_on_one_day_are_named_once(ana: Any, ben: Any, chief: Any) -> None:
    id = await told(ana, "The lock of the gate was oiled.", scope="team")
    for each in (ana, ben, chief):
        assert (await each.get("/export")).status_code == 200
    preview = await sent(chief, "/forget", ids=[id])
    assert re.search(r"too: the export of \d{4}-\d\d-\d\d over REST$", preview["note"])


async def test_the_end_of_a_conversation_of_which_nothing_is_stored(ana: Any, http: Any) -> None:
    await told(ana, "The gate was oiled.", session="gate")
    soon = "the conversation has ended; its summary is written soon"
    assert await sent(ana, "/sessions/end", session="gate") == {"done": soon}
    nothing = {"done": "nothing is stored of this conversation"}
    assert await sent(ana, "/sessions/end", session="gaet") == nothing
    async with http("ana", "north", ("write",)) as writer:  # is told nothing of what is stored
        assert await sent(writer, "/sessions/end", session="gaet") == {"done": soon}
