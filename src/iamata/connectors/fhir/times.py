"""When, in FHIR's forms? Dates, instants, periods and timings as clinical times with the precision they were given.

A text that is no date is kept as words and its element remembered for the intake. Not here: which clock it is on.
"""

from __future__ import annotations

from typing import Any

from iamata.model.clinical_time import ClinicalTime, Period, Precision, parse_time


class Times:
    """Reads times of one document. `faults` collects the elements whose text is no date, until they are taken."""

    def __init__(self) -> None:
        self._points: dict[str, ClinicalTime] = {}
        self.faults: list[str] = []

    def point(self, value: object, at: str) -> ClinicalTime | None:
        """A date, dateTime or instant; None if empty. What is no text is a fault too, and gives None."""
        if not isinstance(value, str):
            self.faults.append(at)
            return None
        if not value:
            return None
        found = self._points.get(value)
        if found is None:
            found = self._points[value] = parse_time(value)
        if found.precision is Precision.TEXT:
            self.faults.append(at)
        return found

    def words(self, value: str) -> ClinicalTime:
        """A time that is meant to be words (`performedString`): no fault; a date in it keeps its precision."""
        return parse_time(value)

    def period(self, value: object, at: str) -> Period | None:
        """A Period; None if it has neither start nor end."""
        if not isinstance(value, dict):
            self.faults.append(at)
            return None
        start = self.point(value["start"], f"{at}/start") if value.get("start") is not None else None
        end = self.point(value["end"], f"{at}/end") if value.get("end") is not None else None
        return Period(start, end) if start or end else None

    def timing(self, value: object, at: str) -> ClinicalTime | Period | None:
        """A Timing's bounds or its events as a period, a single event as a point, else its words."""
        if not isinstance(value, dict):
            self.faults.append(at)
            return None
        bounds = repeat_of(value).get("boundsPeriod")
        if bounds is not None:
            return self.period(bounds, f"{at}/repeat/boundsPeriod")
        events = value.get("event")
        points = [p for e in events if (p := self.point(e, f"{at}/event"))] if isinstance(events, list) else []
        if len(points) > 1:
            ordered = sorted(points, key=lambda p: (p.earliest is None, p.earliest or 0, p.text))
            return Period(ordered[0], ordered[-1])
        if points:
            return points[0]
        words = frequency(value)
        return ClinicalTime(words, Precision.TEXT) if words else None


def repeat_of(timing: dict[str, Any]) -> dict[str, Any]:
    repeat = timing.get("repeat")
    return repeat if isinstance(repeat, dict) else {}


def frequency(timing: dict[str, Any]) -> str:
    """How often, in words: `3 per 1 d`, `1-2 per 8 h`, else the timing's code or text, else its `when` codes; or empty.

    FHIR R4 Timing.repeat: frequency is 1 if only a period is given.
    """
    repeat = repeat_of(timing)
    period, unit = repeat.get("period"), repeat.get("periodUnit")
    if period is not None and isinstance(unit, str):
        often = str(repeat.get("frequency", 1))
        most = repeat.get("frequencyMax")
        span = f"{period}-{repeat['periodMax']}" if repeat.get("periodMax") is not None else str(period)
        return f"{often}-{most} per {span} {unit}" if most is not None else f"{often} per {span} {unit}"
    code = timing.get("code")
    if isinstance(code, dict):
        text = code.get("text")
        if isinstance(text, str) and text:
            return text
        codings = code.get("coding")
        for coding in codings if isinstance(codings, list) else ():
            if isinstance(coding, dict) and (said := coding.get("display") or coding.get("code")):
                return str(said)
    when = [each for each in repeat.get("when") or () if isinstance(each, str)]
    days = [each for each in repeat.get("dayOfWeek") or () if isinstance(each, str)]
    return " ".join([*when, *days])
