"""What somebody has to know to find their way: modules, lines, floors, arrows, circles, settings.

    python tests/bench/house.py [CHECKOUT ...]

One column for each checkout (default: this one), so that a state before and after stand side by
side. Rooms are the folders and files directly in `memory_core`, with all that is in them, `server`
and `tools`. An arrow is a pair of rooms of which one imports the other; floors are the longest
chain of arrows, circles taken as one; circles are groups of modules that import each other,
type-only and in-function imports included.

A real `remember` and a real `recall` are traced in a process of their own, in each checkout with
its own interpreter where it has a `.venv`: the files and functions of ours that the calling thread
enters, after a warm-up call.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("anamnesis", "memory_core", "server")
TOOLS = "tools"

TRACED = """
import json, sys, tempfile
from pathlib import Path
from memory_core import config
from memory_core.memory import Memory
from memory_core.records import Identity

def remembered(memory, who, text):
    try:
        from memory_core.remember.request import RememberRequest
    except ImportError:
        return memory.remember(who, text, session="s")
    return memory.remember(who, RememberRequest(text, session="s"))

def recalled(memory, who, query):
    try:
        from memory_core.recall.request import RecallRequest
    except ImportError:
        return memory.recall(who, query, session="s")
    return memory.recall(who, RecallRequest(query, session="s"))

def traced(call, *given):
    entered = set()
    def enter(frame, event, _):
        if event == "call":
            code = frame.f_code
            if "/memory_core/" in code.co_filename:
                entered.add((code.co_filename, code.co_qualname))
    sys.setprofile(enter)
    try:
        call(*given)
    finally:
        sys.setprofile(None)
    files = {name.split("/memory_core/", 1)[1] for name, _ in entered}
    return sorted(files), len(entered)

with tempfile.TemporaryDirectory() as folder:
    settings = config.load({"ANAMNESIS_DATA_DIR": folder}, {})
    who = Identity("me", "")
    with Memory(settings) as memory:
        assert memory.wait_ready(60)
        for text in ("Lena moved to Lisbon in May 2024.", "Staging listens on port 5433."):
            remembered(memory, who, text)
        recalled(memory, who, "Where does Lena live?")
        said = traced(remembered, memory, who, "Lena's flight to Porto leaves on Friday.")
        asked = traced(recalled, memory, who, "When does Lena fly to Porto?")
print(json.dumps({"remember": said, "recall": asked}))
"""


def modules(root: Path) -> dict[str, Path]:
    """Dotted name -> file of every module of ours below *root*."""
    found = {}
    for package in (*PACKAGES, TOOLS):
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix().removesuffix(".py").replace("/", ".")
            found[name.removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours that *path* imports, for types and inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name in known} or {node.module}
    return found & set(known)


def room(path: Path, root: Path) -> str:
    """The room of `memory_core` that a module is in, or the package where that is another."""
    parts = path.relative_to(root).parts
    return "/".join(parts[:2]) if parts[0] == "memory_core" else parts[0]


def components(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """The strongly connected parts of *graph*, each after all that it leads to (Tarjan)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> Iterator[list[str]]:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                yield from visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            component, stack[at:] = stack[at:], []
            yield component

    for node in sorted(graph):
        if node not in number:
            yield from visit(node)


def floors(graph: dict[str, set[str]]) -> int:
    """The length of the longest chain in *graph*, a circle counted as one."""
    height: dict[str, int] = {}
    for component in components(graph):
        below = {other for node in component for other in graph[node]} - set(component)
        height |= dict.fromkeys(component, 1 + max((height[other] for other in below), default=0))
    return max(height.values())


def code_lines(path: Path) -> int:
    """Lines of *path* that are neither blank nor comment nor docstring."""
    text = path.read_text("utf-8")
    silent = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(getattr(value, "value", None), str):
                silent |= set(range(statement.lineno, (statement.end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(
        1 for n, line in lines if n not in silent and line.strip() and line.strip()[0] != "#"
    )


def settings(root: Path, python: Path) -> int:
    """The settings that a user can name: environment and file."""
    code = (
        "from memory_core.config import Settings\n"
        "def leaves(model):\n"
        "    for name, field in model.model_fields.items():\n"
        "        inner = getattr(field.annotation, 'model_fields', None)\n"
        "        yield from leaves(field.annotation) if inner else [name]\n"
        "print(len(list(leaves(Settings))))"
    )
    done = subprocess.run([python, "-c", code], cwd=root, capture_output=True, text=True)
    return int(done.stdout or -1)


def traced(root: Path, python: Path) -> dict[str, tuple[list[str], int]]:
    """For remember and recall: the files and the number of functions that one call enters."""
    done = subprocess.run([python, "-c", TRACED], cwd=root, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, tuple[list[str], int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(root: Path) -> dict[str, int]:
    """Every figure of the checkout *root*, by name."""
    known = modules(root)
    graph = {name: imports(path, known) - {name} for name, path in known.items()}
    rooms: dict[str, set[str]] = {}
    for name, others in graph.items():
        here = room(known[name], root)
        rooms.setdefault(here, set()).update(room(known[other], root) for other in others)
    rooms = {here: there - {here} for here, there in rooms.items()}
    python = root / ".venv" / "bin" / "python"
    python = python if python.exists() else Path(sys.executable)
    calls = traced(root, python)
    known = {name: path for name, path in known.items() if not name.startswith(TOOLS)}
    lengths = [len(path.read_text("utf-8").splitlines()) for path in known.values()]
    plain = [path for path in known.values() if path.name != "__init__.py"]
    figures = {
        "modules": len(known),
        "modules without package faces": len(plain),
        "lines": sum(lengths),
        "lines of code": sum(map(code_lines, known.values())),
        "longest file": max(lengths),
        "functions": sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for path in known.values()
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
        ),
    }
    for package in PACKAGES:
        inside = [path for path in (root / package).glob("*.py") if path.stem != "__init__"]
        figures[f"files in the root of {package}"] = len(inside)
    figures |= {
        "rooms": len(rooms),
        "arrows between rooms": sum(map(len, rooms.values())),
        "floors": floors(rooms),
        "import circles": sum(len(part) > 1 for part in components(graph)),
        "settings": settings(root, python),
    }
    for name, (files, functions) in calls.items():
        walk = [file for file in files if file.startswith(f"{name}/")]
        figures |= {
            f"files entered by {name}": len(files),
            f"of these in {name}/": len(walk),
            f"functions entered by {name}": functions,
        }
    return figures


def main() -> None:
    """Print a column of figures for each checkout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkout", nargs="*", type=Path, default=[ROOT])
    roots = [path.resolve() for path in parser.parse_args().checkout]
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    columns = [measured(root) for root in roots]
    for name in columns[0]:
        print(f"{name:34}" + "".join(f"{column.get(name, 0):>10,}" for column in columns))


if __name__ == "__main__":
    main()
