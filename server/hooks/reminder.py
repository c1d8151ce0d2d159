"""What a prompt is told: the few memories that answer it, and mostly nothing.

A prompt that names nothing ("run the tests") asks the memory nothing. Of what is recalled only what
stands near the best counts, and nothing that the conversation knows already.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from math import exp
from typing import TYPE_CHECKING

from memory_core.beliefs import question, quoted, relevance
from memory_core.beliefs.asking import only_asks
from memory_core.beliefs.forms import forms_among
from memory_core.recall.request import RecallRequest
from memory_core.records import PROJECT, Hit, Identity, Recollection, projects_of
from memory_core.scoring.calibration import feeling
from memory_core.storage.index.analyzer import index_terms
from memory_core.text.everyday import EVERYDAY, TELLING
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.entities import entities
from memory_core.text.words import is_german, words
from memory_core.validation import QUERY_CHARS
from server.hooks import leaning
from server.hooks.payload import ends

if TYPE_CHECKING:
    from memory_core.memory import Memory

HITS = 3
"""Memories that a prompt is told at most."""
READY_SECONDS = 1.0
"""How long a prompt waits for a model that is still loading; then recall goes by words."""
WEIGHTS = {
    "confidence": 4.9,
    "covered": 1.7,
    "own": 0.53,
    "general": -0.84,
    "anybody's": -1.39,
}
"""What each of the signs of a prompt adds to the log-odds that what it brings helps.

Near those that `tests/bench/reminding.py` fits."""
BIAS = -2.6
LIKELY = 0.28
"""How likely what a prompt brings has to help."""
NEAR, NEARER = 0.7, 0.85
"""Shares of the best score below which a memory is left out: one that holds a rare word of the
prompt, and any other."""
RARE, FEW = 0.02, 3
"""A word is rare that at most this share of the memories hold, or at most FEW of them."""
CONVERSATIONS, TOLD = 256, 400
"""Conversations, and memories of each, that are remembered as told."""


class Told:
    """The memories that each conversation was told in this process; thread-safe and bounded."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._told: OrderedDict[tuple[str, str, str], OrderedDict[str, None]] = OrderedDict()

    def of(self, who: Identity, session: str) -> frozenset[str]:
        """The ids that *session* was told."""
        with self._lock:
            return frozenset(self._told.get((who.agent, who.team, session), ()))

    def note(self, who: Identity, session: str, ids: Iterable[str]) -> None:
        """Note that *session* was told *ids*."""
        if not session:
            return
        with self._lock:
            told = self._told.setdefault((who.agent, who.team, session), OrderedDict())
            told.update(dict.fromkeys(ids))
            while len(told) > TOLD:
                told.popitem(last=False)
            self._told.move_to_end((who.agent, who.team, session))
            while len(self._told) > CONVERSATIONS:
                self._told.popitem(last=False)

    def forget(self, who: Identity, session: str) -> None:
        """*session* no longer holds what it was told: it is over, was cleared or compacted."""
        with self._lock:
            self._told.pop((who.agent, who.team, session), None)


def remind(
    memory: Memory,
    who: Identity,
    prompt: str,
    session: str,
    told: frozenset[str],
    project: str = "",
) -> Recollection | None:
    """What *prompt* brings to mind, its hits best first; None for nothing worth saying.

    What is of *project* or of none comes first where it is worth saying by itself; what a prompt
    asks of "this repository" is of no other one. The rest is as in _brought.
    """
    found = _brought(memory, who, prompt, session, told, "")
    if found is None or not project:
        return found
    others = [hit for hit in found.hits if _of(hit) and project.casefold() not in _of(hit)]
    if not others:
        return found
    here = _brought(memory, who, prompt, session, told, project)
    if _HERE.search(prompt):
        return here
    return found if here is None else replace(here, hits=(*here.hits, *others))


_HERE = lazy_pattern(
    r"\b(?:this|our|the current|diese[mrs]?|(?:in |im )?aktuelle[mnrs]?) (?:git )?"
    r"(?:repo(?:sitory|sitorium)?|project|projekt|code ?base|workspace|app|service|package)\b",
    re.IGNORECASE,
)


