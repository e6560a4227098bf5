"""In which unit is a test usually reported, and how do its mass and molar units convert?

Fills `unit`, `unit_source` and `analyte` of `lab_tests.tsv` and the molar masses of `unit_factors.tsv`; any other cell
stays. The unit of a test is the one with which published example files report its LOINC codes most often; else the one
that a flowsheet of the National Library of Medicine gives; else that of the package `labunits`. What `conversion` can't
read is passed over. Molar masses: the same flowsheet, for small molecules and elements only, because a protein has no
customary one.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from iamata.terminology import units
from iamata.terminology.conversion import readable
from tools.tables import table

NONE: Final = "-"
FLOWSHEET: Final = "flowsheet"
LABUNITS: Final = "labunits"
MASS_SOURCE: Final = "molecular weight in LHNCBC/flowsheet-lhc at 53b8283, src/stores/{} (NLM)"
# The component of a test → the analyte whose molar mass the flowsheet gives for it.
ANALYTES: Final[Mapping[str, str]] = {
    "Acetone": "acetone",
    "Aluminum": "aluminum",
    "Ammonia": "ammonia",
    "Arsenic": "arsenic",
    "Bilirubin.total": "bilirubin",
    "Calcium": "calcium",
    "Carnitine": "carnitine",
    "Carnitine free (C0)": "carnitine",
    "Cholesterol": "cholesterol",
    "Copper": "copper",
    "Creatinine": "creatinine",
    "Cyclosporine": "cyclosporine",
    "Ethosuximide": "ethosuximide",
    "Gabapentin": "gabapentin",
    "Glucose": "glucose",
    "Lactate": "lactate",
    "Lamotrigine": "lamotrigine",
    "Levetiracetam": "levetiracetam",
    "Magnesium": "magnesium",
    "Mercury": "mercury",
    "Methanol": "methanol",
    "Methotrexate": "methotrexate",
    "Methylmalonate": "methylmalonate",
    "Norepinephrine": "norepinephrine",
    "Normetanephrine": "normetanephrine",
    "Phosphate": "phosphate",
    "Pyruvate": "pyruvate",
    "Thyroxine (T4) free": "thyroxine",
    "Tobramycin": "tobramycin",
    "Topiramate": "topiramate",
    "Triiodothyronine (T3)": "triiodothyronine",
    "Urate": "urate",
    "Vancomycin": "vancomycin",
    "Zinc": "zinc",
}
_OBJECT: Final = re.compile(r"\{[^{}]*\}")
_CELL: Final = re.compile(r'"([A-Z])":\s*"?([^",\n]*)"?')
_CDA_VALUE: Final = re.compile(r'<code [^>]*code="(\d+-\d)"((?:(?!<code ).){0,2500}?)<value ([^>]*)>', re.DOTALL)
_OBX: Final = re.compile(r"(?:^|[\r\n])OBX\|\d*\|[A-Z]+\|(\d+-\d)\^[^|]*\|[^|]*\|[^|]*\|([^|^]+)")
_LITRE: Final = re.compile(r"/([munpf]?d?)l$")  # UCUM knows l and L; the tables write L
_UNIT: Final = re.compile(r'unit="([^"]+)"')


class Reported(NamedTuple):
    """A LOINC code reported in a UCUM unit; `source` as in `lab_sources.tsv`."""

    code: str
    unit: str
    source: str


def of_flowsheet(text: str) -> Iterator[tuple[dict[str, str], str]]:
    """The rows of a flowsheet as column letter → cell, with the LOINC code of each that has one (column E)."""
    for block in _OBJECT.findall(text):
        cells = dict(_CELL.findall(block))
        if cells.get("E"):
            yield cells, cells["E"]


def reported_in_flowsheet(text: str) -> Iterator[Reported]:
    """Column V holds the example unit of LOINC, Q the unit of the group of codes, which counts where V is empty."""
    for cells, code in of_flowsheet(text):
        unit = cells.get("V") or cells.get("Q")
        if unit:
            yield Reported(code, unit, FLOWSHEET)


def reported_in_labunits(analytes: Mapping[str, Mapping[str, Any]]) -> Iterator[Reported]:
    for code, analyte in analytes.items():
        yield Reported(code, str(analyte["traditional_units"]), LABUNITS)


def reported_in_examples(root: Path) -> Iterator[Reported]:
    """Results in FHIR (UCUM quantities of observations), C-CDA (physical quantities) and HL7 v2 (OBX-6) files, by the
    folder under `root`."""
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        folder = path.relative_to(root).parts[0]
        text = path.read_text(encoding="utf-8-sig", errors="replace") if path.suffix in _READ else ""
        for part in text.splitlines() if path.suffix == ".ndjson" else [text]:
            if path.suffix in (".hl7", ".txt"):
                yield from (Reported(code, unit, folder) for code, unit in _OBX.findall(part))
            elif path.suffix in (".xml", ".cda"):
                for code, _, value in _CDA_VALUE.findall(part):
                    yield from (Reported(code, unit, folder) for unit in _UNIT.findall(value))
            elif part.strip():
                try:
                    yield from (Reported(code, unit, folder) for code, unit in _quantities(json.loads(part)))
                except json.JSONDecodeError:
                    continue


_READ: Final = (".json", ".ndjson", ".xml", ".cda", ".hl7", ".txt")


def _quantities(node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, list):
        for item in node:
            yield from _quantities(item)
    elif isinstance(node, dict):
        quantity, code = node.get("valueQuantity"), node.get("code")
        if isinstance(quantity, dict) and isinstance(code, dict) and isinstance(code.get("coding"), list):
            for coding in code["coding"] if "unitsofmeasure" in str(quantity.get("system")) else ():
                if isinstance(coding, dict) and "loinc" in str(coding.get("system")) and quantity.get("code"):
                    yield str(coding.get("code")), str(quantity["code"])
        for value in node.values():
            yield from _quantities(value)


def usual_units(reported: Iterable[Reported], tests: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Test → unit and the source with most reports of it; `tests`: LOINC code → test."""
    counts: dict[str, Counter[tuple[int, str]]] = defaultdict(Counter)
    sources: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for code, said, source in reported:
        test, unit = tests.get(code), _canonical(said)
        if test is not None and unit and readable(unit):
            rank = (FLOWSHEET, LABUNITS).index(source) + 1 if source in (FLOWSHEET, LABUNITS) else 0
            counts[test][rank, unit] += 1
            sources[test, unit][source] += 1 if rank else 1_000_000
    found = {}
    for test, seen in counts.items():
        rank, unit = min(seen, key=lambda one: (one[0], -seen[one], one[1]))
        by = sources[test, unit]
        found[test] = unit, min(by, key=lambda source: (-by[source], source))
    return found


