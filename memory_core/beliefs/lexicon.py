"""How people say that something changed, holds for a while, or is only thought of; two languages.

English and German, lower case, straight apostrophes. `change` decides what counts, and when.
"""

from __future__ import annotations

from memory_core.text.lazy_pattern import lazy_pattern
from memory_core.text.names.lexicon import PERSON_VERBS
from memory_core.text.time.lexicon import NO_RANGE
from memory_core.text.words import FILLER_WORDS, GERMAN_FUNCTION_WORDS, STOPWORDS, listed

# Words of change

STRONG = listed(
    """now nowadays currently anymore instead actually correction misspoke formerly previously
    henceforth hereafter

    jetzt nun inzwischen mittlerweile nunmehr neuerdings seitdem seither statt anstatt anstelle
    stattdessen künftig zukünftig fortan eigentlich korrektur lieber"""
)
WEAK = listed(
    """again new newer latest finally rather different left got put set kept

    mehr doch wieder erst neu neue neuer neues neuen neuem sondern früher"""
)
"""Words that as often say nothing of a change."""

NOW = frozenset(
    listed(
        """now nowadays currently finally again already jetzt nun inzwischen mittlerweile nunmehr
        neuerdings seitdem seither wieder doch erst"""
    )
)
"""Those that only say when."""

CORRECTION = frozenset(listed("correction korrektur misspoke"))
"""Those that take back what was said."""

OVER = lazy_pattern(
    r"\b(?:no longer|any ?more|any longer|no more(?! than)|nicht mehr|nicht länger"
    r"|kein\w{0,2} (?:[\w-]+ ){1,3}mehr)\b"
)
"""That something was so and is no longer."""

AFTER_ALL = lazy_pattern(
    r"\bafter all\b|(?<!\bdas ist )(?<!\bes ist )(?<!\bist das )(?<!\bist es )(?<!\bdas war )"
    r"\bdoch (?:nicht|kein\w{0,2})\b"
)
"""That something is otherwise than was thought. Not "das ist doch nicht schlimm"."""

DENIES = frozenset(
    listed("no not longer any more anymore nicht mehr länger kein keine keinen keinem keiner")
)
"""The words of a denial."""

_DAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|spring|summer|autumn|fall|winter|christmas"
    r"|easter|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai"
    r"|juni|juli|oktober|dezember|frühjahr|frühling|sommer|herbst)"
)
_FROM_WHEN = (
    r"(?:(?:next|this|last) (?:week|month|year|quarter|term|season|sprint)|(?:next|this|last)"
    rf" {_DAY}|the (?:first|start|beginning|end|\d\w*|{_DAY})|\d[\w.]*(?: {_DAY})?"
    rf"|tomorrow|today|now|then|{_DAY})"
)
_AB_WANN = rf"(?:(?:dem|der|diese\w*|nächste\w*|letzte\w*) \w+|\d[\w.]*|{_DAY})"
_FEW = r"(?:[\w'-]+ ){0,4}?"

_NO_BOUND = (
    r"(?!(?:limited|restricted|entitled|confined|related|used|supposed|allowed|invited"
    r"|linked|connected|attached|addressed|dedicated|reserved|accustomed)\b)"
)
"""Not of what says how far something goes: "limited to 30 people"."""

