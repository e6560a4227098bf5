"""What is an amount in another unit, and are two amounts the same? Exact arithmetic over `data/unit_factors.tsv`.

Units of one kind convert by their UCUM definition. Mass and molar amounts, equivalents, and HbA1c convert only for the
analyte whose row says how. Not here: which test a value belongs to (`labs`), or spellings of units (`units`).
"""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Final, NamedTuple

from iamata.model.coding import Quantity
from iamata.terminology.tables import rows
from iamata.terminology.units import number, ucum

_UNREVIEWED: Final = "unreviewed"
_NO_WAY: Final = "none"
_DIGITS: Final = 28
# No factor is beyond these: longer units and higher powers are noise, and would take for ever to reckon with.
_LONGEST: Final = 200
# How many units, and pairs of them, are remembered.
_KNOWN: Final = 4_096
_TEN = re.compile(r"10[*^](-?\d{1,3})\Z")
# Annotations that only name what is counted (UCUM 2.1, section 6: curly braces are not part of the unit). Any other
# ({1.73_m2}, {creat}) may change what is measured and is kept as a unit of its own.
_COUNTED: Final = frozenset({"{cells}", "{#}", "{count}", "{RBC}", "{WBC}", "{beats}", "{breaths}"})


class _Unit(NamedTuple):
    """`factor` base units; what they are, above and below the line, uncancelled: mmol/mol is no percentage."""

    factor: Fraction
    above: tuple[str, ...]
    below: tuple[str, ...]


class _Symbol(NamedTuple):
    """A UCUM symbol: how many base units of its kind, and whether it takes metric prefixes."""

    size: Fraction
    kind: str
    prefixes: bool


class _Rule(NamedTuple):
    """`to` = `start` x factor + offset; no factor: nothing is right."""

    start: str
    to: str
    factor: Fraction | None
    offset: Fraction


def convert(value: Decimal, unit: str, to: str, analyte: str) -> Decimal | None:
    """The value in the UCUM unit `to`; None if the units do not convert, or not for this analyte (Lp(a)).

    Computed exactly, rounded once to 28 digits: no precision is added or taken away, that is for who shows it.
    """
    line = _line(unit, to, analyte)
    if line is None or not value.is_finite():
        return None
    return _decimal(Fraction(value) * line[0] + line[1])


def readable(unit: str) -> bool:
    """Is this a UCUM unit of symbols and prefixes that the tables know?"""
    return _read(unit) is not None


def same(left: Quantity, right: Quantity, analyte: str) -> bool | None:
    """Equal within the coarser precision of the two as reported, after conversion? The same either way round.

    None when they cannot be compared: no numbers, other comparators, units that do not convert. `90 mg/dL` and
    `5.0 mmol/L` of glucose are the same, `90` and `5.4` are not.
    """
    a, b = number(left.value), number(right.value)
    if a is None or b is None or left.comparator != right.comparator:
        return None
    units = _ucum(left), _ucum(right)
    if not units[0] or not units[1]:
        spelled = [(one.unit or one.code).casefold() for one in (left, right)]
        if spelled[0] != spelled[1]:
            return None
        line: tuple[Fraction, Fraction] | None = (Fraction(1), Fraction(0))
    else:
        line = _line(units[1], units[0], analyte)
    if line is None:
        return None
    slope, offset = line
    apart = abs(Fraction(a) - (Fraction(b) * slope + offset))
    return apart <= max(_half_step(a), _half_step(b) * abs(slope))


def _ucum(quantity: Quantity) -> str:
    return quantity.ucum or ucum(quantity.unit, code=quantity.code)


def _half_step(value: Decimal) -> Fraction:
    """Half of the last digit that was written: 5.0 → 0.05."""
    exponent = value.as_tuple().exponent
    return Fraction(Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)) / 2


