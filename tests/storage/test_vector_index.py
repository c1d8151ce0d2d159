"""Vector index against numpy and against a plain dict."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.errors import InvalidInput, StorageError
from memory_core.storage.index import faiss_scans
from memory_core.storage.index.vectors import VectorIndex

Vectors = NDArray[np.float32]


def unit(vectors: NDArray[Any]) -> Vectors:
    """*vectors* at length 1, rounded to the half precision that the index keeps."""
    scaled = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled.astype(np.float16).astype(np.float32)


def random_vectors(count: int, dimension: int, seed: int = 1) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(count, dimension)))


def clustered(count: int, dimension: int, clusters: int, noise: float) -> Vectors:
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(clusters, dimension)).astype(np.float32)
    spread = rng.standard_normal((count, dimension), np.float32)
    return unit(centres[rng.integers(0, clusters, count)] + noise * spread)


def three_parts(rows: int, dimension: int) -> tuple[NDArray[Any], NDArray[Any], Vectors]:
    """*rows* memories of one whole vector and two passages each."""
    return (
        np.repeat(np.arange(rows), 3),
        np.tile([0, 1, 2], rows),
        random_vectors(3 * rows, dimension),
    )


def recall_at_10(index: VectorIndex, vectors: Vectors, queries: Vectors) -> float:
    """Share of numpy's ten nearest of *vectors* (row i holds vector i) that *index* returns."""
    truth = np.argpartition(-(queries @ vectors.T), 10, axis=1)[:, :10]
    found = [index.search(query, 10, part="whole")[0] for query in queries]
    hits = [np.intersect1d(expected, got).size for expected, got in zip(truth, found, strict=True)]
    return sum(hits) / truth.size


def filled(vectors: Vectors, **options: Any) -> VectorIndex:
    index = VectorIndex(vectors.shape[1], **options)
    rows = np.arange(len(vectors))
    index.put_many(rows, np.zeros_like(rows), vectors)
    return index


# exact search


def test_whole_search_returns_the_rows_order_and_values_of_numpy() -> None:
    rows, parts, vectors = three_parts(300, 24)
    index = VectorIndex(24)
    index.put_many(rows, parts, vectors)
    for query in random_vectors(20, 24, seed=2):
        expected = vectors[::3] @ query
        found, scores = index.search(query, 15, part="whole")
        assert found.tolist() == np.argsort(-expected)[:15].tolist()
        np.testing.assert_allclose(scores, expected[found], atol=1e-3)


def test_passage_search_takes_the_best_passage_and_each_row_once() -> None:
    rows, parts, vectors = three_parts(300, 24)
    index = VectorIndex(24)
    index.put_many(rows, parts, vectors)
    for query in random_vectors(20, 24, seed=3):
        expected = (vectors @ query).reshape(-1, 3)[:, 1:].max(axis=1)
        found, scores = index.search(query, 40, part="passage")
        assert found.tolist() == np.argsort(-expected)[:40].tolist()
        np.testing.assert_allclose(scores, expected[found], atol=1e-3)


def test_one_row_whose_passages_fill_the_top_does_not_crowd_others_out() -> None:
    index = VectorIndex(8)
    near = unit(np.eye(8)[0] + 0.01 * random_vectors(400, 8))
    index.put(0, range(400), near)
    others = random_vectors(5, 8, seed=4)
    index.put_many(np.arange(1, 6), np.zeros(5, np.int64), others)
    found, _ = index.search(np.eye(8, dtype=np.float32)[0], 6, part="passage")
    assert sorted(found.tolist()) == [0, 1, 2, 3, 4, 5]


def test_a_text_of_one_passage_is_found_as_passage_by_its_whole_vector() -> None:
    index = VectorIndex(4)
    index.put(0, [0], np.eye(4)[:1])
    index.put(1, [0, 1], np.eye(4)[[0, 1]])
    query = np.eye(4, dtype=np.float32)[0]
    assert index.search(query, 5, part="passage")[0].tolist() == [0, 1]
    assert index.search(query, 5, part="passage")[1].tolist() == [1.0, 0.0]
    assert index.search(query, 5, part="whole")[1].tolist() == [1.0, 1.0]


def test_gists_are_found_as_gists_only() -> None:
    index = VectorIndex(4)
    index.put(0, [0, -1], np.eye(4)[:2])
    gist = np.eye(4, dtype=np.float32)[1]
    assert index.search(gist, 5, part="gist")[1].tolist() == [1.0]
    assert index.search(gist, 5, part="whole")[1].tolist() == [0.0]
    assert index.search(gist, 5, part="passage")[1].tolist() == [0.0]


