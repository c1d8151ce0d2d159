"""What a request or a question is about: the text beside it, which is not its speaker's.

Found by form: behind a colon, a dash, dots, a line break or the question itself, behind a label of
whose text it is, or before "a friend wrote me that". English and German; linear in the length.
"""

from __future__ import annotations

import itertools
import re

from memory_core.beliefs import speech_acts
from memory_core.beliefs.imperatives import OBJECTS
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences

_TEXT = (
    r"(?:e-?mails?|mails?|messages?|letters?|articles?|(?:web ?)?(?:page|site)s?|texts?|paragraphs?"
    r"|passages?|stor(?:y|ies)|tales?|poems?|chapters?|scenes?|novels?|scripts?|logs?|outputs?"
    r"|traces?"
    r"|diffs?|patch|snippets?|functions?|fixtures?|transcripts?|chats?|conversations?|threads?"
    r"|posts?"
    r"|tweets?|reviews?|comments?|readme|newsletters?|announcements?|press release|essays?|drafts?"
    r"|sentences?|phrases?|quotes?|quotations?|lyrics|songs?|jokes?|reports?|tickets?|blogs?"
    r"|captions?"
    r"|json|yaml|html|xml|csv|examples?|samples?|excerpts?|templates?|prompts?|documents?"
    r"|documentation"
    r"|manual|handbook|guide(?:line)?s?|instructions|polic(?:y|ies)|leaflet|brochure|advert\w*"
    r"|website"
    r"|wiki|faq|docs|spam|ads?|homework|profile|grammar|spelling|wording|memo|minutes|notice|recipe|spec(?:ification)?|anleitung|handbuch|prospekt"
    r"|dialog(?:ue)?s?|speech|bio|cover letter|statement|description|test data|dummy data|code"
    r"|nachricht(?:en)?|brief\w?|artikel\w?|seite\w?|text(?:e|es)?|absatz|geschichte\w?|gedichte?"
    r"|kapitel|protokoll\w*|verlauf|gespräch\w*|beitrag|kommentar\w*|entwurf|satz|sätze"
    r"|zitat\w*|lied"
    r"|beispiel\w*|auszug|vorlage|dokument\w*|rezension|meldung\w*|anzeige|rede)"
)
_REWORKS = (
    r"(?:summari[sz]e|sum up|tl;?dr|translate|proof-?read|paraphrase|rewrite|rephrase|reword"
    r"|critique"
    r"|continue|polish|shorten|simplify|condense|transcribe|spell-?check|correct|edit|improve"
    r"|(?:draft|write|compose|suggest)(?: me)? (?:a|an|the|my)? ?(?:\w+ ){0,2}(?:reply|response"
    r"|answer)|reply|respond|answer (?:this|the|to)"
    r"|fasse?n?\b.{0,60}\bzusammen|zusammenfass\w*|übersetz\w*|korrigier\w*|korrekturles\w*"
    r"|lies\b.{0,20}\bkorrektur|schreib\w*\b.{0,60}\bum|umschreib\w*|umformulier\w*|formulier\w*"
    r"|setz\w*\b.{0,40}\bfort|fortsetz\w*|kürz\w*|vereinfach\w*|antworte?|beantworte?"
    r"|(?:make|turn|put|get) (?:this|that|it)(?: text| one)? (?:sound|read|into|more|less|\w+er)"
    r"|mach\w* (?:das|es|dies\w{0,2}) (?:mal |bitte )?\w+er)"
)
"""What is asked to be done with a text, which is then no statement of who asks."""

