"""What belongs together: near pairs, results to fold, topics that grow, split and merge.

All vectors are of unit length, float, one row a memory. A memory without a vector is a row of NaN;
it is near nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]
Floats = NDArray[np.float32]

Named = tuple[Sequence[Collection[str]], Sequence[Collection[str]]]
"""The names in each topic, and those in each memory, in one spelling."""

BLOCK = 1024
"""Rows compared with all others at once: 80 MB of cosines with 20,000 memories."""

STRICTER = 0.05
"""What a topic with too many members adds to its threshold to fall apart."""

STRICTEST = 0.95
"""Members that are all nearer than this say one thing and are not split."""


def near_pairs(vectors: Vectors, threshold: float) -> Iterator[tuple[int, int, float]]:
    """Pairs (i, j, cosine) with i < j and a cosine of at least *threshold*, in order of i, then j.

    Exact: every row is compared with every other one, block by block.
    """
    known = np.nan_to_num(np.asarray(vectors, dtype=np.float32))
    for start in range(0, len(known), BLOCK):
        cosines = known[start : start + BLOCK] @ known[start:].T
        left, right = np.nonzero(np.triu(cosines >= threshold, k=1))
        for i, j in zip(left.tolist(), right.tolist(), strict=True):
            yield start + i, start + j, min(1.0, float(cosines[i, j]))


def nearest_before(vectors: Vectors, places: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """(place, nearest, cosine) for each of *places* (> 0): the nearest of the rows before it.

    Block by block, so that memory does not grow with their number.
    """
    known = np.nan_to_num(np.asarray(vectors, dtype=np.float32))
    for start in range(0, len(places), BLOCK):
        block = np.array(places[start : start + BLOCK])
        cosines = known[block] @ known[: block.max()].T
        cosines[np.arange(cosines.shape[1]) >= block[:, None]] = -2.0
        for place, row in zip(block.tolist(), cosines, strict=True):
            best = int(np.argmax(row))
            yield place, best, float(row[best])


def assign(
    vectors: Vectors,
    centroids: Vectors,
    members: NDArray[np.integer],
    threshold: float,
    named: Named | None = None,
) -> list[int]:
    """The topic of each of *vectors*: that of the nearest centroid, or a new one.

    *centroids* (t, d), the means of the topics there are, of unit length, with *members* (t,), the
    number of memories of each. In order: a vector joins the nearest centroid when the cosine is at
    least *threshold* and moves that centroid (running mean); else it starts a topic, numbered from
    t. -1 for a row of NaN. *named* are the names in each topic and in each of *vectors*: where both
    have names and share none, they stay apart ("Redis for sessions", "MongoDB for sessions").
    """
    sums = [row * count for row, count in zip(_floats(centroids), members, strict=True)]
    known, own = named or ([()] * len(sums), [()] * len(vectors))
    heads = _Heads(sums, vectors.shape[1], [set(each) for each in known])
    found = []
    for vector, names in zip(_floats(vectors), own, strict=True):
        if np.isnan(vector).any():
            found.append(-1)
            continue
        found.append(heads.join(heads.nearest(vector, names, threshold), vector, names))
    return found


class _Heads:
    """The centroids while they move: sums of the members and, of unit length, their directions."""

    def __init__(self, sums: list[Floats], dimension: int, names: list[set[str]]) -> None:
        self._names = names
        self._count = len(sums)
        self._sums = np.zeros((max(16, 2 * len(sums)), dimension), dtype=np.float32)
        if sums:
            self._sums[: len(sums)] = sums
        self._units = unit(self._sums)

    def nearest(self, vector: Floats, names: Collection[str], threshold: float) -> int | None:
        """The nearest topic that *vector* may join; None where there is none."""
        cosines = self._units[: self._count] @ vector
        close = np.flatnonzero(cosines >= threshold)
        for topic in close[np.argsort(-cosines[close], kind="stable")].tolist():
            if not apart(names, self._names[topic]):
                return int(topic)
        return None

    def join(self, topic: int | None, vector: Floats, names: Collection[str]) -> int:
        if topic is None:
            topic = self._count
            self._count += 1
            self._names.append(set())
            if topic == len(self._sums):
                self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
                self._units = np.concatenate([self._units, np.zeros_like(self._units)])
        self._names[topic].update(names)
        self._sums[topic] += vector
        total = self._sums[topic]
        self._units[topic] = total / (np.sqrt(total @ total) or 1.0)
        return topic


def apart(names: Collection[str], others: Collection[str]) -> bool:
    """True where both have names and share none."""
    return bool(names) and bool(others) and set(names).isdisjoint(others)


def split(vectors: Vectors, threshold: float, most: int) -> list[list[int]]:
    """The members of one topic, as groups of at most *most* where they can be split.

    Members are assigned anew at *threshold* + 0.05, and by so much more again until two groups form
    and none is too large; a member that is left alone joins the nearest group. What falls into no
    two groups up to 0.95 is halved. Groups and members are in order of first index; one group when
    nothing is to split.
    """
    if len(vectors) <= most:
        return [list(range(len(vectors)))]
    stricter = threshold + STRICTER
    groups = _groups(vectors, stricter) if stricter <= STRICTEST else _halves(vectors)
    if len(groups) < 2:
        return split(vectors, stricter, most) if stricter <= STRICTEST else groups
    parts = [
        [group[i] for i in part]
        for group in groups
        for part in split(vectors[group], stricter, most)
    ]
    return sorted(parts)


def _groups(vectors: Vectors, threshold: float) -> list[list[int]]:
    """Groups of two and more among *vectors*, with each that is in none in the nearest of them."""
    nothing = np.zeros((0, vectors.shape[1]), dtype=np.float32)
    topics = assign(vectors, nothing, np.zeros(0, dtype=np.int64), threshold)
    members: dict[int, list[int]] = {}
    for index, topic in enumerate(topics):
        members.setdefault(topic, []).append(index)
    groups = [group for group in members.values() if len(group) > 1]
    alone = [group[0] for group in members.values() if len(group) == 1]
    if groups and alone:
        heads = unit(np.stack([_floats(vectors)[group].sum(axis=0) for group in groups]))
        nearest = np.argmax(_floats(vectors)[alone] @ heads.T, axis=1)
        for index, place in zip(alone, nearest.tolist(), strict=True):
            groups[place].append(index)
    return [sorted(group) for group in groups]


def _halves(vectors: Vectors) -> list[list[int]]:
    """*vectors* cut in two along the line between two that are far apart; one group when alike."""
    values = _floats(vectors)
    one = values[np.argmin(values @ values.sum(axis=0))]
    other = values[np.argmin(values @ one)]
    if one @ other >= STRICTEST:
        return [list(range(len(values)))]
    order = np.argsort(values @ (other - one), kind="stable").tolist()
    middle = len(order) // 2
    return [sorted(order[:middle]), sorted(order[middle:])]


def merge(
    centroids: Vectors, members: NDArray[np.integer], threshold: float, most: int
) -> list[int]:
    """For each topic the topic that it merges into, itself when it stays.

    Two merge when their centroids' cosine is at least *threshold*, nearest pair first,
    into the larger, at equal size the first; not when more than *most* members would come together,
    because they would be split again.
    """
    into = list(range(len(centroids)))
    sizes = [int(count) for count in members]
    pairs = sorted(near_pairs(centroids, threshold), key=lambda pair: (-pair[2], pair[0], pair[1]))
    for i, j, _cosine in pairs:
        if into[i] != i or into[j] != j or sizes[i] + sizes[j] > most:
            continue
        keep, go = (i, j) if sizes[i] >= sizes[j] else (j, i)
        into[go] = keep
        sizes[keep] += sizes[go]
        into = [keep if target == go else target for target in into]
    return into


@dataclass(slots=True)
class _Topic:
    label: str
    members: list[int]


def topics(
    vectors: Vectors,
    current: Sequence[str],
    names: Sequence[str],
    *,
    threshold: float,
    most: int,
    merge_at: float,
    subjects: Sequence[Collection[str]] = (),
) -> list[str]:
    """The topic of each of *vectors* (n, d), none NaN; one that has a topic may get another.

    *current* are the labels so far ("" for none), *names* what a topic would be called that begins
    with that memory; labels are unique. New memories are assigned at *threshold*, topics of more
    than *most* members split, those whose centroids reach *merge_at* merge. The largest part of a
    split, and the larger of two that merge, keeps its label. *subjects* are the names that each
    memory is about, none by default: see assign.
    """
    found = _assigned(vectors, current, threshold, subjects or [()] * len(current))
    found = [part for topic in found for part in _parts(vectors, topic, threshold, most)]
    found = _merged(vectors, found, merge_at, most)
    taken = {topic.label for topic in found if topic.label}
    labels = [""] * len(current)
    for topic in found:
        if not topic.label:
            topic.label = new_label([names[index] for index in topic.members], taken)
            taken.add(topic.label)
        for index in topic.members:
            labels[index] = topic.label
    return labels


def _assigned(
    vectors: Vectors,
    current: Sequence[str],
    threshold: float,
    subjects: Sequence[Collection[str]],
) -> list[_Topic]:
    found: list[_Topic] = []
    by_label: dict[str, _Topic] = {}
    fresh: list[int] = []
    for index, label in enumerate(current):
        if not label:
            fresh.append(index)
        elif label in by_label:
            by_label[label].members.append(index)
        else:
            by_label[label] = _Topic(label, [index])
            found.append(by_label[label])
    counts = np.array([len(topic.members) for topic in found], dtype=np.int64)
    inside = [{name for place in topic.members for name in subjects[place]} for topic in found]
    named = inside, [subjects[index] for index in fresh]
    numbers = assign(vectors[fresh], _centroids(vectors, found), counts, threshold, named)
    for index, number in zip(fresh, numbers, strict=True):
        if number == len(found):
            found.append(_Topic("", []))
        found[number].members.append(index)
    for topic in found:
        topic.members.sort()
    return found


def _parts(vectors: Vectors, topic: _Topic, threshold: float, most: int) -> list[_Topic]:
    parts = split(vectors[topic.members], threshold, most)
    largest = max(range(len(parts)), key=lambda place: (len(parts[place]), -place))
    return [
        _Topic(topic.label if place == largest else "", [topic.members[i] for i in part])
        for place, part in enumerate(parts)
    ]


def _merged(vectors: Vectors, found: list[_Topic], merge_at: float, most: int) -> list[_Topic]:
    counts = np.array([len(topic.members) for topic in found], dtype=np.int64)
    into = merge(_centroids(vectors, found), counts, merge_at, most)
    for place, target in enumerate(into):
        if target != place:
            found[target].label = found[target].label or found[place].label
            found[target].members = sorted(found[target].members + found[place].members)
    return [topic for place, topic in enumerate(found) if into[place] == place]


def _centroids(vectors: Vectors, found: Sequence[_Topic]) -> Floats:
    if not found:
        return np.zeros((0, vectors.shape[1]), dtype=np.float32)
    return unit(np.stack([_floats(vectors)[topic.members].mean(axis=0) for topic in found]))


def new_label(names: Sequence[str], taken: Collection[str]) -> str:
    """The best of *names* that no other topic has (*taken*); else the best with a number.

    The best has most of the terms, parted by commas, that the other names have too; then the first.
    """
    terms = [frozenset(name.casefold().split(", ")) for name in names]
    known = Counter(term for each in terms for term in each)
    shared = {
        name: sum(known[term] - 1 for term in each) for name, each in zip(names, terms, strict=True)
    }
    names = sorted(names, key=lambda name: -shared[name])
    free = (name for name in names if name and name not in taken)
    numbered = (f"{names[0]} ({number})" for number in range(2, len(taken) + 3))
    return next(free, "") or next(name for name in numbered if name not in taken)


def unit(vectors: Vectors) -> Floats:
    """*vectors* (n, d) scaled to length 1, float32; a zero row stays zero."""
    values = _floats(vectors)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def _floats(vectors: Vectors) -> Floats:
    return np.asarray(vectors, dtype=np.float32)


def fold(
    vectors: NDArray[np.floating],
    threshold: float,
    same: Callable[[int, int], bool],
    k: int,
) -> tuple[list[int], dict[int, list[int]]]:
    """The first *k* of the ranked candidates that do not repeat an earlier one.

    *vectors* (n, d) in rank order; a candidate whose cosine to a kept one reaches *threshold* and
    for which *same(kept, candidate)* holds is folded into it. Returns the kept indices and, for
    each kept one, those folded into it.
    """
    kept: list[int] = []
    folded: dict[int, list[int]] = {}
    known = np.nan_to_num(vectors)
    for index in range(len(known)):
        if len(kept) == k:
            break
        twin = _twin(known, index, kept, threshold, same)
        if twin is None:
            kept.append(index)
        else:
            folded.setdefault(twin, []).append(index)
    return kept, folded


def _twin(
    vectors: NDArray[np.floating],
    index: int,
    kept: Sequence[int],
    threshold: float,
    same: Callable[[int, int], bool],
) -> int | None:
    if not kept:
        return None
    cosines = vectors[list(kept)] @ vectors[index]
    for position in np.argsort(-cosines, kind="stable"):
        if cosines[position] < threshold:
            return None
        if same(kept[int(position)], index):
            return kept[int(position)]
    return None


def single_linkage(
    vectors: NDArray[np.floating],
    threshold: float,
    linked: Callable[[int, int], bool] | None = None,
) -> list[list[int]]:
    """Groups of indices connected by cosines of at least *threshold*, and where that is *linked*.

    *vectors* (n, d) unit length. Groups and their members are in order of first index.
    """
    near = vectors @ vectors.T >= threshold
    if linked is not None:
        for i, j in np.argwhere(np.triu(near, k=1)).tolist():
            near[i, j] = near[j, i] = linked(i, j)
    unseen = np.ones(len(vectors), dtype=bool)
    groups: list[list[int]] = []
    for start in range(len(vectors)):
        if not unseen[start]:
            continue
        unseen[start] = False
        group, frontier = [start], [start]
        while frontier:
            found = np.flatnonzero(near[frontier].any(axis=0) & unseen)
            unseen[found] = False
            frontier = [int(i) for i in found]
            group.extend(frontier)
        groups.append(sorted(group))
    return groups
