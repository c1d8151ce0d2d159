"""What documents and comments point to is in this repository."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from memory_core.recall.signals import SIGNALS
from server import gate
from server.engine import engine, launch
from server.hooks import briefing, hooks, reminder
from server.http import bounded_protocol

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("integrations/**/*.md")),
]
FOLDERS = (
    "anamnesis",
    "memory_core",
    "server",
    "tests",
    "tools",
    "integrations",
    "docs",
    "third_party",
)

_PATH = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]*\w)")
_ARGUMENT = re.compile(rf"(?:^|\s)((?:{'|'.join(FOLDERS)})/[\w./-]*\w)")
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAID = re.compile(r'(?:^|\s)#\s([^\n]*)$|^[ ]*r?"""(.*?)"""', re.MULTILINE | re.DOTALL)
"""A comment, or a docstring: reading a syntax tree of each file took seven seconds."""
_MARKDOWN = re.compile(r"(?<![\w/.-])((?:[\w-]+/)*[\w-]+\.md)\b")

NO_FILES = {"tests/conformance/out", "summary.md", "tools/call", "tools/list"}
"""What the conformance check writes, and methods of MCP."""

ELSEWHERE = re.compile(
    r"seed[ ]rows?\b|\((?:seed )?row [A-C]\d|\b[A-C]\d{1,2}\.\d{1,2}\b"
    r"|\bdesign(?:,| \(|'s)? (?:section|rule|row)\b|\bdesign, \d|\brule \d+\b|\bsection \d+\b"
    r"|\bthe (?:brief|mission|specification|house plan)\b",
    re.IGNORECASE,
)
"""Numbers of rows, rules and sections: those of papers that nobody who reads this has."""


@cache
def sources() -> list[Path]:
    """Every file of the repository that may hold a comment, but for the documents."""
    named = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files = [*ROOT.glob("*"), *ROOT.glob(".ci/*"), *ROOT.glob(".github/**/*"), *named]
    kinds = {".py", ".toml", ".yml", ".c", ".mjs", ""}
    return [
        path
        for path in sorted(files)
        if path.is_file()
        and path.suffix in kinds
        and path.name != "LICENSE"
        and not {"node_modules", "out", "__pycache__"} & set(path.parts)
    ]


@cache
def said(path: Path) -> str:
    """The comments and docstrings of a Python file; the whole text of another one."""
    text = path.read_text("utf-8", errors="replace")
    if path.suffix != ".py":
        return text
    return "\n".join(each[0] or each[1] for each in _SAID.findall(text))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_path_in_a_document_exists(path: Path) -> None:
    text = path.read_text("utf-8")
    named = set(_PATH.findall(text))
    for block in _FENCE.findall(text):
        named |= set(_ARGUMENT.findall(block))
    assert [name for name in sorted(named - NO_FILES) if not list(ROOT.glob(name))] == []


def test_no_comment_points_to_a_paper_that_is_not_here() -> None:
    here = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources()
        if path != here
        for match in ELSEWHERE.finditer(said(path))
    ]
    assert found == []


def test_every_path_in_the_notice_exists() -> None:
    named = _ARGUMENT.findall((ROOT / "NOTICE").read_text("utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_document_that_a_comment_names_exists() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        for name in _MARKDOWN.findall(said(path))
        if name not in NO_FILES and not (ROOT / name).exists() and not (path.parent / name).exists()
    ]
    assert missing == []


@pytest.mark.parametrize(
    "text", ["(seed rows B3.1, B3.2)", "design, section 4", "design rule 4", "see row A1.11"]
)
def test_a_pointer_to_such_a_paper_is_found(text: str) -> None:
    assert ELSEWHERE.search(text)


def test_the_signals_in_the_documents_are_those_that_rank() -> None:
    text = (ROOT / "docs/internals/recall.md").read_text("utf-8")
    table = text.partition("| signal |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [s.name for s in SIGNALS]


@pytest.mark.parametrize(
    ("document", "sentence", "bound", "value"),
    [
        ("clients", "leaves ten minutes after its last client", engine.IDLE_SECONDS, 600),
        ("clients", "no sign of life within five seconds", launch.ANSWER_SECONDS, 5),
        ("clients", "does not listen after 20 more", launch.LISTEN_SECONDS, 20),
        ("clients", "At most 256 connections are open", bounded_protocol.CONNECTIONS, 256),
        ("clients", "a prompt waits for it for a second at most", reminder.READY_SECONDS, 1),
        ("clients", "three memories are told", reminder.HITS, 3),
        ("clients", "in at most 1,200 characters", hooks.PROMPT_CHARS, 1200),
        ("clients", "due in the next 14 days", briefing.DAYS, 14),
        ("internals/design", "256 more waiting in turn", gate.WAITING, 256),
        ("internals/design", "for 10 s at most, then `busy`", gate.WAIT_SECONDS, 10),
    ],
)
def test_the_bounds_in_the_documents_are_those_of_the_code(
    document: str, sentence: str, bound: float, value: float
) -> None:
    assert sentence in " ".join((ROOT / f"docs/{document}.md").read_text("utf-8").split())
    assert bound == value


def test_the_floors_in_the_documents_are_those_that_are_tested() -> None:
    tree = ast.parse((ROOT / "tests/test_architecture.py").read_text("utf-8"))
    (floors,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id == "FLOORS"
        and node.value
    ]
    text = (ROOT / "docs/internals/architecture.md").read_text("utf-8")
    shown = _FENCE.findall(text.partition("## Floors")[2])[0]
    assert [set(line.split(" | ")) for line in shown.splitlines()] == floors
