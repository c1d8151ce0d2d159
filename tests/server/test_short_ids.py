"""Every command that takes the id of a memory or a run takes the beginning of one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import click
import pytest
from command_line import commands

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main
from server.cli.grammar import MEMORY_ID
from server.cli.invocation import Invocation

ME = Identity("me")
LINES: dict[tuple[str, str], str] = {
    ("consolidate", "undo"): "consolidate --undo RUN",
    ("edit", "id"): "edit OLD --text later",
    ("forget", "ids"): "forget OLD NEW --yes",
    ("history", "id"): "history OLD",
    ("history", "undo"): "history OLD --undo CHANGE",
    ("pin", "ids"): "pin OLD NEW",
    ("recall", "query"): "recall OLD",
    ("remember", "replaces"): "remember later --replaces OLD",
    ("retire", "ids"): "retire OLD NEW",
    ("review", "older"): "review OLD NEW --decide newer-holds",
    ("review", "newer"): "review OLD NEW --decide older-holds",
    ("show", "ids"): "show OLD NEW",
    ("tag", "ids"): "tag OLD --add work",
}
"""A line for each parameter that takes an id, and for a query and a change, which go with one."""
NOT_SHORT = {("token revoke", "id")}
"""Ids of something else, which are shown and typed whole."""
_TAKES_ID = re.compile(r"\bids?\b", re.IGNORECASE)
_ANY_ID = re.compile(r"\b0[0-9a-z]{19}\b")


def takes_id(parameter: click.Parameter) -> bool:
    """True for a parameter of this type, and for one whose name or help speaks of an id."""
    about = getattr(parameter, "help", "") or ""
    words = f"{parameter.name} {parameter.metavar or ''} {about}"
    return parameter.type is MEMORY_ID or _TAKES_ID.search(words) is not None


def test_no_parameter_that_takes_an_id_is_forgotten() -> None:
    taking = {
        (name, str(parameter.name))
        for name, command in commands().items()
        for parameter in command.params
        if takes_id(parameter)
    }
    assert taking | {("recall", "query"), ("history", "undo")} == LINES.keys() | NOT_SHORT


@pytest.mark.parametrize("line", LINES.values())
def test_the_beginning_of_an_id_does_what_the_id_does(
    line: str, open_memory: Callable[..., Memory], clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {})
    shown = []
    now = clock.now
    for name, length in (("whole", 20), ("short", 12)):
        clock.now = now
        memory = open_memory(name)
        ids = {}
        for each, text in (
            ("OLD", "Standup of the harbour crew is at nine."),
            ("NEW", "We moved the standup of the harbour crew to ten."),
        ):
            ids[each] = memory.remember(ME, RememberRequest(text, speaker="Ann")).id
            clock.pass_by(86_400.0)
        ids["RUN"] = memory.consolidate(ME).run
        words = {word: id[:length] for word, id in ids.items()}
        words["CHANGE"] = str(memory.history(ME, ids["OLD"])[-1].seq)
        with monkeypatch.context() as patch:
            patch.setattr(invocation, "open_memory", lambda _, opened=memory: nullcontext(opened))
            done = main.run([words.get(word, word) for word in line.split()], Invocation())
        told = json.dumps([done.text, done.data, done.code], default=str)
        for word, id in ids.items():
            told = told.replace(id, word)
        shown.append(_ANY_ID.sub("ID", told))
    assert shown[0] == shown[1]
