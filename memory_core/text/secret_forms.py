"""The forms of secrets: keys and tokens that show by themselves what they are, or by their place.

Prefixes, alphabets and lengths are those that the vendors publish for finding leaked keys. Every
repetition is bounded, so that time grows no faster than the text.
"""

from __future__ import annotations

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
