"""What is told behind a question or a request without a mark between: "any ideas my son is five".

By words that begin a statement of one's own, in English and German.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory_core.beliefs.imperatives import FINITE, NO_SUBJECT
from memory_core.text.words import listed


def tells_besides(plain: Sequence[str]) -> bool:
    """True for "any snack ideas my son is diabetic": a statement of one's own behind the request.

    It follows without a mark, and on no word that begins a clause of the request itself.
    """
    for place in range(_ASKED_FIRST, len(plain) - 1):
        if plain[place - 1] in _GOES_ON or plain[place - 1] in NO_SUBJECT:
            continue
        word, rest = plain[place], plain[place + 1 :]
        if word in _MINE and any(each in FINITE for each in rest[1:_NAMED]):
            return True
        if word in ("he", "she", "they") and rest[0] in FINITE:
            return True
        if word in ("ich", "wir") and place > _NAMED and plain[place - 1].endswith("en"):
            return True  # "kannst du ... machen ich will ..."
        if word in ("i'm", "we're") and not rest[0].endswith("ing") and rest[0] not in _GOES_ON:
            return True
        if word in ("i", "we", "ich", "wir") and rest[1:2]:
            counts = rest[1] in _NUMBERS or rest[1][0].isdigit()
            if (counts and rest[0] not in _GOES_ON) or (rest[0] in _OWNS and rest[1] in _ONE_OF):
                return True
    return False


_ASKED_FIRST, _NAMED = 2, 5
_MINE = frozenset(
    listed("my our mein meine meinen meinem meiner unser unsere unseren unserem unserer")
)
_OWNS = frozenset(listed("have own got keep habe haben"))
_ONE_OF = frozenset(listed("a an no ein eine einen kein keine keinen"))
_NUMBERS = frozenset(
    listed("two three four five six seven eight nine ten zwei drei vier fünf sechs acht neun zehn")
)
_GOES_ON = frozenset(
    listed(
        """and or then because think know say says said sure mean see understand guess than do does
        did is are was were will would can could should may not so right wrong und denn glaube
        denke weiß kann soll will"""
    )
)
"""Words that go on with a request or a question into what it is about."""
