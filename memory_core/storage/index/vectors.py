"""Nearest vectors by cosine: exact at first, by sign bits when there are many.

Vectors are stored once, in half precision: in a mapped snapshot, and in memory for later ones.
Above EXACT_LIMIT a scan picks candidates, which are then ranked by their exact similarity; a scan
that misses too much on the store's own vectors is not used (`fallback` holds the reason). Nothing
here locks: FAISS crashes when one thread adds while another searches, so the store separates
writers and readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import StorageError
from memory_core.storage.index import files
from memory_core.storage.index.faiss_scans import CHUNK, Codes, Found, Reading, Signs
from memory_core.storage.index.vector_entries import Entries, Part

EXACT_LIMIT = 20_000
"""Up to so many vectors every one is compared; above, sign bits pick the candidates."""

RECALL_FLOOR = 0.99
_SAMPLE = 32
_NEIGHBOURS = 10
_GROWTH = 2.0
"""Recall is checked again when the index has grown by this factor."""
_AVERAGING = 4_000
_SUBSET = 5_000
"""Up to so many allowed vectors are compared exactly: a scattered vector takes 0.2 us to read."""
_DEAD_SHARE = 0.3
_FEW_DEAD = 64
_ENTRIES, _IDS = "entries.npy", "ids.txt"


class VectorIndex:
    """Vectors of rows (memories) by part: 0 the whole text, from 1 its passages, -1 its gist."""

    def __init__(self, dimension: int, *, exact_limit: int = EXACT_LIMIT) -> None:
        """Start empty, for unit vectors of *dimension*.

        Up to *exact_limit* vectors every one is compared; above, sign bits pick candidates.
        """
        self.dimension = dimension
        self.fallback = ""
        self._limit = exact_limit
        self._entries = Entries()
        self._codes = Codes(dimension)
        self._scan: Signs | None = None
        self._checked = 0

    def __len__(self) -> int:
        """Number of live vectors."""
        return self._entries.live

    @property
    def rows_with_vectors(self) -> int:
        """Number of rows that have at least one vector."""
        return self._entries.rows_used

    @property
    def method(self) -> str:
        """The current search method: exact or binary."""
        return self._scan.method if self._scan else "exact"

    def has(self, row: int) -> bool:
        """True when *row* has a vector."""
        return self._entries.has(row)

    def held(self, rows: int) -> NDArray[np.bool_]:
        """For each of the first *rows* rows whether it has a vector."""
        return self._entries.held(rows)

    def put(self, row: int, parts: Sequence[int], vectors: NDArray[Any]) -> None:
        """Set the *vectors* (n, dimension) of *row*, unit length, replacing its former ones.

        A text of one passage has part 0 only, which is its passage too. Raises StorageError for
        another dimension and for values that are not finite.
        """
        rows = np.full(len(parts), row, np.int64)
        if not parts:
            self.remove(row)
        self.put_many(rows, np.asarray(parts, np.int64), vectors)

    def put_many(
        self, rows: NDArray[np.int64], parts: NDArray[np.int64], vectors: NDArray[Any]
    ) -> None:
        """As `put` for many rows at once: vector i belongs to (rows[i], parts[i]), in any order."""
        half = self._half(vectors, rows.size)
        if self._entries.live:
            self._entries.drop(rows)
        if rows.size:
            self._codes.add(half)
            self._entries.append(rows, parts)
            if self._scan:
                self._scan.add(half)
        self._maintain()

    def remove(self, row: int) -> None:
        """Remove *row*; its bytes are freed by the next rebuild (over 30 % removed)."""
        self._entries.drop(np.array([row]))
        self._maintain()

    def renumber(self, place: NDArray[np.int64]) -> None:
        """Renumber row n to *place*[n]; rows without a vector may have any place."""
        entries, self._entries = self._entries, Entries()
        rows = np.where(entries.alive(), place[entries.rows], -1)
        self._entries.append(rows, entries.parts.astype(np.int64))

    def search(
        self,
        query: NDArray[np.float32],
        k: int,
        *,
        part: Part,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Found:
        """The at most *k* rows nearest to the unit vector *query*, and their cosine, highest first.

        A row counts once, with its best vector of this *part*. *allowed*, one value for each row,
        is applied before the cut. Equal similarities are ordered by row.
        """
        wanted = self._entries.wanted(part, allowed)
        total = int(np.count_nonzero(wanted))
        point = self._point(query)
        depth = k if part == "whole" else 3 * k
        while total and k > 0:
            entries, scores = self._nearest(point, wanted, total, min(depth, total))
            rows, best = _distinct(self._entries.rows[entries], scores)
            if rows.size >= k or depth >= total:
                return rows[:k], best[:k]
            depth *= 4
        return np.empty(0, np.int64), np.empty(0, np.float32)

    def similarities(
        self, query: NDArray[np.float32], rows: NDArray[np.int64], *, part: Part
    ) -> NDArray[np.float32]:
        """Exact cosine of *query* and the best vector (of *part*) of each of *rows*; NaN: none."""
        result = np.full(rows.size, np.nan, np.float32)
        places, entries = self._entries.find(rows, part)
        if entries.size:
            np.fmax.at(result, places, self._codes.scores(entries, self._point(query)))
        return result

    def wholes(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The whole vectors of *rows*, shape (n, dimension); a row of NaN where there is none."""
        result = np.full((rows.size, self.dimension), np.nan, np.float32)
        places, entries = self._entries.find(rows, "whole")
        if entries.size:
            result[places] = self._codes.take(entries)
        return result

    def frozen(self, ids: Sequence[str] | None = None) -> FrozenVectors:
        """The live vectors of this moment, to be written while others change the index.

        *ids* names every row: rows are numbers of this process, ids are permanent.
        """
        kept = np.flatnonzero(self._entries.alive())
        facts = {
            "dimension": self.dimension,
            "entries": int(kept.size),
            "mode": "auto",  # what the format holds; earlier programs read it
            "limit": self._limit,
            "method": self.method,
            "fallback": self.fallback,
            "checked": self._checked,
        }
        rows, parts = self._entries.rows[kept], self._entries.parts[kept]
        scan = self._scan.of(kept) if self._scan else None
        return FrozenVectors(ids, kept, rows, parts, self._codes, scan, facts)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        fingerprint: str,
        exact_limit: int = EXACT_LIMIT,
        row: Callable[[str], int | None] = int,
    ) -> tuple[VectorIndex, int]:
        """The index of the snapshot in *folder*, vectors mapped, and its journal sequence.

        *row* returns the row of an id, None when it was forgotten: its vectors are then left out.
        (The default fits a snapshot that was saved without ids.) Raises StorageError when it is
        missing, damaged or of another *fingerprint*: rebuild then.
        """
        facts = files.check(folder, fingerprint=fingerprint)
        index = cls(int(facts["dimension"]), exact_limit=exact_limit)
        with files.io_errors(folder):
            places, parts = np.load(folder / _ENTRIES).astype(np.int64)
            names = (folder / _IDS).read_text(encoding="utf-8").split("\n")
            index._codes.map(folder)
        known = [-1 if found is None else found for found in map(row, filter(None, names))]
        rows = np.array(known, np.int64)[places]
        if not rows.size == index._codes.total == facts["entries"]:
            raise files.damaged(folder, "its parts are of different lengths")
        index._entries.append(rows, parts)
        if facts["limit"] == index._limit:
            index._checked, index.fallback = facts["checked"], facts["fallback"]
            index._scan = Signs.read(folder) if facts["method"] == Signs.method else None
        index._maintain()
        return index, int(facts["sequence"])

    def _half(self, vectors: NDArray[Any], count: int) -> NDArray[np.float16]:
        if vectors.shape != (count, self.dimension):
            raise StorageError(
                f"vectors of shape {vectors.shape} do not fit {(count, self.dimension)}",
                "embed again with the store's model: anamnesis reembed",
            )
        half = np.ascontiguousarray(vectors, np.float16)
        if (half.view(np.uint16) & 0x7C00 == 0x7C00).any():
            raise StorageError("a vector holds values that are not finite", "embed the text again")
        return half

    def _point(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        point = np.ascontiguousarray(query, np.float32).reshape(1, -1)
        if point.shape[1] != self.dimension:
            raise StorageError(
                f"a query of dimension {point.shape[1]} was asked of {self.dimension}",
                "embed the query with the store's model",
            )
        return point

    def _nearest(
        self, point: NDArray[np.float32], wanted: NDArray[np.bool_], total: int, depth: int
    ) -> Found:
        if self._scan is None or total <= min(self._limit, _SUBSET):
            return self._codes.search(point, wanted, depth)
        candidates = self._scan.candidates(point, wanted, depth)
        scores = self._codes.scores(candidates, point)
        best = np.argsort(-scores, kind="stable")[:depth]
        return candidates[best], scores[best]

    def _maintain(self) -> None:
        """Drop tombstones, choose the method and check its recall, each when due."""
        entries = self._entries
        if entries.dead > _FEW_DEAD and entries.dead > _DEAD_SHARE * entries.total:
            self._rebuild()
        if entries.live <= self._limit:
            self._scan, self._checked, self.fallback = None, 0, ""
        elif entries.total >= _GROWTH * self._checked:
            self._choose()

    def _choose(self) -> None:
        """Build the scan; use it only if it finds what exact search finds."""
        self._scan, self._checked, self.fallback = self._built(), self._entries.total, ""
        recall = self._recall()
        while recall < RECALL_FLOOR and self._scan.widen():
            recall = self._recall()
        if recall < RECALL_FLOOR:
            self.fallback = f"recall@10 of the {self._scan.method} scan was {recall:.3f}"
            self._scan = None

    def _rebuild(self) -> None:
        kept = np.flatnonzero(self._entries.alive())
        rows, parts = self._entries.rows[kept], self._entries.parts[kept]
        codes, self._entries = Codes(self.dimension), Entries()
        codes.add(self._codes.halves(kept))
        self._codes = codes
        self._entries.append(rows.astype(np.int64), parts.astype(np.int64))
        self._scan, self._checked = None, 0

    def _built(self) -> Signs:
        every = np.arange(self._entries.total)
        live = np.flatnonzero(self._entries.alive())
        sample = self._codes.take(live[:: max(1, live.size // _AVERAGING)])
        scan = Signs(sample.mean(axis=0))
        for start in range(0, every.size, CHUNK):
            scan.add(self._codes.halves(every[start : start + CHUNK]))
        return scan

    def _recall(self) -> float:
        """Share of the exact ten nearest that the scan finds, for a sample of our own vectors."""
        alive = self._entries.alive()
        chosen = np.random.default_rng(alive.size).choice(np.flatnonzero(alive), _SAMPLE)
        total = int(np.count_nonzero(alive))
        found = wanted = 0
        for point in self._codes.take(chosen)[:, None, :]:
            depth = min(_NEIGHBOURS + 1, total)
            exact = self._codes.search(point, alive, depth)[1]
            scanned = self._nearest(point, alive, total, depth)[1]
            found += min(int(np.count_nonzero(scanned >= exact[-1] - 1e-5)), depth) - 1
            wanted += depth - 1
        return found / max(1, wanted)


@dataclass(frozen=True, slots=True)
class FrozenVectors:
    """The live vectors of a `VectorIndex` at one moment.

    The vectors themselves are not copied: an entry never changes, and a rebuild makes new ones.
    """

    ids: Sequence[str] | None
    """Of every row; without them a row's name is its number."""
    kept: NDArray[np.intp]
    """The entries in `codes`."""
    rows: NDArray[np.int32]
    """Of each of these entries."""
    parts: NDArray[np.int16]
    codes: Codes
    scan: Signs | None
    facts: Mapping[str, Any]
    """What the manifest says of them."""

    def write(
        self,
        folder: Path,
        *,
        sequence: int,
        fingerprint: str,
        beside: Sequence[str] = (),
        reading: Reading = nullcontext,
    ) -> None:
        """Write them to *folder*, as of journal *sequence* and embedder *fingerprint*.

        Removed vectors are not written. *beside* names files in *folder* that belong to the same
        snapshot. Within *reading* nobody adds a vector; it is held for one piece after the other.
        Raises StorageError (DiskFull, ReadOnly) when the disk fails.
        """
        files.begin(folder)
        rows, places = np.unique(self.rows, return_inverse=True)
        names = [str(row) if self.ids is None else self.ids[row] for row in rows.tolist()]
        pairs = np.stack((places, self.parts)).astype(np.int32)
        with files.io_errors(folder):
            self.codes.write(folder, self.kept, reading)
            np.save(folder / _ENTRIES, pairs)
            (folder / _IDS).write_text("\n".join(names), encoding="utf-8")
            scan_files = self.scan.write(folder) if self.scan else ()
        facts = {**self.facts, "sequence": sequence, "fingerprint": fingerprint}
        files.finish(folder, [*Codes.files, _ENTRIES, _IDS, *scan_files, *beside], facts)


def _distinct(rows: NDArray[np.int32], scores: NDArray[np.float32]) -> Found:
    """Each row once with its best score, highest first, then by row."""
    order = np.lexsort((rows, -scores))
    _, first = np.unique(rows[order], return_index=True)
    best = order[np.sort(first)]
    return rows[best].astype(np.int64), scores[best]
