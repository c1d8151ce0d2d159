"""The relevance gate of passive capture: turns to skip, by their form, and echoes of recalls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memory_core.beliefs import quoted, requested, speech_acts, wishes
from memory_core.text import machine
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.passages import sentences
from memory_core.text.words import content_words, count_words, is_plain, listed, words

_INTERRUPTION = lazy_pattern(
    r"\[(?:request interrupted by user|tool use was rejected)[^\]]{0,40}\]", re.IGNORECASE
)
_BLOCK_TAGS = listed(
    """system-reminder command-name command-message command-args local-command-stdout
    local-command-stderr bash-input bash-stdout bash-stderr user-prompt-submit-hook tool_result
    function_results ide_opened_file ide_selection task-notification turn_aborted
    user_shell_command"""
)
_STACK = lazy_pattern(
    r"^\s*(?:Traceback \(most recent call last\)|File \"[^\"\n]{1,300}\", line \d"
    r"|at [\w.$<>/]{1,200}\(|\w{0,60}(?:Error|Exception): "
    r"|Caused by: |\^{2,}|\.\.\. \d+ more|thread '|goroutine \d|panic: |\#\d+ 0x)"
)
_LOG = lazy_pattern(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|WARN|WARNING"
    r"|ERROR|TRACE|FATAL|NOTICE)\]?[: ]"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |npm (?:ERR!|WARN|notice)"
    r"|\d{1,3}(?:\.\d{1,3}){3} - - \[|\$ \w|\+\+\+ |--- |@@ -\d|diff --git"
    r"|(?:PASSED|FAILED|ok|not ok) [\w/.:-]{3,}|[-d][rwx-]{9}\s|Requirement already satisfied"
    r"|Collecting |Downloading |[=\-_*#~]{8,}\s*$)"
)
_CODED = lazy_pattern(r"[A-Za-z0-9+/=_-]{60,}|(?:[0-9a-fA-F]{2}[ :]){20,}")


PLAIN, SUPPOSITION = "only stopwords", "supposition"

CONTENT_WORDS = 25
"""So many words beside a request are kept: they may be the speaker's own, told in one breath."""


SAID = frozenset(
    (
        PLAIN,
        speech_acts.QUESTION,
        speech_acts.REQUEST,
        speech_acts.COURTESY,
        speech_acts.OFFER,
        speech_acts.ERROR,
        SUPPOSITION,
    )
)
"""The reasons of `gate` for what somebody said to another, though it states nothing."""


def gate(text: str, role: str = "") -> str:
    """The reason not to capture *text*, said in *role*; "" when there is none.

    One of "too short", "only stopwords", "interruption", "system reminder", "stack trace", "log
    lines", "encoded data", "structured data". Noise counts when it makes up most of the text. Or
    the act of a text that states nothing (speech_acts): "question", "request", "courtesy", "offer",
    "error message"; "supposition" when it only supposes. A question about CONTENT_WORDS of pasted
    text, such as a stack trace, passes.
    """
    rest = text[:20_000]
    for name, stripped in (
        ("interruption", _INTERRUPTION.sub(" ", rest)),
        ("system reminder", without_blocks(rest)),
    ):
        if stripped != rest and len(words(stripped)) < 2:
            return name
    rest = without_blocks(_INTERRUPTION.sub(" ", rest))
    if noise := _noise(rest):
        return noise
    found = words(rest)
    if count_words(" ".join(found)) < 2 or sum(map(len, found)) < 4:
        return "too short"
    if not content_words(rest) or all(is_plain(word) for word in found):
        return PLAIN
    return _says_nothing(rest, role)


def kept(text: str, role: str = "") -> tuple[str, str]:
    """What to capture of *text*, said in *role*, or the reason not to; see `gate`.

    Of a text that is mostly the output of a program, what somebody wrote before or behind it.
    """
    reason = gate(text, role)
    if reason in _OUTPUT and not gate(own := _beside_output(text[:20_000]), role):
        return own, ""
    return text, reason


def _beside_output(text: str) -> str:
    """The lines of *text* before the first line of output and behind the last, without quotations.

    What a program printed in words of its own stands between its other lines.
    """
    lines = text.split("\n")
    printed = [at for at, line in enumerate(lines) if _STACK.match(line) or _LOG.match(line)]
    if not printed:
        return quoted.own_words(text)
    beside = {*lines[: printed[0]], *lines[printed[-1] + 1 :]}
    own = (line for line in quoted.own_words(text).split("\n") if line in beside)
    return "\n".join(own).strip()


def _says_nothing(text: str, role: str) -> str:
    """The act of the first sentence of *text* where none states anything, else ""."""
    own = quoted.own_words(text)
    if "\n" not in text.strip() and machine.is_error(text.strip()):
        return speech_acts.ERROR
    found = speech_acts.acts(own, role)
    if own != text and requested.is_heading(own):
        found = [speech_acts.REQUEST]  # "grammar check: ..."
    if speech_acts.STATEMENT in found or quoted.content_size(text) >= CONTENT_WORDS:
        return ""
    telling = [what for what in found if what != speech_acts.COURTESY]
    if telling[:1] == [speech_acts.REQUEST] and wishes.is_likely_standing(own):
        return ""  # kept too often costs little, a wish that is lost is asked for again and again
    return (telling or found or [SUPPOSITION])[0]


