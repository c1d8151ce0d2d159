"""The shape of the house: imports point one way, one vendor lives in one file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATHS = {
    "engine",
    "writer",
    "intake",
    "capture",
    "knowing",
    "session",
    "cognition",
    "tiers",
    "importance",
    "pairs",
    "topics",
    "recording",
    "lending",
    "standing",
    "backlog",
    "extraction",
    "jobs",
    "service",
    "selection",
    "reader",
    "attachment",
    "evidence",
    "links",
    "gazetteer",
    "consolidator",
    "sleep",
    "summaries",
    "sleeper",
    "lifecycle",
    "undoing",
    "relations",
    "corrections",
    "staleness",
    "forgetting",
    "maintenance",
    "health",
    "surroundings",
    "backfill",
    "reembedding",
    "catalogue",
    "checks",
    "explanation",
    "judgement",
    "tombstones",
    "wording",
}
LEAVES = {"text", "embedding", "gist", "storage", "scoring"}
FLOOR = {"config": 1, "records": 2, "errors": 3}
VENDORS = {
    "apsw": {"memory_core/storage/journal/journal.py"},
    "lancedb": {"memory_core/storage/table/table.py"},
    "pyarrow": {"memory_core/storage/table/table.py"},
    "faiss": {"memory_core/storage/index/vectors.py", "memory_core/storage/index/faiss_scans.py"},
    "onnxruntime": {"memory_core/embedding/minilm.py"},
    "tokenizers": {"memory_core/embedding/minilm.py"},
    "sentence_transformers": {"memory_core/embedding/sentence_transformer.py"},
    "ollama": {"memory_core/embedding/remote.py", "memory_core/gist/ollama.py"},
    "anthropic": {"memory_core/gist/claude.py"},
    "Stemmer": {"memory_core/storage/index/analysis.py"},
    "rich": {"server/cli/console.py"},
    "spacy": {"memory_core/text/names/spacy.py"},
    "matplotlib": {"memory_core/evaluation/plot.py"},
}


def modules() -> list[Path]:
    return sorted([*ROOT.glob("memory_core/**/*.py"), *ROOT.glob("server/**/*.py")])


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every imported module of *path* and whether the import runs when the file is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    typing = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) not in late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) not in late
            yield from (
                (f"{node.module}.{alias.name}", id(node) not in late) for alias in node.names
            )


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def level(module: str) -> tuple[int, str]:
    """How high a module stands, 0 the top, and which leaf package it is in."""
    parts = module.split(".")
    if parts[0] == "server":
        return 0, ""
    inner = parts[1] if len(parts) > 1 else ""
    if inner in ("evaluation", "interchange"):
        return 1, inner
    if inner == "memory":
        return 2, ""
    if inner in PATHS:
        return 3, ""
    if inner in LEAVES:
        return 4, inner
    return 4 + FLOOR.get(inner, 0), inner


def test_imports_point_one_way() -> None:
    wrong = []
    for path in modules():
        module = name_of(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        height, leaf = level(module)
        for name, _ in imports(path):
            if name.split(".")[0] not in ("server", "memory_core") or name == "memory_core":
                continue
            other, other_leaf = level(name)
            fine = other > height or (other == height and (leaf == other_leaf or not leaf))
            fine = fine or (leaf == "gist" and other_leaf == "text")
            # exports are written and read through the façade, which knows the format
            fine = fine or (module == "memory_core.memory" and other_leaf == "interchange")
            if not fine:
                wrong.append(f"{name_of(path)} imports {name}")
    assert wrong == []


def test_each_vendor_lives_in_one_file_and_loads_late() -> None:
    wrong = []
    for path in modules():
        for name, at_load in imports(path):
            homes = VENDORS.get(name.split(".")[0])
            if homes is None:
                continue
            if name_of(path) not in homes:
                wrong.append(f"{name_of(path)} imports {name}")
            elif at_load and name.split(".")[0] not in ("apsw", "Stemmer"):
                wrong.append(f"{name_of(path)} imports {name} when it is loaded")
    assert wrong == []


def calls(path: Path) -> Iterator[ast.Call | ast.Attribute]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call | ast.Attribute):
            yield node


def test_only_config_and_cli_look_at_the_environment() -> None:
    found = {
        name_of(path)
        for path in modules()
        for node in calls(path)
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    }
    # a hook's process must start without config's libraries
    assert found <= {"memory_core/config.py", "server/cli/main.py", "server/hooks/command.py"}


def test_only_the_command_line_prints() -> None:
    found = {
        name_of(path)
        for path in modules()
        for node in calls(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    printing = ("cli", "console", "demo", "hook_command")
    assert found <= {f"server/{name}.py" for name in printing}


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_test_folder_shadows_a_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))
