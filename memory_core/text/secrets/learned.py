"""Secrets that no rule finds: what a model has learned of the words around them.

The model is a logistic regression over hashed features: the form of a value, the words within six
places of it, and those of its sentence. `tools/train_secrets.py` makes its weights from the lists
of tests/text/data. Only what holds a digit, or a sign within letters, is a candidate, and whatever
its form tells to be a time, a price, a version or the like is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import Span, is_placeholder, is_reference
from memory_core.text.words import listed

WEIGHTS = Path(__file__).parent / "data" / "learned.bin"
"""A line with the digest of what it was made from and the largest weight; then a byte a bucket."""
BUCKETS = 1 << 16
LEAST = -0.5
"""The sum of weights from which a candidate is a secret."""
SEEN, WEIGHED = 1_000, 300
"""Values with a digit or a sign that are looked at in a text, and candidates that are weighed."""
LONGEST = 32
"""Characters of a candidate; what is longer is a token, and rules find those."""
_BEFORE, _BEHIND = 240, 160
"""Characters around a candidate that are looked at."""
_LINE = 200
"""Characters on either side of a candidate that tell whether its line is code."""
_NEAR = 6
"""Words on either side whose places count."""

_ANY = lazy_pattern(r"\d|[^\W\d_][!#$%&*?@^§][^\W_]")
_CHUNK = lazy_pattern(r"[^\s\"“”„‚‘«»()\[\]{}<>,;=|`]+")
_GROUPS = lazy_pattern(
    r"(?<![\w.,/:+-])(?:[0-9]{1,6}(?: [0-9]{2,6}){1,12}|[A-Z0-9]{2,8}(?: [A-Z0-9]{2,8}){1,12})"
    r"(?![\w/:%-]|[.,][0-9])"
)
"""Groups of digits, or of capitals and digits: "32 07 41"."""
_SIGNED = lazy_pattern(r"[^\W\d_][!#$%&*?@^§][^\W_]")
_AHEAD, _AFTER = "'’‘*_~-–—:", "'’‘.:?*_~-–—"


class MaybeSecret(NamedTuple):
    """What may be a secret: its place, itself, and the class of its form."""

    start: int
    end: int
    value: str
    form: str


def found(text: str, low: str) -> Iterator[Span]:
    """The places of learned secrets in *text*, of the kind "secret"; *low* is `folded` of it.

    None where something is masked already: all of that text has been looked at. The time is linear
    in the length; of a long text SEEN values and WEIGHED candidates are looked at, the first ones.
    """
    if "[masked:" in low or not _ANY.search(text):
        return
    for candidate in islice(candidates(text), WEIGHED):
        if not is_ordinary(text, candidate) and weight(features(text, candidate)) >= LEAST:
            yield candidate.start, candidate.end, "secret"


def candidates(text: str) -> Iterator[MaybeSecret]:
    """What in *text* may be a secret by its form and its line, in order."""
    for candidate in islice(_values(text), SEEN):
        if _allowed(text, *candidate[:3]):
            yield candidate


def _values(text: str) -> Iterator[MaybeSecret]:
    """The words of *text* that have the form of one, and groups of digits as one."""
    groups = [match.span() for match in _GROUPS.finditer(text) if _grouped(match.group())]
    groups.append((len(text), len(text)))
    place = done = 0
    for start, end in _chunks(text, 0, len(text)):
        while place + 1 < len(groups) and groups[place][1] <= start:
            place += 1
        if start >= groups[place][0]:
            start, end = groups[place]
        if start < done or not 4 <= end - start <= LONGEST:
            continue
        done = end
        value = text[start:end]
        form = "" if value.isalpha() else _form(value)
        if form:
            yield MaybeSecret(start, end, value, form)


def _grouped(run: str) -> bool:
    """True for groups of which each has a digit, or of digits alone."""
    return all(any(map(str.isdigit, group)) for group in run.split(" "))


def _chunks(text: str, begin: int, finish: int) -> Iterator[tuple[int, int]]:
    """The words of *text* from *begin* to *finish*, without the signs around them, in order."""
    for match in _CHUNK.finditer(text, begin, finish):
        start, end = match.span()
        while start < end and text[start] in _AHEAD:
            start += 1
        while end > start and text[end - 1] in _AFTER:
            end -= 1
        if end - start > 1 and text[end - 1] == "!" and text[start : end - 1].isalpha():
            end -= 1
        if start == end:
            continue
        colon = text.find(":", start, min(end, start + 40))
        if colon > start and text[start:colon].replace("-", "").isalpha():
            if text[colon + 1] == "/":
                continue
            yield start, colon
            start = colon + 1
        if start < end:
            yield start, end


# The form of a candidate

_NONE = lazy_pattern(
    r"(?i)\w{1,20}:/|www\.|[\w-]{1,60}\.[a-z]{2,5}$|[^@\s]{1,64}@[^@\s]{1,64}\.\w"
    r"|[~.]{0,2}[/\\]|[a-z]:\\|[\w.#@-]{0,60}[a-z]{2}[\w.#@-]{0,60}/[\w.]|--?[a-z]"
    r"|[a-z_]{1,60}(?:\.[a-z_]{1,60})+$|[a-z_]\w{0,60}\(|\$env:|\w?:\d+:|[\^~]\d"
    r"|\d{4}-\d\d(?:-\d\d)?(?:T.*)?$|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?$|\d{1,2}/\d{1,2}(?:/\d{2,4})?$"
    r"|\d{1,2}-\d{1,2}-(?:19|20)\d\d$|(?:19|20)\d\d(?:[-/–]\d{2,4}|er|s)?$"
    r"|\d{1,2}[:.h]\d\d(?::\d\d)?(?:am|pm|h|uhr)?$|\d{1,2}[:.]?\d{0,2}[-–]\d{1,2}[:.]\d\d$"
    r"|[$€£]\d[\d.,]*[km]?$|\d[\d.,]*[$€£%°]|\d{1,3}(?:[.,]\d{3})+$|\d+[.,]\d{1,2}$"
    r"|v?\d+(?:\.\d+){1,4}(?:[-+'’].*)?$|#\d+$|[A-Z]{2,6}-\d{1,6}$|\d+[/x×:–]\d+$"
    r"|(?:\+|00)[1-9][\d /-]{8,14}$|0\d{2,5}[ /-]\d{3,}|\+\d"
    r"|(?:0x)?[0-9a-f]{0,20}(?:[0-9][a-f]|[a-f][0-9])[0-9a-f]{4,}$|[0-9a-f]{8}-[0-9a-f]{4}-"
    r"|(?:[0-9a-f]{1,4}:){2}|(?:ctrl|strg|alt|cmd|shift)[+-]|[a-z]{2}_[a-z]{2}\b"
    r"|[\w-]{1,60}\.[a-z]{2,5}(?:#|[:.]\d)|0x|(?:sha|md)\d|MII[A-Z]|AAAA|[*x]{1,3}[:-]"
    r"|[A-Z ]*[0 ]{6,}|\d+\*\*\d+$|0[ob][0-7]+$|\d{1,3}(?:_\d{3})+$"
    r"|(?-i:[a-z]\w{1,40}\.[A-Z][A-Za-z]{2,40}$)"
    r"|[a-z]{1,4}-?[a-z]?\d{1,3}[a-z]?$|\d{1,2}[a-z]{1,3}$|[a-z]+-\d$|[a-z]\+\+|gpt|passw[a-z]{2,4}\d{1,4}$"
    r"|(?:postgres|mysql|redis|node|python|java|php|vue|ubuntu|debian|windows|android|ios)\D{0,8}\d"
    r"|[\w+.-]{1,40}[-_]\d[a-z]?$|[a-z][\w+]{1,40}[-_]v?\d+\.\d+$|(?-i:[A-Z]{2,6}-?\d+(?:-|$))"
    r"|[a-z]{0,2}\d{1,3}[a-z]{0,2}-[^\W\d_]+$|1password|pbkdf2|argon2|ed25519|aes\d|base64|oauth"
    r"|~?\d+(?:[.,]\d+)?-?(?:[kmgt]i?b|m?s|h|min|[kcm]?m|k?g|m?l|k?wh?|v|m?ah?|[kmg]?hz|px|x|th|st"
    r"|nd|rd|er|d|days?|weeks?|months?|years?|yo|[mg]bit|fps|bit|ct|°?c|qm|hp|ps|mg|pm|am|uhr|oz"
    r"|lbs?|ft|in|bar|k|p|k?cal|dpi|mp|eur|euro|chf|usd)[.!]?$"
)
"""Addresses, paths, names of files and of models, dates, times, amounts, versions, telephone
numbers, hashes."""
_CODE = lazy_pattern(
    r"(?im)[{}<\\|`]|\w=\w|==|(?<![-\w])>|>\w|\$[({A-Z]|;$|\w\(|\(\)|::|^[ \t]{0,40}(?:--|#!|//"
    r"|(?:import|def|class|return|curl|export|sudo|docker|git|psql|mysql) |from \w{1,40} import)"
    r"|['\"]\]? ?[:=] ?(?:\d|x\b)|\w_\w{1,30} ?[:=]|[•●]{3}|\*{4}|://"
)
_COUNTS = lazy_pattern(
    r"(?i)\b(?:ral|imei|vin|blz|wkn|isin|ean|isbn|dpi|iso|icd|cpt|ports?|room|zimmer|raum|büro"
    r"|error|status|exit|bug|issue|order|invoice|ticket|serial|customer|booking|reservation|flight"
    r"|zug|train|bus|page|seite|high ?score|score|process|prozess|pid|user|job|models?|typ|type"
    r"|paint|colou?r|shade|zip|plz|postleitzahl|postcode|area code|vorwahl|article|part|policy"
    r"|police|tracking|parcel|reference|ref|contract|version|firmware|build|line|linie|gleis"
    r"|platform|case|az|steps?|schritte|calories|population|einwohner|copies|count|players?|spieler"
    r"|employees|users|chapter|kapitel|rfc|din|norm|gamertag|channel|kanal|exam|course|kurs"
    r"|startnummer|tel|phone|durchwahl|extension|meter|reading|rent|miete|salary|gehalt|price|preis"
    r"|budget|numbers?|nummer|insurance|lottery|notruf|sperrnotruf|endziffern?|ending in|dossier"
    r"|(?:fehler|bestell|auftrag|rechnung|serien|kunden|member|mitglied|buchung|reservierung|flug"
    r"|modell|lack|farb|artikel|ersatzteil|teile|paket|sendung|referenz|vertrag|akten|telefon"
    r"|zähler|versicherung|lotto|pocztow)\w{0,20})\b(?P<between>[^.!?\n]{0,40})$"
)
"""What a number or a code of capitals counts or numbers: "room 4417", "RAL 7016"."""
_AMOUNT = lazy_pattern(
    r"(?i)\s?(?:[€$£%°]|(?:euros?|eur|dollars?|usd|chf|pounds|francs|franken|px|pixels?|km|k?m|kg|g"
    r"|ml|liter|litres?|kwh|watts?|volt|hz|rpm|dpi|words?|wörter|pages?|seiten|steps|schritte"
    r"|people|leute|users|nutzer|rows?|zeilen|lines|files|dateien|photos|fotos|points?|punkte"
    r"|hours|stunden|minutes?|minuten|seconds|sekunden|days|tage|years|jahre|times|mal|uhr|rounds"
    r"|iterations|runden|[ck]ombinat\w{0,6})\b)"
    r"|\s?[ap]m(?=\W{0,3}$)|\s=\s|[^\n]{0,40}\b(?:repo|repository|code ?base|code review)\b"
)
"""What stands behind a number of something: "3500 Euro"."""
_SETTING = lazy_pattern(r"[ \t]{0,20}[\w.-]{1,60}[ \t]?(?:[:=]|[=-]>)[ \t]{0,8}\d{1,20}[ \t]?")
"""A line that gives a number to one name, as settings do; rules find the PINs among them."""
_CLOCK = lazy_pattern(r"(?:[01]\d|2[0-3])[0-5][05]")
_WHEN = lazy_pattern(r"(?i)\b(?:at|to|by|till?|until|from|um|bis|ab|von|gegen)\s$")
NAMED = frozenset(listed("pw pin code lock unlock login wifi backup question spelt"))
"""Of what `names` returns: what a secret is, or has."""
OPENS = ("pw", "pin", "lock", "unlock")
"""Of what `names` returns: what is a secret, or is opened by one."""
_LATIN = 0x250
"""Characters from here on are of other scripts, which have no blanks or no case."""


def _form(value: str) -> str:
    """The class of the form of *value*: n4 for four digits, xs for letters, digits and signs; ""
    for no candidate.
    """
    digits = sum(map(str.isdigit, value))
    if digits == len(value):
        return f"n{digits}" if 4 <= digits <= 6 else ""
    if " " in value:
        if len(value) > 20:
            return ""
        return "gA" if any(map(str.isalpha, value)) else "g"
    letters = sum(map(str.isalpha, value))
    if (not digits and not _SIGNED.search(value)) or (len(value) > 16 and value.isalnum()):
        return ""
    if not letters:
        return "s-" if "-" in value else "s"
    upper, lower = any(map(str.isupper, value)), any(map(str.islower, value))
    form = ("x" if digits else "y") + ("B" if upper and lower else "U" if upper else "l")
    signs = len(value) - letters - digits
    if signs:
        return form + ("-" if signs == value.count("-") else "s")
    return form + ("e" if lower and value.rstrip("0123456789").isalpha() else "")


def _allowed(text: str, start: int, end: int, value: str) -> bool:
    """False for what is known to be something else, and in a line of code."""
    same = len(set(value)) == 1 if value.isdigit() else is_placeholder(value)
    if same or _NONE.match(value) or is_reference(value, code=False):
        return False
    if any(ord(char) >= _LATIN for char in value) or _goes_on(text, start, end):
        return False
    line = _line(text, start, end)
    return not _CODE.search(line.replace(value, "x", 1))


def _line(text: str, start: int, end: int) -> str:
    """The line around *start* and *end*, and of a long one so much as tells what it is."""
    begin = max(text.rfind("\n", max(0, start - _LINE), start) + 1, start - _LINE, 0)
    finish = text.find("\n", end, end + _LINE)
    return text[begin : finish if finish >= 0 else end + _LINE]


def is_ordinary(text: str, candidate: MaybeSecret) -> bool:
    """Whether no word near *candidate* names a secret, or one says that it counts something."""
    start, end, value, _ = candidate
    ahead, behind = _around(text, candidate)
    if not any(word.kind in NAMED for word in (*ahead, *behind)):
        return True
    if any(map(str.islower, value)):
        return False
    if _AMOUNT.match(text, end) or _SETTING.fullmatch(_line(text, start, end)):
        return True
    if _CLOCK.fullmatch(value) and _WHEN.search(text[max(0, start - 10) : start]):
        return True
    counted = _COUNTS.search(text[max(0, start - 60) : start])
    if counted is None:
        return False
    return not any(names(word.lower()) in OPENS for word in counted["between"].split())


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether a number has more digits behind a comma, on either side: "1,290"."""
    return (text[start - 1 : start] == "," and text[max(0, start - 2) : start - 1].isdigit()) or (
        text[end : end + 1] == "," and text[end + 1 : end + 2].isdigit()
    )


