"""The schemas of models' answers; raise prompts.VERSION when one changes.

Imported by the first call only: building the pydantic models would delay opening a store.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TurnAnswer(_Strict):
    """The report on one turn."""

    turn: int
    gist: str
    tags: list[str]
    topic: str
    entities: list[str]
    importance: float


class FactAnswer(_Strict):
    """One fact."""

    text: str
    kind: Literal["fact", "preference", "event", "relationship", "procedure"]
    importance: float
    topic: str
    entities: list[str]
    sources: list[int]


class EncodeAnswer(_Strict):
    """The answer to prompts.encode."""

    turns: list[TurnAnswer]
    facts: list[FactAnswer]


class SummariseAnswer(_Strict):
    """The answer to prompts.summarise."""

    summary: str


class RelateAnswer(_Strict):
    """The answer to prompts.relate."""

    relation: Literal["new", "duplicate", "updates", "extends", "contradicts"]
    detail: str


def schema(answer: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of *answer* in the subset that every vendor accepts: no references."""
    whole = answer.model_json_schema()
    parts = whole.pop("$defs", {})

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return plain(parts[node["$ref"].rsplit("/", 1)[1]])
        kept = {name: value for name, value in node.items() if name not in ("title", "description")}
        return {name: plain(value) for name, value in kept.items()}

    flat: dict[str, Any] = plain(whole)
    return flat
