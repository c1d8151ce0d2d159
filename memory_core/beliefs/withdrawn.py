"""Whether a text takes back what an assistant was told to do always, or never.

"Forget what I said about short sentences", "you may push without asking from now on", "emojis are
fine again". No word of it needs to be the opposite of a word of the wish: that something is allowed
again, or need not be done any more, ends a wish that speaks of it. English and German.
"""

from __future__ import annotations

from functools import lru_cache

from memory_core.beliefs import wishes
from memory_core.beliefs.importance import salience
from memory_core.beliefs.sentence import Sentence, read_all
from memory_core.beliefs.shared import held
from memory_core.text.lazy_pattern import lazy_pattern

SURE = 0.8
"""The likelihood from which what no rule tells is a wish that may be taken back."""

_A_WISH = r"(?:thing|rules?|wish|instructions?|ban|limit|preference|request|regeln?|verbot|grenze)"
_FORGET = lazy_pattern(
    r"\b(?:forget|ignore|scrap|drop|lift|vergiss|ignorier\w{0,2}|streich\w{0,2})"
    r"(?: (?:about|please|bitte))? "
    r"(?:what i (?:said|told you|asked|wanted)|was ich|das mit"
    rf"|(?:the|my|that|this|die|das|meine?) (?:[\w-]{{1,20}} ){{0,4}}?{_A_WISH})\b"
    rf"|\b(?:the|my|that|die|das) (?:[\w-]{{1,20}} ){{1,5}}?{_A_WISH} (?:[\w-]{{1,20}} ){{0,4}}?"
    r"(?:is|are|ist|sind) (?:now |jetzt )?(?:over|off|gone|lifted|history|dropped|void|aufgehoben"
    r"|vorbei|weg)\b"
)
"""It takes back what was said, by these words alone."""
_MAY = lazy_pattern(
    r"\b(?:you|agents?|the (?:assistant|model|bot)|du|ihr) (?:also |auch )?"
    r"(?:can|may|needn't|need not|(?:don't|do not) (?:have|need) to|are allowed to"
    r"|kannst|darfst|musst|brauchst|dürft|könnt|müsst|braucht)\b"
    r"|\b(?:no need (?:to|for)|feel free to|(?:is|are|ist|sind) (?:now |jetzt |wieder )?"
    r"(?:fine|ok|okay|alright|allowed|welcome|erlaubt|in ordnung)|(?:can|may) be"
    r"|(?:i|we|user) (?:want|wants|prefer|prefers|like|likes|would like))\b"
)
_FOR_GOOD = lazy_pattern(
    r"\b(?:again|any ?more|any longer|no longer|after all|from (?:now|here) on|in future|wieder"
    r"|nicht mehr|kein\w{0,2} (?:[\w-]{1,20} ){1,4}mehr|ab (?:jetzt|sofort)|künftig|von nun an)\b"
)
"""Beside it: that it is so from now on. "You can push now" is said of one time."""


def withdraws(older: str, newer: str) -> str:
    """The words by which *newer* takes back the wish that *older* is; "" where it takes back none.

    Linear in the product of their sentences; never raises.
    """
    taken = _takes_back(newer)
    if not taken or not _is_a_wish(older):
        return ""
    wish = {word for each in read_all(older) for word in each.content}
    return next((said for each, said in taken if held(each.content, wish)), "")


@lru_cache(maxsize=1_024)
def _takes_back(text: str) -> tuple[tuple[Sentence, str], ...]:
    """The sentences of *text* that take something back, each with the words by which it does."""
    found = []
    for each in read_all(text):
        forgets, may = _FORGET.search(each.lowered), _MAY.search(each.lowered)
        if forgets is not None:
            found.append((each, forgets.group()))
        elif may is not None and (good := _FOR_GOOD.search(each.lowered)) is not None:
            found.append((each, good.group()))
    return tuple(found)


@lru_cache(maxsize=1_024)
def _is_a_wish(text: str) -> bool:
    asked = salience(text)[1] == "instruction"
    return asked or wishes.likelihood(text, note=True) >= SURE
