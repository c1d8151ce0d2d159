"""The steps that compare memories: which one updates, contradicts or repeats another.

Close vectors select the pairs, and the claims of the two texts (numbers, negation, names) decide.
Nothing is removed: an outdated memory is marked, a repetition retired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory_core import link_kinds
from memory_core.beliefs import claims
from memory_core.beliefs.authority import in_other_projects, is_trusted_as, may_change, requests
from memory_core.beliefs.change import repeats, says_change
from memory_core.beliefs.claims import NEGATIONS, opposed
from memory_core.beliefs.compare import compare
from memory_core.beliefs.competing import UNKNOWN
from memory_core.beliefs.quoted import claimed
from memory_core.consolidate.plan import Plan
from memory_core.consolidate.steps import NO_MODEL, Workspace, grouped
from memory_core.records import (
    DERIVED,
    MASKED,
    TRUSTS,
    Contradiction,
    MemoryRecord,
    projects_of,
    scope,
)
from memory_core.scoring import clusters
from memory_core.text.time.lexicon import WEEKDAYS

JUDGED_MOST = 10
"""Pairs that one run shows to a judge, the closest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about two memories: the *relation* of the newer one, and in *detail* why.

    *by* is the name of the model that says so; "" for a rule.
    """

    relation: str
    detail: str
    by: str = ""

    @property
    def told(self) -> dict[str, str]:
        """What a link about it says; see link_kinds.told."""
        return link_kinds.told(self.detail, self.by)


def contradictions(work: Workspace) -> None:
    """Mark what a later memory of the same owner corrects; report across agents and speakers."""
    foreign = [m for m in work.others if m.retired_at is None and not m.superseded_by]
    everyone = work.originals() + [m for m in foreign if m.kind not in DERIVED]
    everyone.sort(key=_when)
    resolved: set[frozenset[str]] = set()
    if work.profile is None:
        work.plan.details["contradictions"] = NO_MODEL
    elif near := work.embedded(everyone):
        _by_closeness(work, near, resolved)
        _by_judge(work, near, resolved)
    _undecided(work)


# By closeness


def _by_closeness(
    work: Workspace, everyone: list[MemoryRecord], resolved: set[frozenset[str]]
) -> None:
    assert work.profile is not None
    for i, j, _ in clusters.near_pairs(work.matrix(everyone), work.profile.near_duplicate):
        older, newer = everyone[i], everyone[j]
        found = _conflict(work, older, newer)
        compared = None if found is None else compare(older, newer, UNKNOWN)
        if found is not None and compared is not None and compared.supersedes:
            _resolve(work, older, newer, found, resolved)
        elif found is not None and (compared or _one_value_apart(work, older, newer)):
            _doubt(work, older, newer, found, resolved)
        elif (
            work.one_voice(older, newer)
            and work.extends(older, newer)
            and not _differ(work, older, newer)
        ):
            _link(work, older, newer, Finding(link_kinds.EXTENDS, ""))


def _conflict(work: Workspace, older: MemoryRecord, newer: MemoryRecord) -> Finding | None:
    """Why a near pair cannot both hold; None when it can.

    Two named speakers each speak of themselves. A number in one text only adds to the other text.
    Events of different days are different events.
    """
    if _different_speakers(older, newer) or not is_trusted_as(older, newer):
        return None
    if in_other_projects(older, newer):
        return None
    a, b = work.claims_of(older), work.claims_of(newer)
    difference = opposed(a, b)
    relation = claims.relation(difference)
    left, right = sorted(a.numbers - b.numbers), sorted(b.numbers - a.numbers)
    if difference == "values":
        left = [word for word in a.order if word not in b.order]
        right = [word for word in b.order if word not in a.order]
    if not _one_occasion(older, newer, difference, {*left, *right}):
        return None
    if relation == link_kinds.CONTRADICTS:
        return Finding(relation, "one affirms what the other denies")
    if relation == link_kinds.UPDATES and left and right:
        return Finding(relation, f"the later text says {', '.join(right)}, not {', '.join(left)}")
    return None


def _one_value_apart(work: Workspace, older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when only a day, a date or the polarity tells two texts apart, word for word.

    Months and other numbers do not count: by them the members of a series differ, all true.
    """
    a, b = work.claims_of(older), work.claims_of(newer)
    changed = set(a.order) ^ set(b.order)
    dates = {(day[:8], day[8:].lstrip("0")) for day in (*older.dates, *newer.dates)}
    one_month = len({month for month, _ in dates}) == 1
    parts = {day for _, day in dates} if one_month else set()
    days = all(word in WEEKDAYS or word in parts for word in changed)
    return days or (a.negated != b.negated and changed <= NEGATIONS)


