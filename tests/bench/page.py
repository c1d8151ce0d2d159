"""What the page costs: bytes, first paint, the list and a search, and what axe finds in its views.

    python tests/bench/page.py [--memories 10000] [--loads 5] [--seed 7] [--graph]

A store is filled with notes made from the seed, of more than 10,000 straight into the journal, a
real engine serves it, and Chromium opens the
page with an empty cache each time. Printed are medians. The violations of axe need Node's packages
of tests/server/page (`npm ci` there). First comes the graph of topics with 500 made nodes: how long
until it is drawn and until it stands still, and whether the keyboard reaches every node. With
--graph nothing else is measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import engines  # noqa: E402
from material import Prepared, fill, machine, notes, questions, settled, write  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from memory_core.config import Settings  # noqa: E402
from memory_core.memory import Memory  # noqa: E402
from memory_core.overview import memory_graph  # noqa: E402
from tests.server.page.conftest import Server, chromium  # noqa: E402
from tests.server.page.test_views import VIEWS, view  # noqa: E402

REMEMBERED = 10_000
"""Notes that are remembered one by one; more would take hours."""
SIZE = "() => performance.getEntriesByType('resource').reduce((n, e) => n + e.transferSize, performance.getEntriesByType('navigation')[0].transferSize)"  # noqa: E501
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
AXE = "async () => (await axe.run(document)).violations.map((v) => v.id)"


def filled(folder: Path, count: int, seed: int) -> None:
    """A store of *count* notes in *folder*."""
    embedder = Prepared()
    with Memory(Settings(data_dir=folder), embedder=embedder) as memory:
        assert memory.wait_ready(60)
        (fill if count <= REMEMBERED else write)(memory, embedder, notes(count, seed))
        settled(memory, 600.0)


def loads(browser: Any, server: Server, count: int, asked: list[str]) -> dict[str, list[float]]:
    """Bytes and milliseconds of *count* openings, each with a search in the list of memories."""
    taken: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        taken.setdefault(name, []).append(value)

    for number in range(count):
        page = browser.new_context(locale="en-GB").new_page()
        page.goto(server.address())
        page.wait_for_selector("main h1")
        note("first paint, ms", page.evaluate(PAINT))
        started = time.perf_counter()
        view(page, "memories")
        page.locator("main article, main li").first.wait_for()
        note("list of memories, ms", 1000 * (time.perf_counter() - started))
        note("bytes over the wire", page.evaluate(SIZE))
        page.get_by_role("searchbox").fill(asked[number])
        started = time.perf_counter()
        page.keyboard.press("Enter")
        page.locator("ol.hits li").first.wait_for()
        note("search to its first result, ms", 1000 * (time.perf_counter() - started))
        page.context.close()
    return taken


def made(seed: int) -> dict[str, Any]:
    """An answer with a graph as large as it can be, with long labels, from *seed*."""
    chance = random.Random(seed)
    names = [memory_graph.TOPICS, memory_graph.SUMMARIES, memory_graph.EPISODES]
    counts = dict(zip(memory_graph.TYPES, [*names, memory_graph.ENTITIES], strict=True))
    nodes = [
        {
            "key": f"{type}:{number}",
            "type": type,
            "label": f"{type} {number} " + "of many words " * chance.randrange(1, 20),
            "size": chance.randrange(1, 40),
        }
        for type, count in counts.items()
        for number in range(count)
    ]
    keys = [str(node["key"]) for node in nodes]
    ends = [chance.sample(keys, 2) for _ in range(2_000)]
    ties = [{"a": a, "b": b, "relation": "names", "weight": 1.0} for a, b in ends]
    return {"nodes": nodes, "ties": ties, "notice": ""}


def graph(browser: Any, server: Server, seed: int) -> bool:
    """Print what the largest graph costs; False when the keyboard does not reach all of it."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(server.address())
    page.wait_for_selector("main h1")
    whole = made(seed)
    page.route("**/api/v1/graph", lambda route: route.fulfill(json=whole))
    started = time.perf_counter()
    page.evaluate("location.hash = '#/topics'")
    nodes = page.locator("svg[role=group] a")
    nodes.first.wait_for()
    drawn = time.perf_counter()
    page.locator("svg[data-settled=true]").wait_for()
    still = time.perf_counter()
    count, longest = nodes.count(), max(map(len, page.locator("svg text").all_text_contents()))
    page.keyboard.press("Tab")
    nodes.first.focus()
    seen = set()
    walked = time.perf_counter()
    for _ in range(count):
        seen.add(page.evaluate("document.activeElement.getAttribute('href')"))
        page.keyboard.press("PageDown")
    each = (time.perf_counter() - walked) / count
    print(f"{'graph: nodes':32}{count:12,}")
    print(f"{'graph: first drawn, ms':32}{1000 * (drawn - started):12,.0f}")
    print(f"{'graph: stands still, ms':32}{1000 * (still - started):12,.0f}")
    print(f"{'graph: a step by keyboard, ms':32}{1000 * each:12,.0f}")
    print(f"{'graph: longest label, letters':32}{longest:12,}")
    print(f"{'graph: reached by keyboard':32}{len(seen):12,}")
    page.context.close()
    return len(seen) == count


def violations(browser: Any, server: Server) -> tuple[int, list[str]]:
    """How many views were looked at in all schemes and widths, and what axe found."""
    axe = ROOT / "tests/server/page/node_modules/axe-core/axe.min.js"
    if not axe.exists():
        sys.exit(f"there is no {axe.relative_to(ROOT)}: run npm ci in tests/server/page")
    looked, found = 0, []
    for scheme in ("light", "dark"):
        for width in (360, 1280):
            size = {"width": width, "height": 800}
            page = browser.new_context(color_scheme=scheme, viewport=size).new_page()
            page.goto(server.address())
            page.wait_for_selector("main h1")
            page.evaluate(axe.read_text("utf-8"))
            for name in VIEWS:
                view(page, name)
                looked += 1
                found += [f"{name}, {scheme}, {width}: {each}" for each in page.evaluate(AXE)]
            page.context.close()
    return looked, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--graph", action="store_true")
    args = parser.parse_args()
    print(machine(args.seed))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driving:
        if not args.graph:
            filled(Path(folder), args.memories, args.seed)
        server = Server(Path(folder))
        browser = driving.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            server.address()
            reached = graph(browser, server, args.seed)
            if args.graph:
                return 0 if reached else 1
            print(f"Chromium {browser.version}, {args.memories} memories, {args.loads} openings")
            for name, values in loads(
                browser, server, args.loads, questions(args.loads, args.seed)
            ).items():
                print(f"{name:32}{statistics.median(values):12,.0f}")
            looked, found = violations(browser, server)
            print(f"{looked} views looked at by axe: {len(found)} violations")
            print(*found, sep="\n")
        finally:
            engines.end(server.folder)
            browser.close()
    return 1 if found or not reached else 0


if __name__ == "__main__":
    sys.exit(main())
