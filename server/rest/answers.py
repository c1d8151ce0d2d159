"""What the operations answer: JSON made from the memory's values, and its schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field

from memory_core.overview import pages
from memory_core.overview.pages import Listed
from memory_core.records import (
    Change,
    DoubtfulPair,
    ForgetReport,
    Hit,
    Link,
    MemoryRecord,
    Neighbour,
    Receipt,
    Recollection,
    RunReport,
)
from memory_core.remember.capture import Observation
from server.protocol import rendering, schemas, structure

Json = dict[str, Any]


class ProblemOut(BaseModel):
    """A refusal (RFC 9457). `code` is stable, `next_step` says what the caller can do."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    next_step: str
    errors: list[Json] = []


class StoredMemory(BaseModel):
    """One memory with all its fields; unset times are null, `position` -1 is outside of any."""

    id: str
    text: str
    state: Literal["current", "doubtful", "superseded", "retired"]
    visibility: Literal["private", "team", "shared"]
    agent: str
    team: str
    session: str
    position: int
    speaker: str
    role: str
    kind: schemas.Kind
    gist: str
    tags: list[str]
    keywords: list[str]
    topic: str
    entities: list[str]
    importance: float
    valence: float
    arousal: float
    emotions: list[str]
    occurred_at: str
    recorded_at: str
    dates: list[str]
    valid_from: str | None
    valid_until: str | None
    superseded_by: str
    superseded_at: str | None
    replaced: bool
    retired_at: str | None
    stale_since: str | None
    derived_from: list[str]
    run: str
    content_hash: str
    source: str
    client: str
    lead: list[str]
    trust: str
    tier: Literal["active", "recent", "long_term"]
    access_count: int
    last_accessed: str | None
    due: list[str]
    encoded: str
    doubted_by: str = Field("", description="a later memory that may put it out of date")
    doubtful_since: str | None = None


def memory(listed: Listed) -> Json:
    """A memory with its state."""
    return pages.fields(listed)


class MemoryPage(BaseModel):
    """Some memories, newest first, and the `cursor` of the next page; empty after the last."""

    memories: list[StoredMemory]
    next: str
    notice: str


class VotesOut(BaseModel):
    """How many called a memory a good answer, and a wrong one."""

    up: int
    down: int


class FadingOut(BaseModel):
    """What is left of a memory, of 1, and the days after which half of that is left, unused."""

    left: float
    half_life_days: float


class OneMemory(StoredMemory):
    """A memory, its votes, how it fades and its place in the chain of its versions."""

    votes: VotesOut
    fading: FadingOut
    version: Json
    notice: str


class SimilarOut(BaseModel):
    """A stored memory near a new one."""

    id: str
    text: str
    relation: str


class ReceiptOut(BaseModel):
    """What became of a text: stored, reinforced (an exact repeat), replaced or refused."""

    id: str
    status: Literal["stored", "reinforced", "replaced", "refused"]
    kind: str
    importance: float
    gist: str
    similar: list[SimilarOut]
    replaced: list[str]
    warnings: list[str]


def receipt(done: Receipt) -> Json:
    """A receipt."""
    return asdict(done)


class ReceiptList(BaseModel):
    """The receipts of several texts, in their order."""

    receipts: list[ReceiptOut]
    ids: list[str]
    count: int


class UndoHint(BaseModel):
    """What POST /memories/{id}/undo takes back: the `change` of the memory `id`."""

    id: str
    change: int


class AmendmentOut(BaseModel):
    """What was changed. A replacement is a new memory with an `id` of its own."""

    id: str
    status: Literal["changed", "unchanged", "replaced", "reinforced", "refused"]
    replaced: list[str]
    warnings: list[str]
    undo: UndoHint | None


class ChangeOut(BaseModel):
    """One change of a memory; `body` is null when it was erased."""

    seq: int
    at: str
    kind: str
    actor: str
    source: str
    run: str
    body: Json | None
    before: Json | None


def change(done: Change) -> Json:
    """A change."""
    return {
        "seq": done.seq,
        "at": rendering.iso(done.at),
        "kind": done.kind,
        "actor": done.actor,
        "source": done.source,
        "run": done.run,
        "body": None if done.body is None else dict(done.body),
        "before": None if done.before is None else dict(done.before),
    }


class HistoryOut(BaseModel):
    """The changes of a memory, oldest first."""

    id: str
    changes: list[ChangeOut]
    notice: str


class UndoneOut(BaseModel):
    """What was undone, in words."""

    id: str
    change: int
    done: str


class LinkOut(BaseModel):
    """A link from memory `a` to memory `b`."""

    a: str
    b: str
    kind: str
    weight: float


