"""Links and entities against plain sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_core.storage.index.graph import COMMON_FLOOR, COMMON_SHARE, SYMMETRIC, Graph

EVERY = np.ones(1000, np.bool_)

KINDS = ["co_recall", "duplicate_of", "updates", "derived_from"]
ROWS = st.integers(0, 6)
_LINK = st.tuples(ROWS, ROWS, st.sampled_from(KINDS), st.sampled_from([0.0, 0.5, 2.0]))


@given(st.lists(st.one_of(_LINK, ROWS), max_size=50))
def test_any_sequence_of_links_agrees_with_a_dict(operations: list[object]) -> None:
    graph, model = Graph(), dict[tuple[int, int, str], float]()
    for operation in operations:
        if isinstance(operation, tuple):
            a, b, kind, weight = operation
            graph.link(a, b, kind, weight)
            ends = (min(a, b), max(a, b)) if kind in SYMMETRIC else (a, b)
            model.pop((*ends, kind), None)
            if weight and a != b:
                model[*ends, kind] = weight
        else:
            assert isinstance(operation, int)
            graph.remove(operation)
            model = {key: w for key, w in model.items() if operation not in key[:2]}
    assert graph.edges() == len(model)
    for row in range(7):
        expected = [
            (b if a == row else a, kind, weight)
            for (a, b, kind), weight in model.items()
            if row in (a, b)
        ]
        assert sorted(graph.neighbours(row)) == sorted(expected)
        sources = [b for a, b, kind in model if a == row and kind == "derived_from"]
        assert sorted(graph.targets(row, "derived_from")) == sorted(sources)
        derived = [a for a, b, kind in model if b == row and kind == "derived_from"]
        assert sorted(graph.origins(row, "derived_from")) == sorted(derived)


def test_symmetric_links_are_one_link_in_either_order() -> None:
    graph = Graph()
    graph.link(4, 1, "co_recall", 1.0)
    graph.link(1, 4, "co_recall", 3.0)
    assert graph.edges() == 1
    assert graph.weight(4, 1, "co_recall") == graph.weight(1, 4, "co_recall") == 3.0


def test_directed_links_in_both_directions_are_two() -> None:
    graph = Graph()
    graph.link(4, 1, "updates", 1.0)
    graph.link(1, 4, "updates", 2.0)
    assert graph.edges() == 2
    assert (graph.weight(4, 1, "updates"), graph.weight(1, 4, "updates")) == (1.0, 2.0)
    graph.link(4, 1, "updates", 0.0)
    assert (graph.weight(4, 1, "updates"), graph.weight(1, 4, "updates")) == (0.0, 2.0)


@given(
    st.lists(
        st.tuples(ROWS, st.none() | st.sets(st.sampled_from(["Oslo", "Ada", "Rex"]))), max_size=30
    )
)
def test_any_sequence_of_entities_agrees_with_a_dict(
    operations: list[tuple[int, set[str] | None]],
) -> None:
    graph, model = Graph(), dict[int, set[str]]()
    for row, names in operations:
        if names is None:
            graph.remove(row)
            model.pop(row, None)
        else:
            graph.put(row, names)
            model[row] = names
    counts = {}
    for name in ("Oslo", "Ada", "Rex"):
        rows = sorted(row for row, names in model.items() if name in names)
        assert graph.entity_rows(name).tolist() == rows
        if rows:
            counts[name] = len(rows)
    assert graph.entities() == counts
    assert list(graph.entities().values()) == sorted(counts.values(), reverse=True)


def test_entities_that_differ_in_case_and_spaces_are_one_under_the_first_spelling() -> None:
    graph = Graph()
    graph.put(0, ["New York", "  "])
    graph.put(1, ["new  york", "NEW YORK"])
    assert graph.entities() == {"New York": 2}
    assert graph.entity_rows("NEW york").tolist() == [0, 1]
    graph.remove(0)
    graph.remove(1)
    assert graph.entities() == {}


def neighbours(graph: Graph, row: int, most: int) -> list[tuple[int, str]]:
    return graph.namings(EVERY).neighbours(row, most)


def test_entity_neighbours_come_by_rarity_then_newest_and_each_once() -> None:
    graph = Graph()
    graph.put(0, ["Ada", "Oslo"])
    graph.put(1, ["Ada"])
    graph.put(2, ["Ada", "Oslo"])
    graph.put(3, ["Ada"])
    graph.put(4, ["Rex"])
    assert neighbours(graph, 0, 10) == [(2, "Oslo"), (3, "Ada"), (1, "Ada")]
    assert neighbours(graph, 0, 2) == [(2, "Oslo"), (3, "Ada")]
    assert neighbours(graph, 4, 10) == []
    assert neighbours(graph, 99, 10) == []
    assert neighbours(graph, 0, 0) == []


def test_an_entity_in_more_than_a_twentieth_of_the_rows_links_nothing() -> None:
    graph = Graph()
    for row in range(400):
        graph.put(row, ["Ada", "Oslo"] if row < 20 else ["Ada"])
    assert neighbours(graph, 0, 1000) == [(row, "Oslo") for row in range(19, 0, -1)]
    assert neighbours(graph, 20, 1000) == []
    graph.put(20, ["Ada", "Oslo"])
    assert neighbours(graph, 0, 1000) == []
    assert graph.entity_rows("Oslo").size == 21


def test_in_a_small_store_twelve_rows_may_share_an_entity() -> None:
    graph = Graph()
    for row in range(12):
        graph.put(row, ["Ada"])
    assert neighbours(graph, 3, 100) == [(row, "Ada") for row in range(11, -1, -1) if row != 3]
    graph.put(12, ["Ada"])
    assert neighbours(graph, 3, 100) == []


@given(
    st.lists(st.sets(st.sampled_from(["Ada", "Oslo", "the Fram", "Lena", "Kiel"])), max_size=30),
    st.integers(0, 12),
)
def test_of_many_holders_the_newest_are_taken(named: list[set[str]], most: int) -> None:
    graph = Graph()
    for row in [*range(len(named)), *range(0, len(named), 3)]:  # some are put again, later
        graph.put(row, sorted(named[row]))
    limit = max(COMMON_FLOOR, int(COMMON_SHARE * sum(map(bool, named))))
    for row, names in enumerate(named):
        holders = {name: [r for r, each in enumerate(named) if name in each] for name in names}
        rare = sorted((len(rows), name.casefold(), name) for name, rows in holders.items())
        wanted: dict[int, str] = {}
        for count, _, name in rare:
            if count <= limit:
                for other in sorted(set(holders[name]) - {row}, reverse=True):
                    wanted.setdefault(other, name)
        assert neighbours(graph, row, most) == list(wanted.items())[:most]


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from(["Ada", "ADA", "Oslo", "the Fram", "Kiel"])), st.booleans()
        ),
        max_size=30,
    ),
    st.integers(1, 12),
)
def test_rows_that_do_not_count_change_nothing(
    named: list[tuple[set[str], bool]], most: int
) -> None:
    """Neither how often, nor how, others spell a name shows: all is as in a graph without them."""
    whole, alone = Graph(), Graph()
    mask = np.array([counts for _, counts in named], np.bool_)
    for row in [*range(len(named)), *range(0, len(named), 3)]:
        whole.put(row, sorted(named[row][0]))
        if mask[row]:
            alone.put(row, sorted(named[row][0]))
    among, everything = whole.namings(mask), alone.namings(np.ones_like(mask))
    for row in np.flatnonzero(mask).tolist():
        assert among.neighbours(row, most) == everything.neighbours(row, most)
    for name in ("ada", "OSLO", "The Fram", "nobody"):
        assert among.rows(name).tolist() == everything.rows(name).tolist()
        assert among.spelling(name) == everything.spelling(name)
