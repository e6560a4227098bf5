"""Who is asked about in task questions, and what must an answer tell? Charts with a known truth, as bundles and talk.

Each chart is made from a seed: a hospital and a practice send bundles, the patient (or a child's mother) talks in two
sessions. With every item its gold is written down: the words that tell it. Planted in every chart: sides that
contradict each other, what was superseded or ended, and many visits, measurements and turns that no question needs.
Gold comes from here alone, never from what an engine answers. Codes come from `tables`; what has no row there is text.
Which indication a drug has is what this chart says, no rule. Not here: who needs what (`questions`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime

from evals.generator import tables
from evals.generator.chart_items import (
    HOSPITAL,
    NONE_KNOWN,
    PRACTICE,
    SHORT,
    TESTS,
    Chart,
    Said,
    Stale,
    Words,
    ago,
    allergy,
    because,
    coded,
    condition,
    day_ago,
    drug_names,
    no_known,
    one,
    order,
    result,
    row,
    series,
)
from evals.generator.person import FAMILIES, GIVEN, PAYORS

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
    for _, key in pairs:
        condition(made, key, chance.randint(900, 4000))
    resolved = chance.choice(["pneumonia", "cellulitis", "acute-bronchitis"])
    condition(made, resolved, chance.randint(700, 2500), status="resolved")
    condition(made, "glaucoma", chance.randint(300, 900), verified="refuted")
    condition(made, "psoriasis", chance.randint(300, 900), verified="entered-in-error")
    _medicines(made, chance, [drug for drug, _ in pairs], dict(pairs))
    _allergies(made, chance)
    for key, low, high in (("a1c", 6, 11), ("creatinine", 1, 3), ("potassium", 3, 6), ("hemoglobin", 9, 16)):
        series(made, key, list(zip(_three(chance, low, high), (20, 210, 400), strict=True)))
    line = row("analytes", "sodium")
    wrong, right = f"{chance.randint(126, 131)}", f"{chance.randint(136, 143)}"
    made.put(HOSPITAL, result(line, wrong, 12, "preliminary") | {"id": "sodium"})
    made.put(HOSPITAL, result(line, right, 12, "corrected") | {"id": "sodium"}, bundle=1)
    made.gold("newest sodium", TESTS["sodium"], (right,))
    made.stale.append(Stale("corrected result/sodium", (TESTS["sodium"], (wrong,)), (TESTS["sodium"], (right,))))
    _rest(made, chance, pairs, doctor, role)
    _adult_talk(made, chance, pairs)


def _medicines(made: Chart, chance: random.Random, drugs: Sequence[str], pairs: dict[str, str]) -> None:
    strength = {key: float(row("drugs", key)["strength"]) for key in drugs}
    changed, stopped, differing, plain = drugs
    dose = strength[changed]
    order(made, changed, dose, 800, status="completed", end=200, **because(pairs[changed]))
    order(made, changed, 2 * dose, 200, **because(pairs[changed]))
    now: Words = (drug_names(changed), (f"{2 * dose:g} mg",))
    made.gold("medicines", *now)
    made.gold("changed dose", *now)
    made.stale.append(Stale(f"old dose/{changed}", (drug_names(changed), (f"{dose:g} mg",)), now, (day_ago(200)[:7],)))
    order(made, stopped, strength[stopped], 600, **because(pairs[stopped]))
    ends = ("stopped", "stop", "stopping", "quit", "not taking", "no longer", "any more", "anymore")
    made.conflict(
        "taken or not",
        stopped,
        [drug_names(stopped), (f"{strength[stopped]:g} mg",)],
        [drug_names(stopped), ends],
    )
    # Of one day, so that no change in time explains the two doses (design 04, merging).
    order(made, differing, strength[differing], 280, **because(pairs[differing]))
    order(made, differing, 2 * strength[differing], 280, source=PRACTICE, **because(pairs[differing]))
    made.conflict(
        "which dose",
        differing,
        [drug_names(differing), (f"{strength[differing]:g} mg",)],
        [drug_names(differing), (f"{2 * strength[differing]:g} mg",)],
    )
    order(made, plain, strength[plain], 500, **because(pairs[plain]))
    made.gold("medicines", drug_names(plain), (f"{strength[plain]:g} mg",))
    made.gold("indication", drug_names(plain), SHORT[pairs[plain]])
    tried, why = chance.choice([("captopril", "cough"), ("hydrochlorothiazide", "dizziness"), ("amlodipine", "oedema")])
    value = float(row("drugs", tried)["strength"])
    order(made, tried, value, 1000, status="stopped", end=930, statusReason={"text": f"Stopped because of {why}"})
    marks = ("stopped", "discontinued", "stop", "ended", "completed", "past")
    made.gold("tried", drug_names(tried), (*marks, why))
    made.gold("why stopped", drug_names(tried), (why,))
    made.stale.append(Stale(f"ended medicine/{tried}", (drug_names(tried),), until=(day_ago(930)[:7],)))
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
    allergy(made, allergen, chance.choice(["anaphylaxis", "dyspnea"]), 1500)
    allergy(made, "penicillin", "hives", 700, topic="penicillin")
    made.golds["allergies"].append(made.golds["penicillin"][0])
    no_known(made, 900)
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
                "period": {"start": day_ago(start), "end": day_ago(end)},
            },
        )
    made.gold("coverage", (new,))
    made.gold("member", (new,), (number,))
    made.stale.append(Stale("old coverage", ((old,),), until=(day_ago(400)[:7],)))
    made.put(
        HOSPITAL,
        {"resourceType": "CareTeam", "status": "active", "participant": [{"role": [{"text": role}],
         "member": {"display": f"Dr. {doctor}"}}]},
    )  # fmt: skip
    made.gold("team", (doctor,))
    wanted = chance.choice(ORDERS)
    reason = pairs[3][1]
    made.put(
        PRACTICE,
        {"resourceType": "ServiceRequest", "status": "active", "intent": "order", "code": {"text": wanted},
         "authoredOn": day_ago(9), **because(reason)},
    )  # fmt: skip
    made.gold("order", (wanted,))
    made.words["order"] = wanted
    made.gold("order reason", SHORT[reason])
    visit = chance.choice(["Cardiology follow-up", "Diabetes review", "Wound check"])
    for status, days, start in (("cancelled", 30, 3), ("booked", 5, -9)):
        kind = "Eye clinic" if status == "cancelled" else visit
        made.put(
            PRACTICE,
            {"resourceType": "Appointment", "status": status, "serviceType": [{"text": kind}], "created": day_ago(days),
             "description": kind, "start": f"{day_ago(start)}T10:30:00Z", "end": f"{day_ago(start)}T11:00:00Z",
             "participant": [{"actor": {"reference": "Patient/p"}, "status": "accepted"}]},
        )  # fmt: skip
    made.gold("appointment", (visit,), (day_ago(-9),))
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
        {"resourceType": "Procedure", "status": "completed", "performedDateTime": day_ago(333),
         "code": coded("SCT", procedure["snomed"], procedure["name"])},
    )  # fmt: skip
    made.gold("procedure", (procedure["key"],), (day_ago(333)[:7],))
    made.words["procedure"] = procedure["key"]
    stay = chance.choice(["Acute shortness of breath", "Fall at home", "Urinary tract infection"])
    made.put(
        HOSPITAL,
        {"resourceType": "Encounter", "status": "in-progress", "type": [{"text": "Inpatient stay"}],
         "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "IMP"},
         "period": {"start": f"{day_ago(4)}T11:00:00Z"}, "reasonCode": [{"text": stay}]},
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
            {"resourceType": "Observation", "status": "final", "effectiveDateTime": day_ago(days),
             "category": [one("http://terminology.hl7.org/CodeSystem/observation-category", "social-history")],
             "code": coded("LNC", smoking.code, smoking.name), "valueCodeableConcept": {"text": text}},
        )  # fmt: skip
    former = ("former smoker", "ex smoker", "former smoking")
    made.gold("smoking", former)
    daily: Words = (("smokes tobacco daily",),)
    made.stale.append(Stale("older smoking", daily, (former,), (day_ago(3600)[:7],), dated=True))


def _adult_talk(made: Chart, chance: random.Random, pairs: Sequence[tuple[str, str]]) -> None:
    drug = made.words["stopped"]
    symptom, symptom_words = chance.choice(SYMPTOMS)
    effect, effect_words = chance.choice(EFFECTS)
    first, second = ago(40), ago(2)

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
    made.gold("side effect", drug_names(taken), effect_words)
    said(
        second,
        "I read best in large print and short sentences.",
        "Please write it in large print, I can't read the small letters.",
    )
    made.gold("reading", ("large print",))


def _child(made: Chart, chance: random.Random) -> None:
    for key in chance.sample(["asthma", "allergic-rhinitis", "epilepsy"], 2):
        condition(made, key, chance.randint(300, 900))
    condition(made, "otitis-media", 400, status="resolved")
    condition(made, "psoriasis", 500, verified="entered-in-error")
    order(made, "diphenhydramine", 25, 60)
    made.gold("medicines", drug_names("diphenhydramine"), ("25 mg",))
    weights = sorted(_three(chance, 15, 32), key=float, reverse=True)
    series(made, "body-weight", list(zip(weights, (15, 200, 420), strict=True)))
    allergen = chance.choice(["peanut", "egg", "bee-venom"])
    allergy(made, allergen, chance.choice(["anaphylaxis", "hives"]), 300)
    made.words["allergen"] = allergen.replace("-", " ")
    no_known(made, 700)
    said_reaction = chance.choice(["hives", "a rash"])
    at = ago(3)
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
            {"resourceType": "Immunization", "status": "completed", "occurrenceDateTime": day_ago(days),
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
             "period": {"start": f"{day_ago(days)}T09:00:00Z", "end": f"{day_ago(days)}T09:20:00Z"}},
        )  # fmt: skip
    for key, low, high in NOISE:
        for _ in range(25):
            made.put(
                chance.choice([HOSPITAL, PRACTICE]),
                result(row("analytes", key), str(chance.randint(low, high)), chance.randint(1, 2000)),
            )
    speaker = "caregiver" if made.child else "patient"
    for number, text in enumerate(chance.sample(SMALL_TALK, len(SMALL_TALK))):
        at = ago(3 if made.child else 2 if number % 2 else 40)
        made.talk.append(Said("today" if made.child or number % 2 else "spring", at, speaker, text))
