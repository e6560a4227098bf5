"""How do the leaves look in JSON: times, codes, amounts, names of fields?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from iamata.model.clinical_time import ClinicalTime, Period, Timed
from iamata.model.coding import CodedText, Quantity, Range, Ratio
from iamata.model.statement import Component, Value

Json = dict[str, Any]


def instant(at: datetime) -> str:
    """A moment of ours: ISO 8601 in UTC, ending in `Z`."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def instant_or_none(at: datetime | None) -> str | None:
    return None if at is None else instant(at)


def camel(name: str) -> str:
    """`dose_quantity` → `doseQuantity`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def given(values: Mapping[str, Any]) -> Json:
    """The entries that say something: None, empty texts, lists and objects are left out; False and 0 stay."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value != "" and value != [] and value != {}
    }


def codes(concept: CodedText | None) -> list[Json]:
    """The contract's `{system, code, display}`, as sent; codings without a code are left out."""
    if concept is None:
        return []
    return [
        given({"system": coding.system, "code": coding.code, "display": coding.display}) | {"system": coding.system}
        for coding in concept.codings
        if coding.code
    ]


def text(value: Value | None) -> str:
    """A value as a person would read it; empty for None."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case CodedText():
            return value.display
        case _:
            return str(value)


def period(at: ClinicalTime | Period) -> Json:
    """`{start, end}`; a point is its own start, a missing bound is left out."""
    if isinstance(at, Period):
        return given({"start": at.start and at.start.text, "end": at.end and at.end.text})
    return {"start": at.text}


def value(of: Value | None) -> Any:
    """A value with its structure: what has parts is an object, the rest is as JSON has it."""
    match of:
        case CodedText():
            return given({"text": of.display, "codes": codes(of)})
        case Quantity():
            return given(
                {"value": of.value, "unit": of.unit, "code": of.code, "comparator": of.comparator, "ucum": of.ucum}
            )
        case Range():
            return given({"low": value(of.low), "high": value(of.high)})
        case Ratio():
            return {"numerator": value(of.numerator), "denominator": value(of.denominator)}
        case ClinicalTime():
            return of.text
        case Period():
            return period(of)
        case _:
            return of


def times(of: Iterable[Timed]) -> list[Json]:
    """Every time with its clock and precision."""
    return [
        {"clock": each.clock.value}
        | (
            {"period": period(each.at)}
            if isinstance(each.at, Period)
            else {"at": each.at.text, "precision": each.at.precision.value}
        )
        for each in of
    ]


def components(of: Iterable[Component]) -> list[Json]:
    return [
        given(
            {
                "display": each.concept.display,
                "codes": codes(each.concept),
                "value": value(each.value),
                "interpretation": each.interpretation,
                "absent": each.absent,
            }
        )
        for each in of
    ]


def page(data: list[Json], total: int, number: int, per_page: int) -> Json:
    """The contract's page: `{data, meta:{total, page, perPage}}`."""
    return {"data": data, "meta": {"total": total, "page": number, "perPage": per_page}}
