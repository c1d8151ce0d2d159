"""Power cuts in a record: the disks that may be left at its moments, and what must be on them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import power


class Cut(NamedTuple):
    """The power went after the *number*-th event."""

    number: int
    way: str
    state: dict[str, bytes | None]
    said: list[list[str]]
    """What the process had said until then."""

    def lay_out(self, directory: Path) -> Path:
        """Make *directory* what the disk holds, instead of what is there."""
        shutil.rmtree(directory, ignore_errors=True)
        power.lay_out(self.state, directory)
        return directory


def cuts(
    record: Path, root: Path, order: random.Random, moments: Collection[int] | None = None
) -> Iterator[Cut]:
    """Every different disk at the *moments* (numbers of events, None for all), in each way."""
    disk, said, known = power.Disk(str(root)), list[list[str]](), set[int]()
    for number, event in enumerate(power.events(record)):
        if event.kind == "#":
            said.append(event.data.decode().split())
        else:
            disk.follow(event)
        if moments is not None and number not in moments:
            continue
        for way in power.WAYS:
            state = disk.guess(way, order)
            mark = hash((len(said), tuple(state.items())))
            if mark not in known:
                known.add(mark)
                yield Cut(number, way, state, list(said))