class LinksOut(BaseModel):
    """The links of a memory, strongest first."""

    id: str
    links: list[LinkOut]


def links(id: str, found: Sequence[Link]) -> Json:
    """Links."""
    return {"id": id, "links": [asdict(link) for link in found]}


class NeighbourOut(BaseModel):
    """A turn beside a memory in its conversation."""

    id: str
    speaker: str
    text: str
    when: str


class HitOut(StoredMemory):
    """A recalled memory, its score, the turns beside it, and why with `explain`."""

    in_part: bool = Field(description="`doubted_by` puts only a part of it out of date")
    score: float
    before: list[NeighbourOut]
    after: list[NeighbourOut]
    why: dict[str, float | str]


class RecollectionOut(BaseModel):
    """The answer of a recall; `block` is its text for a prompt, where `max_tokens` asks for it."""

    found: bool
    confidence: float
    feeling: Literal["high", "moderate", "low", "none"]
    memories: list[HitOut]
    recent: list[NeighbourOut]
    partial: list[HitOut]
    rejected: list[HitOut]
    note: str
    notice: str
    block: str = ""


def recollection(found: Recollection, now: float, max_tokens: int) -> Json:
    """A recollection; the state of each memory as far as its own fields and doubts say it."""
    answer: Json = {
        "found": found.found,
        "confidence": found.confidence,
        "feeling": found.feeling,
        "memories": [_hit(hit) for hit in found.hits],
        "recent": [_neighbour(turn) for turn in found.recent],
        "partial": [_hit(hit) for hit in found.partial],
        "rejected": [_hit(hit) for hit in found.rejected],
        "note": found.note,
        "notice": schemas.NOTICE,
    }
    if max_tokens:
        shown = structure.recollection(found, now, max(max_tokens, schemas.MIN_TOKENS))
        answer["block"] = rendering.recall(shown)
    return answer


def _hit(hit: Hit) -> Json:
    return {
        **memory(_listed(hit.memory, hit.doubted_by, hit.doubtful_since)),
        **{name: getattr(hit, name) for name in ("in_part", "score")},
        "before": [_neighbour(turn) for turn in hit.before],
        "after": [_neighbour(turn) for turn in hit.after],
        "why": dict(hit.why),
    }


def _listed(record: MemoryRecord, by: str, since: float | None) -> Listed:
    gone = "retired" if record.retired_at is not None else "superseded" * bool(record.superseded_by)
    return Listed(record, gone or ("doubtful" if since is not None else "current"), by, since)


def _neighbour(turn: Neighbour) -> Json:
    return {**asdict(turn), "when": rendering.iso(turn.when)}


class SkippedOut(BaseModel):
    """A turn that was not stored, and why."""

    text: str
    reason: str
    of: str


class ObservationOut(BaseModel):
    """What became of a turn, and with `recall` what it brings to mind."""

    receipt: ReceiptOut | None
    skipped: list[SkippedOut]
    recalled: RecollectionOut | None = None


def observation(done: Observation, *, reader: bool) -> Json:
    """An observation; whose caller may not read is not told of what an echo repeats."""
    skipped = [asdict(each) | ({} if reader else {"of": ""}) for each in done.skipped]
    return {
        "receipt": None if done.receipt is None else receipt(done.receipt),
        "skipped": skipped,
    }


class ExtractionOut(BaseModel):
    """The stored text, and the facts that a language model extracted from it."""

    receipt: ReceiptOut
    facts: list[StoredMemory]
    ids: list[str]
    count: int
    note: str


class RemovedOut(BaseModel):
    """A memory that is or would be removed."""

    id: str
    text: str
    when: str


class ForgetOut(BaseModel):
    """What was forgotten, or would be."""

    status: Literal["preview", "forgotten"]
    removed: list[RemovedOut]
    derived: list[RemovedOut]
    note: str


def forgotten(done: ForgetReport) -> Json:
    """A report of forgetting."""
    return {
        "status": done.status,
        "removed": [{**asdict(r), "when": rendering.iso(r.when)} for r in done.removed],
        "derived": [{**asdict(r), "when": rendering.iso(r.when)} for r in done.derived],
        "note": done.note,
    }


class RunStep(BaseModel):
    """One step of a run."""

    name: str
    changed: int
    detail: str


class RunSummary(BaseModel):
    """A summary that a run wrote, and its sources."""

    id: str
    text: str
    derived_from: list[str]


class ContradictionOut(BaseModel):
    """Two memories that cannot both hold, older first, and who said which."""

    older: str
    newer: str
    relation: str
    subject: str
    detail: str
    agents: list[str]


