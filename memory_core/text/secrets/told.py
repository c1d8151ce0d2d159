"""Secrets that a sentence names somewhere before it gives them, whatever words stand between.

The rules of `named` read a name and its value side by side. People write "the one for the printer
is ...", so here the sentence only has to name a secret, and a value has to look like none of its
words: letters with digits or signs, introduced by a verb, a colon or quotation marks.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets import locks
from memory_core.text.secrets.remarks import is_listed, is_predicate, leads_to
from memory_core.text.secrets.spans import Rule, Span, is_numbered, is_placeholder, is_reference
from memory_core.text.words import FUNCTION_WORDS, GERMAN_STOPWORDS, STOPWORDS

_WORD = (
    r"(?<![a-zäöü])(?:[a-zäöü]{0,20}[_-]?)?(?:pas{1,2}[ _-]?(?:wo?r[dt]|wrod|phrase|code)|passwd"
    r"|psswd|pwd"
    r"|kennw[oö]rt|(?<![a-zäöü0-9_-])pw"
    r"|mot de passe|mdp|wachtwoord|contrase[ñn]a|clave|senha|palavra-passe|parola d'ordine|lösenord"
    r"|adgangskoden?|passord(?:et)?|lösenordet|has[łl][oa]|hesl[oa]|jelsz[óo]|salasana"
    r"|şifre(?:si|niz)?"
    r"|парол[ья]|psw|(?<![a-zäöü0-9_-])ww|credentials?|credenziali|zugangsdaten)(?:e?s|er)?"
    r"(?![a-zäöü])"
)
_NAMES_WORDS = (
    "hasł|pas|pss|pw|kennw|mdp|wachtw|contrase|clave|senha|palavra|parola|lösenord|adgangskode"
    "|hasło"
    "|cred|zugangsd|passord|hasl|hesl|jelsz|salasana|şifre|парол|psw|ww"
)
_NAMES = Rule(_NAMES_WORDS, rf"(?i){_WORD}")
_SENTENCE = lazy_pattern(r"[^\n]{0,240}?(?=[.!][ \n]+[^\W\d_a-z]|\n|$)|[^\n]{240}")
_ALONE = lazy_pattern(
    r"\n(?:[ \t>]{0,8}\[?[0-9:. -]{4,20}\]?[ \t])?(?:[ \t>]{0,8}[\w .-]{1,30}: )?[ \t>]{0,8}"
    r"(?P<value>[^\s\"'`“”„«»()<>\[\]:;,]{6,64})(?=[ \t]{0,8}(?:\n|$))"
)
"""One word on a line, maybe behind the time and the name of who says it."""
_BELOW = 160
"""Characters of a line below the name that are looked at."""
_TOKEN = lazy_pattern(r"[^\s\"'`“”„«»()<>\[\]]{6,64}")
_NO_VALUE = lazy_pattern(
    r"(?i)(?:--|https?:|ftp:|www\.|~?/|\.{1,2}/|[a-z]:\\)|[^@\s]+@[\w-]+\.[\w.]+$"
    r"|\d[\d.,:/x-]*[a-zäöü%°€$-]*$"
    r"|v?\d+(?:\.\w+)+$|[a-z]{2,6}-\d{1,5}$|[a-z]{2,4}\d{1,5}$|[\w-]+\.[a-z]{2,5}$"
    r"|[a-z_]\w*(?:\.\w+)*[(=]|#\d+$"
    r"|@[\w.-]+$|#[0-9a-fA-F]{3,8}$"
    r"|[a-z]+(?:[-/][a-z]+)*$|[\w.-]+:\d{1,5}$|[a-z0-9]+(?::[a-z0-9]+)+$"
)
"""Addresses, folders, numbers with a unit, versions, names of files, words."""

_SIGNING_IN = Rule(
    "log|sign|unlock|anmeld|melde|entsperr|rein|get in|gets in",
    r"(?i)(?<![a-zäöü])(?:log(?:s|ged|ging)?[ -]?(?:in|on)(?:to)?|sign(?:s|ed|ing)?[ -]in(?:to)?"
    r"|unlock(?:s|ed|ing)?|melde[nst]{0,2} (?:\w{2,4} )?(?:mich|dich|euch|uns|sich)"
    r"|anmeld[a-z]{1,4}"
    r"|einlogg?[a-z]{1,4}|logge[nst]{0,2}|entsperr[a-z]{1,3}|gets? in(?:to)?"
    r"|komm(?:e|st|t|en) (?:[\w-]{1,20} ){0,5}?rein)(?![a-zäöü])",
)
_TYPED = lazy_pattern(
    r"(?i)(?<![a-zäöü])(?:with|mit|using|use|type|enter|tippe?|gib|nimm|to"
    r"|auf)\s{1,3}(?:\S{1,60} / )?[\"'`„“]?"
    r"(?P<value>[^\s\"'`“”„«»()<>\[\],;]{6,64})"
)
_AS = Rule(
    " as | als ",
    r"(?i)(?<![a-zäöü])(?:(?:ssh|sftp|rdp|telnet|connect|log|sign|get|go|come)(?:s|ed|ged|ging"
    r"|ing|ting)?"
    r"(?:[ -]?(?:in|on)(?:to)?)?\s[^\n.]{0,40}?\bas|(?:melde|logge"
    r"|verbinde)\w{0,2}\s[^\n.]{0,40}?\bals)"
    r"\s[\"'`]?[\w.@-]{2,40}[\"'`]?\s(?:with|and|using|mit|und)\s[\"'`„“]?"
    r"(?P<value>[^\s\"'`“”„«»()<>\[\],;]{6,64})",
)
"""A user and what opens the account: "ssh in as pi with ..."."""
_BEFORE = lazy_pattern(r"(?:[^\n.!?]|[.!?](?! [A-ZÄÖÜ]|\n)){0,120}$")

_PIN = Rule(
    "pin|puk|lock|kindersicherung|暗証番号|安全码|код|codigo|código|prüf|geheim|clave|contrase|tan|otp"
    "|code|cvv|cvc"
    "|cid|crypto|ziffer|digit|atrás|dos",
    r"(?i)(?<![a-zäöü])(?:(?-i:PIN|CID|[A-Za-z]{0,8}-?TAN)|pin(?:code|(?=\s?[:=])"
    r"|(?= [0-9]{4,8}(?!\w"
    r"|[.,][0-9]))"
    r"|(?=['’]s\s)|(?= (?:is|was|ist|war|of|for|to"
    r"|vom|von|für|de[lr]?|du|dell[ao]|d[aio]"
    r"|van) ))|puk[ ]?[12]?|geheim(?:zahl|nummer)"
    r"|otp|(?:one[- ]time|verification|whatsapp|sms|login|bestätigungs|einmal)[- ]?code"
    r"|prüf(?:ziffer|nummer|zahl)"
    r"|(?:three|four|3|4) digits on the (?:back|front)|c[óo]digo de (?:atrás|seguridad)"
    r"|code (?:secret|confidentiel|de (?:la |ma )?carte)|cryptogramme|code au dos|pass ?codes?"
    r"|clave|contraseña|(?:parental|child) lock|kindersicherung|暗証番号|安全码|code on the back"
    r"|код из (?:смс|sms)"
    r"|(?:card[ _-]?)?cv[vc]2?)(?![a-zäöü])"
    r"[\"']?(?P<between>(?:[^\n0-9]|(?<![0-9])[0-9](?![0-9])){0,60}?)[\"'`„“]?"
    r"(?P<value>(?<![\w.,:/+-])[0-9]{3,10}|(?<![\w.,:/+-])(?:[0-9]{3}[- ]|[A-Z]-[0-9]{3})[0-9]{3})"
    r"(?![\w€$%°-]|[.,:/][0-9]|\s?(?:€|euros?|dollars?|pounds|percent|prozent|characters|digits"
    r"|zeichen|ziffern|stellen"
    r"|minut|hours|stunden|days|tage|times|mal\b|uhr\b|people|years|jahre|[ck]ombinat|possibilit"
    r"|möglichk"
    r"|attempts|versuche|tries|users|nutzer))",
)
_SAYS = lazy_pattern(
    r"(?i)[.!?;]\s(?:it|that|mine|(?:the|my) (?:card|letter|paper|sms|text|sticker|label|note|slip)"
    r"|es|sie|das|(?:auf )?(?:die|der|dem) (?:karte|brief|zettel|sms|aufkleber))"
    r"(?:['’]s|\s(?:says|said|is|was|reads|lautet|ist|war|sagt|steht))\s$"
)
"""Where the next sentence gives what was named: "My phone wants the PUK. The card says ..."."""
_CODE = Rule(
    "code",
    r"(?i)(?<![\w-])(?P<of>(?:[a-zäöüß]{1,20}[ -])?[a-zäöüß]{0,20}?)codes?(?:\s(?:is|was|ist|war"
    r"|lautet|:)|:)?\s"
    r"(?P<value>[0-9]{4,8})(?![\w€$%°-]|[.,:/][0-9]|\s[a-z]{3,12}s\b)",
)
_OTHER_CODES = lazy_pattern(
    r"(?i)(?:error|status|exit|return|response|result|reason|event|http|zip|post(?:al)?|area"
    r"|country"
    r"|diall?ing|city|product|item|style|model|unit|bar|qr|source|quell|colou?r|farb|hex|unicode"
    r"|ascii|char|op"
    r"|byte|promo(?:tion)?|discount|rabatt|coupon|fehler|länder|bank|sort|swift|branch|currency"
    r"|währungs|tax"
    r"|hs|icd|sic|nace|naics|cpv|cas|artikel|produkt|zeichen|morse|dress|building|legal|penal"
    r"|civil|of"
    r"|lines? of|trouble|fault|diagnos\w*|warning|signal|airport|flight|station|course|class"
    r"|order|project|cost"
    r"|kosten|agent|booking|reservation|reference|tracking|member(?:ship)?|customer|voucher"
    r"|referral"
    r"|buchungs|reservierungs|referenz|kunden|mitglieds|sendungs|room|raum|vs|in|to|and"
    r"|und|or|oder)[ -]?$"
)
"""What other numbers a code is: "error code 4040"."""
_WHOSE = lazy_pattern(
    r"(?i)(?:^|[^\w])(?:your|my|our|dein|mein|ihr|unser)\s(?:\w{1,20}\s)?\w{0,20}code"
)
_SENT = Rule(
    "code|pin|tan|otp",
    r"(?i)(?<![\w.,:/+-])(?P<value>[A-Z]-[0-9]{6}|[0-9]{3}[- ]?[0-9]{3}|[0-9]{4,8})\s(?:is|ist"
    r"|lautet|est|es)"
    r"\s(?:your|my|the|our|dein|mein|ihr|votre|tu|die"
    r"|der)e?\s(?:[\w-]{1,20}\s){0,3}(?:[\w-]{0,20}code|pin|[a-z]{0,8}-?tan|otp)"
    r"(?![a-z])",
)
"""What a service sends: "618-402 is your code"."""

_TEXTED = Rule(
    "code|tan|otp|pin",
    r"(?i)(?<![a-zäöü])(?:[a-z-]{0,20}code|[a-z]{0,8}-?tan|otp|pin)\b(?:[^\n]{0,80}?\b(?:texted"
    r"|text|sms|sent|send"
    r"|got|get|received|bekommen|erhalten|geschickt|schickt|kam)\b[^\n]{0,60}?"
    r"|\?[ ]?\n(?:[\w .-]{1,20}: )?)"
    r"(?P<value>(?<![\w.,:/+-])[0-9]{3}[ -]?[0-9]{3})(?![\w€$%°-]|[.,:/][0-9]|\s?(?:€|euros?"
    r"|dollars?))",
)
"""A code of six digits that was sent, wherever the sentence says so."""
_LETTERED = Rule(
    "code",
    r"(?i)(?:guard|login|log-in|security|verification|auth(?:entication)?|confirmation|backup|2fa"
    r"|pin|door|tür|bestätigungs|sicherheits|zugangs)[ -]?code(?:\s(?:for|of|to|für|der"
    r"|des)\s[^\n.:]{1,30}?)?"
    r"(?:\s?:|\s(?:is|ist|lautet"
    r"|was))?\s(?P<value>(?-i:(?=[A-Z]{0,7}[0-9])(?=[0-9]{0,7}[A-Z])[A-Z0-9]{3,8}))(?![\w-])",
)
"""A code of capitals and digits."""
_PIN_OF_LETTERS = Rule(
    "pin",
    r"(?<![A-Za-z])PIN(?:\s?[:=]|\s(?:is|ist"
    r"|lautet))?\s(?P<value>(?=[A-Za-z]{0,7}[0-9])(?=[0-9]{0,7}[A-Za-z])[A-Za-z0-9]{4,8})(?![\w-])",
)
_SPELT = Rule(
    "code|pin|combination|kombination|zahl|password|passwort",
    r"(?i)(?:code|pin|combination|kombination|zahl|password|passwort)\b[^\n.!?]{0,60}?"
    r"(?P<value>\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins|zwei|zwo"
    r"|drei|vier|fünf|sechs"
    r"|sieben|acht|neun)(?:[ ,-]{1,2}(?:zero|oh|one|two|three|four|five|six|seven|eight|nine"
    r"|null|eins|zwei|zwo|drei"
    r"|vier|fünf|sechs|sieben|acht|neun)){3,9})\b",
)
_QUESTION = (
    r"(?:security question|secret question|(?:sicherheits|geheim)frage|pregunta (?:de seguridad"
    r"|secreta)|question (?:secrète|de sécurité)|domanda (?:di sicurezza|segreta)"
    r"|pergunta (?:secreta|de segurança)|(?:beveiligings|geheime )vraag|pytanie pomocnicze)"
)
_ABOUT_IT = r"(?:\s?\([^()\n]{2,60}\)|\s(?:for|to|of|pour|für|para)\s[^\n:=]{2,60}?)?"
"""Which of the questions: in brackets, or behind a preposition."""
_ANSWERED = Rule(
    "answer|antwort|secret question|security question|sicherheitsfrage|memorable word|codewort"
    "|respuesta|réponse|risposta|resposta|odpowied|geheimfrage|pregunta|question secr|question de s"
    "|domanda|pergunta|vraag|pytanie",
    r"(?i)(?:(?:memorable word|codewort)[^\n.!?]{0,60}?(?:\bis|\bist|['’]s|:)"
    rf"|{_QUESTION}[^\n.!?]{{0,80}}?"
    r"(?:\banswer(?:ed)?(?: with|(?: \w{1,12}){0,4}? (?:is|was))?|\bantwort(?:e[tn]?)?(?: mit"
    r"| ist)?|\bbeantwortet mit"
    r"|\?\s(?:answer|antwort|respuesta|réponse)\s?:|,\s(?:risposta|respuesta|réponse|antwort"
    r"|answer)\s?:"
    r"|\bi (?:put|said|wrote)|\brespuesta es|\bréponse est"
    r"|[ ]?[\"“„(][^\"“”()\n]{3,60}[\"”“)]\s?[:=])"
    r"|(?:secret|security) question\s(?:[\w'’-]{1,20}[ ]?){2,6}:(?=[^\n]{2,40}(?:\n|$))"
    rf"|(?:antwort|réponse|respuesta|risposta|resposta|antwoord|odpowied[źz]|answer)\s"
    rf"(?:[\w']{{1,6}} ){{1,3}}{_QUESTION}{_ABOUT_IT}\s?(?::|=|\b(?:is|ist|est|es|è|é|to)\b)"
    rf"|(?:security|secret) answer{_ABOUT_IT}(?:\s?[:=]|\s(?:is|was))"
    r"|(?:answer|antwort)\s(?:to|for|auf|zu)\s[\"“„'][^\"“”\n]{5,60}[\"”“'][^\n.:;]{0,30}?(?:\bis"
    r"|\bist|:))"
    r"\s{1,2}[\"'„“]?(?P<value>(?:(?:Mrs?|Dr|Frau|Herr)\.? )?[^\s,.;:\"'“”]{3,40}"
    r"(?: [A-ZÄÖÜ][^\s,.;:\"'“”]{2,40})?)"
    r"(?=[\"'“”]?(?:[,.;\n]|$))",
)

_NETWORK_KEY = Rule(
    "key|schlüssel",
    r"(?i)(?<![a-z])(?:wlan|wi-?fi|wpa[23]?|ssid|router|fritz!?box"
    r"|hotspot)(?![a-z])[^\n]{0,60}?\b(?:key|schlüssel)"
    r"(?:[^\n:=,;]{1,50}:|\s?:)?\s?(?:is |ist )?(?P<value>[0-9]{16,63}|[^\s\"'`<>,;]{8,63})",
)
_DEFAULT_USER = Rule(
    "admin|root|guest|demo",
    r"(?i)(?<![\w/.@-])(?:(?:admin(?:istrator)?|root|guest|demo)(?: / |[ \t]{3,20})"
    r"|(?:admin|root):(?=[^\s:]{6,64}(?:@|\s|$)))"
    r"(?P<value>[^\s:\"'`<>|/@,;]{6,64})",
)
"""A user that many devices have, and what stands behind it."""
_MAIL_PAIR = Rule(
    "@",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{2,40}(?::|\s{0,2}[/|,]\s{0,2}|\s(?:and|und"
    r"|dann)\s|(?P<blank>\s))"
    r"(?P<value>[^\s:\"'`<>|/@,;]{6,64})",
)
"""An address and what stands behind it."""
_ACCOUNT_PAIR = Rule(
    "account|login|log in|log-in|sign|user|nutzer|konto|zugang|anmelde|cred",
    r"(?i)(?<![a-zäöü])(?:accounts?|log[ -]?in|sign(?:s|ed)?[ -]in|users?(?:name)?"
    r"|(?:be)?nutzer(?:name)?|konto|zugang"
    r"|(?P<sure>credentials|creds|zugangsdaten|anmeldedaten"
    r"|logindaten))(?![a-zäöü])[^\n]{0,60}?(?:(?<=[\s\"'(])[\"'`]?(?P<user>[\w.@+-]{3,40})[\"'`]?"
    r"(?:\s/\s|(?(sure)\s(?:und|and)\s|(?!)))[\"'`]?|\((?P<within>[\w.@+-]{3,40}),\s"
    r"|[\w.+-]{1,40}@[\w.-]{3,40}\s(?:with|mit)\s)"
    r"(?P<value>[^\s\"'`<>|/,;]{5,64})(?=[\"'`),;]|\s|$)",
)
"""A user and a password, parted by a slash, behind the word for an account."""
_WIRELESS = Rule(
    "wifi|wi-fi|wlan",
    r"(?i)(?:wi-?fi|wlan)[^\n/]{0,40}\s/\s(?P<value>[^\s\"'`<>|/@,;]{6,64})",
)

_JOINED = Rule(
    "shared secret|psk|key|schlüssel",
    r"(?i)(?<![a-z])(?:(?:pre-?)?shared secret|psk|(?:wlan|wi-?fi|wpa[23]?"
    r"|hotspot|gäste-?wlan)[^\n]{0,60}?"
    r"(?:key|schlüssel))(?:\s(?:for|of|für|der|des)\s[\w ]{1,40}?)?(?:\s(?:is|ist|lautet)"
    r"|\s?[:=])?\s[\"'`„“]?"
    r"(?P<value>[a-zäöüß]{2,20}(?:-[a-zäöüß]{1,20}){1,6})(?=[\"'`”“]?(?:[.,;!]|\s(?:in|im|on|for"
    r"|für)\s|\s*(?:\n|$)))",
)
"""Words joined by hyphens, as no sentence has them behind the name of such a key."""
_LICENCE = Rule(
    "licen|lizenz|serial|product key|activation|freischalt|aktivierung|seriennummer|wifi|wi-fi"
    "|wlan|gift|voucher|redeem"
    "|gutschein|geschenkkarte",
    r"(?:(?i:licen[cs]e|lizenz|serial|product key|activation|freischalt|aktivierung|seriennummer"
    r"|wi-?fi|wlan"
    r"|gift ?(?:card|code)"
    r"|voucher|redeem|gutschein|geschenkkarte))[^\n]{0,80}?"
    r"(?<![\w-])(?P<value>(?=[A-Z -]{0,40}[0-9])"
    r"(?:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,9}"
    r"|(?=[^\n]{0,40}[A-Z])[A-Z0-9]{5}(?: [A-Z0-9]{5}){2,6}))(?![\w-])",
)
_SET_UP = Rule(
    "authenticator|totp|2fa|app password|app-passwort|secret key|setup key|set-up key",
    r"(?i)authenticator|totp|2fa|app password|app-passwort|secret key|set-?up key",
)
_GROUPS = lazy_pattern(
    r"(?<![\w-])(?P<value>[a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,7}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,7})"
    r"(?![\w-])",
)

_APP_PASSWORD = lazy_pattern(r"(?i)app[ -]?(?:password|passwort)[^\n:]{0,40}(?::|=|\bis|\bist)\s$")

_CALLS = Rule(
    "pdo|mysqli|connect|securestring",
    r"(?i)(?:PDO|mysqli|[a-z]{0,20}connect(?:ion)?)\s?\((?:\s?(?:\"[^\"\n]{0,200}\""
    r"|'[^'\n]{0,200}'|[^\s\"'(),]{1,200}),){2}"
    r"\s?(?:\"(?P<double>[^\"\n]{3,128})\"|'(?P<single>[^'\n]{3,128})')"
    r"|ConvertTo-SecureString\s(?:-String\s)?(?:\"(?P<secure>[^\"$\n]{3,128})\""
    r"|'(?P<plain>[^'\n]{3,128})')",
)
"""A database, a user and a password as arguments, and what PowerShell takes for one."""
_SWITCH = Rule(
    "enable |username |snmp-server ",
    r"(?m)^[ \t>]{0,8}(?:enable (?:secret|password)|snmp-server community"
    r"|username \S{1,60}(?: privilege [0-9]{1,2})?"
    r" (?:secret|password))(?: [0-9])? (?P<value>\S{3,128})(?: R[OW])?[ \t]*$",
)
"""Lines of a switch's configuration."""
_NAMED_PAIR = Rule(
    "name:|name\"|name'",
    r"[\"']?name[\"']?:[ ]?[\"']?[A-Z0-9_]{0,40}(?:KEY|SECRET|TOKEN|PASSWORD|PASS"
    r"|PWD)[\"']?,?\s{1,20}"
    r"[\"']?value[\"']?:[ ]?[\"']?(?P<value>[^\s\"']{6,512})",
)
"""A variable of a container's environment: its name, and its value on the next line."""

