from __future__ import annotations

import importlib.util
import json
import struct
from pathlib import Path
from types import ModuleType

import onnx
import pytest

from memory_core.config import Settings
from memory_core.embedding import acquisition, weights
from memory_core.embedding.minilm import MiniLM


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "build_graph.py"
    spec = importlib.util.spec_from_file_location("build_graph", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rebuilding_gives_the_committed_bytes(builder: ModuleType, minilm: MiniLM) -> None:
    table, base = builder.header(acquisition.locate(Settings(offline=True)) / weights.MODEL)
    committed = (acquisition.PACKAGED / "graph.onnx").read_bytes()
    assert builder.build(table, base) == committed
    assert len(committed) < 32_000


def test_every_weight_is_referenced_where_the_safetensors_header_says(minilm: MiniLM) -> None:
    model = acquisition.locate(Settings(offline=True)) / weights.MODEL
    with model.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header = json.loads(stream.read(length))
    graph = onnx.load(acquisition.PACKAGED / "graph.onnx", load_external_data=False).graph
    seen = {}
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            entry = {pair.key: pair.value for pair in tensor.external_data}
            assert entry["location"] == weights.MODEL
            begin = int(entry["offset"]) - 8 - length
            seen[tensor.name] = ([begin, begin + int(entry["length"])], list(tensor.dims))
    unused = {"__metadata__", "embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"}
    assert seen == {
        name: (entry["data_offsets"], entry["shape"])
        for name, entry in header.items()
        if name not in unused
    }


def test_a_weight_of_another_type_is_refused(builder: ModuleType) -> None:
    graph = builder.GraphBuilder({"w": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}, 8)
    with pytest.raises(ValueError, match="F16"):
        graph.weight("w")
