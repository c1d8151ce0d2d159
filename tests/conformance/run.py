"""Does the server keep to the protocol, and do clients take it? Official tools and real clients.

    .venv/bin/python tests/conformance/run.py [--few] [--output DIR]

A. The server as it is shipped passes every scenario of the conformance suite that needs no
   fixture, on both revisions; expected.yml names the four checks that need one.
B. The same application with the suite's fixtures (facade.py) passes every scored scenario.
C. The Inspector finds no portability problem in the tools (--strict) on any transport, reads and
   calls what is offered in both eras, and its load figures are recorded.
D. Whole sessions of the TypeScript SDKs on every transport (session.mjs). Claude Code connects to
   what `install` writes; with the plugin it holds conversations with a stand-in for its model.
E. What is published: the .mcpb bundle is validated and packed by its official tool, and what was
   packed is unpacked, installed and spoken to; server.json fits the schema of the MCP registry.

With --few, as in .ci/run, C, D and E play less: mostly each thing on one transport. Everything
printed by them is kept in DIR (default: tests/conformance/out), with summary.json and summary.md.
Exit code 1 when anything failed. The tools and Node come from the npm registry in the versions of
package-lock.json, uv and the schema from PyPI; without npm on the machine, npm comes from PyPI
first.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import clients
import publishing
from runner import HERE, Outcome, Runner, install, judged, place, serving

CONNECT_MS = "60000"
SCENARIO_MS = "60000"

SHIPPED = {
    "2025-11-25": [
        "server-initialize",
        "server-session-lifecycle",
        "ping",
        "completion-complete",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ],
    "2026-07-28": [
        "server-stateless",
        "completion-complete",
        "tools-list",
        "resources-list",
        "prompts-list",
        "sep-2164-resource-not-found",
        "caching",
        "http-header-validation",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ],
}
"""The scenarios that need no fixture, by protocol revision."""


def shipped(run: Runner, url: str, output: Path) -> None:
    """Part A: everything that a revision requires is run at once, and judged are `SHIPPED`."""
    for revision, scenarios in SHIPPED.items():
        command = run.installed(
            "conformance", "server", "--url", f"{url}/mcp", "--requirements", revision,
            "--timeout", SCENARIO_MS, "-o", str(output / f"A-{revision}"),
            "--expected-failures", str(HERE / "expected.yml"),
        )  # fmt: skip
        said, _ = run.ran(f"A {revision}", "every scenario", command, None)
        for name in scenarios:
            passed, detail = judged(said, name)
            run.note(f"A {revision}", name, passed, detail)


def facade(run: Runner, url: str, output: Path) -> None:
    """Part B."""
    for revision in SHIPPED:
        run(
            f"B {revision}", "every scored scenario", "conformance", "server",
            "--url", f"{url}/mcp", "--requirements", revision, "--timeout", SCENARIO_MS,
            "-o", str(output / f"B-{revision}"),
        )  # fmt: skip


def inspector(run: Runner, url: str, token: str, output: Path) -> None:
    """Part C, over stdio and on a server that asks for its token."""
    header = ("--header", f"Authorization: Bearer {token}")
    http = ("--server-url", f"{url}/mcp", "--transport", "http", *header, "--protocol-era")
    targets = {
        "stdio": (sys.executable, "-m", "server"),
        "http legacy": (*http, "legacy"),
        "http modern": (*http, "modern"),
        "sse": ("--server-url", f"{url}/sse", "--transport", "sse", *header),
    }
    calls = {
        "tools/list --strict": ("--strict",),
        "tools/call recall": ("--tool-name", "recall", "--tool-arg", "query=tea"),
        "resources/list": (),
        "resources/templates/list": (),
        "resources/read recent": ("--uri", "memory://recent"),
        "prompts/get briefing": ("--prompt-name", "briefing"),
    }
    some = ("tools/list --strict", "tools/call recall", "resources/read recent")
    for transport, target in targets.items():
        for what, more in calls.items():
            if transport in ("http legacy", "sse") and what not in some:
                continue
            if run.few and what not in (some if transport == "stdio" else some[1:2]):
                continue
            flags = ("--connect-timeout", CONNECT_MS, "--method", what.partition(" ")[0])
            run(f"C {transport}", what, "mcp-inspector", "--cli", *target, *flags, *more)
    if not run.few:
        load(run, targets["http legacy"], output)


def load(run: Runner, target: Sequence[str], output: Path) -> None:
    """The Inspector's load test of recall."""
    calls = 300
    said = run(
        "C http legacy", f"load {calls} x recall, 10 at once", "mcp-inspector", "--cli", *target,
        "--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=tea",
        "--load", "--load-requests", str(calls), "--load-concurrency", "10",
    )  # fmt: skip
    figures = json.loads(said[said.index("{") :]) if "{" in said else {}
    latency = figures.get("latencyMs", {})
    detail = (
        f"{figures.get('throughput')} calls a second, p50 {latency.get('p50')} ms, "
        f"p99 {latency.get('p99')} ms"
    )
    run.note("C load", "no call failed", figures.get("ok") == calls, detail)
    (output / "load.json").write_text(json.dumps(figures, indent=2), "utf-8")


def summarise(outcomes: Sequence[Outcome], output: Path) -> None:
    """Write summary.json and summary.md."""
    (output / "summary.json").write_text(
        json.dumps([asdict(outcome) for outcome in outcomes], indent=1), "utf-8"
    )
    rows = [
        f"| {o.part} | {o.what} | {'passed' if o.passed else 'FAILED'} | {o.detail} |"
        for o in outcomes
    ]
    table = ["| part | what | outcome | detail |", "|---|---|---|---|", *rows]
    (output / "summary.md").write_text("\n".join(table) + "\n", "utf-8")


def main() -> int:
    """Run all parts; 1 when something failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--output", type=Path, default=HERE / "out", metavar="DIR")
    parser.add_argument("--few", action="store_true", help="each thing on one transport")
    given = parser.parse_args()
    output = given.output.resolve()
    node = install()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    with place() as home:
        run = Runner(node, output, home, given.few)
        ours = ["-m", "server", "serve", "--transport", "http", "--port", "0", "--data-dir"]
        with serving([*ours, str(home / "a"), "--no-token"], output / "shipped.log") as url:
            shipped(run, url, output)
        with serving([str(HERE / "facade.py"), str(home / "b")], output / "facade.log") as url:
            facade(run, url, output)
        with serving([*ours, str(home / "c")], output / "inspected.log") as url:
            token = (home / "c" / "token").read_text().strip()
            inspector(run, url, token, output)
            clients.typescript(run, url, token)
            clients.claude_code(run, url, token)
        clients.claude_plugin(run)
        publishing.bundle(run)
        publishing.registry(run)
    summarise(run.outcomes, output)
    failed = [outcome for outcome in run.outcomes if not outcome.passed]
    print(f"{len(run.outcomes) - len(failed)} passed, {len(failed)} failed; see {output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
