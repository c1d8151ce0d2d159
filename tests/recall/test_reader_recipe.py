"""Ranking against an independent computation of the whole measured recipe, with the real model."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.beliefs.question import order_asked
from memory_core.config import ConsolidationSettings, Settings
from memory_core.embedding.base import Embedder
from memory_core.evaluation.conversation import Conversation
from memory_core.evaluation.readers import DIALOGUE, read
from memory_core.link_kinds import NEWER
from memory_core.maintenance.loop import MaintenanceTuning
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Change, Identity
from memory_core.remember.request import RememberRequest
from memory_core.runtime import Tuning
from memory_core.storage.index.analyzer import index_terms
from memory_core.storage.index.vocabulary import TABLE, Spelling
from memory_core.storage.journal.journal import Transaction
from memory_core.text import passages
from memory_core.text.names.entities import entities
from memory_core.text.time import dates, timestamps

ME = Identity("me")
DAY = 86_400.0
NOW = 1_720_000_000.0
Floats = NDArray[np.float64]


@dataclass
class Told:
    """The dialogue in a store, and the same as plain lists, in the order of telling."""

    memory: Memory
    conversation: Conversation
    ids: list[str]
    records: list[dict[str, Any]]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, minilm: Embedder) -> Any:
    (conversation,) = read(DIALOGUE)
    folder: Path = tmp_path_factory.mktemp("dialogue")
    moment = [NOW - 100 * DAY]
    # what is recalled here does not change what is recalled next
    tuning = Tuning(maintenance=MaintenanceTuning(access_seconds=1e9))
    still = ConsolidationSettings(automatic=False)  # the oracle knows turns only
    settings = Settings(data_dir=folder, consolidation=still)
    with Memory(settings, clock=lambda: moment[0], embedder=minilm, tuning=tuning) as memory:
        assert memory.wait_ready(60)
        ids = []
        for turn in conversation.turns:
            moment[0] += DAY / 4
            assert turn.when is not None
            receipt = memory.remember(
                ME,
                RememberRequest(
                    turn.text,
                    speaker=turn.speaker,
                    role=turn.role,
                    session=turn.session,
                    when=turn.when,
                ),
            )
            ids.append(receipt.id)
        moment[0] = NOW
        assert len(set(ids)) == len(ids)
        _take_doubts_back(memory)  # the recipe is about evidence, not about what is out of date
        yield Told(memory, conversation, ids, list(memory.export(ME)))


def _take_doubts_back(memory: Memory) -> None:
    links = [link for record in memory.export(ME) for link in record.get("links", ())]
    doubts = [link for link in links if link["kind"] in NEWER]
    assert doubts

    def build(tx: Transaction) -> None:
        for link in doubts:
            tx.append(
                Change("link", link["a"], {"b": link["b"], "kind": link["kind"], "weight": 0.0})
            )

    memory._runtime.parts().store.commit(build)


class Oracle:
    """Every score, from the texts alone: what `Reference figures` of LoCoMo were made with."""

    def __init__(self, told: Told, model: Embedder) -> None:
        self.turns = told.conversation.turns
        self.model = model
        self.rows = np.arange(len(self.turns))
        self.sessions = [turn.session for turn in self.turns]
        whole, self.passages = [], []
        for turn in self.turns:
            pieces = passages.passages(turn.text, packed=turn.role == "assistant")
            vectors = self._documents([f"{turn.speaker}: {t}" for t in (turn.text, *pieces)])
            whole.append(vectors[0])
            self.passages.append(vectors[1:])
        self.whole = np.stack(whole)
        self.importance = np.array([r["importance"] for r in told.records])
        self.bags = [Counter(index_terms(self._indexed(r))) for r in told.records]
        lengths = np.array([sum(bag.values()) for bag in self.bags])
        self.norms = 0.9 * (1 - 0.4 + 0.4 * lengths / lengths.mean())
        self.named = [dates.resolve(turn.text, turn.when or 0.0) for turn in self.turns]
        self.spelling = Spelling()

    def _documents(self, texts: list[str]) -> NDArray[np.float32]:
        return self.model.documents(texts).astype(np.float16).astype(np.float32)

    def _indexed(self, record: dict[str, Any]) -> str:
        text = record["text"]
        labels = [*record["tags"], *record["keywords"]]
        extra = [label for label in labels if label.casefold() not in text.casefold()]
        days = [d for d in record["dates"] if len(d) == 10]
        written = [timestamps.day_words(timestamps.moment(d, "d")[0]) for d in days]
        happened = timestamps.day_words(timestamps.moment(record["occurred_at"][:19] + "Z", "t")[0])
        return " ".join([happened, record["speaker"], text, *extra, *written])

    def point(self, query: str) -> Floats:
        """The question's vector, half way to the one that its people would ask of themselves."""
        told = re.sub(r"\b(Nora|Felix)'s\b", "my", query)
        told = re.sub(r"\b(Nora|Felix)\b", "I", told)
        both: Floats = self.model.query(query) + self.model.query(told)
        return both / np.linalg.norm(both)

    def bm25(self, query: str) -> Floats:
        return sum((added for _, added, _ in self.terms(query)), np.zeros(len(self.bags)))

    @cache  # noqa: B019 one oracle for all tests of this file
    def terms(self, query: str) -> list[tuple[float, Floats, Floats]]:
        """Of each word: its rarity, what it adds to each turn, and the same with words near it."""
        found = []
        known = list(dict.fromkeys(term for bag in self.bags for term in bag))
        named = {term for name in entities(query) for term in index_terms(name)}
        for asked in set(index_terms(query)):
            term, share = asked, 1.0
            if term not in known:  # a misspelt word counts as the one that it nearly is, for less
                term, share = self.spelling.nearest(term, known, self.frequency), 0.6
            n = self.frequency(term)
            idf = math.log(1 + (len(self.bags) - n + 0.5) / (n + 0.5))
            near = {} if asked in named else self.near.get(asked, {})
            weight = 0.6 * idf if n else 0.36 * idf
            exact = share * idf * self.held(term)
            others = [weight * s * self.held(word) for word, s in near.items() if word not in named]
            found.append((idf, exact, np.maximum.reduce([exact, *others])))
        return found

    def held(self, term: str) -> Floats:
        """How much each turn holds of *term*, from 0."""
        counts = np.array([bag[term] for bag in self.bags], dtype=float)
        return 1.9 * counts / (counts + self.norms)

    @cached_property
    def near(self) -> dict[str, dict[str, float]]:
        """The words near a word, with their shares, as they are shipped."""
        table = np.load(TABLE)
        words, ends = bytes(table["terms"]).decode().split("\n"), [0, *table["ends"].tolist()]
        others, shares = [words[place] for place in table["near"]], table["shares"] / 255
        spans = zip(words, ends, ends[1:], strict=False)
        return {w: dict(zip(others[a:b], shares[a:b], strict=True)) for w, a, b in spans}

    def frequency(self, term: str) -> int:
        return sum(term in bag for bag in self.bags)

    def nearby(self, words: list[Floats], rows: list[int]) -> Floats:
        """*words* that stand in a turn or, for less, in one of the *rows* around it."""
        shares = {0: 1.0, -1: 0.4, 1: 0.4, -2: 0.25, 2: 0.25}
        result, inside = np.zeros(len(self.bags)), set(rows)
        table = np.stack(words, axis=1) if words else np.zeros((len(self.bags), 1))
        for row in rows:
            around = [(share, self.at(row, offset)) for offset, share in shares.items()]
            result[row] = np.max([s * table[o] for s, o in around if o in inside], axis=0).sum()
        return result

    def at(self, row: int, offset: int) -> int | None:
        """The turn at *offset* in the same session."""
        other = row + offset
        inside = 0 <= other < len(self.turns) and self.sessions[other] == self.sessions[row]
        return other if inside else None

    def candidates(self, *signals: Floats) -> list[int]:
        chosen: set[int] = set()
        for signal in signals:
            best = sorted(self.rows, key=lambda row: (-signal[row], row))[:50]
            chosen |= {int(row) for row in best if signal is not signals[-1] or signal[row] > 0}
        around = {self.at(row, offset) for row in chosen for offset in (-2, -1, 1, 2)}
        return sorted(chosen | {row for row in around if row is not None})

    @cache  # noqa: B019
    def scores(self, query: str) -> dict[int, float]:
        point = self.point(query)
        whole = (self.whole @ point).astype(float)
        passage = np.array([float((vectors @ point).max()) for vectors in self.passages])
        lexical = self.bm25(query)
        rows = self.candidates(whole, passage, lexical)

        def z(signal: Floats) -> Floats:
            mine = signal[rows]
            return (mine - mine.mean()) / mine.std() if mine.std() > 1e-12 else mine * 0

        terms = self.terms(query)
        exact = self.nearby([added for _, added, _ in terms], rows)
        near = self.nearby([best for _, _, best in terms], rows)
        ideal = sum(idf for idf, _, _ in terms)
        trust = min(1.0, exact.max() / ideal / 0.5) if ideal else 1.0
        words = 0.5 * trust * z(near)
        fused = dict(zip(rows, 0.6 * z(passage) + 0.4 * z(whole) + words, strict=True))
        cue, when_asked = dates.query_dates(query, NOW), dates.asks_when(query)
        total = {row: self._total(row, fused, cue, when_asked) for row in rows}
        if not cue:  # the latest or the first is asked for
            moments = sorted({self.turns[row].when or 0.0 for row in rows})
            step = 0.5 * order_asked(query) / max(1, len(moments) - 1)
            for row in rows:
                total[row] += step * moments.index(self.turns[row].when or 0.0)
        spread = max(total.values()) - min(total.values())
        recorded = NOW - (NOW - 100 * DAY + DAY / 4 * (1 + self.rows))
        retained = 0.5 ** (recorded / (30 * DAY))
        liking = 0.5 * retained + 0.5 * np.maximum(self.importance, 0.5)
        return {row: score + 0.05 * spread * liking[row] for row, score in total.items()}

    def _lent(self, row: int | None, fused: dict[int, float]) -> float:
        """What a turn lends to those around it: its score, the less the longer it is."""
        if row is None or row not in fused:
            return 0.0
        return fused[row] * min(1.0, 30 / len(self.turns[row].text.split()))

    def _total(self, row: int, fused: dict[int, float], cue: Any, when_asked: bool) -> float:
        turn, before = self.turns[row], self.at(row, -1)
        gained = sum(
            share * self._lent(self.at(row, offset), fused)
            for offset, share in ((-1, 0.1), (1, 0.2), (-2, 0.2), (2, 0.1))
        )
        if before is not None and "?" in self.turns[before].text:
            gained += 0.5 * self._lent(before, fused)
        mates = sorted(fused[other] for other in fused if self.sessions[other] == turn.session)
        session = sum(mates[-3:]) / 3
        assert turn.when is not None
        named = self.named[row]
        when = dates.temporal_match(cue, turn.when, named)
        if not cue and named and when_asked:
            when = 1 / 3
        prior = 0.0 if turn.role == "assistant" else 2.0
        if "?" in turn.text:
            prior -= 0.3 * min(1.0, 30 / len(turn.text.split()))
        return fused[row] + gained + prior + 0.4 * session + 1.5 * when