PHRASES = lazy_pattern(
    r"\b(?:no more|no longer|any (?:longer|more)(?=\W*$|[,;])|not any ?more|these days|used to be"
    r"|from (?:now|here) on(?:wards?)?|going forward|for good|after all|at last|instead$|instead of"
    r"|in place of|in favou?r of|as opposed to|would rather|'d rather|rather have|rather not"
    r"|(?:bored|sick|tired) of|fed up|was wrong|were wrong|i meant|scratch that|strike that"
    r"|(?:is|are|'s|has|have) gone|is over|sw(?:ore|orn) off|(?:is|are) (?:now )?done"
    r"|not true any ?more"
    r"|new (?:convention|rule|policy|owner)|an extension|turns out|turned out|fell through|got over"
    r"|t[ao]k(?:e|es|ing|en) over|took over|t[ao]ken? (?:on|up)|took (?:on|up)|in charge|on leave"
    r"|off \w+'s hands|(?<!by )hand(?:ed)? (?:over|in|back)|notice at|laid off|let go"
    r"|made redundant"
    r"|stepp?(?:ed|ing) down|signed (?:up|off)|(?:dropped|pulled|backed|moved|cut) out"
    r"|g[ai]ve[ns]? up|giving up|rid of|packed (?:in|it in|up)|clea(?:r|n)ed out"
    r"|br(?:oke|eaking|oken) up|split up|part(?:ed)? ways|passed away|moved (?:in|on|up)"
    r"|go(?:es|ing)? by|(?:went|gone) (?:up|down|live)|went from|down to|up to|brought forward"
    r"|called off|phased out|wound down|shuts? down|(?:switched|turned) off|r[au]n out|worn out"
    r"|(?:has|have) been \w+(?:ed|en|set|put|cut|sold|built)|nur noch"
    rf"|(?:is|are|'s|gets?) (?:now )?{_NO_BOUND}\w{{2,20}}ed (?:back |forward |up |down )?to"
    rf"(?= (?:the )?(?:\W?[0-9]|{_FROM_WHEN}))|(?:cut|put) (?:back |down |up )?to(?= \W?[0-9])"
    r"|(?:is|are|'s) (?:now )?(?:cancell?ed|scrapped|discontinued|abolished|dissolved)"
    r"|g[ai]ve[ns]? (?:[\w']+ ){1,3}away|took the place of|paid (?:[\w']+ ){1,3}back|got approved"
    r"|(?<!\bdas ist )(?<!\bes ist )(?<!\bist das )(?<!\bist es )(?<!\bdas war )"
    r"doch (?:nicht|keine?[nmrs]?)"
    r"|wird nichts|fällt (?:aus|flach)|klappt nicht|new (?:name|number|address|password|code)"
    r"|swapped out|(?:is|are|am|'s|'re|'m) back|back (?:to|in|at|on|with|from)|ended up \w+ing"
    r"|(?:agreed|settled|decided) on"
    r"|opted for|(?:come|came|grown|learned|learnt) to (?:like|love|prefer|appreciate|enjoy|hate)"
    rf"|let {_FEW}(?:go|lapse|expire)|(?:pulled|took|taken|moved?) {_FEW}(?:off|out of|away from)"
    rf"|(?:haven't|hasn't) {_FEW}since|without a \w+ (?:for|since)|stopped \w+ing"
    rf"|(?:as of|effective|starting|beginning|commencing) (?:from )?{_FROM_WHEN}"
    rf"|(?:from|since) {_FROM_WHEN}(?: on(?:wards?)?)?(?! (?:to|until|till|through)\b|[-–])"
    r"|since the \w+"
    r"|after the (?:\w+ )?(?:update|upgrade|move|migration|switch|change|reorg\w*|merger|rewrite)"
    r"|ab sofort|von nun an|in zukunft|ab jetzt|nicht mehr|nicht länger|kein\w{0,2} (?:\w+ )?mehr"
    r"|war (?:ein)?mal|das war's mit|anstelle von|an stelle|heißt (?:nun|jetzt)|gibt es nicht"
    rf"|(?:ab|seit) {_AB_WANN}(?! bis\b)|(?:ist|sind) weg|losgeworden|hinter mir|schluss mit"
    r"|aus dem kopf|in (?:rente|elternzeit)|stimmt nicht)\b"
)


NEGATED = lazy_pattern(
    r"(?:\b(?:not|no|nicht|kein\w{0,2})|n't) (?:longer |more |länger |mehr )?"
    r"(?:the |in |at |on |im |am |any |need |have |use |eat |drink |want )?([^\W\d_]\w+)"
    r"|\b([^\W\d_]\w+) (?:was|were|war|waren)(?:n't| not| too| zu| nicht)\b"
)
"""A word that is denied, or of which something is said that is over: "the shed was too damp"."""