# Features

_NAMES = tuple(
    (stem, kind)
    for kind, stems in {
        "pw": "passw kennw pwd passphr passwd pswd pasw losungsw parole codew pw pws pass psswd"
        " wachtw contrase clave mdp passe senha hasło hasłem lösenord adgangsk heslo jelsz"
        " şifre парол palavra login creds credential",
        "pin": "pincode pin puk geheimz geheimn passcode zahlencode",
        "code": "code kode kod kodlås ziffer digits kombi combin zahlen otp tan codice código"
        " codigo szyfr digicode код",
        "lock": "schloss schlüssel lock safe tresor koffer suitcase keybox alarm tor garage gate"
        " door tür spind riegel keypad panel candado lucchetto cadenas cancello portone coffre"
        " kluis slot sejf",
        "unlock": "entsperr unlock öffne",
        "login": "log anmeld einlog zugang zugäng account konto user nutzer"
        " signin sign portal identifi usuario gebruiker usuário",
        "wifi": "wifi wlan wi-fi ssid router netzwerk hotspot vpn fritz",
        "token": "token secret key api licen lizenz serial",
        "backup": "recovery backup wiederherst seed phrase wallet mnemonic ledger",
        "question": "question frage maiden mädchenname pet haustier",
        "id": "iban ssn social steuer ausweis passport reisepass versichert member insurance"
        " krankenkasse tax nhs führerschein",
        "card": "card karte kredit visa cvv cvc prüfz bank bic sort",
        "device": "paypal netflix amazon gmail google apple icloud laptop tablet phone handy pc"
        " rechner nas printer drucker server admin root zip",
        "spelt": "buchstabier spell capital großes underscore unterstrich lowercase uppercase"
        " kleingeschrieben",
    }.items()
    for stem in stems.split()
)


