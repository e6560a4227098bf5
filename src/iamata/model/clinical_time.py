"""When, as precisely as it was said and no more so."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from enum import StrEnum

import msgspec

from iamata.errors import InvalidValue

_DAY_S = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
# The widest offsets in use are UTC-12 and UTC+14: a time of day without a zone is a window of 26 hours.
_EAST_S, _WEST_S = 14 * 3600, 12 * 3600
_ISO = re.compile(
    r"(?P<y>\d{4})(?:-(?P<m>\d\d)(?:-(?P<d>\d\d)(?:T(?P<H>\d\d):(?P<M>\d\d)(?::(?P<S>\d\d)(?P<f>\.\d+)?)?"
    r"(?P<z>Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?)?)?)?\Z",  # FHIR R4 dateTime: no offset beyond 14 hours
    re.ASCII,
)


class Precision(StrEnum):
    """How exact a time is; `text` means words that are no date (`in her twenties`)."""

    TEXT = "text"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    MINUTE = "minute"
    SECOND = "second"


class Clock(StrEnum):
    """Which moment of an item's life a time tells; clocks are kept apart (design 04)."""

    EFFECTIVE = "effective"  # when it was so: onset to abatement, when measured, when given
    OCCURRED = "occurred"
    ASSERTED = "asserted"
    AUTHORED = "authored"
    ISSUED = "issued"
    ORDERED = "ordered"
    PLANNED = "planned"
    PREPARED = "prepared"  # of the message or document: never the time of an entry
    HANDED_OVER = "handed-over"
    STATUS_CHANGED = "status-changed"
    VERIFIED = "verified"
    SIGNED = "signed"
    EXPIRES = "expires"


class ClinicalTime(msgspec.Struct, frozen=True, omit_defaults=True, tag="time", tag_field="is", gc=False):
    """A point in time as sent, and the window of UTC seconds since 1970 it can mean.

    `earliest` and `latest` are both None for a text that is no date. A day has no zone: its window is the day on
    every clock on earth, 50 hours. Nothing is invented: no midnight, no zone.
    """

    text: str
    precision: Precision
    earliest: int | None = None
    latest: int | None = None

    @property
    def day(self) -> str:
        """The local calendar day `YYYY-MM-DD`, or the shorter form that was given; empty for words."""
        return self.text[:10] if self.precision is not Precision.TEXT else ""

    def may_equal(self, other: ClinicalTime) -> bool:
        """Can both mean the same moment? Windows that overlap, or the same local day; words equal only themselves."""
        if self.earliest is None or other.earliest is None or self.latest is None or other.latest is None:
            return self.text == other.text
        return self.earliest <= other.latest and other.earliest <= self.latest

    def __str__(self) -> str:
        return self.text


class Period(msgspec.Struct, frozen=True, omit_defaults=True, tag="period", tag_field="is", gc=False):
    """From `start` to `end`; a missing end means open or unknown, as the source left it."""

    start: ClinicalTime | None = None
    end: ClinicalTime | None = None

    def __str__(self) -> str:
        return f"{self.start or ''} to {self.end or ''}".strip()


class Timed(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A time on one clock: `at` a point or a period."""

    clock: Clock
    at: ClinicalTime | Period

    @property
    def start(self) -> ClinicalTime | None:
        return self.at.start if isinstance(self.at, Period) else self.at

    @property
    def end(self) -> ClinicalTime | None:
        return self.at.end if isinstance(self.at, Period) else self.at


def parse_time(text: str) -> ClinicalTime:
    """Read an ISO 8601 date or date-time of any precision; anything else is kept as words (`Precision.TEXT`)."""
    match = _ISO.match(text)
    if not match:
        return ClinicalTime(text, Precision.TEXT)
    y, m, d, hh, mm, ss, fraction, zone = match.groups()
    try:
        first = date(int(y), int(m or 1), int(d or 1)).toordinal() - _EPOCH
        if m is None:
            last = date(int(y), 12, 31).toordinal() - _EPOCH
            return ClinicalTime(text, Precision.YEAR, first * _DAY_S - _EAST_S, (last + 1) * _DAY_S - 1 + _WEST_S)
        if d is None:
            year, month = (int(y) + 1, 1) if int(m) == 12 else (int(y), int(m) + 1)
            last = (date(year, month, 1).toordinal() if year < 10_000 else date.max.toordinal() + 1) - 1 - _EPOCH
            return ClinicalTime(text, Precision.MONTH, first * _DAY_S - _EAST_S, (last + 1) * _DAY_S - 1 + _WEST_S)
        if hh is None:
            return ClinicalTime(text, Precision.DAY, first * _DAY_S - _EAST_S, (first + 1) * _DAY_S - 1 + _WEST_S)
    except ValueError:
        return ClinicalTime(text, Precision.TEXT)
    past_midnight = int(mm) + int(ss or 0) > 0 or any(digit in "123456789" for digit in fraction or "")
    if int(hh) > 24 or int(mm) > 59 or int(ss or 0) > 60 or (int(hh) == 24 and past_midnight):
        return ClinicalTime(text, Precision.TEXT)
    precision, width = (Precision.MINUTE, 59) if ss is None else (Precision.SECOND, 0)
    start = first * _DAY_S + int(hh) * 3600 + int(mm) * 60 + int(ss or 0)
    if zone is None:
        return ClinicalTime(text, precision, start - _EAST_S, start + width + _WEST_S)
    if zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        start += offset if zone[0] == "-" else -offset
    return ClinicalTime(text, precision, start, start + width)


def check_aware(name: str, moment: datetime | None) -> None:
    """Raises InvalidValue for a moment of ours without a UTC offset; None passes."""
    if moment is not None and moment.tzinfo is None:
        raise InvalidValue(f"{name} is aware (it has a UTC offset)")


def utc(seconds: float) -> datetime:
    """Seconds since 1970 as an aware datetime in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
