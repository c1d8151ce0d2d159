"""Speech acts: whether a sentence states something, or only asks, requests, greets or offers.

Rules for English and German. What fits none of them is a statement, so that nothing is lost that
they do not know. A standing directive ("always use tabs", "call me Lex") counts as a statement: it
says how things are to be. A one-off command ("run the linter") does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from memory_core.beliefs import wishes
from memory_core.beliefs.imperatives import (
    AT_HAND,
    AUXILIARIES,
    DAYS,
    FINITE,
    NO_SUBJECT,
    OBJECTS,
    PAST,
    WENT,
    is_imperative,
    is_manner,
)
from memory_core.beliefs.run_on import tells_besides
from memory_core.text import machine
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.words import FILLER_WORDS, GERMAN_STOPWORDS, STOPWORDS, listed, words

STATEMENT = "statement"
QUESTION = "question"
REQUEST = "request"
COURTESY = "courtesy"
OFFER = "offer"
ERROR = "error message"

MOST_CHARS = 600
"""Of a sentence that is looked at: what it does stands at its beginning."""


def acts(text: str, role: str = "") -> list[str]:
    """What each sentence of *text*, said in the *role* of user or assistant, does."""
    return [act(sentence, role) for sentence in sentences(text)]


def act(sentence: str, role: str = "") -> str:
    """The act of one *sentence*: STATEMENT, QUESTION, REQUEST, COURTESY, OFFER or ERROR.

    The first clause that is more than courtesy decides; another clause with a subject and a verb of
    its own makes a statement of it ("We moved to Hetzner, which port do I need?").
    """
    return _act_of(sentence[:MOST_CHARS].strip().lstrip("-*•#> \t"), role)


@lru_cache(maxsize=4_096)
def _act_of(head: str, role: str) -> str:
    """What `act` says of a sentence with this *head*: asked again for each pair it is in."""
    if machine.is_error(head):
        return ERROR
    if _DEFINES.match(head) or (role != "assistant" and wishes.is_wish(head)):
        return STATEMENT
    if machine.is_command_line(head):
        return REQUEST
    if _exclaims(head):
        return COURTESY
    asked = head.rstrip("\"'”’)* ").endswith("?")
    clauses = [_words(clause) for clause in _CLAUSE.split(head)]
    clauses = [clause for clause in clauses if clause]
    if asked and len(clauses) > 1 and is_tag(clauses[-1]):
        asked = False
        clauses.pop()
    found = [_act(clause, role) for clause in clauses]
    if asked and found and found[-1] in (STATEMENT, COURTESY) and not _is_indirect(clauses[-1]):
        found[-1] = QUESTION
    if found[1:] and STATEMENT not in found[:-1] and _continues(clauses[-1]):
        found[-1] = REQUEST
    telling = [place for place, what in enumerate(found) if what != COURTESY]
    if not telling:
        return COURTESY
    first = telling[0]
    if found[first] == STATEMENT and telling[1:] and _is_condition(clauses[first]):
        first = telling[1]
    if found[first] == STATEMENT and (
        not asked or _declares(clauses[first]) or _is_indirect(clauses[first])
    ):
        return STATEMENT
    for place in telling[1:]:
        instead = place == first + 1 and _TAKES_BACK.fullmatch(" ".join(clauses[first]))
        if found[place] == STATEMENT and (instead or _declares(clauses[place])):
            return STATEMENT
    return QUESTION if asked and found[first] == STATEMENT else found[first]


def _continues(clause: Sequence[str]) -> bool:
    """True for "but as a table" and "aber auf Englisch": more of what was just asked for."""
    if len(clause) > _LONGEST_COURTESY or any(word[0].isdigit() for word in clause):
        return False
    return clause[0] in _BUT and clause[1:2] != [] and clause[1] in _HOW and not _declares(clause)


_BUT = frozenset(listed("but aber and und only nur"))
_HOW = frozenset(listed("as in with without for to als auf in im ins mit ohne für"))


def is_label(text: str) -> bool:
    """True for a few words without a finite verb that ask for nothing: a heading, a name."""
    found = words(text[:MOST_CHARS])
    return FINITE.isdisjoint(found) and act(text) not in (QUESTION, REQUEST)


def takes_back(text: str) -> bool:
    """True for what begins with "scrap that": what follows says how things are instead."""
    return _TAKES_BACK.match(" ".join(words(text[:MOST_CHARS]))) is not None


def is_bare_wish(text: str) -> bool:
    """True for "the German version please": something asked for at once, without a verb."""
    found = words(text[:MOST_CHARS])
    return bool(found) and _is_bare_wish(_without_opening(found), found)


def is_standing(text: str) -> bool:
    """True for the words of a directive that goes on ("always", "from now on", "remember")."""
    return _STANDING.search(" ".join(words(text[:MOST_CHARS]))) is not None


def _is_condition(clause: Sequence[str]) -> bool:
    """True for "when a bus leaves at 8": of nobody, so a part of what is said behind it."""
    return clause[0] in _CONDITIONS and _SUBJECTS.isdisjoint(clause)


_CONDITIONS = frozenset(listed("if when whenever wenn falls sobald"))
_CLAUSE = lazy_pattern(r"[,;:]\s+|\s[-–—]+\s+|\s(?=(?:but|aber|because|weil|denn)\s)")
_TAKES_BACK = lazy_pattern(
    r"(?:no |nope |wait |actually |nein |halt |doch )?"
    r"(?:(?:scrap|scratch|forget|cancel|ignore|undo|drop|strike) (?:that|it|this)"
    r"|(?:vergiss|streich|streiche|lass) (?:das|es)|wait|hold on|halt|moment|warte)"
)
"""What follows it says how things are instead."""
_HYPHENATED = lazy_pattern(r"\W{0,9}([^\W\d_]{1,30})-([^\W\d_]{1,30})")


_SHORTENED = {
    word.replace("'", ""): word
    for word in listed(
        """i'm i've you're you've they're they've we've that's there's what's who's how's where's
        why's when's don't doesn't didn't isn't aren't wasn't haven't hasn't can't couldn't
        wouldn't shouldn't"""
    )
}
"""Words that are often typed without their apostrophe, and then are no others in English."""
_GERMAN = GERMAN_STOPWORDS - frozenset(listed("am an da du im in man mit so war was wo"))


def _words(clause: str) -> list[str]:
    """The words of *clause*, with apostrophes; "check-in" in front is one, and so no imperative."""
    found = words(clause)
    german = not _GERMAN.isdisjoint(found)
    found = [word if german else _SHORTENED.get(word, word) for word in found]
    compound = _HYPHENATED.match(clause)
    if compound and found[:2] == [part.casefold() for part in compound.groups()]:
        found[:2] = [f"{found[0]}-{found[1]}"]
    return found


def _act(clause: Sequence[str], role: str) -> str:
    """The act of one *clause*, given as its words."""
    if _is_courtesy(clause) or _reacts(clause):
        return COURTESY
    plain = _without_opening(clause)
    line = " ".join(plain)
    if role in ("", "user") and (_OF_AN_ANSWER.fullmatch(line) or _was_done_by_you(plain)):
        return COURTESY
    greeted = len(plain) == 1 and len(clause) > 1 and clause[0] in FILLER_WORDS
    if not plain or greeted or _COURTESIES.match(line) or _COURTESIES.match(" ".join(clause)):
        return COURTESY
    if role in ("assistant", "system", "tool") and (_OFFER.match(line) or _is_progress(plain)):
        return OFFER
    standing = _STANDING.search(" ".join(clause)) is not None
    if _TAKES_BACK.fullmatch(line):
        return REQUEST
    tells = standing or tells_besides(plain)
    if _INDIRECT.match(line):
        return STATEMENT if tells else REQUEST
    if _asks(plain, line):
        return STATEMENT if tells_besides(plain) else QUESTION
    return REQUEST if not tells and _requests(plain, line, clause) else STATEMENT


def _is_indirect(clause: Sequence[str]) -> bool:
    return _INDIRECT.match(" ".join(_without_opening(clause))) is not None


def _without_opening(clause: Sequence[str]) -> list[str]:
    """*clause* without the words that only lead to what is said: please, ok, now, then."""
    start = 0
    while start < len(clause) and clause[start] in _OPENERS:
        start += 1
    return list(clause[start:])


_OPENERS = FILLER_WORDS | frozenset(
    listed(
        """and so then now next also first finally just no well actually btw fyi anyway hmm hence
        claude assistant again quickly kindly maybe alternatively instead once more

        und dann jetzt nun also erst zuerst außerdem noch nochmal ach nein nee nö ja naja mal
        kurz"""
    )
)


# Courtesy

_ACKNOWLEDGING = frozenset(
    listed(
        """works worked working looks look fixed solved helped helpful helps understand understood
        got see go ahead continue proceed try next done sense makes clear correct one first second
        third last option better nice keep going do did does good enough solution idea call job
        work finished ready way perfectly fine fast quick lgtm yw np welcome anytime cool thing
        number either other lot bit what want wanted need needed appreciate appreciated everything
        sounds seems course whatever

        passt klappt funktioniert geht läuft weiter verstanden klar ok erledigt fertig besser
        genug sieht aus andere anderen erste zweite dritte letzte option alles gern gerne gefällt
        hilft geholfen stimmt richtig mach hat vielen dank lieben tausend keine ursache moment
        einen schönen tag abend machen hast recht freut moin na toll"""
    )
)
_SMALL_TALK = STOPWORDS | GERMAN_STOPWORDS | FILLER_WORDS | _ACKNOWLEDGING
_LONGEST_COURTESY = 8

_COURTESIES = lazy_pattern(
    r"(?:(?:great|good|excellent) (?:question|point|idea|catch)"
    r"|(?:(?:i|we|many|my) )?(?:apolog|sincere)\w*|(?:thank|thanks)\b(?! to\b)"
    r"|(?:i )?(?:hope|trust) (?:this|that|it|everything|you)\b"
    r"|(?:have|enjoy) (?:a|an|the|your) (?:\w+ )?(?:day|evening|weekend|night|one|morning|trip)\b"
    r"|how (?:are|have) you\b|how('s| is) it going|nice to (?:meet|see)\b|good (?:luck|night)\b"
    r"|you're (?:welcome|right|all set|good to go|absolutely)\b|talk (?:to you )?(?:soon|later"
    r"|tomorrow)"
    r"|see you\b|no (?:problem|worries|rush)|never ?mind|don't worry|take your time"
    r"|that('s| is| was|'ll be) (?:all|it|great|perfect|fine|good|right|helpful|enough|what i)\b"
    r"|that's not what i (?:asked|wanted|meant|had in mind)\b"
    r"|(?:it|that|this) (?:works|worked|helps|helped|fixed|solved|did)\b"
    r"|(?:just |only )?(?:asking|wondering) (?:for a friend|because|bc|cause|cos|cuz|out of)\b"
    r"(?!.{0,60}\b(?:my|our|i|i'm|we)\b)"
    r"|frage? nur\b"
    r"|(?:i'm|i am) (?:sorry|here|glad|ready)\b(?! that| to (?:say|tell))"
    r"|i (?:understand|see|appreciate)\b"
    r"|gute[nrs]? (?:morgen|tag|abend|nacht|frage|idee|reise)\b|vielen dank|gern geschehen"
    r"|schön(?:en|es) (?:tag|abend|wochenende|feierabend)|wie geht('s| es)|viel (?:erfolg|spaß)"
    r"|bis (?:dann|später|morgen|bald)\b|kein problem|ich verstehe\b|entschuldig\w*|tut mir leid"
    r"|ich hoffe (?:das|dass|es)\b|das (?:war's|hat geholfen|klappt|passt|reicht)\b)"
)
"""Beginnings of sentences that are said for politeness, as words in small letters."""


def _is_courtesy(clause: Sequence[str]) -> bool:
    """True when every word only greets, thanks, agrees or points at what was said before."""
    if len(clause) > _LONGEST_COURTESY or not _SMALL_TALK.issuperset(clause):
        return False
    line = " ".join(clause)
    return not _asks(clause, line) and not _is_personal(clause) and not _STANDING.search(line)


def _is_personal(clause: Sequence[str]) -> bool:
    """True for "I want one": the speaker's own state, in words that otherwise only agree."""
    return clause[0] in ("i", "ich") and clause[-1] not in _ACKNOWLEDGING and len(clause) > 3


