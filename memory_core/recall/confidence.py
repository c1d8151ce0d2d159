"""How sure a recall is: which candidates have evidence, and whether the best answer the query."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from memory_core.beliefs import question
from memory_core.lifecycle.known_names import KnownNames
from memory_core.recall.answering import Embed
from memory_core.recall.candidates import Candidates
from memory_core.recall.query import Cues
from memory_core.recall.signals import SIGNALS
from memory_core.scoring import calibration
from memory_core.scoring.arrays import Mask, Rows, Scores
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.view import View
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.entities import entities
from memory_core.text.words import CJK, FILLER_WORDS, GERMAN_STOPWORDS, STOPWORDS, WORD, listed

Content = tuple[Mask, float]

NOTHING = 1e-6
"""Less rarity than this is that of no word at all."""

LOOKED_AT = 5
"""So many of the best candidates are searched for the words of the query."""

OTHERS = 5
"""So many of the nearest, and of the best, are looked at for whom they speak of."""

NEAR = 50
"""So many of the candidates nearest to a query are compared with it in the first person."""

FEW = 20
"""Among fewer candidates the lead of the best says nothing."""

NAMING_WORDS = 3
"""At most so many words, joining ones not counted, name a thing without asking anything."""

_JOINING = frozenset(listed("a an and at for in my of on or our the to with am das der die im und"))
_NUMBER = lazy_pattern(r"\d")
_ASKING = (STOPWORDS | GERMAN_STOPWORDS | FILLER_WORDS) - _JOINING

UNRELATED = 0.2
"""Cosine under which a memory without a word of the query, in it or near it, is no answer.

