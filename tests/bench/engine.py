"""What one engine for all clients saves: a client's start and memory; many agents at once.

    python tests/bench/engine.py [--rounds N] [--clients N] [--memories N] [--agents N]

The start alternates between a bare SDK server and a client of an engine that runs; the ratio of one
run means something, the times do not. A prompt is told to a hook where no engine runs: what it
waits for, and what the engine has taken a moment later, beside one that a client over MCP started.
Memory is proportional (PSS), with an engine of one's own for each client and then with one for all.
The agents call at once, each over a connection of its own: four recalls and one remember, one after
the other; refused calls are counted, and the p99 is given as a ratio to that of ten agents.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import engines  # noqa: E402
from material import compiled  # noqa: E402
from startup import BARE, Talk, ours  # noqa: E402

from server.engine import client, wanted  # noqa: E402

OPENED_SECONDS = 4.0
"""By then an engine that was just started has opened its memory."""
REST_SECONDS = 20.0
"""After the last call, until the memory is measured."""


def environment(folder: Path, shared: str) -> dict[str, str]:
    return {
        **os.environ,
        "ANAMNESIS_SHARED": shared,
        "ANAMNESIS_DATA_DIR": str(folder),
        "ANAMNESIS_OFFLINE": "1",
    }


def proportional(process: int) -> float:
    """MiB of PSS."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1024


def starts(rounds: int, folder: Path) -> None:
    keep = Talk(ours(folder), environment(folder, "on"))
    keep.handshake()
    bare, own = [], []
    for number in range(rounds + 1):
        for command, figures in (([sys.executable, "-c", BARE], bare), (ours(folder), own)):
            talk = Talk(command, environment(folder, "on"))
            seconds, _ = talk.handshake()
            talk.end()
            if number:
                figures.append(seconds)
    theirs, mine = statistics.median(bare), statistics.median(own)
    print(
        f"process start to initialize, median of {rounds}: bare {theirs * 1000:.0f} ms, "
        f"client of an engine {mine * 1000:.0f} ms, ratio {mine / theirs:.3f}"
    )
    keep.end()


def first_prompt(rounds: int, folder: Path) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "a", "prompt": "where is it?"}
    waited, taken = [], {"a hook": list[tuple[float, float]](), "a client": []}
    for _ in range(rounds):
        for what, figures in taken.items():
            begun = time.perf_counter()
            if what == "a hook":
                words = [sys.executable, "-m", "server", "hook"]
                told = json.dumps(prompt).encode()
                subprocess.run(words, input=told, env=environment(folder, "on"), check=True)
                waited.append(time.perf_counter() - begun)
                talk = None
            else:
                talk = Talk(ours(folder), environment(folder, "on"))
                talk.handshake()
            time.sleep(OPENED_SECONDS)
            (engine,) = engines.alive(folder)
            figures.append((processor_seconds(engine), proportional(engine)))
            if talk is not None:
                talk.end()
            engines.end(folder)
    print(f"first prompt without an engine, median of {rounds}: {statistics.median(waited):.2f} s")
    for what, figures in taken.items():
        seconds, size = (statistics.median(each) for each in zip(*figures, strict=True))
        print(f"engine that {what} started: {seconds:.2f} s of processor time, {size:.0f} MB")


def processor_seconds(process: int) -> float:
    """Seconds of processor time that *process* has taken."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sizes(clients: int, memories: int, folder: Path) -> None:
    for shared in ("off", "on"):
        talks = [Talk(ours(folder), environment(folder, shared)) for _ in range(clients)]
        for talk in talks:
            talk.handshake()
        for number in range(memories if shared == "off" else 0):
            talks[0].call(9, "remember", text=f"the heron number {number} stands at weir {number}")
        for talk in talks:
            for number in range(5):
                talk.call(9, "recall", query=f"where is heron number {number}")
        time.sleep(REST_SECONDS)
        processes = [talk.process.pid for talk in talks]
        each = [proportional(process) for process in processes]
        engine = sum(map(proportional, engines.alive(folder)))
        print(
            f"{clients} clients, shared {shared}: {sum(each) + engine:.0f} MB "
            f"(clients {statistics.median(each):.1f} each, engine {engine:.0f})"
        )
        for talk in talks:
            talk.end()
        engines.end(folder)


def together(agents: int, folder: Path) -> tuple[float, int]:
    """The p99 in seconds, and the refused calls, of *agents* that call at once."""
    taken: list[float] = []
    refused: list[str] = []
    ready = threading.Barrier(agents)

    def live(name: str) -> None:
        asked = wanted.find({"agent": name}, environment(folder, "on"))
        ready.wait()
        for number in range(5):
            begun = time.perf_counter()
            try:
                if number < 4:
                    request = {"query": f"where does heron number {number} stand?"}
                    client.call(asked, "recall", {"request": request})
                else:
                    text = f"{name} saw the heron number {number} at the weir"
                    client.call(asked, "remember", {"request": {"text": text}})
            except (client.CallFailed, client.NoEngine) as problem:
                refused.append(str(problem))
            taken.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=live, args=(f"agent{n}",)) for n in range(agents)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statistics.quantiles(taken, n=100)[98], len(refused)


def crowd(agents: int, folder: Path) -> None:
    keep = Talk(ours(folder), environment(folder, "on"))
    keep.handshake()
    keep.call(9, "remember", text="the heron number 1 stands at weir 1")
    client.call(wanted.find({}, environment(folder, "on")), "wait_ready", {"seconds": 60})
    few, _ = together(10, folder)
    many, refused = together(agents, folder)
    print(
        f"{agents} agents at once: {refused} of {5 * agents} calls refused, "
        f"p99 {many / few:.1f} times that of 10"
    )
    keep.end()
    engines.end(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--clients", type=int, default=5)
    parser.add_argument("--memories", type=int, default=200)
    parser.add_argument("--agents", type=int, default=90)
    args = parser.parse_args()
    compiled()
    version = subprocess.run([sys.executable, "--version"], capture_output=True, text=True)
    print(f"{os.cpu_count()} cores, {version.stdout.strip()}")
    with tempfile.TemporaryDirectory() as made:
        starts(args.rounds, Path(made) / "starts")
        engines.end(Path(made) / "starts")
        first_prompt(args.rounds, Path(made) / "first")
        crowd(args.agents, Path(made) / "crowd")
        sizes(args.clients, args.memories, Path(made) / "sizes")


if __name__ == "__main__":
    main()