def _was_done_by_you(plain: Sequence[str]) -> bool:
    """True for "you forgot the last column", not for what "you told me", which is told again."""
    verb = plain[1] if plain[0:1] == ["you"] and plain[1:] else ""
    return verb not in _TOLD_BY and (verb in PAST or verb.endswith("ed"))


_TOLD_BY = frozenset(listed("said told taught mentioned suggested recommended asked"))


_INTERJECTIONS = frozenset(
    listed("hm hmm oops ups whoops ugh sorry lol haha ach aha hä huh argh afk brb gg meh")
)
"""They answer nothing, so that a word or two behind them is no answer either ("sorry, wrong tab").
"""
_SHORT = 3
"""So many words an exclamation has behind its interjection at most."""
_REACTS = lazy_pattern(
    r"(?:(?:that|this|it|das|dies|es)(?:'s| is| was| ist| war| looks?| sounds?| seems?| klingt"
    r"| stimmt| passt)"
    r"|looks?|sounds?|seems?|feels?|klingt|sieht)\b"
)
_OF_AN_ANSWER = lazy_pattern(
    r"(?:that|this|your)(?: \w+)? (?:answer|code|example|explanation|joke|link|list|one|paragraph"
    r"|reply|response|sentence|story|summary|table|text|translation|version)"
    r" (?:is|was|isn't|wasn't|doesn't|didn't|still|looks|sounds)(?: [^\W\d]+){1,4}"
)
"""What somebody says of an answer that was just given."""
_DEGREE = frozenset(
    listed(
        """too very so still not really quite kinda pretty way just a bit little more less much to
        me for now again

        zu sehr so noch nicht echt ganz ziemlich etwas bisschen mir viel immer wieder aus"""
    )
)


