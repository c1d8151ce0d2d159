"""Models in ONNX files, as all of them run here: on one thread, without a network.

The only file that imports onnxruntime and tokenizers.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Keeps ONNX Runtime from sending usage data and from writing into the home directory. Only this
name, set before the import, does; the call of its API comes too late (seen with 1.31.1)."""


class UnusableModel(Exception):
    """The file is no model that this machine can run; the text says why."""


def tokenizer(file: Path, pieces: int) -> Any:
    """The tokenizer of *file*, which cuts off what is longer than *pieces* and pads nothing.

    Raises UnusableModel.
    """
    from tokenizers import Tokenizer

    try:
        found = Tokenizer.from_file(str(file))
    except Exception as problem:  # the vendor raises no other type
        raise UnusableModel(_line(problem)) from None
    found.no_padding()
    found.enable_truncation(pieces)
    return found


def session(graph: bytes | str, weights: Path | None = None) -> Any:
    """A session that runs *graph*, the bytes or the path of a model, on one thread a call.

    Its tensors outside are in the folder *weights*. Raises UnusableModel.
    """
    os.environ.setdefault(_TELEMETRY, "1")  # whoever set it keeps their value
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # one thread a call: spinning helper threads cost more than they save on one sentence, and
    # concurrent calls run in parallel anyway
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if weights is not None:
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(weights)
        )
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except failures() as problem:
        raise UnusableModel(_line(problem)) from None


def failures() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises for a model that it cannot load or run."""
    from onnxruntime.capi import onnxruntime_pybind11_state as vendor

    return (
        vendor.Fail,
        vendor.InvalidArgument,
        vendor.InvalidGraph,
        vendor.InvalidProtobuf,
        vendor.NoSuchFile,
        vendor.NotImplemented,
        vendor.RuntimeException,
    )


def _line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0] if lines else type(problem).__name__
