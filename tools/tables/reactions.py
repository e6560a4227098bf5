"""Which condition is a drug known to bring about? `kb_reactions.tsv`, from four sources that may be used freely.

Labels (SPL-ADR-200db, CC0): people marked the adverse reactions in 200 drug labels of the FDA. A pair counts if two of
the label's three sections (boxed warning, warnings and precautions, adverse reactions) name it, as seen in humans.
DILIrank (FDA): drugs of most concern for the liver. Reference sets (Apache-2.0): pairs that OMOP and EU-ADR chose as
true. CDR (NCBI): pairs marked in at least two PubMed abstracts that name no animals. Names become conditions and
ingredients by the tables of `terminology` alone; no MedDRA term or code is read. Never a pair of `kb_indications`.
"""

from __future__ import annotations

import argparse
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree

from iamata.model.coding import CodedText
from iamata.terminology import conditions, drugs, knowledge
from tools.tables import table

COMMENTS: Final = (
    "Which condition an ingredient is known to bring about, never one that it is used for. Made by tools/tables.",
    "documents: of spl-adr the label and its sections that name it; of cdr up to five PubMed ids; else `-`.",
    "Sources: kb_sources.tsv. Rows marked `unreviewed` are never loaded.",
)
COLUMNS: Final = ("ingredient", "group", "source", "documents")
BEST_FIRST: Final = ("spl-adr", "dilirank", "euadr-reference", "omop-reference", "cdr")
# What an outcome of a source is called in ICD-10-CM: its official name, or a term that stands under it.
OUTCOMES: Final[Mapping[str, str]] = {
    "vMost-DILI-Concern": "icd10cm|K71",  # toxic liver disease; includes drug-induced liver disease
    "OMOP Acute Liver Failure 1": "icd10cm|K71",  # OMOP's name for acute liver injury
    "OMOP Acute Renal Failure 1": "acute-kidney-failure",
    "OMOP Acute myocardial Infarction  1": "acute-myocardial-infarction",
    "OMOP Aplastic Anemia 1": "aplastic-anemia",
    "HOI Upper GI #3": "icd10cm|K922",  # gastrointestinal hemorrhage, unspecified
    "Anaphylaxis #1": "anaphylactic-shock",
    "Rhabdomyolysis #1": "icd10cm|M6282",
    "Stevens-Johnson Syndrome #1": "stevens-johnson-syndrome",
}
# Pairs that a source states and that were left out after reading it: a use, or a disease that the identifier of the
# source names less exactly than its words.
LEFT_OUT: Final = frozenset(
    {
        ("capsaicin", "pain"),  # used for it; the abstracts are experiments
        ("heparin", "pulmonary-embolism"),  # used for it; the abstracts are on heparin-induced thrombosis
        ("amiodarone", "pneumonia"),  # the abstracts say pneumonitis
        ("haloperidol", "parkinson-s-disease"),  # the abstracts say parkinsonism
        ("heparin", "skin-disease"),  # the abstracts say skin necrosis
    }
)
ENOUGH: Final = 2  # sections of a label, or abstracts
MOST_DOCUMENTS: Final = 5
_SECTIONS: Final = {
    "boxed warnings": "boxed-warning",
    "warnings and precautions": "warnings",
    "adverse reactions": "adverse-reactions",
}
_ANIMALS: Final = re.compile(
    r"\b(rats?|mice|mouse|rabbits?|dogs?|monkeys?|animals?|guinea pigs?|cats?|pigs?|piglets?|rodents?|hamsters?|"
    r"sheep)\b",
    re.IGNORECASE,
)
_SHEET: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class Pair(NamedTuple):
    ingredient: str
    group: str
    source: str
    documents: str = "-"


