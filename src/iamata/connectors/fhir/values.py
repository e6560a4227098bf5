"""How are FHIR's data types read? Each function takes a decoded JSON value and gives a value of the model.

A value of the wrong JSON type raises `WrongShape` with the element's name: it spoils its item, never the document.
Equal values are read once per document and shared. Not here: which element means what (`mappings`).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

from iamata.connectors.fhir.times import Times
from iamata.model.coding import BusinessIdentifier, CodedText, Coding, Quantity, Range, Ratio
from iamata.model.statement import Value
from iamata.terminology.systems import normal
from iamata.terminology.units import ucum

Json: TypeAlias = dict[str, Any]

DATA_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
# FHIR R4 datatypes of a choice element, in the order in which they are looked for.
_CHOICES = (
    *("Quantity", "CodeableConcept", "String", "Boolean", "Integer", "DateTime", "Period", "Reference", "Range"),
    *("Ratio", "Coding", "Decimal", "Date", "Time", "Instant", "Age", "Duration", "Timing", "SampledData", "Money"),
    *("Uri", "Code", "Attachment", "Identifier", "PositiveInt", "UnsignedInt", "Markdown", "Url"),
)
_encode = msgspec.json.Encoder(decimal_format="number").encode


class WrongShape(Exception):
    """A value has a JSON type that its element does not allow.

    `element` is its path inside `holder` if that is given, else inside the item.
    """

    def __init__(self, element: str, wanted: str, holder: Json | None = None) -> None:
        super().__init__(f"{element} is no {wanted}")
        self.element = element
        self.wanted = wanted
        self.holder = holder

    def path_in(self, resource: Json) -> str:
        """The path of the value in the item. Looks for the holder by identity, which is slow and rarely needed."""
        if self.holder is None or self.holder is resource:
            return self.element
        found = _path_of(self.holder, resource, "")
        return f"{found}/{self.element}" if found else self.element


def _path_of(wanted: Json, value: object, path: str) -> str:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        at = f"{path}/{name}" if path else str(name)
        if each is wanted:
            return at
        if isinstance(each, dict | list) and (found := _path_of(wanted, each, at)):
            return found
    return ""


def mapping(value: object, at: str) -> Json:
    """A JSON object, or WrongShape."""
    if isinstance(value, dict):
        return value
    raise WrongShape(at, "object")


def objects(holder: Json, name: str) -> Iterator[tuple[int, Json]]:
    """The objects of a repeating element with their positions; nulls are passed over. A single object counts as one,
    and a list in the place of an object as its objects (both are found in public summaries)."""
    value = holder.get(name)
    if value is None:
        return
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise WrongShape(name, "list", holder)
    for index, each in enumerate(value):
        for held in each if isinstance(each, list) else (each,):
            if isinstance(held, dict):
                yield index, held
            elif held is not None:
                raise WrongShape(f"{name}/{index}", "object", holder)


def string(holder: Json, name: str) -> str:
    """A text, empty if the element is absent."""
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongShape(name, "string", holder)
    return value


def strings(holder: Json, name: str) -> list[str]:
    """The texts of a repeating element, nulls passed over."""
    value = holder.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise WrongShape(name, "list", holder)
    found = [each for each in value if each is not None]
    if not all(isinstance(each, str) for each in found):
        raise WrongShape(name, "list of strings", holder)
    return found


def boolean(holder: Json, name: str) -> bool | None:
    value = holder.get(name)
    if value is not None and not isinstance(value, bool):
        raise WrongShape(name, "boolean", holder)
    return value


def digits(value: object, at: str) -> str:
    """A JSON number with the digits it came with; 1E-8 is written 0.00000001."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise WrongShape(at, "number")
    if isinstance(value, int):
        return str(value)
    exponent = value.as_tuple().exponent
    return format(value, "f") if isinstance(exponent, int) and -40 < exponent <= 0 else str(value)