REWORKING = lazy_pattern(rf"(?:^|\W){_REWORKS}(?:\W|$)", re.IGNORECASE)
_REWORKING_FIRST = lazy_pattern(
    rf"\W*(?:please |pls |bitte |now |ok,? ?)?{_REWORKS}\b", re.IGNORECASE
)
_NAMES_TEXT = lazy_pattern(rf"\b{_TEXT}\b", re.IGNORECASE)
_POINTS = lazy_pattern(
    r"\b(?:this|these|below|following|attached|above|dies\w{0,2}|folgend\w*|unten)\b", re.IGNORECASE
)
_POINTS_BACK = lazy_pattern(
    rf"\b(?:(?:this|that|the|these|above|dies\w{{0,2}}|der|die|das|den) (?:\w+ ){{0,2}}{_TEXT}"
    rf"|(?:the )?above|{_REWORKS} (?:this|that|it|das|dies\w{{0,2}}|es))\b",
    re.IGNORECASE,
)
_JUDGES = lazy_pattern(
    r"(?<!why )(?<!how )\b(?:is|are|was|does|do|would|ist|sind|war|klingt|wirkt|liest sich|heißt"
    r"|bedeutet|stimmt) (?:this|these|the following|das|dies\w{0,2}|folgend\w*)\b",
    re.IGNORECASE,
)
"""A question whether a text is polite, true or spam."""
_BROUGHT = lazy_pattern(
    rf"\b(?:(?:here(?:'s| is| are| comes?)|this is|below is|got|received|see|from|according to|hier"
    rf" (?:ist|sind|kommt)|das ist|bekommen|laut)\b[^\n]{{0,100}}?\b{_TEXT}"
    rf"|(?:got|received|sent|forwarded|shared|posted|copied|pasted|found|saw|read|wrote|bekommen"
    rf"|gefunden"
    rf"|gelesen|gesehen|geschrieben|geschickt|weitergeleitet|gepostet"
    rf"|kopiert)\b[^\n]{{0,100}}?\b(?:{_TEXT}|this|following"
    rf"|dies\w{{0,2}}|folgend\w*)|for example|e\.g|zum beispiel|z\.b)\b",
    re.IGNORECASE,
)
_OF_ONES_OWN = lazy_pattern(
    r"^\W*(?:as |like |wie )?(?:i|we|ich|wir)\b[^,]*\b(?:said|say|told|wrote|mentioned|sagte"
    r"|gesagt)"
    r"|\b(?:my|our|meine?|unsere?) (?:\w+ )?(?:e-?mail|mail|site|page|blog|seite)(?: address)?"
    r"(?: is| ist)?$",
    re.IGNORECASE,
)
_SAYS = lazy_pattern(
    r"\b(?:says?|said|states?|stated|reads?|wrote|writes|claims?|claimed|told (?:me|you|us)|replied"
    r"|answered|asked|goes|sagt|sagte|schreibt|schrieb|meint|meinte|antwortete|behauptet|lautet"
    r"|(?:hier|da|dort|darin|es) steht|steht(?= (?:hier|da|dort|darin)$))"
    r"(?: (?:here|there|me|that|this|like|earlier|before|hier|da|dort|mir|uns|darin))*$",
    re.IGNORECASE,
)
_HEADING = lazy_pattern(
    r"\W*(?:(?:an?|the|my|this|ein\w*|die|der|das|mein\w*) )?(?:\w+ ){0,2}(?:e-?mail|mail|message"
    r"|letter|article|(?:web ?)?page|chat|transcript|thread|stor(?:y|ies)|poem|chapter|newsletter"
    r"|excerpt|quot(?:e|ation)|lyrics|readme|snippet|diff|log|example|sample|fixture|dialogue|post"
    r"|tweet|joke|test (?:data|case|input)|input|output|prompt|lorem ipsum|summary|translation"
    r"|grammar|spelling|sentiment|tone|eli5|tl;?dr|rephrasing|scenario|role-?play"
    r"|beispiel\w*|auszug|zitat|testdaten|eingabe|ausgabe|nachricht|brief|artikel|geschichte"
    r"|gedicht"
    r"|zusammenfassung|übersetzung|lektorat|grammatik|rechtschreibung)(?: [\w.'’-]+){0,5}\W*$"
    r"|\W*(?:(?:now |and )?(?:in|into|to|auf|ins|nach) )(?:\w+ )?(?:english|german|french|spanish"
    r"|italian|portuguese|dutch|polish|japanese|chinese|latin|englisch\w*|deutsch\w*|französisch\w*"
    r"|spanisch\w*|italienisch\w*|latein\w*)\W*$",
    re.IGNORECASE,
)
"""A few words before a colon that name a text or what is to be done with it, and no fact."""

_OF_A_THING = lazy_pattern(r"\b(?:of|for|from|about|von|vom|der|zum|zur|aus)\b", re.IGNORECASE)

_HEADERS_INLINE = lazy_pattern(
    r"\b(?:From|Von): ?[^\n]{1,200}?\b(?:Subject|Betreff):", re.IGNORECASE
)
_LEAD_CHARS, REQUEST_CHARS = 200, 400
"""Of what stands before a colon; longest paragraph that is read as a request."""


