"""Secrets that go by their own form: keys and tokens of vendors, headers, links, hashes."""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import (
    Rule,
    Span,
    is_example,
    is_placeholder,
    is_random,
    is_reference,
)

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

_SERVICES = (
    "dop_v1_|doo_v1_|dor_v1_|dapi|shpat_|shpss_|shpca_|shppa_|rubygems_|sbp_|key-|dckr_|lin_api_"
    "|ntn_"
    "|gsk_|xai-|pplx-|r8_|hvs.|hvb.|hvr.|figd_|glsa_|glc_|tskey-|atatt3|atbb|atctt3|pscale_|sntr"
    "|nrak-"
    "|pmak-|nvapi-|lsv2_|age-secret-key-1|sq0|ccipat_|cfpat-|gr1348941|.atlasv1.|secret_"
)

BY_FORM: tuple[tuple[str, str, str], ...] = (
    (
        "doppler_token",
        "dp.",
        rf"{_B}dp\.(?:st|pt|ct|sa|scim|audit)\.(?:[\w-]{{1,40}}\.)?\w{{40,64}}{_E}",
    ),
    (
        "mapbox_token",
        "sk.eyj|tk.eyj",
        rf"{_B}[st]k\.eyJ{_URL_SAFE}{{20,400}}\.{_URL_SAFE}{{20,40}}",
    ),
    ("nuget_key", "oy2", rf"{_B}oy2[a-z0-9]{{43}}{_E}"),
    ("saml_token", "saml", r"(?i)\bSAML(?:Response|Request)=(?P<value>[A-Za-z0-9%+/=_-]{40,8000})"),
    ("deepl_key", ":fx", rf"{_B}[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}:fx{_E}"),
    ("fly_token", "fm1|fm2|fo1_", rf"{_B}(?:fm[12]r?_|fo1_)[A-Za-z0-9+/_-]{{40,2000}}={{0,2}}"),
    ("dropbox_token", "sl.", rf"{_B}sl\.(?:u\.)?[A-Za-z0-9_-]{{60,2000}}"),
    (
        "secret",
        "xkeysib-|xsmtpsib-|pul-",
        rf"{_B}(?:xkeysib-|xsmtpsib-|pul-)[0-9a-f]{{40,64}}(?:-\w{{16}})?{_E}",
    ),
    ("secret", "a3-", rf"{_B}A3-[A-Z0-9]{{6}}(?:-[A-Z0-9]{{5,6}}){{4,5}}{_E}"),
    ("join_token", "k10", rf"{_B}K10[0-9a-f]{{40,64}}::[a-z0-9-]{{2,40}}:[^\s\"']{{8,200}}"),
    ("join_token", "token", r"(?i)token[ =:\"']{1,4}(?P<value>[a-z0-9]{6}\.[a-z0-9]{16})(?![\w.])"),
    ("password_hash", "*", r"(?<![\w*])\*[0-9A-F]{40}(?![\w*])"),
    (
        "private_key",
        "wif|bitcoin|btc|private key",
        r"(?i:wif|bitcoin|btc"
        r"|private key)[^\n]{0,120}?(?<!\w)(?P<value>5[HJK][1-9A-HJ-NP-Za-km-z]{49}"
        r"|[KL][1-9A-HJ-NP-Za-km-z]{51})(?!\w)",
    ),
    ("secret", "_key=base64:", r"(?i)_key=base64:(?P<value>[A-Za-z0-9+/]{20,100}={0,2})"),
    ("recovery_key", "-", r"(?<![\w-])[0-9]{6}(?:-[0-9]{6}){7}(?![\w-])"),  # of BitLocker
    ("sonar_token", "squ_|sqp_|sqa_", rf"{_B}sq[uap]_[0-9a-f]{{40}}{_E}"),
    (
        "private_key",
        '"kty"',
        r"\"(?:d|k|p|q|dp|dq|qi)\"\s?:\s?\"(?P<value>[A-Za-z0-9_-]{20,2000})\"",
    ),
    ("airtable_token", "pat", rf"{_B}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}(?![\w-])"),
    ("secret", "django-insecure-", r"django-insecure-[^\s\"']{30,80}"),
    ("anthropic_key", "sk-ant-", rf"{_B}sk-ant-{_URL_SAFE}{{16,256}}"),
    (
        "stripe_key",
        "sk_live|sk_test|rk_live|rk_test|whsec_",
        rf"{_B}(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{16,256}}|{_B}whsec_[A-Za-z0-9+/=]{{24,256}}",
    ),
    (
        "openai_key",
        "sk-",
        rf"{_B}sk-(?:proj-|svcacct-|admin-"
        rf"|or-v1-)?(?=[a-zA-Z_-]{{0,250}}[0-9]){_URL_SAFE}{{20,256}}",
    ),
    ("aws_key_id", "akia|asia", rf"{_B}(?:AKIA|ASIA)[A-Z0-9]{{16}}{_E}"),
    (
        "github_token",
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
        rf"{_B}(?:gh[pousr]_[A-Za-z0-9]{{30,255}}|github_pat_[A-Za-z0-9_]{{40,255}})",
    ),
    (
        "gitlab_token",
        "gl",
        rf"{_B}gl(?:pat|ptt|dt|rtr?|cbt|ft|imt|agent|oas|soat|ffct|wt)-{_URL_SAFE}{{20,300}}"
        r"(?:\.[a-z0-9]{2}\.[a-z0-9]{7,9})?",
    ),
    (
        "slack_token",
        "xox|xapp-",
        rf"{_B}xox[a-eoprs](?:\.xox[bp])?-{_URL_SAFE}{{10,500}}"
        rf"|{_B}xapp-[0-9]-[A-Za-z0-9-]{{20,255}}",
    ),
    (
        "slack_webhook",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,200}",
    ),
    (
        "google_key",
        "aiza|gocspx-|ya29.|1//0",
        rf"{_B}AIza{_URL_SAFE}{{35}}{_E}|{_B}GOCSPX-{_URL_SAFE}{{28}}{_E}"
        rf"|{_B}ya29\.{_URL_SAFE}{{20,500}}|(?<![\w:/-])1//0{_URL_SAFE}{{30,300}}",
    ),
    ("npm_token", "npm_", rf"{_B}npm_[A-Za-z0-9]{{36}}{_E}"),
    ("pypi_token", "pypi-", rf"{_B}pypi-{_URL_SAFE}{{50,1000}}"),
    ("huggingface_token", "hf_|api_org_", rf"{_B}(?:hf|api_org)_[A-Za-z0-9]{{30,100}}{_E}"),
    ("facebook_token", "eaa", rf"{_B}EAA(?=[A-Za-z]{{0,300}}[0-9])[A-Za-z0-9]{{80,300}}{_E}"),
    ("sendgrid_key", "sg.", rf"{_B}SG\.{_URL_SAFE}{{16,32}}\.{_URL_SAFE}{{32,64}}"),
    ("twilio_key", "ac", rf"{_B}AC[0-9a-f]{{32}}[\"']?[,:;] ?[\"']?(?P<value>[0-9a-f]{{32}}){_E}"),
    ("twilio_key", "sk|ac", rf"{_B}(?:SK|AC)[0-9a-f]{{32}}{_E}"),
    ("telegram_token", ":aa", rf"(?:{_B}|(?<=/bot))[0-9]{{8,10}}:AA{_URL_SAFE}{{32,34}}{_E}"),
    (
        "discord_token",
        ".",
        rf"{_B}[MNO]{_URL_SAFE}{{22,28}}\.{_URL_SAFE}{{6}}\.{_URL_SAFE}{{27,40}}(?![A-Za-z0-9_-])",
    ),
    (
        "service_token",
        _SERVICES,
        rf"{_B}sntrys_[A-Za-z0-9_.=+/-]{{24,600}}"
        rf"|{_B}(?:{'|'.join(_HEX_TOKENS.split())})[0-9a-f]{{32,64}}(?:-[0-9])?{_E}"
        rf"|{_B}(?:{'|'.join(_MIXED_TOKENS.split())})(?=[A-Za-z_.=-]{{0,60}}[0-9])"
        rf"[A-Za-z0-9_.=-]{{24,400}}|{_B}secret_[A-Za-z0-9]{{43}}{_E}",
    ),
    (
        "wallet_key",
        "prv|nsec1",
        rf"{_B}[xyztuv]prv[0-9A-Za-z]{{100,112}}{_E}|{_B}nsec1[02-9a-z]{{58}}{_E}",
    ),
    ("heroku_key", "hrku-", rf"{_B}HRKU-[A-Za-z0-9_-]{{30,80}}{_E}"),
    (
        "azure_key",
        "accountkey=|accesskey=",
        r"(?i)\b(?:AccountKey|SharedAccessKey|AccessKey)=(?P<value>[A-Za-z0-9+/]{40,100}={0,2})",
    ),
    (
        "azure_secret",
        "q~",
        r"(?<![\w~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w~-])",
    ),
    ("azure_signature", "sig=", r"[?&]sig=(?P<value>[A-Za-z0-9%+/]{30,120}={0,2})"),
    (
        "jwt",
        "eyj",
        rf"{_B}eyJ{_URL_SAFE}{{8,4000}}\.eyJ{_URL_SAFE}{{8,8000}}\.{_URL_SAFE}{{8,2000}}",
    ),
    (
        "aws_secret",
        "aws|secret",
        r"(?i)(?:\baws[_. -]?(?:secret|sec)[a-z_. -]{0,24}|secret[_-]?access[_-]?key)"
        r"(?:\\?[\"'])? ?(?:=|:|is) ?(?:\\?[\"'])?"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    (
        "bearer_token",
        "bearer",
        r"(?i)\bbearer(?:[ _-]token)?\s?[:=]?\s{1,4}"
        r"(?P<value>(?=[A-Za-z._~+/-]{0,500}[0-9])[A-Za-z0-9._~+/-]{16,4000}={0,2})",
    ),
    (
        "bearer_token",
        "bearer",
        r"(?i)\bauthorization[\"']?\s?[:=]\s?[\"']?bearer\s{1,4}(?P<value>[a-z]{16,4000})"
        r"(?![a-z._~+/-]{0,100}[0-9])",
    ),
    (
        "bearer_token",
        "bearer",
        r"\b(?i:bearer)\s{1,4}(?P<value>[a-z]{24,4000}|[A-Z]{24,4000}"
        r"|(?=(?:[A-Z]{0,40}[a-z]{1,40}[A-Z]){4})[A-Za-z]{20,4000})(?![\w.~+/-])",
    ),
    (
        "basic_auth",
        "authorization",
        r"(?i)\bauthorization[\"']?[: ,=]{1,2} ?[\"']?(?:basic|token|apikey) "
        r"(?P<value>[A-Za-z0-9+/._-]{8,1000}={0,2})(?![A-Za-z0-9+/._=-])",
    ),
    (
        "header_token",
        "authorization",
        r"(?i)\bauthorization[\"']?\s?[:=]\s?[\"']?(?:[a-z-]{2,30}[ =]\s?)?[\"']?"
        r"(?P<value>(?=[a-z._:~+/-]{0,500}[0-9])[A-Za-z0-9._:~+/-]{20,4000}={0,2})",
    ),
    (
        "basic_auth",
        "auth plain|auth login",
        r"\bAUTH (?:PLAIN|LOGIN) (?P<value>[A-Za-z0-9+/]{8,400}={0,2})(?=\s|$)",
    ),
    (
        "url_code",
        "private|secret|token|key|feed|auth|share",
        r"(?i)://[^\s\"'<>]{3,200}?/(?:[a-z]{1,12}[-_])?(?:private|secret|token|key|feed|auth"
        r"|share)"
        r"[-_/](?P<value>[0-9a-f]{24,128})(?![\w-])",
    ),
    (
        "header_token",
        "apikey|api-key|-token|auth-key|client-secret",
        r"(?i)(?<![a-z0-9-])(?:x-)?(?:[a-z]{2,20}-)?(?:api-?key|(?:auth|access|private|csrf"
        r"|session|security|job|deploy)-token|auth-key|client-secret)[\"']?: ?[\"']?"
        r"(?P<value>[A-Za-z0-9+/._~-]{16,2000}={0,2})",
    ),
    (
        "url_password",
        "://",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s:/@\"'<>\[\]]{0,100}:"
        r"(?P<value>[^\s/@\"'<>\[\]]{1,200})@(?=[\w\[])",
    ),
    (
        "url_password",
        "jdbc:|@tcp|@udp|@unix",
        r"(?i)(?<![\w/])[\w.-]{1,40}:(?P<dsn>[^\s:@/\"']{3,64})@(?:tcp|udp|unix)\("
        r"|\bjdbc:[a-z:]{2,40}:[\w.$#-]{1,60}/(?P<value>[^\s/@\"'<>]{1,128})@",
    ),
    (
        "webhook",
        "webhook",
        r"(?i)(?<![\w-])(?:[a-z0-9-]{1,20}\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/"
        r"(?P<value>[0-9]{15,22}/[\w-]{40,120})"
        r"|https://[a-z0-9.-]{1,60}\.office\.com/webhook(?:b2)?/(?P<path>[\w@/-]{40,400})",
    ),
    (
        "webhook",
        "hook",
        r"(?i)https?://hooks?\.[a-z0-9.-]{3,60}/(?:[\w-]{1,40}/){0,4}"
        r"(?P<value>(?=[a-z_-]{0,80}[0-9])(?=[0-9_-]{0,80}[a-z])[\w-]{6,120})(?![\w.-])",
    ),
    (
        "url_code",
        "hook|/key/|/token/|/secret/",
        r"(?i)://[^\s\"'<>]{3,200}?/(?:key|token|secret|(?:web)?hooks?(?:/[\w-]{1,40}){0,3})/"
        r"(?P<value>[\w-]{16,400})(?![\w.-])",
    ),
    ("registry_login", "eyjhdxrocyi", rf"{_B}eyJhdXRocyI[A-Za-z0-9+/]{{20,8000}}={{0,2}}"),
    (
        "signed_url",
        "signature=|sig=|token=",
        r"(?i)[?&](?:x-(?:amz|goog)-(?:signature|security-token)|signature|sig)="
        r"(?P<value>[a-z0-9%+/=_~-]{20,2000})",
    ),
    (
        "url_token",
        "token=|secret=|key=|ticket=|otp=|password=|passwd=|auth=",
        r"(?i)[?&#](?:[a-z]{1,30}[_-])?(?:token|secret|api_?key|ticket|otp|password|passwd|auth)="
        r"(?P<value>[a-z0-9%+/=._~-]{8,4000})",
    ),
    (
        "url_token",
        "code=|key=|?t=|&t=|?k=|&k=|magic=|invite=|session=|sid=|jwt=|hash=|link=|appid=|app_id=",
        r"(?i)[?&](?:app_?id|code|key|t|k|magic(?:_?link)?|invite|session|sid|jwt|hash"
        r"|link)=(?P<value>(?=[a-z._~-]{0,200}[0-9])[a-z0-9%+/=._~-]{28,4000})",
    ),
    (
        "url_code",
        "code=|key=|?t=|&t=|?k=|&k=",
        r"(?i)[?&](?:code|key|t|k)=(?P<value>[a-z0-9]{16,27})(?![a-z0-9])",
    ),
    (
        "url_code",
        "code=|jeton=|kod=|clave=|codigo=|nonce=|pass=",
        r"(?i)[?&](?:[a-z]{1,20}[_-]?)?(?:code|jeton|kod|clave|codigo|nonce|pass)="
        r"(?P<value>[a-z0-9_-]{20,400})(?![a-z0-9_-])",
    ),
    (
        "url_user",
        "@",
        r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://(?P<value>[A-Za-z0-9_-]{20,200})@(?=[\w\[])",
    ),
    (
        "basic_auth",
        "auth",
        r"(?i)(?<![a-z0-9])_?auth[\"']?\s?[:=]\s?[\"']?(?P<value>[a-z0-9+/]{16,400}={0,2})"
        r"(?![a-z0-9+/.(_-])",
    ),
    (
        "invitation",
        "chat.whatsapp.com/|t.me/",
        r"(?i)(?:chat\.whatsapp\.com/|t\.me/(?:\+"
        r"|joinchat/))(?P<value>[a-z0-9_-]{8,64})(?![\w-])",
    ),
    (
        "url_number",
        "code=|otp=|pin=",
        r"(?i)/(?:verify|confirm|sign-?in|log-?in|magic|reset|auth)[^\s\"'<>]{0,200}?[?&](?:code"
        r"|otp|pin)="
        r"(?P<value>[0-9]{4,8})(?![\w-])",
    ),
    (
        "reset_link",
        "slack.com/z-app-",
        r"slack\.com/z-app-(?P<value>[0-9a-z-]{20,200})",
    ),
    (
        "reset_link",
        "reset|recover|confirm|verify|activate|magic|invite|unlock|set|passwor|best|aktivier"
        "|einlad|zurück|join",
        r"(?i)/(?:[a-z]{1,20}[_-])?(?:reset|recover|confirm|verify|activate|magic|invite|unlock"
        r"|set|join|passwor[dt]|bestaetig(?:en|ung)|aktivier(?:en|ung)|einladung"
        r"|zuruecksetzen)(?:[_-][a-z]{1,20}){0,2}(?:/(?:password|account|email|token|link"
        r"|[a-z0-9]{2,6})){0,2}/"
        r"(?P<value>[a-z0-9_-]{20,400})(?![a-z0-9_.-])",
    ),
    (
        "password_hash",
        "$|{|:::",
        r"(?P<value>\$(?:[1567]|2[abxy]?|y|gy|apr1|argon2(?:id|i|d)?|scrypt|pbkdf2[a-z0-9-]{0,12}"
        r"|P|H|S|bcrypt[a-z0-9-]{0,10})\$[A-Za-z0-9./+=,$*_-]{20,400})"
        r"|(?P<salted>\b(?:pbkdf2|bcrypt|argon2"
        r"|scrypt)[a-z0-9_]{0,16}\$[A-Za-z0-9./+=,$_-]{20,400})"
        r"|:(?P<dumped>[0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::"
        r"|:(?P<shadow>[A-Za-z0-9./]{13}):[0-9]{1,6}(?::[0-9]{0,6}){3}:::"
        r"|\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT)\}(?P<coded>[A-Za-z0-9./+$]{16,200}={0,2})",
    ),
    ("wifi_password", "wifi:", r"\bWIFI:[^\n]{0,100}?[;:]P:(?P<value>[^;\n]{4,64});"),
    (
        "aws_secret",
        "akia|asia",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}(?:[\"']?\s{0,3}(?:[,;/|:\t\n ]|\\t)\s{0,3}[\"']?"
        r"|[ ,;][^\n/+=]{1,60}?[ :=\"'])"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
)
"""Kinds, words (Rule) and patterns, the more specific ones first; what is masked is the last group,
or all of it."""

_RULES = tuple((kind, Rule(words, pattern)) for kind, words, pattern in BY_FORM)
_COOKIES = Rule(
    "cookie|sess|connect.sid",
    r"(?i)\bcookie[\"']?[:=]? ?[^\n]{1,4000}"
    r"|(?<![a-z])(?:[a-z]{1,10}sess(?:ion)?id|_?[a-z]{1,12}_sess(?:ion)?"
    r"|connect\.sid)=[^\n]{16,4000}",
)
_COOKIE = lazy_pattern(
    r"(?i)(?:sess|sid|token|auth|jwt|remember)[a-z0-9_.-]{0,80}=(?P<value>[^;\s\"']{16,1000})"
)
_SPOKEN = frozenset(
    {
        "reset_link",
        "url_token",
        "url_code",
        "url_user",
        "url_password",
        "header_token",
        "basic_auth",
    }
)
"""Kinds whose place also holds words: their value has to look random, or like no word."""
_RANDOM = frozenset({"reset_link", "url_code", "url_user"})


def found(text: str, low: str) -> Iterator[Span]:
    """The places of secrets in *text*, with their kinds; the more specific kinds come first.

    *low* is `folded` of it.
    """
    for kind, rule in _RULES:
        for match in rule.found(text, low):
            group = match.lastgroup or 0
            told = match[group]
            if not is_example(told) and (kind not in _SPOKEN or _counts(kind, told)):
                yield (*match.span(group), kind)
    for line in _COOKIES.found(text, low):
        for match in _COOKIE.finditer(text, *line.span()):
            yield (*match.span("value"), "session_cookie")


def _counts(kind: str, value: str) -> bool:
    if is_placeholder(value) or is_reference(value) or value.lower() in _NAMES:
        return False
    return kind not in _RANDOM or is_random(value) or bool(_HEX.fullmatch(value))


_NAMES = frozenset({"password", "passwd", "pass", "pwd", "pw", "secret"})
"""What an example of a URL has in the place of a password."""
_HEX = lazy_pattern("[0-9a-fA-F]{20,}")
