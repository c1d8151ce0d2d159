"""The encoder with a model: sends the prompts and checks the shape of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from memory_core.config import Settings
from memory_core.gist import http_client, prompts
from memory_core.gist.base import (
    Encoded,
    Fact,
    Gist,
    InputTurn,
    Related,
    Speaker,
    Summarised,
    Usage,
)
from memory_core.gist.http_client import Ask

if TYPE_CHECKING:
    from pydantic import BaseModel

    from memory_core.gist import answers
    from memory_core.gist.claude import Claude
    from memory_core.gist.ollama import Ollama
    from memory_core.gist.openai_compatible import OpenAICompatible

A = TypeVar("A", bound="BaseModel")

_TAGS, _ENTITIES, _LABEL, _SENTENCE = 8, 16, 80, 600
"""Most tags and entities of one turn, and characters of a label and of a gist or fact."""

_FACTS = 16
"""Most facts for each turn of a call: more than an honest answer has room for."""


class ModelEncoder:
    """A GistEncoder over one model. It checks the shape of answers, not their truth."""

    def __init__(
        self, name: str, model: str, ask: Ask, prices: tuple[float, float] | None = None
    ) -> None:
        """*name* is that of the settings; *ask* calls *model*, which costs *prices*."""
        self.name = name
        self.model = model
        self.prices = prices
        self.version = f"{prompts.VERSION} {name}:{model}"
        self._ask = ask

    def encode(self, turns: Sequence[InputTurn], context: Sequence[InputTurn] = ()) -> Encoded:
        """See GistEncoder. Raises ServiceFailure, or AnswerFailure when a turn is left out."""
        from memory_core.gist.answers import EncodeAnswer

        answer, usage = self._answer(prompts.encode(context, turns), EncodeAnswer)
        numbers = range(len(context) + 1, len(context) + len(turns) + 1)
        reports = {each.turn: each for each in answer.turns}
        if not all(number in reports for number in numbers):
            raise http_client.unusable("the model's answer leaves out turns", usage)
        return Encoded(
            tuple(self._gist(reports[number]) for number in numbers),
            tuple(
                _fact(fact)
                for fact in answer.facts[: _FACTS * len(turns)]
                if _sourced(fact, len(context), numbers.stop)
            ),
            usage,
        )

    def summarise(self, texts: Sequence[str], sentences: int) -> Summarised:
        """See GistEncoder. Raises ServiceFailure or AnswerFailure."""
        from memory_core.gist.answers import SummariseAnswer

        answer, usage = self._answer(prompts.summarise(texts, sentences), SummariseAnswer)
        return Summarised(" ".join(answer.summary.split()), usage)

    def relate(self, older: str, newer: str) -> Related:
        """See GistEncoder. Raises ServiceFailure or AnswerFailure."""
        from memory_core.gist.answers import RelateAnswer

        answer, usage = self._answer(prompts.relate(older, newer), RelateAnswer)
        return Related(answer.relation, _label(answer.detail), usage)

    def _answer(self, request: prompts.Request, shape: type[A]) -> tuple[A, Usage]:
        from pydantic import ValidationError

        reply = self._ask(request)
        try:
            return shape.model_validate(reply.data), reply.usage
        except ValidationError:
            raise http_client.unusable(
                "the model's answer has the wrong shape", reply.usage
            ) from None

    def _gist(self, answer: answers.TurnAnswer) -> Gist:
        return Gist(
            gist=_flat(answer.gist) if len(answer.gist) <= _SENTENCE else "",
            keywords=_labels((tag.casefold() for tag in answer.tags), _TAGS),
            topic=_label(answer.topic),
            entities=_labels(answer.entities, _ENTITIES),
            importance=_clamp(answer.importance),
            reason=self.version,
        )


def _fact(answer: answers.FactAnswer) -> Fact:
    return Fact(
        text=_flat(answer.text),
        kind=answer.kind,
        sources=tuple(sorted({number - 1 for number in answer.sources})),
        importance=_clamp(answer.importance),
        topic=_label(answer.topic),
        entities=_labels(answer.entities, _ENTITIES),
    )


def _sourced(answer: answers.FactAnswer, context: int, stop: int) -> bool:
    """True when the fact has a text, and sources that were shown, one of them new."""
    shown = all(0 < number < stop for number in answer.sources)
    new = any(number > context for number in answer.sources)
    return shown and new and 0 < len(answer.text.strip()) <= _SENTENCE


def _clamp(value: float) -> float:
    """*value* clamped to 0-1: some vendors' schemas cannot bound a number. NaN becomes 0.5."""
    return round(min(1.0, max(0.0, value)), 3) if value == value else 0.5


def _flat(text: str) -> str:
    return " ".join(text.split())


def _label(text: str) -> str:
    return _flat(text)[:_LABEL]


def _labels(texts: Iterable[str], most: int) -> tuple[str, ...]:
    found = (_label(text) for text in texts)
    return tuple(dict.fromkeys(text for text in found if text))[:most]


def speaker(settings: Settings, timeout_seconds: float = http_client.TIMEOUT_SECONDS) -> Speaker:
    """The model that *settings* name, to chat with; where they name none, that of Ollama.

    Connects to nothing yet. *timeout_seconds* is as for model_encoder.
    """
    if settings.writes_gists:
        return _service(settings, timeout_seconds)
    local = settings.model_copy(update={"encoder": "ollama", "encoder_url": ""})
    return _service(local, timeout_seconds)


def _service(settings: Settings, timeout_seconds: float) -> Claude | Ollama | OpenAICompatible:
    from memory_core.gist.claude import Claude
    from memory_core.gist.ollama import Ollama
    from memory_core.gist.openai_compatible import OpenAICompatible

    makers: dict[str, Callable[[Settings, float], Claude | Ollama | OpenAICompatible]]
    makers = {"claude": Claude, "ollama": Ollama, "openai": OpenAICompatible}
    return makers[settings.encoder](settings, timeout_seconds)


def model_encoder(settings: Settings, timeout_seconds: float) -> ModelEncoder:
    """The encoder of the model that *settings* name."""
    from memory_core.gist.claude import PRICES

    ask = _service(settings, timeout_seconds)
    prices = {"claude": PRICES.get(ask.model), "ollama": (0.0, 0.0)}.get(settings.encoder)
    return ModelEncoder(settings.encoder, ask.model, ask, prices)
