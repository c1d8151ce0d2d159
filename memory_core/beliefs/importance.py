"""How much a new memory matters: the protocol of a scorer, and the rules that implement it."""

from __future__ import annotations

import re
from typing import Protocol

from memory_core.beliefs import quoted, wishes
from memory_core.beliefs.speech_acts import REQUEST, act
from memory_core.records import MemoryRecord
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.words import FILLER_WORDS, STOPWORDS, count_words, words

NOVEL = 0.75
"""Importance of something plain that nothing in the store is like."""

BANDS = (("high", 0.7 - 1e-6), ("medium", 0.4 - 1e-6), ("low", 0.0))
"""Names of importance, each from its value on; a float32 may be a little below."""


class ImportanceScorer(Protocol):
    """Judges importance during a write, so at once and without a model.

    A model that was chosen judges later, in the background (enrichment).
    """

    def importance(self, memory: MemoryRecord, nearest: float | None, related: float) -> float:
        """The importance, 0-1, of a *memory* whose own importance is that of its wording alone.

        *nearest* is the cosine of the nearest memory that the writer may read, -1 where there is
        none, None without a model; *related* is the calibrated cosine of two texts about the same
        thing. Not called where the caller gives an importance.
        """
        ...


class Rules:
    """The wording (`salience`) decides; plain text that nothing in the store is like is novel."""

    def importance(self, memory: MemoryRecord, nearest: float | None, related: float) -> float:
        """See ImportanceScorer."""
        new = nearest is not None and nearest < related
        return NOVEL if new and memory.importance == NORMAL else memory.importance


CORRECTION, INSTRUCTION = 1.0, 1.0
DECISION, NORMAL, FILLER = 0.85, 0.5, 0.15

_OPEN = (
    r"(?:^|[.!?:\n]\s{0,3}|\b(?:please|pls|ok|okay|hey|you should|you must|bitte),?\s"
    r"|^(?:in|for|on|with) (?:[\w./-]{1,30} ){1,4}?[\w./-]{1,30}[,:] "
    r"|\b(?:and|so|but|also),?\s(?=remember|don['’]?t|do not))"
)

_BEFEHL = (
    r"(?:(?:antwort|schreib|benutz|nutz|verwend|red|zeig|frag|lösch|lass|mach|sag|halt|erklär|füg"
    r"|änder|formatier|wähl|prüf|test|schick|erwähn|vermeid|behandl|rechn|führ|setz|start|bestätig"
    r"|wart|kürz|übersetz|acht|beginn|stell|ruf|meld|speicher|sicher|begründ|kommentier|installier"
    r"|hol|buch|leg|zitier|ignorier|committ|push|deploy|merg|pack|räum|schließ|öffn|beantwort)e?"
    r"|sprich|gib|nimm|lies|sieh|hilf)"
)
"""German imperatives of what an assistant does; a noun may stand in front of "immer" as well."""


def _rule(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.IGNORECASE)


