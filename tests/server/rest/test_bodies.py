"""The pattern of a moment allows exactly the days that there are."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest

from memory_core.errors import InvalidInput
from memory_core.text.time import timestamps
from server.rest.bodies import MOMENT


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9996])
def test_the_days_of_a_year(year: int) -> None:
    first = date(year, 1, 1)
    days = {first + timedelta(number) for number in range(366)}
    real = {day.isoformat() for day in days if day.year == year}
    written = {f"{year:04}-{m:02}-{d:02}" for m in range(14) for d in range(34)}
    assert {day for day in written if re.search(MOMENT, day)} == real


@pytest.mark.parametrize("seconds", ["", ":00", ":59.5", ":59,123456789"])
@pytest.mark.parametrize("zone", ["", "Z", "z", " Z", "+02", "-0230", "+14:59", " +02:00"])
def test_what_the_memory_reads_is_a_moment(seconds: str, zone: str) -> None:
    for text in ("2024", "2024-05", *(f"2024-02-29{t}13:56{seconds}{zone}" for t in "Tt ")):
        assert timestamps.moment(text, "when")
        assert re.search(MOMENT, text)
    assert re.search(MOMENT, "")


@pytest.mark.parametrize(
    "text",
    ["0000", "2024-13", "2024-05T10:00", "2024-05-07T24:00", "x", "2024-05-07T10",
     "2023-02-29 10:00", "2024-05-07T10:00+15:00", "2024-05-07 02:00 02:00", "2024-05-07T10:00:60"],
)  # fmt: skip
def test_what_is_none(text: str) -> None:
    assert not re.search(MOMENT, text)
    with pytest.raises(InvalidInput):
        timestamps.moment(text, "when")
