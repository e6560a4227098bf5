"""What are the categories and subcategories of ICD-10-CM called? `condition_icd10cm.tsv`, from the tabular list.

Every category (3 characters) and, before chapter 19 (S), every subcategory of 4 characters. The list stands in the
package `simple-icd-10-cm` as the NCHS publishes it.
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from typing import Final
from xml.etree import ElementTree

from tools.tables import table

COMMENTS: Final = (
    "ICD-10-CM, April 2026: every category (3 characters) and, before chapter 19 (S), every one of 4 characters,",
    "with the official name. A longer code belongs under its first characters. Made by tools/tables. "
    "What the letters in the source column mean: condition_sources.tsv.",
)
COLUMNS: Final = ("code", "name", "source")
LIST: Final = "icd10c-tabular-April-1-2026.xml"
_CATEGORY: Final = 3
_SUBCATEGORY: Final = 4


def build(tabular: str) -> str:
    """The table, from the text of the tabular list in XML: `diag` elements with `name` (the code) and `desc`."""
    codes = (
        (one.findtext("name", "").replace(".", ""), one.findtext("desc", ""))
        for one in ElementTree.fromstring(tabular).iter("diag")
    )
    return table.render(COMMENTS, COLUMNS, ((code, name, "icd10cm") for code, name in codes if _kept(code)))


def _kept(code: str) -> bool:
    return len(code) == _CATEGORY or (len(code) == _SUBCATEGORY and code < "S")


def tabular_list() -> str:
    return files("simple_icd_10_cm").joinpath("data", LIST).read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed table, write nothing")
    said = parser.parse_args()
    return table.finish("condition_icd10cm", build(tabular_list()), check=said.check)


if __name__ == "__main__":
    raise SystemExit(main())
