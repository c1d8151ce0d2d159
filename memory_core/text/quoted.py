"""Whose words a text holds: what its speaker states, and what they quote, paste or only suppose.

Content is what stands in quotation marks around a clause, block quotes, code, mails, pages, data,
logs and chats, and what follows a request about a text ("summarise this: ..."). It may be recalled,
but nobody has stated it: it claims, corrects and wishes nothing. So do suppositions ("suppose I
moved to Lisbon"). English and German, by form alone; linear in the length of the text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache

from memory_core import records
from memory_core.records import MemoryRecord
from memory_core.text import speech_acts
from memory_core.text.passages import sentences
from memory_core.text.words import count_words, listed, words

SPEAKING = records.SPEAKING
UNTRUSTED = records.UNTRUSTED


def claimed(memory: MemoryRecord) -> str:
    """What the speaker of *memory* states themselves, "" for nothing.

    A turn of an assistant or a tool states nothing for the user, and quoted content nothing at all.
    """
    content = memory.trust == "quoted" or memory.role not in SPEAKING
    return "" if content else own_words(memory.text)


def is_content(text: str, role: str = "") -> bool:
    """True when *text* quotes or pastes something and states nothing beside it."""
    own = own_words(text)
    return own != text and not any(_states(sentence, role) for sentence in sentences(own))


def _states(sentence: str, role: str) -> bool:
    """True when *sentence* does more than ask about what is quoted beside it, or present it."""
    if speech_acts.act(sentence, role) != speech_acts.STATEMENT:
        return False
    clauses = (clause.strip() for clause in sentence.split(", "))
    return any(
        speech_acts.act(clause, role) == speech_acts.STATEMENT and not _presents(clause)
        for clause in clauses
        if clause
    )


def _presents(clause: str) -> bool:
    """True for "here is the mail" and "Tom just told me"."""
    lead = clause.rstrip(" :")
    named = any(rule.search(lead) for rule in (_BROUGHT, _SAYS)) or _HEADING.match(lead)
    return clause.endswith(":") or (bool(named) and not _OF_ONES_OWN.search(lead))


def content_size(text: str) -> int:
    """The number of words of *text* that are quoted or pasted; suppositions are none."""
    return max(0, count_words(text) - count_words(_without_content(text)))


@lru_cache(maxsize=256)
def own_words(text: str) -> str:
    """*text* without what it quotes, pastes or supposes; *text* itself where there is nothing such.

    Lines and sentences keep their order. "" when nothing is left.
    """
    kept = _without_content(text)
    return _without_suppositions(kept) if _SUPPOSES.search(kept) else kept


def _without_content(text: str) -> str:
    if not _MAY_QUOTE.search(text) and not _REWORKING.search(text[:_REQUEST_CHARS]):
        return text
    kept = "\n".join(_own_lines(text))
    kept = _without_quotations(kept)
    return text if words(kept) == words(text) else kept.strip()


_MAY_QUOTE = re.compile("[\\n:<>`{\\[\"“”„«»‘’']")


# Lines

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_HEADER = re.compile(
    r"\s{0,40}\*{0,4}(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Von|An|Betreff|Datum|Gesendet)\**:",
    re.IGNORECASE,
)
_MAIL_ONLY = re.compile(
    r"\s{0,40}\*{0,4}(?:Subject|Sent|Reply-To|Betreff|Gesendet)\**:", re.IGNORECASE
)
_HEADERS_INLINE = re.compile(r"\b(?:From|Von): ?[^\n]{1,200}?\b(?:Subject|Betreff):", re.IGNORECASE)
_FORWARDED = re.compile(
    r"\s*-{2,20} ?(?:Original Message|Forwarded message|Ursprüngliche Nachricht"
    r"|Weitergeleitete Nachricht)",
    re.IGNORECASE,
)
_ANSWERED = re.compile(r"\s{0,40}(?:Re|RE|Fwd?|FW|FWD|AW|WG): ")
_ATTRIBUTION = re.compile(r"\s{0,40}(?:On|Am) [^\n]{3,150}\b(?:wrote|schrieb\b[^\n]{0,80}):\s*$")
_LETTER = re.compile(
    r"\s*(?:(?:kind|best|warm) (?:regards|wishes)|regards|yours (?:sincerely|truly|faithfully)"
    r"|sincerely|mit freundlichen grüßen|viele grüße|(?:liebe|beste|herzliche) grüße|mfg),?\s*$",
    re.IGNORECASE,
)
_SALUTATION = re.compile(
    r"\s*(?:dear|hi|hello|hey|hallo|liebe[rs]?|sehr geehrte[rs]?) [^\n.!?]{1,40}[,!]?\s*$",
    re.IGNORECASE,
)
_URL_ALONE = re.compile(r"\s*<?https?://\S+>?\s*$")
_CHAT_TIMED = re.compile(
    r"\s*(?:[\[(][^\])\n]{0,20}\d{1,2}[:.]\d\d[^\])\n]{0,12}[\])]"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)? -)"
    r"\s?<?\w[\w .@-]{0,30}>?:\s",
    re.IGNORECASE,
)
_CHAT = re.compile(
    r"\s*[*<]{0,2}([A-ZÄÖÜ][\w.-]{0,20}(?: [A-ZÄÖÜ][\w.-]{0,20})?)[*>]{0,2}:\*{0,2}\s+\S"
)
_LABELLED = re.compile(r"\s*[*<]{0,2}([^\W\d][\w.-]{1,20})[*>]{0,2}:\*{0,2}\s+\S")
_NESTED = re.compile(r"(?: {2,}|\t)(?:- )?[\w-]{1,40}:(?:\s|$)")
_KEY = re.compile(r"[\w.-]{1,40}:\s*$")
_CHAT_ANSWER = re.compile(
    r":\s+(?:i|i'm|we|you|he|she|they|it|that|what|why|how|ok|okay|yes|no|yeah|haha|lol|hi|hey"
    r"|ich|wir|du|ja|nein)\b|[?!]\s*$",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"\s*(?:</?[a-zA-Z!?][^>\n]{0,300}>|[{}\[\]]{1,200},?\s*$|[{\[]\s*[\"'{\[]|\"[^\"\n]{1,100}\"\s*:\s"
    r"|[a-z][\w-]{0,40}_[\w-]{1,40}:\s|[\w.]{1,60}\s?=\s?[\"'\[{\d]|//|/\*|\*/|#!/"
    r"|(?:async )?(?:def|fn|func|function) ?\w{0,60}\(|class \w{1,60}[(:{]|from [\w.]{1,60} import "
    r"|import (?:[\w.]{1,60};?\s*$|[{*\"'])|(?:const|let|var) \w{1,60}\s?=|assert \S{1,80}\s?[=!<>]"
    r"|return \S{1,80}[;)]\s*$|#include|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE) "
    r"|@@ |diff --git|index [0-9a-f]{7}|(?:\+\+\+|---) \S|(?:©|Copyright )"
    r"|[^\n|]{1,80}\|[^\n|]{1,80}\|)"
)
_DIFFERS = re.compile(r"\s*(?:@@ |diff --git|(?:\+\+\+|---) \S)")
_LOGGED = re.compile(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\],. ]"
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|TRACE|FATAL|NOTICE)\]?[: ]"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d"
    r":\d\d |Traceback \(most recent|File \"[^\"\n]{1,300}\", line \d|at [\w.$<>/]{1,200}\("
    r"|\w{0,60}(?:Error|Exception): |npm (?:ERR!|WARN)|\$ [a-z]|>>> )"
)
_INDENTED = re.compile(r"(?: {4,60}+|\t{1,20}+)(?![-*•\d])\S")


def _own_lines(text: str) -> Iterator[str]:
    """The lines of *text* that its speaker wrote, as far as lines tell."""
    lines = text.split("\n")
    end = _pasted_from(lines)
    asked, letter = _asked_about(lines), _letter(lines)
    chat, diff = _chat(lines), any(map(_DIFFERS.match, lines))
    nested = sum(_NESTED.match(line) is not None for line in lines) > 1
    fenced = False
    for place, line in enumerate(lines[:end]):
        if _FENCE.match(line):
            fenced = not fenced
        if fenced or place in letter or place not in asked or _is_pasted(line):
            continue
        if (chat and chat.match(line)) or (diff and line[:1] in ("+", "-")):
            continue
        if nested and (_NESTED.match(line) or _KEY.match(line)):
            continue
        own = _before_content(line)
        yield own
        bare = line.rstrip()
        if own != line or (bare.endswith(":") and _introduces(_lead(bare, len(bare) - 1))):
            return


def _is_pasted(line: str) -> bool:
    rules = (_FENCE, _ATTRIBUTION, _CHAT_TIMED, _DATA, _LOGGED, _INDENTED)
    return line.lstrip()[:1] == ">" or any(rule.match(line) for rule in rules)


def _pasted_from(lines: list[str]) -> int:
    """The place of the first line of a mail, or of a page under its address; else their number."""
    for place, line in enumerate(lines):
        if _FORWARDED.match(line) or (_ANSWERED.match(line) and len(lines) > 1):
            return place
        if _HEADER.match(line) and any(map(_MAIL_ONLY.match, lines[place : place + 6])):
            return place
        if _URL_ALONE.match(line) and len(lines) - place > 2:
            return place
    return len(lines)


def _chat(lines: list[str]) -> re.Pattern[str] | None:
    """The form of the lines of a chat, `Name: text`; None where none is pasted.

    The same name speaks again, or what two say is an answer; a form ("Name: ...") has neither.
    """
    labels = [match[1] for line in lines if (match := _LABELLED.match(line))]
    if len(labels) > 2 and len(set(labels)) < len(labels):
        return _LABELLED
    found = [line for line in lines if _CHAT.match(line)]
    talks = sum(_CHAT_ANSWER.search(line) is not None for line in found)
    return _CHAT if len(found) > 1 and 2 * talks >= len(found) else None


def _letter(lines: list[str]) -> range:
    """The places of a letter, from its salutation to its closing; an empty range without one."""
    for end, line in enumerate(lines):
        if _LETTER.match(line):
            opened = (place for place in range(end) if _SALUTATION.match(lines[place]))
            return range(next(opened, end), len(lines))
    return range(0)


# Requests about a text

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
    r"|wiki|faq|docs|memo|minutes|notice|recipe|spec(?:ification)?|anleitung|handbuch|prospekt"
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
    r"|setz\w*\b.{0,40}\bfort|fortsetz\w*|kürz\w*|vereinfach\w*|antworte?|beantworte?)"
)
"""What is asked to be done with a text, which is then no statement of who asks."""

_REWORKING = re.compile(rf"(?:^|\W){_REWORKS}(?:\W|$)", re.IGNORECASE)
_REWORKING_FIRST = re.compile(
    rf"\W*(?:please |pls |bitte |now |ok,? ?)?{_REWORKS}\b", re.IGNORECASE
)
_NAMES_TEXT = re.compile(rf"\b{_TEXT}\b", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:this|these|below|following|attached|above|dies\w{0,2}|folgend\w*|unten)\b", re.IGNORECASE
)
_POINTS_BACK = re.compile(
    rf"\b(?:(?:this|that|the|these|above|dies\w{{0,2}}|der|die|das|den) (?:\w+ ){{0,2}}{_TEXT}"
    rf"|(?:the )?above|{_REWORKS} (?:this|that|it|das|dies\w{{0,2}}|es))\b",
    re.IGNORECASE,
)
_JUDGES = re.compile(
    r"(?<!why )(?<!how )\b(?:is|are|was|does|do|would|ist|sind|war|klingt|wirkt|liest sich|heißt"
    r"|bedeutet|stimmt) (?:this|these|the following|das|dies\w{0,2}|folgend\w*)\b",
    re.IGNORECASE,
)
"""A question whether a text is polite, true or spam."""
_BROUGHT = re.compile(
    rf"\b(?:(?:here(?:'s| is| are| comes?)|this is|below is|got|received|see|from|according to|hier"
    rf" (?:ist|sind|kommt)|das ist|bekommen|laut)\b[^\n]{{0,100}}?\b{_TEXT}"
    rf"|(?:got|received|sent|forwarded|shared|posted|copied|pasted|found|read|wrote|bekommen"
    rf"|gefunden"
    rf"|gelesen|geschrieben|geschickt|weitergeleitet|gepostet"
    rf"|kopiert)\b[^\n]{{0,100}}?\b(?:{_TEXT}|this|following"
    rf"|dies\w{{0,2}}|folgend\w*)|for example|e\.g|zum beispiel|z\.b)\b",
    re.IGNORECASE,
)
_OF_ONES_OWN = re.compile(
    r"^\W*(?:as |like |wie )?(?:i|we|ich|wir)\b[^,]*\b(?:said|say|told|wrote|mentioned|sagte"
    r"|gesagt)"
    r"|\b(?:my|our|meine?|unsere?) (?:\w+ )?(?:e-?mail|mail|site|page|blog|seite)(?: address)?"
    r"(?: is| ist)?$",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\b(?:says?|said|states?|stated|reads?|wrote|writes|claims?|claimed|told (?:me|you|us)|replied"
    r"|answered|asked|sagt|sagte|schreibt|schrieb|meint|meinte|antwortete|behauptet"
    r"|(?:hier|da|dort|darin|es) steht|steht(?= (?:hier|da|dort|darin)$))"
    r"(?: (?:here|there|me|that|this|earlier|before|hier|da|dort|mir|uns|darin))*$",
    re.IGNORECASE,
)
_HEADING = re.compile(
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

_LEAD_CHARS, _REQUEST_CHARS = 200, 400
"""Of what stands before a colon; longest paragraph that is read as a request."""


def _before_content(line: str) -> str:
    """*line* up to the colon after which it holds somebody else's text."""
    headed = _HEADERS_INLINE.search(line)
    cut = headed.start() if headed else len(line)
    for found in itertools.islice(_COLON.finditer(line, 0, min(cut, _COLONS_CHARS)), _COLONS):
        following = line[found.end() : found.end() + 20].strip()
        if following[:1] in _OPENING_MARKS:
            continue  # the quotation marks tell how far it goes
        if following and _introduces(_lead(line, found.start())):
            return line[: found.start()]
    return line[: _reworked_from(line[:cut])]


