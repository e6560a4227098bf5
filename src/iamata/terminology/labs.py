"""Which laboratory test or vital sign does a concept name? Lookups over `data/lab_*.tsv`.

One test spans the LOINC codes that differ in unit (mass or molar) and method, never in component, specimen, timing or
estimating equation. Not here: converting amounts (`conversion`), or whether two results are copies of one.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from iamata.model.coding import CodedText
from iamata.terminology.names import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

_UNREVIEWED: Final = "unreviewed"
_NONE: Final = "-"
_LOINC: Final = "loinc|"


class LabTest(NamedTuple):
    """A test: what is measured (`component`) in what (`specimen`, empty for a vital sign) and when (`timing`, empty for
    any moment). `equation` keeps an estimate apart from others; `unit` is the usual UCUM unit, empty if we know none;
    `analyte` is what `conversion` asks for, empty if only the same kind of unit converts. `kind`: lab or vital."""

    id: str
    kind: str
    name: str
    component: str
    specimen: str
    timing: str
    equation: str
    unit: str
    analyte: str


def test(concept: CodedText) -> LabTest | None:
    """The test of the first LOINC code that the table knows; without any LOINC code, that of the text or a display.
    None for an unknown code, and for words that could be several tests (`Glucose`: of blood or of urine?)."""
    keys = [coding.normal or normal(coding.system, coding.code) for coding in concept.codings]
    loinc = [key for key in keys if key.startswith(_LOINC)]
    if loinc:
        return next((_codes()[key] for key in loinc if key in _codes()), None)
    for words in (concept.text, *(coding.display for coding in concept.codings)):
        found = _names().get(fold(words))
        if found is not None:
            return found
    return None


def code_name(code: str) -> str:
    """The name of a LOINC code as its source gives it; empty for a code that is not in the table."""
    return _code_names().get(code, "")


@cache
def tests() -> dict[str, LabTest]:
    """Every test by its id."""
    found = {}
    for row in rows("lab_tests"):
        cells = ("" if row[field] == _NONE else row[field] for field in LabTest._fields[1:])
        found[row["test"]] = LabTest(row["test"], *cells)
    return found


@cache
def _codes() -> dict[str, LabTest]:
    known = tests()
    return {_LOINC + row["code"]: known[row["test"]] for row in rows("lab_codes") if row["source"] != _UNREVIEWED}


@cache
def _names() -> dict[str, LabTest]:
    known = tests()
    return {row["name"]: known[row["test"]] for row in rows("lab_names") if row["source"] != _UNREVIEWED}


@cache
def _code_names() -> dict[str, str]:
    return {row["code"]: row["name"] for row in rows("lab_codes")}
