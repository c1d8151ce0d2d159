from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_core.errors import InvalidInput
from memory_core.text.time.dates import (
    DateCue,
    asks_when,
    query_dates,
    resolve,
    temporal_match,
)
from memory_core.text.time.timestamps import day_words, iso, moment
from memory_core.text.words import listed

WEDNESDAY = datetime(2024, 5, 8, 15, 30, tzinfo=UTC).timestamp()


def at(year: int, month: int, day: int, hour: int = 12) -> float:
    return datetime(year, month, day, hour, tzinfo=UTC).timestamp()


RESOLVED = [
    ("I saw the dentist yesterday.", ["2024-05-07"]),
    ("Today the new shelf arrived", ["2024-05-08"]),
    ("The choir rehearses tonight", ["2024-05-08"]),
    ("We fly to Porto tomorrow!", ["2024-05-09"]),
    ("the day before yesterday it rained", ["2024-05-06"]),
    ("She lands the day after tomorrow.", ["2024-05-10"]),
    ("The alarm went off last night", ["2024-05-07"]),
    ("I met him last Friday", ["2024-05-03"]),
    ("The recital is on Friday at six.", ["2024-05-10"]),
    ("Am Freitag bringe ich das Boot weg.", ["2024-05-10"]),
    ("Ich muss am Freitag zum Notar.", ["2024-05-10"]),
    ("Wir treffen uns am Freitag im Hof.", ["2024-05-10"]),
    ("Mira hat am Freitag Prüfung.", ["2024-05-10"]),
    ("Mira hat am Freitag die Prüfung bestanden.", ["2024-05-03"]),
    ("Ich bin am Freitag nach Kiel gefahren.", ["2024-05-03"]),
    ("Am Freitag war das Boot weg.", ["2024-05-03"]),
    ("I borrowed the ladder until Sunday.", ["2024-05-12"]),
    ("Ola rented us the hall until Friday, with the bar.", ["2024-05-10"]),
    ("Kim took the week off until Monday", ["2024-05-13"]),
    ("Ich habe das Auto bis Freitag verliehen.", ["2024-05-10"]),
    ("Der Arzt hat mich bis Dienstag krankgeschrieben.", ["2024-05-14"]),
    ("I borrowed the ladder on Sunday.", ["2024-05-05"]),
    ("We danced until Sunday.", ["2024-05-05"]),
    ("Wir waren bis Sonntag an der See.", ["2024-05-05"]),
    ("The road was closed until Friday.", ["2024-05-03"]),
    ("I met him last Wednesday", ["2024-05-01"]),
    ("Let's talk next Friday", ["2024-05-10"]),
    ("Let's talk next Wednesday", ["2024-05-15"]),
    ("this Friday works", ["2024-05-10"]),
    ("this past Sunday we baked", ["2024-05-05"]),
    ("We went hiking last week", ["2024-05-01"]),
    ("next week is busy", ["2024-05-15"]),
    ("the week before last I was ill", ["2024-04-24"]),
    ("Last weekend was fun", ["2024-05-04"]),
    ("this weekend we paint", ["2024-05-11"]),
    ("next weekend we rest", ["2024-05-18"]),
    ("two weekends ago we camped", ["2024-04-27"]),
    ("She started last month", ["2024-04"]),
    ("next month the lease ends", ["2024-06"]),
    ("this month is quiet", ["2024-05"]),
    ("I painted that last year", ["2023"]),
    ("this year and next year", ["2024", "2025"]),
    ("the year before last", ["2022"]),
    ("Last summer we sailed", ["2023-06", "2023-07", "2023-08"]),
    ("this summer we sail", ["2024-06", "2024-07", "2024-08"]),
    ("next summer we sail", ["2024-06", "2024-07", "2024-08"]),
    ("last winter was mild", ["2023-12", "2024-01", "2024-02"]),
    ("He called three days ago", ["2024-05-05"]),
    ("He called 10 days ago", ["2024-04-28"]),
    ("a week ago", ["2024-05-01"]),
    ("three weeks ago, on the boat", ["2024-04-17"]),
    ("a couple of weeks ago", ["2024-04-24"]),
    ("a few days ago", ["2024-05-05"]),
    ("two months ago", ["2024-03"]),
    ("six months ago", ["2023-11"]),
    ("half a year ago", ["2023-11"]),
    ("four years ago", ["2020"]),
    ("ten years back", ["2014"]),
    ("a week from now", ["2024-05-15"]),
    ("three days from today", ["2024-05-11"]),
    ("The visa expires in two weeks", ["2024-05-22"]),
    ("The visa expires in 3 months", ["2024-08"]),
    ("I finished the puzzle in two days", []),
    ("two Fridays ago", ["2024-04-26"]),
    ("next week wednesday dentist", ["2024-05-15"]),
    ("on Friday next week we sail", ["2024-05-17"]),
    ("last week on Friday we sailed", ["2024-05-03"]),
    ("nächste Woche Mittwoch", ["2024-05-15"]),
    ("am Mittwoch nächster Woche", ["2024-05-15"]),
    ("The library is closed on Mondays", []),
    ("open Tuesday until Sunday", []),
    ("Mittwoch bis Samstag geöffnet", []),
    ("I am away until Sunday", ["2024-05-12"]),
    ("We were in Rome in June", ["2023-06"]),
    ("We will be in Rome in June", ["2024-06"]),
    ("in March we moved", ["2024-03"]),
    ("since October", ["2023-10"]),
    ("at the end of April", ["2024-04"]),
    ("in June 2021", ["2021-06"]),
    ("June, 2021 was hot", ["2021-06"]),
    ("since Sept 2019", ["2019-09"]),
    ("last June", ["2023-06"]),
    ("last March", ["2024-03"]),
    ("next March", ["2025-03"]),
    ("on 3 March", ["2024-03-03"]),
    ("I made an appointment for June 20 at nine", ["2024-06-20"]),
    ("mum has an operation on June 20", ["2024-06-20"]),
    ("I've got an appointment on June 20", ["2024-06-20"]),
    ("the table is reserved for June 20", ["2024-06-20"]),
    ("mum needs to be picked up on June 20", ["2024-06-20"]),
    ("they moved the party to June 20", ["2024-06-20"]),
    ("I took June 20 off", ["2024-06-20"]),
    ("dentist December 10 at nine", ["2024-12-10"]),
    ("Hochzeit am 5. Dezember", ["2024-12-05"]),
    ("dentist April 10 at nine", ["2024-04-10"]),
    ("I graduated on December 12", ["2023-12-12"]),
    ("we painted the fence on May 2", ["2024-05-02"]),
    ("I started the job on January 5", ["2024-01-05"]),
    ("she was here on May 20", ["2023-05-20"]),
    ("we went for the van, picking it up on 4 June", ["2024-06-04"]),
    ("the party is on the 12th", ["2024-05-12"]),
    ("party on the 7th", ["2024-06-07"]),
    ("we were there on the 12th", ["2024-04-12"]),
    ("the report has to be in by the 3rd", ["2024-06-03"]),
    ("see you on the 31st", ["2024-05-31"]),
    ("rent is due on the 1st of each month", []),
    ("we live on the 3rd floor", []),
    ("paid on the 1st and 15th", []),
    ("Elternabend am 9. um 19 Uhr", ["2024-05-09"]),
    ("bis zum 30. muss das weg", ["2024-05-30"]),
    ("er wohnt am 3. Ring", []),
    ("on the 3rd of March", ["2024-03-03"]),
    ("on March 3rd, 2024", ["2024-03-03"]),
    ("on March 3, 2021 at noon", ["2021-03-03"]),
    ("Her birthday is August 13", ["2024-08-13"]),
    ("The deadline is due by January 5", ["2025-01-05"]),
    ("He was born on 21 December 1987.", ["1987-12-21"]),
    ("met on 3/4/2024", ["2024-03-04"]),
    ("met on 25/4/2024", ["2024-04-25"]),
    ("met on 3.4.2024", ["2024-04-03"]),
    ("signed 2024-02-29", ["2024-02-29"]),
    ("signed 2023-02-29", []),
    ("log of 2024-02-29T10:00:00Z", ["2024-02-29"]),
    ("the release of 2023-11", ["2023-11"]),
    ("I moved here in 2019", ["2019"]),
    ("2019 was the year", ["2019"]),
    ("the summer of 2020", ["2020-06", "2020-07", "2020-08"]),
    ("Christmas 2022 at home", ["2022-12-25"]),
    ("last Halloween", ["2023-10-31"]),
    ("next Christmas", ["2024-12-25"]),
    ("The interview was on Monday", ["2024-05-06"]),
    ("The interview will be on Monday", ["2024-05-13"]),
    ("from May 3 to May 5, 2022", ["2022-05-03", "2022-05-04", "2022-05-05"]),
    # a weekday before a date
    ("The fair is on Friday 7 June", ["2024-06-07"]),
    ("the fitter comes on Thursday the 9th of May", ["2024-05-09"]),
    ("on Saturday, June 1, we sing", ["2024-06-01"]),
    ("Am Freitag, den 7.6., ist Markt", ["2024-06-07"]),
    ("Freitag 7. Juni Markt", ["2024-06-07"]),
    ("the choir sings on Friday the 17th", ["2024-05-17"]),
    ("The audit was on Tuesday the 30th", ["2024-04-30"]),
    ("Am Donnerstag, den 16. ist Probe", ["2024-05-16"]),
    ("the office is on the Friday 13th floor", []),
    # from when on something holds
    ("the rent goes up to 1260 from October", ["2024-10"]),
    ("The rent is 865 from March", ["2025-03"]),
    ("From June on the surgery is shut at noon", ["2024-06"]),
    ("as of Monday I work at Harbour", ["2024-05-13"]),
    ("Starting Friday the stand-up is at ten", ["2024-05-10"]),
    ("From the 1st the parking costs 60", ["2024-06-01"]),
    ("The rent was 865 from March", ["2024-03"]),
    ("Ab Oktober kostet die Wohnung 1260 Euro", ["2024-10"]),
    ("Ab Montag ist das Daily um zehn", ["2024-05-13"]),
    ("We meet in the hall from Monday on", ["2024-05-13"]),
    ("the invoice from the 1st lies on the desk", []),
    ("I have 20 invoices from March", []),
    ("the letter from Monday is on the desk", []),
    ("These are the 3 notes from Monday.", []),
    ("check the logs from Friday", []),
    ("studded tyres from October to April", []),
    ("we are open from Monday to Friday", []),
    # from one day to another
    ("my parents visit on 18 and 19 May", ["2024-05-18", "2024-05-19"]),
    ("on call from monday 20 to wednesday 22 may 2024", ["2024-05-20", "2024-05-21", "2024-05-22"]),
    ("the kids are off 21-23 October", ["2024-10-21", "2024-10-22", "2024-10-23"]),
    ("off on October 21 to 23", ["2024-10-21", "2024-10-22", "2024-10-23"]),
    ("on the 1st and 3rd of June", ["2024-06-01", "2024-06-03"]),
    ("vom 3. bis 5. Juni", ["2024-06-03", "2024-06-04", "2024-06-05"]),
    ("2024-06-03 to 2024-06-05", ["2024-06-03", "2024-06-04", "2024-06-05"]),
    ("shut 30 June - 2 July", ["2024-06-30", "2024-07-01", "2024-07-02"]),
    ("Urlaub 30.12.-02.01.", ["2024-12-30", "2024-12-31", "2025-01-01", "2025-01-02"]),
    ("zu vom 28.2. bis 1.3.2025", ["2025-02-28", "2025-03-01"]),
    ("the course is on from 3 June to 20 August", ["2024-06-03", "2024-08-20"]),
    ("the audit was moved from 3 to 5 June", ["2023-06-03", "2023-06-05"]),
    ("they postponed it from June 3 to June 9", ["2024-06-03", "2024-06-09"]),
    ("We moved. It is shut from 3 to 5 June", ["2024-06-03", "2024-06-04", "2024-06-05"]),
    ("we sailed last summer - 3 June was best", ["2023-06", "2023-07", "2023-08", "2023-06-03"]),
    ("it is open 27 February to 29 February", ["2024-02-27", "2024-02-29"]),
    ("on 3 June, to rest until 5 June", ["2024-06-03", "2024-06-05"]),
    ("at 3 to 5 June", ["2024-06-05"]),
    ("open 9 to 5 June", ["2024-06-05"]),
    # numbers with dots
    ("Arzt am 17.05. um 8:15 Uhr", ["2024-05-17"]),
    ("Arzt 17.05., 8:15", ["2024-05-17"]),
    ("Arzt 17.5. 8 Uhr", ["2024-05-17"]),
    ("Vorschläge bis 18.05. an Nadine", ["2024-05-18"]),
    ("am 05.11.24", ["2024-11-05"]),
    ("am 05.11.2024 und ab 1.6.", ["2024-11-05", "2024-06-01"]),
    ("Di, 14.5. Probe", ["2024-05-14"]),
    (
        "Urlaub 27.05.–07.06.",
        [f"2024-05-{n}" for n in range(27, 32)] + [f"2024-06-0{n}" for n in range(1, 8)],
    ),
    ("Ferien 27.-31.5.", [f"2024-05-{n}" for n in range(27, 32)]),
    ("zu vom 20.12. bis 5.1.2025", ["2024-12-20", "2025-01-05"]),
    # without the last dot
    ("Zahnarzt am 20.9", ["2024-09-20"]),
    ("Am 20.9 um 8 kommt der Ofenbauer", ["2024-09-20"]),
    ("Mi 15.5 Probe", []),
    ("Mi, 15.5 18 Uhr Probe", ["2024-05-15"]),
    ("am 20.9 Liter getankt, am 3.12 Prozent mehr", []),
    ("Die Rennstrecke ist am 1.8 km lang", []),
    ("am 20.15 Uhr", []),
    ("am 31.2. oder am 3.13.", []),
    ("We run Python 3.12. It works", []),
    ("Ubuntu 24.04. läuft", []),
    ("so 3.12. is out", []),
    ("version 3.12.1 and 1.2.3.4", []),
    ("am 3.12.1.4", []),
    # not dates
    ("back in the 90s", []),
    ("the 1990s were loud", []),
    ("port 2024 is taken", []),
    ("it costs $2019", []),
    ("a budget of 2000 euros", []),
    ("at most 2048 tokens", []),
    ("you may leave, and march on", []),
    ("this may help", []),
    ("Good morning! The sun is out", []),
    ("the ratio is 3/4", []),
    ("version 1.2.3 and 10.0.0.12", []),
    ("31 February", []),
    ("", []),
    # German
    ("Gestern war ich schwimmen", ["2024-05-07"]),
    ("vorgestern", ["2024-05-06"]),
    ("Heute regnet es", ["2024-05-08"]),
    ("Wir sehen uns morgen", ["2024-05-09"]),
    ("Guten Morgen zusammen", []),
    ("übermorgen fliegen wir", ["2024-05-10"]),
    ("vor drei Wochen", ["2024-04-17"]),
    ("vor einem Jahr", ["2023"]),
    ("vor 2 Monaten", ["2024-03"]),
    ("in zwei Tagen", ["2024-05-10"]),
    ("letzten Freitag", ["2024-05-03"]),
    ("nächsten Freitag", ["2024-05-10"]),
    ("letzte Woche", ["2024-05-01"]),
    ("nächstes Jahr", ["2025"]),
    ("letzten Sommer", ["2023-06", "2023-07", "2023-08"]),
    ("am 3. März", ["2024-03-03"]),
    ("am 3. März 2021", ["2021-03-03"]),
    ("im Juni 2021", ["2021-06"]),
    ("seit Oktober", ["2023-10"]),
]


