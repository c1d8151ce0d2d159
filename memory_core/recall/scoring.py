"""The evidence for each candidate of a recall, and the score that it makes: fuse and spread.

The order is that of the measured recipe (docs/internals/recall.md): vectors and words are fused,
what is fused spreads along the thread and over the session, and the role, the dates and, within its
bound, cognition are added. Call inside store.reading().
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_core.config import Settings
from memory_core.lifecycle import retention
from memory_core.lifecycle.working_memory import Mind
from memory_core.recall.evidence import Candidates, similarities
from memory_core.recall.query import Question
from memory_core.recall.signals import cognitive, facts
from memory_core.records import KINDS, ROLES
from memory_core.scoring import activation, decay, fusion
from memory_core.scoring.arrays import Rows, Scores
from memory_core.storage.index.columns import Columns
from memory_core.storage.store import MemoryStore
from memory_core.text.time import dates

OFFSETS = tuple(activation.KERNEL)
"""Thread neighbours that join the candidates and take part in the kernel."""

DATED = 1 / 3
"""Temporal match of a text that names a date, when the question asks for one and names none.

Measured: LoCoMo recall@1 / @10 48.4 / 85.3 to 48.9 / 85.4, the dialogue @10 84.5 to 85.4."""

ORDER = 0.5
"""What the latest of the candidates has before the oldest, when the latest is asked for; reversed
for the first. Measured: LoCoMo recall@10 85.4 to 85.6, nothing else moves."""

STANDING = 2.0
"""What a standing wish of the user ("always show units", "I prefer short answers") has before
others when help is asked for, as much as what a user says has before an answer of 600 words.
Measured on BEAM: recall@1 / @5 / @10 +4.3 / +3.8 / +2.5; LoCoMo stays as it is."""

ELSEWHERE = 1.0
"""What a turn has less in a conversation in which nobody speaks whom the question names. Where
everybody speaks everywhere it changes nothing. Measured on LoCoMo with all conversations in one
store: recall@10 83.4 to 84.4, with 0.5 84.0."""

DERIVED_PRIOR = 0.5
"""Share of the prior that summaries and concepts get: nobody said them, and before their sources
they only take places. Measured on the dialogue after one sleep: recall@10 is 82.7; 1.0 gives 81.4,
and 0.0 gives 83.0, but then a broad question no longer finds the summary."""

DOCUMENT_WORDS = 60
"""Turns of a thread without speakers that are longer than this on average are parts of a text."""

_ASSISTANT = ROLES.index("assistant")
_DERIVED = [KINDS.index("summary"), KINDS.index("concept")]


def weigh(
    store: MemoryStore, settings: Settings, asked: Question, rows: Rows, now: float
) -> Candidates:
    """The evidence for each of *rows*, ascending and at least one, as of epoch seconds *now*."""
    talks = _in_dialogue(store.columns, rows)
    neighbours = {
        offset: np.where(talks, _index_of(rows, store.columns.neighbours_many(rows, offset)), -1)
        for offset in OFFSETS
    }
    passage, whole = (similarities(store, asked, rows, part) for part in ("passage", "whole"))
    lexical = asked.words.scores[rows].astype(np.float64)
    exact = activation.nearby_words(asked.words.terms(rows), neighbours)
    nearby = activation.nearby_words(asked.words.meant(rows), neighbours)
    trust, weights = _trust(asked, exact), settings.recall
    fused = fusion.fuse(
        [
            (weights.passage_weight, passage),
            (weights.whole_weight, whole),
            (weights.lexical_weight * trust, nearby),
        ]
    )
    added = _spread(store, settings, asked, fused, rows, neighbours)
    added["temporal"] = weights.temporal_weight * _temporal(store, asked, rows)
    if asked.named:
        added["elsewhere"] = -ELSEWHERE * _elsewhere(store.columns, asked, rows)
    if asked.standing is not None:
        added["standing"] = STANDING * asked.standing[rows].astype(np.float64)
    if asked.order:
        added["order"] = ORDER * asked.order * _lateness(store.columns, rows)
    by_facts = facts.lent(store, asked, rows, whole, lexical)
    if by_facts is not None:
        added["facts"] = weights.fact_weight * by_facts
    score = fused + sum(added.values())
    added["cognition"] = _cognition(store, settings, rows, score, asked.cues.mind, now)
    score = score + added["cognition"]
    signals = (passage, whole, lexical, nearby, trust)
    return Candidates(rows, *signals, fused, added, score, neighbours)


def _in_dialogue(columns: Columns, rows: Rows) -> NDArray[np.bool_]:
    """True for rows whose thread is a dialogue, not a document in parts or a list of notes.

    A dialogue has two voices (speaker and role) among the candidates. Where nobody says who speaks,
    short turns of which some ask a question are taken for one.
    """
    thread, group = np.unique(columns.thread[rows], return_inverse=True)
    voice = columns.speaker[rows].astype(np.int64) * len(ROLES) + columns.role[rows]
    low = np.full(len(thread), np.iinfo(np.int64).max)
    high = np.full(len(thread), -1)
    np.minimum.at(low, group, voice)
    np.maximum.at(high, group, voice)
    words = np.bincount(group, weights=columns.words[rows]) / np.bincount(group)
    asks = np.bincount(group, weights=columns.question[rows]) > 0
    unnamed = (high == 0) & asks & (words < DOCUMENT_WORDS)
    talks: NDArray[np.bool_] = ((high > low) | unnamed)[group]
    return talks


def _trust(asked: Question, exact: Scores) -> float:
    """What words weigh; all of it while there are no vectors to set against them.

    Words near those of the question (*exact* has none) do not vouch for themselves.
    """
    if asked.vector is None or asked.words.ideal <= 0:
        return 1.0
    return fusion.trust_in_words(float(exact.max()) / asked.words.ideal)


def _spread(
    store: MemoryStore,
    settings: Settings,
    asked: Question,
    fused: Scores,
    rows: Rows,
    neighbours: dict[int, Rows],
) -> dict[str, Scores]:
    columns, weights = store.columns, settings.recall
    words, asks = columns.words[rows], columns.question[rows]
    kernel = activation.thread_kernel(fused, neighbours, words, asks)
    session = activation.session_term(fused, columns.thread[rows])
    told = 0.0 if asked.answered else weights.user_prior
    prior = np.where(columns.role[rows] == _ASSISTANT, 0.0, told)
    prior *= np.where(np.isin(columns.kind[rows], _DERIVED), DERIVED_PRIOR, 1.0)
    return {
        "thread": kernel - fused,
        "session": weights.session_weight * session,
        "role": prior,
        "asks": np.where(asks, -activation.ASKS * activation.length_gate(words), 0.0),
    }


def _temporal(store: MemoryStore, asked: Question, rows: Rows) -> Scores:
    columns, cue = store.columns, asked.dates
    result = np.zeros(len(rows))
    if not cue:
        if asked.asks_when:
            result[[bool(columns.dates(row)) for row in rows.tolist()]] = DATED
        return result
    known: dict[tuple[int, tuple[str, ...]], float] = {}  # turns of a day are alike
    for index, row in enumerate(rows.tolist()):
        at, named = float(columns.occurred_at[row]), columns.dates(row)
        key = int(at // decay.DAY), named
        if key not in known:
            known[key] = dates.temporal_match(cue, at, named)
        result[index] = known[key]
    return result


def _elsewhere(columns: Columns, asked: Question, rows: Rows) -> Scores:
    """1 for each of *rows* in a conversation without anybody whom the question names."""
    theirs = np.isin(columns.speaker, list(asked.named))
    threads = columns.thread[rows]
    without = (threads >= 0) & ~np.isin(threads, columns.thread[theirs])
    return without.astype(np.float64)


def _lateness(columns: Columns, rows: Rows) -> Scores:
    """0 for the oldest of *rows*, 1 for the latest; the moments between at equal distances."""
    moments, place = np.unique(columns.occurred_at[rows], return_inverse=True)
    return np.asarray(place / max(1, len(moments) - 1), dtype=np.float64)


def _cognition(
    store: MemoryStore, settings: Settings, rows: Rows, score: Scores, mind: Mind, now: float
) -> Scores:
    """What retention, importance and priming may move: a share of the scores' spread (rule 4).

    Direct hits and what spreading brought are treated alike (seed row B3.7).
    """
    spread = float(score.max() - score.min())
    retained = retention.of_rows(store.columns, rows, settings.decay, now)
    liking = cognitive.liking(store, rows, retained, mind)
    return settings.recall.cognition_bound * spread * liking


def _index_of(rows: Rows, wanted: Rows) -> Rows:
    """Where each of *wanted* stands in the ascending *rows*; -1 when it is not there."""
    places = np.clip(np.searchsorted(rows, wanted), 0, len(rows) - 1)
    return np.where((wanted >= 0) & (rows[places] == wanted), places, -1)