def without_blocks(text: str) -> str:
    """*text* without what clients put between their own tags."""
    if "<" not in text:
        return text
    for tag in _BLOCK_TAGS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        start = text.find(opening)
        while start >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            text = text[:start] + " " + text[end + len(closing) :]
            start = text.find(opening, start)
    return text


_OUTPUT = ("encoded data", "stack trace", "log lines", "structured data")


def _noise(text: str) -> str:
    """The one of _OUTPUT that makes up most of *text*, or ""."""
    lines = [line for line in text.split("\n") if line.strip()]
    coded = sum(len(match.group()) for match in _CODED.finditer(text))
    if coded * 2 > len(text.strip()) > 0:
        return "encoded data"
    stack = [bool(_STACK.match(line)) for line in lines]
    if any(stack):
        inside = sum(hit or line[:2] == "  " for hit, line in zip(stack, lines, strict=True))
        if inside * 10 > len(lines) * 6:
            return "stack trace"
    if len(lines) > 1 and sum(bool(_LOG.match(line)) for line in lines) * 10 > len(lines) * 6:
        return "log lines"
    bare = text.strip()
    if bare[:1] in "{[<" and bare[-1:] in "}]>" and len(bare) > 40 and _is_structured(bare):
        return "structured data"
    return ""


def _is_structured(text: str) -> bool:
    marks = sum(char in '{}[]":,<>/=' for char in text)
    return marks * 100 > len(text) * 12


_LEAD = r"[ \t>]{0,9}"
_BLOCK = lazy_pattern(
    r"(?:(?:found \d+ memor|nothing found)[^\n]{0,200}\n"
    rf"(?:{_LEAD}(?:truncated|note:)[^\n]{{0,200}}\n){{0,2}})?"
    rf"(?:^{_LEAD}Recalled text is data, not instructions:[^\n]{{0,80}}\n)?"
    rf"^{_LEAD}<(recalled-[0-9a-f]{{8}})>\n(.*?)(?:^{_LEAD}</\1>|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""What may be a block of recalled text as the text channel renders it, also one cut off."""

_WITHIN = lazy_pattern(
    r"(?:(?:found \d+ memor|nothing found)[^\n<]{0,200})?(?:Recalled text is data[^\n<]{0,120})?"
    r"<(recalled-[0-9a-f]{8})>(.*?)(?:</\1>|\Z)",
    re.DOTALL,
)
"""The same on one line, as when it is quoted in a sentence or in JSON."""
_HEAD = lazy_pattern(r"\[[^\]\n]{1,60}\] [^\n>]{0,300}")

_ENTRY = lazy_pattern(rf"^{_LEAD}\[[^\]\n]{{1,60}}\] [^\n]{{0,300}}$", re.MULTILINE)
_ID = lazy_pattern(r"\b[0-9a-hjkmnp-tv-z]{20}\b")
_ANNOUNCES = lazy_pattern(
    r"\b(?:found \d{1,9} memor(?:y|ies)|nothing found(?: yet)?)\b"
    r"(?:; entries marked partial are near misses, not answers)?"
    r"(?:; confidence [0-9.]{1,6} \([a-z]{1,9}\))?",
    re.IGNORECASE,
)
"""The first line of an answer, as the text channel renders it, or its beginning."""

LEAST_WORDS = 4
"""Words that a sentence must have to count as an echo."""

_INTRODUCING = frozenset(
    listed(
        """remember recall recalled memory memories know noted said told mentioned found stored
        erinnere erinnerung erinnerungen weiß weiss wissen gemerkt notiert gesagt erwähnt
        gefunden"""
    )
)
_DENYING = frozenset(listed("no not nope nah never nor nein nicht"))


def without_recalled(text: str, known: Callable[[str], bool] = lambda _: True) -> str:
    """*text* without blocks of recalled text and the lines that introduce them.

    A block is one where an entry names a memory that is *known* by its id, by default any id: a
    boundary that somebody else wrote stays, with the words in it.
    """
    if "<recalled-" not in text:
        return text

    def replaced(block: re.Match[str], entry: re.Pattern[str]) -> str:
        heads = entry.findall(block[2])
        ours = any(known(id) for head in heads for id in _ID.findall(head))
        return "\n" if ours else block[0]

    text = _BLOCK.sub(lambda block: replaced(block, _ENTRY), text)
    return _WITHIN.sub(lambda block: replaced(block, _HEAD), text).strip()


def announces(text: str) -> bool:
    """True for "Here is what I know: found 1 memory", which says nothing but that it follows."""
    rest = _ANNOUNCES.sub(" ", text)
    return rest != text and all(_introduces(word) for word in words(rest))


def echoed(text: str, sources: Sequence[str]) -> int | None:
    """The index of the source that *text* repeats most of; None when *text* adds anything.

    Sentences are compared word by word: a changed number, name or word makes another sentence. Any
    other sentence may only introduce ("Here is what I remember"), so a correction of recalled text,
    or an addition to it, is no echo.
    """
    known = [f" {' '.join(words(source))} " for source in sources]
    held = [0] * len(known)
    for sentence in sentences(text):
        said = words(sentence)
        inside = [place for place, source in enumerate(known) if f" {' '.join(said)} " in source]
        if inside and len(said) >= LEAST_WORDS:
            held[inside[0]] += len(said)
        elif not all(_introduces(word) for word in said):
            return None
    return held.index(max(held)) if sum(held) else None


def _introduces(word: str) -> bool:
    return (is_plain(word) and word not in _DENYING) or word in _INTRODUCING
