"""Who answers a hook: a running engine, a server over HTTP, an engine started now, or this process.

A client waits for its hook at every prompt, so nothing is imported that is not needed: json and
socket alone take longer than Python's own start (tests/bench/hooks.py).
"""

from __future__ import annotations

from server.engine import client as engine
from server.engine import plain
from server.engine.launch import NoEngine
from server.engine.wire import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from server.engine.wanted import WantedEngine

ADDRESS = "http.json"
"""The file in the data directory in which a server that listens over HTTP writes its address and
its owner: {"url", "agent", "team", "process", "started", "key"}."""
ENGINE_SECONDS = 6.0
"""How long an engine may take for its answer, a start included."""


def run(
    wanted: WantedEngine,
    payload: Mapping[str, Any],
    *,
    forwarded: Callable[[WantedEngine, Mapping[str, Any]], str | None],
    start: Callable[[], bool],
    otherwise: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> str:
    """The output for *payload*: the answer of the engine, else *forwarded*, else *otherwise*.

    *forwarded* is the answer of a server over HTTP. Where neither runs, *start* says whether this
    process starts an engine and waits for it. If it does not, the output is "".
    """
    told = _asked(wanted, payload, start=False)
    answer = forwarded(wanted, payload) if told is None else plain.dumps(told)
    if answer is None:
        if not start():
            return ""
        told = _asked(wanted, payload, start=True)
        answer = plain.dumps(otherwise(payload) if told is None else told)
    return answer if answer.strip() not in ("", "{}") else ""


def _asked(wanted: WantedEngine, payload: Mapping[str, Any], *, start: bool) -> Any:
    """What the engine answers; None without one. A call that failed there is answered with {}."""
    try:
        return engine.hook(wanted, dict(payload), seconds=ENGINE_SECONDS, start=start)
    except engine.CallFailed:
        return {}
    except (NoEngine, Refused):
        return None