def _exclaims(sentence: str) -> bool:
    """True for an interjection with a few words that name, date and count nothing."""
    found = words(sentence)
    if not found or found[0] not in _INTERJECTIONS or len(found) > 1 + _SHORT:
        return False
    named = any(word[:1].isupper() for word in sentence.split()[1:])
    dated = any(word in DAYS or word[0].isdigit() for word in found)
    return not named and not dated and _SUBJECTS.isdisjoint(found) and FINITE.isdisjoint(found)


def _reacts(clause: Sequence[str]) -> bool:
    """True for "that is too long": how what was just said or shown is, and what that is nowhere."""
    plain = _without_opening(clause)
    found = _REACTS.match(" ".join(plain))
    if found is None or any(word[0].isdigit() for word in plain):
        return False
    rest = plain[found.group().count(" ") + 1 :]
    return len([word for word in rest if word not in _DEGREE]) < 2 and not _DEGREE.isdisjoint(rest)


# Questions

_ENGLISH = AUXILIARIES - frozenset(listed("am was will must"))
"""Those that are no German words."""
_ASKING = frozenset(listed("what which who whom whose why how where when"))
_ASKING_GERMAN = frozenset(
    listed(
        """was wer wen wem wie wo wann warum wieso weshalb welche welcher welches welchen welchem
        woher wohin wofür womit wodurch worum woran wozu wieviel"""
    )
)
_NEVER_FIRST = frozenset(listed("is are does isn't aren't doesn't ist"))
"""With them begins no statement whose subject is left out, which is "I"."""
_ADDRESSED = frozenset(
    listed(
        """i you u we he she they it there this that these those the a an my our your his her their
        anyone anybody someone anything"""
    )
)
_INVERTED_GERMAN = lazy_pattern(
    r"(?:kann|kannst|könnte|könntest|hast|habe|hat|ist|sind|gibt|soll|sollte|sollen|darf|willst"
    r"|würdest|magst|weißt|bist|wird|wirst|muss|musst|stimmt|geht|klingt|wirkt|passt|liest|bedeutet"
    r"|reicht|fehlt|brauche|brauchen) "
    r"(?:ich|du|er|sie|es|wir|ihr|man|das|der|die|mein\w*|dein\w*|unser\w*|ein\w*)\b"
)
_INDIRECT = lazy_pattern(
    r"(?:(?:can|could|would|will) (?:you|u|ya)|would you mind|(?:kannst|könntest|würdest) du"
    r"|(?:können|könnten|würden) sie)\b(?! like| want| rather| prefer| recommend| say| agree)"
)
"""A request in the form of a question."""
_WONDERS = lazy_pattern(
    r"(?:(?:i|we) (?:wonder|wondered|was wondering|am wondering|would like to know|want to know"
    r"|need to know|have a (?:quick )?question)|i'm (?:wondering|curious|not sure (?:how|what|why"
    r"|which|whether|if))|i'd like to know|any (?:idea|ideas|thoughts|suggestions|chance|tips"
    r"|way)\b|quick question|what about|how about|(?:i )?(?:do not|don't) (?:know|understand)"
    r" (?:how|what|why|which|where|when|whether|if)"
    r"|ich (?:frage mich|wüsste gern\w*|würde gern\w* wissen|möchte wissen|will wissen"
    r"|habe eine frage|verstehe nicht)|irgendeine idee|weiß jemand)\b"
)


