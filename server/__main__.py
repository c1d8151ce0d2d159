"""`python -m server` and `anamnesis`: serves over stdio, or runs the command that is given.

A client waits for its hooks and for the server, so both start here, before click is imported.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from server.engine.own import OwnEngine

if not __package__:  # an engine runs this file by its path, so that no folder is searched for it
    _root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    _others = (at for at, folder in enumerate(sys.path) if folder.endswith("-packages"))
    sys.path.insert(next(_others, len(sys.path)), _root)  # this very program, before installed ones


_HELP = frozenset(("-h", "--help"))


def command() -> NoReturn:
    """Run the command line, and end the process at once when that is done.

    An orderly end would wait for a model that is still being loaded, and free every module. A
    thread that is no daemon is waited for: it closes files.
    """
    try:
        code = main()
        import threading

        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.main_thread():
                thread.join()
    except KeyboardInterrupt:  # while the command is still being imported, or waited for
        os.write(2, b"anamnesis: interrupted\n")
        code = 130
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> int:
    """Run the command line and return its exit code. A hook ends the process itself, with 0."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not _HELP.intersection(words):
        from server.hooks.command import hook

        hook(words[1:])
    from server.stdio.flags import stdio_flags

    flags = stdio_flags(words)
    if flags is not None:
        from server.stdio import proxy

        return proxy.serve(flags, _own)
    if words[:3] == ["engine", "run", "--launched"]:
        from server.cli.serve import run_launched

        return run_launched(words[3:])
    from server.cli import ask_engine

    code = ask_engine.run(words)
    if code is not None:
        return code
    from server.cli.main import main as run

    return run(words)


def _own(flags: Mapping[str, str]) -> OwnEngine:
    from server.cli.serve import own_engine

    return own_engine(flags)


if __name__ == "__main__":
    command()
