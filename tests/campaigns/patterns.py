"""Times every regular expression of the project on long repetitions of its own alternatives.

Run: python tests/campaigns/patterns.py [--expressions 40]. Texts have 20,000 characters, and a
million with the unit that costs most; all expressions take some four minutes. Exits with 1 when
the time of one grows faster than its text.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def tested() -> Any:
    """The module of the suite that does the same with short texts."""
    sys.path.insert(0, str(ROOT))
    spec = importlib.util.spec_from_file_location(
        "test_patterns", ROOT / "tests" / "test_patterns.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up there
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expressions", type=int, default=0, help="the first of them; 0: all")
    args = parser.parse_args()
    patterns = tested()
    found = 0
    cases = patterns.every()[: args.expressions or None]
    for case in cases:
        if unit := patterns.superlinear(case):
            found += 1
            print(f"{case.name} {case.pattern.pattern[:60]}: on {unit!r}", flush=True)
    print(f"{len(cases)} expressions of {len(patterns.every())}, {found} superlinear")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
