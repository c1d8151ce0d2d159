"""`python -m server`: serves over stdio; with arguments it is the command line."""

from __future__ import annotations

import sys

from server.cli import main

if __name__ == "__main__":
    sys.exit(main())