def _canonical(unit: str) -> str:
    """The UCUM code of a spelling, else the unit itself; empty for a bare number."""
    plain = unit.replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u").replace("mcg", "ug").strip()
    return units.ucum(plain) or ("" if plain == "1" else _LITRE.sub(r"/\1L", plain))


def molar_masses(texts: Mapping[str, str], components: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Analyte → g/mol (column R) and the file that gives it; `components`: LOINC code → component of its test."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in texts.items():
        for cells, code in of_flowsheet(text):
            analyte = ANALYTES.get(components.get(code, ""))
            if analyte and cells.get("R"):
                found.setdefault(analyte, (str(Decimal(cells["R"]).quantize(Decimal("0.00001")).normalize()), name))
    return found


def fill_tests(text: str, usual: Mapping[str, tuple[str, str]], masses: Iterable[str]) -> str:
    """`lab_tests.tsv` with the units, their sources, and the analytes that got a molar mass."""
    comments, columns, rows = _read(text)
    known = frozenset(masses)
    if "unit_source" not in columns:
        columns.insert(columns.index("unit") + 1, "unit_source")
    for row in rows:
        row["unit"], row["unit_source"] = usual.get(row["test"], (NONE, NONE))
        if ANALYTES.get(row["component"]) in known and row["property"] == "concentration":
            row["analyte"] = ANALYTES[row["component"]]
    return table.render(comments, columns, ([row[column] for column in columns] for row in rows))


def fill_factors(text: str, masses: Mapping[str, tuple[str, str]]) -> str:
    """`unit_factors.tsv` with a row per molar mass instead of the mass-to-mole factors of these analytes."""
    comments, columns, rows = _read(text)
    kept = [row for row in rows if row["name"] not in masses or not _between_mass_and_amount(row)]
    added = [
        dict(
            zip(
                columns,
                ("analyte", name, "g/L", "mol/L", f"1/{mass}", "0", MASS_SOURCE.format(where)),
                strict=True,
            )
        )
        for name, (mass, where) in masses.items()
    ]
    analytes = sorted(
        (row for row in (*kept, *added) if row["kind"] == "analyte"), key=lambda row: (row["name"], row["from"])
    )
    lines = [*(f"# {comment}" for comment in comments), "\t".join(columns)]
    for row in (*(row for row in kept if row["kind"] != "analyte"), *analytes):
        lines.append("\t".join(row[column] for column in columns))
    return "\n".join(lines) + "\n"


def _between_mass_and_amount(row: Mapping[str, str]) -> bool:
    return row["kind"] == "analyte" and row["to"].endswith("mol/L") and "eq" not in row["from"]


def _read(text: str) -> tuple[list[str], list[str], list[dict[str, str]]]:
    lines = text.splitlines()
    comments = [line.removeprefix("# ") for line in lines if line.startswith("#")]
    columns, *cells = (line.split("\t") for line in lines if not line.startswith("#"))
    return comments, columns, [dict(zip(columns, row, strict=True)) for row in cells]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flowsheet", type=Path, required=True, help="src/stores of LHNCBC/flowsheet-lhc")
    parser.add_argument("--examples", type=Path, required=True, help="the folder of public example files")
    parser.add_argument("--check", action="store_true", help="compare with the committed tables, write nothing")
    said = parser.parse_args(arguments)
    texts = {name: (said.flowsheet / name).read_text(encoding="utf-8") for name in ("c17.js", "h17.js")}
    analytes = json.loads(files("labunits").joinpath("data", "analytes.json").read_text(encoding="utf-8"))
    _, _, codes = _read(table.committed("lab_codes"))
    tests = {row["code"]: row["test"] for row in codes}
    _, _, rows = _read(table.committed("lab_tests"))
    component = {row["test"]: row["component"] for row in rows}
    reported = (
        *reported_in_examples(said.examples),
        *(one for text in texts.values() for one in reported_in_flowsheet(text)),
        *reported_in_labunits(analytes),
    )
    masses = molar_masses(texts, {code: component[test] for code, test in tests.items()})
    filled = fill_tests(table.committed("lab_tests"), usual_units(reported, tests), masses)
    factors = fill_factors(table.committed("unit_factors"), masses)
    return max(
        table.finish("lab_tests", filled, check=said.check), table.finish("unit_factors", factors, check=said.check)
    )


if __name__ == "__main__":
    raise SystemExit(main())
