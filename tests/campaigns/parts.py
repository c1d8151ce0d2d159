"""Starts without its parts: how long until the real server answers, and what its health says.

    python tests/campaigns/parts.py [--limit 3.0]

For each thing that may be missing, foreign, broken or wrong the program is started over stdio on a
filled store. It has to answer `initialize`, remember, and find by a recall what it had before and
what it was just told. Printed are the seconds from the start of the process, and the checks of
health that are not ok. The exit status is 1 when an answer is wrong or a recall comes after the
limit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import numpy as np
from material import machine
from memory_scenarios import ME, shared
from startup import Talk

from memory_core.config import ConsolidationSettings, Settings
from memory_core.memory import Memory
from memory_core.remember.request import RememberRequest
from memory_core.storage.index.vectors import VectorIndex

HERON = "The heron waits by the weir in the morning."
STORK = "The stork number 5 stands on chimney 15."
YEAR = 365.25 * 86_400
PATIENCE = 120.0
LOADING = {"detail": "loading"}

_MAIN = (
    "import sys; sys.argv = ['anamnesis', *sys.argv[1:]];"
    "from server.__main__ import main; sys.exit(main())"
)
SHIFTED = "import time; real = time.time; time.time = lambda: real() + {seconds};" + _MAIN
"""The program with another clock."""

HASTY = (
    "import functools; from memory_core import runtime;"
    "from memory_core.enrichment.queue import EnrichmentTuning;"
    "runtime.gist_encoder.choose.__defaults__ = (1.0,);"
    "least = EnrichmentTuning(gather_seconds=0.0);"
    "runtime.Tuning = functools.partial(runtime.Tuning, enrichment=least);" + _MAIN
)
"""The program that asks a language model at once and gives it a second, not a minute."""


def fill(folder: Path, embedder: str) -> None:
    """A store with table and snapshot, whose vectors are a toy's under the name *embedder*.

    "": those of the real model.
    """
    still = ConsolidationSettings(automatic=False)
    settings = Settings(data_dir=folder, embedder=embedder or "minilm", consolidation=still)
    with Memory(settings, embedder=shared.ToyEmbedder() if embedder else None) as memory:
        assert memory.wait_ready(PATIENCE)
        for number in range(8):
            memory.remember(
                ME, RememberRequest(f"The stork number {number} stands on chimney {number * 3}.")
            )
        upkeep = memory._runtime.parts().maintenance
        upkeep.round()
        upkeep.repair()


def nothing(folder: Path) -> None:
    """Leave *folder* as it is."""


def no_table(folder: Path) -> None:
    shutil.rmtree(folder / "table")


def no_index(folder: Path) -> None:
    shutil.rmtree(folder / "index")


def foreign_table(folder: Path) -> None:
    for path in (folder / "table").rglob("*"):
        if path.is_file():
            path.write_bytes(b"another program's file" * 30)


def foreign_index(folder: Path) -> None:
    for generation in (folder / "index").iterdir():
        shutil.rmtree(generation)
        generation.mkdir()
        other = VectorIndex(8, exact_limit=100)
        other.put_many(np.arange(3), np.zeros(3, np.int64), np.ones((3, 8), np.float16))
        other.frozen(["a" * 20, "b" * 20, "c" * 20]).write(
            generation, sequence=3, fingerprint="other"
        )


@dataclass(frozen=True)
class Variant:
    """One thing that is not as it should be, and the check of health that tells of it."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Settings; "-" takes one away, {folder} is an empty folder, {llm} a language model's URL."""
    spoil: Callable[[Path], None] = nothing
    embedder: str = "minilm"
    """Whose vectors the store has."""
    clock: float = 0.0
    """Seconds that the program's clock is ahead."""
    llm: str = ""
    """What the language model does: "slow", "garbage" or "refusing"."""
    check: str = ""
    """The check that is not ok; "" when nothing is left to be told, as it mends itself."""


NO_MODEL = {"ANAMNESIS_MODEL_DIR": "{folder}"}
LLM = {"ANAMNESIS_ENCODER": "ollama", "ANAMNESIS_ENCODER_URL": "{llm}"}
NOBODY = "http://127.0.0.1:9"

