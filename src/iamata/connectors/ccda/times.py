"""When, in CDA's forms? TS, IVL_TS, PIVL_TS and EIVL_TS as clinical times and words, nothing invented.

HL7 V3 data types R1: a TS is `YYYYMMDDHHMMSS.UUUU+ZZZZ` cut anywhere. A time of day that is only an hour is kept as its
day, because an hour alone has no form in ISO 8601 that keeps its precision.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from iamata.connectors.ccda.nodes import Node
from iamata.model.clinical_time import ClinicalTime, Period, Precision, parse_time
from iamata.terminology.units import number

_TS = re.compile(r"(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(\.\d+)?)?)?)?)?)?(?:([+-]\d\d)(\d\d)|Z)?\Z")
_PARTS = ("PIVL_TS", "EIVL_TS")
# Units of a period as FHIR's Timing.repeat.periodUnit writes them; both are UCUM (V3 data types, PIVL.period is a PQ).
_DAY_HOURS = 24
_SHORTEST = Decimal("0.01")  # hours: nothing is given every 36 seconds


class When(NamedTuple):
    """`at`: a point or a period; `frequency`: how often, in words; `ended`: it is said to have ended, though not when.

    `width` is the duration as sent when only one end of an interval is given.
    """

    at: ClinicalTime | Period | None
    frequency: str = ""
    ended: bool = False
    width: str = ""


def point(text: str) -> ClinicalTime | None:
    """A TS literal with the precision it has; words where it is none; None if it is empty or zeros."""
    text = text.strip()
    if not text.strip("0"):  # empty, or zeros that stand for no date
        return None
    match = _TS.match(text)
    if not match:
        return parse_time(text)
    year, month, day, hour, minute, second, fraction, zone_hour, zone_minute = match.groups()
    iso = year
    for part in (month, day):
        iso += f"-{part}" if part else ""
    if minute:
        iso += f"T{hour}:{minute}" + (f":{second}" if second else "") + (fraction or "")
        if zone_hour:
            iso += f"{zone_hour}:{zone_minute}"
        elif text.endswith("Z"):
            iso += "Z"
    read = parse_time(iso)
    return ClinicalTime(text, Precision.TEXT) if read.precision is Precision.TEXT else read


def stamp(node: Node | None) -> ClinicalTime | None:
    """The point of a `time` or `effectiveTime` element: its value, else its low or center."""
    if node is None:
        return None
    if node.get("value"):
        return point(node.get("value"))
    for name in ("low", "center", "high"):
        inner = node.one(name)
        if inner is not None and inner.get("value"):
            return point(inner.get("value"))
    return None


def when(nodes: list[Node]) -> When:
    """Every `effectiveTime` of an act together: the first interval or point, and the frequencies of the others."""
    at: ClinicalTime | Period | None = None
    ended, width = False, ""
    often: list[str] = []
    for node in _flat(nodes):
        type = node.get("xsi:type").rpartition(":")[2]
        if type in _PARTS or node.one("period") is not None or node.one("event") is not None:
            if words := _frequency(node):
                often.append(words)
            continue
        found = _interval(node)
        if at is None and found.at is not None:
            at = found.at
            width = found.width
        ended = ended or found.ended
        width = width or (found.width if at is None else "")
    return When(at, ", ".join(dict.fromkeys(often)), ended, width)


def _flat(nodes: list[Node]) -> list[Node]:
    """The components of a set of times (SXPR_TS) beside the others."""
    found = []
    for node in nodes:
        inner = node.all("comp")
        found += inner or [node]
    return found


def _interval(node: Node) -> When:
    if node.get("value"):
        return When(point(node.get("value")))
    low, high, center, width = (node.one(name) for name in ("low", "high", "center", "width"))
    start = point(low.get("value")) if low is not None else None
    end = point(high.get("value")) if high is not None else None
    # C-CDA R2.1 Problem Observation: a high with nullFlavor UNK is resolved at an unknown date.
    ended = end is not None or (high is not None and high.nil == "UNK")
    if start is None and end is None:
        middle = point(center.get("value")) if center is not None else None
        return When(middle, ended=ended)
    span = f"{width.get('value')} {width.get('unit')}".strip() if width is not None else ""
    return When(Period(start, end), ended=ended, width=span)


def _frequency(node: Node) -> str:
    """`1 per 6 h`, `1 per 4-6 h`, `2 per 1 d` (institutionSpecified), or the code of a daily event (`HS`, `AC`)."""
    words = []
    period = node.one("period")
    if period is not None:
        words.append(_period(period, node.get("institutionSpecified") == "true"))
    event = node.one("event")
    if event is not None and event.get("code"):
        words.append(event.get("code"))
    offset = node.one("offset")
    if offset is not None:
        words.append(_offset(offset))
    return " ".join(filter(None, words))


def _period(period: Node, times_a_day: bool) -> str:
    unit = period.get("unit")
    value = period.get("value")
    low, high = period.one("low"), period.one("high")
    if not value and (low is not None or high is not None):
        ends = [each.get("value") for each in (low, high) if each is not None and each.get("value")]
        unit = unit or next((e.get("unit") for e in (low, high) if e is not None and e.get("unit")), "")
        value = "-".join(ends)
    if not value:
        return ""
    hours = number(value)
    # V3 data types, PIVL.institutionSpecified: true means so many times a day rather than at that distance.
    if times_a_day and unit == "h" and hours and _SHORTEST <= hours <= _DAY_HOURS and _DAY_HOURS % hours == 0:
        return f"{int(_DAY_HOURS / hours)} per 1 d"
    return f"1 per {value} {unit}".strip()


def _offset(offset: Node) -> str:
    low, width = offset.one("low"), offset.one("width")
    value = f"{low.get('value')} {low.get('unit')}".strip() if low is not None else ""
    span = f"for {width.get('value')} {width.get('unit')}".strip() if width is not None else ""
    return f"offset {value} {span}".strip() if value.strip(" 0") or span else ""
