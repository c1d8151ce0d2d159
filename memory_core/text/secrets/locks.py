"""Codes of locks: what is locked, what opens it, and the number, in several languages."""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.secrets.remarks import OPENING, leads_to
from memory_core.text.secrets.spans import Rule, Span, is_numbered

_LOCKS = "|".join(
    (
        r"(?:front |back |side |cellar |garage )?door|gate|garage|keypad|entrance|cellar|building"
        r"|lockers?|(?:lock|key) ?box|(?:bike |pad|luggage |suit ?case )?lock|safe|alarm|barrier"
        r"|intercom|shed",
        r"(?:haus|eingangs|hinter|wohnungs|keller|büro)?tür|(?:garagen|hof|einfahrts|garten|park"
        r"|schul|scheunen)?tor|koffer|tresor|packstation|schranke|aufzug"
        r"|(?:fahrrad|zahlen|vorhänge|koffer)?schloss|(?:schließ|post|bank)fach|spind|alarmanlage"
        r"|keller|eingang|schlüssel(?:kasten|box)",
        "digicode|immeuble|coffre(?:-fort)?|portail|porte|cadenas|antivol|serrure|interphone"
        "|alarme|casier|bo[îi]t(?:e|ier) à clés?",
        "garaje|puerta|portal|caja fuerte|candado|cerradura|verja|taquilla|alarma|trastero",
        "port(?:a|one)|cassaforte|cancello|lucchetto|serratura|citofono|allarme|armadietto",
        "(?:voor|achter|garage)?deur|poort|kluis(?:je)?|(?:fiets|hang|cijfer)?slot|hek",
        "portão|cadeado|cofre|fechadura",
        "portdörren|ytterdörren|(?:cykel|häng|kod)?lås(?:et)?|kassaskåpet?|grinden|hængelåsen?",
        r"domofonu?|kłódk[aię]|zamka|zamku|sejfu?|bram[ayi]|furtk[ai]|drzwi|rower\w{0,2}",
        r"домофон\w{0,2}|сейф\w{0,2}|замк\w{1,3}|подъезд\w{0,2}|двер[ьи]|ворот\w{0,2}",
        "玄関|ロッカー|金庫|自転車|ドア|门|大门|保险箱|锁",
    )
)
_SCREENS = (
    "tablet|screen|(?:i|smart)?phone|handy|mobiltelefon|laptop|i?pad|telefon|móvil|téléphone"
    "|cellulare|telefoon|telemóvel|celular|スマホ|手机"
)
_LOCKED = f"{_LOCKS}|{_SCREENS}"
_LOCK = lazy_pattern(rf"(?i)(?<![a-zäöü])(?:{_LOCKED})(?![a-zäöü])")
_ONLY_LOCKS = (
    "padlock|bike lock|cadenas|antivol|digicode|interphone|coffre-fort|candado|caja fuerte"
    "|lucchetto|citofono|cassaforte|cadeado|kluis(?:je)?|(?:fiets|hang|cijfer)slot"
    "|(?:kod|häng|cykel)lås(?:et)?"
    r"|kassaskåpet?|hængelåsen?|kłódka|domofon|домофон|сейф|замок"
)
"""What is nothing else in a line of settings, as "lock", "slot" and "poort" are."""
_CODE = (
    r"(?:tür|tor|zugangs|eingangs|einlass|öffnungs|alarm|notfall|zahlen|zugriffs|digi|freigabe"
    r"|abhol|master|toegangs|cijfer|pin|deur|slot|port|dörr|dør)?code|codice|c[óo]digo"
    r"|(?:port|lås|dörr)?kod(?:e|en|em|u)?|combo|combina(?:tion|ison|ci[óo]n|zione|tie|ção)"
    r"|[a-zäöü]{0,8}kombi(?:nation)?|kombinacj\w"
    r"|szyfr|код|комбинация|暗証番号|番号|密码|密碼"
)
_OPENING_BY = (
    r"keypad|accepts|opens? with|geht mit|unlock(?:s|ed)?(?: is| with)?"
    r"|öffnet mit|entsperr\w{1,3}(?: \w{2,12}){0,3}? mit|geht auf mit|(?:un)?scharf mit|marca"
    r"|compose|dials?|j'ai choisi|toets|s['’]ouvre avec|se abre con|si apre con|gaat open met"
    r"|abre com|öppnas med|otwiera się"
)
_OPENS = rf"{_CODE}|(?:{_OPENING_BY})(?: (?:the|de[nrm]?|il|el|le|la|het|o))?(?: (?:{_CODE}))?"
_WORDS = (
    "code|codice|codigo|código|kod|combo|combina|kombi|szyfr|код|комбинац|番号|密码|密碼"
    "|keypad|accepts|open|unlock|öffnet|entsperr|geht|scharf|marca|compose|dial|choisi|toets"
    "|ouvre|abre|apre|gaat|öppnas|otwiera"
)
"""Of which every way to say what opens something has one."""
_LETTER = "A-Za-z0-9_À-ÿА-я"
_BEFORE = rf"(?<![{_LETTER}.,:/+*#-])"
_NUMBER = (
    r"(?:[*#]?[0-9]{3,8}[*#]?|[0-9]{2,4}\*[0-9]{2,4}[*#]?"
    r"|[0-9](?:-[0-9]){2,7}|[0-9]{2}(?:[ -][0-9]{2}){1,3}|[0-9]{1,2}(?:-[0-9]{1,2}){2}"
    r"|(?-i:[0-9]{1,4}[A-ZА-Я][0-9]{0,6}|[A-Z][0-9]{2,5}[A-Z]?))"
)
_BEHIND = (
    rf"(?![{_LETTER}€$%°-]|[.,:/][0-9]|\s?(?:€|euros?|dollars?|kilo|kg|cm|mm|px|ms|mi?n|lines"
    r"|zeilen|bytes|[kmg]i?b\b|chars|tokens|items|points"
    r"|hours|stunden|days|tage|times|mal\b|uhr\b|people|years|jahre))"
)
_DIALLED = lazy_pattern(f"{_BEFORE}(?P<value>{_NUMBER}){_BEHIND}")
_NO_KEY = lazy_pattern(
    r"(?i)(?:error|status|exit|return|response|http|zip|post(?:al)?|area|country|product|item|style"
    r"|model|bar|qr|source|quell|colou?r|farb|hex|promo(?:tion)?|discount|rabatt|fehler|tax|dress"
    r"|legal|penal|civil|trouble|fault|diagnos\w*|warning)[ -]?$"
)
"""What a code is that opens nothing: "error code 4040"."""
_OPENED = Rule(
    _WORDS,
    rf"(?i)(?<![a-zäöü])(?:(?:{_LOCKED})(?![a-zäöü])[^\n.!?]{{0,60}}?(?<![a-zäöü])(?:{_OPENS})"
    rf"|(?:{_OPENS})(?![a-zäöü])[^\n.!?]{{0,40}}?(?<![a-zäöü])(?:{_LOCKED}))"
    r"(?![a-zäöü])(?P<rest>\??[^\n.!?]{2,120})",
)
"""Something locked, and what it is opened with, in either order."""
_DIALS = Rule(
    "box|safe|tresor|kasten|padlock|bike lock|schloss",
    r"(?i)(?<![a-zäöü])(?:(?:lock|key) ?box|safe|tresor|schlüsselkasten|padlock|bike lock"
    r"|(?:fahrrad|zahlen)schloss)"
    r"(?![a-zäöü])[^\n.!?0-9]{0,40}(?P<value>[0-9](?:-[0-9]){3,7})(?![\w-])",
)
_LABELLED = Rule(
    ":",
    r"(?im)(?:^[ \t>*-]{0,8}|(?<=[0-9][.;,] ))(?:(?:schlüssel|key|lock) ?box|(?:luggage |bike "
    r"|pad|suit ?case )?lock|(?P<alarm>alarm)|safe|tresor"
    r"|alarmanlage[ /\w]{0,20}|(?:hof|garagen)?tor|gate|garage"
    r"|(?:haus)?tür)(?: ?code)?\s?:\s?(?P<value>(?(alarm)(?!(?:[01][0-9]"
    r"|2[0-3])[0-5][0-9]\b))[0-9]{3,8})(?=[.,;\n]|[ ](?![a-zäöü])|$)"
    rf"|^[ \t>*-]{{0,8}}(?:(?:le|la|el|il|de|het) )?(?:{_ONLY_LOCKS})(?![a-zäöü])"
    r"(?: \w{1,12}){0,3}\s?: (?P<other>[0-9]{4,6})$",
)
"""A line of notes: what is locked, and its number; an alarm at an hour is none."""
_EQUATED = Rule(
    "=|→|->",
    rf"(?i)(?<![a-zäöü])(?:{_LOCKS}) (?:aus|ein|an|auf|zu|off|on|open) ?(?:=>?|→|->)\s?"
    rf"(?P<value>[0-9]{{4,8}}){_BEHIND}",
)
"""How a lock is opened or set, and a sign that means "is"; a setting has its name alone."""
_DIALLED_AT = Rule(
    "keypad|tastenfeld|panel|door|gate|lock|alarm|safe|tür|tor",
    r"(?i)(?<![a-zäöü])(?:type|enter|press|punch in|dial|tippe?|gibst?|gib|drück\w{0,2}|digita"
    r"|tapez?|marca|toets|wpisz|набер\w{1,3}) "
    r"(?P<value>(?-i:[*#]?[0-9]{3,8}[*#]?|[A-Z]{0,2}[0-9]{2,6}[A-Z]{0,2}))\s[^\n.!?]{0,40}"
    r"(?:keypad|tastenfeld|panel|door|gate|lock|alarm|safe|tür|tor)(?![a-zäöü])",
)
_OPENED_LAST = Rule(
    " mit ",
    rf"(?i)(?<![a-zäöü])(?:{_LOCKED})(?![a-zäöü])[^\n.!?]{{0,40}}? mit (?:der )?"
    rf"(?P<value>[0-9]{{3,8}}) (?:entsperrt|entriegelt|geöffnet|aufgesperrt|(?:un)?scharf)\b",
)
"""What a German sentence says with its verb at the end."""
_TOLD_WHAT = Rule(
    _WORDS + "|pin",
    rf"(?i){_BEFORE}(?P<value>[0-9]{{3,8}}|[0-9]{{1,3}}(?-i:[A-Z])[0-9]{{1,5}}"
    rf"|[0-9]{{2}}(?:-[0-9]{{2}}){{1,3}})[\"'”»)]?(?:[,;]| [–—-])?"
    r" (?:(?:and|und|y|et|e|en|i) )?"
    r"(?:that['’]?s|that is|das ist|dies ist|c['’]est|(?:es[eao] |este )?es|(?:questo )?è|dat is"
    r"|to jest|det är|é|это) (?:(?:the|my|our|der|die|das|meine?|unsere?|le|la|el|il|o|a|de|het"
    r"|mi|mijn) )?"
    r"(?P<of>(?:[^\W\d_]{1,16} ){0,2}?)"
    rf"(?:{_CODE}|(?P<pin>pin))(?![a-zäöü])(?! \(?[0-9]| postal)",
)
"""A number, and then what it is."""
_AS_CODE = Rule(
    " als | as | comme | como | come ",
    r"(?i)(?<![\w.,:/+-])(?P<value>[0-9]{3,8}) (?:als|as|comme|como|come) (?:(?:the|my|her|his"
    r"|their|den|de|le|el|il) )?(?P<of>[\w-]{0,12}?)(?:code|(?P<pin>pin)|código|codice|kod)"
    r"(?=[.,;:!?)]|\s*(?:\n|$))",
)
"""The number that somebody has for one: "the cleaner has 2085 as her code"."""
_NEAR = 100
"""Characters around a code, a word of programs too, among which something locked is named."""


