"""Steps of sleep that write: summaries of clusters and of conversations, concepts of topics.

What they write names its sources and stands beside them. What rests on something that has been
corrected since is written anew, or taken out when too little is left of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from memory_core.consolidate.plan import Action
from memory_core.consolidate.steps import NO_MODEL, Workspace, grouped
from memory_core.gist.passthrough import telling
from memory_core.records import (
    DERIVED,
    TRUSTS,
    MemoryRecord,
    content_hash,
    new_id,
    repeat_key,
    scope,
)
from memory_core.relations import duplicates
from memory_core.text.passages import sentences
from memory_core.text.time.moments import day_words
from memory_core.text.words import content_words, count_words, is_plain, words

SESSION_PREFIX = "Session summary:"
SESSION_IMPORTANCE = 0.75
"""Seed row B4.7: 1.5 times a normal memory's 0.5."""

CONCEPT_PREFIX = "Topic:"
CONCEPT_WORDS = 6
"""Words that a concept is called by."""

RENEWED_SHARE = 1.5
"""A concept is written anew when its topic has grown by half (seed row A5.6 leaves it to hand)."""

SUMMARY_FACTOR, SOURCE_FACTOR = 2.0, 0.5
"""Importance of a summary by its sources' mean, and of a source once summarised (B4.5, B4.6)."""

SENTENCE_WORDS = 4, 45
"""Sentences with fewer or more words are not quoted while there are others."""


# What has been corrected since


def refresh(scene: Workspace) -> None:
    """Write anew what rests on something that is stale; retire it when too little is left.

    Stale is what was marked so, and what has a source that was superseded.
    """
    plan, least = scene.plan, scene.settings.consolidation.min_cluster
    for old in [m for m in plan.active() if m.derived_from and scene.is_stale(m)]:
        if scene.leaves(old):
            continue
        action = plan.begin("refresh", [old.id])
        sources = [m for m in scene.sources(old) if not m.superseded_by]
        kept = tuple(memory.id for memory in sources)
        if old.kind not in DERIVED:
            if not sources:
                plan.retire(action, old.id)  # a fact of which nothing holds any more
            else:
                plan.put(action, old.id, derived_from=kept, stale_since=None)
        elif len(sources) < least:
            plan.retire(action, old.id)
        else:
            action.rests_on = (old.id, *kept)
            _renew(scene, action, old, sources)


def _renew(
    scene: Workspace, action: Action, old: MemoryRecord, sources: Sequence[MemoryRecord]
) -> None:
    """Put what *sources* say now in the place of *old*."""
    if old.kind == "concept":
        fresh = _concept(scene, sources)
    elif is_session_summary(old):
        fresh = _of_session(scene, sources)
    else:
        fresh = _of_cluster(scene, sources, old.importance)
    if fresh is None or repeat_key(fresh) == repeat_key(old):
        kept = tuple(memory.id for memory in sources)
        scene.plan.put(action, old.id, derived_from=kept, stale_since=None)
        return
    _succeed(scene, action, old, fresh)


def _succeed(scene: Workspace, action: Action, old: MemoryRecord, fresh: MemoryRecord) -> None:
    plan = scene.plan
    plan.create(action, fresh)
    plan.put(action, old.id, superseded_by=fresh.id, superseded_at=plan.now, retired_at=plan.now)


# Summaries of clusters


def summaries(scene: Workspace) -> None:
    """Summarise clusters of episodes that no summary rests on yet, and halve their importance."""
    plan = scene.plan
    in_clusters = [m for m in in_force(scene, "summary") if not is_session_summary(m)]
    covered = {source for memory in in_clusters for source in memory.derived_from}
    covered |= scene.left
    born = plan.now - scene.age_s
    episodes = [
        m
        for m in plan.active()
        if m.kind == "episode" and m.id not in covered and m.occurred_at <= born
    ]
    known = {repeat_key(memory) for memory in plan.memories.values()}
    for sources in _clusters(scene, episodes):
        mean = sum(memory.importance for memory in sources) / len(sources)
        summary = _of_cluster(scene, sources, min(1.0, SUMMARY_FACTOR * mean))
        if summary is None or repeat_key(summary) in known:
            continue  # it would say no more than a memory that is there
        known.add(repeat_key(summary))
        action = plan.begin("summaries", summary.derived_from)
        plan.create(action, summary)
        _demote(scene, action, sources)


