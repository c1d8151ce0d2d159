"""What a reader of a foreign form yields: a memory to be, what it left out, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory_core.interchange.files import File

OWN, CONVERSATION, FILE, TODAY = "own", "conversation", "file", "today"
"""Where a date is from: the thing itself, what it belongs to, the time of the file, or the import,
for what had a date that cannot be."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One memory of a source.

    `key` is the source's own name of it, the same in every export. `when` is in epoch seconds and
    `dated` says where it is from. `turn` True: what somebody said in a conversation. `gated` True:
    in one with an agent at work, from which the gate of passive capture leaves out what states
    nothing. `forked` True: of a client that may begin a conversation with a copy of another one.
    `typed` True: of a log of what the user typed, which the client's conversations may hold too.
    `slot` names the place of a text that may change, such as a note: at the next import what is
    said there replaces what was; `many` True: it holds several texts, and only those that are alike
    replace one another. `ours` True: of an export of ours that holds no ids. `replaces` is the id
    of the memory of ours that it is an edited form of. `record` is a record of our own form, of
    which the other fields say nothing.
    """

    text: str
    key: str
    place: str
    when: float
    dated: str = OWN
    kind: str = "episode"
    role: str = ""
    speaker: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source: str = ""
    slot: str = ""
    replaces: str = ""
    many: bool = False
    turn: bool = False
    gated: bool = False
    forked: bool = False
    typed: bool = False
    ours: bool = False
    record: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a source holds and an import does not take, and the reason, such as "tool output"."""

    reason: str
    place: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be read, and where: a file and a line, an element or an id."""

    place: str
    what: str


Entry = Incoming | LeftOut | Problem


@dataclass(frozen=True, slots=True)
class SourceForm:
    """A form that can be imported: its *name*, what it looks for, and its reader.

    `reads` tells from the name and the first bytes of a file; `read` is a generator over it.
    """

    name: str
    about: str
    reads: Callable[[File], bool]
    read: Callable[[File], Iterator[Entry]]
