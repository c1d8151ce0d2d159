"""What a command printed, here or in an engine. It loads nothing, because a user waits."""

from __future__ import annotations

import os
import sys


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

    @classmethod
    def unread(cls) -> Printed:
        """Nothing: the reader of stdout has seen enough, and has closed it."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return cls("", "", 0)

    def show(self) -> int:
        """Print it; returns the exit code, 0 when nobody reads stdout any more."""
        sys.stderr.write(self.err)
        sys.stderr.flush()
        if self.paged and _higher_than_the_terminal(self.out):
            import click

            click.echo_via_pager(self.out)
            return self.code
        try:
            sys.stdout.write(self.out)
            sys.stdout.flush()
        except BrokenPipeError:
            return self.unread().code
        return self.code


def _higher_than_the_terminal(text: str) -> bool:
    try:
        return text.count("\n") >= (os.get_terminal_size(sys.stdout.fileno()).lines or 1_000)
    except (OSError, ValueError):  # no terminal
        return False
