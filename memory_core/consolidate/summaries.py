"""The steps that derive memories: summaries of clusters and of conversations, concepts of topics.

A derived memory names its sources, which stay. When a source is corrected, what was derived from it
is written anew, or retired when too few sources are left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from memory_core.beliefs.importance import INSTRUCTION
from memory_core.beliefs.sentence import read_all
from memory_core.beliefs.shared import different_things, held, shared_words
from memory_core.consolidate.plan import Action
from memory_core.consolidate.steps import NO_MODEL, Workspace, grouped
from memory_core.gist.passthrough import central
from memory_core.records import (
    DERIVED,
    PROJECT,
    TRUSTS,
    MemoryRecord,
    content_hash,
    new_id,
    projects_of,
    repeat_key,
    scope,
)
from memory_core.scoring import clusters
from memory_core.storage.index.analyzer import index_terms
from memory_core.text.passages import sentences
from memory_core.text.time.timestamps import day_words
from memory_core.text.words import content_words, count_words, is_german, is_plain, words

SESSION_PREFIX = "Session summary:"
SESSION_IMPORTANCE = 0.75
"""1.5 times the 0.5 of a normal memory."""

CONCEPT_PREFIX = "Topic:"
CONCEPT_WORDS = 6
"""Words that name a concept."""

RENEWED_SHARE = 1.5
"""A concept is written anew when its topic has this many times the members it was made of."""

SUMMARY_FACTOR, SOURCE_FACTOR = 2.0, 0.5
"""Factors on the mean importance of the sources, for a summary, and on that of each source."""

SENTENCE_WORDS = 4, 45
"""Fewest and most words of a quoted sentence, unless there are no others."""


VALUE_TERMS = 2
"""At most so many terms of a sentence, the value, are missing in a later one that says it anew."""
_SELF = frozenset(("i", "we", "my", "our", "ich", "wir", "mein", "unser"))

# Stale derived memories


def refresh(work: Workspace) -> None:
    """Write stale derived memories anew; retire those with too few sources left.

    Stale is what was marked so, or has a source that was superseded or put in doubt. A fact from a
    source in doubt stays as it is: it is doubted with its source.
    """
    plan, least = work.plan, work.tuning.min_cluster
    for old in [m for m in plan.active() if m.derived_from and work.is_stale(m)]:
        if work.excludes(old):
            continue
        if old.kind not in DERIVED and not work.is_outdated(old):
            continue
        action = plan.begin("refresh", [old.id])
        sources = work.holding(work.sources(old))
        kept = tuple(memory.id for memory in sources)
        if old.kind not in DERIVED:
            kept = tuple(m.id for m in work.sources(old) if not m.superseded_by)
            if not kept:
                plan.retire(action, old.id)  # a fact without a source that holds
            else:
                plan.put(action, old.id, derived_from=kept, stale_since=None)
        elif len(sources) < least:
            plan.retire(action, old.id)
        else:
            action.based_on = (old.id, *kept)
            _renew(work, action, old, sources)


def _renew(
    work: Workspace, action: Action, old: MemoryRecord, sources: Sequence[MemoryRecord]
) -> None:
    """Supersede *old* by what its *sources* say now."""
    if old.kind == "concept":
        fresh = _concept(work, sources)
    elif is_session_summary(old):
        fresh = _session_summary(work, sources)
    else:
        fresh = _cluster_summary(work, sources, old.importance)
    if fresh is None or repeat_key(fresh) == repeat_key(old):
        kept = tuple(memory.id for memory in sources)
        work.plan.put(action, old.id, derived_from=kept, stale_since=None)
        return
    _supersede(work, action, old, fresh)


def _supersede(work: Workspace, action: Action, old: MemoryRecord, fresh: MemoryRecord) -> None:
    plan = work.plan
    plan.create(action, fresh)
    plan.put(action, old.id, superseded_by=fresh.id, superseded_at=plan.now, retired_at=plan.now)


# Summaries of clusters


def summaries(work: Workspace) -> None:
    """Summarise clusters of episodes that hold and that no summary covers yet.

    Their importance is halved; not that of an episode about what is still to come, and of what was
    pinned, is a standing wish or a correction.
    """
    plan = work.plan
    in_clusters = [m for m in current(work, "summary") if not is_session_summary(m)]
    covered = {source for memory in in_clusters for source in memory.derived_from}
    covered |= work.excluded
    born = plan.now - work.age_s
    episodes = [
        m
        for m in work.holding(plan.active())
        if m.kind == "episode" and m.id not in covered and m.occurred_at <= born
    ]
    known = {repeat_key(memory) for memory in plan.memories.values()}
    for sources in _clusters(work, episodes):
        mean = sum(memory.importance for memory in sources) / len(sources)
        summary = _cluster_summary(work, sources, min(1.0, SUMMARY_FACTOR * mean))
        if summary is None or repeat_key(summary) in known:
            continue  # it repeats a memory that exists
        known.add(repeat_key(summary))
        action = plan.begin("summaries", summary.derived_from)
        plan.create(action, summary)
        _demote(work, action, sources)


def current(work: Workspace, kind: str) -> list[MemoryRecord]:
    """Memories of a derived *kind* that hold, those included that steps.prune_faded retired."""
    return [
        memory
        for memory in work.plan.memories.values()
        if memory.kind == kind and not memory.superseded_by and not memory.replaced
        if memory.retired_at is None or not work.is_stale(memory)
    ]


def _clusters(work: Workspace, episodes: list[MemoryRecord]) -> Iterator[list[MemoryRecord]]:
    """Clusters of episodes of one scope, project and topic; without a model, of one conversation.

    Within a topic, the topic's own threshold links two episodes. Measured on six months of daily
    notes, that puts 96 of 147 into clusters, none of two themes; the general threshold puts 49.
    """
    tuning = work.tuning
    if work.profile is None:
        work.plan.details["summaries"] = f"{NO_MODEL}: grouped by conversation"
        in_session = [memory for memory in episodes if memory.thread]
        for thread in grouped(in_session, lambda memory: memory.thread):
            yield from _batches(thread, tuning.batch, tuning.min_cluster)
        return
    ready = work.embedded(episodes)
    if len(ready) < len(episodes):
        work.plan.details["summaries"] = f"{len(episodes) - len(ready)} wait for their vectors"
    for topic in grouped(ready, lambda m: (scope(m), projects_of(m.tags), m.topic)):
        for batch in _batches(topic, tuning.batch, tuning.min_cluster):
            link = work.profile.cluster
            if batch[0].topic:
                link = min(link, work.profile.topic)
            linked = _sharing_words(batch) if work.profile.english else None
            for group in clusters.single_linkage(work.matrix(batch), link, linked):
                if len(group) >= tuning.min_cluster:
                    yield [batch[index] for index in group]


def _sharing_words(episodes: Sequence[MemoryRecord]) -> Callable[[int, int], bool]:
    """False for two of *episodes*, one of them German, that share no form of a content word."""
    spoken = [words(memory.text) for memory in episodes]
    german = [is_german(each) for each in spoken]
    content = [frozenset(word for word in each if not is_plain(word)) for each in spoken]

    def linked(i: int, j: int) -> bool:
        return not (german[i] or german[j]) or bool(held(content[i], content[j]))

    return linked


def _cluster_summary(
    work: Workspace, sources: Sequence[MemoryRecord], importance: float
) -> MemoryRecord | None:
    text, maker = _summary_text(work, sources, dated=True)
    return _derived(work, sources, text, maker, importance=importance) if text else None


def _demote(work: Workspace, action: Action, sources: Iterable[MemoryRecord]) -> None:
    for memory in sources:
        kept = memory.importance >= INSTRUCTION or work.is_ahead(memory)
        if not kept and not work.demoted(memory.id):
            work.plan.put(action, memory.id, importance=memory.importance * SOURCE_FACTOR)


# Session summaries


def sessions(work: Workspace) -> None:
    """Write one summary for each conversation that is over; anew when it has turns not covered."""
    plan, least = work.plan, work.tuning.min_cluster
    written = {
        plan.memories[source].thread: memory
        for memory in current(work, "summary")
        if is_session_summary(memory)
        for source in memory.derived_from
        if source in plan.memories
    }
    turns = [memory for memory in work.holding(work.originals()) if memory.thread]
    for thread in grouped(turns, lambda memory: memory.thread):
        old = written.get(thread[0].thread)
        covered = old.derived_from if old is not None else ()
        last = max(memory.occurred_at for memory in thread)
        over = plan.now - last >= work.silence_s and not work.excludes(*thread)
        if over and len(thread) >= least and not {m.id for m in thread} <= set(covered):
            _summarise_session(work, sorted(thread, key=lambda memory: memory.position), old)


def _summarise_session(
    work: Workspace, thread: list[MemoryRecord], old: MemoryRecord | None
) -> None:
    plan, summary = work.plan, _session_summary(work, thread)
    if summary is None:
        return
    action = plan.begin("sessions", summary.derived_from)
    if old is None:
        plan.create(action, summary)
    elif repeat_key(old) == repeat_key(summary):
        plan.put(action, old.id, derived_from=summary.derived_from, gist=summary.gist)
    else:
        _supersede(work, action, old, summary)


def _session_summary(work: Workspace, thread: Sequence[MemoryRecord]) -> MemoryRecord | None:
    text, maker = _summary_text(work, thread, dated=False)
    if not text:
        return None
    text = f"{SESSION_PREFIX} {text}"
    return _derived(work, thread, text, maker, importance=SESSION_IMPORTANCE)


def is_session_summary(memory: MemoryRecord) -> bool:
    """True for a summary of one conversation."""
    return memory.kind == "summary" and memory.text.startswith(SESSION_PREFIX)


# Concepts


def concepts(work: Workspace) -> None:
    """Write one concept for each large topic; anew when the topic has grown by half since."""
    plan, least = work.plan, work.tuning.concept_members
    written = {(scope(m), m.topic): m for m in current(work, "concept") if m.run}
    about = [m for m in work.holding(work.originals()) if m.topic and not work.excludes(m)]
    for members in grouped(about, lambda memory: (scope(memory), memory.topic)):
        old = written.get((scope(members[0]), members[0].topic))
        enough = least if old is None else RENEWED_SHARE * len(old.derived_from)
        if len(members) < enough:
            continue
        fresh = _concept(work, members)
        if fresh is None:
            continue
        action = plan.begin("concepts", fresh.derived_from)
        if old is None:
            plan.create(action, fresh)
        else:
            _supersede(work, action, old, fresh)


def _concept(work: Workspace, members: Sequence[MemoryRecord]) -> MemoryRecord | None:
    """A concept of *members*: the words that most of them share, and the days they span."""
    shared = Counter(word for m in members for word in dict.fromkeys(content_words(m.text)))
    common = [word for word, count in shared.most_common() if count > 1 and not word.isdigit()]
    if not common:
        return None
    first, last = (day_words(members[place].occurred_at) for place in (0, -1))
    days = first if first == last else f"{first} to {last}"
    name = ", ".join(common[:CONCEPT_WORDS])
    text = f"{CONCEPT_PREFIX} {name}. {len(members)} memories, {days}."
    importance = min(1.0, SUMMARY_FACTOR * sum(m.importance for m in members) / len(members))
    made = _derived(work, members, text, "Concept", importance=importance)
    return replace(made, kind="concept", entities=())


# Texts


def _derived(
    work: Workspace, sources: Sequence[MemoryRecord], text: str, maker: str, *, importance: float
) -> MemoryRecord:
    first, named = sources[0], {memory.topic for memory in sources}
    return MemoryRecord(
        id=new_id(work.plan.now),
        text=text,
        visibility=first.visibility,
        agent=first.agent,
        team=first.team,
        kind="summary",
        gist=f"{maker} of {len(sources)} memories",
        tags=_projects(sources),
        topic=named.pop() if len(named) == 1 else "",
        entities=tuple(dict.fromkeys(name for memory in sources for name in memory.entities)),
        importance=importance,
        occurred_at=max(memory.occurred_at for memory in sources),
        recorded_at=work.plan.now,
        derived_from=tuple(memory.id for memory in sources),
        run=work.plan.run,
        content_hash=content_hash(text),
        trust=max((memory.trust for memory in sources), key=TRUSTS.index),
    )


def _projects(sources: Sequence[MemoryRecord]) -> tuple[str, ...]:
    """The tags that name the projects of *sources*, each once."""
    tags = (tag for memory in sources for tag in memory.tags if tag.startswith(PROJECT))
    return tuple(dict.fromkeys(tags))


def _summary_text(
    work: Workspace, sources: Sequence[MemoryRecord], *, dated: bool
) -> tuple[str, str]:
    """A summary of *sources* in a few sentences, and its label: by a model, else extractive."""
    most = work.tuning.summary_sentences
    text = work.summarise(work.plan.run, sources, most)
    if text:
        return text, "Summary"
    return extract(sources, most, dated=dated), "Extractive summary"


def extract(sources: Sequence[MemoryRecord], most: int, *, dated: bool) -> str:
    """At most *most* of the most central sentences of *sources*, verbatim, in order.

    Of two that say of one thing different things, the later one. The speaker precedes a sentence
    where it changes; when *dated*, so does the day.
    """
    said = [(memory, sentence) for memory in sources for sentence in _sentences(memory.text)]
    said = [pair for pair in said if _is_quotable(*pair)] or said
    said = _newest(said)
    said = list({sentence: (memory, sentence) for memory, sentence in reversed(said)}.values())[
        ::-1
    ]
    chosen = [said[place] for place in central([sentence for _, sentence in said], most)]
    days = {day_words(memory.occurred_at) for memory, _ in chosen}
    parts, speaker, day = [], "", ""
    for memory, sentence in chosen:
        today = day_words(memory.occurred_at) if dated and len(days) > 1 else ""
        head = f"{today}: " if today != day else ""
        if memory.speaker != speaker and memory.speaker:
            head += f"{memory.speaker}: "
        parts.append(head + _terminated(sentence))
        speaker, day = memory.speaker, today
    return " ".join(parts)


Terms = dict[str, None]
"""The terms of a sentence, each once, in its order."""


def _newest(said: Sequence[tuple[MemoryRecord, str]]) -> list[tuple[MemoryRecord, str]]:
    """*said*, oldest first, without the sentences that one later one of the same mouth says anew.

    Where more than two differ in their values only, they are a series. It need not hold that a
    sentence is out of date: a summary says nothing that may be, and its sources stay.
    """
    terms = [
        dict.fromkeys(term for term in index_terms(sentence) if term not in _SELF)
        for _, sentence in said
    ]
    pairs: list[tuple[int, int]] = []
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for newer, (memory, sentence) in enumerate(said):
        common = Counter(chain.from_iterable(holding[term] for term in terms[newer]))
        pairs += [
            (older, newer)
            for older, count in common.items()
            if count > 1
            and said[older][0].id != memory.id
            and _whose(said[older][0]) == _whose(memory)
            and _says_anew(terms[older], terms[newer])
            and _about_one(said[older][1], sentence)
        ]
        for term in terms[newer]:
            holding[term].append(newer)
    times = Counter(chain.from_iterable(pairs))
    outdated = {older for older, newer in pairs if times[older] == times[newer] == 1}
    return [pair for place, pair in enumerate(said) if place not in outdated]


def _whose(memory: MemoryRecord) -> tuple[str, str]:
    return memory.speaker, memory.role


def _says_anew(older: Terms, newer: Terms) -> bool:
    """True when the terms of *newer* are those of *older* but for a value of VALUE_TERMS.

    What both share comes in one order: "needs water" is no value of whoever waters.
    """
    shared = older.keys() & newer.keys()
    left, gained = len(older) - len(shared), len(newer) - len(shared)
    if not 0 < left <= VALUE_TERMS or len(shared) <= max(1, left) or len(shared) < gained:
        return False
    return [term for term in older if term in shared] == [term for term in newer if term in shared]


def _about_one(older: str, newer: str) -> bool:
    """True when no number, name or modifier tells two things apart."""
    return not any(
        different_things(then, now, shared_words(then, now))
        for then in read_all(older)
        for now in read_all(newer)
    )


def _sentences(text: str) -> list[str]:
    """The sentences of *text*; one of few words that says something with what follows it.

    "We booked Rügen! 8 to 15 August", as people write.
    """
    found: list[str] = []
    begun = ""
    for sentence in sentences(text):
        said = f"{begun} {sentence}".strip()
        short = count_words(said) < SENTENCE_WORDS[0] and not said.endswith("?")
        if short and any(not is_plain(word) for word in words(said)):
            begun = said
            continue
        found.append(said)
        begun = ""
    if begun and found and not found[-1].endswith("?"):
        found[-1] = f"{found[-1]} {begun}"
    elif begun:
        found.append(begun)
    return found


def _is_quotable(memory: MemoryRecord, sentence: str) -> bool:
    """True for what reads well by itself: no question, no small talk, of SENTENCE_WORDS.

    All that *memory* says may be shorter, where it is a value: "weight 88.4".
    """
    least, most = SENTENCE_WORDS
    if sentence == memory.text.strip() and any(map(str.isdigit, sentence)):
        least = 2
    says_something = any(not is_plain(word) for word in words(sentence))
    asks = sentence.rstrip().endswith(("?", "？", "؟"))
    return says_something and not asks and least <= count_words(sentence) <= most


def _terminated(sentence: str) -> str:
    """*sentence* with a full stop, so that it does not run into the next."""
    text = sentence.strip()
    return text if text[-1:] in _ENDINGS else f"{text}."


_ENDINGS = frozenset(".!?:;…。！？؟\"”’')]")


def _batches(memories: list[MemoryRecord], most: int, least: int) -> Iterator[list[MemoryRecord]]:
    """*memories* in batches of at most *most*; a batch of fewer than *least* is left for later."""
    for start in range(0, len(memories), most):
        batch = memories[start : start + most]
        if len(batch) >= least:
            yield batch
