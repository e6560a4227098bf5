"""What is planted on purpose? Look-alikes, things that must stay apart, conflicts, negations, corrections, strangers.

Each planter adds things and items to a `Scatter` and says what must come of them, from design 04 alone. Which planters
a seed gets is a rotation, so that twenty seeds plant every one of them several times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from evals.generator import fhir, tables
from evals.generator.fhir import Concept, one
from evals.generator.noise import Profile, told
from evals.generator.person import (
    allergy_thing,
    condition_thing,
    course,
    doubled,
    identity,
    on,
    value_of,
)
from evals.generator.scatter import Draft, Scatter
from evals.generator.tables import Code
from evals.generator.truth import Marks, Thing

PAIRS_A_PATIENT = 4


def look_alike_pairs(turn: int) -> list[tuple[str, str]]:
    """The pairs of this turn: sixteen turns go through the whole list."""
    pairs = tables.look_alikes()
    start = turn * PAIRS_A_PATIENT
    return [pairs[(start + n) % len(pairs)] for n in range(PAIRS_A_PATIENT)] if pairs else []


def ingredient(name: str) -> str:
    """The ingredient behind a look-alike name (a brand has a row), in small letters; of a salt its first word."""
    for row in tables.table("look_alike_brands"):
        if row["brand"].casefold() == name.casefold():
            return row["ingredient"].split()[0] if row["ingredient"] else name.casefold()
    return name.casefold()


def look_alikes(to: Scatter, turn: int) -> None:
    """Each name is an order of its own, by name alone, on one day, in one or two sources; names never come together."""
    day = on(to.chance, 2023, 2023)
    pairs = look_alike_pairs(turn)
    for name in dict.fromkeys(name for pair in pairs for name in pair):
        thing = to.know(Thing(f"look-alike/{name.casefold()}", "medication", name, day, substance=ingredient(name)))
        for profile in to.chance.sample(to.profiles, 2 if to.chance.random() < 0.5 else 1):
            concept = Concept(profile).say(name if to.chance.random() < 0.7 else name.upper())
            made = {
                "resourceType": "MedicationRequest",
                "status": "active",
                "intent": "order",
                "medicationCodeableConcept": concept.json,
                "authoredOn": told(day, "day"),
            }
            to.put(profile, thing, (made, concept.marks(noise=("look-alike",))))
    named = [thing for thing in to.things.values() if thing.id.startswith("look-alike/")]
    together = {frozenset(name.casefold() for name in pair) for pair in pairs}
    for left in named:
        for right in named:
            names = frozenset((left.concept.casefold(), right.concept.casefold()))
            if left.id < right.id and left.substance == right.substance and names not in together:
                to.open_pairs.add((left.id, right.id))


def apart_drugs(to: Scatter, turn: int) -> None:
    """A pair that differs in release, salt, route or one ingredient."""
    rows = tables.table("apart_drugs")
    row = rows[turn % len(rows)]
    day = on(to.chance, 2023, 2024)
    for side in ("left", "right"):
        name = row[f"{side}_name"]
        thing = to.know(
            Thing(f"apart/{row['why']}/{side}/{turn}", "medication", name, day, substance=f"{row['why']} {name}")
        )
        for number, profile in enumerate(to.chance.sample(to.profiles, 2)):
            concept = Concept(profile)
            if number and profile.drugs in ("generic", "brand", "salt"):
                concept.say(name)
            else:
                concept.code(Code(row[f"{side}_system"], row[f"{side}_code"], name))
            written = fhir.ordered(concept, ("apart drug",), profile, course(day, ("1", "dose")), row[f"{side}_route"])
            to.put(profile, thing, written)


def siblings(to: Scatter, turn: int) -> None:
    """Diabetes type 1 here, type 2 there, from the same day."""
    rows = {row["key"]: row for row in tables.table("conditions")}
    day = on(to.chance, 2012, 2014)
    pair = tables.table("siblings")[0]
    for key in (pair["left"], pair["right"]):
        to.spread(condition_thing(rows[key], f"condition/{key}", day, keep="day"))


def two_sides(to: Scatter, turn: int) -> None:
    """The left and the right of one disease; each as ICD-10-CM says it."""
    rows = tables.table("lateral_pairs")
    row = rows[turn % len(rows)]
    day = on(to.chance, 2018, 2019)
    for side in ("left", "right"):
        line = {
            "key": f"lateral-{side}",
            "snomed": "",
            "snomed_name": "",
            "icd10cm": row[f"{side}_code"],
            "icd10cm_name": row[f"{side}_name"],
        }
        to.spread(condition_thing(line, f"condition/lateral/{side}", day, keep="day"))


def two_draws(to: Scatter, turn: int) -> None:
    """One test twice on a day, hours apart: two results, even where the value is the same."""
    row = next(row for row in tables.table("analytes") if row["key"] == "potassium")
    morning = on(to.chance, 2024, 2024).replace(hour=7)
    value = value_of(row, to.chance)
    for number, hours in enumerate((0, 6)):
        about = {"row": row, "value": value if turn % 2 else value_of(row, to.chance), "exact": True}
        when = morning + timedelta(hours=hours)
        thing = Thing(f"observation/two-draws/{number + 1}", "observation", "potassium", when, about=about)
        to.know(thing)
        for profile in to.chance.sample(to.profiles, 2):
            # Without a zone the two draws could not be told apart by their hours.
            clear = replace(profile, zone="home" if profile.zone == "none" else profile.zone)
            to.put(profile, thing, fhir.observation(thing, clear, to.chance))


def corrected(to: Scatter, turn: int) -> None:
    """A result sent as preliminary, then final, then corrected under one id; only the last one stands."""
    row = next(row for row in tables.table("analytes") if row["key"] == "sodium")
    when = on(to.chance, 2024, 2024)
    thing = to.know(
        Thing("observation/corrected", "observation", "sodium", when, about={"row": row, "value": "0", "exact": True})
    )
    profile = replace(to.profiles[turn % len(to.profiles)], units="first", zone="home")
    id, stages = f"lab{to.number()}", ("preliminary", "final", "corrected")
    for round, status in enumerate(stages):
        stage = replace(thing, about={**thing.about, "value": value_of(row, to.chance), "status": status})
        resource, marks = fhir.observation(stage, profile, to.chance)
        resource["meta"] = {"versionId": str(round + 1)}
        resource["issued"] = (when + timedelta(hours=2 * round)).isoformat()
        marks = replace(marks, noise=(*marks.noise, "corrected"))
        number = f"{to.seed}-corrected"
        draft = to.put(profile, thing, (resource, marks), identifier=number, id=id, round=round)
        if status != "corrected":
            to.superseded.append(draft)


def _two(to: Scatter) -> tuple[Profile, Profile]:
    left, right = to.chance.sample(to.profiles, 2)
    return left, right


def condition_status(to: Scatter, turn: int) -> None:
    """Active here and resolved there, recorded on one day."""
    left, right = _condition_sides(to, "gout", {}, {"status": "resolved"})
    to.clash(("status",), [left], [right], "condition active and resolved")


def condition_date(to: Scatter, turn: int) -> None:
    """Two onsets, three years apart, both exact to the day."""
    row = _condition_row("psoriasis")
    when = on(to.chance, 2010, 2012)
    later = when + timedelta(days=1100)
    one_thing = to.know(condition_thing(row, "condition/psoriasis", when, keep="day", recorded=later))
    other = condition_thing(row, "condition/psoriasis", later, keep="day", recorded=later)
    first, second = _two(to)
    left = to.put(first, one_thing, fhir.condition(one_thing, first, to.chance))
    right = to.put(second, one_thing, fhir.condition(other, second, to.chance))
    to.clash(("date",), [left], [right], "two onsets")


def condition_refuted(to: Scatter, turn: int) -> None:
    """Confirmed here, refuted there, recorded on one day: a denial opposes, within the fact of its disease."""
    left, right = _condition_sides(to, "hypothyroidism", {}, {})
    right.resource["verificationStatus"] = one(fhir.VERIFIED, "refuted")
    right.resource.pop("clinicalStatus")
    to.clash(("verification", "existence"), [left], [right], "condition confirmed and refuted")


def _condition_row(key: str) -> tables.Line:
    return next(row for row in tables.table("conditions") if row["key"] == key)


def _condition_sides(to: Scatter, key: str, left: dict[str, Any], right: dict[str, Any]) -> tuple[Draft, Draft]:
    when = on(to.chance, 2016, 2018)
    thing = to.know(condition_thing(_condition_row(key), f"condition/{key}", when, keep="day"))
    drafts = []
    for profile, change in zip(_two(to), (left, right), strict=True):
        written = fhir.condition(replace(thing, about={**thing.about, **change}), profile, to.chance)
        drafts.append(to.put(profile, thing, written))
    return drafts[0], drafts[1]


def medication_dose(to: Scatter, turn: int) -> None:
    """One order number, one day, two doses."""
    _order(to, "warfarin", lambda c: {**c, "dose": doubled(c["dose"])}, ("dose",), "two doses of one order")


def medication_status(to: Scatter, turn: int) -> None:
    """One order number, one day: active here, stopped there."""
    _order(to, "atorvastatin-80", lambda c: {**c, "status": "stopped"}, ("status",), "order active and stopped")


def _order(
    to: Scatter, key: str, change: Callable[[dict[str, Any]], dict[str, Any]], kinds: tuple[str, ...], why: str
) -> None:
    row = next(row for row in tables.table("drugs") if row["key"] == key)
    day = on(to.chance, 2024, 2025)
    thing = to.know(Thing(f"medication/{key}", "medication", key, day, substance=row["ingredient"], about={"row": row}))
    first = course(day, (row["strength"], row["unit"]))
    drafts = []
    for profile, said in zip(_two(to), (first, change(first)), strict=True):
        as_order = replace(profile, statements=False)
        drafts.append(to.put(profile, thing, fhir.medication(thing, as_order, said), identifier=f"{to.seed}-{key}"))
    to.clash(kinds, [drafts[0]], [drafts[1]], why)


def allergy_severity(to: Scatter, turn: int) -> None:
    """One reaction on one day, mild here and severe there."""
    thing = to.know(allergy_thing("latex", to.chance))
    drafts = []
    for profile, severity in zip(_two(to), ("mild", "severe"), strict=True):
        draft = to.put(profile, thing, fhir.allergy(thing, profile, to.chance))
        draft.resource["reaction"][0]["severity"] = severity
        drafts.append(draft)
    to.clash(("severity",), [drafts[0]], [drafts[1]], "reaction mild and severe")


def allergy_refuted(to: Scatter, turn: int) -> None:
    """Confirmed here, refuted there, recorded on one day."""
    thing = to.know(allergy_thing("codeine", to.chance))
    drafts = [to.put(profile, thing, fhir.allergy(thing, profile, to.chance)) for profile in _two(to)]
    refuted = drafts[1]
    refuted.resource["verificationStatus"] = one(fhir.ALLERGY_VERIFIED, "refuted")
    for element in ("reaction", "clinicalStatus"):
        refuted.resource.pop(element, None)
    to.clash(("verification", "existence"), [drafts[0]], [refuted], "allergy confirmed and refuted")


def observation_value(to: Scatter, turn: int) -> None:
    """One specimen (one accession number, one second), two values, both final."""
    row = next(row for row in tables.table("analytes") if row["key"] == "alt")
    when = on(to.chance, 2024, 2025)
    thing = to.know(
        Thing("observation/two-values", "observation", "alt", when, about={"row": row, "value": "40", "exact": True})
    )
    drafts = []
    for profile, value in zip(_two(to), ("41", "87"), strict=True):
        said = replace(thing, about={**thing.about, "value": value})
        as_first = replace(profile, units="first", zone="home")
        written = fhir.observation(said, as_first, to.chance)
        drafts.append(to.put(profile, thing, written, identifier=f"{to.seed}-accession"))
    to.clash(("value",), [drafts[0]], [drafts[1]], "two values of one specimen")


def no_known_before(to: Scatter, turn: int) -> None:
    """No known allergies, and years later a first reaction: the negation is over, and no conflict."""
    thing = to.know(allergy_thing("aspirin", to.chance))
    assert thing.when
    reactions = [to.put(profile, thing, fhir.allergy(thing, profile, to.chance)) for profile in _two(to)]
    # The denial must be earlier than every allergy that it covers, not only this one.
    negation = _negation(to, turn, "2005-04-11", ("existence",), reactions, required=False)
    to.superseded.append(negation)


def no_known_after(to: Scatter, turn: int) -> None:
    """A reaction, and years later "no known allergies": a conflict that nobody may settle by overwriting."""
    thing = to.know(allergy_thing("aspirin", to.chance))
    reactions = [to.put(profile, thing, fhir.allergy(thing, profile, to.chance)) for profile in _two(to)]
    _negation(to, turn, "2024-05-06", ("existence",), reactions, required=True)


def no_known_undated(to: Scatter, turn: int) -> None:
    """An undated "no known allergies" beside a reaction conflicts too."""
    thing = to.know(allergy_thing("aspirin", to.chance))
    reactions = [to.put(profile, thing, fhir.allergy(thing, profile, to.chance)) for profile in _two(to)]
    _negation(to, turn, "", ("existence",), reactions, required=True)


def _negation(
    to: Scatter, turn: int, recorded: str, kinds: tuple[str, ...], reactions: list[Draft], *, required: bool
) -> Draft:
    rows = tables.table("no_known")
    thing = to.know(Thing("allergy/no-known", "allergy", "no-known", substance="no-known"))
    profile = to.chance.choice(to.profiles)
    draft = to.put(profile, thing, fhir.no_known(rows[turn % len(rows)], recorded))
    draft.open = True
    if required:
        to.clash(kinds, [draft], reactions, "no known allergies against a reaction")
    # It may just as well oppose the patient's other allergies.
    others = [d for d in to.drafts if d.kind == "allergy" and d is not draft and d not in reactions]
    if required and others:
        to.clash(kinds, [draft], others, "no known allergies against another allergy", required=False)
    return draft


def stranger_within(to: Scatter, turn: int) -> None:
    """Another person's items in one of the bundles: set aside, never formed."""
    profile = to.profiles[0]
    owner = f"{profile.name}-other"
    to.strangers[owner] = _other(to)
    for thing in [t for t in list(to.things.values()) if t.kind in ("condition", "medication", "allergy")][:6:2]:
        _copy_for_stranger(to, profile, thing, owner, set_aside=True)


