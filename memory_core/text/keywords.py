"""Keywords: the words and phrases that say what a text is about."""

from __future__ import annotations

import re

from memory_core.text.words import WORD, is_plain

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://\S{1,2000}", re.IGNORECASE)
_PHRASE_END = re.compile(r"[^\w\s'’-]+|\s-+\s|\n")
_LONGEST_PHRASE = 3


def keywords(text: str, most: int = 8) -> tuple[str, ...]:
    """The *most* telling words and phrases of *text*, lower case, best first, without repeats.

    Rapid keyword extraction (Rose et al. 2010): phrases are runs of content words, a word scores
    its degree over its frequency plus its frequency; phrases of at most three words are kept
    whole. Without stopwords, filler and bare numbers.
    """
    phrases = [
        phrase
        for part in _PHRASE_END.split(_ADDRESS.sub(" . ", text[:20_000]))
        for phrase in _phrases(part)
    ]
    frequency: dict[str, int] = {}
    degree: dict[str, int] = {}
    for phrase in phrases:
        for word in phrase:
            frequency[word] = frequency.get(word, 0) + 1
            degree[word] = degree.get(word, 0) + len(phrase)
    scores: dict[str, float] = {}
    for phrase in phrases:
        total = sum(degree[word] / frequency[word] + frequency[word] for word in phrase)
        scores.setdefault(" ".join(phrase), total)
    chosen: list[str] = []
    for name in sorted(scores, key=lambda name: -scores[name]):
        if len(chosen) >= most:
            break
        if not any(f" {name} " in f" {longer} " for longer in chosen):
            chosen.append(name)
    return tuple(chosen)


def _phrases(part: str) -> list[tuple[str, ...]]:
    phrases: list[tuple[str, ...]] = []
    run: list[str] = []
    for raw in [*WORD.findall(part.casefold().replace("’", "'")), ""]:
        word = raw.removesuffix("'s")
        if 1 < len(word) <= 30 and not word.isdigit() and not is_plain(word) and not is_plain(raw):
            run.append(word)
            continue
        phrases += [
            tuple(run[i : i + _LONGEST_PHRASE]) for i in range(0, len(run), _LONGEST_PHRASE)
        ]
        run = []
    return phrases
