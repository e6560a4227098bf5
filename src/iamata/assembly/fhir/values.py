"""How does one value of ours read in FHIR R4? Codes, amounts, times as precise as they were said. Judges nothing.

FHIR knows no time of day without a zone and no words where a date belongs: what does not fit is told less precisely
(a time without a zone as its day) or not at all, never more precisely than it was said.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from iamata.model.clinical_time import ClinicalTime, Period, Precision
from iamata.model.coding import BusinessIdentifier, CodedText, Coding, Quantity, Range, Ratio
from iamata.model.statement import Value
from iamata.terminology.systems import alias
from iamata.terminology.tables import rows

Json = dict[str, Any]
UCUM: Final = "http://unitsofmeasure.org"
ABSENT: Final = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
_DATE: Final = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?\Z", re.ASCII)
# FHIR R4 dateTime: seconds must be there and may be zero-filled; a zone must be there.
_TIMED: Final = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)T(?P<hm>([01]\d|2[0-3]):[0-5]\d)(?P<s>:[0-5]\d(\.\d+)?)?(?P<z>Z|[+-]\d\d:\d\d)\Z",
    re.ASCII,
)
_OID: Final = re.compile(r"[0-2](\.(0|[1-9]\d*))+\Z", re.ASCII)
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+\Z", re.ASCII)
_CODE: Final = re.compile(r"\S+( \S+)*\Z")


def clean(text: str) -> str:
    """A FHIR string: no control characters, no blanks around it."""
    if not text.isprintable():
        text = "".join(c for c in text if c in "\t\n\r" or c >= " ")
    return text.strip()


@cache
def _addresses() -> dict[str, str]:
    """Short name of a system → its address in FHIR."""
    found: dict[str, str] = {}
    for row in rows("systems"):
        name = row["name"] if ":" in row["name"] else f"urn:oid:{row['name']}"
        if row["alias"] not in found or found[row["alias"]].startswith("urn:oid:"):
            found[row["alias"]] = name
    return found


def system(sent: str) -> str:
    """The address of a code or identifier system as FHIR writes it; empty for a name that is no address."""
    known = alias(sent)
    if known:
        return _addresses()[known]
    sent = sent.strip()
    if _OID.match(sent):
        return f"urn:oid:{sent}"
    return sent if _URI.match(sent) else ""


def concept(coded: CodedText | str, *, otherwise: str = "") -> Json:
    """A CodeableConcept; its text is what the source said, its codes as the sources gave them."""
    if isinstance(coded, str):
        return {"text": clean(coded) or otherwise or "unknown"}
    found: Json = {}
    codings = [each for coding in coded.codings if (each := _coding(coding))]
    if codings:
        found["coding"] = codings
    text = clean(coded.text) or ("" if codings else clean(coded.display) or otherwise or "unknown")
    if text:
        found["text"] = text
    return found


def _coding(coding: Coding) -> Json:
    code, display = coding.code.strip(), clean(coding.display)
    found: Json = {}
    if at := system(coding.system):
        found["system"] = at
    if code and _CODE.match(code):
        found["code"] = code
    if display:
        found["display"] = display
    return found if "code" in found or "display" in found else {}


def coded(of: str, code: str, display: str = "") -> Json:
    """A CodeableConcept of one code of ours to choose."""
    return {"coding": [{"system": of, "code": code} | ({"display": display} if display else {})]}


def number(text: str) -> Decimal | None:
    """The number with its digits, or None for what is no number."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 30 else None


def quantity(value: Quantity) -> Json | None:
    """A Quantity, or None if its value is no number."""
    amount = number(value.value)
    if amount is None:
        return None
    found: Json = {"value": amount}
    if value.comparator in ("<", "<=", ">=", ">"):
        found["comparator"] = value.comparator
    if unit := clean(value.unit or value.code):
        found["unit"] = unit
    if value.ucum and _CODE.match(value.ucum):
        found |= {"system": UCUM, "code": value.ucum}
    return found


def _simple(value: Quantity | None) -> Json | None:
    found = quantity(value) if value is not None else None
    return {k: v for k, v in found.items() if k != "comparator"} if found else None


def range_of(value: Range) -> Json | None:
    found = {k: v for k, v in (("low", _simple(value.low)), ("high", _simple(value.high))) if v is not None}
    return found or None


def ratio(value: Ratio) -> Json | None:
    over, under = quantity(value.numerator), quantity(value.denominator)
    return {"numerator": over, "denominator": under} if over and under else None


def moment(time: ClinicalTime | None) -> str:
    """A dateTime, no more precise than it was said; empty for words."""
    if time is None or time.precision is Precision.TEXT:
        return ""
    if _DATE.match(time.text):
        return time.text
    timed = _TIMED.match(time.text)
    if timed:
        return f"{timed['day']}T{timed['hm']}{timed['s'] or ':00'}{timed['z']}"
    return time.text[:10] if _DATE.match(time.text[:10]) else ""


def day(time: ClinicalTime | None) -> str:
    """A date: at most the day."""
    return moment(time)[:10]


def period(value: Period) -> Json:
    """A Period; without its end where that is before its start."""
    found = {k: v for k, v in (("start", moment(value.start)), ("end", moment(value.end))) if v}
    start, end = value.start, value.end
    if (
        len(found) == 2
        and start is not None
        and end is not None
        and start.earliest is not None
        and end.latest is not None
        and end.latest < start.earliest
    ):
        del found["end"]
    return found


def words(value: Value | None) -> str:
    """Any value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, CodedText):
        return clean(value.display)
    return clean(str(value)) if value is not None else ""


def choice(stem: str, value: Value | None, types: frozenset[str]) -> Json:
    """`stem[x]` as the first of these types that can say it (`string` says anything); empty if none can."""
    made = _typed(value)
    if made is not None and made[0] in types:
        return {stem + made[0][0].upper() + made[0][1:]: made[1]}
    text = words(value)
    return {f"{stem}String": text} if text and "string" in types else {}


def _typed(value: Value | None) -> tuple[str, Any] | None:
    found: tuple[str, Any] | None = None
    match value:
        case bool():
            found = ("boolean", value)
        case int():
            found = ("integer", value) if abs(value) < 2**31 else None
        case CodedText():
            found = ("CodeableConcept", concept(value))
        case Quantity():
            found = ("Quantity", quantity(value))
        case Range():
            found = ("Range", range_of(value))
        case Ratio():
            found = ("Ratio", ratio(value))
        case ClinicalTime():
            found = ("dateTime", moment(value))
        case Period():
            found = ("Period", period(value))
        case str():
            found = ("string", clean(value))
    return found if found is not None and found[1] not in (None, "", {}) else None


def absent(why: str = "unknown") -> Json:
    """That a value is not there, and why."""
    return {"extension": [{"url": ABSENT, "valueCode": why}]}


def identifier(named: BusinessIdentifier) -> Json:
    value = clean(named.value)
    if not value:
        return {}
    at = system(named.system)
    return ({"system": at} if at else {}) | {"value": value}


def urn(kind: str, name: str) -> str:
    """An address of ours for a name as somebody else spells it."""
    return f"urn:iamata:{kind}:{quote(name, safe='')}"


def put(resource: Json, name: str, value: Any, make: Callable[[Any], Any] = lambda value: value) -> None:
    """Set an element, unless there is nothing to say."""
    if value is None or value == "" or value == () or value == []:
        return
    made = make(value)
    if made is not None and made != "" and made != {} and made != []:
        resource[name] = made
