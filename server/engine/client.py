"""What a command or a hook asks of a running engine: one question, one answer.

Only modules of the standard library that are loaded anyway are imported, because a user waits.
"""

from __future__ import annotations

from server.engine import endpoint, launch, plain
from server.engine.launch import Late, NoEngine
from server.engine.wanted import WantedEngine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SECONDS = 25.0
"""Longer than a call's own deadline, so that the engine says why it is late."""


class CallFailed(Exception):
    """The engine did the call and it failed: the fields of a MemoryCoreError."""

    def __init__(self, code: str, problem: str, next_step: str) -> None:
        super().__init__(f"{code}: {problem}; {next_step}")
        self.code = code
        self.problem = problem
        self.next_step = next_step


def call(
    wanted: WantedEngine,
    operation: str,
    arguments: dict[str, Any],
    *,
    deadline: float = 0.0,
    start: bool = False,
) -> Any:
    """The result of *operation* (operations.OPERATIONS) with *arguments*, as JSON gives it.

    *deadline* is in seconds, 0 for that of the tools. *start* starts an engine when there is none.
    Raises NoEngine, also when the engine dies over the call; CallFailed when the memory refuses;
    wire.Refused for wrong settings.
    """
    preamble = {"operation": operation, "arguments": arguments, "deadline": deadline or None}
    return _asked(wanted, {"kind": "call", **preamble}, max(SECONDS, deadline + 5.0), start)


def hook(
    wanted: WantedEngine,
    payload: dict[str, Any],
    *,
    taken: float | None = None,
    seconds: float,
    start: bool,
) -> Any:
    """What the hook of *payload* answers, {} for nothing; raises as `call` does.

    The engine has *taken* seconds to take the call, see launch.connect, and *seconds* to answer it;
    launch.Late says that it hangs.
    """
    return _asked(wanted, {"kind": "hook", "payload": payload}, seconds, start, taken)


def http(wanted: WantedEngine, *, start: bool) -> str:
    """The address of the engine's HTTP side, "http://127.0.0.1:PORT", opened if it is not.

    It asks for a token, see server.http.tokens. Raises as `call` does.
    """
    return str(_asked(wanted, {"kind": "http"}, SECONDS, start))


def page(wanted: WantedEngine, *, read_only: bool, start: bool) -> str:
    """An address of the page that opens once, within a minute. Raises as `call` does."""
    return str(_asked(wanted, {"kind": "page", "read_only": read_only}, SECONDS, start))


def status(wanted: WantedEngine) -> dict[str, Any]:
    """What the engine is and who its clients are; raises NoEngine."""
    link = launch.connect(wanted, {"kind": "status"}, start=False)
    with link.socket:
        return dict(_answer(link, SECONDS))


def stop(wanted: WantedEngine) -> None:
    """Let the engine finish and leave, and wait until it has; raises NoEngine."""
    link = launch.connect(wanted, {"kind": "stop"}, start=False)
    with link.socket:
        for _ in link.lines:
            pass


def engines(folder: str) -> list[WantedEngine]:
    """What would find each engine of the data directory *folder*, of any version and settings.

    Some may have ended. *folder* is absolute.
    """
    return [
        WantedEngine(folder, "me", "", key, "tcp" if ending == "json" else "on", {})
        for key, ending in endpoint.names(folder)
    ]


def _asked(
    wanted: WantedEngine,
    preamble: dict[str, Any],
    seconds: float,
    start: bool,
    taken: float | None = None,
) -> Any:
    link = launch.connect(wanted, preamble, start=start, seconds=taken)
    with link.socket:
        answer = _answer(link, seconds)
    if "error" in answer:
        raise CallFailed(answer["error"], answer["problem"], answer["next"])
    return answer["answer"]


def _answer(link: launch.EngineLink, seconds: float) -> Any:
    link.socket.settimeout(seconds)
    try:
        return plain.loads(next(link.lines))
    except TimeoutError:
        raise Late("the engine does not answer in time") from None
    except (OSError, ValueError, StopIteration):
        raise NoEngine("the engine ended before it answered") from None
