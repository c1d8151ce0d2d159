"""The commands that look at memories and put them right, without a query: list, show, edit, ..."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memory_core.errors import InvalidInput
from memory_core.lifecycle import pins
from memory_core.overview.request import STATES, PageRequest
from memory_core.records import KINDS, TIERS, TRUSTS, VISIBILITIES, Identity
from memory_core.remember.request import instead_of
from server.cli import console, people
from server.cli.console import Outcome
from server.cli.grammar import CLIENT, MEMORY_ID, command, on_a_terminal, with_memory
from server.cli.plain_words import plain
from server.protocol import rendering, structure

if TYPE_CHECKING:
    from memory_core.memory import Memory
    from memory_core.overview.pages import Listed

_ROWS = 20
_MARKS = {"superseded": "out of date", "doubtful": "doubtful", "retired": "retired"}


@command("list", example="anamnesis list --state doubtful")
@click.option("--state", type=click.Choice(STATES), help="Only in this state.")
@click.option("--kind", type=click.Choice(KINDS), help="Only this kind.")
@click.option("--tier", type=click.Choice(TIERS), help="Only of this tier.")
@click.option("--scope", type=click.Choice(VISIBILITIES), help="Only of this scope.")
@click.option("--trust", type=click.Choice(TRUSTS), help="Only of this origin.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; repeatable.")
@click.option("--topic", default="", metavar="NAME", help="Only of this topic.")
@click.option("--about", default="", metavar="NAME", help="Only what names this person or thing.")
@click.option("--session", default="", metavar="NAME", help="Only of this conversation.")
@click.option("--speaker", default="", metavar="NAME", help="Only what NAME said.")
@click.option("--owner", default="", metavar="AGENT", help="Only what this agent stored.")
@click.option("--importance", type=float, default=0.0, metavar="0-1", help="Only from this on.")
@click.option("--since", default="", metavar="ISO", help="Only from then on.")
@click.option("--until", default="", metavar="ISO", help="Only up to then, inclusive.")
@click.option(
    "--limit", type=int, default=_ROWS, show_default=True, metavar="N", help="1 to 1,000 memories."
)
@click.option("--cursor", default="", metavar="NEXT", help="Go on after an earlier list.")
@with_memory(ready=False)
def list_(
    memory: Memory,
    who: Identity,
    state: str | None,
    kind: str | None,
    tier: str | None,
    scope: str | None,
    trust: str | None,
    tags: Sequence[str],
    topic: str,
    about: str,
    session: str,
    speaker: str,
    owner: str,
    importance: float,
    since: str,
    until: str,
    limit: int,
    cursor: str,
) -> Outcome:
    """List memories, newest first.

    Without --state also those that are out of date or retired, marked so.
    """
    from memory_core.overview import pages  # which imports numpy and the store

    wanted = PageRequest(
        cursor=cursor,
        limit=limit,
        state=state or "",
        kind=kind or "",
        tier=tier or "",
        scope=scope or "",
        trust=trust or "",
        agent=owner,
        tags=tags,
        topic=topic,
        entity=about,
        session=session,
        speaker=speaker,
        importance=importance,
        since=since,
        until=until,
    )
    found = memory.page(who, wanted)
    answer = {"memories": [pages.fields(each) for each in found.memories], "next": found.next}
    if not found.memories:
        return Outcome(answer, "no memory fits", listing=True)
    names = people.short(memory, who, [each.memory.id for each in found.memories])
    rows = [_row(each, names) for each in found.memories]
    more = f"\nmore: --cursor {found.next}" if found.next else ""
    text = console.table(("id", "when", "kind", "speaker", "memory"), rows)
    return Outcome(answer, text + more, listing=True)


def _row(listed: Listed, names: Mapping[str, str]) -> tuple[str, ...]:
    memory = listed.memory
    facts = [_MARKS.get(listed.state, ""), *memory.tags]
    facts += ["pinned"] if memory.importance == pins.PINNED else []
    marks = " · ".join(filter(None, facts))
    text = " ".join(memory.text.split())
    return (
        names[memory.id],
        rendering.day(memory.occurred_at),
        memory.kind,
        structure.voice(memory),
        f"{text}\n[{marks}]" if marks else text,
    )


@command("show", example="anamnesis show 06h0105d")
@click.argument("ids", nargs=-1, type=MEMORY_ID, required=True, metavar="ID...")
@with_memory(ready=False)
def show(memory: Memory, who: Identity, ids: Sequence[str]) -> Outcome:
    """Show memories with all that is known of them.

    Each with its state, its place among its versions, and what it is linked to.
    """
    found = [_whole(memory, who, id) for id in ids]
    named = people.abridged(memory, who, {"memories": found})["memories"]
    return Outcome(found, "\n\n".join(map(_page, named)), listing=True)


def _whole(memory: Memory, who: Identity, id: str) -> dict[str, Any]:
    """A memory, its versions, and its links with the texts of the memories at their ends."""
    from memory_core.overview import pages

    id = memory.get(who, id).id
    (listed,) = memory.states(who, [id])
    version = memory.version(who, id)
    links = memory.links(who, id)
    ends = [link.a if link.b == id else link.b for link in links]
    texts = {each.memory.id: each.memory.text for each in memory.states(who, ends)}
    return {
        **pages.fields(listed),
        "version": {"number": version.number, "root": version.root, "latest": version.latest},
        "links": [
            {
                "kind": link.kind,
                "weight": link.weight,
                "id": end,
                "text": texts[end],
                "from": link.a,
            }
            for link, end in zip(links, ends, strict=True)
            if end in texts
        ],
    }


_SHOWN = (
    *("state", "kind", "occurred_at", "recorded_at", "speaker", "role", "session", "topic"),
    *("entities", "tags", "importance", "visibility", "agent", "team", "trust", "source"),
    *("client", "gist", "due", "valid_from", "valid_until", "tier", "access_count"),
    *("superseded_by", "doubted_by", "doubtful_since", "retired_at", "derived_from"),
)

_MUTUAL = ("co_recall", "contradicts", "kept_both")
"""The kinds of links that say the same of both memories."""


def _page(memory: Mapping[str, Any]) -> str:
    facts = {"id": memory["id"]} | {n: memory[n] for n in _SHOWN if memory.get(n)}
    if memory["version"]["number"] > 1 or memory["version"]["latest"] != memory["id"]:
        facts["version"] = memory["version"]
    if facts.get("gist") == memory["text"]:
        del facts["gist"]
    lines = [rendering.visible(memory["text"]), "", console.pairs(facts)]
    if memory["links"]:
        rows = [(_tie(x), x["weight"], f"{x['text']}\n{x['id']}") for x in memory["links"]]
        lines.append(console.table(("link", "weight", "memory"), rows))
    return "\n".join(lines)


def _tie(link: Mapping[str, Any]) -> str:
    """The kind of *link*, as the memory that is shown has it."""
    toward = link["from"] == link["id"] and link["kind"] not in _MUTUAL
    kind = plain(link["kind"])
    return f"{kind} this" if toward else kind


@command("edit", example="anamnesis edit 06h0105d")
@click.argument("id", type=MEMORY_ID)
@click.option("--text", default="", metavar="TEXT", help="The new text, without an editor.")
@with_memory(ready=True)
def edit(memory: Memory, who: Identity, id: str, text: str) -> Outcome:
    """Write a memory anew, in the editor of VISUAL or EDITOR.

    The new text is a memory that replaces the old one. Saving nothing, or no change, leaves it.
    """
    named = click.get_current_context().get_parameter_source("text") is ParameterSource.COMMANDLINE
    if named and not text.strip():
        raise InvalidInput(
            "the new text is empty", f"give some words, or delete it with: anamnesis forget {id}"
        )
    if not text and not on_a_terminal():
        raise InvalidInput("no terminal for an editor", "give the new text with --text")
    old = memory.get(who, id)
    wanted = (text or click.edit(old.text, extension=".md") or old.text).strip()
    if wanted in ("", old.text.strip()):
        return Outcome({"id": old.id, "status": "unchanged"}, "unchanged")
    done = memory.remember(who, replace(instead_of(old, wanted), trust="user", client=CLIENT))
    answer = structure.receipt(done)
    shown = people.remembered(people.abridged(memory, who, answer))
    if done.replaced:
        replaced = done.replaced[0]  # what held in the place of the old one, or itself
        puts = [change for change in memory.history(who, replaced) if change.kind == "put"]
        shown += _undo(people.short(memory, who, [replaced])[replaced], puts[-1].seq)
    return Outcome(answer, shown, 1 if done.status == "refused" else 0)


@command("pin", example="anamnesis pin 06h0105d")
@click.argument("ids", nargs=-1, type=MEMORY_ID, required=True, metavar="ID...")
@click.option("--off", is_flag=True, help="Give them the importance back that they had.")
@with_memory(ready=False)
def pin(memory: Memory, who: Identity, ids: Sequence[str], off: bool) -> Outcome:
    """Keep memories for good: they neither fade nor are retired."""

    def change(id: str) -> int:
        now = memory.get(who, id).importance
        importance = pins.before_pin(memory.history(who, id), now) if off else pins.PINNED
        return memory.amend(who, id, importance=importance)

    return _changed(memory, who, ids, "no longer pinned" if off else "pinned", change)


@command("tag", example="anamnesis tag 06h0105d --add work")
@click.argument("ids", nargs=-1, type=MEMORY_ID, required=True, metavar="ID...")
@click.option("--add", "added", multiple=True, metavar="TAG", help="Give a tag; repeatable.")
@click.option("--remove", "removed", multiple=True, metavar="TAG", help="Take one; repeatable.")
@with_memory(ready=False)
def tag(
    memory: Memory, who: Identity, ids: Sequence[str], added: Sequence[str], removed: Sequence[str]
) -> Outcome:
    """Give tags to memories, or take them away."""
    if not (added or removed):
        raise InvalidInput("no tag is named", "use --add TAG or --remove TAG")

    def change(id: str) -> int:
        kept = [tag for tag in memory.get(who, id).tags if tag not in removed]
        return memory.amend(who, id, tags=[*dict.fromkeys([*kept, *added])])

    return _changed(memory, who, ids, "tags changed", change)


@command("retire", example="anamnesis retire 06h0105d")
@click.argument("ids", nargs=-1, type=MEMORY_ID, required=True, metavar="ID...")
@click.option("--off", is_flag=True, help="Make them active again.")
@with_memory(ready=False)
def retire(memory: Memory, who: Identity, ids: Sequence[str], off: bool) -> Outcome:
    """Take memories out of recall without deleting them.

    A retired memory is recalled only where nothing else answers well.
    """
    said = "active again" if off else "retired"
    return _changed(memory, who, ids, said, lambda id: memory.retire(who, id, retired=not off))


def _changed(
    memory: Memory, who: Identity, ids: Sequence[str], said: str, change: Callable[[str], int]
) -> Outcome:
    """Do *change* to each of *ids*, none unless all are there; what is *said*, and the way back."""
    whole = dict.fromkeys(memory.get(who, id).id for id in ids)
    numbers = {id: change(id) for id in whole}
    names = people.short(memory, who, list(whole))
    lines = [
        f"{said}: {names[id]}{_undo(names[id], number)}" if number else f"unchanged: {names[id]}"
        for id, number in numbers.items()
    ]
    done = [{"id": id, "change": number} for id, number in numbers.items()]
    return Outcome(done, "\n".join(lines))


def _undo(id: str, change: int) -> str:
    return f"\n  undo: anamnesis history {id} --undo {change}"


def _counting(name: str, column: str, head: str, about: str, flag: str) -> click.Command:
    """The command *name*, which counts memories by *column*."""

    @command(name, example=f"anamnesis {name}")
    @click.option(
        "--limit", type=int, default=_ROWS, show_default=True, metavar="N", help="1 to 1,000 names."
    )
    @click.option("--cursor", default="", metavar="NEXT", help="Go on after an earlier list.")
    @with_memory(ready=False)
    def counted(memory: Memory, who: Identity, limit: int, cursor: str) -> Outcome:
        found = memory.tally(who, column, cursor=cursor, limit=limit)
        rows = [
            (x.name, x.memories, rendering.day(x.first), rendering.age(x.last, time.time()))
            for x in found.tallies
        ]
        answer = {
            "names": [
                {
                    "name": each.name,
                    "memories": each.memories,
                    "first": rendering.iso(each.first),
                    "last": rendering.iso(each.last),
                }
                for each in found.tallies
            ],
            "next": found.next,
        }
        if not rows:
            return Outcome(answer, "none", listing=True)
        more = f"\nmore: --cursor {found.next}" if found.next else ""
        text = console.table((head, "memories", "since", "last"), rows)
        return Outcome(answer, f"{text}{more}\nsee one with: {flag} NAME", listing=True)

    counted.help = about
    return counted


topics = _counting("topics", "topic", "topic", "Count memories by topic.", "anamnesis list --topic")
people_ = _counting(
    "people",
    "entities",
    "person or thing",
    "Count memories by the people and things that they name.",
    "anamnesis list --about",
)
sessions = _counting(
    "sessions", "session", "session", "Count memories by conversation.", "anamnesis list --session"
)
