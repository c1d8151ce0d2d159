"""Doubts: which memories may put another out of date, and the decision of such a pair.

A doubt is a link (link_kinds.DOUBTS) from a later memory to an earlier one, found by a rule or by a
model. It hides nothing and holds until the earlier one is superseded, one of the two is forgotten,
or somebody decides. A later memory that was itself superseded passes its doubt on to its successor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from memory_core.beliefs import lexicon
from memory_core.beliefs.authority import may_change, requests
from memory_core.beliefs.change import change
from memory_core.beliefs.sentence import read, read_all
from memory_core.beliefs.shared import held
from memory_core.errors import NotFound, ScopeDenied
from memory_core.link_kinds import (
    CONTRADICTS,
    DOUBTING,
    DOUBTS,
    DOUBTS_PART,
    DUPLICATE_OF,
    EXTENDS,
    HOLDS,
    KEPT_BOTH,
    KNOWN,
    UPDATES,
    UPDATES_PART,
    told,
)
from memory_core.records import (
    Change,
    Doubted,
    DoubtfulPair,
    Identity,
    MemoryRecord,
    from_fields,
    owner_of,
    scope,
)
from memory_core.scoring.arrays import Mask
from memory_core.storage.journal.journal import Journal, Transaction
from memory_core.storage.store import MemoryStore
from memory_core.storage.view import View
from memory_core.text.lazy_pattern import lazy_pattern

SOURCE = "review: "
"""The source of a decision's changes, followed by the decision, in the history of a memory."""

JUDGED = "judge: "
"""The source of a model's verdict, followed by the model and the verdict."""

VERDICTS = (UPDATES, CONTRADICTS, EXTENDS, KEPT_BOTH)
"""Links of which a pair in doubt has one when a model has judged it, be it undone since."""

Undo = Callable[[Transaction, Identity, str, str, str], None]
"""Undoes the last change of a pair with a source that begins so; see history.undo_decision."""

Changes = list[tuple[str, MemoryRecord, dict[str, Any]]]
"""Kind, target and body of each."""

Decided = tuple[str, Changes]
"""What was done, in words, and how."""

# Which memories are in doubt