def _differ(work: Workspace, older: MemoryRecord, newer: MemoryRecord) -> bool:
    """True when only one is negated, or they name different days."""
    return (
        work.claims_of(older).negated != work.claims_of(newer).negated or older.dates != newer.dates
    )


def _one_occasion(
    older: MemoryRecord, newer: MemoryRecord, difference: str, differing: set[str]
) -> bool:
    """False when the texts speak of different days ("today", said twice) and differ in more.

    "The release is on 7 May" and "on 9 May" also name different days, but there the day is the
    update.
    """
    days = set(older.dates) ^ set(newer.dates)
    if not days or difference == "values":
        return True
    return any(part.lstrip("0") in differing for day in days for part in day.split("-"))


# What no rule decides


def _by_judge(work: Workspace, everyone: list[MemoryRecord], resolved: set[frozenset[str]]) -> None:
    """Let a judge decide what sounds like a correction of a close memory and matches no rule.

    Without one nothing is said of it: few of these pairs are corrections.
    """
    assert work.profile is not None
    left = work.plan.memories.keys() - {id for pair in resolved for id in pair}
    unresolved = [
        place
        for place, memory in enumerate(everyone)
        if place and memory.id in left and says_change(claimed(memory))
    ]
    pairs: list[tuple[float, MemoryRecord, MemoryRecord]] = []
    for place, nearest, cosine in clusters.nearest_before(work.matrix(everyone), unresolved):
        older, newer = everyone[nearest], everyone[place]
        known = frozenset((older.id, newer.id)) in work.related  # a doubt is judged by itself
        if cosine >= work.profile.related and _about_one(work, older, newer) and not known:
            pairs.append((cosine, older, newer))
    for _, older, newer in sorted(pairs, key=lambda pair: -pair[0])[:JUDGED_MOST]:
        _judge(work, older, newer, resolved)


def _judge(
    work: Workspace,
    older: MemoryRecord,
    newer: MemoryRecord,
    resolved: set[frozenset[str]],
) -> None:
    """Do what a judge says of the pair; nothing when there is none, or when it decides nothing.

    A contradiction may be a change or two things that both hold, so it is in doubt. So is what a
    turn says beside a request: it may be what the request is about. That both hold is kept too, so
    that it is asked once.
    """
    found = Finding(*work.relate(older, newer))
    if found.relation == link_kinds.UPDATES and not requests(newer):
        _resolve(work, older, newer, found, resolved)
    elif found.relation in (link_kinds.UPDATES, link_kinds.CONTRADICTS):
        _doubt(work, older, newer, found, resolved)
        _link(work, older, newer, found)
    elif found.relation == link_kinds.EXTENDS:
        _link(work, older, newer, found)
    elif found.relation:
        _link(work, older, newer, replace(found, relation=link_kinds.KEPT_BOTH))


def _undecided(work: Workspace) -> None:
    """Report the doubts that nobody has decided, so that an assistant can ask its user."""
    known = work.plan.memories
    pairs = [(known[a], known[b]) for a, b in work.doubtful if {a, b} <= known.keys()]
    for older, newer in sorted(pairs, key=lambda pair: _when(pair[1]), reverse=True):
        if not older.superseded_by and not newer.superseded_by:
            _report(work, older, newer, Finding(link_kinds.DOUBTS, work.why(older, newer)))


def _about_one(work: Workspace, older: MemoryRecord, newer: MemoryRecord) -> bool:
    return (may_change(older, newer) and work.one_voice(older, newer)) and bool(
        set(older.entities) & set(newer.entities) or (older.topic and older.topic == newer.topic)
    )


# Changes


def _resolve(
    work: Workspace,
    older: MemoryRecord,
    newer: MemoryRecord,
    found: Finding,
    resolved: set[frozenset[str]],
) -> None:
    """Mark *older* as superseded; a pair that is not the caller's is reported."""
    plan, pair = work.plan, frozenset((older.id, newer.id))
    if pair in resolved or pair in work.kept_both:
        return
    if not {older.id, newer.id} & plan.memories.keys():
        return
    if older.id in plan.memories and plan.memories[older.id].superseded_by:
        return  # a newer one supersedes it already
    resolved.add(pair)
    if not work.one_voice(older, newer):
        _report(work, older, newer, found)
        return
    if pair in work.related:
        return  # an earlier run, or remember, has linked it
    if work.excludes(older, newer):
        _report(work, older, newer, found)
        return
    action = plan.begin("contradictions", [older.id, newer.id])
    action.contradiction = _contradiction(older, newer, found)
    plan.link(action, newer.id, older.id, found.relation, 1.0, found.told)
    plan.put(action, older.id, superseded_by=newer.id, superseded_at=plan.now)
    if older.valid_until is None:
        plan.put(action, older.id, valid_until=newer.holds_from)


