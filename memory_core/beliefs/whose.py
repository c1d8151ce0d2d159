"""Of whom, and of which of two, a text speaks: what is said of another one replaces nothing.

What tells is closed classes alone: people close to the speaker, sides, environments, and what
stands as the subject. Which things exclude each other otherwise (gold members, silver members) no
word list tells.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence

from memory_core.beliefs import lexicon
from memory_core.beliefs.claims import NEGATIONS
from memory_core.beliefs.question import asks_who, gives, kind_asked
from memory_core.beliefs.sentence import ME, SELF, Sentence, read, read_all
from memory_core.beliefs.shared import DATES, held, names, subject
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed, words

_SOMEBODY = lazy_pattern(
    r"^(?:(?:and|but|und|aber|now|jetzt|the) )?(?:(?:bei|for|für|with|mit|at) )?"
    rf"(?:(?P<bare>{lexicon.CLOSE})\b(?! (?:and|und) (?:i|we|me|ich|wir)\b)"
    rf"|(?:my|our|mein\w{{0,2}}|unser\w{{0,2}}) (?:\w+ )?(?P<kin>{lexicon.KIN}|ex|boss)\b(?!-))"
)
"""A sentence that begins with somebody close to the speaker, or with what is theirs."""

_SIDES = [
    [frozenset(side.split("/")) for side in listed(kind)]
    for kind in (
        "left/links/linke/linker/linken/linkes right/rechts/rechte/rechter/rechten/rechtes",
        "upper/oberer/obere/oberes/oberen lower/unterer/untere/unteres/unteren",
        "top bottom",
        "front/vorderer/vordere/vorderes/vorderen back/rear/hinterer/hintere/hinteres/hinteren",
        "inner outer",
        "prod/production/produktion staging dev/development qa/uat",
        "north/northern south/southern east/eastern west/western",
    )
]
"""By kind the sides of a thing or a system, each with its words: what is on one is on no other."""

_SAYS = frozenset(
    listed(
        """says said insists insisted wants wanted asks asked decided decides confirmed confirms
        announced announces told tells thinks reckons recommends suggests sagt sagte will wollte
        meint meinte bittet empfiehlt besteht"""
    )
)
_IT = frozenset(listed("it its es ihn"))

_ENDS = frozenset(
    listed(
        """left leaves leaving quit resigned retired died dead sold closed closes shut gone
        dropped ditched scrapped scrap gave given replaced rename renamed swapped switched traded
        returned lost broke broken threw ripped instead rather actually correction not typo wrong
        former verkauft umbenannt gekündigt gestorben kaputt geschlossen zu weg hingeschmissen
        aufgehört aufgegeben ersetzt getauscht gewechselt statt sondern doch falsch nicht kein
        keine"""
    )
)
"""With one of these a text may end what it speaks of."""

_ANEW = lazy_pattern(
    r"\b(?:after all|back (?:to|in|with|on(?! (?:the )?[0-9]))|took over|takes over|it's|übernimmt"
    r"|übernommen)\b"
)


_LEFT_OR_OVER = lazy_pattern(
    rf"{lexicon.OVER.pattern}|\b(?:left|leaves|quits?) (?:the|our|this|his|her|their)\b"
)


def of_another(older: str, newer: str) -> bool:
    """True where the texts speak of two people or two sides, and *newer* names none of *older*.

    "I take 20 mg", "Dad now takes 40 mg"; "our rent is 900", "Uma's rent is 700 now"; "left knee: 3
    sets", "right knee is up to 4".
    """
    one, two = read_all(older), read_all(newer)
    now = _about(one, two)
    if _sides_apart(one, two):
        return True
    return now is not None and any(
        _somebody_else(then, now)
        or _of_theirs(then, now)
        or _does_the_same(then, now)
        or _of_mine(then, now)
        for then in one
    )


def ended_of_another(older: str, newer: str) -> bool:
    """True where what is no longer so in *newer* is so of a subject that *older* does not name.

    "Oleg comes by train", "Irina no longer comes by train"; "I work at the clinic", "Irina left the
    clinic".
    """
    one = read_all(older)
    now = _about(one, read_all(newer))
    name = _ended(now) if now is not None else ""
    return bool(name) and not held([name], {word for each in one for word in each.tokens})


def asks_for_another(query: str, older: str, newer: str) -> bool:
    """True where *query* names the subject of *older*, and *newer* begins with one of its own.

    It lacks a word of that subject which is asked for, and neither the query nor *older* has the
    first word of its own: "where does the chess club meet?", "the bridge club meets ...". Not where
    the speaker comes in, an "it" or somebody who says or wants it: who tells what is new of one
    thing may begin with whose doing it is.
    """
    asked, then, now = words(query), words(older), words(newer)
    if not (_IT | lexicon.ONESELF).isdisjoint(now):
        return False
    mine = {word for each in read_all(older) for word in _named(each)}
    if not any(_has(word, asked) and not _has(word, now) for word in mine):
        return False
    begin = next((word for word in now if word not in lexicon.DETERMINERS), "")
    first = next(iter(read_all(newer)), None)
    if first is None or begin not in _named(first) or begin in first.cues or begin[-2:] == "ed":
        return False
    if not _SAYS.isdisjoint(now[: now.index(begin) + 2]):
        return False
    return not _has(begin, then) and not _has(begin, asked)


def goes_on(older: str, newer: str) -> bool:
    """True where *newer* goes on about what *older* says of its subject, and leaves that as it is.

    "My boss is Petra", "Petra now works from home". Not where it ends or denies something, names
    the subject of *older*, speaks of the speaker, or gives a number for a number.
    """
    one, two = read_all(older), read_all(newer)
    if not one or not two or words(older)[:2] == words(newer)[:2]:
        return False
    mine = _named(one[0])
    value = {word for each in one for word in each.content}.difference(mine)
    said = {word for each in two for word in each.tokens}
    known = SELF | lexicon.VERBS
    if all(known.isdisjoint(each.tokens) for each in one):
        return False  # in another language, or without a verb: its subject is not known
    if any(_has(word, said) for word in mine) or not said.isdisjoint(_ENDS | lexicon.ONESELF):
        return False
    kept = {word for word in value if _has(word, said)}
    if not kept or (len(kept) > 1 and kept == value) or _ANEW.search(newer.casefold()):
        return False
    return not any(held(kept, each.denied) for each in two) and not (
        _has_figures(older) and _has_figures(newer)
    )


def leaves_as_it_is(query: str, older: str, newer: str) -> bool:
    """True where *newer* only `goes_on`, and has no word of the *query* that *older* has.

    "Who is my boss?" asks for Petra, and not how she works now. Not where *newer* has the form of
    an answer: it names somebody who is asked for, or a time.
    """
    kind, alone = kind_asked(query), _shares_a_name(older, newer)
    vague = alone and kind == "time" and not _has_figures(newer) and DATES.isdisjoint(words(newer))
    if kind and gives(kind, newer) and not vague:
        return False
    if (alone or asks_who(query)) and names(newer) - {*words(older)}:
        return False  # it brings a name, which may be the answer
    said = read(query)
    asked = [word for word in said.content | said.done if held([word], words(older))]
    if alone:
        asked = [word for word in asked if not held([word], _subject_of(newer))]
    kept = bool(asked) and not held(asked, words(newer))
    return kept and (alone or goes_on(older, newer))


def only_considers(older: str, newer: str) -> bool:
    """True where *newer* speaks of what may be, and *older* of what is: "we might move to Linz"."""
    return _MAY_BE.search(newer) is not None and _MAY_BE.search(older) is None


_MAY_BE = lazy_pattern(
    r"\b(?:would (?:like|love) to|might|maybe|perhaps|think(?:s|ing)? (?:of|about)"
    r"|consider(?:s|ing)|wants? to|hop(?:es?|ing) to|dream(?:s|ing)? of|wonder(?:s|ing)?"
    r"|toy(?:s|ing) with|ideas?|suggest(?:s|ed)?|propos(?:es?|ed|als?)|what if"
    r"|not (?:sure|decided)|undecided"
    r"|möchte\w{0,3}|überleg\w{0,3}|vielleicht|idee\w?|vorschlag|vorgeschlagen|könnten?"
    r"|würden? (?:\w+ )?gerne?)\b",
    re.IGNORECASE,
)


def _shares_a_name(older: str, newer: str) -> bool:
    """True where all that both texts speak of is the one of whom *newer* says something.

    "Olaf is vegan", "Olaf moved into a flat": of a name nothing tells that both are of one matter.
    """
    first, one = _subject_of(newer), read_all(older)
    mine = {word for each in one for word in each.content}
    if all((SELF | lexicon.VERBS).isdisjoint(each.tokens) for each in one):
        return False  # in another language, or without a verb
    if not first or not held(first, mine) == 1 == _shared(mine, newer):
        return False
    said = words(newer)
    denies = any(word in NEGATIONS or word.endswith("n't") for word in said)
    ends = not _ENDS.isdisjoint(said) or lexicon.OVER.search(newer.casefold()) is not None
    return not (ends or denies) and not (_has_figures(older) and _has_figures(newer))


def _subject_of(newer: str) -> list[str]:
    """The first word of *newer*, where it names what it speaks of; else none."""
    said = read_all(newer)
    begin = said[0].tokens[:1] if said else ()
    owned = bool(begin) and re.match(rf"{re.escape(begin[0])}['’]", said[0].lowered) is not None
    return [word for word in begin if word in said[0].content and not owned]


def _shared(mine: Collection[str], newer: str) -> int:
    said = {word for each in read_all(newer) for word in each.content | set(each.tokens)}
    return held(mine, said)


def _about(one: Sequence[Sentence], two: Sequence[Sentence]) -> Sentence | None:
    """The sentence of *two* that shares most with *one*: what else is said is beside it."""
    said = {word for each in one for word in each.content}
    return max(two, key=lambda now: held(now.content, said), default=None)


def _named(sentence: Sentence) -> list[str]:
    """The words of its subject that say what it is, in order; none where the speaker is it."""
    if not lexicon.ONESELF.isdisjoint(sentence.tokens[:1]):
        return []
    return [word for word in subject(sentence) if word in sentence.content]


def _somebody_else(then: Sentence, now: Sentence) -> bool:
    """True where *now* is of somebody close, and *then* of the speaker or of another one close."""
    theirs = _SOMEBODY.match(now.lowered)
    if theirs is None or not SELF.isdisjoint(now.tokens):
        return False
    if held({theirs["bare"] or theirs["kin"]}, then.tokens):
        return False
    return then.owner == ME or _SOMEBODY.match(then.lowered) is not None


def _of_theirs(then: Sentence, now: Sentence) -> bool:
    """True where *now* begins with what is somebody's, and *then* with what is another one's.

    "Our rent", "Uma's rent"; "Olaf", "Olaf's friend"; "my dentist", "Uma changed her dentist".
    """
    if not SELF.isdisjoint(now.tokens):
        return False
    kin = _THEIR_KIN.match(now.lowered)
    if kin is not None and (kin["of"] is None or held([kin["of"]], then.tokens)):
        return not held([kin["kin"]], then.tokens)
    mine = [match["thing"] for match in _MY_THING.finditer(then.lowered)]
    if not mine:
        theirs, ours = _THEIR_THING.match(then.lowered), _MY_THING.search(now.lowered)
        if theirs is None or ours is None or held(then.tokens[:1], now.tokens):
            return False
        return held([theirs["thing"]], [ours["thing"]]) > 0
    if (having := _HAVE_THEIRS.search(now.lowered)) is not None and held([having["thing"]], mine):
        return not held(words(having["who"])[-1:], then.tokens)
    first = now.tokens[0]
    closed = lexicon.DETERMINERS | lexicon.PREPOSITIONS | _TODAY
    if first in closed or held([first], then.tokens):
        return False
    theirs = _THEIR_THING.match(now.lowered)
    if theirs is not None and held([theirs["thing"]], mine):
        return True
    return _HIS.search(now.lowered) is not None and first in now.content


def _does_the_same(then: Sentence, now: Sentence) -> bool:
    """True where the speaker does or is in *then* what another one does or is in *now*.

    "We ship on Mondays", "the billing team ships on Thursdays". Not where the speaker is part of
    it ("the team ships ..."), or it is done to them ("the doctor put me on ...").
    """
    if SELF.isdisjoint(each.partition("'")[0] for each in then.tokens[:1]):
        return False
    ahead = itertools.takewhile(lambda word: word not in _OF_A_THING, then.tokens[1:])
    what = next((word for word in ahead if word in then.content | then.done), "")
    at = next((at for at, word in enumerate(now.tokens) if what and held([what], [word])), 0)
    who = [word for word in now.tokens[:at] if word in now.content]
    if not who or who[0] in _ALL_OF_US or held(who, then.tokens):
        return False
    speaks = (each.partition("'")[0] for each in now.tokens)
    if now.tokens[0] in lexicon.ONESELF or not _AT_ME.isdisjoint(speaks):
        return False
    if len(who) > 1:
        return True
    ours = then.tokens[0][:1] == "w" and bool(now.cues)
    return not ours and now.tokens[0] not in lexicon.DETERMINERS


def _of_mine(then: Sentence, now: Sentence) -> bool:
    """True where *now* says of a thing of the speaker alone what *then* says of another thing.

    "The server runs Debian 12", "my laptop is on Debian 13 now". Not where *now* has an "it", or
    nothing of what *then* says.
    """
    mine = [match["thing"] for match in _ON_MINE.finditer(now.lowered)]
    subject_of = _named(then)
    if not mine or not subject_of or not _IT.isdisjoint(now.tokens):
        return False
    if held(mine, then.tokens):
        return False
    value = then.content.difference(subject_of)
    return held(value, now.content) > 0 and not any(_has(word, now.tokens) for word in subject_of)


_ALL_OF_US = frozenset(
    listed("team crew family everybody everyone everything all company familie alle alles firma")
)
_OF_A_THING = lexicon.DETERMINERS | lexicon.PREPOSITIONS | lexicon.ONESELF
_AT_ME = SELF | frozenset(listed("me us mich mir uns"))

_TODAY = frozenset(listed("today tomorrow yesterday tonight it that there here what who one let"))
_THEIR_KIN = lazy_pattern(
    rf"(?:(?:his|her|their|seine?|ihre?)|(?P<of>[^\W\d_]{{2,30}}?)(?:['’]s|['’])) (?:\w{{2,20}} )?"
    rf"(?P<kin>{lexicon.KIN})\b(?!-)"
)
"""What begins with somebody close to another one: "Olaf's friend Emil", "his cousin"."""
_MY_THING = lazy_pattern(r"\b(?:my|our|meine?\w?|unsere?\w?) (?P<thing>[^\W\d_][\w-]{1,30})")
_ON_MINE = lazy_pattern(
    r"(?<!\blike )(?<!\bthan )(?<!\bas )(?<!\bwie )(?<!\bals )"
    r"\b(?:my|meine?\w?) (?P<thing>[^\W\d_][\w-]{1,30})(?!['’])"
)
"""A thing of the speaker's that is no measure of another: not "like my father's"."""
_THEIR_THING = lazy_pattern(
    r"(?:[^\W\d_]{2,30}['’]s?|(?![^\W\d_]{1,28}es )[^\W\d_]{3,30}s) (?P<thing>[^\W\d_][\w-]{1,30})"
)
"""What begins with somebody's: "Uma's rent", "Umas Miete"; "neues Auto" is nobody's."""
_HAVE_THEIRS = lazy_pattern(
    r"^(?P<who>(?:\w{1,30} ){1,4}?)(?:ha(?:s|ve)|keeps?|gets?|got|hat|haben)"
    r" (?:his|her|their|seine?\w?|ihre?\w?) (?P<thing>[^\W\d_][\w-]{1,30})"
)
"""Who has what is theirs: "the interns have their lockers in the annex"."""
_HIS = lazy_pattern(r"\b(?:his|her|their|sein\w{0,2}|ihr\w{0,2})\b")


