"""Older formats of the journal become the present one, step by step, in one transaction.

A step changes tables and rows of one format so that they are those of the next. It is part of the
program for ever, with a golden directory of the format that it starts from. An open that is killed
half-way leaves the old format; an older program refuses the new one and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memory_core.storage.journal.format import FORMAT, Connection, first

Step = Callable[[Connection], None]

STEPS: Mapping[int, Step] = {}
"""From each older format the way to the next one. There is one format so far, so none."""


def version_of(connection: Connection) -> int:
    """The format of the open journal, 0 for an empty file."""
    return int(first(connection, "PRAGMA user_version") or 0)


def migrate(connection: Connection, steps: Mapping[int, Step] = STEPS, to: int = FORMAT) -> int:
    """Bring the open journal to format *to* inside the caller's transaction.

    An empty file and one of that format are left alone. Returns how many steps were taken.
    """
    taken = 0
    while 0 < (version := version_of(connection)) < to:
        steps[version](connection)
        connection.execute(f"PRAGMA user_version = {version + 1}").fetchall()
        taken += 1
    return taken
