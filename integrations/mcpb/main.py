"""Where the bundle starts: the command line of Anamnesis, which serves over stdio by itself."""

from __future__ import annotations

import sys

from server.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