_CORRECTION = _rule(
    r"(?:^|[.!?\n]\s{0,3})(?:no|nope|nah|sorry|oops|wait)[,.!]?\s(?:it['’]s|it is|that['’]s"
    r"|i meant|i mean|not "
    r"|the correct|my bad|actually)"
    r"|\b(?:sorry,? )?i meant\b|\bthat(?:['’]s| is| was) (?:wrong|incorrect|not right|not true"
    r"|not correct|false"
    r"|outdated|not what i)\b|\bcorrection:|\byou(?:['’]re| are| were) (?:wrong|mistaken)\b"
    r"|\bactually,? (?:it['’]?s|it is|it was|no\b|not\b|that['’]s|my name|his name|her name"
    r"|the (?:right|correct)"
    r"|we (?:use|moved|switched|changed)|i (?:meant|live|work|moved))"
    r"|\bscratch that\b|\bi (?:was wrong|misspoke|made a mistake|got (?:that|it) wrong"
    r"|misremembered)\b"
    r"|\b(?:let me correct|i need to correct|to correct myself|i stand corrected)\b"
    r"|\b(?:nein, ich meinte|das stimmt nicht|das ist falsch|korrektur:|eigentlich ist es"
    r"|ich meinte)\b"
)
_NOT_THAT_BUT_THIS = _rule(
    r"\b(?:it['’]?s|is|was|are|be|on|at|named|called) [^.!?,\n]{1,40}, not (?!only|just|sure"
    r"|that|to )(?![^.!?,\n]{1,40} yet\b)\w"
)
_INSTRUCTION = _rule(
    _OPEN + r"(?:remember(?: that|:|,| to| this| my| i\b| we\b| the)|don['’]?t (?:ever |you dare )?"
    r"(?:forget|use|call|tell|send|share|delete|remove|commit|push|deploy|mention|suggest|add|change|touch|ask|assume"
    r"|show|say|write|run|put"
    r"|include|merge|give|schedule|book)\b|do not \w|never (?!mind|been|had|seen|heard|again"
    r"|thought|knew|really|ever"
    r"|have|a\b|in my|\w{2,20}ed\b)[a-z]{2,20}\b|always (?!been|had|\w{2,20}ed\b|a\b|so\b|nice"
    r"|great|good|fun|the\b"
    r"|love|loved|glad|happy)[a-z]{2,20}\b|call me \w|stop \w{2,20}ing\b|use \w{1,30} (?:instead"
    r"|from now)|make sure\b"
    r"|keep in mind|note that\b|bear in mind)"
    r"|\bfor future reference\b|\bfor the record\b"
    r"|\bin (?:the )?future,? (?:please|always"
    r"|never|use|don['’]?t)\b|\bplease (?:remember|note|always|never|do not|don['’]?t|keep"
    r"|make sure|call me|stop)\b"
    r"|\b(?:can|could|would|will) you (?:please )?remember\b|\b(?:want|need"
    r"|like) you to (?:remember|always|never)\b"
    r"|\byou (?:should|must) (?:always|never|remember)\b"
    r"|\b(?:merk dir|merke dir|vergiss nicht|denk daran)\b"
    rf"|{_OPEN}(?:bitte )?{_BEFEHL} (?!du\b|ich\b|er\b|sie\b|wir\b)[^.!?\n]{{0,80}}?"
    r"\b(?:immer|nie|niemals|stets|grundsätzlich|nie(?:mals)? (?:wieder|mehr)|in zukunft|künftig)\b"
    rf"|{_OPEN}(?:bitte )?(?:nenn|nenne) mich \w"
)
_FROM_NOW_ON = _rule(r"\b(?:from now on|going forward,|ab (?:jetzt|sofort)|von nun an)[,:]?")
_ADDRESSED = _rule(r"\b(?:please|pls|bitte|you|your|yours|du|dich|dir|dein\w*)\b")
_SO_IT_IS = _rule(
    r"^\W*(?:the|an?|my|our|his|her|their|der|die|das|mein\w*|unser\w*|seine?|ihre?) "
    r"|\b(?:he|she|it|they|er|sie|es|is|are|was|were|has|had|gets|ist|sind|hat|haben|wird|werden"
    r"|gilt|gelten|kommt|kommen)\b"
)
"""In a sentence about what begins now: it tells how something is, and asks nothing of anybody."""
_DECISION = _rule(
    r"\b(?:(?:we|i|they|he|she|team)(?:['’]ve| have| has)? (?:all )?(?:decided|agreed|chose"
    r"|chosen|picked|settled|opted)"
    r"\b|let['’]s go with|(?:we|i)(?:['’]ll| will|['’]re|['’]m| are| am) (?:go(?:ing)? with"
    r"|choos|pick)|decision (?:is|was|made)"
    r"|final decision|made up my mind|settled on|opted for|the plan is|signed off|got approved"
    r"|was approved|is approved"
    r"|(?:wir haben|ich habe) [^.!?\n]{0,60}(?:entschieden|beschlossen))"
)
_RULE = _rule(
    r"\b(?:must (?:not|never|always|only)\b|must be (?:\w{2,20}ed|done|sent|kept|written|paid"
    r"|run|under|at least|signed)\b"
    r"|must (?!have\b|be\b|feel\b|seem\b|say\b|admit\b|of\b|see\b|miss\b|know\b"
    r"|love\b)[a-z]{3,20}\b"
    r"|(?:is|are|not) (?:allowed|permitted|forbidden|mandatory|required|prohibited)|policy (?:is"
    r"|says|requires)"
    r"|the rule is|rule:|our (?:policy|rule|convention)|has to be|have to be \w{2,20}ed"
    r"|required to|at most \d|no more than \d"
    r"|is allergic to|i['’]?m allergic|allergic to|muss(?:en)? \w{3,20}|darf nicht)\b"
)
_WHEN_DUE = (
    r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|noon|midnight|eod"
    r"|eow|end of|next|the end|january|february|march|april|june|july|august|september|october"
    r"|november|december|may \d|\d{1,2}(?:st|nd|rd|th|:|\s?[ap]m)|\d{4}-\d\d)"
)
_DEADLINE = _rule(
    rf"\b(?:deadline|due (?:by|on|date|in|tomorrow|today|next|this|{_WHEN_DUE})|no later than"
    rf"|expires?|by {_WHEN_DUE}"
    r"|submit(?:ted)? by|fällig|abgabe|frist)\b"
)
_TECHNICAL_VERB = _rule(
    r"\b(?:use[sd]?|using|run(?:s|ning)?|migrat\w{2,6}|switch(?:ed|ing)?|deploy\w{0,4}|built"
    r"|host(?:s|ed|ing)?|stor(?:e|es|ed|ing)"
    r"|configur\w{1,6}|listens?|set to|bump(?:ed)?|upgrad\w{1,4}|pinned|replaced?|install(?:ed)?"
    r"|implement(?:ed)?|is on|points? (?:to|at)"
    r"|moved to|default(?:s)? to|version)\b"
)
_TECHNICAL_NOUN = _rule(
    r"\b(?:database|postgres(?:ql)?|mysql|sqlite|mongodb|redis|kafka|docker|kubernetes|k8s"
    r"|terraform|aws|gcp|azure|api|endpoint|port|schema"
    r"|framework|library|backend|frontend|server|cluster|branch|repo(?:sitory)?|python|rust"
    r"|golang|java|typescript|javascript|react|django"
    r"|fastapi|flask|node(?:\.js)?|linux|ubuntu|nginx|cache|queue|embedding|vector|faiss|lancedb"
    r"|llm|token|ci|pipeline|config(?:uration)?"
    r"|timeout|index|migration|oauth|jwt|graphql|grpc|webhook|sdk|compiler|gpu|cpu)\b"
)
_FILLER = _rule(
    r"(?:how (?:are|have) you(?: been)?(?: doing)?|how['’]?s it going|what['’]?s up"
    r"|(?:it['’]?s )?(?:good|great|nice|lovely) to (?:see|hear from|meet) you"
    r"|long time no (?:see|talk|chat)|sounds? (?:good|great|fun|awesome|nice|like a plan)"
    r"|no (?:problem|worries)|take care|talk (?:to you )?(?:soon|later)"
    r"|see (?:you|ya)(?: (?:soon|later|then|tomorrow))?|have a (?:good|great|nice|lovely) (?:one"
    r"|day|time|evening|night|weekend)|you too|same here|my pleasure|you['’]?re welcome"
    r"|got it|i see|makes sense|will do|of course|for sure|me too|that['’]?s (?:great|awesome"
    r"|cool|nice|amazing|wonderful|good)(?: to hear)?"
    r"|(?:thank you|thanks)(?: so much| a lot| again| very much)?|so much|my dear"
    r"|wie geht['’]?s(?: dir)?|guten (?:morgen|tag|abend)|gute nacht)"
)


