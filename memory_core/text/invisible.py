"""Characters that hide text or steer its display, and the text without them."""

from __future__ import annotations

import re

from memory_core.text.lazy_pattern import lazy_pattern

INVISIBLE = lazy_pattern(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Everything that shows nothing: control characters but line ends and tabs, zero-width and
bidirectional marks, variation selectors, tag characters, fillers."""

_PICTURES = "\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"
_JOINED = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af"
_FLAG = "\U0001f3f4\U000e0067\U000e0062(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(c)) for c in name) for name in ("eng", "sct", "wls"))
)
_HIDING = lazy_pattern(
    f"(?P<kept>{_FLAG}"
    f"|(?<=[#*0-9\xa9\xae\u203c\u2049\u2122\u2139\u3030\u303d\u3297\u3299{_PICTURES}])[\ufe0e\ufe0f]"
    f"|(?<=[\ufe0f{_PICTURES}])\u200d(?=[{_PICTURES}])"
    f"|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}]))"
    f"|(?P<blank>\u2800)|(?P<line>\x85)|{INVISIBLE.pattern}"
)


def visible(text: str) -> str:
    """*text* without what hides text or steers its display, in every channel the same.

    Removed are control characters, zero-width and bidirectional marks, tag characters, variation
    selectors, soft hyphens, annotation marks and the fillers of Hangul. A blank of Braille becomes
    a space, and U+0085, which ends a line, the line end that every program knows. What is part of
    writing stays: the selector behind an emoji, the joiner between two, the flags of England,
    Scotland and Wales, and joiners between letters of scripts that join (Arabic, Indic, Myanmar,
    Khmer, Mongolian). Line ends and tabs stay.
    """
    return _HIDING.sub(_unhidden, text)


def _unhidden(match: re.Match[str]) -> str:
    return match["kept"] or (" " if match["blank"] else "\n" if match["line"] else "")
