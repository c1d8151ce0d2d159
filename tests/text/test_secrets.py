from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.text.secrets import mask
from memory_core.text.words import listed

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "_-"


def _take(rng: random.Random, alphabet: str, count: int) -> str:
    """Random characters with a digit and a letter for certain, neither at an end."""
    body = [rng.choice(alphabet) for _ in range(count)]
    body[count // 2] = "7"
    body[count // 3] = "a" if "a" in alphabet else "Q"
    body[0] = body[-1] = "B" if "B" in alphabet else "b"
    return "".join(body)


def _base64(rng: random.Random, count: int) -> str:
    return base64.b64encode(rng.randbytes(count)).decode()


def _jwt(rng: random.Random) -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": rng.randrange(10**9), "name": "x"}]
    coded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*coded, _take(rng, URL_SAFE, 43)])


def _pem(rng: random.Random) -> str:
    kind = rng.choice(["RSA ", "EC ", "OPENSSH ", ""])
    body = "\n".join(_base64(rng, 48) for _ in range(6))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def _card(rng: random.Random) -> str:
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    doubled = sum(sum(divmod(2 * d, 10)) for d in digits[::2])  # 16 digits with the check digit
    digits.append(-(doubled + sum(digits[1::2])) % 10)
    text = "".join(map(str, digits))
    mark = rng.choice(["", " ", "-"])
    return mark.join(text[i : i + 4] for i in range(0, 16, 4))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "openai_key": lambda r: r.choice(["sk-", "sk-proj-"]) + _take(r, ALNUM, 48),
    "anthropic_key": lambda r: "sk-ant-api03-" + _take(r, URL_SAFE, 93),
    "aws_key_id": lambda r: (
        "AKIA" + "".join(r.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(16))
    ),
    "aws_secret": lambda r: _take(r, ALNUM + "/+", 40),
    "github_token": lambda r: r.choice(
        ["ghp_" + _take(r, ALNUM, 36), "github_pat_" + _take(r, ALNUM + "_", 82)]
    ),
    "gitlab_token": lambda r: "glpat-" + _take(r, URL_SAFE, 20),
    "slack_token": lambda r: f"xoxb-{r.randrange(10**11, 10**12)}-{_take(r, ALNUM, 24)}",
    "google_key": lambda r: "AIza" + _take(r, URL_SAFE, 35),
    "stripe_key": lambda r: "sk_live_" + _take(r, ALNUM, 24),
    "jwt": _jwt,
    "private_key": _pem,
    "bearer_token": lambda r: _take(r, ALNUM + "._-", 40),
    "password": lambda r: _take(r, ALNUM + "!#%", 12),
    "url_password": lambda r: _take(r, ALNUM, 14),
    "npm_token": lambda r: "npm_" + _take(r, ALNUM, 36),
    "pypi_token": lambda r: "pypi-AgEIcHlwaS5vcmc" + _take(r, URL_SAFE, 150),
    "azure_key": lambda r: _base64(r, 64),
    "twilio_key": lambda r: "SK" + "".join(r.choice(HEX) for _ in range(32)),
    "sendgrid_key": lambda r: f"SG.{_take(r, URL_SAFE, 22)}.{_take(r, URL_SAFE, 43)}",
    "telegram_token": lambda r: f"{r.randrange(10**8, 10**9)}:AA{_take(r, URL_SAFE, 33)}",
    "huggingface_token": lambda r: "hf_" + _take(r, ALNUM, 34),
    "card_number": _card,
    "secret": lambda r: _take(r, ALNUM, 24),
}
FRAMES: dict[str, list[str]] = {
    "aws_secret": [
        "aws_secret_access_key = {}",
        'AWS_SECRET_ACCESS_KEY="{}"',
        "my aws secret key is {}",
    ],
    "bearer_token": ["Authorization: Bearer {}", "curl -H 'Authorization: bearer {}' host"],
    "password": [
        "password: {}",
        "my password is {}",
        "DB_PASSWORD={}",
        'passwd="{}"',
        "Passwort: {}",
    ],
    "url_password": ["postgres://admin:{}@db.example.org:5432/app", "use redis://:{}@cache/0 here"],
    "azure_key": ["AccountName=x;AccountKey={};EndpointSuffix=core.windows.net"],
    "secret": ["API_KEY={}", "client_secret: {}", 'the api key is "{}"', "ACCESS_TOKEN = '{}'"],
}
PLAIN_FRAMES = ["{}", "the key is {} for now", "use `{}`, please", "KEY={}\nnext line", "({})"]


