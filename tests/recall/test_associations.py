"""What is recalled together is linked, more strongly each time; links are listed and exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory_core.errors import InvalidInput, NotFound
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity, Link
from memory_core.remember.request import RememberRequest

ME, OTHER = Identity("me"), Identity("other")

OpenMemory = Callable[..., Memory]


def flush(memory: Memory) -> None:
    memory._runtime.parts().maintenance.accesses.flush()


@pytest.fixture
def three(memory: Memory) -> tuple[str, str, str]:
    """Two memories that one cue brings up, and one that it does not."""
    texts = (
        "the zebra runs in Africa",
        "the zebra sleeps in Africa",
        "invoice nine is paid",
    )
    a, b, c = (memory.remember(ME, RememberRequest(text)).id for text in texts)
    return a, b, c


def test_co_recall_grows_with_each_event_and_has_one_order(
    memory: Memory, three: tuple[str, str, str]
) -> None:
    a, b, c = three
    for times in (1, 2, 3):
        memory.recall(ME, RecallRequest("zebra in Africa"))
        flush(memory)
        assert memory.links(ME, a) == [Link(a, b, "co_recall", float(times))]
    assert memory.links(ME, b) == [Link(b, a, "co_recall", 3.0)]
    assert memory.links(ME, c) == []
    written = [change for change in memory.history(ME, min(a, b)) if change.kind == "link"]
    assert [change.body["weight"] for change in written if change.body] == [1.0, 2.0, 3.0]


def test_several_recalls_before_a_flush_are_one_change(
    memory: Memory, three: tuple[str, str, str]
) -> None:
    for _ in range(5):
        memory.recall(ME, RecallRequest("zebra in Africa", k=1))  # selected or not
    flush(memory)
    assert [link.weight for link in memory.links(ME, three[0])] == [5.0]


def test_a_read_only_recall_links_nothing(memory: Memory, three: tuple[str, str, str]) -> None:
    memory.recall(ME, RecallRequest("zebra in Africa", rehearse=False))
    flush(memory)
    assert memory.links(ME, three[0]) == []


def test_no_link_comes_from_nearness_alone(memory: Memory, three: tuple[str, str, str]) -> None:
    """Two memories with nearly the same words, never recalled, are not linked."""
    flush(memory)
    memory.consolidate(ME, mode="topics")
    assert all(link.kind != "co_recall" for id in three for link in memory.links(ME, id))


def test_topics_are_linked_by_what_was_recalled_together(
    memory: Memory, three: tuple[str, str, str]
) -> None:
    store = memory._runtime.parts().store
    for id, topic in zip(three, ("Running", "Sleeping", "Money"), strict=True):
        store.commit(lambda tx, id=id, topic=topic: tx.append(Change("put", id, {"topic": topic})))
    for _ in range(2):
        memory.recall(ME, RecallRequest("zebra in Africa"))
    flush(memory)
    assert memory.topic_edges(ME) == {("Running", "Sleeping"): 2.0}
    assert memory.topic_edges(OTHER) == {}


def test_links_are_exported_and_come_back(
    open_memory: OpenMemory, memory: Memory, three: tuple[str, str, str]
) -> None:
    memory.recall(ME, RecallRequest("zebra in Africa"))
    flush(memory)
    records = list(memory.export(ME))
    assert ["links" in record for record in records] == [True, True, False]
    other = open_memory("other")
    for record in (*records, *records):
        other.bring_in(ME, record)
    assert other.links(ME, three[0]) == memory.links(ME, three[0])
    assert next(iter(other.export(ME)))["links"] == records[0]["links"]


@pytest.mark.parametrize("links", [5, [1], [{"a": "x"}], [{"a": "x", "b": "y", "kind": "k"}]])
def test_bad_links_in_an_import_are_named(memory: Memory, links: Any) -> None:
    with pytest.raises(InvalidInput, match="links"):
        memory.bring_in(ME, {"text": "A text.", "links": links})


def test_an_import_cannot_link_to_what_one_may_not_read(memory: Memory) -> None:
    theirs = memory.remember(OTHER, RememberRequest("A secret of the other.")).id
    mine = memory.remember(ME, RememberRequest("A text of mine.")).id
    link = {"a": mine, "b": theirs, "kind": "co_recall", "weight": 9.0}
    memory.bring_in(ME, {"id": mine, "text": "A text of mine.", "links": [link]})
    assert memory.links(OTHER, theirs) == []
    with pytest.raises(NotFound):
        memory.links(ME, theirs)