def _sides_apart(one: Sequence[Sentence], two: Sequence[Sentence]) -> bool:
    """True where each names one side of a kind, and they differ in something else, too.

    Else the side is what is told: "tests run on staging", "tests run on prod".
    """
    then, now = ({word for each in some for word in each.tokens} for some in (one, two))
    sides = [{word for each in some for word in _of_something(each)} for some in (one, two)]
    for kind in _SIDES:
        mine, theirs = ({at for at, side in enumerate(kind) if side & some} for some in sides)
        if not mine or not theirs or mine & theirs:
            continue
        older, newer = (
            {word for each in some for word in each.content}.difference(*kind)
            for some in (one, two)
        )
        figures = {word for word in then ^ now if word[0].isdigit()}
        if figures or (held(older, newer) < len(older) and held(newer, older) < len(newer)):
            return True
    return False


def _of_something(sentence: Sentence) -> set[str]:
    """The words that may be sides: before what they are a side of ("left knee", not "left it"), or
    what is named itself."""
    pairs = itertools.pairwise((*sentence.tokens, ""))
    return {a for a, b in pairs if b in sentence.content or a in sentence.content}


def _ended(now: Sentence) -> str:
    """The first word that names what *now* says to be over; "" where that is the speaker's."""
    over = _LEFT_OR_OVER.search(now.lowered)
    before = words(now.lowered[: over.start()]) if over is not None else []
    named = (word for word in before if word in now.content)
    return next(named, "") if SELF.isdisjoint(before) else ""


def _has(word: str, others: Collection[str]) -> bool:
    """True where *others* hold a form of *word*, or a compound with it: "yoga", "yogakurs"."""
    long = len(word) > 3
    return bool(held([word], others)) or any(
        long and len(other) > 3 and (word in other or other in word) for other in others
    )


def _has_figures(text: str) -> bool:
    return any(word[0].isdigit() for word in words(text))
