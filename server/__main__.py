"""`python -m server` and `anamnesis`: serves over stdio, or runs the command that is given.

A client waits for its hook at every prompt, so `hook` is dispatched before the heavy imports.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code. A hook ends the process itself, with 0."""
    if "hook" in sys.argv[1:2]:
        from server.hooks.command import hook

        hook(sys.argv[2:])
    from server.cli import main as cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