def _brought(
    memory: Memory,
    who: Identity,
    prompt: str,
    session: str,
    told: frozenset[str],
    project: str,
) -> Recollection | None:
    """What *prompt* brings to mind; where a *project* is given, of no other one.

    Its confidence is how likely that helps, where recall's is how likely it answers: a prompt
    mostly asks for something else. Without what stands in *session* itself, and without *told*.
    """
    asked = asked_in(prompt)
    held, total = memory.holders(who, asked)
    most = max(FEW, RARE * total)
    rare = {term for term, count in held.items() if count <= most and term not in everyday()}
    if not rare and not _names(asked):
        return None
    memory.wait_ready(READY_SECONDS)
    wanted = min(50, 2 * HITS + len(told))
    found = memory.recall(
        who,
        RecallRequest(asked, k=wanted, session=session, elsewhere=True, context=0, project=project),
    )
    said = [prompt, *(turn.text for turn in found.recent)]
    every = found.hits or found.partial
    hits = [
        hit
        for hit in every
        if not (only_asks(prompt, hit.memory.text) or _says_again(hit, said, rare))
    ]
    if not hits:
        return None
    known = {term for term in rare if held[term] and (_is_number(term) or not term.isdigit())}
    sure = found.confidence
    if len(hits) < len(every):
        # what asks the same, as this prompt when it was captured before, knows and hides nothing
        known &= {term for hit in hits for term in index_terms(hit.memory.text)}
        sure *= _share(hits[0], every[0]) ** 2
    likely = likelihood(signs(sure, hits[0], asked, held.keys()))
    if likely < LIKELY:
        return None
    read = _read(memory, asked)
    best = hits[0].score
    kept = tuple(
        hit
        for hit in hits
        if hit.score >= best * (NEAR if _holds(hit, known) else NEARER)
        and hit.memory.id not in told
        and not hit.memory.superseded_by
        and (_holds(hit, known) or (read and _means(memory, asked, hit.memory.text, rare)))
    )
    first = {hit.memory.id for hit in kept[:1]}
    kept = tuple(hit for hit in kept if first.isdisjoint(hit.memory.derived_from))  # says it again
    return Recollection(True, round(likely, 3), feeling(likely), kept) if kept else None


def asked_in(prompt: str) -> str:
    """What *prompt* says in words of its own, without what it quotes or pastes, if it says any."""
    return ends(quoted.own_words(prompt).strip() or prompt, QUERY_CHARS)


def _of(hit: Hit) -> frozenset[str]:
    """The names of the projects of *hit*, in small letters."""
    return frozenset(tag.removeprefix(PROJECT) for tag in projects_of(hit.memory.tags))


def signs(confidence: float, first: Hit, asked: str, terms: Set[str]) -> dict[str, float]:
    """What tells whether what *asked* brings helps: the signs of WEIGHTS.

    The *confidence* of the recall; the share of all *terms* of *asked* that the *first* hit holds;
    how far *asked* leans to something of one's own (leaning.own); whether it asks in general; and
    whether it is anybody's and names nothing that the first hit has a name or a number for.
    """
    text = first.memory.text
    held = set(index_terms(text))
    named = _named(text) | {term for term in held if _is_number(term)}
    return {
        "confidence": confidence,
        "covered": len(terms & held) / max(1, len(terms)),
        "own": leaning.own(asked),
        "general": question.asks_in_general(asked),
        "anybody's": question.is_anybodys(asked) and named.isdisjoint(terms),
    }


def likelihood(signs: Mapping[str, float]) -> float:
    """How likely what a prompt with these *signs* brings helps, 0-1."""
    return 1 / (1 + exp(-BIAS - sum(WEIGHTS[name] * sign for name, sign in signs.items())))


def _is_number(term: str) -> bool:
    """True for a number that names something, such as a port: long, and no year."""
    return term.isdigit() and len(term) > 3 and not (len(term) == 4 and term[:2] in ("19", "20"))


def _share(hit: Hit, best: Hit) -> float:
    """The score of *hit* as a share of that of *best*, 0-1."""
    return max(0.0, min(1.0, hit.score / best.score)) if best.score > 0 else 1.0


def _names(text: str) -> bool:
    """True when *text* has a number, or a name that is no everyday word."""
    return any(char.isdigit() for char in text) or bool(_named(text))


def _read(memory: Memory, text: str) -> bool:
    """True unless *text* seems to be in a language of which the default model knows no meaning.

    It was trained on English, and finds all texts of such a language near to each other.
    """
    return memory.settings.embedder != "minilm" or not TELLING.isdisjoint(words(text))


def _means(memory: Memory, asked: str, text: str, rare: Set[str]) -> bool:
    """False for two German texts of which *text* holds no form of a *rare* word.

    The default model finds them near to each other by their words of grammar.
    """
    german = all(is_german(words(each)) for each in (asked, text))
    if not german or memory.settings.embedder != "minilm":
        return True
    return any(forms_among(term, words(text)) for term in rare)


def _named(text: str) -> set[str]:
    """The words of the names in *text*, but for everyday ones."""
    return {term for name in entities(text) for term in index_terms(name)} - everyday()


def _holds(hit: Hit, terms: set[str]) -> bool:
    return not terms.isdisjoint(index_terms(hit.memory.text))


def _says_again(hit: Hit, said: Sequence[str], terms: set[str]) -> bool:
    """True for what was *said* in this conversation, and for what mostly asks of *terms*.

    "My back hurts, is aspirin ok?" tells nothing of aspirin, and "should I deploy? it's friday"
    nothing of deploying on a Friday.
    """
    text, told = hit.memory.text, quoted.claimed(hit.memory)
    held = terms.intersection(index_terms(text))
    asks = "?" in text and told != text and bool(held)
    return relevance.echoed(text, said) is not None or (
        asks and 2 * len(held.intersection(index_terms(told))) <= len(held)
    )


@cache
def everyday() -> frozenset[str]:
    """The everyday words as the index has them."""
    return frozenset(term for word in EVERYDAY for term in index_terms(word))
