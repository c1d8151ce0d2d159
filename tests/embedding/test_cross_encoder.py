"""A tiny cross-encoder with random weights, made here, is loaded from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_core.config import Settings
from memory_core.embedding.cross_encoder import CrossEncoderEntailment
from memory_core.errors import EncoderUnavailable
from memory_core.gist.base import RELATIONS
from memory_core.gist.encoder import choose

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "port", "is", "now", "mara", "graz")


def folder(tmp_path: Path, labels: tuple[str, ...]) -> Path:
    """A BERT of one layer for *labels*, the same weights each time."""
    pytest.importorskip("sentence_transformers", reason="comes with the parity extra")
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"))
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        id2label=dict(enumerate(labels)),
        label2id={label: place for place, label in enumerate(labels)},
        initializer_range=2.0,
    )
    model = BertForSequenceClassification(config)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def test_probabilities_follow_the_labels_of_the_model(tmp_path: Path) -> None:
    one = ("contradiction", "entailment", "neutral")
    other = ("neutral", "contradiction", "entailment")
    pair = ("the port is 5432", "the port is now 5433")
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    a = CrossEncoderEntailment(str(folder(tmp_path / "one", one))).probabilities(*pair)
    b = CrossEncoderEntailment(str(folder(tmp_path / "other", other))).probabilities(*pair)
    assert sum(a.values()) == pytest.approx(1)
    assert [a[label] for label in one] == pytest.approx([b[label] for label in other])
    assert len({round(share, 6) for share in a.values()}) == 3


def test_the_encoder_relates_texts_with_it(tmp_path: Path) -> None:
    place = folder(tmp_path, ("Contradiction", "Entailment", "Neutral"))
    encoder = choose(Settings(encoder="classifier", encoder_model=str(place)))
    found = encoder.relate("mara lives in graz", "mara lives in linz")
    assert found.relation in RELATIONS
    assert found == encoder.relate("mara lives in graz", "mara lives in linz")


def test_other_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderUnavailable, match="labels contradiction, entailment, neutral"):
        CrossEncoderEntailment(str(folder(tmp_path, ("no", "yes", "perhaps"))))


def test_a_model_that_is_not_there_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(EncoderUnavailable):
        CrossEncoderEntailment("nobody/no-such-entailment-model")
