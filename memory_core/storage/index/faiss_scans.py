"""FAISS: the vectors in half precision, and their sign bits to find candidates faster.

The only import of faiss. Entries count from 0 in order of arrival. Every search takes a mask of the
allowed entries and uses one thread: spinning threads made 0.45 ms into 8.6.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_core.errors import DiskFull, StorageError
from memory_core.storage.index import files as manifest

READ_BYTES = 64 * 2**20
"""Snapshots up to this size (80,000 vectors of 384 numbers) are read, larger ones mapped."""

CHUNK = 8192
"""Vectors converted at a time: bounds the memory needed beside the index."""

_VECTORS, _MEAN, _SIGNS = "vectors.faiss", "mean.npy", "signs.faiss"
_CANDIDATES = 1000
_OVERSAMPLE = 8
_WIDEST = 8

Reading = Callable[[], AbstractContextManager[Any]]
"""Holds a lock for a block, within which the vectors do not change."""

Found = tuple[NDArray[np.int64], NDArray[np.float32]]
"""(entries or rows, their cosine), highest first."""


class Codes:
    """The vectors in half precision: a snapshot, which never grows, and a part that does.

    Two parts, because adding to a mapped FAISS index aborts the process (measured, 1.15.1).
    """

    files = (_VECTORS,)

    def __init__(self, dimension: int) -> None:
        """Start empty."""
        self._dimension = dimension
        self._indexes: list[Any] = []
        self._views: list[NDArray[np.uint8]] = []
        self._mapped = 0

    @property
    def total(self) -> int:
        """Number of vectors, removed ones included."""
        return sum(view.shape[0] for view in self._views)

    def add(self, half: NDArray[np.float16]) -> None:
        """Append the vectors *half* (n, dimension)."""
        if len(self._indexes) == self._mapped:
            self._indexes.append(_half_index(self._dimension))
            self._views.append(np.empty((0, 2 * self._dimension), np.uint8))
        self._indexes[-1].add_sa_codes(half.view(np.uint8))
        self._views[-1] = _code_view(self._indexes[-1])

    def map(self, folder: Path) -> None:
        """Load the vectors that `write` stored in *folder*; a large file is mapped, not read.

        When another program cuts a mapped file short, this process ends (SIGBUS); a file that was
        read is safe. Mapping saves memory only among several processes.
        """
        faiss = _faiss()
        with manifest.io_errors(folder):
            few = (folder / _VECTORS).stat().st_size <= READ_BYTES
        flags = 0 if few else faiss.IO_FLAG_MMAP_IFC
        index = _read(lambda path: faiss.read_index(path, flags), folder, _VECTORS)
        if index.d != self._dimension or index.code_size != 2 * self._dimension:
            raise manifest.damaged(folder, f"{_VECTORS} holds vectors of dimension {index.d}")
        self._indexes, self._views, self._mapped = [index], [_code_view(index)], 1

    def write(self, folder: Path, kept: NDArray[np.intp], reading: Reading) -> None:
        """Write the entries *kept*, and nothing of the others, to *folder*.

        Others may add meanwhile: each piece is copied inside *reading*.
        """
        with reading():
            whole = self._indexes[0] if self._mapped else None  # it never grows
        if whole is None or whole.ntotal != kept.size or kept.max(initial=0) >= kept.size:
            whole = _half_index(self._dimension)
            for start in range(0, kept.size, CHUNK):
                with reading():
                    codes = self._bytes(kept[start : start + CHUNK])
                whole.add_sa_codes(codes)
        _write(_faiss().write_index, whole, folder / _VECTORS)

    def search(self, point: NDArray[np.float32], wanted: NDArray[np.bool_], depth: int) -> Found:
        """The *depth* *wanted* entries nearest to *point* (1, dimension), every one compared."""
        start, parts = 0, []
        for index in self._indexes:
            stop = start + index.ntotal
            entries, scores = _selected(index, point, wanted[start:stop], depth)
            parts.append((entries + start, scores))
            start = stop
        if len(parts) == 1:
            return parts[0]
        every = np.concatenate([entries for entries, _ in parts])
        score = np.concatenate([scores for _, scores in parts])
        best = np.argsort(-score, kind="stable")[:depth]
        return every[best], score[best]

    def scores(self, entries: NDArray[Any], point: NDArray[np.float32]) -> NDArray[np.float32]:
        """Exact similarity of each of *entries* to *point*.

        Uses a small FAISS index of them: numpy converts half precision three times as slowly.
        """
        index = _half_index(self._dimension)
        index.add_sa_codes(self._bytes(entries))
        similarity, places = index.search(point, entries.size)
        scores = np.empty(entries.size, np.float32)
        scores[places[0]] = similarity[0]
        return scores

    def halves(self, entries: NDArray[Any]) -> NDArray[np.float16]:
        """A copy of the vectors of *entries*, as stored."""
        return self._bytes(entries).view(np.float16)

    def take(self, entries: NDArray[Any]) -> NDArray[np.float32]:
        """A copy of the vectors of *entries*, in single precision."""
        return self.halves(entries).astype(np.float32)

    def _bytes(self, entries: NDArray[Any]) -> NDArray[np.uint8]:
        if len(self._views) == 1:
            return np.take(self._views[0], entries, axis=0)
        codes = np.empty((entries.size, 2 * self._dimension), np.uint8)
        start = 0
        for view in self._views:
            here = (entries >= start) & (entries < start + view.shape[0])
            codes[here] = view[entries[here] - start]
            start += view.shape[0]
        return codes


class Signs:
    """Candidates by Hamming distance of the sign bits of x - mean; every entry is compared.

    They are then ranked by their exact similarity.
    """

    method = "binary"

    def __init__(self, mean: NDArray[np.float32]) -> None:
        """Start empty, with the *mean* (dimension) of the vectors to come."""
        self.width = 1
        self._mean = mean
        self._threshold = ordered(mean.astype(np.float16))
        self._index = _faiss().IndexBinaryFlat(8 * ((mean.size + 7) // 8))
        # Counting instead of a heap: measured 0.41 ms against 0.68 for 1,000 of 100,000.
        self._index.use_heap = False

    def add(self, half: NDArray[np.float16]) -> None:
        """Append the vectors *half*."""
        self._index.add(self._bits(half))

    def widen(self) -> bool:
        """Take twice as many candidates; False beyond eight times the first number."""
        self.width *= 2
        return self.width <= _WIDEST

    def candidates(
        self, point: NDArray[np.float32], wanted: NDArray[np.bool_], depth: int
    ) -> NDArray[np.int64]:
        """*wanted* entries that likely hold the *depth* nearest to *point* (1, dimension)."""
        count = self.width * max(_CANDIDATES, _OVERSAMPLE * depth)
        return _selected(self._index, self._bits(point.astype(np.float16)), wanted, count)[0]

    def of(self, kept: NDArray[np.intp]) -> Signs:
        """A copy with the entries *kept*, renumbered from 0."""
        copy = Signs(self._mean)
        copy.width = self.width
        bits = _faiss().vector_to_array(self._index.xb).reshape(self._index.ntotal, -1)
        copy._index.add(np.ascontiguousarray(bits[kept]))
        return copy

    def write(self, folder: Path) -> tuple[str, ...]:
        """Write mean and bits to *folder*; the names of the files."""
        np.save(folder / _MEAN, np.append(self._mean, np.float32(self.width)))
        _write(_faiss().write_index_binary, self._index, folder / _SIGNS)
        return _MEAN, _SIGNS

    @classmethod
    def read(cls, folder: Path) -> Signs:
        """The scan that `write` stored in *folder*."""
        with manifest.io_errors(folder):
            saved = np.load(folder / _MEAN)
        signs = cls(saved[:-1])
        signs.width = int(saved[-1])
        signs._index = _read(_faiss().read_index_binary, folder, _SIGNS)
        signs._index.use_heap = False
        return signs

    def _bits(self, half: NDArray[np.float16]) -> NDArray[np.uint8]:
        return np.packbits(ordered(half) > self._threshold, axis=1)


def _faiss() -> Any:
    import faiss

    # The setting belongs to the calling thread, so it is made before every use.
    faiss.omp_set_num_threads(1)
    return faiss


def _half_index(dimension: int) -> Any:
    faiss = _faiss()
    return faiss.IndexScalarQuantizer(
        dimension, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    )


def _code_view(index: Any) -> NDArray[np.uint8]:
    """The codes of *index* as (n, bytes) without a copy; invalid as soon as the index grows."""
    if not index.ntotal:
        return np.empty((0, index.code_size), np.uint8)
    flat: NDArray[np.uint8] = _faiss().rev_swig_ptr(index.codes.data(), index.codes.size())
    return flat.reshape(int(index.ntotal), int(index.code_size))


def _selected(index: Any, point: NDArray[Any], wanted: NDArray[np.bool_], depth: int) -> Found:
    faiss = _faiss()
    total = int(np.count_nonzero(wanted))
    if not total:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    bits = np.packbits(wanted, bitorder="little")
    selector = {"sel": faiss.IDSelectorBitmap(bits)} if total < wanted.size else {}
    parameters = faiss.SearchParameters(**selector)
    scores, entries = index.search(point, min(depth, total), params=parameters)
    found = entries[0] >= 0
    return entries[0][found], scores[0][found]


def ordered(half: NDArray[np.float16]) -> NDArray[np.int16]:
    """Integers in the order of *half*, which compare several times faster than halves."""
    bits = half.view(np.int16)
    result = bits >> 15
    result &= 0x7FFF
    result ^= bits
    return result


def _write(writer: Callable[[Any, str], None], index: Any, path: Path) -> None:
    try:
        writer(index, str(path))
    except RuntimeError as error:
        kind = DiskFull if "No space left" in str(error) else StorageError
        raise kind(f"writing {path} failed: {error}", "the journal is not affected") from error


def _read(reader: Callable[[str], Any], folder: Path, name: str) -> Any:
    try:
        return reader(str(folder / name))
    except RuntimeError as error:
        raise manifest.damaged(folder, str(error)) from error