def test_mask_is_applied_before_the_cut() -> None:
    vectors = random_vectors(500, 16)
    index = filled(vectors)
    allowed = np.zeros(500, np.bool_)
    allowed[[3, 77, 401]] = True
    found, _ = index.search(vectors[0], 10, part="whole", allowed=allowed)
    expected = [row for row in np.argsort(-(vectors @ vectors[0])).tolist() if allowed[row]]
    assert found.tolist() == expected


def test_mask_that_does_not_cover_every_row_is_refused() -> None:
    index = filled(random_vectors(10, 8))
    with pytest.raises(InvalidInput):
        index.search(np.zeros(8, np.float32), 3, part="whole", allowed=np.ones(9, np.bool_))


def test_equal_vectors_are_ordered_by_row() -> None:
    index = filled(np.repeat(np.eye(4, dtype=np.float32)[:1], 20, axis=0))
    assert index.search(np.eye(4, dtype=np.float32)[0], 20, part="whole")[0].tolist() == [
        *range(20)
    ]


def test_empty_index_and_empty_mask_return_nothing() -> None:
    index = VectorIndex(8)
    assert index.search(np.ones(8, np.float32), 5, part="whole")[0].size == 0
    index.put(4, [0], random_vectors(1, 8))
    none = np.zeros(5, np.bool_)
    assert index.search(np.ones(8, np.float32), 5, part="whole", allowed=none)[0].size == 0
    assert index.search(np.ones(8, np.float32), 0, part="whole")[0].size == 0


# changes


def test_put_replaces_what_the_row_had() -> None:
    index = VectorIndex(4)
    index.put(0, [0, 1, 2], np.eye(4)[:3])
    index.put(0, [0], np.eye(4)[3:])
    assert (len(index), index.rows_with_vectors) == (1, 1)
    found = index.similarities(np.eye(4, dtype=np.float32)[1], np.array([0]), part="passage")
    assert found.tolist() == [0.0]


def test_put_many_replaces_rows_that_are_known() -> None:
    index = filled(random_vectors(10, 4))
    index.put_many(np.array([3, 4]), np.array([0, 0]), np.eye(4)[:2])
    assert (len(index), index.rows_with_vectors) == (10, 10)
    np.testing.assert_array_equal(index.wholes(np.array([4, 3])), np.eye(4)[[1, 0]])


def test_parts_of_a_row_may_arrive_apart_in_one_batch() -> None:
    index = VectorIndex(4)
    rows, parts = np.array([5, 2, 5, 2]), np.array([0, 0, 1, 1])
    index.put_many(rows, parts, np.eye(4))
    query = np.eye(4, dtype=np.float32)[2]
    assert index.similarities(query, np.array([5, 2]), part="passage").tolist() == [1.0, 0.0]
    assert index.similarities(query, np.array([5, 2]), part="whole").tolist() == [0.0, 0.0]


def test_removed_rows_are_gone_at_once_and_their_bytes_when_they_are_many() -> None:
    vectors = random_vectors(300, 16)
    index = filled(vectors)
    for row in range(0, 300, 2):
        index.remove(row)
        found, _ = index.search(vectors[row], 300, part="whole")
        assert found.size == len(index) == index.rows_with_vectors
        assert row not in found
        assert not index.has(row)
        assert index._entries.dead <= max(64, 0.3 * (len(index) + index._entries.dead))
    assert index._entries.dead < 150
    expected = [row for row in np.argsort(-(vectors @ vectors[1])).tolist() if row % 2]
    assert index.search(vectors[1], 300, part="whole")[0].tolist() == expected


def test_absent_rows_are_nan() -> None:
    index = VectorIndex(4)
    index.put(1, [0], np.eye(4)[:1])
    rows = np.array([0, 1, 9, -1])
    similarity = index.similarities(np.eye(4, dtype=np.float32)[0], rows, part="passage")
    assert np.isnan(similarity).tolist() == [True, False, True, True]
    assert np.isnan(index.wholes(rows)).any(axis=1).tolist() == [True, False, True, True]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_values_that_are_not_finite_are_refused_and_nothing_changes(value: float) -> None:
    index = filled(np.eye(4, dtype=np.float32))
    bad = np.eye(4)
    bad[2, 2] = value
    with (
        np.errstate(over="ignore"),
        pytest.raises(StorageError),
    ):
        index.put_many(np.arange(4), np.zeros(4, np.int64), bad)
    np.testing.assert_array_equal(index.wholes(np.arange(4)), np.eye(4))


