"""What a recall says where its filters leave nothing: which one does, and what is spelt like it."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from memory_core.recall.query import Cues, tagged
from memory_core.scoring.arrays import Mask
from memory_core.storage.view import View

ALIKE = 3
"""Names like the one asked for that are told, at most."""

STORED_LATER = "no memory was stored by then; as_of asks for that, until for when it happened"


def note(view: View, cues: Cues, rows: Mask) -> str:
    """The first filter that no memory passes, with names like its own; "" where *rows* pass all."""
    if rows.any():
        return ""
    if cues.query.as_of is not None and not cues.valid.any():
        return STORED_LATER
    if not cues.filters:
        return ""
    for what, column, name, passing in _named(view, cues):
        if (passing & cues.valid).any():
            continue
        known = {each.casefold(): each for each in view.columns.names(column, cues.valid)}
        alike = get_close_matches(name.casefold(), known, ALIKE)
        if not alike:
            return f'no memory has the {what} "{name}"'
        others = ", ".join(f'"{known[each]}"' for each in alike)
        return f'no memory has the {what} "{name}"; there is {others}'
    names = ", ".join(cues.filters)
    which = "all of the filters" if len(cues.filters) > 1 else "the filter"
    return f"no memory passes {which} {names}"


def _named(view: View, cues: Cues) -> Iterator[tuple[str, str, str, Mask]]:
    """Of each filter by a name: what it is, the column of such names, the name, and its rows."""
    query, filters = cues.query, cues.filters
    if query.speaker:
        yield "speaker", "speaker", query.speaker, filters["speaker"]
    for tag in query.tags:
        yield "tag", "tags", tag, tagged(view.columns, tag)
    if query.topic:
        yield "topic", "topic", query.topic, filters["topic"]
    if query.entity:
        yield "entity", "entities", query.entity, filters["entity"]
