"""The steps of sleep. Each reads the scene of a run and adds actions to its plan; no I/O.

Nothing is destroyed: texts stay as they are, what fades, repeats or is out of date is marked.
Scopes never mix: memories are compared within one visibility and owner, except to report that
agents contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.embedding.embedder import Profile
from memory_core.gist.passthrough import summarise
from memory_core.records import TRUSTS, Memory, content_hash, new_id, repeat_key
from memory_core.scoring import clusters, decay, duplicates, prune
from memory_core.storage.run_plan import Action, Plan
from memory_core.text.claims import Claims, claims
from memory_core.wording import embed_text

K = TypeVar("K", bound=Hashable)

SESSION_PREFIX = "Session summary:"
SESSION_IMPORTANCE = 0.75
"""Seed row B4.7: 1.5 times a normal memory's 0.5."""

SESSION_ENDED_S = 3600.0
"""A conversation in which nothing was said for an hour is over; sleep then sums it up."""

SUMMARY_FACTOR, SOURCE_FACTOR = 2.0, 0.5
"""Importance of a summary by its sources' mean, and of a source once summarised (B4.5, B4.6)."""

LABEL_CHARS = 80
"""A topic is called by the beginning of its first member's text."""

NO_MODEL = "the embedding model is not ready"

DERIVED = ("summary", "concept")
"""Kinds that a run makes of other memories."""


@dataclass(slots=True)
class Scene:
    """What one run looks at.

    The *plan* holds the caller's own memories, oldest first; *others* are readable ones of other
    agents. *vectors* are whole vectors by id, without those that have none yet; *profile* is None
    and *vectors* empty while no model is ready. *related* are pairs that are linked as
    updating, extending or contradicting each other. *demoted*
    tells whether a run that still stands has set a memory's importance. A conversation is summed
    up when nothing was said in it for *silence_s* seconds.
    """

    plan: Plan
    settings: Settings
    profile: Profile | None
    vectors: dict[str, NDArray[np.float32]]
    others: list[Memory]
    related: set[frozenset[str]]
    demoted: Callable[[str], bool]
    silence_s: float
    claims: dict[str, Claims] = field(default_factory=dict)

    def said(self, memory: Memory) -> Claims:
        """The claims of a memory's text."""
        if memory.id not in self.claims:
            self.claims[memory.id] = claims(memory.text)
        return self.claims[memory.id]

    def matrix(self, memories: Sequence[Memory]) -> NDArray[np.float32]:
        """The vectors of *memories*, all of which have one, (n, d)."""
        return np.stack([self.vectors[memory.id] for memory in memories])

    def spoken(self) -> list[Memory]:
        """Active memories that are not derived from others."""
        return [memory for memory in self.plan.active() if memory.kind not in DERIVED]

    def embedded(self, memories: Iterable[Memory]) -> list[Memory]:
        """Those of *memories* that have a vector."""
        return [memory for memory in memories if memory.id in self.vectors]


# Topics


def topics(scene: Scene) -> None:
    """Put each memory into the nearest topic of its scope; split large topics, merge close ones."""
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
        for memory, label in zip(members, labels, strict=True):
            if memory.topic != label:
                scene.plan.put(scene.plan.begin("topics"), memory.id, topic=label)


def beginning(memory: Memory) -> str:
    """What a topic is called that begins with *memory*."""
    return " ".join(memory.text.split())[:LABEL_CHARS]


# Summaries


def summaries(scene: Scene) -> None:
    """Summarise clusters of episodes that no summary rests on yet, and halve their importance."""
    plan = scene.plan
    standing = [m for m in plan.active() if m.kind == "summary" and not is_session_summary(m)]
    covered = {source for memory in standing for source in memory.derived_from}
    episodes = [m for m in plan.active() if m.kind == "episode" and m.id not in covered]
    known = {repeat_key(memory) for memory in plan.memories.values()}
    for sources in _clusters(scene, episodes):
        most = scene.settings.consolidation.summary_sentences
        text = summarise([_sentence(memory) for memory in sources], most)
        mean = sum(memory.importance for memory in sources) / len(sources)
        summary = _summary(scene, sources, text, min(1.0, SUMMARY_FACTOR * mean))
        if not text or repeat_key(summary) in known:
            continue  # it would say no more than a memory that is there
        known.add(repeat_key(summary))
        action = plan.begin("summaries", summary.derived_from)
        plan.create(action, summary)
        _demote(scene, action, sources)


def _clusters(scene: Scene, episodes: list[Memory]) -> Iterator[list[Memory]]:
    """Episodes of one scope and topic that hang together; without vectors, of one conversation."""
    settings = scene.settings.consolidation
    if scene.profile is None:
        scene.plan.details["summaries"] = f"{NO_MODEL}: grouped by conversation"
        in_session = [memory for memory in episodes if memory.thread]
        for thread in grouped(in_session, lambda memory: memory.thread):
            yield from _batches(thread, settings.batch, settings.min_cluster)
        return
    ready = scene.embedded(episodes)
    if len(ready) < len(episodes):
        scene.plan.details["summaries"] = f"{len(episodes) - len(ready)} wait for their vectors"
    for topic in grouped(ready, lambda memory: (scope(memory), memory.topic)):
        for batch in _batches(topic, settings.batch, settings.min_cluster):
            for group in duplicates.single_linkage(scene.matrix(batch), scene.profile.cluster):
                if len(group) >= settings.min_cluster:
                    yield [batch[index] for index in group]