ADDS = lazy_pattern(
    r"\b(?:also|too(?! \w)|as well|another|an? (?:second|third)|additional(?:ly)?|in addition"
    r"|besides|one more|auch|ebenfalls|zusätzlich|außerdem|noch ein\w*|weitere[rsnm]?"
    r"|ein\w* zweite[rsnm]?)\b"
)
"""Of what comes on top of the rest, and ends nothing."""

# What is no change, or no lasting one

_WEEKDAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_WOCHENTAG = r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)"
_NO_RANGE = rf"{NO_RANGE}(?<!\d )(?<!\d uhr )"
_AN_HOUR = (
    r"(?:\d{1,2}(?:[:.]\d\d)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon"
    r"|midnight)(?: ?[ap]\.?m\b| o'clock|(?!\.? \w))"
)
_UNTIL = rf"{_NO_RANGE}until (?!further|(?:\w+ )?20\d\d|{_AN_HOUR})\w+"

TEMPORARY = lazy_pattern(
    r"\b(?:today|tonight|tomorrow|this (?:once|time|week|weekend|morning|afternoon|evening|month)"
    rf"|this {_WEEKDAY}|(?:next|on) {_WEEKDAY} only|only (?:today|tomorrow|this|on|for)|{_UNTIL}"
    r"|for now|for the (?:moment|time being|night|day|week|weekend)|temporar\w+|exceptionally"
    r"|for once|as an exception|one-off|during \w+|in the meantime|meanwhile|(?<!\ba )while \w+"
    r"|for (?:a|one|two|three|the next(?: \w+)?) (?:days?|weeks?|months?|few \w+)"
    r"|heute|morgen|ausnahmsweise|vorübergehend|diese (?:woche|nacht)|dieses (?:wochenende|mal)"
    rf"|diesmal|diesen (?:monat|{_WOCHENTAG})|{_NO_RANGE}bis (?:morgen|zum \w+|{_WOCHENTAG})"
    r"|fürs erste"
    r"|zurzeit|momentan|solange|während|einmalig|bis auf weiteres|vertretungsweise)\b"
)
BRIEF = lazy_pattern(
    rf"\b(?:just|only|exceptionally|temporar\w+|{_UNTIL}|(?<!\ba )while|for now|once|during"
    r"|nur|bis|während|ausnahmsweise|einmalig|vorübergehend|diesmal)\b"
)
"""Words that limit even a change that is complete."""


LASTING = lazy_pattern(
    r"\b(?:as of|since|from|starting|effective|ab|seit)"
    r" (?:today|this|heute|diese\w*"
    rf"|(?:\w+ )?(?:\d{{1,2}}(?:st|nd|rd|th|\.)? )?{_DAY}(?!,? (?:to|until|till|through|bis)\b))\b"
    r"|\b(?:exten(?:ded|sion)|renew(?:ed|al)|(?:frist)?verlänger(?:t|ung))\b"
)
UNSURE = lazy_pattern(
    r"\?|\b(?:if|would(?! rather| prefer| like)|might|maybe|perhaps|could|thinking (?:of|about)"
    r"|considering|wonder\w*|wish|hope|hoping|plan(?:ning)? to|wants? to|going to try|wenn|falls"
    r"|vielleicht|könnte\w*|würde\w*|überlege\w*|möglicherweise|eventuell)\b"
)
COURTESY = lazy_pattern(
    r"^(?:thanks|thank you|wow|hey|hi|hello|yeah|yep|absolutely|sure|oh|aww?|that's|glad|bye"
    r"|good luck|congrat\w*|no worries|great|awesome|cool|you're|you|keep|haha|that sounds?|sounds"
    r"|it's (?:been (?:an?|so|too|great|nice|lovely|fun|good)|so|great|awesome|amazing)|take care"
    r"|gonna|woah|oof|can't wait|let's|danke"
    r"|hallo)\b"
)
PAST = lazy_pattern(
    r"\b(?:was|were|used to|last (?:week|month|year|night|summer|winter|spring|autumn)|yesterday"
    r"|ago|in (?:19|20)\d\d|former|formerly|back then|war|waren|wurde|wurden|gestern|letzte[sn]?"
    r"|damals|früher)\b"
)
REPORTS = frozenset(
    listed(
        """bought ran met saw went visited reviewed interviewed weighed arrived lasted won lost
        finished watched attended paid wrote cooked baked planted flew drove told asked sent called
        received found celebrated fixed shipped released reached scored hiked climbed made lent
        borrowed ate drank spent took gave repaired replaced swam cycled rode slept woke had did
        tried taught brought built broke cleaned ordered booked deployed merged tested presented
        kaufte traf las sah ging besuchte kam gewann verlor bezahlte schrieb rief fuhr flog aß trank
        gekauft getroffen gelesen gesehen gegangen besucht gekommen gewonnen bezahlt geschrieben
        gelaufen geliehen gestrichen gebracht gegessen"""
    )
)
"""Verbs of what happened once: nothing that comes later ends it."""


