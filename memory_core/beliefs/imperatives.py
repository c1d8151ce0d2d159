"""Imperatives: whether a clause, given as its words in small letters, asks for something once.

A word that is a noun as well is no imperative where a finite verb follows ("log files live in
..."), and one that sets a value is a correction ("make that Thursday"). In English and
German, by form.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory_core.text.words import GERMAN_STOPWORDS, STOPWORDS, listed

AUXILIARIES = frozenset(
    listed(
        """is are was were am do does did can could will would should shall may might must have has
        had isn't aren't wasn't don't doesn't didn't can't couldn't won't wouldn't shouldn't haven't
        hasn't what's who's where's how's when's why's"""
    )
)
_GERMAN_FINITE = frozenset(
    listed(
        """ist sind war waren bin hat haben habe hatte wird werden wurde kann muss soll will darf
        mag heißt wohnt arbeitet kostet läuft beginnt braucht sollte müssen sollen können hängt
        liegt steht geht kommt gilt gehört fehlt bleibt endet"""
    )
)
FINITE = (
    AUXILIARIES
    | _GERMAN_FINITE
    | frozenset(
        listed(
            """i'm i've i'll we're we've he's she's it's they're got needs wants lives works uses
            runs prefers likes goes starts ends costs takes becomes moved changed"""
        )
    )
)
WENT = frozenset(listed("went came became rose fell grew took began broke gave died"))
"""Past forms that are no participles or nouns as well."""
NO_SUBJECT = frozenset(
    listed(
        """if when whenever while as since because although though unless until after before once
        that which who whose where whether what how why in on at for from with without by about
        regarding given to than or it it's this there like

        wenn falls ob als weil da während bevor nachdem sobald bis dass der die das welche was wie
        in auf an für von mit ohne bei es oder"""
    )
)
_VERBS = frozenset(
    listed(
        """add adjust analyse analyze append apply ask assign attach bring browse bump calculate
        cancel check choose clarify clean clear click clone collect combine compare compile complete
        compute configure connect continue convert copy correct count create cut debug decrease
        define delete describe disable discard display do download draft draw drop duplicate edit
        elaborate enable ensure enter evaluate examine execute expand explain export extend extract
        fetch fill find
        finish fix follow forget format generate get give go grab grep handle hide highlight
        implement import improve include increase initialise initialize inline insert inspect
        install integrate investigate join kill launch let lint load locate log look lower make
        measure merge migrate mock modify move navigate omit open optimise optimize organise
        organize paraphrase paste polish populate prepare print profile proofread propose provide
        pull put raise rebase rebuild recalculate recheck recommend redo reduce refactor reformat
        refresh regenerate reload remove rename render reopen reorder rephrase replace reproduce
        rerun reset resolve restart restore resume retry return revert review reword rewrite
        rollback save scaffold scan scroll select send separate set setup share shorten show
        simplify solve sort specify split squash stage start stop strip submit suggest summarise
        summarize swap sync tell test throw tidy toggle transform translate trim try turn undo
        uninstall unpack update upgrade upload validate verify view visualise visualize walk wire
        wrap write zip

        zeig zeige öffne starte stopp stoppe führ führe mach mache lösch lösche erstell erstelle
        schreib schreibe gib nimm lass lasse such suche erklär erkläre übersetz übersetze fass fasse
        prüf prüfe überprüf überprüfe teste bau baue änder ändere setz setze füg füge entfern
        entferne ersetz ersetze lies schau sieh sag nenn nenne liste berechne kopier kopiere schick
        schicke lad lade korrigier korrigiere verbesser verbessere vergleich vergleiche benenn
        benenne versuch versuche probier probiere wiederhol wiederhole deploye committe pushe
        installier installiere aktualisier aktualisiere hilf kürz kürze leg lege dreh drehe stell
        stelle beantworte formulier formuliere generier generiere analysier analysiere schließ
        schließe speicher speichere drück wechsel wechsle verschieb verschiebe buch buche bestell
        bestelle such räum räume mail maile ruf druck drucke übernimm antworte pack packe"""
    )
)
"""Imperatives that are no common nouns in front of a verb."""

_NOUN_VERBS = frozenset(
    listed(
        """answer back book build call change close cluster comment commit compare contact cook
        deploy design document email exit filter flag focus guess index label leave list mark match
        mention name order pack pick pin place plan play post push query quote rank rate read record
        release repeat reply report request research respond run sample schedule search ship sketch
        skip sleep spell stash step store stream study switch tag talk target trace track visit wait
        watch work buy"""
    )
)
"""Imperatives that are nouns as well ("book club meets"): what follows tells them apart."""