_WALLET = Rule(
    "seed|wallet|mnemonic|bip39|bip-39|ledger|trezor|metamask|electrum|phrase|words|wörter",
    r"(?i)seed|wallet|mnemonic|bip-?39|ledger|trezor|metamask|electrum"
    r"|(?:recovery|backup|secret|wallet|wiederherstellungs|geheim|1[258]|2[14]|twelve"
    r"|twenty[- ]four|zwölf)[ -]?(?:phrase|words|wörter)",
)
_WORDS = lazy_pattern(
    r"(?:(?:[0-9]{1,2}[.):]?[ ]?)?(?<![\w-])[a-z]{3,8}(?![\w'-])[ ,\n]{1,2}){11,40}"
    r"(?:[0-9]{1,2}[.):]?[ ]?)?[a-z]{3,8}(?![\w-])"
)
_NUMBERED = lazy_pattern("[a-z]+")
_SEED_LEAST = 12
_SEED_WORDS = (12, 15, 18, 21, 24)


def passwords(text: str, low: str) -> Iterator[Span]:
    """The places of values in sentences of *text* that name a password; *low* is `folded` of it."""
    until = 0
    for match in _NAMES.found(text, low):
        if match.start() < until:
            continue
        said = _SENTENCE.match(text, match.end())
        until = said.end() if said else match.end()
        for token in _TOKEN.finditer(text, match.end(), until):
            value = token.group().rstrip(".,;:!?)")
            signs = token.group()[len(value) :].rstrip(".,;:)")  # "Winter2024!" ends with its own
            sign = leads_to(text, match.end(), token.start())
            called = text.startswith("(", token.end())
            number = sign == ":" and value.isdigit() and len(value) >= 16
            if sign and not called and (number or is_value(value, sign)):
                yield token.start(), token.start() + len(value) + len(signs), "password"
        below = _lines_below(text, until)
        for line in _ALONE.finditer(text, until, below):
            if is_value(line["value"], ""):
                yield (*line.span("value"), "password")
    until = 0
    for match in _SIGNING_IN.found(text, low):
        before = _BEFORE.search(text, max(until, match.start() - 120), match.start())
        begin = before.start() if before else match.start()
        said = _SENTENCE.match(text, match.end())
        until = said.end() if said else match.end()
        for typed in _TYPED.finditer(text, begin, until):
            value = typed["value"].rstrip(".,;:?)")
            bare = value.rstrip("!")
            ends = value != bare and any(map(str.isdigit, bare)) and _ends_oddly(value)
            if ends or (is_value(bare, "") and _SIGNS_WITHIN.search(bare)):
                yield typed.start("value"), typed.start("value") + len(value), "password"
    for match in _AS.found(text, low):
        value = match["value"].rstrip(".:?)")
        if is_value(value, ":"):
            yield match.start("value"), match.start("value") + len(value), "password"
    for match in _NETWORK_KEY.found(text, low):
        value = match["value"].rstrip(".,;:!?)")
        if is_value(value, ":") or value.isdigit():
            yield match.start("value"), match.start("value") + len(value), "password"
    for match in _ACCOUNT_PAIR.found(text, low):
        value = match["value"].rstrip(".:)")
        odd = is_value(value, ":") or (value.count("-") > 1 and value.islower())
        ends = text[match.end() : match.end() + 1] in ("", "\n", ".", ",", ")")
        if odd or (match["sure"] and ends and not is_predicate(value)):
            yield match.start("value"), match.start("value") + len(value), "password"
    for rule in (_CALLS, _SWITCH, _NAMED_PAIR, _JOINED):
        for match in rule.found(text, low):
            given = match.lastgroup or "value"
            if rule is _SWITCH or not (is_reference(match[given]) or is_placeholder(match[given])):
                yield (*match.span(given), "password")
    for rule in (_DEFAULT_USER, _WIRELESS, _MAIL_PAIR):
        for match in rule.found(text, low):
            value, loose = match["value"].rstrip(".,;:!?)"), match.groupdict().get("blank")
            if "(" in value or (loose and not _SIGNS_WITHIN.search(value)):
                continue
            if is_value(value, ":") or (_ends_oddly(match["value"]) and not loose):
                yield (*match.span("value"), "password")


