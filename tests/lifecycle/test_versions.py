"""The version of a memory: its relation to the one before it, number, root and latest."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.errors import NotFound
from memory_core.lifecycle.versions import Version
from memory_core.memory import Memory
from memory_core.records import Change, Identity
from memory_core.remember.request import RememberRequest

ME = Identity("me", "crew", frozenset({"read", "write"}))
OTHER = Identity("other", "crew", frozenset({"read", "write"}))
DAY = 86_400.0


def tell(memory: Memory, clock: Any, text: str, **more: Any) -> str:
    clock.pass_by(DAY)
    return memory.remember(ME, RememberRequest(text, **more)).id


def test_a_memory_alone_is_new(memory: Memory, clock: Any) -> None:
    id = tell(memory, clock, "Mara lives in Graz.")
    assert memory.version(ME, id) == Version("new", 1, "", id, id)


def test_replacements_and_corrections_form_one_chain(memory: Memory, clock: Any) -> None:
    one = tell(memory, clock, "Mara lives in Graz.")
    two = tell(memory, clock, "Mara lives in Wels.", replaces=one)
    three = tell(memory, clock, "Actually Mara lives in Linz now.")
    assert memory.get(ME, two).superseded_by == three
    assert memory.version(ME, one) == Version("new", 1, "", one, three)
    assert memory.version(ME, two) == Version("updates", 2, one, one, three)
    assert memory.version(ME, three) == Version("updates", 3, two, one, three)


def test_the_chain_survives_restart_and_shrinks_by_undo(
    memory: Memory, clock: Any, open_memory: Any
) -> None:
    one = tell(memory, clock, "Mara lives in Graz.")
    two = tell(memory, clock, "Actually Mara lives in Linz now.")
    memory.close()
    again = open_memory()
    assert again.version(ME, two) == Version("updates", 2, one, one, two)
    again.undo_change(ME, one, again.history(ME, one)[-1].seq)
    assert again.version(ME, two) == Version("new", 1, "", two, two)


def test_a_denial_contradicts(memory: Memory, clock: Any) -> None:
    one = tell(memory, clock, "Mara likes sour rye bread.")
    two = tell(memory, clock, "Actually Mara does not like sour rye bread.")
    assert memory.get(ME, one).superseded_by == two
    assert memory.version(ME, two).relation == "contradicts"


def test_an_addition_extends_and_a_repetition_is_a_duplicate(memory: Memory, clock: Any) -> None:
    one = tell(memory, clock, "Mara sails on the lake.")
    two = tell(memory, clock, "Mara often sails far out.")
    three = tell(memory, clock, "Mara goes sailing.")
    for id, kind in ((two, "extends"), (three, "duplicate_of")):
        link = {"b": one, "kind": kind, "weight": 1.0}
        memory._runtime.parts().store.commit(
            lambda tx, id=id, link=link: tx.append(Change("link", id, link))  # type: ignore[misc]
        )
    assert memory.version(ME, two) == Version("extends", 1, one, two, two)
    assert memory.version(ME, three) == Version("duplicate", 1, one, three, three)
    assert memory.version(ME, one) == Version("new", 1, "", one, one)


def test_what_the_reader_may_not_see_is_no_part_of_the_chain(memory: Memory, clock: Any) -> None:
    one = tell(memory, clock, "Mara lives in Graz.")
    two = tell(memory, clock, "Mara lives in Wels.", replaces=one, scope="team")
    assert memory.version(ME, two).number == 2
    assert memory.version(OTHER, two) == Version("new", 1, "", two, two)
    with pytest.raises(NotFound):
        memory.version(OTHER, one)
