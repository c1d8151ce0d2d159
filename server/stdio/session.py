"""What a client has said that outlives an engine: its handshake, subscriptions and open calls.

A request of MCP that an engine took to its grave is sent to the next one, if it only asks. A call
of a tool is not, because nobody knows whether it was done: it is answered with `busy`.
"""

from __future__ import annotations

import json
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GONE = "busy: the engine restarted; repeat the call"
_INTERNAL = -32603
_OURS = "anamnesis/"
"""Ids of requests that are sent here, not by the client, begin with it."""

_MODERN = "io.modelcontextprotocol/protocolVersion"

Id = str | int


class ProxySession:
    """One client's session, over as many engines as it takes. Safe among threads."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._lock = threading.Lock()
        self._open: dict[Id, dict[str, Any]] = {}
        self._repeated: set[Id] = set()
        self._initialize: dict[str, Any] | None = None
        self._initialized: bytes = b""
        self._uris: dict[str, dict[str, Any]] = {}
        self._swallowed: set[Id] = set()
        self._acknowledged: set[Id] = set()

    def sent(self, line: bytes) -> bool:
        """Note that the client said *line*; True when `replay` tells it to a new engine."""
        message = _read(line)
        method, id = message.get("method"), message.get("id")
        with self._lock:
            if method == "notifications/initialized":
                self._initialized = line
                return self._initialize is not None
            elif method == "notifications/cancelled":
                cancelled = _params(message).get("requestId")
                if isinstance(cancelled, str | int):
                    self._open.pop(cancelled, None)
                    self._acknowledged.discard(cancelled)
            elif isinstance(method, str) and isinstance(id, str | int):
                self._open[id] = message
                return True
        return False

    def heard(self, line: bytes) -> bool:
        """Note that the engine said *line*; False when it is not for the client's ears."""
        message = _read(line)
        id = message.get("id")
        with self._lock:
            if "method" in message or not isinstance(id, str | int):
                return not self._is_second_acknowledgement(message)
            if id in self._swallowed:
                self._swallowed.discard(id)
                return False
            asked = self._open.pop(id, None)
            self._repeated.discard(id)
            self._acknowledged.discard(id)
            if asked is not None and "result" in message:
                self._keep(asked)
        return True

    def died(self) -> list[bytes]:
        """The answers to what was open when the engine died and must not be repeated.

        Those of a request that one engine after another died of are among them.
        """
        with self._lock:
            lost = [
                id
                for id, asked in self._open.items()
                if asked["method"] == "tools/call"
                or (id in self._repeated and asked["method"] != "subscriptions/listen")
            ]
            self._swallowed.clear()
            return [_lost(self._open.pop(id)) for id in lost]

    def refused(self, problem: str) -> list[bytes]:
        """The answers to all that is open, which say *problem*: no engine will hear of it."""
        with self._lock:
            asked = list(self._open.values())
            for each in (self._open, self._repeated, self._swallowed, self._acknowledged):
                each.clear()
            return [_lost(each, problem) for each in asked]

    @property
    def waiting(self) -> bool:
        """True when the client waits for something of an engine: an answer, or what changes."""
        with self._lock:
            return bool(self._open or self._uris)

    def replay(self) -> tuple[list[bytes], list[bytes]]:
        """What a new engine must be told: the handshake, and then the rest.

        The first line of the handshake is answered before the others are sent. The rest are
        subscriptions, and requests that are open. The client never hears an answer twice. Both are
        empty before the client said anything.
        """
        with self._lock:
            first, rest = [], []
            if self._initialize is not None:
                asked = {**self._initialize, "id": f"{_OURS}initialize"}
                self._swallowed.add(asked["id"])
                first.append(_line(asked))
                if self._initialized:
                    first.append(self._initialized)
            for number, asked in enumerate(self._uris.values()):
                again = {**asked, "id": f"{_OURS}{number}"}
                self._swallowed.add(again["id"])
                rest.append(_line(again))
            for id, asked in self._open.items():
                self._repeated.add(id)
                rest.append(_line(asked))
            return first, rest

    def _keep(self, asked: dict[str, Any]) -> None:
        """Remember a request that was answered, when a new engine must hear it too."""
        uri = _params(asked).get("uri")
        if asked["method"] == "initialize":
            self._initialize = asked
        elif asked["method"] == "resources/subscribe" and isinstance(uri, str):
            self._uris[uri] = asked
        elif asked["method"] == "resources/unsubscribe" and isinstance(uri, str):
            self._uris.pop(uri, None)

    def _is_second_acknowledgement(self, message: dict[str, Any]) -> bool:
        if message.get("method") != "notifications/subscriptions/acknowledged":
            return False
        meta = _params(message).get("_meta")
        id = meta.get("io.modelcontextprotocol/subscriptionId") if isinstance(meta, dict) else None
        if not isinstance(id, str | int) or id not in self._open:
            return False
        if id in self._acknowledged:
            return True
        self._acknowledged.add(id)
        return False


def _lost(asked: dict[str, Any], said: str = GONE) -> bytes:
    """The answer to a request that nobody will answer: a model reads what is *said* of a tool."""
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": said}], "isError": True}
        if _MODERN in str(_params(asked).get("_meta")):
            answer["result"]["resultType"] = "complete"  # the field came with that revision
    else:
        answer["error"] = {"code": _INTERNAL, "message": said}
    return _line(answer)


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode("ascii") + b"\n"


def _read(line: bytes) -> dict[str, Any]:
    """The message in *line*; {} when it is none that an engine would answer by its id."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
