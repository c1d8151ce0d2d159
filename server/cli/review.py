"""The command `review`: lists what may be out of date, asks about it, and writes the decision."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from memory_core.errors import InvalidInput
from memory_core.records import DoubtfulPair, Identity
from server.cli import console, people
from server.cli.console import Outcome
from server.cli.grammar import MEMORY_ID, command, on_a_terminal, with_memory
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory

KEYS = dict(zip("npobm", people.DECISIONS, strict=True))
"""What a key at the question decides; s leaves a pair as it is, q ends."""

_QUESTION = (
    "(n)ewer holds, it holds for that (p)art, (o)lder holds, (b)oth hold, (m)erge, (s)kip, (q)uit,"
    " (?) help"
)
_EXPLAINED = """
n  the newer one replaces the older one
p  the newer one holds for the part that is in doubt; the rest of the older one stays
o  the older one replaces the newer one
b  both hold; the pair is not asked about again
m  the older one is retired as a duplicate of the newer one
s  the pair is left as it is, for another time
q  ends; what was decided stays

Nothing is deleted. `anamnesis review OLDER NEWER --decide undo` takes a decision back.
"""


@command("review", example="anamnesis review")
@click.argument("older", default="", type=MEMORY_ID)
@click.argument("newer", default="", type=MEMORY_ID)
@click.option(
    "--decide",
    type=click.Choice((*people.DECISIONS, "undo")),
    help="What holds of OLDER and NEWER; undo takes it back.",
)
@with_memory(ready=False)
def review(memory: Memory, who: Identity, older: str, newer: str, decide: str | None) -> Outcome:
    """List memories that may be out of date, and decide.

    Each pair is a memory and the later one that puts it in doubt; what was recalled most, matters
    most or was said last comes first. On a terminal the command asks about one pair after the
    other; with OLDER, NEWER and --decide it decides that pair.
    """
    if older or newer or decide:
        if not (older and newer and decide):
            raise InvalidInput(
                "a decision needs two ids and --decide", "list the pairs with `anamnesis review`"
            )
        decided = _decide(memory, who, older, newer, decide)
        return Outcome(decided, decided["done"])
    return _ask(memory, who) if on_a_terminal() else _listing(memory.doubts(who))


def _listing(pairs: Sequence[DoubtfulPair]) -> Outcome:
    shown = structure.doubtful_pairs(pairs, time.time())
    if not shown:
        return Outcome(shown, "nothing is in doubt")
    rows: list[tuple[str, ...]] = []
    newer = ""
    for number, pair in enumerate(shown, 1):
        first, second = _rows(str(number), pair)
        rows += [second] if pair["newer"]["id"] == newer else [first, second]
        newer = pair["newer"]["id"]
    return Outcome(shown, f"{console.table(_COLUMNS, rows)}\n{people.DECIDE}")


_COLUMNS = ("", "", "when", "speaker", "memory")


def _rows(number: str, pair: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The newer memory, and the older one with the part that is in doubt and the reason."""
    part = f"\nin doubt: {pair['part']}" if pair.get("part") else ""
    reason = f"\nbecause: {pair['reason']}" if pair.get("reason") else ""
    older = pair["older"]
    return [
        (label, name, rendering.day(each.get("when")), each.get("speaker", ""), text)
        for label, name, each, text in (
            ("", "newer", pair["newer"], f"{pair['newer']['text']}\n{pair['newer']['id']}"),
            (number, "older", older, f"{older['text']}{part}{reason}\n{older['id']}"),
        )
    ]


def _ask(memory: Memory, who: Identity) -> Outcome:
    """Ask on stderr about one pair after the other; each decision is written at once."""
    decided: list[dict[str, str]] = []
    asked: list[tuple[str, str]] = []
    while pair := _next(memory, who, asked):
        shown = people.abridged(memory, who, structure.doubtful_pairs([pair], time.time())[0])
        asked.append((pair.older.id, pair.newer.id))
        click.echo(console.table(_COLUMNS, _rows(str(len(asked)), shown)), err=True)
        key = _key()
        if key == "q":
            break
        if key in KEYS:
            decided.append(_decide(memory, who, *asked[-1], KEYS[key]))
            click.echo(decided[-1]["done"], err=True)
    return Outcome(decided, f"decided: {len(decided)}, left: {len(memory.doubts(who))}")


def _next(memory: Memory, who: Identity, asked: Sequence[tuple[str, str]]) -> DoubtfulPair | None:
    """The first pair of the agent's own that was not *asked* about: a decision settles others."""
    for pair in memory.doubts(who):
        own = pair.older.agent == pair.newer.agent == who.agent
        if own and (pair.older.id, pair.newer.id) not in asked:
            return pair
    return None


def _key() -> str:
    """The key that the user presses; q also where the input ends."""
    try:
        keys = click.Choice([*KEYS, "s", "q", "?"])
        while (key := click.prompt(_QUESTION, type=keys, show_choices=False, err=True)) == "?":
            click.echo(_EXPLAINED, err=True)
        return str(key)
    except click.Abort:
        return "q"


def _decide(memory: Memory, who: Identity, older: str, newer: str, decision: str) -> dict[str, str]:
    done = memory.resolve(who, older, newer, decision)
    return {"older": older, "newer": newer, "decision": decision, "done": done}
