"""The steps of sleep. Each reads the scene of a run and adds actions to its plan; no I/O.

Nothing is destroyed: texts stay as they are, what fades, repeats or is out of date is marked.
Scopes never mix: memories are compared within one visibility and owner, except to report that
agents contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.consolidate.plan import Plan
from memory_core.embedding.base import Profile
from memory_core.lifecycle.topics import beginning
from memory_core.records import DERIVED, TIERS, MemoryRecord, scope
from memory_core.relations.claims import Claims, claims
from memory_core.scoring import clusters, decay, tiers

K = TypeVar("K", bound=Hashable)

Summarise = Callable[[str, Sequence[MemoryRecord], int], str]
"""(run, sources, sentences) -> a model's summary that its sources bear out, or ""."""

Relate = Callable[[MemoryRecord, MemoryRecord], tuple[str, str]]
"""(older, newer) -> how a model judges their relation, and why; ("", "") when it does not tell."""

SESSION_ENDED_S = 3600.0
"""A conversation in which nothing was said for an hour is over; sleep then sums it up."""

"""A topic is called by the beginning of its first member's text."""

NO_MODEL = "the embedding model is not ready"

"""Kinds that a run makes of other memories."""

STANDS_FOR = 0.5
"""Share of its sources that have faded from which on something derived is searched for them, though
nobody asks for it; below it, it would be one more row beside those that it retells."""


