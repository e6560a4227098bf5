"""What do single elements say? Dates, amounts, codes and names, as sent.

Nothing is invented: a date keeps its precision and gets no zone; an amount is in US dollars unless CUR says otherwise,
because the guides require CUR for every other currency. Codes get no descriptions: most of them may not be shipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from iamata.connectors.x12.decoding import Segment
from iamata.model.clinical_time import ClinicalTime, Period, Precision, parse_time
from iamata.model.coding import CodedText, Coding, Quantity
from iamata.terminology.systems import normal
from iamata.terminology.x12 import CodeList, code_list

_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)\Z")
_MINUTE = re.compile(r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?\Z")
_CLOCK = re.compile(r"(\d\d)(\d\d)(\d\d)?\d{0,2}\Z")


def point(text: str) -> ClinicalTime | None:
    """CCYYMMDD or CCYYMMDDHHMM[SS]; anything else is kept as words. None if empty."""
    if not text:
        return None
    if match := _DAY.match(text):
        return parse_time("-".join(match.groups()))
    if match := _MINUTE.match(text):
        y, m, d, hh, mm, ss = match.groups()
        return parse_time(f"{y}-{m}-{d}T{hh}:{mm}" + (f":{ss}" if ss else ""))
    return ClinicalTime(text, Precision.TEXT)


def when(qualifier: str, text: str) -> ClinicalTime | Period | None:
    """A date with its format qualifier (X12 element 1250): RD8 and RDT are periods, others points."""
    if qualifier in ("RD8", "RDT") and "-" in text:
        start, _, end = text.partition("-")
        if start == end:
            return point(start)
        return Period(point(start), point(end)) if start or end else None
    return point(text)


def dated(segments: Iterable[Segment], *codes: str) -> ClinicalTime | Period | None:
    """The first DTP with one of these codes, in the order of the codes."""
    held = [s for s in segments if s.id == "DTP"]
    for code in codes:
        for segment in held:
            if segment.get(1) == code and (at := when(segment.get(2), segment.get(3))) is not None:
                return at
    return None


def starting(at: ClinicalTime | Period | None) -> ClinicalTime | None:
    """The first moment of a time."""
    return (at.start or at.end) if isinstance(at, Period) else at


def overall(times: Sequence[ClinicalTime | Period]) -> ClinicalTime | Period | None:
    """From the earliest to the latest of days and periods; None without any date."""
    points = [p for at in times for p in ((at.start, at.end) if isinstance(at, Period) else (at,)) if p is not None]
    points = sorted((p for p in points if p.earliest is not None), key=lambda p: (p.earliest or 0, p.text))
    if not points:
        return None
    return points[0] if points[0].text == points[-1].text else Period(points[0], points[-1])


def stamp(day: str, clock: str = "") -> str:
    """Date and time elements as one ISO text for `RecordIdentity.updated`; empty if the date is none."""
    at = point(day)
    if at is None or at.precision is not Precision.DAY:
        return ""
    match = _CLOCK.match(clock)
    text = f"{at.text}T{match.group(1)}:{match.group(2)}" if match else at.text
    return text if parse_time(text).earliest is not None else at.text


def money(text: str, currency: str) -> Quantity | None:
    """An amount as sent, with its currency (ISO 4217); None if empty."""
    return Quantity(text, unit=currency) if text else None


def currency_of(segments: Iterable[Segment]) -> str:
    """CUR02, else US dollars (005010 guides: CUR is required for any other currency)."""
    return next((s.get(2) for s in segments if s.id == "CUR" and s.get(2)), "USD")


def coding(system: str, code: str) -> Coding:
    return Coding(system, code, normal=normal(system, code))


def procedure(parts: Sequence[str]) -> CodedText | None:
    """A medical procedure identifier (composite C003): qualifier, code, modifiers; None without a code.

    HC covers CPT and HCPCS level II; CPT codes begin with a digit (HCPCS level II codes with a letter).
    """
    qualifier, code = (*parts, "", "")[:2]
    if not code:
        return None
    found = code_list("procedure", f"{qualifier}:digit" if code[0].isdigit() else qualifier) or code_list(
        "procedure", qualifier
    )
    return CodedText(codings=(coding(found.system if found else "", code),))


def modifiers(parts: Sequence[str]) -> str:
    """The procedure modifiers (C003-3 to C003-6), as sent."""
    return " ".join(filter(None, parts[2:6]))


def health_code(parts: Sequence[str]) -> tuple[CodeList, CodedText] | None:
    """A health care code (composite C022): what its qualifier says it is, and the code; None for what is not listed."""
    qualifier, code = (*parts, "", "")[:2]
    found = code_list("health", qualifier)
    if found is None or not code:
        return None
    return found, CodedText(codings=(coding(found.system, code),))


def name_of(segment: Segment) -> str:
    """The name in an NM1 or N1: `Jane Q Smith`, or the organization's."""
    if segment.id == "N1":
        return segment.get(2)
    if segment.get(2) == "2":
        return segment.get(3)
    order = (6, 4, 5, 3, 7)  # prefix, first, middle, last, suffix
    return " ".join(filter(None, (segment.get(n) for n in order)))


def address_of(segments: Iterable[Segment]) -> str:
    """N3 and N4 in one line."""
    lines: list[str] = []
    for segment in segments:
        if segment.id == "N3":
            lines += [segment.get(1), segment.get(2)]
        elif segment.id == "N4":
            lines += [segment.get(1), " ".join(filter(None, (segment.get(2), segment.get(3)))), segment.get(4)]
    return ", ".join(filter(None, lines))


def telecom_of(segments: Iterable[Segment]) -> str:
    """The numbers of PER with their qualifiers in words (`phone:…`), as sent."""
    from_code = {"TE": "phone", "HP": "phone", "WP": "phone", "CP": "phone", "FX": "fax", "EM": "email", "UR": "url"}
    found = []
    for segment in segments:
        if segment.id == "PER":
            for position in (3, 5, 7):
                value, kind = segment.get(position + 1), from_code.get(segment.get(position), "")
                if value:
                    found.append(f"{kind}:{value}" if kind else value)
    return "; ".join(found)
