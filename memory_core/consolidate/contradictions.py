"""Steps of sleep that compare memories: what updates, contradicts or repeats another one.

Statements with the same subject and attribute are compared whatever their wording; closeness of
vectors only opens the question for the rest, and the claims of the two texts (numbers, negation,
names) answer it. Nothing is removed: what is out of date is marked, a repetition retired.
"""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.consolidate.plan import Plan
from memory_core.consolidate.steps import NO_MODEL, Workspace, grouped
from memory_core.records import DERIVED, Contradiction, MemoryRecord, scope
from memory_core.relations import duplicates
from memory_core.relations.claims import opposed
from memory_core.relations.corrections import Correction, Said, correction, extends, said
from memory_core.relations.english import corrects
from memory_core.scoring import clusters

UNCLEAR = "unclear"
"""Two memories may not both hold, but no rule tells; reported, and nothing is changed."""

UNCLEAR_MOST = 10
"""Unclear pairs in one report, the closest first."""


def contradictions(scene: Workspace) -> None:
    """Mark what a later memory of the same owner corrects, report across agents and speakers."""
    foreign = [m for m in scene.others if m.retired_at is None and not m.superseded_by]
    everyone = scene.spoken() + [m for m in foreign if m.kind not in DERIVED]
    everyone.sort(key=_when)
    settled: set[frozenset[str]] = set()
    for older, newer, found in _by_statement(everyone):
        _settle(scene, older, newer, found, settled)
    if scene.profile is None:
        scene.plan.details["contradictions"] = f"{NO_MODEL}: compared by their words alone"
        return
    near = scene.embedded(everyone)
    if near:
        _by_closeness(scene, near, settled)
        _unclear(scene, near, settled)


# By what is stated


def _by_statement(
    everyone: list[MemoryRecord],
) -> Iterator[tuple[MemoryRecord, MemoryRecord, Correction]]:
    """What is corrected by a statement about the same subject and attribute, oldest first.

    Each is compared with the latest one before it of every owner and speaker: versions form chains.
    """
    latest: dict[tuple[str, str, str], dict[object, Said]] = {}
    for memory in everyone:
        newer = said(memory)
        line = (scope(memory), memory.speaker)
        for statement in newer.statements:
            standing = latest.setdefault(statement.key, {})
            for older in standing.values():
                if older.memory.id != memory.id and not _two_speakers(older.memory, memory):
                    found = correction(older, newer)
                    if found is not None:
                        yield older.memory, memory, found
            last = standing.get(line)
            found = None if last is None else correction(last, newer)
            if found is None or found.until is None:
                standing[line] = newer


# By closeness


def _by_closeness(
    scene: Workspace, everyone: list[MemoryRecord], settled: set[frozenset[str]]
) -> None:
    assert scene.profile is not None
    for i, j, _ in clusters.near_pairs(scene.matrix(everyone), scene.profile.near_duplicate):
        older, newer = everyone[i], everyone[j]
        found = _conflict(scene, older, newer)
        if found is not None:
            _settle(scene, older, newer, found, settled)
        elif (
            _one_voice(older, newer) and extends(older, newer) and not _differ(scene, older, newer)
        ):
            _link(scene, older, newer, duplicates.EXTENDS)


def _conflict(scene: Workspace, older: MemoryRecord, newer: MemoryRecord) -> Correction | None:
    """Why a near pair cannot both hold; None when it can.

    Different named speakers speak of themselves. A number that only one of them has adds to the
    other and opposes nothing. What happened on another day is another event.
    """
    if _two_speakers(older, newer):
        return None
    a, b = scene.said(older), scene.said(newer)
    difference = opposed(a, b)
    relation = duplicates.relation(difference)
    left, right = sorted(a.numbers - b.numbers), sorted(b.numbers - a.numbers)
    if difference == "values":
        left = [word for word in a.order if word not in b.order]
        right = [word for word in b.order if word not in a.order]
    if not _one_occasion(older, newer, difference, {*left, *right}):
        return None
    if relation == duplicates.CONTRADICTS:
        return Correction(relation, "one affirms what the other denies")
    if relation == duplicates.UPDATES and left and right:
        return Correction(relation, f"{', '.join(left)} -> {', '.join(right)}")
    return None