def _asks(clause: Sequence[str], line: str) -> bool:
    """True for a question by its words, with or without its mark."""
    if _WONDERS.match(line):
        return True
    first, second = clause[0], clause[1] if len(clause) > 1 else ""
    if first == "who" and (second in PAST or second in WENT or second.endswith("ed")):
        return True
    if first in _ASKING:
        inverted = second in AUXILIARIES or second in ("much", "many", "long", "often", "far")
        narrow = first in ("which", "why", "whose") and second not in ("is", "was", "means")
        return inverted or (narrow and second not in ("i", "we", "my", "our"))
    if first in ("what's", "who's", "where's", "how's", "why's"):
        return True
    if first in AUXILIARIES and second in _ADDRESSED:
        return True
    if first in _NEVER_FIRST and len(clause) > 2 and second not in NO_SUBJECT:
        return True
    if first in ("can", "could", "do", "should") and second.endswith("s") and clause[3:]:
        return True  # "can dogs eat carrots"
    if first == "sind" and "oder" in clause:
        return True
    if first in _ASKING_GERMAN:
        if second in _ENGLISH or second in PAST or second.endswith("ed"):
            return False  # "Wen took over" is about somebody of that name
        return second not in ("ich", "wir", "gesagt", "besprochen", "immer", "mich", "uns", "man")
    return _INVERTED_GERMAN.match(line) is not None


