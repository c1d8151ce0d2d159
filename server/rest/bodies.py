"""What the operations take: bodies with every limit in the schema; unknown fields are refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator

from memory_core import validation
from memory_core.recall.query import CONTEXT_MOST, K_MOST
from memory_core.records import KINDS
from memory_core.text.time import timestamps
from server.protocol.schemas import Kind, Mode, OptionalKind, OptionalScope

TEXT_CHARS = 20_000
"""Shown in the schema; the memory checks its own setting."""

_LINE = r"^[^\x00-\x1f\x7f-\x9f]*$"
_SEEN = r"[^\s\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]"
"""A character that can be seen."""
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_ZONE = "([Zz]|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)"
_TIME = rf"[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{{1,9}})?)?( ?{_ZONE})?"
_DAY = "(0[1-9]|1[0-9]|2[0-8])"
_LONG = f"(0[13578]|1[02])-({_DAY}|29|30|31)"
_SHORT = f"(0[469]|11)-({_DAY}|29|30)"
_FOURTH = "(0[48]|[2468][048]|[13579][26])"
_LEAP = f"([0-9]{{2}}{_FOURTH}|{_FOURTH}00)"
_DATE = f"({_YEAR}-({_LONG}|{_SHORT}|02-{_DAY})|{_LEAP}-02-29)"
MOMENT = f"^({_YEAR}(-(0[1-9]|1[0-2]))?|{_DATE}({_TIME})?)?$"
"""ISO 8601 as the memory reads it: a year, a month, a day or a time; or nothing."""

_CHAR = "[0-9a-hjkmnp-tv-z]"
ID = f"^(0{_CHAR}{{5,18}}|{_CHAR}{{20}})$"
"""An id, or its beginning."""
OPTIONAL_ID = f"^(0{_CHAR}{{5,18}}|{_CHAR}{{20}})?$"

SAID = {
    MOMENT: f"it is no date or time; {timestamps.ALLOWED}",
    ID: "it is no id, nor the beginning of one",
    OPTIONAL_ID: "it is no id, nor the beginning of one",
    _LINE: "it holds a control character",
    _SEEN: "it is empty",
}
"""What is wrong with a text that does not match one of the patterns."""

Label = Annotated[str, Field(max_length=validation.LABEL_CHARS, pattern=_LINE)]
Labels = Annotated[list[Label], Field(max_length=validation.LABELS_MOST)]
Moment = Annotated[str, Field(pattern=MOMENT, examples=["2024-05-07", "2024-05-07T13:56:00Z"])]
Text = Annotated[
    str, Field(min_length=1, pattern=_SEEN, json_schema_extra={"maxLength": TEXT_CHARS})
]
Question = Annotated[str, Field(min_length=1, max_length=validation.QUERY_CHARS, pattern=_SEEN)]
Source = Annotated[str, Field(max_length=validation.SOURCE_CHARS)]
Name = Annotated[str, Field(max_length=validation.QUERY_CHARS)]


def _whole(value: object) -> object:
    """JSON knows one kind of number: 5.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Share = Annotated[float, Field(ge=0, le=1)]
Id = Annotated[str, Field(pattern=ID)]
Role = Literal["", "user", "assistant", "system", "tool"]


