"""What an overview of one thing says of one matter: a stack, a person, a flat in one note.

"ledgerline: Fastify 4 on Node 20, Postgres 15, sessions in Redis." says several things of which one
changes at a time. What somebody asks for, or a later text speaks of, is one of its items.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import takewhile

from memory_core.beliefs import lexicon
from memory_core.beliefs.forms import same_word
from memory_core.beliefs.restated import tokens
from memory_core.beliefs.sentence import MOST_CHARS, SELF, read, read_all, says_what
from memory_core.beliefs.shared import held, subject
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import words

FEWEST, MOST = 3, 20
"""Items of an overview."""

MOST_WORDS = 12
"""Of an item; a longer one is a sentence of a story."""

_LEAD = lazy_pattern(r"[^:\n]{2,80}:\s")
_BREAK = lazy_pattern(r"[,;]\s+|(?<=[^\W_]{2})\.\s+|(?<=\d)\.\s+(?=[A-ZÄÖÜ])|\n")


def part(text: str, about: str) -> str:
    """Of an overview the item of which *about* speaks; "" of another text, and without such one.

    Linear; never raises.
    """
    lead, items = _items(text)
    asked = read(about).content.difference(words(lead)) if items else ()
    found = [held(asked, words(each)) for each in items]
    return items[found.index(max(found))] if any(found) else ""


def item(text: str, about: str) -> str:
    """Of an overview the item of which *about* speaks, behind what all are of; else *text*."""
    found = part(text, about)
    return f"{_items(text)[0]} {found}" if found else text


def asks_for_another(query: str, text: str, newer: str) -> bool:
    """True where *query* asks for one item of the overview *text*, and *newer* speaks of others."""
    asked, said = part(text, query), part(text, newer)
    return bool(asked and said) and asked != said


def other_figure(text: str, newer: str) -> tuple[str, str, bool]:
    """The item of the overview *text* whose figure is another one in *newer*, how that says it, and
    whether it names what the overview is of. Two empty texts for none.

    "Node 20" and "we're on node 22 now". Not where a thing of its own has it ("the docs build with
    node 22"), nor where the figure is part of a name ("room 12 is free") or stands behind what the
    text is about ("The tap drips. (page 12)").
    """
    lead, items = _items(text)
    of = {word for word in words(lead) if says_what(word)}
    for place, now in enumerate(read_all(newer) if items else ()):
        said, about = tokens(now.text), held(of, now.tokens) > 0
        begin = takewhile(lambda word: not word[0].isdigit(), subject(now))
        own = [word for word in begin if says_what(word)]
        ours = not lexicon.ONESELF.isdisjoint(said)
        if not now.asserts or (not ours and held(own, words(text)) < len(own)):
            continue
        for each in items:
            for label, figure in _figures(each):
                other = _figure_of(label, said, of, named=label in own)
                first = place == 0 and (label in own or label == said[0])
                if not (about or ours or first) or label in of:
                    continue
                if other not in ("", figure):
                    return each, f"{label} {other}", about
    return "", "", False


def _figures(item: str) -> list[tuple[str, str]]:
    """Each figure of *item* behind the word of which it is one: "Node 20", "port is 4491"."""
    said, found = tokens(item), list[tuple[str, str]]()
    for at, word in enumerate(said):
        before = [each for each in said[max(0, at - 3) : at] if says_what(each)]
        if word[0].isdigit() and before:
            found.append((before[-1], word))
    return found


def _figure_of(label: str, said: Sequence[str], of: Collection[str], *, named: bool) -> str:
    """The figure near behind the *label* in what is *said*, of what the overview is *of*; or "".

    *named*: the label is of the subject, of which a figure right behind it is part of the name.
    """
    at = next((at for at, word in enumerate(said) if same_word(word, label)), len(said))
    after = said[at + 1 : at + 1 + NEAR]
    telling = (word for word in after if word[0].isdigit() or (says_what(word) and word not in of))
    figure = next(telling, "")
    name = after[:1] == [figure] and not lexicon.VERBS.isdisjoint(after[1:2])
    return figure if figure[:1].isdigit() and not (named and name) else ""


NEAR = 6
"""Words behind a label among which its figure stands: "port is now 9911"."""


@lru_cache(maxsize=1_024)
def _items(text: str) -> tuple[str, tuple[str, ...]]:
    """What an overview is of, with its colon, and its items; no items of another text."""
    lead = _LEAD.match(text[:MOST_CHARS])
    if lead is None or not SELF.isdisjoint(words(lead.group())[:1]):
        return "", ()
    items = [each.strip(" .") for each in _BREAK.split(text[lead.end() : MOST_CHARS])]
    items = [each for each in items if each]
    short = all(len(words(each)) <= MOST_WORDS for each in items)
    if not (FEWEST <= len(items) <= MOST and short):
        return "", ()
    return lead.group().strip(), tuple(items)
