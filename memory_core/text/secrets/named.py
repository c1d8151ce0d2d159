"""Passwords and tokens that go by the name in front of them, in settings, code and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets import columns, configured, phrases, series
from memory_core.text.secrets.remarks import (
    KINDLY,
    NAME_OF_PASSWORD,
    PREDICATES,
    REMARKS,
    TOPIC,
    WORDS_OF_NAMES,
    bare_word,
    is_listed,
    is_predicate,
    led,
)
from memory_core.text.secrets.spans import (
    Rule,
    Span,
    is_odd,
    is_placeholder,
    is_random,
    is_reference,
)
from memory_core.text.words import listed

_KEYS = (
    "secret|token|credential|_key|-key|ikey|pkey|skey|ekey|tkey|nkey|hkey|gkey|rkey|kkey|api key"
    "|app key|application key"
    "|access key|private key|encryption key|auth key|signing key|master key|account key|service key"
    "|shared key|symmetric key|host key|dkey|ckey"
)
_ASIDE = (
    r"(?:(?:right |just |by |for |until |ab |bis |von )?(?:now|jetzt)|nun|just|simply|einfach"
    r"|literally|probably|wohl|vermutlich|angeblich|supposedly|apparently|I think|I guess"
    r"|glaub(?:e ich)?|always|immer|all|ganz|früher(?: mal)?|mal|formerly|once|damals"
    r"|then|dann|still|(?:immer )?noch|again|wieder|currently|at the moment|momentan|aktuell"
    r"|derzeit|zurzeit|gerade|actually|eigentlich|by the way|btw|übrigens|nach wie vor|as of"
    r"|(?:seit |since |ab )?(?:today|tonight|yesterday|heute|gestern|vorhin"
    r"|(?:last|this|letzte[nr]?|diese[nr]?) \w{3,9}))"
)
"""What a sentence says of the time or by the way, before a value or behind it."""
_IS = (
    r"(?:used to be|(?:might|could) (?:only )?be|being|müsste|könnte|dürfte"
    r"|bleibt|remains|stays"
    r"|(?:(?:was|is|has been|have been|got|gets|been|wurde|wird|werden)\s)?"
    r"(?:re)?(?:set|changed|switched)\s(?:back\s)?to|(?:zurück)?gesetzt auf|geändert auf"
    r"|(?:lautet|ist) wie folgt|is (?:as follows|the following)|would be|will be|is|was|ist|war"
    r"|wäre|sei|lautet|heißt|heisst|to|auf|es|c['’]est|est|è|é|är|er|jest|on)"
    rf"(?:\s{{1,3}}|\s?:\s{{0,3}}|,\s)(?:{_ASIDE},?\s){{0,2}}|['’]s\s{{1,3}}|(?:は|是)\s{{0,3}}"
)
_VALUE = r"(?P<value>(?!\[masked:)[^\s\"'`“”„「」『』<>,;、。\u3041-\u30ff]{4,128})"

_PASSWORD = led(
    rf"(?P<quoted>\\?[\"'`]\]?)?(?:(?P<topic>{TOPIC})"
    r"(?P<set>(?:\s{0,3}|[ ]{4,20})(?::?=(?![=>])|[:：](?!:)\*{0,2}|::(?=[ ])"
    r"|=>)(?:\s{0,3}[|>][+-]?\s*\n)?\s{0,3}(?:!!?str\s)?)"
    rf"|(?P<said>{TOPIC}(?:\s{{1,3}}|(?=[は是'’]))(?P<verb>{_IS}))"
    r"|(?P<bare>[ \t]{1,3}))"
    rf"(?P<open>\\?[\"'`“„「『])?{_VALUE}",
)
_ABOUT = led(
    r"[ ](?P<about>(?:[\w.'’-]{2,20}[ ]?){1,3})[:=]\s"
    rf"{_VALUE}(?=[.!]?[ \t]{{0,9}}(?:\n|$|,\s))",
)
"""A line of notes that says what the password is of: "Passwort Ferienwohnung: ..."."""
_CHANGED = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\b(?:set|sets|chang(?:e|ed|ing)|reset|rotated?|updated?|switch(?:ed)?)\b[^.\n]{{0,40}}?"
    rf"\b{NAME_OF_PASSWORD}\b{TOPIC}(?:\s{{1,3}}from\s{{1,3}}[\"'`]?(?P<old>[^\s\"'`,;]{{4,128}})"
    rf"[\"'`]?)?\s{{1,3}}to\s{{1,3}}[\"'`]?{_VALUE}",
)
_TOLD_LATER = led(
    rf"(?![a-z])[^\n]{{0,60}}?(?:[;,?!.–—-]\s|\()"
    r"(?:(?:I\s(?:think|guess)|ich\sglaube?,?)\s)?(?:(?:the\s)?new\sone\sis|it['’]?s(?:\snow)?"
    r"|it\swas|es\swar|(?:i|ich)\s(?:type|typed|enter"
    r"|entered|use|used|tippe|nehme)|it\sis(?:\snow)?|now\sit['’]?s"
    r"|jetzt\s(?:heißt|ist|lautet)\ses|(?:das\s)?neue\s(?:ist|lautet|heißt)|es\s(?:ist|lautet"
    r"|heißt)|ab\s(?:heute|jetzt|sofort)(?:\sist es|\sgilt)?|from\snow\son(?:\sit['’]?s)?)\s"
    rf"[\"'`„“]?{_VALUE}",
)
"""A value in the sentence or clause after the one that names the password."""
_ASKED_FOR = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\b(?:asked|wanted|need|needed|looking|gefragt|wolltest"
    rf"|brauchst)\b[^\n.?!]{{0,40}}?{NAME_OF_PASSWORD}"
    rf"{TOPIC}[.!?:,;]\s(?:(?:it|that)(?:['’]s|\sis)|here\s(?:it\sis|you\sgo):?"
    rf"|hier(?:\sist\ses)?:|(?:es|das)\s(?:ist"
    rf"|lautet))\s[\"'`„“]?{_VALUE}",
)
"""The answer to somebody who asked for one: a word too."""
_ANSWER = led(
    rf"{TOPIC}\?[\"”“]?\s?(?:[–—-]\s)?[\"“„](?P<value>[^\s\"“”]{{4,64}})[\"”“]",
)
"""A question and its answer, both in quotation marks."""
_PUT_TO = led(
    rf"{TOPIC}\s(?:[\w]{{1,12}}\s){{0,3}}auf\s[\"'„]?{_VALUE}[\"'“]?\s"
    r"(?:zurück)?(?:geändert|gesetzt|gewechselt|umgestellt|geändert)\b",
)
"""What a German sentence says with its verb at the end."""
_GIVEN = Rule(
    "pass|kennwort|parole",
    rf"(?i)\b(?:with|and)\s(?:the\s)?(?:password|passphrase|passcode)\s{{1,3}}[\"'`]?{_VALUE}"
    rf"|\b(?:mit|und)\s(?:dem\s|der\s|das\s)?(?:passwort|kennwort"
    rf"|parole)\s{{1,3}}[\"'„]?(?P<german>[^\s\"'`“„<>,;]{{4,128}})",
)
_NAMED_AFTER = Rule(
    WORDS_OF_NAMES,
    r"(?i)(?<![\w.@/-])(?P<value>[^\s\"'`“”„<>,;:()]{5,64})[\"'`“”]?"
    r"(?:\s(?:is|was|ist|war|als|comme|como|come|som|jako)\s|\s?(?:<-+|←)\s?(?:(?:that['’]?s"
    r"|das ist)\s)?|\s[–—-]\s"
    r"|(?:,\s|\.\s|\s\()(?:that['’]?s|das ist)\s)"
    rf"(?:(?:the|my|our|your|das|mein|unser|dein)\s)?(?:[\w-]{{2,20}}\s){{0,2}}{NAME_OF_PASSWORD}"
    r"(?![\w-]|\s(?:store|manager|hash|field|policy|algorithm|provider|format|length|type|reset"
    r"|prompt|rule))",
)
"""A value that looks like no word before the name."""
_TO_USE = Rule(
    WORDS_OF_NAMES,
    r"(?i)\b(?:and|und|with|mit|then|dann|us(?:e[ds]?|ing)|tak(?:e|ing)|tr(?:y|ied|ying)"
    r"|enter(?:ed|ing)?|typ(?:e|ed|ing)|put|set|getippt|eingegeben|probiert|pick(?:ed)?|choose"
    r"|chose[n]?|nimm|nehmt|nehme|nahm|wähle|verwendet?|benutzt?e?|nutzt?e?)"
    rf"{KINDLY}\s[\"'`“„]?"
    r"(?P<value>[^\s\"'`“”„<>,;]{4,128})[\"'`“”]?\s(?:(?:exactly|just|genau|like|that"
    r"|so)\s){0,3}(?:as|for|als)\s"
    rf"(?:the\s|your\s|my\s|our\s|a\s|das\s"
    rf"|dein\s)?(?:[\w-]{{1,20}}\s){{0,2}}{NAME_OF_PASSWORD}(?<!words)"
    r"(?=\s*(?:[.,;:!?)\n]|$|(?:for|of|in|on|at|to|when|while|if|because|instead|until|für|wenn"
    r"|weil|and|und|bei|beim|im|am)\b))",
)
_CHOSEN = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\b(?:als|as|for)\s(?:the\s|our\s|my\s|a\s|das\s|unser\s"
    rf"|mein\s)?(?:[\w-]{{1,20}}\s)?{NAME_OF_PASSWORD}\s"
    r"(?:(?:haben|habe|hat|nehmen|nehme|nimmt|nutzen|nutze|verwenden|verwende|benutzen|benutze"
    r"|setzen"
    r"|wählten|gilt|dient|wurde|wählte)\s(?:(?:wir|ich|sie|er|man)\s)?(?:(?:meistens|meist|immer"
    r"|oft|gern)\s)?"
    r"|(?:we|i|they|she|he)\s(?:now\s)?(?:use|chose|choose|picked|set|took|take|have|had)\s)"
    r"[\"'`“„]?(?P<value>[^\s\"'`“”„<>,;]{4,128})",
)
_VERB_LAST = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\b(?:dass|weil|ob|wenn|da|falls"
    rf"|obwohl)\s[^\n.!?]{{0,60}}?{NAME_OF_PASSWORD}{TOPIC}\s[\"'„]?"
    rf"{_VALUE}[\"'“]?\s(?:ist|war|lautet|heißt|bleibt)\b",
)
_MAKE = Rule(
    WORDS_OF_NAMES,
    r"(?i)\b(?:make|set|keep)\s(?:the|its|his|her|your|my|their)\s(?:[\w-]{1,20}\s)?"
    rf"{NAME_OF_PASSWORD}\s(?:to\s|as\s)?[\"'`“]?{_VALUE}(?=[\"'`”]?(?:\s(?:for|on|in|and|please"
    rf"|pls)\b|[.,;!]?\s*(?:\n|$)))",
)
_WANTED = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\b(?:like|want|let)\s[\"'`“]?{_VALUE}[\"'`”]?\s(?:to\s)?be\s(?:my|the"
    rf"|our)\s(?:[\w-]{{1,20}}\s){{0,2}}"
    rf"{NAME_OF_PASSWORD}"
    rf"|\b(?:enter|type|use|tippe?"
    rf"|gib)\s[\"'`“„]?(?P<typed>[^\s\"'`“”„<>,;]{{4,64}})[\"'`”“]?\s(?:ein\s)?(?:when|if|wenn"
    rf"|sobald|once)\s[^\n.]{{0,40}}?{NAME_OF_PASSWORD}",
)
_FIELD = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\b(?:put|enter|type|write|paste)\s[\"'`“]?{_VALUE}[\"'`”]?\s(?:in|into)\s(?:the\s"
    rf"|its\s)?{NAME_OF_PASSWORD}"
    rf"|\b(?:when|if|wenn|sobald)\s[^\n.]{{0,40}}?{NAME_OF_PASSWORD},?\s(?:(?:fragt"
    rf"|asked),?\s)?(?:enter|type|use|gib|tippe?)\s"
    r"[\"'`“„]?(?P<typed>[^\s\"'`“”„<>,;]{4,64})",
)
_ALWAYS = Rule(
    WORDS_OF_NAMES,
    rf"(?i)\bals\s(?:[\w-]{{1,20}}\s)?{NAME_OF_PASSWORD}\s(?:immer|stets|überall|meist(?:ens)?"
    rf"|einfach"
    rf"|nur|mal|wieder|bitte)\s[\"'„]?{_VALUE}",
)
_CALLED = Rule(
    WORDS_OF_NAMES,
    rf"(?i)(?<![a-z])(?:is|was|ist|war|wäre|would|heißt)\s[\"'`„“]?{_VALUE}[\"'”“]?\s"
    r"(?:be\s)?(?:an?|my|the|our|your|eine?|mein|das|unser|dein)\s(?:[\w-]{1,20}\s){0,2}"
    rf"{NAME_OF_PASSWORD}(?![\w-])",
)
"""What somebody asks about: "Is ... a good password?"."""
_BESIDE_A_USER = Rule(
    "pass|kennwort|pwd|pw",
    r"(?i)(?<![a-z])(?:user(?:name)?|login|(?:be)?nutzer(?:name)?|anwender|kennung|utilisateur"
    r"|usuario|utente|account|konto|mail|email)\b"
    rf"[^\n]{{1,60}}?[\s,;/]\(?(?:password|passwort|kennwort|pass|pwd|pw)(?:\s?[:=]\s?|\s){_VALUE}",
)
_USED_PAIR = Rule(
    "cred|login|log in|signin|sign in|daten|anmeld",
    r"(?i)\b(?:use|with|try|nimm|mit)\s[\"'`]?(?P<user>[^\s/:,;|\"'`]{1,80})\s?[/:]\s?"
    r"(?P<value>[^\s,;|/<>\"'`]{4,128})[\"'`]?\s(?:as|for|to|als|zum|für)\s(?:the\s|your\s|my\s)?"
    r"(?:credentials?|log ?in|sign ?in|zugangsdaten|anmelden|anmeldung)\b",
)
_PAIR = Rule(
    "daten|cred|login|access|zugang| in ",
    r"(?i)(?<![a-z])(?:zugangs?daten|anmeldedaten|logindaten|credentials?|creds|logins?|access"
    r"|(?P<loose>zugang)|(?P<entering>(?:log|sign)(?:ged)?[ ]in[ ](?:as|with)))"
    r"(?:[ ][\w.-]{1,30}){0,5}"
    r"(?:\s{0,2}(?::|=>?|->|→|\bare\b|\bsind\b|\bis\b)\s{1,3}|(?:(?<=as)|(?<=with))\s{1,3}"
    r"|\s(?P<within>\())"
    r"(?P<user>[^\s/:,;|]{1,80})(?:\s/\s|\s?\|\s?|\s?:\s?|\s?,\s|(?P<tight>/))"
    r"(?P<value>[^\s,;|/<>\"'`]{4,128})"
    r"(?=[.!)]?\s*(?:[\n,;()]|$))",
)
_NAME = (
    r"(?:secret|token|credential|(?:api|app|application)[_ -]?key|(?:access|private|secret"
    r"|encryption|auth|signing"
    r"|master|account|service|(?:pre-?)?shared|symmetric|host)[_ -]?key)"
)
_NAMED = Rule(
    _KEYS,
    rf"(?i)(?<![a-z])(?:[a-z0-9]{{1,20}}[_-]){{0,4}}{_NAME}[\"'`]?"
    r"(?:\s{0,3}(?:=(?!=)|:(?!:))\s{0,3}|\s{1,3}is\s{1,3})"
    r"[\"'`“]?(?P<value>(?=[a-z._~+/=-]{0,120}[0-9])(?!\[masked:)[A-Za-z0-9._~+/=-]{12,4000})",
)
_NAMED_LOOSELY = Rule(
    _KEYS,
    rf"(?i){_NAME}[a-z0-9_-]{{0,20}}(?<![_-]id)(?:\\?[\"'`]\]?)?"
    r"(?:\s{1,3}(?:for|of|to)\s[\w .'-]{1,60}?)?"
    r"(?:[ \t]{0,3}(?:=(?![=>])[ \t]{0,3}|:(?!:)\s{0,3}|=>\s{0,3})"
    r"|\s{1,3}(?:is|was|to)\s{1,3}|[ \t]{1,3})"
    r"(?:\\?[\"'`“])?(?P<value>(?!\[masked:)[A-Za-z0-9._~+/=-]{12,4000})",
)
_NEAR = Rule(
    "secret|token|credential|zugangsdaten|schlüssel|key|otp|2fa|mfa|seed|pat",
    r"(?i)(?:(?<![a-z])|(?<=[_-]))(?:secret|token|(?-i:PAT)|credentials?|zugangsdaten"
    r"|(?:[a-zäöü-]{0,20})?schlüssel|key"
    r"|t?otp|2fa|mfa|seed)(?![a-z])[^\n]{1,100}?(?<![\w+/.@:#?=%$-])"
    r"(?P<value>[A-Za-z0-9+/]{20,200}={0,2})(?![\w+/:@(-]|\.\w)",
)
_KEY_TOLD = lazy_pattern(
    r"(?i)(?:\bapi\b[^\n]{0,40}\b(?:key|token|schlüssel)|(?:auth|access|secret|client|account)[ _-]"
    r"(?:key|token|secret))\b[^\n]{0,60}$"
)
"""What a key of hexadecimals has before it."""
"""What looks random on the line of a name of secrets, whatever stands between."""
_NEAR_BEFORE = Rule(
    "key|token|secret",
    r"(?i)(?<![\w+/.@:#?=%$-])(?P<value>[a-z0-9+/]{24,200}={0,2})[\"'`)\]; ]{1,8}[^\w\n]{0,8}"
    r"(?:\w{1,12} ){0,4}?(?:admin|api|secret|access|private|signing|master|auth)[ _-]"
    r"(?:key|token|secret)(?![a-z])",
)
"""What looks random before the name of a secret, as in a call with a remark behind it."""
_SETTING = Rule(
    "_key",
    r"(?m)^[ \t>]{0,8}(?:(?:export|set|ENV|ARG)[ ])?(?!PUBLIC|SITE|VITE_|NEXT_PUBLIC)"
    r"[A-Z][A-Z0-9_]{0,60}"
    r"(?<!PUBLIC)(?<!PRIMARY)(?<!FOREIGN)(?<!CACHE)_KEY[ ]?[=:][ ]?[\"']?(?:base64:|hex:)?"
    r"(?P<value>[A-Za-z0-9+/_-]{16,512}={0,2})(?=[\"']?\s*$)",
)
"""A setting of the environment that is called a key, with a value that looks random."""

_KEY_IN_CODE = Rule(
    "_key|key ",
    r"(?<![a-z0-9_-])(?:[a-z]{2,12}_){0,3}(?<!public_)(?<!primary_)(?<!foreign_)(?<!cache_)(?<!sort_)"
    r"(?<!partition_)(?<!idempotency_)[a-z]{2,12}_key[\"']?\s{0,3}(?:=(?!=)|:(?!:))\s{0,3}[\"']"
    r"(?P<value>[A-Za-z0-9+/_-]{24,512}={0,2})(?=[\"'])",
)
"""A setting that is called a key, in code, with a value that looks random or is hexadecimal."""

_ASSIGNED = Rule(
    _KEYS,
    r"(?P<name>(?:(?<![A-Za-z0-9])|(?<=[a-z]))(?i:secret|token|credentials?"
    r"|(?:api|access|private|secret|encryption|auth|signing|master|service|webhook|bot|bearer"
    r"|subscription|functions|integration"
    r"|refresh|client)[_-]?(?:key|token|secret)))"
    r"[\"'`]?\]?(?P<set>\s{0,3}(?::?=(?![=>])|=>|:(?=\s?[\"'`])"
    r"|:(?=[ ][^\n]{8,256}(?:\n|$)))\s{0,3})"
    r"(?P<open>[\"'`])?(?P<value>[A-Za-z0-9._~+/=-]{8,4000})(?P<after>[\"'`]?[,)(\[]?)",
)
_CLAUSE = lazy_pattern(
    r"(?i)[.!?…)*_:]{0,3}[\"'`”“]?[.)]?\s*(?:$|[\n,;})]|/\s|\((?=\w)|(?:and|und|or|oder|but|for"
    r"|(?:an"
    r"|ein)(?=\s*(?:[.,;!?)\n]|$))|anmelden|einloggen|when|wenn|because|weil|since|seit|before"
    r"|bevor|until|if|falls|so that|damit|ok|okay|right|thanks|thx|danke)\b"
    rf"|{_ASIDE}\b)"
)


def found(text: str, low: str) -> Iterator[Span]:
    """The places of passwords, tokens and keys in *text* that a name in front of them gives away.

    A value that has to look random, because its name stands in ordinary sentences too, comes last.
    *low* is `folded` of the text.
    """
    yield from _passwords(text, low)
    for match in _NAMED.found(text, low):
        if not text.startswith("(", match.end("value")):  # a call
            yield (*match.span("value"), "secret")
    for match in _ASSIGNED.found(text, low):
        if _is_assigned(match):
            yield (*match.span("value"), "secret")
    for match in (*_SETTING.found(text, low), *_NAMED_LOOSELY.found(text, low)):
        number = len(match["value"]) <= 16 and _HEXADECIMAL.fullmatch(match["value"])
        if is_random(match["value"]) and not number:
            yield (*match.span("value"), "secret")
    for match in (*_KEY_IN_CODE.found(text, low), *_NEAR_BEFORE.found(text, low)):
        if is_random(match["value"]) or _HEXADECIMAL.fullmatch(match["value"]):
            yield (*match.span("value"), "secret")
    for match in _NEAR.found(text, low):
        if _is_secret_nearby(match):
            yield (*match.span("value"), "secret")


def _is_secret_nearby(match: re.Match[str]) -> bool:
    """True for what looks random and is no digest or public key."""
    value, before = match["value"], match.string[max(0, match.start() - 20) : match.start("value")]
    if _HEXADECIMAL.fullmatch(value):
        return (
            len(value) >= 32 and bool(_KEY_TOLD.search(before)) and not _NOT_SECRET.search(before)
        )
    mixed = len(value) >= 24 or not (value.islower() or value.isupper())
    return mixed and is_random(value) and not _NOT_SECRET.search(before)


_HEXADECIMAL = lazy_pattern("[0-9a-fA-F]+")
_NOT_SECRET = lazy_pattern(
    r"(?i)public|öffentlich|fingerprint|fingerabdruck|sha[0-9-]|md5|ssh-|ecdsa|digest|checksum"
    r"|hash|cert"
    r"|AAAA|integrity|etag|(?<![a-z])id(?![a-z])"
)


def _passwords(text: str, low: str) -> Iterator[Span]:
    yield from columns.found(text, low)
    yield from configured.found(text, low)
    yield from phrases.found(text, low)
    for match in _PASSWORD.found(text, low):
        if _is_password(match):
            said = match["said"] is not None and not match["open"]
            yield _trimmed(match, "value", ".!?" if said else "")
            yield from _or_else(match)
    for match in _ABOUT.found(text, low):
        value, about = match["value"], match["about"].lower().split()
        odd = is_odd(value) and not is_placeholder(value) and not is_reference(value)
        said = is_predicate(value) or value.lower() in REMARKS
        short = match.group().lower().startswith(("pass ", "pw "))  # "pass rate: ..."
        plain = not (said or short) and _PLAIN_WORD.fullmatch(value)
        if (plain or (odd and not short)) and not any(
            word in PREDICATES or word in REMARKS for word in about
        ):
            yield _trimmed(match, "value", ".!")
    for match in _TOLD_LATER.found(text, low):
        word = bare_word(match["value"])
        parts = word.split("-")
        made = word != word.lower() or not any(map(is_listed, parts))  # not "state-of-the-art"
        if is_odd(match["value"]) or (len(parts) > 2 and made):
            yield _trimmed(match, "value")
    for rule in (
        _CHANGED,
        _PUT_TO,
        _GIVEN,
        _TO_USE,
        _CHOSEN,
        _ALWAYS,
        _ANSWER,
        _VERB_LAST,
        _MAKE,
        _WANTED,
        _FIELD,
        _ASKED_FOR,
        _BESIDE_A_USER,
        _PAIR,
        _USED_PAIR,
    ):
        for match in rule.found(text, low):
            if (
                rule is _PAIR
                and (match["loose"] or match["within"])
                and not is_odd(match["user"] + match["value"])
            ):
                continue  # "Zugang: Hof / Garten"
            if rule is _PAIR and _TWO_NAMES.search(match.group()):
                continue  # "Login: Google / Apple"
            if rule is _PAIR and match["user"].lower() in _FIELDS:
                continue  # "login is user: alice, ..."
            if rule is _PAIR and match["tight"] and not _NAMES_A_PAIR.match(match.group()):
                continue  # "Login: Google/Apple"
            for group in ("old", "value", "german", "typed"):
                if group in rule.pattern.groupindex and match[group] and _is_told(match, group):
                    yield _trimmed(match, group)
    for match in (*_NAMED_AFTER.found(text, low), *_CALLED.found(text, low)):
        value = match["value"]
        named = "pass" in value.lower() or is_placeholder(value)  # "password123 is the worst ..."
        if is_odd(value) and any(map(str.isalpha, value)) and not named:
            yield _trimmed(match, "value")
    yield from series.found(text, low)


_FIELDS = frozenset(listed("user username name login email mail benutzer nutzer utente usuario"))
_TWO_NAMES = lazy_pattern(r"^(?i:login|access)s?\s?:\s[A-Z][a-z]+\s?/\s?[A-Z][a-z]+$")
_NAMES_A_PAIR = lazy_pattern(r"(?i)zugangs?daten|anmeldedaten|logindaten|cred")


_OR = lazy_pattern(
    r"[\"'`“”]?,?\s(?:or|oder|bzw\.?|and then|und dann|statt|instead of|not|nicht)\s(?:maybe\s"
    r"|vielleicht\s|even\s)?[\"'`„“]?"
    r"(?P<value>[^\s\"'`“”„<>,;]{4,64})"
)


def _or_else(match: re.Match[str]) -> Iterator[Span]:
    """A second value behind the first: "Winter22 or winter22!"."""
    other = _OR.match(match.string, match.end("value"))
    if other and is_odd(other["value"]) and not is_placeholder(other["value"]):
        yield _trimmed(other, "value", ".?:)")


def _trimmed(match: re.Match[str], group: str, signs: str = ".!?:)") -> Span:
    """The place of a value without the *signs* at its end, which belong to the sentence."""
    value = match[group]
    return match.start(group), match.start(group) + len(value.rstrip(signs)), "password"


_PLAIN_WORD = lazy_pattern(r"[^\W\d_]{1,128}(?:-[^\W\d_]{1,128}){0,40}[.!?…)*_:]{0,3}")
_FOLDER = lazy_pattern(r"[/~.]{1,2}[\w.-]*(?:/|[a-z]$)|[A-Z]:[\\/]")
"""What the command pwd prints, or where a password is kept."""
_COUNTED = lazy_pattern(r"[0-9０-９]{1,3}[\u3400-\u9fff]")
"""How many signs a password has: "8文字以上"."""
_ARGUMENT = lazy_pattern(r"[A-Za-z_]+[)\]]*")


_GETS_IN = lazy_pattern(r"[\"“]?\s(?:komm|kann|geht|gelang|meld|logg|öffn|entsperr|anmeld|einlogg)")
_POSSESSIVE = lazy_pattern(
    r"(?i)\b(?:my|our|mein|meinem|unser|unserem)\s(?:[\w-]{1,20}\s){0,2}[\w-]{0,20}$"
)
_MADE = lazy_pattern(
    r"[A-ZÄÖÜ][a-zäöüß]+(?:-[A-ZÄÖÜ][a-zäöüß]+)+(?![\w-])|[^\W\d_]{6,64}!(?=\s[a-zäöü])"
)
"""What no sentence has for a word behind "my password": Midnight-Train, or a sign within it."""


def _is_argument(match: re.Match[str]) -> bool:
    """True for a name among the arguments of a call."""
    value, end = match["value"], match.end()
    bare = match.string[match.start("value") - 1] in "= "
    called = value.endswith((")", "]")) or match.string[end : end + 1] == ","
    line = match.string.rfind("\n", 0, match.start()) + 1
    within = match.string.rfind("(", max(line, match.start() - 400), match.start()) >= 0
    within = within or "=" not in match["set"]
    return bare and called and within and bool(_ARGUMENT.fullmatch(value))


def _is_its_own_name(match: re.Match[str]) -> bool:
    """True for `self.password = password`, where the value is a name of the program's."""
    value, name = match["value"].rstrip(";"), match.string[match.start() : match.start("set")]
    return match["set"].startswith(" ") and not match["open"] and value == name


