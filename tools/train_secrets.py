"""Writes memory_core/text/secrets/data/learned.bin: which words stand around secrets.

    python tools/train_secrets.py            # writes the file; takes five seconds
    python tools/train_secrets.py --figures  # measures lists and texts that were left out; a minute

A logistic regression with an L2 penalty over the features of `memory_core.text.secrets.learned`,
for every candidate of the lists in tests/text/data, of docs/, of tests/evals/data and of the
dialogue. Each text of a list counts again with values of others in it, and each harmless one with
values of the other files between its words. Each list and file is measured by a model without it.
The same files give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import string
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory_core.text.secrets import learned, mask
from memory_core.text.words import listed

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "tests" / "text" / "data"
KEPT_APART = ("sixteenth",)
"""Lists that nothing is trained on: what is found of them tells of new texts."""
EVALS = ROOT / "tests" / "evals" / "data"
DIALOGUE = ROOT / "memory_core" / "evaluation" / "data" / "dialogue.json"

PENALTY = 1.0
TALK = 3.0
"""How often a candidate in a sentence of a list counts."""
STEPS, KEPT, SMALL = 300, 8, 1e-4
"""Steps of the search at most, of which so many are remembered, and the slope that ends it."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Text(NamedTuple):
    """A text, its list or folder, where its secrets stand, and whether it was written so."""

    group: str
    text: str
    secrets: tuple[tuple[int, int], ...]
    written: bool


# Texts

_ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "d": string.digits,
    "a": _ALNUM,
    "l": string.ascii_letters,
    "h": "0123456789abcdef",
    "s": _ALNUM + "+/",
    "S": _ALNUM,
    "u": _ALNUM + "-_",
    "U": string.ascii_uppercase + "234567",
}
_FILLED = re.compile(r"%(?:(?P<uuid>g)|(?P<alphabet>[adlhsSuU])(?P<count>[0-9]+))%")
_MARKED = re.compile("«(.*?)»", re.DOTALL)


def lines(file: Path, seed: str) -> Iterator[str]:
    """The texts of a list, with « » around secrets; their random parts are made from *seed*."""
    rng = random.Random(seed)

    def made(match: re.Match[str]) -> str:
        if match["uuid"]:
            return str(uuid.UUID(int=rng.getrandbits(128), version=4))
        return "".join(rng.choices(_ALPHABETS[match["alphabet"]], k=int(match["count"])))

    for line in file.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield _FILLED.sub(made, line.replace("\\n", "\n"))


def unmarked(group: str, marked: str, written: bool) -> Text:
    """The text without its marks."""
    pieces, secrets, length = [], [], 0
    for place, piece in enumerate(re.split("[«»]", marked)):
        if place % 2:
            secrets.append((length, length + len(piece)))
        pieces.append(piece)
        length += len(piece)
    return Text(group, "".join(pieces), tuple(secrets), written)


def _files(kind: str) -> list[Path]:
    """The files of the lists of *kind*, but for those of KEPT_APART."""
    found = sorted(LISTS.glob(f"{kind}_*.txt"))
    return [file for file in found if file.stem.partition("_")[2] not in KEPT_APART]


def of_lists() -> Iterator[Text]:
    """The texts of all lists, as they are and with other values."""
    rng = random.Random(7)
    for file in _files("secrets"):
        name = file.stem.removeprefix("secrets_")
        harmless = file.with_name(f"harmless_{name}.txt")
        for seed in ("a", "b"):
            yield from (unmarked(name, each, True) for each in lines(file, seed))
        for each in lines(harmless, "a"):
            yield Text(name, each.replace("«", "").replace("»", ""), (), True)
        yield from _exchanged(name, list(lines(file, "c")), rng)
        for each in lines(harmless, "c"):
            text = re.sub("[«»]", "", each)
            if text.count(" ") > 2 and re.search("[0-9]{3}", text):
                yield Text(name, re.sub("[0-9]{3,}", lambda m: _other(m[0], rng), text), (), False)


