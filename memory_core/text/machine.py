"""Sentences that nobody has put in words: a message of a machine that failed, a command line."""

from __future__ import annotations

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.words import listed, words

_STATUS = lazy_pattern(r"(?:HTTP(?:/\d\.\d)? )?[45]\d\d:? (?:[A-Z][a-z]+|[A-Z]{2,})")
_LABELLED = lazy_pattern(
    r"[a-z]{2,12} ERR!|"
    r"(?:[\w.]{0,40} ){0,3}(?:[Ee]rror|ERROR|[Ee]xception|[Ff]ailure|FATAL|[Ff]atal|[Ff]ehler"
    r"|[Ww]arning|WARN)(?: \d{1,5}| \([^)]{1,40}\)| \[[^\]]{1,40}\])?:(?:\s|$)"
)
_TOOL_FAILS = lazy_pattern(
    r"(?:[a-z][\w./-]{0,30}(?: [\w./-]{1,30}){0,3} (?:failed|crashed|exited with code \d+)"
    r"|(?:[Ee]xit|[Rr]eturn) (?:code|status):? \d+)\W*$"
)
_SYSTEM_FAILS = lazy_pattern(
    r"(?:(?:an? )?(?:unknown|unexpected|internal|network|connection|request|server|service|api|http"
    r"|socket|stream|gateway|dns|ssl|tls|certificate|permission|access|rate|quota|usage|token"
    r"|session|context|model|upstream|remote|host|proxy|command|module|process|operation|fetch"
    r"|upload|download|read|write|page|file|resource|internet|client|too many|bad|out of|no space"
    r"|broken|segmentation|overloaded|killed|timeout|aborted|disconnected|offline|econn\w+"
    r"|etimedout"
    r"|enotfound|enoent|failed to (?:fetch|connect|load|send|resolve)|could not (?:connect|resolve"
    r"|reach)|unable to (?:connect|reach|resolve)|cannot (?:connect|reach)"
    r"|verbindung\w*|zeitüberschreitung|netzwerk\w*|server\w*|dienst|interner|zugriff|anfrage)\b)"
)
_FAILURE = lazy_pattern(
    r"\b(?:errors?|failed|failure|refused|reset|timed out|timeout|time-out|unreachable|unavailable"
    r"|overloaded|denied|exceeded|not found|aborted|closed|interrupted|disconnected|unauthori[sz]ed"
    r"|forbidden|too many requests|bad (?:gateway|request)|fault|broken pipe|out of memory|killed"
    r"|offline|econn\w+|etimedout|enotfound|enoent|expired|left on device|too long"
    r"|(?:unable to|could not|cannot) (?:fetch|connect|resolve|reach|load|send)"
    r"|fehler|\w+fehler|abgelehnt|unterbrochen|fehlgeschlagen|überschritten|verweigert"
    r"|nicht (?:verfügbar|erreichbar|gefunden)|zeitüberschreitung|getrennt)\b"
)
_OF_PEOPLE = lazy_pattern(
    r"\b(?:i|i'm|i've|we|we're|my|our|me|us|you|your|he|she|because|since|so|when|after|yesterday"
    r"|today|ich|wir|mein\w*|unser\w*|weil|als|seit|gestern|heute|nachdem)\b"
)
_ERROR_WORDS = 14


def is_error(sentence: str) -> bool:
    """True for a message of a machine that failed, which nobody has put in a sentence."""
    lowered = " ".join(words(sentence))
    if _OF_PEOPLE.search(lowered):
        return False
    if _TOOL_FAILS.match(sentence) or _STATUS.match(sentence) or _LABELLED.match(sentence):
        return True
    short = lowered.count(" ") < _ERROR_WORDS
    return (
        short and _SYSTEM_FAILS.match(lowered) is not None and _FAILURE.search(lowered) is not None
    )


# Command lines

_PROGRAM = lazy_pattern(r"(?:\$ )?(?:\./)?[a-z][\w.+-]{0,40}(?: |$)")
_FLAG = lazy_pattern(r"(?:^| )--?[A-Za-z]")
_PROGRAMS = frozenset(
    listed("sudo git npm npx yarn pnpm docker kubectl pip cargo apt brew systemctl ssh cd chmod")
)
_SPEAKING = frozenset(
    listed(
        """the a an in on at by of is are was were with for to we i my our must always never should
        and or when if that this not use"""
    )
)


def is_command_line(sentence: str) -> bool:
    """True for a program with its flags and nothing that makes a sentence of it."""
    program = sentence.removeprefix("$ ").partition(" ")[0] in _PROGRAMS
    if not _PROGRAM.match(sentence) or not (program or _FLAG.search(sentence)):
        return False
    given = sentence.rstrip(".!").split()[1:]
    if any(word.isalpha() and len(word) > 4 and word.endswith("ed") for word in given):
        return False  # "npm token rotated"
    return ": " not in sentence and _SPEAKING.isdisjoint(given)
