"""Writes memory_core/embedding/minilm/graph.onnx: all-MiniLM-L6-v2 without its weights.

    python tools/build_graph.py            # needs the `dev` extra and the weights in place

Every weight is an external-data reference into the official model.safetensors: a file name, an
offset and a length. So the model ships as published and is mapped into memory. The same header
gives the same bytes each time; tests/embedding/test_graph.py holds the committed file to that.

The model is BERT (Devlin et al. 2019) with 6 layers, 384 wide, 12 heads, mean pooling over the
pieces that are not padding, scaled to unit length (Reimers and Gurevych 2019).
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

HOME = Path(__file__).parents[1] / "memory_core" / "embedding" / "minilm"
WEIGHTS = "model.safetensors"

LAYERS = 6
HIDDEN = 384
HEADS = 12
HEAD = HIDDEN // HEADS
LAYER_NORM_EPSILON = 1e-12
OPSET = 20  # the first with Gelu
IR_VERSION = 10


def header(path: Path) -> tuple[dict[str, Any], int]:
    """The table of tensors of the safetensors file *path*, and where its data section begins."""
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        table = json.loads(stream.read(length))
    table.pop("__metadata__", None)
    return table, 8 + length


class GraphBuilder:
    """Collects nodes and initializers; a method appends a step and returns its output's name."""

    def __init__(self, table: Mapping[str, Any], base: int) -> None:
        self.table = table
        self.base = base
        self.nodes: list[Any] = []
        self.initializers: list[TensorProto] = []

    def node(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """Append the operator *kind*; its output is named after it and its place."""
        output = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def weight(self, name: str) -> str:
        """The tensor *name* of the safetensors file, referenced where it lies."""
        if name not in {known.name for known in self.initializers}:
            entry = self.table[name]
            if entry["dtype"] != "F32":
                raise ValueError(f"{name} is {entry['dtype']}, expected F32")
            begin, end = entry["data_offsets"]
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=entry["shape"])
            tensor.data_location = TensorProto.EXTERNAL
            where = {"location": WEIGHTS, "offset": self.base + begin, "length": end - begin}
            for key, value in where.items():
                tensor.external_data.add(key=key, value=str(value))
            self.initializers.append(tensor)
        return name

    def constant(self, name: str, values: list[Any], kind: int, scalar: bool = False) -> str:
        """A small tensor kept inside the graph."""
        if name not in {known.name for known in self.initializers}:
            dims = [] if scalar else [len(values)]
            self.initializers.append(helper.make_tensor(name, kind, dims, values))
        return name

    def integers(self, *values: int) -> str:
        """A constant vector of int64, such as a shape."""
        name = "int_" + "_".join(str(value) for value in values)
        return self.constant(name, list(values), TensorProto.INT64)

    def scalar(self, name: str, value: float) -> str:
        """A constant float32."""
        return self.constant(name, [value], TensorProto.FLOAT, scalar=True)

    def linear(self, x: str, name: str) -> str:
        """x W^T + b for x of shape (rows, in). Gemm takes W as it is stored, without a copy."""
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("Gemm", [x, weight, bias], transB=1)

    def layer_norm(self, x: str, name: str) -> str:
        """Normalisation over the last axis."""
        inputs = [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("LayerNormalization", inputs, axis=-1, epsilon=LAYER_NORM_EPSILON)


def build(table: Mapping[str, Any], base: int) -> bytes:
    """The graph as bytes: input_ids and attention_mask, (n, pieces) int64 -> (n, 384) float32."""
    graph = GraphBuilder(table, base)
    # (n, pieces, 384) and (rows, 384) take turns: attention needs the first, Gemm the second
    shape = graph.node(
        "Concat", [graph.node("Shape", ["input_ids"]), graph.integers(HIDDEN)], axis=0
    )
    x = _embed(graph)
    bias = _padding_bias(graph)
    for number in range(LAYERS):
        x = _layer(graph, x, bias, f"encoder.layer.{number}")
    _pool(graph, graph.node("Reshape", [x, shape]))
    content: bytes = _model(graph).SerializeToString(deterministic=True)
    return content


def _embed(graph: GraphBuilder) -> str:
    """Word, position and segment embeddings, normalised: (rows, 384)."""
    words = graph.node("Gather", [graph.weight("embeddings.word_embeddings.weight"), "input_ids"])
    length = graph.node("Shape", ["input_ids"], start=1, end=2)
    places = graph.weight("embeddings.position_embeddings.weight")
    positions = graph.node("Slice", [places, graph.integers(0), length, graph.integers(0)])
    segments = graph.weight("embeddings.token_type_embeddings.weight")
    segment = graph.node("Gather", [segments, graph.integers(0)])  # a text alone is segment 0
    placed = graph.node("Add", [positions, segment])
    x = graph.node("Reshape", [graph.node("Add", [words, placed]), graph.integers(-1, HIDDEN)])
    return graph.layer_norm(x, "embeddings.LayerNorm")


def _padding_bias(graph: GraphBuilder) -> str:
    """(n, 1, 1, pieces): 0 where a piece counts, the lowest float where it is padding."""
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    absent = graph.node("Sub", [graph.scalar("one", 1.0), mask])
    lowest = graph.scalar("lowest", -3.4028234663852886e38)
    return graph.node("Unsqueeze", [graph.node("Mul", [absent, lowest]), graph.integers(1, 2)])


def _layer(graph: GraphBuilder, x: str, bias: str, name: str) -> str:
    """One layer on (rows, 384): attention and a feed-forward net, each added and normalised."""
    attended = graph.linear(
        _attention(graph, x, bias, f"{name}.attention.self"), f"{name}.attention.output.dense"
    )
    x = graph.layer_norm(graph.node("Add", [attended, x]), f"{name}.attention.output.LayerNorm")
    wide = graph.node("Gelu", [graph.linear(x, f"{name}.intermediate.dense")])
    narrow = graph.linear(wide, f"{name}.output.dense")
    return graph.layer_norm(graph.node("Add", [narrow, x]), f"{name}.output.LayerNorm")


def _attention(graph: GraphBuilder, x: str, bias: str, name: str) -> str:
    """Scaled dot-product attention of 12 heads: (rows, 384) -> (rows, 384)."""
    sizes = graph.node(
        "Concat", [graph.node("Shape", ["input_ids"]), graph.integers(HEADS, HEAD)], axis=0
    )
    heads = {}
    for part, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))):
        split = graph.node("Reshape", [graph.linear(x, f"{name}.{part}"), sizes])
        heads[part] = graph.node("Transpose", [split], perm=list(order))
    products = graph.node("MatMul", [heads["query"], heads["key"]])
    scaled = graph.node("Mul", [products, graph.scalar("scale", 1 / math.sqrt(HEAD))])
    shares = graph.node("Softmax", [graph.node("Add", [scaled, bias])], axis=-1)
    mixed = graph.node("MatMul", [shares, heads["value"]])
    joined = graph.node("Transpose", [mixed], perm=[0, 2, 1, 3])
    return graph.node("Reshape", [joined, graph.integers(-1, HIDDEN)])