def found(text: str, low: str) -> Iterator[Span]:
    """The places in *text* of numbers that open something; *low* is `folded` of it."""
    for match in _OPENED.found(text, low):
        code = low.find("code", match.start(), match.start("rest"))
        if code >= 0 and _NO_KEY.search(text, max(0, code - 20), code):
            continue
        led = False  # one value; others may follow: "... is 4471 and the cellar 0926"
        for dialled in _DIALLED.finditer(text, *match.span("rest")):
            begin, at = match.start("rest"), dialled.start()
            led = led or not text[begin:at].strip(OPENING + " ") or bool(leads_to(text, begin, at))
            if led and not is_numbered(text[match.start() : dialled.start()]):
                yield (*dialled.span("value"), "pin")
    for rule in (_TOLD_WHAT, _AS_CODE):
        for match in rule.found(text, low):
            near = text[max(0, match.start() - _NEAR) : match.end() + _NEAR]
            opens = match["pin"] or (_LOCK.search(near) and not _NO_KEY.search(match["of"]))
            if opens:
                yield (*match.span("value"), "pin")
    for rule in (_DIALS, _LABELLED, _EQUATED, _DIALLED_AT, _OPENED_LAST):
        for match in rule.found(text, low):
            other = rule is _LABELLED and match["other"] is not None
            yield (*match.span("other" if other else "value"), "pin")
