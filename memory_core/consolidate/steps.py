"""The workspace of a run, and the steps that move, group and retire. No I/O.

Each step reads the workspace and adds actions to its plan. Texts stay as they are: what fades,
repeats or is out of date is marked. Memories are compared within one visibility and owner only,
except to report that agents contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_core.beliefs.claims import Claims, claims, extends
from memory_core.beliefs.quoted import SPEAKING
from memory_core.config import DecaySettings
from memory_core.consolidate.plan import Plan
from memory_core.embedding.base import Profile
from memory_core.lifecycle import retention
from memory_core.lifecycle.tiers import still_applies
from memory_core.lifecycle.topics import label_from, subjects
from memory_core.records import DERIVED, MemoryRecord, scope
from memory_core.scoring import clusters, tiers
from memory_core.scoring.arrays import Scores
from memory_core.scoring.decay import DAY
from memory_core.text.time import dates
from memory_core.text.words import content_words

K = TypeVar("K", bound=Hashable)

Summarise = Callable[[str, Sequence[MemoryRecord], int], str]
"""(run, sources, sentences) -> a model's summary grounded in its sources, or ""."""

Relate = Callable[[MemoryRecord, MemoryRecord], tuple[str, str, str]]
"""(older, newer) -> the relation that a judge gives, why, and its name; relation "" for none."""

SESSION_ENDED_S = 3600.0
"""A conversation without a turn for an hour is over, and a run summarises it."""

NO_MODEL = "the embedding model is not ready"

SUBSTITUTE_SHARE = 0.5
"""From this share of faded sources on a derived memory stays, since it now stands in for them;
below it, it only repeats memories that recall still finds."""


@dataclass(frozen=True, slots=True)
class ConsolidationTuning:
    """Sizes and thresholds of a run, and what starts one by schedule; 0 of these starts none."""

    min_cluster: int = 3
    """The smallest cluster that gets a summary; like the next five a design choice."""
    batch: int = 50
    """Episodes that are clustered together, in the order of time."""
    summary_sentences: int = 5
    """Length of an extractive summary."""
    topic_members: int = 20
    """A larger topic is split."""
    topic_merge: float = 0.93
    """Cosine of centroids from which two topics become one."""
    concept_members: int = 8
    """A topic so large gets a concept."""
    prune_retention: float = 0.2
    prune_importance: float = 0.375
    """Retired is what is retained less and at most this important: half of a new memory's
    importance (0.75), because what is summed up may fade."""
    every_turns: int = 50
    """New memories of an agent that start a run, as in an earlier system."""
    unconsolidated: int = 500
    """Episodes without a summary, of which more start one."""
    idle_s: float = 1800.0
    """Of silence, when there is something new."""
    min_age_s: float = 30 * DAY
    """A scheduled run summarises no younger episode, as in an earlier system."""


