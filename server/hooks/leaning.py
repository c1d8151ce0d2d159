"""Whether a prompt asks for something of whoever asks, as its words of grammar tell.

"Who invented the zip?" and "translate this" are anybody's; "for", "should", "my", "before" mostly
stand in what somebody does or plans, which a memory may know something of.
"""

from __future__ import annotations

from memory_core.text.words import is_plain, listed, words

MOST_WORDS = 40
"""Words from the beginning of a prompt that count."""
_FITTED = listed(
    """
    a=0.1 about=0.4 again=-0.1 all=0.3 als=-0.4 am=1.0 an=1.2 and=1.0 any=0.3 are=0.3
    as=-0.1 at=0.8 auf=0.6 aus=-0.3 back=0.2 be=0.6 before=0.8 bei=0.5 between=-0.9
    bis=0.9 bitte=0.4 by=0.4 can=0.7 could=0.3 danke=-0.4 das=0.1 dem=0.8 den=0.8
    der=1.3 did=0.5 die=1.1 do=0.2 does=-0.5 ein=0.2 eine=0.3 einen=0.3 es=-0.1
    for=2.3 from=0.1 für=1.6 get=0.3 go=-0.1 good=-0.3 got=0.3 has=0.6 hat=-0.1
    have=0.5 how=-0.6 i=1.1 ich=1.9 if=0.2 im=0.7 in=-0.4 into=0.2 is=-0.5 ist=-0.2
    it=0.5 ja=-0.3 kann=0.7 make=-0.3 many=0.1 me=0.4 meine=1.1 mir=0.6 mit=0.6
    morning=0.2 much=0.5 my=1.4 night=0.1 no=-0.5 noch=1.1 now=-0.3 oder=0.4 off=0.3
    ok=-0.4 on=1.3 one=-0.5 only=-0.2 or=-0.2 other=-0.5 our=1.3 out=0.3 please=-0.1
    should=1.0 sind=0.4 so=-0.2 some=0.2 still=0.3 than=-0.5 thanks=-0.6 that=0.5
    the=1.2 them=0.3 there=0.2 these=0.3 they=0.3 this=0.3 to=1.2 too=0.7 until=0.1
    up=0.1 us=0.1 von=-0.1 was=-0.4 we=1.7 wer=-0.1 what=-1.0 what's=-1.0 when=1.1
    where=0.4 which=0.5 who=-0.6 why=-0.4 wie=-0.6 will=0.5 wir=1.5 with=0.7 wo=0.1
    yes=-0.5 you=-0.7 zum=0.6
    """
)
WEIGHTS = {word: float(weight) for word, _, weight in (each.partition("=") for each in _FITTED)}
"""What each word adds to the log-odds that a memory has something for the prompt.

`tests/bench/reminding.py` fits them to prompts of many users. Only words of grammar are among them,
so that none is about a thing of one of these users."""
BIAS = -1.6


def plain(text: str) -> frozenset[str]:
    """The words of grammar in *text*, in lower case."""
    return frozenset(word for word in words(text)[:MOST_WORDS] if is_plain(word))


def own(text: str) -> float:
    """The log-odds that *text* asks for something of whoever asks; 0 is as likely as not."""
    return BIAS + sum(WEIGHTS.get(word, 0.0) for word in plain(text))
