"""Statements of a syntax tree, without the expressions in them: a tenth of the nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """*tree* and every statement in it, those of functions and classes too, in no order."""
    left = [tree]
    while left:
        found = left.pop()
        yield found
        for block in _BLOCKS:
            left += getattr(found, block, ())
