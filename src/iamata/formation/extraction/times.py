"""Which dates do words like "on Thursday" or "two weeks ago" mean, counted from when they were said?

A date is as precise as the words: "two months ago" is a month, "three years ago" a year, "last week" and "since my
surgery" have no date. A past weekday is the latest one before the day of speaking; today's own name means a week ago.
The day of speaking is that of the sender's own clock (the offset that `said_at` carries).
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

import msgspec

_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "a couple of": 2,
    "a couple": 2, "couple of": 2,
}  # fmt: skip
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
# Fixed days of the year that people date by.
_FEASTS: Final = {
    "christmas eve": (12, 24), "christmas": (12, 25), "new year's eve": (12, 31), "new year's": (1, 1),
    "new years": (1, 1), "the new year": (1, 1), "halloween": (10, 31), "valentine's day": (2, 14),
    "the fourth of july": (7, 4), "july 4th": (7, 4),
}  # fmt: skip
_AMOUNT: Final = r"(?:\d{1,3}|a couple of|a couple|couple of|" + "|".join(n for n in _NUMBERS if " " not in n) + r")"
_UNIT: Final = r"(?P<unit>minute|hour|day|night|week|month|year)s?"
_LEAD: Final = (
    r"(?:(?:ever since|since|starting|as of|from)\s+)?"
    r"(?:(?:on|in|about|around|the|this past|last|early|late|next|this)\s+)*"
)
_PATTERN: Final = re.compile(
    r"\b(?:"
    rf"(?:(?:since)\s+)?(?:about\s+|around\s+|maybe\s+|like\s+)?(?P<ago>{_AMOUNT})(?P<ago2>\s+(?:or"
    rf"|to)\s+{_AMOUNT})?\s+{_UNIT}\s+(?:ago|back)"
    rf"|(?P<for>for|in|over)\s+(?:the\s+(?:last|past)\s+)?(?:about\s+|around\s+|maybe\s+|almost\s+|over\s+"
    rf"|nearly\s+|at least\s+)?(?P<forn>{_AMOUNT})(?P<forn2>\s+(?:or|to)\s+{_AMOUNT})?\s+(?P<foru>hour|day"
    rf"|night|week|month|year)s?(?:\s+now)?"
    rf"|(?:(?:ever )?since|until|on|by)?\s*(?P<feast>christmas eve|christmas|new year's eve|new year's"
    rf"|new years|the new year|halloween|valentine's day|the fourth of july)\b"
    rf"|{_LEAD}(?P<month>{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov"
    rf"|dec)\.?(?:\s+(?P<mday>\d{{1,2}})(?:st|nd|rd|th)?\b)?(?:,?\s+(?:of\s+)?(?P<myear>(?:19|20)\d\d)"
    rf"|\s+of\s+(?P<lastyear>last year))?(?![\w])"
    rf"|{_LEAD}(?P<dow>{'|'.join(_DAYS)})(?:\s+(?:morning|night|evening|afternoon))?"
    rf"|(?:(?:since)\s+)?(?P<rel>the day before yesterday|yesterday(?:\s+(?:morning|night|evening"
    rf"|afternoon))?|last night|this morning|this afternoon|this evening|today|tonight"
    rf"|tomorrow(?:\s+(?:morning|night|evening))?)"
    rf"|(?:(?:since)\s+)?(?P<vague>last\s+(?:week|month|year|spring|summer|fall|autumn|winter|weekend)"
    rf"|the\s+(?:summer|spring|fall|winter|weekend)|childhood|this\s+(?:week|month|year)|next\s+(?:week|month|year))"
    rf"|(?:(?:since|in|back in|around|from)\s+)(?:about\s+|around\s+)?(?P<year>(?:19|20)\d\d)(?!\d)"
    rf"|(?P<iso>(?:(?:on|since)\s+)?(?P<isod>(?:19|20)\d\d-\d\d-\d\d))"
    rf"|(?P<event>(?:ever\s+)?since\s+(?:(?:my|his|her|the|our)\b|(?:i|he|she|we)\s+(?:started|began|went"
    rf"|had|got|was|moved|stopped|changed|came|left|quit|switched)\b)(?:\s+(?!i've\b|i\b|he's\b|she's\b"
    rf"|he\b|she\b|we've\b|and\b|it\b)[\w'’-]+){{0,4}})"
    r")\b",
    re.IGNORECASE,
)


class When(msgspec.Struct, frozen=True):
    """A time expression: its characters, its words, the date they mean (may be empty), and whether they tell a
    beginning ("since", "for two days") or a point. `future`: they look ahead."""

    start: int
    end: int
    said: str
    date: str
    begins: bool
    future: bool = False


def find_times(text: str, start: int, end: int, said_at: datetime | None, *, ahead: bool = False) -> list[When]:
    """The time expressions within characters `start`:`end`, in order. With `ahead` a weekday is the next one."""
    found = []
    for match in _PATTERN.finditer(text, start, end):
        said = match.group().strip()
        if _is_verb_may(match):
            continue
        begins = (
            bool(re.match(r"(?:ever\s+)?since\b|starting\b|for\b", said, re.IGNORECASE)) or match["for"] is not None
        )
        day = said_at.date() if said_at else None
        lead = len(match.group()) - len(match.group().lstrip())
        found.append(
            When(match.start() + lead, match.end(), said, _date(match, day, ahead), begins, _looks_ahead(match))
        )
    return found


def _is_verb_may(match: re.Match[str]) -> bool:
    """ "may" and "march" are months only after a preposition, or with a day or year."""
    if match["month"] is None or match["month"].lower() not in ("may", "march", "mar"):
        return False
    before = match.group()[: match.start("month") - match.start()].strip().lower()
    return not before and not match["mday"] and not match["myear"]


def _looks_ahead(match: re.Match[str]) -> bool:
    said = match.group().lower()
    return "tomorrow" in said or said.startswith(("next ", "on next"))


def _number(words: str) -> int:
    words = words.lower()
    return int(words) if words.isdigit() else _NUMBERS.get(words, 0)


def _date(match: re.Match[str], day: date | None, ahead: bool) -> str:
    if match["isod"]:
        return match["isod"]
    if match["year"]:
        return match["year"]
    if match["month"] and match["myear"]:
        return _month(match, int(match["myear"]))
    if day is None or match["event"] or match["ago2"] or match["forn2"]:
        return ""  # words without a date, or a range
    if match["ago"]:
        return _back(day, _number(match["ago"]), match["unit"])
    if match["forn"]:
        return (
            _back(day, _number(match["forn"]), match["foru"])
            if match["for"].lower() == "for" or "past" in match.group().lower() or "last" in match.group().lower()
            else ""
        )
    if match["feast"]:
        month, mday = _FEASTS[match["feast"].lower()]
        this = date(day.year, month, mday)
        return (this if this <= day or ahead else date(day.year - 1, month, mday)).isoformat()
    if match["month"]:
        if match["lastyear"]:
            return _month(match, day.year - 1)
        return _month(match, _latest_year(match, day, ahead))
    if match["dow"]:
        return _weekday(_DAYS.index(match["dow"].lower()), day, ahead or "next" in match.group().lower())
    if match["rel"]:
        return _relative(match["rel"].lower(), day)
    return _vague(match["vague"].lower(), day) if match["vague"] else ""


def _back(day: date, count: int, unit: str) -> str:
    unit = unit.lower()
    if unit in ("minute", "hour"):
        return day.isoformat() if count < 6 else ""
    if unit in ("day", "night", "week"):
        return (day - timedelta(days=count * (7 if unit == "week" else 1))).isoformat()
    if unit == "month":
        months = day.year * 12 + day.month - 1 - count
        return f"{months // 12:04d}-{months % 12 + 1:02d}" if months >= 12 else ""
    return f"{day.year - count:04d}" if count < day.year else ""


def _month_number(name: str) -> int:
    return next(i for i, month in enumerate(_MONTHS, 1) if month.startswith(name.lower()[:3]))


def _month(match: re.Match[str], year: int) -> str:
    month = _month_number(match["month"])
    if match["mday"]:
        try:
            return date(year, month, int(match["mday"])).isoformat()
        except ValueError:
            return ""
    return f"{year:04d}-{month:02d}"


def _latest_year(match: re.Match[str], day: date, ahead: bool) -> int:
    """The year in which this month (and day) last came, or comes next."""
    place = (_month_number(match["month"]), int(match["mday"] or 0))
    now = (day.month, day.day if match["mday"] else 0)
    if ahead:
        return day.year if place >= now else day.year + 1
    return day.year if place <= now else day.year - 1


def _weekday(wanted: int, day: date, ahead: bool) -> str:
    if ahead:
        return (day + timedelta(days=(wanted - day.weekday() - 1) % 7 + 1)).isoformat()
    return (day - timedelta(days=(day.weekday() - wanted - 1) % 7 + 1)).isoformat()


def _relative(words: str, day: date) -> str:
    if words.startswith("the day before"):
        return (day - timedelta(days=2)).isoformat()
    if words.startswith(("yesterday", "last night")):
        return (day - timedelta(days=1)).isoformat()
    if words.startswith("tomorrow"):
        return (day + timedelta(days=1)).isoformat()
    return day.isoformat()


def _vague(words: str, day: date) -> str:
    if words == "last month":
        return _back(day, 1, "month")
    if words == "last year":
        return f"{day.year - 1:04d}"
    if words == "this month":
        return f"{day.year:04d}-{day.month:02d}"
    return f"{day.year:04d}" if words == "this year" else ""