No evidence in the first ten is lost by it: none of 1,101 on LoCoMo and the project's dialogue.
"""

_EVIDENCE = [signal.name for signal in SIGNALS if signal.is_evidence]


def has_evidence(cues: Cues, found: Candidates) -> Mask:
    """True for each candidate with evidence: its meaning, its words, a signal that is evidence by
    itself, a neighbour in the dialogue with one of these, or a link from one that has any.

    Passing a filter that was asked for is evidence.
    """
    if cues.filters or cues.period or question.names_no_topic(cues.query.text):
        return np.ones(len(found.rows), np.bool_)
    evident: Mask = (nearness(found) >= UNRELATED) | (found.nearby > 0)
    for name in _EVIDENCE:
        evident |= found.added.get(name, 0.0) > 0
    around = [(at >= 0) & evident[at] for at in found.neighbours.values()]
    evident = np.any([evident, *around], axis=0)
    sources = set(found.rows[evident].tolist())
    linked = [row for row, link in found.links.items() if link.source in sources]
    return evident | np.isin(found.rows, linked)


def judge(view: View, cues: Cues, found: Candidates, folded: Rows, embed: Embed) -> float:
    """The calibrated confidence (0-1) that the best candidates answer the query.

    *folded* are the places of candidates that another one stands for. *embed* gives the vector of
    what the query asks beside its names: who is known is near to every question about them.
    """
    text = cues.query.text
    if "period" in cues.filters or (cues.filters and question.names_no_topic(text)):
        return calibration.FILTERED
    if cues.period:
        return calibration.UNFIT  # nothing fits the time: what comes nearest is a guess
    evidence = _measure(view, cues, found, folded)
    sure = calibration.confidence(evidence)
    if only_names(text):
        among = int(np.count_nonzero(cues.readable))
        return max(sure, calibration.association(evidence, among))
    if sure >= calibration.MODERATE and _only_the_name_is_known(view, cues, found, embed):
        return calibration.ASSOCIATED
    return sure


def _only_the_name_is_known(view: View, cues: Cues, found: Candidates, embed: Embed) -> bool:
    """True where what comes first holds a name of the query, and nothing with it has to do with the
    rest: no word, and nothing by meaning.

    Not where somebody who speaks is named: there `_closest` sees to it.
    """
    text = cues.query.text
    if not cues.profile.english or cues.own_vector is not None:
        return False
    named = entities(text, KnownNames(view, cues.readable))
    rest = question.without(text, named)
    terms = {term for name in named for term in index_terms(name)}
    at = [place for place, term in enumerate(cues.words.held) if term in terms]
    if not at or rest == text or question.names_no_topic(rest):
        return False
    rows = np.sort(found.rows)
    rows = rows[(cues.words.terms(rows)[at] > 0).any(axis=0)]
    best, content = np.argsort(-found.score, kind="stable")[:LOOKED_AT], _content(cues, terms)
    named_there = np.isin(found.rows[best], rows)
    if not named_there[0]:
        return False
    if content[1] > NOTHING and _coverage(cues, found, best[named_there], content)[1]:
        return False  # one word is near enough, and saves a vector
    vectors = embed([rest])
    if vectors is None:
        return False
    near = [view.similarities(vectors[0], rows, part=part) for part in ("passage", "whole")]
    known = np.concatenate(near)
    known = known[~np.isnan(known)]
    return bool(known.size) and float(known.max()) < UNRELATED


def only_names(query: str) -> bool:
    """True for a name or a thing ("zebra", "creatures of the savannah") that asks no question.

    Such a query wants what is associated with it, whether or not anything answers it. A number is
    associated with nothing.
    """
    words = [word.casefold() for word in WORD.findall(query)]
    said = [word for word in words if word not in _JOINING]
    named = 0 < len(said) <= NAMING_WORDS and not any(map(_NUMBER.search, said))
    return named and "?" not in query and _ASKING.isdisjoint(said) and not CJK.search(query)


def _measure(view: View, cues: Cues, found: Candidates, folded: Rows) -> calibration.Evidence:
    """What the calibration needs; the lead is that over other texts, not over *folded* ones."""
    best = np.argsort(-found.score, kind="stable")
    best = best[~np.isin(best, folded)]
    others = _of_others(view, cues, found)
    if others:
        passage, whole = found.passage.copy(), found.whole.copy()
        passage[others] = whole[others] = np.nan
        found = replace(found, passage=passage, whole=whole)
        best = best[~np.isin(best, others)]
    if not best.size:
        return calibration.Evidence(0.0, 0.0, 0.0)
    content = _content(cues)
    lead = float(found.score[best[0]] - found.score[best[min(9, len(best) - 1)]])
    coverage, held = _coverage(cues, found, best[:LOOKED_AT], content)
    return calibration.Evidence(
        cosine=_closest(view, cues, found, content),
        coverage=coverage,
        lead=lead if len(best) >= FEW else float("nan"),
        words=held,
    )


def _of_others(view: View, cues: Cues, found: Candidates) -> list[int]:
    """The places, among the nearest and the best, that speak of another one than the query names.

    "Theo sees the dentist on Friday" is near to "when is Nina at the dentist?", and says nothing of
    her. It begins with a name that the query does not hold, and holds none that it does.
    """
    if not cues.names:
        return []
    near, best = np.argsort(-nearness(found)), np.argsort(-found.score)
    places = {int(found.rows[at]): int(at) for at in (*near[:OTHERS], *best[:OTHERS])}
    asked = set(index_terms(cues.query.text))
    others = []
    for row, memory in view.memories(np.array(list(places), dtype=np.int64)).items():
        text = memory.text.casefold()
        first = next((name for name in memory.entities if text.startswith(name.casefold())), "")
        if first and asked.isdisjoint(index_terms(first)):
            said = index_terms(f"{memory.speaker} {text}")
            if cues.names.isdisjoint(said):
                others.append(places[row])
    return others


def _closest(view: View, cues: Cues, found: Candidates, content: Content) -> float:
    """The cosine of the closest passage or whole text to the query, NaN without vectors.

    To the query in the first person, where it names who speaks: a name is close to everything that
    its bearer said.
    """
    passage, whole = found.passage, found.whole
    if cues.own_vector is not None and content[1] > NOTHING:
        near = np.argsort(-nearness(found), kind="stable")[:NEAR]
        rows = np.sort(found.rows[near[nearness(found)[near] > -1.0]])
        passage = view.similarities(cues.own_vector, rows, part="passage")
        whole = view.similarities(cues.own_vector, rows, part="whole")
    known = np.concatenate([passage, whole])
    known = known[~np.isnan(known)]
    return float(known.max()) if len(known) else float("nan")


def nearness(found: Candidates) -> Scores:
    """The larger cosine of each candidate, of its best passage and its whole text; -1 without."""
    return np.fmax(np.nan_to_num(found.passage, nan=-1.0), np.nan_to_num(found.whole, nan=-1.0))


def _coverage(cues: Cues, found: Candidates, best: Rows, content: Content) -> tuple[float, int]:
    """The largest share of the query's words that one of the *best*, or a turn near it, holds, and
    how many words these are.

    By rarity. Names that the store knows do not count: they say who is asked about, not what, and
    whoever is often spoken of would seem to be known in everything.
    """
    words = cues.words
    if words.ideal <= 0 or not words.held:
        return 0.0, 0
    places = np.stack([best, *(each[best] for each in found.neighbours.values())])
    rows = np.unique(found.rows[places[places >= 0]])
    holds = words.terms(rows) > 0
    at = np.searchsorted(rows, found.rows[np.maximum(places, 0)])
    near = (holds[:, at] & (places >= 0)).any(axis=1)  # terms x best
    counted, whole = content
    if whole <= NOTHING:  # only names are asked about
        counted, whole = np.ones_like(counted), words.ideal
    covered = (words.rarity * counted) @ near
    most = int(covered.argmax())
    held = np.flatnonzero(counted & np.asarray(near)[:, most])
    return min(1.0, float(covered[most]) / whole), len(held)


def _content(cues: Cues, names: Collection[str] = ()) -> Content:
    """Which of the query's terms that occur are not part of a name, and the rarity of all that are
    not, whether they occur or not. *names* are terms of more of them."""
    words = cues.words
    named = cues.names.union(names)
    counted = np.array([term not in named for term in words.held], np.bool_)
    return counted, words.ideal - float(words.rarity[~counted].sum())