def in_force(scene: Workspace, kind: str) -> list[MemoryRecord]:
    """Memories of a derived *kind* that hold, those included that rest (sleep.prune_faded)."""
    return [
        memory
        for memory in scene.plan.memories.values()
        if memory.kind == kind and not memory.superseded_by and not memory.replaced
        if memory.retired_at is None or not scene.is_stale(memory)
    ]


def _clusters(scene: Workspace, episodes: list[MemoryRecord]) -> Iterator[list[MemoryRecord]]:
    """Episodes of one scope and topic that hang together; without vectors, of one conversation.

    Within a topic two are linked from the topic's own threshold on: measured on six months of daily
    notes, 96 of 147 come into a cluster so, none of two themes, and 49 at that for any two.
    """
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
            link = scene.profile.cluster
            if batch[0].topic:
                link = min(link, scene.profile.topic)
            for group in duplicates.single_linkage(scene.matrix(batch), link):
                if len(group) >= settings.min_cluster:
                    yield [batch[index] for index in group]


def _of_cluster(
    scene: Workspace, sources: Sequence[MemoryRecord], importance: float
) -> MemoryRecord | None:
    text, maker = _told(scene, sources, dated=True)
    return _derived(scene, sources, text, maker, importance=importance) if text else None


def _demote(scene: Workspace, action: Action, sources: Iterable[MemoryRecord]) -> None:
    for memory in sources:
        if not scene.demoted(memory.id):
            scene.plan.put(action, memory.id, importance=memory.importance * SOURCE_FACTOR)


# Session summaries


def sessions(scene: Workspace) -> None:
    """One summary a conversation, of its own turns, anew when turns came that it does not cover."""
    plan, least = scene.plan, scene.settings.consolidation.min_cluster
    written = {
        plan.memories[source].thread: memory
        for memory in in_force(scene, "summary")
        if is_session_summary(memory)
        for source in memory.derived_from
        if source in plan.memories
    }
    turns = [memory for memory in scene.spoken() if memory.thread]
    for thread in grouped(turns, lambda memory: memory.thread):
        old = written.get(thread[0].thread)
        covered = old.derived_from if old is not None else ()
        last = max(memory.occurred_at for memory in thread)
        over = plan.now - last >= scene.silence_s and not scene.leaves(*thread)
        if over and len(thread) >= least and not {m.id for m in thread} <= set(covered):
            _sum_up(scene, sorted(thread, key=lambda memory: memory.position), old)


def _sum_up(scene: Workspace, thread: list[MemoryRecord], old: MemoryRecord | None) -> None:
    plan, summary = scene.plan, _of_session(scene, thread)
    if summary is None:
        return
    action = plan.begin("sessions", summary.derived_from)
    if old is None:
        plan.create(action, summary)
    elif repeat_key(old) == repeat_key(summary):
        plan.put(action, old.id, derived_from=summary.derived_from, gist=summary.gist)
    else:
        _succeed(scene, action, old, summary)


def _of_session(scene: Workspace, thread: Sequence[MemoryRecord]) -> MemoryRecord | None:
    text, maker = _told(scene, thread, dated=False)
    if not text:
        return None
    text = f"{SESSION_PREFIX} {text}"
    return _derived(scene, thread, text, maker, importance=SESSION_IMPORTANCE)


def is_session_summary(memory: MemoryRecord) -> bool:
    """True for a summary of one conversation."""
    return memory.kind == "summary" and memory.text.startswith(SESSION_PREFIX)


# Concepts


