"""The structured channel of an answer; the text channel is rendered from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_core.records import (
    DoubtfulPair,
    ForgetReport,
    HealthReport,
    Hit,
    MemoryRecord,
    Neighbour,
    Receipt,
    Recollection,
    RunReport,
)
from server.protocol import rendering, schemas
from server.protocol.budget import (
    CLIP_TO,
    DEFAULT_CHARS,
    Structure,
    clip,
    fit_lists,
    fit_recall,
    fits,
)

CHARS_PER_TOKEN = 4

STRONG = 0.6
"""Arousal above which emotions, valence and arousal are shown. Arousal measures strength; valence
passes 0.6 also for plain texts with a few mildly pleasant words."""
COUNTED = 20
"""Agents, or other names, that a health report lists with a count each."""


def recalled(
    record: MemoryRecord, now: float, doubted: tuple[str, float | None] = ("", None)
) -> schemas.Recalled:
    """*record* as recall shows it, without score, neighbours and reasons.

    *doubted*: the id of the memory that may put it out of date, and when that was said.
    """
    strong = record.arousal > STRONG
    return schemas.Recalled(
        id=record.id,
        text=record.text,
        gist="" if record.gist == record.text else record.gist,
        kind=record.kind,
        speaker=record.speaker,
        session=record.session,
        when=rendering.iso(record.occurred_at),
        age=rendering.age(record.occurred_at, now),
        scope=record.scope,
        source=record.source,
        trust=record.trust,
        tags=list(record.tags),
        importance=round(record.importance, 3),
        topic=record.topic,
        entities=list(record.entities),
        emotions=list(record.emotions) if strong else [],
        affect=f"valence {record.valence:+.2f}, arousal {record.arousal:.2f}" if strong else "",
        agent="" if record.visibility == "private" else record.agent,
        superseded_by=record.superseded_by,
        doubted_by=doubted[0],
        doubtful_since=rendering.iso(doubted[1]),
        derived_from=list(record.derived_from),
    )


def unranked(
    records: Sequence[MemoryRecord], doubted: Mapping[str, tuple[str, float]]
) -> Recollection:
    """A recollection of *records* in their order, with what is *doubted* of them by id."""
    hits = tuple(Hit(each, 0.0, (), (), {}, *doubted.get(each.id, ("", None))) for each in records)
    return Recollection(bool(hits), 1.0, "high" if hits else "none", hits)


def recollection(found: Recollection, now: float, max_tokens: int) -> Structure:
    """The structure of a recall answer, at most *max_tokens* x 4 characters in each channel."""
    return fit_recall(_recollection(found, now), max_tokens * CHARS_PER_TOKEN)


def whole(found: Recollection, now: float) -> Structure:
    """The structure of a memory that was recalled by its id, its text never clipped.

    Its neighbours are included when all of them fit.
    """
    answer = _recollection(found, now)
    if fits(answer, schemas.MAX_TOKENS * CHARS_PER_TOKEN, rendering.recall):
        return answer
    alone = tuple(replace(hit, before=(), after=()) for hit in found.hits)
    return _recollection(replace(found, hits=alone), now)


def _recollection(found: Recollection, now: float) -> Structure:
    shown = found.hits or found.partial or found.recent or found.rejected
    answer = schemas.RecallResult(
        found=found.found,
        confidence=round(found.confidence, 3),
        feeling=found.feeling,
        memories=[_hit(hit, now) for hit in found.hits],
        recent=[_turn(turn) for turn in found.recent],
        partial=[_hit(hit, now) for hit in found.partial],
        rejected=[_rejected(hit) for hit in found.rejected],
        notice=schemas.NOTICE if shown else "",
        note=found.note,
    )
    return schemas.compact(answer)


def receipt(done: Receipt, warnings: Sequence[str] = ()) -> Structure:
    """The structure of a remember answer, at most DEFAULT_CHARS in each channel."""
    answer = _receipt(done, warnings, CLIP_TO)
    return (
        answer
        if fits(answer, DEFAULT_CHARS, rendering.remember)
        else _receipt(done, warnings, CLIP_TO // 4)  # texts of what JSON has to escape
    )


def _receipt(done: Receipt, warnings: Sequence[str], limit: int) -> Structure:
    answer = schemas.RememberResult(
        id=done.id,
        status=done.status,
        kind=done.kind,
        importance=round(done.importance, 3),
        gist=clip(done.gist, 2 * limit, done.id),
        similar=[
            schemas.SimilarMemory(id=s.id, text=clip(s.text, limit, s.id), relation=s.relation)
            for s in done.similar
        ],
        replaced=list(done.replaced),
        warnings=[*done.warnings, *warnings],
        notice=schemas.NOTICE if done.similar else "",
    )
    return schemas.compact(answer)


def run_report(done: RunReport) -> Structure:
    """The structure of a consolidate answer, at most DEFAULT_CHARS in each channel."""
    answer = schemas.ConsolidateResult(
        run=done.run,
        status=done.status,
        steps=[
            schemas.StepDone(name=s.name, changed=s.changed, detail=s.detail) for s in done.steps
        ],
        summaries=[
            schemas.NewSummary(id=s.id, text=s.text, derived_from=list(s.derived_from))
            for s in done.summaries
        ],
        contradictions=[
            schemas.Contradicting(
                ids=[c.older, c.newer],
                relation=c.relation,
                subject=c.subject,
                detail=c.detail,
                agents=[agent for agent in c.agents if agent],
            )
            for c in done.contradictions
        ],
        retired=list(done.retired),
        kept=list(done.kept),
        notice=schemas.NOTICE if done.summaries or done.contradictions else "",
        note=done.note,
    )
    lists = ("kept", "retired", "contradictions", "summaries")
    return fit_lists(schemas.compact(answer), lists, rendering.consolidate)


def doubtful_pairs(pairs: Sequence[DoubtfulPair], now: float) -> list[Structure]:
    """The pairs of a review: both memories as recall shows them, and the words of change."""
    return [
        {"older": _listed(pair.older, now), "newer": _listed(pair.newer, now)}
        | ({"reason": pair.reason} if pair.reason else {})
        for pair in pairs
    ]


def _listed(record: MemoryRecord, now: float) -> Structure:
    """*record* without what only a recall has."""
    shown = schemas.compact(recalled(record, now))
    del shown["score"]
    return shown


def forget_report(done: ForgetReport) -> Structure:
    """The structure of a forget answer, at most DEFAULT_CHARS in each channel."""
    answer = schemas.ForgetResult(
        status=done.status,
        removed=[schemas.Removed(id=r.id, text=r.text) for r in done.removed],
        derived=[schemas.Removed(id=r.id, text=r.text) for r in done.derived],
        notice=schemas.NOTICE if done.removed or done.derived else "",
        note=done.note,
    )
    return fit_lists(schemas.compact(answer), ("derived", "removed"), rendering.forget)


def health_report(report: HealthReport) -> Structure:
    """The structure of a health answer, with the COUNTED largest numbers of each count."""
    answer = schemas.HealthResult(
        status=report.status,
        checks=[
            schemas.CheckDone(
                name=c.name,
                status=c.status,
                detail=c.detail,
                fix=c.fix,
            )
            for c in report.checks
        ],
        counts={name: _largest(value) for name, value in report.counts.items()},
        storage=dict(report.storage),
        model=dict(report.model),
        encoder=dict(report.encoder),
        jobs=dict(report.jobs),
        last_run=dict(report.last_run),
        versions=dict(report.versions),
    )
    return schemas.compact(answer)


def _largest(counts: Any) -> Any:
    """*counts* with its COUNTED largest numbers, and the sum of the rest as "others"."""
    if not isinstance(counts, Mapping) or len(counts) <= COUNTED:
        return counts
    order = sorted(counts, key=lambda name: -counts[name])
    others = sum(counts[name] for name in order[COUNTED:])
    return {**{name: counts[name] for name in order[:COUNTED]}, "others": others}


def _hit(hit: Hit, now: float) -> schemas.Recalled:
    shown = recalled(hit.memory, now, (hit.doubted_by, hit.doubtful_since))
    shown.score = round(hit.score, 3)
    shown.before = [_turn(turn) for turn in hit.before]
    shown.after = [_turn(turn) for turn in hit.after]
    shown.why = _why(hit)
    return shown


def _rejected(hit: Hit) -> schemas.RejectedHit:
    text = clip(hit.memory.text, CLIP_TO, hit.memory.id)
    return schemas.RejectedHit(
        id=hit.memory.id, text=text, score=round(hit.score, 3), why=_why(hit)
    )


def _why(hit: Hit) -> dict[str, float | str]:
    return {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in hit.why.items()
    }


def _turn(turn: Neighbour) -> schemas.NearbyTurn:
    return schemas.NearbyTurn(id=turn.id, speaker=turn.speaker, text=turn.text)