class Doubts:
    """The doubts that hold in one view; with *as_of*, those that held at that moment."""

    def __init__(self, view: View, journal: Journal, as_of: float | None = None) -> None:
        """Read links from *view*; their past weights, which it does not have, from *journal*."""
        self._view = view
        self._journal = journal
        self._as_of = as_of
        self._following: dict[int, int | None] = {}

    def of(self, row: int, readable: Mask, kind: str = DOUBTS) -> list[int]:
        """The *readable* rows that put *row* in doubt, the one that was said last first.

        *kind* DOUBTS_PART for those that doubt only a part of it, UPDATES_PART for those of which
        somebody decided that they hold for a part.
        """
        if self._superseded(row):
            return []
        said = self._view.columns.occurred_at
        found: set[int] = set()
        for origin in self._view.graph.origins(row, kind):
            if not self._known(origin) or not self.holds(origin, row, kind):
                continue
            newer = self.successors([origin])[origin]
            if newer is None or newer == row or not readable[newer]:
                continue
            follows = newer == origin or said[newer] >= said[row]
            decided = kind != UPDATES_PART and any(
                self.decided(each, row) for each in (origin, newer)
            )
            if follows and not decided:
                found.add(newer)
        return sorted(found, key=lambda newer: float(said[newer]), reverse=True)

    def newest(self, row: int, readable: Mask, *, parts: bool = False) -> Doubted | None:
        """What was said last of what puts *row* in doubt, else with *parts* of what does in part.

        None where nothing does.
        """
        columns = self._view.columns
        for kind in (DOUBTS, DOUBTS_PART, UPDATES_PART) if parts else (DOUBTS,):
            for newer in self.of(row, readable, kind):
                holds = max(float(columns.occurred_at[newer]), float(columns.valid_from[newer]))
                since = None if kind == UPDATES_PART else holds
                return Doubted(columns.id(newer), since, in_part=kind != DOUBTS)
        return None

    def pairs(self, readable: Mask, kind: str = DOUBTS) -> Iterator[tuple[int, int]]:
        """(older, newer) of every doubt of this *kind* between *readable* rows."""
        graph = self._view.graph
        for row in dict.fromkeys(older for _, older in graph.of_kind(kind)):
            if readable[row]:
                yield from ((row, newer) for newer in self.of(row, readable, kind))

    def decided(self, newer: int, older: int) -> bool:
        """True when somebody said how both rows hold, or that a part of the older one does."""
        return self.both_hold(newer, older) or self.holds(newer, older, UPDATES_PART)

    def may_be_decided(self, newer: int, older: int) -> bool:
        """True for two current rows, *older* said no later, of which nobody said how both hold."""
        columns = self._view.columns
        gone = columns.superseded | np.isfinite(columns.retired_at)
        follows = columns.occurred_at[newer] >= columns.occurred_at[older]
        current = newer != older and not gone[[newer, older]].any()
        return bool(current and follows and not self.decided(newer, older))

    def both_hold(self, newer: int, older: int) -> bool:
        """True when somebody kept both rows, or when they were merged."""
        return self.holds(newer, older, KEPT_BOTH) or self.holds(older, newer, DUPLICATE_OF)

    def holds(self, a: int, b: int, kind: str) -> bool:
        """True when the link of *kind* from row *a* to row *b* held at the moment asked about."""
        weight = self._view.graph.weight(a, b, kind)
        if self._as_of is not None and weight:
            ids = self._view.columns.id(a), self._view.columns.id(b)
            weight = self._journal.weight(*ids, kind, self._as_of)
        return weight >= HOLDS

    def _known(self, row: int) -> bool:
        return self._as_of is None or bool(self._view.columns.recorded_at[row] <= self._as_of)

    def _superseded(self, row: int) -> bool:
        columns, at = self._view.columns, np.inf if self._as_of is None else self._as_of
        return bool(columns.superseded[row]) and not columns.superseded_at[row] > at

    def following(self, rows: Iterable[int]) -> dict[int, int | None]:
        """Each of *rows* that was superseded, with what superseded it; None if forgotten.

        Read from the journal once.
        """
        late = {row for row in rows if self._superseded(row)}
        if unread := sorted(late - self._following.keys()):
            found = self._view.memories(np.array(unread, dtype=np.int64))
            self._following |= dict.fromkeys(unread)
            for row, memory in found.items():
                self._following[row] = self._view.columns.row(memory.superseded_by)
        return {row: self._following[row] for row in late}

    def successors(self, rows: Iterable[int]) -> dict[int, int | None]:
        """Each of *rows* with itself, or with the last of those that superseded it one after the
        other; None if forgotten."""
        wanted = list(rows)
        known = self.following(wanted)
        while left := {row for row in known.values() if row is not None and row not in known}:
            more = self.following(left)
            if not more:
                break
            known |= more

        def last(row: int) -> int | None:
            passed = {row}
            while row in known:
                after = known[row]
                if after is None or after in passed:
                    return None
                row = after
                passed.add(row)
            return row

        return {row: last(row) for row in wanted}


_GOES_ON = lazy_pattern(r"\s*(?:and|und)\b")
_VERB = lazy_pattern(
    rf"\b(?:{'|'.join(sorted(lexicon.VERBS))})\b|^(?:I|We|They|You)\b| [a-z]+[^\Ws]s\b"
)


def explained(
    journal: Journal, older: MemoryRecord, newer: MemoryRecord, kind: str = DOUBTS
) -> DoubtfulPair:
    """The pair with the reason as it was found, and with what a model says that left the doubt.

    A doubt without one, as another machine or the successor of a memory brings it, is read anew.
    """
    link = journal.link(newer.id, older.id, kind)
    by_model = "by" in link
    judged = link if by_model else journal.link(newer.id, older.id, CONTRADICTS)
    reason, part = "" if by_model else link.get("reason", ""), link.get("part", "")
    if not (reason or by_model) and (found := change(older.text, newer.text)) is not None:
        reason, part = found.reason, found.part
    if "by" in judged and judged["weight"] >= HOLDS:
        reason = f"{reason}; {_verdict(judged['by'], judged.get('reason', ''))}"
    part = "" if kind == DOUBTS else _told_part(older.text, part, newer.text)
    return DoubtfulPair(older, newer, reason.removeprefix("; "), part)


def _told_part(older: str, part: str, newer: str) -> str:
    """What of *older* may be out of date, to be read: *part*, or the sentence where that says less.

    Of "The wedding of Jana and Tim is in June" the first clause is "The wedding of Jana": what ends
    before an "and", has no verb, and no word that *newer* has not, names what both are about.
    """
    whole = next((each.text for each in read_all(older) if part and part in each.text), older)
    said = {word for each in read_all(newer) for word in each.content}
    cut = _GOES_ON.match(whole.partition(part)[2]) if part else None
    names = all(held({word}, said) for word in read(part).content)
    return whole if not part or (cut and names and not _VERB.search(part)) else part