def _decimal(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(_KNOWN)
def _line(unit: str, to: str, analyte: str) -> tuple[Fraction, Fraction] | None:
    """(slope, offset) such that value in `to` = value in `unit` x slope + offset."""
    if unit == to and unit:
        return Fraction(1), Fraction(0)
    direct = _scale(unit, to)
    if direct is not None:
        return direct, Fraction(0)
    for rule in _rules().get(analyte, ()):
        for start, end, back in ((rule.start, rule.to, False), (rule.to, rule.start, True)):
            before, after = _scale(unit, start), _scale(end, to)
            if before is None or after is None:
                continue
            if rule.factor is None:
                return None
            slope, offset = rule.factor, rule.offset
            if back:
                slope, offset = 1 / slope, -offset / slope
            return before * slope * after, offset * after
    return None


@lru_cache(_KNOWN)
def _scale(unit: str, to: str) -> Fraction | None:
    """How many `to` are one `unit`, if both are of one kind; None else. No zero point is moved here."""
    if unit == to and unit:
        return Fraction(1)
    a, b = _read(unit), _read(to)
    if a is None or b is None or (a.above, a.below) != (b.above, b.below):
        return None
    return a.factor / b.factor


@lru_cache(_KNOWN)
def _read(unit: str) -> _Unit | None:
    """A UCUM unit as a product of known symbols; None if one is unknown."""
    if not unit or len(unit) > _LONGEST:
        return None
    factor = Fraction(1)
    kinds: tuple[list[str], list[str]] = ([], [])
    for place, part in enumerate(re.split(r"/(?![^{]*\})", unit)):
        for symbol in re.split(r"\.(?![^{]*\})", part):
            if not symbol and place == 0 and unit.startswith("/"):
                continue
            atom = _atom(symbol)
            if atom is None:
                return None
            size, kind = atom
            factor = factor / size if place else factor * size
            if kind:
                kinds[1 if place else 0].append(kind)
    return _Unit(factor, tuple(sorted(kinds[0])), tuple(sorted(kinds[1])))


def _atom(symbol: str) -> tuple[Fraction, str] | None:
    """(size, kind) of one symbol, with its prefix; kind empty for a pure number."""
    if symbol in _COUNTED:
        return Fraction(1), ""
    if symbol.startswith("{") and symbol.endswith("}"):
        return Fraction(1), symbol
    ten = _TEN.match(symbol)
    if ten:
        return Fraction(10) ** int(ten[1]), ""
    symbol = re.sub(r"(?<=.)\{[^}]*\}\Z", lambda match: "" if match[0] in _COUNTED else match[0], symbol)
    units = _units()
    if symbol in units:
        whole = units[symbol]
        return whole.size, "" if whole.kind == "one" else whole.kind
    for length in (2, 1):
        prefix, rest = symbol[:length], symbol[length:]
        size = _prefixes().get(prefix)
        if size is not None and rest in units and units[rest].prefixes:
            return size * units[rest].size, units[rest].kind
    return None


@cache
def _units() -> dict[str, _Symbol]:
    return {
        row["name"]: _Symbol(Fraction(row["factor"]), row["from"], row["to"] == "prefixes")
        for row in rows("unit_factors")
        if row["kind"] == "unit" and row["source"] != _UNREVIEWED
    }


@cache
def _prefixes() -> dict[str, Fraction]:
    return {
        row["name"]: Fraction(row["factor"])
        for row in rows("unit_factors")
        if row["kind"] == "prefix" and row["source"] != _UNREVIEWED
    }


def _fraction(text: str) -> Fraction:
    over, _, under = text.partition("/")
    return Fraction(over) / Fraction(under or 1)


@cache
def _rules() -> dict[str, tuple[_Rule, ...]]:
    found: dict[str, tuple[_Rule, ...]] = {}
    for row in rows("unit_factors"):
        if row["kind"] == "analyte" and row["source"] != _UNREVIEWED:
            factor = None if row["factor"] == _NO_WAY else _fraction(row["factor"])
            rule = _Rule(row["from"], row["to"], factor, _fraction(row["offset"]))
            found[row["name"]] = (*found.get(row["name"], ()), rule)
    return found
