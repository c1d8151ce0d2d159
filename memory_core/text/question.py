"""What kind of answer a question wants: help with something, or what the assistant said."""

from __future__ import annotations

import re

_HELP = re.compile(
    r"\bhow (?:do|can|should|could|might|would) (?:i|we|you|one)\b"
    r"|^(?:(?:hi|hey|hello|ok|okay|please)[,! ]+)?(?:can|could|would|will) you (?:please )?(?:help"
    r"|show|explain|walk|guide|teach|write|suggest|recommend|make|create|draft"
    r"|give (?:me|us) (?:some|a few|an? (?:example|idea|tip|hint)))\b"
    r"|\b(?:would|do|can|could) you (?:suggest|recommend|advise)\b"
    r"|\b(?:what|which)\b.{1,60}\b(?:should|can|could) (?:i|we)\b"
    r"|\bwhat are (?:some|the (?:best|different|common|main|typical|usual|various|possible))\b"
    r"|\bwhat is the best\b|\bi(?:['\u2019]?m| am) (?:planning|looking|trying|hoping) to\b"
    r"|\bwie (?:kann|könnte|soll|sollte|mache|schreibe) (?:ich|man)\b|\bwie (?:können|sollen) wir\b"
    r"|^(?:kannst|könntest|würdest) du (?:mir|uns|bitte)\b",
    re.IGNORECASE,
)
_LOOKS_BACK = re.compile(
    r"\b(?:did|have|had) (?:i|you|we)\b|\bi(?:['\u2019]ve)? (?:mentioned|said|told)\b|\bso far\b"
    r"|\bour (?:conversations?|discussions?|chats?)\b|\bsummar|\border in which\b"
    r"|\b(?:habe|hatte) ich\b|\bbisher\b|\bzusammenfass",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"\b(?:did|have|had|were) you\b.{0,30}\b(?:recommend|suggest|advis|propos|explain|say\b|said\b"
    r"|tell\b|told\b|describ|outlin|mention|provid|give\b|gave\b|given\b|show|list)"
    r"|\b(?:hast|hattest) du\b.{0,60}\b(?:empfohlen|vorgeschlagen|geraten|erklärt|gesagt"
    r"|genannt)\b",
    re.IGNORECASE,
)


def asks_for_help(query: str) -> bool:
    """True when *query* asks how to do something, not for what was said or done before.

    In English or German. What the user always wants ("always show units") is part of the answer.
    """
    return _HELP.search(query) is not None and _LOOKS_BACK.search(query) is None


def asks_what_was_answered(query: str) -> bool:
    """True when *query* asks what the assistant said ("What did you recommend?")."""
    return _ANSWERED.search(query) is not None
