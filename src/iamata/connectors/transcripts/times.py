"""When was a turn said? Times with an offset as they are, those without by the zone that the sender names, and those
that count from the beginning (`00:01:23`) by the beginning. Without zone or beginning no time is made up."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from iamata.errors import BadInput

_OFFSET_TEXT: Final = re.compile(r"\s*\d+(?::\d{1,2}){1,2}(?:[.,]\d{1,6})?\s*\Z|\s*\d+(?:[.,]\d+)?\s*\Z")
_ZONE_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<h>\d{2}):?(?P<m>\d{2})\Z")
# Longer than any talk: a number beyond it is no offset but some other count (Unix seconds).
_LONGEST_S: Final = 7 * 24 * 3600


class Times:
    """How the times of one transcript are read. `begins_at` is aware; `zone` an IANA name, `Z` or an offset.

    Raises BadInput for a zone that there is not, and for a beginning without an offset where no zone is named.
    """

    def __init__(self, begins_at: datetime | None = None, zone: str = "") -> None:
        self._zone = _zone(zone)
        if begins_at is not None and begins_at.tzinfo is None:
            if self._zone is None:
                raise BadInput("the beginning has an offset, or the time zone is named", place="begins_at")
            begins_at = begins_at.replace(tzinfo=self._zone)
        self._begins_at = begins_at
        self.unknown = 0  # how many offsets had no beginning to count from

    def said(self, text: str, place: str) -> datetime | None:
        """A time or an offset as written. Raises BadInput for one that is neither, or has no zone."""
        text = text.strip()
        if not text:
            return None
        if _OFFSET_TEXT.match(text):
            return self.after(seconds_of(text, place), place)
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise BadInput("a time is ISO 8601, such as 2026-02-15T09:00Z", place=place) from None
        return self.aware(at, place)

    def aware(self, at: datetime, place: str) -> datetime:
        """The moment, in the named zone where it has no offset of its own."""
        if at.tzinfo is not None:
            return at
        if self._zone is None:
            raise BadInput("a time has its offset (2026-02-15T09:00Z), or the time zone is named", place=place)
        return _fixed(at.replace(tzinfo=self._zone))

    def after(self, seconds: float, place: str) -> datetime | None:
        """The moment so long after the beginning; None if nobody says when that was."""
        if seconds > _LONGEST_S:
            raise BadInput("counted from the beginning, this is longer than any talk", place=place)
        if self._begins_at is None:
            self.unknown += 1
            return None
        # Elapsed time is counted in UTC: the clock of a zone may jump during the talk.
        return _fixed((self._begins_at.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(self._begins_at.tzinfo))


def _fixed(at: datetime) -> datetime:
    """With the offset that its zone had then: what is stored keeps offsets, not zones."""
    return at.replace(tzinfo=timezone(at.utcoffset() or timedelta()))


def seconds_of(text: str, place: str) -> float:
    """`01:02:03.5`, `02:03,500` or `83.5` in seconds. Raises BadInput for minutes or seconds over 59."""
    *more, last = text.strip().replace(",", ".").split(":")
    try:
        parts = [*(int(part) for part in more), float(last)]
    except ValueError:
        raise BadInput("a time within a talk is written as 00:01:23.500", place=place) from None
    if any(not 0 <= part < 60 for part in parts[1:]) or parts[0] < 0:
        raise BadInput("minutes and seconds end at 59", place=place)
    return float(sum(part * 60**power for power, part in enumerate(reversed(parts))))


def _zone(name: str) -> tzinfo | None:
    if not name:
        return None
    if name in ("Z", "UTC"):
        return UTC
    if (offset := _ZONE_OFFSET.match(name)) is not None:
        span = timedelta(hours=int(offset["h"]), minutes=int(offset["m"]))
        if span < timedelta(hours=24):
            return timezone(-span if offset["sign"] == "-" else span)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadInput("not a time zone: an IANA name such as Europe/Berlin, Z, or +02:00", place="time_zone") from None
