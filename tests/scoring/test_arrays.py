"""Products of a recall's vectors: exact, and never large enough to wake a second thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory_core.scoring.arrays import ONE_THREAD, cosines


class Counted(np.ndarray[Any, Any]):
    """An array that records how many multiplications each of its matrix products takes."""

    products: list[int] = []  # noqa: RUF012 one list for all slices

    def __matmul__(self, other: Any) -> Any:
        Counted.products.append(self.shape[0] * self.shape[1] * other.shape[1])
        return np.asarray(self) @ np.asarray(other)


def unit_vectors(count: int, dimension: int) -> NDArray[np.float32]:
    found = np.random.default_rng(count).normal(size=(count, dimension))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("dimension", [1, 64, 384, 1024])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 1), (36, 36), (200, 7), (3, 80)])
def test_cosines_are_those_of_one_product_in_small_tiles(
    left: int, right: int, dimension: int
) -> None:
    a, b = unit_vectors(left, dimension), unit_vectors(right, dimension)
    Counted.products.clear()
    found = cosines(a.view(Counted), b.view(Counted))
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert found.shape == (left, right)
    assert np.allclose(found, exact, atol=1e-6)
    assert sum(Counted.products) == left * right * dimension
    assert max(Counted.products, default=0) <= ONE_THREAD
