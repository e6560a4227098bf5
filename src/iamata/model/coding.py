"""Codes, coded texts and quantities: as sent, with what we made of them beside it."""

from __future__ import annotations

import msgspec


class BusinessIdentifier(msgspec.Struct, frozen=True, order=True, gc=False):
    """An identifier that a business gives (an order number, a member id); `system` may be empty."""

    system: str
    value: str

    def __str__(self) -> str:
        return f"{self.system}|{self.value}"


class Coding(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """One code. `system` and `code` are as sent, `normal` is `system|code` in the forms of `terminology.systems`.

    `normal` is empty when the system is unknown to us: such a code equals only itself, as sent.
    """

    system: str = ""
    code: str = ""
    display: str = ""
    normal: str = ""

    @property
    def key(self) -> str:
        return self.normal or (f"{self.system}|{self.code}" if self.code else "")


class CodedText(msgspec.Struct, frozen=True, omit_defaults=True, tag="coded", tag_field="is", gc=False):
    """A concept as the source gave it: a text, codes, or both. Equal to FHIR's CodeableConcept and CDA's CD."""

    text: str = ""
    codings: tuple[Coding, ...] = ()

    @property
    def display(self) -> str:
        """The text if there is one, else the first display, else the first code, else empty."""
        if self.text:
            return self.text
        for coding in self.codings:
            if coding.display:
                return coding.display
        return self.codings[0].code if self.codings else ""

    @property
    def keys(self) -> tuple[str, ...]:
        found = [key for coding in self.codings if (key := coding.key)]
        return tuple(found) if len(found) < 2 else tuple(sorted(set(found)))


class Quantity(msgspec.Struct, frozen=True, omit_defaults=True, tag="quantity", tag_field="is", gc=False):
    """An amount. `value`, `unit`, `code` are as sent (`value` keeps its digits), `ucum` the normalised unit.

    `comparator` is one of `< <= >= >` or empty. `ucum` is empty when we cannot say what the unit is; then amounts are
    comparable only if their units are spelled alike.
    """

    value: str
    unit: str = ""
    code: str = ""
    comparator: str = ""
    ucum: str = ""

    def __str__(self) -> str:
        return f"{self.comparator}{self.value}{' ' if self.unit or self.code else ''}{self.unit or self.code}"


class Range(msgspec.Struct, frozen=True, omit_defaults=True, tag="range", tag_field="is", gc=False):
    """From `low` to `high`, either of which may be open."""

    low: Quantity | None = None
    high: Quantity | None = None

    def __str__(self) -> str:
        if self.low and self.high:
            return f"{self.low} to {self.high}"
        return f"from {self.low}" if self.low else f"up to {self.high}"


class Ratio(msgspec.Struct, frozen=True, omit_defaults=True, tag="ratio", tag_field="is", gc=False):
    """A relation of two amounts, such as a titre (1:128) or a concentration (250 mg / 5 mL)."""

    numerator: Quantity
    denominator: Quantity

    def __str__(self) -> str:
        return f"{self.numerator} / {self.denominator}"
