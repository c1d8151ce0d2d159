"""The pattern of a moment allows exactly the days that there are."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest

from server.rest.bodies import MOMENT


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9996])
def test_the_days_of_a_year(year: int) -> None:
    first = date(year, 1, 1)
    days = {first + timedelta(number) for number in range(366)}
    real = {day.isoformat() for day in days if day.year == year}
    written = {f"{year:04}-{m:02}-{d:02}" for m in range(14) for d in range(34)}
    assert {day for day in written if re.search(MOMENT, day)} == real


@pytest.mark.parametrize(
    "text", ["", "2024", "2024-05", "2024-05-07T13:56", "2024-02-29T13:56:00.5+02:00"]
)
def test_what_is_a_moment(text: str) -> None:
    assert re.search(MOMENT, text)


@pytest.mark.parametrize("text", ["0000", "2024-13", "2024-05T10:00", "2024-05-07T24:00", "x"])
def test_what_is_none(text: str) -> None:
    assert not re.search(MOMENT, text)