@lru_cache(maxsize=4096)
def names(word: str) -> str:
    """What kind of secret, or of what has one, *word* names; "" for none."""
    for stem, kind in _NAMES:
        if len(stem) > 4:
            if stem in word:
                return kind
        elif (
            word.removesuffix("s") == stem
            or word.startswith(f"{stem}-")
            or word.endswith(stem if len(stem) == 4 else f"-{stem}")
        ):
            return kind
    return ""


class _Word(NamedTuple):
    """A word near a candidate; of one with digits only its form."""

    low: str
    kind: str
    apart: bool
    """Whether a sentence ends between it and the candidate."""


def _word(text: str, start: int, end: int, apart: bool) -> _Word:
    low = text[start : min(end, start + 40)].lower()
    if any(map(str.isdigit, low)):
        return _Word("#" + _runs(_shape(low))[:8], "", apart)
    return _Word(low, names(low), apart)


def _around(text: str, candidate: MaybeSecret) -> tuple[list[_Word], list[_Word]]:
    """The words ahead of *candidate* and those behind it, the nearest first."""
    ahead: list[_Word] = []
    last = candidate.start
    apart = False
    begin = max(0, candidate.start - _BEFORE)
    for start, end in reversed([*_chunks(text, begin, candidate.start)]):
        apart = apart or _ends(text[end:last])
        ahead.append(_word(text, start, end, apart))
        last = start
    behind: list[_Word] = []
    last, apart = candidate.end, False
    for start, end in _chunks(text, candidate.end, candidate.end + _BEHIND):
        apart = apart or _ends(text[last:start])
        behind.append(_word(text, start, end, apart))
        last = end
    return ahead, behind


