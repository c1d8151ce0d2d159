"""What is imported before the handshake, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("processes")

ROOT = Path(__file__).parent.parent.parent
HEAVY = (
    "memory_core.memory",
    "memory_core.browse",
    "memory_core.storage.store",
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
        "import server.engine.engine, server.engine.own\n"
        "from memory_core import config, records\n"
        "from server.cli import serve\n"
        "serve._shared_parts(config.load({}, {}), records.Identity('me'))()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def imported(*words: str, stdin: str = "") -> set[str]:
    """Every module that a run of the program imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "server", *words],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
        check=True,
    )
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--transport", "stdio"),
        *(pytest.param(words, marks=pytest.mark.long) for words in ((), ("serve",))),
    ],
)
def test_serving_over_stdio_does_not_import_the_commands(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    found = imported(*words, "--data-dir", str(tmp_path))
    assert {"server.cli.serve", "server.stdio.proxy"} <= found
    assert {name for name in found if name.startswith("server.cli.")} == {
        "server.cli.invocation",
        "server.cli.serve",
        "server.cli.site",
    }


def test_what_serves_and_what_hooks_imports_neither_click_nor_rich(tmp_path: Path) -> None:
    # with the SDK it cannot be asked for: the SDK imports uvicorn, and that click
    code = "import sys, server.__main__, server.cli.serve, memory_core.config; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert not {"click", "rich", "argparse", "mcp"} & set(done.stdout.split())
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": "one", "prompt": "where is it?"}
    found = imported("hook", "--data-dir", str(tmp_path), stdin=json.dumps(asked))
    assert "server.hooks.command" in found
    assert not {"click", "rich", "argparse", "mcp", "server.cli"} & found


def test_the_command_line_itself_imports_nothing_heavy() -> None:
    code = (
        f"import sys, server.cli.main; print([n for n in {(*HEAVY, 'mcp')!r} if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_command_ends_at_once_but_for_threads_that_close_files() -> None:
    """A model that is being loaded, in a daemon thread, is not waited for, nor an orderly exit."""
    code = (
        "import atexit, threading, server.__main__ as program\n"
        "told = threading.Event()\n"
        "def main():\n"
        "    threading.Thread(target=lambda: (told.wait(), print('closed'))).start()\n"
        "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "    atexit.register(print, 'waited')\n"
        "    print('said')\n"
        "    told.set()\n"
        "    return 3\n"
        "program.main = main\n"
        "program.command()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (3, "said\nclosed\n"), done.stderr