@pytest.fixture(scope="module")
def oracle(told: Told, minilm: Embedder) -> Oracle:
    return Oracle(told, minilm)


@pytest.mark.parametrize(("k", "every"), [(10, 8), pytest.param(1, 8, marks=pytest.mark.long)])
def test_recall_ranks_by_the_recipe_and_by_its_links_alone(
    told: Told, oracle: Oracle, k: int, every: int
) -> None:
    row_of = {id: row for row, id in enumerate(told.ids)}
    full = 0
    questions = told.conversation.questions[::every]
    for question in questions:
        wanted = oracle.scores(question.text)
        found = told.memory.recall(ME, RecallRequest(question.text, k=k, context=0, explain=True))
        hits = found.hits or found.partial
        full += len(hits) == k
        assert hits
        mine = [hit.score for hit in hits]
        assert mine == sorted(mine, reverse=True)
        scored = [hit for hit in hits if row_of[hit.memory.id] in wanted]
        lifts = [sum(float(hit.why.get(n, 0.0)) for n in ("links", "newer")) for hit in scored]
        assert min(lifts, default=0.0) >= 0.0
        bare = [hit.score - lift for hit, lift in zip(scored, lifts, strict=True)]
        assert bare == pytest.approx([wanted[row_of[h.memory.id]] for h in scored], abs=0.01)
        best = sorted(wanted, key=lambda row: -wanted[row])
        assert row_of[hits[0].memory.id] == best[0] or wanted[best[0]] - mine[0] < 0.01
        shown = {row_of[hit.memory.id] for hit in hits}
        near = oracle.whole @ oracle.point(question.text)  # under 0.2 nothing may speak for it
        missed = [
            wanted[row] for row in best if row not in shown and len(hits) == k and near[row] >= 0.2
        ]
        assert max(missed, default=mine[-1]) <= mine[-1] + 0.01
    assert full > 0.8 * len(questions)