VARIANTS = {
    "everything there": Variant(embedder=""),
    "no model": Variant(NO_MODEL, check="model"),
    "no HOME and no model": Variant({**NO_MODEL, "HOME": "-"}, check="model"),
    "no embedding server": Variant(
        {"ANAMNESIS_EMBEDDER": "ollama:nothing", "OLLAMA_HOST": NOBODY},
        embedder="ollama:nothing",
        check="model",
    ),
    "vectors of another dimension": Variant(check="model"),  # the toy's have 64 numbers
    "vectors of another model": Variant(embedder="ollama:other", check="model"),
    "no language model": Variant({**LLM, "ANAMNESIS_ENCODER_URL": NOBODY}, check="encoder"),
    "slow language model": Variant(LLM, llm="slow", check="encoder"),
    "garbage from the language model": Variant(LLM, llm="garbage", check="encoder"),
    "refusing language model": Variant(LLM, llm="refusing", check="encoder"),
    "no table": Variant(spoil=no_table),
    "no index": Variant(spoil=no_index),
    "foreign table": Variant(spoil=foreign_table, check="set aside"),
    "foreign index": Variant(spoil=foreign_index, check="set aside"),
    "clock ten years behind": Variant(clock=-10 * YEAR, check="clock"),
    "clock ten years ahead": Variant(clock=10 * YEAR),
}


@contextmanager
def language_model(does: str) -> Iterator[str]:
    """The URL of a server that is slow, talks garbage or refuses."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if does == "slow":
                over.wait(PATIENCE)
            body = b"\x00\xff}}<html>not json" if does == "garbage" else b'{"error": "go away"}'
            with suppress(OSError):  # the client gave up
                self.send_response(403 if does == "refusing" else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http.server_address[1]}"
        finally:
            over.set()
            http.shutdown()


@dataclass(frozen=True)
class Outcome:
    """Seconds from the start of the process to three answers, and what health says in the end."""

    initialized: float
    remembered: float
    recalled: float
    health: str
    told: Mapping[str, tuple[str, str, str]]
    """Check -> status, detail and fix of those that are not ok; "repaired" mended itself."""


def start(variant: Variant, folder: Path, llm: str) -> Talk:
    """The program on folder/data."""
    (folder / "empty").mkdir(exist_ok=True)
    settings = folder / "settings.toml"
    settings.touch()
    places = {"folder": str(folder / "empty"), "llm": llm}
    given = {name: value.format(**places) for name, value in variant.environment.items()}
    mine = {name: value for name, value in os.environ.items() if not name.startswith("ANAMNESIS")}
    mine |= {"ANAMNESIS_OFFLINE": "1", "ANAMNESIS_CONFIG": str(settings)}
    mine |= {"ANAMNESIS_DATA_DIR": str(folder / "data"), **given}
    mine["ANAMNESIS_SHARED"] = "off"  # what is missing here, is missing in this process
    environment = {name: value for name, value in mine.items() if value != "-"}
    program = ["-m", "server"]
    if variant.clock:
        program = ["-c", SHIFTED.format(seconds=variant.clock)]
    elif variant.llm:
        program = ["-c", HASTY]
    return Talk([sys.executable, *program], environment)


def play(variant: Variant, folder: Path) -> Outcome:
    """Start on a filled store in *folder*, remember, recall, and ask health until it tells."""
    fill(folder / "data", variant.embedder)
    variant.spoil(folder / "data")
    with language_model(variant.llm) as llm:
        talk = start(variant, folder, llm)
        try:
            return converse(talk, variant)
        finally:
            talk.end()


def converse(talk: Talk, variant: Variant) -> Outcome:
    initialized, _ = talk.handshake()
    told = talk.call(3, "remember", text=HERON)
    assert not told.get("isError"), told
    remembered = talk.seconds
    recalled = 0.0
    for number, text in enumerate((HERON, STORK)):
        found = talk.call(10 + number, "recall", query=text)
        assert not found.get("isError"), found
        hits = found["structuredContent"]
        texts = [hit["text"] for hit in (*hits["memories"], *hits.get("partial", []))]
        assert text in texts, found
        recalled = recalled or talk.seconds
    end, report = time.monotonic() + PATIENCE, dict[str, Any]()
    while time.monotonic() < end:
        report = talk.call(20, "health")["structuredContent"]
        wrong = {check["name"]: check for check in report["checks"] if check["status"] != "ok"}
        if not variant.check or "loading" not in wrong.get(variant.check, LOADING)["detail"]:
            break
        time.sleep(0.1)
    checks = {n: (c["status"], c["detail"], c.get("fix", "")) for n, c in wrong.items()}
    return Outcome(initialized, remembered, recalled, report["status"], checks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=3.0, help="seconds until the first recall")
    args = parser.parse_args()
    print(machine(0), flush=True)
    late = []
    for name, variant in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            found = play(variant, Path(folder))
        seconds = (found.initialized, found.remembered, found.recalled)
        print(f"{name}: " + json.dumps([round(each, 2) for each in seconds]), flush=True)
        for check, (status, detail, fix) in found.told.items():
            print(f"    {check} {status}: {detail[:120]} -> {fix[:120]}")
        late += [name] if found.recalled > args.limit else []
        assert not variant.check or variant.check in found.told, name
    print(f"initialize, remember, recall from the start of the process; over the limit: {late}")
    sys.exit(bool(late))


if __name__ == "__main__":
    main()