def before_content(line: str, beginning: str) -> str:
    """*line* up to the mark behind which it holds somebody else's words.

    *beginning* is that of the text that *line* is from.
    """
    headed = _HEADERS_INLINE.search(line)
    cut = headed.start() if headed else len(line)
    for found in itertools.islice(_MARK.finditer(line, 0, min(cut, MARKS_CHARS)), _MARKS):
        following, mark = line[found.end() : found.end() + 20].strip(), found.group().strip()
        if following[:1] in _OPENING_MARKS:
            continue  # the quotation marks tell how far it goes
        lead = _lead(line, found.start())
        if not following or not lead:
            continue
        if mark == ":":
            if _introduces(lead):
                return line[: found.start()]
        elif _is_about(lead, mark, begins=beginning.startswith(lead)) or (
            is_source(lead) and _wants(beginning.replace(lead, "\n", 1))
        ):
            return line[: found.start() + mark.startswith("?")]
    return line[: _reworked_from(line[:cut])]


def _reworked_from(line: str) -> int:
    """Where the text starts that the first sentences of *line* ask to rework; else its length."""
    for found in itertools.islice(_LAST_SENTENCE.finditer(line, 0, REQUEST_CHARS), _MARKS):
        asked = _lead(line, found.start() + 1)
        about = _NAMES_TEXT.search(asked) or _POINTS.search(asked)
        if about and REWORKING.search(asked) and _asks(asked, speech_acts.REQUEST):
            return found.end()
    return len(line)


_OPENING_MARKS = tuple('"“„«')
_MARK = lazy_pattern(r":(?=\s|[\"“„«])|\s(?:-{1,3}|[–—]|\|{1,2}|→|->|=>)\s|(?:\.{3}|…|\?)\s")
_MARKS, MARKS_CHARS = 6, 2_000
"""So many marks of a line, and of its characters, are looked at."""
_LAST_SENTENCE = lazy_pattern(r"(?<!\bp)(?<!\bS)[.!?]\s")


def _lead(line: str, colon: int) -> str:
    """The sentence of *line* that ends at *colon*, its last _LEAD_CHARS at most."""
    return _LAST_SENTENCE.split(line[max(0, colon - _LEAD_CHARS) : colon])[-1]


def introduces(line: str) -> bool:
    """True when what stands behind *line*, which ends with a colon, is not its speaker's."""
    return _introduces(_lead(line, len(line) - 1))


def is_heading(line: str) -> bool:
    """True for words that name what is to be done: "grammar check", not "tldr of the call"."""
    return _HEADING.fullmatch(line.rstrip(" :")) is not None and not _OF_A_THING.search(line)


def presents(lead: str) -> bool:
    """True for "here is the mail" and "Tom just told me"."""
    named = any(rule.search(lead) for rule in (_BROUGHT, _SAYS)) or _HEADING.match(lead)
    return bool(named) and not _OF_ONES_OWN.search(lead)


def _introduces(lead: str) -> bool:
    """True when the text after the colon behind *lead* is not what the speaker states.

    That is so behind a request, and behind a question, a heading or "she said" that names a text.
    """
    if speech_acts.is_standing(lead) or _OF_ONES_OWN.search(lead):
        return False
    if _SAYS.search(lead) or _HEADING.match(lead) or _BROUGHT.search(lead):
        return True
    if _REWORKING_FIRST.match(lead) or _ENDS_OPEN.search(lead):
        return True
    asks = not _is_compound(lead) and _asks(lead, speech_acts.REQUEST)
    if asks and not speech_acts.takes_back(lead):
        return True
    named = any(rule.search(lead) for rule in (_NAMES_TEXT, _POINTS, REWORKING))
    return named and _asks(lead, speech_acts.QUESTION)


def _is_compound(lead: str) -> bool:
    """True for a word, and for two of which the second follows no article: "load test"."""
    found = lead.split()
    return len(found) < 2 or (len(found) == 2 and found[1].casefold() not in OBJECTS)


_ENDS_OPEN = lazy_pattern(
    r"^\W*(?:is|are|does|do|what|which|who|where|how|was|welche\w*|ist|sind|wie|wo|wer)\b[^\n]*"
    r"\b(?:in|of|for|to|from|by|with|about|into|as|von|für|aus|bei|mit)$",
    re.IGNORECASE,
)
"""A question that ends before what it asks about."""

