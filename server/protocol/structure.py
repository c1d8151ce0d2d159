"""The structured channel of an answer; the text channel is rendered from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memory_core.errors import NotFound
from memory_core.records import (
    PROJECT,
    TRUSTS,
    UNDOUBTED,
    Doubted,
    DoubtfulPair,
    ForgetReport,
    HealthReport,
    Hit,
    Identity,
    MemoryRecord,
    Neighbour,
    Receipt,
    Recollection,
    Removal,
    RunReport,
    Summary,
)
from memory_core.text import roles
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

if TYPE_CHECKING:
    from memory_core.memory import Memory

CHARS_PER_TOKEN = 4

LISTED_IDS = 20
"""Ids that an answer lists; of more it gives the count, and the link where all of them are."""
EXPLAINED_TOKENS = 4_000
"""The default budget of an explained recall, whose memories have every field."""
STRONG = 0.6
"""Arousal above which emotions, valence and arousal are shown. Arousal measures strength; valence
passes 0.6 also for plain texts with a few mildly pleasant words."""
Serving = Callable[[], Mapping[str, Any]]
"""Says what process answers: {"shared": True, ...} in an engine, which clients share."""


def unshared() -> Mapping[str, Any]:
    """What a process says that is no engine."""
    return {"shared": False}


COUNTED = 20
"""Agents, or other names, that a health report lists with a count each."""


def recalled(record: MemoryRecord, now: float, doubted: Doubted = UNDOUBTED) -> schemas.Recalled:
    """*record* with all that is known of it, and by what it is *doubted*.

    Without score, neighbours and reasons.
    """
    strong = record.arousal > STRONG
    many = len(record.derived_from) > LISTED_IDS
    return schemas.Recalled(
        id=record.id,
        text=record.text,
        gist="" if record.gist == record.text else record.gist,
        kind=record.kind,
        speaker=voice(record),
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
        doubted_by=doubted.by,
        doubtful_since=_day(doubted.since),
        in_part=True if doubted.in_part else None,
        derived_from=[] if many else list(record.derived_from),
        sources=_counted_sources(record.id, record.derived_from) if many else "",
    )


def _counted_sources(id: str, sources: Sequence[str]) -> str:
    where = f", listed in memory://item/{id}" if id else ""
    return f"{len(sources)} memories{where}"


def brief(record: MemoryRecord, doubted: Doubted = UNDOUBTED) -> schemas.Recalled:
    """*record* as recall shows it by default: its id, text and day, and what is not ordinary.

    Ordinary is what the user said, in private, as an episode. Told are another kind, another
    speaker, another scope with its agent, a trust below that of an agent with the source, the
    project in which it was said, and that it is out of date or may be.
    """
    foreign = TRUSTS.index(record.trust) > TRUSTS.index("agent")
    return schemas.Recalled(
        id=record.id,
        text=record.text,
        kind="" if record.kind == "episode" else record.kind,
        speaker=_other_voice(record.speaker or record.role),
        when=_day(record.occurred_at),
        scope="" if record.visibility == "private" else record.visibility,
        agent="" if record.visibility == "private" else record.agent,
        trust=record.trust if foreign else "",
        source=record.source if foreign else "",
        tags=[tag for tag in record.tags if tag.startswith(PROJECT)],
        superseded_by=record.superseded_by,
        doubted_by=doubted.by,
        doubtful_since=_day(doubted.since),
        in_part=True if doubted.in_part else None,
    )


def voice(record: MemoryRecord) -> str:
    """The speaker of *record*; without one, what it is if not the user."""
    return record.speaker or _other_voice(record.role)


def _other_voice(speaker: str) -> str:
    """*speaker*, or "" where that is a word for the user."""
    return "" if roles.role_of(speaker) == "user" else speaker


def _day(moment: float | None) -> str:
    """The day of *moment*, as 2024-05-07; "" when unset."""
    return rendering.day(moment)


def unranked(records: Sequence[MemoryRecord], doubted: Mapping[str, Doubted]) -> Recollection:
    """A recollection of *records* in their order, with what is *doubted* of them by id."""
    hits = tuple(Hit(each, 0.0, (), (), {}, *doubted.get(each.id, UNDOUBTED)) for each in records)
    if not hits:
        return Recollection(False, 0.0, "none")
    return Recollection(True, 1.0, "high", hits)


def recollection(
    found: Recollection, now: float, max_tokens: int, *, full: bool = False
) -> Structure:
    """The structure of a recall answer, at most *max_tokens* x 4 characters in each channel.

    Each memory is brief, or *full*, with every field that is not empty.
    """
    return fit_recall(_recollection(found, now, full=full), max_tokens * CHARS_PER_TOKEN)


def whole(found: Recollection, now: float) -> Structure:
    """The structure of a memory that was recalled by its id, full, its text never clipped.

    Its neighbours are included when all of them fit.
    """
    answer = _recollection(found, now, full=True)
    if fits(answer, schemas.MAX_TOKENS * CHARS_PER_TOKEN, rendering.recall):
        return answer
    alone = tuple(replace(hit, before=(), after=()) for hit in found.hits)
    return _recollection(replace(found, hits=alone), now, full=True)


def _recollection(found: Recollection, now: float, *, full: bool) -> Structure:
    shown = found.hits or found.partial or found.recent or found.rejected
    seen = {hit.memory.id for hit in (*found.hits, *found.partial)}
    seen.update(turn.id for turn in found.recent if turn.id)
    answer = schemas.RecallResult(
        found=found.found,
        confidence=round(found.confidence, 3),
        feeling=found.feeling,
        memories=[_hit(hit, now, seen, full=full) for hit in found.hits],
        recent=[_turn(turn, full=full) for turn in found.recent],
        partial=[_hit(hit, now, seen, full=full) for hit in found.partial],
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


Says = Callable[[str], str]
"""What the memory of an id says; "" for one that the caller may not read."""


def says(memory: Memory, who: Identity) -> Says:
    """What the memories say that *who* may read."""

    def text(id: str) -> str:
        try:
            return memory.get(who, id).text if who.reader else ""
        except NotFound:
            return ""

    return text


def run_report(done: RunReport, text: Says) -> Structure:
    """The structure of a consolidate answer, at most DEFAULT_CHARS in each channel.

    What it names by an id is shown with its *text*.
    """
    ids = {"retired": done.retired, "kept": done.kept}
    long = (f"{name}: {len(of)} in all" for name, of in ids.items() if len(of) > LISTED_IDS)
    answer = schemas.ConsolidateResult(
        run=done.run,
        status=done.status,
        steps=[
            schemas.StepDone(name=s.name, changed=s.changed, detail=s.detail) for s in done.steps
        ],
        summaries=[_new_summary(s) for s in done.summaries],
        contradictions=[
            schemas.Disputed(
                ids=[c.older, c.newer],
                texts=[clip(said, CLIP_TO, id) for id in (c.older, c.newer) if (said := text(id))],
                relation=c.relation,
                subject=c.subject,
                detail=c.detail,
                agents=[agent for agent in c.agents if agent],
            )
            for c in done.contradictions
        ],
        retired=[
            schemas.Named(id=id, text=clip(text(id), CLIP_TO, id))
            for id in done.retired[:LISTED_IDS]
        ],
        kept=list(done.kept[:LISTED_IDS]),
        notice=schemas.NOTICE if done.summaries or done.contradictions or done.retired else "",
        note="; ".join(filter(None, (done.note, *long))),
    )
    lists = ("kept", "retired", "contradictions", "summaries")
    return fit_lists(schemas.compact(answer), lists, rendering.consolidate)


def _new_summary(summary: Summary) -> schemas.Named:
    many = len(summary.derived_from) > LISTED_IDS
    return schemas.Named(
        id=summary.id,
        text=summary.text,
        derived_from=[] if many else list(summary.derived_from),
        sources=_counted_sources(summary.id, summary.derived_from) if many else "",
    )


def doubtful_pairs(pairs: Sequence[DoubtfulPair], now: float) -> list[Structure]:
    """The pairs of a review: both memories as recall shows them, why, and which part if not all."""
    return [
        {"older": _listed(pair.older, now), "newer": _listed(pair.newer, now)}
        | ({"reason": pair.reason} if pair.reason else {})
        | ({"part": pair.part} if pair.part else {})
        for pair in pairs
    ]


def _listed(record: MemoryRecord, now: float) -> Structure:
    """All that is known of *record*."""
    return schemas.compact(recalled(record, now))


def forget_report(done: ForgetReport) -> Structure:
    """The structure of a forget answer, at most DEFAULT_CHARS in each channel.

    Where not all that goes fits, the note says how many there are.
    """
    answer = schemas.ForgetResult(
        status=done.status,
        removed=[_removed(each) for each in done.removed],
        derived=[_removed(each) for each in done.derived],
        notice=schemas.NOTICE if done.removed or done.derived else "",
        note=done.note,
    )
    whole = schemas.compact(answer)
    if not fits(whole, DEFAULT_CHARS, rendering.forget):
        total = f"{len(done.removed) + len(done.derived)} memories in all"
        whole["note"] = "; ".join(filter(None, (total, done.note)))
    return fit_lists(whole, ("derived", "removed"), rendering.forget)


def _removed(each: Removal) -> schemas.Removed:
    return schemas.Removed(id=each.id, text=each.text, when=_day(each.when))


def health_report(
    report: HealthReport, engine: Mapping[str, Any] = MappingProxyType({})
) -> Structure:
    """The structure of a health answer, with the COUNTED largest numbers of each count.

    *engine* says which process made it, and that clients share it or that none does; {} says
    nothing.
    """
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
        engine=dict(engine),
    )
    return schemas.compact(answer)


def _largest(counts: Any) -> Any:
    """*counts* with its COUNTED largest numbers, and the sum of the rest as "others"."""
    if not isinstance(counts, Mapping) or len(counts) <= COUNTED:
        return counts
    order = sorted(counts, key=lambda name: -counts[name])
    others = sum(counts[name] for name in order[COUNTED:])
    return {**{name: counts[name] for name in order[:COUNTED]}, "others": others}


def _hit(hit: Hit, now: float, seen: set[str], *, full: bool) -> schemas.Recalled:
    """*hit* with those of its neighbours that are not *seen* yet; they are from then on."""
    doubted = Doubted(hit.doubted_by, hit.doubtful_since, hit.in_part)
    shown = recalled(hit.memory, now, doubted) if full else brief(hit.memory, doubted)
    shown.before = [_turn(turn, full=full) for turn in hit.before if turn.id not in seen]
    shown.after = [_turn(turn, full=full) for turn in hit.after if turn.id not in seen]
    seen.update(turn.id for turn in (*hit.before, *hit.after) if turn.id)
    if full:
        shown.score = round(hit.score, 3)
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


def _turn(turn: Neighbour, *, full: bool) -> schemas.NearbyTurn:
    speaker = turn.speaker if full else _other_voice(turn.speaker)
    return schemas.NearbyTurn(id=turn.id, speaker=speaker, text=turn.text)
