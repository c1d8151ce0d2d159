from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding import acquisition, weights
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import choose
from memory_core.embedding.minilm import MiniLM
from memory_core.errors import EncoderUnavailable, InvalidInput
from tests.processes import Processes

HERE = Path(__file__).parent
TEXTS: list[str] = json.loads((HERE / "golden_texts.json").read_text(encoding="utf-8"))
GOLDEN: NDArray[np.float32] = np.load(HERE / "golden_vectors.npy")
"""What sentence-transformers 6.2.0 with torch 2.13.0 makes of TEXTS, from the same weights."""


def cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    products: NDArray[np.float32] = (a * b).sum(axis=1)
    return products


def test_batch_of_mixed_lengths_agrees_with_sentence_transformers(minilm: MiniLM) -> None:
    vectors = minilm.documents(TEXTS)
    assert vectors.dtype == np.float32
    assert cosines(vectors, GOLDEN).min() >= 0.9999
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_one_at_a_time_agrees_with_sentence_transformers(minilm: MiniLM) -> None:
    vectors = np.stack([minilm.query(text) for text in TEXTS])
    assert cosines(vectors, GOLDEN).min() >= 0.9999


@settings(max_examples=5, deadline=None)
@given(rows=st.lists(st.integers(0, 17), max_size=12))
def test_vectors_come_in_the_order_of_the_texts(minilm: MiniLM, rows: list[int]) -> None:
    vectors = minilm.documents([TEXTS[row] for row in rows])
    assert vectors.shape == (len(rows), 384)
    assert (cosines(vectors, GOLDEN[rows]) >= 0.9999).all()


def test_order_holds_over_many_batches_and_both_threads(minilm: MiniLM) -> None:
    rows = [row % 5 for row in range(600)]  # the short ones; more than one window
    random.Random(7).shuffle(rows)
    vectors = minilm.documents([TEXTS[row] for row in rows])
    assert (cosines(vectors, GOLDEN[rows]) >= 0.9999).all()


def test_callers_side_by_side_get_their_own_vectors(minilm: MiniLM) -> None:
    rows = [row % 14 for row in range(80)]
    with ThreadPoolExecutor(8) as pool:
        vectors = np.stack(list(pool.map(minilm.query, [TEXTS[row] for row in rows])))
    assert (cosines(vectors, GOLDEN[rows]) >= 0.9999).all()


def test_what_follows_256_pieces_does_not_count(minilm: MiniLM) -> None:
    first, second = minilm.documents(["cat " * 254 + "dog " * 500, "cat " * 254 + "lawyer"])
    shorter = minilm.query("cat " * 253 + "dog")
    assert float(first @ second) > 0.99999
    assert float(first @ shorter) < 0.99999


def test_no_texts_give_an_empty_array(minilm: MiniLM) -> None:
    assert minilm.documents([]).shape == (0, 384)


def test_lone_surrogate_is_invalid_input(minilm: MiniLM) -> None:
    with pytest.raises(InvalidInput, match="position 1"):
        minilm.documents(["fine", "a\ud800b"])


def test_fingerprint_names_weights_and_length(minilm: MiniLM) -> None:
    assert minilm.fingerprint == "all-MiniLM-L6-v2:53aa5117:256"
    assert (minilm.name, minilm.dimension) == ("all-MiniLM-L6-v2", 384)


def test_query_prefix_goes_to_queries_only(minilm: MiniLM) -> None:
    folder = acquisition.locate(Settings(offline=True))
    prefixed = MiniLM(folder, Profile(query_prefix="Where? "))
    np.testing.assert_allclose(prefixed.query("the key"), minilm.query("Where? the key"), atol=1e-6)
    np.testing.assert_allclose(
        prefixed.documents(["the key"]), minilm.documents(["the key"]), atol=1e-6
    )
    assert prefixed.fingerprint == minilm.fingerprint


def test_document_prefix_goes_to_documents_and_into_the_fingerprint(minilm: MiniLM) -> None:
    folder = acquisition.locate(Settings(offline=True))
    prefixed = MiniLM(folder, Profile(document_prefix="passage: "))
    np.testing.assert_allclose(
        prefixed.documents(["x"]), minilm.documents(["passage: x"]), atol=1e-6
    )
    np.testing.assert_allclose(prefixed.query("x"), minilm.query("x"), atol=1e-6)
    assert prefixed.fingerprint != minilm.fingerprint


def test_another_dimension_in_the_settings_is_refused(minilm: MiniLM) -> None:
    folder = acquisition.locate(Settings(offline=True))
    with pytest.raises(EncoderUnavailable, match="384 numbers a text instead of 768"):
        MiniLM(folder, Profile(dimension=768))


def flip(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(60_000_000)
        byte = stream.read(1)[0]
        stream.seek(60_000_000)
        stream.write(bytes([byte ^ 0x40]))


def cut(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.truncate(60_000_000)


@pytest.fixture
def own_copy(minilm: MiniLM, tmp_path: Path) -> Path:
    """A copy of the real weights that a test may damage."""
    source = acquisition.locate(Settings(offline=True))
    for name in weights.FILES:
        shutil.copyfile(source / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize(
    ("harm", "said"),
    [(flip, "wrong content"), (cut, "60000000 bytes instead of"), (Path.unlink, "is missing")],
    ids=["flipped", "truncated", "missing"],
)
def test_damaged_weights_are_refused_with_the_fix(
    harm: Callable[[Path], None], said: str, own_copy: Path
) -> None:
    assert choose(Settings(model_dir=own_copy)).dimension == 384
    harm(own_copy / weights.MODEL)
    with pytest.raises(EncoderUnavailable, match=said) as caught:
        choose(Settings(model_dir=own_copy))
    assert "anamnesis setup" in caught.value.next_step


def test_wrong_vectors_are_noticed_even_when_nobody_looked_at_the_hash(own_copy: Path) -> None:
    with (own_copy / weights.MODEL).open("r+b") as stream:
        stream.seek(60_000_000)
        stream.write(bytes(weights.FILES[weights.MODEL].size - 60_000_000))
    with pytest.raises(EncoderUnavailable, match=r"wrong vectors|not finite") as caught:
        MiniLM(own_copy)
    assert caught.value.next_step


def test_truncated_weights_are_refused_even_when_nobody_looked_at_the_hash(own_copy: Path) -> None:
    cut(own_copy / weights.MODEL)
    with pytest.raises(EncoderUnavailable, match="cannot be loaded"):
        MiniLM(own_copy)


def test_linked_weights_load(own_copy: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    links = tmp_path_factory.mktemp("Gewichte für später")
    for name in weights.FILES:
        (links / name).symlink_to(own_copy / name)
    vectors = choose(Settings(model_dir=links)).documents(TEXTS[:3])
    assert cosines(vectors, GOLDEN[:3]).min() >= 0.9999


def test_the_model_writes_nothing_into_the_home_directory(processes: Processes) -> None:
    folder = acquisition.locate(Settings(offline=True))
    code = "import sys, pathlib; from memory_core.embedding.minilm import MiniLM; "
    code += "print(len(MiniLM(pathlib.Path(sys.argv[1])).query('one')))"
    environment = {**processes.environment}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    done = processes.run(sys.executable, "-c", code, str(folder), env=environment)
    assert (done.stdout.strip(), done.returncode) == ("384", 0), done.stderr
    assert list(processes.home.rglob("*")) == []
