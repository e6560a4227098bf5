"""Which condition is an ingredient used for? `kb_indications.tsv`, from labels, physicians and modules of a generator.

LabeledIn (NCBI): diseases that experts or a crowd marked in FDA labels. PharmacotherapyDB (CC0): disease modifying, as
at least two of three physicians said; symptomatic only if two resources list it too. Synthea (Apache-2.0): the reason
of a medication order. Names become conditions and ingredients by the tables of `terminology` alone.
`indications_left_out.tsv` lists what the sources seem to state and the table does not have, and why.
"""

from __future__ import annotations

import argparse
import csv
import json
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from iamata.model.coding import CodedText, Coding
from iamata.terminology import conditions, drugs
from iamata.terminology.systems import normal
from tools.tables import table

COMMENTS: Final = (
    'Which condition an ingredient (of a combination all, joined by " / ") is used for. Groups: '
    "condition_groups.tsv or icd10cm|CODE. One source a row: the best of those that say so. Made by tools/tables.",
    "Read row by row; left out where the source names a precaution, a companion illness or a trial and no use.",
    "Sources: kb_sources.tsv. Rows marked `unreviewed` are never loaded.",
)
COLUMNS: Final = ("ingredient", "group", "source")
BEST_FIRST: Final = ("labeledin", "labeledin-crowd", "pharmacotherapydb", "synthea")
LEFT_OUT: Final = Path(__file__).parent / "indications_left_out.tsv"
_ENOUGH: Final = 2  # physicians, or resources


class Use(NamedTuple):
    ingredient: str
    group: str
    source: str


def of_labels(rows: Iterable[Mapping[str, str]]) -> Iterator[Use]:
    """From the rows of LabeledIn: a drug, a disease in the words of MeSH, and who marked it."""
    for row in rows:
        source = "labeledin" if row["expert"] == "1" else "labeledin-crowd" if row["crowd"] == "1" else ""
        if source:
            yield Use(_ingredients(row["rxnorm_name"]), _condition(row["disease_mesh_name"]), source)


def of_physicians(rows: Iterable[Mapping[str, str]]) -> Iterator[Use]:
    """From the rows of PharmacotherapyDB."""
    for row in rows:
        modifying = row["category"] == "DM" and int(row["n_curators"]) >= _ENOUGH
        symptomatic = row["category"] == "SYM" and int(row["n_resources"]) >= _ENOUGH
        if modifying or symptomatic:
            yield Use(_ingredients(row["drug"]), _condition(row["disease"]), "pharmacotherapydb")


def of_modules(modules: Iterable[Mapping[str, Any]]) -> Iterator[Use]:
    """From the modules of the generator: each medication order whose reason is the onset of a condition in its module,
    or the name under which a module keeps one."""
    states = [module.get("states", {}) for module in modules]
    kept: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for onset in (one for named in states for one in named.values() if one.get("type") == "ConditionOnset"):
        kept[onset.get("assign_to_attribute", "")].append(onset)
    for named in states:
        for order in (one for one in named.values() if one.get("type") == "MedicationOrder" and one.get("reason")):
            own = named.get(order["reason"], {})
            for onset in [own] if own.get("type") == "ConditionOnset" else kept.get(order["reason"], []):
                for code in onset.get("codes", ()):
                    for drug in order.get("codes", ()):
                        yield Use(_ingredients(drug["display"]), _coded(code), "synthea")


def build(uses: Iterable[Use], left_out: Iterable[Mapping[str, str]]) -> str:
    """The table: each pair once, by its best source."""
    never = {(row["ingredient"], row["group"]) for row in left_out}
    best: dict[tuple[str, str], Use] = {}
    for use in sorted(uses, key=lambda use: BEST_FIRST.index(use.source)):
        if use.ingredient and use.group and use[:2] not in never:
            best.setdefault(use[:2], use)
    return table.render(COMMENTS, COLUMNS, best.values())


def _ingredients(name: str) -> str:
    drug = drugs.read(CodedText(name))
    return " / ".join(sorted(drug.ingredients)) if drug else ""


def _condition(words: str) -> str:
    """The group that the words name: as they stand, or turned round where a comma parts them; also in the plural."""
    turned = " ".join(part.strip() for part in reversed(words.split(",")))
    for form in (words, turned):
        found = conditions.named(form) or (conditions.named(form[:-1]) if form.endswith("s") else "")
        if found:
            return found
    return ""


def _coded(code: Mapping[str, Any]) -> str:
    system = "http://snomed.info/sct" if code["system"] == "SNOMED-CT" else str(code["system"])
    coding = Coding(system, str(code["code"]), code["display"], normal(system, str(code["code"])))
    return conditions.group(CodedText(code["display"], (coding,)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("labels", "physicians", "synthea"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="see README.md beside this file")
    parser.add_argument("--check", action="store_true", help="compare with the committed table, write nothing")
    said = parser.parse_args()
    with zipfile.ZipFile(said.synthea) as wheel:
        modules = [json.loads(wheel.read(one)) for one in sorted(wheel.namelist()) if _is_module(one)]
    uses = [
        *of_labels(_rows(said.labels)),
        *of_physicians(_rows(said.physicians)),
        *of_modules(modules),
    ]
    return table.finish("kb_indications", build(uses, table.read(LEFT_OUT)), check=said.check)


def _is_module(name: str) -> bool:
    return "resources/modules/" in name and name.endswith(".json")


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t"))


if __name__ == "__main__":
    raise SystemExit(main())