def _exchanged(name: str, texts: Sequence[str], rng: random.Random) -> Iterator[Text]:
    """Each of *texts* twice, with values of the same list for its own: alike, and any."""
    values: dict[str, list[str]] = {}
    for text in texts:
        for value in _MARKED.findall(text):
            if len(value) < 40 and "\n" not in value:
                values.setdefault(_kind(value), []).append(value)
    kinds = sorted(values)
    for text in texts:
        if text.count(" ") < 3:
            continue
        for any_kind in (False, True):

            def other(match: re.Match[str], any_kind: bool = any_kind) -> str:
                kind = _kind(match[1])
                if any_kind and rng.random() < 0.7:
                    kind = rng.choice(kinds)
                return f"«{rng.choice(values.get(kind, [match[1]]))}»"

            yield unmarked(name, _MARKED.sub(other, text), False)


def _kind(value: str) -> str:
    if value.isdigit():
        return f"digits {min(len(value), 9)}"
    return f"{any(map(str.isdigit, value))} {any(map(str.isalpha, value))} {' ' in value}"


def _other(digits: str, rng: random.Random) -> str:
    """Other *digits*, as many; years stay."""
    if digits[:2] in ("19", "20") and len(digits) == 4:
        return digits
    return str(rng.randrange(10 ** (len(digits) - 1), 10 ** len(digits)))


def of_documents() -> Iterator[Text]:
    """The paragraphs of docs/ in which no rule finds a secret, but for the figures."""
    for file in sorted((ROOT / "docs").rglob("*.md")):
        if file.name == "figures.md":
            continue
        for each in re.split(r"\n\s*\n", file.read_text("utf-8")):
            if each.strip() and not mask(each, learned_too=False)[1]:
                yield Text(file.name, each, (), True)


def of_evaluations() -> Iterator[Text]:
    """The texts of tests/evals/data and of the dialogue in which no rule finds one, each once."""
    seen: set[str] = set()
    for file in [*sorted(EVALS.iterdir()), DIALOGUE]:
        given = file.read_text("utf-8")
        for text in _strings(json.loads(given)) if file.suffix == ".json" else given.splitlines():
            if " " in text and text not in seen:
                seen.add(text)
                if not mask(text, learned_too=False)[1]:
                    yield Text(f"evals {re.split('[_.]', file.name)[0]}", text, (), True)


def inserted(lists: Sequence[Text], others: Sequence[Text]) -> Iterator[Text]:
    """Harmless texts of *lists*, each twice with a value of *others* somewhere between its words.

    Not where a value is given, as behind "is": there it could be a secret.
    """
    rng = random.Random(11)
    values = [each.value for text in others for each in learned.candidates(text.text)]
    for each in lists:
        if each.secrets or not each.written:
            continue
        words = each.text.split(" ")
        gaps = [
            place
            for place, word in enumerate(words[:-1], 1)
            if word[-1:].isalpha() and word.lower() not in _GIVING
        ]
        for place in rng.sample(gaps, min(len(gaps), 2)):
            text = " ".join([*words[:place], rng.choice(values), *words[place:]])
            yield Text(each.group, text, (), False)


_GIVING = frozenset(
    listed("is was are to as with on now ist war lautet auf mit heißt jetzt est es è é era na jest")
)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


# Candidates


class Rows(NamedTuple):
    """The candidates of texts: their buckets one after another and where those of each begin.

    And which are secrets, how often each counts, the place of its text and its own in that, and
    which are never masked, for the words around them.
    """

    buckets: Ints
    starts: Ints
    secret: NDArray[np.bool_]
    counts: Floats
    text: Ints
    spans: list[tuple[int, int]]
    ordinary: NDArray[np.bool_]


