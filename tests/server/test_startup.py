"""What is imported before the handshake, and what is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
HEAVY = (
    "memory_core.memory",
    "memory_core.storage",
    "numpy",
    "lancedb",
    "pyarrow",
    "faiss",
    "onnxruntime",
    "tokenizers",
    "apsw",
    "torch",
    "anthropic",
    "ollama",
    "rich.table",
    "rich.progress",
)


def test_serving_over_stdio_imports_nothing_heavy_before_the_handshake() -> None:
    code = (
        "import sys\n"
        "import server.cli.main, server.stdio.server\n"
        "import server.protocol.server, server.protocol.lazy_memory\n"
        "from memory_core import config\n"
        "config.load({}, {})\n"
        "late = server.protocol.lazy_memory.LazyMemory(lambda: None, 1)\n"
        "server.protocol.server.build_server(late)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_command_line_itself_does_not_import_the_sdk() -> None:
    code = "import sys, server.cli.main; print('mcp' in sys.modules, 'rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "False False"