def test_filters_narrow_before_the_candidates_are_cut(told: Told, oracle: Oracle) -> None:
    question = "What did Nora say about the children and the dragon?"
    days = sorted({turn.when or 0.0 for turn in told.conversation.turns})
    since, until = timestamps.iso(days[3]), timestamps.iso(days[5])
    inside = {
        id
        for id, turn in zip(told.ids, told.conversation.turns, strict=True)
        if turn.speaker == "Nora" and days[3] <= (turn.when or 0.0) <= days[5]
    }
    found = told.memory.recall(
        ME, RecallRequest(question, k=50, speaker="Nora", since=since, until=until)
    )
    assert {hit.memory.id for hit in (*found.hits, *found.partial)} <= inside
    assert len(found.hits) == min(50, len(inside))


@pytest.mark.parametrize("explain", [True, False])
def test_every_hit_explains_itself_when_asked(told: Told, oracle: Oracle, explain: bool) -> None:
    question = told.conversation.questions[0].text
    row_of = {id: row for row, id in enumerate(told.ids)}
    for hit in told.memory.recall(ME, RecallRequest(question, explain=explain)).hits:
        if not explain:
            assert hit.why == {}
            continue
        row = row_of[hit.memory.id]
        point = oracle.point(question)
        assert hit.why["cosine"] == pytest.approx(float(oracle.whole[row] @ point), abs=2e-3)
        assert hit.why["lexical"] == pytest.approx(oracle.bm25(question)[row], abs=1e-3)
        assert hit.why["importance"] == pytest.approx(oracle.importance[row])
        assert hit.why["folded"] == 0


QUESTIONS_ABOUT_NOTHING = (
    "How do I sharpen a Japanese chisel on a waterstone?",
    "Which enzymes break down lactose?",
    "Explain the offside rule in ice hockey.",
    "quantum chromodynamics lattice spacing",
    "Wie wechselt man den Keilriemen eines Traktors?",
)


@pytest.mark.parametrize("question", QUESTIONS_ABOUT_NOTHING)
def test_what_was_never_talked_about_is_not_found(told: Told, question: str) -> None:
    found = told.memory.recall(ME, RecallRequest(question))
    assert (found.found, found.feeling, found.hits) == (False, "none", ())
    assert found.confidence < 0.2
    assert len(found.partial) <= 3
    assert all((hit.before, hit.after) == ((), ()) for hit in found.partial)


def test_a_verbatim_quote_is_known(told: Told) -> None:
    long = [turn for turn in told.conversation.turns if len(turn.text.split()) >= 8]
    found = [told.memory.recall(ME, RecallRequest(turn.text, k=3)) for turn in long[::6]]
    assert {each.feeling for each in found} <= {"high", "moderate"}
    for turn, each in zip(long[::6], found, strict=True):
        assert turn.text in [hit.memory.text for hit in each.hits]