def _reworked_from(line: str) -> int:
    """Where the text starts that the first sentences of *line* ask to rework; else its length."""
    for found in itertools.islice(_LAST_SENTENCE.finditer(line, 0, _REQUEST_CHARS), _COLONS):
        asked = _lead(line, found.start() + 1)
        about = _NAMES_TEXT.search(asked) or _POINTS.search(asked)
        if about and _REWORKING.search(asked) and _asks(asked, speech_acts.REQUEST):
            return found.end()
    return len(line)


_OPENING_MARKS = tuple('"“„«')
_COLON = re.compile(r":(?=\s|[\"“„«])")
_COLONS, _COLONS_CHARS = 4, 2_000
"""So many colons of a line, and of its characters, are looked at."""
_LAST_SENTENCE = re.compile(r"[.!?]\s")


def _lead(line: str, colon: int) -> str:
    """The sentence of *line* that ends at *colon*, its last _LEAD_CHARS at most."""
    return _LAST_SENTENCE.split(line[max(0, colon - _LEAD_CHARS) : colon])[-1]


def _introduces(lead: str) -> bool:
    """True when the text after the colon behind *lead* is not what the speaker states.

    That is so behind a request, and behind a question, a heading or "she said" that names a text.
    """
    if speech_acts.is_standing(lead) or _OF_ONES_OWN.search(lead):
        return False
    if _SAYS.search(lead) or _HEADING.match(lead) or _BROUGHT.search(lead):
        return True
    if _REWORKING_FIRST.match(lead) or (" " in lead.strip() and _asks(lead, speech_acts.REQUEST)):
        return True
    named = any(rule.search(lead) for rule in (_NAMES_TEXT, _POINTS, _REWORKING))
    return named and _asks(lead, speech_acts.QUESTION)