def is_tag(clause: Sequence[str]) -> bool:
    """True for the end of "zebras have stripes, don't they?"."""
    if not 0 < len(clause) <= 3:
        return False
    pronoun = any(word in ("it", "he", "she", "they", "we", "you", "i") for word in clause)
    return (clause[0] in AUXILIARIES and pronoun) or " ".join(clause) in (
        *("right", "okay", "ok", "no", "yes", "you know", "correct"),
        *("oder", "nicht wahr", "oder nicht", "gell", "stimmt's", "ne"),
    )


_SUBJECTS = frozenset(
    listed(
        """i we he she they my our his her their i'm i've i'd we're we've we'd he's she's they're
        they've ich wir er mein meine meinen meinem meiner unser unsere unseren unserem unserer
        seine ihre"""
    )
)


def _declares(clause: Sequence[str]) -> bool:
    """True when *clause*, a part of a sentence, has a subject and a finite verb of its own."""
    plain = _without_opening(clause)
    if plain[0:1] and plain[0] in _REASONS:
        named = plain[1:2] != [] and plain[1] not in _IT and _is_finite(plain, 2)
        return named or (plain[1:2] != [] and plain[1] in _SUBJECTS)
    if _gives_a_figure(plain):
        return True
    if len(plain) < 3 or plain[0] in NO_SUBJECT or plain[0] in AUXILIARIES:
        return plain[:1] != [] and plain[0] in _ARTICLES and _is_finite(plain, 2)
    return plain[0] in _SUBJECTS or plain[1] in PAST or _is_finite(plain, 1)


def _gives_a_figure(plain: Sequence[str]) -> bool:
    """True for "it needs Java 21" and "the gateway kills it after 12"."""
    verb = 2 if plain[:1] and plain[0] in _ARTICLES else 1
    if plain[:1] not in (["it"], ["she"], ["he"]) and verb == 1:
        return False
    does = len(plain) > verb + 1 and plain[verb].endswith("s") and len(plain[verb]) > 3
    return does and any(word[0].isdigit() for word in plain[verb + 1 :])


_IT = frozenset(listed("it this that there these those es das dies"))
_REASONS = frozenset(listed("because bc cause cuz cos weil denn"))
_ARTICLES = ("the", "der", "die", "das")
_SAME = ("set", "put", "cut", "let", "cost")
"""Verbs whose past form is the bare one."""