def _doubt(
    work: Workspace,
    older: MemoryRecord,
    newer: MemoryRecord,
    found: Finding,
    resolved: set[frozenset[str]],
) -> None:
    """Report that *newer* may put *older* out of date; of the caller's own, mark it so."""
    pair = frozenset((older.id, newer.id))
    if pair in resolved or pair in work.related:
        return
    resolved.add(pair)
    _report(work, older, newer, found)
    if work.one_voice(older, newer):
        _link(work, older, newer, replace(found, relation=link_kinds.DOUBTS))


def _link(work: Workspace, older: MemoryRecord, newer: MemoryRecord, found: Finding) -> None:
    """Link a pair of the caller's own, unless a link or an undone run says how it relates."""
    plan = work.plan
    if frozenset((older.id, newer.id)) in work.related or work.excludes(older, newer):
        return
    if {older.id, newer.id} <= plan.memories.keys():
        action = plan.begin("contradictions", [older.id, newer.id])
        plan.link(action, newer.id, older.id, found.relation, 1.0, found.told)


def _report(work: Workspace, older: MemoryRecord, newer: MemoryRecord, found: Finding) -> None:
    action = work.plan.begin("contradictions", [older.id, newer.id])
    action.contradiction = _contradiction(older, newer, found)


def _contradiction(older: MemoryRecord, newer: MemoryRecord, found: Finding) -> Contradiction:
    shared = [name for name in newer.entities if name in older.entities]
    subject = ", ".join(shared) or (newer.topic if newer.topic == older.topic else "")
    agents = (older.agent, newer.agent)
    return Contradiction(
        older.id, newer.id, found.relation, subject, found.detail or "judged by a model", agents
    )


def _different_speakers(a: MemoryRecord, b: MemoryRecord) -> bool:
    return bool(a.speaker and b.speaker and a.speaker != b.speaker)


# Near-duplicates


def near_duplicates(work: Workspace) -> None:
    """Retire memories that repeat another of their speaker and scope, which gets their accesses."""
    if work.profile is None:
        work.plan.details["duplicates"] = NO_MODEL
        return
    for members in grouped(work.embedded(work.originals()), _speaker_and_kind):
        pairs = clusters.near_pairs(work.matrix(members), work.profile.near_duplicate)
        for i, j, cosine in sorted(pairs, key=lambda pair: -pair[2]):
            a, b = work.plan.memories[members[i].id], work.plan.memories[members[j].id]
            if a.retired_at is not None or b.retired_at is not None or work.excludes(a, b):
                continue
            if MASKED in a.text and MASKED in b.text:
                continue  # the secrets may differ
            known = frozenset((a.id, b.id)) in work.related
            if known or work.extends(a, b) or work.extends(b, a):
                continue
            alike = a.dates == b.dates and not opposed(work.claims_of(a), work.claims_of(b))
            if alike and repeats(a.text, b.text):
                _merge(work.plan, a, b, cosine)


def _speaker_and_kind(memory: MemoryRecord) -> tuple[object, ...]:
    """What repetitions share. A fact that a model extracted never replaces what was said; what
    holds in one project says nothing of another."""
    projects = projects_of(memory.tags)
    return scope(memory), memory.speaker, memory.role, memory.extracted, projects


def _merge(plan: Plan, a: MemoryRecord, b: MemoryRecord, cosine: float) -> None:
    """Retire the less trusted of two that say the same, else the older."""
    stays, goes = sorted(sorted((a, b), key=_when, reverse=True), key=_distrust)
    action = plan.begin("duplicates", [stays.id, goes.id])
    plan.link(action, goes.id, stays.id, link_kinds.DUPLICATE_OF, cosine)
    plan.retire(action, goes.id)
    if goes.importance > stays.importance:
        plan.put(action, stays.id, importance=goes.importance)
    plan.transfer_access_counts(action, goes.id, stays.id)


def _distrust(memory: MemoryRecord) -> int:
    return TRUSTS.index(memory.trust)


def _when(memory: MemoryRecord) -> tuple[float, float, str]:
    return memory.occurred_at, memory.recorded_at, memory.id
