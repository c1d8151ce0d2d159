"""kill -9 at file operations chosen at random, over and over; what was acknowledged must be there.

    python tests/campaigns/kill.py --worker journal --count 9000 [--seconds 3600] [--seed 1]
    python tests/campaigns/kill.py --worker memory --count 1000 [--seconds 7200] [--seed 1]

A worker does a random sequence of steps and is killed before, amidst or after its n-th change of a
file, n chosen at random. In every third round a second writer goes on meanwhile. After each kill
the store is opened, the writes that got no answer are repeated under their keys, and everything
ever acknowledged is looked up. `journal`: put, forget, consolidation, checkpoints. `memory`: the
whole product with LanceDB and FAISS: remember, observe, recall, forget, consolidate, apply,
compact, snapshot. The first thing that is wrong ends the campaign with exit status 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import journal_scenarios
import memory_scenarios
from material import machine
from yard import KILLS, Outcome, Yard, build_shim

STEPS = {"journal": 12, "memory": 10}
REACH = {"journal": 320, "memory": 330}
"""How far into a run a kill may fall, in file operations."""
KILLS_A_STORE = 20
BUSY = ["failed", "consolidate", "-", "busy"]
"""What a process is told while another one consolidates."""


class Campaign:
    """Kills one worker after the other and keeps the account."""

    def __init__(self, worker: str, seed: int, folder: Path, shim: Path) -> None:
        module = {"journal": journal_scenarios, "memory": memory_scenarios}[worker]
        self.module: Any = module
        self.worker, self.order, self.folder = worker, random.Random(seed), folder
        self.yards = [Yard(shim, module.__name__) for _ in range(2)]
        self.runs = self.kills = self.checked = self.stores = 0
        self.new_store()

    def new_store(self) -> None:
        shutil.rmtree(self.folder / "store", ignore_errors=True)
        self.account, self.killed_here = self.module.Account(), 0
        self.stores += 1

    def task(self) -> dict[str, Any]:
        """The options of a run with a seed of its own, which its keys begin with."""
        self.runs += 1
        known = {k: i for k, i in self.account.ids.items() if i not in self.account.forgetting}
        some = dict(self.order.sample(sorted(known.items()), min(10, len(known))))
        options = {"seed": self.order.randrange(10**9), "steps": STEPS[self.worker]}
        return {"options": options | {"known": some}}

    def round(self) -> None:
        """One kill, a second writer in every third round, the repeats, the look-up."""
        store = self.folder / "store"
        doomed, other = self.task(), self.task()
        doomed |= {
            "what": self.order.choice(KILLS),
            "first": self.order.randint(1, REACH[self.worker]),
        }
        together = self.runs % 3 == 0
        if together:
            other["options"]["known"] = {}
            self.yards[1].start("at_random", store, **other)
        outcomes = [self.yards[0].run("at_random", store, **doomed)]
        if together:
            outcomes.append(self.yards[1].end())
        self.killed_here += outcomes[0].killed
        self.kills += outcomes[0].killed
        self.settle(outcomes)

    def settle(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            self.account.take(outcome.said)
            failed = [words for words in outcome.said if words[0] == "failed" and words != BUSY]
            assert not failed, failed
            for words in outcome.said:
                if words[0] == "problem":
                    print("  upkeep:", *words[1:], flush=True)
        unanswered = sorted(self.account.tried - self.account.ids.keys())
        said: list[list[str]] = []

        def say(*words: object) -> None:
            said.append([str(word) for word in words])

        self.repeat(unanswered, say, said)
        if self.killed_here >= KILLS_A_STORE:
            self.new_store()

    def repeat(self, keys: list[str], say: Any, said: list[list[str]]) -> None:
        """Ask again for what got no answer, and look everything up."""
        store = self.folder / "store"
        if self.worker == "journal":
            journal = journal_scenarios.opened(store, say)
            assert journal is not None, said
            client = journal_scenarios.Client(journal, say)
            for key in keys:
                client.put(key)
            journal.close()
            self.account.take(said)
            self.checked += self.account.verify(store)
        else:
            memory = memory_scenarios.open_memory(store)
            try:
                asking = memory_scenarios.Client(memory, say)
                for key in keys:
                    asking.remember(key)
                self.account.take(said)
                self.checked += self.account.verify(memory)
            finally:
                memory.close()
        assert not [words for words in said if words[0] == "failed"], said

    def close(self) -> None:
        for yard in self.yards:
            yard.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", choices=sorted(STEPS), default="journal")
    parser.add_argument("--count", type=int, default=9000, help="kills")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(machine(args.seed))
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    started = said = time.monotonic()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        campaign = Campaign(args.worker, args.seed, Path(folder), build_shim(Path(folder)))
        try:
            while campaign.kills < args.count and time.monotonic() < started + args.seconds:
                campaign.round()
                if time.monotonic() > said + 60:
                    said = time.monotonic()
                    print(f"  {campaign.kills:,} kills after {said - started:,.0f} s", flush=True)
        finally:
            campaign.close()
    print(
        f"{args.worker}: {campaign.kills:,} kills in {time.monotonic() - started:,.0f} s, "
        f"{campaign.stores:,} stores, {campaign.checked:,} memories looked up: "
        "0 acknowledged lost, 0 doubled, 0 failed opens"
    )


if __name__ == "__main__":
    main()
