"""An encoder that returns facts written by hand: what extraction is worth, without a model.

The facts of the project's dialogue were written from its turns, in the form in which a model is
asked for them; their writer had seen about 15 of the 110 questions. They pass the same checks and
the same commit as a model's, with the same weight.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from memory_core.errors import InvalidInput
from memory_core.evaluation.conversation import Conversation
from memory_core.gist.base import Encoded, Fact, Gist, InputTurn, Related, Summarised
from memory_core.records import FACT_KINDS

FACTS = Path(__file__).parent / "data" / "facts.json"


class RecordedEncoder:
    """A GistEncoder that knows the facts of one conversation, and nothing else."""

    name = "recorded"
    model = "by hand"
    version = "recorded 1"
    prices = (0.0, 0.0)

    def __init__(self, conversation: Conversation, path: Path = FACTS) -> None:
        """Read the facts of *path* about *conversation*. Raises InvalidInput."""
        said = {turn.id: (turn.speaker, turn.text) for turn in conversation.turns}
        self._facts: list[tuple[tuple[tuple[str, str], ...], str, str]] = []
        for number, record in enumerate(json.loads(path.read_text("utf-8")), 1):
            sources, kind, text = record["sources"], record["kind"], record["text"]
            if not sources or not set(sources) <= said.keys() or kind not in FACT_KINDS:
                raise InvalidInput(
                    f"fact {number} of {path.name} is not about {conversation.id}",
                    "facts are recorded for the project's own dialogue: evaluate that one",
                )
            self._facts.append((tuple(said[id] for id in sources), kind, text))

    def encode(self, turns: Sequence[InputTurn], context: Sequence[InputTurn] = ()) -> Encoded:
        """The recorded facts whose last source is among *turns*, and empty gists."""
        places = {(turn.speaker, turn.text): place for place, turn in enumerate((*context, *turns))}
        facts = [
            Fact(text, kind, tuple(places[source] for source in sources))
            for sources, kind, text in self._facts
            if all(source in places for source in sources) and places[sources[-1]] >= len(context)
        ]
        return Encoded(tuple(Gist() for _ in turns), tuple(facts))

    def summarise(self, texts: Sequence[str], sentences: int) -> Summarised:
        """Nothing: only facts are recorded."""
        return Summarised("")

    def relate(self, older: str, newer: str) -> Related:
        """Nothing: only facts are recorded."""
        return Related("")
