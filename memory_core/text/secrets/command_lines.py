"""Passwords among the arguments of commands: `curl -u`, `mysql -p`, `sshpass -p` and their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import Rule, Span, is_placeholder, is_random, is_reference

_VALUE = (
    r"(?:\"(?P<double>[^\"\n]{3,128})\"|'(?P<single>[^'\n]{3,128})'"
    r"|(?P<value>[^\s\"'`|;<>,]{3,128}))"
)
_USER = (
    r"\s?(?:'[^\s:\"'$<>/]{1,80}:(?P<phrase>[^\"'$<>\n]{3,200})'"
    r"|[\"']?[^\s:\"'$<>/]{1,80}:(?P<value>[^\s\"'@/$<>][^\s\"'@<>]{2,200})[\"']?(?=\s|$|`))"
)
_ATTACHED = rf"(?<=\s)-p(?!\s|=){_VALUE}"
_SEPARATE = rf"(?<=\s)(?:-p|--password)[ =]{{1,2}}(?!-){_VALUE}"

_TOOLS: tuple[tuple[str, str], ...] = (
    ("lftp|ncftp|ncftpget|ncftpput", rf"(?<=\s)-u\s?[^\s,]{{1,80}},{_VALUE}"),
    ("ssh-keygen|gpg2?|age-keygen", rf"(?<=\s)(?:-[NP]|--passphrase)\s{_VALUE}"),
    ("curl|http|https|xh|wget", rf"(?<=\s)-(?:u|-user|U|-proxy-user|a|-auth)[ =]?{_USER}"),
    ("mysql[a-z]{0,9}|mariadb(?:-[a-z]{2,9})?", _ATTACHED),
    ("7z|7za|zip|unzip|unrar|rar", rf"(?<=\s)(?:-p(?!\s)|-P\s?(?!-)){_VALUE}"),
    ("sshpass|mongo|mongosh|mongodump|mongorestore|cqlsh|sqlcmd", rf"(?<=\s)-[pP]\s?(?!-){_VALUE}"),
    ("[a-z]{2,12} login|[a-z]{2,10} registry login", _SEPARATE),
    ("redis-cli", rf"(?<=\s)-a\s{_VALUE}"),
    ("ldapsearch|ldapmodify|ldapadd|ldappasswd|ldapwhoami", rf"(?<=\s)-[wsa]\s{_VALUE}"),
    ("smbclient|rpcclient|smbget", rf"(?<=\s)-U\s?[\"']?[^\s%\"']{{1,80}}%{_VALUE}"),
    (
        "net use",
        r"\\\\\S{3,200}\s+(?:/user:\S{1,80}\s+)?(?P<value>[^\s/\"']{3,128})(?=\s+/(?:user"
        r"|persistent)|\s*$)",
    ),
    ("net user", r"\s\S{1,80}\s(?P<value>[^\s/\"'*]{3,128})(?=\s*(?:/add|/domain|$))"),
    (
        "rabbitmqctl",
        rf"\b(?:add_user|change_password|authenticate_user)\s\S{{1,80}}\s{_VALUE}",
    ),
    ("vault operator", rf"\bunseal\s{_VALUE}"),
    ("rclone", rf"\b(?:pass|obscure)\s{_VALUE}"),
    ("openssl", rf"(?<=\s)-[kK]\s{_VALUE}"),
    ("nmcli|iwconfig", rf"\b(?:password|(?:wifi-sec\.|802-11-wireless-security\.)psk)\s{_VALUE}"),
    ("snmp[a-z]{2,9}", rf"(?<=\s)-[cAX]\s?{_VALUE}"),
    ("xfreerdp3?|wfreerdp|mstsc|cmdkey", rf"(?<=\s)/p(?:ass)?:{_VALUE}"),
    ("sqlplus|sqlldr|expdp|impdp|exp|imp",
     r"\s[\w.$#-]{1,60}/(?P<value>[^\s/@\"'<>]{3,128})(?=@|\s|$)"),
    ("plink|pscp|psftp", rf"(?<=\s)-pw\s{_VALUE}"),
    ("ipmitool|bcp|isql|rdesktop|evil-winrm|winexe|psexec", rf"(?<=\s)-[pP]\s?(?!-){_VALUE}"),
    ("security", rf"\badd-[a-z]{{5,9}}-password\b.{{0,200}}?\s-w\s{_VALUE}"),
    ("keytool|jarsigner", rf"-(?:store|key|deststore|srcstore)pass\s{_VALUE}"),
    ("htpasswd", rf"(?<=\s)-[a-zA-Z]{{0,4}}b[a-zA-Z]{{0,4}}\s(?:\S{{1,200}}\s){{1,2}}{_VALUE}\s*$"),
    ("echo|printf", r"[ ]{1,9}[\"']?(?:[^\s:\"']{1,60}+:)?(?P<value>[^\s\"'|$]{4,128}+)[\"']?"
     r"\s{0,9}\|\s{0,9}"
     r"(?=[^\n]{0,80}(?:--password-stdin|\bsudo -S|\bchpasswd|\bpasswd\b|--stdin"
     r"|\b(?:keepassxc-cli|cryptsetup|veracrypt|kinit|gpg[^\n]{0,60}--passphrase-fd"
     r"|wpa_passphrase|smbpasswd"
     r"|ecryptfs-[a-z-]{3,30}|openssl passwd)\b))"),
)  # fmt: skip
_LINE = lazy_pattern(
    r"(?<![\w./-])(?:"
    + "|".join(f"(?P<t{place}>{names})" for place, (names, _) in enumerate(_TOOLS))
    + r")(?=[ \t])[^\n]{1,2000}"
)
_ARGUMENTS = tuple(lazy_pattern(arguments) for _, arguments in _TOOLS)
_ANYWHERE = (
    lazy_pattern(
        r"(?<![\w-])--?(?:[a-z]{2,12}-)?(?:requirepass|masterauth|pass(?:word|wd|phrase|w)?|pwd?"
        r"|passwort)(?:=|\s)(?!-|(?:env|file|fd|pass|stdin)\b)"
        r"(?:\"(?P<double>[^\"\n]{3,128})\"|'(?P<single>[^'\n]{3,128})'"
        r"|(?P<value>[^\s\"'`|;<>,]{4,128}))(?=\s*$|\s+(?:-|[\"'|>&]|[a-z]{2,8}://|\S{1,40}@)"
        r"|[\"'`])",
        re.MULTILINE,
    ),
    lazy_pattern(r"(?<![\w/])pass:(?P<value>[^\s\"'`]{4,128})"),
)
_HINTS = (
    " -", "\t-", "-pass", "pass:", "net use", "rclone", "echo", "printf", "nmcli", "iwconfig",
    "rabbitmqctl", "unseal", "freerdp", "mstsc", "cmdkey", "sqlplus", "sqlldr", "exp", "imp",
)  # fmt: skip
"""Of which every line that holds a password has one."""
_PRINTED = Rule(
    "auth:token|auth token|print-access-token|genkey|genpsk|openssl rand|pwgen|urandom|base64 -"
    "|kv get|secrets versions access"
    "|get-secret-value|op read|pass show|get secret|find-generic|find-internet",
    r"(?mi)^[^\n]{0,80}?(?:\bwg (?:genkey|genpsk)|\bopenssl rand|\bpwgen\b|/dev/urandom"
    r"|\bvault kv get|\bsecrets versions access|\bget-secret-value|\bop read|\bg?o?pass show"
    r"|\bfind-(?:generic|internet)-password"
    r"|\bauth:token|\bgh auth token|\bprint-access-token"
    r"|\bget secret[^\n]{0,200}\|\s?base64 -)[^\n]{0,200}\n(?:[^\n]{0,8}warning[^\n]{0,120}\n)?"
    r"(?P<value>(?=[^\s\"']{0,200}[0-9+/=])[^\s\"']{8,200})[ \t]*$",
)
_SHOWN = Rule(
    "pass|secret|token|-key|.key|credential",
    r"(?mi)^[^\n$#>%]{0,60}[$#>%] [^\n]{0,200}?(?:pass(?:word|wd|phrase)|secret|token|[.-]key"
    r"|credential)"
    r"[^\n]{0,300}\n(?P<value>[A-Za-z0-9+/_=.-]{10,512})[ \t]*$",
)
"""One random word below a command at a prompt that names a secret."""
_HEXADECIMAL = lazy_pattern("[0-9a-f]{32,128}")
_LOGGING_IN = Rule(
    "login|auth|user|pass ",
    r"(?m)(?:\bLOGIN (?:\"[^\"\n]{1,80}\"|[^\s\"]{1,80}) (?:\"(?P<quoted>[^\"\n]{3,128})\""
    r"|(?P<value>[^\s\"]{4,128}))"
    r"|^(?:\S{0,60}> )?AUTH (?:\S{1,60} )?(?![A-Z]+(?:\s|$))(?P<redis>\S{4,128})"
    r"|^(?:C: )?USER [^\n]{1,80}\n(?:[^\n]{0,80}\n)?(?:C: )?PASS (?P<pop>\S{4,128})"
    r"|(?<![\w-])[a-z]{2,12} (?:auth|login|config add-authtoken|authtoken)(?: login)?"
    r" (?P<given>(?=[A-Za-z_-]{0,200}[0-9])[A-Za-z0-9_-]{20,400}))(?=\s|$)",
)
"""Lines of IMAP, POP and FTP that log in, and a token as the argument of a command."""
_HERE_STRING = Rule(
    "<<<",
    r"(?i)(?:sudo -S|passw|passwd|--stdin|-stdin|luks|pinentry|passphrase|login|auth|vault|token"
    r"|secret)[^\n<]{0,200}<<<[ ]?"
    r"(?:\"(?P<double>[^\"$\n]{3,128})\"|'(?P<single>[^'\n]{3,128})'|(?P<value>[^\s\"'$]{3,128}))",
)
"""What a command that makes or shows a secret printed."""
_ASKING = lazy_pattern(r"(?:mysql|maria)[^\n]{0,400}$")
"""Commands that ask for the password after --password and a space."""
_WORDS = frozenset({"asks", "means", "prompts", "flag", "option"})


def found(text: str, low: str) -> Iterator[Span]:
    """The places of passwords in the command lines that *text* holds; *low* is `folded` of it."""
    for rule in (_PRINTED, _HERE_STRING):
        for match in rule.found(text, low):
            yield from _value(match)
    for match in _SHOWN.found(text, low):
        if is_random(match["value"]) or _HEXADECIMAL.fullmatch(match["value"]):
            yield from _value(match)
    for match in _LOGGING_IN.found(text, low):
        yield from _value(match)
    if not any(hint in low for hint in _HINTS):
        return
    for line in _LINE.finditer(text):
        arguments = _ARGUMENTS[int((line.lastgroup or "t0")[1:])]
        for match in arguments.finditer(text, *line.span()):
            yield from _value(match)
    for pattern in _ANYWHERE:
        for match in pattern.finditer(text):
            asked = "=" not in match.group() and _ASKING.search(
                text[max(0, match.start() - 400) : match.start()]
            )
            if not asked:
                yield from _value(match)


def _value(match: re.Match[str]) -> Iterator[Span]:
    group = match.lastgroup or 0
    value = match[group]
    if not (is_reference(value, code=False) or is_placeholder(value) or value in _WORDS):
        yield (*match.span(group), "password")