class Body(BaseModel):
    """Base of the bodies: no unknown field, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewMemory(Body):
    """A memory to store."""

    text: Text = Field(description="verbatim", examples=["The review is on Friday at two."])
    kind: OptionalKind = Field("", description="empty: episode")
    importance: Share = Field(0.0, description="0: estimated by rules")
    tags: Labels = []
    when: Moment = Field("", description="when it happened; empty: now")
    speaker: Label = Field("", description="who said it")
    role: Role = ""
    session: Label = Field("", description="the conversation")
    scope: OptionalScope = Field("", description="empty: private")
    source: Source = Field("", description="where it comes from")
    replaces: str = Field("", pattern=OPTIONAL_ID, description="id of the memory this corrects")


class Amendment(Body):
    """What to change of a memory. Another text is a memory of its own that replaces this one."""

    text: Text | None = None
    tags: Labels | None = None
    importance: Share | None = None


class Pin(Body):
    """Whether a memory is kept for good."""

    pinned: bool = Field(True, description="false: the importance from before the pin")


class Retirement(Body):
    """Whether a memory is retired."""

    retired: bool = True


class ChangeToUndo(Body):
    """One change of a memory."""

    change: Whole = Field(ge=1, le=2**53, description="its number in the history")


class RecallWeights(Body):
    """What besides the evidence counts: shares of the score; above 1 together in proportion."""

    recency: Share = 0.0
    importance: Share = 0.0
    half_life_days: float = Field(30.0, ge=0.01, le=36_500)
    variety: Share = 0.0


class Recall(Body):
    """A question and what narrows its answers."""

    query: Question = Field(
        description="a question, keywords, or an id", examples=["When is the review?"]
    )
    k: Whole = Field(8, ge=1, le=K_MOST, description="most memories")
    scope: OptionalScope = ""
    kinds: list[Kind] = Field([], max_length=len(KINDS))
    tags: Labels = Field([], description="a memory has all of them")
    topic: Name = ""
    entity: Name = ""
    importance: Share = Field(0.0, description="least importance")
    speaker: Label = ""
    session: Label = Field(
        "", description="the conversation that asks; its last turns are `recent`"
    )
    since: Moment = ""
    until: Moment = ""
    as_of: Moment = Field("", description="what was known then")
    context: Whole = Field(1, ge=0, le=CONTEXT_MOST, description="neighbours each side")
    explain: bool = Field(False, description="add why each was chosen, and the best rejected")
    elsewhere: bool = Field(False, description="no memory of `session` is an answer")
    project: Label = Field("", description="no memory of another project is an answer")
    cut: bool = Field(False, description="what is far behind the best is no answer")
    rehearse: bool = Field(True, description="false: read-only, changes no access count")
    weights: RecallWeights = RecallWeights()
    max_tokens: Whole = Field(
        0, ge=0, le=10_000, description="above 0: add `block`, text for a prompt of that length"
    )


class NewTurn(Body):
    """One turn of a conversation: stored when it passes the relevance gate."""

    role: Role
    content: Text
    session: Label = ""
    speaker: Label = ""
    when: Moment = ""
    scope: OptionalScope = ""
    tags: Labels = []
    source: Source = ""
    recall: bool = Field(False, description="also recall what the turn brings to mind")
    k: Whole = Field(8, ge=1, le=K_MOST)
    max_tokens: Whole = Field(0, ge=0, le=10_000, description="as in recall")


class ChatTurn(Body):
    """What the user says in a chat; the newest turns of its session are shown to the model too."""

    text: Text
    session: Label = "chat"


class TextToExtract(Body):
    """A text whose facts a language model extracts now."""

    text: Text
    session: Label = ""
    speaker: Label = ""
    when: Moment = ""
    scope: OptionalScope = ""
    source: Source = ""


class Seed(Body):
    """Facts to store as they are, without the relevance gate."""

    facts: list[Text] = Field(min_length=1, max_length=100)
    session: Label = ""
    scope: OptionalScope = ""
    source: Source = ""


class Vote(Body):
    """What the caller says of a memory as an answer."""

    query: Question
    value: Whole = Field(ge=-1, le=1, description="1 good, -1 wrong, 0 withdraws")


_SELECTING = {"ids": {"maxItems": 0}, "query": {"maxLength": 0}, "source": {"maxLength": 0}}
_GIVEN = {"ids": {"minItems": 1}, "query": {"pattern": _SEEN}, "source": {"minLength": 1}}


def _only(name: str) -> dict[str, JsonValue]:
    """The schema of a body that selects by *name* alone."""
    others = {each: empty for each, empty in _SELECTING.items() if each != name}
    return {"required": [name], "properties": {name: _GIVEN[name], **others}}  # type: ignore[dict-item]


class Forget(Body):
    """What to delete for good: one of ids, query and source. Without confirm a preview."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_only(n) for n in _SELECTING]})

    ids: list[Id] = Field([], max_length=validation.IDS_MOST)
    query: str = Field("", max_length=validation.QUERY_CHARS, description="previews only")
    source: Source = ""
    reason: Source = ""
    never_again: bool = Field(True, description="refuse to store it again")
    confirm: bool = Field(False, description="true deletes for good")


class Consolidation(Body):
    """A run, or its preview."""

    mode: Mode = "sleep"
    session: Label = ""
    dry_run: bool = False


class Decision(Body):
    """A decision about a pair of GET /contradictions."""

    older: Id
    newer: Id
    decision: Literal[
        "newer-holds", "newer-holds-in-part", "older-holds", "keep-both", "merge", "undo"
    ]


class SessionEnd(Body):
    """The end of a conversation."""

    session: Annotated[Label, Field(min_length=1)]


class Nothing(Body):
    """An empty object."""


class Clearing(Body):
    """The confirmation that everything of the caller is deleted."""

    confirm: bool = Field(json_schema_extra={"const": True})

    @field_validator("confirm")
    @classmethod
    def _confirmed(cls, value: bool) -> bool:
        if not value:
            raise ValueError("must be true")
        return value