@pytest.mark.parametrize("kind", KINDS)
def test_secrets_of_each_kind_are_masked_wherever_they_stand(kind: str) -> None:
    rng = random.Random(f"secrets {kind}")
    for _ in range(40):
        secret = KINDS[kind](rng)
        for frame in FRAMES.get(kind, PLAIN_FRAMES):
            masked, kinds = mask(frame.format(secret))
            assert secret not in masked, frame
            assert masked == frame.format(f"[masked:{kind}]")
            assert kinds == (kind,)


@pytest.mark.parametrize("secret", ["P4ss(w0rd)", "$Tr0ub4dor&3", "&PUgf+e7ip*f", "{n0t-a-name}7"])
def test_passwords_that_look_a_little_like_code_are_masked(secret: str) -> None:
    for frame in ("password: {}", 'password = "{}"', "DB_PASSWORD={}", "my password is {}"):
        assert mask(frame.format(secret))[0] == frame.format("[masked:password]")


def test_several_secrets_are_told_in_the_order_of_the_text() -> None:
    rng = random.Random(3)
    first, second = KINDS["github_token"](rng), KINDS["card_number"](rng)
    masked, kinds = mask(f"token {first}, card {second}, and the tea is cold")
    assert masked == "token [masked:github_token], card [masked:card_number], and the tea is cold"
    assert kinds == ("github_token", "card_number")