def _sentence(memory: Memory) -> str:
    """Who said what, closed by a stop, so that it does not run into the next in a summary."""
    text = embed_text(memory).rstrip()
    return f"{text}." if text[-1:].isalnum() else text


def _summary(scene: Scene, sources: Sequence[Memory], text: str, importance: float) -> Memory:
    first, named = sources[0], {memory.topic for memory in sources}
    return Memory(
        id=new_id(scene.plan.now),
        text=text,
        visibility=first.visibility,
        agent=first.agent,
        team=first.team,
        kind="summary",
        gist=f"Extractive summary of {len(sources)} memories",
        topic=named.pop() if len(named) == 1 else "",
        entities=tuple(dict.fromkeys(name for memory in sources for name in memory.entities)),
        importance=importance,
        occurred_at=max(memory.occurred_at for memory in sources),
        recorded_at=scene.plan.now,
        derived_from=tuple(memory.id for memory in sources),
        run=scene.plan.run,
        content_hash=content_hash(text),
        trust=max((memory.trust for memory in sources), key=TRUSTS.index),
    )


def _demote(scene: Scene, action: Action, sources: Iterable[Memory]) -> None:
    for memory in sources:
        if not scene.demoted(memory.id):
            scene.plan.put(action, memory.id, importance=memory.importance * SOURCE_FACTOR)


# Session summaries


def sessions(scene: Scene) -> None:
    """One summary a conversation, of its own turns, anew when turns came that it does not cover."""
    plan, least = scene.plan, scene.settings.consolidation.min_cluster
    written = {
        plan.memories[source].thread: memory
        for memory in plan.active()
        if is_session_summary(memory)
        for source in memory.derived_from
        if source in plan.memories
    }
    turns = [memory for memory in scene.spoken() if memory.thread]
    for thread in grouped(turns, lambda memory: memory.thread):
        old = written.get(thread[0].thread)
        covered = old.derived_from if old is not None else ()
        last = max(memory.occurred_at for memory in thread)
        over = plan.now - last >= scene.silence_s
        if over and len(thread) >= least and not {m.id for m in thread} <= set(covered):
            _sum_up(scene, sorted(thread, key=lambda memory: memory.position), old)


def _sum_up(scene: Scene, thread: list[Memory], old: Memory | None) -> None:
    plan, most = scene.plan, scene.settings.consolidation.summary_sentences
    text = summarise([_sentence(memory) for memory in thread], most)
    if not text:
        return
    summary = _summary(scene, thread, f"{SESSION_PREFIX} {text}", SESSION_IMPORTANCE)
    action = plan.begin("sessions", summary.derived_from)
    if old is not None and repeat_key(old) == repeat_key(summary):
        plan.put(action, old.id, derived_from=summary.derived_from, gist=summary.gist)
        return
    plan.create(action, summary)
    if old is not None:
        plan.put(action, old.id, superseded_by=summary.id, superseded_at=plan.now)
        plan.put(action, old.id, retired_at=plan.now)


def is_session_summary(memory: Memory) -> bool:
    """True for a summary of one conversation."""
    return memory.kind == "summary" and memory.text.startswith(SESSION_PREFIX)


# Prune


def prune_faded(scene: Scene) -> None:
    """Retire what is neither retained nor important.

    What is in the current ring stays, and so does what this run has just summarised: nothing is
    retired for being summarised (design, section 4).
    """
    plan, settings = scene.plan, scene.settings
    fresh = {id for action in plan.actions if action.step == "summaries" for id in action.rests_on}
    members = [m for m in scene.spoken() if m.tier != "active" and m.id not in fresh]
    if not members:
        return
    low = settings.consolidation.prune_retention, settings.consolidation.prune_importance
    gone = prune.faded(
        _retention(scene, members),
        np.array([memory.importance for memory in members]),
        least_retention=low[0],
        most_importance=low[1],
    )
    for index in np.flatnonzero(gone):
        plan.retire(plan.begin("prune"), members[int(index)].id)
    plan.details["prune"] = f"retention below {low[0]:g}, importance at most {low[1]:g}"


def _retention(scene: Scene, members: Sequence[Memory]) -> NDArray[np.float64]:
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


def scope(memory: Memory) -> tuple[str, str, str]:
    """What memories must share to be compared: visibility, owner and, for a team's, the team."""
    return memory.visibility, memory.agent, memory.team if memory.visibility == "team" else ""


def grouped(memories: Iterable[Memory], key: Callable[[Memory], K]) -> list[list[Memory]]:
    """*memories* by *key*, groups and members in order of first appearance."""
    groups: dict[K, list[Memory]] = {}
    for memory in memories:
        groups.setdefault(key(memory), []).append(memory)
    return list(groups.values())


def _batches(memories: list[Memory], most: int, least: int) -> Iterator[list[Memory]]:
    """*memories* in runs of at most *most*; runs of fewer than *least* are left for later."""
    for start in range(0, len(memories), most):
        batch = memories[start : start + most]
        if len(batch) >= least:
            yield batch
