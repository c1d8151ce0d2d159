"""How sure a recall may be of what it found: the evidence that the confidence is calibrated on.

Call inside store.reading().
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory_core import attachment
from memory_core.evidence import Candidates, Question
from memory_core.scoring import metamemory
from memory_core.storage.columns import Columns
from memory_core.storage.lexical_index import Match, analyse
from memory_core.text import periods
from memory_core.text.entities import entities

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

LOOKED_AT = 5
"""Of the best candidates that many are looked at for the words of the question."""

FEW = 20
"""Among fewer candidates the lead of the best says nothing."""

SPEAKING = frozenset({"temporal", "facts"})
"""Parts of a score that speak for a memory which neither meaning nor words reach."""

UNRELATED = 0.2
"""Cosine under which a memory without a word of the question, in it or near it, is no answer.

No evidence in the first ten is lost by it: none of 1,101 on LoCoMo and the project's dialogue.
"""


def judge(columns: Columns, asked: Question, found: Candidates, folded: Rows) -> float:
    """The calibrated confidence (0-1) that the best candidates answer the question.

    *folded* are the places of those that another candidate stands for.
    """
    filters = attachment.narrowing(columns, asked.cues)
    if asked.cues.period or (filters and periods.asks_anything(asked.cues.query)):
        return metamemory.FILTERED
    return metamemory.confidence(measure(asked, found, folded))


def measure(asked: Question, found: Candidates, folded: Rows) -> metamemory.Evidence:
    """What the confidence rests on; the lead is that over other things said, not over *folded*."""
    best = np.argsort(-found.score, kind="stable")
    best = best[~np.isin(best, folded)]
    cosines = np.concatenate([found.passage, found.whole])
    known = cosines[~np.isnan(cosines)]
    lead = float(found.score[best[0]] - found.score[best[min(9, len(best) - 1)]])
    return metamemory.Evidence(
        cosine=float(known.max()) if len(known) else float("nan"),
        coverage=_coverage(asked, found, best[:LOOKED_AT]),
        lead=lead if len(best) >= FEW else float("nan"),
    )


def supported(columns: Columns, asked: Question, found: Candidates) -> Mask:
    """True for each candidate that something speaks for: meaning, words, its time, the turn of a
    dialogue that it stands beside, or a link.

    Whatever passes a filter that was asked for is spoken for.
    """
    if attachment.narrowing(columns, asked.cues) or periods.asks_anything(asked.cues.query):
        return np.ones(len(found.rows), np.bool_)
    near = np.fmax(np.nan_to_num(found.passage, nan=-1.0), np.nan_to_num(found.whole, nan=-1.0))
    speaks: Mask = (near >= UNRELATED) | (found.nearby > 0)
    for name in SPEAKING & found.added.keys():
        speaks |= found.added[name] > 0
    around = [(at >= 0) & speaks[at] for at in found.neighbours.values()]
    speaks = np.any([speaks, *around], axis=0)
    spoken = set(found.rows[speaks].tolist())
    linked = [row for row, link in found.links.items() if link.source in spoken]
    return speaks | np.isin(found.rows, linked)


def _coverage(asked: Question, found: Candidates, best: Rows) -> float:
    """The largest share of the question's words that one of the *best*, or a turn near it, holds.

    By rarity. Names that the store knows do not count: they say who is asked about, not what, and
    whoever is often spoken of would seem to be known in everything.
    """
    words = asked.words
    if words.ideal <= 0 or not words.held:
        return 0.0
    places = np.stack([best, *(each[best] for each in found.neighbours.values())])
    rows = np.unique(found.rows[places[places >= 0]])
    holds = words.terms(rows) > 0
    at = np.searchsorted(rows, found.rows[np.maximum(places, 0)])
    near = (holds[:, at] & (places >= 0)).any(axis=1)  # terms x best
    counted = ~_named(asked.cues.query, words)
    whole = words.ideal - float(words.rarity[~counted].sum())
    if whole <= 1e-6:  # nothing but names is asked about
        counted, whole = np.ones_like(counted), words.ideal
    covered = (words.rarity * counted) @ near
    return min(1.0, float(covered.max()) / whole)


def _named(query: str, words: Match) -> Mask:
    """Which of the terms that occur belong to a name in the *query*."""
    named = {term for name in entities(query) for term in analyse(name)}
    return np.array([term in named for term in words.held], np.bool_)