_THIS = lazy_pattern(
    r"\b(?:[Tt]h(?:is|ese)|[Ff]ollowing|[Dd]ie(?:s|se[srmn]?))\b"
    r"(?! (?:week|weekend|month|year|morning|afternoon|evening|time|Woche|Jahr|Monat|Wochenende)\b)"
    r"|\b[Dd]as(?=(?: [a-zäöüß]+){0,3}$)"
)
"""What points ahead where nothing stands before it; "das Haus" does not, "klingt das gut" does."""
_HOW = lazy_pattern(
    r"\W*(?:why|how|when|where|who|warum|wieso|weshalb|wie|wann|wo|wer)\b", re.IGNORECASE
)
"""A question that asks more than what a text is like."""
_ATTRIBUTED = lazy_pattern(
    r"\b(?:from|by|of|on|von|vom|aus|p\.|page|seite|so far|bisher|his|her|their|seine?|ihre?)(?!\w)"
    r"|\w['’]s\b|§",
    re.IGNORECASE,
)
_BY_OTHERS = lazy_pattern(r"\((?:by|from|von|vom) [^)]{2,40}\)\s*$", re.IGNORECASE)
_AT_A_TIME = lazy_pattern(r"\w,? \(?\d{1,2}[:.]\d\d\)?,? [A-ZÄÖÜ][\w-]+$")
_FIRST_PERSON = lazy_pattern(
    r"\b(?:i|i'm|i've|we|we're|my|our|mine|ich|wir|mein\w*|unser\w*)\b", re.IGNORECASE
)
_LABEL_CHARS = 60


def _is_about(lead: str, mark: str, *, begins: bool) -> bool:
    """True when *lead* asks something about the text behind *mark*: a dash, dots, a question mark.

    "This" is that text where *lead* *begins* everything, for nothing stands before it.
    """
    if speech_acts.is_standing(lead) or _OF_ONES_OWN.search(lead):
        return False
    if mark.startswith("?"):
        return begins and _judges(f"{lead}?")
    if _SAYS.search(lead) or _REWORKING_FIRST.match(lead) or (begins and _judges(lead)):
        return True
    if not _asks(lead, speech_acts.REQUEST) or _FIRST_PERSON.search(lead.partition(" ")[0]):
        return False
    return bool(_NAMES_TEXT.search(lead)) or speech_acts.is_bare_wish(lead)


def _judges(sentence: str) -> bool:
    """True for a question about "this": whether it is polite, what it means, what to make of it."""
    if _HOW.match(sentence) or not _THIS.search(sentence.rstrip(" ?")):
        return False
    return _asks(sentence, speech_acts.QUESTION)


def is_source(lead: str) -> bool:
    """True for a few words without a verb that say whose text, or which, follows."""
    if len(lead) > _LABEL_CHARS or _FIRST_PERSON.search(lead) or not speech_acts.is_label(lead):
        return False
    if _BY_OTHERS.search(lead) or _AT_A_TIME.search(lead):
        return True
    return bool(_NAMES_TEXT.search(lead) and _ATTRIBUTED.search(lead))


def attributes(sentence: str) -> bool:
    """True when *sentence* only says whose the text beside it is: "his draft so far"."""
    return is_source(sentence.strip(" -–—|→:")) or _BACK.search(sentence) is not None


def _wants(text: str) -> bool:
    """True when a sentence or a line of *text* asks for something."""
    parts = (part for line in text.split("\n") for part in sentences(line))
    asking = (speech_acts.QUESTION, speech_acts.REQUEST)
    return any(_asks(part, *asking) for part in itertools.islice(parts, _SENTENCES))


_SENTENCES = 40
"""So many sentences are looked at for a request."""

_BACK = lazy_pattern(
    r"\b(?!(?:i|we|ich|wir)\b)\w+ (?:wrote|sent|said|posted|told|asked|texted|schrieb|schickte"
    r"|sagte)(?: (?:me|us|mir|uns))? (?:that|this|it|das)\b"
    r"|\b(?:that|this|das|dies|so)(?:'s| is| was| hat| ist|) (?:what )?(?!(?:i|we|ich|wir)\b)"
    r"[^.!?\n]{0,40}\b(?:wrote|sent|said|posted|geschrieben|geschickt|gesagt|gepostet)\b",
    re.IGNORECASE,
)
_BACK_CHARS = 200
_BREAK = lazy_pattern(r"\n|\s(?:\|{1,2}|-{1,3}|[–—])\s|[.!?]\s")


