"""Memory: the façade over one store. Each method checks its arguments, then calls one room."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_core import brief, browse, forget, health, history, validation
from memory_core.beliefs.importance import ImportanceScorer
from memory_core.config import Settings
from memory_core.consolidate.run import MODES
from memory_core.embedding.base import Embedder
from memory_core.enrichment.worker import EncodeReport, Progress
from memory_core.errors import ScopeDenied
from memory_core.gist.base import GistEncoder
from memory_core.importing.request import ImportReport, ImportRequest
from memory_core.importing.sync import SyncReport
from memory_core.lifecycle import amendments, doubts
from memory_core.lifecycle.retention import Fading, fading
from memory_core.lifecycle.tiers import Swept
from memory_core.lifecycle.turn_pairs import TurnPair
from memory_core.lifecycle.versions import Version, version
from memory_core.lifecycle.working_memory import Mind
from memory_core.maintenance.reembedding import Reembedding
from memory_core.overview import agents, pages, runs, tallies, topic_graph
from memory_core.overview.memory_graph import MemoryGraph, memory_graph
from memory_core.overview.pages import Listed, Page
from memory_core.overview.request import PageRequest
from memory_core.overview.topic_graph import TopicGraph
from memory_core.recall import query
from memory_core.recall.query import Query
from memory_core.recall.request import RecallRequest
from memory_core.records import (
    KINDS,
    Change,
    Doubted,
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
    is_prefix,
)
from memory_core.remember import draft
from memory_core.remember.capture import Observation
from memory_core.remember.request import ConversationTurn, RememberRequest
from memory_core.runtime import Parts, Runtime, Tuning
from memory_core.storage.backup import copies
from memory_core.storage.store import MemoryStore
from memory_core.text import secrets

LISTING_MOST = 1000


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
        request = replace(request, replaces=self._id(who, request.replaces, "replaces"))
        checked = draft.of_request(who, request, self.settings.limits, self._clock())
        receipt = self._runtime.parts().writer.remember(who, checked)
        return receipt if who.reader else receipt.for_writers()

    def observe(self, who: Identity, turn: ConversationTurn) -> Observation:
        """Store a *turn* of a conversation verbatim when it passes the relevance gate.

        What is not stored is named in `skipped`: too short, only stopwords, infrastructure noise,
        an echo of recalled text, or a near-duplicate, which reinforces the first one. Raises as
        remember does.
        """
        checked = draft.of_turn(who, turn, self.settings.limits, self._clock())
        observed = self._runtime.parts().capture.observe(who, checked)
        if who.reader or observed.receipt is None:
            return observed
        return replace(observed, receipt=observed.receipt.for_writers())

    def amend(
        self,
        who: Identity,
        id: str,
        *,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        seen: int = 0,
    ) -> int:
        """Set the tags or the importance of the memory *id*; another text is remember's `replaces`.

        The change's number, 0 for none. An importance of pins.PINNED keeps it for good. *seen* is
        how many changes its history must have, else ChangedMeanwhile is raised; 0: any.
        """
        values = amendments.values(tags, importance, self.settings.limits)
        return amendments.amend(self._store, who, self._id(who, id), values, seen)

    def retire(self, who: Identity, id: str, *, retired: bool = True, seen: int = 0) -> int:
        """Retire the memory *id*, or with *retired* False make it active again; as amend.

        A retired memory is kept, and recalled only where nothing else answers well.
        """
        return amendments.retire(self._store, who, self._id(who, id), retired=retired, seen=seen)

    def vote(self, who: Identity, id: str, query: str, value: int) -> amendments.Votes:
        """Store whether the memory *id* was a good answer to *query*: 1, -1, or 0 to withdraw.

        Returns the votes of all. They are shown and change no ranking. Raises NotFound.
        """
        return amendments.vote(self._store, who, self._id(who, id), query, value)

    def extract(
        self, who: Identity, request: RememberRequest, seconds: float
    ) -> tuple[Receipt, list[MemoryRecord]]:
        """Store the text of *request*, and let the language model extract its facts now.

        The receipt of the text, and the facts that are derived from it after *seconds* at most.
        Without a language model there are none. Raises as remember does.
        """
        receipt, parts = self.remember(who, request), self._runtime.parts()
        if receipt.status == "refused" or not parts.worker.now(receipt.id, seconds):
            return receipt, []
        return receipt, [m for m in browse.derived(parts.store, who, receipt.id) if m.extracted]

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
        if is_prefix(asked.text.strip()):
            asked = replace(asked, text=self.whole_id(who, asked.text.strip()))
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
        dry_run, parts = validation.flag(dry_run, "dry_run"), self._runtime.parts()
        parts.store.catch_up()
        if undo:
            run = browse.whole_run(parts.store, who, undo)
            report = parts.consolidator.undo(who, run, dry_run)
        else:
            report = parts.consolidator.run(
                who, mode=mode, session=session, dry_run=dry_run, progress=progress
            )
        return report if who.reader else report.for_writers()

    def end_session(self, who: Identity, session: str, *, wait: bool = False) -> None:
        """End the conversation *session*: clear its working memory and schedule its summary.

        With *wait* the summary is written when this returns.
        """
        session, parts = validation.label(session, "session"), self._runtime.parts()
        parts.sessions.end(who, session)
        parts.scheduler.end_session(who, session, wait=wait)

    def history(self, who: Identity, id: str) -> list[Change]:
        """Every change of the memory *id*, oldest first, numbered from 1. Raises as get does."""
        return history.history(self._store, who, self._id(who, id))

    def undo_change(self, who: Identity, id: str, change: int) -> tuple[Change, str]:
        """Undo one *change* (its number) of the memory *id*; returns it and what was done.

        A merge at remember becomes a memory of its own. A merge of a run, or a correction, is
        reverted and not repeated by consolidation. Raises NotFound, ScopeDenied, or InvalidInput
        for a change that cannot be undone.
        """
        number = validation.whole(change, "change", 1, 2**62)
        return history.undo(self._store, who, self._id(who, id), number)

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
        finish_seconds: float = 0.0,
    ) -> ForgetReport:
        """Preview what would be forgotten; with *confirm*, delete *ids* or a *source* for good.

        *finish_seconds* above 0 also erases the texts from every file before this returns, and
        waits so long for another process that is at it; else maintenance erases them soon. *query*
        only previews; *source* selects the caller's memories with exactly this source. What rests
        on nothing else goes too; with *never_again* also what says the same words (not by *source*)
        and these are refused later. Raises NotFound, ScopeDenied, InvalidInput for ids cut off.
        """
        given = validation.labels(ids, "ids", validation.IDS_MOST)
        wanted = tuple(dict.fromkeys(self.whole_id(who, id) for id in given))
        reason = validation.text(reason, "reason", validation.SOURCE_CHARS)
        source = validation.text(source, "source", validation.SOURCE_CHARS)
        personal = self.settings.limits.secrets != "mask_keys_only"
        both = (reason, source)  # masked as when they were stored
        reason, source = (secrets.mask(each, personal_too=personal)[0] for each in both)
        never_again = validation.flag(never_again, "never_again")
        confirm = validation.flag(confirm, "confirm") and bool(wanted or source)
        validation.uncut(given, wanted if confirm else given)
        if sum(map(bool, (wanted, query, source))) != 1:
            raise validation.invalid(
                "ids", "give either ids, or a query, or a source", "recall first for the ids"
            )
        if query and not who.reader:
            raise ScopeDenied("without the right read nothing is searched", "give ids")
        parts = self._runtime.parts()
        parts.store.catch_up()
        wanted = self._near(parts, who, query) if query else wanted
        wanted = browse.of_source(parts.store, who, source) if source else wanted
        report = parts.forgetter.forget(
            who,
            wanted,
            reason=reason,
            never_again=never_again,
            confirm=confirm,
            repeats=None if source else never_again,
            finish=lambda: parts.maintenance.finish_erasing(finish_seconds),
        )
        if confirm and not finish_seconds:
            parts.maintenance.nudge()
        return report if who.reader else report.for_writers()

    def clear(self, who: Identity) -> int:
        """Delete everything that *who* owns, without tombstones; returns how many memories.

        Works in batches. When one fails, repeat the call for the rest.
        """
        parts = self._runtime.parts()
        gone = parts.forgetter.clear(who, browse.owned(parts.store, who))
        if gone:
            parts.maintenance.nudge()
        return gone

    def finish_erasing(self, seconds: float) -> bool:
        """Erase what was forgotten from every file; see Maintenance.finish_erasing."""
        return self._runtime.parts().maintenance.finish_erasing(seconds)

    def note_export(self, who: Identity, place: str) -> None:
        """Note that what *who* may read was exported to *place*, so that forget names it.

        *place* is an absolute path, copies.REST, or "" for standard output. Raises a StorageError.
        """
        copies.note_export(self._store, who, place, self._clock())

    def copies(self, who: Identity) -> str:
        """Which backups and exports still hold what was in them, in words; "" for none."""
        store = self._store
        return copies.in_words(copies.known(store.journal), places=who.admin)

    def sweep(self, who: Identity, *, all_of_it: bool = False) -> Swept:
        """Move what is due of *who* through the tiers, or all of it to long_term, of any age."""
        (parts := self._runtime.parts()).maintenance.accesses.flush()
        return parts.tiers.settle(who) if all_of_it else parts.tiers.sweep(who)

    # Doubts

    def doubts(self, who: Identity) -> list[DoubtfulPair]:
        """The undecided pairs of which a later memory may put an earlier one out of date."""
        return browse.doubts(self._store, who)

    def doubted(self, who: Identity, ids: Iterable[str]) -> dict[str, Doubted]:
        """Of those of *ids* in doubt, or in part: by what, that said last."""
        return browse.doubted(self._store, who, ids)

    def resolve(self, who: Identity, older: str, newer: str, decision: str) -> str:
        """Decide a pair of doubts(), or any two memories that hold; what was done, in words.

        newer-holds and older-holds replace the other one; newer-holds-in-part leaves what else the
        older one says; keep-both ends the doubt; merge retires the older one; undo takes the last
        decision back. Raises NotFound for a pair with nothing to decide, and ScopeDenied.
        """
        older, newer = self._id(who, older), self._id(who, newer)
        if not validation.one_of(decision, "decision", known := (*doubts.DECISIONS, "undo")):
            raise validation.invalid("decision", "it is empty", f"use one of {', '.join(known)}")
        if decision == "undo":
            return doubts.take_back(self._store, who, older, newer, history.undo_decision)
        return doubts.resolve(self._store, who, older, newer, decision)

    # Looking up

    def in_mind(self, who: Identity, session: str) -> Mind:
        """The working memory of the conversation *session*, "" the last one, in this process."""
        sessions = self._runtime.parts().sessions
        return sessions.mind(who, validation.label(session, "session") or sessions.last(who))

    def topic_edges(self, who: Identity) -> dict[tuple[str, str], float]:
        """Edges between topics that *who* may read, the strongest first; see topics.edges."""
        return browse.topic_edges(self._store, who)

    def links(self, who: Identity, id: str) -> list[Link]:
        """The links of the memory *id* to others that *who* may read. Raises NotFound like get."""
        return browse.links(self._store, who, self.get(who, id).id)

    def version(self, who: Identity, id: str) -> Version:
        """How the memory *id* relates to the one before it, its number and the root of its chain.

        Raises NotFound like get.
        """
        self.get(who, id)
        return version(self._store, who, id)

    def fading(self, who: Identity, id: str) -> Fading:
        """What is left of the memory *id* and its half-life. Raises NotFound like get."""
        return fading(self.get(who, id), self.settings.decay, self._clock())

    def get(self, who: Identity, id: str) -> MemoryRecord:
        """The memory *id*. Raises NotFound when there is none that *who* may read.

        Wherever an id is taken, the beginning of one is too, if only one that *who* may read
        begins so; InvalidInput names them if several do.
        """
        id = self.whole_id(who, validation.text(id, "id", validation.LABEL_CHARS))
        store = self._store
        store.catch_up()
        found = store.memories([id]) if store.may_read(who, id) else {}
        if id not in found:
            raise validation.unknown(id)
        return found[id]

    def short_ids(self, who: Identity, ids: Iterable[str]) -> dict[str, str]:
        """Of each of *ids* that *who* may read the shortest beginning that means no other one."""
        return browse.short_ids(self._store, who, ids)

    @property
    def _store(self) -> MemoryStore:
        return self._runtime.parts().store

    def _id(self, who: Identity, given: str, argument: str = "id") -> str:
        """The id that *given* begins. Raises NotFound for the beginning of none."""
        whole = self.whole_id(who, given)
        if isinstance(whole, str) and is_prefix(whole):
            raise validation.unknown(whole)
        return validation.reference(whole, argument)

    def whole_id(self, who: Identity, given: str) -> str:
        """The id that *given* begins, or *given*; see browse.whole_id."""
        if not (isinstance(given, str) and is_prefix(given)):
            return given
        return browse.whole_id(self._store, who, given)

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
        return browse.listing(self._store, who, wanted)

    def page(self, who: Identity, request: PageRequest) -> Page:
        """Memories in any state that *who* may read and *request* asks for; see overview.pages."""
        return pages.page(self._store, who, request)

    def states(self, who: Identity, ids: Iterable[str]) -> list[Listed]:
        """Those of *ids* that *who* may read, in that order, each with its state."""
        return pages.listed(self._store, who, ids)

    def votes(self, who: Identity, id: str) -> amendments.Votes:
        """The votes on the memory *id*. Raises NotFound like get."""
        return amendments.counted(self.history(who, id))

    def tally(
        self, who: Identity, column: str, *, part: str = "", cursor: str = "", limit: int = 100
    ) -> tallies.Tallies:
        """Names in *column*, one of tallies.TALLIED, that hold *part*, the most frequent first."""
        return tallies.tally(self._store, who, column, part=part, cursor=cursor, limit=limit)

    def timeline(
        self, who: Identity, *, step: str = "day", since: str = "", until: str = ""
    ) -> list[tallies.Span]:
        """How many memories happened in each day, week or month (*step*), oldest first."""
        return tallies.timeline(self._store, who, step=step, since=since, until=until)

    def memory_graph(self, who: Identity) -> MemoryGraph:
        """Topics, summaries, episodes and names that *who* may read, and what ties them."""
        return memory_graph(self._store, who)

    def topic_graph(self, who: Identity) -> TopicGraph:
        """The topics of what *who* may read, and what ties them together."""
        return topic_graph.topic_graph(self._store, who)

    def runs(self, who: Identity, *, cursor: str = "", limit: int = 50) -> runs.RunList:
        """The consolidation runs of *who*, newest first."""
        return runs.runs(self._store, who, cursor=cursor, limit=limit)

    def agent_state(self, who: Identity, agent: str) -> agents.AgentState:
        """Tiers, counts and pairs of *agent*, as far as *who* may read them."""
        return agents.agent_state(self._store, who, agent)

    def pairs(self, who: Identity, *, agent: str = "", limit: int = 50) -> list[TurnPair]:
        """The newest pairs of a turn and its answer; *limit* is 1 to LISTING_MOST."""
        limit = validation.whole(limit, "limit", 1, LISTING_MOST)
        return agents.pairs(self._store, who, agent, limit)

    def jobs(self, who: Identity) -> dict[str, Any]:
        """The queued, running and failed jobs of a model on what *who* may read; an admin: all."""
        return self._runtime.parts().worker.counts(who)

    def brief(self, who: Identity, tag: str, session: str, days: tuple[str, str]) -> brief.Brief:
        """What a conversation *session* in the project of *tag* may need to know when it begins.

        *days* are the first and the last day, ISO 8601, of the span in which something is due.
        """
        return brief.brief(self._store, who, tag, session, days)

    def shown(self, who: Identity, ids: Iterable[str]) -> None:
        """Note that *ids* were shown to *who*: a turn that only repeats one is an echo."""
        self._runtime.parts().sessions.note_shown(who, ids)

    def stats(self, who: Identity) -> dict[str, Any]:
        """Counts of live memories that *who* may read; needs no model."""
        return browse.stats(self._store, who)

    def names(self, who: Identity, column: str) -> list[str]:
        """Names in what *who* may read, in order; *column*: session, entities, topic or tags."""
        return browse.names(self._store, who, column)

    def holders(self, who: Identity, text: str) -> tuple[dict[str, int], int]:
        """How many memories that *who* may read hold each index term of *text*; how many in all."""
        return browse.holders(self._store, who, text)

    def changed(self, who: Identity, after: int | None = None) -> browse.Changed:
        """What any process changed after journal sequence *after*; None: where to begin from."""
        return browse.changed(self._store, who, after)

    def news(self, who: Identity, place: str | None) -> browse.News:
        """As changed, from a sealed *place* ("" for the beginning), which tells nobody's count."""
        return browse.news(self._store, who, place)

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

        `links` are a, b, kind and weight of each; `stamps` say when its values were set last.
        """
        return browse.exported(self._store, who)

    def bring_in(self, who: Identity, record: Mapping[str, Any]) -> Receipt:
        """Import one exported *record* under its id; of a known one, what was set later elsewhere.

        Its trust becomes import, or stays web. Only an admin can import for another agent or team;
        else the memory becomes the caller's own. Raises InvalidInput, which names the field.
        """
        return self._runtime.parts().importer.bring_in(who, record)

    def import_files(
        self, who: Identity, request: ImportRequest, progress: Progress | None = None
    ) -> ImportReport:
        """Import the file, folder or zip archive of *request* as one run.

        consolidate(undo=run) takes it back; after a kill the same request resumes the run. What
        cannot be read is named in the report, and the rest goes on, unless the request is strict.
        *progress* is called with (done, 0, message) and may raise to interrupt. Raises InvalidInput
        when nothing has a known form, NotFound, or Busy while another run is at work.
        """
        return self._runtime.parts().importer.run(who, request, progress or (lambda *_: None))

    def sync(self, who: Identity, place: str, progress: Progress | None = None) -> SyncReport:
        """Exchange what changed with other machines through the folder *place*; may be repeated.

        Raises InvalidInput when there is no such folder, ScopeDenied, Busy or a StorageError.
        """
        parts = self._runtime.parts()
        report = parts.syncer.run(who, place, progress or (lambda *_: None))
        if report.counts["forgotten"]:
            parts.maintenance.nudge()
        return report

    def _near(self, parts: Parts, who: Identity, text: str) -> tuple[str, ...]:
        """The ids of what *text* finds in any state, best first, among what *who* may forget."""
        request = RecallRequest(text, k=forget.MOST, context=0, rehearse=False, cut=True)
        recalled = parts.reader.recall(who, query.checked(request))
        return tuple(memory.id for memory in forget.found(parts.store, who, text, recalled))
