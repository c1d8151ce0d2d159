"""Numbers and words of a person that open accounts: cards, IBANs, PINs, seed phrases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import Rule, Span, is_numbered
from memory_core.text.words import STOPWORDS

_CARD = Rule(
    "2|3|4|5|6",
    r"(?<![A-Za-z0-9_.,/:+-])(?:[2-6][0-9]{3}(?:([ -]?)[0-9]{4}"
    r"(?:\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|\1?[0-9]{7}|[0-9]{2}\1[0-9]{4,5})))(?![\w/-]|[.,][0-9])"
    r"|(?<=[,;\t|:\"'])(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|6011)(?:[0-9]{12}"
    r"|(?:[ -][0-9]{4}){3})(?=[,;\t|\"'\n]|$)",
)
_ISSUERS = lazy_pattern(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})$|(?:5[1-5]|2[2-7])[0-9]{14}$|3[47][0-9]{13}$"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}$|6(?:011|4[4-9][0-9]|5[0-9]{2})[0-9]{12,15}$"
    r"|35[0-9]{14}$|(?:5[06-9]|6[0-9])[0-9]{11,17}$"
)
"""First digits and lengths of Visa, Mastercard, Amex, Diners, Discover, JCB and Maestro."""

_IBAN = Rule(
    "0|1|2|3|4|5|6|7|8|9",
    r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{1,4}){3,9}"
    r"|(?i:(?<=iban )|(?<=iban: ))[a-z]{2}[0-9]{2}(?:[ -]?[a-z0-9]{1,4}){3,9}",
)
_IBAN_CHARS = {
    country: int(length)
    for length, countries in {
        "15": "NO", "16": "BE", "18": "DK FI FO GL NL SD", "19": "MK SI", "20": "AT BA EE KZ LT LU",
        "21": "CH HR LI LV", "22": "BG BH CR DE GB GE IE ME RS VA", "23": "AE GI IL IQ OM TL",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG", "25": "LY PT ST", "26": "IS TR",
        "27": "BI DJ FR GR IT MC MR SM", "28": "AL AZ BY CY DO GT HU LB NI PL SV",
        "29": "BR EG PS QA UA", "30": "JO KW MU YE", "31": "MT SC", "32": "LC", "33": "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip
"""Characters of an IBAN by country (registry of SWIFT)."""

_SOCIAL = Rule(
    "ssn|soc|sécu|nir|ni number|ni no|social security|versicherungsnummer|sv-nummer"
    "|national insurance"
    "|steuer",
    r"(?i)(?:(?:\bSSN|(?-i:(?<=[a-z])SSN)|\bsocial\b|soc\.? ?sec\.?)[^\n\d]{0,30}"
    r"(?P<value>[0-9]{3}(?P<sign>[- ]?)[0-9]{2}(?P=sign)[0-9]{4})"
    r"|(?:versicherungsnummer|sv-nummer)[^\n\d]{0,30}"
    r"(?P<german>[0-9]{2}[ ]?[0-9]{6}[ ]?[A-Z][ ]?[0-9]{3})"
    r"|(?:national insurance|\bNI (?:number|no))[^\n\d:=]{0,30}[:=\s]\s?"
    r"(?P<british>[A-Z]{2}(?:[ ]?[0-9]{2}){3}[ ]?[A-D])"
    r"|(?:sécu(?:rité sociale)?|\bNIR)\b[^\n\d]{0,30}"
    r"(?P<french>[12](?:[ ]?[0-9]{2}){2}[ ]?[0-9][0-9AB](?:[ ]?[0-9]{3}){2}[ ]?[0-9]{2})"
    r"|(?:steuer(?:liche)?[ -]?(?:id|identifikations)[a-z-]{0,8})[^\n\d]{0,30}"
    r"(?P<tax>[0-9]{2}(?:[ ]?[0-9]{3}){3}))(?!\w)",
)
_NATIONAL = Rule(
    "dni|nif|nie|pesel|personnummer|bsn|burgerservice|0|1|2|3|4|5|6|7|8|9",
    r"(?i)(?<![\w.-])(?:(?:DNI|NI[EF])\b[^\n\d]{0,30}?\b(?P<spanish>[XYZ]?[0-9]{7,8}[- ]?[A-Z])"
    r"|PESEL\b[^\n\d]{0,30}(?P<polish>[0-9]{11})"
    r"|personnummer\b[^\n\d]{0,30}(?P<swedish>(?:[0-9]{2})?[0-9]{6}[-+]?[0-9]{4})"
    r"|(?:BSN|burgerservicenummer)\b[^\n\d]{0,30}(?P<dutch>[0-9]{9})"
    r"|(?P<brazilian>[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2})"
    r"|(?P<italian>(?-i:[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z])))(?![\w-])",
)
"""Numbers that a state gives a person: with a check digit, or of a form that nothing else has."""
_PIN = Rule(
    "pin|tan|cvv|cvc|puk|code|kod|geheimzahl|prüfnummer|prüfziffer",
    r"(?i)(?<![a-z])(?:"
    r"(?:(?:PIN|TAN)(?:[ -](?:code|nummer|number))?|CVV2?|CVC2?|PUK"
    r"|geheimzahl|prüf(?:nummer|ziffer)|(?P<code>(?:security|unlock|access|door|entry|gate|garage"
    r"|alarm|(?:pad)?lock|(?:lock|key)box"
    r"|safe|screen|verification|confirmation|login|one-time|sms)[ -]code"
    r"|(?:sicherheits|zugangs|zugriffs|[a-zäöü]{0,10}tür|(?:garten|garagen|hof)?tor|garagen"
    r"|keller|haus|eingangs|büro|tresor|safe|entsperr|bestätigungs|alarm|freigabe|abhol"
    r"|schließfach|pack|master|deur|poort|kluis|slot)code|(?:port|dörr|grind|lås|alarm)kod(?:en)?"
    r"|dørkoden?"
    r"|(?:SMS|push|chip|photo|mobile|[em])[ -]?TAN))"
    r"\)?(?P<about>(?:\s(?:for|of|to|on|for|at|in|für|fürs|der|des|von|vom|zum|zur|auf|im|am|beim"
    r"|meiner|my)[^\n\d:=]{1,40}?)?)"
    r"\)?[\"']?\s{0,2}(?::|=|\b(?:is|ist|lautet|är|er)\b|(?(code)\s|(?!)))"
    r"|(?:PIN|TAN)-(?:code|nummer|number)\s?"
    r"|(?:CVV2?|CVC2?|PUK)\b[\"')]?(?:\s?(?::|=|is\b|ist\b|lautet\b))?)"
    r"\s{0,3}[\"'`]?(?P<value>[0-9]{3,10}|[0-9](?:[ -][0-9]){3,9}"
    r"|(?(code)[0-9]{2}(?:[ -][0-9]{2}){1,3}|(?!)))"
    r"(?![\w-]|[.,:][0-9]|\s(?:characters|digits|Stellen))",
)
_SEED = Rule(
    "phrase|words|wörter|seed|mnemonic|bip|ledger|trezor|metamask|electrum|wallet",
    r"(?i)(?:(?:seed|recovery|backup|mnemonic|wallet)[ -]?(?:phrase|words|seed)|mnemonic|BIP-?39"
    r"(?: (?:words|phrase|seed|mnemonic))?|\b(?:seed|ledger|trezor|metamask|electrum|wallet)\b"
    r"[^\n.:=]{0,30})\s?(?:is|are|ist|sind|lautet|lauten|:|=|\n)\s{0,3}[\[\"'`]{0,2}"
    r"(?P<value>(?:[0-9]{1,2}[.):][ ]?)?[a-z]{3,8}"
    r"(?:(?:[ ,\n]{1,2}|[\"'],[ ]?[\"'])(?:[0-9]{1,2}[.):][ ]?)?[a-z]{3,8}){11,23})(?![a-z])",
)
_SEED_WORDS = (12, 15, 18, 21, 24)


def found(text: str, low: str) -> Iterator[Span]:
    """The places in *text* of card numbers and IBANs with valid check digits, and of social
    security numbers, PINs, security codes and seed phrases beside their names.

    *low* is `folded` of it.
    """
    for match in _CARD.found(text, low):
        before = text[max(0, match.start() - 8) : match.start()].rstrip(" :#").upper()
        if not before.endswith("IMEI") and _is_card(match.group()):
            yield (*match.span(), "card_number")
    for match in _IBAN.found(text, low):
        if end := _end_of_iban(match.group().upper()):
            yield match.start(), match.start() + end, "iban"
    for match in _SOCIAL.found(text, low):
        given = next(
            name for name in ("value", "german", "british", "french", "tax") if match[name]
        )
        yield (*match.span(given), "social_security")
    for match in _NATIONAL.found(text, low):
        kind = match.lastgroup or ""
        if _CHECKED[kind]("".join(filter(str.isalnum, match[kind].upper()))):
            yield (*match.span(kind), "social_security")
    for match in _PIN.found(text, low):
        if not is_numbered(text[match.start() : match.start("value")]):
            yield (*match.span("value"), "pin")
    for match in _SEED.found(text, low):
        words = re.findall("[a-z]+", match["value"].lower())
        common = sum(word in STOPWORDS for word in words)  # of a sentence two in five
        if len(words) in _SEED_WORDS and 5 * common < len(words):
            yield (*match.span("value"), "seed_phrase")


def _spanish(number: str) -> bool:
    digits = number.translate(str.maketrans("XYZ", "012"))[:-1]
    return digits.isdigit() and number[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23]


def _weighed(number: str, weights: Iterable[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(number, weights, strict=False))


def _brazilian(number: str) -> bool:
    checks = (_weighed(number, range(most, 1, -1)) * 10 % 11 % 10 for most in (10, 11))
    return [*map(str, checks)] == [*number[-2:]] and len(set(number)) > 1


_CHECKED: dict[str, Callable[[str], bool]] = {
    "spanish": _spanish,
    "polish": lambda number: _weighed(number, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0,
    "swedish": lambda number: _luhn(number[-10:]),
    "dutch": lambda number: _weighed(number, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0,
    "brazilian": _brazilian,
    "italian": lambda _: True,
}


def _is_card(text: str) -> bool:
    digits = "".join(char for char in text if char.isdigit())
    return bool(_ISSUERS.match(digits)) and len(set(digits)) > 1 and _luhn(digits)


def _luhn(text: str) -> bool:
    digits = [int(char) for char in text]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _end_of_iban(written: str) -> int:
    """The characters that the IBAN at the beginning of *written* takes; 0 for none."""
    wanted = _IBAN_CHARS.get(written[:2], 0)
    places = [place for place, char in enumerate(written) if char.isalnum()]
    if not wanted or len(places) < wanted:
        return 0
    end = places[wanted - 1] + 1
    if end < len(written) and written[end].isalnum():
        return 0
    bare = "".join(char for char in written[:end] if char.isalnum())
    number = "".join(str(int(char, 36)) for char in bare[4:] + bare[:4])
    return end if int(number) % 97 == 1 else 0
