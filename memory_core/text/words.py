"""Word lists, character classes and the tokeniser that the rules on texts and the index share."""

from __future__ import annotations

from collections.abc import Collection

from memory_core.text.lazy_pattern import lazy_pattern

WORD = lazy_pattern(r"[^\W_]+(?:['’][^\W_]+)*")
"""A word: letters and digits of any script, apostrophes inside."""

CJK_CLASS = (
    "\u3005-\u3007\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U000323af"
)
"""Letters of Han, Hiragana, Katakana and Hangul, as ranges of a character class."""

CJK = lazy_pattern(f"[{CJK_CLASS}]")


def listed(text: str) -> tuple[str, ...]:
    """The words of a list that is written as running text."""
    return tuple(text.split())


FUNCTION_WORDS = frozenset(
    listed(
        """a about after again all also am an and any are as at be because been before being
        between but by can could did do does doing down during each few for from had has have
        having he her here hers him his how i if in into is it its itself just me more most my
        myself no nor not now of off on once only or other our ours out over own same she should
        so some such than that the their theirs them then there these they this those through to
        too under until up very was we were what when where which while who whom why will with
        would you your yours"""
    )
)
"""English words without content, lower case: the index leaves them out."""

STOPWORDS = FUNCTION_WORDS | frozenset(
    listed(
        """above across against along among around behind below beside beyond near inside outside
        back done even ever get gets getting go goes going got herself himself let like made
        make many may might much must one really s shall still t themselves though upon us well
        whose yet yourself i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's
        she'd she'll it's it'll we're we've we'd we'll they're they've they'd they'll that's
        there's here's what's who's how's let's don't doesn't didn't isn't aren't wasn't weren't
        won't wouldn't can't couldn't shouldn't haven't hasn't hadn't ain't cannot gonna wanna
        gotta"""
    )
)
"""English words with little content of their own, lower case, straight apostrophes.

Those beyond FUNCTION_WORDS stay in the index: "back", "near" or "one" may be what is searched.
"""

GERMAN_STOPWORDS = frozenset(
    listed(
        """aber alle als also am an auch auf aus bei bin bis bist da dann das dass dein deine
        dem den der des die dies diese dieser dir dich doch du ein eine einem einen einer eines
        er es euch euer für hab habe haben hat hatte hier ich ihm ihn ihr im in ist ja jetzt
        kann mal man mein meine mich mir mit nach nein noch nur ob oder schon sehr sein seine
        sich sie sind so über um und uns unser vom von vor war waren was weil wenn wer wie wir
        wird wo zu zum zur"""
    )
)

GERMAN_FUNCTION_WORDS = GERMAN_STOPWORDS | frozenset(
    listed(
        """ab allen aller alles andere anderen anderer anderes ans aufs ausser ausserhalb beide
        beiden beim bevor bisher damals damit danach daran darauf daraus darf darfst darin darum
        darunter davon davor dazu deinem deinen deiner denen denn deren derselbe dessen dieselbe
        diesem diesen dieses dort durch durfte durften dürfen dürft einander einige einigen einiger
        entlang etwa etwas eure eurem euren eurer falls fast fürs gegen gegenüber gehabt gewesen
        geworden habt hast hatten hattest hin hinter ihnen ihre ihrem ihren ihrer innerhalb ins
        irgendein irgendeine jede jedem jeden jeder jedes jedoch jemand jene jenem jenen jener jenes
        kannst kein keine keinem keinen keiner keines konnte konnten können könnt könnte könnten
        lassen lässt manche manchen mehrere meinem meinen meiner meines muss musst musste mussten
        möchte möchten müssen müsst nachdem neben nicht nichts nie niemals niemand nun obwohl ohne
        seid seinem seinen seiner seines seit selber selbst sobald soll sollen sollst sollt sollte
        sollten sondern sonst statt trotz unsere unserem unseren unserer unter viel viele vielen
        wann warst warum weder wegen weiter welche welchem welchen welcher welches wem wen wenig
        wenige werde werden werdet weshalb wessen wieso wieviel will willst wirst woher wohin wollen
        wollt wollte wollten womit woran worauf worden wurde wurden wurdest während würde würden
        ziemlich zwischen"""
    )
)
"""German words without content, casefolded: those above, and the rest of their closed classes."""

FILLER_WORDS = frozenset(
    listed(
        """ah aha alright aw aww awesome bye cheers congrats congratulations cool dear fine
        goodbye good goodnight great ha haha hahaha hah hehe hello hey heya hi hiya hm hmm
        hooray huh indeed k kk lmao lol mhm morning nah nice night nope oh ok okay okey oops
        ouch perfect please pls rofl sorry sure sweet thank thanks thx totally tx ty uh uhm um
        wow xd ya yay yeah yep yes yikes yo yup welcome wonderful amazing excellent fantastic
        lovely exactly absolutely definitely right true agreed afternoon evening day later soon
        see everyone all guys danke hallo servus tschüss genau gut prima super bitte merci hola
        gracias ciao"""
    )
)
"""Greetings, thanks, assent and laughter: a turn of nothing else is filler."""


def words(text: str) -> list[str]:
    """The words of *text* in order, casefolded, typographic apostrophes made straight."""
    return [match.replace("’", "'") for match in WORD.findall(text.casefold())]


def content_words(text: str) -> list[str]:
    """The words of *text* without stopwords and possessive endings, casefolded, in order."""
    kept = []
    for word in words(text):
        if word in STOPWORDS:
            continue
        bare = word.removesuffix("'s")
        if len(bare) > 1 and bare not in STOPWORDS:
            kept.append(bare)
    return kept


def count_words(text: str) -> int:
    """How many words *text* has: runs between white space, and one more for two CJK characters."""
    runs = len(text.split())
    if text.isascii():
        return runs
    return runs + len(CJK.findall(text)) // 2


def is_german(spoken: Collection[str]) -> bool:
    """True when of the words *spoken*, in lower case, most that have no content are German."""
    german = sum(word in GERMAN_FUNCTION_WORDS for word in spoken)
    return german >= 2 and german > sum(word in STOPWORDS for word in spoken)


def is_plain(word: str) -> bool:
    """True for a stopword of English or German and for filler; *word* is lower case."""
    return word in STOPWORDS or word in GERMAN_STOPWORDS or word in FILLER_WORDS