def test_another_dimension_is_refused() -> None:
    index = VectorIndex(4)
    with pytest.raises(StorageError):
        index.put(0, [0], np.ones((1, 5)))
    index.put(0, [0], np.eye(4)[:1])
    with pytest.raises(StorageError):
        index.search(np.ones(5, np.float32), 3, part="whole")


Operation = tuple[str, int, list[list[int]]]
_VECTOR = st.lists(st.integers(-3, 3), min_size=4, max_size=4).filter(any)
_OPERATION = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 12), st.lists(_VECTOR, min_size=1, max_size=4)),
    st.tuples(st.just("remove"), st.integers(0, 12), st.just([])),
)


@settings(max_examples=30, deadline=None)
@given(
    operations=st.lists(_OPERATION, max_size=40),
    query=_VECTOR,
    k=st.integers(1, 15),
    exact_limit=st.sampled_from([0, 1_000]),
    masked=st.sets(st.integers(0, 12)),
)
def test_any_sequence_of_changes_agrees_with_a_dict(
    operations: list[Operation], query: list[int], k: int, exact_limit: int, masked: set[int]
) -> None:
    index, model = VectorIndex(4, exact_limit=exact_limit), dict[int, Vectors]()
    for name, row, raw in operations:
        if name == "put":
            model[row] = unit(np.array(raw, np.float32))
            index.put(row, range(len(raw)), model[row])
        else:
            model.pop(row, None)
            index.remove(row)
    point = unit(np.array([query], np.float32))[0]
    allowed = np.array([row not in masked for row in range(13)])
    best = {
        row: float((vectors[1:] if len(vectors) > 1 else vectors).dot(point).max())
        for row, vectors in model.items()
        if row not in masked
    }
    rows, scores = index.search(point, k, part="passage", allowed=allowed)
    assert len(set(rows.tolist())) == rows.size == min(k, len(best))
    np.testing.assert_allclose(scores, sorted(best.values(), reverse=True)[:k], atol=1e-3)
    np.testing.assert_allclose(scores, [best[row] for row in rows.tolist()], atol=1e-3)
    assert len(index) == sum(map(len, model.values()))
    assert index.rows_with_vectors == len(model)
    assert [index.has(row) for row in range(13)] == [row in model for row in range(13)]


# many vectors


def test_sign_bits_find_what_numpy_finds_among_many_clustered_vectors() -> None:
    vectors = clustered(30_000, 384, 450, 0.7)
    index = filled(vectors)
    assert (index.method, index.fallback) == ("binary", "")
    rng = np.random.default_rng(8)
    near = vectors[rng.integers(0, len(vectors), 60)]
    queries = unit(near + 0.03 * rng.standard_normal(near.shape, np.float32))
    assert recall_at_10(index, vectors, queries) >= 0.99


def test_sign_bits_honour_mask_part_and_removal() -> None:
    vectors = clustered(30_000, 64, 300, 0.7)
    index = filled(vectors)
    assert index.method == "binary"
    allowed = np.random.default_rng(2).random(len(vectors)) < 0.9
    query = vectors[17]
    index.remove(17)
    found, scores = index.search(query, 10, part="whole", allowed=allowed)
    expected = np.where(allowed, vectors @ query, -2.0)
    expected[17] = -2.0
    assert found.tolist() == np.argsort(-expected, kind="stable")[:10].tolist()
    np.testing.assert_allclose(scores, expected[found], atol=1e-3)


def test_vectors_whose_signs_say_nothing_are_searched_exactly() -> None:
    rng = np.random.default_rng(3)
    angle = rng.random(20_000) * 2 * np.pi
    vectors = 1e-3 * rng.standard_normal((20_000, 32))
    vectors[:, 0], vectors[:, 1] = np.cos(angle), np.sin(angle)
    vectors = unit(vectors)
    index = filled(vectors, exact_limit=5_000)
    assert index.method == "exact"
    assert "recall@10" in index.fallback
    query = vectors[5]
    expected = np.sort(vectors @ query)[::-1][:10]
    np.testing.assert_allclose(index.search(query, 10, part="whole")[1], expected, atol=1e-6)


def test_method_follows_the_number_of_vectors() -> None:
    vectors = clustered(3_000, 32, 50, 0.5)
    index = filled(vectors[:1_000], exact_limit=1_000)
    assert index.method == "exact"
    index.put_many(np.arange(1_000, 3_000), np.zeros(2_000, np.int64), vectors[1_000:])
    assert index.method == "binary"
    assert filled(vectors, exact_limit=3_000).method == "exact"
    for row in range(2_500):
        index.remove(row)
    assert index.method == "exact"


