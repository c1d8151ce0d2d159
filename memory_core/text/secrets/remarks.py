"""How passwords are named, and what is said of them, told apart from passwords that are words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.spans import Folded, Rule
from memory_core.text.words import FUNCTION_WORDS, GERMAN_STOPWORDS, STOPWORDS, listed

NAME_OF_PASSWORD = (
    r"(?:pass_?words?|passwrods?|pas+wor[dt]|passwd|psswd|pwd|pa(?:ss|ß)w(?:or|ör)t(?:er)?"
    r"|kennw(?:or|ör)t(?:er)?|k3nnw[o0]rt|(?:kennw|passw)\.|pswd|passphrase|passcode"
    r"|(?-i:(?<=[a-z])Pass(?![A-Za-z]))"
    r"|p[a4@](?:ss|55|\$\$)(?:w|vv)[o0]r[dt]|p/w|p a s s w o r d|p\.a\.s\.s\.w\.o\.r\.d|(?:wpa_"
    r"|wifi_)?(?<![a-z])psk"
    r"|requirepass|masterauth|(?:root|bind|admin)pw|(?:zugangs|zugriffs|tür|geheim)code"
    r"|geheimwort|codewort|code ?word|losungswort"
    r"|(?:access|unlock|door|entry|gate|alarm) code|key content"
    r"|(?<![a-z])(?:wlan|wi-?fi|wpa[23]?|netzwerk)[ _-]?(?:schlüssel|key|code)"
    r"|(?<![a-z0-9])p(?:ass|w)(?![a-z])|mot de passe|contraseña|wachtwoord|senha|lösenord(?:et)?"
    r"|clave (?:del? |de la )(?:wi-?fi|red|router|correo|cuenta|banco|ordenador|portátil|móvil)"
    r"|passord(?:et)?|p\.w\.?"
    r"|hasło|heslo|salasana|adgangskoden?|şifre|парол[ья]|пароль|パスワード|密码|密碼|비밀번호)"
)
"""A pattern, for use within another one that ignores case."""

WORDS_OF_NAMES = (
    "pass|psswd|pswd|k3nnw|pasw|key content|wlan|wifi|wi-fi|wpa|netzwerk|passvv|p4ss|p@ss|p455|p@55"
    "|p4$$"
    "|p@$$|p/w"
    "|pa$$|pa55|p a s|p.a.s|psk"
    "|masterauth"
    "|clave de|code|geheim|losung|pwd|pw|p.w|kennw|mot de passe|contraseña|wachtwoord|senha"
    "|lösenord|hasło|heslo"
    "|salasana|adgangskode|şifre|парол|パスワード|密码|密碼|비밀번호"
)
"""Of which every name of a password or a code has one; for `Rule`."""

_NAME = lazy_pattern(f"(?i){NAME_OF_PASSWORD}")


class Led(Rule):
    """A rule whose pattern begins with `NAME_OF_PASSWORD`, tried only where one stands.

    Looking for the name is most of the work, and is done once for all of them.
    """

    def found(self, text: str, low: str) -> Iterator[re.Match[str]]:
        """The matches in *text*, whose `folded` form is *low*."""
        names = low.names if isinstance(low, Folded) else None
        if names is None:
            some = any(word in low for word in self.words)
            names = tuple(match.start() for match in _NAME.finditer(text)) if some else ()
            if isinstance(low, Folded):
                low.names = names
        done = 0
        for place in names:
            match = self.pattern.match(text, place) if place >= done else None
            if match:
                done = match.end()
                yield match


def led(pattern: str) -> Led:
    """The rule of `NAME_OF_PASSWORD` and what follows it, which *pattern* is."""
    return Led(WORDS_OF_NAMES, f"(?i){NAME_OF_PASSWORD}{pattern}")


TOPIC = (
    r"(?:\s{1,3}(?:for|of|to|on|für|fürs|auf|vom|von|zum|zur|der|des|meiner|unseres|bei|beim|in"
    r"|im|am"
    r"|at|du|de|del|della|do|da"
    r"|pour|per|para|van|voor|till|от|для|к)\s[\w .'-]{1,60}?(?:\s?\([^)\n]{1,60}\))?"
    r"|\s?\([^)\n]{1,60}\)|,[^,\n]{1,40},|,\s(?:it|that|es|das)(?=['’ ]))?"
)
"""What a password or a token is said to be for, between its name and its value."""

KINDLY = (
    r"(?:\s(?:please|just|simply|bitte|einfach|mal|überall|everywhere|always|immer|meist(?:ens)?"
    r"|mostly|only|nur|still|noch|now|jetzt|again|wieder)){0,2}"
)
"""What stands between a verb and what is taken."""

PREDICATES = frozenset(
    listed(
        """wrong weak strong long short fine okay good secure insecure safe empty blank missing
        same different correct incorrect valid invalid right secret public private known unknown
        here there below above gone lost hard easy simple complex mandatory necessary needed
        optional required enough ready available new stale current default unique random plain
        text plaintext hidden visible case-sensitive temporary permanent identical shared stolen
        broken bad too long-lived only none nothing something anything everything always never
        yours mine ours theirs something-else please again first later soon today tomorrow
        yesterday online offline manager managers policy reset prompt field dialog hash hashes
        hint page form check rules length authentication login logout protection change changes
        path url link location recovery generator strength rotation storage storing entry input
        box file files vault
        falsch richtig lang kurz stark schwach sicher unsicher leer gleich geheim bekannt weg neu
        fehlt fehlerhaft korrekt nötig optional hier dort unten oben alles nichts etwas immer nie
        fällig gültig ungültig abgelaufen vergessen ändern setzen zurücksetzen eingeben speichern
        olvidado oubliée oublié забыт vergeten esquecida glömt zapomniane dimenticata
        sure still wiki docs mail email return raise continue break yield pass read write
        dasselbe dieselbe derselbe selbe gleiche anders dieses jenes meins deins seins unseres
        folgendes
        expire expires expiring early likely unlikely daily weekly monthly yearly randomly likewise
        obligatoire requise requis nécessaire oubliés longue courte faible expirée valide invalide
        obligatoria obligatorio corta corto larga débil segura caducada vencida errado incorreta
        scaduta debole necessaria lunga vuota verplicht verlopen kort lang sterk zwak
        неправильный слабый короткий устарел обязателен
        trop très muy demasiado troppo molto zbyt court long faible bref
        incorrecta incorrecto incorrecte fausse errata sbagliata błędne неверный verkeerd fel
        långt lång kort kortare längre starkt svagt säkert lange hemmelig"""
    )
)
"""What is said of passwords rather than as one."""

_SAID_OF = lazy_pattern(
    r"(?:[a-z]{2,}(?:ed|ing|able|ible|ent|ful|less|ous|ive|ary)"
    r"|[a-zà-ÿ]{2,}(?:atori|bligatori|equerid|ecesari|nválid)[oa]s?"
    r"|(?:(?:ab|ein|aus|zu|an)?ge|ver)[a-zäöüß]{3,}(?:t|en)"
    r"|[a-zäöüß]{3,}(?:bar|lich|isch|haft|los))$"
)


def bare_word(value: str) -> str:
    """*value* without the signs that end a sentence or close a bracket."""
    return value.rstrip(".!?…)*_:")


def is_listed(value: str) -> bool:
    """True for function words and for what is often said of passwords."""
    low = bare_word(value).lower()
    return low in PREDICATES or any(low in words for words in _SMALL)


def is_predicate(value: str) -> bool:
    """True for one word that says how a password is, or what was done with it."""
    word = bare_word(value)
    return is_listed(word) or (word.islower() and bool(_SAID_OF.match(word)))


def is_phrase(words: list[str]) -> bool:
    """True for words that say nothing about a passphrase: few function words, none first."""
    common = sum(word in STOPWORDS for word in words)
    return not common or (
        not is_predicate(words[0]) and len(words) >= 4 and 4 * common <= len(words)
    )


def is_told_phrase(words: list[str], *, loosely: bool) -> bool:
    """True for words without quotation marks that are a passphrase rather than a remark on one.

    *loosely* behind a sign, where few remarks stand: small words may join the others.
    """
    bare = [bare_word(word).lower() for word in words]
    small = [any(word in some for some in _SMALL) for word in bare]
    said = sum(word in PREDICATES for word in bare)
    if any(word in REMARKS for word in bare) or small[0] or 4 * said > len(words):
        return False
    if len(words) < 4 and is_predicate(words[0]):
        return False
    if loosely:
        return 3 * sum(small) <= len(words) and not small[-1]
    ends_as_said = is_predicate(words[-1]) or is_predicate("-".join(words))  # "case sensitive"
    return not any(small) and not ends_as_said


_SMALL = (STOPWORDS, FUNCTION_WORDS, GERMAN_STOPWORDS)
REMARKS = frozenset(
    listed(
        """ask see check look use call mail write find choose pick enter type contact get letters
        digits characters signs words numbers symbols minimum maximum min max length least most
        password user username name siehe frage frag bitte zeichen ziffern buchstaben mindestens
        höchstens beim steht liegt kommt folgt follows stands sticks lies unter hinter neben under
        behind beside field fields feld felder column columns spalte spalten"""
    )
)


_LINKS = frozenset(
    listed(
        """is was are be ist war lautet heißt heisst es est é è c'est son to in auf zu mit with = :
        => -> → – - | just only simply now jetzt nun einfach capital use type enter typed entered
        been remains stays bleibt worden lautete früher damals formerly once
        nimm zijn luidt är er then dann nämlich namely sondern code zahl number old new alte neue
        nuevo nouveau oude nieuwe je jest è vara nya är é это met med com con avec na"""
    )
)
"""What stands directly before a value that a sentence gives."""
OPENING = "\"'`“„«("


def leads_to(text: str, name: int, at: int) -> str:
    """What leads in *text* from the end of a *name* to the value *at*.

    A sign or the last word; "(" where nothing stands between, "" where no value is led to.
    """
    between = text[name:at].rstrip(" \t")
    before = between.rstrip(OPENING).rstrip()
    if not before:  # not "credentials a1b2", and nothing that is one word with its name
        login = text[:name].casefold().endswith(("in", "s", "en"))
        return "(" if between or (at > name and not login) else ""
    if before.endswith((":", "=", ">", "→", "–", ",", "?", "：", "は", "是", "为", "成")):
        return (
            ":" if before[-1] in ":=?→：は是为成" or before.endswith(("->", "=>")) else before[-1]
        )
    if between.endswith("("):
        return ","
    last = before.split()[-1].casefold().replace("’", "'")
    return last if last in _LINKS else ""
