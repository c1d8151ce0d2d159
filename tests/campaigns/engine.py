"""Clients of one engine that is killed, and clients that come and go; prints what was lost or left.

    python tests/campaigns/engine.py kill --kills 100 --clients 4
    python tests/campaigns/engine.py soak --minutes 60
    python tests/campaigns/engine.py neighbour --seconds 60
    python tests/campaigns/engine.py sleeper --seconds 60 --memories 2000

`kill`: each client remembers one text after the other over stdio and repeats a call that is
answered `busy`, while the engine is killed with SIGKILL at random instants. At the end everything
that was acknowledged must be there, every call must have been answered, and one engine must live.
It makes fewer kills when `--minutes` are over.

`soak`: clients start, make some calls, and end, in every way. While the engine still runs, the
processes that bear this run's mark and the clients that the engine knows are counted; then the
engine is told to leave, and what is left of it. Its own memory and its descriptors are compared.

`neighbour`: the p99 of one client's recalls alone, then beside a client that writes without end and
one that sends calls and never reads an answer. The ratio means something, the times do not.

`sleeper`: the p99 of one client's recalls and remembers alone, then beside a client of the same
agent that remembers one text and consolidates, without end.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import engines  # noqa: E402
import processes  # noqa: E402
import warm  # noqa: E402
from talking import Talk  # noqa: E402

from server.engine import client  # noqa: E402

BUSY = "busy: "
PATIENCE = 120.0
"""Seconds after which a call counts as unanswered."""


def environment(folder: Path, agent: str = "me") -> dict[str, str]:
    return {
        **os.environ,
        "ANAMNESIS_DATA_DIR": str(folder),
        "ANAMNESIS_OFFLINE": "1",
        "ANAMNESIS_SHARED": "on",
        "ANAMNESIS_AGENT": agent,
    }


def start(folder: Path, agent: str = "me") -> Talk:
    one = Talk([sys.executable, "-m", "server"], environment(folder, agent))
    one.hello()
    return one


def ended(one: Talk) -> None:
    """End a client as most do: its stdin is closed."""
    assert one.process.stdin
    with contextlib.suppress(OSError):
        one.process.stdin.close()
    one.process.wait(60)
    one.finish()


def call(one: Talk, tool: str, **arguments: Any) -> dict[str, Any] | None:
    """The answer of a tool; None when there is none within PATIENCE."""
    params = {"name": tool, "arguments": arguments}
    one.send({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params})
    try:
        answer = json.loads(one.lines.get(timeout=PATIENCE))
    except queue.Empty:
        return None
    return dict(answer["result"])


class Writer(threading.Thread):
    """A client that remembers until it is told to stop."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(daemon=True)
        self.client = start(folder)
        self.label = name
        self.stopping = threading.Event()
        self.acknowledged: dict[str, str] = {}
        self.calls = self.busy = self.unanswered = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            text = (
                f"{self.label} keeps token {number} of the {self.label} series in drawer {number}"
            )
            self.calls += 1
            answer = call(self.client, "remember", text=text, session=self.label)
            if answer is None:
                self.unanswered += 1
                return
            if not answer["isError"]:
                self.acknowledged[answer["structuredContent"]["id"]] = text
                number += 1
            elif answer["content"][0]["text"].startswith(BUSY):
                self.busy += 1
            else:
                self.wrong.append(answer["content"][0]["text"])


