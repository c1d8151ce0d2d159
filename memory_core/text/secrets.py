"""Secrets in a text: found by form or name, replaced before anything is stored.

tests/bench/planted.py plants secrets of 25 kinds and measures how many are found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory_core.text.words import listed

_B = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"  # where no token is under way, or after "\n"
_E = r"(?![A-Za-z0-9_-])"
_URL_SAFE = "[A-Za-z0-9_-]"

_HEX_TOKENS = "do[opr]_v1_ dapi shp(?:at|ss|ca|pa)_ rubygems_ sbp_ key-"
"""Of DigitalOcean, Databricks, Shopify, RubyGems, Supabase, Mailgun: followed by hexadecimals."""

_MIXED_TOKENS = (
    r"dckr_[po]at_ lin_api_ ntn_ gsk_ xai- pplx- r8_ hv[sbr]\. figd_ glsa_ glc_ tskey-[a-z]{2,12}-"
    r" ATATT3 ATBB ATCTT3 pscale_(?:tkn|pw|oauth)_ sntr[yu]s?_ NRAK- PMAK- nvapi-"
    r" lsv2_(?:pt|sk)_ AGE-SECRET-KEY-1 sq0(?:atp|csp)- CCIPAT_ CFPAT- GR1348941"
    r" [a-zA-Z0-9]{14}\.atlasv1\."
)
"""Of Docker, Linear, Notion, Groq, xAI, Perplexity, Replicate, Vault, Figma, Grafana, Tailscale,
Atlassian, PlanetScale, Sentry, New Relic, Postman, NVIDIA, LangSmith, age, Square, CircleCI,
Contentful, GitLab runners, Terraform."""

BY_FORM: tuple[tuple[str, str], ...] = (
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
    (
        "gitlab_token",
        rf"{_B}gl(?:pat|ptt|dt|rtr?|cbt|ft|imt|agent|oas|soat|ffct|wt)-{_URL_SAFE}{{20,300}}"
        r"(?:\.[a-z0-9]{2}\.[a-z0-9]{7,9})?",
    ),
    (
        "slack_token",
        rf"{_B}xox[a-eoprs](?:\.xox[bp])?-{_URL_SAFE}{{10,500}}|{_B}xapp-[0-9]-[A-Za-z0-9-]{{20,255}}",
    ),
    ("slack_webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,200}"),
    (
        "google_key",
        rf"{_B}AIza{_URL_SAFE}{{35}}{_E}|{_B}GOCSPX-{_URL_SAFE}{{28}}{_E}"
        rf"|{_B}ya29\.{_URL_SAFE}{{20,500}}|(?<![\w:/-])1//0{_URL_SAFE}{{30,300}}",
    ),
    ("npm_token", rf"{_B}npm_[A-Za-z0-9]{{36}}{_E}"),
    ("pypi_token", rf"{_B}pypi-{_URL_SAFE}{{50,1000}}"),
    ("huggingface_token", rf"{_B}(?:hf|api_org)_[A-Za-z0-9]{{30,100}}{_E}"),
    ("sendgrid_key", rf"{_B}SG\.{_URL_SAFE}{{16,32}}\.{_URL_SAFE}{{32,64}}"),
    ("twilio_key", rf"{_B}(?:SK|AC)[0-9a-f]{{32}}{_E}"),
    ("telegram_token", rf"{_B}[0-9]{{8,10}}:AA{_URL_SAFE}{{32,34}}{_E}"),
    (
        "discord_token",
        rf"{_B}[MNO]{_URL_SAFE}{{22,28}}\.{_URL_SAFE}{{6}}\.{_URL_SAFE}{{27,40}}(?![A-Za-z0-9_-])",
    ),
    (
        "service_token",
        rf"{_B}(?:{'|'.join(_HEX_TOKENS.split())})[0-9a-f]{{32,64}}(?:-[0-9])?{_E}"
        rf"|{_B}(?:{'|'.join(_MIXED_TOKENS.split())})(?=[A-Za-z_.=-]{{0,60}}[0-9])"
        rf"[A-Za-z0-9_.=-]{{24,400}}|{_B}secret_[A-Za-z0-9]{{43}}{_E}",
    ),
    (
        "azure_key",
        r"(?i)\b(?:AccountKey|SharedAccessKey|AccessKey)=(?P<value>[A-Za-z0-9+/]{40,100}={0,2})",
    ),
    (
        "azure_secret",
        r"(?<![\w~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w~-])",
    ),
    ("azure_signature", r"[?&]sig=(?P<value>[A-Za-z0-9%+/]{30,120}={0,2})"),
    ("jwt", rf"{_B}eyJ{_URL_SAFE}{{8,4000}}\.eyJ{_URL_SAFE}{{8,8000}}\.{_URL_SAFE}{{8,2000}}"),
    (
        "aws_secret",
        r"(?i)(?:\baws[_. -]?(?:secret|sec)[a-z_. -]{0,24}|secret[_-]?access[_-]?key)"
        r"(?:\\?[\"'])? ?(?:=|:|is) ?(?:\\?[\"'])?"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    (
        "bearer_token",
        r"(?i)\bbearer\s{1,4}"
        r"(?P<value>(?=[A-Za-z._~+/-]{0,500}[0-9])[A-Za-z0-9._~+/-]{16,4000}={0,2})",
    ),
    (
        "basic_auth",
        r"(?i)\bauthorization[\"']?: ?[\"']?(?:basic|token|apikey) "
        r"(?P<value>[A-Za-z0-9+/._-]{8,1000}={0,2})",
    ),
    (
        "session_cookie",
        r"(?i)\bcookie[\"']?: ?[^\n]{0,200}?(?:sess|sid|token|auth)[a-z_-]{0,20}="
        r"(?P<value>[^;\s\"']{16,1000})",
    ),
    (
        "url_password",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/@\"'<>\[\]]{0,100}:"
        r"(?P<value>[^\s/@\"'<>\[\]]{1,200})@(?=[\w\[])",
    ),
)
"""Kinds and their patterns, the more specific ones first; what is masked is the group "value", or
all of it."""

_TOPIC = r"(?:\s{1,3}(?:for|of|to)\s[\w .'-]{1,60}?)?"
"""What a password or a token is said to be for, between its name and its value."""

_PASSWORD = (
    r"(?i)(?:password|passwd|pwd|passwort|kennwort|passphrase|pass_?word|(?<![a-z])pass)"
    rf"(?P<quoted>\\?[\"'`]\]?)?(?:(?P<topic>{_TOPIC})"
    r"(?P<set>\s{0,3}(?:=(?![=>])|:(?!:)|=>)\s{0,3})"
    rf"|(?P<said>{_TOPIC}\s{{1,3}}(?:is|was|ist|lautet|to|auf)\s{{1,3}}(?:now )?)"
    r"|(?P<bare>[ \t]{1,3}))"
    r"(?:\\?[\"'`“])?(?P<value>(?!\[masked:)[^\s\"'`“”<>,;]{4,128})"
)
_NAME = (
    r"(?:secret|token|credential|api[_ -]?key|(?:access|private|secret|encryption|auth|signing"
    r"|master|account|service)[_ -]?key)"
)
_NAMED = (
    rf"(?i)(?<![a-z])(?:[a-z0-9]{{1,20}}[_-]){{0,4}}{_NAME}[\"'`]?"
    r"(?:\s{0,3}(?:=(?!=)|:(?!:))\s{0,3}|\s{1,3}is\s{1,3})"
    r"[\"'`“]?(?P<value>(?=[a-z._~+/=-]{0,120}[0-9])(?!\[masked:)[A-Za-z0-9._~+/=-]{12,256})"
)
_NAMED_LOOSELY = (
    rf"(?i){_NAME}[a-z0-9_-]{{0,20}}(?<![_-]id)(?:\\?[\"'`]\]?)?{_TOPIC}"
    r"(?:\s{0,3}(?:=(?![=>])|:(?!:)|=>)\s{0,3}|\s{1,3}(?:is|was|to)\s{1,3}|[ \t]{1,3})"
    r"(?:\\?[\"'`“])?(?P<value>(?!\[masked:)[A-Za-z0-9._~+/=-]{12,256})"
)
_CARD = re.compile(
    r"(?<![\w.,/:+-])(?:[3-6][0-9]{3}(?:([ -]?)[0-9]{4}(?:\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?"
    r"|\1?[0-9]{7}|[0-9]{2}\1[0-9]{5})))(?![\w/-]|[.,][0-9])"
)
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        *BY_FORM,
        ("password", _PASSWORD),
        ("secret", _NAMED),
        ("random", _NAMED_LOOSELY),
    )
)
_HINT = re.compile(
    r"[0-9A-Za-z+/_~.-]{16}|://|[0-9]{4}[ -]?[0-9]"
    r"|(?i:pass|pwd|secret|token|key|bearer|basic|kennw)"
)


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """*text* with each secret replaced by ``[masked:KIND]``, and the kinds in order of the text.

    One kind for each place that was masked; () and the same text when there is none. Thirty-odd
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
            if _counts(kind, match):
                _keep(spans, (*match.span(group), "secret" if kind == "random" else kind))
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


