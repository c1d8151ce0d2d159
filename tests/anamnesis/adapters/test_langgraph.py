"""The LangGraph store: beside LangGraph's own, in a real graph, and against hostile names."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from anamnesis import Identity, InvalidInput, Memory
from anamnesis.adapters.langgraph import RememberingStore
from memory_core.memory import Memory as Facade

ANN = ("users", "ann")
TEA = {"text": "Ann drinks green tea in the morning.", "sure": 0.9, "tags": ["drink"]}


@pytest.fixture
def store(own: Memory) -> RememberingStore:
    return RememberingStore(own)


def test_an_item_comes_back_as_it_was_put(store: RememberingStore, clock: Any) -> None:
    odd = {"a": None, "b": [1, 2.5, True, {"c": "  two\n\nlines "}], "": "ü\U0001f9c9", "d": {}}
    store.put(ANN, "odd", odd)
    first = store.get(ANN, "odd")
    assert first is not None
    assert (first.value, first.key, first.namespace) == (odd, "odd", ANN)
    clock.pass_by(60)
    store.put(ANN, "odd", {**odd, "b": [1, 2.5, True, {"c": " two\n\nlines "}]})
    second = store.get(ANN, "odd")
    assert second is not None
    assert second.value["b"][3]["c"] == " two\n\nlines "
    assert (second.created_at, (second.updated_at - first.updated_at).seconds) == (
        first.created_at, 60,
    )  # fmt: skip
    store.delete(ANN, "odd")
    assert store.get(ANN, "odd") is None
    store.put(ANN, "odd", {})
    again = store.get(ANN, "odd")
    assert again is not None
    assert (again.value, again.created_at > first.created_at) == ({}, True)


def test_it_is_found_by_meaning_within_its_namespace(store: RememberingStore) -> None:
    store.put(ANN, "tea", TEA)
    store.put(ANN, "bike", {"text": "Ann rides a red bicycle."})
    store.put(("users", "ben"), "tea", {"text": "Ben drinks black tea at noon."})
    store.put(("users", "annabel"), "tea", {"text": "Annabel drinks mint tea."})
    store.put(ANN, "secret tea", {"text": "Ann hides the tea."}, index=False)
    found = store.search(ANN, query="Which tea does Ann drink in the morning?", limit=3)
    assert found[0].key == "tea"
    assert found[0].score is not None
    assert {item.namespace for item in found} == {ANN}
    assert [item.score for item in found if item.key == "secret tea"] in ([], [None])
    assert [item.key for item in store.search(ANN, filter={"sure": {"$gte": 0.5}})] == ["tea"]
    assert len(store.search(("users",), limit=10)) == 5
    assert len(store.search((), limit=2, offset=4)) == 1


def test_every_text_is_a_query(store: RememberingStore) -> None:
    """A graph searches by what its user wrote, however long that is."""
    store.put(ANN, "tea", TEA)
    long = "Which tea does Ann drink in the morning? " + "I would like to know. " * 200
    for query in (long, "   ", "\u200b", "0" * 20, "0123456"):
        assert [item.key for item in store.search(ANN, query=query)] == ["tea"]


def test_the_store_is_the_agents_own_and_shows_in_its_memory(memory: Facade) -> None:
    ann, ben = (Memory.of(memory, Identity(name, "team")) for name in ("ann", "ben"))
    RememberingStore(ann).put(ANN, "tea", TEA)
    assert RememberingStore(ben).get(ANN, "tea") is None
    assert RememberingStore(ben).search(()) == []
    told = ann.recall("green tea in the morning").hits[0].memory
    assert "green tea" in told.text
    assert ann.history(told.id)


def test_names_that_look_alike_are_kept_apart(store: RememberingStore) -> None:
    names = [
        (("a", "b"), "c"), (("a",), "b/c"), (("a b",), "c"), (("a",), "b c"), (("a",), "b.c"),
        (("a", "b", "c"), "c"), (("A", "b"), "c"), (("x" * 150, "y" * 150), "z" * 100),
        (("x" * 150, "y" * 150), "z" * 101),
        (("a",), "ann@example.org"), (("a",), "b\nc"), (("a",), "b\\nc"), (("a",), " b.c "),
    ]  # fmt: skip
    for number, (namespace, key) in enumerate(names):
        store.put(namespace, key, {"n": number})
    got = [store.get(*name) for name in names]
    assert [item and item.value["n"] for item in got] == list(range(len(names)))
    assert sorted(store.list_namespaces()) == sorted({namespace for namespace, _ in names})


def test_what_cannot_be_kept_is_refused(store: RememberingStore) -> None:
    for value in ({"x": float("nan")}, {"x": object()}, {"x": "y" * 20_000}):
        with pytest.raises(InvalidInput):
            store.put(ANN, "k", value)
    with pytest.raises(InvalidInput, match="secret"):
        store.put(ANN, "sk-abcdefghijklmnopqrstuvwxyz123456", {})
    with pytest.raises(InvalidInput, match="too long"):
        store.put(ANN, "k" * 600, {})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {})])
    store.put(ANN, "k", {"password": "hunter2hunter2"})
    kept = store.get(ANN, "k")
    assert kept is not None
    assert "hunter2" not in str(kept.value)
    assert store.search(ANN, filter={"password": {"$gt": 1}}) == []
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(ANN, filter={"password": {"$in": 1}})


def test_a_batch_reads_before_it_writes(store: RememberingStore) -> None:
    store.put(ANN, "k", {"n": 1})
    done = store.batch(
        [
            PutOp(ANN, "k", {"n": 2}), GetOp(ANN, "k"), PutOp(ANN, "k", {"n": 3}),
            ListNamespacesOp((MatchCondition("suffix", ("*",)),)), SearchOp(ANN),
        ]
    )  # fmt: skip
    assert [done[0], done[2], done[3]] == [None, None, [ANN]]
    assert done[1].value == {"n": 1}  # type: ignore[union-attr]
    kept = store.get(ANN, "k")
    assert kept is not None
    assert kept.value == {"n": 3}


labels = st.sampled_from(["a", "b", "c d", "ü"])
values = st.dictionaries(
    st.sampled_from(["x", "y", "z"]),
    st.one_of(st.integers(-9, 9), st.booleans(), st.none(), st.text("ab \n", max_size=5),
              st.lists(st.integers(0, 3), max_size=2)),
    max_size=3,
)  # fmt: skip
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
writes = st.builds(PutOp, namespaces, labels, st.none() | values)
filters = st.none() | st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 3), max_size=1)


@given(ops=st.lists(writes, max_size=8), prefix=namespaces, wanted=filters)
@settings(
    max_examples=7, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_it_answers_as_the_store_of_langgraph(
    memory: Facade, ops: list[PutOp], prefix: tuple[str, ...], wanted: dict[str, Any] | None
) -> None:
    own = Memory.of(memory, Identity(f"agent {len(memory.stats(Identity('x'))['by_agent'])}"))
    own.clear()
    ours, theirs = RememberingStore(own), InMemoryStore()
    for op in ops:
        ours.batch([op])
        theirs.batch([op])

    def told(store: BaseStore) -> list[Any]:
        found = store.search(prefix, filter=wanted, limit=100)
        gets = [store.get(op.namespace, op.key) for op in ops]
        return [
            sorted((item.namespace, item.key, str(item.value)) for item in found),
            [item and item.value for item in gets],
            {tuple(n) for n in ours_names(store)},
        ]

    def ours_names(store: BaseStore) -> set[tuple[str, ...]]:
        return {item.namespace[:2] for item in store.search((), limit=100)}

    assert told(ours) == told(theirs)
    assert set(ours.list_namespaces(max_depth=2)) == ours_names(theirs)


class State(TypedDict):
    answer: str


@pytest.mark.anyio
async def test_a_graph_remembers_from_one_run_to_the_next(own: Memory) -> None:
    async def node(state: State, *, store: BaseStore) -> State:
        known = await store.asearch(ANN, query="What does Ann drink?", limit=1)
        await store.aput(ANN, "tea", TEA)
        return {"answer": known[0].value["text"] if known else "unknown"}

    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    graph = builder.compile(store=RememberingStore(own))
    assert (await graph.ainvoke({"answer": ""}))["answer"] == "unknown"
    assert (await graph.ainvoke({"answer": ""}))["answer"] == TEA["text"]