def _is_finite(plain: Sequence[str], start: int) -> bool:
    """True for a finite verb from the place *start* on; "attached" behind "the" is none."""
    for place in range(start, len(plain)):
        word, before = plain[place], plain[place - 1]
        if word in FINITE or word in WENT:
            return True
        if place == 2 and plain[0] in _ARTICLES and (word in PAST or word in _SAME):
            return True
        if place == 2 and plain[0] in _ARTICLES[1:] and word.endswith("t") and len(word) > 3:
            return True  # "der Kurs fängt ... an"
        after = plain[place + 1] if place + 1 < len(plain) else ""
        weak = word.endswith("ed") and len(word) > 4 and not before.endswith("ly")
        german = word.endswith(("te", "ten")) and len(word) > 5 and after in OBJECTS
        if (weak or german) and before not in OBJECTS:
            return True
    return False


# Requests

_STANDING = lazy_pattern(
    r"\b(?:always|never|whenever|every time|each time|from now on|by default|going forward"
    r"|in (?:the )?future|henceforth|as a rule|in general|until further notice|at all times"
    r"|for (?:every|all|each|any) (?:new )?\w+s?\b.{0,30}\b(?:use|write|run|add)|remember\b"
    r"|remind me|keep in mind|bear in mind|note that|please note|make sure|call me|i prefer"
    r"|(?:follow|obey|apply|respect|observe|stick to|use|adopt)\b.{0,40}\b(?:rules?|guidelines?"
    r"|conventions?|preferences?|style)|(?:my|our|house) (?:rules?|conventions?|preferences?)"
    r"|(?:befolge|halte? dich an|beachte|nutze)\b.{0,40}\b(?:regeln?|vorgaben|konventionen)"
    r"|stop \w+ing\b|(?:don't|do not) (?:ever|forget)|unless i|without asking"
    r"|that's (?:how|the way) (?:i|we)\b|(?:write|note|put|jot) (?:this |that |it )?down\b"
    r"|immer|nie|niemals|jedes mal|ab (?:jetzt|sofort|heute)|von nun an|künftig|grundsätzlich"
    r"|in zukunft|standardmäßig|merk dir|merke dir|vergiss nicht|denk(?:e)? daran|erinner\w* mich"
    r"|(?:nenn|duz|siez)\w* mich|beachte|generell|solange|stets)\b"
)
_REQUESTS = lazy_pattern(
    r"(?:(?:i|we)(?:'d| would)? (?:need|want|like) (?:you|us) to\b|i(?:'d| would) like (?:a|an|the"
    r"|some|to see)\b|(?:i|we) need (?:some )?help\b|help (?:me|us)\b|i want to (?:see"
    r"|have a look)\b"
    r"|your task\b|let's (?!go with|use|stick|keep|call|meet|agree|plan|say|not)\w+|let me see\b"
    r"|go (?:ahead|on|back|through|with (?:it|that|this))\b|one more (?:time|thing)\b"
    r"|(?:the )?same (?:for|thing|again|with)\b|time to\b|(?:a |some )?(?:more|another|fewer"
    r"|less)\b"
    r"|(?:shorter|longer|simpler|faster|again|stop|undo|redo|continue|retry|next|more|help|commit"
    r"|deploy|push|run|back|abort|cancel|skip|wait|hold on|proceed|approve|approved|accept)$"
    r"|(?:ich (?:will|möchte|brauche), dass du|ich (?:brauche|bräuchte) hilfe|hilf mir|du (?:kannst"
    r"|sollst|solltest|darfst) (?!immer|nie|nicht)|lass (?:uns|mich)\b|das gleiche|dasselbe"
    r"|noch ?mal|noch ein\w*|weiter|zurück|kürzer|einfacher|abbrechen|stopp))"
)
_TOLD = lazy_pattern(
    r"(?:you (?:can|may|could|should)|you (?:need|have) to) (?:now |also |just )?(?=\w)"
)


def _requests(plain: Sequence[str], line: str, clause: Sequence[str]) -> bool:
    """True for a one-off command: an imperative in front, or a request in other words."""
    if _REQUESTS.match(line):
        return True
    if (told := _TOLD.match(line)) is not None:
        rest = plain[told.group().count(" ") :]
        return is_imperative(rest) and rest[1:2] not in (["me"], ["us"])
    if plain[0] in ("don't", "not") or line.startswith("do not "):
        return plain[-1] == "this" or not _NOT_YET.isdisjoint(plain[1:])
    if _is_german_infinitive(plain, clause) or _is_bare_wish(plain, clause):
        return True
    return is_imperative(plain)


