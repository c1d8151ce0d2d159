"""The shape of the house: floors, rooms, one vendor in one folder. The list of floors is the rule.

A package imports packages of lower floors only, inside a package imports have no cycle, and both
hold for imports that only the type checker or a function makes, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from syntax import statements

ROOT = Path(__file__).parent.parent

FLOORS: list[set[str]] = [
    {"anamnesis"},
    {"server"},
    {"evaluation"},
    {"memory"},
    {"health"},
    {"runtime"},
    {"brief", "forget", "enrichment", "importing"},
    {"remember", "recall", "consolidate", "browse", "overview"},
    {"gist", "maintenance", "lifecycle", "history", "representation"},
    {"storage", "embedding", "beliefs", "validation"},
    {"text", "scoring", "interchange", "config"},
    {"records", "errors", "link_kinds"},
]
"""Rooms of `memory_core` and files of its root, from the top: a room imports lower floors only, so
those of one floor never import each other."""

ROOTS = {
    "anamnesis": {"memory", "remote", "shared", "transport"},
    "memory_core": {floor for names in FLOORS for floor in names},
    "server": {"__main__", "gate", "identity"},
}
"""What may stand directly in a package: a new file needs a room."""

TRANSPORTS = {"http", "rest", "stdio", "hooks", "cli", "engine", "page"}
"""Rooms of `server` that `server.protocol` knows nothing of."""

VENDORS: dict[str, str | tuple[str, ...]] = {
    "apsw": "memory_core/storage/",
    "lancedb": "memory_core/storage/table/",
    "pyarrow": "memory_core/storage/table/",
    "faiss": "memory_core/storage/index/",
    "Stemmer": "memory_core/storage/index/",
    "onnxruntime": "memory_core/embedding/",
    "tokenizers": "memory_core/embedding/",
    "sentence_transformers": "memory_core/embedding/",
    "ollama": "memory_core/",
    "anthropic": ("memory_core/gist/", "anamnesis/adapters/"),
    "langgraph": "anamnesis/adapters/",
    "pydantic_ai": "anamnesis/adapters/",
    "agents": "anamnesis/adapters/",
    "spacy": "memory_core/text/names/",
    "rich": "server/cli/",
    "click": "server/cli/",
    "fastapi": "server/rest/",
}
"""The folder of each vendor's library. All load when first used, but for those of LOADED."""

ADAPTERS = "anamnesis/adapters/"
"""What stands here is loaded only by who uses that framework."""

LOADED = {"apsw", "Stemmer", "click", "fastapi"}

LINES = 600
LONGER = {"memory_core/memory.py": 605, "server/rest/answers.py": 630}
"""Files that may be longer than LINES, with their length: it may only shrink.

A method for each operation, and a model for each answer: neither has two jobs.
"""

Import = tuple[str, bool]
"""The imported module and whether the import runs when the file is loaded."""


def modules() -> list[Path]:
    return sorted(path for package in ROOTS for path in ROOT.glob(f"{package}/**/*.py"))


def path_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def name_of(path: Path) -> str:
    return path_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")


NAMES = {name_of(path) for path in modules()}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every module that *path* imports, for types and inside functions too."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    tree = tree_of(path)
    late = {
        id(node)
        for block in statements(tree)
        if isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test))
        for node in statements(block)
    }
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) not in late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{path} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in NAMES else node.module, id(node) not in late


def ours(path: Path) -> set[str]:
    return {name for name, _ in imports(path) if name in NAMES} - {name_of(path)}


def floor(module: str) -> int:
    """How far down a module stands, 0 the top."""
    parts = module.split(".")
    room = parts[0] if parts[0] != "memory_core" else parts[1] if len(parts) > 1 else ""
    found = [depth for depth, rooms in enumerate(FLOORS) if room in rooms]
    assert found, f"{module} has no floor"
    return found[0]


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if parts[0] == "memory_core" and len(parts) > 1 else parts[0]


