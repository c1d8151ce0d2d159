"""A question about somebody, as they would say it of themselves.

"What did Ana paint?" asks for what Ana said, and Ana said "I painted the harbour".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memory_core.text.words import STOPWORDS

_NAME = re.compile(r"([^\W_]+(?:[-.][^\W_]+)*)(['’]s?(?!\w))?")
_LONGEST = 3
"""Words of a name at most."""


def in_first_person(query: str, speaks: Callable[[str], bool]) -> str:
    """*query* with "I" and "my" for the names of which *speaks* is true; as it is without any.

    A name is looked up as it is written and with capitals, the longest first. A word that says
    nothing ("will", "may") is no name.
    """
    words = list(_NAME.finditer(query))
    parts, end, place = [], 0, 0
    while place < len(words):
        for last in range(min(len(words), place + _LONGEST) - 1, place - 1, -1):
            name = query[words[place].start() : words[last].end(1)]
            if name.casefold() not in STOPWORDS and (speaks(name) or speaks(name.title())):
                own = words[last].group(2)
                parts += [query[end : words[place].start()], "my" if own else "I"]
                end, place = words[last].end(), last
                break
        place += 1
    return "".join([*parts, query[end:]])
