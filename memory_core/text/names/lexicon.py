"""Capitalised words that are no names, words that make a neighbour a name, well-known places."""

from __future__ import annotations

from memory_core.text.time.lexicon import MONTHS, WEEKDAYS
from memory_core.text.words import FILLER_WORDS, GERMAN_STOPWORDS, STOPWORDS, listed

COMMON = frozenset(
    listed(
        """able accept accepting actually add adding adventure afternoon again ago agree all
        almost alone already always amazing animal animals another answer anybody anyone
        anything anyway apart apparently apply appreciate art ask asking assume attach available
        avoid away awful baby backend bad balance based basically bash beautiful become begin
        being believe best better big birthday bit black blue book books boss both bring
        bringing brother brown bug build building business busy button buy call calling camping
        car care case cat certainly chance change changing chat check checking child children
        choose city class clean clear clearly click close code coffee cold college color coming
        community company compare completely congrats connect consider continue cook cooking
        copy correct correction cost country couple course create creating currently custom
        customer customers dad daddy daily damn data database date daughter day days deadline
        deal dear decide decided decision definitely delete depends deploy design details dev
        different difficult dinner direct disable discuss doctor dog dogs double dream drink
        drive driving dude due early earth easy eat eating education either else email enable
        end enjoy enough entire error especially events eventually ever every everybody everyone
        everything exactly example excellent except exciting excuse expect expected explain
        extra eyes face facing fact fair fall families family fantastic far fast father favorite
        favourite feel feeling feels fellow few fifth fifty file finally find finding fine
        fingers finish finished first five fix flat flight folks follow food football forget
        forty forward found four fourth free friend friends front full fun funny future game
        games generally gift girl girls give given giving glad god goal good gorgeous got
        grandma grandpa great green grey growing guess guy guys had half hang happy hard hate
        having health hear hearing help helping high hiking hold holiday home honestly hope
        hopefully hoping horrible hot hour house how however hug huge human hundred husband idea
        imagine important impressive including indeed info inside inspiring install instead
        interesting internet invite issue item job join journey june-ish keep keeping key kid
        kids kind kinda kitchen knowing lady language large last lately later laugh law lead
        learn learning leave left less let letter level library life light likely line list
        listen literally little live living local log login long look looking looks lost lot
        lots love loved lovely loving low luckily lucky lunch main maintain major man management
        manager mark maybe mean meaning means meanwhile meet meeting member members memory
        mention merge message mind mine minor miss missing model mom moment mommy money month
        months morning most mother motivation mountains move movie moving mum music must name
        named nature near need needs neither never nevertheless new news next nice night nine
        nobody none normally note nothing notice number nurse obviously odd office often old
        older online open opening option orange order original others otherwise outdoor outside
        overall paint painting pair paper parent parents part party passion password past
        patience pay people per perfect perhaps person personally phone photo pick picture pink
        pizza place plan planning plans play playing please plenty plus point poor possible post
        pottery power prefer press pretty previous previously price prior privacy probably
        problem process product production project promise proud pull push put question quick
        quickly quiet quite rain random rather read reading ready realize real really reason
        recently record red regarding regular reminder remember remind remove repeat reply
        report request research rest restart result return review right rock room rule rules run
        running sad safe sale same save saw say saying school science search second seconds
        security see seeing seems self send sense seriously server service set seven several
        shall share sharing shoes shop short show side significant similar simple simply since
        sister sit six small snow so-called social software some somebody somehow someone
        something sometimes somewhere son song soon sorry sort sound sounds special speaking
        spend split sport spring staff stand standing start started starting stay steady step
        still stop store stories story straight strength stress strong student students study
        stuff stupid style success such suddenly suggest summer sun super support suppose sure
        surely surprise survey swimming system take taking talk talking tea teacher team tech
        tell ten terrible test testing tests text thank thankfully thing things think thinking
        third thirty thousand three thus ticket tickets time times tip tired today together told
        tomorrow tonight topic total totally touch tough town track training travel traveling
        treat tree tree-lined trip trouble true truly trust truth try trying turn turns twelve
        twenty twice two type typical ultimately unable uncle aunt under understand
        understanding unfortunately unless until update upgrade usage use used user users using
        usually vacation value version via video view visit visiting volunteer wait waiting wake
        walk walking want wants watch watching water way wear weather week weekend weeks welcome
        well whatever whenever wherever whether white whoa woah whole wife win window winter
        wish within without woman women wonder wonderful wondering word words work worked
        working works world worst worth wow write writing wrong year years yellow yesterday
        young zero assistant system user tool ai api app pr ceo cto hr it pm am id faq todo
        fixme note warning info debug error fatal critical url http https json xml html css sql
        pdf ok okay tv pc usb gps eta fyi btw asap imo imho omg lol lmao wtf diy rip tbh idk ngl
        afaik rsvp min max new old vs nope mr mrs ms dr prof congratulations woohoo woo yahoo
        yippee gee geez gosh jeez phew yum yup yep hurrah sat sun mon greetings regards cheers
        sincerely dearest hooray hurray merry gestern heute morgen bitte danke leider vielleicht
        heißt nächste letzte ging kommt macht frage"""
    )
)
"""Lower-case English (and some German) words that open sentences or headings and are no names."""

