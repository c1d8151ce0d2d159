"""Questions about nothing but a time: which they are, and from when to when."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime

import pytest

from memory_core.beliefs import question
from memory_core.text.time.dates import query_dates

NOW = datetime(2024, 6, 5, 12, tzinfo=UTC).timestamp()  # a Wednesday


def period_asked(query: str, now: float, names: Collection[str] = ()) -> question.Period | None:
    """The likeliest of the periods that *query* may mean."""
    return next(iter(question.periods_asked(query, query_dates(query, now), now, names)), None)


@pytest.mark.parametrize(
    ("query", "first", "last", "said"),
    [
        ("what did I say last week?", "2024-05-27", "2024-06-02", True),
        ("What did we talk about yesterday", "2024-06-04", "2024-06-04", True),
        ("What did Nora's friend tell us two days ago?", "2024-06-03", "2024-06-03", True),
        ("what happened in May?", "2024-05-01", "2024-05-31", False),
        ("what happened in July?", "2023-07-01", "2023-07-31", False),
        ("What am I doing in October?", "2024-10-01", "2024-10-31", False),
        ("what's planned for March?", "2025-03-01", "2025-03-31", False),
        ("Anything on the 14th?", "2024-06-14", "2024-06-14", False),
        ("anything on the 3rd?", "2024-07-03", "2024-07-03", False),
        ("what happened on the 14th?", "2024-05-14", "2024-05-14", False),
        ("What's on for Saturday?", "2024-06-08", "2024-06-08", False),
        ("what did we do on Saturday?", "2024-06-01", "2024-06-01", False),
        ("Was steht nächste Woche an?", "2024-06-10", "2024-06-16", False),
        ("Was habe ich am 20. vor?", "2024-06-20", "2024-06-20", False),
        ("Was habe ich am Samstag?", "2024-06-08", "2024-06-08", False),
        ("Was habe ich am Samstag gemacht?", "2024-06-01", "2024-06-01", False),
        ("Welche Termine habe ich im August?", "2024-08-01", "2024-08-31", False),
        ("Was war im August los?", "2023-08-01", "2023-08-31", False),
        ("Was mache ich am Samstag?", "2024-06-08", "2024-06-08", False),
        ("Was machen wir nächsten Monat?", "2024-07-01", "2024-07-31", False),
        ("Was steht am Samstag an?", "2024-06-08", "2024-06-08", False),
        ("anything from 2023?", "2023-01-01", "2023-12-31", False),
        ("what happened between 3 May and 10 May", "2024-05-03", "2024-05-10", False),
        ("What did I do on 29 February?", "2024-02-29", "2024-02-29", False),
        ("Was habe ich gestern gesagt?", "2024-06-04", "2024-06-04", True),
        ("what happened in February 2023", "2023-02-01", "2023-02-28", False),
        ("What is due in the next weeks?", "2024-06-05", "2024-06-26", False),
        ("Was steht in den nächsten zwei Wochen an?", "2024-06-05", "2024-06-19", False),
        ("what happened in the last two months?", "2024-04-04", "2024-06-05", False),
        ("what is planned for the summer?", "2024-06-01", "2024-08-31", False),
        ("which deadlines do I have before August?", "2024-06-05", "2024-07-31", False),
        ("what must be done by the end of July?", "2024-06-05", "2024-07-31", False),
        ("catch me up on last week", "2024-05-27", "2024-06-02", False),
        ("can you give me an overview of last month?", "2024-05-01", "2024-05-31", False),
    ],
)
def test_a_time_alone_is_a_period(query: str, first: str, last: str, said: bool) -> None:
    found = period_asked(query, NOW, {"nora", "friend"})
    assert found is not None
    days = [datetime.fromtimestamp(at, UTC).date().isoformat() for at in (found.first, found.last)]
    assert (days, found.said) == ([first, last], said)
    assert found.first % 86_400 == 0
    assert (found.last + 1e-3) % 86_400 == pytest.approx(0, abs=1e-3)


def test_since_reaches_until_now() -> None:
    found = period_asked("what happened since last Monday?", NOW)
    assert found is not None
    assert (found.last, datetime.fromtimestamp(found.first, UTC).isoweekday()) == (NOW, 1)


@pytest.mark.parametrize(
    ("query", "inside", "outside"),
    [
        ("what did I say before May 2023?", "2023-04-30", "2023-05-01"),
        ("what happened after March 2023?", "2023-04-01", "2023-03-31"),
        ("what did we discuss until 3 May 2023?", "2023-05-03", "2023-05-04"),
        ("what was said before yesterday?", "2024-06-03", "2024-06-04"),
    ],
)
def test_before_after_and_until_are_open(query: str, inside: str, outside: str) -> None:
    found = period_asked(query, NOW)
    assert found is not None
    assert math.isinf(found.first) != math.isinf(found.last)
    noon = {day: datetime.fromisoformat(f"{day}T12:00Z").timestamp() for day in (inside, outside)}
    assert found.first <= noon[inside] <= found.last
    assert not found.first <= noon[outside] <= found.last
    assert question.date_is_inside(inside, found)
    assert not question.date_is_inside(outside, found)


@pytest.mark.parametrize(
    "query",
    [
        "what did I say about the boiler last week?",
        "what did I eat yesterday",
        "may I ask something?",
        "what did I say?",
        "Who is Nora?",
        "",
        "What did Nora say last week?",
    ],
)
def test_a_question_with_content_of_its_own_is_none(query: str) -> None:
    assert period_asked(query, NOW) is None


@pytest.mark.parametrize(
    ("written", "inside"),
    [
        ("2024-05-27", True),
        ("2024-06-02", True),
        ("2024-06-03", False),
        ("2024-05", False),
        ("2024", False),
        ("", False),
        ("soon", False),
        ("2024-13-01", False),
    ],
)
def test_a_named_date_counts_when_it_lies_inside(written: str, inside: bool) -> None:
    week = period_asked("what happened last week", NOW)
    assert week is not None
    assert question.date_is_inside(written, week) == inside


def test_a_month_lies_inside_its_year() -> None:
    year = period_asked("what happened in 2023", NOW)
    assert year is not None
    assert question.date_is_inside("2023-02", year)
    assert question.date_is_inside("2023", year)


@pytest.mark.parametrize(
    "query",
    [
        "what did I say?",
        "anything",
        "What do you remember?",
        "give me everything we've got on the",
        "Could you please fill me in on",
        "bring us up to speed about",
        "was weißt du alles über",
        "erzähl mir alles zu",
    ],
)
def test_a_question_without_content_asks_anything(query: str) -> None:
    assert question.names_no_topic(query)
    assert not question.names_no_topic(query + " boiler")
    assert not question.names_no_topic("")


@pytest.mark.parametrize("query", ["Was ist im August?", "What is in August?"])
def test_what_is_in_a_month_may_have_been(query: str) -> None:
    found = question.periods_asked(query, query_dates(query, NOW), NOW)
    years = [datetime.fromtimestamp(each.first, UTC).year for each in found]
    assert years == [2024, 2023]


def test_a_month_of_no_tense_is_the_coming_one_first() -> None:
    found = question.periods_asked("anything in March?", query_dates("in March", NOW), NOW)
    years = [datetime.fromtimestamp(each.first, UTC).year for each in found]
    assert years == [2025, 2024]