@dataclass(slots=True)
class Workspace:
    """What one run looks at.

    The *plan* holds the caller's own memories, oldest first; *others* are readable ones of other
    agents. *vectors* are whole vectors by id, without those that have none yet; *profile* is None
    and *vectors* empty while no model is ready. *related* are pairs that are linked as
    updating, extending, contradicting or repeating each other. *demoted*
    tells whether a run that still stands has set a memory's importance. A conversation is summed
    up when nothing was said in it for *silence_s* seconds, an episode when it is *age_s* old.
    *left* are ids that the run leaves alone, since an undone one had changed them.
    """

    plan: Plan
    settings: Settings
    profile: Profile | None
    vectors: dict[str, NDArray[np.float32]]
    others: list[MemoryRecord]
    related: set[frozenset[str]]
    demoted: Callable[[str], bool]
    silence_s: float
    age_s: float
    left: frozenset[str]
    summarise: Summarise
    relate: Relate
    claims: dict[str, Claims] = field(default_factory=dict)

    def said(self, memory: MemoryRecord) -> Claims:
        """The claims of a memory's text."""
        if memory.id not in self.claims:
            self.claims[memory.id] = claims(memory.text)
        return self.claims[memory.id]

    def matrix(self, memories: Sequence[MemoryRecord]) -> NDArray[np.float32]:
        """The vectors of *memories*, all of which have one, (n, d)."""
        return np.stack([self.vectors[memory.id] for memory in memories])

    def leaves(self, *memories: MemoryRecord) -> bool:
        """True when all of *memories* are to be left alone: it would be an undone run again."""
        return all(memory.id in self.left for memory in memories)

    def spoken(self) -> list[MemoryRecord]:
        """Active memories that are not derived from others."""
        return [memory for memory in self.plan.active() if memory.kind not in DERIVED]

    def sources(self, memory: MemoryRecord) -> list[MemoryRecord]:
        """What *memory* rests on, as far as it is there, oldest first."""
        known = (self.plan.memories.get(id) for id in memory.derived_from)
        return [found for found in known if found is not None]

    def is_stale(self, memory: MemoryRecord) -> bool:
        """True when *memory* was marked so, or has a source that was superseded."""
        late = any(source.superseded_by for source in self.sources(memory))
        return memory.stale_since is not None or late

    def embedded(self, memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
        """Those of *memories* that have a vector."""
        return [memory for memory in memories if memory.id in self.vectors]


# Tiers


def apply_tiers(scene: Workspace) -> None:
    """Move what has left its ring, gone cold or is too much to the tier below (scoring.tiers)."""
    plan, settings = scene.plan, scene.settings.tiers
    members = [m for m in plan.memories.values() if m.retired_at is None and not m.replaced]
    if not members:
        return
    covered = {source for memory in members for source in memory.derived_from}
    held = tiers.Held(
        tier=np.array([TIERS.index(m.tier) for m in members]),
        importance=np.array([m.importance for m in members]),
        retention=_retention(scene, members),
        age_s=plan.now - np.array([m.recorded_at for m in members]),
        recorded_at=np.array([m.recorded_at for m in members]),
        ringed=_ringed(scene, members),
        covered=np.array([m.id in covered for m in members]),
        owner=np.array([hash(scope(m)) for m in members]),
    )
    moves = tiers.settle(
        held,
        tiers.Bounds(
            settings.keep_importance,
            settings.cold_retention,
            60.0 * settings.cold_minutes,
            settings.recent_most,
            settings.long_term_most,
        ),
    )
    for memory, move in zip(members, moves.tolist(), strict=True):
        if scene.leaves(memory):
            continue
        if move in (tiers.UNKEPT, tiers.OVER):
            action = plan.begin("settle")
            plan.retire(action, memory.id)
            if memory.tier == "active":
                plan.put(action, memory.id, tier="recent")
        elif move != tiers.STAY:
            lower = "recent" if move == tiers.KEPT else "long_term"
            plan.put(plan.begin("settle"), memory.id, tier=lower)


def _ringed(scene: Workspace, members: Sequence[MemoryRecord]) -> NDArray[np.bool_]:
    """True for the last turns of a conversation that goes on."""
    settings = scene.settings.tiers
    inside = {
        memory.id
        for turns in grouped((m for m in members if m.thread), lambda m: m.thread)
        if scene.plan.now - max(m.recorded_at for m in turns) < 60.0 * settings.silence_minutes
        for memory in sorted((m for m in turns if m.tier == "active"), key=lambda m: -m.position)[
            : settings.ring
        ]
    }
    return np.array([memory.id in inside for memory in members])


# Topics


def topics(scene: Workspace) -> None:
    """Put each memory into the nearest topic of its scope; split large topics, merge close ones.

    What is near nothing waits without a topic for something that is near it.
    """
    if scene.profile is None:
        scene.plan.details["topics"] = NO_MODEL
        return
    settings = scene.settings.consolidation
    for members in grouped(scene.embedded(scene.spoken()), scope):
        labels = clusters.topics(
            scene.matrix(members),
            [memory.topic for memory in members],
            [beginning(memory) for memory in members],
            threshold=scene.profile.topic,
            most=settings.topic_members,
            merge_at=settings.topic_merge,
        )
        alone = {label for label, count in Counter(labels).items() if count == 1}
        for memory, label in zip(members, labels, strict=True):
            if memory.topic == label or scene.leaves(memory):
                continue
            if memory.topic or label not in alone:
                scene.plan.put(scene.plan.begin("topics"), memory.id, topic=label)


# Prune


def prune_faded(scene: Workspace) -> None:
    """Retire what is neither retained nor important, and let summaries rest that nobody asks for.

    What is in the current ring stays, so does what corrects something (seed row B5.7), and what
    this run has just summarised: nothing is retired for being summarised (design, section 4).
    """
    plan, settings = scene.plan, scene.settings
    fresh = {
        id
        for memory in plan.active()
        if memory.kind == "summary" and memory.run == plan.run and plan.run
        for id in memory.derived_from
    }
    fresh |= {id for action in plan.actions if action.step == "summaries" for id in action.rests_on}
    fresh |= scene.left | {memory.superseded_by for memory in plan.memories.values()}
    members = [m for m in scene.spoken() if m.tier != "active" and m.id not in fresh]
    low = settings.consolidation.prune_retention, settings.consolidation.prune_importance
    gone = tiers.faded(
        _retention(scene, members),
        np.array([memory.importance for memory in members]),
        least_retention=low[0],
        most_importance=low[1],
    )
    for index in np.flatnonzero(gone):
        plan.retire(plan.begin("prune"), members[int(index)].id)
    _rest(scene, low[0])
    plan.details["prune"] = f"retention below {low[0]:g}, importance at most {low[1]:g}"


def _rest(scene: Workspace, least: float) -> None:
    """Retire what runs derived and nobody asks for, while most of what it rests on is there.

    That is with less retention than *least*, whatever the importance, which is that of its sources.
    What stands for sources that have faded, by STANDS_FOR of them, stays, or comes back.
    """
    plan = scene.plan
    there = {memory.id for memory in plan.active()}
    made = [m for m in plan.memories.values() if m.kind in DERIVED and m.run and m.derived_from]
    made = [m for m in made if not (m.superseded_by or scene.is_stale(m) or scene.leaves(m))]
    for memory, retained in zip(made, _retention(scene, made), strict=True):
        faded = sum(id not in there for id in memory.derived_from)
        stands = faded >= STANDS_FOR * len(memory.derived_from)
        if memory.retired_at is None and not stands and retained < least:
            plan.retire(plan.begin("prune"), memory.id)
        elif memory.retired_at is not None and stands:
            plan.put(plan.begin("prune"), memory.id, retired_at=None)


def _retention(scene: Workspace, members: Sequence[MemoryRecord]) -> NDArray[np.float64]:
    settings = scene.settings.decay
    last = [m.recorded_at if m.last_accessed is None else m.last_accessed for m in members]
    days = [
        settings.long_term_half_life_days
        if memory.tier == "long_term"
        else settings.recent_half_life_days
        for memory in members
    ]
    return decay.retention(
        scene.plan.now - np.array(last),
        np.array(days) * decay.DAY,
        np.array([memory.access_count for memory in members]),
        settings.rehearsal_weight,
    )


# Groups


def grouped(
    memories: Iterable[MemoryRecord], key: Callable[[MemoryRecord], K]
) -> list[list[MemoryRecord]]:
    """*memories* by *key*, groups and members in order of first appearance."""
    groups: dict[K, list[MemoryRecord]] = {}
    for memory in memories:
        groups.setdefault(key(memory), []).append(memory)
    return list(groups.values())
