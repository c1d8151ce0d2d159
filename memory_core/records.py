"""The values that travel between the parts: a memory, a change, who asks, and the answers.

Plain data without I/O. Times are seconds since the Unix epoch (UTC, float); unset: None, or "".
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

FACT_KINDS = ("fact", "preference", "event", "relationship", "procedure")
DERIVED = ("summary", "concept")
"""Kinds of memories that consolidation derives from others."""

KINDS = ("episode", *FACT_KINDS, *DERIVED)
VISIBILITIES = ("private", "team", "shared")
ROLES = ("", "user", "assistant", "system", "tool")
TIERS = ("active", "recent", "long_term")
TRUSTS = ("user", "agent", "import", "web", "quoted")
"""Highest first. A summary carries the lowest trust of its sources.

quoted is what somebody pasted or quoted in a conversation: of the web the address is known, of this
not even who wrote it.
"""

SPEAKING = ("", "user")
"""Roles whose words count as statements: an assistant's and a tool's are content."""

UNTRUSTED = ("web", "quoted")
"""Trusts of texts from outside of the conversation: they instruct nobody."""

PROJECT = "project:"
"""How a tag begins that names the project in which something was said."""


def projects_of(tags: Iterable[str]) -> frozenset[str]:
    """Those of *tags* that name a project, in small letters."""
    return frozenset(tag.casefold() for tag in tags if tag.startswith(PROJECT))


VOTE = "vote"
"""The key, in the body of a put, of a vote on a memory. It is no field of a memory."""

SYNCED = "synced"
"""The key, in the body of a change, of the stamps that it had on another machine. It is no field;
see lifecycle.stamps."""

JOBS = ("importance-judge", "gist", "extract")
"""What a model does for one memory, by name; a job is called `gist:ID`."""
FAILED, NEVER = "failed", "never"
RIGHTS = frozenset({"read", "write", "admin"})
_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{20}")
_PREFIX = re.compile(r"0[0-9a-hjkmnp-tv-z]{5,18}")
_CLOSING = " .!…。！"


def new_id(now: float) -> str:
    """A new memory or run id: 20 characters, 48 bits of milliseconds then 52 random bits.

    Ids sort by time to the millisecond. Lower case Crockford base 32, so that an id can be read
    aloud and typed.
    """
    return _spelled(now, secrets.randbits(52))


def id_of(name: str, when: float | None) -> str:
    """The id of what has the *name* elsewhere, always the same; *when* (epoch seconds) sorts it.

    Without a time that is its own it takes one of the years 1970 to 2004 from the name.
    """
    number = int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest())
    return _spelled((number >> 128) % 2**40 / 1000 if when is None else when, number % 2**52)


def _spelled(seconds: float, rest: int) -> str:
    number = (max(0, int(seconds * 1000)) & (1 << 48) - 1) << 52 | rest
    return "".join(_BASE32[number >> shift & 31] for shift in range(95, -1, -5))


def is_id(text: str) -> bool:
    """True when *text* has the form of an id (it need not exist)."""
    return _ID.fullmatch(text) is not None


def is_prefix(text: str) -> bool:
    """True when *text* may be the beginning of an id: 6 to 19 of its characters.

    An id of our time begins with 0, so no word of a language is one.
    """
    return _PREFIX.fullmatch(text) is not None


MASKED = "[masked:"
"""What the mark begins with that stands in a text for a secret."""


def normalised(text: str) -> str:
    """*text* without what makes no other memory: case, white space and end punctuation.

    A closing question mark, numbers, signs, accents, names and word order stay, and so do letters
    that casefold() would merge: German "in Maßen" and "in Massen" are opposites.
    """
    lowered = " ".join(unicodedata.normalize("NFC", text).lower().split())
    return lowered.rstrip(_CLOSING) or lowered


def content_hash(text: str) -> str:
    """The first 128 bits of the SHA-256 of *text* in UTF-8, as 32 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller: from the settings (stdio, command line) or the token, never from an argument.

    `encode` False: nothing that it stores may be sent to a model. Without the right read no answer
    shows it a stored text, an id or a count at most.
    """

    agent: str
    team: str = ""
    rights: frozenset[str] = RIGHTS
    encode: bool = True

    @property
    def reader(self) -> bool:
        """True when answers may show the identity what is stored."""
        return "read" in self.rights

    @property
    def admin(self) -> bool:
        """True when the identity may change what others own in a scope that it can read."""
        return "admin" in self.rights


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One memory, as it is stored and exported.

    `tags` are the caller's; `keywords` are those that an encoder found where the caller gave no
    tags. Both are indexed; the tag filter of recall sees `tags` alone. `lead` are the questions,
    requests and greetings said right before it in its conversation, "speaker: text", which are no
    memories. `importance` is 0 to 1,
    `valence` -1 to 1, `arousal` 0 to 1. `dates` are the days, months or years that the text names,
    resolved to ISO 8601 ("2024-05-07", "2024-05", "2024"). `position` counts from 0 within
    (visibility, agent, team, session); -1 without a session. World time (`valid_from`,
    `valid_until`) and knowledge time (`superseded_at`, `retired_at`, `stale_since`) are
    independent. `replaced` True: `superseded_by` was set on purpose, by a user or an agent. `due`
    are the JOBS that a model still has to do for it; `encoded` is the version of the encoder that
    did them, or that derived it from others; FAILED when it gave up, NEVER when no model may see
    it.
    """

    id: str
    text: str
    visibility: str = "private"
    agent: str = ""
    team: str = ""
    session: str = ""
    position: int = -1
    speaker: str = ""
    role: str = ""
    kind: str = "episode"
    gist: str = ""
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    topic: str = ""
    entities: tuple[str, ...] = ()
    importance: float = 0.5
    valence: float = 0.0
    arousal: float = 0.0
    emotions: tuple[str, ...] = ()
    occurred_at: float = 0.0
    recorded_at: float = 0.0
    dates: tuple[str, ...] = ()
    valid_from: float | None = None
    valid_until: float | None = None
    superseded_by: str = ""
    superseded_at: float | None = None
    replaced: bool = False
    retired_at: float | None = None
    stale_since: float | None = None
    derived_from: tuple[str, ...] = ()
    run: str = ""
    content_hash: str = ""
    source: str = ""
    client: str = ""
    lead: tuple[str, ...] = ()
    trust: str = "agent"
    tier: str = "long_term"
    access_count: int = 0
    last_accessed: float | None = None
    due: tuple[str, ...] = ()
    encoded: str = ""

    @property
    def extracted(self) -> bool:
        """True for a fact that a model made of other memories: derived, and not verbatim."""
        return bool(self.encoded and self.derived_from) and self.kind not in ("summary", "concept")

    @property
    def scope(self) -> str:
        """What the caller calls the scope: private, team or shared."""
        return self.visibility

    @property
    def holds_from(self) -> float:
        """When what it says begins to hold, in epoch seconds: at once, or at `valid_from` later."""
        said = self.occurred_at
        return said if self.valid_from is None else max(said, self.valid_from)

    @property
    def thread(self) -> str:
        """The conversation it belongs to, one string for (scope, owner, session), or ""."""
        return thread_key(self.visibility, self.agent, self.team, self.session)


