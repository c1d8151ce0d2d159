"""The shapes in which models have to answer; a change of one raises prompts.VERSION."""

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
    """What encoding has to give."""

    turns: list[TurnAnswer]
    facts: list[FactAnswer]


class SummariseAnswer(_Strict):
    """What summarising has to give."""

    summary: str


class RelateAnswer(_Strict):
    """What judging a relation has to give."""

    relation: Literal["new", "duplicate", "updates", "extends", "contradicts"]
    detail: str


def schema(answer: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of *answer* in the plain subset that every vendor takes: no references."""
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
