"""Stamps: when, and on which machine, each value of a memory was set last. Computed from history.

Two memories that lived apart are merged by them: of each value the one that was set last holds. A
change that came from another machine keeps the stamp that it had there, in its body.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_core.errors import InvalidInput
from memory_core.link_kinds import KNOWN
from memory_core.records import SYNCED, Change, is_id
from memory_core.storage.journal.queries import Queries

Stamp = tuple[float, str]
"""Epoch seconds and the id of a machine, "" where it has none. The greater one holds."""

NEVER: Stamp = (-math.inf, "")
"""The stamp of what is as it was when the memory was first stored."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "tags": ("tags",),
    "importance": ("importance",),
    "retired": ("retired_at",),
    "said": ("occurred_at",),
    "superseded": ("superseded_by", "superseded_at", "replaced", "valid_until"),
}
"""What may change of a memory after it was stored, as far as it travels: fields that belong
together are set together."""

BORN = "born"
"""The stamp of a memory that was stored again after it was forgotten."""

OF = "of"
"""In SYNCED: the folder that the change came from; "" for a file."""

MACHINE = "machine"
"""The meta key of the id of this machine's memory; there is none before it is first synced."""

MACHINES_BEFORE = "machines before"
"""The meta key of the ids that it had before it was restored or copied, the oldest first."""

FORGOTTEN = "forgotten "
"""Begins the meta keys of memories that were forgotten on another machine; their id follows."""

ELSEWHERE = "forgotten on another machine"
"""The reason of a forget change whose stamp stands under FORGOTTEN."""

PROBE = "probe"
"""The reason of a forget change of what a health report wrote; no other machine had it."""

TRAVELLING = KNOWN | {"pair"}
"""The kinds of links that travel; others each machine finds for itself."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """The stamps of one memory: by group, by link (other end, kind), and of its last forgetting."""

    groups: Mapping[str, Stamp] = field(default_factory=dict)
    links: Mapping[tuple[str, str], Stamp] = field(default_factory=dict)
    weights: Mapping[tuple[str, str], float] = field(default_factory=dict)
    forgotten: Stamp = NEVER

    def of(self, group: str) -> Stamp:
        """The stamp of *group*; NEVER when nothing set it since the memory was stored."""
        return self.groups.get(group, NEVER)

    def exported(self) -> dict[str, list[Any]]:
        """The stamps of the groups, ready for JSON."""
        return {name: list(stamp) for name, stamp in sorted(self.groups.items())}


def stamps(journal: Queries, id: str) -> Stamps:
    """The stamps of the memory *id*, which may be forgotten or unknown."""
    machine = journal.meta(MACHINE) or ""
    elsewhere = journal.meta(FORGOTTEN + id)
    return _of(
        journal.history(id), machine, NEVER if elsewhere is None else _stamp(elsewhere["stamp"])
    )


def _of(changes: Sequence[Change], machine: str, elsewhere: Stamp) -> Stamps:
    """The stamps that *changes*, one memory's in order, leave; an own one is later than before."""
    groups: dict[str, Stamp] = {}
    links: dict[tuple[str, str], Stamp] = {}
    weights: dict[tuple[str, str], float] = {}
    forgotten = elsewhere
    for change in changes:
        body = change.body or {}
        if change.kind == "forget":
            groups, links, weights = {}, {}, {}
            if body.get("reason") != ELSEWHERE:
                forgotten = later(forgotten, change.at, machine)
        elif change.kind == "link" and body and body["kind"] in TRAVELLING:
            key = (body["b"], body["kind"])
            marked = body.get(SYNCED)
            known = links.get(key, NEVER)
            links[key] = _stamp(marked["link"]) if marked else later(known, change.at, machine)
            weights[key] = float(body["weight"])
        elif change.kind == "put" and SYNCED in body:
            found = {name: stamp for name, stamp in body[SYNCED].items() if name != OF}
            groups |= {name: _stamp(stamp) for name, stamp in found.items()}
        elif change.kind == "put" and "id" in body:
            if forgotten != NEVER:
                groups[BORN] = later(forgotten, change.at, machine)
        elif change.kind == "put":
            for name, names in GROUPS.items():
                if any(each in body for each in names):
                    groups[name] = later(groups.get(name, NEVER), change.at, machine)
    return Stamps(groups, links, weights, forgotten)


def later(known: Stamp, at: float, machine: str) -> Stamp:
    """The stamp of a change at *at* that was made in knowledge of *known*."""
    return (at if at > known[0] else math.nextafter(known[0], math.inf), machine)


def _stamp(value: Sequence[Any]) -> Stamp:
    return float(value[0]), str(value[1])


def marks(given: Mapping[str, Stamp], of: str) -> dict[str, Any]:
    """The part of a body that keeps the stamps *given* of a change that came from *of*."""
    return {SYNCED: {**{name: list(stamp) for name, stamp in given.items()}, OF: of}}


# Of a record that was exported


def read(given: Any) -> dict[str, Stamp]:
    """The stamps by group of an exported record. Raises InvalidInput for what are none."""
    if not isinstance(given, Mapping):
        raise _wrong(given)
    known = (*GROUPS, BORN)
    return {name: one(given[name]) for name in known if name in given}


def one(given: Any) -> Stamp:
    """One exported stamp. Raises InvalidInput for what is none."""
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise _wrong(given)
    at, machine = given
    number = isinstance(at, (int, float)) and not isinstance(at, bool)
    if not number or not math.isfinite(at) or not isinstance(machine, str):
        raise _wrong(given)
    if machine and not is_id(machine):
        raise _wrong(given)
    return float(at), machine


def _wrong(given: Any) -> InvalidInput:
    return InvalidInput(
        f"stamps: {given!r:.60} is no time and machine", "give them as they were exported"
    )


def ends_probe(change: Change) -> bool:
    """True for the forgetting of what a health report wrote; a user may give the same reason."""
    body = change.body or {}
    return change.kind == "forget" and body.get("reason") == PROBE and not body.get("erase", True)


def _travels(change: Change) -> bool:
    body = change.body or {}
    if change.kind == "link":
        return body.get("kind") in TRAVELLING
    return change.kind == "put" and not _TOLD.isdisjoint(body)


_TOLD = frozenset(name for names in GROUPS.values() for name in names) | {"id", SYNCED}


def touched(changes: Iterable[Change], of: str) -> tuple[dict[str, None], dict[str, None]]:
    """The ids that *changes* changed, and those that they forgot.

    Without what came from the folder *of*; "" leaves nothing out.
    """
    changed: dict[str, None] = {}
    gone: dict[str, None] = {}
    for change in changes:
        body = change.body or {}
        if change.kind == "meta" and change.target.startswith(FORGOTTEN):
            if not of or body["value"][OF] != of:
                gone[change.target.removeprefix(FORGOTTEN)] = None
        elif change.kind == "forget" and body.get("reason") != ELSEWHERE:
            gone[change.target] = None
        elif of and body.get(SYNCED, {}).get(OF) == of:
            continue
        elif _travels(change):
            changed[change.target] = None
    return changed, gone
