"""What may be said about a fact of the record, and what is it to the fact? Phrasings with the link they must get.

Each case is one record with one fact (and a bystander that nothing said is about) and one turn. The phrasings are rows
of data/phrasings.tsv, a column of which says which half was kept apart, and of data/phrasings_second.tsv, which is
split by a hash of the id (`evals.kept_apart`). Not here: how links are found.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evals.generator import tables
from evals.generator.fhir import ALLERGY_CLINICAL, ALLERGY_VERIFIED, CATEGORY, CLINICAL, VERIFIED, one, quantity
from evals.generator.truth import VERSION
from evals.kept_apart import Part, part_in, standing

SAID_AT = datetime(2026, 11, 20, 15, tzinfo=UTC)
TYPES = ("supports", "conflicts", "refines")
SETS = ("phrasings", "phrasings_second")
# Keys of rows in the tables whose names people say as they are.
DRUGS = ("lisinopril", "simvastatin", "furosemide", "captopril", "prednisone", "warfarin")
ALLERGENS = ("penicillin", "aspirin", "codeine", "amoxicillin", "latex")
CONDITIONS = ("asthma", "gout", "psoriasis", "epilepsy", "glaucoma", "rosacea")
BYSTANDER = "Tinnitus"


@dataclass(frozen=True)
class TalkCase:
    """`resource` is the index of the fact's resource in `entries`; `link` is one of TYPES or `none`, in the second set
    also `explains` (why it is as the record has it), `about` (neither asserted nor denied nor added to) or `new` (the
    record has nothing of it); `conflict` names the kind of a conflict, `*` for any, empty where there is none."""

    id: str
    kind: str
    link: str
    conflict: str
    speaker: str
    relationship: str
    text: str
    entries: tuple[dict[str, Any], ...]
    resource: int = 1
    set: str = SETS[0]
    part: Part = "tuned"


def cases(seed: int, *, set: str = SETS[0], part: Part = "tuned") -> list[TalkCase]:
    """Every phrasing of the set's part once, about a fact that the seed chooses; in the order of the table."""
    made = []
    for number, row in enumerate(tables.table(set)):
        if set == SETS[0]:
            id, key = f"{row['kind']}-{row['link']}-{number}", str(number)
            mine = standing(set, kept_apart=row["set"] == "unopened")
        else:
            id, key = f"second-{row['id']}", row["id"]
            mine = part_in(set, f"links-second/{row['id']}")
        if mine != part:
            continue
        chance = random.Random(f"iamata talk {VERSION} {seed} {key}")
        resource, words = _fact(row, chance)
        text = row["text"].format(**words)
        entries = (_patient(), resource, _condition(BYSTANDER, "bystander"))
        made.append(
            TalkCase(
                id,
                row["kind"],
                row["link"],
                row["conflict"],
                row["speaker"],
                row["relationship"],
                text[:1].upper() + text[1:],
                entries,
                set=set,
                part=part,
            )
        )
    return made


def _patient() -> dict[str, Any]:
    return {
        "resourceType": "Patient",
        "id": "p",
        "name": [{"family": "Sample", "given": ["Robin"]}],
        "birthDate": "1961-02-03",
    }


def _fact(row: tables.Line, chance: random.Random) -> tuple[dict[str, Any], dict[str, str]]:
    fitting = tuple(row["keys"].split(",")) if row.get("keys") else ()
    match row["kind"]:
        case "medication":
            key = chance.choice(fitting or DRUGS)
            return _order(next(r for r in tables.table("drugs") if r["key"] == key))
        case "allergy":
            key = chance.choice(fitting or ALLERGENS)
            return _allergy(tables.grouped("allergens")[key][0]), {"x": key}
        case "condition":
            key = chance.choice(fitting or CONDITIONS)
            name = next(r for r in tables.table("conditions") if r["key"] == key)["snomed_name"]
            shown = tables.plain(name)
            return _condition(shown, "fact"), {"x": shown.lower()}
    return _smoking(row["fact"]), {"x": "smoking"}


def _order(drug: tables.Line) -> tuple[dict[str, Any], dict[str, str]]:
    strength, unit = drug["strength"], drug["unit"]
    resource = {
        "resourceType": "MedicationRequest",
        "id": "fact",
        "status": "active",
        "intent": "order",
        "subject": {"reference": "Patient/p"},
        "medicationCodeableConcept": {
            "coding": [{"system": tables.URLS["RXN"][0], "code": drug["rxnorm"], "display": drug["rxnorm_name"]}],
            "text": drug["ingredient"],
        },
        "authoredOn": "2026-03-01",
        "dosageInstruction": [
            {
                "timing": {"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}},
                "doseAndRate": [{"doseQuantity": quantity(strength, unit, unit)}],
            }
        ],
    }
    doubled = float(strength) * 2
    return resource, {"x": drug["ingredient"], "dose": f"{strength} {unit}", "other": f"{doubled:g} {unit}"}


def _allergy(row: tables.Line) -> dict[str, Any]:
    url, _ = tables.URLS[row["system"]]
    return {
        "resourceType": "AllergyIntolerance",
        "id": "fact",
        "patient": {"reference": "Patient/p"},
        "clinicalStatus": one(ALLERGY_CLINICAL, "active"),
        "verificationStatus": one(ALLERGY_VERIFIED, "confirmed"),
        "code": {"coding": [{"system": url, "code": row["code"], "display": row["name"]}]},
        "recordedDate": "2020-05-06",
    }


def _condition(name: str, id: str) -> dict[str, Any]:
    row = next(r for r in tables.table("conditions") if tables.plain(r["snomed_name"]) == name)
    return {
        "resourceType": "Condition",
        "id": id,
        "subject": {"reference": "Patient/p"},
        "clinicalStatus": one(CLINICAL, "active"),
        "verificationStatus": one(VERIFIED, "confirmed"),
        "code": {"coding": [{"system": tables.URLS["SCT"][0], "code": row["snomed"], "display": row["snomed_name"]}]},
        "recordedDate": "2019-05-06",
    }


def _smoking(status: str) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": "fact",
        "status": "final",
        "subject": {"reference": "Patient/p"},
        "category": [one(CATEGORY, "social-history")],
        "code": _coded(tables.single("smoking")),
        "effectiveDateTime": "2026-01-10",
        "valueCodeableConcept": _coded(tables.single(f"{status}-smoker")),
    }


def _coded(code: tables.Code) -> dict[str, Any]:
    return {"coding": [{"system": tables.URLS[code.system][0], "code": code.code, "display": code.name}]}
