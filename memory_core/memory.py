"""Memory: the façade over one store. Checks what it is given, then sends it down the right walk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from memory_core import health
from memory_core import browse as catalogue
from memory_core import validation as checks
from memory_core.remember import draft as intake
from memory_core.recall.answer import Cues
from memory_core.remember.capture import Observation
from memory_core.config import Settings
from memory_core.embedding.embedder import Embedder
from memory_core.runtime import Engine
from memory_core.gist.encoder import GistEncoder
from memory_core.text.importance import ImportanceScorer
from memory_core.interchange import jsonl
from memory_core.enrichment.worker import EncodeReport, Progress
from memory_core.knowing import Knowing
from memory_core.lifecycle import LifeCycle
from memory_core.records import (
    KINDS,
    VISIBILITIES,
    ConversationTurn,
    HealthReport,
    Identity,
    Receipt,
    Recollection,
    is_id,
)
from memory_core.maintenance.reembedding import Reembedding
from memory_core.storage.index.indexes import DERIVED_FROM as FROM
from memory_core.lifecycle.tiers import Swept

K_MOST = 50
CONTEXT_MOST = 5


class Memory(Knowing, LifeCycle):
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
    ) -> None:
        """Open the memory of *settings*; *clock* gives epoch seconds.

        *embedder* and *encoder* go before those that the settings name; *scorer* judges importance
        in place of the rules.
        """
        self.settings = settings
        self._clock = clock
        self._engine = Engine(settings, clock, embedder, encoder, scorer)

    def wait_ready(self, timeout: float) -> bool:
        """True when store and model are ready within *timeout* seconds, False if one failed."""
        return self._engine.wait_ready(timeout)

    def close(self) -> None:
        """Journal the last accesses, stop the threads, close the files. May be called twice."""
        self._engine.close()

    def __enter__(self) -> Memory:
        """The memory itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    # Writing

    def remember(
        self,
        who: Identity,
        text: str,
        *,
        kind: str = "",
        importance: float = 0.0,
        tags: Sequence[str] = (),
        when: str | float = "",
        speaker: str = "",
        session: str = "",
        scope: str = "",
        source: str = "",
        replaces: str = "",
        role: str = "",
        trust: str = "agent",
        client: str = "",
        key: str = "",
    ) -> Receipt:
        """Store *text* durably and say how it relates to what is known.

        *importance* 0 means: judge it. *when* is ISO 8601 or epoch seconds, "" now. *replaces* is
        the id of the memory that this corrects, or a tombstone id to remember something forgotten
        after all. *key* is an idempotency key: the same key gets the same receipt. The receipt's
        status is stored, reinforced (an exact repeat), replaced or refused (it was forgotten).
        Raises InvalidInput, TooLarge, ScopeDenied, NotFound, Busy or a StorageError, and then
        nothing is stored.
        """
        draft = intake.draft(
            who,
            text,
            self.settings.limits,
            self._clock(),
            kind=kind,
            importance=importance,
            tags=tags,
            when=when,
            speaker=speaker,
            session=session,
            scope=scope,
            source=source,
            replaces=replaces,
            role=role,
            trust=trust,
            client=client,
            key=key,
        )
        return self._engine.parts().writer.remember(who, draft)

    def observe(
        self,
        who: Identity,
        turn: ConversationTurn,
        *,
        scope: str = "",
        tags: Sequence[str] = (),
        trust: str = "",
        source: str = "",
        client: str = "",
    ) -> Observation:
        """Keep a *turn* of a conversation verbatim when it passes the relevance gate.

        What is not kept is named in `skipped`: too short, only stopwords, infrastructure noise, an
        echo of recalled text, or a near-duplicate, which reinforces the first one. *trust* "" is
        user, or agent for what an assistant or a tool said. Raises as remember does.
        """
        limits, now = self.settings.limits, self._clock()
        draft = intake.of_turn(who, turn, limits, now, scope, tags, trust, source, client)
        return self._engine.parts().capture.observe(who, draft)

    def observe_and_recall(
        self,
        who: Identity,
        turn: ConversationTurn,
        *,
        k: int = 8,
        tags: Sequence[str] = (),
        **given: str,
    ) -> tuple[Observation, Recollection]:
        """Observe a *turn*, and what it brings to mind besides itself (seed row B1.3).

        *given* are scope, trust, source and client as in observe. The recall is asked with the
        beginning of the turn as far as a query may be long, in its session.
        """
        observed = self.observe(who, turn, tags=tags, **given)
        itself = (observed.receipt.id,) if observed.receipt is not None else ()
        most = self.settings.limits.query_chars
        cues = Cues(turn.content[:most], checks.whole(k, "k", 1, K_MOST), session=turn.session)
        return observed, self._recalled(who, replace(cues, besides=itself))

    # Reading

    def recall(
        self,
        who: Identity,
        query: str,
        *,
        k: int = 8,
        scope: str = "",
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        speaker: str = "",
        session: str = "",
        since: str = "",
        until: str = "",
        as_of: str = "",
        context: int = 1,
        explain: bool = False,
        rehearse: bool = True,
        elsewhere: bool = False,
    ) -> Recollection:
        """What *query* brings to mind, best first, at most *k* (1-50) memories.

        *scope*, *kinds*, *tags* and *speaker* narrow; *since* and *until* (ISO 8601, inclusive)
        filter when it happened, *as_of* gives what was known then. *session* names the current
        conversation, whose last five turns come as `recent`. *context* (0-5) neighbours of each
        hit are attached. A *query* that is an id gives that memory (NotFound when there is none).
        Without *rehearse* the recall is read-only: it leaves no trace in any memory. With
        *elsewhere* nothing of the *session* itself is an answer: it is in sight already.
        """
        happened, known = checks.period(since, until), checks.span(as_of, "as_of")
        cues = Cues(
            query=self._query(query),
            k=checks.whole(k, "k", 1, K_MOST),
            scope=checks.one_of(scope, "scope", VISIBILITIES),
            kinds=tuple(
                checks.one_of(kind, "kinds", KINDS) for kind in checks.labels(kinds, "kinds")
            ),
            tags=checks.labels(tags, "tags"),
            speaker=checks.label(speaker, "speaker"),
            session=checks.label(session, "session"),
            since=happened[0],
            until=happened[1],
            as_of=None if known is None else known[1],
            context=checks.whole(context, "context", 0, CONTEXT_MOST),
            explain=checks.flag(explain, "explain"),
            rehearse=checks.flag(rehearse, "rehearse"),
            elsewhere=checks.flag(elsewhere, "elsewhere"),
        )
        return self._recalled(who, cues)

    def _recalled(self, who: Identity, cues: Cues) -> Recollection:
        """What *cues* bring to mind; unless it leaves no trace, captured again it is an echo."""
        parts = self._engine.parts()
        named = is_id(cues.query.strip())
        found = parts.reader.by_id(who, cues) if named else parts.reader.recall(who, cues)
        if cues.rehearse:
            ids = [hit.memory.id for hit in found.hits]
            parts.sessions.told(who, [*ids, *(hit.memory.id for hit in found.partial)])
        return found

    # Sleeping and forgetting

    def sweep(self, who: Identity) -> Swept:
        """Move what *who* owns through the tiers now; it happens by itself every few minutes."""
        parts = self._engine.parts()
        parts.maintenance.accesses.flush()
        return parts.tiers.sweep(who)

    # Knowing

    @property
    def reembedding(self) -> Reembedding:
        """The change of the store to another embedding model; begin it there."""
        return self._engine.parts().reembedding

    def health(self, who: Identity, *, repair: bool = False) -> HealthReport:
        """A real round trip and the state of every part; *repair* rebuilds what can be rebuilt."""
        repair = checks.flag(repair, "repair")
        return health.report(self, self._engine, who, repair=repair, now=self._clock())

    def encode(self, who: Identity, since: str = "", tell: Progress | None = None) -> EncodeReport:
        """Let the model do now what is due, and again what was said *since*; see Jobs.encode."""
        span = checks.span(since, "since")
        return self._engine.parts().jobs.encode(who, None if span is None else span[0], tell)

    # Interchange

    def export(self, who: Identity) -> Iterator[dict[str, Any]]:
        """Every memory that *who* may read, oldest first, as JSON-ready dicts with all fields.

        A memory that is linked with others has `links` too: a, b, kind and weight of each.
        """
        store = self._engine.parts().store
        for memory in catalogue.readable(store, who):
            found = catalogue.links(store, who, memory.id)
            links = [asdict(link) for link in found if link.kind != FROM]
            yield jsonl.to_record(memory) | ({"links": links} if links else {})

    def bring_in(self, who: Identity, record: Mapping[str, Any]) -> Receipt:
        """Take back one exported *record*; it keeps its id, and nothing is doubled.

        It carries trust "import", or the lower one that it had. Only an admin can bring in what
        belongs to another agent or team; else it becomes the caller's own. Raises InvalidInput,
        which names the field, TooLarge, ScopeDenied or a StorageError.
        """
        links = intake.links(checks.mapping(record, "record").get("links", ()))
        record = {name: value for name, value in record.items() if name != "links"}
        memory, warnings = jsonl.from_record(record)
        if "occurred_at" not in record:
            memory = replace(memory, occurred_at=self._clock())
        memory = intake.imported(who, memory, self.settings.limits)
        receipt = self._engine.parts().writer.bring_in(who, memory, links)
        return replace(receipt, warnings=(*receipt.warnings, *warnings))

    def _query(self, query: str) -> str:
        return checks.prose(query, "query", self.settings.limits.query_chars, checks.SHORTEN)[0]