class RunOut(BaseModel):
    """A consolidation run. `running`: it goes on; ask again, or see GET /runs."""

    run: str
    status: Literal["completed", "preview", "undone", "failed", "running"]
    steps: list[RunStep]
    summaries: list[RunSummary]
    contradictions: list[ContradictionOut]
    retired: list[str]
    kept: list[str]
    note: str


def run(done: RunReport) -> Json:
    """A report of a run."""
    return asdict(done)


class RunEntryOut(BaseModel):
    """One run in the list; `at` is when its state changed last."""

    run: str
    state: str
    mode: str
    agent: str
    at: str
    scheduled: bool
    steps: list[tuple[str, int]]
    summaries: list[str]
    retired: list[str]
    why: str


class RunPage(BaseModel):
    """Some runs, newest first, and the `cursor` of the next ones."""

    runs: list[RunEntryOut]
    next: str


class DoubtOut(BaseModel):
    """A memory that a later one may put out of date, and why; `part` if only that of it."""

    older: StoredMemory
    newer: StoredMemory
    reason: str
    part: str


class DoubtList(BaseModel):
    """The pairs that nobody has decided, that said last first."""

    pairs: list[DoubtOut]
    count: int
    notice: str


def doubts(pairs: Sequence[DoubtfulPair]) -> Json:
    """Pairs in doubt."""
    shown = [
        {
            "older": memory(_listed(pair.older, pair.newer.id, pair.newer.occurred_at)),
            "newer": memory(_listed(pair.newer, "", None)),
            "reason": pair.reason,
            "part": pair.part,
        }
        for pair in pairs
    ]
    return {"pairs": shown, "count": len(shown), "notice": schemas.NOTICE}


class DecidedOut(BaseModel):
    """What a decision did, in words."""

    done: str


class CountedName(BaseModel):
    """A name, how many memories have it, and when the first and the last of them happened."""

    name: str
    memories: int
    first: str
    last: str


class NamePage(BaseModel):
    """Some names, the most frequent first, and the `cursor` of the next ones."""

    names: list[CountedName]
    next: str


class NodeOut(BaseModel):
    """A topic, a memory by its text, or a name; `key` is the id of a memory."""

    key: str
    type: Literal["topic", "summary", "episode", "entity"]
    label: str
    size: int


class TieOut(BaseModel):
    """What ties two nodes: their topics, a topic to its memory, a summary to its source, a name."""

    a: str
    b: str
    relation: Literal["tied", "holds", "derived", "names"]
    weight: float


class MemoryGraphOut(BaseModel):
    """At most 500 nodes by type, the weightiest first, and the ties between them."""

    nodes: list[NodeOut]
    ties: list[TieOut]
    notice: str


class TopicNodeOut(BaseModel):
    """A topic."""

    label: str
    members: int
    kinds: dict[str, int]


class TopicEdgeOut(BaseModel):
    """What ties two topics."""

    a: str
    b: str
    relation: Literal["co_occurs", "recalled_together", "derived", "abstracted"]
    weight: float


class GraphOut(BaseModel):
    """Topics, the largest first, and their edges, the heaviest first."""

    nodes: list[TopicNodeOut]
    edges: list[TopicEdgeOut]


class PairOut(BaseModel):
    """A turn and its answer."""

    user: StoredMemory
    agent: StoredMemory
    importance: float
    access_count: int
    topic: str


class PairList(BaseModel):
    """Pairs, newest first."""

    pairs: list[PairOut]
    notice: str


class StateOut(BaseModel):
    """An agent: counts, the newest memories of each tier, its hot buffer, pairs and the graph."""

    agent: str
    counts: Json
    tiers: dict[str, list[StoredMemory]]
    hot: list[str]
    pairs: list[PairOut]
    graph: GraphOut
    notice: str


class StatsOut(BaseModel):
    """Counts of the live memories that the caller may read."""

    memories: int
    by_kind: dict[str, int]
    by_tier: dict[str, int]
    by_scope: dict[str, int]
    by_agent: dict[str, int]
    by_importance: dict[str, int]
    topics: int
    sessions: int
    edges: int
    mean_importance: float
    mean_access: float


class SpanOut(BaseModel):
    """The memories of one day, week or month."""

    start: str
    memories: int
    by_kind: dict[str, int]
    by_tier: dict[str, int]


class TimelineOut(BaseModel):
    """Days, weeks or months with memories, oldest first."""

    spans: list[SpanOut]


class JobsOut(BaseModel):
    """The jobs of the language model; `in_flight` runs now."""

    in_flight: int
    queued: int
    running: int
    failed: int
    by_name: dict[str, Json]


class MetaOut(BaseModel):
    """The version of the program and who the caller is."""

    version: str
    agent: str
    team: str
    rights: list[str]


class ClearedOut(BaseModel):
    """How many memories were deleted."""

    deleted: int
    status: Literal["cleared"]