_DEFAULTS: dict[str, Any] = {
    f.name: f.default
    for f in dataclasses.fields(MemoryRecord)
    if f.default is not dataclasses.MISSING
}
_TUPLES = frozenset(name for name, value in _DEFAULTS.items() if isinstance(value, tuple))


def to_fields(memory: MemoryRecord) -> dict[str, Any]:
    """*memory* as a JSON-ready dict; fields that hold their default are left out."""
    fields: dict[str, Any] = {}
    for name in _FIELDS_IN_ORDER:
        value = getattr(memory, name)
        if name not in _DEFAULTS or value != _DEFAULTS[name]:
            fields[name] = list(value) if isinstance(value, tuple) else value
    return fields


_FIELDS_IN_ORDER = tuple(f.name for f in dataclasses.fields(MemoryRecord))
_FIELDS = frozenset(_FIELDS_IN_ORDER)


def from_fields(fields: Mapping[str, Any]) -> MemoryRecord:
    """The inverse of to_fields; unknown names, as of a newer minor format, are ignored."""
    known: dict[str, Any] = {
        name: tuple(value) if name in _TUPLES else value
        for name, value in fields.items()
        if name in _FIELDS
    }
    return MemoryRecord(**known)


def thread_key(visibility: str, agent: str, team: str, session: str) -> str:
    """One string for (scope, owner, session), or "" without a session."""
    return "\x1f".join((visibility, agent, team, session)) if session else ""