def mask_all(texts: Sequence[str]) -> tuple[list[str], str]:
    """Each of *texts* masked, and the kinds found in all of them, joined by commas; "" for none."""
    masked = [mask(text) for text in texts]
    return [text for text, _ in masked], ", ".join(kind for _, kinds in masked for kind in kinds)


def _keep(spans: list[tuple[int, int, str]], new: tuple[int, int, str]) -> None:
    """Add *new* unless a more specific kind already covers some of it."""
    if not any(new[0] < end and start < new[1] for start, end, _ in spans):
        spans.append(new)


def _counts(kind: str, match: re.Match[str]) -> bool:
    if kind == "password":
        return _is_password(match)
    return kind != "random" or _is_random(match["value"])


_PLAIN_WORD = re.compile(r"[^\W\d_]+[.!?…)]{0,3}")
_REFERENCE = re.compile(
    r"[$&][({]{0,3}[A-Za-z_.]{0,60}[)}]{0,3}$|%[sd(]|\*+\W*$|<|\{{1,2}[A-Za-z_.]{0,60}\}{0,2}$"
    r"|[A-Za-z_]{1,60}(?:\.[A-Za-z_]{1,60}){0,6}[(\[]"
    r"|[a-z_]{1,40}(?:\.[a-zA-Z_]{1,40}){1,6}[);,]{0,4}$"
)
_ARGUMENT = re.compile(r"[A-Za-z_]+[)\]]*")


