"""What does a Synthea bundle give as truth? Its own resources, each a thing; a second and a third source hold copies.

Gold is careful: two resources of one code may be one fact by design (a drug ordered again, a condition met again), so
such pairs are left open; a resource and its copy are one fact, and two of different concepts are two.
"""

from __future__ import annotations

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

from evals.generator.gold import KINDS
from evals.generator.tables import URLS, folded, single
from evals.generator.truth import VERSION, Item, Marks, Thing, World, fhir_document

TYPES = {
    "Condition": ("condition", "code", "onsetDateTime"),
    "MedicationRequest": ("medication", "medicationCodeableConcept", "authoredOn"),
    "AllergyIntolerance": ("allergy", "code", "recordedDate"),
    "Immunization": ("immunization", "vaccineCode", "occurrenceDateTime"),
    "Observation": ("observation", "code", "effectiveDateTime"),
    "Procedure": ("procedure", "code", "performedPeriod"),
    "Encounter": ("encounter", "type", "period"),
}
PER_TYPE = 25
_KEYS = {url: key for key, (url, _) in URLS.items()}


def bundles(data: Path) -> list[Path]:
    return sorted((data / "synthea_r4_bundles").glob("*.json"))


def make(path: Path, seed: int) -> World:
    """The world of one bundle: at most PER_TYPE resources of a type, and copies of each in one or two other sources."""
    chance = random.Random(f"iamata synthea {VERSION} {seed} {path.name}")
    resources = [entry["resource"] for entry in json.loads(path.read_text(encoding="utf-8"))["entry"]]
    patient = next(r for r in resources if r["resourceType"] == "Patient")
    chosen: list[dict[str, Any]] = []
    for type in TYPES:
        some = [r for r in resources if r["resourceType"] == type and _concept(r)]
        chosen += chance.sample(some, min(PER_TYPE, len(some)))
    sources = ("ehr", "copyhouse", "exchange")
    entries: dict[str, list[dict[str, Any]]] = {s: [{**patient, "id": f"{s}-p"}] for s in sources}
    things: dict[str, Thing] = {}
    rows: list[tuple[str, int, str, str, Marks]] = []
    for number, resource in enumerate(chosen):
        kind, _, _ = TYPES[resource["resourceType"]]
        if kind == "observation" and _is_social(resource):
            kind = "social_history"
        codes, names = _concept(resource) or (frozenset(), frozenset())
        thing = Thing(f"{kind}/{number}", kind, min(names), _when(resource), substance=min(names))
        things[thing.id] = thing
        for source in ("ehr", *chance.sample(sources[1:], chance.choice([1, 1, 2]))):
            copy = json.loads(json.dumps(resource))
            noise: tuple[str, ...] = ()
            marks_codes = codes
            if source != "ehr":
                copy["id"] = f"{source}-{number}"
                copy.pop("identifier", None)
                noise = ("copy under another id",)
                if source == "exchange":
                    noise += _thin(copy)
                    if "codes dropped" in noise:
                        marks_codes = frozenset()
            copy["subject" if "subject" in copy else "patient"] = {"reference": f"Patient/{source}-p"}
            for link in ("encounter", "requester", "participant", "location", "serviceProvider", "reasonReference"):
                copy.pop(link, None)
            rows.append((source, len(entries[source]), copy["id"], thing.id, Marks(marks_codes, names, noise=noise)))
            entries[source].append(copy)
    items = [
        Item(f"{n}:0", s, n, "/entry/0/resource", f"Patient/{s}-p", "demographic", "self", Marks(), open=True)
        for n, s in enumerate(sources)
    ]
    for source, index, id, truth, marks in rows:
        document = sources.index(source)
        type = entries[source][index]["resourceType"]
        kind = things[truth].kind
        items.append(
            Item(
                f"{document}:{index}", source, document, f"/entry/{index}/resource", f"{type}/{id}", kind, truth, marks
            )
        )
    documents = tuple(fhir_document(source, entries[source]) for source in sources)
    return World(path.name, "synthea", things, documents, tuple(items), open_pairs=_open(things))


def _is_social(resource: dict[str, Any]) -> bool:
    codings = [coding for each in resource.get("category", []) for coding in each.get("coding", [])]
    return (
        any(c.get("code") == "social-history" for c in codings)
        or single("smoking").key in (_concept(resource) or [()])[0]
    )


def _concept(resource: dict[str, Any]) -> tuple[frozenset[str], frozenset[str]] | None:
    _, element, _ = TYPES[resource["resourceType"]]
    concept = resource.get(element)
    concept = concept[0] if isinstance(concept, list) and concept else concept
    if not isinstance(concept, dict) or not concept.get("coding"):
        return None
    codes = {f"{_KEYS.get(c.get('system', ''), c.get('system', ''))}|{c.get('code', '')}" for c in concept["coding"]}
    names = {folded(c.get("display", "")) for c in concept["coding"]} | {folded(concept.get("text", ""))}
    return frozenset(codes), frozenset(names - {""}) or frozenset(codes)


def _when(resource: dict[str, Any]) -> datetime | None:
    _, _, element = TYPES[resource["resourceType"]]
    value = resource.get(element)
    value = value.get("start") if isinstance(value, dict) else value
    return datetime.fromisoformat(value) if isinstance(value, str) else None


def _thin(copy: dict[str, Any]) -> tuple[str, ...]:
    """Take away what an exchange loses: codes where a text stays (not of drugs: their text is their name), the zone."""
    _, element, when = TYPES[copy["resourceType"]]
    concept = copy[element]
    if isinstance(concept, dict) and concept.get("text") and int(copy["id"].rpartition("-")[2]) % 3 == 0:
        concept.pop("coding")
        return ("codes dropped",)
    if isinstance(copy.get(when), str) and copy["resourceType"] == "Observation":
        value = datetime.fromisoformat(copy[when]).astimezone(
            datetime.fromisoformat("2000-01-01T00:00:00+00:00").tzinfo
        )
        copy[when] = value.isoformat().replace("+00:00", "Z")
        return ("zone:utc",)
    return ()


def _open(things: dict[str, Thing]) -> frozenset[tuple[str, str]]:
    """Pairs of one kind whose names begin alike: drugs of one ingredient, stages of one disease, the same again.
    Results and events more than two days apart are not open."""
    found = set()
    for kind in KINDS:
        mine = [thing for thing in things.values() if thing.kind == kind]
        for index, left in enumerate(mine):
            for right in mine[index + 1 :]:
                apart = left.when and right.when and abs((left.when - right.when).total_seconds()) > 2 * 86_400
                timed = kind in ("observation", "encounter", "immunization", "procedure")
                if timed and apart:
                    continue
                if _head(left.concept) & _head(right.concept):
                    found.add((left.id, right.id))
    return frozenset(found)


def _head(name: str) -> frozenset[str]:
    """The words of a name that could say what it is: drugs of one ingredient, stages of one disease share one."""
    return frozenset(word for word in name.split() if len(word) > 3 and not any(c.isdigit() for c in word)) - _COMMON


_COMMON = frozenset(
    {
        "oral",
        "tablet",
        "injection",
        "solution",
        "hydrochloride",
        "history",
        "finding",
        "disorder",
        "procedure",
        "situation",
    }
    | {"volume", "mass", "serum", "plasma", "blood", "automated", "count", "extended", "release", "acute", "chronic"}
    | {"vaccine", "with", "from", "disease", "adult", "actuat"}
)