def salience(text: str, role: str = "") -> tuple[float, str]:
    """How important *text* is by its wording, and the name of the rule that says so.

    correction and instruction 1.0; decision, rule, deadline, technical 0.85; normal 0.5; filler
    0.15. What an assistant or a tool says, or a user quotes or pastes, corrects and instructs
    nobody. Novelty is the caller's to judge.
    """
    head = text[:MOST_CHARS]
    own = quoted.own_words(text)[:MOST_CHARS] if role in quoted.SPEAKING else ""
    if _corrects(own):
        return CORRECTION, "correction"
    if _instructs(own):
        return INSTRUCTION, "instruction"
    if _is_filler(text):
        return FILLER, "filler"
    asks = head.rstrip().endswith("?")
    for name, pattern in (("decision", _DECISION), ("rule", _RULE), ("deadline", _DEADLINE)):
        if not asks and pattern.search(head):
            return DECISION, name
    if not asks and _TECHNICAL_VERB.search(head) and _TECHNICAL_NOUN.search(head):
        return DECISION, "technical"
    return NORMAL, "normal"


def instructing(text: str) -> str:
    """The sentences of *text* that say how an assistant is to work; "" for none."""
    found = (each for each in sentences(text[:MOST_CHARS]) if _instructs(each))
    return " ".join(found)


MOST_CHARS = 2_000
"""Of a text that is judged: a rule that matters stands early, and long pastes stay cheap."""

DIRECTIVE_WORDS = 40
"""A longer sentence is a story or a specification, and no standing wish."""


def _instructs(text: str) -> bool:
    return any(
        count_words(sentence) <= DIRECTIVE_WORDS
        and (
            _INSTRUCTION.search(sentence) or wishes.is_wish(sentence) or _asks_from_now_on(sentence)
        )
        for sentence in sentences(text)
    )


def _asks_from_now_on(sentence: str) -> bool:
    """True for "from now on, use tabs"; not for "from now on the vet is Dr Lind"."""
    rest = _FROM_NOW_ON.sub(" ", sentence)
    if rest == sentence:
        return False
    if _ADDRESSED.search(rest) or act(rest) == REQUEST:
        return True
    return not _SO_IT_IS.search(rest)


def _corrects(text: str) -> bool:
    if _CORRECTION.search(text):
        return True
    return ", not " in text and _NOT_THAT_BUT_THIS.search(text) is not None


def _is_filler(text: str) -> bool:
    """True for greetings, thanks, assent and laughter, also with one name they are addressed to."""
    if len(text) > 120 or any(char.isdigit() for char in text):
        return False
    left = [word for word in words(_FILLER.sub(" ", text)) if word not in FILLER_WORDS]
    if not left:
        return True
    addressed = left[0] not in STOPWORDS and left[0].capitalize() in text
    return len(left) == 1 and addressed and len(words(text)) > 1
