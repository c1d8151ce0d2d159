"""How sure a recall may be of what it found: the evidence that the confidence is calibrated on.

Call inside store.reading().
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from memory_core.recall import query as query_module
from memory_core.recall.evidence import Candidates, similarities
from memory_core.recall.query import Question
from memory_core.scoring import calibration
from memory_core.scoring.arrays import Mask, Rows
from memory_core.storage.index.columns import Columns
from memory_core.storage.index.vector_entries import Part
from memory_core.storage.store import MemoryStore
from memory_core.text import question
from memory_core.text.words import CJK, FILLER_WORDS, GERMAN_STOPWORDS, STOPWORDS, WORD, listed

Content = tuple[Mask, float]

NOTHING = 1e-6
"""Less rarity than this is that of no word at all."""

_PARTS: tuple[Part, Part] = ("passage", "whole")

LOOKED_AT = 5
"""Of the best candidates that many are looked at for the words of the question."""

NEAR = 50
"""Of the candidates nearest to a question so many are looked at for the nearest to its people's."""

FEW = 20
"""Among fewer candidates the lead of the best says nothing."""

CUE_WORDS = 3
"""So many words, those that only join them apart, may name a thing without asking anything."""

_JOINING = frozenset(listed("a an and at for in my of on or our the to with am das der die im und"))
_NUMBER = re.compile(r"\d")
_ASKING = (STOPWORDS | GERMAN_STOPWORDS | FILLER_WORDS) - _JOINING

SPEAKING = frozenset({"temporal", "facts"})
"""Parts of a score that speak for a memory which neither meaning nor words reach."""

UNRELATED = 0.2
"""Cosine under which a memory without a word of the question, in it or near it, is no answer.

No evidence in the first ten is lost by it: none of 1,101 on LoCoMo and the project's dialogue.
"""


def judge(store: MemoryStore, asked: Question, found: Candidates, folded: Rows) -> float:
    """The calibrated confidence (0-1) that the best candidates answer the question.

    *folded* are the places of those that another candidate stands for.
    """
    query = asked.cues.query
    filters = query_module.narrowing(store.columns, asked.cues)
    if asked.cues.period or (filters and question.asks_anything(query)):
        return calibration.FILTERED
    seen = measure(store, asked, found, folded)
    sure = calibration.confidence(seen)
    if not is_cue(query):
        return sure
    return max(sure, calibration.association(seen, len(store.columns)))


def measure(
    store: MemoryStore, asked: Question, found: Candidates, folded: Rows
) -> calibration.Evidence:
    """What the confidence rests on; the lead is that over other things said, not over *folded*."""
    best = np.argsort(-found.score, kind="stable")
    best = best[~np.isin(best, folded)]
    content = _content(asked)
    lead = float(found.score[best[0]] - found.score[best[min(9, len(best) - 1)]])
    return calibration.Evidence(
        cosine=_closest(store, asked, found, content),
        coverage=_coverage(asked, found, best[:LOOKED_AT], content),
        lead=lead if len(best) >= FEW else float("nan"),
    )


def is_cue(query: str) -> bool:
    """True for a name or a thing ("zebra", "creatures of the savannah") that asks no question.

    It wants what goes with it, whether or not anything answers it. A number goes with nothing.
    """
    words = [word.casefold() for word in WORD.findall(query)]
    said = [word for word in words if word not in _JOINING]
    named = 0 < len(said) <= CUE_WORDS and not any(map(_NUMBER.search, said))
    return named and "?" not in query and _ASKING.isdisjoint(said) and not CJK.search(query)


def _closest(store: MemoryStore, asked: Question, found: Candidates, content: Content) -> float:
    """The cosine of the closest passage or whole text to the question, NaN without vectors.

    To the question in the first person, where it names who speaks: a name is close to everything
    that its bearer said.
    """
    passage, whole = found.passage, found.whole
    if asked.told is not None and content[1] > NOTHING:
        near = np.fmax(np.nan_to_num(passage, nan=-1.0), np.nan_to_num(whole, nan=-1.0))
        rows = np.sort(found.rows[np.argsort(-near, kind="stable")[:NEAR]])
        told = replace(asked, vector=asked.told)
        passage, whole = (similarities(store, told, rows, part) for part in _PARTS)
    known = np.concatenate([passage, whole])
    known = known[~np.isnan(known)]
    return float(known.max()) if len(known) else float("nan")


def supported(columns: Columns, asked: Question, found: Candidates) -> Mask:
    """True for each candidate that something speaks for: meaning, words, its time, the turn of a
    dialogue that it stands beside, or a link.

    Whatever passes a filter that was asked for is spoken for.
    """
    if query_module.narrowing(columns, asked.cues) or question.asks_anything(asked.cues.query):
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


def _coverage(asked: Question, found: Candidates, best: Rows, content: Content) -> float:
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
    counted, whole = content
    if whole <= NOTHING:  # only names are asked about
        counted, whole = np.ones_like(counted), words.ideal
    covered = (words.rarity * counted) @ near
    return min(1.0, float(covered.max()) / whole)


def _content(asked: Question) -> Content:
    """Which of the question's terms that occur are no name in it, and the rarity of all that are
    none, whether they occur or not."""
    words = asked.words
    counted = np.array([term not in asked.names for term in words.held], np.bool_)
    return counted, words.ideal - float(words.rarity[~counted].sum())