def kill(folder: Path, kills: int, clients: int, seconds: float, seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    writers = [Writer(folder, f"writer{number}") for number in range(clients)]
    for writer in writers:
        writer.start()
    done = most = 0
    begun = time.monotonic()
    while not all(writer.acknowledged or writer.unanswered for writer in writers):
        time.sleep(0.01)
    pace = max(8.0, 2 * (time.monotonic() - begun))  # a busy machine takes long for a start
    while done < kills and time.monotonic() - begun < seconds:
        aim = sum(len(writer.acknowledged) for writer in writers) + draw.randrange(20)
        end = time.monotonic() + draw.uniform(0.0, pace)  # as they start or work
        while time.monotonic() < end and sum(len(w.acknowledged) for w in writers) < aim:
            time.sleep(0.01)
        living = engines.alive(folder)
        most = max(most, len(living))
        if living:
            with contextlib.suppress(ProcessLookupError):  # it is gone: not a kill
                os.kill(living[0], signal.SIGKILL)
                done += 1
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join(PATIENCE)
    lost = 0
    reader = start(folder)
    for writer in writers:
        for id, text in writer.acknowledged.items():
            found = call(reader, "recall", query=id)
            while found is not None and found["isError"] and "busy: " in str(found["content"]):
                found = call(reader, "recall", query=id)
            texts = [] if found is None or found["isError"] else [
                memory["text"] for memory in found["structuredContent"]["memories"]
            ]  # fmt: skip
            lost += text not in texts
    living = len(engines.alive(folder))
    for one in (reader, *(writer.client for writer in writers)):
        ended(one)
    engines.end(folder)
    return {
        "kills": done,
        "seconds between kills, at most": round(pace, 1),
        "acknowledged": sum(len(writer.acknowledged) for writer in writers),
        "lost": lost,
        "calls": sum(writer.calls for writer in writers),
        "answered busy": sum(writer.busy for writer in writers),
        "unanswered": sum(writer.unanswered for writer in writers),
        "other errors": [text for writer in writers for text in writer.wrong],
        "engines at most": most,
        "engines at the end": living,
    }


def private(process: int) -> float:
    """MiB that a process has to itself, without clean pages of files."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(r.split()[1]) for r in rows if r.startswith(("Private_Dirty:", "Swap:"))) / 1024


def descriptors(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def soak(folder: Path, seconds: float, seed: int) -> dict[str, Any]:
    """Two clients at a time, each for some calls; every fifth is killed, its engine is not."""
    mark = f"{os.environ.get(processes.MARK, 'campaign')}.soak{os.getpid()}"
    os.environ[processes.MARK] = mark  # what is started has it, too
    draw = random.Random(seed)
    stay = start(folder)
    for number in range(50):  # what is remembered is bounded, so that memories are no growth
        call(stay, "remember", text=f"the heron number {number} stands at weir {number}")
    (engine,) = engines.alive(folder)
    sizes: list[float] = []
    files: list[int] = []
    came = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for one in [start(folder, f"agent{draw.randrange(3)}") for _ in range(2)]:
            came += 1
            one.ask("s", "resources/subscribe", {"uri": "memory://recent"})
            for _ in range(draw.randrange(1, 8)):
                call(one, "recall", query=f"where is heron number {draw.randrange(50)}")
            if draw.random() < 0.2:
                one.process.kill()
                one.finish()
            else:
                ended(one)
        sizes.append(private(engine))
        files.append(descriptors(engine))
    ended(stay)
    assert engines.alive(folder) == [engine]
    (named,) = client.engines(str(folder))
    until = time.monotonic() + PATIENCE  # it hears of an end a moment later
    while (known := len(client.status(named)["clients"])) and time.monotonic() < until:
        time.sleep(0.01)
    left = [each for each in processes.running(mark, folder) if each.id != engine]
    client.stop(named)
    engines.until_gone(folder)
    tenth = max(1, len(sizes) // 10)
    second, last = slice(tenth, 2 * tenth + 1), slice(-tenth, None)
    return {
        "clients": came,
        "private MiB, second tenth": round(statistics.median(sizes[second]), 1),
        "private MiB, last tenth": round(statistics.median(sizes[last]), 1),
        "descriptors, second tenth": statistics.median(files[second]),
        "descriptors, last tenth": statistics.median(files[last]),
        "clients that the engine still knows": known,
        "processes left": [str(each) for each in (*left, *processes.running(mark, folder))],
        "sockets left": len(list(folder.glob("engine-*"))),
    }


@contextlib.contextmanager
def noise(folder: Path) -> Iterator[None]:
    """A client that writes without end, and one that never reads what it is answered."""
    stopping = threading.Event()
    writing, deaf = start(folder, "writer"), start(folder, "deaf")
    pause = threading.Semaphore(64)

    def write() -> None:
        number = 0
        while not stopping.is_set():
            if not pause.acquire(timeout=0.1):
                continue
            number += 1
            arguments = {"text": f"line {number} of a text that has no end, page {number % 97}"}
            params = {"name": "remember", "arguments": arguments}
            writing.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def drain() -> None:
        while not stopping.is_set():
            with contextlib.suppress(queue.Empty):
                writing.lines.get(timeout=0.1)
                pause.release()

    def shout() -> None:
        os.kill(deaf.process.pid, signal.SIGSTOP)  # its answers pile up in the pipes
        assert deaf.process.stdin
        os.set_blocking(deaf.process.stdin.fileno(), False)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"
        while not stopping.is_set():
            with contextlib.suppress(OSError):
                os.write(deaf.process.stdin.fileno(), line)
            stopping.wait(0.01)

    threads = [threading.Thread(target=each) for each in (write, drain, shout)]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        stopping.set()
        for each in threads:
            each.join()
        for one in (writing, deaf):
            one.process.kill()
            one.finish()


def latencies(one: Talk, seconds: float, draw: random.Random) -> list[float]:
    found = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        begun = time.perf_counter()
        answer = call(one, "recall", query=f"where does heron number {draw.randrange(200)} stand?")
        assert answer is not None
        assert not answer["isError"], answer
        found.append(time.perf_counter() - begun)
        time.sleep(0.01)
    return found


def neighbour(
    folder: Path, seconds: float, memories: int, rounds: int, seed: int
) -> dict[str, Any]:
    draw = random.Random(seed)
    one = start(folder, "quiet")
    for number in range(memories):
        call(one, "remember", text=f"the heron number {number} stands at weir {number}")
    latencies(one, seconds / 12, draw)
    alone, beside = [], []
    for _ in range(rounds):  # alternating, so that a busy machine slows both alike
        alone += latencies(one, seconds / 2 / rounds, draw)
        with noise(folder):
            beside += latencies(one, seconds / 2 / rounds, draw)
    ended(one)
    engines.end(folder)
    p99 = [p99_ms(each) for each in (alone, beside)]
    return {
        "recalls": [len(alone), len(beside)],
        "p99 alone, ms": round(p99[0], 1),
        "p99 beside, ms": round(p99[1], 1),
        "ratio": round(p99[1] / p99[0], 2),
    }


class Sleeper(threading.Thread):
    """A client that consolidates until it is told to stop, each time with something new to do."""

    def __init__(self, folder: Path, rounds: int) -> None:
        """*rounds* others have slept before: no text is remembered twice."""
        super().__init__(daemon=True)
        self.client = start(folder, "quiet")
        self.stopping = threading.Event()
        self.runs: list[tuple[float, float]] = []
        self.wrong: list[str] = []
        self._rounds = rounds

    def run(self) -> None:
        while not self.stopping.is_set():
            text = f"the otter number {self._rounds + len(self.runs)} sleeps at the mill"
            call(self.client, "remember", text=text, session=f"night {self._rounds}")
            begun = time.perf_counter()
            answer = call(self.client, "consolidate")
            if answer is None or answer["isError"]:
                self.wrong.append(str(answer))
                return
            self.runs.append((begun, time.perf_counter()))

    def is_at_first_run(self) -> bool:
        return self.is_alive() and not self.runs


Spans = dict[str, list[tuple[float, float]]]
"""When each call of a tool began and ended."""


def spans(one: Talk, seconds: float, draw: random.Random, go_on: Callable[[], bool]) -> Spans:
    """Recalls and remembers in turn for *seconds*, and then as long as *go_on*."""
    found: Spans = {"recall": [], "remember": []}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or go_on():
        number = draw.randrange(10**9)
        for tool, given in (
            ("recall", {"query": f"where does heron number {number % 200} stand?"}),
            ("remember", {"text": f"the tern number {number} nests on pier {number % 89}"}),
        ):
            begun = time.perf_counter()
            answer = call(one, tool, **given)
            assert answer is not None
            assert not answer["isError"], answer
            found[tool].append((begun, time.perf_counter()))
            time.sleep(0.01)
    return found


def sleeper(folder: Path, seconds: float, memories: int, seed: int) -> dict[str, Any]:
    draw = random.Random(seed)
    one = start(folder, "quiet")
    for number in range(memories):
        text = f"the heron number {number} stands at weir {number}"
        call(one, "remember", text=text, session=f"day {number // 50}")
    call(one, "consolidate")
    alone, beside = ({"recall": [], "remember": []} for _ in range(2))
    runs: list[tuple[float, float]] = []
    wrong: list[str] = []
    for _ in range(3):  # alternating, so that a busy machine slows both alike
        for tool, found in spans(one, seconds / 6, draw, lambda: False).items():
            alone[tool] += found
        sleeping = Sleeper(folder, len(runs))
        sleeping.start()
        for tool, found in spans(one, seconds / 6, draw, sleeping.is_at_first_run).items():
            beside[tool] += found
        sleeping.stopping.set()
        sleeping.join(PATIENCE)
        runs += sleeping.runs
        wrong += sleeping.wrong
        ended(sleeping.client)
    ended(one)
    engines.end(folder)
    report: dict[str, Any] = {
        "runs": len(runs),
        "median run, ms": round(statistics.median(end - begun for begun, end in runs) * 1000),
        "errors": wrong,
    }
    for tool, found in beside.items():
        p99 = [p99_ms([b - a for a, b in each]) for each in (alone[tool], found)]
        within = [any(a <= c and d <= b for a, b in runs) for c, d in found]
        report[tool] = {
            "calls": [len(alone[tool]), len(found)],
            "calls within a run": sum(within),
            "p99 alone, ms": round(p99[0], 1),
            "p99 beside, ms": round(p99[1], 1),
            "ratio": round(p99[1] / p99[0], 2),
        }
    return report


def p99_ms(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98] * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("kill", "soak", "neighbour", "sleeper"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--memories", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--warm", action="store_true", help="start programs from tests/warm.py")
    args = parser.parse_args()
    if args.warm:
        warm.Template().use()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "data"
        if args.what == "kill":
            report = kill(folder, args.kills, args.clients, args.minutes * 60, args.seed)
        elif args.what == "soak":
            report = soak(folder, args.minutes * 60, args.seed)
        elif args.what == "sleeper":
            report = sleeper(folder, args.seconds, args.memories, args.seed)
        else:
            report = neighbour(folder, args.seconds, args.memories, args.rounds, args.seed)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