BE = frozenset(
    listed("is are am be been being get gets ist sind bin wird werden i'm we're it's he's she's")
)
"""What makes a verb of REPORTS a state: "is called"."""

AUXILIARY = BE | frozenset(listed("has have had was were hat haben hatte will must should can"))

PREPOSITIONS = frozenset(
    listed(
        """in on at of for to from with by into onto over under after before since until during
        about as per via because while when if and or im am an auf aus bei beim für mit nach seit
        um von vom vor zu zum zur wegen weil wenn und oder ab bis"""
    )
)
POINTING = frozenset(
    listed(
        """the my our your his her their its this that these those der die das den dem des mein
        meine meinen meinem meiner unser unsere unseren unserem unserer"""
    )
)
"""Determiners of what both sides know; a thing that anybody may have has another, or none."""
DETERMINERS = POINTING | frozenset(listed("a an ein eine einen einem einer"))
ONESELF = frozenset(
    listed(
        """i i'm i've i'd i'll me my mine myself we we're we've we'd we'll us our ours ich mich mir
        mein meine meinen meinem meiner wir uns unser unsere unseren unserem unserer"""
    )
)
"""The words of whoever speaks."""
VERBS = (
    AUXILIARY
    | PERSON_VERBS
    | REPORTS
    | frozenset(
        listed(
            """costs starts ends begins opens closes weighs sits hangs lies meets contains returns
            depends belongs fits expires hosts supports steht liegt hängt kostet beginnt öffnet
            schließt endet läuft wohnt arbeitet heißt spielt geht fährt braucht findet macht
            gehört gilt hält dauert kommt"""
        )
    )
)
EXCHANGED = frozenset(
    listed("traded swapped exchanged switched changed ditched dropped left tauschte getauscht")
)
"""What stands after "for" beside one of these is no part of the thing, but takes its place."""


BACK = frozenset(listed("he she they him her them er sie ihm ihn ihr ihnen"))
TITLES = frozenset(listed("mr mrs ms miss herr frau sir madam monsieur madame señor señora"))

COMPLEMENTS = frozenset(listed("for of about on von für über zu zum zur"))

# What a sentence is about

NO_SUBJECT = frozenset(
    listed(
        """dr mr mrs ms prof herr herrn frau day days week weeks month months year years hour hours
        minute minutes euro euros dollar dollars pound pounds percent clock uhr tag tage tagen
        woche wochen monat monate jahr jahre stunde stunden minuten user users nutzer nutzerin
        people thing things time times monday tuesday wednesday thursday friday saturday sunday
        montag dienstag mittwoch donnerstag freitag samstag sonntag january february march april
        spring summer autumn winter christmas easter pentecost halloween thanksgiving ramadan
        hanukkah diwali second seconds third fourth fifth sixth said says say saying sagt
        sagte sagen frühling frühjahr sommer herbst weihnachten ostern pfingsten silvester
        may june july august september october november december januar februar märz mai juni
        juli oktober dezember morning afternoon evening night weekend today please bitte always
        only really very much many lot one two help helping helps love loves loving like likes
        liking enjoy enjoys hate hates make makes making feel feels feeling keep keeps keeping
        look looks looking think thinking know knowing see seeing want wants wanted need needs
        try trying tried share sharing support supporting supportive inspire inspired inspiring
        inspiration journey dream dreams passion passionate challenge challenges tough hard
        rewarding important special fun awesome amazing positive motivated motivation excited
        exciting proud powerful beautiful nice good great best better perfect life world stuff
        everything something anything someone everyone way ways bit self step steps effort chance
        success hope thought thoughts idea ideas advice talk talking community experience moment
        moments sense long little big small first able ready recently lately since soon finally
        usually often sometimes ever never already still yet maybe last next own whole such used
        use uses using gut super ganz immer meist meistens oft manchmal gerade schon heute"""
    )
)
"""Words that say when, how much or how well, or what everybody does, not of what."""

