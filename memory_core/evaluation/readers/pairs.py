"""The simple labelled file: a list of `{"query": ..., "relevant_texts": [...]}` (seed row C7.1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.evaluation.conversation import Conversation, Question, Turn
from memory_core.evaluation.readers.parsing import load_json, need, typed

CATEGORY = "labelled"


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and the texts that answer it; no text means that nothing should be found."""

    query: str
    relevant_texts: tuple[str, ...]


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of the file *path*, for an evaluation against the user's own store."""
    path = Path(path)
    return _pairs(load_json(path), path)


def parse(data: Any, path: Path) -> list[Conversation]:
    """The pairs as one conversation whose turns are the distinct relevant texts, `t1`, `t2`, ...

    For a run in a fresh store; the texts belong to no session, so nothing links them.
    """
    pairs = _pairs(data, path)
    texts = dict.fromkeys(text for pair in pairs for text in pair.relevant_texts)
    ids = {text: f"t{n}" for n, text in enumerate(texts, 1)}
    questions = tuple(
        Question(pair.query, tuple(dict.fromkeys(ids[t] for t in pair.relevant_texts)), CATEGORY)
        for pair in pairs
    )
    turns = tuple(Turn(identifier, text) for text, identifier in ids.items())
    return [Conversation(path.stem, turns, questions)]


def _pairs(data: Any, path: Path) -> list[Pair]:
    return [
        Pair(
            need(record, "query", str, f"{path}: item {n}"),
            tuple(
                typed(text, str, f"{path}: item {n}, a relevant text,")
                for text in need(record, "relevant_texts", list, f"{path}: item {n}")
            ),
        )
        for n, record in enumerate(typed(data, list, str(path)), 1)
    ]