_ANY_NAME = Rule(
    _NAMES_WORDS + "|login|log-in|lösen|parol|inlog|wifi|wi-fi|wlan",
    rf"(?i){_WORD}|(?<![a-zäöü])(?:log-?in|inlog|lösen|parol[ea]|wi-?fi|wlan)(?![a-zäöü])",
)
_UNMISTAKABLE = lazy_pattern(
    r"(?=[^a-z]{0,40}[a-zäöüß][^a-z]{0,40}[a-zäöüß][^a-z]{0,40}[a-zäöüß])"
    r"[^\W_]{1,30}(?:[!#^§][^\W_]{1,30}){1,4}"
)
"""What no text holds but a password, even where nothing names one."""
_MIXED = lazy_pattern(
    r"(?<![\w/.@:#?=&%$+~\\-])(?=[^\sA-Z]{0,63}[A-Z])(?=[^\s0-9]{0,63}[0-9])"
    r"[^\s\"'`“”„«»<>()\[\]{},;|/\\]{8,64}(?![\w/\\(])"
)
"""Letters of both cases and digits, with signs; no part of a path or an address."""
_SIGNED_WITHIN = lazy_pattern(r"[^\W_][!#$%&*^+=?§][^\W_]")
_JOINED_WITHIN = lazy_pattern(r"[^\W_][._@-][^\W_]")
_PLACED = ("in", "zu", "code", "number", "zahl", ",")
"""What also stands before the name of a module or a release."""
_AFTER, _AHEAD_OF = 240, 60
"""Characters behind the name of a password, and before it, among which a mixed value stands."""