def _ends(between: str) -> bool:
    """Whether a sentence ends in what stands *between* two words."""
    return any(sign in between for sign in (". ", "! ", "? ", "\n"))


def _shape(value: str) -> str:
    return "".join(
        "0" if char.isdigit() else "A" if char.isupper() else "a" if char.isalpha() else char
        for char in value[:40]
    )


def _runs(shape: str) -> str:
    """*shape* with each run of one sign as one."""
    return "".join(
        char for place, char in enumerate(shape) if not place or shape[place - 1] != char
    )


def features(text: str, candidate: MaybeSecret) -> set[int]:
    """The buckets of what is seen of *candidate* in *text*, each from 0 up to BUCKETS."""
    return {
        crc32(each.encode("utf-8", "surrogatepass")) % BUCKETS
        for each in _features(text, candidate)
    }


def _features(text: str, candidate: MaybeSecret) -> Iterator[str]:
    """What is seen, in words: its form, the signs beside it, and the words around it."""
    start, end, value, form = candidate
    kind = "D" if form[0] in "ngs" and form != "gA" else "M"
    shape = _shape(value)
    yield from ("", f"K{form}", f"c{_runs(shape)[:12]}", f"n{shape[:16]}")
    yield from (f"l{min(len(value), 24)}", f"Kl{form}{min(len(value), 20)}")
    yield from (f"p{text[max(0, start - 2) : start]}", f"x{text[end : end + 2]}")
    yield from (f"p1{text[start - 1 : start]}{kind}", f"x1{text[end : end + 1]}{kind}")
    if value[-1] in "!#*":
        yield f"e{value[-1]}"
    ahead, behind = _around(text, candidate)
    yield f"s{not ahead or ahead[0].apart}{not behind or behind[0].apart}{kind}"
    sentence: set[str] = set()
    named: set[str] = set()
    every: set[str] = set()
    for side, words in (("L", ahead), ("R", behind)):
        for far, word in enumerate(words, 1):
            if far <= _NEAR:
                yield from _near(side, far, word, form, kind)
            if not word.apart:
                sentence.add(word.low[:6])
                named.add(word.kind)
            every.add(word.kind)
        if len(words) > 1:
            yield f"{side}2{words[1].low} {words[0].low}"
            yield f"{side}3{words[1].low[:6]} {words[0].low[:6]}{kind}"
        elif words:
            yield f"{side}4{words[0].low}"
    for prefix in sentence:
        yield from (f"S{prefix}", f"SC{prefix}{kind}")
    named.discard("")
    every.discard("")
    for name in named or {"-"}:
        yield from (f"SN{name}{form}", f"Sn{name}{kind}")
    for name in every or {"-"}:
        yield f"TN{name}{kind}"


