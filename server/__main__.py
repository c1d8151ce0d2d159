"""`python -m server` and `anamnesis`: serves over stdio, or runs the command that is given.

A client waits for its hooks and for the server, so both start here, before click is imported.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code. A hook ends the process itself, with 0."""
    words = sys.argv[1:]
    if words[:1] == ["hook"]:
        from server.hooks.command import hook

        hook(words[1:])
    from server.cli import serve

    flags = serve.stdio_flags(words)
    if flags is not None:
        return serve.start_stdio(flags)
    from server.cli.main import main as run

    return run(words)


if __name__ == "__main__":
    sys.exit(main())
