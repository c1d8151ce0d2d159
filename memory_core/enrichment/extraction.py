"""Turns a model's answer about some turns into changes: checked, related, written in one commit.

The text of a turn never changes. Gist, tags, topic and names replace what rules had made, never
what a caller gave. Facts become memories of their own, derived from their turns; a fact that is not
grounded in those turns is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memory_core.beliefs import claims, relevance
from memory_core.beliefs.importance import NORMAL
from memory_core.embedding.base import Embedder
from memory_core.enrichment import grounding
from memory_core.gist.base import Encoded, Fact, Gist, InputTurn
from memory_core.gist.passthrough import PassthroughEncoder
from memory_core.lifecycle.tombstones import forms
from memory_core.records import (
    FAILED,
    TRUSTS,
    Change,
    Identity,
    MemoryRecord,
    content_hash,
    normalised,
    owner_of,
)
from memory_core.remember import commit
from memory_core.remember.prepared import Prepared
from memory_core.representation import embed
from memory_core.scoring.tiers import KEEP_IMPORTANCE
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.storage.journal.journal import Transaction
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets
from memory_core.text.names.entities import entities
from memory_core.text.time import dates

SOURCE = "encoder"
"""The source of these changes in the history of a memory."""

_NEAREST = 5

_rules = PassthroughEncoder()


# Input


def input_turn(memory: MemoryRecord) -> InputTurn:
    """*memory* as a model sees it: without secrets and without recalled text."""
    shown = secrets.mask(relevance.without_recalled(memory.text))[0]
    return InputTurn(shown, memory.speaker, memory.role, memory.occurred_at)


def is_echo(memory: MemoryRecord) -> bool:
    """True when *memory* holds nothing but recalled text."""
    return not relevance.without_recalled(memory.text)


# Output


@dataclass(frozen=True, slots=True)
class Extracted:
    """The changes to write: new values of memories by id, and facts to store.

    Each fact comes with the id of a known one that says the same, or "". *dropped* says why others
    are not stored; *outdated* are facts that an older version made of the same turns.
    """

    values: dict[str, dict[str, Any]]
    facts: tuple[tuple[Prepared, str], ...] = ()
    dropped: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


class Extraction:
    """Turns the answers of one encoder into changes of one store."""

    def __init__(self, store: MemoryStore, version: str) -> None:
        """Write to *store* under the encoder's *version*."""
        self._store = store
        self._version = version

    def outcome(
        self,
        context: Sequence[MemoryRecord],
        turns: Sequence[MemoryRecord],
        made: Encoded,
        embedder: Embedder | None,
    ) -> Extracted:
        """The changes that *made* implies for *turns*. Embeds facts: call it without a lock."""
        values = {
            memory.id: self._values(memory, gist)
            for memory, gist in zip(turns, made.gists, strict=True)
        }
        shown, facts, dropped = (*context, *turns), [], []
        trust = max((memory.trust for memory in shown), key=TRUSTS.index)
        for fact in made.facts:
            sources = [shown[place] for place in fact.sources]
            reason = _unfit(fact, sources)
            if reason:
                dropped.append(reason)
            else:
                facts.append(self._prepared(fact, sources, trust, embedder))
        return Extracted(values, tuple(facts), tuple(dropped), self._outdated(turns))

    def done(self, id: str) -> Extracted:
        """The changes for a memory that a model has nothing to say about."""
        return Extracted({id: self._finished()})

    def write(self, outcome: Extracted) -> int:
        """Write *outcome* in one commit; how many facts were stored. Skips forgotten memories.

        Raises Busy or a StorageError, and then nothing was written.
        """
        return self._store.commit(lambda tx: self._write(tx, outcome))

    def _write(self, tx: Transaction, outcome: Extracted) -> int:
        for id, values in outcome.values.items():
            fields = tx.fields(id)
            if fields is None:
                continue  # it was forgotten meanwhile
            values = self._unless_set_by_run(tx, id, fields, values)
            actor, scope = str(fields.get("agent", "")), owner_of(MemoryRecord(**_scope(fields)))
            tx.append(Change("put", id, values, actor=actor, source=SOURCE, scope=scope))
        for id in outcome.outdated:
            if tx.accesses([id]):  # not forgotten meanwhile; a fact made again is stored again
                tx.append(Change("put", id, {"retired_at": tx.now}, source=SOURCE))
        return sum(bool(commit.take_fact(tx, prepared, known)) for prepared, known in outcome.facts)

    def _unless_set_by_run(
        self, tx: Transaction, id: str, fields: dict[str, Any], values: dict[str, Any]
    ) -> dict[str, Any]:
        """*values*, without the importance if a run has set it meanwhile.

        A late judgement applies in whatever tier the memory is by now: what was retired for being
        unimportant is active again.
        """
        if "importance" not in values:
            return values
        if tx.latest_writer(id, "importance"):
            return {name: value for name, value in values.items() if name != "importance"}
        better = values["importance"] >= KEEP_IMPORTANCE > fields.get("importance", NORMAL)
        if better and fields.get("retired_at") is not None and not fields.get("superseded_by"):
            return values | {"retired_at": None}
        return values

    def _outdated(self, turns: Sequence[MemoryRecord]) -> tuple[str, ...]:
        """Ids of facts derived only from *turns* that another version made."""
        own = {memory.id for memory in turns if memory.encoded not in ("", FAILED)}
        with self._store.reading() as view:
            columns, graph = view.columns, view.graph
            rows = [row for id in own if (row := columns.row(id)) is not None]
            ids = {columns.id(fact) for row in rows for fact in graph.origins(row, DERIVED_FROM)}
        found = self._store.indexed(sorted(ids)).values() if ids else ()
        return tuple(
            memory.id
            for memory in found
            if memory.extracted and memory.retired_at is None and own >= set(memory.derived_from)
        )

    # Turns

    def _finished(self) -> dict[str, Any]:
        return {"due": [], "encoded": self._version}

    def _values(self, memory: MemoryRecord, gist: Gist) -> dict[str, Any]:
        """New values of *memory* for its due jobs, where rules had set the old ones."""
        values = self._finished()
        own = said([memory])
        ruled = _rules.encode([InputTurn(memory.text, memory.speaker, memory.role)]).gists[0]
        if "importance-judge" in memory.due and gist.importance is not None:
            values["importance"] = gist.importance
        if "gist" not in memory.due:
            return values
        if gist.gist and memory.gist == ruled.gist and not grounding.ungrounded(gist.gist, own):
            values["gist"] = gist.gist
        if gist.keywords and (memory.keywords or memory.tags) == ruled.keywords:
            found = dict.fromkeys((*gist.keywords, *ruled.keywords))
            values["keywords"] = [keyword for keyword in found if keyword not in memory.tags]
        if gist.topic and not memory.topic:
            values["topic"] = gist.topic
        named = [name for name in gist.entities if not grounding.ungrounded(name, own)]
        if memory.entities == ruled.entities:
            values["entities"] = list(_merged(ruled.entities, named))
        return values

    # Facts

    def _prepared(
        self, fact: Fact, sources: Sequence[MemoryRecord], trust: str, embedder: Embedder | None
    ) -> tuple[Prepared, str]:
        """*fact* as a memory to store, and the id of a known one that says the same, or "".

        It has the lowest *trust* of all turns that the model was shown, not of its sources: any of
        them could have influenced what the model says about another.
        """
        last = sources[-1]
        text = secrets.mask(fact.text)[0]
        named = [name for name in fact.entities if name.casefold() in text.casefold()]
        memory = MemoryRecord(
            id="",
            text=text,
            visibility=last.visibility,
            agent=last.agent,
            team=last.team,
            kind=fact.kind,
            topic=fact.topic,
            entities=_merged(entities(text), named),
            importance=fact.importance,
            occurred_at=last.occurred_at,
            dates=dates.resolve(text, last.occurred_at),
            derived_from=tuple(dict.fromkeys(source.id for source in sources)),
            content_hash=content_hash(text),
            client=last.client,
            trust=trust,
            encoded=self._version,
        )
        prepared = Prepared(Identity(memory.agent, memory.team), memory, forms=forms(text))
        if embedder is None:
            return prepared, ""
        parts, vectors = embed(embedder, memory)
        prepared = replace(prepared, fingerprint=embedder.fingerprint, parts=parts, vectors=vectors)
        return prepared, self._known(prepared, embedder.profile.near_duplicate)

    def _known(self, prepared: Prepared, threshold: float) -> str:
        """The id of a fact of the same scope that says the same in other words, or "".

        A near-duplicate by its vector that agrees in numbers, names and polarity.
        """
        memory = prepared.memory
        with self._store.reading() as view:
            index, columns = view.vectors, view.columns
            if index is None or prepared.vectors is None or not columns.extracted.any():
                return ""
            same = columns.extracted & columns.live & ~columns.replaced & ~columns.superseded
            for name in ("visibility", "agent", "team"):
                same = same & (getattr(columns, name) == columns.code(getattr(memory, name), name))
            vector = np.asarray(prepared.vectors[0], dtype=np.float32)
            rows, cosines = index.search(vector, _NEAREST, part="whole", allowed=same)
            pairs = zip(rows.tolist(), cosines.tolist(), strict=True)
            ids = [columns.id(row) for row, cosine in pairs if cosine >= threshold]
        mine = claims.claims(memory.text, memory.entities)
        for id, other in self._store.indexed(ids).items():
            if claims.agree(mine, claims.claims(other.text, other.entities)):
                return id
        return ""


def _unfit(fact: Fact, sources: Sequence[MemoryRecord]) -> str:
    """Why *fact* is not stored; "" when it is."""
    if any(normalised(fact.text) == normalised(source.text) for source in sources):
        return "it is the text itself"
    foreign = grounding.ungrounded(fact.text, said(sources))
    return f"{foreign!r} is not in its sources" if foreign else ""


def said(memories: Sequence[MemoryRecord]) -> list[grounding.Said]:
    """*memories* as sources to check a model's text against, without recalled text."""
    return [(m.speaker, relevance.without_recalled(m.text), m.occurred_at) for m in memories]


def _merged(first: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    """*first*, then those of *more* that are not in it, compared without case."""
    known = {name.casefold() for name in first}
    return (*first, *(name for name in more if name.casefold() not in known))


def _scope(fields: dict[str, Any]) -> dict[str, Any]:
    kept = ("id", "text", "visibility", "agent", "team")
    return {name: fields[name] for name in kept if name in fields}
