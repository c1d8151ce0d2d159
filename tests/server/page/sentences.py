"""Every form of a sentence that the program says to the page, read from its source.

A form is the sentence with {} for each value: "{} of {} memories have vectors".
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
_FORMATTED = re.compile(r"\{[^{}]*\}")


class Module:
    """One file: what its calls say, through names and functions, also those of other files."""

    def __init__(self, name: str) -> None:
        self.it: Any = importlib.import_module(name)
        self.tree = ast.parse(Path(self.it.__file__).read_text("utf-8"))
        self.within = {
            node: each
            for each in ast.walk(self.tree)
            if isinstance(each, ast.FunctionDef)
            for node in ast.walk(each)
        }
        """The innermost function of each node: an outer one is walked first."""

    def calls(self, named: dict[str, tuple[int | str, ...]]) -> Iterator[str]:
        """The forms in the arguments, by place or name, of calls of what *named* has."""
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Call):
                continue
            which = named.get(_name(node.func), ())
            given = {**dict(enumerate(node.args)), **{k.arg: k.value for k in node.keywords}}
            for each in which:
                if each in given:
                    yield from self.forms(given[each])

    def set(self, *names: str) -> Iterator[str]:
        """The forms of what is put under *names*: into details["prune"], or of note = ..."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    held = target.value if isinstance(target, ast.Subscript) else target
                    if _name(held) in names:
                        yield from self.forms(node.value)

    def returned(self, function: str) -> Iterator[str]:
        """The forms that *function* returns or yields."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name == function:
                for each in ast.walk(node):
                    if isinstance(each, ast.Return | ast.Yield) and each.value is not None:
                        yield from self.forms(each.value)

    def forms(self, node: ast.expr, seen: frozenset[ast.AST] = frozenset()) -> Iterator[str]:
        """The forms of each text that *node* may be or hold."""
        if node in seen:
            return
        seen |= {node}
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(self.part(part) for part in node.values)
            for part in node.values:
                if isinstance(part, ast.FormattedValue) and self.part(part) == "{}":
                    yield from self.forms(part.value, seen)
        elif isinstance(node, ast.Name):
            fixed = self.constant(node)
            if fixed is not None:
                yield fixed
                return
            function = self.within.get(node)
            for each in ast.walk(function or self.tree):
                yield from self._put(each, node.id, seen)
        elif isinstance(node, ast.Call):
            yield from self._called(node, seen)
        else:
            for part in _parts(node):
                yield from self.forms(part, seen)

    def part(self, node: ast.expr) -> str:
        """What a piece of an f-string says: itself, the name or number that it holds, or {}."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        fixed = self.constant(node.value) if isinstance(node, ast.FormattedValue) else None
        return fixed if fixed and " " not in fixed else "{}"

    def constant(self, node: ast.expr) -> str | None:
        """The text that *node* names at the top of the file, if it does."""
        if isinstance(node, ast.Name) and isinstance(getattr(self.it, node.id, None), str):
            function = self.within.get(node)
            return str(getattr(self.it, node.id)) if not _is_local(function, node.id) else None
        return None

    def _put(self, node: ast.AST, name: str, seen: frozenset[ast.AST]) -> Iterator[str]:
        """The forms that the statement *node* puts into *name*, also by append."""
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for one, value in zip(target.elts, node.value.elts, strict=True):
                        if _name(one) == name:
                            yield from self.forms(value, seen)
                elif _name(target) == name and node.value is not None:
                    yield from self.forms(node.value, seen)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.append":
            yield from self.forms(node.args[0], seen)

    def _called(self, node: ast.Call, seen: frozenset[ast.AST]) -> Iterator[str]:
        name = _name(node.func)
        if name in ("join", "filter", "str", "list", "next"):
            for each in node.args:
                yield from self.forms(each, seen)
            return
        if name == "format" and isinstance(node.func, ast.Attribute):
            yield from (_FORMATTED.sub("{}", each) for each in self.forms(node.func.value, seen))
            return
        of = self.it
        if isinstance(node.func, ast.Attribute):
            of = getattr(self.it, _name(node.func.value), None)
        home = getattr(getattr(of, name, None), "__module__", None) or ""
        if home.startswith(("memory_core", "server")):
            yield from read(home).returned(name)


@cache
def read(name: str) -> Module:
    """The module *name*, read once."""
    return Module(name)


def _is_local(function: ast.FunctionDef | None, name: str) -> bool:
    if function is None:
        return False
    return any(
        (isinstance(each, ast.arg) and each.arg == name)
        or (isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store))
        for each in ast.walk(function)
    )


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions of which *node* is one, or is made."""
    match node:
        case ast.Dict(values=parts):
            return parts
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            return [one, other]
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return parts
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part) | ast.Subscript(value=part):
            return [part]
    return []


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def modules(*folders: str) -> Iterator[Module]:
    """The files of *folders*, or the files themselves, from the root of the repository."""
    for folder in folders:
        path = ROOT / folder
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            parts = file.relative_to(ROOT).with_suffix("").parts
            yield read(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