def _is_password(match: re.Match[str]) -> bool:
    """Assigned with = anything is one; after : or "is" a plain word is one only at the end of a
    clause, and where it tells nothing about passwords.

    After the bare name, and where it is said what the password is for, it has to look like one.
    """
    value = match["value"]
    if match["bare"] is not None:
        if match["open"] and not match["quoted"] and _PLAIN_WORD.fullmatch(value):
            quoted = match.string[match.end("value") : match.end("value") + 1] in "\"'`”“"
            return quoted and _ends(match, "value") and not is_predicate(value)
        mine = _POSSESSIVE.search(match.string, max(0, match.start() - 40), match.start())
        if mine and not match["quoted"] and _MADE.match(match.string, match.start("value")):
            return True
        return len(value) >= 8 and not match["quoted"] and _is_strong(value.rstrip(".!?)*_:"))
    quotation = match["said"] is not None and match["open"]
    setting = match["set"] == "=" and match.group()[:4].isupper()
    if is_placeholder(value) or _FOLDER.match(value) or _COUNTED.match(value):
        return False
    if not quotation and is_reference(value, code=not (setting or match["topic"] or match["open"])):
        return False
    if match["said"] is not None:
        return _is_said(match)
    if match.string.endswith("type ", 0, match.start()):
        return False  # a type of a program, with what its values may be
    if _is_argument(match) or _is_its_own_name(match):
        return False
    if match["set"].lstrip().startswith("=") and "\n" in match["set"]:
        return False  # a setting without a value
    if value.startswith("(") and not match["open"]:
        return False  # a remark: "Password: (unchanged)"
    if "=" in match["set"]:
        spaced = match["set"] != "="
        short = (
            spaced
            and match.group()[:3].lower().rstrip(" =:") == "pw"
            and _PLAIN_WORD.fullmatch(value)
        )
        return not short or _ends(match, "value")  # "pw = plot width"
    if not _PLAIN_WORD.fullmatch(value):
        return not match["topic"] or is_odd(value) or bool(match["open"])
    if match["open"] and bare_word(value).lower() not in PREDICATES:
        return True
    return _ends(match, "value") and not is_predicate(value)


