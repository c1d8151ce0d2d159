"""Documents: named texts in a memory, each version a memory that replaces the one before.

Nothing is deleted: a document that is removed is retired, and what a run of consolidation makes of
a version changes no document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from anamnesis.memory import Memory
from memory_core.errors import InvalidInput, NotFound, TooLarge
from memory_core.overview.request import PageRequest
from memory_core.records import MemoryRecord
from memory_core.text import normalise, secrets
from memory_core.validation import LABEL_CHARS, QUERY_CHARS, SOURCE_CHARS

_PAGE = 1_000
_VERSION = ", version "


@dataclass(frozen=True, slots=True)
class Document:
    """The newest version of a document; times are epoch seconds, *version* counts from 1."""

    name: str
    text: str
    version: int
    id: str
    created: float
    updated: float


class Documents:
    """The documents of one collection in the memory of one agent."""

    def __init__(self, memory: Memory, collection: str, role: str) -> None:
        """*collection* is a short name; *role* is that of what is stored, see RememberRequest."""
        self.memory = memory
        self._collection = collection
        self._role = role

    def get(self, name: str) -> Document | None:
        """The document *name*; None when there is none, or it was removed."""
        versions = [each for each in self._tagged(self._tag(name)) if self._name(each) == name]
        return self._newest(name, versions)

    def put(
        self, name: str, heading: str, text: str, groups: Iterable[str] = (), instead: str = ""
    ) -> Document:
        """Store *text* as the document *name*, or as its next version.

        *heading* is one line that says in words what the document is; it is found by that, too.
        *groups* are names by which `all` and `search` narrow. *instead* is the id of a document of
        another name, which this one takes the place of. Secrets are masked as everywhere.
        Raises InvalidInput for a name that cannot be kept or a text that was forgotten, TooLarge,
        and what remember raises.
        """
        source = self._source(name)
        versions = [each for each in self._tagged(self._tag(name)) if self._name(each) == name]
        known = self._newest(name, versions)
        number = max([len(versions), *map(_version, versions)]) + 1
        tags = [self._collection, self._tag(name), *map(self._tag, groups)]
        first = f"{heading}{_VERSION}{number}\n"
        try:
            receipt = self.memory.remember(
                first + text,
                tags=list(dict.fromkeys(tags)),
                role=self._role,
                source=source,
                replaces=known.id if known else instead,
            )
        except TooLarge as problem:  # its next step is for a person
            said = f"with a heading of {len(first)} characters: {problem.problem}"
            raise TooLarge(said, "store less, or divide it") from None
        if receipt.status == "refused":
            raise InvalidInput(receipt.warnings[0], "store another text")
        stored = self.memory.get(receipt.id)
        created = known.created if known else stored.recorded_at
        return Document(name, _body(stored), number, stored.id, created, stored.recorded_at)

    def remove(self, name: str) -> bool:
        """Retire the document *name*; False when there is none. Its versions are kept."""
        known = self.get(name)
        if known is None:
            return False
        if self.memory.get(known.id).retired_at is not None:  # by a run, which removes nothing
            self.memory.retire(known.id, retired=False)
        self.memory.retire(known.id)
        return True

    def all(self, group: str = "") -> list[Document]:
        """Every document, or those of *group*, by name."""
        versions: dict[str, list[MemoryRecord]] = {}
        for each in self._tagged(self._tag(group) if group else self._collection):
            if name := self._name(each):
                versions.setdefault(name, []).append(each)
        found = (self._newest(name, versions[name]) for name in sorted(versions))
        return [each for each in found if each is not None]

    def search(self, query: str, k: int, groups: Iterable[str]) -> list[tuple[Document, float]]:
        """At most *k*, 1 to 50, documents that answer *query* and are in all of *groups*.

        With their scores, best first. Of a long *query* the beginning counts, as of a turn.
        """
        tags = [self._collection, *map(self._tag, groups)]
        if normalise.is_blank(query):
            return []
        try:
            found = self.memory.recall(query[:QUERY_CHARS], k=k, tags=tags)
        except NotFound:  # it has the form of an id
            return []
        scored: dict[str, tuple[Document, float]] = {}
        for hit in (*found.hits, *found.partial):
            name = self._name(hit.memory)
            document = self.get(name) if name and name not in scored else None
            if document is not None:
                scored[name] = (document, hit.score)
        return list(scored.values())[:k]

    def _tagged(self, tag: str) -> Iterator[MemoryRecord]:
        """The caller's own memories with *tag*, in any state."""
        cursor, agent = "", self.memory.identity.agent
        while True:
            asked = PageRequest(cursor=cursor, limit=_PAGE, agent=agent, tags=[tag])
            page = self.memory.page(asked)
            yield from (each.memory for each in page.memories)
            cursor = page.next
            if not cursor:
                return

    def _newest(self, name: str, versions: list[MemoryRecord]) -> Document | None:
        """The document of *versions*, unless it was removed.

        What it replaced on purpose is no longer the document; whatever else happened to it is not
        asked.
        """
        versions = sorted(versions, key=lambda each: (_version(each), each.id))
        heads = [place for place, each in enumerate(versions) if not each.replaced]
        if not heads or self._removed(versions[heads[-1]]):
            return None
        first = heads[-2] + 1 if len(heads) > 1 else 0
        head, created = versions[heads[-1]], versions[first].recorded_at
        number = max(_version(head), heads[-1] + 1)
        return Document(name, _body(head), number, head.id, created, head.recorded_at)

    def _removed(self, memory: MemoryRecord) -> bool:
        """True when somebody retired *memory*, and not a run or a sweep."""
        if memory.retired_at is None:
            return False
        retired = [
            change
            for change in self.memory.history(memory.id)
            if change.kind == "put" and (change.body or {}).get("retired_at") is not None
        ]
        return bool(retired) and retired[-1].source == "amend"

    def _source(self, name: str) -> str:
        source = f"{self._collection}:{name}"
        if len(source) > SOURCE_CHARS:
            raise InvalidInput(f"name: {name[:40]!r}... is too long", "give it a shorter name")
        if not name.isprintable() or secrets.mask(source, personal_too=True)[0] != source:
            raise InvalidInput(
                "name: it holds a control character or a secret", "give it a plain name"
            )
        return source

    def _name(self, memory: MemoryRecord) -> str:
        """The name of the document that *memory* is a version of; "" for another memory."""
        collection, _, name = memory.source.partition(":")
        return name if collection == self._collection else ""

    def _tag(self, name: str) -> str:
        """The tag of a document or group; one for several names where these are long or odd."""
        tag = f"{self._collection}:{name}"
        plain = len(tag) <= LABEL_CHARS and tag.isprintable() and tag == tag.strip()
        return tag if plain else f"{self._collection}:{hashlib.sha256(tag.encode()).hexdigest()}"


def _version(memory: MemoryRecord) -> int:
    """The number in the heading of *memory*; 0 for a text that somebody else wrote."""
    number = memory.text.partition("\n")[0].rpartition(_VERSION)[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


def _body(memory: MemoryRecord) -> str:
    """The text of *memory* without its heading, if it has one."""
    return memory.text.partition("\n")[2] if _version(memory) else memory.text