def is_heard(memory: MemoryRecord) -> bool:
    """True for what nobody stated here: an assistant or a tool said it, or it was only quoted."""
    return memory.role not in SPEAKING or memory.trust in UNTRUSTED


def repeat_key(memory: MemoryRecord, *, dated: bool = False) -> str | None:
    """32 hex digits, equal for exact repeats; an extracted fact never repeats what was said.

    *dated*: of repeats that name the same days ("dentist tomorrow", said on two days).

    Nor does what a user states repeat what was only heard. None for words of somebody from which a
    secret was masked: with another secret they are the same text.
    """
    if MASKED in memory.text and not memory.derived_from:
        return None
    owner = (memory.visibility, memory.agent, memory.team, memory.speaker, memory.session)
    apart = (("extracted", memory.extracted), ("heard", is_heard(memory)))
    kept_apart = [word for word, holds in apart if holds]
    parts = (*owner, normalised(memory.text), *kept_apart, *(memory.dates if dated else ()))
    return content_hash("\x1f".join(parts))


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the journal: an after-image.

    | kind    | target    | body                                                             |
    |---------|-----------|------------------------------------------------------------------|
    | put     | memory id | fields with their absolute values (all of them when it is new)   |
    | vectors | memory id | {"fingerprint": str, "parts": [int, ...]}; floats in a side table |
    | access  | ""        | {"ids": [...], "counts": [...], "last": [...]}, absolute         |
    | link    | id of a   | {"b": id, "kind": str, "weight": float}; weight 0 removes it     |
    | forget  | memory id | {"digests": [...], "reason": str}                                |
    | run     | run id    | {"state": started / completed / failed / undone, ...}            |
    | meta    | key       | {"value": JSON}                                                  |

    Values are absolute, so applying a change twice equals applying it once. `run` names the
    consolidation run that made the change; then `before` holds the previous values of the fields
    in `body`. `seq` is 0 until the journal has assigned it. `body` is None once it was erased.
    """

    kind: str
    target: str
    body: Mapping[str, Any] | None
    run: str = ""
    before: Mapping[str, Any] | None = None
    actor: str = ""
    source: str = ""
    scope: str = ""
    seq: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """An association; docs/internals/journal-format.md lists the kinds."""

    a: str
    b: str
    kind: str
    weight: float


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory near a new one.

    `relation` is duplicate, updates, contradicts, extends, doubts (it may be out of date) or
    similar.
    """

    id: str
    text: str
    relation: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer of remember. `status` is stored, reinforced, replaced or refused.

    `doubts` counts, for an import, the pairs of memories that it put in doubt.
    """

    id: str
    status: str
    kind: str
    importance: float
    gist: str = ""
    similar: tuple[Similar, ...] = ()
    replaced: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    doubts: int = 0

    def for_writers(self) -> Receipt:
        """This receipt for who may not read: without what is stored near the memory."""
        return replace(self, similar=())


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A turn before or after a hit in the same conversation.

    Without an id it is no memory: it leads up to the next turn; see MemoryRecord.lead.
    """

    id: str
    speaker: str
    text: str
    when: float


class Doubted(NamedTuple):
    """The id of the later memory that may put one out of date, and when it began to hold.

    `in_part`: only a part of it; then without a time where somebody decided that the later one
    holds for that part.
    """

    by: str = ""
    since: float | None = None
    in_part: bool = False