def _is_said(match: re.Match[str]) -> bool:
    value, verb = match["value"], match["verb"].lower()
    if value.isdigit() and not match["open"] and not _ends(match, "value"):
        return False  # "the Furka Pass is 2429 m high"
    leads = verb.startswith(("to", "auf", "on"))
    if not _PLAIN_WORD.fullmatch(value):
        return is_odd(value) or (bool(match["open"]) and not leads)
    if match["quoted"] or leads:
        return False
    if match["open"]:
        return True
    return _ends(match, "value") and not is_predicate(value)


def _is_told(match: re.Match[str], group: str) -> bool:
    """True for a value in a sentence that gives it: odd, or a word that ends its clause."""
    value = match[group]
    if value.startswith("(") or is_placeholder(value):
        return False
    if is_reference(value, code=not _TO_USE.made(match)):
        return False
    if not _PLAIN_WORD.fullmatch(value):
        return True
    if _MAKE.made(match):
        return "-" in value and not is_predicate(value)
    if (
        group == "german"
        and (value[0].isupper() or _GETS_IN.match(match.string, match.end()))
        and not is_predicate(value)
    ):
        return True
    if _PAIR.made(match) or _USED_PAIR.made(match):
        return not is_listed(value) and (_USED_PAIR.made(match) or _ends(match, group))
    alone = any(
        rule.made(match)
        for rule in (_TO_USE, _CHOSEN, _PUT_TO, _ANSWER, _VERB_LAST, _WANTED, _FIELD)
    )
    delimited = alone or group == "old"
    return not is_predicate(value) and (delimited or _ends(match, group))