_NOT_YET = frozenset(("that", "it", "yet", "now", "again"))


def _is_bare_wish(plain: Sequence[str], clause: Sequence[str]) -> bool:
    """True for "the German version please": something asked for at once, without a verb."""
    asks = not _ASKING_FOR.isdisjoint(clause) and plain[0] not in ("no", "kein", "keine", "keinen")
    if is_manner(plain):
        return False  # "please use bullet points in reports"
    return asks and len(plain) <= _BARE_WORDS and not _declares(plain)


_ASKING_FOR = frozenset(("please", "pls", "bitte"))
_BARE_WORDS = 6


def _is_german_infinitive(plain: Sequence[str], clause: Sequence[str]) -> bool:
    """True for "bitte den Server neu starten"."""
    if not plain or plain[0] in _SUBJECTS or not plain[-1].endswith(("en", "ern", "eln")):
        return False
    return "bitte" in clause[:2] or ("neu" in plain and len(plain) <= 4)


_DEFINES = lazy_pattern(r"[\w.-]{1,30}(?: [\w.-]{1,30}){0,3} (?:=|:=) \S")
"""A name, an equals sign and what it stands for."""


# Offers

_GOING_ON = lazy_pattern(r"(?:i'm|i am) (?:(?:now|just|still|currently) )?\w+ing ")


def _is_progress(plain: Sequence[str]) -> bool:
    """True for what the speaker does at this moment to something at hand."""
    found = _GOING_ON.match(" ".join(plain))
    if found is None:
        return False
    rest = plain[found.group().count(" ") :]
    return rest[0] in (*AT_HAND, "your") and FINITE.isdisjoint(rest)


_OFFER = lazy_pattern(
    r"(?:let me\b|let us\b|let's\b|feel free\b|(?:i'd|i would|i'm|i am|we'd"
    r"|we're)? ?(?:be )?(?:more"
    r" than )?(?:happy|glad|delighted|here) to\b|would you\b|do you (?:want|need|have)\b"
    r"|(?:shall|should|may|can|could) (?:i|we|you)\b|if you(?:'d|'re| would| want| like| need"
    r"| have| prefer| run| could| can)\b|(?:is there )?anything else\b|don't hesitate"
    r"|just (?:ask|let"
    r"|say|tell)\b|(?:i'll|i will|we'll|i'm going to|i am going to|i'm about to|i'm now|now i"
    r"|next i)\b|i can (?:also |now |certainly |definitely )?(?:help|do|try|look|show|explain"
    r"|give|provide|write|make|add|run|create|walk)\b|(?:i|we) (?:need|want) to (?:see|check|look"
    r"|read|know|understand)\b|(?:looking|checking|running|reading|searching|working|starting"
    r"|thinking|opening) (?:at|into|for|the|on|through|with|by|now|it|that|this|your)\b"
    r"|i (?:don't|do not|can't|cannot) (?:have|see|access|browse|find|open|know|remember|recall)\b"
    r"|(?:please )?(?:share|provide|paste|send|tell|give|upload)\b|here(?:'s| is| are)\b"
    r"|as an ai\b|i'm just\b|i've (?:noted|got it|made a note)|noted\b|understood\b"
    r"|what (?:would|do|can|should)\b|which (?:one|of)\b|ready (?:when|to)\b|one moment\b"
    r"|lass mich\b|sag(?:en)? (?:mir|sie)? ?(?:einfach )?bescheid|melde dich|(?:ich|wir) (?:schaue"
    r"|werde|kümmere|prüfe|sehe|starte|lese|öffne|mache|helfe|fange|beginne|kann|könnte|erstelle"
    r"|führe|suche|versuche|überprüfe|gehe|freue)\b|möchtest du|möchten sie|soll(?:en)? (?:ich|wir)"
    r"|kann ich|kannst du|könntest du|brauchst du|willst du|falls du|wenn du (?:noch|magst|willst"
    r"|möchtest|fragen)|einen moment|hier (?:ist|sind)\b|stets zu diensten|frag(?:e)? (?:einfach"
    r"|gern))"
)