_MANNERS = frozenset(
    listed(
        """use answer respond reply speak address treat assume write format spell
        name cite stick nutz nutze verwende benutz benutze schreib schreibe antworte vermeide"""
    )
)
"""Imperatives that say how things are to be done, where they name no single thing at hand."""

_NAMING = frozenset(("name", "cite"))
_NUMBERS = frozenset(listed("one two three four five six seven eight nine ten twelve twenty"))

_STATIVE = frozenset(
    listed(
        """love hate like prefer keep avoid need want have know think hope feel believe live own
        enjoy loathe wish miss guess bet suppose suspect doubt remember note remind mean see hear
        seem agree disagree care matter depend belong deserve regret dislike adore

        habe hab bin war hatte wohne lebe arbeite mag liebe hasse brauche möchte muss will kann
        trinke esse heiße spiele lerne fahre gehe komme finde glaube denke hoffe weiß kenne kenn
        kriege bekomme plane ziehe nehme studiere besitze vermisse bevorzuge"""
    )
)
PAST = frozenset(
    listed(
        """got bought sold left met lost made took went saw found won began wrote broke quit had
        felt heard held kept knew paid ran said sent sat slept spent spoke stood taught told thought
        wore built caught chose drew drove ate fell flew forgot gave grew hid led lent rode rang
        rose read came became did fought swam threw understood woke brought dreamt learnt hit hurt
        shut"""
    )
)
OBJECTS = frozenset(
    listed(
        """the a an this that these those it them me us my your all everything both each every some
        any its another him her

        den die das dem der ein eine einen einem einer mir mich uns es alle alles diese diesen
        dieses diesem dieser beide beiden bitte mal nochmal meine meinen mein"""
    )
)
AT_HAND = frozenset(
    listed("the this that these those it them both den die das dem diese diesen dieses es")
)
FOLLOWING = OBJECTS | frozenset(
    listed(
        """up down out in on at to for from with again and or now then over off through into until
        about as by only more both twice once here there if when please first last two three four
        five"""
    )
)
_BARE = _VERBS | _NOUN_VERBS | _STATIVE
DAYS = frozenset(
    listed(
        """yesterday today tomorrow tonight monday tuesday wednesday thursday friday saturday sunday
        january february march april june july august september october november december

        heute morgen gestern montag dienstag mittwoch donnerstag freitag samstag sonntag januar
        februar märz mai juni juli oktober dezember"""
    )
)
_NO_VERB = (
    STOPWORDS
    | GERMAN_STOPWORDS
    | DAYS
    | frozenset(listed("day week weekend month year morning tag woche wochenende monat jahr"))
    | frozenset(
        listed(
            """without within per plus via despite except unlike regarding concerning since upon
            onto toward towards throughout according thanks due instead last next maybe perhaps
            probably half twice whether although unless whereas however update correction reminder
            glad happy sad sorry sure proud certain afraid aware fortunate lucky weird strange odd
            funny besides beyond beneath amid pro contra unfortunately hopefully apparently

            ohne gegen seit während wegen trotz leider vielleicht unter zwischen hinter neben durch
            kommt gibt steht liegt wurde werden hatte nächste letzte jede jeden laut dank außer
            innerhalb außerhalb"""
        )
    )
) - frozenset(listed("do let make get go run"))


def is_imperative(plain: Sequence[str]) -> bool:
    """True for "run the tests"; *plain* is a clause without the words that only lead to it."""
    verb, following = plain[0], plain[1] if len(plain) > 1 else ""
    verb = verb if verb == "let's" else verb.removesuffix("'s")  # German "probier's"
    if verb in _NAMING and (following in _NUMBERS or following[:1].isdigit()):
        return True
    if is_manner(plain):
        return verb in _VERBS and (following in FOLLOWING or not _says_how(plain))
    if verb in _VERBS:
        return following not in FINITE and not _is_subject(plain) and not _sets(plain)
    if verb in _NOUN_VERBS:
        if following[:1].isdigit():
            return not _is_numbered(plain)
        return not following or following in FOLLOWING
    if verb in _NO_VERB or verb in _STATIVE or verb in PAST or following not in OBJECTS:
        return False
    if following in ("it", "that", "this") and plain[2:3] and plain[2] in FINITE:
        return False  # "blue it is"
    if _turns_finite(plain, FINITE | WENT) or _is_named(plain):
        return False  # "kauf der Wohnung ist", "rack A has"
    return verb.isalpha() and not verb.endswith(("ed", "ing", "ly", "s", "te", "ten"))


