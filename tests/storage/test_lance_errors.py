"""The vendor's errors, told apart by what they say."""

from __future__ import annotations

import pytest

from memory_core.errors import DiskFull, InvalidInput, ReadOnly, StorageError
from memory_core.storage.table.lance import DamagedTable, lance_errors

# The names under which a panic of native code arrives; one of them is no Exception.
RustPanic = type("RustPanic", (Exception,), {})
PanicException = type("PanicException", (BaseException,), {})
SOURCE = "/registry/src/lance-table-13.0.0/src/io/commit.rs:1663:50"


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (RuntimeError(f"lance error: No space left on device (os error 28), {SOURCE}"), DiskFull),
        (RuntimeError(f"lance error: Disk quota exceeded (os error 122), {SOURCE}"), DiskFull),
        (OSError(28, "No space left on device"), DiskFull),
        (RuntimeError(f"lance error: Read-only file system (os error 30), {SOURCE}"), ReadOnly),
        (RuntimeError(f"lance error: Permission denied (os error 13), {SOURCE}"), ReadOnly),
        (PermissionError(13, "Permission denied"), ReadOnly),
        (ValueError("file does not appear to be a Lance file"), DamagedTable),
        (RuntimeError("lance error: Not found (os error 2)"), DamagedTable),
        (RuntimeError(""), DamagedTable),
        (RustPanic("rust future panicked"), DamagedTable),
        (PanicException("range end index 4 out of range"), DamagedTable),
    ],
    ids=str,
)
def test_every_error_of_the_vendor_has_a_name_here(
    problem: BaseException, error: type[StorageError]
) -> None:
    with pytest.raises(StorageError) as caught, lance_errors("merging into the table"):
        raise problem
    assert type(caught.value) is error
    assert caught.value.problem.startswith("merging into the table")
    assert caught.value.__cause__ is problem


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(1), InvalidInput("a", "b")])
def test_what_is_not_the_vendors_passes(problem: BaseException) -> None:
    with pytest.raises(type(problem)) as caught, lance_errors("merging into the table"):
        raise problem
    assert caught.value is problem


def test_a_long_reason_is_cut_to_its_first_line() -> None:
    with pytest.raises(StorageError) as caught, lance_errors("opening the table"):
        raise RuntimeError("x" * 1000 + "\nbacktrace")
    assert len(str(caught.value)) < 350
    assert "backtrace" not in str(caught.value)