ORDINARY = [
    "The password is required before you log in",
    "Password: must be at least eight characters",
    "I forgot my password again",
    "He told me a secret: he loves rain",
    "The secret is to use cold butter",
    "The token is expired, ask again",
    "token: see the second page",
    "Bearer of bad news, I am afraid",
    "My number is 030 1234 5678",
    "The order 4111-22 arrived",
    "Tracking number 1234 5678 9012 3456",
    "ISBN 978-3-16-148410-0",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "id 0190f7a2-8c5b-7d3e-9b0a-1c2d3e4f5a6b",
    "see https://example.org/path/to/a/very/long/page/name?query=abcdefghijklmnop",
    "visit http://localhost:8080/health",
    "mail mara@example.org or ssh mara@host.example.org",
    "sk-learn is nice and so is task-management-with-long-hyphenated-words",
    "the function get_access_token_from_environment_variable_name returns early",
    "max_tokens = 2048 and min_tokens=1",
    "pass the salt: it is on the left",
    "my api key is stored in the vault",
    "AKIA is a prefix",
    "meet at 10:30 on 2024-05-07, room 4",
    "pi is 3.14159265358979323846",
    "Die Passwörter sind im Tresor",
    "hf_transfer speeds up the download",
    "npm_config_registry is set",
    "The pwd command prints the working directory",
    "the SHA-256 is 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    'password = os.environ["DB_PASSWORD"]',
    "password=args.password",
    'password = getpass.getpass("Password: ")',
    "const password = req.body.password;",
    "const apiKey = process.env.OPENAI_API_KEY",
    "def login(user: str, password: str) -> bool:",
    "if password == other.password:",
    "token = secrets.token_urlsafe(32)",
    'token = await client.get_token(scope="read2")',
    "PASSWORD=$(cat /run/secrets/db)",
    "password: ${{ secrets.DB_PASSWORD }}",
    'password: "{{ vault_db_password }}"',
    "password=%s",
    "password: ********",
    "password: <your-password>",
    "tokenizer: all-MiniLM-L6-v2",
    "max_tokens=2048, temperature=0.7",
    "The token bucket refills 10 tokens per second",
    "She asked me to reset the password to something longer",
    "Password must contain 8 characters and 1 digit",
    "I forgot my password for the 3rd time",
    "the password to 2FA is on my phone",
    "password is 12 characters long",
    "My password was stolen in 2021",
    "the bus pass costs 49 euros in 2026",
    "pass 2 of 3 is done",
    "I will pass the exam in June 2026",
    "pass rate was 87.5% in 2024",
    "we passed Lisbon at 10:30",
    "The secret ingredient is 2 spoons of miso",
    "the secret to good bread: 24 hours in the fridge",
    "secret santa is on 2026-12-18T18:00:00Z",
    "key points: 1. ship on Friday 2. load test",
    "primary key is user_id_2024_archive",
    "foreign_key: orders.customer_id_fk2",
    "access key is under the doormat of flat 12b",
    "service key: the silver one with 3 notches",
    "encryption key length is 256 bits AES-256-GCM",
    "token type is Bearer and expires in 3600",
    "The private key is stored in /etc/ssl/private/server2.key",
    "token_count: 128000",
    "cookie: chocolate chip with 250g butter",
    "Cookie consent banner 2.0 is live",
    "the token for the laundry is 1234567890",
    "api key rotation happens every 90 days",
    "author: token2022program",
    "passport number C01X00T47 expires 2031",
    "compass 2.0 password manager v8.10.4 is out",
    "password manager 1Password8 is nice",
    "password123 is the worst password",
    "sha256 password hashing with argon2id",
    "password reset link sent to mara2024@example.org",
    "password hash: see RFC2898",
    "the wifi password is on the fridge",
    "Passwort vergessen? Klick hier",
    "pass me the B12 vitamins",
    "secret_key_length = 32",
    '"token": "string"',
    "token = token_for(user_id=42)",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_TOKEN",
    "Authorization: token missing",
    "https://user@example.org:8080/path",
    'self._token = tokens.add("me", "", ["read"])',
    'token = match["token"] or default_token_2',
    "token_id: 06h0105d4r04pq8fyv7f",
    "secret_name: prod/db/credentials-v2",
    "key: value2",
    "session token expired at 2026-05-01T10:00:00Z",
    "api_key: str | None = None",
    "the API key of the weather service expired in 2025",
    "AccessKeyId and SecretAccessKey are both needed",
    "credentials: ~/.aws/credentials2024backup",
    "token usage: 12,345 prompt and 678 completion",
    "tokens is 1048576 at most",
    '"tokenizer": "cl100k_base"',
    '"tokenizer_class": "Qwen2TokenizerFast"',
    "keychain: login.keychain-db2",
    "secretary: Mrs Lin2",
    "commit token-bucket-2024-refactor-v2 to main",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text) == (text, ())


def test_false_alarms_on_generated_prose_are_at_most_one_in_two_hundred() -> None:
    rng = random.Random(11)
    nouns = listed("""tea boat garden password token key secret card bearer number meeting api port
    server""")
    verbs = listed("""is was needs has moved to costs starts at lives near likes expires on""")
    alarms = 0
    for _ in range(4000):
        parts = ["The", rng.choice(nouns), rng.choice(verbs), rng.choice(nouns)]
        parts += [
            str(rng.randrange(10 ** rng.randrange(1, 13))),
            rng.choice(["am", "euros", "times"]),
        ]
        rng.shuffle(parts[2:])
        alarms += mask(" ".join(parts))[1] != ()
    assert alarms <= 20


