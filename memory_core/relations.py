"""Steps of sleep that compare memories: what updates, contradicts or repeats another one.

Closeness of vectors only opens the question; the claims of the two texts (numbers, negation, names)
answer it. Nothing is removed: the older of an update is marked, a repetition retired.
"""

from __future__ import annotations

from memory_core.records import Contradiction, Memory
from memory_core.scoring import clusters, duplicates
from memory_core.sleep import DERIVED, NO_MODEL, Scene, grouped, scope
from memory_core.storage.run_plan import Plan
from memory_core.text.claims import opposed


def contradictions(scene: Scene) -> None:
    """Mark what a later number of the same owner updates, link opposites, report across agents."""
    if scene.profile is None:
        scene.plan.details["contradictions"] = NO_MODEL
        return
    foreign = [m for m in scene.others if m.retired_at is None and not m.superseded_by]
    own = scene.embedded(scene.spoken())
    everyone = own + scene.embedded(m for m in foreign if m.kind not in DERIVED)
    everyone.sort(key=_when)
    mine = {memory.id for memory in own}
    if not everyone:
        return
    for i, j, cosine in clusters.near_pairs(scene.matrix(everyone), scene.profile.near_duplicate):
        older, newer = everyone[i], everyone[j]
        if older.id not in mine and newer.id not in mine:
            continue
        if older.id in mine and scene.plan.memories[older.id].superseded_by:
            continue  # the next newer one has it; this one follows from the chain
        relation, detail = _conflict(scene, older, newer)
        if relation:
            _settle(scene, older, newer, relation, detail, cosine)


def _conflict(scene: Scene, older: Memory, newer: Memory) -> tuple[str, str]:
    """The relation of a near pair that cannot both hold, and what sets it apart; "" when it can.

    Different named speakers speak of themselves. A number that only one of them has adds to the
    other and opposes nothing. What happened on another day is another event.
    """
    if older.speaker and newer.speaker and older.speaker != newer.speaker:
        return "", ""
    a, b = scene.said(older), scene.said(newer)
    difference = opposed(a, b)
    relation = duplicates.relation(difference)
    left, right = sorted(a.numbers - b.numbers), sorted(b.numbers - a.numbers)
    if difference == "values":
        left = [word for word in a.order if word not in b.order]
        right = [word for word in b.order if word not in a.order]
    if not _one_occasion(older, newer, difference, {*left, *right}):
        return "", ""
    if relation == duplicates.CONTRADICTS:
        return relation, "one affirms what the other denies"
    if relation == duplicates.UPDATES and left and right:
        return relation, f"{', '.join(left)} -> {', '.join(right)}"
    return "", ""


def _one_occasion(older: Memory, newer: Memory, difference: str, differing: set[str]) -> bool:
    """False when the texts speak of different days ("today", said twice) without that being it.

    "The release is on 7 May" and "on 9 May" name different days too, but that is the update.
    """
    days = set(older.dates) ^ set(newer.dates)
    if not days or difference == "values":
        return True
    return any(part.lstrip("0") in differing for day in days for part in day.split("-"))


def _settle(
    scene: Scene, older: Memory, newer: Memory, relation: str, detail: str, cosine: float
) -> None:
    plan = scene.plan
    action = plan.begin("contradictions", [older.id, newer.id])
    shared = [name for name in newer.entities if name in older.entities]
    subject = ", ".join(shared) or (newer.topic if newer.topic == older.topic else "")
    agents = (older.agent, newer.agent)
    action.contradiction = Contradiction(older.id, newer.id, relation, subject, detail, agents)
    if older.agent != newer.agent or scope(older) != scope(newer) or older.speaker != newer.speaker:
        return  # reported, not acted on
    if relation == duplicates.CONTRADICTS:
        if frozenset((older.id, newer.id)) not in scene.contradicted:
            plan.link(action, newer.id, older.id, relation, cosine)
        return
    plan.link(action, newer.id, older.id, relation, cosine)
    plan.put(action, older.id, superseded_by=newer.id, superseded_at=plan.now)
    if older.valid_until is None:
        plan.put(action, older.id, valid_until=newer.occurred_at)


# Near-duplicates


def repetitions(scene: Scene) -> None:
    """Retire what another memory of that speaker and scope says too; it inherits the accesses."""
    if scene.profile is None:
        scene.plan.details["duplicates"] = NO_MODEL
        return
    for members in grouped(scene.embedded(scene.spoken()), lambda m: (scope(m), m.speaker)):
        pairs = clusters.near_pairs(scene.matrix(members), scene.profile.near_duplicate)
        for i, j, cosine in sorted(pairs, key=lambda pair: -pair[2]):
            a, b = scene.plan.memories[members[i].id], scene.plan.memories[members[j].id]
            both = a.retired_at is None and b.retired_at is None
            alike = a.dates == b.dates and not opposed(scene.said(a), scene.said(b))
            if both and alike:
                _merge(scene.plan, a, b, cosine)


def _merge(plan: Plan, a: Memory, b: Memory, cosine: float) -> None:
    stays, goes = sorted(
        (a, b), key=lambda m: (-m.importance, -m.access_count, m.recorded_at, m.id)
    )
    action = plan.begin("duplicates", [stays.id, goes.id])
    plan.link(action, goes.id, stays.id, "duplicate_of", cosine)
    plan.retire(action, goes.id)
    plan.bequeath(action, goes.id, stays.id)


def _when(memory: Memory) -> tuple[float, float, str]:
    return memory.occurred_at, memory.recorded_at, memory.id
