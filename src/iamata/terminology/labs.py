"""Which laboratory test or vital sign does a concept name? Lookups over `data/lab_*.tsv`.

One test spans the LOINC codes that differ in unit (mass or molar) and method, never in component, specimen, timing or
estimating equation. A LOINC table that the user has loaded (`loaded`) adds its laboratory codes: to a test here if the
axes leave no doubt, else each set of axes is a test of its own. Not here: converting amounts (`conversion`), or whether
two results are copies of one.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final, NamedTuple

from iamata.model.coding import CodedText
from iamata.terminology import loaded
from iamata.terminology.loaded import Kind
from iamata.terminology.names import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

_UNREVIEWED: Final = "unreviewed"
_NONE: Final = "-"
_LOINC: Final = "loinc|"
_QUANTITY: Final = "Qn"  # SCALE_TYP
_ANY_MOMENT: Final = "Pt"  # TIME_ASPCT: point in time
_ANY: Final = "*"  # any METHOD_TYP
# A METHOD_TYP with one of these gives a value that was worked out, not measured: it joins no test by its other axes.
_COMPUTED: Final = ("calculated", "estimated", "predicted", "formula", "equation")
_CACHE: Final = 20_000


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
        return next((found for key in loinc if (found := _codes().get(key) or _of_loaded(key)) is not None), None)
    for words in (concept.text, *(coding.display for coding in concept.codings)):
        found = _names().get(fold(words)) or _named_by_loaded(fold(words))
        if found is not None:
            return found
    return None


def code_name(code: str) -> str:
    """The name of a LOINC code as its source gives it; empty for a code that is in no table."""
    return _code_names().get(code) or next(iter(loaded.values(Kind.LOINC, "titles", code)), "")


class _Axes(NamedTuple):
    """The axes of a LOINC code in the order of `loading.loinc`."""

    component: str
    property: str
    time: str
    system: str
    scale: str
    method: str


def _axes(code: str) -> _Axes | None:
    found = loaded.values(Kind.LOINC, "axes", code)
    return _Axes(*found[0].split("\t")) if found else None


@loaded.until_changed
@cache
def _by_axes() -> dict[_Axes, LabTest]:
    """The axes of our own codes → their test; also without the method, for a quantity. Axes of two tests, or of one
    that an equation or method keeps apart beside others, stand for none."""
    found: dict[_Axes, set[LabTest]] = {}
    for key, test in _codes().items():
        axes = _axes(key.removeprefix(_LOINC))
        if axes is not None:
            found.setdefault(axes, set()).add(test)
            if axes.scale == _QUANTITY:
                found.setdefault(axes._replace(method=_ANY), set()).add(test)
    return {axes: next(iter(owners)) for axes, owners in found.items() if len(owners) == 1}


@loaded.until_changed
@lru_cache(maxsize=_CACHE)
def _of_loaded(key: str) -> LabTest | None:
    """The test of a code that only the loaded LOINC knows: of ours that with the same axes (by any method, if a
    quantity is measured and nothing keeps methods apart), else one of its own."""
    code = key.removeprefix(_LOINC)
    axes = _axes(code)
    if axes is None:
        return None
    ours = _by_axes().get(axes)
    if ours is None and not any(word in axes.method.lower() for word in _COMPUTED):
        ours = _by_axes().get(axes._replace(method=_ANY))
        ours = None if ours is None or ours.equation else ours
    timing = "" if axes.time == _ANY_MOMENT else axes.time
    return ours or LabTest(
        "loinc: " + "; ".join(axes), "lab", code_name(code), axes.component, axes.system, timing, axes.method, "", ""
    )


def _named_by_loaded(folded: str) -> LabTest | None:
    """The one test of all codes that bear this name."""
    codes = loaded.values(Kind.LOINC, "names", folded)
    found = {_codes().get(_LOINC + code) or _of_loaded(_LOINC + code) for code in codes}
    return found.pop() if len(found) == 1 else None


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
