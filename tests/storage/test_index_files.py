"""A start from a snapshot comes to what a start from the journal's beginning comes to."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.records import Change
from memory_core.storage.index import files, indexes
from memory_core.storage.index.indexes import Indexes
from memory_core.storage.journal.journal import Journal
from memory_core.storage.store import MemoryStore
from tests.views import view_of

WORDS = ("heron", "weir", "mill", "5432", "Graz", "?")
steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "change", "forget", "link", "access", "snapshot", "renumber"]),
        st.integers(0, 99),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    ),
    max_size=30,
)


def write(shop: Any, store: MemoryStore) -> None:
    shop.snapshots(store).write()


def state_file(shop: Any) -> Path:
    (path,) = shop.directory.glob(f"index/*[0-9]/{files.FILE}")
    assert isinstance(path, Path)
    return path


def held(store: MemoryStore) -> dict[str, Any]:
    """Everything the indexes tell, with ids for rows and names for codes."""
    columns, graph = view_of(store).columns, view_of(store).graph
    rows = np.flatnonzero(columns.live).tolist()
    namings = graph.namings(columns.live)
    state = columns.state(np.array(rows, np.int64))
    names = ("agent", "team", "session", "speaker")
    told: dict[str, Any] = {
        "links": sorted((columns.id(a), columns.id(b), k, w) for a, b, k, w in graph.links()),
        "entities": graph.entities(),
        "ideal": [view_of(store).lexical.match(word).ideal for word in WORDS],
        "awaited": store._indexes._awaited,
        "behind": store.unsynced,
        "vectors": {id: v.tolist() for id, v in store.whole_vectors(state["ids"]).items()},
        "store": [getattr(store, name) for name in _OF_THE_STORE],
        "tags": {tag: [columns.id(r) for r in columns.tagged(tag).nonzero()[0]] for tag in WORDS},
    }
    scores = view_of(store).lexical.match(" ".join(WORDS)).scores
    for place, row in enumerate(rows):
        told[columns.id(row)] = {
            **{n: columns.name(int(getattr(columns, n)[row]), n) for n in names},
            **{n: repr(v[place]) for n, v in state.items() if n in _PLAIN},
            "topic": columns.topic(row),
            "lists": (columns.tags(row), columns.dates(row), columns.derived_from(row)),
            "score": float(scores[row]),
            "before": "" if (other := columns.neighbours(row, -1)) is None else columns.id(other),
            "entities": [(columns.id(o), name) for o, name in namings.neighbours(row, 5)],
        }
    return told


_OF_THE_STORE = (
    *("applied", "fingerprint", "_dimension", "forgotten_at", "model_changed_at", "reembedding"),
)
_PLAIN = (
    *("visibility", "kind", "role", "trust", "tier", "position", "occurred_at", "recorded_at"),
    *("importance", "access_count", "last_accessed", "valid_from", "valid_until", "superseded"),
    *("replaced", "superseded_at", "retired_at", "words", "question"),
)


def play(shop: Any, history: list[tuple[str, int, list[str]]]) -> MemoryStore:
    store, ids = shop.open(), []
    for turn, (what, number, words) in enumerate(history):
        if what == "put":
            more = {"derived_from": (ids[number % len(ids)],)} if ids and number % 3 == 0 else {}
            if number % 2:
                more |= {"session": f"s{number % 4}", "position": number, "topic": words[0]}
            more |= {"tags": tuple(dict.fromkeys(words)), "entities": (words[0].upper(),)}
            text = f"{number} {' '.join(words)} {turn}"  # none is said twice
            ids.append(shop.put(store, text, **more).id)
        elif not ids:
            continue
        elif what == "change":
            shop.change(store, ids[number % len(ids)], importance=number / 99, tags=words)
        elif what == "forget":
            shop.forget(store, ids.pop(number % len(ids)), erase=number % 2 == 0)
        elif what == "link":
            body = {"b": ids[number % len(ids)], "kind": "updates", "weight": 0.5}
            store.commit(lambda tx, body=body: tx.append(Change("link", ids[0], body)))
        elif what == "access":
            body = {"ids": [ids[number % len(ids)]], "counts": [number], "last": [float(number)]}
            store.commit(lambda tx, body=body: tx.append(Change("access", "", body)))
        elif what == "snapshot":
            write(shop, store)
        else:
            renumber(store)
    return store


def renumber(store: MemoryStore) -> None:
    """As when most rows are empty; nothing that anybody is told changes by it."""
    before = held(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Indexes, "sparse", True)
        assert store.compact_rows()
    assert not view_of(store).columns.empty
    assert held(store) == before


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=steps)
def test_resumed_equals_replayed(make_shop: Any, history: list[tuple[str, int, list[str]]]) -> None:
    shop = make_shop()
    store = play(shop, [("put", 1, ["heron"]), ("snapshot", 0, ["heron"]), *history])
    resumed = held(shop.open())
    assert resumed == held(store)
    shutil.rmtree(shop.directory / "index")
    assert resumed == held(shop.open())


def test_rows_are_numbered_anew_when_most_are_empty(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "FEW_EMPTY", 5)
    store = shop.open()
    upkeep = shop.upkeep(store)
    kept = shop.put(store, "the heron stays")
    for number in range(6):
        shop.forget(store, shop.put(store, f"heron {number}").id)
        assert len(view_of(store).columns) == number + 2
        upkeep.round()
    assert view_of(store).columns.row(kept.id) == 0
    assert len(view_of(store).columns) == 1
    late = shop.put(store, "a late heron")
    assert shop.words(store, "late heron") == [late.text, kept.text]


def test_only_what_came_after_is_read(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store = shop.open()
    for number in range(20):
        shop.put(store, f"heron {number}")
    write(shop, store)
    late = shop.put(store, "a late heron")
    asked: list[int] = []
    original = Journal.changes
    monkeypatch.setattr(
        Journal,
        "changes",
        lambda self, after, most: asked.append(after) or original(self, after, most),
    )
    again = shop.open()
    assert view_of(again).columns.row(late.id) == 20
    assert min(asked) >= 40  # a memory is two changes: its fields and its vectors


def test_the_snapshot_of_another_store_is_not_taken(make_shop: Any) -> None:
    one, two = make_shop(), make_shop()
    stores = [one.open(), two.open()]
    for shop, store, word in ((one, stores[0], "heron"), (two, stores[1], "mill")):
        for number in range(3):
            shop.put(store, f"{word} {number}")
        write(shop, store)
    shutil.rmtree(one.directory / "index")
    shutil.copytree(two.directory / "index", one.directory / "index")
    assert sorted(one.words(one.open(), "heron mill")) == ["heron 0", "heron 1", "heron 2"]


def test_what_another_version_wrote_is_not_taken(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = shop.open()
    shop.put(store, "heron")
    write(shop, store)
    monkeypatch.setattr(files, "LAYOUT", files.LAYOUT + 1)
    taken: list[object] = []
    monkeypatch.setattr(
        "memory_core.storage.index.indexes.Indexes.restore", lambda *a: taken.append(a)
    )
    assert shop.words(shop.open(), "heron") == ["heron"]
    assert taken == []


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete"])
def test_a_damaged_state_is_found_and_written_anew(shop: Any, damage: str) -> None:
    store = shop.open()
    shop.put(store, "heron")
    write(shop, store)
    path = state_file(shop)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    if damage == "delete":
        path.unlink()
    else:
        path.write_bytes(data if damage == "flip" else data[:-9])
    again = shop.open()
    assert again.snapshot_problem
    assert shop.words(again, "heron") == ["heron"]
    shop.snapshots(again).write_if_due()
    assert state_file(shop) != path
    assert shop.open().snapshot_problem == ""


def test_nothing_of_what_was_forgotten_is_written(shop: Any) -> None:
    store = shop.open()
    shop.put(store, "the mill")
    secret = shop.put(
        store, "zebrafish", session="xylophone", topic="quince", tags=("yucca",), entities=("Vega",)
    )
    shop.forget(store, secret.id)
    write(shop, store)
    data = state_file(shop).read_bytes()
    assert b"mill" in data
    for word in ("zebrafish", "xylophone", "quince", "yucca", "Vega", "vega"):
        assert word.encode() not in data


def test_what_could_not_be_used_is_found_again_at_the_next_start(shop: Any) -> None:
    store = shop.open()
    shop.put(store, "heron")
    odd = shop.put(store, "a mill")
    shop.change(store, odd.id, importance="very")
    assert store.unusable.count == 1
    write(shop, store)
    assert list(shop.directory.glob(f"index/*[0-9]/{files.FILE}")) == []
    assert shop.open().unusable.count == 1