def _verdict(by: str, reason: str) -> str:
    if reason:
        return f"{by} doubts it ({reason})"
    return f"{by} doubts it"


# Deciding


def resolve(store: MemoryStore, who: Identity, older: str, newer: str, decision: str) -> str:
    """Write one of DECISIONS about a pair, in doubt or not; what was done, in words.

    Given the other way round, the one that was said first is the older one all the same. Raises
    NotFound for a pair that is decided or gone, or that *who* may not read, and ScopeDenied for
    another agent's.
    """
    rows = _own(store, who, older, newer)
    with store.reading() as view:
        doubts, readable = Doubts(view, store.journal), view.readable(who)

        def is_open(older: int, newer: int) -> bool:
            doubted = any(newer in doubts.of(older, readable, kind) for kind in DOUBTING)
            return doubted or doubts.may_be_decided(newer, older)

        if not is_open(*rows):
            if not is_open(*reversed(rows)):
                if doubts.decided(*rows) or doubts.decided(*reversed(rows)):
                    raise NotFound(
                        f"{older} and {newer} were decided before",
                        "take that back first, with the decision undo",
                    )
                raise _unknown(older, newer)
            older, newer = newer, older
    return store.commit(partial(_decide, who=who, older=older, newer=newer, decision=decision))


def take_back(store: MemoryStore, who: Identity, older: str, newer: str, undo: Undo) -> str:
    """Take back with *undo* the last decision about a pair; what was done, in words.

    Raises what resolve does, also where nothing was decided.
    """
    _own(store, who, older, newer)
    store.commit(lambda tx: undo(tx, who, older, newer, SOURCE))
    rows = _own(store, who, older, newer)
    with store.reading() as view:
        again = _doubted(Doubts(view, store.journal), rows, view.readable(who))
    if again:
        return f"{older} and {newer} are in doubt again"
    return f"the decision about {older} and {newer} is undone; they are not in doubt"


def _doubted(doubts: Doubts, rows: Sequence[int], readable: Mask) -> bool:
    """True when one of two *rows* puts the other one, or a part of it, in doubt."""
    pairs = (rows, tuple(reversed(rows)))
    return any(b in doubts.of(a, readable, kind) for a, b in pairs for kind in DOUBTING)


def _own(store: MemoryStore, who: Identity, older: str, newer: str) -> list[int]:
    """The rows of two memories about which *who* may decide. Raises NotFound, ScopeDenied."""
    store.catch_up()
    with store.reading() as view:
        rows, readable = view.rows([older, newer]), view.readable(who)
        if len(rows) != 2 or not readable[rows].all():
            raise _unknown(older, newer)
        if not who.admin and any(
            m.agent != who.agent for m in store.indexed([older, newer]).values()
        ):
            raise ScopeDenied(f"{older} or {newer} is another agent's", "ask its owner or an admin")
        return [int(row) for row in rows]


def linked(tx: Transaction, a: str, b: str) -> bool:
    """True when a link says how two memories relate, be it one that was undone."""
    return any(
        weight and kind in KNOWN
        for ends in ((a, b), (b, a))
        for kind, weight in tx.links(*ends).items()
    )


def unjudged(view: View, journal: Journal, judges: Sequence[str]) -> list[tuple[str, str, int]]:
    """(older, newer) ids of the doubts of one owner, and which of *judges* is to judge them next.

    What a judge calls a contradiction is left to the next one.
    """
    columns, graph = view.columns, view.graph
    found = []
    for older, newer in Doubts(view, journal).pairs(columns.live):
        if columns.agent[older] != columns.agent[newer]:
            continue
        ends = ((newer, older), (older, newer))
        said = {kind for kind in VERDICTS for pair in ends if graph.weight(*pair, kind)}
        ids, after = (columns.id(older), columns.id(newer)), 0
        if said == {CONTRADICTS} and len(judges) > 1:
            by = journal.link(ids[1], ids[0], CONTRADICTS).get("by", "")
            after = judges.index(by) + 1 if by in judges else len(judges)
        elif said:
            continue
        if after < len(judges):
            found.append((*ids, after))
    return found