@pytest.mark.parametrize(("text", "expected"), RESOLVED)
def test_dates_named_in_a_text_become_absolute(text: str, expected: list[str]) -> None:
    assert list(resolve(text, WEDNESDAY)) == expected


def test_last_weekend_said_on_a_sunday_is_the_one_before() -> None:
    assert resolve("last weekend", at(2024, 5, 12)) == ("2024-05-04",)


def test_winter_turns_with_the_year() -> None:
    assert resolve("this winter", at(2024, 1, 10)) == ("2023-12", "2024-01", "2024-02")
    assert resolve("last winter", at(2024, 1, 10)) == ("2022-12", "2023-01", "2023-02")


def test_the_day_is_that_of_utc() -> None:
    just_before_midnight = datetime(2024, 5, 7, 23, 59, 59, tzinfo=UTC).timestamp()
    assert resolve("today", just_before_midnight) == ("2024-05-07",)
    assert resolve("today", just_before_midnight + 1) == ("2024-05-08",)


def test_leap_day_without_a_year_finds_a_leap_year() -> None:
    assert resolve("we met on 29 February", at(2025, 5, 1)) == ("2024-02-29",)


def test_dates_keep_the_order_of_the_text_without_repeats() -> None:
    text = "In June 2021 we met, yesterday we met again, and in 2019; yes, in June 2021."
    assert resolve(text, WEDNESDAY) == ("2021-06", "2024-05-07", "2019")


