"""Secrets in a text: found by form, replaced before anything is stored (design, section 5)."""

from __future__ import annotations

import re

from memory_core.text.words import listed

_B = r"(?<![A-Za-z0-9_-])"  # secrets start where no token is under way
_E = r"(?![A-Za-z0-9_-])"
_URL_SAFE = "[A-Za-z0-9_-]"

_BY_FORM: tuple[tuple[str, str], ...] = (
    (
        "private_key",
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,20000}"
        r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"|[A-Za-z0-9+/=\s\\]{0,20000})",
    ),
    ("anthropic_key", rf"{_B}sk-ant-{_URL_SAFE}{{16,256}}"),
    (
        "stripe_key",
        rf"{_B}(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{16,256}}|{_B}whsec_[A-Za-z0-9+/=]{{24,256}}",
    ),
    (
        "openai_key",
        rf"{_B}sk-(?:proj-|svcacct-|admin-"
        rf"|or-v1-)?(?=[a-zA-Z_-]{{0,250}}[0-9]){_URL_SAFE}{{20,256}}",
    ),
    ("aws_key_id", rf"{_B}(?:AKIA|ASIA)[A-Z2-7]{{16}}{_E}"),
    ("github_token", rf"{_B}(?:gh[pousr]_[A-Za-z0-9]{{30,255}}|github_pat_[A-Za-z0-9_]{{40,255}})"),
    ("gitlab_token", rf"{_B}gl(?:pat|rt|dt|cbt|ptt)-{_URL_SAFE}{{20,255}}"),
    (
        "slack_token",
        rf"{_B}xox[abeoprs]-[A-Za-z0-9-]{{10,255}}|{_B}xapp-[0-9]-[A-Za-z0-9-]{{20,255}}",
    ),
    ("slack_webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,200}"),
    ("google_key", rf"{_B}AIza{_URL_SAFE}{{35}}{_E}|{_B}GOCSPX-{_URL_SAFE}{{28}}{_E}"),
    ("npm_token", rf"{_B}npm_[A-Za-z0-9]{{36}}{_E}"),
    ("pypi_token", rf"{_B}pypi-{_URL_SAFE}{{50,1000}}"),
    ("huggingface_token", rf"{_B}hf_[A-Za-z0-9]{{30,100}}{_E}"),
    ("sendgrid_key", rf"{_B}SG\.{_URL_SAFE}{{16,32}}\.{_URL_SAFE}{{32,64}}"),
    ("twilio_key", rf"{_B}(?:SK|AC)[0-9a-f]{{32}}{_E}"),
    ("telegram_token", rf"{_B}[0-9]{{8,10}}:AA{_URL_SAFE}{{32,34}}{_E}"),
    ("digitalocean_token", rf"{_B}do[opr]_v1_[0-9a-f]{{64}}{_E}"),
    (
        "azure_key",
        r"(?i)\b(?:AccountKey|SharedAccessKey|AccessKey)=(?P<value>[A-Za-z0-9+/]{40,100}={0,2})",
    ),
    ("azure_signature", r"[?&]sig=(?P<value>[A-Za-z0-9%+/]{30,120}={0,2})"),
    ("jwt", rf"{_B}eyJ{_URL_SAFE}{{8,4000}}\.eyJ{_URL_SAFE}{{8,8000}}\.{_URL_SAFE}{{8,2000}}"),
    (
        "aws_secret",
        r"(?i)\baws[_. -]?(?:secret|sec)[a-z_. -]{0,24}[\"']? ?(?:=|:|is) ?[\"']?"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    (
        "bearer_token",
        r"(?i)\bbearer\s{1,4}(?P<value>(?=[A-Za-z._~+/-]{0,500}[0-9])[A-Za-z0-9._~+/-]{16,4000}={0,2})",
    ),
    (
        "basic_auth",
        r"(?i)\bauthorization[\"']?: ?[\"']?basic (?P<value>[A-Za-z0-9+/]{8,1000}={0,2})",
    ),
    (
        "url_password",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/@\"'<>\[\]]{0,100}:(?P<value>[^\s/@\"'<>\[\]]{1,200})@(?=[\w\[])",
    ),
)
_PASSWORD = (
    r"(?i)(?<![a-z])(?:password|passwd|pwd|passwort|passphrase|pass_?word)[\"'`]?"
    r"(?:(?P<set>\s{0,3}(?:=(?!=)|:(?!:))\s{0,3})|\s{1,3}(?:is|was|ist|lautet)\s{1,3}(?:now )?)"
    r"[\"'`“]?(?P<value>(?!\[masked:)[^\s\"'`“”<>,;]{4,128})"
)
_NAMED = (
    r"(?i)(?<![a-z])(?:[a-z0-9]{1,20}[_-]){0,4}(?:secret|token|api[_ -]?key|apikey|access[_ -]?key"
    r"|private[_ -]?key|client[_ -]?secret|encryption[_ -]?key)[\"'`]?"
    r"(?:\s{0,3}(?:=(?!=)|:(?!:))\s{0,3}|\s{1,3}is\s{1,3})"
    r"[\"'`“]?(?P<value>(?=[a-z._~+/=-]{0,120}[0-9])(?!\[masked:)[A-Za-z0-9._~+/=-]{12,256})"
)
_CARD = re.compile(
    r"(?<![\w.,/:+-])(?:[3-6][0-9]{3}(?:([ -]?)[0-9]{4}(?:\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|\1?[0-9]{7}|[0-9]{2}\1[0-9]{5})))(?![\w/-]|[.,][0-9])"
)
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (*_BY_FORM, ("password", _PASSWORD), ("secret", _NAMED))
)
_HINT = re.compile(
    r"[0-9A-Za-z+/_-]{16}|://|[0-9]{4}[ -]?[0-9]|(?i:pass|pwd|secret|token|key|bearer|basic)"
)


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """*text* with each secret replaced by ``[masked:KIND]``, and the kinds in order of the text.

    One kind for each place that was masked; () and the same text when there is none. Twenty-odd
    kinds of keys and tokens go by their own form; passwords and generic secrets by the name in
    front of them; card numbers by length, issuer and the Luhn check digit. Masking twice changes
    nothing more.
    """
    if not _HINT.search(text):
        return text, ()
    spans: list[tuple[int, int, str]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            group = "value" if "value" in pattern.groupindex else 0
            if kind != "password" or _is_password(match):
                _keep(spans, (*match.span(group), kind))
    for match in _CARD.finditer(text):
        if _luhn(match.group()):
            _keep(spans, (*match.span(), "card_number"))
    if not spans:
        return text, ()
    spans.sort()
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += [text[done:start], f"[masked:{kind}]"]
        done = end
    return "".join([*pieces, text[done:]]), tuple(kind for _, _, kind in spans)


def _keep(spans: list[tuple[int, int, str]], new: tuple[int, int, str]) -> None:
    """Add *new* unless a more specific kind already covers some of it."""
    if not any(new[0] < end and start < new[1] for start, end, _ in spans):
        spans.append(new)


_PLAIN_WORD = re.compile(r"[^\W\d_]+[.!?…)]{0,3}")


def _is_password(match: re.Match[str]) -> bool:
    """Assigned with = anything is one; after : or "is" a plain word is one only at the line's"
    " end."""
    value = match["value"]
    if match["set"] is None:
        return not _PLAIN_WORD.fullmatch(value) and any(char.isdigit() for char in value)
    if "=" in match["set"] or not _PLAIN_WORD.fullmatch(value):
        return True
    rest = match.string[match.end() : match.end() + 40].split("\n", 1)[0]
    return not rest.strip(" \t\"'`.,;)}") and value.lower() not in _NO_VALUES


_NO_VALUES = frozenset(
    listed("none null true false string required optional empty todo unset hidden")
)


def _luhn(text: str) -> bool:
    digits = [int(char) for char in text if char.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