STOP = (
    STOPWORDS
    | GERMAN_FUNCTION_WORDS
    | FILLER_WORDS
    | frozenset(
        listed(
            """its it's i'm i've we've they've his her their ours mine onto without within per via
            although ought nothing none nobody every both"""
        )
    )
)

# Attributes of which there is one value at a time


_HOME = r"(?:home|house|flat|apartment|place|cottage|room|studio)"
_LIVES = r"(?:live|lives|living|wohnen?|wohnt|leben?|lebt)"
_BOSS = r"(?:boss|manager|supervisor|team lead|chefin?|vorgesetzte[rn]?)"
_JOB = r"(?:(?:old|day|night) )?(?:job|work|company|firm|position|post|role|place)"
_DIET = r"(?:vegetarian|vegan|pescatarian|vegetarier(?:in)?|veganer(?:in)?|vegetarisch)"
_MEAT = r"(?:meat|fish|chicken|beef|steaks?|pork|bacon|fleisch|fisch|hähnchen|wurst|speck)"
_PARTNER = r"girlfriend|boyfriend|partner|fiancée?|engaged|married|single|verlobt"

SPEAKER = lazy_pattern(
    r"^(?:[\w']+,? ){0,3}(?:i|i'm|i've|we|we're|we've|ich|wir|bin|sind|user|nutzer(?:in)?"
    rf"|(?:my|our) (?:new )?(?:{_HOME}|job|{_BOSS})"
    r"|(?:meine|unsere) (?:neue )?(?:wohnung|stelle))\b(?!'s)"
)
"""A sentence whose subject is the speaker, or where they live or work."""

KIN = (
    r"(?:mother|mum|mom|father|dad|parents?|brother|sister|siblings?|son|daughter|kids?|child(?:ren)?"
    r"|wife|husband|grand\w+|aunt|uncle|cousin|niece|nephew|in-laws|friend|girlfriend|boyfriend"
    r"|partner|fiancée?|neighbou?rs?|colleagues?|co-?workers?|roommate|flatmate|dog|cat"
    r"|mutter|vater|eltern|bruder|schwester|geschwister|sohn|tochter|kind(?:er)?|frau|mann|oma|opa"
    r"|gro(?:ß|ss)\w+|tante|onkel|cousine|nichte|neffe|schwieger\w+|freundin|freund|nachbar(?:in|n)?"
    r"|kollegin|kollege|kollegen|mitbewohner(?:in)?|hund|katze)"
)


CLOSE = (
    r"(?:mum|mom|mam|dad|daddy|mummy|granny|grandma|grandpa|gran|nan|aunt|auntie|uncle|kids|mama"
    r"|papa|mutti|vati|oma|opa|tante|onkel)"
)
"""Those that need no "my" before them."""

RELATIVE = lazy_pattern(
    rf"^(?:(?:and|but|und|aber|now|jetzt) )?(?:(?:my|our|user's|mein\w{{0,2}}|unser\w{{0,2}}) "
    rf"(?:(?!(?:is|are|was|has|ist|sind|war|hat)\b)\w+ ){{0,2}}?(?P<who>{KIN})\b(?!-)"
    r"(?! (?:and|und) (?:i|we|me|ich|wir)\b))"
)
"""A sentence whose subject is somebody close to the speaker, not the speaker."""

MINE = lazy_pattern(
    r"\b(?:my|our|mine|me|us|i'm|i've|we're|we've|mein\w{0,2}|unser\w{0,2}|mir|mich|uns)\b"
)