def choice(holder: Json, stem: str) -> tuple[str, Any] | None:
    """The type suffix and the value of a choice element (`value[x]`), or None if it is absent."""
    for suffix in _CHOICES:
        value = holder.get(stem + suffix)
        if value is not None:
            return suffix, value
    return None


def absent_reason(holder: Json, stem: str) -> str:
    """The code of a data-absent-reason extension on an element or on the primitive beside it; else empty."""
    for name, value in holder.items():
        if not name.lstrip("_").startswith(stem) or not isinstance(value, dict):
            continue
        extensions = value.get("extension")
        for extension in extensions if isinstance(extensions, list) else ():
            if isinstance(extension, dict) and extension.get("url") == DATA_ABSENT:
                return str(extension.get("valueCode", ""))
    return ""


def absences(resource: Json) -> list[tuple[str, str]]:
    """The elements of a resource that say by an extension why they are absent, with the code of the reason."""
    found = []
    for name, value in resource.items():
        for each in value if isinstance(value, list) else [value]:
            extensions = each.get("extension") if isinstance(each, dict) else None
            for extension in extensions if isinstance(extensions, list) else ():
                if isinstance(extension, dict) and extension.get("url") == DATA_ABSENT:
                    found.append((name.lstrip("_"), str(extension.get("valueCode", ""))[:64]))
    return found


def identifiers(holder: Json) -> tuple[BusinessIdentifier, ...]:
    """The business identifiers with a value, sorted, each once."""
    found = set()
    for _index, each in objects(holder, "identifier"):
        value = string(each, "value")
        if value:
            found.add(BusinessIdentifier(string(each, "system"), value))
    return tuple(sorted(found))


def first_code(value: object) -> str:
    """The first code of a CodeableConcept, a list of them, a Coding or a plain code; empty if there is none."""
    for code in codes(value):
        return code
    return ""