@settings(deadline=None)
@given(st.text(max_size=300), st.floats())
def test_resolve_never_raises_and_gives_iso_dates(text: str, said_at: float) -> None:
    for written in resolve(text, said_at):
        parts = [int(part) for part in written.split("-")]
        date(*[*parts, 1, 1][:3])


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            listed(
                """last next this two 3 weeks months years ago in on of the May June 2021 5 12
                Friday 3/4/2024 9999 vor drei Wochen letzten . , yesterday weekend summer 29
                February Christmas"""
            )
        ),
        max_size=20,
    ),
    st.floats(min_value=-1e11, max_value=1e12),
)
def test_any_mixture_of_calendar_words_is_read(parts: list[str], said_at: float) -> None:
    text = " ".join(parts)
    for written in resolve(text, said_at):
        assert len(written) in (4, 7, 10)
    query_dates(text, said_at)


MOMENTS = [
    ("2024", (2024, 1, 1, 0, 0, 0), (2025, 1, 1, 0, 0, 0)),
    ("2024-05", (2024, 5, 1, 0, 0, 0), (2024, 6, 1, 0, 0, 0)),
    ("2024-12", (2024, 12, 1, 0, 0, 0), (2025, 1, 1, 0, 0, 0)),
    ("2024-05-07", (2024, 5, 7, 0, 0, 0), (2024, 5, 8, 0, 0, 0)),
    ("2024-05-07T13:56", (2024, 5, 7, 13, 56, 0), (2024, 5, 7, 13, 57, 0)),
    ("2024-05-07 13:56", (2024, 5, 7, 13, 56, 0), (2024, 5, 7, 13, 57, 0)),
    ("2024-05-07T13:56:10Z", (2024, 5, 7, 13, 56, 10), (2024, 5, 7, 13, 56, 11)),
    ("2024-05-07T13:56:10+02:00", (2024, 5, 7, 11, 56, 10), (2024, 5, 7, 11, 56, 11)),
    ("2024-05-07T13:56:10-0530", (2024, 5, 7, 19, 26, 10), (2024, 5, 7, 19, 26, 11)),
    (" 2024-05-07T23:30-01 ", (2024, 5, 8, 0, 30, 0), (2024, 5, 8, 0, 31, 0)),
]