def mixed(text: str, low: str) -> Iterator[Span]:
    """The places in *text* of what only a password looks like, near the name of one.

    With a sign as in "Winter$Regen7" whatever leads to it; with one that identifiers have, too
    ("Winter_Regen7"), where something introduces it; with one that nothing else has within a word
    ("Winter!Regen7") wherever it stands. *low* is `folded` of the text.
    """
    if not any(sign in text for sign in "!#$%&*^+=?§._@-"):
        return
    names = [match.span() for match in _ANY_NAME.found(text, low)]
    begins, ends = [begin for begin, _ in names], [end for _, end in names]
    for match in _MIXED.finditer(text):
        value = match.group().rstrip(".:?!)")
        start, end = match.start(), match.start() + len(value)
        last, following = bisect_right(ends, start), bisect_left(begins, end)
        near = bool(_UNMISTAKABLE.fullmatch(value))
        near = near or (last > 0 and start - ends[last - 1] <= _AFTER)
        near = near or (following < len(begins) and begins[following] - end <= _AHEAD_OF)
        known = is_placeholder(value) or is_reference(value) or _NO_VALUE.match(value)
        if not near or known or not any(map(str.islower, value)):
            continue
        led = leads_to(text, max(0, start - 40), start) not in ("", *_PLACED)
        if _SIGNED_WITHIN.search(value) or (led and _JOINED_WITHIN.search(value)):
            yield start, match.end() if match.group()[len(value) :] == "!" else end, "password"


