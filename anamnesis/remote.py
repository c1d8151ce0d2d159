# ruff: noqa: D102 - the docstrings of the façade hold
"""The façade of a memory that a server keeps, over REST: what Memory calls, each one request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import httpx2

from memory_core import errors, validation
from memory_core.errors import (
    Busy,
    InvalidInput,
    MemoryCoreError,
    NotFound,
    ScopeDenied,
    StorageError,
)
from memory_core.interchange import jsonl
from memory_core.lifecycle.amendments import Votes
from memory_core.memory import LISTING_MOST
from memory_core.overview.pages import Listed, Page
from memory_core.overview.request import PageRequest
from memory_core.overview.runs import RunEntry, RunList
from memory_core.overview.tallies import Span
from memory_core.recall.request import RecallRequest
from memory_core.records import (
    Change,
    Check,
    Contradiction,
    DoubtfulPair,
    ForgetReport,
    HealthReport,
    Hit,
    Identity,
    Link,
    MemoryRecord,
    Neighbour,
    Receipt,
    Recollection,
    Removal,
    RunReport,
    Similar,
    Step,
    Summary,
)
from memory_core.remember.capture import Observation, Skipped
from memory_core.remember.request import NOT_ASKED, ConversationTurn, RememberRequest
from memory_core.text.lines import lines
from memory_core.text.time import timestamps
from server.hooks.settings import PATH as HOOK

_CODES = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, MemoryCoreError) and kind is not MemoryCoreError
}
_NDJSON = {"content-type": "application/x-ndjson"}
_NAMED = {"session": "/sessions", "entities": "/entities", "topic": "/topics", "tags": "/tags"}


class RemoteFacade:
    """The methods of the façade that Memory calls, with its arguments and answers.

    The token says whose memory it is; the identity in the first argument is passed over.
    """

    def __init__(
        self,
        url: str,
        token: str,
        timeout: float,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """Connects with the first call, by *transport*; *timeout* is in seconds for each.

        Raises InvalidInput for a *url* that is no address.
        """
        headers = {b"authorization": f"Bearer {token}".encode()}
        self.url = _address(url)
        base = f"{self.url}/api/v1"
        self._http = httpx2.Client(
            base_url=base, headers=headers, timeout=timeout, transport=transport
        )

    def identity(self) -> Identity:
        """Whose memory the token opens, and its rights; closes when the server refuses."""
        try:
            said = self._get("/meta")
            return Identity(said["agent"], said["team"], frozenset(said["rights"]))
        except MemoryCoreError:
            self.close()
            raise
        except (LookupError, TypeError):
            self.close()
            raise _foreign("the server answers no identity") from None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def wait_ready(self, timeout: float) -> bool:
        """True when the server answers; it waits for its store, and no call for the model."""
        del timeout
        return bool(self._get("/meta")["version"])

    # Requests

    def _get(self, path: str, **query: Any) -> Any:
        return self._asked("GET", path, params=query)

    def _post(self, path: str, body: Mapping[str, Any], **headers: str) -> Any:
        return self._asked("POST", path, body, headers=headers)

    def _asked(self, method: str, path: str, body: Any = None, **request: Any) -> Any:
        if body is not None:
            headers = {"content-type": "application/json", **request.pop("headers", {})}
            request |= {"content": _encoded(body), "headers": headers}
        return _data(self._answer(method, path, **request))

    def _answer(self, method: str, path: str, **request: Any) -> httpx2.Response:
        self._require_open()
        try:
            answer = self._http.request(method, path, **request)
        except httpx2.HTTPError as problem:
            raise _unreachable(problem) from None
        _require_success(answer)
        return answer

    def _require_open(self) -> None:
        if self._http.is_closed:
            raise Busy("the memory is closed", "open it again")

    def hook(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """What the server answers to the hook *event*; {} also where it could not."""
        return dict(self._asked("POST", f"{self.url}{HOOK}", event))

    # Writing

    def remember(self, _: Identity, request: RememberRequest) -> Receipt:
        body = {n: v for n, v in _plain(asdict(request)).items() if n not in NOT_ASKED}
        headers = {"Idempotency-Key": _key(request.key)} if request.key else {}
        body["when"] = _moment(request.when)
        return _receipt(self._post("/memories", body, **headers))

    def observe(self, _: Identity, turn: ConversationTurn) -> Observation:
        return _observation(self._post("/observe", _turn(turn)))

    def observe_and_recall(
        self, _: Identity, turn: ConversationTurn, *, k: int = 8
    ) -> tuple[Observation, Recollection]:
        answer = self._post("/observe", {**_turn(turn), "recall": True, "k": k})
        return _observation(answer), _recollection(answer["recalled"])

    def extract(
        self, _: Identity, request: RememberRequest, seconds: float
    ) -> tuple[Receipt, list[MemoryRecord]]:
        del seconds  # the server has a limit of its own
        names = ("text", "session", "speaker", "scope", "source")
        answer = self._post("/extract", {name: getattr(request, name) for name in names})
        return _receipt(answer["receipt"]), [_memory(each) for each in answer["facts"]]

    def amend(
        self, who: Identity, id: str, *, tags: Any = None, importance: Any = None, seen: int = 0
    ) -> int:
        given = {"tags": _plain(tags), "importance": importance}
        body = {name: value for name, value in given.items() if value is not None}
        guard = self._guard(who, id, seen)
        return _change(self._asked("PATCH", f"/memories/{_id(id)}", body, headers=guard))

    def retire(self, who: Identity, id: str, *, retired: bool = True, seen: int = 0) -> int:
        guard = self._guard(who, id, seen)
        return _change(self._post(f"/memories/{_id(id)}/retire", {"retired": retired}, **guard))

    def _guard(self, who: Identity, id: str, seen: int) -> dict[str, str]:
        """The header that lets a change happen only while *id* has *seen* changes; {} for 0."""
        if not seen:
            return {}
        tag = self._answer("GET", f"/memories/{_id(id)}").headers["etag"]
        if len(self.history(who, id)) != seen:
            raise errors.ChangedMeanwhile(
                "the memory was changed meanwhile", "get it again, then decide"
            )
        return {"If-Match": tag}

    def undo_change(self, who: Identity, id: str, change: int) -> tuple[Change, str]:
        found = next((each for each in self.history(who, id) if each.seq == change), None)
        done = self._post(f"/memories/{_id(id)}/undo", {"change": change})["done"]
        assert found is not None  # else it would have been refused
        return found, done

    def vote(self, _: Identity, id: str, query: str, value: int) -> Votes:
        return Votes(**self._post(f"/memories/{_id(id)}/votes", {"query": query, "value": value}))

    def forget(self, _: Identity, *, finish_seconds: float = 0.0, **given: Any) -> ForgetReport:
        del finish_seconds  # the server erases soon after
        answer = self._post("/forget", _plain(given))
        return ForgetReport(
            answer["status"],
            tuple(_removal(each) for each in answer["removed"]),
            tuple(_removal(each) for each in answer["derived"]),
            answer["note"],
        )

    # Reading

    def recall(self, _: Identity, request: RecallRequest) -> Recollection:
        return _recollection(self._post("/recall", _plain(asdict(request))))

    def get(self, _: Identity, id: str) -> MemoryRecord:
        return _memory(self._get(f"/memories/{_id(id)}"))

    def history(self, _: Identity, id: str) -> list[Change]:
        answer = self._get(f"/memories/{_id(id)}/history")
        return [
            Change(**{**each, "target": answer["id"], "at": _at(each["at"])})
            for each in answer["changes"]
        ]

    def links(self, _: Identity, id: str) -> list[Link]:
        return [Link(**each) for each in self._get(f"/memories/{_id(id)}/links")["links"]]

    def page(self, _: Identity, request: PageRequest) -> Page:
        asked = _plain(asdict(request))
        asked["tag"] = asked.pop("tags")
        answer = self._get("/memories", **{n: v for n, v in asked.items() if v not in ("", [])})
        return Page(tuple(_listed(each) for each in answer["memories"]), answer["next"])

    def listing(self, who: Identity, *, limit: int = 20, **filters: str) -> list[MemoryRecord]:
        limit = validation.whole(limit, "limit", 1, LISTING_MOST)
        found: list[MemoryRecord] = []
        cursor = ""
        while len(found) < limit:
            page = self.page(who, PageRequest(cursor=cursor, limit=limit, **filters))  # type: ignore[arg-type]
            kept = (e.memory for e in page.memories if e.state != "retired")
            found += [memory for memory in kept if not memory.replaced]
            cursor = page.next
            if not cursor:
                break
        return found[:limit]

    def names(self, _: Identity, column: str) -> list[str]:
        """As Facade.names, of what is neither replaced nor retired."""
        path = _NAMED.get(column)
        if path is None:
            raise InvalidInput(f"column: {column!r:.40} is unknown", f"use {', '.join(_NAMED)}")
        found, cursor = [], ""
        while True:
            answer = self._get(path, limit=1000, **({"cursor": cursor} if cursor else {}))
            found += [each["name"] for each in answer["names"]]
            cursor = answer["next"]
            if not cursor:
                return sorted(found)

    def timeline(
        self, _: Identity, *, step: str = "day", since: str = "", until: str = ""
    ) -> list[Span]:
        answer = self._get("/stats/timeline", step=step, since=since, until=until)
        return [Span(**each) for each in answer["spans"]]

    def runs(self, _: Identity, *, cursor: str = "", limit: int = 50) -> RunList:
        answer = self._get("/runs", cursor=cursor, limit=limit)
        return RunList(tuple(_run(each) for each in answer["runs"]), answer["next"])

    def health(self, _: Identity, *, repair: bool = False) -> HealthReport:
        repair = validation.flag(repair, "repair")
        said = self._post("/health/repair", {}) if repair else self._get("/health")
        checks = tuple(Check(**each) for each in said["checks"])
        rest = ("counts", "storage", "model", "encoder", "jobs", "last_run", "versions")
        return HealthReport(said["status"], checks, *(said.get(name, {}) for name in rest))

    def end_session(self, _: Identity, session: str, *, wait: bool = False) -> None:
        del wait  # the server writes the summary soon after
        self._post("/sessions/end", {"session": session})

    def stats(self, _: Identity) -> dict[str, Any]:
        return dict(self._get("/stats"))

    # Consolidating

    def consolidate(
        self, _: Identity, *, undo: str = "", progress: Any = None, **given: Any
    ) -> RunReport:
        del progress  # the server reports at the end
        answer = (
            self._post(f"/runs/{_id(undo)}/undo", {}) if undo else self._post("/consolidate", given)
        )
        return RunReport(
            answer["run"],
            answer["status"],
            tuple(Step(**each) for each in answer["steps"]),
            tuple(
                Summary(each["id"], each["text"], tuple(each["derived_from"]))
                for each in answer["summaries"]
            ),
            tuple(
                Contradiction(**{**each, "agents": tuple(each["agents"])})
                for each in answer["contradictions"]
            ),
            tuple(answer["retired"]),
            tuple(answer["kept"]),
            answer["note"],
        )

    def doubts(self, _: Identity) -> list[DoubtfulPair]:
        return [
            DoubtfulPair(_memory(p["older"]), _memory(p["newer"]), p["reason"], p["part"])
            for p in self._get("/contradictions")["pairs"]
        ]

    def resolve(self, _: Identity, older: str, newer: str, decision: str) -> str:
        body = {"older": older, "newer": newer, "decision": decision}
        return str(self._post("/contradictions/decide", body)["done"])

    # All of it

    def export(self, _: Identity) -> Iterator[dict[str, Any]]:
        self._require_open()
        try:
            with self._http.stream("GET", "/export") as answer:
                if not answer.is_success:
                    answer.read()
                    _require_success(answer)
                yield from map(json.loads, lines(answer.iter_bytes()))
        except httpx2.HTTPError as problem:
            raise _unreachable(problem) from None

    def bring_in(self, _: Identity, record: Mapping[str, Any]) -> Receipt:
        line = _encoded(dict(validation.mapping(record, "record")))
        done = _data(self._answer("POST", "/import", content=line, headers=_NDJSON))
        if "error" in done:
            code, _, said = done["error"].partition(": ")
            problem_, _, next_step = said.rpartition("; ")
            raise _CODES.get(code, StorageError)(problem_, next_step)
        return Receipt(
            done["id"], done["status"], "", 0.0, warnings=tuple(done.get("warnings", ()))
        )

    def clear(self, _: Identity) -> int:
        return int(self._post("/clear", {"confirm": True})["deleted"])


def _address(url: str) -> str:
    """*url* without a slash at its end. Raises InvalidInput for what is no address."""
    try:
        parts = httpx2.URL(url)
        known = parts.scheme in ("http", "https") and parts.host
    except (httpx2.InvalidURL, TypeError):
        known = None
    if not known:
        raise InvalidInput("url is no address", "give one such as http://127.0.0.1:7832")
    return url.rstrip("/")


def _unreachable(problem: httpx2.HTTPError) -> MemoryCoreError:
    if isinstance(problem, httpx2.TimeoutException):
        return Busy("the server did not answer in time", "repeat the call")
    if isinstance(problem, httpx2.LocalProtocolError):
        return InvalidInput("the token or the key is no header", "give it as it was printed")
    return StorageError(
        f"the server cannot be reached ({type(problem).__name__})",
        "check the address, and that `anamnesis serve --transport http` runs",
    )


def _data(answer: httpx2.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        raise _foreign("the server does not answer JSON") from None


def _foreign(problem: str) -> StorageError:
    return StorageError(problem, "check that the address is that of an Anamnesis server")


def _require_success(answer: httpx2.Response) -> None:
    """Raise what the memory raised, where *answer* is a problem document."""
    if answer.is_success:
        return
    try:
        said = answer.json()
        code, problem, next_step = said["code"], said["detail"], said["next_step"]
    except (ValueError, LookupError, TypeError):
        raise _foreign(f"the server answered {answer.status_code}") from None
    if code in ("unauthorized", "unknown_host"):
        raise ScopeDenied(problem, next_step)
    raise _CODES.get(code, StorageError)(problem, next_step)


def _encoded(body: Any) -> bytes:
    """*body* as JSON in ASCII: a lone surrogate is an escape, which the server repairs."""
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError) as problem:
        raise InvalidInput(f"an argument is of the wrong type ({problem})", "correct it") from None


def _key(key: str) -> str:
    """The idempotency key *key*, as a header can hold it."""
    checked = validation.label(key, "key").strip()
    return checked if checked.isascii() else hashlib.sha256(checked.encode()).hexdigest()


def _moment(when: str | float) -> str:
    """*when* as text: ISO 8601, or epoch seconds, to the nanosecond."""
    if isinstance(when, str):
        return when
    return str(jsonl.time_text(round(validation.when(when, "when", 0.0), 9)))


def _id(id: str) -> str:
    """*id*, which becomes part of a path. Raises NotFound for what can be no id."""
    if not (isinstance(id, str) and id.isascii() and id.isalnum()):
        raise NotFound(f"no memory {id!r:.40}", "recall by words to find the right id")
    return id


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _at(text: str) -> float:
    return timestamps.moment(text, "when")[0]


def _turn(turn: ConversationTurn) -> dict[str, Any]:
    names = ("role", "content", "session", "speaker", "scope", "source", "tags")
    when = "" if turn.timestamp is None else _moment(turn.timestamp)
    return {**{name: _plain(getattr(turn, name)) for name in names}, "when": when}


def _change(answer: Mapping[str, Any]) -> int:
    return int(answer["undo"]["change"]) if answer["undo"] else 0


def _memory(shown: Mapping[str, Any]) -> MemoryRecord:
    return jsonl.from_record(shown)[0]


def _listed(shown: Mapping[str, Any]) -> Listed:
    since = shown["doubtful_since"]
    at = None if since is None else _at(since)
    return Listed(_memory(shown), shown["state"], shown["doubted_by"], at)


def _neighbour(shown: Mapping[str, Any]) -> Neighbour:
    return Neighbour(shown["id"], shown["speaker"], shown["text"], _at(shown["when"]))


def _hit(shown: Mapping[str, Any]) -> Hit:
    listed = _listed(shown)
    return Hit(
        listed.memory,
        shown["score"],
        tuple(_neighbour(each) for each in shown["before"]),
        tuple(_neighbour(each) for each in shown["after"]),
        shown["why"],
        listed.doubted_by,
        listed.doubtful_since,
        shown["in_part"],
    )


def _recollection(shown: Mapping[str, Any]) -> Recollection:
    return Recollection(
        shown["found"],
        shown["confidence"],
        shown["feeling"],
        tuple(_hit(each) for each in shown["memories"]),
        tuple(_neighbour(each) for each in shown["recent"]),
        tuple(_hit(each) for each in shown["partial"]),
        shown["note"],
        tuple(_hit(each) for each in shown["rejected"]),
    )


def _receipt(shown: Mapping[str, Any]) -> Receipt:
    return Receipt(
        shown["id"],
        shown["status"],
        shown["kind"],
        shown["importance"],
        shown["gist"],
        tuple(Similar(**each) for each in shown["similar"]),
        tuple(shown["replaced"]),
        tuple(shown["warnings"]),
    )


def _observation(shown: Mapping[str, Any]) -> Observation:
    return Observation(
        None if shown["receipt"] is None else _receipt(shown["receipt"]),
        tuple(Skipped(**each) for each in shown["skipped"]),
    )


def _run(shown: Mapping[str, Any]) -> RunEntry:
    lists = ("summaries", "retired")
    return RunEntry(
        **{
            **shown,
            "at": _at(shown["at"]),
            "steps": tuple((name, count) for name, count in shown["steps"]),
            **{name: tuple(shown[name]) for name in lists},
        }
    )


def _removal(shown: Mapping[str, Any]) -> Removal:
    return Removal(shown["id"], shown["text"], _at(shown["when"]) if shown["when"] else None)