NOT_NAMES = (
    COMMON
    | STOPWORDS
    | GERMAN_STOPWORDS
    | FILLER_WORDS
    | frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | {day + "s" for day in WEEKDAYS}
)

PERSON_VERBS = frozenset(
    listed(
        """is was has had will would can could does did and or says said thinks thought likes
        liked loves loved lives lived works worked wants wanted needs needed went goes got gets
        gave gives made makes took takes told tells asked asks called calls moved moves came
        comes met meets bought buys prefers preferred hates hated plays played knows knew sent
        sends wrote writes joined joins left leaves started starts visited visits studied
        studies teaches taught runs ran owns owned wears eats ate drinks drank drives drove
        recommended recommends mentioned mentions suggested suggests agreed agrees decided
        decides believes believed feels felt became becomes turned turns married enjoys enjoyed
        helped helps signed stopped quit booked adopted used uses keeps kept hosts hosted speaks
        spoke cooks cooked paints painted reads sings grew grows sold sells sang swam rode spent
        built chose drew flew forgot held slept stood sat fell wore lent lends owes owed
        borrowed paid pays won lost broke fixed reviewed approved merged deployed isn't wasn't
        doesn't didn't won't can't hasn't just also never always still recently finally"""
    )
)
"""After an unknown capitalised word at the start of a sentence they make it a name."""

TITLES = frozenset(
    listed("mr mrs ms dr prof herr frau sir lady uncle aunt st saint captain president")
)

CONNECTORS = frozenset(
    listed("of the de da do dos das del della di du la le les los el van von der den zu y &")
)
"""Lower-case words that may stand inside a name."""

VERSIONED = frozenset(
    listed(
        """windows android ubuntu debian fedora postgres postgresql python java node react
        angular vue django rails galaxy pixel playstation xbox swift kotlin rust go ruby php
        mysql redis kubernetes docker flutter gemini claude llama mistral chrome firefox safari
        word excel gpt ios macos unity blender terraform spark kafka spring laravel numpy pandas
        pytorch tensorflow faiss lancedb sqlite route highway"""
    )
)
"""Products after which a whole number is a version."""

PLACES = frozenset(
    listed(
        """africa america amsterdam asia athens australia austria bangkok barcelona beijing
        belgium berlin boston brazil britain brussels budapest cairo california canada chicago
        chile china cologne colombia copenhagen denmark dublin edinburgh egypt england europe
        finland florida france frankfurt geneva germany greece hamburg helsinki hungary iceland
        india indonesia iran iraq ireland israel istanbul italy jamaica japan kenya korea kyoto
        lisbon london madrid malaysia mexico miami milan montreal morocco moscow munich münchen
        köln wien zürich genf nairobi naples nepal netherlands nigeria norway osaka oslo paris
        peru philippines poland porto portugal prague rome russia scotland seattle seoul
        shanghai singapore spain stockholm sweden switzerland sydney taiwan texas thailand tokyo
        toronto turkey ukraine vancouver venice vienna vietnam wales warsaw washington zurich
        deutschland österreich schweiz frankreich italien spanien"""
    )
)

STREET_ENDINGS = ("straße", "strasse", "gasse", "platz", "allee", "ufer", "damm", "weg")
"""German streets written as one word."""