def _is_reference(match: re.Match[str]) -> bool:
    """True where a value says only where the password is: $NAME, %s, settings.password, get(...),
    or a name among the arguments of a call."""
    value, end = match["value"], match.end()
    if _REFERENCE.match(value):
        return True
    bare = match.string[match.start("value") - 1] in "= "
    called = value.endswith((")", "]")) or match.string[end : end + 1] == ","
    return bare and called and bool(_ARGUMENT.fullmatch(value))


def _is_password(match: re.Match[str]) -> bool:
    """Assigned with = anything is one; after : or "is" a plain word is one only at the line's end.

    After the bare name, and where it is said what the password is for, it has to look like one.
    """
    value = match["value"]
    if match["bare"] is not None:
        return len(value) >= 8 and not match["quoted"] and _is_strong(value.rstrip(".!?)*_:"))
    if match["said"] is not None:
        return not _PLAIN_WORD.fullmatch(value) and _is_odd(value)
    if value.rstrip(".,;)}]").lower() in _NO_VALUES or _is_reference(match):
        return False
    if match["topic"]:
        return _is_odd(value)
    if "=" in match["set"] or not _PLAIN_WORD.fullmatch(value):
        return True
    rest = match.string[match.end() : match.end() + 40].split("\n", 1)[0]
    return not rest.strip(" \t\"'`.,;)}")


_NO_VALUES = frozenset(
    listed("none null true false string str required optional empty todo unset hidden bytes")
)


def _is_odd(value: str) -> bool:
    """True for what is no word: with a digit, a sign within, or capitals within."""
    inner = value.rstrip(".!?…)")
    return bool(re.search(r"[0-9]|\w[!#$%&*@^_+=]\w|[a-z][A-Z].*[a-z][A-Z]", inner))


def _is_strong(value: str) -> bool:
    """True for what mixes letters with digits or signs as only passwords do."""
    kinds = sum(
        bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[!#$%&*@^_+]")
    )
    return kinds >= 3 or (kinds == 2 and bool(re.search("[a-z][0-9]{3,}[!#$*]?$", value)))


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def _is_random(value: str) -> bool:
    """True for random strings: a UUID, or ten characters in a row that mix letters and digits."""
    if _UUID.fullmatch(value.rstrip(".")):
        return True
    runs = re.findall(r"[A-Za-z0-9+/]{10,}", value)
    return any(re.search("[0-9]", run) and len(_CHANGES.findall(run)) >= 4 for run in runs)


def _luhn(text: str) -> bool:
    digits = [int(char) for char in text if char.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