def _pool(graph: GraphBuilder, x: str) -> None:
    """The mean over the pieces that count, at unit length, as the output `embedding`."""
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
    row = graph.node("Unsqueeze", [mask, graph.integers(1)])
    total = graph.node("Squeeze", [graph.node("MatMul", [row, x]), graph.integers(1)])
    count = graph.node("ReduceSum", [mask, graph.integers(1)], keepdims=1)
    mean = graph.node("Div", [total, count])
    length = graph.node("ReduceL2", [mean, graph.integers(1)], keepdims=1)
    graph.nodes.append(helper.make_node("Div", [mean, length], ["embedding"], name="embedding"))


def _model(graph: GraphBuilder) -> ModelProto:
    whole = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [_value(name, TensorProto.INT64, "pieces") for name in ("input_ids", "attention_mask")],
        [_value("embedding", TensorProto.FLOAT, HIDDEN)],
        graph.initializers,
    )
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(whole, opset_imports=opset, ir_version=IR_VERSION)


def _value(name: str, kind: int, second: str | int) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, ["n", second])


def main() -> None:
    """Write the graph beside the weights."""
    content = build(*header(HOME / WEIGHTS))
    (HOME / "graph.onnx").write_bytes(content)
    sys.stderr.write(f"{HOME / 'graph.onnx'}: {len(content)} bytes\n")


if __name__ == "__main__":
    main()