def codes(value: object) -> Iterator[str]:
    """Every code of a CodeableConcept, a list of them, a Coding, or a plain code; a boolean is `true` or `false`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, list):
        for each in value:
            yield from codes(each)
    elif isinstance(value, dict):
        code = value.get("code")
        if isinstance(code, str):
            yield code
        coding = value.get("coding")
        if isinstance(coding, list):
            yield from codes(coding)


def has_code(value: object, code: str) -> bool:
    """Is this one of the codes of a CodeableConcept, a list of them, a Coding, a plain code or a boolean?"""
    if isinstance(value, dict):
        return value.get("code") == code or has_code(value.get("coding"), code)
    if isinstance(value, list):
        return any(has_code(each, code) for each in value)
    return value == code if isinstance(value, str) else code in codes(value)


class Values:
    """Reads values of one document; equal ones are shared."""

    def __init__(self, times: Times) -> None:
        self.times = times
        self._coded: dict[bytes, CodedText | None] = {}
        self._codings: dict[tuple[str, str, str], Coding] = {}
        self._quantities: dict[tuple[str, str, str, str, str], Quantity] = {}

    def coding(self, value: object, at: str) -> Coding | None:
        """A Coding, or None if it has neither code nor display."""
        holder = mapping(value, at)
        system, code, display = string(holder, "system"), string(holder, "code"), string(holder, "display")
        if not code and not display:
            return None
        key = (system, code, display)
        found = self._codings.get(key)
        if found is None:
            found = self._codings[key] = Coding(system, code, display, normal(system, code) if system else "")
        return found

    def coded(self, value: object, at: str) -> CodedText | None:
        """A CodeableConcept, or None if it is absent or says nothing."""
        if value is None:
            return None
        holder = mapping(value, at)
        key = _encode(holder)
        if key in self._coded:
            return self._coded[key]
        text = string(holder, "text")
        codings = tuple(c for _i, each in objects(holder, "coding") if (c := self.coding(each, at)))
        found = self._coded[key] = CodedText(text, codings) if text or codings else None
        return found

    def concepts(self, holder: Json, name: str) -> CodedText | None:
        """A CodeableConcept or a list of them as one: texts joined by `; `, all codings. None if nothing is said."""
        value = holder.get(name)
        if value is not None and not isinstance(value, dict | list):
            raise WrongShape(name, "object", holder)
        if not isinstance(value, list):
            return self.coded(value, name)
        found = [c for _i, each in objects(holder, name) if (c := self.coded(each, name)) is not None]
        if len(found) < 2:
            return found[0] if found else None
        joined = "; ".join(dict.fromkeys(c.display for c in found))
        return CodedText(joined, tuple(dict.fromkeys(coding for c in found for coding in c.codings)))

    def quantity(self, value: object, at: str) -> Quantity | None:
        """A Quantity (Age, Duration, Money …), or None if it has no number."""
        holder = mapping(value, at)
        amount = holder.get("value")
        if amount is None:
            return None
        unit = string(holder, "unit") or string(holder, "currency")
        code, comparator = string(holder, "code"), string(holder, "comparator")
        key = (digits(amount, f"{at}/value"), unit, string(holder, "system"), code, comparator)
        found = self._quantities.get(key)
        if found is None:
            number, _unit, system, _code, _comparator = key
            found = self._quantities[key] = Quantity(number, unit, code, comparator, ucum(unit, system, code))
        return found

    def range(self, value: object, at: str) -> Range | None:
        holder = mapping(value, at)
        low = self.quantity(holder["low"], f"{at}/low") if holder.get("low") is not None else None
        high = self.quantity(holder["high"], f"{at}/high") if holder.get("high") is not None else None
        return Range(low, high) if low or high else None

    def ratio(self, value: object, at: str) -> Ratio | Quantity | None:
        """A Ratio; with one side only, that side's Quantity if it is the numerator."""
        holder = mapping(value, at)
        above = self.quantity(holder["numerator"], f"{at}/numerator") if holder.get("numerator") is not None else None
        below = (
            self.quantity(holder["denominator"], f"{at}/denominator") if holder.get("denominator") is not None else None
        )
        return Ratio(above, below) if above and below else above

    def value(self, chosen: tuple[str, Any] | None, at: str) -> Value | None:
        """The value of a choice element. `false` and `0` are values; None if it is absent or says nothing."""
        if chosen is None:
            return None
        suffix, raw = chosen
        at = f"{at}{suffix}"
        match suffix:
            case "Quantity" | "Age" | "Duration" | "Money":
                return self.quantity(raw, at)
            case "CodeableConcept":
                return self.coded(raw, at)
            case "Coding":
                coding = self.coding(raw, at)
                return CodedText("", (coding,)) if coding else None
            case "Boolean" | "Integer" | "PositiveInt" | "UnsignedInt":
                if not isinstance(raw, bool if suffix == "Boolean" else int):
                    raise WrongShape(at, suffix.lower())
                return bool(raw) if suffix == "Boolean" else int(raw)
            case "Decimal":
                return Quantity(digits(raw, at))
            case "DateTime" | "Date" | "Instant":
                return self.times.point(raw, at)
            case "Period":
                return self.times.period(raw, at)
            case "Timing":
                return self.times.timing(raw, at)
            case "Range":
                return self.range(raw, at)
            case "Ratio":
                return self.ratio(raw, at)
            case "SampledData":
                return string(mapping(raw, at), "data") or None
            case "Attachment":
                holder = mapping(raw, at)
                return string(holder, "title") or string(holder, "url") or string(holder, "contentType") or None
            case "Reference":
                holder = mapping(raw, at)
                return string(holder, "display") or string(holder, "reference") or None
            case "Identifier":
                return string(mapping(raw, at), "value") or None
            case _:
                if not isinstance(raw, str):
                    raise WrongShape(at, "string")
                return raw or None
