"""Does REST keep to its document? schemathesis against the server as it is shipped.

    .venv/bin/python tests/conformance/rest.py [--few] [--examples N] [--phases NAMES]

The seed is fixed. /events never ends, /import and /import/file take files and /clear removes what
the other cases need: tests/server/rest has them. Checking health makes a real round trip each time
and is left out for its cost. With --few, as in .ci/run, the paths of `FEW` alone are tried.
Prints what schemathesis prints; exit code 1 when a case failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from runner import HERE, ROOT, place, serving

LEFT_OUT = ("/events", "/import", "/import/file", "/clear", "/health", "/health/repair")
FEW = ("/memories/{id}", "/recall")
PHASES = "coverage,fuzzing,stateful"
SECONDS = 30
"""For one request: the server itself answers within 20."""


def check(url: str, token: str, few: bool, examples: int, phases: str, report: Path) -> int:
    """Run the cases against the server at *url*; the exit code of schemathesis."""
    words = [
        "--config-file", str(HERE / "schemathesis.toml"), "run", str(ROOT / "docs/openapi.json"),
        "--url", f"{url}/api/v1", "-H", f"Authorization: Bearer {token}",
        "--phases", phases, "--max-examples", str(examples), "--request-timeout", str(SECONDS),
        "--generation-database", "none", "--report", "junit", "--report-junit-path", str(report),
    ]  # fmt: skip
    for path in FEW if few else LEFT_OUT:
        words += ["--include-path" if few else "--exclude-path", path]
    command = [sys.executable, "-m", "schemathesis.cli", *words]
    return subprocess.run(command, cwd=HERE, check=False).returncode


def main() -> int:
    """Serve an empty memory and check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", action="store_true", help="the operations of some paths")
    parser.add_argument("--examples", type=int, default=3, help="random cases of an operation")
    parser.add_argument("--phases", default=PHASES)
    given = parser.parse_args()
    output = HERE / "out"
    output.mkdir(exist_ok=True)
    with place() as folder:
        words = ["-m", "server", "serve", "--transport", "http", "--port", "0"]
        data = folder / "data"
        with serving([*words, "--data-dir", str(data)], output / "rest.log") as url:
            token = (data / "token").read_text("ascii").strip()
            report = output / "rest.xml"
            return check(url, token, given.few, given.examples, given.phases, report)


if __name__ == "__main__":
    sys.exit(main())