@dataclass(slots=True)
class Workspace:
    """The input of one run, and its plan.

    The *plan* holds the caller's own memories, oldest first; *others* are readable ones of other
    agents. *vectors* are whole vectors by id, of the memories that have one; *profile* is None and
    *vectors* empty while no model is ready. *moves* are the memories that change their tier, with
    the move (scoring.tiers). *related* are pairs that are linked as updating, extending,
    contradicting or repeating each other, *kept_both* those of which somebody decided that both
    hold, *doubtful* (older, newer) those that nobody has decided yet. *demoted* is True for an id
    whose importance was last set by a run. A conversation is summarised after *silence_s* seconds
    without a turn, an episode at the age of *age_s*. *excluded* are ids that this run does not
    change, because a run that changed them was undone. *why* gives the reason of a doubt by its
    older and its newer memory.
    """

    plan: Plan
    decay: DecaySettings
    tuning: ConsolidationTuning
    profile: Profile | None
    vectors: dict[str, NDArray[np.float32]]
    moves: Mapping[str, int]
    others: list[MemoryRecord]
    related: set[frozenset[str]]
    kept_both: set[frozenset[str]]
    doubtful: list[tuple[str, str]]
    why: Callable[[MemoryRecord, MemoryRecord], str]
    demoted: Callable[[str], bool]
    silence_s: float
    age_s: float
    excluded: frozenset[str]
    summarise: Summarise
    relate: Relate
    claims: dict[str, Claims] = field(default_factory=dict)
    content: dict[str, frozenset[str]] = field(default_factory=dict)
    owner: str | None = None

    def claims_of(self, memory: MemoryRecord) -> Claims:
        """The claims of a memory's text, extracted once a run."""
        if memory.id not in self.claims:
            self.claims[memory.id] = claims(memory.text)
        return self.claims[memory.id]

    def extends(self, older: MemoryRecord, newer: MemoryRecord) -> bool:
        """Whether *newer* says all of *older* and more; the words are taken once a run."""
        for memory in (older, newer):
            if memory.id not in self.content:
                self.content[memory.id] = frozenset(content_words(memory.text))
        return extends(self.content[older.id], self.content[newer.id])

    def one_voice(self, one: MemoryRecord, other: MemoryRecord) -> bool:
        """True when one speaker said both in one scope, so that the later one counts.

        What the owner said has the owner's name, or none.
        """
        if scope(one) != scope(other):
            return False
        theirs = all(each.role in SPEAKING for each in (one, other))
        owner = {self._owner(), ""} if theirs else {""}
        return one.speaker == other.speaker or {one.speaker, other.speaker} == owner

    def _owner(self) -> str:
        """The only name in the user's own turns, or, where none has one, in what was told too.

        "" where there are more or none: as `remember.relate` finds who the owner is.
        """
        if self.owner is None:
            said = self.plan.memories.values()
            for roles in (("user",), SPEAKING):
                names = {m.speaker for m in said if m.role in roles and m.speaker}
                if names:
                    break
            self.owner = names.pop() if len(names) == 1 else ""
        return self.owner

    def matrix(self, memories: Sequence[MemoryRecord]) -> NDArray[np.float32]:
        """The vectors of *memories*, all of which have one, (n, d)."""
        return np.stack([self.vectors[memory.id] for memory in memories])

    def excludes(self, *memories: MemoryRecord) -> bool:
        """True when all of *memories* are excluded: changing them would repeat an undone run."""
        return all(memory.id in self.excluded for memory in memories)

    def originals(self) -> list[MemoryRecord]:
        """Active memories that are not derived from others."""
        return [memory for memory in self.plan.active() if memory.kind not in DERIVED]

    def sources(self, memory: MemoryRecord) -> list[MemoryRecord]:
        """The memories that *memory* is derived from, as far as they exist, oldest first."""
        known = (self.plan.memories.get(id) for id in memory.derived_from)
        return [found for found in known if found is not None]

    def holding(self, memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
        """Those of *memories* that nothing supersedes and no later memory puts in doubt.

        What is doubted may hold, but it is not stated as if it did.
        """
        doubted = self._doubted()
        return [m for m in memories if not m.superseded_by and m.id not in doubted]

    def _doubted(self) -> set[str]:
        """The older of each doubtful pair whose newer one holds."""
        known, kept = self.plan.memories, self.kept_both
        return {
            older
            for older, newer in self.doubtful
            if frozenset((older, newer)) not in kept
            and (newer not in known or not known[newer].superseded_by)
        }

    def newer(self) -> dict[str, MemoryRecord]:
        """The ids of memories that are superseded or in doubt -> the last one that says better."""
        known, doubted = self.plan.memories, self._doubted()
        after = {older: newer for older, newer in self.doubtful if older in doubted}
        after |= {id: memory.superseded_by for id, memory in known.items() if memory.superseded_by}
        found: dict[str, MemoryRecord] = {}
        for id in after:
            seen, last = {id}, after[id]
            while last in after and last not in seen:
                seen.add(last)
                last = after[last]
            if id in known and last in known:
                found[id] = known[last]
        return found

    def is_stale(self, memory: MemoryRecord) -> bool:
        """True when *memory* was marked stale, or has a source that does not hold."""
        sources = self.sources(memory)
        return memory.stale_since is not None or len(self.holding(sources)) < len(sources)

    def is_outdated(self, memory: MemoryRecord) -> bool:
        """True when *memory* was marked stale, or has a source that was superseded."""
        superseded = any(source.superseded_by for source in self.sources(memory))
        return memory.stale_since is not None or superseded

    def is_ahead(self, memory: MemoryRecord) -> bool:
        """True when *memory* speaks of what is still to come: it names a day, month or later year
        that is not over."""
        return dates.reach_to(memory.dates, self.plan.now)

    def embedded(self, memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
        """Those of *memories* that have a vector."""
        return [memory for memory in memories if memory.id in self.vectors]


# Tiers


def apply_tiers(work: Workspace) -> None:
    """Move what left its ring, went cold or exceeds a cap to the tier below (lifecycle.tiers)."""
    plan = work.plan
    for memory in list(plan.memories.values()):
        move = work.moves.get(memory.id, tiers.STAY)
        if move == tiers.STAY or work.excludes(memory) or not still_applies(memory, move):
            continue
        action = plan.begin("settle")
        if move in (tiers.UNKEPT, tiers.OVER):
            plan.retire(action, memory.id)
        if move != tiers.OVER:
            lower = "recent" if move in (tiers.KEPT, tiers.UNKEPT) else "long_term"
            plan.put(action, memory.id, tier=lower)


# Topics


def topics(work: Workspace) -> None:
    """Put each memory into the nearest topic of its scope; split large topics, merge close ones.

    A memory near no other stays without a topic until one comes.
    """
    if work.profile is None:
        work.plan.details["topics"] = NO_MODEL
        return
    tuning = work.tuning
    newer = work.newer()
    for members in grouped(work.embedded(work.originals()), scope):
        named = _named_anew(work, members, newer)
        labels = clusters.topics(
            work.matrix(members),
            [named.get(memory.topic, memory.topic) for memory in members],
            [label_from(newer.get(memory.id, memory)) for memory in members],
            threshold=work.profile.topic,
            most=tuning.topic_members,
            merge_at=tuning.topic_merge,
            subjects=[subjects(memory.entities) for memory in members],
        )
        labels = _by_what_is_shared(members, labels)
        alone = {label for label, count in Counter(labels).items() if count == 1}
        for memory, label in zip(members, labels, strict=True):
            if memory.topic == label or work.excludes(memory):
                continue
            if memory.topic or label not in alone:
                work.plan.put(work.plan.begin("topics"), memory.id, topic=label)


def _by_what_is_shared(members: Sequence[MemoryRecord], labels: Sequence[str]) -> list[str]:
    """*labels* of *members*, the new ones without the terms that one member alone holds.

    What one text says of a topic may be out of date tomorrow. A label stays where nothing is
    shared, or where another topic has what is left of it.
    """
    known = {memory.topic for memory in members} | set(labels)
    renamed: dict[str, str] = {}
    for label in dict.fromkeys(labels):
        if not label or any(memory.topic == label for memory in members):
            continue
        texts = [m.text.casefold() for m, own in zip(members, labels, strict=True) if own == label]
        terms = [
            term for term in label.split(", ") if sum(term.casefold() in text for text in texts) > 1
        ]
        short = ", ".join(terms)
        if terms and short not in known:
            known.add(short)
            renamed[label] = short
    return [renamed.get(label, label) for label in labels]


def _named_anew(
    work: Workspace, members: Sequence[MemoryRecord], newer: Mapping[str, MemoryRecord]
) -> dict[str, str]:
    """The labels of *members* made of a memory that no longer holds -> the one of what does."""
    labels = {memory.topic for memory in members} - {""}
    holds = {label_from(memory) for memory in members if memory.id not in newer}
    return {
        label: label_from(successor)
        for id, successor in newer.items()
        if scope(successor) == scope(members[0])
        and (label := label_from(work.plan.memories[id])) in labels - holds
    }


# Prune


def prune_faded(work: Workspace) -> None:
    """Retire what is neither retained nor important, and derived memories that nobody recalls.

    Kept are the current ring, what supersedes another memory, what names a day that is not over,
    and what this run has just summarised: no memory is retired because it was summarised.
    """
    plan, tuning = work.plan, work.tuning
    fresh = {
        id
        for memory in plan.active()
        if memory.kind == "summary" and memory.run == plan.run and plan.run
        for id in memory.derived_from
    }
    fresh |= {id for action in plan.actions if action.step == "summaries" for id in action.based_on}
    fresh |= work.excluded | {memory.superseded_by for memory in plan.memories.values()}
    members = [m for m in work.originals() if m.tier != "active" and m.id not in fresh]
    members = [memory for memory in members if not work.is_ahead(memory)]
    gone = tiers.faded(
        _retention(work, members),
        np.array([memory.importance for memory in members]),
        least_retention=tuning.prune_retention,
        most_importance=tuning.prune_importance,
    )
    for index in np.flatnonzero(gone):
        plan.retire(plan.begin("prune"), members[int(index)].id)
    _retire_unused(work, tuning.prune_retention)
    plan.details["prune"] = (
        f"retention below {tuning.prune_retention:g}, "
        f"importance at most {tuning.prune_importance:g}"
    )


def _retire_unused(work: Workspace, least: float) -> None:
    """Retire derived memories whose retention is below *least* while most sources are active.

    Importance does not count, because it comes from the sources. One of whose sources
    SUBSTITUTE_SHARE or more have faded stays, or returns.
    """
    plan = work.plan
    active = {memory.id for memory in plan.active()}
    made = [m for m in plan.memories.values() if m.kind in DERIVED and m.run and m.derived_from]
    made = [m for m in made if not (m.superseded_by or work.is_stale(m) or work.excludes(m))]
    for memory, retained in zip(made, _retention(work, made), strict=True):
        faded = sum(id not in active for id in memory.derived_from)
        substitutes = faded >= SUBSTITUTE_SHARE * len(memory.derived_from)
        if memory.retired_at is None and not substitutes and retained < least:
            plan.retire(plan.begin("prune"), memory.id)
        elif memory.retired_at is not None and substitutes:
            plan.put(plan.begin("prune"), memory.id, retired_at=None)


def _retention(work: Workspace, members: Sequence[MemoryRecord]) -> Scores:
    return retention.of_memories(members, work.decay, work.plan.now)


# Groups


def grouped(
    memories: Iterable[MemoryRecord], key: Callable[[MemoryRecord], K]
) -> list[list[MemoryRecord]]:
    """*memories* by *key*, groups and members in order of first appearance."""
    groups: dict[K, list[MemoryRecord]] = {}
    for memory in memories:
        groups.setdefault(key(memory), []).append(memory)
    return list(groups.values())
