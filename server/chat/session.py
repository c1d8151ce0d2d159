"""One turn of a chat: gate -> store -> recall -> one call of a model -> store the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.errors import ScopeDenied
from memory_core.gist.base import ChatMessage, Speaker
from memory_core.gist.prompts import CHAT
from memory_core.records import Identity, Recollection
from memory_core.remember.capture import Observation
from memory_core.remember.request import ConversationTurn
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory

CLIENT = "chat"
TURNS = 10
"""The newest turns of the conversation that the model sees word for word."""
TOKENS = 1_250
"""Of the recalled memories that the model sees."""
RECALLED = 6

HOW_TO_GET_A_MODEL = (
    "no language model answers, so only what comes to mind is shown; correct that, or use another "
    "model, such as one of Ollama (`ollama pull mistral`): docs/models.md"
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of a user's turn, and what it brings to mind."""

    text: str
    observed: Observation
    recalled: Recollection


class ChatSession:
    """The turns of one session; not thread-safe."""

    def __init__(
        self,
        memory: Memory,
        who: Identity,
        session: str,
        speaker: Speaker,
        clock: Callable[[], float],
    ) -> None:
        """Continue *session*, whose newest turns the model sees. *clock* returns epoch seconds.

        Raises ScopeDenied when nothing of *who* may be sent to a model.
        """
        if not who.encode:
            raise ScopeDenied("nothing of this token is sent to a model", "use another token")
        self._memory = memory
        self._who = who
        self._session = session
        self._speaker = speaker
        self._clock = clock
        newest = memory.listing(who, limit=TURNS, session=session)
        told = sorted(newest, key=lambda record: record.position)
        self.turns = [_message(record.role, record.text) for record in told]
        """The turns that the model sees, oldest first."""

    def hear(self, text: str) -> Heard:
        """Store what the user says if it is worth it, and recall what it brings to mind.

        Raises InvalidInput or TooLarge for a text that is not allowed.
        """
        turn = ConversationTurn("user", text, session=self._session, client=CLIENT)
        observed, recalled = self._memory.observe_and_recall(self._who, turn, k=RECALLED)
        self.turns = [*self.turns, ChatMessage("user", text)][-TURNS:]
        return Heard(text, observed, recalled)

    def answer(self, heard: Heard) -> Iterator[str]:
        """What the model says to *heard*, piece by piece; stored when its end was seen.

        Raises EncoderUnavailable when no model answers.
        """
        shown = structure.recollection(heard.recalled, self._clock(), TOKENS)
        found = heard.recalled.hits or heard.recalled.partial
        before = f"{rendering.recall(shown)}\n\n" if found else ""
        pieces: list[str] = []
        asked = [*_from_user(self.turns[:-1]), ChatMessage("user", before + heard.text)]
        for piece in self._speaker.say(CHAT, asked):
            pieces.append(piece)
            yield piece
        said = "".join(pieces).strip()
        if said:
            turn = ConversationTurn("assistant", said, session=self._session, client=CLIENT)
            self._memory.observe(self._who, turn)
            self.turns = [*self.turns, ChatMessage("assistant", said)][-TURNS:]


def _from_user(turns: list[ChatMessage]) -> list[ChatMessage]:
    """*turns* without what the assistant says first: services want a user to begin."""
    first = next((place for place, turn in enumerate(turns) if turn.role == "user"), len(turns))
    return turns[first:]


def _message(role: str, text: str) -> ChatMessage:
    return ChatMessage("assistant" if role == "assistant" else "user", text)
