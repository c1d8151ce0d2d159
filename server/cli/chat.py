"""The command `chat`: a conversation on the terminal with a model that remembers."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from memory_core.errors import EncoderUnavailable, InvalidInput, MemoryCoreError
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from server.cli import commands, people
from server.cli.console import Outcome
from server.cli.grammar import command, with_memory
from server.cli.place import place
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory
    from server.chat.session import ChatSession, Heard

HELP = """\
/why             why the memories of the last answer came to mind, and what was rejected
/explain WORDS   the same for a question of yours; nothing is stored
/forget 1 3-4    delete memories of the last answer for good
/history         what this conversation said
/help, /quit"""
_ENOUGH_TOKENS = 1_000_000
_LINE = 100


@command("chat", json=False, example="anamnesis chat")
@click.option("--session", default="", metavar="NAME", help="Go on with this conversation.")
@click.option("--model", default="", metavar="NAME", help="The model that answers.")
@click.option(
    "--service",
    type=click.Choice(("ollama", "claude", "openai")),
    help="Whose model.  [default: the encoder's, else Ollama]",
)
@click.option("--url", default="", metavar="URL", help="Where the service is.")
@with_memory(ready=True, begins=True)
def chat(
    memory: Memory, who: Identity, session: str, model: str, service: str | None, url: str
) -> Outcome:
    """Talk with a language model that remembers.

    What you say is remembered, and what it brings to mind is shown below each answer. Without a
    model that is all. /help lists what else can be said.
    """
    from memory_core.gist.model import speaker
    from server.chat.session import ChatSession

    given = {"encoder": service, "encoder_model": model, "encoder_url": url}
    chosen = {name: value for name, value in given.items() if value}
    if service is not None:
        chosen.setdefault("encoder_model", "")
        chosen.setdefault("encoder_url", "")
    settings = memory.settings.model_copy(update=chosen)
    name = session or f"chat {datetime.fromtimestamp(time.time(), UTC):%Y-%m-%d %H:%M:%S}"
    talk = _Terminal(memory, who, ChatSession(memory, who, name, speaker(settings), time.time))
    for line in _lines():
        if line.strip() and not talk.said(line.strip()):
            break
    return Outcome({}, "")


def _lines() -> Iterator[str]:
    """What the user types, or the lines of stdin where nobody types."""
    if not place.get().asks():
        with place.get().lines("-") as (lines, _):
            yield from lines
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - input() then edits lines and remembers them
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            yield input("> ")
    click.echo()


class _Terminal:
    """Shows a conversation, and does what begins with a slash."""

    def __init__(self, memory: Memory, who: Identity, conversation: ChatSession) -> None:
        self._memory = memory
        self._who = who
        self._conversation = conversation
        self._heard: Heard | None = None
        self._told = False

    def said(self, line: str) -> bool:
        """Answer *line*; False when the conversation is over."""
        name, _, rest = line.partition(" ")
        try:
            if name == "/quit":
                return False
            if name == "/help":
                click.echo(HELP)
            elif name == "/history":
                for turn in self._conversation.turns:
                    click.echo(f"{turn.role}: {rendering.line(turn.text)}")
            elif name == "/explain":
                self._explain(rest)
            elif name == "/why":
                self._explain(self._last().text)
            elif name == "/forget":
                self._forget(rest)
            elif name.startswith("/"):
                raise InvalidInput(f"no {name} here", "see /help")
            else:
                self._answer(line)
        except MemoryCoreError as problem:
            click.echo(f"{problem}", err=True)
        return True

    def _answer(self, line: str) -> None:
        self._heard = self._conversation.hear(line)
        try:
            for piece in self._conversation.answer(self._heard):
                sys.stdout.write(rendering.visible(piece))
                sys.stdout.flush()
            click.echo()
        except EncoderUnavailable as problem:
            click.echo(f"{problem}", err=True)
            if not self._told:
                from server.chat.session import HOW_TO_GET_A_MODEL

                click.echo(HOW_TO_GET_A_MODEL, err=True)
                self._told = True
        for skipped in self._heard.observed.skipped:
            click.echo(click.style(f"  not kept: {skipped.reason}", dim=True))
        for number, hit in enumerate(self._hits(), 1):
            day = rendering.day(hit["at"])
            text = f"  [{number}] {day} {rendering.line(hit['text'])}"
            mark = f" ({hit['mark']})" if hit["mark"] else ""
            click.echo(click.style(text[:_LINE] + mark, dim=True))

    def _hits(self) -> list[dict[str, Any]]:
        """The memories that the last turn brought to mind, as they are numbered."""
        found = self._last().recalled
        return [
            {
                "id": hit.memory.id,
                "text": hit.memory.text,
                "at": hit.memory.occurred_at,
                "mark": rendering.out_of_date(
                    {
                        "superseded_by": hit.memory.superseded_by,
                        "doubted_by": hit.doubted_by,
                        "in_part": hit.in_part,
                    }
                ),
            }
            for hit in found.hits or found.partial
        ]

    def _last(self) -> Heard:
        if self._heard is None:
            raise InvalidInput("nothing was said yet", "say something first")
        return self._heard

    def _explain(self, text: str) -> None:
        """Why memories come to mind for *text*, without the turn itself."""
        request = RecallRequest(text, k=6, explain=True, rehearse=False)
        found = self._memory.recall(self._who, request)
        answer = structure.recollection(found, time.time(), _ENOUGH_TOKENS, full=True)
        own = self._heard.observed.receipt if self._heard is not None else None
        if own is not None:
            answer["memories"] = [hit for hit in answer["memories"] if hit["id"] != own.id]
        shown = people.abridged(self._memory, self._who, answer)
        click.echo(commands.recall_tables(shown, explain=True))

    def _forget(self, numbers: str) -> None:
        """Delete the memories that the last turn brought to mind under *numbers*."""
        hits = self._hits()
        ids = [hits[at]["id"] for at in people.chosen(" ".join(shlex.split(numbers)), len(hits))]
        if not ids:
            raise InvalidInput("no number", "give those of the last answer, such as /forget 1 3")
        preview = self._memory.forget(self._who, ids=ids)
        click.echo(people.forgotten(structure.forget_report(preview)))
        if not place.get().asks():
            click.echo("nobody can be asked here; delete with `anamnesis forget ID --yes`")
            return
        if not click.confirm("Delete for good?"):
            return
        done = self._memory.forget(self._who, ids=ids, confirm=True)
        click.echo(f"{done.status}: {len(done.removed)}")
