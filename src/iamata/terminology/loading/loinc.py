"""What is taken from LOINC (Loinc.csv)? The six axes and the name of every code, and the names of laboratory tests.

Deprecated codes are kept, because old records send them; their names name nothing. Columns are found by the names in
the header; CLASSTYPE 1 is laboratory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from iamata.terminology.loading.reading import Account, comma_separated
from iamata.terminology.names import fold
from iamata.terminology.sorted_text import SortedWriter

TABLES: Final = ("axes", "titles", "names")
AXES: Final = ("COMPONENT", "PROPERTY", "TIME_ASPCT", "SYSTEM", "SCALE_TYP", "METHOD_TYP")
LABORATORY: Final = "1"
_COLUMNS: Final = ("LOINC_NUM", *AXES, "STATUS", "CLASSTYPE", "SHORTNAME", "LONG_COMMON_NAME")


def files(folder: Path) -> dict[str, Path]:
    """The table of LOINC, wherever it lies in the folder; empty if it is not there."""
    found = [path for path in sorted(folder.rglob("*.csv")) if path.name.lower() == "loinc.csv"]
    return {"Loinc.csv": found[0]} if found else {}


def compile(files: dict[str, Path], tables: dict[str, SortedWriter], account: Account) -> str:
    """Fill the tables: `axes` (code → the six axes of a laboratory test), `titles` (code → long common name), `names`
    (folded long common or short name → code). The release is not said by this file: empty."""
    for number, row in comma_separated(files["Loinc.csv"], _COLUMNS, account):
        code = row["LOINC_NUM"].strip()
        if not code or not row["COMPONENT"]:
            account.skip(files["Loinc.csv"].name, number, "no code or no component")
            continue
        tables["titles"].add(code, row["LONG_COMMON_NAME"] or row["SHORTNAME"] or row["COMPONENT"])
        if row["CLASSTYPE"] != LABORATORY:
            continue
        tables["axes"].add(code, "\t".join(row[axis].replace("\t", " ") for axis in AXES))
        if row["STATUS"] != "DEPRECATED":
            for name in (row["LONG_COMMON_NAME"], row["SHORTNAME"]):
                folded = fold.__wrapped__(name)
                if folded:
                    tables["names"].add(folded, code)
    return ""
