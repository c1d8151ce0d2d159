"""A chat: what is stored and recalled, what the model is shown, and what its answer becomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import chat_models
import pytest
from chat_models import Model

from memory_core.config import Settings
from memory_core.errors import EncoderUnavailable, ScopeDenied
from memory_core.gist.model import speaker
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.chat.session import TURNS, ChatSession

ME = Identity("me")
SERVICES = ("ollama", "openai", "claude")
KEY = "The spare key is under the flowerpot."
ASKED = "Where did we put the spare key of the flat?"


@pytest.fixture
def model(processes: Any) -> Iterator[Model]:
    with chat_models.serving(Model()) as served:
        yield served


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def conversation(memory: Memory, model: Model, service: str, who: Identity = ME) -> ChatSession:
    settings = Settings(**chat_models.settings(service, model))
    return ChatSession(memory, who, "talk", speaker(settings, 5.0), lambda: 1_717_200_000.0)


def shown(body: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The instructions and the messages of a request, whatever service it is of."""
    messages = [(each["role"], each["content"]) for each in body["messages"]]
    if "system" in body:
        return body["system"], messages
    return messages[0][1], messages[1:]


def test_the_model_sees_what_is_recalled_and_its_answer_is_kept(
    memory: Memory, model: Model, service: str
) -> None:
    memory.remember(ME, RememberRequest(KEY))
    model.words[1] = "is under\u2028"  # which ends no line of a stream
    talk = conversation(memory, model, service)
    heard = talk.hear(ASKED)
    assert [hit.memory.text for hit in heard.recalled.hits] == [KEY]
    assert list(talk.answer(heard)) == model.words
    system, ((role, text),) = shown(model.asked[-1])
    assert "long-term memory" in system
    assert role == "user"
    assert text.endswith(ASKED)
    assert f"> {KEY}" in text
    assert model.asked[-1]["model"] == "small"
    assert model.asked[-1].get("stream") is True
    said = {record.text: record.role for record in memory.listing(ME, session="talk")}
    assert said["".join(model.words)] == "assistant"


def test_a_conversation_goes_on_with_its_newest_turns(
    memory: Memory, model: Model, clock: Any
) -> None:
    talk = conversation(memory, model, "openai")
    said = [f"The boat number {n} lies in harbour {n}." for n in range(TURNS)]
    for number, text in enumerate(said):
        model.words = [f"Boat {number}, noted."]
        list(talk.answer(talk.hear(text)))
        clock.pass_by(60)
    again = conversation(memory, model, "openai")
    stored = {record.text for record in memory.listing(ME, session="talk", limit=100)}
    assert [turn.text for turn in again.turns] == [
        turn.text for turn in talk.turns if turn.text in stored
    ][-TURNS:]
    list(again.answer(again.hear("Which boat lies in harbour 3?")))
    _, messages = shown(model.asked[-1])
    assert len(messages) <= TURNS
    assert messages[0][0] == "user"
    assert messages[-1][0] == "user"


@pytest.mark.parametrize("says_length", [True, False])
@pytest.mark.parametrize("cut", [1, 2])
def test_an_answer_that_breaks_off_is_not_kept(
    memory: Memory, model: Model, service: str, cut: int, says_length: bool
) -> None:
    model.cut_after, model.says_length = cut, says_length
    talk = conversation(memory, model, service)
    heard = talk.hear("The boat lies in the harbour of Rovinj.")
    pieces: list[str] = []
    with pytest.raises(EncoderUnavailable):
        pieces.extend(talk.answer(heard))
    assert pieces == model.words[:cut]
    assert {record.role for record in memory.listing(ME, session="talk")} == {"user"}


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_service_that_refuses_is_told(
    memory: Memory, model: Model, service: str, status: int
) -> None:
    model.status = status
    talk = conversation(memory, model, service)
    with pytest.raises(EncoderUnavailable, match=str(status)):
        list(talk.answer(talk.hear(ASKED)))


def test_without_a_service_the_problem_says_so(memory: Memory, model: Model) -> None:
    with chat_models.serving(Model()) as gone:
        url = gone.url
    settings = Settings(encoder="ollama", encoder_url=url)
    talk = ChatSession(memory, ME, "talk", speaker(settings, 5.0), lambda: 0.0)
    with pytest.raises(EncoderUnavailable, match="does not answer"):
        list(talk.answer(talk.hear(ASKED)))


def test_where_no_encoder_is_set_ollama_is_asked() -> None:
    assert speaker(Settings(), 5.0).model == "mistral"
    assert speaker(Settings(encoder_model="small"), 5.0).model == "small"


def test_nothing_of_a_token_that_keeps_texts_from_models_is_sent(
    memory: Memory, model: Model
) -> None:
    with pytest.raises(ScopeDenied, match="model"):
        conversation(memory, model, "openai", Identity("me", encode=False))
    assert model.asked == []
