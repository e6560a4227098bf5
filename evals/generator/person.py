"""Who is the patient, and what is true of them? A small model: conditions with episodes, courses with changes of dose,
allergies, doses of vaccines, series of results, visits, procedures, family, cover.

Everything here is truth; how sources garble it is `scatter` and `fhir`. Things of one kind and concept are far enough
apart in time that a month or a year still tells them apart, or they carry `keep`, the coarsest date that does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from evals.generator import tables
from evals.generator.noise import HOME
from evals.generator.truth import Thing

# Invented names; any likeness is chance.
FAMILIES = ("Okafor", "Lindqvist", "Marchetti", "Tanaka", "Dube", "Ferreira", "Novak", "Haddad", "Quispe", "Reilly")
GIVEN = ("Ada", "Bruno", "Celia", "Dario", "Edda", "Farid", "Greta", "Hugo", "Ines", "Jonas")
PLACES = ("Northside Clinic", "Eastgate Hospital", "Hill Practice")
PAYORS = ("Blue River Health", "Commons Mutual", "Harbor Plan")
END = datetime(2026, 6, 30, 9, tzinfo=HOME)


@dataclass(frozen=True)
class Identity:
    family: str
    given: str
    born: str
    sex: str
    number: str


def identity(chance: random.Random) -> Identity:
    born = f"{chance.randint(1938, 1995)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return Identity(
        chance.choice(FAMILIES),
        chance.choice(GIVEN),
        born,
        chance.choice(["female", "male"]),
        f"{chance.randrange(10**8):08}",
    )


def on(chance: random.Random, first: int, last: int) -> datetime:
    """A time of day in opening hours, on a day of these years."""
    return datetime(
        chance.randint(first, last),
        chance.randint(1, 12),
        chance.randint(1, 28),
        chance.randint(7, 16),
        chance.randint(0, 59),
        chance.randint(0, 59),
        tzinfo=HOME,
    )


def things(chance: random.Random, avoided: frozenset[str]) -> Iterator[Thing]:
    """The true things in a fixed order. `avoided` are words of drug names that plants use."""
    yield from conditions(chance)
    yield from medications(chance, avoided)
    yield from allergies(chance)
    yield from vaccines(chance)
    yield from results(chance)
    yield from visits(chance)
    yield from procedures(chance)
    yield from family(chance)
    yield from cover(chance)
    yield Thing(
        "smoking",
        "social_history",
        "smoking",
        on(chance, 2021, 2022),
        about={"value": chance.choice(["never-smoker", "former-smoker"])},
    )


# Concepts that plants use and the model leaves to them.
PLANTED_CONDITIONS = ("diabetes-type-1", "diabetes-type-2", "gout", "psoriasis", "hypothyroidism", "glaucoma")
PLANTED_ALLERGENS = ("aspirin", "codeine", "latex")
PLANTED_ANALYTES = ("sodium", "alt", "potassium")
PLANTED_DRUGS = ("warfarin", "atorvastatin-80", "atorvastatin", "penicillin-v")


def condition_thing(row: tables.Line, id: str, when: datetime, until: datetime | None = None, **about: Any) -> Thing:
    status = "resolved" if until else "active"
    return Thing(
        id, "condition", row["key"], when, until, about={"row": row, "status": status, "recorded": when, **about}
    )


def conditions(chance: random.Random) -> Iterator[Thing]:
    rows = [row for row in tables.table("conditions") if row["key"] not in PLANTED_CONDITIONS]
    chronic = chance.sample([row for row in rows if row["course"] == "chronic"], 4)
    episodic = chance.sample([row for row in rows if row["course"] == "episodic"], 3)
    for row in chronic:
        yield condition_thing(row, f"condition/{row['key']}", on(chance, 2008, 2020), may_be_undated=True)
    for number, row in enumerate(episodic):
        first = on(chance, 2015, 2017)
        yield condition_thing(row, f"condition/{row['key']}/1", first, first + timedelta(days=chance.randint(5, 20)))
        if number < 2:
            again = on(chance, 2020, 2023)
            yield condition_thing(
                row, f"condition/{row['key']}/2", again, again + timedelta(days=chance.randint(5, 20))
            )


def medications(chance: random.Random, avoided: frozenset[str]) -> Iterator[Thing]:
    rows = [row for row in tables.table("drugs") if row["key"] not in PLANTED_DRUGS and not drug_words(row) & avoided]
    for number, row in enumerate(chance.sample(rows, 5)):
        start = on(chance, 2019, 2022)
        dose = dose_of(row)
        courses = []
        if number < 2 and row["unit"] == "mg":
            change = start + timedelta(days=chance.randint(150, 300))
            courses = [course(start, dose, change, "completed"), course(change, doubled(dose))]
        elif number == 2:
            courses = [course(start, dose, start + timedelta(days=chance.randint(10, 60)), "completed")]
        else:
            courses = [course(start, dose)]
        yield Thing(
            f"medication/{row['key']}",
            "medication",
            row["key"],
            start,
            substance=row["ingredient"],
            about={"row": row, "courses": courses},
        )


def drug_words(row: tables.Line) -> frozenset[str]:
    return frozenset(f"{row['ingredient']} {row['brand']} {row['salt']}".casefold().replace("/", " ").split())


def dose_of(row: tables.Line) -> tuple[str, str]:
    """Value and unit of one dose: the strength, or a plain amount where the strength is a concentration."""
    if row["unit"] == "mg":
        return (row["strength"], "mg") if "/" not in row["ingredient"] else ("1", "tablet")
    return ("20", "unit") if row["unit"].startswith("unit") else ("100", "mg")


def doubled(dose: tuple[str, str]) -> tuple[str, str]:
    return str(Decimal(dose[0]) * 2), dose[1]


def course(
    start: datetime, dose: tuple[str, str], end: datetime | None = None, status: str = "active"
) -> dict[str, Any]:
    return {"start": start, "end": end, "dose": dose, "times": 1, "status": status}


def allergy_thing(key: str, chance: random.Random, **about: Any) -> Thing:
    when = on(chance, 2010, 2018)
    reaction = chance.choice(tables.table("reactions"))
    writings = tables.grouped("allergens")[key]
    known = {"writings": writings, "reaction": reaction, "recorded": when + timedelta(days=3), **about}
    return Thing(f"allergy/{key}", "allergy", key, when, substance=key, about=known)


def allergies(chance: random.Random) -> Iterator[Thing]:
    keys = [key for key in tables.grouped("allergens") if key not in PLANTED_ALLERGENS]
    for key in chance.sample(keys, 3):
        yield allergy_thing(key, chance)


def vaccines(chance: random.Random) -> Iterator[Thing]:
    groups = tables.grouped("vaccines")
    series = [
        ("influenza", 2),
        ("hepatitis-b", 2),
        *((key, 1) for key in chance.sample(["mmr", "tdap", "zoster", "ipv"], 2)),
    ]
    for key, doses in series:
        first = on(chance, 2016, 2021)
        for number in range(doses):
            when = first + timedelta(days=number * (365 if key == "influenza" else 31))
            about: dict[str, Any] = {"writings": groups[key]}
            if doses > 1:
                about["keep"] = "day"
            yield Thing(f"immunization/{key}/{number + 1}", "immunization", key, when, substance=key, about=about)


def value_of(row: tables.Line, chance: random.Random) -> str:
    low, high = Decimal(row["low"]), Decimal(row["high"])
    step = Decimal(1).scaleb(-int(row["decimals"]))
    return str((low + Decimal(chance.randrange(int((high - low) / step) + 1)) * step).quantize(step))


def results(chance: random.Random) -> Iterator[Thing]:
    rows = [row for row in tables.table("analytes") if row["key"] not in PLANTED_ANALYTES]
    labs = chance.sample([row for row in rows if row["category"] == "laboratory"], 5)
    vitals = chance.sample([row for row in rows if row["category"] == "vital-signs"], 3)
    day = on(chance, 2020, 2021)
    for visit in range(3):
        when = day + timedelta(days=visit * chance.randint(95, 180))
        for row in labs[: 5 - visit] + vitals:
            yield Thing(
                f"observation/{row['key']}/{visit + 1}",
                "observation",
                row["key"],
                when,
                about={"row": row, "value": value_of(row, chance)},
            )
        yield Thing(
            f"observation/blood-pressure/{visit + 1}",
            "observation",
            "blood-pressure",
            when,
            about={"values": (chance.randint(105, 165), chance.randint(60, 98)), "panel": True},
        )


def visits(chance: random.Random) -> Iterator[Thing]:
    for number in range(3):
        when = on(chance, 2018 + 2 * number, 2019 + 2 * number)
        about = {
            "class": ("AMB", "EMER", "AMB")[number],
            "type": ("Encounter for check up", "Emergency room admission", "Follow-up encounter")[number],
            "place": chance.choice(PLACES),
        }
        yield Thing(
            f"encounter/{number + 1}", "encounter", about["type"], when, when + timedelta(minutes=40), about=about
        )


def procedures(chance: random.Random) -> Iterator[Thing]:
    groups = tables.grouped("procedures")
    for number, key in enumerate(chance.sample(sorted(groups), 3)):
        for time in range(2 if number == 0 and key != "appendectomy" else 1):
            when = on(chance, 2012 + 6 * time, 2014 + 6 * time)
            yield Thing(f"procedure/{key}/{time + 1}", "procedure", key, when, about={"writings": groups[key]})


def family(chance: random.Random) -> Iterator[Thing]:
    rows = chance.sample(tables.table("conditions"), 3)
    members = [("FTH", "father", "", ""), ("BRO", "brother", "", "")]
    brothers = chance.sample(GIVEN, 2)
    members = [
        ("FTH", "father", chance.choice(GIVEN), "1931"),
        ("BRO", "brother", brothers[0], "1958"),
        ("BRO", "brother", brothers[1], "1963"),
    ]
    for (role, role_name, name, born), row in zip(members, rows, strict=True):
        yield Thing(
            f"family/{role}/{name}",
            "family_history",
            role,
            about={"role": role, "role_name": role_name, "name": name, "born": born, "row": row},
        )


def cover(chance: random.Random) -> Iterator[Thing]:
    payor, other = chance.sample(PAYORS, 2)
    member = f"M{chance.randrange(10**7):07}"
    spans = [
        (payor, member, 2020, 2021),
        (payor, member, 2022, 2023),
        (other, f"H{chance.randrange(10**6):06}", 2024, 2025),
    ]
    for number, (name, id, first, last) in enumerate(spans):
        yield Thing(
            f"insurance/{number + 1}",
            "insurance",
            name,
            datetime(first, 1, 1, tzinfo=HOME),
            datetime(last, 12, 31, tzinfo=HOME),
            about={"payor": name, "member": id},
        )
