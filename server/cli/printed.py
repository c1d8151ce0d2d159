"""What a command printed, here or in an engine. It loads nothing, because a user waits."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


class Printed:
    """Output, messages and exit code of one command line."""

    def __init__(self, out: str, err: str, code: int, *, paged: bool = False) -> None:
        """*out* is for stdout, *err* for stderr, both with their line ends.

        *paged* shows *out* with the user's pager where it is longer than the terminal is high.
        """
        self.out = out
        self.err = err
        self.code = code
        self.paged = paged

    def show(self) -> int:
        """Print it; returns the exit code, that of `unwritten` where stdout does not take it."""
        with suppress(OSError):  # nobody can be told of it
            sys.stderr.write(self.err)
            sys.stderr.flush()
        if self.paged and _higher_than_the_terminal(self.out):
            import click

            click.echo_via_pager(self.out)
            return self.code
        try:
            # the name of a file may hold bytes that are no letters
            sys.stdout.write(self.out.encode("utf-8", "backslashreplace").decode("utf-8"))
            sys.stdout.flush()
        except OSError as problem:
            return unwritten(problem)
        return self.code


def unwritten(problem: OSError) -> int:
    """Say that stdout does not take what is written; returns 1, and 0 where its reader left.

    What is written from now on goes nowhere.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(problem, BrokenPipeError):  # the reader has seen enough
        return 0
    from memory_core.errors import DiskFull, StorageError
    from memory_core.storage.errors import NO_ROOM

    kind = DiskFull if problem.errno in NO_ROOM else StorageError
    told = kind(
        f"the output cannot be written ({problem.strerror})", "send it elsewhere, then repeat"
    )
    return Printed("", f"anamnesis: {told}\n", 1).show()


def _higher_than_the_terminal(text: str) -> bool:
    try:
        return text.count("\n") >= (os.get_terminal_size(sys.stdout.fileno()).lines or 1_000)
    except (OSError, ValueError):  # no terminal
        return False
