"""What the history holds is found as a plain reading finds it, and without reading it all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.forget import PastValues
from memory_core.records import Change, MemoryRecord, to_fields
from memory_core.storage.journal.journal import Journal

IDS = [letter * 20 for letter in "abc"]
TOPICS = st.sampled_from(["", "a weir", "a vault", "the vault 2", "Straße"])
BATCH = 4


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal.open(tmp_path, clock=lambda: 1.0)) as found:
        yield found


def put(journal: Journal, id: str, topic: str) -> None:
    fields = to_fields(MemoryRecord(id=id, text=f"The text of {id} {journal.last()}.", topic=topic))
    journal.write(lambda tx: tx.append(Change("put", id, fields)))


def plainly(journal: Journal, wanted: str) -> list[int]:
    """The same by the checked reader of the whole journal."""
    return [
        change.seq
        for change in journal.changes(0, 10_000)
        for images in [(change.body or {}, change.before or {})]
        if change.kind == "put" and any(wanted in (image.get("topic") or "") for image in images)
    ]


def found(past: PastValues, wanted: str) -> list[int]:
    return past.puts(lambda value: wanted in value, lambda id, value: wanted in value)[0]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 2), TOPICS),
        st.tuples(st.just("run"), st.integers(0, 2), TOPICS),
        st.tuples(st.just("ask"), st.integers(0, 2), st.sampled_from(["vault", "weir", "Straße"])),
        st.tuples(st.just("blank"), st.integers(0, 2), st.sampled_from(["vault", "weir"])),
    ),
    max_size=40,
)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=steps)
def test_it_finds_what_a_plain_reading_finds(
    history: list[tuple[str, int, str]], tmp_path_factory: Any
) -> None:
    with closing(Journal.open(tmp_path_factory.mktemp("store"), clock=lambda: 1.0)) as journal:
        past = PastValues(journal, "topic", BATCH)
        for id in IDS:
            put(journal, id, "")
        for what, number, topic in history:
            change = Change("put", IDS[number], {"topic": topic})
            if what == "put":
                journal.write(lambda tx, change=change: tx.append(change))
            elif what == "run":
                body: dict[str, Any] = {"topic": ""}
                change = Change("put", IDS[number], body, run="r", before={"topic": topic})
                journal.write(lambda tx, change=change: tx.append(change))
            elif what == "ask":
                assert found(past, topic) == plainly(journal, topic)
            else:

                def goes(id: str, value: str, topic: str = topic) -> bool:
                    return topic in value

                known, after = past.puts(lambda value, topic=topic: topic in value, goes)
                journal.write(
                    lambda tx, goes=goes, known=known, after=after: tx.blank(
                        "topic", goes, known, after
                    )
                )
                assert plainly(journal, topic) == found(past, topic) == []
        assert journal.check() == []


def test_a_whole_batch_that_holds_nothing_wanted_is_read_once(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2 * BATCH + 1):
        put(journal, f"{number:020}", "a vault" if number == 1 else "a weir")
    read: list[tuple[str, int]] = []
    for name in ("text_values", "puts_where"):
        real = getattr(Journal, name)

        def spied(self: Journal, *given: Any, name: str = name, real: Any = real) -> Any:
            read.append((name, given[-2]))
            return real(self, *given)

        monkeypatch.setattr(Journal, name, spied)
    past = PastValues(journal, "topic", BATCH)
    assert found(past, "vault") == [2]
    assert read == [
        ("text_values", 0),
        ("puts_where", 0),
        ("text_values", BATCH),
        ("text_values", 2 * BATCH),
    ]
    read.clear()
    assert found(past, "vault") == [2]  # not yet emptied; the batch that holds it is read anew
    assert read == [("text_values", 0), ("puts_where", 0), ("text_values", 2 * BATCH)]


def test_a_damaged_entry_is_passed_over(tmp_path: Path) -> None:
    with closing(Journal.open(tmp_path, clock=lambda: 1.0)) as journal:
        for id in IDS:
            put(journal, id, "a vault")
    with sqlite3.connect(tmp_path / "journal.db") as raw:
        raw.execute("UPDATE changes SET body = 'no { json' WHERE seq = 2")
        raw.execute("UPDATE changes SET body = CAST(x'7bff' AS TEXT) WHERE seq = 1")
    raw.close()
    with closing(Journal.open(tmp_path, clock=lambda: 1.0)) as journal:
        assert found(PastValues(journal, "topic"), "vault") == [3]


def test_the_weight_of_a_link_is_that_of_its_newest_change(tmp_path: Path) -> None:
    def links(journal: Journal, *given: tuple[str, str, float]) -> None:
        for b, kind, weight in given:
            change = Change("link", IDS[0], {"b": b, "kind": kind, "weight": weight})
            journal.write(lambda tx, change=change: tx.append(change))

    def weights(journal: Journal) -> list[float]:
        kinds = ("co_recall", "updates")
        pairs = [(b, kind) for b in IDS[1:] for kind in kinds]
        given = journal.write(lambda tx: [tx.weight(IDS[0], b, kind) for b, kind in pairs])
        together = {b: journal.write(lambda tx, b=b: tx.links(IDS[0], b)) for b in IDS[1:]}
        assert [together[b].get(kind, 0.0) for b, kind in pairs] == given
        return given

    with closing(Journal.open(tmp_path, clock=lambda: 1.0)) as journal:
        for id in IDS:
            put(journal, id, "")
        assert weights(journal) == [0.0, 0.0, 0.0, 0.0]
        links(journal, (IDS[1], "co_recall", 1), (IDS[2], "co_recall", 5.0))
        links(journal, (IDS[1], "co_recall", 2.5), (IDS[1], "updates", 1.0))
        assert weights(journal) == [2.5, 1.0, 5.0, 0.0]
    with sqlite3.connect(tmp_path / "journal.db") as raw:
        raw.execute("UPDATE changes SET body = 'no { json' WHERE seq = 6")
    raw.close()
    with closing(Journal.open(tmp_path, clock=lambda: 1.0)) as journal:
        assert weights(journal) == [1.0, 1.0, 5.0, 0.0]