def of_labels(annotated: Iterable[Mapping[str, Any]]) -> Iterator[Pair]:
    """From the sections of SPL-ADR-200db as JSON: `label_id`, `section_name`, and `adverse_events`, of each of which
    the words come first and `human` eighth."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for part in annotated:
        ingredient = _ingredient(part["label_id"])
        for event in part["adverse_events"] if ingredient else ():
            group = _condition(event[0]) if event[7] == "human" else ""
            if group:
                found[ingredient, group].add((part["label_id"], _SECTIONS[part["section_name"]]))
    for (ingredient, group), places in found.items():
        if len({section for _, section in places}) >= ENOUGH:
            yield Pair(ingredient, group, "spl-adr", " ".join(f"{label}:{where}" for label, where in sorted(places)))


def of_dilirank(rows: Iterable[Mapping[str, str]]) -> Iterator[Pair]:
    """From the rows of DILIrank, as header → cell."""
    for row in rows:
        group = OUTCOMES.get(row["vDILIConcern"], "")
        ingredient = _ingredient(row["Compound Name"]) if group else ""
        if ingredient:
            yield Pair(ingredient, group, "dilirank")


def of_reference_set(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[Pair]:
    """From the rows of a reference set of `MethodEvaluation`: the positive controls."""
    for row in rows:
        group = OUTCOMES.get(row["outcomeName"], "") if row["groundTruth"] == 1 else ""
        ingredient = _ingredient(row["exposureName"]) if group else ""
        if ingredient:
            yield Pair(ingredient, group, source)


def of_abstracts(pubtator: Iterable[str]) -> Iterator[Pair]:
    """From the three sets of the BioCreative V CDR corpus, in PubTator format. What an identifier means is what most of
    its mentions name."""
    documents = [lines for text in pubtator for block in text.strip().split("\n\n") if (lines := block.split("\n"))]
    mentions: dict[str, Counter[str]] = defaultdict(Counter)
    for lines in documents:
        for cells in (line.split("\t") for line in lines[2:]):
            if len(cells) > len(("id", "start", "end", "mention", "kind")):
                mentions[cells[5]][cells[3].lower()] += 1
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for lines in documents:
        if _ANIMALS.search(" ".join(line.split("|", 2)[2] for line in lines[:2])):
            continue
        for cells in (line.split("\t") for line in lines[2:]):
            if len(cells) == len(("id", "CID", "drug", "disease")) and cells[1] == "CID":
                key = _most(mentions[cells[2]], _ingredient), _most(mentions[cells[3]], _condition)
                if all(key):
                    found[key].add(cells[0])
    for (ingredient, group), seen in found.items():
        if len(seen) >= ENOUGH:
            yield Pair(ingredient, group, "cdr", " ".join(sorted(seen, key=int)[:MOST_DOCUMENTS]))


def build(pairs: Iterable[Pair]) -> str:
    """The table: each pair once, by its best source; none that is left out or that the drug is used for."""
    best: dict[tuple[str, str], Pair] = {}
    for pair in sorted(pairs, key=lambda pair: BEST_FIRST.index(pair.source)):
        uses = {known.id for known in knowledge.indications(frozenset(pair.ingredient.split(" / ")))}
        if pair[:2] not in LEFT_OUT and pair.group not in uses:
            best.setdefault(pair[:2], pair)
    return table.render(COMMENTS, COLUMNS, best.values())


def _ingredient(name: str) -> str:
    """The one ingredient of a drug of this name; empty for a combination and for a name that no table knows."""
    drug = drugs.read(CodedText(name))
    return next(iter(drug.ingredients)) if drug and len(drug.ingredients) == 1 else ""


def _condition(words: str) -> str:
    """The group that the words name, also in the plural; empty if none."""
    return conditions.named(words) or (
        conditions.named(words[:-1]) if words.endswith("s") and not words.endswith("ss") else ""
    )


def _most(mentions: Counter[str], read: Any) -> str:
    votes: Counter[str] = Counter()
    for mention, times in mentions.items():
        votes[read(mention)] += times
    del votes[""]
    return min(votes, key=lambda one: (-votes[one], one)) if votes else ""


def dilirank_rows(path: Path) -> list[dict[str, str]]:
    """The rows of the FDA's workbook: a title, a header, then one drug a row."""
    with zipfile.ZipFile(path) as book:
        shared = [
            "".join(part.text or "" for part in item.iter(f"{_SHEET}t"))
            for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        ]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    rows = [[_cell(cell, shared) for cell in row] for row in sheet.iter(f"{_SHEET}row")]
    return [dict(zip(rows[1], row, strict=False)) for row in rows[2:]]


def _cell(cell: ElementTree.Element, shared: Sequence[str]) -> str:
    value = cell.findtext(f"{_SHEET}v") or ""
    return shared[int(value)] if value and cell.get("t") == "s" else value


def reference_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an `.rda` file of one data frame; needs the package `rdata`."""
    import rdata  # type: ignore[import-not-found]  # of the tools alone, in no extra

    frame = next(iter(rdata.read_rda(path).values()))
    return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("labels", "dilirank", "reference-sets", "cdr"):
        parser.add_argument(f"--{name}", type=Path, required=True, help="see README.md beside this file")
    parser.add_argument("--check", action="store_true", help="compare with the committed table, write nothing")
    said = parser.parse_args()
    labels = [
        part
        for name in ("train", "test")
        for part in json.loads((said.labels / f"demner-fushman-{name}-labels.json").read_text(encoding="utf-8"))
    ]
    sets = ("Training", "Development", "Test")
    pairs = [
        *of_labels(labels),
        *of_dilirank(dilirank_rows(said.dilirank)),
        *of_reference_set(reference_rows(said.reference_sets / "euadrReferenceSet.rda"), "euadr-reference"),
        *of_reference_set(reference_rows(said.reference_sets / "omopReferenceSet.rda"), "omop-reference"),
        *of_abstracts((said.cdr / f"CDR_{name}Set.PubTator.txt").read_text(encoding="utf-8") for name in sets),
    ]
    return table.finish("kb_reactions", build(pairs), check=said.check)


if __name__ == "__main__":
    raise SystemExit(main())
