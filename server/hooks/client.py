"""Who answers a hook: a running engine, a server over HTTP, an engine started now, or this process.

A client waits for its hook at every prompt, so nothing is imported that is not needed: json and
socket alone take longer than Python's own start (tests/bench/hooks.py).
"""

from __future__ import annotations

from server.engine import client as engine
from server.engine import plain
from server.engine.launch import Late, NoEngine
from server.engine.wire import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from server.engine.wanted import WantedEngine

ADDRESS = "http.json"
"""The file in the data directory in which a server that listens over HTTP writes its address and
its owner: {"url", "agent", "team", "process", "started", "key"}."""
TAKEN_SECONDS = 1.0
"""Within which a running engine takes the call: however much it does it takes it at once, unless it
hangs, and then the user would wait at every prompt."""
ENGINE_SECONDS = 6.0
"""How long an engine that has taken the call may need for its answer."""


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
    process starts an engine and waits for it. If it does not, the output is "", and so it is beside
    an engine that hangs: what it should hear waits in the spool.
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
    """What the engine answers: {} if it failed there, or hangs; None without one."""
    taken = None if start else TAKEN_SECONDS
    try:
        return engine.hook(wanted, dict(payload), taken=taken, seconds=ENGINE_SECONDS, start=start)
    except engine.CallFailed:
        return {}
    except Late:
        return None if start else {}
    except (NoEngine, Refused):
        return None