# snapshots


def _save(index: VectorIndex, folder: Path) -> Path:
    index.frozen().write(folder, sequence=41, fingerprint="model-a")
    return folder


def _search_all(index: VectorIndex, queries: Vectors) -> list[tuple[list[int], list[float]]]:
    found = [index.search(query, 20, part="passage") for query in queries]
    return [(rows.tolist(), scores.tolist()) for rows, scores in found]


@pytest.mark.parametrize(("limit", "method"), [(20_000, "exact"), (0, "binary")])
def test_a_mapped_snapshot_answers_as_the_index_did(
    tmp_path: Path, limit: int, method: str
) -> None:
    vectors = clustered(6_000, 32, 40, 0.5)
    index = filled(vectors, exact_limit=limit)
    for row in range(100, 200):
        index.remove(row)
    before = _search_all(index, vectors[:20])
    folder = _save(index, tmp_path / "1")
    loaded, sequence = VectorIndex.load(folder, fingerprint="model-a", exact_limit=limit)
    assert (sequence, loaded.method, len(loaded)) == (41, method, 5_900)
    assert _search_all(loaded, vectors[:20]) == before
    assert _search_all(index, vectors[:20]) == before


@pytest.mark.parametrize("read", [0, faiss_scans.READ_BYTES])
def test_a_snapshot_takes_changes_and_can_be_saved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: int
) -> None:
    monkeypatch.setattr(faiss_scans, "READ_BYTES", read)
    vectors = random_vectors(200, 16)
    folder = _save(filled(vectors[:150]), tmp_path / "1")
    index, _ = VectorIndex.load(folder, fingerprint="model-a")
    index.put_many(np.arange(150, 200), np.zeros(50, np.int64), vectors[150:])
    index.put(3, [0], vectors[199:200])
    index.remove(4)
    again, _ = VectorIndex.load(_save(index, tmp_path / "2"), fingerprint="model-a")
    changed = vectors.copy()
    changed[3] = vectors[199]
    for query in vectors[::10]:
        expected = changed @ query
        expected[4] = -2.0
        for either in (index, again):
            found, scores = either.search(query, 10, part="whole")
            np.testing.assert_allclose(scores, np.sort(expected)[::-1][:10], atol=1e-3)
            np.testing.assert_allclose(scores, expected[found], atol=1e-3)


def test_removed_vectors_are_in_no_file_of_a_snapshot(tmp_path: Path) -> None:
    vectors = random_vectors(50, 16)
    index = filled(vectors)
    index.remove(7)
    folder = _save(index, tmp_path / "1")
    held = b"".join(path.read_bytes() for path in folder.iterdir())
    assert vectors[8].astype(np.float16).tobytes() in held
    assert vectors[7].astype(np.float16).tobytes() not in held


@pytest.mark.parametrize("limit", [20_000, 0])
def test_what_was_frozen_is_written_though_the_index_goes_on(tmp_path: Path, limit: int) -> None:
    vectors = clustered(600, 16, 20, 0.5)
    index = filled(vectors[:300], exact_limit=limit)
    index.remove(7)
    frozen, before = index.frozen(), _search_all(index, vectors[:20])
    index.put_many(np.arange(300, 600), np.zeros(300, np.int64), vectors[300:])
    for row in range(0, 600, 2):
        index.remove(row)  # so many that the index is built anew
    index.put(8, [0], vectors[590:591])
    frozen.write(tmp_path / "1", sequence=1, fingerprint="x")
    loaded, _ = VectorIndex.load(tmp_path / "1", fingerprint="x", exact_limit=limit)
    after = _search_all(loaded, vectors[:20])
    assert [rows for rows, _ in after] == [rows for rows, _ in before]
    np.testing.assert_allclose([s for _, s in after], [s for _, s in before], atol=1e-6)


def test_rows_are_found_again_by_id_and_ids_that_are_gone_are_left_out(tmp_path: Path) -> None:
    vectors = random_vectors(6, 16)
    ids = ["a", "b", "c", "d", "e", "f"]
    filled(vectors).frozen(ids).write(tmp_path / "1", sequence=1, fingerprint="x")
    rows = {"f": 0, "e": 1, "a": 4, "b": 9}
    index, _ = VectorIndex.load(tmp_path / "1", fingerprint="x", row=rows.get)
    assert (len(index), index.rows_with_vectors) == (4, 4)
    np.testing.assert_array_equal(index.wholes(np.array([0, 1, 4, 9])), vectors[[5, 4, 0, 1]])
    found = index.search(vectors[2], 10, part="whole")[0]
    assert sorted(found.tolist()) == [0, 1, 4, 9]


