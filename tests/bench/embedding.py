"""How fast and how small is the default embedder beside sentence-transformers?

    python tests/bench/embedding.py [--runs 3]

Each measurement is a process of its own, the backends taking turns: import, load with all checks,
first vector; then one sentence at a time, and a bulk of 100 texts. The same weights on both sides,
library against library (our settings, the server and the store are in neither). Without the
`parity` extra only the default embedder is measured. Prints machine, versions and ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
SENTENCE = "Mara moved to Lisbon three weeks ago because of the new job."
PACKAGES = ("onnxruntime", "tokenizers", "numpy", "sentence-transformers", "torch", "transformers")

MEASURE = """
import json, resource, sys, time
begin = time.perf_counter()
from pathlib import Path
folder, sentence = sys.argv[1:]
if BACKEND == "minilm":
    from memory_core.embedding.minilm import MiniLM
    from memory_core.embedding.weights import complete
    assert complete(Path(folder))
    model = MiniLM(Path(folder))
    one, many = model.query, model.documents
else:
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(folder, device="cpu", local_files_only=True)
    def many(texts):
        return model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    def one(text):
        return many([text])[0]
vector = one(sentence)
first = time.perf_counter() - begin
status = Path("/proc/self/status")
resident = None
if status.exists():
    line = next(x for x in status.read_text().splitlines() if x.startswith("VmRSS"))
    resident = int(line.split()[1]) / 1024
peak_first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
times = []
for _ in range(31):
    begin = time.perf_counter()
    one(sentence)
    times.append(time.perf_counter() - begin)
texts = [" ".join([sentence] * (1 + number % 7)) for number in range(100)]
begin = time.perf_counter()
many(texts)
bulk = len(texts) / (time.perf_counter() - begin)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({
    "first_s": first, "resident_mib": resident, "peak_first_mib": peak_first, "peak_mib": peak,
    "one_ms": 1000 * sorted(times)[15], "bulk_per_s": bulk, "vector": [float(x) for x in vector],
}))
"""

CONFIGURATION = {
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pool", "type": "sentence_transformers.models.Pooling"},
    ],
    "1_Pool/config.json": {"word_embedding_dimension": 384, "pooling_mode_mean_tokens": True},
    "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
    "tokenizer_config.json": {"tokenizer_class": "BertTokenizerFast", "do_lower_case": True},
    "config.json": {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": 384,
        "intermediate_size": 1536,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "num_attention_heads": 12,
        "num_hidden_layers": 6,
        "pad_token_id": 0,
        "type_vocab_size": 2,
        "vocab_size": 30522,
    },
}


def model_folder(folder: Path) -> Path:
    """The weights of this machine as a folder that both sides can load."""
    from memory_core.config import Settings
    from memory_core.embedding import acquisition, weights

    weights.from_folder(acquisition.locate(Settings(offline=True)), folder)
    for name, content in CONFIGURATION.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder


def measure(backend: str, folder: Path) -> dict[str, float]:
    """One fresh process."""
    code = f"BACKEND = {backend!r}\n{MEASURE}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), SENTENCE],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def report(results: dict[str, list[dict[str, float]]]) -> None:
    """Medians over the runs, side by side."""
    keys = ("first_s", "resident_mib", "peak_first_mib", "one_ms", "bulk_per_s", "peak_mib")
    median = {
        backend: {key: statistics.median(run[key] for run in runs) for key in keys}
        for backend, runs in results.items()
    }
    print(f"{'':24}" + "".join(f"{backend:>24}" for backend in median) + f"{'ratio':>10}")
    for key in keys:
        values = [median[backend][key] for backend in median]
        ratio = f"{values[-1] / values[0]:10.2f}" if len(values) > 1 else ""
        print(f"{key:24}" + "".join(f"{value:24.3f}" for value in values) + ratio)
    if len(results) > 1:
        one, other = (runs[0]["vector"] for runs in results.values())
        print(f"cosine between them     {sum(a * b for a, b in zip(one, other, strict=True)):.7f}")


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    sys.path.insert(0, str(ROOT))
    backends = ["minilm"]
    if importlib.util.find_spec("sentence_transformers"):
        backends.append("sentence-transformers")
    installed = {name for name in PACKAGES if importlib.util.find_spec(name.replace("-", "_"))}
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(", ".join(f"{name} {metadata.version(name)}" for name in sorted(installed)))
    results: dict[str, list[dict[str, float]]] = {backend: [] for backend in backends}
    with tempfile.TemporaryDirectory() as scratch:
        folder = model_folder(Path(scratch) / "model")
        for backend in backends:
            measure(backend, folder)  # the files and libraries are in the page cache from here on
        for _ in range(runs):
            for backend in backends:
                results[backend].append(measure(backend, folder))
    report(results)


if __name__ == "__main__":
    main()
