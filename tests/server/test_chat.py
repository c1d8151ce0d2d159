"""The command `chat` and the operation of REST: turns, what they bring to mind, and an answer."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import chat_models
import pytest
from chat_models import Model

from memory_core.config import Settings
from memory_core.memory import Memory
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from server.cli import invocation, main
from server.cli.invocation import Invocation

ME = Identity("me")
KEY = "The spare key is under the flowerpot."
ASKED = "Where did we put the spare key of the flat?"


@pytest.fixture
def model(processes: Any) -> Iterator[Model]:
    with chat_models.serving(Model()) as served:
        yield served


@pytest.fixture
def chat(
    memory: Memory,
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[str, str]]:
    """Type *lines* to `chat`; what it shows, and what it complains of."""
    monkeypatch.setattr("os.environ", {})
    monkeypatch.setattr(invocation, "open_memory", lambda settings: nullcontext(memory))

    def typed(*lines: str, flags: tuple[str, ...] = ()) -> tuple[str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        flags = flags or ("--service", "openai", "--url", model.url, "--model", "small")
        main.run(["chat", *flags], Invocation())
        shown = capsys.readouterr()
        return shown.out, shown.err

    return typed


def test_an_answer_is_shown_with_what_came_to_mind(chat: Any, memory: Memory, model: Model) -> None:
    memory.remember(ME, RememberRequest(KEY))
    out, err = chat(ASKED, "/quit", "never said")
    assert "".join(model.words) in out
    assert re.search(rf"\[1\] \d{{4}}-\d\d-\d\d {re.escape(KEY)}", out)
    assert err == ""
    assert len(model.asked) == 1


def test_a_session_is_continued_by_its_name(chat: Any, memory: Memory, model: Model) -> None:
    flags = ("--service", "openai", "--url", model.url, "--model", "small", "--session", "trip")
    chat("We take the ferry to Brac on Friday.", flags=flags)
    out, _ = chat("/history", flags=flags)
    assert out.splitlines() == [
        "user: We take the ferry to Brac on Friday.",
        f"assistant: {''.join(model.words)}",
    ]
    assert "ferry" not in chat("/history", flags=(*flags[:-1], "home"))[0]


@pytest.mark.parametrize("service", ["ollama", "openai"])
def test_the_flags_choose_service_model_and_address(chat: Any, model: Model, service: str) -> None:
    chat(ASKED, flags=("--service", service, "--url", model.url, "--model", "tiny"))
    assert model.asked[-1]["model"] == "tiny"
    assert ("options" in model.asked[-1]) is (service == "ollama")


def test_without_a_model_it_says_how_to_get_one_and_shows_what_comes_to_mind(
    chat: Any, memory: Memory
) -> None:
    memory.remember(ME, RememberRequest(KEY))
    with chat_models.serving(Model()) as gone:
        url = gone.url
    out, err = chat(
        ASKED, "And the key of the cellar?", flags=("--service", "ollama", "--url", url)
    )
    assert KEY in out
    assert err.count("ollama pull") == 1
    assert err.count("does not answer") == 2


def test_why_and_explain_tell_the_signals_and_store_nothing(chat: Any, memory: Memory) -> None:
    memory.remember(ME, RememberRequest(KEY))
    out, _ = chat("/why", "/explain spare key")
    assert "why:" in out
    assert KEY in out
    assert memory.stats(ME)["memories"] == 1
    out, _ = chat(ASKED, "/why")
    why = out.partition("why:")
    assert KEY in why[0]
    assert ASKED not in why[0].rpartition("memory")[2]


def test_forget_asks_on_a_terminal_and_only_previews_elsewhere(
    chat: Any, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = memory.remember(ME, RememberRequest(KEY)).id
    out, err = chat("/forget 1", ASKED, "/forget 1", "/forget 9", "/forget")
    assert "nothing was said yet" in err
    assert err.count("invalid_input") == 3
    assert "anamnesis forget ID --yes" in out
    assert "repeat with these ids" not in out
    assert memory.get(ME, id).text == KEY
    from server.cli.place import Place

    lines = iter([ASKED, "/forget 1", "/quit"])
    monkeypatch.setattr(Place, "asks", lambda self: True)
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setattr("click.confirm", lambda _: True)
    out, _ = chat()
    assert "forgotten: 1" in out
    assert KEY not in {record.text for record in memory.listing(ME)}


def test_unknown_commands_and_refused_texts_do_not_end_it(chat: Any, model: Model) -> None:
    out, err = chat("/dance", "x" * 30_000, "/help", ASKED)
    assert "/dance" in err
    assert "too_large" in err
    assert "/explain" in out
    assert "".join(model.words) in out


def test_what_a_model_says_cannot_drive_the_terminal(chat: Any, model: Model) -> None:
    model.words = ["\x1b]0;owned\x07", "fine"]
    out, _ = chat(ASKED)
    assert "\x1b" not in out
    assert "fine" in out


# Over REST


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_rest_answers_with_what_came_to_mind(memory: Memory, model: Model) -> None:
    import httpx2
    from fastapi import FastAPI

    from server.rest.app import build_rest

    memory.settings = Settings(
        data_dir=memory.settings.data_dir, **chat_models.settings("openai", model)
    )
    memory.remember(ME, RememberRequest(KEY))
    app: FastAPI = build_rest(memory, ME)
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        told = (await client.post("/chat", json={"text": ASKED, "session": "s"})).json()
        model.status = 500
        failed = (await client.post("/chat", json={"text": ASKED})).json()
        wrong = await client.post("/chat", json={"text": ASKED, "mood": "good"})
    assert told["reply"] == "".join(model.words)
    assert [hit["text"] for hit in told["recalled"]["memories"]] == [KEY]
    assert (told["model"], told["note"]) == ("small", "")
    assert failed["reply"] == ""
    assert "500" in failed["note"]
    assert wrong.status_code == 422
    assert "mood" in wrong.text
