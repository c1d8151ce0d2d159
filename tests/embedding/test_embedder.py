from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import cast

import pytest

from memory_core.config import Settings
from memory_core.embedding.base import PROFILES, Embedder, Profile, fingerprint_of, profile_of
from memory_core.embedding.embedder import EmbedderGate, choose
from memory_core.embedding.minilm import MiniLM
from memory_core.errors import EncoderUnavailable, InvalidInput

ROOT = Path(__file__).parents[2]
BGE = "Represent this sentence for searching relevant passages: "
HEAVY = ("onnxruntime", "tokenizers", "torch", "sentence_transformers", "ollama", "httpx2", "numpy")
PLACEHOLDER = cast(Embedder, object())


@pytest.mark.parametrize(
    ("name", "dimension", "query_prefix"),
    [
        ("all-MiniLM-L6-v2", 384, ""),
        ("BAAI/bge-large-en-v1.5", 1024, BGE),
        ("sentence-transformers/all-mpnet-base-v2", 768, ""),
        ("BAAI/bge-m3", 1024, ""),
        ("bge-m3:latest", 1024, ""),
        ("/models/bge-m3/", 1024, ""),
        ("intfloat/multilingual-e5-large", 1024, "query: "),
        ("somebody/unknown", None, ""),
    ],
)  # fmt: skip
def test_profile_belongs_to_the_name(name: str, dimension: int | None, query_prefix: str) -> None:
    profile = profile_of(name)
    assert (profile.dimension, profile.query_prefix) == (dimension, query_prefix)


def test_thresholds_rise_with_closeness() -> None:
    for profile in (*PROFILES.values(), Profile()):
        assert 0 < profile.related <= profile.topic <= profile.cluster < profile.near_duplicate < 1


def test_only_the_document_prefix_changes_the_fingerprint() -> None:
    assert fingerprint_of("a:b", Profile(query_prefix="q: ")) == "a:b"
    one, other = (fingerprint_of("a:b", Profile(document_prefix=p)) for p in ("d: ", "e: "))
    assert one.startswith("a:b:")
    assert one != other


@pytest.mark.parametrize("name", ["nonsense", "minilm:v2", "ollama:", "openai", "ollama", ":x"])
def test_unknown_embedder_names_what_is_allowed(name: str) -> None:
    with pytest.raises(InvalidInput, match="minilm, sentence-transformers:NAME"):
        choose(Settings(embedder=name))


def test_minilm_is_what_the_default_settings_give(minilm: MiniLM) -> None:
    embedder = choose(Settings(offline=True))
    assert embedder.fingerprint == minilm.fingerprint


@pytest.mark.usefixtures("processes")
def test_importing_loads_no_model_library() -> None:
    code = (
        "import sys, memory_core.embedding.embedder; "
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("", "", 0)


def test_gate_is_usable_while_the_model_loads() -> None:
    release = threading.Event()

    def load() -> Embedder:
        release.wait(120)
        return PLACEHOLDER

    gate = EmbedderGate(load)
    gate.start()
    assert (gate.ready, gate.embedder, gate.problem) == (False, None, None)
    assert gate.wait(0) is None
    release.set()
    assert gate.wait(120) is PLACEHOLDER
    assert (gate.ready, gate.embedder, gate.problem) == (True, PLACEHOLDER, None)


def test_gate_loads_once_however_often_it_is_started() -> None:
    calls: list[int] = []

    def load() -> Embedder:
        calls.append(1)
        return PLACEHOLDER

    gate = EmbedderGate(load)
    for _ in range(3):
        gate.start()
        gate.wait(120)
        gate.retry()  # ready: nothing to try again
    assert gate.wait(120) is PLACEHOLDER
    assert len(calls) == 1


def test_gate_keeps_the_problem_and_succeeds_when_tried_again() -> None:
    problems: list[Exception] = [EncoderUnavailable("the weights are missing", "run setup")]

    def load() -> Embedder:
        if problems:
            raise problems.pop()
        return PLACEHOLDER

    gate = EmbedderGate(load)
    gate.start()
    assert gate.wait(120) is None
    assert isinstance(gate.problem, EncoderUnavailable)
    assert gate.problem.next_step == "run setup"
    gate.retry()
    assert gate.wait(120) is PLACEHOLDER
    assert gate.problem is None


def test_gate_turns_an_unexpected_failure_into_a_problem_with_a_next_step() -> None:
    def load() -> Embedder:
        raise OSError("a library is missing")

    gate = EmbedderGate(load)
    gate.start()
    assert gate.wait(120) is None
    assert isinstance(gate.problem, EncoderUnavailable)
    assert "OSError: a library is missing" in gate.problem.problem
