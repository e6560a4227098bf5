"""Who is asked about in task questions, and what must an answer tell? Charts with a known truth, as bundles and talk.

Each chart is made from a seed: a hospital and a practice send bundles, the patient (or a child's mother) talks in two
sessions. With every item its gold is written down: the words that tell it. Planted in every chart: sides that
contradict each other, what was superseded or ended, and many visits, measurements and turns that no question needs.
Gold comes from here alone, never from what an engine answers. Codes come from `tables`; what has no row there is text.
Which indication a drug has is what this chart says, no rule. Not here: who needs what (`questions`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from evals.generator import tables
from evals.generator.fhir import UCUM
from evals.generator.person import FAMILIES, GIVEN, PAYORS

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
PAIRS = (  # drug and the condition for which this chart gives it
    ("lisinopril", "essential-hypertension"),
    ("metformin", "diabetes-type-2"),
    ("simvastatin", "hyperlipidemia"),
    ("warfarin", "atrial-fibrillation"),
    ("furosemide", "heart-failure"),
    ("levothyroxine", "hypothyroidism"),
    ("citalopram", "recurrent-major-depression"),
    ("finasteride", "gout"),
)
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
SYMPTOMS = (
    ("chest tightness", ("chest tightness", "tight chest", "tightness")),
    ("dizziness", ("dizziness", "dizzy")),
    ("a swollen left leg", ("swollen left leg", "left leg", "swelling")),
    ("shortness of breath on the stairs", ("shortness of breath", "dyspnea", "breathless")),
)
EFFECTS = (("nausea", ("nausea",)), ("a dry cough", ("cough",)), ("muscle cramps", ("muscle cramp", "cramps", "cramp")))
ORDERS = ("Sleep study", "MRI of the lumbar spine", "Referral to cardiology", "Referral to nephrology")
GOALS = ("Walk two kilometres without a break", "Travel to a family wedding in autumn", "Lose eight kilograms")
DOCTORS = (("Nadia Bertrand", "Cardiologist"), ("Tomas Vidal", "Nephrologist"), ("Miriam Osei", "Family physician"))
SMALL_TALK = (
    "Thanks, that was quick.",
    "The weather has been awful here all week.",
    "My neighbour got a new puppy, it barks a lot.",
    "Could you send me the parking directions once more?",
    "I watched the football last night.",
    "We painted the kitchen in the spring.",
    "The waiting room was full again.",
    "My sister moved to the coast.",
)

NOISE = (
    ("heart-rate", 55, 95),
    ("respiratory-rate", 12, 20),
    ("cholesterol", 150, 260),
    ("alt", 15, 60),
    ("glucose", 75, 180),
    ("triglycerides", 70, 300),
    ("urea-nitrogen", 8, 40),
)


def row(table: str, key: str) -> tables.Line:
    return next(each for each in tables.table(table) if each["key"] == key)


def coded(system: str, code: str, name: str) -> dict[str, Any]:
    return {"coding": [{"system": tables.URLS[system][0], "code": code, "display": name}], "text": name}


def chart(seed: int, *, child: bool) -> Chart:
    """The chart of a seed; the same seed gives the same chart."""
    chance = random.Random(f"{seed} {child}")
    made = Chart(f"{'child' if child else 'adult'}-{seed}", child)
    born = f"{2026 - chance.randint(4, 11) if child else chance.randint(1941, 1972)}-03-{chance.randint(10, 28)}"
    person = {
        "resourceType": "Patient",
        "id": "p",
        "name": [{"family": chance.choice(FAMILIES), "given": [chance.choice(GIVEN)]}],
        "birthDate": born,
        "gender": chance.choice(["female", "male"]),
    }
    for source in (HOSPITAL, PRACTICE):
        made.put(source, dict(person))
    (_child if child else _adult)(made, chance)
    _distractors(made, chance)
    made.talk.sort(key=lambda said: said.at)
    return made


def _days(days: int) -> datetime:
    return NOW - timedelta(days=days)


def _day(days: int) -> str:
    return f"{_days(days):%Y-%m-%d}"


# ---- what a chart is made of


def _condition(made: Chart, key: str, days: int, *, status: str = "active", verified: str = "confirmed") -> Resource:
    line = row("conditions", key)
    condition: Resource = {
        "resourceType": "Condition",
        "verificationStatus": _one("http://terminology.hl7.org/CodeSystem/condition-ver-status", verified),
        "category": [_one("http://terminology.hl7.org/CodeSystem/condition-category", "problem-list-item")],
        "code": coded("SCT", line["snomed"], line["snomed_name"]),
        "onsetDateTime": _day(days),
        "recordedDate": _day(days),
    }
    if verified != "entered-in-error":
        condition["clinicalStatus"] = _one("http://terminology.hl7.org/CodeSystem/condition-clinical", status)
    if status == "resolved":
        condition["abatementDateTime"] = _day(days - 20)
        made.stale.append(Stale(f"ended condition/{key}", (SHORT[key],), until=(_day(days - 20)[:7],)))
    elif verified != "confirmed":
        made.stale.append(Stale(f"{verified} condition/{key}", (SHORT[key],)))
    else:
        made.gold("problems", SHORT[key])
        made.gold("onset", SHORT[key], (_day(days)[:4],))
    return made.put(HOSPITAL, condition)


def _one(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


def _order(
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
        dosage["timing"]["repeat"]["boundsPeriod"] = {"start": _day(days), "end": _day(more.pop("end"))}
    made.put(
        source,
        {
            "resourceType": "MedicationRequest",
            "status": status,
            "intent": "order",
            "medicationCodeableConcept": code,
            "authoredOn": _day(days),
            "dosageInstruction": [dosage],
            **more,
        },
    )


def _drug(key: str) -> tuple[str, ...]:
    line = row("drugs", key)
    return (line["ingredient"], *([line["brand"]] if line["brand"] else []))


def _reason(key: str) -> dict[str, Any]:
    line = row("conditions", key)
    return {"reasonCode": [coded("SCT", line["snomed"], line["snomed_name"])]}


def _allergy(made: Chart, key: str, reaction: str, days: int, *, topic: str = "allergies") -> None:
    line = row("allergens", key)
    said = row("reactions", reaction)
    made.put(
        HOSPITAL,
        {
            "resourceType": "AllergyIntolerance",
            "clinicalStatus": _one("http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "active"),
            "verificationStatus": _one(
                "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification", "confirmed"
            ),
            "category": [line["category"]],
            "code": coded(line["system"], line["code"], line["name"]),
            "recordedDate": _day(days),
            "reaction": [{"manifestation": [coded("SCT", said["snomed"], said["name"])]}],
        },
    )
    made.gold(topic, (line["name"], key.replace("-", " ")), (reaction, said["name"]))


def _no_known(made: Chart, days: int) -> None:
    made.put(
        PRACTICE,
        {
            "resourceType": "AllergyIntolerance",
            "clinicalStatus": _one("http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical", "active"),
            "verificationStatus": _one(
                "http://terminology.hl7.org/CodeSystem/allergyintolerance-verification", "confirmed"
            ),
            "code": coded("SCT", "716186003", "No known allergy"),
            "recordedDate": _day(days),
        },
    )


NONE_KNOWN = ("no known", "no allergies", "nka", "denies allergies")


def _series(made: Chart, key: str, values: Sequence[tuple[str, int]]) -> None:
    """Results of one test, the newest first; only the newest is gold, the others are stale."""
    line = row("analytes", key)
    for number, (value, days) in enumerate(values):
        made.put(
            HOSPITAL if number % 2 == 0 else PRACTICE,
            _result(line, value, days),
        )
        if number:
            made.stale.append(
                Stale(
                    f"older result/{key}",
                    (TESTS[key], (value,)),
                    (TESTS[key], (values[0][0],)),
                    (_day(days)[:7],),
                    dated=True,
                )
            )
    made.gold(f"newest {key}", TESTS[key], (values[0][0],))


def _result(line: tables.Line, value: str, days: int, status: str = "final") -> Resource:
    return {
        "resourceType": "Observation",
        "status": status,
        "category": [_one("http://terminology.hl7.org/CodeSystem/observation-category", line["category"])],
        "code": coded("LNC", line["loinc"], line["name"]),
        "effectiveDateTime": f"{_days(days):%Y-%m-%dT%H:%M:%SZ}",
        "valueQuantity": {
            "value": float(value),
            "unit": line["unit"],
            "system": UCUM,
            "code": line["unit"],
        },
    }


def _value(chance: random.Random, low: float, high: float) -> str:
    """One decimal, and not a zero: no year, day or dose looks like it."""
    return f"{chance.randint(int(low), int(high) - 1)}.{chance.randint(1, 9)}"


def _three(chance: random.Random, low: float, high: float) -> list[str]:
    values: list[str] = []
    while len(values) < 3:
        value = _value(chance, low, high)
        if value not in values:
            values.append(value)
    return values


def _adult(made: Chart, chance: random.Random) -> None:
    pairs = chance.sample(PAIRS, 4)
    doctor, role = chance.choice(DOCTORS)
    for _, condition in pairs:
        _condition(made, condition, chance.randint(900, 4000))
    resolved = chance.choice(["pneumonia", "cellulitis", "acute-bronchitis"])
    _condition(made, resolved, chance.randint(700, 2500), status="resolved")
    _condition(made, "glaucoma", chance.randint(300, 900), verified="refuted")
    _condition(made, "psoriasis", chance.randint(300, 900), verified="entered-in-error")
    _medicines(made, chance, [drug for drug, _ in pairs], dict(pairs))
    _allergies(made, chance)
    for key, low, high in (("a1c", 6, 11), ("creatinine", 1, 3), ("potassium", 3, 6), ("hemoglobin", 9, 16)):
        _series(made, key, list(zip(_three(chance, low, high), (20, 210, 400), strict=True)))
    line = row("analytes", "sodium")
    wrong, right = f"{chance.randint(126, 131)}", f"{chance.randint(136, 143)}"
    made.put(HOSPITAL, _result(line, wrong, 12, "preliminary") | {"id": "sodium"})
    made.put(HOSPITAL, _result(line, right, 12, "corrected") | {"id": "sodium"}, bundle=1)
    made.gold("newest sodium", TESTS["sodium"], (right,))
    made.stale.append(Stale("corrected result/sodium", (TESTS["sodium"], (wrong,)), (TESTS["sodium"], (right,))))
    _rest(made, chance, pairs, doctor, role)
    _adult_talk(made, chance, pairs)


def _medicines(made: Chart, chance: random.Random, drugs: Sequence[str], pairs: dict[str, str]) -> None:
    strength = {key: float(row("drugs", key)["strength"]) for key in drugs}
    changed, stopped, differing, plain = drugs
    dose = strength[changed]
    _order(made, changed, dose, 800, status="completed", end=200, **_reason(pairs[changed]))
    _order(made, changed, 2 * dose, 200, **_reason(pairs[changed]))
    now: Words = (_drug(changed), (f"{2 * dose:g} mg",))
    made.gold("medicines", *now)
    made.gold("changed dose", *now)
    made.stale.append(Stale(f"old dose/{changed}", (_drug(changed), (f"{dose:g} mg",)), now, (_day(200)[:7],)))
    _order(made, stopped, strength[stopped], 600, **_reason(pairs[stopped]))
    ends = ("stopped", "stop", "stopping", "quit", "not taking", "no longer", "any more", "anymore")
    made.conflict(
        "taken or not",
        stopped,
        [_drug(stopped), (f"{strength[stopped]:g} mg",)],
        [_drug(stopped), ends],
    )
    # Of one day, so that no change in time explains the two doses (design 04, merging).
    _order(made, differing, strength[differing], 280, **_reason(pairs[differing]))
    _order(made, differing, 2 * strength[differing], 280, source=PRACTICE, **_reason(pairs[differing]))
    made.conflict(
        "which dose",
        differing,
        [_drug(differing), (f"{strength[differing]:g} mg",)],
        [_drug(differing), (f"{2 * strength[differing]:g} mg",)],
    )
    _order(made, plain, strength[plain], 500, **_reason(pairs[plain]))
    made.gold("medicines", _drug(plain), (f"{strength[plain]:g} mg",))
    made.gold("indication", _drug(plain), SHORT[pairs[plain]])
    tried, why = chance.choice([("captopril", "cough"), ("hydrochlorothiazide", "dizziness"), ("amlodipine", "oedema")])
    value = float(row("drugs", tried)["strength"])
    _order(made, tried, value, 1000, status="stopped", end=930, statusReason={"text": f"Stopped because of {why}"})
    marks = ("stopped", "discontinued", "stop", "ended", "completed", "past")
    made.gold("tried", _drug(tried), (*marks, why))
    made.gold("why stopped", _drug(tried), (why,))
    made.stale.append(Stale(f"ended medicine/{tried}", (_drug(tried),), until=(_day(930)[:7],)))
    made.words |= {
        "changed": changed,
        "stopped": stopped,
        "differing": differing,
        "plain": plain,
        "plain_condition": SHORT[pairs[plain]][0],
        "tried": tried,
    }
    made.words["changed_condition"] = SHORT[pairs[changed]][0]


def _allergies(made: Chart, chance: random.Random) -> None:
    allergen = chance.choice(["peanut", "bee-venom", "latex", "egg"])
    _allergy(made, allergen, chance.choice(["anaphylaxis", "dyspnea"]), 1500)
    _allergy(made, "penicillin", "hives", 700, topic="penicillin")
    made.golds["allergies"].append(made.golds["penicillin"][0])
    _no_known(made, 900)
    made.conflict("allergy or none", "penicillin", [("penicillin",)], [NONE_KNOWN])
    made.words["allergen"] = allergen.replace("-", " ")


def _rest(made: Chart, chance: random.Random, pairs: Sequence[tuple[str, str]], doctor: str, role: str) -> None:
    old, new = chance.sample(PAYORS, 2)
    number, older = f"M{chance.randrange(10**6):06}", f"M{chance.randrange(10**6):06}"
    for status, payor, member, start, end in (
        ("cancelled", old, older, 1800, 400),
        ("active", new, number, 400, -400),
    ):
        made.put(
            PRACTICE,
            {
                "resourceType": "Coverage",
                "status": status,
                "subscriberId": member,
                "beneficiary": {"reference": "Patient/p"},
                "payor": [{"display": payor}],
                "period": {"start": _day(start), "end": _day(end)},
            },
        )
    made.gold("coverage", (new,))
    made.gold("member", (new,), (number,))
    made.stale.append(Stale("old coverage", ((old,),), until=(_day(400)[:7],)))
    made.put(
        HOSPITAL,
        {"resourceType": "CareTeam", "status": "active", "participant": [{"role": [{"text": role}],
         "member": {"display": f"Dr. {doctor}"}}]},
    )  # fmt: skip
    made.gold("team", (doctor,))
    order = chance.choice(ORDERS)
    reason = pairs[3][1]
    made.put(
        PRACTICE,
        {"resourceType": "ServiceRequest", "status": "active", "intent": "order", "code": {"text": order},
         "authoredOn": _day(9), **_reason(reason)},
    )  # fmt: skip
    made.gold("order", (order,))
    made.words["order"] = order
    made.gold("order reason", SHORT[reason])
    visit = chance.choice(["Cardiology follow-up", "Diabetes review", "Wound check"])
    for status, days, start in (("cancelled", 30, 3), ("booked", 5, -9)):
        kind = "Eye clinic" if status == "cancelled" else visit
        made.put(
            PRACTICE,
            {"resourceType": "Appointment", "status": status, "serviceType": [{"text": kind}], "created": _day(days),
             "description": kind, "start": f"{_day(start)}T10:30:00Z", "end": f"{_day(start)}T11:00:00Z",
             "participant": [{"actor": {"reference": "Patient/p"}, "status": "accepted"}]},
        )  # fmt: skip
    made.gold("appointment", (visit,), (_day(-9),))
    made.stale.append(Stale("cancelled appointment", (("eye clinic",),)))
    made.words["visit"] = visit
    goal = chance.choice(GOALS)
    made.put(PRACTICE, {"resourceType": "Goal", "lifecycleStatus": "active", "description": {"text": goal}})
    made.gold("goal", (goal,))
    flag = chance.choice(["Fall risk", "Do not attempt resuscitation", "Difficult airway"])
    made.put(HOSPITAL, {"resourceType": "Flag", "status": "active", "code": {"text": flag}})
    made.gold("flag", (flag,))
    device = chance.choice(["Cardiac pacemaker", "Artificial hip joint", "Coronary stent"])
    made.put(
        HOSPITAL,
        {"resourceType": "Device", "status": "active", "type": {"text": device}, "patient": {"reference": "Patient/p"}},
    )
    made.gold("implant", (device,))
    procedure = row("procedures", chance.choice(["colonoscopy", "appendectomy"]))
    made.put(
        HOSPITAL,
        {"resourceType": "Procedure", "status": "completed", "performedDateTime": _day(333),
         "code": coded("SCT", procedure["snomed"], procedure["name"])},
    )  # fmt: skip
    made.gold("procedure", (procedure["key"],), (_day(333)[:7],))
    made.words["procedure"] = procedure["key"]
    stay = chance.choice(["Acute shortness of breath", "Fall at home", "Urinary tract infection"])
    made.put(
        HOSPITAL,
        {"resourceType": "Encounter", "status": "in-progress", "type": [{"text": "Inpatient stay"}],
         "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "IMP"},
         "period": {"start": f"{_day(4)}T11:00:00Z"}, "reasonCode": [{"text": stay}]},
    )  # fmt: skip
    made.gold("stay", (stay,))
    relative, relation = chance.choice([("MTH", "mother"), ("FTH", "father")])
    illness = row("conditions", "epilepsy")
    made.put(
        PRACTICE,
        {"resourceType": "FamilyMemberHistory", "status": "completed", "patient": {"reference": "Patient/p"},
         "relationship": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-RoleCode", "code": relative,
                                      "display": relation}]},
         "condition": [{"code": coded("SCT", illness["snomed"], illness["snomed_name"])}]},
    )  # fmt: skip
    made.gold("family", (relation,), ("epilepsy",))
    made.words["relation"] = relation
    smoking = tables.single("smoking")
    for text, days in (("Smokes tobacco daily", 3600), ("Former smoker", 100)):
        made.put(
            PRACTICE,
            {"resourceType": "Observation", "status": "final", "effectiveDateTime": _day(days),
             "category": [_one("http://terminology.hl7.org/CodeSystem/observation-category", "social-history")],
             "code": coded("LNC", smoking.code, smoking.name), "valueCodeableConcept": {"text": text}},
        )  # fmt: skip
    former = ("former smoker", "ex smoker", "former smoking")
    made.gold("smoking", former)
    daily: Words = (("smokes tobacco daily",),)
    made.stale.append(Stale("older smoking", daily, (former,), (_day(3600)[:7],), dated=True))


def _adult_talk(made: Chart, chance: random.Random, pairs: Sequence[tuple[str, str]]) -> None:
    drug = made.words["stopped"]
    symptom, symptom_words = chance.choice(SYMPTOMS)
    effect, effect_words = chance.choice(EFFECTS)
    first, second = _days(40), _days(2)

    def said(at: datetime, *ways: str) -> None:
        made.talk.append(Said("spring" if at == first else "today", at, "patient", chance.choice(ways)))

    said(first, "For my knee I take ibuprofen from the drugstore.", "I buy ibuprofen myself and take it for my knee.")
    said(first, f"I stopped taking {drug} three weeks ago.", f"I quit the {drug} at the start of the month.")
    said(
        first,
        "Mornings don't work for me, the bus only runs after ten.",
        "I can't come in the mornings, there is no bus before ten.",
    )
    made.gold("times", ("mornings", "morning"))
    said(
        first,
        "My daughter Rosa comes every evening and helps me wash and dress.",
        "In the evenings my daughter Rosa is here, she helps me with washing.",
    )
    made.gold("home", ("daughter",))
    said(
        first,
        "What matters most to me is staying in my own house.",
        "I want to stay in my own house, that matters more to me than anything.",
    )
    made.gold("wish", ("own house", "stay at home", "staying in my own house"))
    said(
        second,
        "I no longer take ibuprofen, I take acetaminophen from the drugstore instead.",
        "I don't take ibuprofen anymore. Now I take acetaminophen for the knee.",
    )
    made.gold("own medicines", ("acetaminophen", "tylenol"))
    made.stale.append(
        Stale(
            "said and taken back/ibuprofen",
            (("ibuprofen",),),
            (("acetaminophen",),),
            (f"{first:%Y-%m}",),
            dated=True,
        )
    )
    said(
        second,
        f"Since Sunday I have {symptom}, it gets worse when I walk.",
        f"I've had {symptom} since Sunday and it is worse when walking.",
    )
    made.gold("symptom", symptom_words)
    made.gold("symptom course", symptom_words, ("sunday", "walk", "walking", "2026-06-28"))
    made.words["symptom"] = symptom
    taken = made.words["plain"]
    said(second, f"The {taken} gives me {effect}.", f"I get {effect} from the {taken}.")
    made.gold("side effect", _drug(taken), effect_words)
    said(
        second,
        "I read best in large print and short sentences.",
        "Please write it in large print, I can't read the small letters.",
    )
    made.gold("reading", ("large print",))


def _child(made: Chart, chance: random.Random) -> None:
    for key in chance.sample(["asthma", "allergic-rhinitis", "epilepsy"], 2):
        _condition(made, key, chance.randint(300, 900))
    _condition(made, "otitis-media", 400, status="resolved")
    _condition(made, "psoriasis", 500, verified="entered-in-error")
    _order(made, "diphenhydramine", 25, 60)
    made.gold("medicines", _drug("diphenhydramine"), ("25 mg",))
    weights = sorted(_three(chance, 15, 32), key=float, reverse=True)
    _series(made, "body-weight", list(zip(weights, (15, 200, 420), strict=True)))
    allergen = chance.choice(["peanut", "egg", "bee-venom"])
    _allergy(made, allergen, chance.choice(["anaphylaxis", "hives"]), 300)
    made.words["allergen"] = allergen.replace("-", " ")
    _no_known(made, 700)
    said_reaction = chance.choice(["hives", "a rash"])
    at = _days(3)
    made.talk.append(
        Said(
            "today",
            at,
            "caregiver",
            chance.choice(
                [
                    f"He got {said_reaction} from amoxicillin when he was two.",
                    f"When he was two he had {said_reaction} after taking amoxicillin.",
                ]
            ),
        )
    )
    made.conflict("allergy or none", "amoxicillin", [("amoxicillin",)], [NONE_KNOWN])
    made.gold("mother's report", ("amoxicillin",), ("hives", "rash"))
    ways = ["He coughs every night since Monday.", "Since Monday he has had a cough at night."]
    made.talk.append(Said("today", at, "caregiver", chance.choice(ways)))
    made.gold("symptom", ("cough", "coughs", "coughing"))
    made.words["symptom"] = "cough"
    made.talk.append(
        Said(
            "today",
            at,
            "caregiver",
            chance.choice(["After school is best for us, not before three.", "We can only come after school."]),
        )
    )
    made.gold("times", ("after school",))
    for key, days in (("mmr", 900), ("varicella", 890), ("influenza", 250)):
        line = row("vaccines", key)
        made.put(
            PRACTICE,
            {"resourceType": "Immunization", "status": "completed", "occurrenceDateTime": _day(days),
             "patient": {"reference": "Patient/p"}, "vaccineCode": coded("CVX", line["cvx"], line["name"])},
        )  # fmt: skip
        names = (line["name"], key, {"mmr": "measles", "varicella": "chickenpox"}.get(key, key))
        made.gold("vaccines", names)
    relation = chance.choice([("MTH", "mother"), ("FTH", "father")])
    illness = row("conditions", "asthma")
    made.put(
        PRACTICE,
        {"resourceType": "FamilyMemberHistory", "status": "completed", "patient": {"reference": "Patient/p"},
         "relationship": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-RoleCode",
                                      "code": relation[0], "display": relation[1]}]},
         "condition": [{"code": coded("SCT", illness["snomed"], illness["snomed_name"])}]},
    )  # fmt: skip
    made.gold("family", (relation[1],), ("asthma",))


def _distractors(made: Chart, chance: random.Random) -> None:
    """Visits, measurements and turns that nobody asks for."""
    for _ in range(90):
        days = chance.randint(5, 3000)
        made.put(
            chance.choice([HOSPITAL, PRACTICE]),
            {"resourceType": "Encounter", "status": "finished",
             "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
             "type": [{"text": chance.choice(["Check-up", "Nurse visit", "Telephone visit", "Vaccination visit"])}],
             "period": {"start": f"{_day(days)}T09:00:00Z", "end": f"{_day(days)}T09:20:00Z"}},
        )  # fmt: skip
    for key, low, high in NOISE:
        for _ in range(25):
            made.put(
                chance.choice([HOSPITAL, PRACTICE]),
                _result(row("analytes", key), str(chance.randint(low, high)), chance.randint(1, 2000)),
            )
    speaker = "caregiver" if made.child else "patient"
    for number, text in enumerate(chance.sample(SMALL_TALK, len(SMALL_TALK))):
        at = _days(3 if made.child else 2 if number % 2 else 40)
        made.talk.append(Said("today" if made.child or number % 2 else "spring", at, speaker, text))
