"""Are two values equal, as a clinician would say? Codes over texts, amounts in their precision, times by overlap."""

from __future__ import annotations

import re

from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import CodedText, Quantity, Range, Ratio
from iamata.model.statement import Component, Kind, Statement, Value
from iamata.terminology import conversion
from iamata.terminology.names import fold
from iamata.terminology.units import same_amount, ucum


def same_value(left: object, right: object, analyte: str = "") -> bool | None:
    """True, False, or None when they cannot be compared (unlike types, units that we cannot relate).

    Amounts of a test whose `analyte` the tables know are compared after conversion.
    """
    match left, right:
        case CodedText(), CodedText():
            if set(left.keys) & set(right.keys):
                return True
            return fold(left.display) == fold(right.display)
        case CodedText(), str():
            return fold(left.display) == fold(right)
        case str(), CodedText():
            return fold(left) == fold(right.display)
        case Quantity(), Quantity():
            alike = same_amount(left, right)
            return conversion.same(left, right, analyte) if alike is None else alike
        case ClinicalTime(), ClinicalTime():
            return left.may_equal(right)
        case Period(), Period():
            pairs = ((left.start, right.start), (left.end, right.end))
            return all(a is None or b is None or a.may_equal(b) for a, b in pairs)
        case str(), str() if (amounts := (_amount(left), _amount(right))) and None not in amounts:
            return same_value(*amounts, analyte)
        case str(), str():
            return fold(left) == fold(right) if fold(left) or fold(right) else left == right
        case (Range(), Range()) | (Ratio(), Ratio()):
            return left == right
        case tuple(), tuple():
            return _same_components(left, right)
        case (bool(), bool()) | (int(), int()):
            return left == right
    return None


def comparable(left: object, right: object, analyte: str = "") -> bool:
    """Are both amounts, or times, that can be held against each other? Not words, of which one may say more."""
    a, b = (_amount(each) if isinstance(each, str) else each for each in (left, right))
    if isinstance(a, Quantity) and isinstance(b, Quantity):
        return same_value(a, b, analyte) is not None
    return isinstance(left, ClinicalTime) and isinstance(right, ClinicalTime)


_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-zµμ\[\]%/]+)\Z")


def _amount(text: str) -> Quantity | None:
    """`500 mg` as an amount; None for a text that is anything more or has a unit we do not know."""
    match = _AMOUNT.match(text.strip())
    unit = ucum(match[2]) if match else ""
    return Quantity(match[1], match[2], ucum=unit) if match and unit else None


def _same_components(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    """Panels are equal when every component that both have is."""
    other = {_component_key(c): c for c in right if isinstance(c, Component)}
    for component in left:
        if not isinstance(component, Component):
            continue
        twin = other.get(_component_key(component))
        if twin is not None and same_value(component.value, twin.value) is False:
            return False
    return bool({_component_key(c) for c in left if isinstance(c, Component)} & set(other))


def _component_key(component: Component) -> str:
    keys = component.concept.keys
    return keys[0] if keys else fold(component.concept.display)


def value_of(statement: Statement) -> object | None:
    """What was measured: the value, else the components of a panel, else None."""
    value = statement.field("value")
    if value is not None:
        return value
    return statement.components or None if statement.kind in (Kind.OBSERVATION, Kind.SOCIAL_HISTORY) else None


# What the effective time of a kind is called as a field.
_NAMES = {
    Kind.CONDITION: ("onset", "abatement"),
    Kind.ALLERGY: ("onset", "abatement"),
    Kind.PROCEDURE: ("performed", "performed"),
    Kind.IMMUNIZATION: ("occurrence", "occurrence"),
    Kind.MEDICATION_EVENT: ("occurrence", "occurrence"),
}


def fields_of(statement: Statement) -> dict[str, Value]:
    """The statement's fields, with its effective times as fields of the names that readers use."""
    found: dict[str, Value] = {field.name: field.value for field in statement.fields}
    names = _NAMES.get(statement.kind)
    timed = statement.time(Clock.EFFECTIVE, Clock.OCCURRED) if names else None
    if names and timed is not None:
        start, end = names
        if start == end:
            found[start] = timed.at
        else:
            if timed.start is not None:
                found[start] = timed.start
            if isinstance(timed.at, Period) and timed.at.end is not None:
                found[end] = timed.at.end
    return found