def _asks(sentence: str, *asking: str) -> bool:
    """True when *sentence*, or a clause of it, is one of the acts *asking*."""
    clauses = (sentence, *sentence.split(", ")[1:])
    return any(speech_acts.act(clause) in asking for clause in clauses)


def _asked_about(lines: list[str]) -> range:
    """The places of *lines* but for the text that a request is about.

    The request stands in the first paragraph, or in the last one behind the text, unless that text
    has marks of its own.
    """
    blocks = _paragraphs(lines)
    if len(blocks) > 1:
        marked = any(map(_is_pasted, lines))
        for block, following in ((blocks[0], True), (blocks[-1], False))[: 1 if marked else 2]:
            said = " ".join(lines[place].strip() for place in block)
            if len(said) <= _REQUEST_CHARS and _is_request(said, following=following):
                return block
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
        or any(rule.search(asked) for rule in (_NAMES_TEXT, _REWORKING))
        or _POINTS.search(requests) is not None
        or _JUDGES.search(questions) is not None
        or bool(asked.strip() and _BROUGHT.search(said))
    )


# Quotation marks

_QUOTATIONS = re.compile(
    '"([^"\\n]{1,2000})"|“([^“”\\n]{1,2000})”|„([^„“”"\\n]{1,2000})[“”"]|«([^«»\\n]{1,2000})»'
    "|»([^«»\\n]{1,2000})«|(?<![\\w])['‘]([^'‘’\\n]{1,2000})['’](?!\\w)|`([^`\\n]{1,2000})`"
)
_CLAUSE_WORDS = 3