def test_an_empty_index_can_be_saved_and_loaded(tmp_path: Path) -> None:
    folder = _save(VectorIndex(8), tmp_path / "1")
    index, _ = VectorIndex.load(folder, fingerprint="model-a")
    assert len(index) == 0
    index.put(0, [0], random_vectors(1, 8))
    assert index.search(random_vectors(1, 8)[0], 3, part="whole")[0].tolist() == [0]


def test_a_snapshot_with_another_limit_is_taken_over_with_the_new_method(tmp_path: Path) -> None:
    vectors = clustered(6_000, 32, 40, 0.5)
    folder = _save(filled(vectors, exact_limit=0), tmp_path / "1")
    assert VectorIndex.load(folder, fingerprint="model-a", exact_limit=6_000)[0].method == "exact"
    folder = _save(filled(vectors), tmp_path / "2")
    assert VectorIndex.load(folder, fingerprint="model-a", exact_limit=0)[0].method == "binary"


def test_snapshot_files_are_private(tmp_path: Path) -> None:
    folder = _save(filled(random_vectors(600, 8), exact_limit=0), tmp_path / "1")
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


@pytest.mark.parametrize("damage", [_flip, _shorten, Path.unlink])
def test_damage_to_any_file_is_an_error(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    index = filled(random_vectors(1_200, 16), exact_limit=0)
    names = sorted(path.name for path in _save(index, tmp_path / "0").iterdir())
    assert len(names) == 6
    for number, name in enumerate(names, start=1):
        folder = _save(index, tmp_path / str(number))
        damage(folder / name)
        with pytest.raises(StorageError):
            VectorIndex.load(folder, fingerprint="model-a", exact_limit=0)


def test_a_snapshot_of_another_model_or_none_is_an_error(tmp_path: Path) -> None:
    folder = _save(filled(random_vectors(10, 8)), tmp_path / "1")
    with pytest.raises(StorageError):
        VectorIndex.load(folder, fingerprint="model-b")
    with pytest.raises(StorageError):
        VectorIndex.load(tmp_path / "2", fingerprint="model-a")


def test_a_changed_manifest_is_an_error(tmp_path: Path) -> None:
    folder = _save(filled(random_vectors(10, 8)), tmp_path / "1")
    facts = json.loads((folder / "manifest.json").read_text())
    facts["sequence"] += 1
    (folder / "manifest.json").write_text(json.dumps(facts))
    with pytest.raises(StorageError):
        VectorIndex.load(folder, fingerprint="model-a")


@pytest.mark.usefixtures("processes")
def test_faiss_is_imported_at_first_use_only() -> None:
    code = (
        "import sys; from memory_core.storage.index.vectors import VectorIndex; "
        "VectorIndex(8); print('faiss' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_snapshot_of_memories_that_are_all_gone_finds_nothing(tmp_path: Path) -> None:
    """Found by the kill campaign: no row is left, and the entries of the snapshot have none."""
    vectors = random_vectors(3, 8)
    filled(vectors).frozen(["a", "b", "c"]).write(tmp_path / "1", sequence=1, fingerprint="m")
    index, _ = VectorIndex.load(tmp_path / "1", fingerprint="m", row=lambda id: None)
    nobody = np.zeros(0, np.bool_)
    for part in ("whole", "passage"):
        rows, cosines = index.search(vectors[0], 3, part=part, allowed=nobody)
        assert (rows.size, cosines.size) == (0, 0)


def test_a_snapshot_that_is_cut_short_under_its_reader_goes_on_answering(tmp_path: Path) -> None:
    index = VectorIndex(16, exact_limit=100_000)
    vectors = np.random.default_rng(8).normal(size=(5000, 16)).astype(np.float16)
    rows = np.arange(len(vectors))
    index.put_many(rows, np.zeros(len(rows), np.int64), vectors)
    folder = tmp_path / "1"
    folder.mkdir()
    index.frozen().write(folder, sequence=1, fingerprint="toy")
    loaded, _ = VectorIndex.load(folder, fingerprint="toy", exact_limit=100_000)
    for path in folder.iterdir():
        path.write_bytes(b"")
    np.testing.assert_array_equal(loaded.wholes(rows), index.wholes(rows))