def _differ(scene: Workspace, older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when they deny each other or stand for different days."""
    return scene.said(older).negated != scene.said(newer).negated or older.dates != newer.dates


def _one_occasion(
    older: MemoryRecord, newer: MemoryRecord, difference: str, differing: set[str]
) -> bool:
    """False when the texts speak of different days ("today", said twice) without that being it.

    "The release is on 7 May" and "on 9 May" name different days too, but that is the update.
    """
    days = set(older.dates) ^ set(newer.dates)
    if not days or difference == "values":
        return True
    return any(part.lstrip("0") in differing for day in days for part in day.split("-"))


# What no rule tells


def _unclear(scene: Workspace, everyone: list[MemoryRecord], settled: set[frozenset[str]]) -> None:
    """Report what sounds like a correction of something close to it that no rule could settle."""
    assert scene.profile is not None
    still = scene.plan.memories.keys() - {id for pair in settled for id in pair}
    open_ones = [
        place
        for place, memory in enumerate(everyone)
        if place and memory.id in still and corrects(memory.text)
    ]
    pairs: list[tuple[float, MemoryRecord, MemoryRecord]] = []
    for place, nearest, cosine in clusters.nearest_before(scene.matrix(everyone), open_ones):
        older, newer = everyone[nearest], everyone[place]
        if cosine >= scene.profile.related and _about_one(older, newer):
            pairs.append((cosine, older, newer))
    for _, older, newer in sorted(pairs, key=lambda pair: -pair[0])[:UNCLEAR_MOST]:
        _judge(scene, older, newer, "the later one sounds like a correction", settled)


def _judge(
    scene: Workspace,
    older: MemoryRecord,
    newer: MemoryRecord,
    why: str,
    settled: set[frozenset[str]],
) -> None:
    """Let the model say what no rule tells; without one, or when it cannot tell, report it."""
    relation, detail = scene.relate(older, newer)
    if relation in (duplicates.UPDATES, duplicates.CONTRADICTS):
        _settle(scene, older, newer, Correction(relation, detail or "judged by a model"), settled)
    elif relation == duplicates.EXTENDS:
        _link(scene, older, newer, duplicates.EXTENDS)
    elif not relation:
        _report(scene, older, newer, UNCLEAR, why)


def _about_one(older: MemoryRecord, newer: MemoryRecord) -> bool:
    return _one_voice(older, newer) and bool(
        set(older.entities) & set(newer.entities) or (older.topic and older.topic == newer.topic)
    )


# What is done


def _settle(
    scene: Workspace,
    older: MemoryRecord,
    newer: MemoryRecord,
    found: Correction,
    settled: set[frozenset[str]],
) -> None:
    """Mark *older* as *found* says; what is not the caller's, or not clear, is only reported."""
    plan, pair = scene.plan, frozenset((older.id, newer.id))
    if pair in settled or not {older.id, newer.id} & plan.memories.keys():
        return
    if older.id in plan.memories and plan.memories[older.id].superseded_by:
        return  # the next newer one has it; this one follows from the chain
    settled.add(pair)
    if not _one_voice(older, newer):
        _report(scene, older, newer, found.relation, found.detail)
        return
    if not found.clear:
        _judge(scene, older, newer, found.detail, settled - {pair})
        return
    if pair in scene.related:
        return  # an earlier run has told and linked it
    if scene.leaves(older, newer):
        _report(scene, older, newer, found.relation, found.detail)
        return
    action = plan.begin("contradictions", [older.id, newer.id])
    action.contradiction = _told(older, newer, found.relation, found.detail)
    plan.link(action, newer.id, older.id, found.relation, 1.0)
    if found.until is not None:
        if plan.memories[newer.id].valid_until is None:
            plan.put(action, newer.id, valid_until=found.until)
    elif not found.partial:
        plan.put(action, older.id, superseded_by=newer.id, superseded_at=plan.now)
        if older.valid_until is None:
            plan.put(action, older.id, valid_until=newer.occurred_at)


def _link(scene: Workspace, older: MemoryRecord, newer: MemoryRecord, kind: str) -> None:
    plan = scene.plan
    if frozenset((older.id, newer.id)) in scene.related or scene.leaves(older, newer):
        return
    if {older.id, newer.id} <= plan.memories.keys():
        plan.link(plan.begin("contradictions", [older.id, newer.id]), newer.id, older.id, kind, 1.0)


def _report(
    scene: Workspace, older: MemoryRecord, newer: MemoryRecord, relation: str, detail: str
) -> None:
    action = scene.plan.begin("contradictions", [older.id, newer.id])
    action.contradiction = _told(older, newer, relation, detail)


def _told(older: MemoryRecord, newer: MemoryRecord, relation: str, detail: str) -> Contradiction:
    shared = [name for name in newer.entities if name in older.entities]
    subject = ", ".join(shared) or (newer.topic if newer.topic == older.topic else "")
    agents = (older.agent, newer.agent)
    return Contradiction(older.id, newer.id, relation, subject, detail, agents)


def _two_speakers(a: MemoryRecord, b: MemoryRecord) -> bool:
    return bool(a.speaker and b.speaker and a.speaker != b.speaker)


def _one_voice(older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when one speaker says both in one scope: then the later one is what counts."""
    return scope(older) == scope(newer) and older.speaker == newer.speaker


# Near-duplicates


def repetitions(scene: Workspace) -> None:
    """Retire what another memory of that speaker and scope says too; it inherits the accesses."""
    if scene.profile is None:
        scene.plan.details["duplicates"] = NO_MODEL
        return
    for members in grouped(scene.embedded(scene.spoken()), _voice):
        pairs = clusters.near_pairs(scene.matrix(members), scene.profile.near_duplicate)
        for i, j, cosine in sorted(pairs, key=lambda pair: -pair[2]):
            a, b = scene.plan.memories[members[i].id], scene.plan.memories[members[j].id]
            both = a.retired_at is None and b.retired_at is None and not scene.leaves(a, b)
            known = frozenset((a.id, b.id)) in scene.related or extends(a, b) or extends(b, a)
            alike = not known and a.dates == b.dates and not opposed(scene.said(a), scene.said(b))
            if both and alike:
                _merge(scene.plan, a, b, cosine)


def _voice(memory: MemoryRecord) -> tuple[object, ...]:
    """What repetitions share. A fact that a model made never stands in for what was said."""
    return scope(memory), memory.speaker, memory.extracted


def _merge(plan: Plan, a: MemoryRecord, b: MemoryRecord, cosine: float) -> None:
    stays, goes = sorted(
        (a, b), key=lambda m: (-m.importance, -m.access_count, m.recorded_at, m.id)
    )
    action = plan.begin("duplicates", [stays.id, goes.id])
    plan.link(action, goes.id, stays.id, duplicates.DUPLICATE_OF, cosine)
    plan.retire(action, goes.id)
    plan.bequeath(action, goes.id, stays.id)


def _when(memory: MemoryRecord) -> tuple[float, float, str]:
    return memory.occurred_at, memory.recorded_at, memory.id
