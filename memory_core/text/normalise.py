"""Normal forms of a text: repaired surrogates, blankness, the form that tombstones hash."""

from __future__ import annotations

import re
import unicodedata

from memory_core.records import MASKED
from memory_core.text.invisible import INVISIBLE
from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.entities import entities
from memory_core.text.passages import sentences

_PAIR = lazy_pattern("([\ud800-\udbff])([\udc00-\udfff])")
_LONE = lazy_pattern("[\ud800-\udfff]")
_ACCENTS = lazy_pattern("[\u0300-\u036f]")
_LOOK_ALIKES = str.maketrans(
    {
        **dict(zip("авекмнорстухіјѕӏһԁԛԝѵ", "abekmhopctyxijslhdqwv", strict=True)),
        **dict(zip("αβεηικνορτυχϲ", "abehikvoptuxc", strict=True)),
        **dict(zip("ıłøđħŧɡɑ", "ilodhtga", strict=True)),
        **dict(zip("ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdeghijklmnoprstuvwyz", strict=True)),
        **dict(zip("օսոհց", "ounhg", strict=True)),
        **dict(zip("ꭺᏼꮯꭰꭼꮋꭻꮶꮮꮇꮲꭱꮪꭲꮩꮃꮓ", "abcdehjklmprstvwz", strict=True)),
        **dict(zip("ᎪᏴᏟᎠᎬᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "abcdehjklmprstvwz", strict=True)),
        "æ": "ae",
        "œ": "oe",
    }
)
_GREEK_CAPITALS = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx")
_WORD = lazy_pattern(r"[^\W\d_]+")
_GREEK_CAPITAL = lazy_pattern("[Α-Ω]")


def clean(text: str) -> tuple[str, list[str]]:
    """*text* as storable Unicode, and a warning for each kind of repair.

    Pairs of surrogates become the character they mean; lone ones become U+FFFD with a warning.
    Everything else stays as it is.
    """
    if text.isascii() or not _LONE.search(text):
        return text, []
    joined = _PAIR.sub(_from_pair, text)
    repaired, count = _LONE.subn("\ufffd", joined)
    if not count:
        return repaired, []
    return repaired, [f"{count} lone surrogate{'s' * (count > 1)} replaced by U+FFFD"]


def _from_pair(match: re.Match[str]) -> str:
    high, low = match.groups()
    return chr(0x10000 + (ord(high) - 0xD800 << 10) + ord(low) - 0xDC00)


def is_blank(text: str) -> bool:
    """True when *text* has no visible character.

    White space, control characters, zero-width and bidirectional marks, variation selectors, tag
    characters and the blank fillers of Hangul and Braille do not count.
    """
    return not INVISIBLE.sub("", text).strip()


def undisguised(text: str) -> tuple[str, list[int] | None]:
    """*text* without invisible characters, its look-alikes of Latin letters as these, lower case.

    And the place in *text* of each character; None where nothing was disguised.
    """
    if text.isascii():
        return text, None
    pairs = [
        (plain, place)
        for place, char in enumerate(text)
        if not INVISIBLE.match(char)
        for plain in (_latin(char),)
    ]
    seen = "".join(plain for plain, _ in pairs)
    return seen, None if seen == text else [place for _, place in pairs]


def _latin(char: str) -> str:
    """The one Latin letter that *char* looks like, else *char*."""
    if char.isascii() or char in "äöüÄÖÜß":
        return char
    seen = unicodedata.normalize("NFKC", char).translate(_GREEK_CAPITALS)
    for form in (seen, seen.lower()):
        plain = form.translate(_LOOK_ALIKES)
        if len(plain) == 1 and plain.isascii():
            return plain
    return char


def forgetting_form(text: str) -> str:
    """*text* up to disguise: the normal form whose keyed hash is a tombstone.

    Compatibility forms, case, accents, invisible characters, the digits of any script, look-alikes
    of Latin letters (Cyrillic, Greek, Armenian, Cherokee, small capitals), white space and
    punctuation make no difference; digits, a sign before a digit, words, their order and
    symbols do. Applying it twice changes nothing. "" only for a text without any visible
    character; a text of punctuation alone keeps it.
    """
    seen = _folded(_folded(INVISIBLE.sub("", text)))
    kept = [char if _is_kept(seen, place, char) else " " for place, char in enumerate(seen)]
    words = "".join(kept).split() or seen.split()
    return " ".join(words) or INVISIBLE.sub("", text).strip()


def _undisguised(match: re.Match[str]) -> str:
    """A word that mixes Greek capitals with other letters, in Latin; a Greek word stays Greek."""
    word = match.group()
    mixed = _GREEK_CAPITAL.search(word) and any(not "\u0370" <= char <= "\u03ff" for char in word)
    return word.translate(_GREEK_CAPITALS) if mixed else word


def _digit(char: str) -> str:
    """A decimal digit of any script as 0 to 9."""
    return str(unicodedata.decimal(char)) if char.isdecimal() else char


def _folded(text: str) -> str:
    if not text.isascii():
        text = "".join(map(_digit, _WORD.sub(_undisguised, unicodedata.normalize("NFC", text))))
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", plain.translate(_LOOK_ALIKES)))
    return INVISIBLE.sub("", unicodedata.normalize("NFC", plain))


def _is_kept(text: str, place: int, char: str) -> bool:
    if char.isalnum():
        return True
    if char in "-−":
        after = text[place + 1 : place + 2]
        before = text[place - 1 : place] if place else ""
        return after.isdigit() and not before.isalnum()
    return unicodedata.category(char)[0] in "SM"


def telling_sentences(text: str) -> list[str]:
    """The sentences of *text* that hold a name, a number or a masked secret, in order, each once.

    Each gets a tombstone of its own when the text is forgotten.
    """
    return list(
        dict.fromkeys(
            sentence
            for sentence in sentences(text)
            if any(char.isdigit() for char in sentence) or MASKED in sentence or entities(sentence)
        )
    )