def _ends(match: re.Match[str], group: str) -> bool:
    """True when the value of *match* is the last word of its clause."""
    value = match[group]
    bare = bare_word(value)
    if value != bare and value[len(bare)] in ".!?":
        return True
    end = match.start(group) + len(bare)
    return bool(_CLAUSE.match(match.string[end : end + 40])) or end >= len(match.string)


def _is_assigned(match: re.Match[str]) -> bool:
    """True for a value of letters that a setting gives a secret.

    In code, where the value may be a name, it has to look random or stand in quotation marks.
    """
    value, start = match["value"], match.start("name")
    if "=" in match["set"] and "\n" in match["set"]:
        return False  # a setting without a value
    if is_placeholder(value) or is_reference(value) or value.isdigit():
        return False
    if is_random(value):
        return True
    if match["open"]:
        named = (start > 0 and match.string[start - 1] in "_-.") or "_" in match["name"]
        return named and len(value) >= 12 and not _is_path(value)
    if match["after"]:
        return False
    if ":" in match["set"]:
        compound = "_" in match["name"] or match.string[max(0, start - 1) : start] == "_"
        setting = match["name"].isupper() and compound and _ends_its_line(match)
    else:
        setting = match["name"].isupper() and " " not in match["set"]
    return setting and not _is_path(value) and "." not in value


def _ends_its_line(match: re.Match[str]) -> bool:
    return match.string[match.end("value") : match.end("value") + 1] in ("", "\n", "\r")


def _is_path(value: str) -> bool:
    return "/" in value


def _is_strong(value: str) -> bool:
    """True for what mixes letters with digits or signs as only passwords do."""
    kinds = sum(
        bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[!#$%&*@^_+]")
    )
    return kinds >= 3 or (kinds == 2 and bool(re.search("[a-z][0-9]{3,}[!#$*]?$", value)))