def rows_of(texts: Sequence[Text]) -> Rows:
    """Every candidate of *texts* that is a secret for the most part, or no part of one."""
    buckets: list[int] = []
    starts, secret, counts, text, spans, plain = [], [], [], [], [], []
    for place, each in enumerate(texts):
        for candidate in learned.candidates(each.text):
            start, end = candidate.start, candidate.end
            share = sum(max(0, min(end, b) - max(start, a)) for a, b in each.secrets)
            if 0 < 2 * share < end - start:
                continue
            starts.append(len(buckets))
            buckets += sorted(learned.features(each.text, candidate))
            secret.append(share > 0)
            counts.append(TALK if is_talk(each.text) else 1.0)
            text.append(place)
            spans.append((start, end))
            plain.append(learned.is_ordinary(each.text, candidate))
    return Rows(
        np.array(buckets),
        np.array(starts),
        np.array(secret),
        np.array(counts),
        np.array(text),
        spans,
        np.array(plain),
    )


def is_talk(text: str) -> bool:
    """Whether *text* is a sentence: six words and no braces."""
    return text.count(" ") >= 5 and not re.search("[={}]", text)


class Part:
    """Some of the rows."""

    def __init__(self, rows: Rows, chosen: NDArray[np.bool_]) -> None:
        ends = np.append(rows.starts[1:], len(rows.buckets))
        sizes = ends - rows.starts
        self.buckets = rows.buckets[np.repeat(chosen, sizes)]
        self.sizes = sizes[chosen]
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.sides = np.where(rows.secret[chosen], 1.0, -1.0)
        self.counts = rows.counts[chosen]

    def scores(self, weights: Floats) -> Floats:
        """The sum of the weights of each row."""
        sums: Floats = np.add.reduceat(weights[self.buckets], self.starts)
        return sums

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        """What is to be made small, and its slope."""
        margins = self.sides * self.scores(weights)
        value = (self.counts * np.logaddexp(0, -margins)).sum()
        pulls = -self.counts * self.sides / (1 + np.exp(np.clip(margins, -50, 50)))
        slope = np.bincount(self.buckets, np.repeat(pulls, self.sizes), minlength=learned.BUCKETS)
        penalised = value + PENALTY * (weights * weights).sum() / 2
        return float(penalised), slope + PENALTY * weights


def trained(part: Part, weights: Floats | None = None) -> Floats:
    """The weights of least loss, sought from *weights* on (L-BFGS)."""
    at = np.zeros(learned.BUCKETS) if weights is None else weights
    loss, slope = part.loss(at)
    moves: list[tuple[Floats, Floats, float]] = []
    for _ in range(STEPS):
        if np.abs(slope).max() < SMALL:
            break
        way = -_scaled(slope, moves)
        step = 1.0 if moves else 1 / float(np.abs(slope).sum())
        down = float((way * slope).sum())
        while True:
            there = at + step * way
            new, turned = part.loss(there)
            if new <= loss + 1e-4 * step * down or step < 1e-10:
                break
            step /= 2
        moved, bent = there - at, turned - slope
        both = float((moved * bent).sum())
        if both > 1e-12:
            moves = [*moves[1 - KEPT :], (moved, bent, both)]
        at, loss, slope = there, new, turned
    return at


