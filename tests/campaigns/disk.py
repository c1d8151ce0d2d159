"""Power cuts and refused file operations at random places; what was acknowledged must be there.

    python tests/campaigns/disk.py --fault power [--count 10000] [--seconds 3600] [--seed 1]
    python tests/campaigns/disk.py --fault errors [--count 2000] [--seconds 3600] [--seed 1]

`power`: a journal worker is recorded, killed now and then and taken over, and at every moment of
the record the disks are laid out that a power cut may leave: unsynced writes dropped, zeroed or in
part and out of order. `errors`: one file operation, or all from it on, gets EIO, ENOSPC, EDQUOT or
a short write. After each, the worker's steps are repeated under their keys and everything ever
acknowledged is looked up. The first thing that is wrong ends the campaign with exit status 1.
"""

from __future__ import annotations

import argparse
import errno
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from journal_scenarios import Account, all_kinds
from material import machine
from replay import cuts
from yard import FAIL, FOR_EVER, KILLS, SHORT, Said, Yard, build_shim

REACH = 370
"""How many changes of files the scenario makes, about."""


def afterwards(folder: Path, said: Said) -> None:
    """Repeat everything where nothing is hindered, and look everything up."""
    account, more = Account(), Said()
    account.take(said)
    all_kinds(folder, lambda *words: more.append([str(word) for word in words]))
    assert not [words for words in more if words[0] == "failed"], more
    account.take(more)
    assert account.verify(folder) == 4


def power(yard: Yard, folder: Path, order: random.Random) -> Iterator[str]:
    """One record, and every disk that may be left of it."""
    store, record = folder / "store", folder / "record"
    shutil.rmtree(store, ignore_errors=True)
    record.unlink(missing_ok=True)
    store.mkdir(mode=0o700)
    for _ in range(order.randint(0, 2)):
        kill = {"what": order.choice(KILLS), "first": order.randint(1, REACH)}
        yard.run("all_kinds", store, record=str(record), **kill)
    yard.run("all_kinds", store, record=str(record))
    for cut in cuts(record, store, order):
        afterwards(cut.lay_out(folder / "left"), cut.said)
        yield cut.way


def errors(yard: Yard, folder: Path, order: random.Random) -> Iterator[str]:
    """One hindered run."""
    shutil.rmtree(folder / "store", ignore_errors=True)
    what, number = order.choice(
        [(FAIL, errno.EIO), (FAIL, errno.ENOSPC), (FAIL, errno.EDQUOT), (SHORT, 0)]
    )
    first = order.randint(1, REACH)
    last = order.choice([first, first + order.randint(1, 60), FOR_EVER])
    room = number in (errno.ENOSPC, errno.EDQUOT)
    task = {"what": what, "error": number, "first": first, "last": last, "room": room}
    outcome = yard.run("all_kinds", folder / "store", **task)
    failed = [words for words in outcome.said if words[0] == "failed"]
    assert "read" not in {words[1] for words in failed}, failed
    afterwards(folder / "store", outcome.said)
    yield errno.errorcode.get(number, "short write")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fault", choices=("power", "errors"), default="power")
    parser.add_argument("--count", type=int, default=10_000, help="disks or hindered runs")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(machine(args.seed), flush=True)
    order, started, done = random.Random(args.seed), time.monotonic(), dict[str, int]()
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yard = Yard(build_shim(Path(name)), "journal_scenarios")
        try:
            while sum(done.values()) < args.count and time.monotonic() < started + args.seconds:
                trial = power if args.fault == "power" else errors
                for way in trial(yard, Path(name), order):
                    done[way] = done.get(way, 0) + 1
                    if time.monotonic() > started + args.seconds:
                        break
        finally:
            yard.close()
    told = ", ".join(f"{way} {count:,}" for way, count in sorted(done.items()))
    print(
        f"{args.fault}: {sum(done.values()):,} in {time.monotonic() - started:,.0f} s ({told}): "
        "0 acknowledged lost, 0 doubled, 0 failed opens"
    )


if __name__ == "__main__":
    main()