def _lines_below(text: str, at: int) -> int:
    """Where the second line ends below the one that *at* stands in; *at* within a line."""
    end = at
    for _ in range(2):
        if end < len(text) and text[end] == "\n":
            end = min(len(text), end + _BELOW)
            line = text.find("\n", at + 1, end)
            end = at = line if line >= 0 else end
    return end


def codes(text: str, low: str) -> Iterator[Span]:
    """The places in *text* of licence keys, and of what an authenticator is set up with."""
    for match in _LICENCE.found(text, low):
        yield (*match.span("value"), "licence_key")
    for match in _GROUPS.finditer(text) if any(_SET_UP.found(text, low)) else ():
        groups = re.split("[ -]", match["value"])
        given = len(groups) == 4 and _APP_PASSWORD.search(
            text, max(0, match.start() - 60), match.start()
        )
        odd = any(map(str.isdigit, match["value"])) or not all(
            _has_a_vowel(group.lower()) for group in groups
        )
        if not any(map(is_listed, groups)) and (given or odd):
            yield (*match.span("value"), "secret")


def personal(text: str, low: str) -> Iterator[Span]:
    """The places in *text* of PINs, one-time codes, codes of locks, and the words of a wallet."""
    for match in _PIN.found(text, low):
        between = match["between"]
        asked = between.startswith("?")  # "The PIN? 8350."
        apart = re.search(r"[.!?;]\s", between[asked:]) and not _SAYS.search(between)
        if not apart and not is_numbered(between):
            yield (*match.span("value"), "pin")
    yield from locks.found(text, low)
    for rule in (
        _SPELT,
        _LETTERED,
        _PIN_OF_LETTERS,
        _SENT,
        _TEXTED,
    ):
        for match in rule.found(text, low):
            yield (*match.span("value"), "pin")
    for match in _CODE.found(text, low):
        whose = _WHOSE.search(text, max(0, match.start() - 12), match.start("value"))
        six = len(match["value"]) == 6 or (whose is not None)
        if six and not _OTHER_CODES.search(match["of"]):
            yield (*match.span("value"), "pin")
    for match in _ANSWERED.found(text, low):
        if not is_predicate(match["value"]):
            yield (*match.span("value"), "password")
    for match in _WORDS.finditer(text) if any(_WALLET.found(text, low)) else ():
        yield from _seeds(match)


