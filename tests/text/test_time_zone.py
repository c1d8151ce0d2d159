"""A day is that of the machine's time zone: "tomorrow", said in the evening, is not UTC's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.config import ConsolidationSettings, Settings
from memory_core.consolidate.scheduler import _last_nightly
from memory_core.embedding.base import Embedder
from memory_core.interchange import jsonl, parsing
from memory_core.memory import Memory
from memory_core.recall.request import RecallRequest
from memory_core.records import Identity
from memory_core.remember.request import RememberRequest
from memory_core.text.time import timestamps
from memory_core.text.time.validity import bounds
from server.hooks.briefing import briefing
from server.protocol import rendering

ME = Identity("me")
HOUR = 3_600.0
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
KOLKATA = "IST-5:30"
"""Zones by their rule, which needs no data of the system."""


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


EVENING = at("2026-12-01 01:05")
"""20:05 on 30 November in New York, 06:35 on 1 December in Kolkata."""


Zone = Callable[[str], None]


@pytest.fixture
def zone() -> Iterator[Zone]:
    with pytest.MonkeyPatch.context() as patch:

        def choose(name: str) -> None:
            patch.setenv("TZ", name)
            time.tzset()

        yield choose
    time.tzset()


@pytest.mark.parametrize(
    ("name", "day"), [(NEW_YORK, "2026-11-30"), (KOLKATA, "2026-12-01"), ("UTC", "2026-12-01")]
)
def test_the_day_of_a_moment_is_that_of_the_zone(zone: Zone, name: str, day: str) -> None:
    zone(name)
    assert timestamps.day_of(EVENING).isoformat() == rendering.day(EVENING) == day
    assert rendering.day("2026-12-01T01:05:00Z") == day
    assert timestamps.iso(EVENING) == "2026-12-01T01:05:00Z"
    assert timestamps.utc_day(EVENING).isoformat() == "2026-12-01"


def test_a_day_in_words_covers_the_day_of_the_zone(zone: Zone) -> None:
    zone(NEW_YORK)
    first, last = timestamps.moment("2026-11-30", "since")
    assert (timestamps.iso(first), timestamps.iso(last)) == (
        "2026-11-30T05:00:00Z",
        "2026-12-01T04:59:59Z",
    )
    assert timestamps.iso(timestamps.moment("2026-11-30T20:05", "since")[0]) == (
        "2026-12-01T01:05:00Z"
    )
    assert timestamps.moment("2026-12-01T01:05:00Z", "since")[0] == EVENING
    assert timestamps.moment("2026-12-01T06:35+05:30", "since")[0] == EVENING
    assert timestamps.iso(timestamps.moment("2026-11", "until")[1]) == "2026-12-01T04:59:59Z"


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25), ("2026-07-01", 24)]
)
def test_a_day_on_which_the_clocks_change_is_as_long_as_it_is(
    zone: Zone, day: str, hours: int
) -> None:
    zone(NEW_YORK)
    first, last = timestamps.moment(day, "since")
    assert last - first == pytest.approx(hours * HOUR)
    assert timestamps.after(date.fromisoformat(day)) - first == hours * HOUR


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seconds=st.floats(at("1971-01-01"), at("2100-01-01")),
    name=st.sampled_from([NEW_YORK, KOLKATA, "UTC", "NZST-12NZDT,M9.5.0,M4.1.0/3"]),
)
def test_a_moment_lies_between_the_midnights_of_its_day(
    zone: Zone, seconds: float, name: str
) -> None:
    zone(name)
    day = timestamps.day_of(seconds)
    assert day == datetime.fromtimestamp(seconds).date()
    assert timestamps.midnight(day) <= seconds < timestamps.after(day)
    assert timestamps.after(day) == timestamps.midnight(day + timedelta(days=1))


@pytest.mark.parametrize("name", [NEW_YORK, KOLKATA, "UTC"])
@pytest.mark.parametrize("seconds", [float("nan"), -1e18, 1e18, float("inf"), -62_135_596_800.0])
def test_no_moment_is_without_a_day(zone: Zone, name: str, seconds: float) -> None:
    zone(name)
    day = timestamps.day_of(seconds)
    assert timestamps.midnight(day) < timestamps.after(day) <= timestamps.after(day, 400)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("I'm in the library today.", "2026-12-01T04:59:59Z"),
        ("The shop is closed this week only.", "2026-12-07T04:59:59Z"),
    ],
)
def test_what_is_said_of_a_time_is_over_at_midnight(zone: Zone, text: str, end: str) -> None:
    zone(NEW_YORK)
    found = bounds(text, EVENING)[1]
    assert found is not None
    assert timestamps.iso(found) == end


@pytest.mark.parametrize(
    ("now", "last"),
    [
        ("2026-12-01 01:05", "2026-11-30T08:00:00Z"),
        ("2026-12-01 09:00", "2026-12-01T08:00:00Z"),
        ("2026-11-01 07:30", "2026-10-31T07:00:00Z"),  # the day on which the clocks go back
        ("2026-11-01 08:30", "2026-11-01T08:00:00Z"),
    ],
)
def test_a_nightly_run_is_at_night(zone: Zone, now: str, last: str) -> None:
    zone(NEW_YORK)
    assert timestamps.iso(_last_nightly("03:00", at(now))) == last


def test_times_of_other_programs_without_a_zone_are_of_the_machine(zone: Zone) -> None:
    zone(NEW_YORK)
    record, _ = jsonl.from_record({"text": "a", "occurred_at": "2026-11-30T20:05:00"})
    assert record.occurred_at == parsing.moment("2026-11-30 20:05") == EVENING
    assert timestamps.day_of(parsing.moment("2026-11-30") or 0.0) == date(2026, 11, 30)
    assert parsing.moment("2026-12-01T01:05:00Z") == EVENING


def test_tomorrow_is_due_on_the_day_after_that_of_the_zone(
    zone: Zone, tmp_path: Path, minilm: Embedder
) -> None:
    zone(NEW_YORK)
    quiet = Settings(data_dir=tmp_path, consolidation=ConsolidationSettings(automatic=False))
    with Memory(quiet, embedder=minilm, clock=lambda: EVENING) as memory:
        assert memory.wait_ready(60)
        said = memory.remember(ME, RememberRequest("The plumber comes tomorrow at nine.")).id
        assert memory.get(ME, said).dates == ("2026-12-01",)
        today = RecallRequest("plumber", since="2026-11-30", until="2026-11-30")
        asked = RecallRequest("What did I say today?")
        found = [memory.recall(ME, each).hits for each in (today, asked)]
        assert [[hit.memory.id for hit in hits] for hits in found] == [[said], [said]]
        assert "[due 2026-12-01]" in briefing(memory, ME, "", "one", EVENING).text
        assert [span.start for span in memory.timeline(ME)] == ["2026-11-30"]
