"""How are HL7 v2 data types read? Each function takes a repetition of a field and gives a value of the model.

What is empty gives None or an empty text. Not here: which field means what.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from iamata.connectors.hl7v2.segments import Repetition, Segment
from iamata.model.clinical_time import ClinicalTime, Period, parse_time
from iamata.model.coding import BusinessIdentifier, CodedText, Coding, Quantity, Range, Ratio
from iamata.terminology.hl7v2 import system_url
from iamata.terminology.hl7v2 import word as word_of
from iamata.terminology.systems import normal
from iamata.terminology.units import ucum

_TS = re.compile(
    r"(?P<y>\d{4})(?:(?P<mo>\d\d)(?:(?P<d>\d\d)(?:(?P<h>\d\d)(?:(?P<mi>\d\d)(?:(?P<s>\d\d)(?P<f>\.\d{1,6})?)?)?)?)?)?"
    r"(?P<z>[+-]\d{4})?\Z"
)
# Degree of precision, the second component of TS before v2.6 (table 0529): how many digits are meant.
_PRECISIONS: Final = {"Y": 4, "L": 6, "D": 8, "H": 10, "M": 12, "S": 99}
_COUNT_DIGITS = 9
_NUMBER = re.compile(r"(?P<comparator>[<>]=?)?\s*(?P<value>[+-]?(?:\d+(?:\.\d*)?|\.\d+))\Z")
_RANGE = re.compile(
    r"(?P<low>-?\d+(?:\.\d+)?)\s*(?:-|_|to|–)\s*(?P<high>-?\d+(?:\.\d+)?)\s*(?P<unit>[^\d\s].*)?\Z", re.IGNORECASE
)
_BOUND = re.compile(r"(?P<comparator>[<>]=?)\s*(?P<value>-?\d+(?:\.\d+)?)\Z")


def time_of(repetition: Repetition | None, component: int = 1) -> ClinicalTime | None:
    """A TS, DTM or DT with the precision and the offset it was given; text that is no time is kept as words.

    An hour without minutes is kept as its day, which is coarser and true. The zone of the message (MSH-7) is not lent
    to other times, because an item would then not be the same in two messages.
    """
    if repetition is None:
        return None
    raw = repetition.text(component)
    if not raw:
        return None
    match = _TS.match(raw)
    if match is None:
        return parse_time(raw)
    digits = _PRECISIONS.get(repetition.text(component + 1), 99) if component == 1 and repetition.size == 2 else 99
    y, mo, d, h, mi, s, f, z = match.groups()
    iso = y
    if mo and digits >= 6:
        iso += f"-{mo}"
        if d and digits >= 8:
            iso += f"-{d}"
            if h and mi and digits >= 12:
                iso += f"T{h}:{mi}"
                if s:
                    iso += f":{s}{f or ''}"
                if z:
                    iso += f"{z[:3]}:{z[3:]}"
    return parse_time(iso)


def time_in(segment: Segment, number: int, component: int = 1) -> ClinicalTime | None:
    return time_of(segment.first(number), component)


def period(start: ClinicalTime | None, end: ClinicalTime | None) -> ClinicalTime | Period | None:
    """From start to end; the start alone is a point; None if neither is said."""
    if end is None:
        return start
    return Period(start, end)


def coding(code: str, display: str, system: str, oid: str = "") -> Coding | None:
    """A code with its system as sent; `normal` where the system is one that we know."""
    if not code and not display:
        return None
    known = (normal(oid, code) if oid else "") or (normal(system_url(system), code) if system else "")
    return Coding(system, code, display, known)


def coded(repetition: Repetition | None, *, table: str = "") -> CodedText | None:
    """A CWE, CE, CNE, CF, or an IS or ID of this HL7 table; None if it says nothing.

    A first component alone, of no table, is words, not a code of no system. CWE.9 is the text as it was meant.
    """
    if repetition is None:
        return None
    code, display, system = (repetition.text(n) for n in (1, 2, 3))
    text = repetition.text(9)
    if code and not display and not system:
        if table:
            word = word_of(table, code)
            return CodedText(text or word, (Coding(f"HL7{table}", code),))
        return CodedText(text or code)
    found = []
    for start, oid in ((1, 14), (4, 17), (10, 20)):
        each = coding(
            repetition.text(start), repetition.text(start + 1), repetition.text(start + 2), repetition.text(oid)
        )
        if each is not None:
            found.append(each)
    return CodedText(text, tuple(found)) if found or text else None


def by_url(concept: CodedText) -> CodedText:
    """The concept with the URLs of its systems, as tables of other standards name them."""
    codings = tuple(Coding(system_url(c.system), c.code, c.display, c.normal) for c in concept.codings)
    return CodedText(concept.text, codings)


def coded_in(segment: Segment, number: int, *, table: str = "") -> CodedText | None:
    """A coded field; several repetitions are one concept with all their codes."""
    found = [each for repetition in segment.repetitions(number) if (each := coded(repetition, table=table)) is not None]
    return joined(found)


def joined(found: Iterable[CodedText]) -> CodedText | None:
    several = list(dict.fromkeys(found))
    if len(several) < 2:
        return several[0] if several else None
    words = "; ".join(dict.fromkeys(each.display for each in several))
    return CodedText(words, tuple(dict.fromkeys(c for each in several for c in each.codings)))


def code_in(segment: Segment, number: int) -> str:
    """The code of a coded field (its first component)."""
    return segment.text(number)


def words_of(concept: CodedText | None) -> str:
    return concept.display if concept is not None else ""


def authority(repetition: Repetition, component: int) -> str:
    """An assigning authority (HD in a component): its universal id, else its namespace; empty if it is absent."""
    return repetition.text(component, 2) or repetition.text(component, 1)


def entity(repetition: Repetition | None) -> BusinessIdentifier | None:
    """An EI (`id^namespace^universal id^type`), also written with subcomponents; None if it has no id."""
    if repetition is None:
        return None
    if repetition.size == 1:
        parts = [*repetition.subcomponents(1), "", "", ""]
        value, namespace, universal = parts[0], parts[1], parts[2]
    else:
        value, namespace, universal = (repetition.text(n) for n in (1, 2, 3))
    return BusinessIdentifier(universal or namespace, value) if value else None


def entity_in(segment: Segment | None, number: int) -> BusinessIdentifier | None:
    return entity(segment.first(number)) if segment is not None else None


def extended_id(repetition: Repetition | None) -> BusinessIdentifier | None:
    """A CX (`id^check^scheme^authority^type`); None if it has no id."""
    if repetition is None or not repetition.text():
        return None
    return BusinessIdentifier(authority(repetition, 4), repetition.text())


def person_name(repetition: Repetition | None) -> str:
    """An XPN as `Given Middle Family`, so that the family name is the last word; suffix and prefix are left out."""
    if repetition is None:
        return ""
    family = repetition.text(1) if not repetition.text(1, 2) or repetition.text(1, 1) else repetition.text(1, 3)
    return " ".join(filter(None, [repetition.text(2), repetition.text(3), family]))


def clinician_name(repetition: Repetition) -> str:
    """An XCN or CNN by name (`Dr Given Middle Family`), else its id."""
    prefix, given, middle, family = (repetition.text(n) for n in (6, 3, 4, 2))
    return " ".join(filter(None, [prefix, given, middle, family])) if family or given else repetition.text(1)


def listed_name(repetition: Repetition) -> tuple[str, str, str]:
    """An NDL, whose first component is a CNN in subcomponents, or an XCN in its place: id, name, authority."""
    parts = repetition.subcomponents(1)
    if len(parts) == 1 and repetition.size > 1 and repetition.text(2) and not repetition.text(2)[:8].isdigit():
        return repetition.text(1), clinician_name(repetition), authority(repetition, 9)
    parts += [""] * 10
    name = " ".join(filter(None, [parts[5], parts[2], parts[3], parts[1]])) if parts[1] or parts[2] else parts[0]
    return parts[0], name, parts[9] or parts[8]


def organization_name(repetition: Repetition) -> tuple[str, str, str]:
    """An XON (`name^type^id^…^authority^…^id`): name, id, authority."""
    return repetition.text(1), repetition.text(10) or repetition.text(3), authority(repetition, 6)


def place_name(repetition: Repetition | None) -> str:
    """A PL (point of care, room, bed, facility …) in words."""
    if repetition is None:
        return ""
    parts = [repetition.text(1), repetition.text(7), repetition.text(8), repetition.text(4)]
    room, bed, said = repetition.text(2), repetition.text(3), repetition.text(9)
    parts[1:1] = [f"room {room}" if room.isdigit() else room, f"bed {bed}" if bed.isdigit() else bed]
    return ", ".join(dict.fromkeys(filter(None, parts))) or said


def address(repetition: Repetition) -> str:
    """An XAD on one line; the parts of a street (SAD) with blanks between them."""
    street = " ".join(filter(None, repetition.subcomponents(1)))
    parts = [street, *(repetition.text(number) for number in (2, 3, 4, 5, 6))]
    return ", ".join(filter(None, parts))


def addresses(segment: Segment, number: int) -> str:
    return "; ".join(filter(None, (address(each) for each in segment.repetitions(number))))


def telecoms(segment: Segment, *numbers: int) -> str:
    """XTN in words: the number as it was sent, else put together from its parts; mail addresses too."""
    found = []
    for number in numbers:
        for each in segment.repetitions(number):
            mail = each.text(4) if "@" in each.text(4) else ""
            area = "-".join(filter(None, [each.text(5), each.text(6), each.text(7)])) if each.text(7) else ""
            found.append(each.text(1) or mail or area or each.text(12))
    return "; ".join(dict.fromkeys(filter(None, found)))


def unit_of(repetition: Repetition | None) -> tuple[str, str, str]:
    """Units (CWE): the unit to show, the code, its UCUM form."""
    if repetition is None:
        return "", "", ""
    code, text, system = (repetition.text(n) for n in (1, 2, 3))
    url = system_url(system) if system else ""
    if url == "http://unitsofmeasure.org":
        return code or text, code, ucum(code or text, url, code)
    shown = text if text and code.isdigit() else code or text  # a code of digits is no unit to read
    return shown, "", ucum(code) or ucum(text)


def quantity(value: str, unit: tuple[str, str, str] = ("", "", "")) -> Quantity | None:
    """A number with a comparator it may have (`<5`); None if the text is no number."""
    match = _NUMBER.match(value.strip())
    if match is None:
        return None
    shown, code, normalised = unit
    return Quantity(match["value"], shown, code, match["comparator"] or "", normalised)


def whole_number(text: str) -> int | None:
    """A count such as that of refills; None if the text is none, or of more digits than a count has."""
    return int(text) if text.isdecimal() and len(text) <= _COUNT_DIGITS else None


def structured_number(repetition: Repetition, unit: tuple[str, str, str]) -> Quantity | Range | Ratio | str | None:
    """An SN (`comparator^number^separator^number`): an amount, a range, a ratio; other forms in words."""
    comparator, first, separator, second = (repetition.text(n) for n in (1, 2, 3, 4))
    low = quantity(f"{comparator if comparator in ('<', '<=', '>', '>=') else ''}{first}", unit)
    if low is not None and not separator and not second and comparator in ("", "=", "<", "<=", ">", ">="):
        return low
    high = quantity(second, unit)
    if low is not None and high is not None and comparator in ("", "="):
        if separator == "-":
            return Range(low, high)
        if separator in (":", "/"):
            return Ratio(low, high)
    return "".join((comparator, first, separator, second)) or None


def reference_range(text: str, unit: tuple[str, str, str]) -> Range | str | None:
    """`4.3 to 6.2`, `70-105`, `<5` as a range in the unit of the result; other texts as they are."""
    said = text.strip()
    if not said:
        return None
    match = _RANGE.match(said)
    if match and not match["unit"]:
        return Range(quantity(match["low"], unit), quantity(match["high"], unit))
    bound = _BOUND.match(said)
    if bound:
        edge = quantity(bound["value"], unit)
        if bound["comparator"] == "<=":
            return Range(None, edge)
        if bound["comparator"] == ">=":
            return Range(edge, None)
    return said