def test_imports_point_down() -> None:
    wrong = []
    for path in modules():
        module = name_of(path)
        if module == "memory_core":
            continue
        for other in ours(path):
            if room(module) != room(other) and floor(other) <= floor(module):
                wrong.append(f"{module} imports {other}")
    assert wrong == []


def test_the_rooms_of_the_tools_stand_on_one_floor() -> None:
    tools = {"remember", "recall", "consolidate", "browse"}
    assert sum(tools <= rooms for rooms in FLOORS) == 1  # so none imports another


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The modules of *graph* that lie on a circle, one list a circle (Tarjan)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            component, stack[at:] = stack[at:], []
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def test_imports_have_no_circle() -> None:
    assert circles({name_of(path): ours(path) for path in modules()}) == []


def test_folders_do_not_import_each_other_both_ways() -> None:
    """A folder and its own subfolder may: the walk uses its signals, and they use its types."""
    folders: dict[str, set[str]] = {}
    for path in modules():
        here = name_of(path).rpartition(".")[0] or name_of(path)
        for other in ours(path):
            there = other.rpartition(".")[0] or other
            inside = f"{there}.".startswith(f"{here}.") or f"{here}.".startswith(f"{there}.")
            folders.setdefault(here, set()).update(set() if inside else {there})
            folders.setdefault(there, set())
    assert circles(folders) == []


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}
    assert circles(graph) == [["a", "b", "c"]]


@pytest.mark.parametrize("package", ROOTS)
def test_a_new_file_needs_a_room(package: str) -> None:
    files = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    assert files <= ROOTS[package]


def test_every_room_says_what_it_is_for() -> None:
    silent = []
    for path in modules():
        documented = ast.get_docstring(tree_of(path))
        if not documented:
            silent.append(path_of(path))
    assert silent == []


def test_the_protocol_knows_no_transport() -> None:
    wrong = [
        f"{path_of(path)} imports {other}"
        for path in modules()
        if path_of(path).startswith("server/protocol/")
        for other in ours(path)
        if other.startswith(tuple(f"server.{name}" for name in TRANSPORTS))
    ]
    assert wrong == []


def test_each_vendor_lives_in_one_folder_and_loads_late() -> None:
    wrong = []
    for path in modules():
        for name, at_load in imports(path):
            vendor = name.split(".")[0]
            if vendor not in VENDORS:
                continue
            if not path_of(path).startswith(VENDORS[vendor]):
                wrong.append(f"{path_of(path)} imports {name}")
            elif at_load and vendor not in LOADED and not path_of(path).startswith(ADAPTERS):
                wrong.append(f"{path_of(path)} imports {name} when it is loaded")
    assert wrong == []


def nodes(path: Path) -> Iterator[ast.AST]:
    yield from ast.walk(tree_of(path))


def test_only_config_and_the_command_line_read_the_environment() -> None:
    found = {
        path_of(path)
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    }
    # the processes of a hook, of a client and of a command must start without config's libraries
    allowed = {
        "anamnesis/shared.py",
        "memory_core/config.py",
        "memory_core/embedding/onnx_files.py",  # writes one name, before an import
        "server/cli/ask_engine.py",
        "server/cli/invocation.py",
        "server/hooks/command.py",
        "server/stdio/proxy.py",
    }
    assert found <= allowed


def test_only_the_command_line_and_hooks_print() -> None:
    found = {
        path_of(path)
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert {
        name
        for name in found
        if not name.startswith(("server/cli/", "server/hooks/", "server/stdio/proxy.py"))
    } == set()


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path_of(path))
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert twice == {
        "Memory": ["anamnesis/memory.py", "memory_core/memory.py"]
    }  # one for each side


@pytest.mark.parametrize("path", modules(), ids=path_of)
def test_files_stay_readable(path: Path) -> None:
    most = LONGER.get(path_of(path), LINES)
    length = len(path.read_text(encoding="utf-8").splitlines())
    assert length <= most
    assert path_of(path) not in LONGER or length == most, "it shrank: lower its number in LONGER"


def test_no_test_folder_shadows_a_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))
