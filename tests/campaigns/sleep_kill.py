"""kill -9 at every change of a file that a consolidation run makes, before, amidst and after it.

    python tests/campaigns/sleep_kill.py [--from 1] [--step 1] [--seconds 7200]

Each kill falls on a fresh copy of one store. The next process goes on with the run at every second
point, and takes it back at the others. Then the export must be that of before the run or that of
after it, byte for byte but for the ids that a run makes up, and undo must bring back the first. The
first thing that is wrong ends the campaign with exit status 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import sleep_scenarios
from material import machine
from yard import KILLS, Yard, build_shim


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first change")
    parser.add_argument("--step", type=int, default=1, help="1 is every change")
    parser.add_argument("--seconds", type=float, default=7200.0)
    args = parser.parse_args()
    print(machine(0))
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        play(Path(name), args)


def play(folder: Path, args: argparse.Namespace) -> None:
    base, store = folder / "base", folder / "store"
    sleep_scenarios.prepare(base)
    pristine = folder / "pristine"
    shutil.copytree(base, pristine)
    legal = sleep_scenarios.Legal(base)
    print(f"steps: {legal.steps}")
    yard = Yard(build_shim(folder), "sleep_scenarios")
    started, ends = time.monotonic(), Counter[str]()
    point, kills = args.first, 0
    try:
        while time.monotonic() < started + args.seconds:
            killed = 0
            for turn, what in enumerate(KILLS):
                shutil.rmtree(store, ignore_errors=True)
                shutil.copytree(pristine, store)
                killed += yard.run("one_sleep", store, what=what, first=point).killed
                ends[legal.verify(store, go_on=(point + turn) % 2 == 0)] += 1
            kills += killed
            if not killed:
                break
            if point % 25 == 0:
                print(f"  {point} changes, {kills} kills", flush=True)
            point += args.step
        else:
            print("time is up", flush=True)
    finally:
        yard.close()
    print(
        f"changes {args.first} to {point - 1}, each {args.step}: {kills} kills in "
        f"{time.monotonic() - started:,.0f} s, then {dict(ends)}: nothing lost, no other state"
    )


if __name__ == "__main__":
    main()
