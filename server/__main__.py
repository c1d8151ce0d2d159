"""`python -m server` and `anamnesis`: serves over stdio; with arguments it is the command line.

A hook runs at every prompt of its client, so it begins here, before anything heavy is imported.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run what the command line says; returns the exit code. A hook ends here, always with 0."""
    if "hook" in sys.argv[1:2]:
        from server.hooks.command import hook

        hook(sys.argv[2:])
    from server.cli import main as cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
