"""What REST costs beside MCP over HTTP, and a wrapped client beside a bare one.

    python tests/bench/rest.py [--memories 2000] [--calls 200] [--seed 7]

A store is filled with notes made from the seed, and the real server listens over HTTP. New notes
are remembered and questions asked, in turns over REST and over MCP (streamable HTTP, the SDK's
client), each on a connection that stays open. Then a client of openai calls a stand-in for a model
on loopback, bare and wrapped in turns, the wrapped one over a memory in the same process; and a
conversation of 20 turns shows how many of its requests begin byte for byte with the one before.
The cost of loading REST is the first request to it, less the second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import openai
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, str(Path(__file__).parents[2]))

from hooks import serving
from material import Prepared, fill, machine, notes, questions, settled

import anamnesis
from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from tests.anamnesis.stand_in import model as model_fixture

WARM = 10
TURNS = 20

Taken = dict[tuple[str, str], list[float]]
"""Milliseconds, by operation and way."""


async def timed(taken: Taken, what: tuple[str, str], call: Callable[[], Awaitable[Any]]) -> None:
    started = time.perf_counter()
    await call()
    taken[what].append((time.perf_counter() - started) * 1000)


async def both(url: str, token: str, calls: int, texts: list[str], asked: list[str]) -> Taken:
    """Each call over REST and over MCP, in turns."""
    taken: Taken = defaultdict(list)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        base = f"{url}/api/v1"
        await timed(taken, ("loading REST", "first"), lambda: http.get(f"{base}/meta"))
        await timed(taken, ("loading REST", "second"), lambda: http.get(f"{base}/meta"))

        async def over_rest(path: str, **body: Any) -> None:
            (await http.post(f"{base}/{path}", json=body)).raise_for_status()

        stream = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(stream, read_timeout_seconds=60) as mcp:

            async def over_mcp(tool: str, **given: Any) -> None:
                assert not (await mcp.call_tool(tool, given)).is_error

            ways = {
                "REST": (partial(over_rest, "memories"), partial(over_rest, "recall")),
                "MCP": (partial(over_mcp, "remember"), partial(over_mcp, "recall")),
            }
            for number in range(calls + WARM):
                spent = taken if number >= WARM else defaultdict(list)
                order = list(ways.items())[:: 1 if number % 2 else -1]
                for place, (way, (remember, recall)) in enumerate(order):
                    store = partial(remember, text=texts[2 * number + place])
                    ask = partial(recall, query=asked[number], max_tokens=1_000)
                    await timed(spent, ("remember", way), store)
                    await timed(spent, ("recall", way), ask)
    return taken


def wrapped(memory: Memory, model: Any, calls: int, asked: list[str]) -> Taken:
    """One turn of a chat, bare and wrapped in turns."""
    taken: Taken = defaultdict(list)
    bare = openai.OpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0)
    own = anamnesis.Memory.of(memory, Identity("me"))
    with openai.OpenAI(api_key="k", base_url=f"{model.url}/v1", max_retries=0) as inner:
        remembering = anamnesis.wrap(inner, own)
        for number in range(calls + WARM):
            turn: Any = [{"role": "user", "content": f"{asked[number]} This is turn {number}."}]
            for name, client in (("bare", bare), ("wrapped", remembering)):
                started = time.perf_counter()
                client.chat.completions.create(model="m", messages=turn)
                if number >= WARM:
                    taken["a turn", name].append((time.perf_counter() - started) * 1000)
        remembering.close()
    bare.close()
    return taken


def prefixes(memory: Memory, model: Any, asked: list[str]) -> int:
    """Of TURNS requests of one conversation, those that begin with the turns of the one before."""
    own = anamnesis.Memory.of(memory, Identity("me"))
    same, before, turns = 0, b"", []
    with anamnesis.wrap(
        openai.OpenAI(api_key="k", base_url=f"{model.url}/v1"), own, session="twenty"
    ) as client:
        for question in asked[:TURNS]:
            turns.append({"role": "user", "content": question})
            done = client.chat.completions.create(model="m", messages=turns)
            turns.append({"role": "assistant", "content": done.choices[0].message.content})
            told = json.dumps(json.loads(model.bodies[-1])["messages"]).encode()
            same += told.startswith(before[:-1])
            before = told
    return same


def told(taken: Taken) -> None:
    for (what, way), spent in taken.items():
        p50, p95 = np.percentile(spent, [50, 95])
        print(f"  {what:13s} {way:8s} p50 {p50:7.1f}  p95 {p95:7.1f} ms")


def added(taken: Taken) -> str:
    bare, more = (np.array(taken["a turn", name]) for name in ("bare", "wrapped"))
    p50, p95 = np.percentile(more - bare, [50, 95])
    return f"  added by the wrapper: p50 {p50:.1f}  p95 {p95:.1f} ms"


def importing() -> str:
    """Processor seconds of importing the HTTP side, without and with REST."""
    spent = []
    for more in ("", ", server.rest.app"):
        code = (
            f"import time, server.http.app, server.http.listener{more}; print(time.process_time())"
        )
        words = [sys.executable, "-c", code]
        runs = [float(subprocess.check_output(words, text=True)) for _ in range(3)]
        spent.append(min(runs))
    return f"  importing the HTTP side: {spent[0]:.2f} s, with REST {spent[1]:.2f} s of processor"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=2_000)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    count = given.calls + WARM
    texts, asked = notes(given.memories + 2 * count, given.seed), questions(count, given.seed)
    print(machine(given.seed))
    print(f"{given.memories:,} memories, {given.calls} calls of each kind")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        embedder = Prepared()
        with Memory(Settings(data_dir=folder, offline=True), embedder=embedder) as memory:
            fill(memory, embedder, texts[: given.memories])
            settled(memory)
        with serving(folder) as url:
            token = (folder / "token").read_text("ascii").strip()
            taken = asyncio.run(both(url, token, given.calls, texts[given.memories :], asked))
        told(taken)
        for what in ("remember", "recall"):
            rest, mcp = (np.median(taken[what, way]) for way in ("REST", "MCP"))
            print(f"  {what}: REST {rest / mcp:.2f} times MCP over HTTP at p50")
        print(importing())
        with Memory(Settings(data_dir=folder, offline=True)) as memory:
            memory.wait_ready(60)
            made = model_fixture.__wrapped__(None)  # it marks a test, and starts nothing
            model = next(made)
            turns = wrapped(memory, model, given.calls, asked)
            told(turns)
            print(added(turns))
            same = prefixes(memory, model, asked)
            print(f"  {same} of {TURNS} requests begin byte for byte with the one before")
            next(made, None)


if __name__ == "__main__":
    main()