def concepts(scene: Workspace) -> None:
    """One concept for each topic that has grown large, anew when it has grown by half since."""
    plan, least = scene.plan, scene.settings.consolidation.concept_members
    written = {(scope(m), m.topic): m for m in in_force(scene, "concept") if m.run}
    about = [memory for memory in scene.spoken() if memory.topic and not scene.leaves(memory)]
    for members in grouped(about, lambda memory: (scope(memory), memory.topic)):
        old = written.get((scope(members[0]), members[0].topic))
        enough = least if old is None else RENEWED_SHARE * len(old.derived_from)
        if len(members) < enough:
            continue
        fresh = _concept(scene, members)
        if fresh is None:
            continue
        action = plan.begin("concepts", fresh.derived_from)
        if old is None:
            plan.create(action, fresh)
        else:
            _succeed(scene, action, old, fresh)


def _concept(scene: Workspace, members: Sequence[MemoryRecord]) -> MemoryRecord | None:
    """What *members* have in common: the words that most of them share, and when they were said."""
    shared = Counter(word for m in members for word in dict.fromkeys(content_words(m.text)))
    common = [word for word, count in shared.most_common() if count > 1 and not word.isdigit()]
    if not common:
        return None
    first, last = (day_words(members[place].occurred_at) for place in (0, -1))
    days = first if first == last else f"{first} to {last}"
    called = ", ".join(common[:CONCEPT_WORDS])
    text = f"{CONCEPT_PREFIX} {called}. {len(members)} memories, {days}."
    importance = min(1.0, SUMMARY_FACTOR * sum(m.importance for m in members) / len(members))
    made = _derived(scene, members, text, "Concept", importance=importance)
    return replace(made, kind="concept", entities=())


# What is written


def _derived(
    scene: Workspace, sources: Sequence[MemoryRecord], text: str, maker: str, *, importance: float
) -> MemoryRecord:
    first, named = sources[0], {memory.topic for memory in sources}
    return MemoryRecord(
        id=new_id(scene.plan.now),
        text=text,
        visibility=first.visibility,
        agent=first.agent,
        team=first.team,
        kind="summary",
        gist=f"{maker} of {len(sources)} memories",
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


def _told(scene: Workspace, sources: Sequence[MemoryRecord], *, dated: bool) -> tuple[str, str]:
    """A summary of *sources* in a few sentences, and what it calls itself."""
    most = scene.settings.consolidation.summary_sentences
    text = scene.summarise(scene.plan.run, sources, most)
    if text:
        return text, "Summary"
    return extract(sources, most, dated=dated), "Extractive summary"


def extract(sources: Sequence[MemoryRecord], most: int, *, dated: bool) -> str:
    """At most *most* of the most telling sentences of *sources*, verbatim, in order.

    With who said them where that changes and, when *dated*, the day where that changes.
    """
    said = [(memory, sentence) for memory in sources for sentence in sentences(memory.text)]
    said = [pair for pair in said if _is_quotable(pair[1])] or said
    said = list({sentence: (memory, sentence) for memory, sentence in reversed(said)}.values())[
        ::-1
    ]
    chosen = [said[place] for place in telling([sentence for _, sentence in said], most)]
    days = {day_words(memory.occurred_at) for memory, _ in chosen}
    parts, speaker, day = [], "", ""
    for memory, sentence in chosen:
        today = day_words(memory.occurred_at) if dated and len(days) > 1 else ""
        head = f"{today}: " if today != day else ""
        if memory.speaker != speaker and memory.speaker:
            head += f"{memory.speaker}: "
        parts.append(head + _closed(sentence))
        speaker, day = memory.speaker, today
    return " ".join(parts)


def _is_quotable(sentence: str) -> bool:
    """True for what reads well by itself: no question, no small talk, neither scrap nor sprawl."""
    least, most = SENTENCE_WORDS
    telling_words = any(not is_plain(word) for word in words(sentence))
    asks = sentence.rstrip().endswith(("?", "？", "؟"))
    return telling_words and not asks and least <= count_words(sentence) <= most


def _closed(sentence: str) -> str:
    """*sentence* closed by a stop, so that it does not run into the next."""
    text = sentence.strip()
    return f"{text}." if text[-1:].isalnum() else text


def _batches(memories: list[MemoryRecord], most: int, least: int) -> Iterator[list[MemoryRecord]]:
    """*memories* in runs of at most *most*; runs of fewer than *least* are left for later."""
    for start in range(0, len(memories), most):
        batch = memories[start : start + most]
        if len(batch) >= least:
            yield batch
