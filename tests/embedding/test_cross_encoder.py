"""A tiny cross-encoder with weights from a seed, made here, is loaded from its folder and run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from memory_core.embedding.cross_encoder import LABELS, MAX_PIECES, CrossEncoder
from memory_core.errors import EncoderUnavailable

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "port", "is", "now", "5432", "5433")
WEIGHTS = np.random.default_rng(7).normal(size=(len(WORDS), 3)).astype(np.float32)
PAIR = ("the port is 5432", "the port is now 5433")


def folder(place: Path, labels: tuple[str, ...] = LABELS, *, under: str = "", **graph: Any) -> Path:
    """The files of a model whose scores are the sum of the weights of the words, those of the
    second text counted twice; its graph *under* a folder."""
    (place / under).mkdir(parents=True)
    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(place / "tokenizer.json"))
    (place / "config.json").write_text(json.dumps({"id2label": dict(enumerate(labels))}))
    onnx.save(model(**graph), place / under / "model.onnx")
    return place


def model(inputs: tuple[str, ...] = ("input_ids", "token_type_ids"), scores: int = 3) -> Any:
    weights = numpy_helper.from_array(WEIGHTS[:, :scores], "weights")
    constants = [weights, numpy_helper.from_array(np.array([1], np.int64), "one")]
    constants += [numpy_helper.from_array(np.array([2], np.int64), "last")]
    nodes = [
        helper.make_node("Gather", ["weights", inputs[0]], ["words"]),
        helper.make_node("Add", [inputs[1], "one"], ["often"]),
        helper.make_node("Unsqueeze", ["often", "last"], ["column"]),
        helper.make_node("Cast", ["column"], ["counted"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["words", "counted"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "one"], ["logits"], keepdims=0),
    ]
    given = [helper.make_tensor_value_info(n, TensorProto.INT64, [None, None]) for n in inputs]
    told = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, scores])]
    graph = helper.make_graph(nodes, "tiny", given, told, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def expected(first: str, second: str) -> list[float]:
    """The probabilities by the weights, in the order of the model."""
    ids = [[WORDS.index(w) if w in WORDS else 1 for w in text.split()] for text in (first, second)]
    scores = WEIGHTS[[2, *ids[0], 3]].sum(0) + 2 * WEIGHTS[[*ids[1], 3]].sum(0)
    shares = np.exp(scores - scores.max())
    return [float(share) for share in shares / shares.sum()]


def test_probabilities_are_those_of_the_model_by_its_labels(tmp_path: Path) -> None:
    labels = ("Neutral", "Contradiction", "Entailment")
    found = CrossEncoder(folder(tmp_path / "nli", labels)).probabilities(*PAIR)
    assert [found[label.casefold()] for label in labels] == pytest.approx(expected(*PAIR), abs=1e-6)
    assert sum(found.values()) == pytest.approx(1)
    assert len({round(share, 4) for share in found.values()}) == 3


@pytest.mark.parametrize("named", ["nli", "nli/onnx", "nli/onnx/model.onnx"])
def test_the_graph_may_lie_in_a_folder_of_its_own(tmp_path: Path, named: str) -> None:
    folder(tmp_path / "nli", under="onnx")
    found = CrossEncoder(tmp_path / named).probabilities(*PAIR)
    assert [found[label] for label in LABELS] == pytest.approx(expected(*PAIR), abs=1e-6)


def test_of_two_long_texts_the_end_is_cut_off(tmp_path: Path) -> None:
    encoder = CrossEncoder(folder(tmp_path / "nli"))
    pieces = MAX_PIECES - 3
    long = encoder.probabilities("port " * 2_000, "now " * 2_000)
    halves = "port " * (pieces // 2 + pieces % 2), "now " * (pieces // 2)
    assert long == pytest.approx(encoder.probabilities(*halves), abs=1e-4)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"labels": ("no", "yes", "perhaps")}, "it has the labels no, perhaps, yes"),
        ({"inputs": ("pixels", "token_type_ids")}, "it asks for pixels, token_type_ids"),
        ({"scores": 2}, "its scores have the shape (2,)"),
    ],
)
def test_another_model_is_refused(tmp_path: Path, made: dict[str, Any], why: str) -> None:
    with pytest.raises(EncoderUnavailable) as raised:
        CrossEncoder(folder(tmp_path / "nli", **made))
    assert raised.value.problem.endswith(f"nli/model.onnx is no entailment model ({why})")
    assert "ANAMNESIS_JUDGE" in raised.value.next_step


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("model.onnx", "no model", "Protobuf parsing failed"),
        ("model.onnx", None, "it holds no ONNX file"),
        ("tokenizer.json", "{}", "Model missing"),
        ("tokenizer.json", None, "there is no tokenizer.json beside it"),
        ("config.json", "[]", "its config.json names no labels"),
        ("config.json", None, "there is no config.json beside it"),
    ],
)
def test_what_is_broken_or_missing_is_told(
    tmp_path: Path, name: str, text: str | None, why: str
) -> None:
    file = folder(tmp_path / "nli") / name
    file.unlink()
    if text is not None:
        file.write_text(text)
    with pytest.raises(EncoderUnavailable, match=re.escape(why)):
        CrossEncoder(tmp_path / "nli")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EncoderUnavailable, match="it is not there"):
        CrossEncoder(tmp_path / "nobody")


def test_of_several_models_one_has_to_be_named(tmp_path: Path) -> None:
    place = folder(tmp_path / "nli")
    (place / "model_int8.onnx").write_bytes((place / "model.onnx").read_bytes())
    with pytest.raises(EncoderUnavailable, match=r"several: model\.onnx, model_int8\.onnx"):
        CrossEncoder(place)
    CrossEncoder(place / "model_int8.onnx")
