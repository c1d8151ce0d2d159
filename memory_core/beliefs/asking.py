"""Whether a text asks again what a question asks, and answers nothing of it. No model, no I/O."""

from __future__ import annotations

from memory_core.beliefs.question import gives, kind_asked
from memory_core.beliefs.sentence import read
from memory_core.beliefs.shared import held
from memory_core.records import normalised
from memory_core.text.passages import sentences
from memory_core.text.words import words


def only_asks(query: str, text: str) -> bool:
    """True when *text* asks for what *query* asks for, and tells nothing that answers it.

    Not what is asked for word for word.
    """
    if "?" not in text or normalised(text) == normalised(query):
        return False
    asked, kind = read(query).content, kind_asked(query)
    parts = sentences(text)
    again = [
        part
        for part in parts
        if part.endswith("?") and kind_asked(part) == kind and share(part, asked) == 1
    ]
    rest = " ".join(part for part in parts if not part.endswith("?"))
    told = share(rest, asked) == 1 and (not kind or gives(kind, rest))
    return bool(again) and not told


def share(text: str, asked: frozenset[str]) -> float:
    """The share of the words *asked* that *text* has, or forms of them; 0 for none asked."""
    own = [word.removesuffix("'s") for word in words(text)]
    return held(asked, own) / len(asked) if asked else 0.0
