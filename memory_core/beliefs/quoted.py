"""Whose words a text holds: what its speaker states, and what they quote, paste or only suppose.

Content is what stands in quotation marks around a clause, block quotes, code, mails, pages, data,
logs and chats, and what a request or a question is about: behind a colon, a dash, a line break or
the question ("does this sound natural? ..."), or before "a friend wrote me that, what do I say". It
may be recalled, but nobody has stated it: it claims, corrects and wishes nothing. So do
suppositions ("suppose I moved to Lisbon"). English and German, by form alone; linear in the length
of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memory_core import records
from memory_core.beliefs import requested, speech_acts
from memory_core.records import MemoryRecord
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.words import count_words, listed, words

SPEAKING = records.SPEAKING
UNTRUSTED = records.UNTRUSTED
ASKING = (speech_acts.QUESTION, speech_acts.REQUEST)
MOST_TOLD = 2_000
"""Characters of a text of which is told apart what it tells and what it asks."""


def claimed(memory: MemoryRecord) -> str:
    """What the speaker of *memory* states themselves, "" for nothing; without what they ask beside.

    A turn of an assistant or a tool states nothing for the user, and quoted content nothing at all.
    """
    content = memory.trust == "quoted" or memory.role not in SPEAKING
    return "" if content else told(own_words(memory.text))


@lru_cache(maxsize=256)
def told(text: str) -> str:
    """*text* without the sentences, and the clauses behind the last statement, that only ask.

    *text* itself where it tells nothing else, or is longer than MOST_TOLD.
    """
    if "?" not in text or len(text) > MOST_TOLD:
        return text
    kept = []
    for sentence in sentences(text):
        clauses = sentence.split(", ") if sentence.endswith("?") else [sentence]
        while clauses and speech_acts.act(", ".join(clauses)) != speech_acts.STATEMENT:
            clauses.pop()
        doubtful = clauses and speech_acts.is_tag(words(clauses[-1]))  # "he lives in Linz, right?"
        while not doubtful and clauses[1:] and speech_acts.act(clauses[-1]) in ASKING:
            clauses.pop()
        kept.append(", ".join(clauses))
    return " ".join(filter(None, kept)) or text


def is_content(text: str, role: str = "") -> bool:
    """True when *text* quotes or pastes something and states nothing beside it."""
    own = own_words(text)
    if own == text or requested.is_source(own):
        return own != text
    return not any(_states(sentence, role) for sentence in sentences(own))


def _states(sentence: str, role: str) -> bool:
    """True when *sentence* does more than ask about what is quoted beside it, or present it."""
    if speech_acts.act(sentence, role) != speech_acts.STATEMENT or requested.attributes(sentence):
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
    return clause.endswith(":") or requested.presents(lead)


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
    if not _MAY_QUOTE.search(text) and not requested.REWORKING.search(
        text[: requested.REQUEST_CHARS]
    ):
        return requested.without_reports(text)
    kept = "\n".join(_own_lines(requested.without_reports(text[requested.told_back(text) :])))
    kept = _without_quotations(kept)
    return text if words(kept) == words(text) else kept.strip()


_MAY_QUOTE = lazy_pattern(r"[\n:<>`{\[\"“”„«»‘’'?–—→…|]|\.{3}|\s--?\s")


# Lines

_FENCE = lazy_pattern(r"\s{0,3}(?:```|~~~)")
_HEADER = lazy_pattern(
    r"\s{0,40}\*{0,4}(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Von|An|Betreff|Datum|Gesendet)\**:",
    re.IGNORECASE,
)
_MAIL_ONLY = lazy_pattern(
    r"\s{0,40}\*{0,4}(?:Subject|Sent|Reply-To|Betreff|Gesendet)\**:", re.IGNORECASE
)
_FORWARDED = lazy_pattern(
    r"\s*-{2,20} ?(?:Original Message|Forwarded message|Ursprüngliche Nachricht"
    r"|Weitergeleitete Nachricht)",
    re.IGNORECASE,
)
_ANSWERED = lazy_pattern(r"\s{0,40}(?:Re|RE|Fwd?|FW|FWD|AW|WG): ")
_ATTRIBUTION = lazy_pattern(r"\s{0,40}(?:On|Am) [^\n]{3,150}\b(?:wrote|schrieb\b[^\n]{0,80}):\s*$")
_LETTER = lazy_pattern(
    r"\s*(?:(?:kind|best|warm) (?:regards|wishes)|regards|yours (?:sincerely|truly|faithfully)"
    r"|sincerely|mit freundlichen grüßen|viele grüße|(?:liebe|beste|herzliche) grüße|mfg),?\s*$",
    re.IGNORECASE,
)
_SALUTATION = lazy_pattern(
    r"\s*(?:dear|hi|hello|hey|hallo|liebe[rs]?|sehr geehrte[rs]?) [^\n.!?]{1,40}[,!]?\s*$",
    re.IGNORECASE,
)
_URL_ALONE = lazy_pattern(r"\s*<?https?://\S+>?\s*$")
_CHAT_TIMED = lazy_pattern(
    r"\s*(?:[\[(][^\])\n]{0,20}\d{1,2}[:.]\d\d[^\])\n]{0,12}[\])]"
    r"|\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)? -)"
    r"\s?<?\w[\w .@-]{0,30}>?:\s",
    re.IGNORECASE,
)
_CHAT = lazy_pattern(
    r"\s*[*<]{0,2}([A-ZÄÖÜ][\w.-]{0,20}(?: [A-ZÄÖÜ][\w.-]{0,20})?)[*>]{0,2}:\*{0,2}\s+\S"
)
_LABELLED = lazy_pattern(r"\s*[*<]{0,2}([^\W\d][\w.-]{1,20})[*>]{0,2}:\*{0,2}\s+\S")
_NESTED = lazy_pattern(r"(?: {2,}|\t)(?:- )?[\w-]{1,40}:(?:\s|$)")
_KEY = lazy_pattern(r"[\w.-]{1,40}:\s*$")
_CHAT_ANSWER = lazy_pattern(
    r":\s+(?:i|i'm|we|you|he|she|they|it|that|what|why|how|ok|okay|yes|no|yeah|haha|lol|hi|hey"
    r"|ich|wir|du|ja|nein)\b|[?!]\s*$",
    re.IGNORECASE,
)
_DATA = lazy_pattern(
    r"\s*(?:</?[a-zA-Z!?][^>\n]{0,300}>|[{}\[\]]{1,200},?\s*$|[{\[]\s*[\"'{\[]|\"[^\"\n]{1,100}\"\s*:\s"
    r"|[a-z][\w-]{0,40}_[\w-]{1,40}:\s|[\w.]{1,60}\s?=\s?[\"'\[{\d]|//|/\*|\*/|#!/"
    r"|(?:async )?(?:def|fn|func|function) ?\w{0,60}\(|class \w{1,60}[(:{]|from [\w.]{1,60} import "
    r"|import (?:[\w.]{1,60};?\s*$|[{*\"'])|(?:const|let|var) \w{1,60}\s?=|assert \S{1,80}\s?[=!<>]"
    r"|return \S{1,80}[;)]\s*$|#include|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE) "
    r"|@@ |diff --git|index [0-9a-f]{7}|(?:\+\+\+|---) \S|(?:©|Copyright )"
    r"|[^\n|]{1,80}\|[^\n|]{1,80}\|)"
)
_DIFFERS = lazy_pattern(r"\s*(?:@@ |diff --git|(?:\+\+\+|---) \S)")
_LOGGED = lazy_pattern(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\],. ]"
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|TRACE|FATAL|NOTICE)\]?[: ]"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d"
    r":\d\d |Traceback \(most recent|File \"[^\"\n]{1,300}\", line \d|at [\w.$<>/]{1,200}\("
    r"|\w{0,60}(?:Error|Exception): |npm (?:ERR!|WARN)|\$ [a-z]|>>> )"
)
_INDENTED = lazy_pattern(r"(?: {4,60}+|\t{1,20}+)(?![-*•\d])\S")


def _own_lines(text: str) -> Iterator[str]:
    """The lines of *text* that its speaker wrote, as far as lines tell."""
    lines = text.split("\n")
    end = _pasted_from(lines)
    marked = any(map(_is_pasted, lines))
    asked, letter = requested.beside(lines, marked=marked), _letter(lines)
    chat, diff = _chat(lines), any(map(_DIFFERS.match, lines))
    beginning = text[: requested.MARKS_CHARS].lstrip()
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
        own = requested.before_content(line, beginning)
        yield own
        bare = line.rstrip()
        if own != line or (bare.endswith(":") and requested.introduces(bare)):
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


# Quotation marks

_QUOTATIONS = lazy_pattern(
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

_SUPPOSES = lazy_pattern(
    r"(?:^|[.!?:;,\n] ?|\b(?:and|so|but|und|also) )(?:(?:ok|okay|so|now|well|let's|let us|just|hey"
    r"|also|nun|mal|please|and)[, ]+){0,3}"
    r"(?:suppose|supposing|imagine|assume|assuming|pretend|hypothetically|say (?:i|we|my|our)\b"
    r"|what if|(?:for|as) a thought experiment|in a hypothetical|gedankenexperiment|if (?:i|we"
    r"|my|our|he|she|they|the)\b[^.!?\n]{0,80}\b(?:were|would|could|had|moved"
    r"|switched|changed|\w{2,20}ed)\b[^.!?\n]{0,200}\b(?:would|could|might|should)\b|let's say"
    r"|(?:you're|you are|du bist) (?:an?|the|eine?) [^.!?\n]{0,80}\b(?:your?|always|never|du"
    r"|dein\w*|immer|nie)"
    r"|let's (?:pretend|imagine|assume|suppose)|for the sake of argument|in (?:this|a) scenario"
    r"|in (?:a|my) dream|role-?play|act as|angenommen|stell dir vor|nehmen wir an|gesetzt den fall"
    r"|mal angenommen|was wäre,? wenn|wenn (?:ich|wir)\b[^.!?\n]{0,120}\b(?:würde|wäre|hätte|könnte"
    r"|müsste)\w*|hypothetisch|tun wir so|sagen wir mal)\b",
    re.IGNORECASE,
)
_FOR_ONE_SENTENCE = lazy_pattern(
    r"[.!?:;,\n ]{0,4}(?:\w+[, ]+){0,3}?(?:if|what if|was wäre|wenn|you're|you are|du bist)\b", re.I
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
