"""How is a true thing written as a FHIR R4 resource by a source of this profile?

Each writer returns the resource without its id and subject, and the marks that can be compared without a table.
Codes and names come from the tables alone. Not here: which sources hold the thing.
"""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from evals.generator import tables
from evals.generator.noise import Profile, told
from evals.generator.tables import Code, folded, plain
from evals.generator.truth import Marks, Thing

UCUM = "http://unitsofmeasure.org"
CATEGORY = "http://terminology.hl7.org/CodeSystem/observation-category"
CLINICAL = "http://terminology.hl7.org/CodeSystem/condition-clinical"
VERIFIED = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
ALLERGY_CLINICAL = "http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical"
ALLERGY_VERIFIED = "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification"
Written = tuple[dict[str, Any], Marks]


class Concept:
    """A CodeableConcept being written, with its marks."""

    def __init__(self, profile: Profile) -> None:
        self._oids = profile.oids
        self.codings: list[dict[str, str]] = []
        self.text = ""
        self.codes: set[str] = set()
        self.names: set[str] = set()

    def code(self, code: Code) -> Concept:
        url, oid = tables.URLS[code.system]
        coding = {"system": f"urn:oid:{oid}" if self._oids else url, "code": code.code}
        if code.name:
            coding["display"] = code.name
            self.names.add(folded(code.name))
        self.codings.append(coding)
        self.codes.add(code.key)
        return self

    def say(self, text: str) -> Concept:
        self.text = text
        self.names.add(folded(text))
        return self

    @property
    def json(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self.codings:
            made["coding"] = self.codings
        if self.text:
            made["text"] = self.text
        return made

    def marks(self, *, unit: str = "", noise: tuple[str, ...] = ()) -> Marks:
        return Marks(frozenset(self.codes), frozenset(self.names), frozenset(), unit, noise)


def one(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


def quantity(value: Decimal | str, unit: str, code: str = "") -> dict[str, Any]:
    number = Decimal(value)
    made: dict[str, Any] = {
        "value": int(number) if number == number.to_integral() and "." not in str(value) else float(number)
    }
    made["unit"] = unit
    if code:
        made |= {"system": UCUM, "code": code}
    return made


def rounded(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def condition(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    row = thing.about["row"]
    sct, icd = (
        Code("SCT", row["snomed"], row["snomed_name"]),
        Code("ICD10CM", row["icd10cm"], row["icd10cm_name"]),
    )
    concept, style = Concept(profile), profile.conditions
    if style in ("snomed", "both") and sct.code:
        concept.code(sct)
    if style in ("icd10", "both") or (style == "snomed" and not sct.code):
        concept.code(icd)
    if not concept.codings:
        concept.say(plain(sct.name) if style == "name" and sct.code else icd.name)
    noise: tuple[str, ...] = () if style == "snomed" else (f"condition:{style}",)
    made: dict[str, Any] = {
        "resourceType": "Condition",
        "clinicalStatus": one(CLINICAL, thing.about.get("status", "active")),
        "verificationStatus": one(VERIFIED, "confirmed"),
        "category": [
            one(
                "http://terminology.hl7.org/CodeSystem/condition-category", thing.about.get("role", "problem-list-item")
            )
        ],
        "code": concept.json,
    }
    precision = thing.about.get("keep") or profile.precision
    if thing.when and not (thing.about.get("may_be_undated") and chance.random() < 0.15):
        made["onsetDateTime"] = told(thing.when, precision)
        if precision != "day":
            noise += (f"precision:{precision}",)
    elif thing.when:
        noise += ("undated",)
    if thing.until and "onsetDateTime" in made:
        made["abatementDateTime"] = told(thing.until, precision)
    made["recordedDate"] = told(thing.about["recorded"], "day")
    return made, concept.marks(noise=noise)


def _drug_concept(row: tables.Line, profile: Profile) -> tuple[Concept, tuple[str, ...]]:
    concept, style = Concept(profile), profile.drugs
    strength = f"{row['strength']} {row['unit']}"
    if style == "ndc" and row["ndc"]:
        return concept.code(Code("NDC", row["ndc"], row["ndc_name"])), ("drug:ndc",)
    if style == "brand_code" and row["brand_rxnorm"]:
        return concept.code(Code("RXN", row["brand_rxnorm"], row["brand_rxnorm_name"])), ("drug:brand",)
    if style in ("brand", "brand_code") and row["brand"]:
        return concept.say(f"{row['brand']} {strength}"), ("drug:brand",)
    if style == "salt" and row["salt"]:
        return concept.say(f"{row['salt']} {strength} {row['route']} {row['form']}"), ("drug:salt",)
    if style == "rxnorm" and row["rxnorm"]:
        return concept.code(Code("RXN", row["rxnorm"], row["rxnorm_name"])), ()
    if style == "rxnorm" and row["brand_rxnorm"]:
        return concept.code(Code("RXN", row["brand_rxnorm"], row["brand_rxnorm_name"])), ()
    if row["other_release"] == "no" and style == "generic":
        return concept.say(row["ingredient"]), ("drug:bare name",)
    return concept.say(f"{row['ingredient']} {strength} {row['route']} {row['form']}"), ("drug:name",)


def medication(thing: Thing, profile: Profile, course: dict[str, Any]) -> Written:
    """A request, or a statement, of one course: start, end, dose (value, unit), times a day, status."""
    concept, noise = _drug_concept(thing.about["row"], profile)
    return ordered(concept, noise, profile, course, thing.about["row"]["route"])


def ordered(concept: Concept, noise: tuple[str, ...], profile: Profile, course: dict[str, Any], route: str) -> Written:
    value, unit = course["dose"]
    if profile.units == "other" and unit == "mg" and Decimal(value) >= 100:
        value, unit = str((Decimal(value) / 1000).normalize()), "g"
        noise += ("dose in another unit",)
    elif profile.units == "other" and unit == "mg" and Decimal(value) < 1:
        value, unit = format((Decimal(value) * 1000).normalize(), "f"), "ug"
        noise += ("dose in another unit",)
    dosage: dict[str, Any] = {
        "timing": {"repeat": {"frequency": course["times"], "period": 1, "periodUnit": "d"}},
        "doseAndRate": [{"doseQuantity": quantity(value, unit, unit if unit in ("mg", "g", "ug") else "")}],
    }
    if route:
        dosage["route"] = {"text": route}
    if profile.statements:
        made = {
            "resourceType": "MedicationStatement",
            "status": course["status"],
            "medicationCodeableConcept": concept.json,
            "effectivePeriod": {"start": told(course["start"], "day")},
            "dateAsserted": told(course["start"], "day"),
            "dosage": [dosage],
        }
        if course.get("end"):
            made["effectivePeriod"]["end"] = told(course["end"], "day")
        noise += ("as a statement",)
    else:
        made = {
            "resourceType": "MedicationRequest",
            "status": course["status"],
            "intent": "order",
            "medicationCodeableConcept": concept.json,
            "authoredOn": told(course["start"], "day"),
            "dosageInstruction": [dosage],
        }
        if course.get("end"):
            dosage["timing"]["repeat"]["boundsPeriod"] = {
                "start": told(course["start"], "day"),
                "end": told(course["end"], "day"),
            }
    return made, concept.marks(unit=unit, noise=noise)


def allergy(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    writings = thing.about["writings"]
    row = writings[profile.substances % len(writings)]
    concept = Concept(profile)
    noise: tuple[str, ...] = () if row is writings[0] else ("substance in another code",)
    if profile.conditions in ("name", "icd10_name") and row["category"] == "medication":
        concept.say(plain(row["name"]))
        noise += ("substance by name",)
    else:
        concept.code(Code(row["system"], row["code"], row["name"]))
    reaction = thing.about["reaction"]
    made: dict[str, Any] = {
        "resourceType": "AllergyIntolerance",
        "clinicalStatus": one(ALLERGY_CLINICAL, "active"),
        "verificationStatus": one(ALLERGY_VERIFIED, "confirmed"),
        "category": [row["category"]],
        "code": concept.json,
        "recordedDate": told(thing.about["recorded"], "day"),
        "reaction": [
            {
                "manifestation": [
                    {
                        "coding": [
                            {
                                "system": tables.URLS["SCT"][0],
                                "code": reaction["snomed"],
                                "display": reaction["name"],
                            }
                        ]
                    }
                ],
                "onset": told(thing.when, "day"),
            }
        ]
        if thing.when
        else [],
    }
    if not made["reaction"]:
        del made["reaction"]
    return made, concept.marks(noise=noise)


def no_known(row: tables.Line, recorded: str) -> Written:
    concept = Concept(Profile("")).code(Code("SCT", row["code"], row["name"]))
    made: dict[str, Any] = {
        "resourceType": "AllergyIntolerance",
        "clinicalStatus": one(ALLERGY_CLINICAL, "active"),
        "verificationStatus": one(ALLERGY_VERIFIED, "confirmed"),
        "code": concept.json,
    }
    if recorded:
        made["recordedDate"] = recorded
    return made, concept.marks(noise=("negation",))


def immunization(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    writings = thing.about["writings"]
    row = writings[profile.substances % len(writings)]
    concept = Concept(profile)
    if profile.conditions in ("name", "icd10_name"):
        concept.say(row["name"])
    else:
        concept.code(Code("CVX", row["cvx"], row["name"]))
    precision = thing.about.get("keep") or profile.precision
    assert thing.when
    made = {
        "resourceType": "Immunization",
        "status": "completed",
        "vaccineCode": concept.json,
        "occurrenceDateTime": told(thing.when, precision),
    }
    noise = () if row is writings[0] else ("vaccine in another code",)
    return made, concept.marks(noise=noise + ((f"precision:{precision}",) if precision != "day" else ()))


def _when(thing: Thing, profile: Profile) -> tuple[str, tuple[str, ...]]:
    """When a measurement was taken: to the second, or the day where the source keeps no time of day."""
    assert thing.when
    if profile.precision == "year" and not thing.about.get("exact"):
        return told(thing.when, "day"), ("precision:day",)
    return told(thing.when, "second", profile.zone), () if profile.zone == "home" else (f"zone:{profile.zone}",)


def observation(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    row, value = thing.about["row"], Decimal(thing.about["value"])
    noise: tuple[str, ...] = ()
    concept, unit = Concept(profile), row["unit"].casefold()
    style = profile.units
    if style == "other" and row["factor"]:
        converted = value * Decimal(row["factor"]) + Decimal(row["offset"])
        shown = quantity(rounded(converted, int(row["other_decimals"])), row["other_spelled"], row["other_unit"])
        concept.code(Code("LNC", row["other_loinc"], row["other_name"] or row["name"]))
        unit, noise = row["other_spelled"].casefold(), ("unit system",)
        if row["factor"] == "1":
            noise = ("unit spelling",)
    else:
        spelled = style == "spelled" or (style == "other" and not row["factor"])
        shown = quantity(
            value, (row["spelled"] or row["unit"]) if spelled else row["unit"], "" if spelled else row["unit"]
        )
        if profile.conditions in ("name", "icd10_name"):
            concept.say(row["name"])
            noise = ("test by name",)
        else:
            concept.code(Code("LNC", row["loinc"], row["name"]))
        if spelled:
            unit, noise = (row["spelled"] or row["unit"]).casefold(), (*noise, "unit spelling")
    when, told_noise = _when(thing, profile)
    made = {
        "resourceType": "Observation",
        "status": thing.about.get("status", "final"),
        "category": [one(CATEGORY, row["category"])],
        "code": concept.json,
        "effectiveDateTime": when,
        "valueQuantity": shown,
    }
    return made, concept.marks(unit=unit, noise=(*noise, *told_noise))


def blood_pressure(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    concept = Concept(profile)
    # The panel of US Core, or the older one that Synthea writes.
    concept.code(tables.single("bp-panel-old" if profile.substances else "bp-panel"))
    when, noise = _when(thing, profile)
    parts = [tables.single("systolic"), tables.single("diastolic")]
    made = {
        "resourceType": "Observation",
        "status": "final",
        "category": [one(CATEGORY, "vital-signs")],
        "code": concept.json,
        "effectiveDateTime": when,
        "component": [
            {
                "code": Concept(profile).code(code).json,
                "valueQuantity": quantity(str(value), "mmHg", "mm[Hg]"),
            }
            for code, value in zip(parts, thing.about["values"], strict=True)
        ],
    }
    return made, concept.marks(noise=noise)


def smoking(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    concept = Concept(profile).code(tables.single("smoking"))
    assert thing.when
    made = {
        "resourceType": "Observation",
        "status": "final",
        "category": [one(CATEGORY, "social-history")],
        "code": concept.json,
        "effectiveDateTime": told(thing.when, "day"),
        "valueCodeableConcept": Concept(profile).code(tables.single(thing.about["value"])).json,
    }
    return made, concept.marks()


def encounter(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    assert thing.when
    assert thing.until
    day_only = profile.precision == "year" and not thing.about.get("exact")
    precision = "day" if day_only else "second"
    made = {
        "resourceType": "Encounter",
        "status": "finished",
        "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": thing.about["class"]},
        "type": [{"text": thing.about["type"]}],
        "period": {
            "start": told(thing.when, precision, profile.zone),
            "end": told(thing.until, precision, profile.zone),
        },
        "serviceProvider": {"display": thing.about["place"]},
    }
    return made, Marks(names=frozenset({folded(thing.about["type"])}), noise=("precision:day",) if day_only else ())


def procedure(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    writings = thing.about["writings"]
    row = writings[profile.substances % len(writings)]
    concept = Concept(profile)
    if profile.conditions in ("name", "icd10_name"):
        concept.say(plain(row["name"]))
    else:
        concept.code(Code("SCT", row["snomed"], row["name"]))
    precision = thing.about.get("keep") or profile.precision
    assert thing.when
    made: dict[str, Any] = {
        "resourceType": "Procedure",
        "status": "completed",
        "code": concept.json,
        "performedDateTime": told(thing.when, precision),
    }
    if thing.about.get("site"):
        made["bodySite"] = [{"text": thing.about["site"]}]
    return made, concept.marks(noise=(f"precision:{precision}",) if precision != "day" else ())


def relative(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    concept = Concept(profile).code(Code("SCT", thing.about["row"]["snomed"], thing.about["row"]["snomed_name"]))
    made: dict[str, Any] = {
        "resourceType": "FamilyMemberHistory",
        "status": "completed",
        "relationship": {
            "coding": [
                {
                    "system": "http://terminology.hl7.org/CodeSystem/v3-RoleCode",
                    "code": thing.about["role"],
                    "display": thing.about["role_name"],
                }
            ]
        },
        "condition": [{"code": concept.json}],
    }
    if thing.about["name"]:
        made["name"] = thing.about["name"]
    if thing.about["born"]:
        made["bornDate"] = thing.about["born"]
    return made, Marks(names=frozenset({folded(f"{thing.about['role']} {thing.about['name']} {thing.about['born']}")}))


def coverage(thing: Thing, profile: Profile, chance: random.Random) -> Written:
    assert thing.when
    assert thing.until
    made = {
        "resourceType": "Coverage",
        "status": "active",
        "subscriberId": thing.about["member"],
        "payor": [{"display": thing.about["payor"]}],
        "period": {"start": told(thing.when, "day"), "end": told(thing.until, "day")},
    }
    return made, Marks(names=frozenset({folded(f"{thing.about['payor']} {thing.about['member']}")}))