def is_manner(plain: Sequence[str]) -> bool:
    """True for "use bullet points": how things are to be done, with no single thing at hand."""
    return plain[0] in _MANNERS and plain[1:2] != [] and plain[1] not in AT_HAND


def _is_subject(plain: Sequence[str]) -> bool:
    """True for "log files live in ..." and "copy shop on Mill Street does ...": nouns, then a verb.

    A finite verb before any word that begins another clause; after a plural, one without an ending.
    """
    if plain[1:2] == [] or plain[1] in OBJECTS or plain[1] in _SUBORDINATE:
        return plain[1:2] != [] and plain[1] in _GENITIVE and _turns_finite(plain, _GERMAN_FINITE)
    if plain[1] in FOLLOWING:
        return _turns_finite(plain, _GERMAN_FINITE)
    if _turns_finite(plain, FINITE | WENT):
        return True
    for place, word in enumerate(plain[1:_NOUNS], 1):
        if word in _SUBORDINATE or word in OBJECTS:
            return False
        before = plain[place - 1]
        plural = place > 1 and before.endswith("s") and (place == 2 or plain[1] not in FOLLOWING)
        if (plural or (before in _SELDOM and place > 2)) and (word in _BARE or word in PAST):
            return True
    verb, then = (*plain[2:4], "", "")[:2]
    ending = verb.endswith(("ed", "er", "ing", "ly", "s")) or verb in NO_SUBJECT | FOLLOWING
    return plain[1].endswith("s") and verb.isalpha() and not ending and then in _WHEN


def _is_named(plain: Sequence[str]) -> bool:
    """True for "Leopold the tortoise weighs 9 kilos": a name, what it is of, and a verb."""
    noun, verb, *rest = (*plain[2:], "", "")
    return plain[1] == "the" and bool(rest[:-2]) and not noun.endswith("s") and _is_third(verb)


def _is_third(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss") and word not in OBJECTS


def _is_numbered(plain: Sequence[str]) -> bool:
    """True for "release 4.2 ships on Monday" and "run 11 reached 78 percent": a thing by number."""
    after = next((place for place in range(1, len(plain)) if not plain[place][0].isdigit()), 0)
    if not after:
        return False
    verb, then = (*plain[after : after + 2], "", "")[:2]
    if verb.endswith("ed") or (_is_third(verb) and then in _WHEN):
        return True
    reached = zip(plain[after:], plain[after + 1 :], strict=False)
    return _turns_finite(plain, FINITE | WENT | PAST) or any(
        word.endswith("ed") and following[0].isdigit() for word, following in reached
    )


def _turns_finite(plain: Sequence[str], verbs: frozenset[str]) -> bool:
    """True when one of *verbs* comes before another clause begins."""
    for word in plain[2:_NOUNS]:
        if word in _SUBORDINATE:
            return False
        if word in verbs:
            return True
    return False


_NOUNS = 10
"""A subject is over before that word."""
_SUBORDINATE = frozenset(
    listed(
        """if when whenever while as since because although though unless until that which who whose
        where whether what how why and or but then so

        wenn falls ob als weil da während bevor nachdem sobald bis dass und oder aber was wie wo"""
    )
)
_GENITIVE = frozenset(("der", "des", "von"))
_SELDOM = frozenset(listed("only still always usually never also often mostly now"))
"""Adverbs in front of a finite verb."""
_WHEN = frozenset(listed("after before on in at until by every from through during"))


def _sets(plain: Sequence[str]) -> bool:
    """True for "make that Thursday" and "mach da 14 draus": another value, and nothing to do."""
    if plain[0] not in _MAKES or plain[1:2] == [] or plain[1] not in _VALUE_OF:
        return False
    return any(word in DAYS or word in _INSTEAD or word[0].isdigit() for word in plain[2:])


_MAKES = frozenset(listed("make mach mache"))
_INSTEAD = frozenset(listed("instead rather not statt nicht"))
_VALUE_OF = frozenset(listed("it that das es da daraus"))


def _says_how(plain: Sequence[str]) -> bool:
    """True for "write commit messages in English": no single thing, and a manner."""
    general = not AT_HAND.intersection(plain)
    return general and any(
        word in ("in", "with", "without", "as", "like", "auf", "ohne", "mit", "als")
        for word in plain[2:]
    )
