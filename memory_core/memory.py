"""Memory: the façade over one store. Each method checks its arguments, then calls one room."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from memory_core import browse, health, history, validation
from memory_core.config import Settings
from memory_core.consolidate.run import MODES
from memory_core.embedding.base import Embedder
from memory_core.enrichment.worker import EncodeReport, Progress
from memory_core.gist.base import GistEncoder
from memory_core.interchange import jsonl
from memory_core.lifecycle import topics
from memory_core.lifecycle.doubts import DECISIONS, resolve
from memory_core.lifecycle.tiers import Swept
from memory_core.lifecycle.working_memory import Mind
from memory_core.maintenance.reembedding import Reembedding
from memory_core.recall import query
from memory_core.recall.query import Query
from memory_core.recall.request import RecallRequest
from memory_core.records import (
    KINDS,
    Change,
    DoubtfulPair,
    ForgetReport,
    HealthReport,
    Identity,
    Link,
    MemoryRecord,
    Receipt,
    Recollection,
    RunReport,
    is_id,
)
from memory_core.remember import draft
from memory_core.remember.capture import Observation
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Parts, Runtime, Tuning
from memory_core.storage.index.indexes import DERIVED_FROM
from memory_core.text import secrets
from memory_core.text.importance import ImportanceScorer

LISTING_MOST = 1000
FORGET_CANDIDATES = 10
"""Memories that a preview of forgetting by query returns."""


class Memory:
    """A long-term memory in one data directory, thread-safe; many processes may share it.

    The constructor returns at once; the store opens and the model loads in the background. Calls
    wait for the store, never for the model. Use as a context manager or call close(); every
    acknowledged write is durable without it.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
        embedder: Embedder | None = None,
        encoder: GistEncoder | None = None,
        scorer: ImportanceScorer | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        """Open the memory of *settings*; *clock* returns epoch seconds.

        *embedder* and *encoder* override those of the settings; *scorer* replaces the rules for
        importance, *tuning* constants that no setting reaches.
        """
        self.settings = settings
        self._clock = clock
        self._runtime = Runtime(settings, clock, embedder, encoder, scorer, tuning)

    def wait_ready(self, timeout: float) -> bool:
        """True when store and model are ready within *timeout* seconds, False if one failed."""
        return self._runtime.wait_ready(timeout)

    def close(self) -> None:
        """Journal the last accesses, stop the threads, close the files. May be called twice."""
        self._runtime.close()

    def __enter__(self) -> Memory:
        """The memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    # Writing

    def remember(self, who: Identity, request: RememberRequest) -> Receipt:
        """Store *request* durably; the receipt says how it relates to what is stored.

        The receipt's status is stored, reinforced (an exact repeat), replaced or refused (it was
        forgotten). Raises InvalidInput, TooLarge, ScopeDenied, NotFound, Busy or a StorageError,
        and then nothing is stored.
        """
        checked = draft.of_request(who, request, self.settings.limits, self._clock())
        return self._runtime.parts().writer.remember(who, checked)

    def observe(self, who: Identity, turn: ConversationTurn) -> Observation:
        """Store a *turn* of a conversation verbatim when it passes the relevance gate.

        What is not stored is named in `skipped`: too short, only stopwords, infrastructure noise,
        an echo of recalled text, or a near-duplicate, which reinforces the first one. Raises as
        remember does.
        """
        checked = draft.of_turn(who, turn, self.settings.limits, self._clock())
        return self._runtime.parts().capture.observe(who, checked)

    def observe_and_recall(
        self, who: Identity, turn: ConversationTurn, *, k: int = 8
    ) -> tuple[Observation, Recollection]:
        """Observe a *turn*, and recall at most *k* memories for it, the turn itself left out.

        The query is the beginning of the turn as far as a query may be long, in its session.
        """
        observed = self.observe(who, turn)
        itself = (observed.receipt.id,) if observed.receipt is not None else ()
        asked = Query(
            turn.content[: validation.QUERY_CHARS],
            validation.whole(k, "k", 1, query.K_MOST),
            session=turn.session,
            besides=itself,
        )
        return observed, self._recalled(who, asked)

    # Reading

    def recall(self, who: Identity, request: RecallRequest) -> Recollection:
        """The memories that answer *request*, best first.

        Raises InvalidInput or TooLarge for an argument that is not allowed, NotFound when the
        query is an id and *who* may read no memory of that id.
        """
        return self._recalled(who, query.checked(request))

    def _recalled(self, who: Identity, asked: Query) -> Recollection:
        """The memories that answer; unless the recall is read-only, noted as shown to *who*."""
        parts = self._runtime.parts()
        named = is_id(asked.text.strip())
        found = parts.reader.by_id(who, asked) if named else parts.reader.recall(who, asked)
        if asked.rehearse:
            ids = [hit.memory.id for hit in found.hits]
            parts.sessions.note_shown(who, [*ids, *(hit.memory.id for hit in found.partial)])
        return found

    # Consolidating and forgetting

    def consolidate(
        self,
        who: Identity,
        *,
        mode: str = "sleep",
        session: str = "",
        dry_run: bool = False,
        undo: str = "",
        progress: Callable[[int, int, str], None] | None = None,
    ) -> RunReport:
        """Turn episodes into knowledge, as one journalled run; or *undo* an earlier run by its id.

        *mode* is one of MODES; *dry_run* reports what would change and changes nothing. *progress*
        is called with (done, total, message). Undoing a run in progress stops it. Raises Busy while
        another run is in progress.
        """
        mode = validation.one_of(mode, "mode", tuple(MODES)) or "sleep"
        session, undo = validation.label(session, "session"), validation.label(undo, "undo")
        dry_run = validation.flag(dry_run, "dry_run")
        parts = self._runtime.parts()
        parts.store.catch_up()
        if undo:
            return parts.consolidator.undo(who, undo)
        return parts.consolidator.run(
            who, mode=mode, session=session, dry_run=dry_run, progress=progress
        )

    def end_session(self, who: Identity, session: str, *, wait: bool = False) -> None:
        """End the conversation *session*: clear its working memory and schedule its summary.

        With *wait* the summary is written when this returns.
        """
        session, parts = validation.label(session, "session"), self._runtime.parts()
        parts.sessions.end(who, session)
        parts.scheduler.end_session(who, session, wait=wait)

    def history(self, who: Identity, id: str) -> list[Change]:
        """Every change of the memory *id*, oldest first. Raises NotFound like get."""
        return history.history(self._runtime.parts().store, who, validation.reference(id, "id"))

    def undo_change(self, who: Identity, id: str, change: int) -> tuple[Change, str]:
        """Undo one *change* (its sequence number) of the memory *id*; returns it and what was done.

        A merge at remember becomes a memory of its own. A merge of a run, or a correction, is
        reverted and not repeated by consolidation. Raises NotFound, ScopeDenied, or InvalidInput
        for a change that cannot be undone.
        """
        number = validation.whole(change, "change", 1, 2**62)
        return history.undo(
            self._runtime.parts().store, who, validation.reference(id, "id"), number
        )

    def forget(
        self,
        who: Identity,
        *,
        ids: Sequence[str] = (),
        query: str = "",
        source: str = "",
        reason: str = "",
        never_again: bool = True,
        confirm: bool = False,
    ) -> ForgetReport:
        """Preview what would be forgotten; with *confirm*, delete *ids* or a *source* for good.

        *query* only previews; *source* selects the caller's memories with exactly this source.
        Memories derived from nothing else are deleted too. With *never_again* the texts are refused
        when they are remembered again. Raises NotFound, ScopeDenied.
        """
        wanted = validation.labels(ids, "ids", validation.IDS_MOST)
        reason = validation.text(reason, "reason", validation.SOURCE_CHARS)
        source = validation.text(source, "source", validation.SOURCE_CHARS)
        source = secrets.mask(source)[0]  # as it was stored
        never_again = validation.flag(never_again, "never_again")
        confirm = validation.flag(confirm, "confirm") and bool(wanted or source)
        if sum(map(bool, (wanted, query, source))) != 1:
            raise validation.invalid(
                "ids", "give ids, a query or a source, and one of them", "recall first for the ids"
            )
        parts = self._runtime.parts()
        parts.store.catch_up()
        if source:
            wanted = browse.of_source(parts.store, who, source)
        elif not wanted:
            wanted = self._near(parts, who, query)
        report = parts.forgetter.forget(
            who, wanted, reason=reason, never_again=never_again, confirm=confirm
        )
        if confirm:
            parts.maintenance.nudge()
        return report

    def clear(self, who: Identity) -> int:
        """Delete everything that *who* owns, without tombstones; returns how many memories.

        Works in batches. When one fails, the earlier ones stay deleted; repeat the call for the
        rest.
        """
        parts = self._runtime.parts()
        gone = parts.forgetter.clear(who, browse.owned(parts.store, who))
        if gone:
            parts.maintenance.nudge()
        return gone

    def sweep(self, who: Identity) -> Swept:
        """Move the memories of *who* through the tiers, as maintenance does every few minutes."""
        parts = self._runtime.parts()
        parts.maintenance.accesses.flush()
        return parts.tiers.sweep(who)

    # Doubts

    def doubts(self, who: Identity) -> list[DoubtfulPair]:
        """The pairs of which a later memory may put an earlier one out of date, newest first.

        Only pairs that *who* may read and that nobody has decided yet.
        """
        return browse.doubts(self._runtime.parts().store, who)

    def doubted(self, who: Identity, ids: Iterable[str]) -> dict[str, tuple[str, float]]:
        """Of those of *ids* in doubt: the id of the newest memory that says so, and since when.

        That is when it was said, in epoch seconds.
        """
        return browse.doubted(self._runtime.parts().store, who, ids)

    def resolve(self, who: Identity, older: str, newer: str, decision: str) -> str:
        """Decide a pair of doubts() as one of DECISIONS; returns what was done, in words.

        newer-holds and older-holds replace the other one, keep-both ends the doubt for good, merge
        retires the older one as a duplicate. One journalled change that undo_change can undo.
        Raises NotFound for a pair that is not in doubt, ScopeDenied for another agent's.
        """
        older = validation.reference(older, "older")
        newer = validation.reference(newer, "newer")
        if not validation.one_of(decision, "decision", tuple(DECISIONS)):
            raise validation.invalid(
                "decision", "it is empty", f"use one of {', '.join(DECISIONS)}"
            )
        return resolve(self._runtime.parts().store, who, older, newer, decision)

    # Looking up

    def in_mind(self, who: Identity, session: str) -> Mind:
        """The working memory of the conversation *session* in this process."""
        return self._runtime.parts().sessions.mind(who, validation.label(session, "session"))

    def topic_edges(self, who: Identity) -> dict[tuple[str, str], float]:
        """Edges between topics that *who* may read, the strongest first; see topics.edges."""
        store = self._runtime.parts().store
        store.catch_up()
        with store.reading() as view:
            return topics.edges(view, view.readable(who))

    def links(self, who: Identity, id: str) -> list[Link]:
        """The links of the memory *id* to others that *who* may read. Raises NotFound like get."""
        self.get(who, id)
        return browse.links(self._runtime.parts().store, who, id)

    def get(self, who: Identity, id: str) -> MemoryRecord:
        """The memory *id*. Raises NotFound when there is none that *who* may read."""
        id = validation.text(id, "id", validation.LABEL_CHARS)
        store = self._runtime.parts().store
        store.catch_up()
        found = store.memories([id]) if store.may_read(who, id) else {}
        if id not in found:
            raise validation.unknown(id)
        return found[id]

    def listing(
        self,
        who: Identity,
        *,
        limit: int = 20,
        session: str = "",
        kind: str = "",
        entity: str = "",
        topic: str = "",
    ) -> list[MemoryRecord]:
        """The newest memories that *who* may read and that fit the filters, newest first.

        Without those that were replaced or retired. *limit* is 1 to LISTING_MOST.
        """
        wanted = browse.Wanted(
            validation.whole(limit, "limit", 1, LISTING_MOST),
            validation.text(session, "session", validation.LABEL_CHARS),
            validation.one_of(kind, "kind", KINDS),
            validation.text(entity, "entity", validation.QUERY_CHARS),
            validation.text(topic, "topic", validation.QUERY_CHARS),
        )
        return browse.listing(self._runtime.parts().store, who, wanted)

    def weightiest(
        self, who: Identity, *, limit: int, among: int, tag: str = "", but: str = ""
    ) -> list[MemoryRecord]:
        """The *limit* most important of the newest *among* memories, the most important first.

        Only those with *tag*, if it is given, and none with a tag that begins with *but*. Without
        those that were replaced or retired. Both numbers are 1 to LISTING_MOST.
        """
        wanted = browse.Weighty(
            validation.whole(limit, "limit", 1, LISTING_MOST),
            validation.whole(among, "among", 1, LISTING_MOST),
            validation.text(tag, "tag", validation.LABEL_CHARS),
            validation.text(but, "but", validation.LABEL_CHARS),
        )
        return browse.weightiest(self._runtime.parts().store, who, wanted)

    def stats(self, who: Identity) -> dict[str, Any]:
        """Counts of live memories that *who* may read; needs no model."""
        return browse.stats(self._runtime.parts().store, who)

    def names(self, who: Identity, column: str) -> list[str]:
        """Names in what *who* may read, in order; *column*: session, entities, topic or tags."""
        return browse.names(self._runtime.parts().store, who, column)

    def changed(self, who: Identity, after: int | None = None) -> browse.Changed:
        """What any process changed after journal sequence *after*, where *who* may read it.

        None returns only the sequence to begin from. Cheap when nothing changed.
        """
        return browse.changed(self._runtime.parts().store, who, after)

    # Upkeep

    @property
    def reembedding(self) -> Reembedding:
        """The change of the store to another embedding model; begin it there."""
        return self._runtime.parts().reembedding

    def health(self, who: Identity, *, repair: bool = False) -> HealthReport:
        """A real round trip and the state of every part; *repair* rebuilds what can be rebuilt."""
        repair = validation.flag(repair, "repair")
        now = self._clock()
        return health.report(self._runtime, self.settings, who, repair=repair, now=now)

    def encode(self, who: Identity, since: str = "", tell: Progress | None = None) -> EncodeReport:
        """Run the due work of the model now, again for what was said *since*; see Worker.encode."""
        span = validation.span(since, "since")
        return self._runtime.parts().worker.encode(who, None if span is None else span[0], tell)

    # Interchange

    def export(self, who: Identity) -> Iterator[dict[str, Any]]:
        """Every memory that *who* may read, oldest first, as JSON-ready dicts with all fields.

        A memory that is linked with others has `links` too: a, b, kind and weight of each.
        """
        store = self._runtime.parts().store
        for memory in browse.readable(store, who):
            found = browse.links(store, who, memory.id)
            links = [asdict(link) for link in found if link.kind != DERIVED_FROM]
            yield jsonl.to_record(memory) | ({"links": links} if links else {})

    def bring_in(self, who: Identity, record: Mapping[str, Any]) -> Receipt:
        """Import one exported *record*; it keeps its id, and a stored memory is never changed.

        Its trust becomes import, or stays web. Only an admin can import for another agent or team;
        else the memory becomes the caller's own. Raises InvalidInput,
        which names the field, TooLarge, ScopeDenied or a StorageError.
        """
        links = draft.links(validation.mapping(record, "record").get("links", ()))
        record = {name: value for name, value in record.items() if name != "links"}
        memory, warnings = jsonl.from_record(record)
        if "occurred_at" not in record:
            memory = replace(memory, occurred_at=self._clock())
        memory = draft.imported(who, memory, self.settings.limits)
        receipt = self._runtime.parts().writer.bring_in(who, memory, links)
        return replace(receipt, warnings=(*receipt.warnings, *warnings))

    def _near(self, parts: Parts, who: Identity, text: str) -> tuple[str, ...]:
        """The ids that a recall of *text* finds among what *who* may forget."""
        request = RecallRequest(text, k=FORGET_CANDIDATES, context=0, rehearse=False)
        found = parts.reader.recall(who, query.checked(request))
        near = [hit.memory for hit in (*found.hits, *found.partial)]
        return tuple(m.id for m in near if who.admin or m.agent == who.agent)
