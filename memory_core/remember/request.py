"""What a caller asks to have stored. Raw values: `draft.py` checks them, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from hashlib import blake2s

from memory_core.records import MemoryRecord


@dataclass(frozen=True, slots=True)
class RememberRequest:
    """One memory to store: its text, and what the caller knows about it.

    `kind` is one of KINDS, "" an episode. `importance` is above 0 and at most 1; 0 lets the rules
    judge it. `tags` are the user's own. `when` is when it happened: ISO 8601 or epoch seconds, ""
    now. `speaker` is a name, `role` one of ROLES, `session` the conversation. `scope` is private
    (also ""), team or shared. `source` is where it comes from, such as a path or an address.
    `replaces` is the id of the memory that this one corrects, or the id of a tombstone: then
    something forgotten is stored after all. `trust` is one of TRUSTS, `client` the program that
    asks. `key` is an idempotency key: the same key returns the same
    receipt. `asked` is a hash of what the key stands for: with another one the key is refused; ""
    is any. `seen` is how many changes the memory to replace has in its history, as far as the
    caller knows; with more it is not replaced, and nothing is stored. 0 is any. `edit` says that
    the text is that of `replaces` put right: undoing the change takes it out of recall again.
    """

    text: str
    _: KW_ONLY
    kind: str = ""
    importance: float = 0.0
    tags: Sequence[str] = ()
    when: str | float = ""
    speaker: str = ""
    session: str = ""
    scope: str = ""
    source: str = ""
    replaces: str = ""
    role: str = ""
    trust: str = "agent"
    client: str = ""
    key: str = ""
    asked: str = ""
    seen: int = 0
    edit: bool = False


NOT_ASKED = ("trust", "client", "key", "asked", "seen", "edit")
"""Fields that say who asks and how, and not what; REST takes them from a header, or sets them."""


def digest(request: RememberRequest) -> str:
    """A hash of what *request* asks to have stored, for `asked`; the same by every way in."""
    what = {name: value for name, value in asdict(request).items() if name not in NOT_ASKED}
    return blake2s(json.dumps(what, default=repr).encode(), digest_size=16).hexdigest()


def instead_of(old: MemoryRecord, text: str) -> RememberRequest:
    """A request for *text* in the place of *old*, with what is known of *old*: also when it was."""
    return RememberRequest(
        text,
        kind=old.kind,
        importance=old.importance,
        tags=old.tags,
        when=old.occurred_at,
        speaker=old.speaker,
        role=old.role,
        session=old.session,
        scope=old.visibility,
        source=old.source,
        replaces=old.id,
        edit=True,
    )


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One turn of a conversation, to be stored when it passes the relevance gate.

    `role` is one of ROLES, `speaker` a name ("Mara"). `timestamp` is when it was said, None now.
    `trust` "" is agent for what an assistant or a tool said, quoted for a text that its speaker
    only quotes or pastes, else user. The others are those of RememberRequest.
    """

    role: str
    content: str
    timestamp: float | None = None
    session: str = ""
    speaker: str = ""
    _: KW_ONLY
    scope: str = ""
    tags: Sequence[str] = ()
    trust: str = ""
    source: str = ""
    client: str = ""
