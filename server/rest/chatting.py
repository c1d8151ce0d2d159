"""The operation chat: a turn of the user, what it brings to mind, and what a model says to it."""

from __future__ import annotations

from functools import cache
from typing import Any

import anyio
from fastapi import APIRouter
from fastapi.responses import Response

from memory_core.errors import EncoderUnavailable
from memory_core.gist.model import speaker
from memory_core.records import Identity
from server.chat.session import HOW_TO_GET_A_MODEL, ChatSession, Heard
from server.rest import answers, bodies
from server.rest.calls import Calls, answer

AT_ONCE = 4
"""Answers of the model that are waited for at a time, outside of the gate of the operations."""


class ChatOut(answers.ObservationOut):
    """What the `model` says to a turn; empty without one, and `note` says how to get one."""

    reply: str
    model: str
    note: str


class Chats:
    """Turns of chats, with the language model of the memory's settings."""

    def __init__(self, calls: Calls) -> None:
        """Asks for the model with the first turn."""
        self._calls = calls
        self._waiting = anyio.CapacityLimiter(AT_ONCE)
        self._model = cache(lambda: speaker(calls.memory.settings))

    async def turn(self, who: Identity, session: str, text: str) -> dict[str, Any]:
        """What ChatOut shows of the turn *text* of *who*. Raises a MemoryCoreError."""
        calls = self._calls

        def hear() -> tuple[ChatSession, Heard]:
            spoken = ChatSession(calls.memory, who, session, self._model(), calls.clock)
            return spoken, spoken.hear(text)

        conversation, heard = await calls.run(hear)
        reply, note = "", ""
        try:
            reply = await anyio.to_thread.run_sync(
                lambda: "".join(conversation.answer(heard)), limiter=self._waiting
            )
        except EncoderUnavailable as problem:
            note = f"{problem.problem}; {HOW_TO_GET_A_MODEL}"
        return {
            "reply": reply,
            "model": self._model().model,
            "note": note,
            **answers.observation(heard.observed, reader=True),
            "recalled": answers.recollection(heard.recalled, calls.clock(), 0),
        }


def add_chat(router: APIRouter, calls: Calls) -> None:
    """Add the operation to *router*."""
    chats, both = Chats(calls), calls.needs("write", "read")

    @router.post("/chat", response_model=ChatOut, tags=["chat"])
    async def chat(body: bodies.ChatTurn, who: Identity = both) -> Response:
        """Store a turn if it is worth it, recall, and let the language model answer with both.

        The answer is stored too. Without a model `reply` is empty and `note` says how to get one.
        """
        return answer(await chats.turn(who, body.session, body.text))