UNDOUBTED = Doubted()


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory, its fused score, its neighbours and why it was chosen.

    `doubted_by`, `doubtful_since` and `in_part` are as in Doubted.
    """

    memory: MemoryRecord
    score: float
    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()
    why: Mapping[str, float | str] = field(default_factory=dict)
    doubted_by: str = ""
    doubtful_since: float | None = None
    in_part: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Recollection:
    """The answer of recall.

    `hits` best first; `recent` the last turns of the session, oldest first; `partial` at most
    three half-matches when nothing was found; `confidence` 0-1 and `feeling` (high, moderate, low,
    none); `note` says what the caller should know, such as "lexical only". Only an explained answer
    has `rejected`, the best rejected candidates.
    """

    found: bool
    confidence: float
    feeling: str
    hits: tuple[Hit, ...] = ()
    recent: tuple[Neighbour, ...] = ()
    partial: tuple[Hit, ...] = ()
    note: str = ""
    rejected: tuple[Hit, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the hits, best first."""
        return tuple(hit.memory.text for hit in self.hits)

    def __repr__(self) -> str:
        """What was found, a line for each hit: when it happened, the id and the text."""
        shown = [("", hit) for hit in self.hits] + [("partial ", hit) for hit in self.partial]
        lines = [f"<Recollection: {len(self.hits)} found, confidence {self.feeling}>"]
        for number, (mark, hit) in enumerate(shown, 1):
            memory = hit.memory
            part = " in part" if hit.in_part else ""
            state = f" (may be out of date{part}, see {hit.doubted_by})" if hit.doubted_by else ""
            if memory.superseded_by:
                state = f" (out of date, see {memory.superseded_by})"
            day = datetime.fromtimestamp(memory.occurred_at).date()
            lines.append(f"{number}. {mark}{day} {memory.id}{state} {memory.text!r}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class DoubtfulPair:
    """A memory, the later one that may put it out of date, and why; "" if unknown.

    *part* is what of the older text may be out of date, where the rest holds; "" for all of it.
    """

    older: MemoryRecord
    newer: MemoryRecord
    reason: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two memories that cannot both hold, older first; `agents` names who said which."""

    older: str
    newer: str
    relation: str
    subject: str = ""
    detail: str = ""
    agents: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a consolidation run."""

    name: str
    changed: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that a run wrote (or would write) and the memories that it is derived from."""

    id: str
    text: str
    derived_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunReport:
    """The answer of consolidate. `status` is completed, preview, undone, failed or running."""

    run: str
    status: str
    steps: tuple[Step, ...] = ()
    summaries: tuple[Summary, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    retired: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    note: str = ""

    def for_writers(self) -> RunReport:
        """This report for who may not read: ids and counts without words of memories."""
        return replace(
            self,
            steps=tuple(replace(step, detail="") for step in self.steps),
            summaries=tuple(replace(summary, text="") for summary in self.summaries),
            contradictions=tuple(replace(c, subject="", detail="") for c in self.contradictions),
        )


@dataclass(frozen=True, slots=True)
class Removal:
    """A memory that forget removes, or would remove; *when* it happened, in epoch seconds."""

    id: str
    text: str
    when: float | None = None


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """The answer of forget. `derived` are derived only from what is removed, and removed too."""

    status: str
    removed: tuple[Removal, ...] = ()
    derived: tuple[Removal, ...] = ()
    note: str = ""

    def for_writers(self) -> ForgetReport:
        """This report for who may not read: ids without texts."""
        return replace(
            self,
            removed=tuple(replace(removal, text="") for removal in self.removed),
            derived=tuple(replace(removal, text="") for removal in self.derived),
        )


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a health report. `status` is ok, repaired, degraded or failing."""

    name: str
    status: str
    detail: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The answer of health. `status` is ok, degraded or failing."""

    status: str
    checks: tuple[Check, ...]
    counts: Mapping[str, Any]
    storage: Mapping[str, Any]
    model: Mapping[str, Any]
    encoder: Mapping[str, Any]
    jobs: Mapping[str, Any]
    last_run: Mapping[str, Any]
    versions: Mapping[str, str]


def elapsed(since: float, now: float) -> float:
    """Seconds from *since* to *now*, both of the wall clock; infinite when *since* is later.

    *since* is later after the clock was set back: periodic work must then run at once instead of
    waiting until the clock has caught up. Never negative.
    """
    return now - since if now >= since else math.inf


def scope(memory: MemoryRecord) -> tuple[str, str, str]:
    """What memories must share to be compared: visibility, owner and, for a team's, the team."""
    return memory.visibility, memory.agent, memory.team if memory.visibility == "team" else ""


def owner_of(memory: MemoryRecord) -> str:
    """One string for each scope, by which the tombstones of one scope do not act in another."""
    if memory.visibility == "private":
        return f"private:{memory.agent}"
    return f"team:{memory.team}" if memory.visibility == "team" else "shared"
