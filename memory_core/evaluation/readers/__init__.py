"""Readers of labelled conversations: the project's dialogue and the user's copies of public sets.

Nothing of LoCoMo, BEAM or LongMemEval is part of this package; they are read from where the user
keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation
from memory_core.evaluation.readers import beam, dialogue, locomo, longmemeval, pairs
from memory_core.evaluation.readers.parsing import load_json

FORMATS = ("auto", "locomo", "beam", "longmemeval", "dialogue", "pairs")

_OF_FILE: dict[str, Callable[[Any, Path], list[Conversation]]] = {
    "locomo": locomo.parse,
    "longmemeval": longmemeval.parse,
    "dialogue": dialogue.parse,
    "pairs": pairs.parse,
}


def read(path: Path, format: str = "auto") -> list[Conversation]:
    """The labelled conversations in the file or folder *path*.

    *format* is one of FORMATS; `auto` recognises it by its shape (see `detect`). Raises
    InvalidInput that names the file, the place in it and what is wrong.
    """
    if format not in FORMATS:
        raise InvalidInput(f"unknown format {format!r}", f"use one of {', '.join(FORMATS)}")
    path = Path(path)
    if path.is_dir():
        if format not in ("auto", "beam"):
            raise InvalidInput(f"{path} is a folder", f"give the {format} file itself")
        return beam.read_folder(path)
    if format == "beam":
        raise InvalidInput(f"{path} is not a folder", "give the folder of chat_N.json and q_N.json")
    data = load_json(path)
    return _OF_FILE[_shape(data, path) if format == "auto" else format](data, path)


def detect(path: Path) -> str:
    """The format of *path*: beam for a folder, else one of the others by its shape."""
    path = Path(path)
    return "beam" if path.is_dir() else _shape(load_json(path), path)


def _shape(data: Any, path: Path) -> str:
    if isinstance(data, dict) and "sessions" in data and "questions" in data:
        return "dialogue"
    first = data[0] if isinstance(data, list) and data else None
    if isinstance(first, dict):
        if "query" in first:
            return "pairs"
        if "haystack_sessions" in first:
            return "longmemeval"
        if "qa" in first and ("sessions" in first or "conversation" in first):
            return "locomo"
    raise InvalidInput(
        f"{path} is none of the known formats",
        "give a LoCoMo or LongMemEval file, a BEAM folder, a dialogue, or a list of "
        "{query, relevant_texts}",
    )
