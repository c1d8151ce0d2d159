"""Secrets that are told to the memory are in no file, no answer and no log."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from memory_core.config import LimitSettings
from memory_core.errors import InvalidInput
from memory_core.memory import Memory
from memory_core.records import Identity, MemoryRecord
from server.hooks.hooks import Hooks
from server.protocol.server import build_server

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

import planted
from planted import Planted

from memory_core.remember.request import RememberRequest

pytestmark = pytest.mark.anyio

ME = Identity("me")
SEED = 4
FEW = [list(planted.planted(SEED, 1))[at] for at in range(len(planted.KINDS))]
"""One of each kind."""


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything from DEBUG on; libraries that log whole requests stay where the server puts
    them."""
    caplog.set_level(logging.DEBUG)
    for talkative in ("mcp", "asyncio"):
        caplog.set_level(logging.WARNING, logger=talkative)
    return caplog


def leaked(told: list[Planted], text: str) -> list[Planted]:
    """Those of *told* of which *text* holds the beginning, or the end, of the random part."""
    return [
        one
        for one in told
        if any(part in text for part in (one.hidden[:10], one.hidden.rsplit("\n")[-1][-10:]))
    ]


def files(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*"):
        if file.is_file() and file.name != "reserve":  # which holds room, and nothing else
            yield file.read_bytes().decode("latin-1")


def test_hundreds_of_secrets_are_in_no_log_and_in_no_file(
    open_memory: Callable[..., Memory], logged: pytest.LogCaptureFixture
) -> None:
    told = list(planted.planted(SEED, 4))
    memory = open_memory()
    with ThreadPoolExecutor(32) as pool:
        receipts = list(pool.map(lambda one: memory.remember(ME, RememberRequest(one.text)), told))
    kept = [memory.get(ME, receipt.id).text for receipt in receipts]
    missed = [one for one, text in zip(told, kept, strict=True) if planted.left(one.hidden, text)]
    assert len(missed) <= 0.01 * len(told)
    caught = [one for one in told if one not in missed]
    told_so = [any("masked" in warning for warning in receipt.warnings) for receipt in receipts]
    assert sum(told_so) >= len(caught)
    memory.close()
    for content in files(memory.settings.data_dir):
        assert leaked(caught, content) == []
    assert leaked(told, logged.text) == []


async def test_no_answer_gives_a_secret_back(
    open_memory: Callable[..., Memory], logged: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    async with Client(build_server(open_memory())) as client:
        for one in FEW:
            for name, given in (
                ("remember", {"text": one.text, "source": one.text[:400]}),
                ("recall", {"query": "the key, the token and the password"}),
            ):
                answer = await client.call_tool(name, given)
                assert not answer.is_error
                said += [answer.content[0].text, json.dumps(answer.structured_content)]
    assert leaked(FEW, "\n".join(said)) == []
    assert leaked(FEW, logged.text) == []


async def test_refused_secrets_are_named_by_kind_and_kept_nowhere(
    open_memory: Callable[..., Memory], logged: pytest.LogCaptureFixture
) -> None:
    memory = open_memory(limits=LimitSettings(secrets="refuse"))
    async with Client(build_server(memory)) as client:
        for one in FEW:
            answer = await client.call_tool("remember", {"text": one.text})
            assert answer.is_error
            assert answer.content[0].text.startswith("invalid_input: text: it holds a secret (")
            assert leaked(FEW, answer.content[0].text) == []
    with pytest.raises(InvalidInput):
        memory.remember(ME, RememberRequest("The tea is in the tin.", source=FEW[0].text))
    assert memory.listing(ME) == []
    assert leaked(FEW, logged.text) == []


@pytest.mark.parametrize("mode", ["mask", "refuse"])
def test_hooks_keep_no_secret_and_go_on(
    open_memory: Callable[..., Memory], logged: pytest.LogCaptureFixture, mode: Any
) -> None:
    memory = open_memory(limits=LimitSettings(secrets=mode))
    answering = Hooks(memory, lambda: 1_717_200_000.0)
    prompts = [one.text for one in FEW]
    prompts.append("The harbour log says nothing new today. " * 600 + FEW[12].text)
    for prompt in prompts:
        payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": prompt}
        assert answering.answer(ME, payload) == {}
    kept = "\n".join(each.text for each in memory.listing(ME, limit=200))
    assert leaked(FEW, kept) == []
    assert bool(kept) == (mode == "mask")
    assert leaked(FEW, logged.text) == []


LABELLED = "password=otterlighthouse"


@pytest.mark.parametrize("field", ["text", "source", "tags", "speaker", "session"])
@pytest.mark.parametrize("mode", ["mask", "refuse"])
def test_no_label_holds_a_secret(open_memory: Callable[..., Memory], field: str, mode: Any) -> None:
    memory = open_memory(limits=LimitSettings(secrets=mode))
    given: dict[str, Any] = {"text": "The lamp is in the hall.", field: LABELLED}
    if field == "tags":
        given["tags"] = [LABELLED]
    if mode == "refuse":
        with pytest.raises(InvalidInput, match=f"{field}: it holds a secret"):
            memory.remember(ME, RememberRequest(**given))
        return
    receipt = memory.remember(ME, RememberRequest(**given))
    assert receipt.warnings == ("secrets were masked: password",)
    memory.close()
    assert not any("otterlighthouse" in content for content in files(memory.settings.data_dir))


def test_no_key_of_a_call_holds_a_secret(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory()
    asked = [RememberRequest("The lamp is in the hall.", key=f"{LABELLED}{n}") for n in (1, 1, 2)]
    first, again, other = (memory.remember(ME, each) for each in asked)
    assert first == again
    assert (first.status, other.status) == ("stored", "reinforced")
    memory.close()
    assert not any("otterlighthouse" in content for content in files(memory.settings.data_dir))


WORDED = {
    each.name: isinstance(each.default, tuple)
    for each in fields(MemoryRecord)
    if isinstance(each.default, str | tuple) and each.name not in ("agent", "team")
}
"""Whether it is a list, for each field that holds words; the names of agents are identities."""


@pytest.mark.parametrize("field", WORDED)
def test_no_imported_field_holds_a_secret(open_memory: Callable[..., Memory], field: str) -> None:
    """It is masked, or the field takes only what can be none."""
    memory = open_memory()
    exported = {
        "text": "The lamp is in the hall.",
        field: [LABELLED] if WORDED[field] else LABELLED,
    }
    try:
        receipt = memory.bring_in(ME, exported)
    except InvalidInput:
        assert memory.stats(ME)["memories"] == 0
    else:
        masked = () if field == "content_hash" else ("secrets were masked: password",)
        assert receipt.warnings == masked
    memory.close()
    assert not any("otterlighthouse" in content for content in files(memory.settings.data_dir))


def test_the_reason_of_a_deletion_holds_no_secret(open_memory: Callable[..., Memory]) -> None:
    memory = open_memory()
    receipt = memory.remember(ME, RememberRequest("The lamp is in the hall."))
    memory.forget(ME, ids=[receipt.id], reason=LABELLED, confirm=True)
    memory.close()
    assert not any("otterlighthouse" in content for content in files(memory.settings.data_dir))


@pytest.mark.parametrize(
    ("text", "optional"),
    [
        ("The lockbox is behind the shed, its code is 4471.", True),
        ("My card is 4111 1111 1111 1111.", True),
        (LABELLED, False),
    ],
)
def test_a_receipt_says_how_to_keep_what_need_not_be_masked(
    open_memory: Callable[..., Memory], text: str, optional: bool
) -> None:
    (told,) = open_memory().remember(ME, RememberRequest(text)).warnings
    assert told.startswith("secrets were masked: ")
    assert ("mask_keys_only" in told) is optional


def test_personal_numbers_are_kept_if_the_settings_say_so(
    open_memory: Callable[..., Memory],
) -> None:
    memory = open_memory(limits=LimitSettings(secrets="mask_keys_only"))
    text = "My card is 4111 1111 1111 1111."
    assert memory.get(ME, memory.remember(ME, RememberRequest(text)).id).text == text
