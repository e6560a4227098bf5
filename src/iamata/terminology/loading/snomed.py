"""What is taken from SNOMED CT (RF2 snapshots)? English names, the is-a hierarchy and an ICD-10-CM map, of conditions.

A condition is an active concept whose fully specified name ends in one of `_TAGS`. Descriptions, relationships and map
rows that are not active are left out. The map says under which ICD-10-CM code a concept is classified, never that both
say the same. Columns are found by the names in each file's header.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from iamata.errors import BadInput
from iamata.terminology.loading.reading import Account, rf2
from iamata.terminology.names import fold
from iamata.terminology.sorted_text import SortedWriter

TABLES: Final = ("titles", "names", "parents", "icd10cm")
_TAGS: Final = frozenset({"disorder", "finding", "situation", "event"})
_TAG: Final = re.compile(r"\s*\(([^()]+)\)\s*\Z")
_FULL_NAME: Final = "900000000000003001"  # typeId: fully specified name
_IS_A: Final = "116680003"
_ICD10CM_MAP: Final = "6011000124106"  # refsetId: the ICD-10-CM extended map of the US edition
_ALWAYS: Final = "TRUE"  # mapRule without a condition
_PATTERNS: Final = {
    "concept": "sct2_Concept_Snapshot*.txt",
    "description": "sct2_Description_Snapshot*.txt",
    "relationship": "sct2_Relationship_Snapshot*.txt",
    "map": "der2_*Refset_ExtendedMapSnapshot*.txt",
}
_DATE: Final = re.compile(r"_(\d{8})\.txt\Z")


def files(folder: Path) -> dict[str, Path]:
    """The snapshot files, as `part/name`; empty without any concept file."""
    found = {f"{part}/{path.name}": path for part, glob in _PATTERNS.items() for path in sorted(folder.rglob(glob))}
    return found if any(name.startswith("concept/") for name in found) else {}


def compile(files: dict[str, Path], tables: dict[str, SortedWriter], account: Account) -> str:
    """Fill the tables: `titles` (concept → name without tag), `names` (folded name → concept), `parents` (concept →
    concept directly above), `icd10cm` (concept → code without dot). The release is the date in the files' names.

    Raises BadInput if there is no description file. Memory grows with the number of concepts, not of names.
    """
    parts = {part: [path for name, path in files.items() if name.startswith(f"{part}/")] for part in _PATTERNS}
    if not parts["description"]:
        raise BadInput("there is no sct2_Description_Snapshot file beside the concepts")
    active = {
        row["id"] for path in parts["concept"] for row in rf2(path, ("id", "active"), account) if row["active"] == "1"
    }
    columns = ("active", "conceptId", "languageCode", "typeId", "term")
    conditions: set[str] = set()
    for path in parts["description"]:
        for row in rf2(path, columns, Account()):
            tag = _TAG.search(row["term"])
            full = row["active"] == "1" and row["typeId"] == _FULL_NAME and row["conceptId"] in active
            if full and tag and tag.group(1) in _TAGS:
                conditions.add(row["conceptId"])
                tables["titles"].add(row["conceptId"], row["term"][: tag.start()])
    for path in parts["description"]:
        for row in rf2(path, columns, account):
            if row["active"] == "1" and row["languageCode"] == "en" and row["conceptId"] in conditions:
                folded = fold.__wrapped__(row["term"])
                if folded:
                    tables["names"].add(folded, row["conceptId"])
    for path in parts["relationship"]:
        for row in rf2(path, ("active", "sourceId", "destinationId", "typeId"), account):
            if row["active"] == "1" and row["typeId"] == _IS_A and row["sourceId"] in conditions:
                tables["parents"].add(row["sourceId"], row["destinationId"])
    for path in parts["map"]:
        for row in rf2(
            path, ("active", "refsetId", "referencedComponentId", "mapGroup", "mapRule", "mapTarget"), account
        ):
            sure = row["active"] == "1" and row["refsetId"] == _ICD10CM_MAP and row["mapRule"] == _ALWAYS
            target = row["mapTarget"].replace(".", "").upper()
            if (
                sure
                and row["mapGroup"] in ("", "1")
                and target.isalnum()
                and row["referencedComponentId"] in conditions
            ):
                tables["icd10cm"].add(row["referencedComponentId"], target)
    return max((found.group(1) for path in parts["concept"] if (found := _DATE.search(path.name))), default="")