def judge(
    store: MemoryStore,
    older: str,
    newer: str,
    verdict: str,
    by: str,
    reason: str = "",
    doubted: bool = True,
) -> bool:
    """Write what the model *by* says of a pair, one of gist.base.RELATIONS, and why.

    "updates" supersedes the older one where a rule found that this newer one doubts it, and it may
    change it. Else it puts it in doubt, as "contradicts" does; any other verdict ends a doubt.
    False when the pair, *doubted* or not when it was asked about, was decided or forgotten since.
    """

    def write(tx: Transaction) -> bool:
        fields = tx.fold([older, newer])
        if len(fields) < 2 or any(each.get("superseded_by") for each in fields.values()):
            return False
        if not doubted and linked(tx, newer, older):
            return False
        old, new = from_fields(fields[older]), from_fields(fields[newer])
        link = tx.link(newer, older, DOUBTS)  # none where the newer one inherited the doubt
        by_rule = doubted and bool(link) and "by" not in link
        may = scope(old) == scope(new) and may_change(old, new) and not requests(new)
        body: dict[str, Any] = {"b": older, "weight": 1.0, **told(reason, by)}
        changes: Changes = [
            ("link", new, body | {"kind": kind}) for kind in _says(verdict, doubted)
        ]
        if verdict == UPDATES and by_rule and may:
            body = {"superseded_by": newer, "superseded_at": tx.now}
            if old.valid_until is None:
                body["valid_until"] = new.holds_from
            changes.append(("put", old, body))
        for kind, target, body in changes:
            source, owner = f"{JUDGED}{by}: {verdict}", owner_of(target)
            tx.append(Change(kind, target.id, body, actor=new.agent, source=source, scope=owner))
        return True

    return store.commit(write)


def _says(verdict: str, doubted: bool) -> list[str]:
    """The kinds of links by which a *verdict* is stored."""
    if verdict in (UPDATES, CONTRADICTS):
        return [verdict] if doubted else [verdict, DOUBTS]
    return [EXTENDS] * (verdict == EXTENDS) + [KEPT_BOTH] * doubted


def _decide(tx: Transaction, who: Identity, older: str, newer: str, decision: str) -> str:
    fields = tx.fold([older, newer])
    if len(fields) < 2 or any(each.get("superseded_by") for each in fields.values()):
        raise _unknown(older, newer)
    memories = [from_fields(fields[id]) for id in (older, newer)]
    done, changes = DECISIONS[decision](tx.now, *memories)
    for kind, target, body in changes:
        tx.append(
            Change(
                kind,
                target.id,
                body,
                actor=who.agent,
                source=f"{SOURCE}{decision}",
                scope=owner_of(target),
            )
        )
    return done


def _newer_holds(now: float, older: MemoryRecord, newer: MemoryRecord) -> Decided:
    """Replace the older one, as `replaces` of remember does: recall no longer returns it.

    A replaced memory is no repeat of a later one, so its text can become true again.
    """
    until = newer.holds_from if older.valid_until is None else older.valid_until
    body = {**_replaced(newer, now), "valid_until": until}
    return f"{older.id} is replaced by {newer.id}", [("put", older, body)]


def _older_holds(now: float, older: MemoryRecord, newer: MemoryRecord) -> Decided:
    """Replace the newer one, which never held."""
    return f"{newer.id} is replaced by {older.id}", [("put", newer, _replaced(older, now))]


def _replaced(by: MemoryRecord, now: float) -> dict[str, Any]:
    return {"superseded_by": by.id, "superseded_at": now, "replaced": True}


def _keep_both(_now: float, older: MemoryRecord, newer: MemoryRecord) -> Decided:
    """Link the pair, whose doubt stays stored: undoing the link is all that brings it back."""
    link = {"b": older.id, "kind": KEPT_BOTH, "weight": 1.0}
    return f"{older.id} and {newer.id} both hold", [("link", newer, link)]


def _newer_holds_in_part(_now: float, older: MemoryRecord, newer: MemoryRecord) -> Decided:
    """Rank the newer one first and mark nothing: the rest of the older one holds."""
    link = {"b": older.id, "kind": UPDATES_PART, "weight": 1.0}
    return f"{newer.id} holds for a part of {older.id}", [("link", newer, link)]


def _merge(now: float, older: MemoryRecord, newer: MemoryRecord) -> Decided:
    """Retire the older one as a run does with a repetition; each keeps its own accesses."""
    link = {"b": newer.id, "kind": DUPLICATE_OF, "weight": 1.0}
    changes: Changes = [("link", older, link), ("put", older, {"retired_at": now})]
    return f"{older.id} is retired as a duplicate of {newer.id}", changes


DECISIONS = {
    "newer-holds": _newer_holds,
    "newer-holds-in-part": _newer_holds_in_part,
    "older-holds": _older_holds,
    "keep-both": _keep_both,
    "merge": _merge,
}


def _unknown(older: str, newer: str) -> NotFound:
    return NotFound(
        f"there is nothing to decide about {older} and {newer}",
        "name two memories that you may read and that still hold; "
        "`anamnesis review` lists those in doubt",
    )