def stranger_whole(to: Scatter, turn: int) -> str:
    """A whole source about another person, filed under this patient: kept apart and in doubt. Returns the source."""
    profile = Profile("wrongchart")
    owner = f"{profile.name}-pat"
    to.strangers[owner] = _other(to)
    for thing in [
        t for t in list(to.things.values()) if t.kind in ("condition", "medication", "allergy", "observation")
    ]:
        own = thing.about and not thing.about.get("panel") and not thing.id.startswith("stranger/")
        if own and to.chance.random() < 0.3:
            _copy_for_stranger(to, profile, thing, owner, set_aside=False)
    return profile.name


def _other(to: Scatter) -> Any:
    """Somebody with another family name and another birth date."""
    while True:
        who = identity(to.chance)
        if who.family != to.who.family and who.born != to.who.born:
            return who


def _copy_for_stranger(to: Scatter, profile: Profile, thing: Thing, owner: str, *, set_aside: bool) -> None:
    """Much the same as the patient's own item, so that only the person tells them apart."""
    theirs = replace(thing, id=f"stranger/{thing.id}")
    to.know(theirs)
    if thing.kind == "medication":
        if "courses" not in thing.about:
            return
        written = fhir.medication(thing, profile, thing.about["courses"][0])
    else:
        writer = {"condition": fhir.condition, "allergy": fhir.allergy, "observation": fhir.observation}[thing.kind]
        if "value" not in thing.about and thing.kind == "observation":
            return
        written = writer(thing, profile, to.chance)
    draft = to.put(profile, theirs, written)
    draft.owner, draft.owner_id, draft.set_aside = "stranger", owner, set_aside


