from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding import acquisition, weights
from memory_core.embedding.base import Profile
from memory_core.embedding.embedder import choose
from memory_core.embedding.minilm import MiniLM
from memory_core.errors import EncoderUnavailable

HERE = Path(__file__).parent
TEXTS: list[str] = json.loads((HERE / "golden_texts.json").read_text(encoding="utf-8"))
CONFIGURATION = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling",
         "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize",
         "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
    "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
    "tokenizer_config.json": {"tokenizer_class": "BertTokenizerFast", "do_lower_case": True},
    "config.json": {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
        "hidden_size": 384, "intermediate_size": 1536, "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512, "num_attention_heads": 12, "num_hidden_layers": 6,
        "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": 30522,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, minilm: MiniLM) -> Path:
    """The official weights as a folder that sentence-transformers can load."""
    pytest.importorskip("sentence_transformers", reason="comes with the parity extra")
    folder = tmp_path_factory.mktemp("model") / "local-model"
    for name, content in CONFIGURATION.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    (folder / "2_Normalize").mkdir()
    source = acquisition.locate(Settings(offline=True))
    for name in weights.FILES:
        os.link(source / name, folder / name) if _same_device(source, folder) else shutil.copyfile(
            source / name, folder / name
        )
    return folder


def _same_device(one: Path, other: Path) -> bool:
    return one.stat().st_dev == other.stat().st_dev


def cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    products: NDArray[np.float32] = (a * b).sum(axis=1)
    return products


def test_minilm_and_sentence_transformers_agree(model: Path, minilm: MiniLM) -> None:
    other = choose(Settings(embedder=f"sentence-transformers:{model}", offline=True))
    assert cosines(minilm.documents(TEXTS), other.documents(TEXTS)).min() >= 0.9999
    queries = np.stack([other.query(text) for text in TEXTS])
    assert cosines(minilm.documents(TEXTS), queries).min() >= 0.9999
    assert other.fingerprint == minilm.fingerprint
    assert other.documents([]).shape == (0, 384)


def test_another_length_limit_is_another_fingerprint(model: Path, minilm: MiniLM) -> None:
    limit = model / "sentence_bert_config.json"
    before = limit.read_text()
    limit.write_text(json.dumps({"max_seq_length": 128, "do_lower_case": False}))
    try:
        other = choose(Settings(embedder=f"sentence-transformers:{model}", offline=True))
    finally:
        limit.write_text(before)
    assert other.fingerprint != minilm.fingerprint
    assert other.fingerprint.startswith("local-model:")
    assert other.fingerprint.endswith(":128")


def test_prefixes_go_where_they_belong(model: Path, minilm: MiniLM) -> None:
    settings = Settings(
        embedder=f"sentence-transformers:{model}",
        offline=True,
    )
    other = choose(settings, Profile("query: ", "passage: "))
    assert float(other.query("x") @ minilm.query("query: x")) >= 0.9999
    assert float(other.documents(["x"])[0] @ minilm.query("passage: x")) >= 0.9999
    assert other.fingerprint.startswith(minilm.fingerprint + ":")


def test_unknown_model_offline_names_both_ways_out(model: Path) -> None:
    with pytest.raises(EncoderUnavailable) as caught:
        choose(Settings(embedder="sentence-transformers:nobody/no-such-model", offline=True))
    assert "name a folder" in caught.value.next_step
    assert "ANAMNESIS_OFFLINE" in caught.value.next_step


def test_damaged_model_is_named(model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(model, broken)
    (broken / weights.MODEL).unlink()
    (broken / weights.MODEL).write_bytes(b"\xff" * 64)
    with pytest.raises(EncoderUnavailable, match="cannot be loaded"):
        choose(Settings(embedder=f"sentence-transformers:{broken}", offline=True))


def test_missing_library_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EncoderUnavailable) as caught:
        choose(Settings(embedder="sentence-transformers:BAAI/bge-m3"))
    assert "pip install 'anamnesis-mcp[sentence-transformers]'" in caught.value.next_step
