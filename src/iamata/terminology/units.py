"""Which UCUM unit is meant, and are two amounts in one unit equal? Converting needs an analyte: not here."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from typing import Final

from iamata.model.coding import Quantity
from iamata.terminology.systems import alias
from iamata.terminology.tables import rows

# Nothing that is measured is beyond 10^400 or has as many digits as this.
_MAGNITUDE: Final = 400
_LONGEST: Final = 1_000


@cache
def _spellings() -> dict[str, str]:
    return {row["spelling"]: row["ucum"] for row in rows("units")}


@lru_cache(maxsize=20_000)
def ucum(unit: str, system: str = "", code: str = "") -> str:
    """The UCUM code: that of a known spelling, else a code sent as UCUM as it is, else empty."""
    names = _spellings()
    if code and (not system or alias(system) == "ucum"):
        return names.get(code, code if system else names.get(unit, ""))
    return names.get(unit, "")


def number(text: str) -> Decimal | None:
    """The number as exactly as written, or None if the text is none (or not finite, or of a size that measures nothing:
    `1e999999999` has no place in arithmetic, and one such value would spoil all that is reckoned with it)."""
    if len(text) > _LONGEST:
        return None
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) <= _MAGNITUDE else None


def same_amount(left: Quantity, right: Quantity) -> bool | None:
    """Equal within the coarser precision of the two? None when they cannot be compared (other units, no numbers)."""
    a, b = number(left.value), number(right.value)
    if a is None or b is None or left.comparator != right.comparator:
        return None
    if (left.ucum or right.ucum) and left.ucum != right.ucum:
        return None
    if not left.ucum and (left.unit or left.code).casefold() != (right.unit or right.code).casefold():
        return None
    exponents = [d.as_tuple().exponent for d in (a, b)]
    coarser = max(e for e in exponents if isinstance(e, int))
    return abs(a - b) <= Decimal(1).scaleb(coarser) / 2