def test_masking_twice_changes_nothing() -> None:
    rng = random.Random(5)
    for kind, make in KINDS.items():
        for frame in FRAMES.get(kind, PLAIN_FRAMES):
            once, _ = mask(frame.format(make(rng)))
            assert mask(once) == (once, ())


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_taken_and_mminilm(text: str) -> None:
    once, kinds = mask(text)
    assert (once == text) == (kinds == ())
    assert mask(once)[0] == once


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "eyJ",
        "sk-",
        "password=",
        "a://b:",
        "-----BEGIN ",
        "Bearer ",
        "4111 ",
        "-",
        "token_",
        "secret-",
        "A_",
        "1:AA",
        "SG.",
        "=",
        "aws_secret",
        "password for ",
        "pass ",
        "token to ",
        "secret_access_key",
        "cookie: sid",
        "cookie: ",
        "xoxe.xoxp-",
        "M.",
        "0Q~",
        "password = a.",
        "key-",
        "password Winter.Regen7 ",
        "login Aa1$",
        "Winter!",
        "123.456.789-",
    ],
)
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(mask, unit)


# Each form that an adversary once got through, with what must not be left of it after the last "|"
GOT_THROUGH = r"""
DB_PASSWORD=otterlighthouse|otterlighthouse
SECRET_KEY=heliotrope-obsidian|heliotrope
SMTP_PASS=marzipan|marzipan
-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\nMIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\nVTLw7onLRnrq0/IzW7yWR7QkrmBL7jTKEn5u+qKhbwKfBstIs+bMY2Zkp18gnTxK\n-----END RSA PRIVATE KEY-----|MIIEowIBAAKCAQEAu1SU
MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gunVTLw7onLRnrq0/IzW7yWR7QkrmBL7jTKEn5u+qKhbwKfBstIs+bMY2Zkp18gnTxK|lgOEePzNm0tRgeLezV6
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQAAACBzx|AAAAMwAAAAtzc2gtZWQyNTUxOQ
PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 2\nAAAAC3NzaC1lZDI1NTE5AAAAIAbcdefghijklmnopqrstuvwxyz0123456789\nabcd\nPrivate-Lines: 1\nAAAAIE7x2xkPq9rYt3vbnmQwErTyUiOpAsDfGhJkLzXc\nPrivate-MAC: 4f2a|AAAAIE7x2xkPq9rYt3vbnmQwErTyUiOpAsDfGhJk
Mein Passwort für Netflix lautet Sonnenblume|Sonnenblume
Mein Passwort für das Konto lautet Sonnenblume!7|Sonnenblume
Kennwort: Sonnenblume|Sonnenblume
Das Kennwort ist Sonnenblume99|Sonnenblume
Zugangsdaten: mara / Sonnenblume|Sonnenblume
Zugangsdaten: mara@example.org / hunter2|hunter2
curl -u mara:otterhouse https://example.org|otterhouse
curl --user mara:otterhouse https://example.org|otterhouse
mysql -u root -potterhouse db|otterhouse
sshpass -p otterhouse ssh mara@host|otterhouse
sshpass -potterhouse ssh mara@host|otterhouse
docker login -u mara -p otterhouse registry.example.org|otterhouse
docker login --username mara --password otterhouse|otterhouse
<password>otterhouse</password>|otterhouse
<user>x</user><Password>otter house</Password>|otter
db.example.org:5432:app:mara:otterhouse|otterhouse
*:*:*:mara:otterhouse|otterhouse
jdbc:oracle:thin:scott/tiger@//db:1521/orcl|tiger
jdbc:postgresql://db/app?user=mara&password=otterhouse|otterhouse
Access key ID,Secret access key\nAKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY|wJalrXUtnFEMI
Authorization: Bearer abcdefghijklmnopqrstuvwxyzabcdef|abcdefghijklmnop
Bearer QwErTyUiOpAsDfGhJkLzXcVbNm|QwErTyUiOp
https://discord.com/api/webhooks/123456789012345678/AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz01234567|AbCdEfGhIjKlMnOp
https://example.webhook.office.com/webhookb2/0190f7a2-8c5b-7d3e-9b0a-1c2d3e4f5a6b@0190f7a2-8c5b-7d3e-9b0a-1c2d3e4f5a6b/IncomingWebhook/0123456789abcdef0123456789abcdef/0190f7a2-8c5b-7d3e-9b0a-1c2d3e4f5a6b|0123456789abcdef0123456789abcdef
https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXabcdXXXXXXXXXXXX|XXXXXXXXabcdXX
https://bucket.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260101&X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024|fe5f80f77d5fa3beca038a24
https://acc.blob.core.windows.net/c/f?sv=2021-06-08&sig=abcDEF123456abcDEF123456abcDEF123456abcDEFG%3D|abcDEF123456abcDEF
https://example.org/reset-password?token=abcdefghijklmnopqrstuvwx|abcdefghijklmnop
https://example.org/password/reset/QwErTyUiOpAsDfGhJkLzXcVbNm12|QwErTyUiOp
Use otterhouse as the password|otterhouse
use "correct horse battery" as the password for the wifi|horse
раsswоrd: otterhouse|otterhouse
pass​word: otterhouse|otterhouse
ｐａｓｓｗｏｒｄ：otterhouse|otterhouse
mara:$apr1$Kj3x9abc$0rZl8QxYvB1nM2cD3eF4g.|0rZl8QxYvB1nM
mara:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=|W6ph5Mm5Pz8Ggi
mara:$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC|c4WoMPo3SXsafkva
mara:$6$rounds=5000$saltsalt$Jp1VZ1J9rXxE9O7nFQvYcY2Zq8R0aB1c2D3e4F5g6H7i8J9k:19000:0:99999:7:::|Jp1VZ1J9rXxE9O7n
root:$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7:19000:0:99999:7:::|X3DX6M94c7o
My IBAN is DE89 3704 0044 0532 0130 00|0532
GB82WEST12345698765432|12345698765432
4111 1111 1111 1111|1111 1111
378282246310005|378282246310005
My SSN is 078-05-1120|078-05-1120
My PIN is 4711|4711
PIN: 0815|0815
CVV 123|123
The CVC of my card is 937|937
my seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow|winner
seed phrase is abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about|abandon
Bearer zxcvbnmasdfghjklqwertyuiop|zxcvbnmasdfgh
<Password>correct horse battery staple</Password>|horse
AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY|wJalrXUtnFEMI
mara:rqXexS6ZhobKA:19000:0:99999:7:::|rqXexS6Z
I set the admin password to lighthouse yesterday|lighthouse
The router password got changed to Sonnenblume last week, all good|Sonnenblume
the wifi password is currently bluebottle btw|bluebottle
passphrase is, by the way, copperfield|copperfield
Unser WLAN-Passwort lautet übrigens BlauerElefant|Elefant
Das Passwort vom Gäste-WLAN ist seit gestern Sommerregen|Sommerregen
Das Kennwort lautet nach wie vor Regenbogen|Regenbogen
export APP_SECRET='foo bar baz qux'|bar
JOB_TOKEN="open the pod bay doors"|pod bay
AKIA1098765432109876,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY|wJalrXUtnFEMI
My recovery words are:\n1. ladder\n2. ocean\n3. trumpet\n4. velvet\n5. orbit\n6. candy\n7. museum\n8. frozen\n9. giant\n10. parade\n11. salute\n12. wisdom|velvet
Unser Familienpasswort: Pfannkuchen mit Zimt. The cat is called Ada.|Zimt
Meine Karte läuft 09/27 ab, Prüfnummer 318|318
ich hab das pw jetzt auf Donaudampfschiff gesetzt|Donau
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("line", GOT_THROUGH)
def test_no_form_that_once_got_through_does_so_again(line: str) -> None:
    text, _, hidden = line.replace("\\n", "\n").rpartition("|")
    assert hidden in text
    assert hidden not in mask(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "pwd is /home/mara/projects",
        "My phone's IMEI is 490154203237518.",
        "Bearer AuthenticationMiddlewareOptions",
        "<password>Your password here</password>",
        "<token>end of line</token>",
        '<string name="password">Enter password</string>',
    ],
)
def test_what_only_resembles_such_a_form_is_left_alone(text: str) -> None:
    assert mask(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "You can use openssl rand to make one.\nOtherwise ask me",
        "Use pwgen for new ones\neverywhere",
        "Read https://developer.example.com/webhooks/guide-2024 first",
        "Our hook lies at https://git.example.org/hooks/pre-commit2 now",
        "See https://example.com/token/what-is-a-token-anyway and /secret/the-secret-garden-review",
        "My wallet is brown with four card slots and one coin pouch made from felt",
        "The Trezor words are below these lines and they must stay with your family for years",
        "I forgot the password, it's state-of-the-art nonsense",
        "token,tag\nhouse,NOUN\nruns,VERB\n",
        "| Token | Lemma |\n|---|---|\n| houses | house |\n",
        "| `OPENAI_API_KEY` | `gpt` |\n| `ollama` | `mistral` |\n",
        "from names import (\n    Token,\n    bare_form,\n)",
        "The logins are (Mara / Felix) for now",
        'He chose the same passphrase as "the big bang" fans do',
        "I lost my backup codes\nplease call someone\nthen wait here\nsome time\n",
        "The spare key is with the neighbour. --replaces 06h0105d4r04pq8fyv7f",
        "AWS_SECRET_ACCESS_KEY=\nAWS_ACCESS_KEY_ID=\n",
        'secret = client.secrets.kv.v2.read_secret_version(path="app")',
        "I refactored the gallery code from 120 lines to 85.",
        "The login goes over OAuth2 with SHA-256 and Postgres16.",
        "Password hashing uses argon2id now, before it was pbkdf2:sha256.",
        "The safe weighs 320 kg and the code is in the drawer.",
        "The alarm clock is set to 0630, the code review is at 1000.",
        "My locker is number 118, the combination is written in the diary.",
        "The gate code changed in 2023.",
        "hashed_password = argon2.hash_password(given)",
        "My wallet holds cards: bank, library, train, gym, blood donor, cinema, bakery, zoo, spa.",
        "admin / Winter is coming",
        "The entry code for guests is on page 118.",
        "I changed the password to something stronger yesterday.",
        "The password is currently mandatory, by the way.",
        "Das Passwort ist seit gestern abgelaufen.",
        "Das Kennwort ist übrigens falsch.",
        "SECRET_NAME='name of the secret'",
        "In other words, recovery after the backup took an hour.",
        "Talk to us at https://discord.gg/anamnesis-users before you file a bug.",
        "The secret of the ribs is low-and-slow, no more.",
        "volumes:\n- secret: db-credentials\n",
        "Remember: my booking code 482913 is for the ferry on Friday.",
        "She was released on parole, her parole officer is Mark Smith.",
        "Passwords can be tricky, passkeys are easier.",
        "| Password | required |\n",
        'variable "key_name" { default = "deployer" }',
        "220 ready\nAUTH LOGIN\n334",
        "Zugangsdaten: kommen per Mail / Post",
        "A good passphrase: four random words, no quotes, nothing personal.",
        "The Furka Pass is 2429 m high and open from June",
        "In the garage the error code 4711 shows up",
        "we shipped 300 as code samples, RAL 7016 als Farbcode für das Tor",
        "login is user: alice, password: ****",
        'DB_SALT="v2/users/2024"',
        "lock = 30000\ncache.lock = 30000\nalarm = 3600\nslot = 4096\nsafe = 10000",
        "slot: 4096\nportal: 18080\nbuilding: 12345\nentrance: 1200\nporta: 8080\npoort: 8080",
        "gate => 5000\nlock -> 5000",
        "we counted 4000, that is the whole code base",
        "1200, das ist der neue Code im Repo",
        "j'utilise toujours la même chose comme mot de passe",
        "uso la fecha de mi boda como contraseña",
        'type Pass = "first" | "second"; const pass: Pass = "first";',
        "fun isPasswordValid(password: String): Boolean = password.length >= 12",
        "パスワードは8文字以上にしてください",
    ],
)
def test_what_stands_near_the_name_of_a_secret_stays(text: str) -> None:
    assert mask(text) == (text, ())


def test_a_statement_of_a_database_names_its_columns() -> None:
    rows = "(7, 'ann@mail.example', 'larkspurring'), (8, 'it''s', 'mo-on'), (9, NULL, NULL)"
    masked, kinds = mask(f"INSERT INTO users (id, email, password) VALUES {rows};")
    assert kinds == ("password", "password")
    assert "larkspurring" not in masked
    assert "mo-on" not in masked
    assert "ann@mail.example" in masked
    copied = "COPY users (name, password) FROM stdin;\nann\theliotrope\nbo\tmo-on\n\\.\nann\tstays"
    masked, kinds = mask(copied)
    assert len(kinds) == 2
    assert masked.endswith("\\.\nann\tstays")
    for values in ("(?, ?, ?)", "($1, $2, $3)", "(1, 'x', '%s')"):
        text = f"INSERT INTO users (id, email, password) VALUES {values}"
        assert mask(text) == (text, ())


def test_a_copied_form_has_its_labels_above_its_values() -> None:
    assert mask("Username\nann\nPassword\nheliotrope")[1] == ("password",)
    assert mask("Field: FTP password\nValue: heliotrope")[1] == ("password",)
    assert mask("Password\nheliotrope")[1] == ()
    assert mask("Username\nann\nPassword\nmissing")[1] == ()


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        # whatever leads to it, near the name of a password or behind it
        ("IT had me reset the password once more. I changed it to ", "Novemb3r_Wind21", ", ok?"),
        (
            "Für die Sparkasse nehme ich ",
            "Reiherflug&204",
            " als Passwort, der Rest steht im Brief.",
        ),
        ("Ho cambiato la password della posta. Quella nuova: ", "Barolo.8kQ!", ""),
        ("A minha senha do banco passou a ser ", "Bacalhau#Porto5", ""),
        ("jag bytte lösen i dag, det nya är ", "blåbär-9-Sommar", ""),
        ("Heslo do kanceláře je ", "Koprova.Omacka31", ""),
        ("inlog voor de club: naam bestuur, ww ", "Sch4ats&Ijs", ""),
        # nothing names it
        ("So ", "tweed!Otter6", " gets you into the parish computer."),
        ("Das Tablet: ", "Nebelhorn§44Kai", ""),
        # numbers that a state gives, with their check digits
        ("Mi DNI es ", "12345678Z", ", lo piden para el contrato."),
        ("CPF da Lia ", "529.982.247-25", " para a nota"),
        ("PESEL syna: ", "44051401359", " do przychodni"),
        ("mitt personnummer är ", "811218-9876", ""),
        ("BSN van opa: ", "111222333", ""),
        # an authenticator, whose groups look like words
        ("2FA key of the host, by hand: ", "bdum ounh riwn 4u27 dazu imyq jota fkly", ""),
        ("Koden till portdörren är ", "6417", " till i höst."),
    ],
)
def test_a_value_that_no_word_looks_like_is_masked(before: str, secret: str, after: str) -> None:
    masked, kinds = mask(f"{before}{secret}{after}")
    assert (masked, len(kinds)) == (f"{before}[masked:{kinds[0]}]{after}", 1)


@pytest.mark.parametrize(
    "text",
    [
        "The password test Test_Login_3 of Release_2.4, see Module_7b.",
        "The login page needs Python-3.11 or Node.js18 and Module_7b.",
        "Passwords are kept in ~/.config/App_2/Store.v2, see https://example.org/A#Sec7tion.",
        "Since C++17 and GPT-4o-mini the password prompt is gone.",
        "the order ES12345678 came, 529.982.247-26 is none, 811218-9870 neither",
        "Mi DNI caduca en 2031.",
        "DJANGO_SECRET_KEY=replace-me-with-a-long-random-string",
    ],
)
def test_what_is_mixed_like_a_password_and_named_otherwise_stays(text: str) -> None:
    assert mask(text) == (text, ())