def told_back(text: str) -> int:
    """Where the words begin that say of everything before them that somebody else said it, else 0.

    They ask something, too: "a patient wrote me that, how do I triage it".
    """
    tail = max(0, len(text) - _BACK_CHARS)
    for found in reversed(list(_BREAK.finditer(text, tail))):
        last = text[found.end() :]
        if _BACK.search(last) and _wants(last):
            return found.end()
    return 0


_REPORTS = (
    r"(?:says?|states?|claims?|tells|insists|demands|sagt|behauptet|verlangt)"  # a document does
)
_REPORTED = lazy_pattern(
    rf"\W{{0,3}}(?!(?:my|our|meine?|unsere?)\b)(?:[\w'’-]{{1,30}} ){{0,3}}?{_TEXT}"
    rf"(?: [\w.'’-]{{1,30}}){{0,5}}? {_REPORTS}\b[^\n]{{0,200}}?\b(?:must|always|never|should"
    r"|ha(?:s|ve) to|immer|nie|niemals|muss|müssen|soll|sollen)\b",
    re.IGNORECASE,
)
"""A sentence in which a document gives instructions: they are not the speaker's."""
_MAY_REPORT = lazy_pattern(rf"\b{_REPORTS}\b", re.IGNORECASE)


def without_reports(text: str) -> str:
    """*text* without the sentences in which a document instructs."""
    if not _MAY_REPORT.search(text):
        return text
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if _MAY_REPORT.search(line):
            parts = sentences(line)
            kept = [part for part in parts if not _REPORTED.match(part)]
            lines[place] = line if len(kept) == len(parts) else " ".join(kept)
    return "\n".join(lines)


def _asks(sentence: str, *asking: str) -> bool:
    """True when *sentence*, or a clause of it, is one of the acts *asking*."""
    clauses = (sentence, *sentence.split(", ")[1:])
    return any(speech_acts.act(clause) in asking for clause in clauses)


def beside(lines: list[str], *, marked: bool) -> range:
    """The places of *lines* but for the text that a request is about.

    The request stands in the first paragraph, or in the last one behind the text, unless that text
    has marks of its own.
    """
    blocks = _paragraphs(lines)
    if len(blocks) > 1:
        for block, following in ((blocks[0], True), (blocks[-1], False))[: 1 if marked else 2]:
            said = " ".join(lines[place].strip() for place in block)
            if len(said) <= REQUEST_CHARS and _is_request(said, following=following):
                return block
        said = " ".join(lines[place].strip() for place in blocks[0])
        brought = _BROUGHT.search(said) and not _OF_ONES_OWN.search(said)
        if (brought or is_source(said)) and _wants("\n".join(lines[blocks[0].stop :])):
            return blocks[0]
    return range(len(lines))


def _paragraphs(lines: list[str]) -> list[range]:
    """The places of the paragraphs; the first line is one where a line break alone follows it."""
    found: list[range] = []
    start = None
    for place, line in enumerate([*lines, ""]):
        if line.strip() and start is None:
            start = place
        elif not line.strip() and start is not None:
            found.append(range(start, place))
            start = None
    if len(found) == 1 and len(found[0]) > 1:
        only = found[0]
        return [range(only.start, only.start + 1), range(only.start + 1, only.stop)]
    return found


def _is_request(said: str, *, following: bool) -> bool:
    """True when a paragraph asks for something to be done with the text beside it."""
    if speech_acts.is_standing(said):
        return False
    parts = sentences(said)
    requests = " ".join(part for part in parts if _asks(part, speech_acts.REQUEST))
    questions = " ".join(part for part in parts if _asks(part, speech_acts.QUESTION))
    asked = f"{requests} {questions}"
    if not following:
        return _POINTS_BACK.search(asked) is not None
    return (
        _REWORKING_FIRST.match(said) is not None
        or any(rule.search(asked) for rule in (_NAMES_TEXT, REWORKING))
        or _POINTS.search(requests) is not None
        or _JUDGES.search(questions) is not None
        or _judges(questions)
        or bool(asked.strip() and _BROUGHT.search(said))
    )
