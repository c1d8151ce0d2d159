"""Writes docs/openapi.json, the document of the REST operations.

    .venv/bin/python tools/write_openapi.py

Prints the digest that CHANGELOG.md names: a change of the document is a change for users.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from memory_core.memory import Memory  # noqa: E402
from memory_core.records import Identity  # noqa: E402
from server.rest import document  # noqa: E402
from server.rest.app import build_rest  # noqa: E402

FILE = ROOT / "docs/openapi.json"


def text() -> str:
    """The document as the file holds it."""
    made = document.of(build_rest(cast("Memory", None), Identity("me")))
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def digest(document: str) -> str:
    """Eight hexadecimal digits that tell one document from another."""
    return hashlib.sha256(document.encode()).hexdigest()[:8]


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")
    print(digest(text()))