def is_value(value: str, leads: str) -> bool:
    """True for what no sentence has for a word: letters with digits, or with signs within.

    Behind a sign, and right behind the name, one digit is enough.
    """
    if len(value) < 6 or is_placeholder(value) or is_reference(value) or _NO_VALUE.match(value):
        return False
    digits = sum(map(str.isdigit, value))
    short = leads in (":", "(") and len(value) >= 8 and "pass" not in value.lower()
    least = 1 if short else 2
    odd = digits >= least or bool(_SIGNS_WITHIN.search(value))
    return odd and any(map(str.isalpha, value))


_SIGNS_WITHIN = lazy_pattern(r"\w[!#$%&*@^+=?]{1,3}\w|[a-z]_[0-9]{1,2}")


def _ends_oddly(value: str) -> bool:
    """True for a word with a sign behind it that ends no sentence, as in "welcomehome!"."""
    return len(value) >= 8 and value[-1:] in "!#$*&%" and value[:-1].isalnum()


def _has_a_vowel(group: str) -> bool:
    return any(char in "aeiouy" for char in group)


def _seeds(match: re.Match[str]) -> Iterator[Span]:
    """The words in *match*, where they are as many as a wallet has and few are of sentences; else
    the runs of twelve and more that hold none of those."""
    words = [*_NUMBERED.finditer(match.string, *match.span())]
    common = [
        any(word.group() in some for some in (STOPWORDS, FUNCTION_WORDS, GERMAN_STOPWORDS))
        for word in words
    ]
    if len(words) in _SEED_WORDS and 5 * sum(common) < len(words):
        yield (*match.span(), "seed_phrase")
        return
    run: list[re.Match[str]] = []
    for word, small in (*zip(words, common, strict=True), (None, True)):
        if word is not None and not small:
            run.append(word)
            continue
        if len(run) >= _SEED_LEAST:
            yield run[0].start(), run[-1].end(), "seed_phrase"
        run = []
