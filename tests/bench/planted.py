"""How many planted secrets are masked, and how often ordinary text is taken for one.

    python tests/bench/planted.py [--seed 3] [--count 40] [--texts FILE ...]

Secrets of the kinds in KINDS are made from the seed, from the formats that their vendors publish
(prefix, alphabet, length, check digits where there are any), and stand in sentences, settings,
code and headers as people paste them. One counts as caught when no ten characters in a row of its
random part are left. Ordinary text is the shipped dialogue, the documents and the source of this
project, sentences with identifiers that are no secrets, and the texts of the files given (JSON:
every string under "text"; else paragraphs). The masker was tuned on seeds 1 and 2.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import string
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from memory_core.text.secrets import mask

ROOT = Path(__file__).parents[2]
Random = random.Random
LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
URL_SAFE = ALNUM + "-_"
HEX = DIGITS + "abcdef"
WINDOW = 10


class Planted(NamedTuple):
    """A text with a secret in it: *hidden* is its random part, which must not be left."""

    kind: str
    text: str
    hidden: str


def take(rng: Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def coded(rng: Random, count: int) -> str:
    """Standard base64 of *count* random bytes."""
    return base64.b64encode(rng.randbytes(count)).decode()


def url_coded(rng: Random, count: int) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(count)).decode().rstrip("=")


# What is secret: (text of the secret, its random part)


def aws_access_key(rng: Random) -> tuple[str, str]:
    body = take(rng, UPPER + "234567", 16)
    return rng.choice(["AKIA", "ASIA"]) + body, body


def github(rng: Random) -> tuple[str, str]:
    if rng.random() < 0.3:
        body = f"{take(rng, ALNUM, 22)}_{take(rng, ALNUM, 59)}"
        return f"github_pat_{body}", body
    body = take(rng, ALNUM, 36)
    return rng.choice(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]) + body, body


def gitlab(rng: Random) -> tuple[str, str]:
    body = take(rng, URL_SAFE, 20)
    if rng.random() < 0.3:  # routable tokens, since 17.9
        body = f"{url_coded(rng, 38)}.01.{take(rng, LOWER + DIGITS, 9)}"
    kinds = ["glpat-", "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glagent-", "gloas-"]
    return rng.choice(kinds) + body, body


def slack(rng: Random) -> tuple[str, str]:
    team, bot = (str(rng.randrange(10**11, 10**13)) for _ in "ab")
    tail = take(rng, ALNUM, 24)
    webhook = f"https://hooks.slack.com/services/T{take(rng, UPPER, 8)}/B{take(rng, UPPER, 10)}/"
    return rng.choice(
        [
            (f"xoxb-{team}-{bot}-{tail}", tail),
            (f"xoxp-{team}-{bot}-{bot}-{(h := take(rng, HEX, 32))}", h),
            (f"xapp-1-A{take(rng, UPPER + DIGITS, 10)}-{team}-{(x := take(rng, HEX, 64))}", x),
            (f"xoxe.xoxp-1-{(r := url_coded(rng, 120))}", r),
            (webhook + tail, tail),
        ]
    )


def stripe(rng: Random) -> tuple[str, str]:
    body = take(rng, ALNUM, rng.choice([24, 99]))
    kind = rng.choice(["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"])
    return kind + (body := take(rng, ALNUM, 32) if kind == "whsec_" else body), body


def google(rng: Random) -> tuple[str, str]:
    key, client = take(rng, URL_SAFE, 35), take(rng, URL_SAFE, 28)
    access, refresh = take(rng, URL_SAFE, 160), take(rng, URL_SAFE, 60)
    return rng.choice(
        [
            (f"AIza{key}", key),
            (f"GOCSPX-{client}", client),
            (f"ya29.a0{access}", access),
            (f"1//0{rng.choice(DIGITS)}{refresh}", refresh),
        ]
    )


def openai(rng: Random) -> tuple[str, str]:
    old = f"{take(rng, ALNUM, 20)}T3BlbkFJ{take(rng, ALNUM, 20)}"
    new = f"{take(rng, URL_SAFE, 74)}T3BlbkFJ{take(rng, URL_SAFE, 74)}"
    kind = rng.choice(["sk-", "sk-proj-", "sk-svcacct-", "sk-admin-"])
    return kind + (body := old if kind == "sk-" else new), body


def anthropic(rng: Random) -> tuple[str, str]:
    body = take(rng, URL_SAFE, 93) + "AA"
    return f"sk-ant-{rng.choice(['api03', 'admin01', 'oat01'])}-{body}", body


def huggingface(rng: Random) -> tuple[str, str]:
    body = take(rng, LOWER + UPPER, 34)
    return rng.choice(["hf_", "hf_", "api_org_"]) + body, body


def npm(rng: Random) -> tuple[str, str]:
    return f"npm_{(body := take(rng, ALNUM, 36))}", body


def pypi(rng: Random) -> tuple[str, str]:
    body = url_coded(rng, 110)
    return rng.choice(["pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"]) + body, body


def jwt(rng: Random) -> tuple[str, str]:
    header = {"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    claims = {"sub": str(rng.randrange(10**9)), "iat": rng.randrange(10**9), "admin": True}
    parts = [
        base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).decode()
        for part in (header, claims)
    ]
    signature = url_coded(rng, rng.choice([32, 256]))
    return ".".join([*(part.rstrip("=") for part in parts), signature]), signature


def private_key(rng: Random) -> tuple[str, str]:
    kind = rng.choice(["RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", ""])
    body = coded(rng, 600)
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    text = f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"
    if rng.random() < 0.2:
        text = text.replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK").replace(kind + "PGP", "PGP")
    return (text.replace("\n", "\\n") if rng.random() < 0.3 else text), lines


def azure(rng: Random) -> tuple[str, str]:
    account, bus = coded(rng, 64), coded(rng, 32)
    name = take(rng, LOWER, 9)
    secret = f"{take(rng, ALNUM, 3)}{rng.choice(DIGITS)}Q~{take(rng, URL_SAFE + '.~', 34)}"
    signature = coded(rng, 32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    return rng.choice(
        [
            (
                f"DefaultEndpointsProtocol=https;AccountName={name};AccountKey={account};"
                "EndpointSuffix=core.windows.net",
                account,
            ),
            (
                f"Endpoint=sb://{name}.servicebus.windows.net/;SharedAccessKeyName=Root;"
                f"SharedAccessKey={bus}",
                bus,
            ),
            (secret, secret[6:]),
            (
                f"https://{name}.blob.core.windows.net/c/f.txt?sv=2023-11-03&sp=r&sig={signature}",
                signature,
            ),
        ]
    )


def sendgrid(rng: Random) -> tuple[str, str]:
    body = f"{take(rng, URL_SAFE, 22)}.{take(rng, URL_SAFE, 43)}"
    return f"SG.{body}", body


def telegram(rng: Random) -> tuple[str, str]:
    body = take(rng, URL_SAFE, 33)
    return f"{rng.randrange(10**8, 10**10)}:AA{body}", body


def discord(rng: Random) -> tuple[str, str]:
    bot = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    body = take(rng, URL_SAFE, 38)
    return f"{bot}.{take(rng, URL_SAFE, 6)}.{body}", body


def hosting(rng: Random) -> tuple[str, str]:
    """Tokens with a prefix of their own, of those who host, build, watch or translate."""
    hexes = {
        "dop_v1_": 64, "dapi": 32, "shpat_": 32, "shpss_": 32, "rubygems_": 48, "sbp_": 40,
        "sk-or-v1-": 64, "key-": 32,
    }  # fmt: skip
    others = {
        "dckr_pat_": 27, "lin_api_": 40, "ntn_": 46, "gsk_": 52, "xai-": 80, "pplx-": 48,
        "r8_": 37, "hvs.": 95, "NRAK-": 27, "figd_": 40, "tskey-auth-": 40, "glsa_": 41,
        "ATATT3xFfGF0": 172, "pscale_tkn_": 43, "sntrys_": 120, "secret_": 43,
    }  # fmt: skip
    prefix = rng.choice([*hexes, *others])
    alphabet, count = (HEX, hexes[prefix]) if prefix in hexes else (ALNUM, others.get(prefix, 0))
    body = take(rng, alphabet, count)
    return prefix + body, body


BARE: dict[str, Callable[[Random], tuple[str, str]]] = {
    "AWS access key": aws_access_key,
    "GitHub": github,
    "GitLab": gitlab,
    "Slack": slack,
    "Stripe": stripe,
    "Google": google,
    "OpenAI": openai,
    "Anthropic": anthropic,
    "Hugging Face": huggingface,
    "npm": npm,
    "PyPI": pypi,
    "JWT": jwt,
    "private key": private_key,
    "Azure": azure,
    "SendGrid": sendgrid,
    "Telegram": telegram,
    "Discord": discord,
    "hosting and others": hosting,
}
"""Those that show by their own form what they are."""

AROUND = (
    "{}",
    "Here is the new one, keep it for the deploy script: {}",
    "I rotated the key yesterday, it's {} now.",
    "export SERVICE_KEY={}",
    'client = Client(api_key="{}")',
    "Use `{}` for the test account, please.",
    '{{"name": "prod", "token": "{}", "active": true}}',
    "token: {}\nregion: eu-central-1",
    "Mara said the key ({}) expires in May",
    "curl -H 'X-Api-Key: {}' https://api.example.org/v1/items",
    "set it with --token {} and start again",
    "<add key='Service' value='{}' />",
    "Key={};Region=West",
)


# What only its surroundings tell


def aws_secret(rng: Random) -> tuple[str, str]:
    body = take(rng, ALNUM + "/+", 40)
    shapes = [
        "aws_secret_access_key = {}",
        "AWS_SECRET_ACCESS_KEY={}",
        'export AWS_SECRET_ACCESS_KEY="{}"',
        '"SecretAccessKey": "{}",',
        "The AWS secret access key is {} and the region eu-west-1.",
        "secret_access_key: {}",
        "aws_secret_key='{}'",
        "my aws secret is {}",
    ]
    return rng.choice(shapes).format(body), body


def word_password(rng: Random) -> str:
    word = rng.choice(["Winter", "Harbour", "bicycle", "Tromso", "garden", "Espresso", "lantern"])
    return f"{word}{rng.randrange(10, 9999)}{rng.choice('!?#$*')}"


def password(rng: Random) -> tuple[str, str]:
    made = [take(rng, ALNUM + "!#%&*+-@^_", rng.randrange(10, 20)), word_password(rng)]
    body = rng.choice(made)
    shapes = [
        "password = {}",
        "password: {}",
        'password="{}"',
        "DB_PASSWORD={}",
        "my password is {}",
        "The password for the router is {}",
        "The wifi password is {}, write it down.",
        "PGPASSWORD={} psql -h db.example.org",
        '{{"user": "mara", "password": "{}"}}',
        "mysql --user=root --password={} shop",
        "Passwort: {}",
        "login: mara\npassword: {}\n",
        "user mara, pass {}",
        "pwd={}",
        "spring.datasource.password={}",
        "the passphrase is {}",
        "passwd: '{}'",
        "username mara password {}",
        "I changed the password to {} yesterday",
    ]
    return rng.choice(shapes).format(body), body


def database_url(rng: Random) -> tuple[str, str]:
    body = take(rng, ALNUM + "!$-_.%", rng.randrange(10, 20)).replace("%", "%40")
    scheme = rng.choice(
        ["postgres", "postgresql", "postgresql+psycopg", "mysql", "mongodb+srv", "redis", "amqp"]
    )
    user = rng.choice(["app", "root", "admin", "mara_w", ""])
    host = rng.choice(["db.example.org:5432", "10.0.3.7", "localhost:6379", "cluster0.ab1.example"])
    shapes = ["DATABASE_URL={}", "connect to {} please", 'url = "{}"', "{}", "jdbc:{}"]
    return rng.choice(shapes).format(f"{scheme}://{user}:{body}@{host}/shop"), body


def basic_url(rng: Random) -> tuple[str, str]:
    body = rng.choice([take(rng, ALNUM, rng.randrange(10, 41)), word_password(rng).rstrip("?#")])
    user = rng.choice(["mara", "oauth2", "x-access-token", "deploy-bot"])
    scheme = rng.choice(["https", "http", "ftp", "sftp"])
    shapes = ["git clone {}", "the feed is at {}", "pip install --index-url {}", "[link]({})"]
    url = f"{scheme}://{user}:{body}@{rng.choice(['git.example.org', 'example.com'])}/team/app.git"
    return rng.choice(shapes).format(url), body


def header(rng: Random) -> tuple[str, str]:
    body = take(rng, ALNUM + "-._", rng.randrange(20, 60))
    basic = coded(rng, 24)
    shapes = [
        ("Authorization: Bearer {}", body),
        ('curl -H "Authorization: Bearer {}" https://api.example.org', body),
        ('headers = {{"Authorization": "Bearer {}"}}', body),
        ("authorization: bearer {}\naccept: */*", body),
        ("Authorization: Basic {}", basic),
        ('-H "Authorization: token {}"', take(rng, HEX, 40)),
        ("X-Api-Key: {}", take(rng, ALNUM, 32)),
        ("Cookie: sessionid={}; theme=dark", take(rng, LOWER + DIGITS, 32)),
        ("Proxy-Authorization: Basic {}", basic),
    ]
    shape, hidden = rng.choice(shapes)
    return shape.format(hidden), hidden


def twilio(rng: Random) -> tuple[str, str]:
    body = take(rng, HEX, 32)
    shapes = [
        "SK{}",
        "TWILIO_AUTH_TOKEN={}",
        "the twilio auth token is {}",
        'Client("AC' + take(rng, HEX, 32) + '", auth_token="{}")',
        "twilio_api_key: SK{}",
    ]
    return rng.choice(shapes).format(body), body


def named(rng: Random) -> tuple[str, str]:
    """Keys without a form of their own, named by what stands before them."""
    body = rng.choice(
        [take(rng, HEX, 32), take(rng, ALNUM, 40), take(rng, URL_SAFE, 43), str(_uuid(rng))]
    )
    shapes = [
        "CLOUDFLARE_API_TOKEN={}",
        "api_key = '{}'",
        "HEROKU_API_KEY={}",
        "client_secret: {}",
        "DJANGO_SECRET_KEY='{}'",
        'the api key is "{}"',
        '"access_token": "{}", "expires_in": 3600',
        "refresh_token={}&grant_type=refresh_token",
        "SECRET_KEY_BASE={}",
        "private_token: {}",
        "https://api.example.org/v1/items?api_key={}&page=2",
        "the API token for the weather service: {}",
        "ENCRYPTION_KEY={}",
        "webhook secret is {}",
    ]
    return rng.choice(shapes).format(body), body


def _uuid(rng: Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128), version=4)


NAMED: dict[str, Callable[[Random], tuple[str, str]]] = {
    "AWS secret": aws_secret,
    "password": password,
    "database URL": database_url,
    "URL with a password": basic_url,
    "header": header,
    "Twilio": twilio,
    "named key or token": named,
}
KINDS = (*BARE, *NAMED)


def planted(seed: int, count: int) -> Iterator[Planted]:
    """*count* secrets of each kind, each in its surroundings."""
    for kind in KINDS:
        rng = random.Random(f"{kind} {seed}")
        for _ in range(count):
            if kind in BARE:
                secret, hidden = BARE[kind](rng)
                yield Planted(kind, rng.choice(AROUND).format(secret), hidden)
            else:
                text, hidden = NAMED[kind](rng)
                yield Planted(kind, f"{rng.choice(OPENINGS)}{text}", hidden)


OPENINGS = ("", "", "For the record: ", "This is from my .env file:\n", "ok, ")


def left(hidden: str, text: str) -> bool:
    """True when *text* still holds WINDOW characters in a row of *hidden*."""
    lines = [line for line in hidden.split("\n") if line]
    return any(
        line[at : at + WINDOW] in text
        for line in lines
        for at in range(max(1, len(line) - WINDOW + 1))
    )


# Ordinary text


def _digest(rng: Random, name: str = "sha256") -> str:
    return hashlib.new(name, rng.randbytes(8)).hexdigest()


def _isbn(rng: Random) -> str:
    digits = [9, 7, 8, *(rng.randrange(10) for _ in range(9))]
    check = -sum(d * (3 if at % 2 else 1) for at, d in enumerate(digits)) % 10
    text = "".join(map(str, [*digits, check]))
    return rng.choice([text, f"{text[:3]}-{text[3]}-{text[4:6]}-{text[6:12]}-{text[12]}"])


def _phone(rng: Random) -> str:
    local = "".join(map(str, (rng.randrange(10) for _ in range(7))))
    return rng.choice(
        [f"+49 30 {local}", f"(020) {local[:4]} {local[3:]}", f"+1-555-{local[:3]}-{local[3:]}"]
    )


ORDINARY: tuple[tuple[str, Callable[[Random], str]], ...] = (
    ("commit {} broke the build", lambda r: _digest(r, "sha1")),
    ("git revert {} and push", lambda r: _digest(r, "sha1")[:8]),
    ("the row has id {}", lambda r: str(_uuid(r))),
    ("request {} timed out after 30 s", lambda r: str(_uuid(r))),
    ("![logo](data:image/png;base64,iVBORw0KGgo{})", lambda r: coded(r, 90)),
    ('<img src="data:image/gif;base64,{}">', lambda r: coded(r, 60)),
    ("the book is ISBN {}, second edition", _isbn),
    ("call me at {} after six", _phone),
    ("sha256:{} is what the registry has", _digest),
    ("image app@sha256:{}", _digest),
    ('"integrity": "sha512-{}"', lambda r: coded(r, 64)),
    ("md5 of the archive: {}", lambda r: _digest(r, "md5")),
    ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} mara@laptop", lambda r: url_coded(r, 32)),
    ("fingerprint SHA256:{}", lambda r: coded(r, 32).rstrip("=")),
    ("parcel {} is on its way", lambda r: take(r, UPPER, 2) + take(r, DIGITS, 9) + "DE"),
    ("order number {}", lambda r: take(r, DIGITS, 12)),
    ("see https://example.org/doc/{}/edit#heading=h.1", lambda r: take(r, URL_SAFE, 44)),
    ("watch https://www.youtube.com/watch?v={}", lambda r: take(r, URL_SAFE, 11)),
    ("mac address {}", lambda r: ":".join(take(r, HEX, 2) for _ in range(6))),
    ("fe80::{}", lambda r: ":".join(take(r, HEX, 4) for _ in range(4))),
    ("timestamp {} in the log", lambda r: str(r.randrange(1_600_000_000_000, 1_800_000_000_000))),
    ("serial C02{} on the sticker", lambda r: take(r, UPPER + DIGITS, 9)),
    ("the color is #{}", lambda r: take(r, HEX, 6)),
    ("version {}", lambda r: f"{r.randrange(20)}.{r.randrange(50)}.{r.randrange(99)}-rc.1"),
    ("at /home/mara/src/{}/node_modules/left-pad/index.js:41", lambda r: take(r, LOWER, 12)),
    ("pid {} used 231,004 kB", lambda r: take(r, DIGITS, 5)),
    ("latitude {}", lambda r: f"{r.uniform(-90, 90):.10f}"),
    ("flight {} leaves at 06:40", lambda r: take(r, UPPER, 2) + take(r, DIGITS, 4)),
    ("the ETag was W/\"{}\"", lambda r: take(r, HEX, 32)),
    ("memory {} says so", lambda r: take(r, DIGITS + "abcdefghjkmnpqrstvwxyz", 20)),
)  # fmt: skip


def identifiers(seed: int, count: int) -> list[str]:
    """*count* sentences with identifiers that open nothing."""
    rng = random.Random(f"ordinary {seed}")
    made = []
    for number in range(count):
        shape, make = ORDINARY[number % len(ORDINARY)]
        made.append(shape.format(make(rng)))
    return made


def paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if part.strip()]


def own_texts() -> dict[str, list[str]]:
    """The ordinary texts of this project, by what they are."""
    dialogue = json.loads((ROOT / "memory_core/evaluation/data/dialogue.json").read_text("utf-8"))
    documents = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
    source = [*sorted(ROOT.glob("memory_core/**/*.py")), *sorted(ROOT.glob("server/**/*.py"))]
    return {
        "dialogue": list(strings(dialogue)),
        "documents": [p for file in documents for p in paragraphs(file.read_text("utf-8"))],
        "source": [p for file in source for p in paragraphs(file.read_text("utf-8"))],
    }


def strings(value: Any) -> Iterator[str]:
    """Every string under "text" in *value*."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "text" and isinstance(inner, str):
                yield inner
            else:
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def _given(file: Path) -> list[str]:
    text = file.read_text("utf-8")
    return list(strings(json.loads(text))) if file.suffix == ".json" else paragraphs(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--count", type=int, default=40, help="secrets of each kind")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="more ordinary texts")
    parser.add_argument("--show", action="store_true", help="print what was missed or masked")
    args = parser.parse_args()
    found: dict[str, list[bool]] = {}
    for one in planted(args.seed, args.count):
        missed = left(one.hidden, mask(one.text)[0])
        found.setdefault(one.kind, []).append(not missed)
        if missed and args.show:
            print(f"  missed: {one.kind}: {one.text!r} -> {mask(one.text)[0]!r}")
    for kind, caught in found.items():
        print(f"{kind:<22} {sum(caught):>4} of {len(caught)}")
    every = [each for caught in found.values() for each in caught]
    print(f"{len(found)} kinds, seed {args.seed}: {sum(every)} of {len(every)} caught")
    groups = own_texts() | {"identifiers": identifiers(args.seed, 3000)}
    groups |= {file.name: _given(file) for file in args.texts}
    for name, texts in groups.items():
        alarms = [(text, mask(text)) for text in texts]
        alarms = [(text, masked) for text, masked in alarms if masked[1]]
        print(f"{name:<22} {len(alarms):>4} of {len(texts)} taken for a secret")
        for _, (masked, kinds) in alarms if args.show else ():
            print(f"  {kinds}: {masked[:300]!r}")


if __name__ == "__main__":
    main()