def _near(side: str, far: int, word: _Word, form: str, kind: str) -> Iterator[str]:
    """What is seen of a *word* that stands so *far* on one *side*."""
    step = far if far < 3 else 3 if far < 5 else 5
    where = f"{side}{step}{'x' if word.apart else ''}"
    yield f"{where}{word.low}"
    if word.low[0] != "#":
        yield f"{where}p{word.low[:5]}"
        if len(word.low) > 5:
            yield f"{where}s{word.low[-5:]}"
    if far < 3:
        yield f"{where}k{word.low[:7]}{kind}"
    if word.kind:
        yield from (f"{where}N{word.kind}{form}", f"{side}N{word.kind}{kind}")


# Weights


def weight(buckets: set[int]) -> float:
    """The sum of the weights of *buckets*; from LEAST on it is a secret."""
    levels, weights = _weights()
    return sum(levels[weights[bucket]] for bucket in buckets)


@cache
def _weights() -> tuple[tuple[float, ...], bytes]:
    """The weight of each byte, and the byte of each bucket. Read at the first candidate."""
    head, _, stored = WEIGHTS.read_bytes().partition(b"\n")
    return levels(float(head.split()[1])), stored


def levels(largest: float) -> tuple[float, ...]:
    """The weights that a byte stands for, up to *largest*: close together near 0."""
    steps = [byte - 256 if byte > 127 else byte for byte in range(256)]
    return tuple((1 if step > 0 else -1) * (step / 127) ** 2 * largest for step in steps)
