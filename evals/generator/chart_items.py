"""How is a thing of a chart written, and which words tell it? The nouns of charts, and a writer for each sort of thing.

Every writer puts a resource into a source and, with it, its gold or what shows that it is stale. Codes come from
`tables`; what has no row there is text. Not here: what a chart holds (`charts`), who needs what (`questions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from evals.generator import tables
from evals.generator.fhir import UCUM

NOW = datetime(2026, 6, 30, 9, tzinfo=UTC)
Words = tuple[tuple[str, ...], ...]  # every group must be told, by any of its words
Resource = dict[str, Any]


@dataclass(frozen=True)
class Gold:
    """A fact and the words that tell it: one place must hold each group. A conflict has two `sides`, told in one place
    or in two."""

    key: str
    sides: tuple[Words, ...]

    @property
    def conflict(self) -> bool:
        return len(self.sides) > 1


@dataclass(frozen=True)
class Stale:
    """What is so no longer. `now` tells what replaced it; `until` is a date (as it is written, `YYYY-MM`) that shows
    that it is past; a `dated` measurement or turn is honest while it carries its date and what replaced it is told."""

    key: str
    words: Words
    now: Words = ()
    until: tuple[str, ...] = ()
    dated: bool = False


@dataclass(frozen=True)
class Said:
    session: str
    at: datetime
    speaker: str  # patient, caregiver
    text: str


@dataclass
class Chart:
    """`golds` by topic, in the order in which they were written; `words` fill the questions."""

    id: str
    child: bool
    sources: dict[str, list[list[Resource]]] = field(default_factory=dict)  # source → bundles, in the order sent
    talk: list[Said] = field(default_factory=list)
    golds: dict[str, list[Gold]] = field(default_factory=dict)
    stale: list[Stale] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)

    def gold(self, topic: str, *groups: Sequence[str]) -> None:
        of = self.golds.setdefault(topic, [])
        of.append(Gold(f"{topic}/{groups[0][0]}", (tuple(tuple(group) for group in groups),)))

    def conflict(self, topic: str, name: str, one: Iterable[Sequence[str]], other: Iterable[Sequence[str]]) -> None:
        sides = tuple(tuple(tuple(group) for group in side) for side in (one, other))
        self.golds.setdefault(topic, []).append(Gold(f"{topic}/{name}", sides))

    def put(self, source: str, made: Resource, bundle: int = 0) -> Resource:
        bundles = self.sources.setdefault(source, [])
        while len(bundles) <= bundle:
            bundles.append([self.sources[source][0][0]] if bundles else [])
        made.setdefault("id", f"r{sum(map(len, bundles))}")
        if made["resourceType"] != "Patient":
            made.setdefault("subject", {"reference": "Patient/p"})
        bundles[bundle].append(made)
        return made


HOSPITAL, PRACTICE = "eastgate-hospital", "hill-practice"
SHORT = {
    "essential-hypertension": ("hypertension", "high blood pressure"),
    "diabetes-type-2": ("diabetes mellitus type 2", "type 2 diabetes", "diabetes type 2"),
    "hyperlipidemia": ("hyperlipidemia",),
    "atrial-fibrillation": ("atrial fibrillation",),
    "heart-failure": ("heart failure",),
    "hypothyroidism": ("hypothyroidism",),
    "recurrent-major-depression": ("major depressive", "depression"),
    "gout": ("gout",),
    "asthma": ("asthma",),
    "allergic-rhinitis": ("allergic rhinitis",),
    "epilepsy": ("epilepsy",),
    "otitis-media": ("otitis media",),
    "pneumonia": ("pneumonia",),
    "cellulitis": ("cellulitis",),
    "acute-bronchitis": ("bronchitis",),
    "glaucoma": ("glaucoma",),
    "psoriasis": ("psoriasis",),
}
TESTS = {
    "a1c": ("a1c", "hba1c", "glycated"),
    "creatinine": ("creatinine",),
    "potassium": ("potassium",),
    "sodium": ("sodium",),
    "hemoglobin": ("hemoglobin", "haemoglobin"),
    "body-weight": ("weight",),
}


def row(table: str, key: str) -> tables.Line:
    return next(each for each in tables.table(table) if each["key"] == key)


def coded(system: str, code: str, name: str) -> dict[str, Any]:
    return {"coding": [{"system": tables.URLS[system][0], "code": code, "display": name}], "text": name}


def ago(days: int) -> datetime:
    return NOW - timedelta(days=days)


def day_ago(days: int) -> str:
    return f"{ago(days):%Y-%m-%d}"


def condition(made: Chart, key: str, days: int, *, status: str = "active", verified: str = "confirmed") -> Resource:
    line = row("conditions", key)
    condition: Resource = {
        "resourceType": "Condition",
        "verificationStatus": one("http://terminology.hl7.org/CodeSystem/condition-ver-status", verified),
        "category": [one("http://terminology.hl7.org/CodeSystem/condition-category", "problem-list-item")],
        "code": coded("SCT", line["snomed"], line["snomed_name"]),
        "onsetDateTime": day_ago(days),
        "recordedDate": day_ago(days),
    }
    if verified != "entered-in-error":
        condition["clinicalStatus"] = one("http://terminology.hl7.org/CodeSystem/condition-clinical", status)
    if status == "resolved":
        condition["abatementDateTime"] = day_ago(days - 20)
        made.stale.append(Stale(f"ended condition/{key}", (SHORT[key],), until=(day_ago(days - 20)[:7],)))
    elif verified != "confirmed":
        made.stale.append(Stale(f"{verified} condition/{key}", (SHORT[key],)))
    else:
        made.gold("problems", SHORT[key])
        made.gold("onset", SHORT[key], (day_ago(days)[:4],))
    return made.put(HOSPITAL, condition)


def one(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


def order(
    made: Chart, key: str, value: float, days: int, *, source: str = HOSPITAL, status: str = "active", **more: Any
) -> None:
    line = row("drugs", key)
    text = f"{value:g} mg once daily"
    code = (
        coded("RXN", line["rxnorm"], line["rxnorm_name"])
        if line["rxnorm"] and value == float(line["strength"])
        else {"text": f"{line['ingredient']} {value:g} mg tablet"}
    )
    dosage: dict[str, Any] = {
        "text": text,
        "timing": {"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}},
        "doseAndRate": [{"doseQuantity": {"value": value, "unit": "mg", "system": UCUM, "code": "mg"}}],
    }
    if "end" in more:
        dosage["timing"]["repeat"]["boundsPeriod"] = {"start": day_ago(days), "end": day_ago(more.pop("end"))}
    made.put(
        source,
        {
            "resourceType": "MedicationRequest",
            "status": status,
            "intent": "order",
            "medicationCodeableConcept": code,
            "authoredOn": day_ago(days),
            "dosageInstruction": [dosage],
            **more,
        },
    )


def drug_names(key: str) -> tuple[str, ...]:
    line = row("drugs", key)
    return (line["ingredient"], *([line["brand"]] if line["brand"] else []))


def because(key: str) -> dict[str, Any]:
    line = row("conditions", key)
    return {"reasonCode": [coded("SCT", line["snomed"], line["snomed_name"])]}


def allergy(made: Chart, key: str, reaction: str, days: int, *, topic: str = "allergies") -> None:
    line = row("allergens", key)
    said = row("reactions", reaction)
    made.put(
        HOSPITAL,
        {
            "resourceType": "AllergyIntolerance",
            "clinicalStatus": one("http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "active"),
            "verificationStatus": one(
                "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification", "confirmed"
            ),
            "category": [line["category"]],
            "code": coded(line["system"], line["code"], line["name"]),
            "recordedDate": day_ago(days),
            "reaction": [{"manifestation": [coded("SCT", said["snomed"], said["name"])]}],
        },
    )
    made.gold(topic, (line["name"], key.replace("-", " ")), (reaction, said["name"]))


def no_known(made: Chart, days: int) -> None:
    made.put(
        PRACTICE,
        {
            "resourceType": "AllergyIntolerance",
            "clinicalStatus": one("http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "active"),
            "verificationStatus": one(
                "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification", "confirmed"
            ),
            "code": coded("SCT", "716186003", "No known allergy"),
            "recordedDate": day_ago(days),
        },
    )


NONE_KNOWN = ("no known", "no allergies", "nka", "denies allergies")


def series(made: Chart, key: str, values: Sequence[tuple[str, int]]) -> None:
    """Results of one test, the newest first; only the newest is gold, the others are stale."""
    line = row("analytes", key)
    for number, (value, days) in enumerate(values):
        made.put(
            HOSPITAL if number % 2 == 0 else PRACTICE,
            result(line, value, days),
        )
        if number:
            made.stale.append(
                Stale(
                    f"older result/{key}",
                    (TESTS[key], (value,)),
                    (TESTS[key], (values[0][0],)),
                    (day_ago(days)[:7],),
                    dated=True,
                )
            )
    made.gold(f"newest {key}", TESTS[key], (values[0][0],))


def result(line: tables.Line, value: str, days: int, status: str = "final") -> Resource:
    return {
        "resourceType": "Observation",
        "status": status,
        "category": [one("http://terminology.hl7.org/CodeSystem/observation-category", line["category"])],
        "code": coded("LNC", line["loinc"], line["name"]),
        "effectiveDateTime": f"{ago(days):%Y-%m-%dT%H:%M:%SZ}",
        "valueQuantity": {
            "value": float(value),
            "unit": line["unit"],
            "system": UCUM,
            "code": line["unit"],
        },
    }
