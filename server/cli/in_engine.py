"""Does command lines in an engine, for clients that print what comes of them; see ask_engine."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memory_core.records import Identity
from server.cli import admin, capture, commands, letters, look, review, running
from server.cli.grammar import CLIENT, SectionedGroup
from server.cli.invocation import Invocation
from server.cli.place import Lines, Place, Progress, place
from server.protocol.calling import calling

if TYPE_CHECKING:
    from memory_core.config import Settings
    from memory_core.memory import Memory
    from server.engine.talk import Talk

PROGRESS_SECONDS = 0.1
"""Between two messages on how far a command is."""


program = SectionedGroup(
    sections={
        "Commands": (
            admin.clear,
            capture.observe,
            capture.seed,
            commands.consolidate,
            commands.encode,
            commands.forget,
            commands.health,
            commands.history,
            commands.recall,
            commands.remember,
            commands.stats,
            look.list_,
            look.people_,
            look.pin,
            look.retire,
            look.sessions,
            look.show,
            look.tag,
            look.topics,
            review.review,
        )
    },
    callback=lambda: None,
)
"""The commands of ask_engine.COMMANDS, and no other."""


class GivenBack(Exception):
    """The client's process must do the command itself; nothing was changed."""


def answer(
    there: ClientPlace, settings: Settings, who: Identity, words: Sequence[str]
) -> dict[str, Any] | None:
    """What the command line *words* of *who* comes to: out, err, code and paged; see Printed.

    None when the process *there* must do it itself. *settings* are those of the engine.
    """
    own = settings.model_copy(update={"agent": who.agent, "team": who.team})
    before = place.set(there)
    try:
        if settings.warnings:  # they go to the client's stderr, through its log
            raise GivenBack
        with calling(CLIENT):
            done = running.printed(program, words, Invocation(settings=own))
    except GivenBack:
        return None
    finally:
        place.reset(before)
    return {"out": done.out, "err": done.err, "code": done.code, "paged": done.paged}


class ClientPlace(Place):
    """The process of a client, at the other end of a connection."""

    def __init__(
        self, memory: Memory, asked: Mapping[str, Any], talk: Talk, engine: Mapping[str, Any]
    ) -> None:
        """*memory* is the engine's, *asked* the client's preamble.

        *talk* passes messages to and from the client; *engine* is what the engine says of itself.
        """
        self._engine = engine
        self._memory = memory
        self._asked = asked
        self._talk = talk

    @contextmanager
    def memory(self, call: Invocation) -> Iterator[Memory]:
        """The engine's memory. Raises GivenBack when *call* means another one."""
        if {name: value for name, value in call.flags.items() if value} != self._asked["flags"]:
            raise GivenBack
        yield self._memory

    def serving(self) -> Mapping[str, Any]:
        """What the engine says of itself."""
        return self._engine

    def terminal(self) -> Mapping[str, str] | None:
        """The variables that say what the client's terminal can; None without one."""
        found = self._asked["terminal"]
        return None if found is None else dict(found)

    def takes_unicode(self) -> bool:
        """True: a client whose stdout cannot show every letter asks no engine."""
        return True

    def asks(self) -> bool:
        """False; raises GivenBack where the client has somebody to ask."""
        if self._asked["asks"]:
            raise GivenBack
        return False

    def progress(self, label: str) -> Progress | None:
        """What tells the client how far the work called *label* is."""
        return _throttled(self._talk.tell if self._asked["watched"] else _unseen, label)

    @contextmanager
    def lines(self, name: str) -> Iterator[Lines]:
        """The lines of the client's file. Raises GivenBack when it must read the file itself."""
        self._talk.tell({"read": name})
        heard = self._talk.hear()
        if heard is None:
            raise GivenBack
        text = io.StringIO(str(heard["text"]).removeprefix(letters.MARK), newline=None)
        size = 0 if name == "-" else sum(1 for line in text if line.strip())
        text.seek(0)
        yield text, size


def _throttled(tell: Callable[[Mapping[str, Any]], None], label: str) -> Progress:
    last = 0.0

    def move(done: int, total: int, message: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_SECONDS:
            last = now
            tell({"label": label, "done": done, "total": total, "message": message})

    return move


def _unseen(message: Mapping[str, Any]) -> None:
    """Tell nobody."""
    del message
