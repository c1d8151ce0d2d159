"""What a memory knows without a question: one by its id, listings, names, what is in mind."""

from __future__ import annotations

from typing import Any

from memory_core import records
from memory_core import browse as catalogue
from memory_core import validation as checks
from memory_core.lifecycle import topics
from memory_core.config import Settings
from memory_core.runtime import Engine
from memory_core.records import KINDS, Identity, Link
from memory_core.lifecycle.working_memory import Mind

LISTING_MOST = 1000


class Knowing:
    """The part of the façade that looks things up; Memory is the whole."""

    settings: Settings
    _engine: Engine

    def in_mind(self, who: Identity, session: str) -> Mind:
        """What the conversation has in mind in this process: recalled last, working, primed."""
        return self._engine.parts().sessions.mind(who, checks.label(session, "session"))

    def topic_edges(self, who: Identity) -> dict[tuple[str, str], float]:
        """Edges between topics that *who* may read, the strongest first; see topics.edges."""
        store = self._engine.parts().store
        store.catch_up()
        with store.reading():
            return topics.edges(store, store.readable(who))

    def links(self, who: Identity, id: str) -> list[Link]:
        """The links of the memory *id* to others that *who* may read. Raises NotFound like get."""
        self.get(who, id)
        return catalogue.links(self._engine.parts().store, who, id)

    def get(self, who: Identity, id: str) -> records.Memory:
        """The memory *id*. Raises NotFound when there is none that *who* may read."""
        id = checks.text(id, "id", checks.LABEL_CHARS)
        store = self._engine.parts().store
        store.catch_up()
        found = store.memories([id]) if store.may_read(who, id) else {}
        if id not in found:
            raise checks.unknown(id)
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
    ) -> list[records.Memory]:
        """The newest memories that *who* may read and that fit the filters, newest first.

        Without those that were replaced or retired. *limit* is 1 to LISTING_MOST.
        """
        wanted = catalogue.Wanted(
            checks.whole(limit, "limit", 1, LISTING_MOST),
            checks.text(session, "session", checks.LABEL_CHARS),
            checks.one_of(kind, "kind", KINDS),
            checks.text(entity, "entity", self.settings.limits.query_chars),
            checks.text(topic, "topic", self.settings.limits.query_chars),
        )
        return catalogue.listing(self._engine.parts().store, who, wanted)

    def weightiest(
        self, who: Identity, *, limit: int, among: int, tag: str = "", but: str = ""
    ) -> list[records.Memory]:
        """The *limit* most important of the newest *among* memories, the most important first.

        Only those with *tag*, if it is given, and none with a tag that begins with *but*. Without
        those that were replaced or retired. Both numbers are 1 to LISTING_MOST.
        """
        wanted = catalogue.Weighty(
            checks.whole(limit, "limit", 1, LISTING_MOST),
            checks.whole(among, "among", 1, LISTING_MOST),
            checks.text(tag, "tag", checks.LABEL_CHARS),
            checks.text(but, "but", checks.LABEL_CHARS),
        )
        return catalogue.weightiest(self._engine.parts().store, who, wanted)

    def stats(self, who: Identity) -> dict[str, Any]:
        """Counts of live memories that *who* may read; needs no model."""
        return catalogue.stats(self._engine.parts().store, who)

    def names(self, who: Identity, column: str) -> list[str]:
        """Names in what *who* may read, in order; *column*: session, entities, topic or tags."""
        return catalogue.names(self._engine.parts().store, who, column)

    def changed(self, who: Identity, after: int | None = None) -> catalogue.Changed:
        """What any process changed after journal sequence *after* in what *who* may read.

        None gives only the sequence to begin from. Cheap when nothing changed.
        """
        return catalogue.changed(self._engine.parts().store, who, after)
