"""Clinical time: as precise as it was said, and the window of moments it can mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.model.clinical_time import ClinicalTime, Period, Precision, Timed, parse_time

HOUR = 3600
DAY = 24 * HOUR


def seconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc]  # year to second


def window(text: str) -> tuple[int, int]:
    """Its length in seconds, and its first second."""
    time = parse_time(text)
    assert time.earliest is not None
    assert time.latest is not None
    return time.latest - time.earliest + 1, time.earliest


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("2019", "year"),
        ("2019-05", "month"),
        ("2019-05-07", "day"),
        ("2019-05-07T10:30", "minute"),
        ("2019-05-07T10:30Z", "minute"),
        ("2019-05-07T10:30:15+02:00", "second"),
        ("2019-05-07T10:30:15.123456Z", "second"),
        ("in her twenties", "text"),
    ],
)
def test_the_precision_is_the_one_that_was_given_and_the_text_is_kept(text: str, precision: str) -> None:
    time = parse_time(text)
    assert (time.precision, time.text, str(time)) == (precision, text, text)


def test_a_day_is_a_window_of_50_hours() -> None:
    assert window("2019-05-07") == (50 * HOUR, seconds(2019, 5, 7) - 14 * HOUR)


def test_a_month_and_a_year_are_theirs_on_every_clock_on_earth() -> None:
    assert window("2019-02") == (28 * DAY + 26 * HOUR, seconds(2019, 2, 1) - 14 * HOUR)
    assert window("2020-02")[0] == 29 * DAY + 26 * HOUR
    assert window("2019-12")[0] == 31 * DAY + 26 * HOUR
    assert window("2019") == (365 * DAY + 26 * HOUR, seconds(2019, 1, 1) - 14 * HOUR)
    assert window("2020")[0] == 366 * DAY + 26 * HOUR
    assert window("9999-12")[0] == 31 * DAY + 26 * HOUR
    assert window("9999")[0] == 365 * DAY + 26 * HOUR
    assert window("0001")[0] == 365 * DAY + 26 * HOUR


def test_a_time_without_a_zone_is_a_window_of_26_hours() -> None:
    assert window("2019-05-07T10:30:15") == (26 * HOUR + 1, seconds(2019, 5, 7, 10, 30, 15) - 14 * HOUR)
    assert window("2019-05-07T10:30") == (26 * HOUR + 60, seconds(2019, 5, 7, 10, 30) - 14 * HOUR)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2019-05-07T10:30:15Z", seconds(2019, 5, 7, 10, 30, 15)),
        ("2019-05-07T10:30:15+02:00", seconds(2019, 5, 7, 8, 30, 15)),
        ("2019-05-07T10:30:15-09:30", seconds(2019, 5, 7, 20, 0, 15)),
        ("2019-05-07T10:30:15+14:00", seconds(2019, 5, 6, 20, 30, 15)),
        ("2019-05-07T10:30:15-00:00", seconds(2019, 5, 7, 10, 30, 15)),
        ("2019-05-07T10:30:15.999Z", seconds(2019, 5, 7, 10, 30, 15)),
    ],
)
def test_an_offset_gives_one_second(text: str, at: int) -> None:
    assert window(text) == (1, at)


def test_a_minute_with_an_offset_is_sixty_seconds() -> None:
    assert window("2019-05-07T10:30Z") == (60, seconds(2019, 5, 7, 10, 30))


def test_24_00_is_the_next_days_midnight() -> None:
    assert window("2019-05-07T24:00:00Z") == (1, seconds(2019, 5, 8))
    assert window("2019-12-31T24:00Z") == (60, seconds(2020, 1, 1))
    assert parse_time("2019-05-07T24:00:00.000Z").precision is Precision.SECOND


def test_a_leap_second_is_the_second_before_midnight_ends() -> None:
    assert window("2016-12-31T23:59:60Z") == (1, seconds(2017, 1, 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "2019-13",
        "2019-00",
        "2019-02-30",
        "2019-5-7",
        "19",
        "02019",
        "0000",
        "2019-05-07T",
        "2019-05-07T10",
        "2019-05-07T25:00",
        "2019-05-07T24:00:01Z",
        "2019-05-07T24:01Z",
        "2019-05-07T24:00:00.5Z",
        "2019-05-07T10:60",
        "2019-05-07T10:30:61",
        "2019-05-07T10:30:15+24:00",
        "2019-05-07T10:30:15+14:01",
        "2019-05-07T10:30:15+02:60",
        "2019-05-07T10:30:15+0200",
        "2019-05-07 10:30",
        "2019-05-07\n",
        "2019-W12",
        "07.05.2019",
        "٢٠١٩",
        "２０１９-０５",
        "yesterday",
    ],
)
def test_what_is_no_date_is_words_and_no_moment_is_invented(text: str) -> None:
    assert parse_time(text) == ClinicalTime(text, Precision.TEXT, None, None)


def test_a_local_day_is_the_one_that_was_written() -> None:
    assert parse_time("2019-05-07T23:30:00-08:00").day == "2019-05-07"
    assert parse_time("2019-05").day == "2019-05"
    assert parse_time("in May").day == ""


def test_times_may_be_the_same_when_their_windows_meet() -> None:
    def same(a: str, b: str) -> bool:
        assert parse_time(a).may_equal(parse_time(b)) == parse_time(b).may_equal(parse_time(a))
        return parse_time(a).may_equal(parse_time(b))

    assert same("2019", "2019-05-07")
    assert same("2019-05-07", "2019-05-07T23:30:00-08:00")
    assert same("2019-05-07T10:00:00Z", "2019-05-07T12:00:00+02:00")
    assert not same("2019-05-07T10:00:00Z", "2019-05-07T10:00:01Z")
    assert not same("2019-05-07", "2019-05-10")
    assert same("last week", "last week")
    assert not same("last week", "2019-05-07")


def test_a_period_may_be_open() -> None:
    timed = Timed.__struct_fields__
    assert timed == ("clock", "at")
    assert str(Period(parse_time("2019"), None)) == "2019 to"
    assert str(Period(parse_time("2019"), parse_time("2020"))) == "2019 to 2020"


# ----------------------------------------------------------------------------- laws

OFFSETS = st.integers(-12 * 60, 14 * 60)
MOMENTS = st.datetimes(datetime(1900, 1, 2), datetime(2199, 12, 30))  # noqa: DTZ001  # a zone is put on each
SHAPES = {"%Y": "year", "%Y-%m": "month", "%Y-%m-%d": "day", "%Y-%m-%dT%H:%M": "minute", "%Y-%m-%dT%H:%M:%S": "second"}


@settings(max_examples=300, deadline=None)
@given(text=st.one_of(st.text(), st.from_regex(r"\d{4}(-\d\d){0,2}(T[\d:.]{2,12}(Z|[+-]\d\d:\d\d)?)?", fullmatch=True)))
def test_any_text_is_read_or_kept_and_never_raises(text: str) -> None:
    time = parse_time(text)
    assert time.text == text
    assert (time.earliest is None) == (time.latest is None) == (time.precision is Precision.TEXT)
    if time.earliest is not None and time.latest is not None:
        assert time.earliest <= time.latest


@settings(max_examples=200, deadline=None)
@given(local=MOMENTS, minutes=OFFSETS, shape=st.sampled_from(sorted(SHAPES)))
def test_a_window_holds_the_moment_that_was_meant_wherever_it_was_written_down(
    local: datetime, minutes: int, shape: str
) -> None:
    """Somebody writes their local time down, as precisely as they like, without a zone."""
    time = parse_time(local.strftime(shape).rjust(len(local.strftime(shape)), "0"))
    meant = local.replace(tzinfo=timezone(timedelta(minutes=minutes))).timestamp()
    assert time.precision == SHAPES[shape]
    assert time.earliest is not None
    assert time.latest is not None
    assert time.earliest <= meant < time.latest + 1


@settings(max_examples=200, deadline=None)
@given(local=MOMENTS, minutes=OFFSETS)
def test_with_an_offset_the_window_is_the_second_itself(local: datetime, minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    time = parse_time(moment.isoformat())
    assert time.earliest == time.latest == moment.timestamp() // 1
