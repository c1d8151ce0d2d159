"""Passwords and keys in settings, markup and code, by the form of the line or call around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.remarks import (
    NAME_OF_PASSWORD,
    REMARKS,
    WORDS_OF_NAMES,
    is_phrase,
    is_predicate,
    is_told_phrase,
)
from memory_core.text.secrets.spans import Rule, Span, is_placeholder, is_reference

_MARKUP = Rule(
    "pass|pwd|kennwort|secret|token|api",
    r"(?i)<password>\s{0,9}<value>(?P<nested>[^<>\n]{3,200})</"
    r"|<(?P<tag>[\w:.-]{0,40}(?:pass(?:word|wd|phrase)?|pwd|passwd|passwort|kennwort|secret|token"
    r"|api_?key))"
    r"(?:\s[^<>\n]{0,200})?>(?P<value>[^<>\s][^<>\n]{2,198}[^<>\s])</"
    r"|<key>[\w.:-]{0,60}(?:pass(?:word|wd|phrase)|passwort|secret"
    r"|token)</key>\s{0,20}<string>(?P<plist>[^<>\n]{4,200})</"
    r"|(?:key|name|id)=[\"'][\w.:-]{0,60}(?:pass(?:word|wd|phrase)|passwort|secret|token|api_?key)"
    r"[\"'](?:\s[^<>\n\"']{0,60})?(?:\svalue=[\"']|>)(?P<attribute>[^<>\"'\n]{4,200})"
    r"|<(?:[\w:.-]{0,40}(?:pass(?:word|wd|phrase)|passwort|secret|api_?key)\b"
    r"|(?=[^<>\n]{0,200}\stype=[\"']password[\"'])"
    r"input\b)[^<>\n]{0,200}?\svalue=[\"'](?P<given>[^<>\"'\n]{4,200})",
)
_MARKED_UP = Rule(
    WORDS_OF_NAMES,
    rf"(?i){NAME_OF_PASSWORD}\s?:?\s?(?:</(?:td|th|dt|b|strong|label|span)>\s{{0,9}}<(?:td|dd"
    rf"|span|code)(?:\s[^<>\n]{{0,80}})?>"
    r"|<(?:code|kbd|tt|b|strong)>)(?P<value>[^<>\s]{4,128})</",
)
"""A name, and its value in the next cell or in a mark of its own."""
_WRAPPED = Rule(
    "cdata",
    r"(?i)<(?:[\w:.-]{0,40}(?:pass(?:word|wd)?|pwd|secret|token"
    r"|api_?key))(?:\s[^<>\n]{0,200})?><!\[CDATA\["
    r"(?P<value>[^\]\n]{4,200})\]\]>",
)
_NETRC = Rule(
    "machine|default",
    r"(?i)\b(?:machine\s{1,8}\S{1,200}\s{1,8}(?:login\s{1,8}\S{1,200}\s{1,8})?"
    r"|default\s{1,8}login\s{1,8}\S{1,200}\s{1,8})(?:account\s\S{1,200}\s)?"
    r"password\s{1,8}(?P<value>\S{3,200})",
)
_PGPASS = Rule(
    ":",
    r"(?m)^[ \t>]{0,8}(?=[^:\n]{0,100}[a-z*]|[0-9]{1,3}\.[0-9])[\w.*-]{1,100}:(?:[0-9]{2,5}|\*)"
    r":[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<value>(?:\\:|[^\s:]){4,128})[ \t]*$",
)
_DOCKERFILE = Rule(
    "env|arg|set",
    r"(?m)^[ \t>]{0,8}(?:ENV|ARG|setx|setenv|set -gx|set -x)[ ]+[A-Z0-9_]{0,40}"
    r"(?:PASSWORD|PASSWD|PASS|PWD|PW"
    r"|SECRET|TOKEN|KEY)[ ]+"
    r"[\"']?(?P<value>[^\s\"']{4,200})",
)
_SIGNED = Rule(
    "secret|token|salt|seed|mnemonic",
    r"(?m)^[ \t>]{0,8}(?:export )?[A-Z0-9_]{0,40}(?:SECRET(?:_KEY)?(?:_BASE)?|TOKEN|SALT)=[\"']?"
    r"(?P<value>(?=[^\s\"'$({]{0,40}[!#%&*@^])[^\s\"'$({][^\s\"']{15,256})[\"']?[ \t]*$"
    r"|^[ \t>]{0,8}(?:export |set )?[A-Z0-9_]{0,40}(?:SECRET|TOKEN|SALT|SEED|MNEMONIC)"
    r"(?:_KEY|_PHRASE)?=(?P<open>[\"'])(?P<phrase>[^\s\"'\n]{1,60}(?: [^\s\"'\n]{1,60}){1,23})"
    r"(?P=open)",
)
"""A setting with signs that no word has, or with words in quotation marks."""
_PHRASE_SET = Rule(
    "secret|token|salt|seed|pin",
    r"(?m)^[ \t>]{0,8}(?:export |set |ENV )?[A-Z][A-Z0-9_]{0,40}(?:SECRET|TOKEN|SALT|SEED)(?:_KEY"
    r"|_PHRASE|_BASE)?"
    r"=(?P<value>[a-zA-Zäöüß]{2,20}(?: [a-zA-Zäöüß0-9]{1,20}){1,11})[ \t]{0,9}$",
)
_VARIABLE = Rule(
    "variable",
    r"variable\s\"\w{0,40}(?:pass(?:word|wd)?|secret|token|(?:api|access|private"
    r"|secret)_key)\"\s?\{[^{}]{0,300}?default\s{0,9}=\s?"
    r"\"(?P<value>[^\"\n]{4,200})\"",
)
"""The default of a variable of Terraform."""
_DOUBLED = Rule(
    "''",
    r"(?i)(?:pass(?:word|wd|phrase)?|passwort|kennwort|secret"
    r"|token)[\"']?\s?[:=]\s?'(?P<value>[^'\n]{1,100}(?:''[^'\n]{1,100}){1,9})'(?!')",
)
"""A quotation mark within others, as YAML and SQL have it."""
_COMPARED = Rule(
    "==",
    r"(?i)(?<![a-z])(?:pw|pwd|pass(?:word|wd|phrase|code)?|passwort|kennwort)\s?={2,3}\s?"
    r"(?:\"(?P<double>[^\"\n]{4,100})\"|'(?P<single>[^'\n]{4,100})')",
)
"""What a program compares a password with."""
_ROW = Rule(
    "|",
    rf"(?im)^[ \t>]{{0,8}}\|[ ]{{0,9}}\*{{0,2}}(?:[\w-]{{1,20}} )?"
    rf"{NAME_OF_PASSWORD}\*{{0,2}}[ ]{{0,9}}\|[ ]{{0,9}}`?"
    r"(?P<value>[^\s|`()]{4,128})`?[ ]{0,9}\|[ \t]*$",
)
"""A row of a table of two columns: a name and its value."""
_FORM = Rule(
    WORDS_OF_NAMES,
    rf"(?im)^[ \t>]{{0,8}}(?:(?:user ?name|login|e-?mail|(?:be)?nutzer(?:name)?|account|konto)"
    rf"[ ]?:?"
    rf"[ \t]{{0,8}}\n[^\n]{{1,80}}\n[ \t>]{{0,8}}{NAME_OF_PASSWORD}[ ]?:?[ \t]{{0,8}}\n"
    rf"|(?:field|feld|name|key)\s?:[^\n]{{0,40}}?{NAME_OF_PASSWORD}[ \t]{{0,8}}\n[ \t>]{{0,8}}"
    r"(?:value|wert|content|inhalt)\s?:)[ \t]{0,8}(?P<value>[^\s]{4,128})[ \t]*$",
)
"""A form that was copied: a label on one line and its value on the next."""
_GROUPED = Rule(
    "key|code|schlüssel|secret",
    r"(?i)\b(?:set-?up|secret|manual|2fa|totp|mfa|einrichtungs)[ -]?"
    r"(?:key|code|schlüssel|secret)\b[^\n:=]{0,24}?(?:[:=]|\bis\s|\bist\s)\s?"
    r"(?P<value>[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,12})(?![\w-])",
)
"""What an authenticator is set up with, in groups of four."""
_DIRECTIVE = Rule(
    "requirepass|masterauth|rootpw|bindpw|adminpw",
    r"(?im)^[ \t>]{0,8}(?:requirepass|masterauth|rootpw|bindpw|adminpw)[ \t]{1,8}"
    r"[\"']?(?P<value>[^\s\"']{4,128})[\"']?[ \t]*$",
)
"""A line of a configuration that separates name and value by a space."""
_PROMPTED = Rule(
    "pass|kennwort|code|pin",
    r"(?i)(?:pass(?:word|phrase|code)?|passwort|kennwort|code"
    r"|pin)[^\n\"']{0,20}[\"'][^\n\"'\w]{0,6}"
    r"(?:\n[ \t]{0,8})?[ \t]{0,3}(?:[\w.]{0,20}\.)?(?:send|sendline|send_line|write|type)"
    r"(?:line)?[ \t(]{1,3}(?:\"(?P<double>[^\"\n]{4,128}?)(?:\\[rn]){0,2}\""
    r"|'(?P<single>[^'\n]{4,128}?)(?:\\[rn]){0,2}')",
)
"""What a script types where it is asked for a password."""
_CALLED = Rule(
    "auth|login|log_in|sign|cred",
    r"(?i)(?<![a-z])(?:[a-z]{0,20}_?auth|log_?in|sign_?in|authenticate|[a-z]{0,20}credentials?)"
    r"\s?(?:=\s?)?(?:[a-z.]{1,40})?[(\[]\s?(?:[a-z_]{1,20}=)?"
    r"(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'),\s?(?:[a-z_]{1,20}=)?"
    r"(?:\"(?P<double>[^\"\n]{4,128})\"|'(?P<single>[^'\n]{4,128})')\s?[)\]]",
)
"""A user and a password as the arguments of a call: auth=("mara", "heliotrope")."""
_SET_BY_CALL = Rule(
    "define|env|set|put|add|append|header|property",
    r"(?i)(?<![a-z])(?:define|[a-z]{0,12}env|set[a-z_]{0,12}|put|add[a-z_]{0,12}|append|header"
    r"|[a-z]{0,12}property)\(\s?[\"'][\w.-]{0,60}(?:pass(?:word|wd|phrase)?|pwd|secret|token"
    r"|(?<![a-z])key|salt)[\"'],\s{0,16}(?:\"(?P<double>[^\"\n]{4,256})\""
    r"|'(?P<single>[^'\n]{4,256})')",
)
"""A name and its value as the arguments of a call: define('DB_PASSWORD', 'heliotrope')."""
_STATE = Rule(
    "random_password",
    r"random_password\"[^{}]{0,300}\{[^{}]{0,600}?\"result\": ?\"(?P<value>[^\"\n]{4,256})\"",
)
"""What Terraform keeps of a password that it made."""
_SQL = Rule(
    "identified|set password|with password",
    r"(?i)\b(?:with\spassword\s?=|identified\s(?:with\s[\w'\"]{1,40}\s)?(?:by|as)"
    r"|set\spassword[^\n;=]{0,80}=)\s{0,3}"
    r"(?:password\s?\(\s?)?N?(?:\"(?P<double>[^\"\n]{4,128})\"|'(?P<single>[^'\n]{4,128})')",
)
_KEY_OF_32 = Rule(
    "key|schlüssel",
    r"(?i)(?<![\w-])(?<!public )(?<!öffentlicher )(?:key|schlüssel)[\"']?\s?[:=]\s?[\"']?"
    r"(?P<value>[a-z0-9+/]{43}=)(?![a-z0-9+/=])",
)
"""Thirty-two bytes in base64."""

_QUOTED_SETTING = Rule(
    "secret|token|salt|_key",
    r"(?m)^[ \t>]{0,8}(?:(?:export|set|ENV|ARG)[ ])?[A-Z][A-Z0-9_]{0,60}"
    r"(?:SECRET|TOKEN|SALT|(?:API|ACCESS|PRIVATE|ENCRYPTION|SIGNING|MASTER|SECRET)_KEY)[ ]?[=:][ ]?"
    r"(?P<open>[\"'])(?P<value>(?=[^\s\"']{0,100}[0-9])(?=[^\s\"']{0,100}[A-Za-z])[^\s\"']{8,200})"
    r"(?P=open)[ \t]*(?:#[^\n]{0,100})?$",
)
"""A setting of the environment in quotation marks, whose value has signs that a word lacks."""
_NOT_RANDOM = lazy_pattern(r"(?i)[a-z_-]+[0-9]{0,4}$|[\w.-]+[:/]|[\w-]+(?:\.[\w-]+)+$")
"""Words with a number behind them, addresses, folders and names with dots."""


def found(text: str, low: str) -> Iterator[Span]:
    """The places of secrets in settings, markup and calls of *text*; *low* is `folded` of it."""
    for match in _QUOTED_SETTING.found(text, low):
        value = match["value"]
        if not (is_placeholder(value) or is_reference(value) or _NOT_RANDOM.match(value)):
            yield (*match.span("value"), "secret")
    for match in _PHRASE_SET.found(text, low):
        if is_told_phrase(match["value"].split(), loosely=True):
            yield (*match.span("value"), "password")
    for rule in (
        _MARKUP,
        _MARKED_UP,
        _WRAPPED,
        _NETRC,
        _PGPASS,
        _DOCKERFILE,
        _SIGNED,
        _GROUPED,
        _DIRECTIVE,
        _PROMPTED,
        _CALLED,
        _SET_BY_CALL,
        _STATE,
        _VARIABLE,
        _ROW,
        _FORM,
        _DOUBLED,
        _COMPARED,
        _SQL,
        _KEY_OF_32,
    ):
        for match in rule.found(text, low):
            group = match.lastgroup or "value"
            if rule in (_ROW, _FORM, _MARKED_UP) and is_predicate(match[group]):
                continue
            own_name = rule is _COMPARED and "pass" in match[group].lower()
            label = own_name or (rule is _MARKUP and _is_label(match, match[group]))
            if not (
                label
                or is_reference(match[group], code=rule is not _PGPASS)
                or is_placeholder(match[group])
            ):
                yield (*match.span(group), "password")


_OWN_NAME = lazy_pattern(rf"(?i){NAME_OF_PASSWORD}|secret|token|api[_ -]?key")


def _is_label(match: re.Match[str], value: str) -> bool:
    """True for words about a field, as in `<string name="password">Your password</string>`."""
    words = value.lower().split()
    if len(words) == 1:
        return bool(_OWN_NAME.fullmatch(value))
    named = "pass" in (match["tag"] or "pass").lower()
    return not named or not is_phrase(words) or any(word in REMARKS for word in words)