def _scaled(slope: Floats, moves: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """*slope* by the curvature that *moves* have shown."""
    way, shares = slope.copy(), []
    for moved, bent, both in reversed(moves):
        share = float((moved * way).sum()) / both
        way -= share * bent
        shares.append(share)
    if moves:
        _, bent, both = moves[-1]
        way *= both / float((bent * bent).sum())
    for (moved, bent, both), share in zip(moves, reversed(shares), strict=True):
        way += (share - float((bent * way).sum()) / both) * moved
    return way


# The file


def digest() -> str:
    """What tells whether the lists, or what is seen of their candidates, are others than before."""
    seen = hashlib.sha256()
    for file in (*_files("secrets"), *_files("harmless")):
        seen.update(file.read_bytes())
        for text in list(lines(file, "a"))[::20]:
            for candidate in learned.candidates(text):
                seen.update(repr((candidate, sorted(learned.features(text, candidate)))).encode())
    return seen.hexdigest()


def stored(weights: Floats) -> bytes:
    """The file of *weights*: a byte for each, as `learned.levels` reads it."""
    largest = np.float32(np.abs(weights).max())
    steps = np.round(np.sign(weights) * np.sqrt(np.abs(weights) / largest) * 127)
    return f"{digest()} {largest:.6g}\n".encode() + steps.astype(np.int8).tobytes()


# Figures


def left_out(texts: Sequence[Text], rows: Rows, weights: Floats) -> Floats:
    """The score of each row by a model without its list or file; -inf for what is never masked."""
    groups = np.array([each.group for each in texts])[rows.text]
    scores = np.full(len(groups), -np.inf)
    for name in sorted(set(groups)):
        own = groups == name
        scores[own] = Part(rows, own).scores(trained(Part(rows, ~own), weights / 2))
    scores[rows.ordinary] = -np.inf
    return scores


def print_figures(texts: Sequence[Text], rows: Rows, weights: Floats) -> None:
    """What the model finds of lists that it was not trained on, and in ordinary texts."""
    scores = left_out(texts, rows, weights)
    found: dict[int, list[int]] = {}
    for row, place in enumerate(rows.text):
        found.setdefault(int(place), []).append(row)
    talk = reached = alone = missed = mended = 0
    harmless: dict[str, list[bool]] = {}
    for place, each in enumerate(texts):
        if not each.written:
            continue
        spans = [rows.spans[row] for row in found.get(place, ())]
        hits = [rows.spans[row] for row in found.get(place, ()) if scores[row] >= learned.LEAST]
        if not each.secrets:
            group = "docs" if each.group.endswith(".md") else "harmless lists"
            group = "evaluations" if each.group.startswith("evals") else group
            alarm = bool(hits) and not mask(each.text, learned_too=False)[1]
            harmless.setdefault(group, []).append(alarm)
            continue
        if is_talk(each.text):
            talk += 1
            reached += not _left(each, without(each.text, spans))
            alone += not _left(each, without(each.text, hits))
        if _left(each, mask(each.text, learned_too=False)[0]):
            missed += 1
            mended += not _left(each, mask(without(each.text, hits), learned_too=False)[0])
    print(f"sentences with a secret, of the list that was left out: {talk}")
    print(f"  a candidate of the model             {reached:>6}")
    print(f"  found by the model alone             {alone:>6} ({alone / reached:.1%} of those)")
    print(f"texts of all lists that rules miss     {missed:>6}, found by the model {mended}")
    for group, alarms in harmless.items():
        count, wrong = len(alarms), sum(alarms)
        print(f"masked more in {group:<24}{wrong:>6} of {count} ({wrong / count:.2%})")


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """*text* with a mark in the place of each of *spans*."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}[masked:secret]{text[end:]}"
    return text


def _left(text: Text, masked: str) -> bool:
    """True where *masked* holds eight characters in a row of a secret, or all of a shorter one."""
    for start, end in text.secrets:
        width = min(end - start, 8)
        if any(text.text[at : at + width] in masked for at in range(start, end - width + 1)):
            return True
    return False


def main() -> None:
    """Write the file, and print the figures if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figures", action="store_true", help="also measure; takes a minute")
    args = parser.parse_args()
    lists, others = list(of_lists()), [*of_documents(), *of_evaluations()]
    texts = [*lists, *inserted(lists, others), *others]
    rows = rows_of(texts)
    weights = trained(Part(rows, np.ones(len(rows.starts), bool)))
    learned.WEIGHTS.parent.mkdir(exist_ok=True)
    learned.WEIGHTS.write_bytes(stored(weights))
    sys.stderr.write(f"{learned.WEIGHTS}: {learned.WEIGHTS.stat().st_size} bytes\n")
    print(f"{len(texts)} texts, {len(rows.starts)} candidates, {rows.secret.sum()} secrets")
    if args.figures:
        print_figures(texts, rows, weights)


if __name__ == "__main__":
    main()
