"""How a later memory bears on an earlier one: the one comparison, at write and in sleep.

Meaning selects what is compared and weighs whether both compete (`competing`); words say how they
differ (`change`) and refuse. A word of change alone supersedes nothing, however likely: the newer
text has to be the older one once more, denied or with another value (`restated`). All else is in
doubt at most. No model, no I/O.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from memory_core.beliefs import (
    authority,
    change,
    competing,
    denied,
    forms,
    overview,
    quoted,
    whose,
    wordings,
)
from memory_core.beliefs.competing import LIKELY, LIKELY_WORDED, Nearness
from memory_core.beliefs.question import gives
from memory_core.beliefs.restated import restated, taken_back
from memory_core.beliefs.sentence import CHANGE, Sentence, read_all
from memory_core.beliefs.shared import about_one, crossed, differ_twice, labels_apart
from memory_core.beliefs.withdrawn import withdraws
from memory_core.link_kinds import UPDATES
from memory_core.records import DERIVED, MemoryRecord
from memory_core.text.time import dates, validity
from memory_core.text.time.mentions import says_past

LEAST_OF_ALL = 0.25
"""The cosine from which an item of an overview may be near to what is far from all of it."""

TURNED_COSINE = 0.85
"""From which two texts may hold the same words in another order; measured on reversals: 0.86."""


def compare(
    older: MemoryRecord,
    newer: MemoryRecord,
    near: Nearness,
    names: Sequence[tuple[str, str]] | None = None,
) -> change.Found | None:
    """How *newer* puts *older*, which was said before it by one speaker, out of date, or may.

    None when it does not. It supersedes only where it is trusted as much and asks for nothing: what
    is said beside a request may be what the request is about. What is derived says what others say,
    at their time and not at its own. *names* are pairs of names of one thing in these and other
    texts; None: those in the two.
    """
    derived = older.kind in DERIVED or newer.kind in DERIVED
    if derived or not authority.may_doubt(older, newer):
        return None
    then, now = quoted.claimed(older), quoted.claimed(newer)
    found = compare_texts(then, now, near, forms.aliases([now, then]) if names is None else names)
    if found is None or _is_exception(older, newer, found):
        return None
    if not found.supersedes and found.kind != change.MATTER and _tells_of_before(newer, older):
        return None
    if found.kind == change.PRESUMED and _names_one_of(newer, older):
        return None
    one_voice = older.speaker == newer.speaker or older.role == newer.role == "user"
    lasts = one_voice and authority.may_change(older, newer) and not authority.requests(newer)
    return found if lasts else replace(found, supersedes="")


def compare_wording(
    older: MemoryRecord, newer: MemoryRecord, marked: MemoryRecord
) -> change.Found | None:
    """How *newer*, which puts the *marked* one out of date, does so with its wording *older*."""
    if older.kind in DERIVED or not authority.may_doubt(older, newer):
        return None
    found = wordings.out_too(*map(quoted.claimed, (older, marked, newer)))
    return None if found is None or _is_exception(older, newer, found) else found


def _is_exception(rule: MemoryRecord, memory: MemoryRecord, found: change.Found) -> bool:
    """True when *memory* does not change *rule*, whatever was *found* in its words.

    It holds for single days or until one, and *rule* names none; or no word of change tells, and it
    is no note but a turn of talk, which says much in passing or of what it quotes.
    """
    if found.passing:
        return memory.valid_until is None
    if found.worded or found.kind == change.ORDER:
        return False
    if found.kind == change.PRESUMED and not is_note(memory):
        return True
    if rule.dates or rule.valid_until is not None:
        return False
    return memory.valid_until is not None or validity.of_days(memory.text, memory.dates)


def _names_one_of(newer: MemoryRecord, older: MemoryRecord) -> bool:
    """True when *newer* names one day, of several that *older* names."""
    return len(newer.dates) == 1 < len(older.dates) and newer.dates[0] in older.dates


def _tells_of_before(newer: MemoryRecord, older: MemoryRecord) -> bool:
    """True when *newer* tells of what was over before *older* was said: "in 2019 it broke down"."""
    if not newer.dates or dates.reach_to(newer.dates, older.occurred_at):
        return False
    return all(map(_is_past, read_all(newer.text)))


_HOLDS = frozenset(("since", "seit", "is", "are", "am", "ist", "sind", "bin"))
"""Words of what began and goes on."""


def _is_past(sentence: Sentence) -> bool:
    """True for a sentence that tells what was or happened, by its verbs, and names no change."""
    if not sentence.cues <= sentence.done - CHANGE or not _HOLDS.isdisjoint(sentence.tokens):
        return False
    return bool(sentence.done) or sentence.reports or says_past(sentence.text)


def is_note(memory: MemoryRecord) -> bool:
    """True for what was given to `remember` as it is, and asks for nothing."""
    plain = not memory.role and quoted.claimed(memory) == memory.text
    return plain and not authority.requests(memory)


def compare_texts(
    older: str, newer: str, near: Nearness, names: Sequence[tuple[str, str]] = ()
) -> change.Found | None:
    """How the text *newer* puts *older* out of date, or may, by all that *near* and both show.

    What names its change of one matter, or of a thing by another one of its *names*, whose vector
    nobody has, is taken at its word. Never raises.
    """
    if labels_apart(older, newer) or wordings.confirms(older, newer):
        return None
    if said := withdraws(older, newer):
        return change.Found(change.WORDS, (said,))
    renamed = forms.called(newer, names) if names else ()
    for text in () if renamed and about_one("", older, newer) else renamed:
        found = change.change(older, text)
        if found is not None and found.worded and about_one("", older, text):
            return found
    if relation := taken_back(older, newer):
        found = change.change(older, newer)
        if found is not None and not (found.passing or found.partial):
            return replace(found, supersedes=relation)
    if restated(older, newer):
        return change.change(older, newer)
    if (said := denied.names_as_wrong(older, newer)) and not _is_of_another(older, newer):
        found = change.change(older, newer)
        if found is not None and not found.passing:
            sure = denied.is_sure(older, newer) and not found.partial
            return replace(
                found, kind=change.WORDS, words=(said,), supersedes=UPDATES if sure else ""
            )
    part, said, named = overview.other_figure(older, newer)
    near_enough = named or near.cosine is None or near.cosine >= competing.LEAST
    if part and near_enough and not _is_of_another(older, newer):
        return change.Found(change.WORDS, (said,), part)
    if part := overview.part(older, newer):
        found = compare_texts(overview.item(older, newer), newer, _of_an_item(near), names)
        told = found is not None and (found.worded or found.passing)
        return replace(found, part=part, supersedes="") if found is not None and told else None
    found = _weighed(older, newer, near)
    if found is not None and (found.worded or found.passing):
        return found
    return _over(older, newer) or found


def _weighed(older: str, newer: str, near: Nearness) -> change.Found | None:
    """How *newer* puts *older* out of date, where both are likely to compete."""
    turned = near.cosine is not None and near.cosine >= TURNED_COSINE
    matter = change.may_be_a_matter(older, newer)
    if not turned and not matter and not _may_be_likely(older, newer, near):
        return None
    if _is_of_another(older, newer):
        return None
    found = change.change(older, newer)
    if found is None or found.kind == change.MATTER:
        return found
    if near.cosine is None:
        return None
    if found.kind == change.ORDER:
        return found if turned else None
    told = found.worded or found.passing
    if told:
        near = replace(near, margin=near.ahead)
    # an exception mostly has the form of its rule, what is done that of what was to be done, and
    # what gives another day or number of the same thing that of what gave the first one
    moves = _moves(older, newer, found)
    form = not (found.passing or change.is_to_be_done(older) or moves)
    likelihood = competing.likelihood(older, newer, near, form=form)
    if likelihood < (LIKELY_WORDED if told else LIKELY):
        return None
    if found.kind == change.PRESUMED and (
        differ_twice(older, newer)
        or crossed(older, newer)
        or wordings.gives_the_same(older, newer)
        or _lacks_a_figure(older, newer)
    ):
        return None
    return found


def _lacks_a_figure(older: str, newer: str) -> bool:
    """True when *older* tells a day or an hour, and *newer* neither of them nor a number.

    Not where it stands behind a comma: "the lesson is with Célia, on Wednesdays".
    """
    timed = gives("time", older.split(", ")[0])
    return timed and not (gives("time", newer) or gives("number", newer))


def _moves(older: str, newer: str, found: change.Found) -> bool:
    """True where *newer* says that a thing moved, and gives another day or number of it."""
    if not found.worded or not denied.says_moved(newer) or not wordings.figures_apart(older, newer):
        return False
    pairs = itertools.product(read_all(older), read_all(newer))
    return any(change.begins_with_one(then, now) for then, now in pairs)


def _over(older: str, newer: str) -> change.Found | None:
    """That *newer* says of a value of *older* that it is over."""
    said = denied.names_as_over(older, newer)
    found = change.change(older, newer) if said and not _is_of_another(older, newer) else None
    if found is None or found.passing:
        return None
    return change.Found(change.WORDS, (said,), found.part)


def _of_an_item(near: Nearness) -> Nearness:
    """The nearness of an item of an overview, of which *near* tells that of the whole."""
    if near.cosine is None or near.cosine < LEAST_OF_ALL:
        return near
    return replace(near, cosine=max(near.cosine, competing.LEAST))


def _is_of_another(older: str, newer: str) -> bool:
    return whose.of_another(older, newer) or whose.ended_of_another(older, newer)


def _may_be_likely(older: str, newer: str, near: Nearness) -> bool:
    """False, in little time, where whatever words say the likelihood does not suffice."""
    most = replace(near, margin=max(near.margin, near.ahead))
    if not competing.may_compete(older, newer, most):
        return False
    return competing.likelihood(older, newer, most, form=False) >= LIKELY_WORDED