def weak_middle(to: Scatter, turn: int) -> None:
    """Something vague between two that must stay apart: it may go with either or none, and never joins them."""
    bridges: list[tuple[Thing, dict[str, Any], Marks]] = []
    draws = [to.things["observation/two-draws/1"], to.things["observation/two-draws/2"]]
    vague = replace(draws[0], about={**draws[0].about, "exact": False})
    written = fhir.observation(vague, Profile("", precision="year"), to.chance)
    bridges.append((draws[0], *written))
    side = to.things["condition/lateral/left"]
    unspecified = {"M17.11": "M17.9", "H66.91": "H66.90"}.get(side.about["row"]["icd10cm"])
    if unspecified:
        row = next(r for r in tables.table("unspecified_sides") if r["code"] == unspecified)
        line = {**side.about["row"], "icd10cm": row["code"], "icd10cm_name": row["name"]}
        told_vaguely = replace(side, about={**side.about, "row": line})
        bridges.append((side, *fhir.condition(told_vaguely, Profile("", conditions="icd10"), to.chance)))
    for thing, resource, marks in bridges:
        draft = to.put(to.chance.choice(to.profiles), thing, (resource, replace(marks, noise=("vague",))))
        draft.open = True


def worn_identifier(to: Scatter, turn: int) -> None:
    """One number on two different problems in one source, and on a third in another: it proves nothing."""
    rows = [row for row in tables.table("conditions") if row["key"] in ("gallstone", "rosacea", "covid-19")]
    used = {thing.concept for thing in to.things.values()}
    day = on(to.chance, 2019, 2020)
    first, second = _two(to)
    for row, profile in zip(rows, (first, first, second), strict=True):
        if row["key"] in used:
            continue
        thing = to.know(condition_thing(row, f"condition/{row['key']}/worn", day, keep="day"))
        written = fhir.condition(thing, profile, to.chance)
        to.put(profile, thing, written, identifier=f"{to.seed}-worn")


CONFLICTS: tuple[Callable[[Scatter, int], None], ...] = (
    condition_status,
    medication_dose,
    allergy_severity,
    observation_value,
    condition_date,
    medication_status,
    condition_refuted,
    allergy_refuted,
)
NEGATIONS = (no_known_before, no_known_after, no_known_undated)
APART: tuple[Callable[[Scatter, int], None], ...] = (
    look_alikes,
    apart_drugs,
    two_sides,
    two_draws,
    weak_middle,
    worn_identifier,
)


def plant(to: Scatter, turn: int) -> list[str]:
    """Plant what this turn gets; returns the sources that must be in doubt. Strangers come last: they copy."""
    for planter in APART:
        planter(to, turn)
    if turn % 2:
        siblings(to, turn)
    for number in range(4):
        CONFLICTS[(turn * 3 + number) % len(CONFLICTS)](to, turn)
    NEGATIONS[turn % len(NEGATIONS)](to, turn)
    corrected(to, turn)
    if turn % 3 == 0:
        stranger_within(to, turn)
    if turn % 5 == 1:
        own = [profile.name for profile in to.profiles]
        return [stranger_whole(to, turn), *own]
    return []