MATTERS = (
    (
        lazy_pattern(
            rf"\b(?:{_LIVES}|resides?|based|zu ?hause) (?:[\w'-]+ ){{0,5}}?"
            r"(?:in|near|at|on|bei|im)\b"
            rf"|\b(?:my|our) (?:\w+ ){{0,2}}{_HOME} is\b|\bmeine wohnung\b"
        ),
        lazy_pattern(
            r"\b(?:moved|resettled) (?:from (?:[\w'-]+ ){1,4})?(?:back )?(?:to|into|in|out)\b"
            r"|\brelocated\b"
            rf"|\bsettled (?:in|down)\b|\bnew (?:\w+ ){{0,2}}(?:{_HOME}|address)\b"
            r"|\b(?:bin|sind|ist)\b.{0,60}\b(?:um|weg|hin|aus|ein)gezogen\b"
            r"|\b(?:um|weg|hin|aus|ein)gezogen (?:bin|sind|ist)\b"
            r"|\b(?:nach|in|aus)\b.{0,40} gezogen\b"
            rf"|\b{_LIVES}\b"
        ),
    ),
    (
        lazy_pattern(
            r"\b(?:work|works|working|employed|arbeite[nt]?|job|angestellt|jobbe)"
            r" (?:\w+ )?(?:at|for|as|in|is|bei|beim|als|im)\b"
            r"|\b(?:unemployed|between jobs|looking for a job|arbeitslos|auf jobsuche)\b"
        ),
        lazy_pattern(
            r"\b(?:new (?:job|employer|role|position)|laid off|let go|redundant|notice|resigned"
            r"|freelanc\w+|self-employed|unemployed|fired|sacked"
            rf"|quit (?:my|the|his|her|their) {_JOB}"
            r"|neue\w? (?:job|stelle|arbeit)|gekündigt|selbst?ständig|arbeitslos|in rente"
            r"|(?:start|starts|started|begin|began) (?:work(?:ing)? )?(?:at|with)"
            r" (?!a\b|an\b|the\b|my\b|our\b|this\b|that\b)[^\W\d_]\w+|bei \w+ angefangen"
            r"|(?:work|works|working|arbeite[nt]?) (?:\w+ )?(?:at|for|as|bei|als))\b"
        ),
    ),
    (
        lazy_pattern(rf"\b(?:dating|seeing|{_PARTNER}|freundin?|verheiratet|ledig|zusammen mit)\b"),
        lazy_pattern(
            rf"\b(?:{_PARTNER}|br(?:oke|oken) up|split up|separated|divorced?|ex-\w+|getrennt"
            r"|geschieden|geheiratet|schluss gemacht)\b"
        ),
    ),
    (
        lazy_pattern(
            rf"\b(?:is|ist) (?:my|our|mein\w?|unser\w?) {_BOSS}\b|\b{_BOSS} (?:is|ist|heißt)\b"
            r"|\breport(?:s|ing)? to\b|\bberichte an\b"
        ),
        lazy_pattern(
            rf"\b(?:is|ist) (?:now |jetzt )?(?:my|our|mein\w?|unser\w?) (?:new |neue\w? )?{_BOSS}\b"
            rf"|\b(?:new|neue[rn]?) {_BOSS}\b|\b{_BOSS} (?:is|ist|heißt)\b"
            r"|\breport(?:s|ing)? to\b|\bberichte (?:\w+ )?an\b"
        ),
    ),
    (
        lazy_pattern(rf"\b(?:am|is|are|'m|'re|bin|ist|sind|leben?) (?:an? |strict )?{_DIET}\b"),
        lazy_pattern(rf"\b(?:eat\w*|esse|essen|isst)\b.{{0,40}}\b{_MEAT}\b"),
    ),
    (
        lazy_pattern(rf"\b(?:eat\w*|love|like|esse|essen|isst|mag)\b.{{0,30}}\b{_MEAT}\b"),
        lazy_pattern(rf"\b{_DIET}\b"),
    ),
)
"""What a speaker has one of: how it is said that it is so, and that it changed."""
