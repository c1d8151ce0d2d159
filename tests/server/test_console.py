"""The bar that a long command shows: on a terminal, and nowhere else."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Open = Callable[[], Terminal]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Puts a terminal in the place of stderr; to be called in the test, after pytest's own."""

    def opened() -> Terminal:
        shown = Terminal()
        monkeypatch.setattr("sys.stderr", shown)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("NO_COLOR", raising=False)
        return shown

    return opened


def test_a_run_moves_a_bar_on_a_terminal(memory: Memory, terminal: Open) -> None:
    me, shown = Identity("me"), terminal()
    memory.remember(me, RememberRequest("The heron stands in the weir."))
    with console.progress("consolidate") as move:

        def told(done: int, total: int, message: str) -> None:
            move(done, total, message)
            steps.append(message)

        steps: list[str] = []
        memory.consolidate(me, progress=told)
    assert "━" in shown.getvalue()
    assert steps[-1] == "done"
    assert "10/10" in shown.getvalue()
    assert "done" in shown.getvalue()


def test_a_text_in_a_step_is_no_markup(terminal: Open) -> None:
    shown = terminal()
    with console.progress("encode") as move:
        move(1, 2, "[bold]\x1b[31mred[/bold]")
    assert "(bold)" in shown.getvalue()


def test_nothing_is_shown_where_nobody_looks(capsys: Any) -> None:
    with console.progress("consolidate") as move:
        move(1, 2, "settle")
    assert capsys.readouterr().err == ""
