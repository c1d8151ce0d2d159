"""Lists the campaigns, or runs one.

    python -m tests.campaigns            what each shows, its time, its version in the suite
    python -m tests.campaigns NAME ...   runs it with the flags that follow

A campaign needs minutes, a quiet machine or many processes. The suite plays seconds of each.
"""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Campaign(NamedTuple):
    """How long a campaign takes as it is started here, and the test that plays a short version."""

    takes: str
    short: str


CAMPAIGNS = {
    "branches": Campaign("10 minutes", "none: it is the suite, under coverage"),
    "clients": Campaign("40 minutes", "tests/faults/test_many_clients.py"),
    "damage": Campaign("1 hour", "tests/faults/test_damage.py"),
    "disk": Campaign("1 hour", "tests/faults/test_power_cut.py"),
    "ending": Campaign("10 minutes", "tests/server/test_stdio.py"),
    "engine": Campaign("1 hour", "tests/faults/test_engine.py"),
    "fuzz": Campaign("10 minutes", "tests/faults/test_fuzz.py"),
    "import_kill": Campaign("10 minutes", "tests/importing/test_walk.py"),
    "kill": Campaign("2 hours", "tests/faults/test_memory_kill.py"),
    "long": Campaign("3 minutes", "none: each file with such tests has others like them"),
    "parts": Campaign("2 minutes", "tests/faults/test_missing_parts.py"),
    "patterns": Campaign("4 minutes", "tests/test_patterns.py"),
    "room": Campaign("1 hour", "tests/storage/test_table_files.py"),
    "sleep_kill": Campaign("2 hours", "tests/faults/test_sleep_kill.py"),
    "soak": Campaign("1 hour", "tests/faults/test_soak.py"),
    "sync_kill": Campaign("20 minutes", "tests/faults/test_sync_kill.py"),
    "whole": Campaign("1 hour", "tests/faults/test_whole.py"),
}


def shows(name: str) -> str:
    """What the campaign *name* shows: the first sentence of its file."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or ""
    return text.split("\n\n", 1)[0].replace("\n", " ")


def main(words: list[str]) -> int:
    """The exit status."""
    if not words:
        for name, campaign in CAMPAIGNS.items():
            print(f"{name:12} {campaign.takes:11} {shows(name)}")
            print(f"{'':12} {'':11} in the suite: {campaign.short}")
        return 0
    name, *flags = words
    if name not in CAMPAIGNS:
        print(f"there is no campaign {name!r}; there are {', '.join(CAMPAIGNS)}", file=sys.stderr)
        return 2
    os.execv(sys.executable, [sys.executable, str(HERE / f"{name}.py"), *flags])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
