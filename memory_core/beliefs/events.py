"""Whether a sentence tells of something that happened, by the form of its verb; two languages.

An event is told in a past form: English "fed the dog", "the loaf rose"; German "hat den Hund
gefüttert". A verb of result is the exception: who moved, bought or signed up
says how things are since. So are verbs of feeling and of saying, which report what still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, takewhile

from memory_core.beliefs import lexicon
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed, words

_PRETERITES = frozenset(
    listed(
        """arose ate awoke bent bit bled blew bore bound bred broke brought built burnt burst came
        caught clung crept crept dealt did dove drank dreamt drew drove dug dwelt fed fell felt fled
        flew flung forgave forgot fought found froze gave ground grew heard hid knelt laid leapt
        learnt lent lit lost made meant met mistook misread overheard overslept oversaw paid ran
        rang read rode rose sang sank sat saw sent sewed shone shook shot slept slid slung smelt
        spat sped spelt spent spilt spoilt spoke sprang spun stank stole stood struck stuck stung
        swam swept swore swung taught threw told took tore trod understood went wept withstood woke
        won wore wound wove wrote"""
    )
)
"""Irregular past forms that are no other form of the verb."""

_RESULTS = frozenset(
    listed(
        """chose chosen picked selected decided agreed signed enrolled joined started began set put
        hung kept stored settled installed configured scheduled planned rented leased subscribed
        registered named nicknamed assigned placed parked hid laid left stayed got opened elected
        ordained employed located based situated stationed married engaged retired divorced
        interested supposed used limited included dedicated committed promised pledged vowed
        determined defined stopped quit ended banned forbade allowed permitted
        insured enabled mounted pinned fixed capped bound wound stuck kept standardised standardized
        became bought adopted hired leased swore moved relocated switched changed replaced renamed
        migrated converted upgraded sold separated resigned promoted transferred

        entschieden gewählt ausgewählt ausgesucht eingeschrieben angemeldet vereinbart abgemacht
        festgelegt beschlossen gelegt gestellt gehängt begonnen angefangen gebucht gekauft gemietet
        abonniert installiert eingerichtet versprochen genannt benannt geparkt versteckt reserviert
        geeinigt eingeführt eingebaut abgelegt hinterlegt angelegt unterschrieben unterzeichnet
        geworden versichert zugesagt verboten erlaubt bestimmt gelernt verpflichtet umgezogen
        eingezogen ausgezogen gewechselt umgestiegen geändert umbenannt ersetzt verschoben verlegt
        verkauft gekündigt"""
    )
)
"""Past forms of verbs that put something in a state: what they say holds since."""

_SAYING = frozenset(
    listed(
        """said told asked announced explained recommended suggested confirmed warned mentioned
        wrote claimed stated noted insisted advised wanted needed liked loved preferred hated knew
        believed thought felt hoped wished owned belonged contained meant understood heard read
        reported replied answered complained argued
        gesagt erzählt gemeint geschrieben empfohlen erklärt bestätigt gewarnt gewollt gewusst
        gehört geglaubt gedacht gefragt gebeten berichtet gemeldet geantwortet"""
    )
)
"""Past forms of verbs of saying, feeling and owning: what they tell may still hold."""

_NO_SUBJECT = frozenset(
    listed(
        """a an any as because each every how if of some than that until when where whether which
        who whose why with without for by to in on at from no not get gets have has had having"""
    )
)
"""What stands before a participle, or opens a clause of its own."""

_PRESENT = lazy_pattern(
    r"\b(?:is|are|i am|has|have|does|do|will|must|should|can|needs?|says?|wants?|i'm|we're|it's"
    r"|ist|sind|muss|soll|kann|wird)\b|'ve\b"
)
_BREAK = lazy_pattern(r"[,;:–—(]|\b(?:and|but|so|und|aber|sodass)\b")
_HAVE = frozenset(listed("habe hab haben hat hast habt"))
_BE = frozenset(listed("bin ist sind bist"))
_PARTICIPLE = (
    r"(?:[a-zäöüß]{0,9}ge[a-zäöüß]{2,20}|(?:[a-zäöü]{2,6})?(?:be|er|ver|zer|ent)[a-zäöüß]{3,20}"
    r"|[a-zäöüß]{3,20}ier)(?:t|en)|[a-zäöüß]{3,20}iert"
)
_PAST_PARTICIPLE = lazy_pattern(_PARTICIPLE)
_GONE = lazy_pattern(
    r"(?:[a-zäöüß]{0,9})(?:gegangen|gefahren|gelaufen|geflogen|geschwommen|geritten|gewandert|gereist"
    r"|gerannt|gestürzt|gefallen|geklettert|gelandet|gesprungen|passiert|geschehen|eingeschlafen"
    r"|aufgewacht|aufgestanden|angekommen|gekommen|geradelt|gejoggt|gesegelt)"
)
"""Participles of going and falling, which take "sein"; of others that says how something is."""


def happened(text: str) -> bool:
    """True when *text*, one sentence as written, tells what happened and states no result.

    Its first clause decides.
    """
    said = text[:MOST_CHARS].strip().replace("’", "'")
    clause = _BREAK.split(said, maxsplit=1)[0].strip()
    lowered = clause.casefold()
    spoken = clause.split()
    return _perfect(spoken) or (not _PRESENT.search(lowered) and _english(clause))


_NO_CHANGE = lexicon.DETERMINERS | frozenset(
    listed("is are am be being get gets i'm we're it's he's she's they're")
)
"""What stands before a participle that says how something is: "the used car", "is made by"."""

_WANTED = frozenset(listed("want wants need needs wanna"))
"""Before what is to be done: "she wants the plan checked", "the tap needs to be repaired"."""

_NO_VERB = lexicon.PREPOSITIONS | {"than", "as"}
"""What stands before no verb with a subject: "with fried onions", "earlier than planned"."""

_PERFECT = lazy_pattern(
    r"\b(?:wurden?|worden|hat|habe|haben|hab|hast|habt|hatten?|ist|bin|sind|war|waren|mussten?)\b"
    rf"[^,;:!?]{{1,80}}?\b(?P<done>{_PARTICIPLE})"
    r"(?=(?: worden| werden)?(?:[,;:.!?]|$| und\b| aber\b))"
)
"""An auxiliary and the participle that ends its clause."""


def past_verbs(lowered: str, tokens: Sequence[str]) -> frozenset[str]:
    """The words of a sentence, *lowered*, that say by their form that something was done.

    English regular forms ("moved", "was raised") and those of a result ("sold") that do not open
    the sentence and stand before no noun; German participles of a perfect or a passive. What was
    done may have changed how things are, and no list knows all verbs of change; who said something
    changed nothing. None behind a verb of wanting, and none from a clause with "still" on, which
    says what is as it was: "moved to the 9th, still at ten".
    """
    told = tuple(takewhile(lambda word: word not in _WANTED, tokens))
    english = (
        word
        for earlier, before, word in zip(("", *told), told, told[1:], strict=False)
        if (_is_regular(word) or word in _RESULTS)
        and before not in _NO_CHANGE | _NO_VERB
        and not (before == "only" and earlier in lexicon.DETERMINERS)
    )
    perfect = (match["done"] for match in _PERFECT.finditer(lowered))
    done = frozenset([*english, *perfect]) - _SAYING
    if "still" not in tokens:
        return done
    before = takewhile(lambda clause: "still" not in clause, map(words, _BREAK.split(lowered)))
    return done.intersection(chain.from_iterable(before))


MOST_CHARS = 300
"""Of a sentence that are looked at; its first verb stands among them."""


def _english(clause: str) -> bool:
    """True for "fed the dog" and "the loaf rose"; the first past form of a clause decides."""
    before = ""
    for word in (each.removesuffix("'s") for each in words(clause)[:MOST_BEFORE]):
        free = before not in _NO_SUBJECT | lexicon.AUXILIARY | lexicon.DETERMINERS
        if free and word.endswith("s") and word in lexicon.VERBS and word != "always":
            return False
        if free and _is_past(word):
            return _is_told(word)
        before = word
    return False


MOST_BEFORE = 6
"""Words among which the verb of an English clause is looked for."""


def _is_past(word: str) -> bool:
    if word in _PRETERITES or word in _RESULTS or word in _SAYING:
        return True
    return _is_regular(word)


def _is_regular(word: str) -> bool:
    return len(word) > 4 and word.endswith("ed") and word[-3] != "e"


def _is_told(word: str) -> bool:
    """True for a past form that states no result, and nothing that was only said."""
    return word not in _RESULTS and word not in _SAYING


def _perfect(spoken: Sequence[str]) -> bool:
    """True for "hat den Hund gefüttert" and "bin gelaufen", where the participle ends a clause."""
    last = spoken[-1].strip(".!\"'„“") if spoken else ""
    if not (_PAST_PARTICIPLE.fullmatch(last) or _GONE.fullmatch(last)):
        return False
    lowered = {word.casefold() for word in spoken}
    form = _PAST_PARTICIPLE if _HAVE & lowered else _GONE if _BE & lowered else None
    return form is not None and form.fullmatch(last) is not None and _is_told(last)