@pytest.mark.parametrize(("value", "first", "after"), MOMENTS)
def test_moment_covers_what_is_written(
    value: str, first: tuple[int, ...], after: tuple[int, ...]
) -> None:
    start, end = moment(value, "since")
    assert start == datetime(*first, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
    following = datetime(*after, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]
    assert following - 1e-5 < end < following


def test_moment_with_a_fraction_is_a_point() -> None:
    start, end = moment("2024-05-07T13:56:10.25Z", "when")
    assert start == end == datetime(2024, 5, 7, 13, 56, 10, 250_000, tzinfo=UTC).timestamp()


def test_moment_reaches_the_ends_of_the_calendar() -> None:
    assert moment("0001", "since")[0] == datetime(1, 1, 1, tzinfo=UTC).timestamp()
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
    for value in ("9999", "9999-12", "9999-12-31"):
        assert last < moment(value, "until")[1] < last + 1


_MALFORMED = """yesterday 2024-13 2024-02-30 2024-5-7 24-05-07 0000 2024-05-07T25:00 2024-05-07T10
2024-05-07T10:60 2024-05-07T10:00:61 2024-05-07T10:00+99:00 2024-05-07+02:00 1715000000 ２０２４
' 2024-W10 2024-05-07T 20240507"""


@pytest.mark.parametrize(
    "value",
    [
        *_MALFORMED.split(),
        *("", " ", "\x00", "2024-05-07' OR 1=1", "2024-05-07\n2024-05-08", "2024-05-07 T10:00"),
    ],
)
def test_moment_refuses_what_is_no_date_and_names_the_argument(value: str) -> None:
    with pytest.raises(InvalidInput, match=r"since.*2024-05-07"):
        moment(value, "since")


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_iso_and_moment_are_inverse_to_the_second(when: datetime) -> None:
    exact = when.replace(tzinfo=UTC, microsecond=0)
    written = iso(exact.timestamp())
    assert written == exact.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    assert moment(written, "when")[0] == exact.timestamp()


@settings(deadline=None)
@given(st.floats())
def test_iso_and_day_words_never_raise(when: float) -> None:
    assert len(iso(when)) == 20
    assert len(day_words(when).split()) == 3


def test_extreme_times_give_the_ends_of_the_calendar() -> None:
    assert iso(float("inf")) == "9999-12-31T23:59:59Z"
    assert iso(float("-inf")) == "0001-01-01T00:00:00Z"
    assert iso(float("nan")) == "1970-01-01T00:00:00Z"
    assert iso(-0.5) == "1969-12-31T23:59:59Z"
    assert day_words(WEDNESDAY) == "8 May 2024"


CUES = [
    ("When did the boiler break?", DateCue()),
    ("What happened in May 2023?", DateCue(months=((2023, 5),))),
    ("what happened in may 2023", DateCue(months=((2023, 5),))),
    ("What did we do in June?", DateCue(months=((0, 6),))),
    ("What did we do on 7 May?", DateCue(days=((0, 5, 7),))),
    ("What did we do on 7 May, 2023?", DateCue(days=((2023, 5, 7),))),
    ("What did we do on May 7th?", DateCue(days=((0, 5, 7),))),
    ("Who moved in 2019?", DateCue(years=(2019,))),
    ("Who moved in March or June of 2019?", DateCue(months=((2019, 6), (0, 3)))),
    ("In 2022, who visited in March?", DateCue(months=((2022, 3),))),
    ("What did I say yesterday?", DateCue(days=((2024, 5, 7),))),
    ("What did I say last Friday?", DateCue(days=((2024, 5, 3),))),
    ("What did I do last month?", DateCue(months=((2024, 4),))),
    ("What did I do last year?", DateCue(years=(2023,))),
    ("Was mache ich am 17.5.?", DateCue(days=((0, 5, 17),))),
    ("What is on Tuesday the 14th?", DateCue(days=((2024, 5, 14),))),
    (
        "What happened last week?",
        DateCue(spans=((date(2024, 4, 29).toordinal(), date(2024, 5, 5).toordinal()),)),
    ),
    (
        "What happened last weekend?",
        DateCue(spans=((date(2024, 5, 4).toordinal(), date(2024, 5, 5).toordinal()),)),
    ),
]


@pytest.mark.parametrize(("query", "expected"), CUES)
def test_a_question_gives_the_dates_it_names(query: str, expected: DateCue) -> None:
    found = query_dates(query, WEDNESDAY)
    assert found == expected or (
        set(found.months) == set(expected.months) and found.days == expected.days and found.months
    )
    assert bool(found) == (expected != DateCue())


SAID = at(2023, 5, 8)
MATCHES = [
    # cue, said, dates, score by hand from the definition
    (DateCue(), SAID, ("2023-05-08",), 0.0),
    (DateCue(months=((2023, 5),)), SAID, (), 0.8 * 0.5),
    (DateCue(months=((0, 5),)), SAID, (), 0.8 * 0.5),
    (DateCue(months=((2022, 5),)), SAID, (), 0.0),
    (DateCue(months=((2023, 6),)), SAID, ("2023-06-01",), 0.5),
    (DateCue(months=((2023, 6),)), SAID, ("2023-06",), 0.5),
    (DateCue(months=((2023, 6),)), SAID, ("2023",), 0.0),
    (DateCue(days=((2023, 5, 8),)), SAID, (), 0.8 * 1.2),
    (DateCue(days=((2023, 5, 7),)), SAID, (), 0.8 * 0.9),
    (DateCue(days=((2023, 5, 7),)), SAID, ("2023-05-07",), 1.2),
    (DateCue(days=((0, 5, 7),)), SAID, ("2023-05-07",), 1.2),
    (DateCue(days=((0, 5, 7),)), SAID, ("2021-05-07",), 1.2),
    (DateCue(days=((2023, 5, 12),)), SAID, (), 0.8 * 0.7),
    (DateCue(days=((2023, 5, 13),)), SAID, (), 0.8 * 0.5),
    (DateCue(days=((2023, 5, 20),)), SAID, ("2023-05",), 0.5),
    (DateCue(days=((2023, 4, 30),)), at(2023, 5, 1), (), 0.8 * 0.4),
    (DateCue(years=(2023,)), SAID, (), 0.8 * 0.4),
    (DateCue(years=(2022,)), SAID, ("2022",), 0.4),
    (DateCue(years=(2022,)), SAID, ("2022-03-01",), 0.4),
    (DateCue(years=(2022,)), SAID, (), 0.0),
    (DateCue(spans=((date(2023, 5, 1).toordinal(), date(2023, 5, 7).toordinal()),)), SAID, (), 0.0),
    (
        DateCue(spans=((date(2023, 5, 1).toordinal(), date(2023, 5, 7).toordinal()),)),
        SAID,
        ("2023-05-07",),
        0.7,
    ),
    (DateCue(days=((0, 2, 29),)), at(2023, 2, 28), (), 0.8 * 1.2),
    (DateCue(years=(2023,)), SAID, ("nonsense", "", "2023-99", "²0²3"), 0.8 * 0.4),
]


@pytest.mark.parametrize(("cue", "said", "dates", "expected"), MATCHES)
def test_temporal_match_follows_its_definition(
    cue: DateCue, said: float, dates: tuple[str, ...], expected: float
) -> None:
    assert temporal_match(cue, said, dates) == pytest.approx(expected)


@settings(deadline=None)
@given(st.text(max_size=60), st.floats(), st.lists(st.text(max_size=12), max_size=3))
def test_temporal_match_stays_in_range(query: str, said: float, dates: list[str]) -> None:
    assert 0.0 <= temporal_match(query_dates(query + " in May 2023", said), said, dates) <= 1.2


HOSTILE = [
    "am 3.4.",
    "am 3.4 ",
    "3.4.-",
    "Friday 3 ",
    "3 to ",
    "May 3 - ",
    "May 3 to May 9 ",
    "moved from ",
    "last ",
    "3 ",
    "1/1/",
    "2024-01-",
    "in ",
    "May ",
    "a couple of ",
    "0",
    "of ",
    "vor ",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_no_faster_than_the_text(grows_linearly, unit: str) -> None:  # type: ignore[no-untyped-def]
    assert grows_linearly(lambda text: resolve(text, WEDNESDAY), unit)


@pytest.mark.parametrize(
    "question",
    [
        "When did Ana sell the boat?",
        "when was it",
        "On what date do they meet?",
        "Which month is the fair in?",
        "How long ago did he move?",
        "Wann kommt der Zug?",
        "An welchem Tag ist die Prüfung?",
    ],
)
def test_questions_that_ask_for_a_date(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize(
    "question",
    ["What does Ana do when it rains?", "Who won?", "a daily walk", "whenever", ""],
)
def test_questions_that_do_not(question: str) -> None:
    assert not asks_when(question)