def _without_quotations(text: str) -> str:
    """*text* without the clauses in quotation marks; single words and titles stay."""
    return _QUOTATIONS.sub(lambda match: " " if _is_clause(match) else match.group(), text)


def _is_clause(match: re.Match[str]) -> bool:
    said = next(group for group in match.groups() if group is not None).strip()
    bare = re.findall(r"[^\W\d_][\w'’-]*", said)
    if len(bare) < _CLAUSE_WORDS:
        return False
    small = [word for word in bare[1:] if word[0].islower() and word.casefold() not in _IN_TITLES]
    return bool(small) or said[-1] in ".!?,"


_IN_TITLES = frozenset(
    listed(
        """a an the of and or in on at to for from with by as but nor vs der die das den dem des ein
        eine und oder im am zu von vom zur zum mit für auf"""
    )
)


# Suppositions

_SUPPOSES = re.compile(
    r"(?:^|[.!?:;,\n] ?|\b(?:and|so|but|und|also) )(?:(?:ok|okay|so|now|well|let's|let us|just|hey"
    r"|also|nun|mal|please|and)[, ]+){0,3}"
    r"(?:suppose|supposing|imagine|assume|assuming|pretend|hypothetically|say (?:i|we|my|our)\b"
    r"|what if|(?:for|as) a thought experiment|in a hypothetical|gedankenexperiment|if (?:i|we"
    r"|my|our|he|she|they|the)\b[^.!?\n]{0,80}\b(?:were|would|could|had|moved"
    r"|switched|changed|\w{2,20}ed)\b[^.!?\n]{0,200}\b(?:would|could|might|should)\b|let's say"
    r"|let's (?:pretend|imagine|assume|suppose)|for the sake of argument|in (?:this|a) scenario"
    r"|in (?:a|my) dream|role-?play|act as|angenommen|stell dir vor|nehmen wir an|gesetzt den fall"
    r"|mal angenommen|was wäre,? wenn|wenn (?:ich|wir)\b[^.!?\n]{0,120}\b(?:würde|wäre|hätte|könnte"
    r"|müsste)\w*|hypothetisch|tun wir so|sagen wir mal)\b",
    re.IGNORECASE,
)
_FOR_ONE_SENTENCE = re.compile(
    r"[.!?:;,\n ]{0,4}(?:\w+[, ]+){0,3}?(?:if|what if|was wäre|wenn)\b", re.I
)


def _without_suppositions(text: str) -> str:
    """*text* without the sentences that suppose something, and those that go on with it.

    An "if" holds for its own sentence, "suppose" for the rest of its paragraph but the question.
    """
    kept = []
    for line in text.split("\n"):
        supposing = False
        for sentence in sentences(line):
            found = _SUPPOSES.search(sentence)
            if found is not None:
                supposing = supposing or not _FOR_ONE_SENTENCE.match(found.group())
                kept.append(sentence[: found.start()])
            elif not supposing or sentence.endswith("?"):
                kept.append(sentence)
        kept.append("\n")
    return " ".join(part for part in kept if part).strip()
